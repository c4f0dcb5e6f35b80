//! Selections of a fresh result become guarded instructions: `t <- x + y; d <- p ? t : x` is `@p d <- x + y`, with
//! `x` as the old value of `d`. That saves an instruction and a register where the old value is not live after it. The
//! same with a selection that is added: `s <- p ? y : 0; d <- x + s` is `@p d <- x + y`. Other readers of `t` may stay if
//! they are guarded by `p` too: they read `d`.
//!
//! Part of phase 63, OriDoPredication. SSA in, SSA out.

use oriole_ori::{
    BlockId, File, Function, Guard, Instruction, Liveness, Opcode, Source, SourceKind, Value, Values, effects,
};
use oriole_sass::{Class, Op};
use typed_index_collections::{TiVec, ti_vec};

/// Rewrites the selections of every block; true if there was one.
pub fn run(function: &mut Function) -> bool {
    if !function.blocks.iter().flat_map(|block| &block.instructions).any(is_selection) {
        return false;
    }
    let graph = function.graph();
    let cfg = graph.cfg();
    let liveness = Liveness::new(function, cfg);
    let mut blocks = Walk {
        uses: ti_vec![0; function.values.len()],
        place: ti_vec![None; function.values.len()],
        alive: ti_vec![false; function.values.len()],
    };
    for block in &function.blocks {
        block.phis.iter().flat_map(|phi| phi.values()).for_each(|value| blocks.uses[value] += 1);
        let instructions = block.instructions.iter();
        instructions.for_each(|i| i.for_each_use(|value| blocks.uses[value] += 1));
    }
    let mut changed = false;
    for &block in cfg.order() {
        changed |= blocks.block(function, block, liveness.live_out(block));
    }
    changed
}

/// How far readers of a result are looked for.
const WINDOW: usize = 24;

/// An operation that keeps its old value, in place of a selection.
struct Shared {
    /// Its place.
    at: usize,
    guarded: Instruction,
    /// The value that it defined.
    new: Value,
    /// Places of what reads that, without the selection.
    readers: Vec<usize>,
}

struct Walk {
    /// Count of operands that read each value.
    uses: TiVec<Value, u32>,
    /// Index of its definition in the current block.
    place: TiVec<Value, Option<u32>>,
    /// It is read after the current instruction.
    alive: TiVec<Value, bool>,
}

impl Walk {
    fn block(&mut self, function: &mut Function, id: BlockId, live_out: &[Value]) -> bool {
        let mut instructions = std::mem::take(&mut function.block_mut(id).instructions);
        for (index, instruction) in (0..).zip(&instructions) {
            instruction.for_each_definition(|value| self.place[value] = Some(index));
        }
        live_out.iter().for_each(|&value| self.alive[value] = true);
        let mut gone = vec![false; instructions.len()];
        for index in (0..instructions.len()).rev() {
            if gone[index] {
                continue;
            }
            if let Some(shared) = self.shared(function, &instructions, index) {
                self.keep(&mut instructions, shared);
                gone[index] = true;
                continue;
            }
            let guarded = self.guarded(function, &instructions, index);
            if let Some((at, guarded)) = guarded.or_else(|| self.added(function, &instructions, index)) {
                instructions[index] = guarded;
                gone[at] = true;
            }
            instructions[index].for_each_use(|value| self.alive[value] = true);
        }
        for instruction in &instructions {
            instruction.for_each_definition(|value| self.place[value] = None);
            instruction.for_each_use(|value| self.alive[value] = false);
        }
        live_out.iter().for_each(|&value| self.alive[value] = false);
        let changed = gone.contains(&true);
        if changed {
            let mut gone = gone.into_iter();
            instructions.retain(|_| gone.next() != Some(true));
        }
        function.block_mut(id).instructions = instructions;
        changed
    }

    /// The instruction that takes the place of a selection, and which one it makes superfluous.
    fn guarded(
        &self,
        function: &Function,
        instructions: &[Instruction],
        index: usize,
    ) -> Option<(usize, Instruction)> {
        let selection = &instructions[index];
        ways(function, selection)?.into_iter().find_map(|(new, old, guard)| {
            let (new, old) = (new.as_plain_value()?, old.as_plain_value()?);
            let at = self.place[new].filter(|_| self.uses[new] == 1)? as usize;
            let operation = &instructions[at];
            if self.alive[old] || new == old || !may_be_guarded(operation) {
                return None;
            }
            let mut guarded = operation.clone();
            guarded.guard = Some(guard);
            guarded.tied = Values::from_slice(&[old]);
            guarded.destinations[0] = selection.destinations[0].clone();
            guarded.origin = selection.origin;
            Some((at, guarded))
        })
    }

