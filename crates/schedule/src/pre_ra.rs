//! List scheduling of Ori before allocation (phase 97): within each block instructions are scheduled so that long
//! latencies overlap, in as few registers as make the function about as fast. Nothing moves between blocks.
//!
//! Preserved: reads after writes of each value, the order of conflicting memory accesses, of collective operations,
//! and of everything with side effects.
//!
//! The registers of a function are those of its block with the highest pressure, so they are weighed for the function
//! as a whole: its blocks are scheduled for some budgets, from the least known one upwards, and time is weighed
//! against registers.
//!
//! For each budget a schedule with few registers is followed, and instructions move ahead there as far as the budget
//! allows; a bottom-up schedule is compared with that. A predicate beyond the file counts as a general register, to
//! which it is spilled.
//!
//! Where that needs more registers than there are, time does not matter: every block is scheduled within the
//! available ones (in some kernels parts have their own register counts). In blocks that do not fit even so, value
//! computations may move across block barriers. An address that is computed before a barrier and used after it is
//! then computed where it is used.

use crate::arrange::arrange;
use crate::between_products::MatrixBlock;
use crate::budget::{RESERVED, Steps};
use crate::candidate::{Candidate, Prepared};
use crate::choice::{Choice, PREDICATES};
use crate::dense_ids::DenseIds;
use crate::distance::latency;
use crate::graph::{Graph, Sides};
use crate::known_blocks::KnownBlocks;
use crate::region::Region;
use crate::tables::Tables;
use crate::weigh::{choose, fill};
use crate::{between_products, matrix_blocks, occupancy};
use oriole_chip::nameable;
use oriole_latency::Model;
use oriole_options::OrderOptions;
use oriole_ori::{BlockId, Budget, Cfg, FlowGraph, Function, Grants, Instruction, Liveness, Loops, Opcode};
use oriole_sass::Op;
use std::rc::Rc;
use std::sync::Arc;

/// Schedules the instructions of every block. Returns the available registers for values, if the schedules need more.
pub fn order(
    function: &mut Function,
    tables: &Tables,
    options: &OrderOptions,
    known: Option<&mut KnownBlocks>,
) -> Option<Budget> {
    let mut blocks = Blocks::new(function, tables.latency, known);
    let budget = budget(function, blocks.graph.cfg(), tables, options);
    let mut candidates = blocks.candidates();
    lower_highest(&mut candidates, &mut blocks, tables, options);
    // Functions that multiply matrices are scheduled again for occupancy once their registers are known.
    let weighs_blocks = options.occupancy && !occupancy::registers_decide(function);
    let resident = |registers| match occupancy::blocks(function, tables, registers) {
        Some(blocks @ 1..) if weighs_blocks => blocks,
        _ => 1,
    };
    let mut chosen = match Steps::of(function, tables, options) {
        Some(steps) => fill(&mut candidates, &steps, &|candidate| budget.general[candidate.block]),
        None => choose(&mut candidates, options, &resident, &|_| u32::MAX),
    };
    let exceeds = |block: BlockId, choice: &Choice| choice.registers() > budget.general[block];
    let is_short = |candidates: &[Candidate], chosen: &[Choice]| {
        candidates.iter().zip(chosen).any(|(candidate, choice)| exceeds(candidate.block, choice))
    };
    if is_short(&candidates, &chosen) {
        let over = |candidate: &&mut Candidate| exceeds(candidate.block, &candidate.low.choice);
        for candidate in candidates.iter_mut().filter(over).filter(|_| options.across_barriers) {
            let open = blocks.candidate(candidate.block, Sides::Open);
            if open.low.choice.registers() < candidate.low.choice.registers() {
                *candidate = open;
            }
        }
        let limit = |candidate: &Candidate| budget.general[candidate.block];
        chosen = choose(&mut candidates, options, &resident, &limit);
    }
    let short = is_short(&candidates, &chosen);
    let cycles = candidates.iter().zip(&chosen).map(|(it, choice)| it.weight * u64::from(choice.cycles()));
    let mut time = Some(cycles.sum());
    if options.between_products && !short && matrix_blocks::has_matrix_blocks(function) {
        time = None;
        let needed = chosen.iter().map(Choice::registers).max().unwrap_or(0);
        let most = between_products::registers(function, tables, needed);
        for (candidate, choice) in candidates.iter().zip(&mut chosen) {
            let most = most.min(budget.general[candidate.block]);
            if let Some(order) = blocks.between_products(candidate, &choice.order, most) {
                choice.order = order.into();
            }
        }
    }
    if let Some(known) = &mut blocks.known {
        known.end(time);
    }
    for (candidate, choice) in candidates.iter().zip(chosen) {
        arrange(&mut function.block_mut(candidate.block).instructions, &choice.order);
    }
    short.then_some(budget)
}

