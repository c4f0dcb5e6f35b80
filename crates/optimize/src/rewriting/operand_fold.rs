//! Known values become operands: immediates, constant-bank words, addresses of variables, `RZ` and `PT`, wherever the
//! form table takes them. Operands are swapped where that helps.
//!
//! The operation stays the same; its result is not considered here.

use crate::analyses::slots::{exchanged, signed_word, source_type};
use crate::analyses::value_facts::{Fact, ValueFacts};
use crate::rewriting::view::View;
use oriole_ori::pattern::{Alternative, Contest, Cost};
use oriole_ori::{
    AddressPart, File, Function, IndexedConst, Instruction, Opcode, Pseudo, Source, SourceKind, is_legal,
};
use oriole_sass::info::{SourceType, Unit};
use oriole_sass::{Mod, Op};

/// Puts known values into the operands of an instruction; true if it changed.
pub fn run(view: &View<'_>, i: &mut Instruction) -> bool {
    let View { function, definitions, facts, .. } = *view;
    if matches!(
        i.opcode,
        Opcode::Pseudo(
            Pseudo::ParallelCopy
                | Pseudo::Call
                | Pseudo::CallHelper
                | Pseudo::Return
                | Pseudo::Parameters
                | Pseudo::FrameAddress
        )
    ) {
        return false;
    }
    let mut changed = all_lanes(view, i);
    for index in 0..i.sources.len() {
        let source = &i.sources[index];
        if source.fixed.is_some() {
            continue;
        }
        let SourceKind::Values(values) = &source.kind else {
            changed |= known_index(facts, i, index);
            continue;
        };
        if let [value] = values.as_slice()
            && definitions.is_undefined(function, *value)
            && function.file(*value) == File::R
        {
            changed |= put(view, i, index, Source::rz());
            continue;
        }
        // A replacement of the operand depends on the fact about its first word.
        let known =
            |value| matches!(facts.of(value), Fact::Word(_) | Fact::Bank { .. } | Fact::Address { .. });
        if !known(values[0]) || !values.iter().all(|&value| definitions.is_stable(value)) {
            continue;
        }
        let new = match source_type(i, index) {
            SourceType::Predicate => predicate(function, facts, source),
            SourceType::Word | SourceType::Single | SourceType::Halves if values.len() == 1 => {
                word(facts, i, index)
            }
            SourceType::Double if values.len() == 2 => double(facts, source),
            _ if values.len() == 2 && takes_long(i, index) => long(facts, source, i.mods.has(Mod::U64)),
            _ => None,
        };
        let new = new.or_else(|| lanes(facts, i, index)).or_else(|| all_zero(function, facts, i, index));
        if let Some(new) = new {
            changed |= put(view, i, index, new);
        }
    }
    changed
}

/// Encodings of an operand that is a known word, or the address of a variable.
static IMMEDIATE: Contest = Contest { name: "an operand that is known", alternatives: &OPERAND };
/// Encodings of an operand that is a constant-bank word. A uniform register would need a load: that is tried later,
/// for operands that are still in general registers then.
static CONSTANT: Contest = Contest { name: "an operand from a constant bank", alternatives: &OPERAND };

/// Only some of the operands of an operation may be something else than a register.
static OPERAND: [Alternative; 3] = [
    Alternative { name: "in its slot", cost: Cost::NONE },
    Alternative { name: "in the slot of another operand, exchanged", cost: Cost::EXCHANGE },
    Alternative { name: "in a register", cost: Cost::instruction(1) },
];

/// Puts the source there if there is a form, or else exchanges operands for one.
fn put(view: &View<'_>, i: &mut Instruction, index: usize, new: Source) -> bool {
    let contest = match new.kind {
        SourceKind::Const { .. } => &CONSTANT,
        _ => &IMMEDIATE,
    };
    match i.opcode {
        Opcode::Pseudo(Pseudo::Copy) => {
            let mut candidate = i.clone();
            candidate.sources[index] = new;
            match candidate.sources[index].kind {
                SourceKind::Imm(_) | SourceKind::Const { .. } | SourceKind::Address32 { .. }
                    if i.destinations[0].file == File::R =>
                {
                    candidate.opcode = Op::MOV.into();
                    // Where no move reads a bank, the load stays.
                    if !is_legal(view.chip, view.function, &candidate) {
                        return false;
                    }
                }
                SourceKind::Zero(_) | SourceKind::True(_) => {}
                _ => return false,
            }
            *i = candidate;
            return true;
        }
        Opcode::Pseudo(_) => {
            // 64-bit operations take only registers and zero; predicates and shift amounts unchanged.
            let fits = matches!(new.kind, SourceKind::Zero(_) | SourceKind::True(_));
            if fits {
                i.sources[index] = new;
            }
            return fits;
        }
        Opcode::Sass(_) => {}
    }
    let legal = |candidate: &Instruction| is_legal(view.chip, view.function, candidate);
    let origin = i.origin;
    let register = std::mem::replace(&mut i.sources[index], new);
    let written = contest.decide(view.decisions, origin, |alternative| match alternative {
        0 if legal(i) => Ok(Written::InItsSlot),
        0 => Err("no form takes it there"),
        1 => (0..3)
            .filter(|&other| other != index)
            .filter_map(|other| exchanged(i, index, other))
            .find(legal)
            .map(Written::Exchanged)
            .ok_or("no order of operands has a form"),
        _ => Ok(Written::InARegister),
    });
    match written {
        Some(Written::InItsSlot) => true,
        Some(Written::Exchanged(other)) => {
            *i = other;
            true
        }
        Some(Written::InARegister) | None => {
            i.sources[index] = register;
            false
        }
    }
}

