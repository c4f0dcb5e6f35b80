//! Pending moves of a parallel copy. A move is ready when its destination is not read any more. When none is ready,
//! only cycles are left, and in them every location is read exactly once.

use crate::places::{From, Move, Place};
use oriole_ori::Value;
use rustc_hash::FxHashMap;

pub(super) struct Pending {
    /// The moves; `None` for those that are done.
    pub(super) moves: Vec<Option<Move>>,
    /// Count of pending moves that read a location.
    readers: FxHashMap<Place, u32>,
    by_destination: FxHashMap<Place, usize>,
    ready: Vec<usize>,
    /// Before this index all moves are done.
    first: usize,
}

impl Pending {
    pub(super) fn new(moves: Vec<Move>) -> Pending {
        let by_destination = moves.iter().enumerate().map(|(index, m)| (m.to, index)).collect();
        let mut readers: FxHashMap<Place, u32> = FxHashMap::default();
        for m in &moves {
            if let From::Place(place) = m.from {
                *readers.entry(place).or_default() += 1;
            }
        }
        // It is popped from the end: independent moves keep the given order.
        let ready = (0..moves.len()).rev().filter(|&i| !readers.contains_key(&moves[i].to)).collect();
        Pending { moves: moves.into_iter().map(Some).collect(), readers, by_destination, ready, first: 0 }
    }

    /// Takes a ready move.
    pub(super) fn next_ready(&mut self) -> Option<Move> {
        while let Some(index) = self.ready.pop() {
            let Some(m) = self.moves[index].take() else { continue };
            if let From::Place(place) = m.from {
                let count = self.readers.entry(place).or_default();
                *count -= 1;
                if *count == 0
                    && let Some(&writer) = self.by_destination.get(&place)
                    && self.moves[writer].is_some()
                {
                    self.ready.push(writer);
                }
            }
            return Some(m);
        }
        None
    }

    /// The first pending move, which belongs to a cycle if none is ready.
    pub(super) fn next_in_cycle(&mut self) -> Option<usize> {
        self.first += self.moves[self.first..].iter().position(Option::is_some)?;
        Some(self.first)
    }

    /// The value that the reader of a place in a cycle expects there.
    pub(super) fn value_read_from(&self, place: Place) -> Value {
        let reader = self.moves.iter().flatten().find(|m| m.from == From::Place(place));
        reader.expect("a cycle has a reader").value
    }

    /// The content of a place has been saved: its readers find it in `temporary`, and the move into it is ready.
    pub(super) fn saved(&mut self, index: usize, place: Place, temporary: Place) {
        self.redirect(place, temporary);
        let count = self.readers.remove(&place).unwrap_or(0);
        self.readers.insert(temporary, count);
        self.ready.push(index);
    }

    /// A swap did a move: readers of its destination `to` find the content in `from`.
    pub(super) fn swapped(&mut self, index: usize, to: Place, from: Place) {
        self.moves[index] = None;
        let redirected = self.redirect(to, from);
        self.readers.insert(from, redirected);
        self.readers.insert(to, 0);
        for pending in &mut self.moves {
            // A move to itself is done.
            if let Some(m) = pending
                && m.from == From::Place(m.to)
            {
                if let Some(count) = self.readers.get_mut(&m.to) {
                    *count -= 1;
                }
                *pending = None;
            }
        }
        for (index, m) in self.moves.iter().enumerate() {
            if let Some(m) = m
                && self.readers.get(&m.to).copied().unwrap_or(0) == 0
            {
                self.ready.push(index);
            }
        }
    }

    /// Lets the readers of a place read another one. Gives how many there are.
    fn redirect(&mut self, from: Place, to: Place) -> u32 {
        let mut redirected = 0;
        for m in self.moves.iter_mut().flatten() {
            if m.from == From::Place(from) {
                m.from = From::Place(to);
                redirected += 1;
            }
        }
        redirected
    }
}
