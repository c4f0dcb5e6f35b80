//! Phases 28 and 69, SinkRemat and OriDoRemat: sinks computations to the only path that uses them.
//!
//! A computation sinks to the block that dominates all its uses, if that is in the same loops: it is executed less
//! often there, and its results take no registers on other paths. Long-latency instructions stay early, except for
//! constants that are used only after a loop: they would take registers throughout it. Adds and other cheap
//! arithmetic sink only where that lengthens the live ranges of no more registers than it shortens. A value used only
//! in the next iteration of a loop stays before the branch. Reads of uniform registers stay where only a subset of the
//! warp is: the other lanes write that register on their way, before the two parts meet.
//!
//! Rematerialization for register pressure is phase 97's.

use crate::analyses::value_facts::is_plain_constant_load;
use oriole_options::Optimization;
use oriole_ori::{
    Allowance, Block, BlockId, Cfg, Divergence, Dominators, File, FormChange, Function, Instruction,
    Liveness, Loops, Opcode, Outcome, Pass, Pseudo, Value, effects,
};
use oriole_sass::Op;
use oriole_sass::info::Unit;
use typed_index_collections::{TiVec, ti_vec};

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    optimization: Some(Optimization::Sinking),
    ..Pass::new(|function, context| Outcome::changed_if(run_within(function, context.allowance)))
};

/// Sinks computations. In SSA. True if something changed.
pub fn run(function: &mut Function) -> bool {
    run_within(function, None)
}

fn run_within(function: &mut Function, allowance: Option<&Allowance>) -> bool {
    let branches = function.blocks.iter().any(|block| block.successors.len() > 1);
    if !branches {
        return false;
    }
    let graph = function.graph();
    let (cfg, dominators, loops) = (graph.cfg(), graph.dominators(), graph.loops());
    if loops.is_irreducible() {
        return false;
    }
    let goes_back = |(id, block): (BlockId, &Block)| {
        let back = matches!(block.successors.as_slice(), &[start] if dominators.dominates(start, id));
        back && block.instructions.is_empty()
    };
    let back_edges = function.blocks.iter_enumerated().map(goes_back).collect();
    let divergence = reads_uniform(function).then(|| Divergence::new(function, &graph));
    let graph = Graph { cfg, dominators, loops, back_edges, divergence };
    if !finds_any(function, &graph) {
        return false;
    }
    let liveness = Liveness::of(function, cfg, |value| matches!(function.file(value), File::R | File::P));
    let mut uses = Uses::of_phis(function, &graph);
    let mut moved: TiVec<BlockId, Vec<Instruction>> = ti_vec![Vec::new(); function.blocks.len()];
    let mut changed = false;
    // From the end, so that the operands of a sunk computation can follow it.
    for &id in cfg.order().iter().rev() {
        let mut going: Vec<(usize, BlockId)> = Vec::new();
        for (index, instruction) in function.block(id).instructions.iter().enumerate().rev() {
            let place = graph
                .place_of((id, function), instruction, &uses)
                .filter(|&place| pays(instruction, &liveness, place) && Allowance::allows(allowance));
            instruction.for_each_use(|value| uses.add(value, place.unwrap_or(id), &graph));
            going.extend(place.map(|place| (index, place)));
        }
        if going.is_empty() {
            continue;
        }
        changed = true;
        let instructions = &mut function.block_mut(id).instructions;
        for &(index, place) in &going {
            let nothing = Instruction::new(Op::NOP, instructions[index].origin);
            moved[place].push(std::mem::replace(&mut instructions[index], nothing));
        }
        let mut gone = going.iter().rev().map(|&(index, _)| index).peekable();
        let mut index = 0..;
        instructions.retain(|_| index.next().is_none_or(|index| gone.next_if_eq(&index).is_none()));
    }
    for (id, mut moved) in moved.into_iter_enumerated() {
        if !moved.is_empty() {
            moved.reverse();
            function.block_mut(id).instructions.splice(0..0, moved);
        }
    }
    changed
}

/// True if there is something that may go down.
fn finds_any(function: &Function, graph: &Graph<'_>) -> bool {
    let mut uses = Uses::of_phis(function, graph);
    graph.cfg.order().iter().rev().any(|&id| {
        function.block(id).instructions.iter().rev().any(|instruction| {
            let found = graph.place_of((id, function), instruction, &uses).is_some();
            instruction.for_each_use(|value| uses.add(value, id, graph));
            found
        })
    })
}

/// True if an instruction that may go down reads a uniform register.
fn reads_uniform(function: &Function) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.any(|one| reads_uniform_register(function, one) && reach(one) != Reach::Nowhere)
}

fn reads_uniform_register(function: &Function, instruction: &Instruction) -> bool {
    let mut reads = false;
    instruction.for_each_use(|value| reads |= matches!(function.file(value), File::UR | File::UP));
    reads
}

/// How far a computation may sink.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Nowhere,
    /// After a loop.
    Far,
    Anywhere,
}