    /// The result of a selection may have other readers, if each of them is guarded as it would be.
    fn shared(&self, function: &Function, instructions: &[Instruction], index: usize) -> Option<Shared> {
        let selection = &instructions[index];
        ways(function, selection)?.into_iter().find_map(|(new, old, guard)| {
            let (new, old) = (new.as_plain_value()?, old.as_plain_value()?);
            let at = self.place[new].filter(|_| self.uses[new] > 1)? as usize;
            let is_early = |value: Value| self.place[value].is_none_or(|place| (place as usize) < at);
            if self.alive[old] || new == old || !is_early(old) || !is_early(guard.value) {
                return None;
            }
            let reads = |instruction: &Instruction, value: Value| {
                let mut count = 0;
                instruction.for_each_use(|it| count += u32::from(it == value));
                count
            };
            let mut readers = Vec::new();
            let mut count = 1;
            for (place, reader) in (at + 1..).zip(&instructions[at + 1..]).take(WINDOW) {
                if place == index {
                    continue;
                }
                let now = reads(reader, new);
                if now > 0 {
                    if reader.guard != Some(guard) || reader.tied.contains(&new) {
                        return None;
                    }
                    readers.push(place);
                    count += now;
                }
                if place < index && reads(reader, old) > 0 {
                    return None;
                }
            }
            let operation = &instructions[at];
            if count != self.uses[new] || index - at > WINDOW || !may_be_guarded(operation) {
                return None;
            }
            let mut guarded = operation.clone();
            guarded.guard = Some(guard);
            guarded.tied = Values::from_slice(&[old]);
            guarded.destinations[0] = selection.destinations[0].clone();
            Some(Shared { at, guarded, new, readers })
        })
    }

    /// Writes the guarded operation, whose readers now read what the selection was.
    fn keep(&mut self, instructions: &mut [Instruction], shared: Shared) {
        let Shared { at, guarded, new, readers } = shared;
        let selected = guarded.destinations[0].values[0];
        for place in readers {
            instructions[place].for_each_use_mut(|value| {
                if *value == new {
                    *value = selected;
                    self.uses[selected] += 1;
                    self.uses[new] -= 1;
                }
            });
        }
        self.place[new] = None;
        self.place[selected] = Some(at as u32);
        instructions[at] = guarded;
    }

    /// The guarded addition that takes the place of an addition of a selection, and which one it makes superfluous.
    fn added(
        &self,
        function: &Function,
        instructions: &[Instruction],
        index: usize,
    ) -> Option<(usize, Instruction)> {
        let addition = &instructions[index];
        let [a, b, Source { kind: SourceKind::Zero(File::R), .. }] = addition.sources.as_slice() else {
            return None;
        };
        if addition.opcode != Opcode::Sass(Op::IADD3)
            || !addition.mods.is_empty()
            || !may_be_guarded(addition)
        {
            return None;
        }
        [(a, b), (b, a)].into_iter().find_map(|(selected, old)| {
            let (selected, old) = (selected.as_plain_value()?, old.as_plain_value()?);
            let at = self.place[selected].filter(|_| self.uses[selected] == 1)? as usize;
            if self.alive[old] || selected == old {
                return None;
            }
            let is_zero = |source: &Source| matches!(source.kind, SourceKind::Zero(File::R));
            let (term, _, guard) =
                ways(function, &instructions[at])?.into_iter().find(|(_, other, _)| is_zero(other))?;
            let mut guarded = addition.clone();
            guarded.guard = Some(guard);
            guarded.tied = Values::from_slice(&[old]);
            // An immediate is the second operand.
            guarded.sources[0] = Source::value(old);
            guarded.sources[1] = term.clone();
            let reads_it = term.as_plain_value() == Some(old);
            (!reads_it && matches!(term.kind, SourceKind::Values(_) | SourceKind::Imm(_)))
                .then_some((at, guarded))
        })
    }
}

fn is_selection(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Sass(Op::SEL | Op::FSEL))
}

/// Both ways to read a selection: its result under a guard, and its result otherwise.
fn ways<'a>(function: &Function, selection: &'a Instruction) -> Option<[(&'a Source, &'a Source, Guard); 2]> {
    if !is_selection(selection) || selection.guard.is_some() || !selection.mods.is_empty() {
        return None;
    }
    let [holds, fails, condition] = selection.sources.as_slice() else { return None };
    let SourceKind::Values(predicate) = &condition.kind else { return None };
    let &[value] = predicate.as_slice() else { return None };
    let negated = condition.invert;
    (function.file(value) == File::P).then_some([
        (holds, fails, Guard { value, negated }),
        (fails, holds, Guard { value, negated: !negated }),
    ])
}

/// True if an instruction only defines one general register, unguarded and with short latency.
fn may_be_guarded(instruction: &Instruction) -> bool {
    let Opcode::Sass(op) = instruction.opcode else { return false };
    let [result, others @ ..] = instruction.destinations.as_slice() else { return false };
    instruction.guard.is_none()
        && effects::is_pure(instruction)
        && matches!(
            op.info().class(&instruction.mods),
            Class::Alu | Class::Fma | Class::Dual | Class::Half | Class::HalfToSingle | Class::HalfAlu
        )
        && result.file == File::R
        && result.values.len() == 1
        && result.fixed.is_none()
        && others.iter().all(|other| other.values.is_empty())
}
