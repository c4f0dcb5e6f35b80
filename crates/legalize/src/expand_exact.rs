//! Phase 45, MidExpansion: expands divisions, remainders, reciprocals and square roots into sequences.
//!
//! It runs in SSA, because sequences branch: the slow path is a block of its own, which calls a routine. The later
//! phases place convergence barriers and optimize the result like any other code. The 64-bit integer operations that
//! the sequences use are split at phase 78.

use crate::emit::{Emit, Incoming, Pair};
use crate::expand_missing;
use crate::expand_wide::expand;
use crate::float_divide::{Rounding, ShortWay};
use crate::long_divisions::LongDivisions;
use crate::long_operands::LongOperands;
use crate::routine::{Routine, Routines};
use oriole_chip::Chip;
use oriole_options::Optimization;
use oriole_ori::{
    BlockId, Builder, FormChange, Function, Guard, Instruction, Opcode, Origin, Outcome, Pass, Pseudo,
    Source, SourceKind, Value, edges,
};
use oriole_sass::Mod;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    asks: &[Optimization::Routines],
    ..Pass::new(|function, context| {
        let expanded = run(function, context.chip, context.wants(Optimization::Routines));
        Outcome::changed_if(expand_missing::run(function, context.chip) | expanded)
    })
};

/// Expands every exact operation. SSA in, SSA out. True if there was one.
pub fn run(function: &mut Function, chip: Chip, call_routines: bool) -> bool {
    let mut changed = false;
    let mut routines = Routines::new(chip, call_routines, function.calls_library);
    let long = LongOperands::new(function);
    // Blocks that are made here hold no exact operation any more.
    for id in function.block_ids() {
        let wanted = |i: &Instruction| matches!(i.opcode, Opcode::Pseudo(pseudo) if is_exact(pseudo));
        if function.block(id).instructions.iter().any(wanted) {
            block(function, &mut routines, &long, id);
            changed = true;
        }
    }
    changed
}

fn is_exact(pseudo: Pseudo) -> bool {
    matches!(
        pseudo,
        Pseudo::Divide | Pseudo::Remainder | Pseudo::FDivide | Pseudo::FReciprocal | Pseudo::FSquareRoot
    )
}

fn block(function: &mut Function, routines: &mut Routines, long: &LongOperands, id: BlockId) {
    let instructions = std::mem::take(&mut function.block_mut(id).instructions);
    let successors = std::mem::take(&mut function.block_mut(id).successors);
    let mut builder = Builder::new(function, id, Origin(0));
    let mut divisions = LongDivisions::of(&instructions);
    for instruction in instructions {
        match instruction.opcode {
            Opcode::Pseudo(pseudo) if is_exact(pseudo) => {
                let is_long = long.divides_long(id, &instruction);
                expand(&mut builder, &instruction, |emit, out| {
                    exact(emit, routines, &mut divisions, &instruction, is_long, out);
                });
            }
            _ => builder.push(instruction),
        }
    }
    let last = builder.block();
    function.block_mut(last).successors = successors.clone();
    if last != id {
        for successor in successors {
            edges::rename_predecessor(function, successor, id, last);
        }
    }
}

/// The operation to expand.
struct Exact<'a> {
    instruction: &'a Instruction,
    rounding: Rounding,
    ftz: bool,
}

fn exact(
    emit: &mut Emit<'_, '_>,
    routines: &mut Routines,
    divisions: &mut LongDivisions,
    instruction: &Instruction,
    is_long: bool,
    out: &[Value],
) {
    let Opcode::Pseudo(pseudo) = instruction.opcode else { return };
    let mods = &instruction.mods;
    let this = Exact { instruction, rounding: Rounding::of(mods), ftz: mods.has(Mod::FTZ) };
    let results: Vec<Value> = match pseudo {
        Pseudo::Divide | Pseudo::Remainder => {
            let rest = pseudo == Pseudo::Remainder;
            let source = |index: usize| instruction.sources[index].clone();
            if let Some(function) = routines.of_library(instruction) {
                let operands = [0, 1].map(|index| emit.pair_of(&source(index)));
                routines.library_result(emit, function, &[&operands[0], &operands[1]])
            } else if let Some(words) = divisions.result(emit, routines, instruction, is_long) {
                words
            } else {
                let (a, b) = (emit.register(source(0)), emit.register(source(1)));
                let result = if mods.has(Mod::S32) {
                    emit.divide_signed_32(a, b, rest)
                } else {
                    emit.divide_unsigned_32(a, b, rest)
                };
                vec![result]
            }
        }
        _ if mods.has(Mod::F64) => this.f64(emit, routines, pseudo),
        _ => this.f32(emit, routines, pseudo),
    };
    for (&out, result) in out.iter().zip(results) {
        emit.deliver(out, result);
    }
}

