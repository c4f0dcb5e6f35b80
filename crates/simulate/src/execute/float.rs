//! f32 arithmetic and comparison.

use super::context::{Context, mask_of};
use super::integer::join;
use crate::launch::Fault;
use crate::number::{BF16, F16, F32, Format, Round, add, fused, multiply};
use crate::warp::Lanes;
use oriole_sass::{Mod, Op, OperandKind, Symbol};

/// The rounding direction of an arithmetic instruction.
pub(super) fn rounding(context: &Context) -> Round {
    if context.has(Mod::RM) {
        Round::Down
    } else if context.has(Mod::RP) {
        Round::Up
    } else if context.has(Mod::RZ) {
        Round::Zero
    } else {
        Round::Nearest
    }
}

/// Clamps to the interval from zero to one; NaN becomes zero.
fn saturate(bits: u32) -> u32 {
    let value = f32::from_bits(bits);
    if value >= 1.0 {
        0x3f80_0000
    } else if value > 0.0 {
        bits
    } else {
        0
    }
}

/// Rounding of an instruction, its handling of subnormals and of its result.
#[derive(Clone, Copy)]
struct Arithmetic {
    round: Round,
    flush: bool,
    saturated: bool,
    /// Zero times anything is zero.
    zero_wins: bool,
}

impl Arithmetic {
    fn of(context: &Context) -> Arithmetic {
        let zero_wins = context.has(Mod::FMZ);
        Arithmetic {
            round: rounding(context),
            flush: context.has(Mod::FTZ) || zero_wins,
            saturated: context.has(Mod::SAT),
            zero_wins,
        }
    }

    fn finish(self, bits: u64) -> u32 {
        let bits = if self.flush { F32.flush(bits) } else { bits } as u32;
        if self.saturated { saturate(bits) } else { bits }
    }

    fn is_zero_product(self, a: u32, b: u32) -> bool {
        self.zero_wins && (a << 1 == 0 || b << 1 == 0)
    }
}

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    let arithmetic = Arithmetic::of(context);
    let Arithmetic { round, flush, .. } = arithmetic;
    match context.instruction.op {
        Op::FADD | Op::UFADD => {
            let [a, b] = [context.single(1, flush)?, context.single(2, flush)?];
            let sum = |lane: usize| arithmetic.finish(add(F32, a[lane].into(), b[lane].into(), round));
            context.write(0, &std::array::from_fn(sum))
        }
        Op::FMUL | Op::UFMUL => product(context, arithmetic),
        Op::FFMA | Op::UFFMA => {
            let [a, b, c] = [context.single(1, flush)?, context.single(2, flush)?, context.single(3, flush)?];
            let result = std::array::from_fn(|lane| {
                let (a, b, c) = (a[lane], b[lane], c[lane]);
                if arithmetic.is_zero_product(a, b) {
                    return arithmetic.finish(c.into());
                }
                arithmetic.finish(fused(F32, a.into(), b.into(), c.into(), round))
            });
            context.write(0, &result)
        }
        Op::FADD2 | Op::FMUL2 | Op::FFMA2 => pairs(context, arithmetic),
        Op::FHADD | Op::FHFMA => mixed(context, arithmetic),
        Op::FMNMX | Op::UFMNMX => extreme(context, flush),
        Op::FMNMX3 => extreme_of_three(context, flush),
        Op::FSEL | Op::UFSEL => {
            let [a, b] = [context.single(1, flush)?, context.single(2, flush)?];
            let choice = context.predicate(3)?;
            let chosen = |lane: usize| if choice >> lane & 1 == 1 { a[lane] } else { b[lane] };
            context.write(0, &std::array::from_fn(chosen))
        }
        Op::FSET | Op::UFSET => {
            let result = compare(context, 1, flush)?;
            let result = join(context, result, context.predicate(3)?);
            let truth = if context.has(Mod::BF) { 0x3f80_0000 } else { u32::MAX };
            let true_or_zero = |lane: usize| if result >> lane & 1 == 1 { truth } else { 0 };
            context.write(0, &std::array::from_fn(true_or_zero))
        }
        Op::FSETP | Op::UFSETP => {
            let result = compare(context, 2, flush)?;
            let other = context.predicate(4)?;
            let (first, second) = (join(context, result, other), join(context, !result, other));
            context.write_predicate(0, first)?;
            context.write_predicate(1, second)
        }
        Op::FCHK => {
            let [a, b] = [context.single(1, false)?, context.single(2, false)?];
            let result = mask_of(|lane| needs_slow_division(a[lane], b[lane]));
            context.write_predicate(0, result)
        }
        Op::FSWZADD => swizzled_sum(context, arithmetic),
        _ => Err(context.refuse()),
    }
}

