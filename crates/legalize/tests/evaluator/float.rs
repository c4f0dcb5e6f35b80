//! The floating-point operations of the test evaluator, by soft floats.

use oriole_ori::{Instruction, SourceKind};
use oriole_sass::{Mod, Op};
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, FloatConvert, Round, StatusAnd};

/// Rounding of an instruction.
pub fn rounding(mods: &oriole_sass::Mods) -> Round {
    if mods.has(Mod::RZ) {
        Round::TowardZero
    } else if mods.has(Mod::RM) {
        Round::TowardNegative
    } else if mods.has(Mod::RP) {
        Round::TowardPositive
    } else {
        Round::NearestTiesToEven
    }
}

fn flush(bits: u32, ftz: bool) -> u32 {
    if ftz && bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// NaN results of the hardware have one bit pattern.
fn tidy32(value: Single, ftz: bool) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { flush(value.to_bits() as u32, ftz) }
}

fn tidy64(value: Double) -> u64 {
    if value.is_nan() { 0xfff8_0000_0000_0000 } else { value.to_bits() as u64 }
}

pub fn compute(
    op: Op,
    instruction: &Instruction,
    raw: &dyn Fn(usize, usize) -> u32,
    mufu_error: i32,
) -> Vec<(usize, usize, u32)> {
    let mods = &instruction.mods;
    let has = |m: Mod| mods.has(m);
    let src = |i: usize| &instruction.sources[i];
    let round = rounding(mods);
    let ftz = has(Mod::FTZ);
    let f32_bits = |i: usize| {
        let mut bits = flush(raw(i, 0), ftz);
        if src(i).absolute {
            bits &= 0x7fff_ffff;
        }
        if src(i).negate {
            bits ^= 0x8000_0000;
        }
        bits
    };
    let single = |i: usize| Single::from_bits(f32_bits(i).into());
    let f64_bits = |i: usize| {
        let mut bits = match &src(i).kind {
            SourceKind::Zero(_) => 0,
            // An immediate is the high word.
            SourceKind::Imm(high) => u64::from(*high) << 32,
            _ => u64::from(raw(i, 0)) | u64::from(raw(i, 1)) << 32,
        };
        if src(i).absolute {
            bits &= !(1 << 63);
        }
        if src(i).negate {
            bits ^= 1 << 63;
        }
        bits
    };
    let double = |i: usize| Double::from_bits(f64_bits(i).into());
    let pred = |i: usize| instruction.sources.get(i).is_none_or(|s| (raw(i, 0) & 1 != 0) != s.invert);
    let pair = |word: u64| vec![(0, 0, word as u32), (0, 1, (word >> 32) as u32)];
    match op {
        Op::FADD => vec![(0, 0, tidy32(single(0).add_r(single(1), round).value, ftz))],
        Op::FMUL => vec![(0, 0, tidy32(single(0).mul_r(single(1), round).value, ftz))],
        Op::FFMA => vec![(0, 0, tidy32(single(0).mul_add_r(single(1), single(2), round).value, ftz))],
        Op::DADD => pair(tidy64(double(0).add_r(double(1), round).value)),
        Op::DMUL => pair(tidy64(double(0).mul_r(double(1), round).value)),
        Op::DFMA => pair(tidy64(double(0).mul_add_r(double(1), double(2), round).value)),
        Op::FSEL => vec![(0, 0, if pred(2) { f32_bits(0) } else { f32_bits(1) })],
        Op::FSETP | Op::DSETP => {
            let order = if op == Op::FSETP {
                single(0).partial_cmp(&single(1))
            } else {
                double(0).partial_cmp(&double(1))
            };
            let result = float_compare(mods, order);
            let other = pred(2);
            let joined = if has(Mod::OR) {
                (result || other, !result || other)
            } else {
                (result && other, !result && other)
            };
            vec![(0, 0, u32::from(joined.0)), (1, 0, u32::from(joined.1))]
        }
        Op::MUFU => {
            // Two units of the root are within the 2^-22.9 that is promised; of high words as many as the expansions
            // trust.
            let mufu_error = match () {
                () if has(Mod::RCP64H) || has(Mod::RSQ64H) => 2 * mufu_error.signum(),
                () if has(Mod::RSQ) => 2 * mufu_error,
                () => mufu_error,
            };
            let approximate = |exact: Single| {
                if exact.is_finite_non_zero() && !exact.is_denormal() {
                    let bits = exact.to_bits() as u32;
                    flush(bits.wrapping_add(mufu_error as u32), true)
                } else {
                    tidy32(exact, true)
                }
            };
            let word = if has(Mod::RCP64H) || has(Mod::RSQ64H) {
                // High word of an f64 to high word; the error affects the bits after the first twenty.
                let bits = u64::from({
                    let mut high = raw(0, 0);
                    if src(0).absolute {
                        high &= 0x7fff_ffff;
                    }
                    if src(0).negate {
                        high ^= 0x8000_0000;
                    }
                    high
                }) << 32;
                let x = f64::from_bits(bits);
                let x = if x.is_subnormal() { 0.0f64.copysign(x) } else { x };
                let exact = if has(Mod::RCP64H) { 1.0 / x } else { 1.0 / x.sqrt() };
                if exact.is_nan() {
                    0x7fff_ffff
                } else {
                    let high = (exact.to_bits() >> 32) as u32;
                    if exact.is_normal() { high.wrapping_add(mufu_error as u32) } else { high & 0xfff0_0000 }
                }
            } else {
                let bits = flush(f32_bits(0), true);
                let x = Single::from_bits(bits.into());
                let one: Single = "1.0".parse().expect("a number");
                if has(Mod::RCP) {
                    approximate(one.div_r(x, Round::NearestTiesToEven).value)
                } else {
                    let x = f64::from(f32::from_bits(bits));
                    let exact = if has(Mod::RSQ) {
                        1.0 / x.sqrt()
                    } else if has(Mod::SQRT) {
                        x.sqrt()
                    } else {
                        panic!("no such MUFU")
                    };
                    approximate(Single::from_bits(u128::from((exact as f32).to_bits())))
                }
            };
            vec![(0, 0, word)]
        }
        Op::I2F => {
            let signed = !(has(Mod::U32) || has(Mod::U64));
            let number: i128 = if has(Mod::U64) || has(Mod::S64) {
                let word = u64::from(raw(0, 0)) | u64::from(raw(0, 1)) << 32;
                if has(Mod::S64) { i128::from(word as i64) } else { i128::from(word) }
            } else if signed {
                i128::from(raw(0, 0) as i32)
            } else {
                i128::from(raw(0, 0))
            };
            if has(Mod::F64) {
                pair(Double::from_i128_r(number, round).value.to_bits() as u64)
            } else {
                vec![(0, 0, Single::from_i128_r(number, round).value.to_bits() as u32)]
            }
        }
        Op::I2FP => {
            let number = if has(Mod::U32) { i128::from(raw(0, 0)) } else { i128::from(raw(0, 0) as i32) };
            vec![(0, 0, Single::from_i128_r(number, round).value.to_bits() as u32)]
        }
        Op::F2I => {
            let round = if has(Mod::TRUNC) {
                Round::TowardZero
            } else if has(Mod::FLOOR) {
                Round::TowardNegative
            } else if has(Mod::CEIL) {
                Round::TowardPositive
            } else {
                Round::NearestTiesToEven
            };
            let width = if has(Mod::U64) || has(Mod::S64) { 64 } else { 32 };
            let signed = !(has(Mod::U32) || has(Mod::U64));
            let mut exact = false;
            let from_f64 = has(Mod::F64);
            let word: u64 = if from_f64 {
                integer(double(0), width, signed, round, &mut exact)
            } else {
                integer(single(0), width, signed, round, &mut exact)
            };
            if width == 64 { pair(word) } else { vec![(0, 0, word as u32)] }
        }
        Op::F2F => {
            if has(Mod::F64) && has(Mod::F32_2) {
                let mut lost = false;
                let wide: StatusAnd<Double> = single(0).convert(&mut lost);
                return pair(tidy64(wide.value));
            }
            if has(Mod::F32) && has(Mod::F64_2) {
                let mut lost = false;
                let narrow: StatusAnd<Single> = double(0).convert_r(round, &mut lost);
                return vec![(0, 0, tidy32(narrow.value, ftz))];
            }
            panic!("no such F2F")
        }
        Op::FCHK => vec![(0, 0, u32::from(is_out_of_range(raw(0, 0), raw(1, 0))))],
        other => panic!("no meaning for {other:?}"),
    }
}

