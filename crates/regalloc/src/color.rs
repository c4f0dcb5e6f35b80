//! Graph colouring for the register files whose live ranges are never split: uniform registers, uniform predicates,
//! convergence barriers. A move would have to be in code that only a subset of the warp executes.
//!
//! Values that are adjacent in some operand (a tuple) form a bundle with one base register; an operand that needs a
//! value in two registers gets copies. Bundles are coloured in the order of their first definition.

mod bundles;
mod graph;
mod spill;

use crate::abi;
use crate::error::AllocateError;
use crate::set::RegisterSet;
use crate::work::Work;
use bundles::{Bundles, bundle};
use graph::Graph;
use oriole_chip::RegisterFiles;
use oriole_ori::{File, Value};
use rustc_hash::FxHashSet;
use spill::spill_or_rematerialize;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// Colours one file. All its values get a register in `work`.
pub fn color(work: &mut Work, file: File, files: &RegisterFiles) -> Result<(), AllocateError> {
    if !work.function.values.iter().any(|v| v.file == file) {
        return Ok(());
    }
    let mut files = *files;
    if file == File::UR && !work.function.is_entry {
        // Callee-saved uniform registers belong to the caller.
        files.uniform.end_usable = files.uniform.end_usable.min(abi::FIRST_SAVED_UNIFORM);
        let graph = Graph::new(work, file);
        let across = |v: &Value| graph.across_calls.get(*v).copied().unwrap_or(false);
        let evicted = graph.order.iter().copied().filter(across).collect();
        spill_or_rematerialize(work, &evicted);
    }
    if work.function.routine.is_some() {
        files.barrier.end_usable = abi::ROUTINE_BARRIERS;
    }
    let mut handled: FxHashSet<Value> = FxHashSet::default();
    loop {
        let mut bundles = bundle(work, file);
        let graph = Graph::new(work, file);
        let Err(conflicts) = assign(work, file, &files, &mut bundles, &graph) else { return Ok(()) };
        // Half of the conflict set, with the most interferences, is spilled or rematerialized.
        let mut evicted: Vec<Value> = conflicts.into_iter().filter(|v| !handled.contains(v)).collect();
        evicted.retain(|v| work.original[*v] == *v);
        evicted.sort_unstable_by_key(|v| (std::cmp::Reverse(graph.neighbors[*v].len()), *v));
        evicted.truncate(evicted.len().div_ceil(2));
        if file != File::UR || evicted.is_empty() {
            return Err(AllocateError::Pressure { file });
        }
        handled.extend(evicted.iter().copied());
        spill_or_rematerialize(work, &evicted.into_iter().collect());
    }
}

/// First register that may be used, and one past the last.
fn range(file: File, files: &RegisterFiles) -> (u8, u8) {
    let file = match file {
        File::UR => files.uniform,
        File::UP => files.uniform_predicate,
        File::B => files.barrier,
        File::R | File::P => unreachable!("these files are scanned"),
    };
    (file.first_usable, file.end_usable)
}

/// Assigns the registers. If some bundle finds none, returns the conflict set: its own values first, then those that
/// interfere.
fn assign(
    work: &mut Work,
    file: File,
    files: &RegisterFiles,
    bundles: &mut Bundles,
    graph: &Graph,
) -> Result<(), Vec<Value>> {
    let mut placed: TiVec<Value, Option<u8>> = ti_vec![None; work.function.values.len()];
    for root in order(bundles, graph) {
        let mut members = bundles.members.get(&root).cloned().unwrap_or_default();
        members.sort_unstable();
        let demands = bundles.demands.get(&root).map_or(&[][..], |demands| demands);
        let base = base_register(file, files, &members, demands, graph, &placed);
        let base = base.ok_or_else(|| conflicts(&members, graph))?;
        for &(offset, v) in &members {
            placed[v] = Some((base + offset) as u8);
        }
    }
    for (value, register) in placed.into_iter_enumerated() {
        if register.is_some() && work.function.values[value].file == file {
            work.register[value] = register;
        }
    }
    Ok(())
}

/// The roots of the bundles, those with a fixed register first.
fn order(bundles: &mut Bundles, graph: &Graph) -> Vec<Value> {
    let mut done: FxHashSet<Value> = FxHashSet::default();
    let mut order: Vec<Value> = Vec::new();
    for fixed in [true, false] {
        for &v in &graph.order {
            let (root, _) = bundles.find(v);
            let is_fixed = bundles.demands.get(&root).is_some_and(|d| d.iter().any(|(_, _, f)| f.is_some()));
            if is_fixed == fixed && done.insert(root) {
                order.push(root);
            }
        }
    }
    order
}

/// The members of a bundle and the values that interfere with them.
fn conflicts(members: &[(i32, Value)], graph: &Graph) -> Vec<Value> {
    let own = members.iter().map(|m| m.1);
    let others = members.iter().flat_map(|m| graph.neighbors[m.1].iter().copied());
    let mut conflicts: Vec<Value> = own.chain(others).collect();
    conflicts.sort_unstable();
    conflicts.dedup();
    conflicts
}

/// A base register for a bundle: one that gives a copy-related value the same register, else the lowest.
fn base_register(
    file: File,
    files: &RegisterFiles,
    members: &[(i32, Value)],
    demands: &[(i32, u8, Option<u8>)],
    graph: &Graph,
    placed: &TiSlice<Value, Option<u8>>,
) -> Option<i32> {
    let (low, high) = range(file, files);
    let across = members.iter().any(|m| graph.across_calls[m.1]);
    let lowest = match file {
        File::B if !across && members.iter().any(|m| graph.across_routines[m.1]) => {
            low.max(abi::ROUTINE_BARRIERS)
        }
        _ if !across => low,
        File::UR => abi::FIRST_SAVED_UNIFORM.min(high),
        File::B => abi::FIRST_SAVED_BARRIER.min(high),
        _ => return None,
    };
    let taken = members.iter().map(|&(offset, v)| {
        let mut set = RegisterSet::default();
        graph.neighbors[v].iter().filter_map(|&n| placed[n]).for_each(|r| set.insert(r));
        (offset, set)
    });
    let taken: Vec<(i32, RegisterSet)> = taken.collect();
    let fits = |base: &i32| {
        let aligned = demands.iter().all(|&(offset, align, fixed)| {
            let r = base + offset;
            r >= 0 && r % i32::from(align) == 0 && fixed.is_none_or(|f| i32::from(f) == r)
        });
        aligned
            && taken.iter().all(|(offset, set)| {
                let r = base + offset;
                r >= i32::from(lowest) && r < i32::from(high) && !set.contains(r as u8)
            })
    };
    let hints = members
        .iter()
        .flat_map(|&(offset, v)| graph.copy_related[v].iter().map(move |other| (offset, *other)));
    let mut hinted = hints.filter_map(|(offset, related)| Some(i32::from(placed[related]?) - offset));
    let span = members.iter().map(|m| m.0).max().unwrap_or(0).unsigned_abs() as i32 + 16;
    hinted.find(fits).or_else(|| (-span..i32::from(high) + span).find(fits))
}