/// Result of [`OPERAND`].
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it is made")]
enum Written {
    InItsSlot,
    Exchanged(Instruction),
    InARegister,
}

/// Turns a wait for all lanes into its whole-warp form.
fn all_lanes(view: &View<'_>, i: &mut Instruction) -> bool {
    if i.opcode != Opcode::Sass(Op::WARPSYNC) {
        return false;
    }
    let [mask] = i.sources.as_slice() else { return false };
    if mask.as_plain_value().and_then(|mask| view.facts.word(mask)) != Some(u32::MAX) {
        return false;
    }
    let mut all = i.clone();
    all.sources[0] = Source::literal(u32::MAX.into());
    if !is_legal(view.chip, view.function, &all) {
        all.sources.clear();
        all.mods.insert(Mod::ALL);
    }
    let fits = is_legal(view.chip, view.function, &all);
    if fits {
        *i = all;
    }
    fits
}

/// Makes the lane and the clamp mask of a shuffle immediates.
fn lanes(facts: &ValueFacts, i: &Instruction, index: usize) -> Option<Source> {
    let bits_of = match (i.opcode, index) {
        (Opcode::Sass(Op::SHFL), 1) => 0x1f,
        (Opcode::Sass(Op::SHFL), 2) => 0x1f1f,
        _ => return None,
    };
    let bits = facts.word(i.sources[index].as_plain_value()?)?;
    Some(Source::literal((bits & bits_of).into()))
}

fn predicate(function: &Function, facts: &ValueFacts, source: &Source) -> Option<Source> {
    let SourceKind::Values(values) = &source.kind else { return None };
    let [value] = values.as_slice() else { return None };
    let file = function.file(*value);
    if !matches!(file, File::P | File::UP) {
        return None;
    }
    let holds = (facts.word(*value)? & 1 == 1) != source.invert;
    let truth = Source::plain(SourceKind::True(file));
    Some(if holds { truth } else { truth.inverted() })
}

fn word(facts: &ValueFacts, i: &Instruction, index: usize) -> Option<Source> {
    let source = &i.sources[index];
    let SourceKind::Values(values) = &source.kind else { return None };
    let kind = source_type(i, index);
    // Suffixes select halves and bytes of a word; those of f16x2 operands are supported.
    let understood = kind == SourceType::Halves
        && source.suffixes.len() == 1
        && (source.suffixes.has(Mod::H0_H0) || source.suffixes.has(Mod::H1_H1));
    if !source.suffixes.is_empty() && !understood {
        return None;
    }
    match facts.of(values[0]) {
        Fact::Word(bits) => {
            // The sign and the magnitude of an operand count separately; an immediate has only one of them.
            if i.mods.has(Mod::XORSIGN) {
                return None;
            }
            // The halves of packed integers are negated separately.
            if i.opcode == Opcode::Sass(Op::VIADD) && source.negate {
                return None;
            }
            let mut known = signed_word(kind, source, bits);
            if i.opcode == Opcode::Sass(Op::PRMT) && index == 1 {
                known &= 0xffff;
            }
            let amount = matches!(i.opcode, Opcode::Sass(Op::SGXT | Op::BMSK)) && index > 0;
            if amount && known > 32 {
                return None;
            }
            if known != 0 {
                return Some(Source::imm(known));
            }
            // The negation of zero carries.
            let carries = i.opcode == Opcode::Sass(Op::IADD3) && i.destinations.len() > 1;
            Some(if carries && source.negate { Source::rz().negated() } else { Source::rz() })
        }
        Fact::Bank { bank, base, offset } => {
            let mut constant = source.clone();
            constant.kind = SourceKind::Const { bank, base, offset };
            Some(constant)
        }
        Fact::Address { symbol, part, offset }
            if matches!(i.opcode, Opcode::Sass(Op::IADD3 | Op::MOV) | Opcode::Pseudo(Pseudo::Copy))
                && !source.negate
                && !source.invert =>
        {
            Some(Source::plain(SourceKind::Address32 { symbol, part, offset }))
        }
        _ => None,
    }
}