fn integer<F: Float>(value: F, width: usize, signed: bool, round: Round, exact: &mut bool) -> u64 {
    if value.is_nan() {
        return if width == 64 { 1 << 63 } else { 0 };
    }
    if signed {
        value.to_i128_r(width, round, exact).value as u64
    } else {
        value.to_u128_r(width, round, exact).value as u64
    }
}

fn float_compare(mods: &oriole_sass::Mods, order: Option<std::cmp::Ordering>) -> bool {
    let has = |m: Mod| mods.has(m);
    let or_unordered = |test: fn(std::cmp::Ordering) -> bool| order.is_none_or(test);
    let ordered = |test: fn(std::cmp::Ordering) -> bool| order.is_some_and(test);
    use std::cmp::Ordering as O;
    if has(Mod::LT) {
        ordered(O::is_lt)
    } else if has(Mod::LE) {
        ordered(O::is_le)
    } else if has(Mod::GT) {
        ordered(O::is_gt)
    } else if has(Mod::GE) {
        ordered(O::is_ge)
    } else if has(Mod::EQ) {
        ordered(O::is_eq)
    } else if has(Mod::NE) {
        ordered(O::is_ne)
    } else if has(Mod::LTU) {
        or_unordered(O::is_lt)
    } else if has(Mod::LEU) {
        or_unordered(O::is_le)
    } else if has(Mod::GTU) {
        or_unordered(O::is_gt)
    } else if has(Mod::GEU) {
        or_unordered(O::is_ge)
    } else if has(Mod::EQU) {
        or_unordered(O::is_eq)
    } else if has(Mod::NEU) {
        or_unordered(O::is_ne)
    } else if has(Mod::NUM) {
        order.is_some()
    } else if has(Mod::NAN) {
        order.is_none()
    } else {
        panic!("no comparison in {mods:?}")
    }
}

/// The operand range of a division by reciprocal and residual, in which all intermediate values are normal. The
/// hardware check has no published definition; it guards exactly these steps.
fn is_out_of_range(a: u32, b: u32) -> bool {
    let exponent = |bits: u32| (bits >> 23 & 0xff) as i32 - 127;
    let (a, b) = (exponent(a), exponent(b));
    let quotient = a - b;
    !(-102..128).contains(&a) || !(-126..=125).contains(&b) || !(-123..=125).contains(&quotient)
}
