//! Division and remainder of 32- and 64-bit integers.
//!
//! With w the width, x is a lower estimate of 2^w / b from the floating-point reciprocal. One Newton step is
//! `x + floor(x * e / 2^w)` with `e = 2^w - b*x`: as a lower estimate stays one, `e` is the two's complement of `b*x`
//! and never negative. A relative error d becomes d*d plus less than one unit from the floor. So with x accurate to
//! 20 bits, one step (w = 32) or two (w = 64) leave an error below 1 + tiny; then `floor(x * a / 2^w)` is less than
//! the quotient by at most 2, and two conditional corrections by the remainder give it exactly.
//!
//! The first estimate is low because b is converted with rounding up, and because some ulps, more than the error of
//! the reciprocal, are subtracted before the conversion to an integer. Adding to the exponent field multiplies by
//! 2^w. For b = 0 the quotient and the remainder are all ones.
//!
//! 32-bit divisions are expanded in place. So are 64-bit ones where the high words of both operands are zero, as
//! those of most indices are; otherwise, and where an operand is [known](crate::long_operands) to be long, a
//! [routine](crate::routine) does the work.

use crate::emit::{Emit, Pair};
use oriole_ori::{Source, Value};
use oriole_sass::{Mod, Op};

/// 2^32 as a step of the exponent field, less two units of the last place.
const SCALE_32: u32 = (32 << 23) - 2;

impl Emit<'_, '_> {
    /// Quotient or remainder of unsigned words.
    pub fn divide_unsigned_32(&mut self, a: Value, b: Value, rest: bool) -> Value {
        let (quotient, remainder) = self.divide_magnitudes_32(a, b);
        let zero = self.compare(Mod::EQ, true, b, Source::rz());
        let result = if rest { remainder } else { quotient };
        let ones = self.constant(u32::MAX);
        self.select(zero, ones, result)
    }

    fn divide_magnitudes_32(&mut self, a: Value, b: Value) -> (Value, Value) {
        let float = self.word(Op::I2F, &[Mod::U32, Mod::RP], [b.into()]);
        let reciprocal = self.word(Op::MUFU, &[Mod::RCP], [float.into()]);
        let scaled = self.add(reciprocal, SCALE_32);
        let x = self.word(Op::F2I, &[Mod::FTZ, Mod::U32, Mod::TRUNC, Mod::NTZ], [scaled.into()]);
        let minus_b = self.add(Source::rz(), Source::from(b).negated());
        let e = self.mul(minus_b, x, Source::rz());
        let step = self.multiply_high(x, e);
        let x = self.add(x, step);
        let quotient = self.multiply_high(x, a);
        let remainder = self.mul(minus_b, quotient, a);
        let (quotient, remainder) = self.correct_32(quotient, remainder, b);
        self.correct_32(quotient, remainder, b)
    }

    fn correct_32(&mut self, quotient: Value, remainder: Value, b: Value) -> (Value, Value) {
        let low = self.compare(Mod::GE, true, remainder, b);
        let less = self.add(remainder, Source::from(b).negated());
        let more = self.add(quotient, 1u32);
        (self.select(low, more, quotient), self.select(low, less, remainder))
    }

    fn multiply_high(&mut self, a: Value, b: Value) -> Value {
        let d = self.b.r();
        self.b.imad_hi(d, true, a, b, Source::rz());
        d
    }

    /// Quotient or remainder of signed words, towards zero; the remainder has the sign of the dividend.
    pub fn divide_signed_32(&mut self, a: Value, b: Value, rest: bool) -> Value {
        let magnitude = |e: &mut Self, v: Value| e.word(Op::IABS, &[], [v.into()]);
        let (x, y) = (magnitude(self, a), magnitude(self, b));
        let (quotient, remainder) = self.divide_magnitudes_32(x, y);
        let sign = if rest { a } else { self.logic(a, b, Source::rz(), 0x3c) };
        let result = if rest { remainder } else { quotient };
        let negative = self.compare(Mod::LT, false, sign, Source::rz());
        let opposite = self.add(Source::rz(), Source::from(result).negated());
        let result = self.select(negative, opposite, result);
        let zero = self.compare(Mod::EQ, true, b, Source::rz());
        let ones = self.constant(u32::MAX);
        self.select(zero, ones, result)
    }

    /// The check of the fast path of a 64-bit division: both operands fit 32 bits, and the divisor is not zero.
    pub fn fits_words(&mut self, a: Pair, b: Pair) -> Value {
        let high = self.logic(a[1], b[1], Source::rz(), 0xfc);
        let words = self.compare(Mod::EQ, true, high, Source::rz());
        self.compare_and(Mod::NE, true, b[0], Source::rz(), words)
    }

    /// The fast path, a 32-bit division: quotient and remainder.
    pub fn divide_64_short(&mut self, a: Pair, b: Pair) -> [Pair; 2] {
        let (quotient, remainder) = self.divide_magnitudes_32(a[0], b[0]);
        let zero = self.register(Source::rz());
        [[quotient, zero], [remainder, zero]]
    }
}