/// True if the operand is a 64-bit integer that may be an immediate.
fn takes_long(i: &Instruction, index: usize) -> bool {
    let long = i.mods.has(Mod::_64) || i.mods.has(Mod::U64) || i.mods.has(Mod::S64);
    long && index < 2 && matches!(i.opcode, Opcode::Sass(Op::IADD | Op::ISETP | Op::SEL))
}

/// A 64-bit constant that is its sign-extended lower word. No negative one was ever seen with unsigned operations.
fn long(facts: &ValueFacts, source: &Source, unsigned: bool) -> Option<Source> {
    let SourceKind::Values(values) = &source.kind else { return None };
    let (Fact::Word(low), Fact::Word(high)) = (facts.of(values[0]), facts.of(values[1])) else { return None };
    let number = ((u64::from(high) << u32::BITS) | u64::from(low)).cast_signed();
    let number = if source.negate { number.wrapping_neg() } else { number };
    let word = i32::try_from(number).ok().filter(|&word| word >= 0 || !unsigned)?;
    Some(if word == 0 { Source::rz() } else { Source::imm(word.cast_unsigned()) })
}

/// An f64 constant whose low word is zero is an immediate of its high word; an f64 constant of a constant bank is one
/// operand.
fn double(facts: &ValueFacts, source: &Source) -> Option<Source> {
    let SourceKind::Values(values) = &source.kind else { return None };
    if !source.suffixes.is_empty() {
        return None;
    }
    match (facts.of(values[0]), facts.of(values[1])) {
        (Fact::Word(0), Fact::Word(high)) => {
            let high = signed_word(SourceType::Double, source, high);
            Some(if high == 0 { Source::rz() } else { Source::imm(high) })
        }
        (
            Fact::Bank { bank, base, offset },
            Fact::Bank { bank: high_bank, base: high_base, offset: high },
        ) if bank == high_bank && base == high_base && high == offset + 4 && offset % 8 == 0 => {
            let mut constant = source.clone();
            constant.kind = SourceKind::Const { bank, base, offset };
            Some(constant)
        }
        _ => None,
    }
}

/// Replaces a register operand whose words are all zero by `RZ`, where the operation is known to read plain bits.
fn all_zero(function: &Function, facts: &ValueFacts, i: &Instruction, index: usize) -> Option<Source> {
    let source = &i.sources[index];
    let SourceKind::Values(values) = &source.kind else { return None };
    if source.absolute || source.invert || !source.suffixes.is_empty() || source.negate {
        return None;
    }
    let known = match i.opcode {
        // A matrix unit takes zero for all accumulators at once.
        Opcode::Sass(op) if op.info().aligned => op.info().units.contains(&Unit::Tensor),
        Opcode::Sass(op) => matches!(op, Op::STG | Op::ST | Op::STS | Op::STL | Op::STTM | Op::IMAD),
        Opcode::Pseudo(pseudo) => matches!(
            pseudo,
            Pseudo::Add64
                | Pseudo::SetPredicate64
                | Pseudo::Select64
                | Pseudo::Logic64
                | Pseudo::Min64
                | Pseudo::Max64
        ),
    };
    let zero = values.iter().all(|&v| function.file(v) == File::R && facts.word(v) == Some(0));
    (known && zero).then(Source::rz)
}

/// Makes a constant-bank index that is known part of the offset.
fn known_index(facts: &ValueFacts, i: &mut Instruction, index: usize) -> bool {
    let SourceKind::ConstIndexed(place) = &i.sources[index].kind else { return false };
    let IndexedConst { bank, base, index: register, offset } = **place;
    let Some(known) = facts.word(register) else { return false };
    let sum = i64::from(offset) + i64::from(known as i32);
    if !(0..=0xffff).contains(&sum) {
        return false;
    }
    i.sources[index].kind = SourceKind::Const { bank, base, offset: sum as i32 };
    true
}

/// True for the low word of a variable's address, which is all that 32-bit spaces need.
pub fn is_low_word(source: &Source) -> bool {
    matches!(source.kind, SourceKind::Address32 { part: AddressPart::Low, .. })
        && !source.negate
        && !source.invert
}