/// The two f32 values of an operand in every lane, lower one first: a pair of registers, or one for both.
fn pair(context: &Context, index: usize, flush: bool) -> Result<[Lanes; 2], Fault> {
    let operand = &context.instruction.operands[index];
    if [Mod::LO_HI, Mod::NP].into_iter().any(|suffix| operand.has(suffix)) {
        return Err(context.refuse());
    }
    if operand.has(Mod::F32) || matches!(operand.kind, OperandKind::Float(_)) {
        return Ok([context.single(index, flush)?; 2]);
    }
    let sign = u64::from(operand.negate) << 31;
    let words = context.raw_wide(index)?;
    Ok([0, 32].map(|shift| {
        words.map(|word| {
            let bits = word >> shift & 0xffff_ffff;
            let bits = if flush { F32.flush(bits) } else { bits };
            let bits = if operand.absolute { bits & !F32.sign() } else { bits };
            (bits ^ sign) as u32
        })
    }))
}

/// `FADD2`, `FMUL2`, `FFMA2`: an operation on each of two f32 values.
fn pairs(context: &mut Context, arithmetic: Arithmetic) -> Result<(), Fault> {
    let Arithmetic { round, flush, .. } = arithmetic;
    let op = context.instruction.op;
    let [a, b] = [pair(context, 1, flush)?, pair(context, 2, flush)?];
    let c = if op == Op::FFMA2 { pair(context, 3, flush)? } else { [[0; 32]; 2] };
    let each = |half: usize, lane: usize| {
        let [a, b, c] = [&a, &b, &c].map(|pair| pair[half][lane]);
        let result = match op {
            Op::FADD2 => add(F32, a.into(), b.into(), round),
            Op::FMUL2 if arithmetic.is_zero_product(a, b) => 0,
            Op::FMUL2 => multiply(F32, a.into(), b.into(), round),
            _ if arithmetic.is_zero_product(a, b) => c.into(),
            _ => fused(F32, a.into(), b.into(), c.into(), round),
        };
        arithmetic.finish(result)
    };
    let result: [Lanes; 2] = [0, 1].map(|half| std::array::from_fn(|lane| each(half, lane)));
    context.write_tuple(0, &result)
}

/// `FHADD` and `FHFMA`: the last operand is an f32, those before it are f16.
fn mixed(context: &mut Context, arithmetic: Arithmetic) -> Result<(), Fault> {
    let round = arithmetic.round;
    let format = if context.has(Mod::BF16) { BF16 } else { F16 };
    let widened = |index: usize| -> Result<Lanes, Fault> {
        let operand = &context.instruction.operands[index];
        let shift = if operand.has(Mod::H1) { 16 } else { 0 };
        let sign = if operand.negate { F32.sign() } else { 0 };
        Ok(context.raw(index)?.map(|word| {
            let half = u64::from(word >> shift & 0xffff);
            let bits = F32.pack(format.unpack(half), Round::Nearest, false);
            let bits = if operand.absolute { bits & !F32.sign() } else { bits };
            (bits ^ sign) as u32
        }))
    };
    let last = context.count() - 1;
    let (a, c) = (widened(1)?, context.single(last, false)?);
    let result: Lanes = if last == 2 {
        std::array::from_fn(|lane| arithmetic.finish(add(F32, a[lane].into(), c[lane].into(), round)))
    } else {
        let b = widened(2)?;
        std::array::from_fn(|lane| {
            arithmetic.finish(fused(F32, a[lane].into(), b[lane].into(), c[lane].into(), round))
        })
    };
    context.write(0, &result)
}

