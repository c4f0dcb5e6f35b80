//! A dot product with accumulator, as the matrix units compute it.
//!
//! Floating point: the products of a step and the accumulator are aligned to the greatest exponent, truncated, added as
//! integers and rounded once (see [`MatrixUnit`]). f64 is a chain of FMAs. Integers are exact, and wrap or saturate at
//! the end.

use crate::value::soft::{self, Eighth, Format};
use oriole_chip::MatrixUnit;
use rustc_apfloat::Round;

/// The type of a factor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    F16,
    BF16,
    /// An f32 of which the lowest 13 bits are ignored.
    TF32,
    F64,
    E4M3,
    E5M2,
    E2M3,
    E3M2,
    E2M1,
    /// An integer of this many bits, signed or not.
    Integer(u32, bool),
    Bit,
}

/// The accumulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sum {
    /// To f32 or, `true`, to f16.
    Float(bool),
    /// To an f64; each step is rounded like this.
    Double(Round),
    /// To a signed word, with or without saturation.
    Integer(bool),
    /// Counts the bits of the conjunction or, `true`, of the difference.
    Bits(bool),
}

/// A finite value: `significand * 2^(exponent - fraction)`, where `exponent` is that of its format's leading bit.
#[derive(Clone, Copy)]
pub(super) struct Finite {
    pub negative: bool,
    pub significand: u64,
    pub exponent: i32,
    pub fraction: i32,
}

/// The value of a factor or of the accumulator.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Finite(Finite),
    Infinite(bool),
    NaN,
}

/// The exponent of a zero.
const EXPONENT_OF_ZERO: i32 = -126;

/// Lowest bits of an f32 that are not part of a `.tf32`.
const CUT_OF_TF32: u64 = 0x1fff;

impl Element {
    /// Bits of an element in a fragment.
    pub fn bits(self) -> u32 {
        match self {
            Element::F16 | Element::BF16 => 16,
            Element::TF32 => 32,
            Element::F64 => 64,
            Element::E4M3 | Element::E5M2 => 8,
            Element::E2M3 | Element::E3M2 => 6,
            Element::E2M1 => 4,
            Element::Integer(bits, _) => bits,
            Element::Bit => 1,
        }
    }

    /// The floating-point value of the bits; FP8 as f16 if it is `widened`.
    pub(super) fn number(self, bits: u64, widened: bool) -> Number {
        let eighth = |eighth: Eighth, layout: Layout| {
            // Exact: every FP8 value is a normal f16 or one of its subnormals.
            let half = || soft::from_f64(Format::F16, soft::from_eighth(eighth, bits), Round::TowardZero);
            if widened { Layout::HALF.number(half()) } else { layout.number(bits) }
        };
        match self {
            Element::F16 => Layout::HALF.number(bits),
            Element::BF16 => Layout::BRAIN.number(bits),
            Element::TF32 => Layout::SINGLE.number(bits & !CUT_OF_TF32),
            Element::E4M3 => eighth(Eighth::E4M3, Layout::E4M3),
            Element::E5M2 => eighth(Eighth::E5M2, Layout::E5M2),
            Element::E2M3 => Layout::E2M3.number(bits),
            Element::E3M2 => Layout::E3M2.number(bits),
            Element::E2M1 => Layout::E2M1.number(bits),
            Element::F64 | Element::Integer(..) | Element::Bit => Number::NaN,
        }
    }

    /// True for FP8 and narrower types.
    fn is_narrow(self) -> bool {
        use Element::*;
        matches!(self, E4M3 | E5M2 | E2M3 | E3M2 | E2M1)
    }

    fn integer(self, bits: u64) -> i64 {
        match self {
            Element::Integer(width, true) => ((bits << (64 - width)) as i64) >> (64 - width),
            _ => bits as i64,
        }
    }
}

/// The layout of a floating-point format.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    exponent_bits: u32,
    fraction_bits: u32,
    top: Top,
}

/// The meaning of the greatest exponent.
#[derive(Clone, Copy)]
enum Top {
    /// Infinities and NaN.
    Infinity,
    /// Finite values too; only the greatest significand is NaN.
    OneNaN,
    /// Finite values.
    Numbers,
}

