//! The short ways of division and reciprocal, correctly rounded in every mode.
//!
//! **The short way** is the same for both widths: a reciprocal y of b, a quotient q = a*y, its exact residual, and
//! Markstein's last step `q + r*y`; directed modes take the exact residual of the nearest quotient once more. That
//! quotient is right if y is the number nearest to 1/b. A step `y + y*(1 - b*y)` from a y within a unit of 1/b gives it
//! but for one significand of b, all ones: there 1/b lies so close to the middle of two numbers that the step comes to an
//! exact tie. Everything holds whatever the approximation unit gives within its error: of singles a unit of the last
//! place, of the high words of doubles 2^-18: two units of the last place there, and what both words lose with the lower ones.
//!
//! The quotient of singles takes one step less. With p bits and b in [1, 2), a/b is 1/B units or more away from twice the
//! middle of two numbers, where B is b as an integer; so `q + r*y` rounds rightly if |1 - b*y| < 1/B. A y of half a unit
//! and 2^-22 of it is that good unless b is one of the last few below 2, which are left to the long way.
//!
//! It is short because it minds no exponent: where an operand, the result or a residual is too close to the ends of the
//! format, a check sends the thread the long way, which is a [routine](crate::routine).
//!
//! **The long way of f32** goes through f64. With q a quotient of doubles good to 2^-46, `r = a - b*q` is exact (a and b
//! have 24 bits), and `q + r*y` is the double nearest to a/b but for an error far below its half unit; it is exact when
//! a/b is a double. Because 53 >= 2*24 + 2, a quotient of two 24-bit numbers that is no value of a narrower format
//! (normal or subnormal, or a midpoint of it) is farther from all of them than that error, so the last conversion, in
//! the mode asked for, rounds a/b itself.

use crate::emit::{Emit, Pair};
use oriole_ori::{Source, Value};
use oriole_sass::{Mod, Op};

/// High word of 1.0 as a double.
pub(crate) const ONE: u32 = 0x3ff0_0000;
/// 1.0 as a single.
pub(crate) const ONE_F32: u32 = 0x3f80_0000;

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

    /// The word by which a routine is told.
    pub fn number(self) -> u32 {
        self as u32
    }
}

/// A short way: what the control flow between it and the long one needs.
pub(crate) struct ShortWay {
    /// The words of the result if `holds`.
    pub result: Vec<Value>,
    /// Whether the short way was allowed.
    pub holds: Value,
}

impl Emit<'_, '_> {
    /// A word of f32 with subnormals made zero, if asked.
    pub fn flushed(&mut self, a: Value, ftz: bool) -> Value {
        if !ftz {
            return a;
        }
        self.word(Op::FADD, &[Mod::FTZ], [a.into(), Source::rz().negated()])
    }

    /// A double rounded to f32.
    pub fn narrowed(&mut self, a: Pair, rounding: Rounding) -> Value {
        let mut mods = vec![Mod::F32, Mod::F64_2];
        mods.extend(rounding.mods());
        self.word(Op::F2F, &mods, [a.into()])
    }

    fn ffma(
        &mut self,
        rounding: &[Mod],
        a: impl Into<Source>,
        b: impl Into<Source>,
        c: impl Into<Source>,
    ) -> Value {
        self.word(Op::FFMA, rounding, [a.into(), b.into(), c.into()])
    }

    /// 1/b for singles of moderate exponent, within half a unit and a little.
    fn reciprocal_f32(&mut self, b: Value) -> Value {
        let y = self.word(Op::MUFU, &[Mod::RCP], [b.into()]);
        self.refine_f32(b, y)
    }

    /// One step y + y*(1 - b*y).
    fn refine_f32(&mut self, b: Value, y: Value) -> Value {
        let e = self.ffma(&[], Source::from(b).negated(), y, Source::imm(ONE_F32));
        self.ffma(&[], y, e, y)
    }

    /// The short way of an f32 division, to nearest. The machine has an instruction that checks the operands of just
    /// this one.
    pub fn divide_f32_short(&mut self, a: Value, b: Value) -> ShortWay {
        let y = self.reciprocal_f32(b);
        let slow = self.b.p();
        self.b.op(Op::FCHK).to(slow).from(a).from(b).emit();
        let q = self.word(Op::FMUL, &[], [a.into(), y.into()]);
        let r = self.ffma(&[], Source::from(b).negated(), q, a);
        let nearest = self.ffma(&[], r, y, q);
        // The last sixteen significands.
        let last = self.logic(b, 0xff80_000fu32, Source::rz(), 0xfc);
        let holds = self.compare_and(Mod::NE, true, last, u32::MAX, Source::from(slow).inverted());
        ShortWay { result: vec![nearest], holds }
    }

