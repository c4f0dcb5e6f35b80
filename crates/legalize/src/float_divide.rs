//! Division and reciprocal, correctly rounded in every mode.
//!
//! **f32** goes through f64. With q a quotient of doubles good to 2^-46, `r = a - b*q` is exact (a and b have 24 bits),
//! and `q + r*y` is the double nearest to a/b but for an error far below its half unit; it is exact when a/b is a
//! double. Because 53 >= 2*24 + 2, a quotient of two 24-bit numbers that is no value of a narrower format (normal or
//! subnormal, or a midpoint of it) is farther from all of them than that error, so the last conversion, in the mode
//! asked for, rounds a/b itself.
//!
//! **f64** has a short way for exponents far from the ends: a reciprocal refined until it is correctly rounded, q, the
//! exact residual, and Markstein's last step; directed modes take the exact residual of the nearest quotient once more.
//! Otherwise both operands are brought into [1, 2), the quotient is truncated with its exact remainder, which gives
//! round bit and sticky bit, and the result is put together and rounded in integers: that handles subnormal operands,
//! subnormal results and overflow in one way.
//!
//! The approximation unit is trusted to 2^-16: 1 - b*y0 = e, y1 = y0*(1 + e + e*e) leaves e^3 = 2^-48.

use crate::emit::{Emit, Pair};
use oriole_ori::{Pseudo, Source, Value};
use oriole_sass::{Mod, Op};

/// High word of 1.0 as a double.
pub(crate) const ONE: u32 = 0x3ff0_0000;

/// How a result is rounded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

impl Rounding {
    pub fn of(mods: &oriole_sass::Mods) -> Rounding {
        if mods.has(Mod::RZ) {
            Rounding::Zero
        } else if mods.has(Mod::RM) {
            Rounding::Down
        } else if mods.has(Mod::RP) {
            Rounding::Up
        } else {
            Rounding::Nearest
        }
    }

    /// The modifier of a machine instruction; none for nearest.
    pub fn mods(self) -> &'static [Mod] {
        match self {
            Rounding::Nearest => &[],
            Rounding::Zero => &[Mod::RZ],
            Rounding::Down => &[Mod::RM],
            Rounding::Up => &[Mod::RP],
        }
    }
}

/// Both results of the long way meet the short one here: the parts that the control flow in between needs.
pub(crate) struct ShortWay {
    /// The result if `holds`.
    pub result: Pair,
    /// Whether the short way was allowed.
    pub holds: Value,
}

impl Emit<'_, '_> {
    /// A word of f32 with subnormals made zero, if asked.
    pub fn flushed(&mut self, a: impl Into<Source>, ftz: bool) -> Source {
        let a = a.into();
        if !ftz {
            return a;
        }
        self.word(Op::FADD, &[Mod::FTZ], [a, Source::rz().negated()]).into()
    }

    /// f32 as a double.
    pub fn widened(&mut self, a: Source) -> Pair {
        self.pair(Op::F2F, &[Mod::F64, Mod::F32_2], [a])
    }

    /// A double rounded to f32.
    pub fn narrowed(&mut self, a: Pair, rounding: Rounding) -> Value {
        let mut mods = vec![Mod::F32, Mod::F64_2];
        mods.extend(rounding.mods());
        self.word(Op::F2F, &mods, [a.into()])
    }

    /// True if a double is zero, infinite or no number (or subnormal, which is none of the above but does not occur
    /// where this is asked).
    pub fn is_special(&mut self, high: Value) -> Value {
        let magnitude = self.and(high, 0x7fff_ffffu32);
        let shifted = self.add(magnitude, 0xfff0_0000u32);
        self.compare(Mod::GE, true, shifted, 0x7fe0_0000u32)
    }

    /// 1/b to 2^-46 from the approximation of its high word.
    fn reciprocal_double(&mut self, b: Pair, approximate: Pair) -> Pair {
        let e = self.dfma(&[], Source::from(b).negated(), approximate, ONE);
        let e = self.dfma(&[], e, e, e);
        self.dfma(&[], approximate, e, approximate)
    }

    /// One step y + y*(1 - b*y).
    fn refine_reciprocal(&mut self, b: Pair, y: Pair) -> Pair {
        let e = self.dfma(&[], Source::from(b).negated(), y, ONE);
        self.dfma(&[], y, e, y)
    }