impl Layout {
    const HALF: Layout = Layout { exponent_bits: 5, fraction_bits: 10, top: Top::Infinity };
    const BRAIN: Layout = Layout { exponent_bits: 8, fraction_bits: 7, top: Top::Infinity };
    const SINGLE: Layout = Layout { exponent_bits: 8, fraction_bits: 23, top: Top::Infinity };
    pub(super) const E4M3: Layout = Layout { exponent_bits: 4, fraction_bits: 3, top: Top::OneNaN };
    const E5M2: Layout = Layout { exponent_bits: 5, fraction_bits: 2, top: Top::Infinity };
    const E2M3: Layout = Layout { exponent_bits: 2, fraction_bits: 3, top: Top::Numbers };
    const E3M2: Layout = Layout { exponent_bits: 3, fraction_bits: 2, top: Top::Numbers };
    const E2M1: Layout = Layout { exponent_bits: 2, fraction_bits: 1, top: Top::Numbers };

    pub(super) fn number(self, bits: u64) -> Number {
        let ones = |count: u32| (1u64 << count) - 1;
        let below = bits & ones(self.fraction_bits);
        let biased = bits >> self.fraction_bits & ones(self.exponent_bits);
        let negative = bits >> (self.fraction_bits + self.exponent_bits) & 1 != 0;
        let greatest = biased == ones(self.exponent_bits);
        match self.top {
            Top::OneNaN if greatest && below == ones(self.fraction_bits) => return Number::NaN,
            Top::Infinity if greatest && below == 0 => return Number::Infinite(negative),
            Top::Infinity if greatest => return Number::NaN,
            _ => {}
        }
        let bias = ones(self.exponent_bits - 1) as i32;
        let (significand, exponent) = match biased {
            0 if below == 0 => (0, EXPONENT_OF_ZERO),
            0 => (below, 1 - bias),
            _ => (below | 1 << self.fraction_bits, biased as i32 - bias),
        };
        Number::Finite(Finite { negative, significand, exponent, fraction: self.fraction_bits as i32 })
    }
}

impl Number {
    pub(super) fn times(self, other: Number) -> Number {
        use Number::*;
        match (self, other) {
            (NaN, _) | (_, NaN) => NaN,
            (Finite(a), Finite(b)) => Finite(self::Finite {
                negative: a.negative != b.negative,
                significand: a.significand * b.significand,
                exponent: a.exponent + b.exponent,
                fraction: a.fraction + b.fraction,
            }),
            (Infinite(a), Infinite(b)) => Infinite(a != b),
            (Infinite(sign), Finite(x)) | (Finite(x), Infinite(sign)) => match x.significand {
                0 => NaN,
                _ => Infinite(sign != x.negative),
            },
        }
    }
}

impl Sum {
    /// Bits of an element of the accumulator.
    pub fn bits(self) -> u32 {
        match self {
            Sum::Float(half) => {
                if half {
                    16
                } else {
                    32
                }
            }
            Sum::Double(_) => 64,
            Sum::Integer(_) | Sum::Bits(_) => 32,
        }
    }

    /// `a` times `b`, element by element, plus `c`.
    pub fn evaluate(self, unit: &MatrixUnit, of: [Element; 2], a: &[u64], b: &[u64], c: u64) -> u64 {
        match self {
            Sum::Float(half) => float(unit, of, half, of[0].bits(), [a, b], c, &[]),
            Sum::Double(round) => {
                a.iter().zip(b).fold(c, |sum, (a, b)| soft::multiply_add(Format::F64, *a, *b, sum, round))
            }
            Sum::Integer(saturates) => {
                let sum: i64 = a.iter().zip(b).map(|(x, y)| of[0].integer(*x) * of[1].integer(*y)).sum();
                let sum = sum + i64::from(c as i32);
                let sum =
                    if saturates { sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32 } else { sum as i32 };
                u64::from(sum as u32)
            }
            Sum::Bits(differ) => {
                let counts = |a: u64, b: u64| if differ { a ^ b } else { a & b };
                let count = a.iter().zip(b).map(|(a, b)| counts(*a, *b) as u32).sum::<u32>();
                u64::from((c as u32).wrapping_add(count))
            }
        }
    }
}

impl Sum {
    /// As `evaluate`, for floating-point elements of `bits` bits, in equal blocks with scale factors for `a` and `b`.
    pub(super) fn evaluate_blocks(
        self,
        unit: &MatrixUnit,
        of: [Element; 2],
        bits: u32,
        factors: [&[u64]; 2],
        c: u64,
        blocks: &[[Number; 2]],
    ) -> u64 {
        float(unit, of, self == Sum::Float(true), bits, factors, c, blocks)
    }
}

