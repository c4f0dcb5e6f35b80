//! Phases 71 and 72, OptimizeSyncInstructions and LateExpandSyncInstructions: convergence barriers.
//!
//! After every divergent branch the lanes must reconverge where the analyses say they do
//! ([`oriole_ori::convergence`]), and lanes that meet earlier should continue as one convoy. Each block where lanes
//! meet gets one barrier: `BSSY` sets it up at the anchor, `BSYNC` waits for it in a block of its own before the
//! join, and lanes that leave the region before the join leave the barrier by `BREAK`. Where nested branches end at
//! one join, the outermost anchor serves all.
//!
//! An indirect call with a divergent target splits the warp too, until all lanes have returned: it ends a block, with
//! a barrier around the call.
//!
//! No barrier is set up around an instruction that waits for all lanes of the warp or all threads of the block: the
//! held lanes may be those that must end first. Nor is one set up around a block of a cycle with several entries,
//! which lanes pass at different times.
//!
//! A function from which lanes may return at different times has a barrier from its start to its return: its callers
//! assume convergence.
//!
//! There are sixteen barriers, and a warp inside more regions than that has none left. The smallest regions get
//! theirs first, and those that make a block whole before those that only form convoys. Lanes of the other regions
//! stay divergent until the next wait, which is slower and never wrong: later phases derive convergence from the
//! barriers in place, and `WARPSYNC` is removed here, not before.
//!
//! `BSSY` names the block of its `BSYNC`; in the encoding its target is the instruction after that.

mod blocks;
mod inside;
mod place;
mod returns;
mod sites;
mod warp_syncs;

use blocks::{end_blocks_at_calls, merge_latches};
use oriole_ori::{Divergence, FormChange, Function, Outcome, Pass, Phi};
use place::place;
use returns::{gather_before_return, returns_apart};
use sites::barrier_sites;
use warp_syncs::remove_syncs_of;
pub use warp_syncs::remove_warp_syncs;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    ..Pass::new(|function, context| run(function, context.options.level >= 2))
};

/// Phases 71 and 72: places `BSSY`, `BREAK` and `BSYNC`; with `optimized`, removes redundant `WARPSYNC`. SSA in, SSA
/// out.
pub fn run(function: &mut Function, optimized: bool) -> Outcome {
    if function.blocks.is_empty() {
        return Outcome::Unchanged;
    }
    let merged = merge_latches(function) | end_blocks_at_calls(function);
    let graph = function.graph();
    let cfg = graph.cfg();
    let divergence = Divergence::new(function, &graph);
    let sites = barrier_sites(function, &graph, &divergence);
    let gathers = returns_apart(function, &sites, &divergence);
    if sites.is_empty() && !gathers {
        // Nothing changes, so the analyses stay valid.
        let removed = optimized && remove_syncs_of(function, cfg, &divergence);
        return Outcome::changed_if(merged || removed);
    }
    place(function, &sites);
    let merged = (gathers && gather_before_return(function)) | merged;
    let removed = optimized && remove_warp_syncs(function);
    // Where some edges of a phi got a phi of their own, both may merge equal values now.
    let merges_one = |phi: &Phi| {
        let sources = phi.sources.iter().map(|(_, source)| source);
        let mut others = sources.filter(|source| source.value() != Some(phi.destination));
        let first = others.next();
        others.all(|other| Some(other) == first)
    };
    if merged || removed || function.blocks.iter().any(|block| block.phis.iter().any(merges_one)) {
        Outcome::Changed
    } else {
        Outcome::Kept
    }
}