    /// f32 quotient; `a` is `None` for 1.0.
    pub fn divide_f32(&mut self, a: Option<Source>, b: Source, rounding: Rounding, ftz: bool) -> Value {
        let b = self.flushed(b, ftz);
        let b = self.widened(b);
        let a = match a {
            Some(a) => {
                let a = self.flushed(a, ftz);
                self.widened(a)
            }
            None => self.constant64(u64::from(ONE) << 32),
        };
        let approximate = self.approximate_high(Mod::RCP64H, b[1]);
        // Zero, infinity and NaN come out of this product right; the rest is refined.
        let rough = self.dmul(a, approximate);
        let y = self.reciprocal_double(b, approximate);
        let q = self.dmul(a, y);
        let r = self.dfma(&[], Source::from(b).negated(), q, a);
        let exact = self.dfma(&[], r, y, q);
        let special = self.is_special(rough[1]);
        let chosen = self.select64(special, rough, exact);
        let result = self.narrowed(chosen, rounding);
        match self.flushed(result, ftz).as_plain_value() {
            Some(value) => value,
            None => result,
        }
    }

    /// The short way of an f64 division; `a` is `None` for 1.0.
    pub fn divide_f64_short(&mut self, a: Option<Pair>, b: Pair, rounding: Rounding) -> ShortWay {
        let y = self.reciprocal_full(b);
        let last = match a {
            None => {
                // y is 1/b to nearest; the residual of it decides the directed modes.
                match rounding {
                    Rounding::Nearest => y,
                    _ => {
                        let r = self.dfma(&[], Source::from(b).negated(), y, ONE);
                        self.dfma(rounding.mods(), r, y, y)
                    }
                }
            }
            Some(a) => self.quotient(a, b, y, rounding),
        };
        // Exponents 64..1984 of each operand, and a difference that keeps the quotient and its residuals normal.
        let exponent = |e: &mut Self, high: Value| {
            let shifted = e.shift_right(high, 20);
            e.and(shifted, 0x7ffu32)
        };
        let of_b = exponent(self, b[1]);
        let above = self.add(of_b, (-64i32) as u32);
        let mut holds = self.compare(Mod::LT, true, above, 1920u32);
        // A significand of all ones is the one for which 1/b lies so close to a midpoint that the steps come to an
        // exact tie.
        let ones = self.logic(b[1], 0xfff0_0000u32, b[0], 0xa8);
        holds = self.compare_and(Mod::NE, true, ones, u32::MAX, holds);
        if let Some(a) = a {
            let of_a = exponent(self, a[1]);
            let above = self.add(of_a, (-64i32) as u32);
            holds = self.compare_and(Mod::LT, true, above, 1920u32, holds);
            let difference =
                self.word(Op::IADD3, &[], [of_a.into(), Source::from(of_b).negated(), Source::rz()]);
            let shifted = self.add(difference, 900u32);
            holds = self.compare_and(Mod::LT, true, shifted, 1800u32, holds);
        }
        ShortWay { result: last, holds }
    }

    /// 1/b for a double of moderate exponent, to nearest.
    fn reciprocal_full(&mut self, b: Pair) -> Pair {
        let approximate = self.approximate_high(Mod::RCP64H, b[1]);
        let y = self.reciprocal_double(b, approximate);
        let y = self.refine_reciprocal(b, y);
        self.refine_reciprocal(b, y)
    }

    /// a/b for doubles of moderate exponent and y = 1/b to nearest.
    fn quotient(&mut self, a: Pair, b: Pair, y: Pair, rounding: Rounding) -> Pair {
        let q = self.dmul(a, y);
        let r = self.dfma(&[], Source::from(b).negated(), q, a);
        let nearest = self.dfma(&[], r, y, q);
        if rounding == Rounding::Nearest {
            return nearest;
        }
        // The residual is exact, so its sign says on which side of a/b the nearest quotient lies; zero if it is a/b.
        let r = self.dfma(&[], Source::from(b).negated(), nearest, a);
        self.dfma(rounding.mods(), r, y, nearest)
    }

