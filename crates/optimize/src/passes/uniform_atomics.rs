//! Phase 44: a warp updates one address once, in place of once for each lane.
//!
//! All lanes of a warp often update the same counter. Memory does that lane after lane, and other warps wait meanwhile.
//! Here the active lanes vote, and one of them, the leader, updates memory for all: it adds a multiple of the value that
//! all lanes add, or the sum of their values ([`update::Way`] lists the ways). Where the old value is read, each lane computes
//! its own from the leader's. Lanes come in the order of their numbers, which is one of the possible orders. Where the
//! hardware lacks an instruction there is a loop by now; [`spin_loops`] has those that are combined.
//!
//! It preserves the result of memory, and the old values up to the order of lanes. It must not touch floating-point
//! additions, whose result depends on the order, and adds no control flow: the lanes that vote execute all of the
//! sequence together. Where one lane at most is active anyway, the vote would only cost time; that is a guess, and need not be sound.

mod known;
mod sequence;
mod spin_loops;
mod update;
mod votes;

use crate::analyses::definitions::Definitions;
use known::{Known, Plan};
use oriole_chip::Chip;
use oriole_options::Optimization;
use oriole_ori::{Block, BlockId, Divergence, FormChange, Function, Outcome, Pass};
use sequence::sequence;
use spin_loops::{Spin, is_swap};
use update::Update;
use votes::Votes;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    optimization: Some(Optimization::UniformAtomics),
    ..Pass::new(|function, context| Outcome::changed_if(run(function, context.chip)))
};

/// Combines updates of one address. True if there were some. In SSA.
pub fn run(function: &mut Function, chip: Chip) -> bool {
    let updates = |block: &Block| block.instructions.iter().any(|i| Update::of(i).is_some() || is_swap(i));
    if function.block_threads == Some(1) || !function.blocks.iter().any(updates) {
        return false;
    }
    let (plans, loops) = plans(function, chip);
    for (id, plans) in &plans {
        let mut plans = plans.iter().peekable();
        let mut votes = Votes::default();
        let instructions = std::mem::take(&mut function.block_mut(*id).instructions);
        let mut combined = Vec::with_capacity(instructions.len());
        for (at, instruction) in instructions.into_iter().enumerate() {
            match plans.next_if(|(place, _)| *place == at) {
                Some((_, plan)) => combined.extend(sequence(function, &instruction, plan, &mut votes)),
                None => {
                    votes.pass(&instruction);
                    combined.push(instruction);
                }
            }
        }
        function.block_mut(*id).instructions = combined;
    }
    loops.iter().for_each(|spin| spin.combine(function));
    !plans.is_empty() || !loops.is_empty()
}

/// The updates to combine in each block, by place.
type Plans = Vec<(BlockId, Vec<(usize, Plan)>)>;

/// The updates to combine, and the loops.
fn plans(function: &Function, chip: Chip) -> (Plans, Vec<Spin>) {
    let graph = function.graph();
    let known = Known {
        function,
        divergence: Divergence::new(function, &graph),
        definitions: Definitions::in_ssa(function),
        cfg: graph.cfg(),
        dominators: graph.dominators(),
    };
    let (mut found, mut loops) = (Vec::new(), Vec::new());
    for &id in graph.cfg().order() {
        let instructions = function.block(id).instructions.iter().enumerate();
        let here: Vec<(usize, Plan)> =
            instructions.filter_map(|(at, instruction)| Some((at, known.plan(chip, instruction)?))).collect();
        let spin = if here.is_empty() { Spin::of(&known, id) } else { None };
        if here.is_empty() && spin.is_none() || known.one_lane_reaches(id) {
            continue;
        }
        match spin {
            Some(spin) => loops.push(spin),
            None => found.push((id, here)),
        }
    }
    (found, loops)
}
