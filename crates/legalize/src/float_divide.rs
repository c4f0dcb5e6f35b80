//! Fast paths of division and reciprocal, correctly rounded in every mode.
//!
//! **The fast path** is the same for f32 and f64: a reciprocal y of b, a quotient q = a*y, its exact residual, and
//! Markstein's last step `q + r*y`; directed modes take the exact residual of the nearest quotient once more. That
//! quotient is right if y is 1/b rounded to nearest. A step `y + y*(1 - b*y)` from a y within one ulp of 1/b gives it
//! except for one significand of b, all ones: there 1/b is so close to the midpoint of two floats that the step hits
//! an exact tie. All of this holds for any result of the approximation unit within its error: for f32 one ulp; for
//! the high words of f64 2^-18, which is two ulps of the high word plus the error of both dropped low words.
//!
//! The f32 quotient takes one step less. With p bits and b in [1, 2), a/b is at least 1/B ulps away from twice the
//! midpoint of two floats, where B is b as an integer; so `q + r*y` rounds correctly if |1 - b*y| < 1/B. A y within
//! half an ulp plus 2^-22 ulp is that accurate, unless b is one of the last few values below 2. These take the slow
//! path.
//!
//! It is fast because it ignores exponents. Where an operand, the result or a residual is too close to the limits of
//! the format, a check sends the lane to the slow path, a [routine](crate::routine).
//!
//! **The slow path of f32** is the same sequence on significands in [1, 2), with integers for the exponents, and no f64
//! instruction, which many chips execute slowly. y takes two steps, so it is 1/b to nearest. The exception is the significand of
//! all ones: the steps may end in a tie, and the last bit is set after them. So the quotient q is right for each divisor. A
//! normal result is q with another exponent. For a subnormal one the truncated quotient `q + r*y`, rounded to zero, with a sticky
//! bit that says whether its residual r is not zero, is shifted to its place and rounded once, by integers. Directed modes take
//! the truncated quotient, and one unit more where the mode leads away from zero and r is not zero. Zero, infinity and NaN leave
//! at once. That of f64 is the same in f64 arithmetic, with the mode as an argument.

use crate::emit::{Emit, Pair};
use oriole_ori::{File, Source, SourceKind, Value};
use oriole_sass::{Mod, Op};

/// High word of 1.0 as f64.
pub(crate) const ONE: u32 = 0x3ff0_0000;
/// 1.0 as f32.
pub(crate) const ONE_F32: u32 = 0x3f80_0000;

/// Rounding of a result.
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

    /// The encoding of the mode that routines take as an argument.
    pub fn number(self) -> u32 {
        self as u32
    }
}

/// A fast path: the values that the branch to the slow path needs.
pub(crate) struct ShortWay {
    /// The words of the result if `holds`.
    pub result: Vec<Value>,
    /// True where the fast path is valid.
    pub holds: Value,
}