/// Searches a schedule with fewer registers for the block with the highest pressure, since it determines the
/// registers of the function. Stops when the pressure allows full occupancy, or does not drop.
fn lower_highest(candidates: &mut [Candidate], blocks: &mut Blocks, tables: &Tables, options: &OrderOptions) {
    let limits = tables.limits;
    let each = limits.registers_per_sm / (limits.warps_per_sm * limits.warp_threads);
    let full = u32::from(nameable(each as u16)).saturating_sub(RESERVED);
    while let Some(highest) = candidates.iter_mut().max_by_key(|candidate| candidate.low.choice.registers()) {
        let known = highest.low.choice.registers();
        if known > full {
            highest.seek_lower();
            if options.across_barriers && blocks.has_barrier(highest.block) {
                let mut open = blocks.candidate(highest.block, Sides::Open);
                open.seek_lower();
                if open.low.choice.registers() < highest.low.choice.registers() {
                    *highest = open;
                }
            }
        }
        if highest.low.choice.registers() == known {
            return;
        }
    }
}

/// The registers that there are for values.
fn budget(function: &Function, cfg: &Cfg, tables: &Tables, options: &OrderOptions) -> Budget {
    let stated = nameable(function.register_limit.unwrap_or(tables.registers));
    let grants = function.register_limit.and_then(|_| Grants::new(function, cfg, stated));
    let most = nameable(tables.registers.min(options.limit.unwrap_or(tables.registers)));
    let granted = |block| grants.as_ref().map_or(stated, |grants| grants.throughout(function, block));
    let general = |block| u32::from(granted(block).min(most)).saturating_sub(RESERVED);
    Budget { general: function.block_ids().map(general).collect(), predicates: PREDICATES }
}

/// Context for creating candidates.
struct Blocks<'a> {
    function: &'a Function,
    known: Option<&'a mut KnownBlocks>,
    model: &'a Model,
    graph: Arc<FlowGraph>,
    liveness: Liveness,
    ids: DenseIds,
}

impl<'a> Blocks<'a> {
    fn new(function: &'a Function, model: &'a Model, known: Option<&'a mut KnownBlocks>) -> Blocks<'a> {
        let graph = function.graph();
        let liveness = Liveness::new(function, graph.cfg());
        Blocks { function, known, model, graph, liveness, ids: DenseIds::new(function.values.len()) }
    }

    fn candidates(&mut self) -> Vec<Candidate> {
        let blocks = self.graph.cfg().order().to_vec();
        blocks.into_iter().map(|block| self.candidate(block, Sides::Kept)).collect()
    }

    fn candidate(&mut self, block: BlockId, sides: Sides) -> Candidate {
        let prepared = self.prepared(block, sides);
        Candidate::new(block, self.graph.loops().weight(block), prepared)
    }

    /// The data about the block, computed if unknown.
    fn prepared(&mut self, block: BlockId, sides: Sides) -> Rc<Prepared> {
        let Blocks { function, known, model, liveness, ids, .. } = self;
        let (instructions, live_out) = (&function.block(block).instructions, liveness.live_out(block));
        let mut make = || {
            let latency = |from: &Instruction, to: &Instruction, node| latency(model, from, to, node);
            let graph = Graph::new(instructions, sides, ids, latency);
            Rc::new(Prepared::new(Region::new(model, function, instructions, live_out, graph, ids)))
        };
        match known {
            Some(known) => known.prepared(function, block, sides, live_out, make),
            None => make(),
        }
    }

    /// A schedule of a block that multiplies matrices, with loads and copies interleaved, within `most` general
    /// registers.
    fn between_products(&mut self, candidate: &Candidate, known: &[u32], most: u32) -> Option<Vec<u32>> {
        let Blocks { function, model, liveness, ids, .. } = self;
        let instructions = &function.block(candidate.block).instructions;
        let graph = between_products::graph(model, instructions, ids)?;
        let live_out = liveness.live_out(candidate.block);
        let region = Region::new(model, function, instructions, live_out, graph, ids);
        let registers = |order: &[u32]| Choice::new(&region, order.to_vec()).registers();
        let block = MatrixBlock::new(model, instructions, &region);
        block.order(known, most, |general| candidate.low.choice.budget(general), registers)
    }

    /// True if a block has a synchronization of the thread block between instructions.
    fn has_barrier(&self, block: BlockId) -> bool {
        let is_barrier = |i: &Instruction| i.opcode == Opcode::Sass(Op::BAR);
        self.function.block(block).instructions.iter().any(is_barrier)
    }
}

/// [`Loops::weight`], for callers outside of the stage.
pub fn weight(loops: &Loops, block: BlockId) -> u64 {
    loops.weight(block)
}

#[cfg(test)]
mod tests;
