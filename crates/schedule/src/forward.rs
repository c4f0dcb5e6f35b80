//! The list scheduler that goes forwards: of the instructions that may come next, the one that waits least, and of
//! those the one on the longest way to the end; where registers run short, the one that frees most.

use crate::piece::{Counts, FILES, Piece};

/// So many ready instructions are compared; more would cost time without much gain.
const WINDOW: usize = 48;

/// A little room is left for results that come several at once.
const ROOM: Counts = [4, 1, 2];

struct State<'a> {
    piece: &'a Piece,
    /// Readers of each value still to come.
    readers: Vec<u32>,
    live: Vec<bool>,
    count: Counts,
}

impl State<'_> {
    fn new(piece: &Piece) -> State<'_> {
        // What is live at the start.
        let (mut count, mut live) = piece.end();
        let mut readers = vec![0; piece.file.len()];
        for node in (0..piece.len() as u32).rev() {
            piece.rise(node, &mut count, &mut live);
            piece.touches[node as usize].uses.iter().for_each(|&v| readers[v as usize] += 1);
        }
        State { piece, readers, live, count }
    }

    fn is_last(&self, v: u32) -> bool {
        self.readers[v as usize] == 1 && !self.piece.live_out[v as usize] && self.live[v as usize]
    }

    /// How many values more of each file are live after the instruction.
    fn change(&self, node: u32) -> [i32; 3] {
        let touched = &self.piece.touches[node as usize];
        let mut change = [0; 3];
        for &v in &touched.definitions {
            change[usize::from(self.piece.file[v as usize])] += i32::from(!self.live[v as usize]);
        }
        for &v in &touched.uses {
            change[usize::from(self.piece.file[v as usize])] -= i32::from(self.is_last(v));
        }
        change
    }

    fn issue(&mut self, node: u32) {
        let touched = &self.piece.touches[node as usize];
        for &v in &touched.uses {
            if self.is_last(v) {
                self.live[v as usize] = false;
                self.count[usize::from(self.piece.file[v as usize])] -= 1;
            }
            self.readers[v as usize] -= 1;
        }
        for &v in &touched.definitions {
            let wanted = self.readers[v as usize] > 0 || self.piece.live_out[v as usize];
            if wanted && !std::mem::replace(&mut self.live[v as usize], true) {
                self.count[usize::from(self.piece.file[v as usize])] += 1;
            }
        }
    }
}

/// Cycles from each instruction to the end of the longest way that starts there.
fn heights(piece: &Piece) -> Vec<u32> {
    let mut height = vec![0u32; piece.len()];
    for node in (0..piece.len()).rev() {
        let below =
            piece.graph.after(node as u32).iter().map(|&(to, cycles)| height[to as usize] + cycles).max();
        height[node] = below.unwrap_or(1).max(piece.leaving[node]);
    }
    height
}

/// An order that hides latencies as long as no more values are live than `budget` says.
pub fn order(piece: &Piece, budget: Counts) -> Vec<u32> {
    let height = heights(piece);
    let mut state = State::new(piece);
    let mut waiting = piece.graph.before_counts();
    let mut ready_at = vec![0u32; piece.len()];
    // The earliest in program order stand first, so that the window follows the program.
    let mut ready: Vec<u32> = (0..piece.len() as u32).filter(|&n| waiting[n as usize] == 0).collect();
    let mut places = Vec::with_capacity(piece.len());
    let mut cycle = 0u32;
    while !ready.is_empty() {
        let tight = (0..FILES.len()).find(|&k| state.count[k].saturating_add(ROOM[k]) > budget[k]);
        let key = |node: u32| {
            let wait = i64::from(ready_at[node as usize].saturating_sub(cycle));
            let height = i64::from(height[node as usize]);
            match tight {
                Some(k) => (i64::from(-state.change(node)[k]), height - wait, -i64::from(node)),
                None => (-wait, height, -i64::from(node)),
            }
        };
        let best = (0..ready.len().min(WINDOW)).max_by_key(|&slot| key(ready[slot]));
        let Some(slot) = best else { break };
        let node = ready.remove(slot);
        let issue = cycle.max(ready_at[node as usize]);
        cycle = issue + 1;
        state.issue(node);
        places.push(node);
        for &(to, cycles) in piece.graph.after(node) {
            let at = to as usize;
            ready_at[at] = ready_at[at].max(issue + cycles);
            waiting[at] -= 1;
            if waiting[at] == 0 {
                ready.insert(ready.partition_point(|&n| n < to), to);
            }
        }
    }
    places
}
