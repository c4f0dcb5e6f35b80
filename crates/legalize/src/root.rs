//! Square roots, correctly rounded in every mode.
//!
//! From y near 1/sqrt(x): g = x*y and h = y/2 are refined together, `r = 1/2 - g*h`, `g += g*r`, `h += h*r`, each step
//! squaring the error; then `d = x - g*g` is exact and `g + d*h` is the nearest double (Markstein). Directed modes take
//! the exact residual of that once more. The root of a 24-bit number that is no f32 and no midpoint is farther from all
//! of them than the error of the double, so f32 roots go through f64 and are rounded by the last conversion.

use crate::emit::{Emit, Pair};
use crate::float_divide::Rounding;
use oriole_ori::{Source, Value};
use oriole_sass::{Mod, Op};

/// High word of one half as a double.
const HALF: u32 = 0x3fe0_0000;

impl Emit<'_, '_> {
    /// The refined root and half its reciprocal, for positive doubles of moderate exponent.
    fn root_and_half_reciprocal(&mut self, x: Pair) -> (Pair, Pair) {
        let y = self.approximate_high(Mod::RSQ64H, x[1]);
        let mut g = self.dmul(x, y);
        let mut h = self.dmul(y, Source::imm(HALF));
        // 2^-16, 2^-31, 2^-52: two steps from the trusted error, and the last one below.
        for _ in 0..2 {
            let r = self.dfma(&[], Source::from(g).negated(), h, HALF);
            g = self.dfma(&[], g, r, g);
            h = self.dfma(&[], h, r, h);
        }
        (g, h)
    }

    fn root_double(&mut self, x: Pair, rounding: Rounding) -> Pair {
        let (g, h) = self.root_and_half_reciprocal(x);
        let d = self.dfma(&[], Source::from(g).negated(), g, x);
        let g = self.dfma(&[], d, h, g);
        let d = self.dfma(&[], Source::from(g).negated(), g, x);
        // For the nearest mode this second step repairs a g that was a unit off; it changes nothing else.
        self.dfma(rounding.mods(), d, h, g)
    }

    /// f32 square root.
    pub fn root_f32(&mut self, a: Source, rounding: Rounding, ftz: bool) -> Value {
        let a = self.flushed(a, ftz);
        let x = self.widened(a.clone());
        let root = self.root_double(x, Rounding::Nearest);
        let root = self.narrowed(root, rounding);
        // Zeros, infinities and NaN come right from the unit; other negative numbers become NaN above.
        let special = self.is_special(x[1]);
        let unit = self.word(Op::MUFU, &[Mod::SQRT], [a]);
        self.select(special, unit, root)
    }

    /// f64 square root.
    pub fn root_f64(&mut self, a: Pair, rounding: Rounding) -> Pair {
        // Numbers below 2^-900 are scaled by an even power of two, so that all residuals are normal.
        let magnitude = self.and(a[1], 0x7fff_ffffu32);
        let small = self.compare(Mod::LT, true, magnitude, 0x07b0_0000u32);
        let raised = self.dmul(a, Source::imm(ONE_RAISED));
        let x = self.select64(small, raised, a);
        let root = self.root_double(x, rounding);
        let lowered = self.dmul(root, Source::imm(ONE_LOWERED));
        let root = self.select64(small, lowered, root);
        // Zero and positive infinity are their own roots, so is a NaN once it is quiet; negative infinity is none.
        let special = self.is_special(x[1]);
        let itself = self.pair(Op::DADD, &[], [a.into(), Source::rz().negated()]);
        let minus_infinity = self.compare(Mod::EQ, true, x[1], 0xfff0_0000u32);
        let keep = self.logic_predicate(special, minus_infinity, Source::pt(), 0x30);
        self.select64(keep, itself, root)
    }
}

/// High word of 2^256.
const ONE_RAISED: u32 = (1023 + 256) << 20;
/// High word of 2^-128.
const ONE_LOWERED: u32 = (1023 - 128) << 20;