/// A floating-point dot product, step after step.
fn float(
    unit: &MatrixUnit,
    of: [Element; 2],
    half: bool,
    element_bits: u32,
    [a, b]: [&[u64]; 2],
    c: u64,
    blocks: &[[Number; 2]],
) -> u64 {
    let format = if half { Format::F16 } else { Format::F32 };
    let narrow = of.iter().any(|element| element.is_narrow());
    let fraction = if narrow { unit.narrow_fraction_bits } else { None };
    let becomes_halves = narrow && fraction.is_none();
    let product =
        |(a, b): (&u64, &u64)| of[0].number(*a, becomes_halves).times(of[1].number(*b, becomes_halves));
    let mut products: Vec<Number> = a.iter().zip(b).map(product).collect();
    let length = products.len().checked_div(blocks.len()).unwrap_or(products.len());
    for (block, scales) in products.chunks_mut(length).zip(blocks) {
        for product in block {
            *product = scales.iter().fold(*product, |product, &scale| scaled(product, scale));
        }
    }
    if becomes_halves {
        return widened(unit, format, &products, c);
    }
    let depth = (unit.step_bits / element_bits) as usize;
    let bits = fraction.unwrap_or(unit.fraction_bits);
    products.chunks(depth).fold(c, |sum, terms| step(bits, fraction, format, terms, old(format, sum)))
}

/// FP8 on a chip that converts it to f16: the lower two of every four make one dot product, the upper two another one
/// that takes it as its accumulator, and `c` is added at the end.
fn widened(unit: &MatrixUnit, format: Format, products: &[Number], c: u64) -> u64 {
    let mut sum = 0;
    for pair in 0..2 {
        let terms: Vec<Number> =
            products.chunks_exact(4).flat_map(|four| four[2 * pair..][..2].to_vec()).collect();
        sum = step(unit.fraction_bits, None, format, &terms, old(format, sum));
    }
    let result = soft::add(format, c, sum, Round::NearestTiesToEven);
    if format.is_nan(result) { format.canonical_nan() } else { result }
}

/// The accumulator as a value.
pub(super) fn old(format: Format, sum: u64) -> Number {
    if format == Format::F16 { Layout::HALF } else { Layout::SINGLE }.number(sum)
}

/// One step: all terms truncated at `fraction_bits` below the greatest exponent, added, rounded. An f32 result keeps
/// only `kept` fraction bits if that is given.
pub(super) fn step(
    fraction_bits: u32,
    kept: Option<u32>,
    format: Format,
    products: &[Number],
    sum: Number,
) -> u64 {
    let mut infinite = [false; 2];
    let mut terms = Vec::with_capacity(products.len() + 1);
    for number in products.iter().chain([&sum]) {
        match number {
            Number::NaN => return format.canonical_nan(),
            Number::Infinite(negative) => infinite[usize::from(*negative)] = true,
            Number::Finite(finite) => terms.push(*finite),
        }
    }
    match infinite {
        [true, true] => return format.canonical_nan(),
        [true, false] => return format.infinity(),
        [false, true] => return format.infinity() | format.sign(),
        [false, false] => {}
    }
    let greatest = terms.iter().map(|term| term.exponent).max().unwrap_or(EXPONENT_OF_ZERO);
    let lowest = greatest - fraction_bits as i32;
    let total: i64 = terms
        .iter()
        .map(|term| {
            let shift = term.exponent - term.fraction - lowest;
            let cut = match shift {
                0.. => term.significand << shift,
                _ => term.significand.checked_shr(shift.unsigned_abs()).unwrap_or(0),
            };
            if term.negative { -(cut as i64) } else { cut as i64 }
        })
        .sum();
    // Exact: the sum has fewer than 53 bits, and the f64 range is wider than that of any term.
    let exact = total as f64 * 2f64.powi(lowest);
    let round = if format == Format::F16 { Round::NearestTiesToEven } else { Round::TowardZero };
    let result = soft::from_f64(format, exact, round);
    if exact.abs() >= 2f64.powi(128) {
        // Overflow ignores the direction.
        return format.infinity() | if total < 0 { format.sign() } else { 0 };
    }
    match kept {
        Some(kept) if format == Format::F32 => {
            let cut = format.fraction_bits().saturating_sub(kept);
            result >> cut << cut
        }
        _ => result,
    }
}

/// A term times a scale; zeros keep their small exponent.
pub(super) fn scaled(term: Number, scale: Number) -> Number {
    match (term, scale) {
        (Number::Finite(term), Number::Finite(_)) if term.significand == 0 => Number::Finite(term),
        _ => term.times(scale),
    }
}