/// Short-latency arithmetic may sink anywhere, loads from a constant bank to after a loop.
fn reach(instruction: &Instruction) -> Reach {
    let reach = match instruction.opcode {
        Opcode::Sass(_) if is_plain_constant_load(instruction) => Reach::Far,
        Opcode::Sass(op) if op.info().units.iter().all(|unit| matches!(unit, Unit::Alu | Unit::Fma)) => {
            Reach::Anywhere
        }
        Opcode::Pseudo(
            Pseudo::Copy
            | Pseudo::Add64
            | Pseudo::Mul64
            | Pseudo::MulHi64
            | Pseudo::Min64
            | Pseudo::Max64
            | Pseudo::Shl64
            | Pseudo::Shr64
            | Pseudo::Logic64
            | Pseudo::Select64
            | Pseudo::SetPredicate64,
        ) => Reach::Anywhere,
        _ => return Reach::Nowhere,
    };
    let moves = instruction.guard.is_none()
        && instruction.tied.is_empty()
        && instruction.call.is_none()
        && effects::is_pure(instruction)
        && !instruction.destinations.is_empty()
        && instruction.destinations.iter().all(|d| d.fixed.is_none() && matches!(d.file, File::R | File::P))
        && instruction.sources.iter().all(|source| source.fixed.is_none());
    if moves { reach } else { Reach::Nowhere }
}

/// True if sinking lengthens the live ranges of no more registers than it shortens.
fn pays(instruction: &Instruction, liveness: &Liveness, place: BlockId) -> bool {
    let mut written = 0;
    instruction.for_each_definition(|_| written += 1);
    let mut longer: Vec<Value> = Vec::new();
    instruction.for_each_use(|value| {
        if liveness.live_in(place).binary_search(&value).is_err() && !longer.contains(&value) {
            longer.push(value);
        }
    });
    longer.len() <= written
}

/// Control-flow analyses.
struct Graph<'a> {
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    loops: &'a Loops,
    /// Blocks that only lead back to the start of a loop. Code there would add a second branch to the loop.
    back_edges: TiVec<BlockId, bool>,
    /// Where the whole warp is; only where an instruction that may go down reads a uniform register.
    divergence: Option<Divergence>,
}

impl Graph<'_> {
    /// The last block that dominates both.
    fn common(&self, mut a: BlockId, mut b: BlockId) -> BlockId {
        // Mostly one dominates the other, however far.
        while a != b {
            if self.dominators.dominates(a, b) {
                return a;
            }
            if self.dominators.dominates(b, a) {
                return b;
            }
            let later = if self.cfg.position(a) > self.cfg.position(b) { &mut a } else { &mut b };
            match self.dominators.immediate(*later) {
                Some(above) => *later = above,
                None => return *later,
            }
        }
        a
    }

    /// The block below this one to which a computation sinks: it dominates the uses and is in the same loops.
    fn place_of(
        &self,
        (from, function): (BlockId, &Function),
        instruction: &Instruction,
        uses: &Uses,
    ) -> Option<BlockId> {
        let reach = reach(instruction);
        if reach == Reach::Nowhere {
            return None;
        }
        let apart = self.divergence.as_ref().is_some_and(|known| !known.is_uniform_block(from));
        if apart && reads_uniform_register(function, instruction) {
            return None;
        }
        let mut at = uses.of(instruction, self)?;
        while at != from && self.loops.innermost(at) != self.loops.innermost(from) {
            let inside = self.loops.innermost(at).filter(|&index| !self.loops.contains(index, from));
            at = self.dominators.immediate(inside.map_or(at, |index| self.loops.loops[index].header))?;
        }
        if self.back_edges[at] {
            at = self.dominators.immediate(at)?;
        }
        (at != from && (reach == Reach::Anywhere || self.is_behind_a_loop(from, at))).then_some(at)
    }

    /// True if a loop is between a block and one that it dominates.
    fn is_behind_a_loop(&self, from: BlockId, to: BlockId) -> bool {
        let between = |header| {
            self.cfg.position(header) < self.cfg.position(to) && self.dominators.dominates(from, header)
        };
        self.loops.loops.iter().any(|it| it.header != from && between(it.header))
    }
}

/// For each value the block that dominates all its uses known so far, from the end on.
struct Uses(TiVec<Value, Option<BlockId>>);

impl Uses {
    /// Uses by phis, at the ends of their edges. Uses by instructions are added after their readers are placed.
    fn of_phis(function: &Function, graph: &Graph<'_>) -> Uses {
        let mut uses = Uses(ti_vec![None; function.values.len()]);
        for phi in function.blocks.iter().flat_map(|block| &block.phis) {
            for (from, source) in &phi.sources {
                source.value().into_iter().for_each(|value| uses.add(value, *from, graph));
            }
        }
        uses
    }

    fn add(&mut self, value: Value, at: BlockId, graph: &Graph<'_>) {
        let known = self.0[value];
        self.0[value] = Some(known.map_or(at, |known| graph.common(known, at)));
    }

    /// The block that dominates all uses of the results.
    fn of(&self, instruction: &Instruction, graph: &Graph<'_>) -> Option<BlockId> {
        let mut found = None;
        instruction.for_each_definition(|value| {
            if let Some(at) = self.0[value] {
                found = Some(found.map_or(at, |known| graph.common(known, at)));
            }
        });
        found
    }
}
