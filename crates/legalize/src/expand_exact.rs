//! Phase 45, MidExpansion: divisions, remainders, reciprocals and roots become sequences.
//!
//! It runs in SSA, because the f64 division branches: what is outside its short way goes to a block of its own, and
//! the later phases place convergence barriers and optimize the result like any other code. The 64-bit integer
//! operations that the sequences use are split at phase 78.

use crate::emit::{Emit, Pair};
use crate::expand_wide::expand;
use crate::float_divide::{Rounding, ShortWay};
use oriole_ori::{
    BlockId, Builder, Function, Guard, Instruction, Opcode, Origin, Phi, Pseudo, Source, SourceKind, Value,
    edges,
};
use oriole_sass::Mod;

/// Expands every exact operation. SSA in, SSA out. True if there was one.
pub fn run(function: &mut Function) -> bool {
    let mut changed = false;
    // Blocks that are made here hold no exact operation any more.
    for id in function.block_ids() {
        let wanted = |i: &Instruction| matches!(i.opcode, Opcode::Pseudo(pseudo) if is_exact(pseudo));
        if function.block(id).instructions.iter().any(wanted) {
            block(function, id);
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

fn block(function: &mut Function, id: BlockId) {
    let instructions = std::mem::take(&mut function.block_mut(id).instructions);
    let successors = std::mem::take(&mut function.block_mut(id).successors);
    let mut builder = Builder::new(function, id, Origin(0));
    for instruction in instructions {
        match instruction.opcode {
            Opcode::Pseudo(pseudo) if is_exact(pseudo) => {
                expand(&mut builder, &instruction, |emit, out| exact(emit, pseudo, &instruction, out));
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

fn exact(emit: &mut Emit<'_, '_>, pseudo: Pseudo, instruction: &Instruction, out: &[Value]) {
    let mods = &instruction.mods;
    let source = |index: usize| instruction.sources[index].clone();
    let rounding = Rounding::of(mods);
    let ftz = mods.has(Mod::FTZ);
    let results: Vec<Value> = match pseudo {
        Pseudo::Divide | Pseudo::Remainder => {
            let rest = pseudo == Pseudo::Remainder;
            if mods.has(Mod::U64) || mods.has(Mod::S64) {
                let (a, b) = (emit.pair_of(&source(0)), emit.pair_of(&source(1)));
                let result = if mods.has(Mod::S64) {
                    emit.divide_signed_64(a, b, rest)
                } else {
                    emit.divide_unsigned_64(a, b, rest)
                };
                result.to_vec()
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
        Pseudo::FDivide if mods.has(Mod::F64) => {
            let a = double(emit, &source(0));
            let b = double(emit, &source(1));
            divide_f64(emit, Some(a), b, rounding).to_vec()
        }
        Pseudo::FReciprocal if mods.has(Mod::F64) => {
            let b = double(emit, &source(0));
            divide_f64(emit, None, b, rounding).to_vec()
        }
        Pseudo::FSquareRoot if mods.has(Mod::F64) => {
            let a = double(emit, &source(0));
            emit.root_f64(a, rounding).to_vec()
        }
        Pseudo::FDivide => vec![emit.divide_f32(Some(source(0)), source(1), rounding, ftz)],
        Pseudo::FReciprocal => vec![emit.divide_f32(None, source(0), rounding, ftz)],
        _ => vec![emit.root_f32(source(0), rounding, ftz)],
    };
    for (&out, result) in out.iter().zip(results) {
        emit.deliver(out, result);
    }
}

/// A double operand as a pair of registers, its signs applied.
fn double(emit: &mut Emit<'_, '_>, source: &Source) -> Pair {
    let mut plain = source.clone();
    (plain.negate, plain.absolute) = (false, false);
    let pair = match &plain.kind {
        // An immediate is the high word of a double.
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

/// The short way in place, the long way in a block of its own.
fn divide_f64(emit: &mut Emit<'_, '_>, a: Option<Pair>, b: Pair, rounding: Rounding) -> Pair {
    let ShortWay { result: short, holds } = emit.divide_f64_short(a, b, rounding);
    let start = emit.b.block();
    let (slow, join) = (emit.b.new_block(), emit.b.new_block());
    emit.b.branch(Guard { value: holds, negated: true }, slow, join);
    emit.b.set_block(slow);
    let long = emit.divide_f64_long(a, b, rounding);
    emit.b.fall_through(join);
    emit.b.set_block(join);
    let merged = emit.b.pair();
    for (destination, (short, long)) in merged.into_iter().zip(short.into_iter().zip(long)) {
        let sources = vec![(start, Source::value(short)), (slow, Source::value(long))];
        emit.b.function_mut().block_mut(join).phis.push(Phi { destination, sources });
    }
    merged
}
