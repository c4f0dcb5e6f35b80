//! Phases 35, 66, 79 and 88, OriHoistInvariants: loop-invariant code motion. Computations of values that do not
//! change in a loop move to its preheader.
//!
//! Only pure operations move, and only those that the loop executes in every iteration, so that no work is added.
//! Each needs a register throughout the loop, so their number is bounded by the registers that the loop leaves free.
//! Inner loops come first: an instruction that leaves one may leave the next.

use crate::analyses::definitions::Definitions;
use oriole_chip::{Chip, nameable};
use oriole_options::Optimization;
use oriole_ori::{
    Block, BlockId, Cfg, Divergence, File, Form, Function, Instruction, Liveness, Loops, Opcode, Outcome,
    Pass, Phi, PhiSources, Pseudo, SourceKind, Value, canonical, edges, effects,
};
use oriole_sass::Op;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// General registers at which a loop counts as full, if no limit is known.
const REGISTERS: usize = 128;

/// Registers that are kept free for allocation.
const MARGIN: usize = 16;

/// Predicates that may be live throughout a loop. The rest of the file is for the loop's own conditions: one more
/// predicate would live in a general register, and testing it again would cost as much as the comparison.
const PREDICATES: usize = 4;

/// Constants in uniform registers that leave a loop: most words of descriptors are constants, and a long row of them
/// would take all registers.
const UNIFORM_CONSTANTS: usize = 8;

/// Uniform registers that are kept free in a loop: descriptors take them in aligned rows.
const UNIFORM_MARGIN: usize = 32;

/// The pass.
pub static PASS: Pass = Pass {
    optimization: Some(Optimization::Licm),
    ..Pass::new(|function, context| run(function, context.chip, context.form))
};

/// In a loop of this many instructions, one constant with a single reader stays in place: rematerializing it in each
/// iteration costs little compared with a register for the whole loop.
const BESIDE_A_CONSTANT: usize = 48;

/// Most loops around a block that are tried, from the innermost: in deeper nests the time would grow with the square
/// of the depth.
const LEVELS: usize = 32;

/// Moves invariant operations out of loops. In SSA, loops without a place before them get one.
pub fn run(function: &mut Function, chip: Chip, form: Form) -> Outcome {
    if !function.graph().cfg().has_cycles() {
        return Outcome::Unchanged;
    }
    let split = form == Form::Ssa && make_preheaders(function);
    if split {
        canonical::order_blocks(function);
    }
    let mut moved = move_invariants(function, chip, form);
    if !split && moved.is_empty() {
        return Outcome::Unchanged;
    }
    // Sources of a phi may now be defined where the phi is: in SSA no other reader learns from the place of a
    // definition.
    moved.sort_unstable();
    let merges = |phi: &Phi| phi.values().any(|value| moved.binary_search(&value).is_ok());
    if split || form != Form::Ssa || function.blocks.iter().any(|block| block.phis.iter().any(merges)) {
        Outcome::Changed
    } else {
        Outcome::Kept
    }
}