    /// The short way of an f32 reciprocal.
    pub fn reciprocal_f32_short(&mut self, b: Value, rounding: Rounding) -> ShortWay {
        let y = self.reciprocal_f32(b);
        let nearest = self.refine_f32(b, y);
        let mut result = nearest;
        if rounding != Rounding::Nearest {
            let r = self.ffma(&[], Source::from(b).negated(), nearest, Source::imm(ONE_F32));
            result = self.ffma(rounding.mods(), r, nearest, nearest);
        }
        // Exponents 1 to 252, without the sign: the reciprocal is normal, too.
        let moved = self.word(Op::IADD3, &[], [b.into(), Source::imm(0xff00_0000), b.into()]);
        let holds = self.compare(Mod::LT, true, moved, 252u32 << 24);
        let ones = self.logic(b, 0xff80_0000u32, Source::rz(), 0xfc);
        let holds = self.compare_and(Mod::NE, true, ones, u32::MAX, holds);
        ShortWay { result: vec![result], holds }
    }

    /// The short way of an f64 division.
    pub fn divide_f64_short(&mut self, a: Pair, b: Pair, rounding: Rounding) -> ShortWay {
        let y = self.reciprocal_f64(b);
        let q = self.dmul(a, y);
        let r = self.dfma(&[], Source::from(b).negated(), q, a);
        let mut q = self.dfma(&[], r, y, q);
        if rounding != Rounding::Nearest {
            // The residual is exact, so its sign says on which side of a/b the nearest quotient lies.
            let r = self.dfma(&[], Source::from(b).negated(), q, a);
            q = self.dfma(rounding.mods(), r, y, q);
        }
        // Exponents from 2^-510 to 2^511, without the sign: quotient and reciprocal are normal, and residuals are exact.
        let moderate = |e: &mut Self, high: Value| {
            e.word(Op::IADD3, &[], [high.into(), Source::imm((513u32 << 21).wrapping_neg()), high.into()])
        };
        let (of_a, of_b) = (moderate(self, a[1]), moderate(self, b[1]));
        let holds = self.compare(Mod::LT, true, of_a, 1022u32 << 21);
        let holds = self.compare_and(Mod::LT, true, of_b, 1022u32 << 21, holds);
        let holds = self.not_all_ones(b, holds);
        ShortWay { result: q.to_vec(), holds }
    }

    /// The short way of an f64 reciprocal.
    pub fn reciprocal_f64_short(&mut self, b: Pair, rounding: Rounding) -> ShortWay {
        let nearest = self.reciprocal_f64(b);
        let mut result = nearest;
        if rounding != Rounding::Nearest {
            let r = self.dfma(&[], Source::from(b).negated(), nearest, ONE);
            result = self.dfma(rounding.mods(), r, nearest, nearest);
        }
        // Exponents 1 to 2040, without the sign: the reciprocal is normal, too.
        let moved = self.word(Op::IADD3, &[], [b[1].into(), Source::imm(0xffe0_0000), b[1].into()]);
        let holds = self.compare(Mod::LT, true, moved, 2040u32 << 21);
        let holds = self.not_all_ones(b, holds);
        ShortWay { result: result.to_vec(), holds }
    }

    /// The double nearest to 1/b, for b of moderate exponent.
    fn reciprocal_f64(&mut self, b: Pair) -> Pair {
        let y = self.approximate_high(Mod::RCP64H, b[1]);
        let e = self.dfma(&[], Source::from(b).negated(), y, ONE);
        // y + y*(e + e*e) is good to 2^-54, half a unit: rounded it is within one.
        let e = self.dfma(&[], e, e, e);
        let y = self.dfma(&[], y, e, y);
        let e = self.dfma(&[], Source::from(b).negated(), y, ONE);
        self.dfma(&[], y, e, y)
    }

    /// Whether the significand of a double is not all ones, and a predicate holds.
    fn not_all_ones(&mut self, b: Pair, with: Value) -> Value {
        let ones = self.logic(b[1], 0xfff0_0000u32, b[0], 0xa8);
        self.compare_and(Mod::NE, true, ones, u32::MAX, with)
    }
}
