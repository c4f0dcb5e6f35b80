//! Steps with different encodings on different chips, which several families use. The code checks for opcodes and forms of
//! the chip, never for the chip itself.

use crate::context::Lower;
use crate::source::LOWER_HALVES;
use oriole_ori::{Source, Value};
use oriole_sass::{Mod, Mods, Op, on_chip, unsaid};

/// `d <- min(a, b)` where `least` is true, else the max. `U32` means unsigned; packed 16-bit integers are handled
/// one by one and a lower bound of zero is a second step where there is no `VIMNMX`.
pub(crate) fn min_max(cx: &mut Lower<'_>, mods: &[Mod], d: Value, a: Source, b: Source, least: Source) {
    let op = on_chip(cx.chip, Op::VIMNMX);
    if op != Op::VIMNMX && mods.iter().any(|&it| matches!(it, Mod::S16x2 | Mod::U16x2)) {
        min_max_of_halves(cx, mods, d, a, b, least);
        return;
    }
    let bounded = op != Op::VIMNMX && mods.contains(&Mod::RELU);
    let mut mods: Vec<Mod> = mods.iter().copied().filter(|&it| !(bounded && it == Mod::RELU)).collect();
    mods.extend(unsaid(cx.chip, op, &Mods::of(&mods)));
    let found = if bounded { cx.b.r() } else { d };
    cx.op(op, &mods, found, [a, b, least]);
    if bounded {
        cx.op(op, &mods, d, [found.into(), Source::rz(), Source::not_pt()]);
    }
}

/// [`min_max`] of two packed 16-bit integers, each widened to 32 bits.
fn min_max_of_halves(cx: &mut Lower<'_>, mods: &[Mod], d: Value, a: Source, b: Source, least: Source) {
    let signed = mods.contains(&Mod::S16x2);
    let mut each: Vec<Mod> = if signed { Vec::new() } else { vec![Mod::U32] };
    each.extend(mods.iter().filter(|&&it| it == Mod::RELU));
    let [a, b] = [a, b].map(|it| cx.in_register(it));
    // Two bytes, and in the upper ones the sign of the second, or bytes of `RZ`.
    let selectors = if signed { [0x9910u32, 0xbb32] } else { [0x4410, 0x4432] };
    let found = selectors.map(|selector| {
        let [first, second, found] = [cx.b.r(), cx.b.r(), cx.b.r()];
        cx.b.prmt(first, a.clone(), selector, Source::rz());
        cx.b.prmt(second, b.clone(), selector, Source::rz());
        min_max(cx, &each, found, first.into(), second.into(), least.clone());
        found
    });
    cx.b.prmt(d, found[0], 0x5410u32, found[1]);
}

/// `d <- a + b`, or `a - b`, of two 16-bit integers in a word; `b` is a register where it is subtracted.
pub(super) fn add_halves(cx: &mut Lower<'_>, d: Value, a: Source, b: Source, subtract: bool) {
    let sign = |b: Source| if subtract { b.negated() } else { b };
    if cx.takes(Op::VIADD, &[Mod::_16x2], 3) {
        cx.op(Op::VIADD, &[Mod::_16x2], d, [a, sign(b)]);
        return;
    }
    // The upper add excludes the lower half of `b`, so that nothing carries into it.
    let b = cx.in_register(b);
    let [low, upper, high] = [cx.b.r(), cx.b.r(), cx.b.r()];
    cx.b.and(upper, b.clone(), 0xffff_0000u32);
    cx.b.iadd3(low, a.clone(), sign(b), Source::rz());
    cx.b.iadd3(high, a, sign(upper.into()), Source::rz());
    cx.b.prmt(d, low, 0x7610u32, high);
}

/// `d <- |a - b| + c`. `U32` means unsigned.
pub(super) fn add_distance(cx: &mut Lower<'_>, mods: &[Mod], d: Value, a: Source, b: Source, c: Source) {
    if cx.has(Op::VABSDIFF) {
        cx.op(Op::VABSDIFF, mods, d, [a, b, c]);
        return;
    }
    let [least, greatest] = [cx.b.r(), cx.b.r()];
    min_max(cx, mods, least, a.clone(), b.clone(), Source::pt());
    min_max(cx, mods, greatest, a, b, Source::not_pt());
    let c = cx.in_register(c);
    cx.op(Op::IADD3, &[], d, [greatest.into(), Source::value(least).negated(), c]);
}

/// Converts an integer to f32, rounded to nearest.
pub(crate) fn integer_to_single(cx: &mut Lower<'_>, d: Value, signed: bool, a: Source) {
    if cx.has(Op::I2FP) {
        cx.op(Op::I2FP, &[Mod::F32, if signed { Mod::S32 } else { Mod::U32 }], d, [a]);
    } else {
        cx.op(Op::I2F, if signed { &[] } else { &[Mod::U32] }, d, [a]);
    }
}

/// The modifiers of `F2FP` that packs two f32 values as this 16-bit type.
pub(crate) fn packing(cx: &Lower<'_>, half: Mod) -> Vec<Mod> {
    let named = vec![half, Mod::F32, Mod::PACK_AB];
    if cx.takes(Op::F2FP, &named, 3) {
        return named;
    }
    // There the type of the sources is implicit, and that of the result is named only where it is not f16.
    [(half != Mod::F16).then_some(half), Some(Mod::PACK_AB)].into_iter().flatten().collect()
}

/// Packs two f32 values as 16-bit floats in one word.
pub(crate) fn halves_of(cx: &mut Lower<'_>, high: Source, low: Source) -> Value {
    let d = cx.b.r();
    if cx.has(Op::F2FP) {
        let mods = packing(cx, Mod::F16);
        cx.op(Op::F2FP, &mods, d, [high, low]);
        return d;
    }
    let [low, high] = [low, high].map(|single| {
        let half = cx.b.r();
        cx.op(Op::F2F, &[Mod::F16, Mod::F32_2], half, [single]);
        half
    });
    cx.b.prmt(d, low, LOWER_HALVES, high);
    d
}

/// Selects one of two constants.
pub(crate) fn constant_by(cx: &mut Lower<'_>, p: Value, yes: u32, no: u32) -> Value {
    let [first, d] = [cx.b.r(), cx.b.r()];
    cx.b.mov(first, yes);
    cx.b.sel(d, first, no, p);
    d
}