/// Moves invariant operations to places before loops that are there. Gives their results.
fn move_invariants(function: &mut Function, chip: Chip, form: Form) -> Vec<Value> {
    let mut results = Vec::new();
    let graph = function.graph();
    let (cfg, dominators, loops) = (graph.cfg(), graph.dominators(), graph.loops());
    if loops.loops.is_empty() || loops.is_irreducible() {
        return results;
    }
    let definitions = match form {
        Form::Ssa => Definitions::in_ssa(function),
        _ => Definitions::of(function, cfg, dominators),
    };
    // Only writers of uniform registers need to know where the whole warp executes.
    let asks = |id: &BlockId| {
        loops.innermost(*id).is_some() && function.block(*id).instructions.iter().any(writes_uniform)
    };
    let divergence = cfg.order().iter().any(asks).then(|| Divergence::new(function, &graph));
    let whole_warp = |id: BlockId| divergence.as_ref().is_some_and(|known| known.is_uniform_block(id));
    let mut defined_in = blocks_of_definitions(function, cfg);
    // The first instruction that can leave its loop; usually there is none.
    let first = |id: &BlockId| {
        let Some(index) = loops.innermost(*id) else { return false };
        function.block(*id).instructions.iter().any(|instruction| {
            may_move(instruction, &definitions)
                && reads_only_outside(instruction, &definitions, &defined_in, loops, index)
        })
    };
    if !cfg.order().iter().any(first) {
        return results;
    }
    let (members, pressures) = members_and_pressures(function, cfg, loops);
    let budget =
        function.register_limit.map_or(REGISTERS, |limit| usize::from(nameable(limit))).min(REGISTERS);
    let uniform = usize::from(chip.register_files().uniform.end_usable);
    for index in (0..loops.loops.len()).rev() {
        let this = &loops.loops[index];
        let Some(preheader) = preheader(function, cfg, loops, index) else { continue };
        let taken = pressures[index];
        let mut free = Pressure {
            general: budget.saturating_sub(taken.general + MARGIN),
            predicates: PREDICATES.saturating_sub(taken.predicates),
            uniform: uniform.saturating_sub(taken.uniform + UNIFORM_MARGIN),
        };
        let mut moved: Vec<Instruction> = Vec::new();
        let instructions = |&id: &BlockId| function.block(id).instructions.len();
        let mut constants = members[index].iter().map(instructions).sum::<usize>() / BESIDE_A_CONSTANT;
        let mut uniform_constants = UNIFORM_CONSTANTS;
        // Results of the copies at the end of the preheader are outside of the loop, but not available before them.
        let before = function.block(preheader);
        let mut late: Vec<Value> = Vec::new();
        before.instructions[place_before_copies(before)..]
            .iter()
            .for_each(|copies| copies.for_each_definition(|value| late.push(value)));
        late.sort_unstable();
        for &id in &members[index] {
            if !this.latches.iter().all(|&latch| dominators.dominates(id, latch)) {
                continue;
            }
            let mut block = std::mem::take(function.block_mut(id));
            block.instructions.retain(|instruction| {
                let results = Pressure::of_results(instruction);
                let invariant = results.fits(free)
                    && may_move(instruction, &definitions)
                    && (!writes_uniform(instruction) || whole_warp(preheader))
                    && reads_only_outside(instruction, &definitions, &defined_in, loops, index)
                    && !reads_any(instruction, &late);
                if invariant && constants > 0 && is_constant_read_once(instruction, &definitions) {
                    constants -= 1;
                    return true;
                }
                if invariant && is_uniform_constant(instruction) {
                    if uniform_constants == 0 {
                        return true;
                    }
                    uniform_constants -= 1;
                }
                if invariant {
                    free = free.without(results);
                    instruction.for_each_definition(|value| defined_in[value] = Some(preheader));
                    moved.push(instruction.clone());
                }
                !invariant
            });
            *function.block_mut(id) = block;
        }
        let block = function.block_mut(preheader);
        let end = place_before_copies(block);
        moved.iter().for_each(|instruction| instruction.for_each_definition(|value| results.push(value)));
        block.instructions.splice(end..end, moved);
    }
    results
}

/// The block that defines each value, the last one if there are several.
fn blocks_of_definitions(function: &Function, cfg: &Cfg) -> TiVec<Value, Option<BlockId>> {
    let mut defined_in: TiVec<Value, Option<BlockId>> = ti_vec![None; function.values.len()];
    for &id in cfg.order() {
        let block = function.block(id);
        block.phis.iter().for_each(|phi| defined_in[phi.destination] = Some(id));
        for instruction in &block.instructions {
            instruction.for_each_definition(|value| defined_in[value] = Some(id));
        }
    }
    defined_in
}

/// Registers by file; the highest number of live values at block boundaries, or what is left.
#[derive(Clone, Copy, Default)]
struct Pressure {
    general: usize,
    predicates: usize,
    uniform: usize,
}

impl Pressure {
    fn add(&mut self, file: File, count: usize) {
        match file {
            File::P | File::UP => self.predicates += count,
            File::UR => self.uniform += count,
            File::R | File::B => self.general += count,
        }
    }