/// `FMUL`, with a power of two as a third factor.
fn product(context: &mut Context, arithmetic: Arithmetic) -> Result<(), Fault> {
    let Arithmetic { round, flush, .. } = arithmetic;
    let [a, b] = [context.single(1, flush)?, context.single(2, flush)?];
    let scales =
        [(Mod::D8, 0.125), (Mod::D4, 0.25), (Mod::D2, 0.5), (Mod::M2, 2.0), (Mod::M4, 4.0), (Mod::M8, 8.0)];
    let scale = scales.into_iter().find(|scale| context.has(scale.0)).map_or(1.0, |scale| scale.1);
    let result = std::array::from_fn(|lane| {
        let (a, b) = (a[lane], b[lane]);
        if arithmetic.is_zero_product(a, b) {
            return 0;
        }
        if scale == 1.0 {
            arithmetic.finish(multiply(F32, a.into(), b.into(), round))
        } else {
            arithmetic.finish(F32.of_f64(F32.to_f64(a.into()) * F32.to_f64(b.into()) * scale, round))
        }
    });
    context.write(0, &result)
}

/// `FMNMX`: the smaller or the larger one.
fn extreme(context: &mut Context, flush: bool) -> Result<(), Fault> {
    let first = if context.has(Mod::IS_A) { 2 } else { 1 };
    let [a, b] = [context.single(first, flush)?, context.single(first + 1, flush)?];
    let signs = [context.raw(first)?, context.raw(first + 1)?];
    let minimum = context.predicate(first + 2)?;
    let rules = Extreme::of(context);
    let result: Lanes = std::array::from_fn(|lane| {
        let mixed = u64::from((signs[0][lane] ^ signs[1][lane]) & 0x8000_0000);
        rules.choose(F32, a[lane].into(), b[lane].into(), minimum >> lane & 1 == 1, mixed) as u32
    });
    if first == 2 {
        context.write_predicate(1, mask_of(|lane| result[lane] == a[lane]))?;
    }
    context.write(0, &result)
}

/// `FMNMX3`: the smallest or the largest of three.
fn extreme_of_three(context: &mut Context, flush: bool) -> Result<(), Fault> {
    let [a, b, c] = [context.single(1, flush)?, context.single(2, flush)?, context.single(3, flush)?];
    let minimum = context.predicate(4)?;
    let rules = Extreme::of(context);
    let result = std::array::from_fn(|lane| {
        let least = minimum >> lane & 1 == 1;
        let both = rules.choose(F32, a[lane].into(), b[lane].into(), least, 0);
        rules.choose(F32, both, c[lane].into(), least, 0) as u32
    });
    context.write(0, &result)
}

/// The lanes in which the test is true for the operand `first` and the next one.
fn compare(context: &Context, first: usize, flush: bool) -> Result<u32, Fault> {
    let [a, b] = [context.single(first, flush)?, context.single(first + 1, flush)?];
    let test = Comparison::of(context)?;
    let wide = |bits: u32| f64::from(f32::from_bits(bits));
    Ok(mask_of(|lane| test.holds(wide(a[lane]), wide(b[lane]))))
}

/// `FSWZADD`: an add whose signs depend on the lane's index in its quad.
fn swizzled_sum(context: &mut Context, arithmetic: Arithmetic) -> Result<(), Fault> {
    let Arithmetic { round, flush, .. } = arithmetic;
    let [a, b] = [context.single(1, flush)?, context.single(2, flush)?];
    let OperandKind::Symbol(pattern) = context.kind(3)? else { return Err(context.refuse()) };
    // One letter for each operand of each lane of a quad, first operand first.
    let pattern = Symbol::name(pattern).as_bytes();
    let signed = |value: u32, letter: u8| match letter {
        b'N' => value ^ 0x8000_0000,
        b'Z' => 0,
        _ => value,
    };
    let result = std::array::from_fn(|lane| {
        let quad = lane & 3;
        let x = signed(a[lane], pattern[2 * quad]);
        let y = signed(b[lane], pattern[2 * quad + 1]);
        arithmetic.finish(add(F32, x.into(), y.into(), round))
    });
    context.write(0, &result)
}

