//! Removal of `WARPSYNC` where the lanes are converged, or have met for an exchange before.

use oriole_ori::effects::{self, gathers_warp};
use oriole_ori::{Cfg, Divergence, Function, Instruction};

/// Removes a `WARPSYNC` of all lanes where the whole warp of a kernel is converged anyway, or has met for
/// an exchange before. True if there was one.
pub fn remove_warp_syncs(function: &mut Function) -> bool {
    if !has_removable_syncs(function) {
        return false;
    }
    let graph = function.graph();
    let cfg = graph.cfg();
    let divergence = Divergence::new(function, &graph);
    remove_syncs_of(function, cfg, &divergence)
}

/// True if a `WARPSYNC` may not be needed.
fn has_removable_syncs(function: &Function) -> bool {
    function.is_entry && function.blocks.iter().any(|block| block.instructions.iter().any(gathers_warp))
}

/// Takes away each `WARPSYNC` that is not needed. True if there was one.
pub(super) fn remove_syncs_of(function: &mut Function, cfg: &Cfg, divergence: &Divergence) -> bool {
    if !has_removable_syncs(function) {
        return false;
    }
    let mut removed = false;
    for &id in cfg.order() {
        let instructions = &mut function.block_mut(id).instructions;
        let before = instructions.len();
        if divergence.is_uniform_block(id) {
            instructions.retain(|instruction| !gathers_warp(instruction));
        } else if instructions.iter().filter(|it| gathers_warp(it)).nth(1).is_some() {
            remove_later_syncs(instructions);
        }
        removed |= instructions.len() < before;
    }
    removed
}

/// Removes each `WARPSYNC` for an exchange that follows another one: lanes that exchange have met at one place, and
/// nothing between parts them. Where lanes only wait for each other, they may be at several places.
fn remove_later_syncs(instructions: &mut Vec<Instruction>) {
    // From the end: whether the next operation of several lanes is an exchange.
    let mut exchanges = false;
    let mut serves: Vec<bool> = vec![false; instructions.len()];
    for (serves, instruction) in serves.iter_mut().zip(instructions.iter()).rev() {
        if gathers_warp(instruction) {
            *serves = exchanges;
            exchanges = false;
        } else if may_part(instruction) {
            exchanges = false;
        } else if effects::is_exchange(instruction) {
            exchanges = true;
        }
    }
    let mut together = false;
    let mut at = 0;
    instructions.retain(|instruction| {
        let serves_exchange = serves[at];
        at += 1;
        if gathers_warp(instruction) {
            let gone = serves_exchange && together;
            together = serves_exchange;
            return !gone;
        }
        together &= !may_part(instruction);
        true
    });
}

/// True if lanes that are together before the instruction may not be together after it, or need an order of accesses.
fn may_part(instruction: &Instruction) -> bool {
    let parts = effects::is_convergent(instruction) && !effects::is_exchange(instruction);
    parts || instruction.call.is_some() || instruction.memory.is_some()
}