    fn of_results(instruction: &Instruction) -> Pressure {
        let mut pressure = Pressure::default();
        instruction.destinations.iter().for_each(|it| pressure.add(it.file, it.values.len()));
        // Uniform registers that do not suffice are kept in general ones.
        pressure.general += pressure.uniform;
        pressure
    }

    fn max(self, other: Pressure) -> Pressure {
        Pressure {
            general: self.general.max(other.general),
            predicates: self.predicates.max(other.predicates),
            uniform: self.uniform.max(other.uniform),
        }
    }

    fn fits(self, free: Pressure) -> bool {
        self.general <= free.general && self.predicates <= free.predicates && self.uniform <= free.uniform
    }

    fn without(self, taken: Pressure) -> Pressure {
        Pressure {
            general: self.general - taken.general,
            predicates: self.predicates - taken.predicates,
            uniform: self.uniform - taken.uniform,
        }
    }
}

/// The blocks of each loop, those of inner ones included, in RPO; and the highest register pressure at their borders.
fn members_and_pressures(
    function: &Function,
    cfg: &Cfg,
    loops: &Loops,
) -> (Vec<Vec<BlockId>>, Vec<Pressure>) {
    // Only counts: in deep nests the sets themselves would be large.
    let file = |value: Value| function.file(value);
    let mut at_top: TiVec<BlockId, Pressure> = ti_vec![Pressure::default(); function.blocks.len()];
    let mut at_end = at_top.clone();
    let wanted = |value: Value| matches!(file(value), File::R | File::P | File::UR);
    let begins = |block: BlockId, value: Value| at_top[block].add(file(value), 1);
    let ends = |block: BlockId, value: Value| at_end[block].add(file(value), 1);
    Liveness::for_each(function, cfg, wanted, begins, ends);
    let mut members: Vec<Vec<BlockId>> = vec![Vec::new(); loops.loops.len()];
    let mut pressures: Vec<Pressure> = vec![Pressure::default(); loops.loops.len()];
    for &id in cfg.order() {
        let around = std::iter::successors(loops.innermost(id), |&index| loops.loops[index].parent);
        around.take(LEVELS).for_each(|index| members[index].push(id));
        if let Some(index) = loops.innermost(id) {
            pressures[index] = pressures[index].max(at_top[id]).max(at_end[id]);
        }
    }
    for index in (0..loops.loops.len()).rev() {
        if let Some(parent) = loops.loops[index].parent {
            pressures[parent] = pressures[parent].max(pressures[index]);
        }
    }
    (members, pressures)
}

/// The insertion point at the end of a block, before its transfer and the parallel copy that belongs to it.
fn place_before_copies(block: &Block) -> usize {
    let mut end = edges::end_of_code(block);
    while end > 0
        && (block.instructions[end - 1].opcode == Opcode::Pseudo(Pseudo::ParallelCopy)
            || block.instructions[end - 1].opcode == Opcode::Sass(Op::BSSY))
    {
        end -= 1;
    }
    end
}

/// The only block outside the loop that leads to its header, and leads nowhere else.
fn preheader(function: &Function, cfg: &Cfg, loops: &Loops, index: usize) -> Option<BlockId> {
    let header = loops.loops[index].header;
    let mut found = None;
    for &predecessor in cfg.predecessors(header) {
        if !loops.contains(index, predecessor) && found.replace(predecessor).is_some() {
            return None;
        }
    }
    found.filter(|&id| function.block(id).successors[..] == [header])
}