/// True if the fast division by reciprocal and two corrections may be wrong: an operand or a remainder leaves the range
/// of normal values. The hardware's answer at the border is unknown; both paths give the same quotient there.
fn needs_slow_division(a: u32, b: u32) -> bool {
    let exponent = |x: u32| (x >> 23 & 0xff) as i32;
    let (a, b) = (exponent(a), exponent(b));
    a == 0xff || b == 0xff || b == 0 || a <= 24 || b >= 252 || a - b >= 126 || a - b <= -124
}

/// Variants of min and max.
#[derive(Clone, Copy)]
pub(super) struct Extreme {
    /// A NaN operand makes the result NaN.
    pub propagate: bool,
    /// The result has the exclusive or of the operands' signs.
    pub mix_signs: bool,
}

impl Extreme {
    pub(super) fn of(context: &Context) -> Extreme {
        Extreme { propagate: context.has(Mod::NAN), mix_signs: context.has(Mod::XORSIGN) }
    }

    /// The min or max of two values; negative zero is smaller than positive zero. `mixed` is the exclusive or of the
    /// operands' signs before negation and absolute value were applied.
    pub(super) fn choose(self, format: Format, a: u64, b: u64, minimum: bool, mixed: u64) -> u64 {
        let (a_nan, b_nan) = (format.is_nan(a), format.is_nan(b));
        let sign = format.sign();
        let chosen = if a_nan && b_nan || self.propagate && (a_nan || b_nan) {
            return format.not_a_number();
        } else if a_nan {
            b
        } else if b_nan {
            a
        } else {
            let key = |bits: u64| {
                let magnitude = (bits & (sign - 1)) as i64;
                if bits & sign != 0 { -magnitude - 1 } else { magnitude }
            };
            if (key(a) < key(b)) == minimum { a } else { b }
        };
        if self.mix_signs { chosen & !sign | mixed } else { chosen }
    }
}

/// A comparison with or without unordered operands.
#[derive(Clone, Copy)]
pub(super) struct Comparison {
    less: bool,
    equal: bool,
    greater: bool,
    unordered: bool,
}

impl Comparison {
    pub(super) fn of(context: &Context) -> Result<Comparison, Fault> {
        // Rows: modifier; less, equal, greater, unordered.
        const ROWS: [(Mod, [bool; 4]); 16] = [
            (Mod::F, [false, false, false, false]),
            (Mod::LT, [true, false, false, false]),
            (Mod::EQ, [false, true, false, false]),
            (Mod::LE, [true, true, false, false]),
            (Mod::GT, [false, false, true, false]),
            (Mod::NE, [true, false, true, false]),
            (Mod::GE, [false, true, true, false]),
            (Mod::NUM, [true, true, true, false]),
            (Mod::NAN, [false, false, false, true]),
            (Mod::LTU, [true, false, false, true]),
            (Mod::EQU, [false, true, false, true]),
            (Mod::LEU, [true, true, false, true]),
            (Mod::GTU, [false, false, true, true]),
            (Mod::NEU, [true, false, true, true]),
            (Mod::GEU, [false, true, true, true]),
            (Mod::T, [true, true, true, true]),
        ];
        let row = ROWS.iter().find(|row| context.has(row.0)).ok_or_else(|| context.refuse())?;
        let [less, equal, greater, unordered] = row.1;
        Ok(Comparison { less, equal, greater, unordered })
    }

    pub(super) fn holds(self, a: f64, b: f64) -> bool {
        match a.partial_cmp(&b) {
            None => self.unordered,
            Some(std::cmp::Ordering::Less) => self.less,
            Some(std::cmp::Ordering::Equal) => self.equal,
            Some(std::cmp::Ordering::Greater) => self.greater,
        }
    }
}
