//! f64 arithmetic.

use crate::context::{Lower, Lowered};
use crate::operand::{imm, minus_float};
use oriole_hir::Instruction;
use oriole_ori::{File, Pseudo, Source, SourceKind, Value};
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

impl Lower<'_> {
    /// `add`, `sub`, `mul`, `fma`, `mad`, `min`, `max`, `abs`, `neg` of f64.
    pub fn double_arithmetic(&mut self, i: &Instruction) -> Lowered {
        let ty = Type::F64;
        let mods: Vec<Mod> = Self::rounding(i).into_iter().collect();
        match i.opcode {
            Opcode::Abs | Opcode::Neg => {
                let a = self.words(self.operand(i, 1)?, ty)?;
                let high = self.in_register(a[1].clone());
                let changed = self.b.r();
                if i.opcode == Opcode::Abs {
                    self.b.and(changed, high, 0x7fff_ffffu32);
                } else {
                    self.b.xor(changed, high, 0x8000_0000u32);
                }
                return self.write(self.operand(i, 0)?, ty, &[a[0].clone(), changed.into()]);
            }
            Opcode::Min | Opcode::Max => {
                let a = self.double(self.operand(i, 1)?, false)?;
                let b = self.double(self.operand(i, 2)?, false)?;
                let d = self.result_pair(self.operand(i, 0)?, ty)?;
                self.double_min_max(d, a, b, i.opcode == Opcode::Min);
                return Ok(());
            }
            _ => {}
        }
        // One operand may be an immediate: the second or the third.
        let mut a = self.double(self.operand(i, 1)?, true)?;
        let mut b = self.double(self.operand(i, 2)?, true)?;
        if i.opcode == Opcode::Sub {
            b = minus_float(b, 0x8000_0000);
        }
        if matches!(a.kind, SourceKind::Imm(_)) {
            std::mem::swap(&mut a, &mut b);
        }
        let a = self.double_in_register(a);
        let mut sources = vec![a, b];
        let op = match i.opcode {
            Opcode::Add | Opcode::Sub => Op::DADD,
            Opcode::Mul => Op::DMUL,
            Opcode::Fma | Opcode::Mad => {
                let mut c = self.double(self.operand(i, 3)?, true)?;
                if matches!(sources[1].kind, SourceKind::Imm(_)) {
                    c = self.double_in_register(c);
                }
                sources.push(c);
                Op::DFMA
            }
            _ => return Err(self.unsupported_form(i)),
        };
        let d = self.result_pair(self.operand(i, 0)?, ty)?;
        let contract = Self::contractable(i);
        self.b.op(op).mods(&mods).to_tuple(d).from_all(sources).contract_if(contract).emit();
        Ok(())
    }

    /// An f64 value in registers: an immediate of its high word is moved there.
    pub fn double_in_register(&mut self, source: Source) -> Source {
        match source.kind {
            SourceKind::Imm(high) => {
                let pair = self.tuple([Source::rz(), imm(high)]);
                Source { kind: pair.kind, ..source }
            }
            _ => source,
        }
    }

    /// Min or max: the hardware gives a predicate that selects the first operand, and one for both being NaN.
    pub fn double_min_max(&mut self, d: [Value; 2], a: Source, b: Source, min: bool) {
        let [first, nan] = [self.b.p(), self.b.p()];
        self.b
            .op(Op::DSETP)
            .mods(&[if min { Mod::MIN } else { Mod::MAX }, Mod::AND])
            .to(first)
            .to(nan)
            .from(a.clone())
            .from(b.clone())
            .from(Source::pt())
            .emit();
        let chosen = self.b.pair();
        self.pseudo(Pseudo::Select64, &[], chosen, [a, b.clone(), first.into()]);
        let quiet = self.b.r();
        let high = match &b.kind {
            SourceKind::Values(values) if values.len() == 2 => Source::value(values[1]),
            _ => Source::rz(),
        };
        self.b.or(quiet, high, 0x0008_0000u32);
        self.b.mov(d[0], chosen[0]);
        self.b.sel(d[1], quiet, chosen[1], nan);
    }

    /// `d <- a` clamped to 0 .. 1, NaN giving 0.
    pub fn double_saturate(&mut self, d: [Value; 2], a: Source) {
        let above = self.b.pair();
        self.double_min_max(above, Source::rz(), a, false);
        let one = self.tuple([Source::rz(), imm(0x3ff0_0000)]);
        self.double_min_max(d, above.into(), one, true);
    }

    /// `div`, `rcp`, `sqrt`, `rsqrt` of f64.
    pub fn double_function(&mut self, i: &Instruction) -> Lowered {
        let ty = Type::F64;
        let approx = i.modifiers.has(Word::Approx);
        let count = if i.opcode == Opcode::Div { 2 } else { 1 };
        let mut sources = Vec::new();
        for index in 1..=count {
            sources.push(self.double(self.operand(i, index)?, false)?);
        }
        let d = self.result_pair(self.operand(i, 0)?, ty)?;
        if approx && (i.modifiers.has(Word::Ftz) || i.opcode == Opcode::Rsqrt) {
            let function = match i.opcode {
                Opcode::Rcp => Mod::RCP64H,
                Opcode::Rsqrt => Mod::RSQ64H,
                _ => return Err(self.unsupported_form(i)),
            };
            return if i.modifiers.has(Word::Ftz) {
                self.approximate_high(d, function, sources.remove(0))
            } else {
                self.double_root_reciprocal(d, sources.remove(0))
            };
        }
        let pseudo = match i.opcode {
            Opcode::Rcp => Pseudo::FReciprocal,
            Opcode::Sqrt => Pseudo::FSquareRoot,
            Opcode::Div => Pseudo::FDivide,
            _ => return Err(self.unsupported_form(i)),
        };
        let mods = [Mod::F64, Self::rounding(i).unwrap_or(Mod::RN)];
        let sources: Vec<Source> = sources.into_iter().map(|s| self.double_zero(s)).collect();
        self.pseudo(pseudo, &mods, d, sources);
        Ok(())
    }

    /// An f64 value that may be `RZ`, as two values.
    fn double_zero(&mut self, source: Source) -> Source {
        match source.kind {
            SourceKind::Zero(_) => {
                let pair = self.b.pair();
                self.b.mov(pair[0], Source::rz());
                self.b.mov(pair[1], Source::rz());
                pair.into()
            }
            _ => source,
        }
    }

    /// The high word by the multi-function unit, the low word zero.
    fn approximate_high(&mut self, d: [Value; 2], function: Mod, a: Source) -> Lowered {
        let high = self.high_word(&a);
        let result = self.b.r();
        self.op(Op::MUFU, &[function], result, [high.clone()]);
        // The unit takes a NaN whose set bits are all in the low word for an infinity.
        let nan = self.compare_double(Mod::NAN, a.clone(), a);
        let quiet = self.b.r();
        self.b.or(quiet, high, 0x0008_0000u32);
        self.b.mov(d[0], Source::rz());
        self.b.sel(d[1], quiet, result, nan);
        Ok(())
    }

    fn high_word(&self, source: &Source) -> Source {
        match &source.kind {
            SourceKind::Values(values) if values.len() == 2 => Source::value(values[1]),
            _ => Source::rz(),
        }
    }

    /// `rsqrt.approx.f64`: the estimate of the multi-function unit (`MUFU`), refined once to third order.
    ///
    /// With `e = 1 - a * y * y` the root's reciprocal is `y * (1 - e)^(-1/2)`, near `y + y * e * (1/2 + 3/8 e)`.
    /// Subnormal inputs are first scaled by an even power of two. Zeros, infinities, negative values and NaN keep the
    /// estimate, which is exact there.
    fn double_root_reciprocal(&mut self, d: [Value; 2], a: Source) -> Lowered {
        let a = self.double_zero(a);
        let high = self.high_word(&a);
        let [magnitude, biased] = [self.b.r(), self.b.r()];
        self.b.and(magnitude, high.clone(), 0x7fff_ffffu32);
        let small = self.b.p();
        self.b.isetp(small, Mod::LT, true, magnitude, 0x0010_0000u32);
        // Scale up by 2^54, and the root down by 2^27.
        let scaled_up = self.b.pair();
        self.b.op(Op::DMUL).to_tuple(scaled_up).from(a.clone()).from(0x4350_0000u32).emit();
        let x = self.b.pair();
        self.pseudo(Pseudo::Select64, &[], x, [scaled_up.into(), a, small.into()]);
        let y = self.b.pair();
        self.approximate_high(y, Mod::RSQ64H, x.into())?;
        let [square, error, poly, change, refined] =
            [self.b.pair(), self.b.pair(), self.b.pair(), self.b.pair(), self.b.pair()];
        self.b.op(Op::DMUL).to_tuple(square).from(y).from(y).emit();
        let one = self.double_in_register(Source::imm(0x3ff0_0000));
        self.b.op(Op::DFMA).to_tuple(error).from(x).from(Source::from(square).negated()).from(one).emit();
        let three_eighths = self.double_in_register(Source::imm(0x3fd8_0000));
        self.b.op(Op::DFMA).to_tuple(poly).from(error).from(three_eighths).from(0x3fe0_0000u32).emit();
        self.b.op(Op::DMUL).to_tuple(change).from(y).from(error).emit();
        self.b.op(Op::DFMA).to_tuple(refined).from(poly).from(change).from(y).emit();
        // Positive, finite and nonzero: exponent bits of the scaled value from 1 to 0x7fe, sign clear.
        let usual = self.b.p();
        self.b.iadd3(biased, x[1], 0xfff0_0000u32, Source::rz());
        self.b.isetp(usual, Mod::LT, true, biased, 0x7fe0_0000u32);
        let chosen = self.b.pair();
        self.pseudo(Pseudo::Select64, &[], chosen, [refined.into(), y.into(), usual.into()]);
        let scaled_down = self.b.pair();
        self.b.op(Op::DMUL).to_tuple(scaled_down).from(chosen).from(0x41a0_0000u32).emit();
        self.pseudo(Pseudo::Select64, &[], d, [scaled_down.into(), chosen.into(), small.into()]);
        Ok(())
    }

    /// `p <- a (compare) b` of f64.
    pub fn compare_double(&mut self, compare: Mod, a: Source, b: Source) -> Value {
        let p = self.b.p();
        self.b
            .op(Op::DSETP)
            .mods(&[compare, Mod::AND])
            .to(p)
            .drop_result(File::P)
            .from(a)
            .from(b)
            .from(Source::pt())
            .emit();
        p
    }
}