    /// The long way of an f64 division, right for all operands.
    pub fn divide_f64_long(&mut self, a: Option<Pair>, b: Pair, rounding: Rounding) -> Pair {
        let a = a.unwrap_or_else(|| self.constant64(u64::from(ONE) << 32));
        let a = self.unpack(a);
        let b = self.unpack(b);
        // Zero, infinity and NaN: the unit's reciprocal of the (scaled) divisor gives them right. It reads the high word
        // only, so a NaN whose set bits are all in the low word must be quieted before.
        let divisor = self.dmul(b.scaled, ONE);
        let approximate = self.approximate_high(Mod::RCP64H, divisor[1]);
        let special_result = self.dmul(a.scaled, approximate);
        let special = self.logic_predicate(a.special, b.special, Source::pt(), 0xfc);

        // The quotient of two numbers in [1, 2), truncated, and its exact remainder.
        let y = self.reciprocal_full(b.scaled);
        let q = self.quotient(a.scaled, b.scaled, y, Rounding::Zero);
        let r = self.dfma(&[], Source::from(b.scaled).negated(), q, a.scaled);
        // One unit of q times b, as a double: compared with twice the remainder it gives round and sticky bit.
        let q_exponent = self.shift_right(q[1], 20);
        let q_exponent = self.and(q_exponent, 0x7ffu32);
        let unit_high = self.add(q_exponent, (-52i32) as u32);
        let unit_high =
            self.word(Op::SHF, &[Mod::L, Mod::U32], [unit_high.into(), Source::imm(20), Source::rz()]);
        let unit_low = self.register(Source::rz());
        let span = self.dmul([unit_low, unit_high], b.scaled);
        let twice = self.pair(Op::DADD, &[], [r.into(), r.into()]);
        let magnitude = |pair: Pair| Source::from(pair).magnitude();
        let round = self.compare_double(Mod::GE, magnitude(twice), magnitude(span));
        let exact_half = self.compare_double(Mod::EQ, magnitude(twice), magnitude(span));
        let inexact = self.compare_double(Mod::NE, magnitude(twice), Source::rz());
        // Sticky: something is left, and it is not just the half.
        let sticky = self.logic_predicate(inexact, exact_half, Source::pt(), 0x30);
        let bits = self.round_and_sticky(q, round, sticky);
        let difference = self.word(
            Op::IADD3,
            &[],
            [a.exponent.into(), Source::from(b.exponent).negated(), Source::from(q_exponent)],
        );
        let sign = self.logic(a.scaled[1], b.scaled[1], Source::rz(), 0x3c);
        let sign = self.and(sign, 0x8000_0000u32);
        let packed = self.pack(bits, difference, sign, rounding);
        self.select64(special, special_result, packed)
    }

    /// The 53-bit significand of a double, then round bit and sticky bit: 55 bits.
    fn round_and_sticky(&mut self, q: Pair, round: Value, sticky: Value) -> Pair {
        let fraction = self.and(q[1], 0x000f_ffffu32);
        let high = self.logic(fraction, 0x0010_0000u32, Source::rz(), 0xfc);
        let shifted = self.wide(Pseudo::Shl64, &[], [[q[0], high].into(), Source::imm(2)]);
        let two = self.constant(2);
        let round = self.select(round, two, Source::rz());
        let one = self.constant(1);
        let sticky = self.select(sticky, one, Source::rz());
        let low = self.logic(shifted[0], round, sticky, 0xfe);
        [low, shifted[1]]
    }