impl Exact<'_> {
    fn f64(&self, emit: &mut Emit<'_, '_>, routines: &mut Routines, pseudo: Pseudo) -> Vec<Value> {
        let first = double(emit, &self.instruction.sources[0]);
        let rounding = self.rounding;
        match pseudo {
            Pseudo::FDivide => {
                let second = double(emit, &self.instruction.sources[1]);
                let short = emit.divide_f64_short(first, second, rounding);
                unless(emit, short, |emit| self.long_f64(emit, routines, pseudo, &[&first, &second]))
            }
            Pseudo::FReciprocal => {
                let short = emit.reciprocal_f64_short(first, rounding);
                unless(emit, short, |emit| self.long_f64(emit, routines, pseudo, &[&first]))
            }
            _ => {
                let short = emit.root_f64_short(first, rounding);
                unless(emit, short, |emit| self.long_f64(emit, routines, pseudo, &[&first]))
            }
        }
    }

    /// The slow path of f64.
    fn long_f64(
        &self,
        emit: &mut Emit<'_, '_>,
        routines: &mut Routines,
        pseudo: Pseudo,
        operands: &[&[Value]],
    ) -> Vec<Value> {
        if let Some(function) = routines.of_library(self.instruction) {
            return routines.library_result(emit, function, operands);
        }
        let mode = [emit.constant(self.rounding.number())];
        let mut arguments = operands.to_vec();
        arguments.push(&mode);
        let routine = match pseudo {
            Pseudo::FDivide => Routine::DivideF64,
            Pseudo::FReciprocal => Routine::ReciprocalF64,
            _ => Routine::RootF64,
        };
        routines.results(emit, routine, &arguments)
    }

    fn f32(&self, emit: &mut Emit<'_, '_>, routines: &mut Routines, pseudo: Pseudo) -> Vec<Value> {
        let first = single(emit, &self.instruction.sources[0]);
        let rounding = self.rounding;
        match pseudo {
            Pseudo::FDivide => {
                let second = single(emit, &self.instruction.sources[1]);
                let short = emit.divide_f32_short(first, second, rounding);
                unless(emit, short, |emit| self.long_f32(emit, routines, pseudo, &[first, second]))
            }
            Pseudo::FReciprocal => {
                let short = emit.reciprocal_f32_short(first, rounding);
                unless(emit, short, |emit| self.long_f32(emit, routines, pseudo, &[first]))
            }
            _ => {
                let short = emit.root_f32_short(first, rounding);
                unless(emit, short, |emit| self.long_f32(emit, routines, pseudo, &[first]))
            }
        }
    }

    /// The slow path of f32.
    fn long_f32(
        &self,
        emit: &mut Emit<'_, '_>,
        routines: &mut Routines,
        pseudo: Pseudo,
        operands: &[Value],
    ) -> Vec<Value> {
        if let Some(function) = routines.of_library(self.instruction) {
            let operands: Vec<&[Value]> = operands.chunks(1).collect();
            return routines.library_result(emit, function, &operands);
        }
        let mut words: Vec<Value> = operands.iter().map(|&word| emit.flushed(word, self.ftz)).collect();
        let directed = self.rounding != Rounding::Nearest;
        if directed {
            words.push(emit.constant(self.rounding.number()));
        }
        let arguments: Vec<&[Value]> = words.chunks(1).collect();
        let routine = match (pseudo, directed) {
            (Pseudo::FDivide, false) => Routine::DivideF32,
            (Pseudo::FDivide, true) => Routine::DivideF32Directed,
            (Pseudo::FReciprocal, false) => Routine::ReciprocalF32,
            (Pseudo::FReciprocal, true) => Routine::ReciprocalF32Directed,
            (_, false) => Routine::RootF32,
            (_, true) => Routine::RootF32Directed,
        };
        let result = routines.results(emit, routine, &arguments)[0];
        vec![emit.flushed(result, self.ftz)]
    }
}

/// An f32 operand in a register, its signs applied.
fn single(emit: &mut Emit<'_, '_>, source: &Source) -> Value {
    let mut plain = source.clone();
    (plain.negate, plain.absolute) = (false, false);
    let word = emit.register(plain);
    let word = if source.absolute { emit.and(word, 0x7fff_ffffu32) } else { word };
    if source.negate { emit.logic(word, 0x8000_0000u32, Source::rz(), 0x3c) } else { word }
}

/// An f64 operand as a register pair, its signs applied.
fn double(emit: &mut Emit<'_, '_>, source: &Source) -> Pair {
    let mut plain = source.clone();
    (plain.negate, plain.absolute) = (false, false);
    let pair = match &plain.kind {
        // An immediate is the high word of an f64.
        SourceKind::Imm(high) => emit.constant64(u64::from(*high) << 32),
        _ => emit.pair_of(&plain),
    };
    if !source.negate && !source.absolute {
        return pair;
    }
    let high = if source.absolute { emit.and(pair[1], 0x7fff_ffffu32) } else { pair[1] };
    let high = if source.negate { emit.logic(high, 0x8000_0000u32, Source::rz(), 0x3c) } else { high };
    [pair[0], high]
}

/// The fast path is in place; the slow path is a block of its own, for the lanes that fail the check.
fn unless(
    emit: &mut Emit<'_, '_>,
    short: ShortWay,
    long: impl FnOnce(&mut Emit<'_, '_>) -> Vec<Value>,
) -> Vec<Value> {
    let start = emit.b.block();
    let (slow, join) = (emit.b.new_block(), emit.b.new_block());
    emit.b.branch(Guard { value: short.holds, negated: false }, join, slow);
    emit.b.function_mut().block_mut(slow).cold = true;
    emit.b.set_block(slow);
    let long = long(emit);
    // An inlined routine has blocks of its own.
    let slow = emit.b.block();
    emit.b.fall_through(join);
    emit.merge(join, Incoming { from: start, words: &short.result }, Incoming { from: slow, words: &long })
}
