//! The bottom-up list scheduler: from the last instruction to the first. In this direction a read begins a live range and a
//! write ends it, so that the effect of each choice on the registers is exact, and a chain of
//! computations is finished before the next one is begun.

use crate::region::{Counts, FILES, Region};

/// So many ready instructions are compared.
const WINDOW: usize = 48;

/// Registers kept free for results that come several at once.
const SLACK: Counts = [2, 1, 2];

/// Cycles from the start to each instruction on the longest path.
fn depths(region: &Region) -> Vec<u32> {
    let mut depth = vec![0u32; region.len()];
    for node in 0..region.len() {
        for &(to, cycles) in region.graph.after(node as u32) {
            depth[to as usize] = depth[to as usize].max(depth[node] + cycles);
        }
    }
    depth
}

/// How many values more of each file are live above an instruction than below it.
fn change(region: &Region, live: &[bool], node: u32) -> [i32; 3] {
    let own = &region.operands[node as usize];
    let mut change = [0; 3];
    for &v in &own.definitions {
        let ends = live[v as usize] && !own.guarded;
        change[usize::from(region.file[v as usize])] -= i32::from(ends);
    }
    for &v in &own.uses {
        let written = !own.guarded && own.definitions.contains(&v);
        let begins = !live[v as usize] || written;
        change[usize::from(region.file[v as usize])] += i32::from(begins);
    }
    change
}

/// An order in which few values are live at once. As long as fewer than `budget` are, latencies are hidden.
pub fn order(region: &Region, budget: Counts) -> Vec<u32> {
    let depth = depths(region);
    let (mut count, mut live) = region.end();
    // When each value came to life, counted in places from the end.
    let mut birth = vec![0u32; region.file.len()];
    let mut waiting = region.graph.after_counts();
    let mut ready_at: Vec<u32> = region.live_out_latency.iter().map(|&cycles| cycles - 1).collect();
    // The last to become ready are at the end.
    let mut ready: Vec<u32> = (0..region.len() as u32).filter(|&n| waiting[n as usize] == 0).collect();
    let mut places = Vec::with_capacity(region.len());
    let mut cycle = 0u32;
    while !ready.is_empty() {
        let short: [bool; 3] = std::array::from_fn(|k| count[k].saturating_add(SLACK[k]) > budget[k]);
        let key = |slot: usize| -> (i64, i64, i64) {
            let node = ready[slot];
            if short.contains(&true) {
                let change = change(region, &live, node);
                let more: i32 = (0..FILES.len()).filter(|&k| short[k]).map(|k| change[k]).sum();
                // What was begun last is continued first; what ends nothing, as stores do, waits.
                let ended = region.operands[node as usize].definitions.iter().filter(|&&v| live[v as usize]);
                let born = ended.map(|&v| birth[v as usize]).max().unwrap_or(0);
                (i64::from(-more), i64::from(born), slot as i64)
            } else {
                let wait = ready_at[node as usize].saturating_sub(cycle);
                (-i64::from(wait), i64::from(depth[node as usize]), slot as i64)
            }
        };
        let first = ready.len().saturating_sub(WINDOW);
        let Some(slot) = (first..ready.len()).max_by_key(|&slot| key(slot)) else { break };
        let node = ready.remove(slot);
        let issue = cycle.max(ready_at[node as usize]);
        cycle = issue + 1;
        region.step_backwards(node, &mut count, &mut live);
        places.push(node);
        for &v in &region.operands[node as usize].uses {
            let born = &mut birth[v as usize];
            *born = if *born == 0 { places.len() as u32 } else { *born };
        }
        for &(from, cycles) in region.graph.before(node) {
            let at = from as usize;
            ready_at[at] = ready_at[at].max(issue + cycles);
            waiting[at] -= 1;
            if waiting[at] == 0 {
                ready.push(from);
            }
        }
    }
    places.reverse();
    places
}
