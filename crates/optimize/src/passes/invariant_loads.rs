//! After phase 49: loads that give the same in every round of a loop are done once, before it.
//!
//! A load goes to the preheader on three conditions. Its address is from outside the loop. Nothing in the loop may change its
//! space or wait for another thread. Every thread that enters the loop executes it: its block dominates all ends of rounds
//! and all places where the loop or the function is left. So no load is executed that was not, and none fails that did not.
//! Phase 35 has made the preheaders. A register is needed throughout the loop, so there are few for each.
//!
//! Loads of memory that nothing writes may cross writes, barriers and fences, but no call: it may not return.

use crate::analyses::accesses::{Access, Direction};
use crate::passes::memory_values::{Event, space_of};
use oriole_ori::{BlockId, FlowGraph, Function, Instruction, Opcode, Pseudo, Value, edges, effects};
use typed_index_collections::{TiVec, ti_vec};

/// Registers for the results of one loop's loads.
const WORDS: usize = 8;
/// Most levels of loops in a loop that is looked at, itself included: in deeper nests the time would grow with the square of
/// the depth.
const LEVELS: usize = 8;

/// Facts about a loop, with the loops in it.
#[derive(Clone, Default)]
struct Summary {
    members: Vec<BlockId>,
    /// Spaces that it may change, a bit each.
    changes: u8,
    /// It may end the thread in the middle of a block.
    may_not_return: bool,
    /// Blocks that leave it.
    leaves: Vec<BlockId>,
    /// Levels of loops in it, itself included.
    levels: usize,
}

impl Summary {
    /// True if all places are known where a thread leaves it.
    fn is_known(&self) -> bool {
        !self.may_not_return && self.levels <= LEVELS
    }
}

/// Moves loads to the places before loops. True if there were some. In SSA.
pub fn run(function: &mut Function) -> bool {
    let graph = function.graph();
    let (cfg, loops) = (graph.cfg(), graph.loops());
    if loops.loops.is_empty() || loops.is_irreducible() {
        return false;
    }
    let load = |instruction: &Instruction| loaded(instruction).is_some();
    let any =
        |id: &BlockId| loops.innermost(*id).is_some() && function.block(*id).instructions.iter().any(load);
    if !cfg.order().iter().any(any) {
        return false;
    }
    let mut defined_in: TiVec<Value, Option<BlockId>> = ti_vec![None; function.values.len()];
    for (id, block) in function.blocks.iter_enumerated() {
        block.phis.iter().for_each(|phi| defined_in[phi.destination] = Some(id));
        block
            .instructions
            .iter()
            .for_each(|one| one.for_each_definition(|value| defined_in[value] = Some(id)));
    }
    let summaries = summaries(function, &graph);
    let mut changed = false;
    for index in (0..loops.loops.len()).rev() {
        let summary = &summaries[index];
        let Some(preheader) = preheader(function, &graph, index).filter(|_| summary.is_known()) else {
            continue;
        };
        let mut moved: Vec<Instruction> = Vec::new();
        let mut free = WORDS;
        for &id in &summary.members {
            let latches = &loops.loops[index].latches;
            let dominates = |&end: &BlockId| graph.dominators().dominates(id, end);
            if !latches.iter().all(dominates) || !summary.leaves.iter().all(dominates) {
                continue;
            }
            let mut instructions = std::mem::take(&mut function.block_mut(id).instructions);
            let mut left = false;
            instructions.retain(|instruction| {
                // Threads that leave under a guard do not come to the rest of the block.
                left |= effects::leaves_function(instruction);
                let moves = loaded(instruction).is_some_and(|access| {
                    !left && summary.changes & 1 << space_of(&access) == 0 && access.registers() <= free
                });
                let mut outside = true;
                instruction.for_each_use(|value| {
                    outside &= defined_in[value].is_some_and(|block| !loops.contains(index, block));
                });
                let moves = moves && outside;
                if moves {
                    instruction.for_each_definition(|value| {
                        free -= 1;
                        defined_in[value] = Some(preheader);
                    });
                    moved.push(instruction.clone());
                }
                !moves
            });
            function.block_mut(id).instructions = instructions;
        }
        changed |= !moved.is_empty();
        let block = function.block_mut(preheader);
        let end = edges::end_of_code(block);
        block.instructions.splice(end..end, moved);
    }
    changed
}

/// A plain load without a guard.
fn loaded(instruction: &Instruction) -> Option<Access> {
    let access = Access::of(instruction).filter(|access| access.direction == Direction::Load)?;
    (instruction.guard.is_none() && instruction.tied.is_empty()).then_some(access)
}

fn summaries(function: &Function, graph: &FlowGraph) -> Vec<Summary> {
    let (cfg, loops) = (graph.cfg(), graph.loops());
    let mut summaries = vec![Summary::default(); loops.loops.len()];
    for &id in cfg.order() {
        let block = function.block(id);
        let Some(innermost) = loops.innermost(id) else { continue };
        let changes = block.instructions.iter().fold(0, |changes, one| changes | Event::of(one).changes());
        let leaves_function = block.instructions.iter().any(effects::leaves_function);
        summaries[innermost].changes |= changes;
        summaries[innermost].may_not_return |= block.instructions.iter().any(may_not_return);
        let around = std::iter::successors(Some(innermost), |&index| loops.loops[index].parent);
        for index in around.take(LEVELS) {
            summaries[index].members.push(id);
            let leaves = block.successors.iter().any(|&next| !loops.contains(index, next));
            if leaves || leaves_function {
                summaries[index].leaves.push(id);
            }
        }
    }
    // Outer loops come before those in them.
    for index in (0..loops.loops.len()).rev() {
        let inner = &mut summaries[index];
        inner.levels += 1;
        let (changes, may_not_return, levels) = (inner.changes, inner.may_not_return, inner.levels);
        if let Some(parent) = loops.loops[index].parent {
            let outer = &mut summaries[parent];
            outer.changes |= changes;
            outer.may_not_return |= may_not_return;
            outer.levels = outer.levels.max(levels);
        }
    }
    summaries
}

/// A call, or an instruction that may end the thread and is not a transfer.
fn may_not_return(instruction: &Instruction) -> bool {
    let calls = instruction.call.is_some() && instruction.opcode != Opcode::Pseudo(Pseudo::CallHelper);
    let unknown = instruction.memory.is_none() && Event::of(instruction).changes() != 0;
    calls || unknown
}

/// The only block outside a loop that leads to its header, and nowhere else.
fn preheader(function: &Function, graph: &FlowGraph, index: usize) -> Option<BlockId> {
    let loops = graph.loops();
    let header = loops.loops[index].header;
    let mut outside = graph.cfg().predecessors(header).iter().filter(|&&block| !loops.contains(index, block));
    let found = outside.next().copied().filter(|_| outside.next().is_none());
    found.filter(|&id| function.block(id).successors[..] == [header])
}