impl Emit<'_, '_> {
    /// An f32 word with subnormals flushed to zero, if `ftz`.
    pub fn flushed(&mut self, a: Value, ftz: bool) -> Value {
        if !ftz {
            return a;
        }
        self.word(Op::FADD, &[Mod::FTZ], [a.into(), Source::rz().negated()])
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

    /// 1/b in f32 for b of moderate exponent, within slightly more than half an ulp.
    fn reciprocal_f32(&mut self, b: Value) -> Value {
        let y = self.word(Op::MUFU, &[Mod::RCP], [b.into()]);
        self.refine_f32(b, y)
    }

    /// One step y + y*(1 - b*y).
    fn refine_f32(&mut self, b: Value, y: Value) -> Value {
        let e = self.ffma(&[], Source::from(b).negated(), y, Source::imm(ONE_F32));
        self.ffma(&[], y, e, y)
    }

    /// The fast path of an f32 division.
    pub fn divide_f32_short(&mut self, a: Value, b: Value, rounding: Rounding) -> ShortWay {
        let y = self.reciprocal_f32(b);
        let checked = self.are_checked(a, b, rounding);
        let q = self.word(Op::FMUL, &[], [a.into(), y.into()]);
        let r = self.ffma(&[], Source::from(b).negated(), q, a);
        let mut q = self.ffma(&[], r, y, q);
        if rounding != Rounding::Nearest {
            let r = self.ffma(&[], Source::from(b).negated(), q, a);
            q = self.ffma(rounding.mods(), r, y, q);
        }
        // The last sixteen significands.
        let last = self.logic(b, 0xff80_000fu32, Source::rz(), 0xfc);
        let holds = self.compare_and(Mod::NE, true, last, u32::MAX, checked);
        ShortWay { result: vec![q], holds }
    }

    /// True if the exponents of a quotient are moderate. The hardware has an instruction that checks the operands of
    /// exactly this sequence, but it is right for the nearest quotient only: directed modes need a residual more.
    fn are_checked(&mut self, a: Value, b: Value, rounding: Rounding) -> Source {
        if rounding == Rounding::Nearest {
            let slow = self.b.p();
            self.b.op(Op::FCHK).to(slow).from(a).from(b).emit();
            return Source::from(slow).inverted();
        }
        // Exponents from 2^-62 to 2^62, without the sign.
        let moderate = |e: &mut Self, word: Value| {
            e.word(Op::IADD3, &[], [word.into(), Source::imm((65u32 << 24).wrapping_neg()), word.into()])
        };
        let (of_a, of_b) = (moderate(self, a), moderate(self, b));
        let holds = self.compare(Mod::LT, true, of_a, 125u32 << 24);
        self.compare_and(Mod::LT, true, of_b, 125u32 << 24, holds).into()
    }

    /// The fast path of an f32 reciprocal.
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

    /// The fast path of an f64 division.
    pub fn divide_f64_short(&mut self, a: Pair, b: Pair, rounding: Rounding) -> ShortWay {
        let y = self.reciprocal_f64(b);
        let first = self.dmul(a, y);
        let r = self.dfma(&[], Source::from(b).negated(), first, a);
        let mut q = self.dfma(&[], r, y, first);
        if rounding != Rounding::Nearest {
            // The residual is exact, so its sign gives the side of a/b that the nearest quotient is on.
            let r = self.dfma(&[], Source::from(b).negated(), q, a);
            q = self.dfma(rounding.mods(), r, y, q);
        }
        let holds = self.are_checked_f64(a, b, first);
        ShortWay { result: q.to_vec(), holds }
    }

    /// True if quotient, reciprocal and residuals of an f64 division are normal or exact, and the significand of the
    /// divisor is not all ones. The high words are compared
    /// as f32, whose comparisons are false for NaN: from 2^1017 on, a high word is infinity or NaN as f32. The dividend
    /// is at least 2^-969, which makes the lowest bit of a residual 2^-1074. A subnormal or zero divisor makes the first
    /// quotient NaN, and that quotient is within a few ulps of the result, so the result is normal if its high word is
    /// larger than that of the least normal number.
    fn are_checked_f64(&mut self, a: Pair, b: Pair, first: Pair) -> Value {
        let significand = self.not_all_ones(b, Source::plain(SourceKind::True(File::P)));
        let mut check = |compare: Mod, of: Pair, bound: u32, with: Source| {
            let p = self.b.p();
            let high = Source { absolute: true, ..Source::from(of[1]) };
            let draft = self.b.op(Op::FSETP).m(compare).m(Mod::AND).to(p).drop_result(File::P);
            draft.from(high).from(Source::imm(bound)).from(with).emit();
            p
        };
        let of_a = check(Mod::GE, a, 0x0360_0000, significand.into());
        let of_b = check(Mod::LT, b, 0x7f80_0000, of_a.into());
        check(Mod::GT, first, 0x0010_0000, of_b.into())
    }

    /// The fast path of an f64 reciprocal.
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

    /// 1/b rounded to nearest f64, for b of moderate exponent.
    fn reciprocal_f64(&mut self, b: Pair) -> Pair {
        let y = self.approximate_high(Mod::RCP64H, b[1]);
        let e = self.dfma(&[], Source::from(b).negated(), y, ONE);
        // y + y*(e + e*e) is accurate to 2^-54, half an ulp; rounded, it is within one ulp.
        let e = self.dfma(&[], e, e, e);
        let y = self.dfma(&[], y, e, y);
        let e = self.dfma(&[], Source::from(b).negated(), y, ONE);
        self.dfma(&[], y, e, y)
    }

    /// True if the significand of an f64 is not all ones, and a predicate holds.
    fn not_all_ones(&mut self, b: Pair, with: impl Into<Source>) -> Value {
        let ones = self.logic(b[1], 0xfff0_0000u32, b[0], 0xa8);
        self.compare_and(Mod::NE, true, ones, u32::MAX, with)
    }
}
