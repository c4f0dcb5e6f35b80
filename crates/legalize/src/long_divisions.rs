//! 64-bit quotients and remainders of a block: a 32-bit division in place where both operands fit, else a routine.
//!
//! It is separate from the other expansions because it needs the whole block: a quotient and a remainder of the same
//! operands need one division. Operands that do not fit 32 bits are [found elsewhere](crate::long_operands).

use crate::emit::{Emit, Incoming, Pair};
use crate::routine::{Routine, Routines};
use oriole_ori::{Guard, Instruction, Opcode, Pseudo, Source, Value};
use oriole_sass::Mod;
use rustc_hash::FxHashMap;

/// The 64-bit divisions of a block: requested and already expanded ones.
pub(crate) struct LongDivisions {
    of: FxHashMap<Operands, Division>,
}

/// Operands, and whether they are signed.
#[derive(PartialEq, Eq, Hash)]
struct Operands {
    signed: bool,
    sources: [Source; 2],
}

/// A division: its quotient and its remainder.
#[derive(Default)]
struct Division {
    /// The requested ones.
    wanted: [bool; 2],
    /// The words of those, once it is made.
    words: Option<Vec<Value>>,
}

/// For a 64-bit division: the index of its result (quotient, remainder), and its operands.
fn asked(instruction: &Instruction) -> Option<(usize, Operands)> {
    let index = match instruction.opcode {
        Opcode::Pseudo(Pseudo::Divide) => 0,
        Opcode::Pseudo(Pseudo::Remainder) => 1,
        _ => return None,
    };
    let signed = instruction.mods.has(Mod::S64);
    let [first, second] = &instruction.sources[..] else { return None };
    let operands = Operands { signed, sources: [first.clone(), second.clone()] };
    (signed || instruction.mods.has(Mod::U64)).then_some((index, operands))
}

impl LongDivisions {
    /// Collects those of a block; none is expanded yet.
    pub fn of(instructions: &[Instruction]) -> LongDivisions {
        let mut of: FxHashMap<Operands, Division> = FxHashMap::default();
        for (index, operands) in instructions.iter().filter_map(asked) {
            of.entry(operands).or_default().wanted[index] = true;
        }
        LongDivisions { of }
    }

    /// Result of an instruction of the block, if it is a 64-bit division. With `is_long` an operand is known not to
    /// fit 32 bits: then there is no fast path.
    pub fn result(
        &mut self,
        emit: &mut Emit<'_, '_>,
        routines: &mut Routines,
        instruction: &Instruction,
        is_long: bool,
    ) -> Option<Vec<Value>> {
        let (index, operands) = asked(instruction)?;
        let Division { wanted, words } = self.of.get_mut(&operands)?;
        let words = words.get_or_insert_with(|| divide(emit, routines, &operands, *wanted, is_long));
        Some(words[if index == 1 && wanted[0] { 2..4 } else { 0..2 }].to_vec())
    }
}

/// Expands a division; returns the words of the wanted results.
fn divide(
    emit: &mut Emit<'_, '_>,
    routines: &mut Routines,
    operands: &Operands,
    wanted: [bool; 2],
    is_long: bool,
) -> Vec<Value> {
    let [a, b] = [0, 1].map(|index: usize| emit.pair_of(&operands.sources[index]));
    if is_long {
        return by_routine(emit, routines, operands.signed, wanted, [a, b]);
    }
    let holds = emit.fits_words(a, b);
    let (short, slow, join) = (emit.b.new_block(), emit.b.new_block(), emit.b.new_block());
    emit.b.branch(Guard { value: holds, negated: true }, slow, short);
    emit.b.set_block(short);
    let results = emit.divide_64_short(a, b);
    let quick: Vec<Value> = results.into_iter().zip(wanted).filter(|it| it.1).flat_map(|it| it.0).collect();
    emit.b.jump(join);
    emit.b.set_block(slow);
    let long = by_routine(emit, routines, operands.signed, wanted, [a, b]);
    emit.b.fall_through(join);
    emit.merge(join, Incoming { from: short, words: &quick }, Incoming { from: slow, words: &long })
}

/// [`divide`] by a routine.
fn by_routine(
    emit: &mut Emit<'_, '_>,
    routines: &mut Routines,
    signed: bool,
    wanted: [bool; 2],
    [a, b]: [Pair; 2],
) -> Vec<Value> {
    let routine = match (wanted[0], signed) {
        (true, true) => Routine::DivideS64,
        (true, false) => Routine::DivideU64,
        (false, true) => Routine::RemainderS64,
        (false, false) => Routine::RemainderU64,
    };
    let mut words = routines.results(emit, routine, &[&a, &b]);
    if wanted == [true; 2] {
        let rest = rest(emit, [words[0], words[1]], [a, b]);
        words.extend(rest);
    }
    words
}

/// The remainder of a division whose quotient is known; all ones if the divisor is zero.
fn rest(emit: &mut Emit<'_, '_>, quotient: Pair, [a, b]: [Pair; 2]) -> Pair {
    let product = emit.pair(Pseudo::Mul64, &[], [Source::values(quotient), Source::values(b)]);
    let rest = emit.pair(Pseudo::Add64, &[], [Source::values(a), Source::values(product).negated()]);
    let any = emit.logic(b[0], b[1], Source::rz(), 0xfc);
    let zero = emit.compare(Mod::EQ, true, any, Source::rz());
    let ones = emit.constant(u32::MAX);
    rest.map(|word| emit.select(zero, ones, word))
}
