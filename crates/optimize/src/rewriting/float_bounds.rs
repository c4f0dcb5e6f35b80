//! Lower bounds of f32 values, and comparisons that they decide.
//!
//! It is here for the approximate functions and divisions, which compare their operand with the limits between which the
//! hardware is exact enough: `1 / (1 + exp x)` needs no case for a divisor that is subnormal. Part of `algebra`.
//!
//! A bound says that a value is at least that number, or NaN. Only bounds from zero up are kept. Rounding is monotonic,
//! so the bound of a sum is the rounded sum of bounds. A subnormal bound counts as zero, because inputs may be flushed.

use crate::rewriting::replacement;
use crate::rewriting::view::View;
use oriole_ori::{File, Instruction, Opcode, Pseudo, Source, SourceKind, Value};
use oriole_sass::{Mod, Op};

/// Definitions one before the other that are looked at.
const DEPTH: u32 = 6;

/// Simplifies a comparison of f32 or an operation that a predicate applies to a number; true if it changed.
pub(super) fn run(view: &View<'_>, i: &mut Instruction) -> bool {
    match i.opcode {
        Opcode::Sass(Op::FSETP) => settled_comparison(view, i),
        Opcode::Sass(Op::FMUL) if i.guard.is_some() => chosen_product(view, i),
        _ => false,
    }
}

/// A comparison with a limit that the first operand cannot be below.
fn settled_comparison(view: &View<'_>, i: &mut Instruction) -> bool {
    let [x, limit, joined] = i.sources.as_slice() else { return false };
    let neutral = *joined == Source::pt() && i.mods.has(Mod::AND);
    let Some(limit) = number(view, limit).filter(|_| neutral && i.mods.iter().all(is_of_comparison)) else {
        return false;
    };
    if i.guard.is_some() || replacement::sole_destination(i) != Some(0) || limit.is_nan() {
        return false;
    }
    // NaN makes these true and those false, as a value above the limit does.
    let (above_alone, holds) = match i.mods.iter().find(|&name| name != Mod::AND && name != Mod::FTZ) {
        Some(Mod::GEU) => (false, true),
        Some(Mod::GTU) => (true, true),
        Some(Mod::LT) => (false, false),
        Some(Mod::LE) => (true, false),
        _ => return false,
    };
    let Some(least) = least(view, x, DEPTH) else { return false };
    // Flushed operands are compared as zero.
    let is_known = if above_alone { least > limit.max(f32::MIN_POSITIVE) } else { least >= limit };
    is_known && replacement::become_copy(i, if holds { Source::pt() } else { Source::not_pt() })
}

fn is_of_comparison(name: Mod) -> bool {
    matches!(name, Mod::AND | Mod::FTZ | Mod::GEU | Mod::GTU | Mod::LT | Mod::LE)
}

/// A product of numbers in place of another number, where a predicate holds: a select. It may share the register of the
/// number, and is written at once.
fn chosen_product(view: &View<'_>, i: &mut Instruction) -> bool {
    let (Some(guard), [a, b], [old]) = (i.guard, i.sources.as_slice(), i.tied.as_slice()) else {
        return false;
    };
    let old = Source::value(*old);
    let (Some(a), Some(b), Some(_)) = (number(view, a), number(view, b), number(view, &old)) else {
        return false;
    };
    let product = a * b;
    if !i.mods.is_empty() || !product.is_normal() || view.function.file(guard.value) != File::P {
        return false;
    }
    let choice = Source { invert: !guard.negated, ..Source::value(guard.value) };
    let mut candidate = i.clone();
    candidate.guard = None;
    candidate.tied.clear();
    candidate.contract = false;
    candidate.opcode = Op::SEL.into();
    candidate.sources = [old, Source::imm(product.to_bits()), choice].into_iter().collect();
    view.accept(i, candidate)
}

/// A known f32 operand, with its signs.
fn number(view: &View<'_>, source: &Source) -> Option<f32> {
    let bare = Source { negate: false, absolute: false, ..source.clone() };
    let mut number = f32::from_bits(view.known(&bare)?);
    if source.absolute {
        number = number.abs();
    }
    Some(if source.negate { -number } else { number })
}

/// A number that the operand is not below, unless it is NaN.
fn least(view: &View<'_>, source: &Source, depth: u32) -> Option<f32> {
    if let Some(number) = number(view, source) {
        return (number >= 0.0).then_some(bound(number));
    }
    if source.negate || source.invert || !source.suffixes.is_empty() || source.fixed.is_some() {
        return None;
    }
    let SourceKind::Values(values) = &source.kind else { return None };
    let [value] = values.as_slice() else { return None };
    least_of_value(view, *value, depth).or_else(|| source.absolute.then_some(0.0))
}

fn least_of_value(view: &View<'_>, value: Value, depth: u32) -> Option<f32> {
    let depth = depth.checked_sub(1)?;
    let made = view.definitions.guarded_instruction(view.function, value)?;
    let result = least_result(view, made, depth)?;
    match (made.guard, made.tied.as_slice()) {
        (None, []) => Some(result),
        // Where the guard fails it is the old value.
        (Some(_), [old]) => Some(result.min(least(view, &Source::value(*old), depth)?)),
        _ => None,
    }
}

/// The bound of an instruction's result.
fn least_result(view: &View<'_>, made: &Instruction, depth: u32) -> Option<f32> {
    let of = |source: &Source| least(view, source, depth);
    let only = |names: &[Mod]| made.mods.iter().all(|name| names.contains(&name));
    let single = matches!(made.destinations.as_slice(), [only] if only.values.len() == 1);
    if !single {
        return None;
    }
    match (made.opcode, made.sources.as_slice()) {
        (Opcode::Pseudo(Pseudo::Copy) | Opcode::Sass(Op::MOV), [source]) => of(source),
        (Opcode::Sass(Op::MUFU), [_]) if only(&[Mod::EX2]) && !made.mods.is_empty() => Some(0.0),
        (Opcode::Sass(Op::FMUL), [a, b]) if only(&[Mod::FTZ]) => product(a, b, of),
        (Opcode::Sass(Op::FADD), [a, b]) if only(&[Mod::FTZ]) => Some(bound(of(a)? + of(b)?)),
        (Opcode::Sass(Op::FFMA), [a, b, c]) if only(&[Mod::FTZ]) => {
            product(a, b, of)?;
            of(c)
        }
        (Opcode::Sass(Op::SEL | Op::FSEL), [a, b, _]) if only(&[]) => Some(of(a)?.min(of(b)?)),
        _ => None,
    }
}

/// The bound of a product: of two numbers from zero up, or a square.
fn product(a: &Source, b: &Source, of: impl Fn(&Source) -> Option<f32>) -> Option<f32> {
    if a.as_plain_value().is_some() && a == b {
        return Some(0.0);
    }
    (of(a)? >= 0.0 && of(b)? >= 0.0).then_some(0.0)
}

/// A number as a bound.
fn bound(number: f32) -> f32 {
    if number.is_normal() { number } else { 0.0 }
}