/// Gives every loop that is entered from several blocks, or by a conditional branch, a preheader.
fn make_preheaders(function: &mut Function) -> bool {
    let graph = function.graph();
    let (cfg, loops) = (graph.cfg(), graph.loops());
    if loops.is_irreducible() {
        return false;
    }
    let mut changed = false;
    for index in 0..loops.loops.len() {
        let header = loops.loops[index].header;
        if preheader(function, cfg, loops, index).is_some() {
            continue;
        }
        let entering: Vec<BlockId> = cfg
            .predecessors(header)
            .iter()
            .copied()
            .filter(|&predecessor| !loops.contains(index, predecessor))
            .collect();
        let new = function.blocks.next_key();
        function.blocks.push(Block { successors: smallvec::smallvec![header], ..Block::default() });
        for &predecessor in &entering {
            edges::redirect(function, predecessor, header, new);
        }
        let mut phis = std::mem::take(&mut function.block_mut(header).phis);
        for phi in &mut phis {
            let (mut outer, mut kept): (PhiSources, PhiSources) =
                phi.sources.drain(..).partition(|(block, _)| entering.contains(block));
            let only = if outer.len() == 1 { outer.pop() } else { None };
            let source = match only {
                Some((_, only)) => only,
                None => {
                    let data = function.values[phi.destination];
                    let merged = function.new_value(data.file, data.source);
                    function.block_mut(new).phis.push(Phi { destination: merged, sources: outer });
                    merged.into()
                }
            };
            kept.push((new, source));
            phi.sources = kept;
        }
        function.block_mut(header).phis = phis;
        changed = true;
    }
    changed
}

/// An immediate in a general register that one operand reads.
fn is_constant_read_once(instruction: &Instruction, definitions: &Definitions) -> bool {
    let [destination] = instruction.destinations.as_slice() else { return false };
    let ([value], File::R) = (destination.values.as_slice(), destination.file) else { return false };
    let number = matches!(instruction.sources.as_slice(), [only] if matches!(only.kind, SourceKind::Imm(_)));
    number && instruction.opcode == Opcode::Sass(Op::MOV) && definitions.uses(*value) == 1
}

fn is_uniform_constant(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::UMOV)
        && matches!(instruction.sources.as_slice(), [only] if matches!(only.kind, SourceKind::Imm(_)))
}

fn writes_uniform(instruction: &Instruction) -> bool {
    instruction.destinations.iter().any(|destination| matches!(destination.file, File::UR | File::UP))
}

/// True if it is pure and unguarded, and executing it before the loop causes no fault and no cost.
fn may_move(instruction: &Instruction, definitions: &Definitions) -> bool {
    let mut stable = true;
    instruction.for_each_definition(|value| stable &= definitions.is_stable(value));
    let fixed = instruction.destinations.iter().any(|destination| destination.fixed.is_some())
        || instruction.sources.iter().any(|source| source.fixed.is_some());
    // An indexed constant-bank word may be past its end.
    let indexed = instruction.sources.iter().any(|source| matches!(source.kind, SourceKind::ConstIndexed(_)));
    // Copies and immediates are made where they are used; a register would be no better.
    let trivial = matches!(
        (&instruction.opcode, instruction.sources.as_slice()),
        (Opcode::Pseudo(Pseudo::Copy) | Opcode::Sass(Op::MOV), [_])
    ) && instruction
        .sources
        .iter()
        .all(|source| matches!(source.kind, SourceKind::Zero(_) | SourceKind::True(_)));
    let barrier = instruction.destinations.iter().any(|destination| destination.file == File::B);
    effects::is_pure(instruction)
        && instruction.guard.is_none()
        && instruction.tied.is_empty()
        && !instruction.destinations.is_empty()
        && stable
        && !fixed
        && !indexed
        && !trivial
        && !barrier
}

/// True if the instruction reads one of these values, which are sorted.
fn reads_any(instruction: &Instruction, values: &[Value]) -> bool {
    let mut found = false;
    if !values.is_empty() {
        instruction.for_each_use(|value| found |= values.binary_search(&value).is_ok());
    }
    found
}

fn reads_only_outside(
    instruction: &Instruction,
    definitions: &Definitions,
    defined_in: &TiSlice<Value, Option<BlockId>>,
    loops: &Loops,
    index: usize,
) -> bool {
    let mut outside = true;
    instruction.for_each_use(|value| {
        outside &= definitions.is_stable(value)
            && defined_in[value].is_some_and(|block| !loops.contains(index, block));
    });
    outside
}