    /// A double of 55 significant bits, biased exponent (any integer) and sign, rounded and packed.
    fn pack(&mut self, bits: Pair, exponent: Value, sign: Value, rounding: Rounding) -> Pair {
        // Subnormal results lose more bits: the exponent is raised to 1 and the significand shifted by as much.
        let one = self.constant(1);
        let floor = self.word(Op::VIMNMX, &[], [exponent.into(), one.into(), Source::not_pt()]);
        let lost = self.word(Op::IADD3, &[], [floor.into(), Source::from(exponent).negated(), Source::rz()]);
        let sixty = self.constant(58);
        let lost = self.word(Op::VIMNMX, &[], [lost.into(), sixty.into(), Source::pt()]);
        let shift = self.add(lost, 2u32);
        let kept = self.wide(Pseudo::Shr64, &[Mod::U64], [bits.into(), shift.into()]);
        // What is lost, against the half: with the shift's complement it stands at the top of a double word.
        let sixty_four = self.constant(64);
        let up = self.word(Op::IADD3, &[], [sixty_four.into(), Source::from(shift).negated(), Source::rz()]);
        let rest = self.wide(Pseudo::Shl64, &[], [bits.into(), up.into()]);
        let increment = match rounding {
            Rounding::Zero => None,
            Rounding::Nearest => {
                // Above the half, or the half and an odd significand: low word zero tells the half from more.
                let half = self.compare(Mod::LT, false, rest[1], Source::rz());
                let below = self.and(rest[1], 0x7fff_ffffu32);
                let more = self.logic(below, rest[0], Source::rz(), 0xfc);
                let odd = self.and(kept[0], 1u32);
                let either = self.logic(more, odd, Source::rz(), 0xfc);
                Some(self.compare_and(Mod::NE, true, either, Source::rz(), half))
            }
            Rounding::Down | Rounding::Up => {
                let any = self.logic(rest[0], rest[1], Source::rz(), 0xfc);
                let away = if rounding == Rounding::Down { Mod::LT } else { Mod::GE };
                let away = self.compare(away, false, sign, Source::rz());
                Some(self.compare_and(Mod::NE, true, any, Source::rz(), away))
            }
        };
        let kept = match increment {
            None => kept,
            Some(p) => {
                let by = self.select(p, one, Source::rz());
                let zero = self.register(Source::rz());
                self.wide(Pseudo::Add64, &[], [kept.into(), [by, zero].into()])
            }
        };
        // The hidden bit adds one to the exponent field, unless the result is subnormal; a carry does what it should.
        let field = self.add(floor, u32::MAX);
        let field = self.word(Op::VIMNMX, &[], [field.into(), Source::imm(0x7fe), Source::pt()]);
        let field = self.word(Op::SHF, &[Mod::L, Mod::U32], [field.into(), Source::imm(20), Source::rz()]);
        let high = self.add(kept[1], field);
        let too_large = self.compare(Mod::GE, false, floor, 0x7ffu32);
        let infinite = self.compare(Mod::GE, true, high, 0x7ff0_0000u32);
        let overflow = self.logic_predicate(too_large, infinite, Source::pt(), 0xfc);
        let largest = |e: &mut Self| (e.constant(u32::MAX), e.constant(0x7fef_ffff));
        let infinity = |e: &mut Self| (e.constant(0), e.constant(0x7ff0_0000));
        let (top_low, top_high) = match rounding {
            Rounding::Nearest => infinity(self),
            Rounding::Zero => largest(self),
            Rounding::Down | Rounding::Up => {
                let away = if rounding == Rounding::Down { Mod::LT } else { Mod::GE };
                let away = self.compare(away, false, sign, Source::rz());
                let (infinity, largest) = (infinity(self), largest(self));
                (self.select(away, infinity.0, largest.0), self.select(away, infinity.1, largest.1))
            }
        };
        let low = self.select(overflow, top_low, kept[0]);
        let high = self.select(overflow, top_high, high);
        [low, self.logic(high, sign, Source::rz(), 0xfc)]
    }

    /// Brings a finite double other than zero into [1, 2) and says its biased exponent; others stay.
    fn unpack(&mut self, a: Pair) -> Unpacked {
        let magnitude = self.and(a[1], 0x7fff_ffffu32);
        let subnormal = self.compare(Mod::LT, true, magnitude, 0x0010_0000u32);
        // 2^54 makes every subnormal normal.
        let raised = self.dmul(a, Source::imm(0x4350_0000));
        let normal = self.select64(subnormal, raised, a);
        let magnitude = self.and(normal[1], 0x7fff_ffffu32);
        let field = self.shift_right(magnitude, 20);
        let correction = self.constant((-54i32) as u32);
        let correction = self.select(subnormal, correction, Source::rz());
        let exponent = self.add(field, correction);
        let special = self.is_special(normal[1]);
        let fraction = self.and(normal[1], 0x800f_ffffu32);
        let scaled = self.logic(fraction, ONE, Source::rz(), 0xfc);
        let scaled = self.select(special, normal[1], scaled);
        Unpacked { scaled: [normal[0], scaled], exponent, special }
    }
}

/// A double taken apart.
struct Unpacked {
    /// In [1, 2) with its sign; zero, infinity or NaN as it was.
    scaled: Pair,
    /// Biased exponent; any integer.
    exponent: Value,
    /// Zero, infinite or NaN.
    special: Value,
}
