//! Fast paths of square roots, correctly rounded in every mode.
//!
//! For f32, from y near 1/sqrt(x): g = x*y and h = y/2 are refined together, `r = 1/2 - g*h`, `g += g*r`, `h += h*r`,
//! each step squaring the error; then `d = x - g*g` is exact and `g + d*h` is the nearest float (Markstein). Directed
//! modes take the exact residual of that once more. All 2^24 significands were tested with all errors of the unit up
//! to three ulps.
//!
//! For f64 y is refined first: with e = 1 - x*y*y, `y + y*e*(1/2 + 3/8*e)` is accurate to 5/16*e^3.
//!
//! The check passes positive values large enough that all residuals are exact. The [routine](crate::routine) takes the
//! same steps for others, times a power of four; zero, infinity and NaN leave it at once.

use crate::emit::{Emit, Pair};
use crate::float_divide::{ONE, Rounding, ShortWay};
use oriole_ori::{Source, Value};
use oriole_sass::{Mod, Op};

/// High word of 0.5 as f64.
const HALF: u32 = 0x3fe0_0000;
/// High word of 0.375 as f64.
const THREE_EIGHTHS: u32 = 0x3fd8_0000;
/// 0.5 as f32.
const HALF_F32: u32 = 0x3f00_0000;

impl Emit<'_, '_> {
    /// f32 square root.
    pub fn root_f32_short(&mut self, x: Value, rounding: Rounding) -> ShortWay {
        let ffma = |e: &mut Self, mods: &[Mod], a: Source, b: Value, c: Source| {
            e.word(Op::FFMA, mods, [a, b.into(), c])
        };
        let y = self.word(Op::MUFU, &[Mod::RSQ], [x.into()]);
        let g = self.word(Op::FMUL, &[], [x.into(), y.into()]);
        let h = self.word(Op::FMUL, &[], [y.into(), Source::imm(HALF_F32)]);
        let r = ffma(self, &[], Source::from(g).negated(), h, Source::imm(HALF_F32));
        let g = ffma(self, &[], g.into(), r, g.into());
        let h = ffma(self, &[], h.into(), r, h.into());
        let d = ffma(self, &[], Source::from(g).negated(), g, x.into());
        let mut g = ffma(self, &[], d.into(), h, g.into());
        if rounding != Rounding::Nearest {
            let d = ffma(self, &[], Source::from(g).negated(), g, x.into());
            g = ffma(self, rounding.mods(), d.into(), h, g.into());
        }
        // From 2^-101 on, finite.
        let above = self.add(x, 26u32.wrapping_neg() << 23);
        let holds = self.compare(Mod::LT, true, above, (255u32 - 26) << 23);
        ShortWay { result: vec![g], holds }
    }

    /// f64 square root.
    pub fn root_f64_short(&mut self, x: Pair, rounding: Rounding) -> ShortWay {
        let y = self.approximate_high(Mod::RSQ64H, x[1]);
        // From 2^-18, as for reciprocals, to 2^-52.
        let square = self.dmul(y, y);
        let e = self.dfma(&[], Source::from(x).negated(), square, ONE);
        // The last bit does not matter here. With it no word is the zero below y, which would be copied for two pairs.
        let factor = [self.register(Source::imm(1)), self.register(Source::imm(THREE_EIGHTHS))];
        let series = self.dfma(&[], e, factor, HALF);
        let change = self.dmul(y, e);
        let y = self.dfma(&[], series, change, y);
        let g = self.dmul(x, y);
        let h = [y[0], self.add(y[1], 0xfff0_0000u32)];
        let d = self.dfma(&[], Source::from(g).negated(), g, x);
        let g = self.dfma(&[], d, h, g);
        let d = self.dfma(&[], Source::from(g).negated(), g, x);
        // For round to nearest this second step corrects a g that was off by one ulp; it changes nothing else.
        let g = self.dfma(rounding.mods(), d, h, g);
        // From 2^-970 on, finite: the lowest bit of the square of a root is 2^-1074 there.
        let above = self.add(x[1], 53u32.wrapping_neg() << 20);
        let holds = self.compare(Mod::LT, true, above, (2047u32 - 53) << 20);
        ShortWay { result: g.to_vec(), holds }
    }
}
