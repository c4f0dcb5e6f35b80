//! 16-bit halves of registers as operands: an extracted half is read from its source register, and two f32 values
//! that are each rounded to 16 bits and then packed are rounded and packed at once.

use crate::analyses::slots::{is_plain_permutation, source_type};
use crate::rewriting::view::View;
use oriole_ori::{Instruction, Opcode, Source, SourceKind};
use oriole_sass::info::SourceType;
use oriole_sass::{Mod, Op};

/// The sign bits of two 16-bit halves.
const SIGNS: u32 = 0x8000_8000;

/// Simplifies the 16-bit halves of an instruction; true if it changed.
pub fn run(view: &View<'_>, i: &mut Instruction) -> bool {
    match i.opcode {
        Opcode::Sass(Op::PRMT) => join_rounded(view, i),
        Opcode::Sass(Op::FADD2 | Op::FMUL2 | Op::FFMA2) => read_once(view, i),
        Opcode::Sass(op) if op.reads_halves() => read_in_place(view, i) | read_signed(view, i),
        _ => false,
    }
}

/// For each byte of a permutation's result, the operand and byte it comes from; `None` where bytes are replicated
/// signs.
fn bytes(view: &View<'_>, permutation: &Instruction) -> Option<[(usize, u32); 4]> {
    let [_, selector, _] = permutation.sources.as_slice() else { return None };
    if !is_plain_permutation(permutation) || permutation.guard.is_some() {
        return None;
    }
    let selector = view.known(selector)?;
    let choice = |place: u32| selector >> (4 * place) & 0xf;
    let byte = |place: u32| (if choice(place) & 7 < 4 { 0 } else { 2 }, choice(place) & 3);
    (0..4).all(|place| choice(place) < 8).then(|| [byte(0), byte(1), byte(2), byte(3)])
}

/// The operand and its half that a permutation places in this half of its result.
pub fn half(view: &View<'_>, permutation: &Instruction, half: Mod) -> Option<(usize, Mod)> {
    let [first, second, third, fourth] = bytes(view, permutation)?;
    match if half == Mod::H0_H0 { (first, second) } else { (third, fourth) } {
        ((from, 0), (same, 1)) if from == same => Some((from, Mod::H0_H0)),
        ((from, 2), (same, 3)) if from == same => Some((from, Mod::H1_H1)),
        _ => None,
    }
}

/// An f32x2 pair of equal values is one immediate, or one register.
fn read_once(view: &View<'_>, i: &mut Instruction) -> bool {
    let mut changed = false;
    for index in 0..i.sources.len() {
        let source = &i.sources[index];
        let SourceKind::Values(values) = &source.kind else { continue };
        let [low, high] = values.as_slice() else { continue };
        let (low, high) = (Source::value(*low), Source::value(*high));
        let known = view.known(&low).filter(|&bits| view.known(&high) == Some(bits));
        if !source.suffixes.has(Mod::HI_LO) || low != high && known.is_none() {
            continue;
        }
        let one = Source { negate: source.negate, absolute: source.absolute, ..low.suffixed(Mod::F32) };
        let plain = !(source.negate || source.absolute);
        let immediate = known.filter(|_| plain).map(Source::imm);
        for replacement in immediate.into_iter().chain([one]) {
            let mut candidate = i.clone();
            candidate.sources[index] = replacement;
            if view.accept(i, candidate) {
                changed = true;
                break;
            }
        }
    }
    changed
}

/// Replaces operands that are the lower half of a permutation by the half of its source register.
fn read_in_place(view: &View<'_>, i: &mut Instruction) -> bool {
    let mut changed = false;
    for index in 0..i.sources.len() {
        let source = &i.sources[index];
        if !source.suffixes.has(Mod::H0_H0) || source_type(i, index) != SourceType::Halves {
            continue;
        }
        let SourceKind::Values(values) = &source.kind else { continue };
        let [value] = values.as_slice() else { continue };
        let Some(permutation) = view.definition(*value) else { continue };
        let Some((from, half)) = half(view, permutation, Mod::H0_H0) else { continue };
        let from = &permutation.sources[from];
        if from.as_plain_value().is_none() || !view.is_stable(from) {
            continue;
        }
        let mut candidate = i.clone();
        let suffixes = source.suffixes.with_instead(Mod::H0_H0, half);
        candidate.sources[index] =
            Source { negate: source.negate, absolute: source.absolute, suffixes, ..from.clone() };
        changed |= view.accept(i, candidate);
    }
    changed
}

/// Replaces operands whose sign bits were cleared or flipped by the original register with a sign modifier. Those of
/// bf16 stay: ptxas writes no sign on their factors and in their comparisons, so it is not known whether the hardware
/// reads one there.
fn read_signed(view: &View<'_>, i: &mut Instruction) -> bool {
    let computes = matches!(
        i.opcode,
        Opcode::Sass(Op::HADD2 | Op::HMUL2 | Op::HFMA2 | Op::HMNMX2 | Op::HSETP2 | Op::HSET2)
    );
    if !computes || i.mods.has(Mod::BF16_V2) {
        return false;
    }
    let mut changed = false;
    for index in 0..i.sources.len() {
        let outer = &i.sources[index];
        let SourceKind::Values(values) = &outer.kind else { continue };
        let [value] = values.as_slice() else { continue };
        let Some((from, mask, flip)) = view.definition(*value).and_then(|logic| view.masked(logic)) else {
            continue;
        };
        // Bits of the halves that are read.
        let read = match outer.suffixes {
            _ if outer.suffixes.has(Mod::H0_H0) => 0xffff,
            _ if outer.suffixes.has(Mod::H1_H1) => 0xffff_0000,
            _ => u32::MAX,
        };
        let signs = SIGNS & read;
        let absolute = mask & read == read & !SIGNS;
        if !absolute && mask & read != read || flip & read != signs && flip & read != 0 {
            continue;
        }
        let negate = flip & read != 0;
        let source = Source {
            absolute: outer.absolute || absolute,
            negate: outer.negate ^ (negate && !outer.absolute),
            suffixes: outer.suffixes.clone(),
            ..Source::value(from)
        };
        if source_type(i, index) != SourceType::Halves || !view.is_stable(&source) {
            continue;
        }
        let mut candidate = i.clone();
        candidate.sources[index] = source;
        changed |= view.accept(i, candidate);
    }
    changed
}

/// `PRMT` of the lower halves of two `F2FP`, each of one f32, is the `F2FP` of both.
fn join_rounded(view: &View<'_>, i: &mut Instruction) -> bool {
    let Some([low, low_end, high, high_end]) = bytes(view, i) else { return false };
    if (low.1, low_end, high.1, high_end) != (0, (low.0, 1), 0, (high.0, 1)) {
        return false;
    }
    let rounded = |index: usize| {
        let rounding = view.source_definition(&i.sources[index])?;
        let [zero, number] = rounding.sources.as_slice() else { return None };
        let packs = rounding.opcode == Opcode::Sass(Op::F2FP)
            && rounding.mods.has(Mod::PACK_AB)
            && rounding.guard.is_none()
            && view.known(zero) == Some(0)
            && view.is_stable(number);
        packs.then_some((rounding, number))
    };
    let (Some((first, below)), Some((second, above))) = (rounded(low.0), rounded(high.0)) else {
        return false;
    };
    if first.mods != second.mods {
        return false;
    }
    let mut candidate = i.clone();
    candidate.opcode = first.opcode;
    candidate.mods = first.mods.clone();
    candidate.sources = [above.clone(), below.clone()].into_iter().collect();
    view.accept(i, candidate)
}
