//! `cvt` with a floating type on one side at least, and `cvt.pack`. Integers to integers are in `convert_integer`.

use crate::context::{Lower, Lowered};
use crate::operand::imm;
use oriole_hir::Instruction;
use oriole_ori::{Pseudo, Source, Value};
use oriole_ptx::word::IntegralRounding;
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op};

/// Two scale bytes of 1.0, one for each element of a pair.
const NO_SCALES: u32 = 0x7f7f;

/// The bits of an f32 that tf32 keeps.
const TF32_MASK: u32 = 0xffff_e000;

impl Lower<'_> {
    /// `cvt`.
    pub fn convert(&mut self, i: &Instruction) -> Lowered {
        if i.modifiers.has(Word::Pack) {
            return self.convert_pack(i);
        }
        if i.modifiers.has(Word::Rs) {
            return self.convert_at_random(i);
        }
        let (to, from) = (self.ty(i, 0)?, self.ty(i, 1)?);
        match (to.is_float(), from.is_float()) {
            (false, false) => self.convert_integer(i, to, from),
            (true, false) => self.integer_to_float(i, to, from),
            (false, true) => self.float_to_integer(i, to, from),
            (true, true) => self.float_to_float(i, to, from),
        }
    }

    /// The rounding to an integral value, if there is one; round to nearest even is the hardware default without a
    /// modifier.
    fn integral(i: &Instruction) -> Option<Option<Mod>> {
        i.modifiers.at().map(|rounding| match rounding {
            IntegralRounding::Rni => None,
            IntegralRounding::Rmi => Some(Mod::FLOOR),
            IntegralRounding::Rpi => Some(Mod::CEIL),
            IntegralRounding::Rzi => Some(Mod::TRUNC),
        })
    }

    fn integer_to_float(&mut self, i: &Instruction, to: Type, from: Type) -> Lowered {
        let kind: &[Mod] = match to {
            Type::F32 => &[],
            Type::F64 => &[Mod::F64],
            Type::F16 => &[Mod::F16],
            Type::BF16 => &[Mod::BF16],
            _ => return Err(self.unsupported_form(i)),
        };
        let mut mods = kind.to_vec();
        let rounding = Self::rounding(i);
        let a = if from.bits() == 64 {
            mods.push(if from.is_signed() { Mod::S64 } else { Mod::U64 });
            self.pair(self.operand(i, 1)?, from)?
        } else {
            let a = self.extended(self.operand(i, 1)?, from)?;
            if !from.is_signed() {
                mods.push(Mod::U32);
            }
            a
        };
        let a = self.in_register(a);
        // Narrow integers are exact in f32, so no rounding is needed.
        let fast = to == Type::F32 && from.bits() <= 32 && (rounding.is_none() || from.bits() < 32);
        let destination = self.result(self.operand(i, 0)?, to)?;
        let saturate = i.modifiers.has(Word::Sat);
        let d: Vec<Value> =
            if saturate { destination.iter().map(|_| self.b.r()).collect() } else { destination.to_vec() };
        if fast {
            self.integer_to_single(d[0], from.is_signed(), a);
        } else {
            mods.extend(rounding);
            self.b.op(Op::I2F).mods(&mods).to_tuple(d.clone()).from(a).emit();
        }
        if saturate {
            self.saturate(to, &destination, &d, false);
        }
        Ok(())
    }

    /// `destination <- d` clamped to 0 .. 1.
    fn saturate(&mut self, ty: Type, destination: &[Value], d: &[Value], ftz: bool) {
        match ty {
            Type::F32 => {
                let mods: &[Mod] = if ftz { &[Mod::SAT, Mod::FTZ] } else { &[Mod::SAT] };
                self.op(Op::FADD, mods, destination[0], [Source::rz(), d[0].into()]);
            }
            Type::F64 => self.double_saturate([destination[0], destination[1]], Source::values(d.to_vec())),
            _ => {
                let mut mods = vec![Mod::SAT];
                if ty == Type::BF16 {
                    mods.push(Mod::BF16_V2);
                }
                let a = Source::value(d[0]).suffixed(Mod::H0_H0);
                self.op(Op::HADD2, &mods, destination[0], [a, Source::rz().negated().suffixed(Mod::H0_H0)]);
            }
        }
    }

    fn float_to_integer(&mut self, i: &Instruction, to: Type, from: Type) -> Lowered {
        let integral = Self::integral(i).ok_or_else(|| self.unsupported_form(i))?;
        let ftz = i.modifiers.has(Word::Ftz);
        let mut mods: Vec<Mod> = integral.into_iter().collect();
        mods.extend(match to {
            Type::U8 => Some(Mod::U8),
            Type::S8 => Some(Mod::S8),
            Type::U16 => Some(Mod::U16),
            Type::S16 => Some(Mod::S16),
            Type::U32 => Some(Mod::U32),
            Type::S32 => None,
            Type::U64 => Some(Mod::U64),
            Type::S64 => Some(Mod::S64),
            _ => return Err(self.unsupported_form(i)),
        });
        let wide = to.bits() == 64;
        let mut a = if from == Type::F64 {
            mods.push(Mod::F64);
            self.double(self.operand(i, 1)?, false)?
        } else {
            let a = self.word(self.operand(i, 1)?, from)?;
            match from {
                Type::F32 => {}
                Type::F16 => mods.push(Mod::F16),
                Type::BF16 => mods.push(Mod::BF16),
                _ => return Err(self.unsupported_form(i)),
            }
            if !wide {
                mods.push(Mod::NTZ);
            }
            self.in_register(a)
        };
        if ftz && from == Type::F32 {
            if wide {
                let flushed = self.b.r();
                self.op(Op::FMUL, &[Mod::FTZ], flushed, [a, Source::imm(1f32.to_bits())]);
                a = flushed.into();
            } else {
                mods.push(Mod::FTZ);
            }
        }
        let d = self.result(self.operand(i, 0)?, to)?;
        self.b.op(Op::F2I).mods(&mods).to_tuple(d).from(a).emit();
        Ok(())
    }

    fn float_to_float(&mut self, i: &Instruction, to: Type, from: Type) -> Lowered {
        match to {
            Type::F16x2 | Type::BF16x2 if from == Type::F32 => return self.pack_halves(i, to),
            Type::F16x2 | Type::BF16x2 => return self.unpack_bytes(i, to, from),
            _ if narrow_kind(to).is_some() => return self.pack_bytes(i, to, from),
            Type::TF32 => return self.convert_tf32(i),
            Type::F16 | Type::BF16 | Type::F32 | Type::F64 => {}
            _ => return Err(self.unsupported_form(i)),
        }
        let ftz = i.modifiers.has(Word::Ftz);
        let saturate = i.modifiers.has(Word::Sat);
        let words = self.words(self.operand(i, 1)?, from)?;
        let a: Vec<Value> = words.into_iter().map(|word| self.value_of(word)).collect();
        let destination = self.result(self.operand(i, 0)?, to)?;
        let d: Vec<Value> =
            if saturate { destination.iter().map(|_| self.b.r()).collect() } else { destination.to_vec() };
        self.float_value(i, to, from, &d, &a)?;
        if saturate {
            self.saturate(to, &destination, &d, ftz && from == Type::F32);
        }
        Ok(())
    }

    /// A conversion between scalar floating-point types, without saturation.
    fn float_value(&mut self, i: &Instruction, to: Type, from: Type, d: &[Value], a: &[Value]) -> Lowered {
        let ftz = i.modifiers.has(Word::Ftz);
        let rounding = Self::rounding(i);
        let first = |ty: Type| match ty {
            Type::F16 => Mod::F16,
            Type::BF16 => Mod::BF16,
            Type::F32 => Mod::F32,
            _ => Mod::F64,
        };
        let second = |ty: Type| match ty {
            Type::F16 => Mod::F16_2,
            Type::BF16 => Mod::BF16_2,
            Type::F32 => Mod::F32_2,
            _ => Mod::F64_2,
        };
        if to == from {
            let Some(integral) = Self::integral(i) else {
                if ftz && to == Type::F32 && !i.modifiers.has(Word::Sat) {
                    self.op(Op::FADD, &[Mod::FTZ], d[0], [a[0].into(), Source::rz().negated()]);
                } else {
                    for (&d, &a) in d.iter().zip(a) {
                        self.b.mov(d, a);
                    }
                }
                return Ok(());
            };
            let mut mods: Vec<Mod> = integral.into_iter().collect();
            mods.extend((ftz && to == Type::F32).then_some(Mod::FTZ));
            mods.extend((to != Type::F32).then(|| first(to)));
            self.b.op(Op::FRND).mods(&mods).to_tuple(d.to_vec()).from(Source::values(a.to_vec())).emit();
            return Ok(());
        }
        match (to, from) {
            (Type::F16 | Type::BF16, Type::F32)
                if self.has(Op::F2FP)
                    && matches!(rounding, None | Some(Mod::RZ))
                    && !(ftz && to == Type::BF16) =>
            {
                let mut mods = self.packing(first(to));
                mods.extend(rounding);
                for (word, token) in [(Word::Relu, Mod::RELU), (Word::Satfinite, Mod::SATFINITE)] {
                    mods.extend(i.modifiers.has(word).then_some(token));
                }
                self.op(Op::F2FP, &mods, d[0], [Source::rz(), a[0].into()]);
            }
            // Subnormal bf16 values are normal f32 values.
            (Type::F32, Type::BF16) if ftz => {
                self.op(Op::F2F, &[Mod::FTZ, Mod::F32, Mod::BF16_2], d[0], [a[0].into()]);
            }
            (Type::F32, Type::F16 | Type::BF16) => self.single_of_half(d[0], a[0].into(), from),
            (Type::F64, Type::F32) => {
                let a = if ftz { self.flushed_single(a[0]) } else { a[0] };
                self.b.op(Op::F2F).mods(&[Mod::F64, Mod::F32_2]).to_tuple(d.to_vec()).from(a).emit();
            }
            (Type::F32, Type::F64) => {
                let target = if ftz { self.b.r() } else { d[0] };
                let mut mods = vec![Mod::F32, Mod::F64_2];
                mods.extend(rounding);
                self.b.op(Op::F2F).mods(&mods).to(target).from(Source::values(a.to_vec())).emit();
                if ftz {
                    self.flush_narrowed(d[0], target, [a[0], a[1]], rounding);
                }
            }
            _ => {
                let mut mods = vec![first(to), second(from)];
                mods.extend(rounding);
                // Subnormal f32 values are far below the smallest f16, but are representable in bf16; with a rounding
                // away from zero they become the smallest f16.
                mods.extend((ftz && to == Type::BF16 && from == Type::F32).then_some(Mod::FTZ));
                let away = matches!(rounding, Some(Mod::RM | Mod::RP));
                let flushes = ftz && away && (to, from) == (Type::F16, Type::F32);
                let a = if flushes { vec![self.flushed_single(a[0])] } else { a.to_vec() };
                let finite = to == Type::F16 && i.modifiers.has(Word::Satfinite);
                let target = if finite { vec![self.b.r()] } else { d.to_vec() };
                self.b.op(Op::F2F).mods(&mods).to_tuple(target.clone()).from(Source::values(a)).emit();
                if finite {
                    self.greatest_for_infinity(d[0], target[0]);
                }
            }
        }
        Ok(())
    }

    /// An f32 value with subnormals flushed to zero.
    fn flushed_single(&mut self, a: Value) -> Value {
        let flushed = self.b.r();
        self.op(Op::FMUL, &[Mod::FTZ], flushed, [a.into(), Source::imm(1f32.to_bits())]);
        flushed
    }

    /// `d <- half`, or the largest finite value of its sign where it is an infinity: its bits are one less.
    fn greatest_for_infinity(&mut self, d: Value, half: Value) {
        const INFINITY: u32 = 0x7c00;
        let [magnitude, less] = [self.b.r(), self.b.r()];
        let infinite = self.b.p();
        self.b.and(magnitude, half, imm(0x7fff));
        self.b.isetp(infinite, Mod::EQ, true, magnitude, imm(INFINITY));
        self.b.iadd3(less, half, imm(u32::MAX), Source::rz());
        self.b.sel(d, less, half, infinite);
    }

    /// `d <- narrowed`, or a zero of its sign where the f64 value is below the smallest normal f32.
    ///
    /// The test is on the f64 value rounded to 24 bits with unbounded exponent. To nearest, values within a quarter
    /// ulp of the last subnormal below the smallest normal round up to it. Away from zero, everything above the float
    /// just below it does.
    fn flush_narrowed(&mut self, d: Value, narrowed: Value, a: [Value; 2], rounding: Option<Mod>) {
        const NORMAL: [u32; 2] = [0, 0x3810_0000];
        let away: Option<[u32; 2]> = match rounding {
            None => Some([0xf000_0000, 0x380f_ffff]),
            Some(Mod::RM | Mod::RP) => Some([0xe000_0001, 0x380f_ffff]),
            _ => None,
        };
        let limit: Source = match (rounding, away) {
            (Some(mode @ (Mod::RM | Mod::RP)), Some(away)) => {
                let negative = self.b.p();
                self.b.isetp(negative, Mod::LT, false, a[1], Source::rz());
                let rounds_away: Source = negative.into();
                let rounds_away = if mode == Mod::RM { rounds_away } else { rounds_away.inverted() };
                let away = self.tuple(away.map(imm));
                let normal = self.tuple(NORMAL.map(imm));
                let limit = self.b.pair();
                self.pseudo(Pseudo::Select64, &[], limit, [away, normal, rounds_away]);
                limit.into()
            }
            (_, limit) => self.tuple(limit.unwrap_or(NORMAL).map(imm)),
        };
        // Greater or equal, or NaN: keep it.
        let keep = self.compare_double(Mod::GEU, Source::from(a).magnitude(), limit);
        let zero = self.b.r();
        self.b.and(zero, narrowed, 0x8000_0000u32);
        self.b.sel(d, narrowed, zero, keep);
    }

    fn pack_halves(&mut self, i: &Instruction, to: Type) -> Lowered {
        let a = self.word(self.operand(i, 1)?, Type::F32)?;
        let a = self.in_register(a);
        let b = self.word(self.operand(i, 2)?, Type::F32)?;
        let b = self.in_register(b);
        let d = self.result_word(self.operand(i, 0)?, to)?;
        let mut mods = self.packing(if to == Type::F16x2 { Mod::F16 } else { Mod::BF16 });
        mods.extend(Self::rounding(i));
        for (word, token) in [(Word::Relu, Mod::RELU), (Word::Satfinite, Mod::SATFINITE)] {
            mods.extend(i.modifiers.has(word).then_some(token));
        }
        self.op(Op::F2FP, &mods, d, [a, b]);
        Ok(())
    }

    /// Converts two narrow floats to a bf16x2 pair, each times a power of two given by a byte.
    fn unpack_and_scale(&mut self, i: &Instruction, from: Type) -> Lowered {
        let from_bytes = narrow_kind_second(from).ok_or_else(|| self.unsupported_form(i))?;
        let mut mods = vec![Mod::BF16, from_bytes, Mod::UNPACK_B];
        for (word, token) in [(Word::Relu, Mod::RELU), (Word::Satfinite, Mod::SATFINITE)] {
            mods.extend(i.modifiers.has(word).then_some(token));
        }
        let a = self.word(self.operand(i, 1)?, from)?;
        let a = self.in_register(a);
        let scales = match i.operands.get(2) {
            Some(operand) => {
                let scales = self.word(operand, Type::B16)?;
                self.in_register(scales)
            }
            None => imm(NO_SCALES),
        };
        let d = self.result_word(self.operand(i, 0)?, Type::BF16x2)?;
        self.op(Op::F2FP, &mods, d, [a, scales.suffixed(Mod::H0)]);
        Ok(())
    }

    /// Converts two narrow floats, or scale factors, to a pair of halves.
    fn unpack_bytes(&mut self, i: &Instruction, to: Type, from: Type) -> Lowered {
        if to == Type::BF16x2 && from != Type::UE8M0x2 {
            return self.unpack_and_scale(i, from);
        }
        let mut mods = match from {
            Type::E4M3x2 => vec![Mod::F16, Mod::E4M3_2],
            Type::E5M2x2 => vec![Mod::F16, Mod::E5M2_2],
            Type::E2M1x2 => vec![Mod::F16, Mod::E2M1_2],
            Type::E2M3x2 => vec![Mod::F16, Mod::E2M3_2],
            Type::E3M2x2 => vec![Mod::F16, Mod::E3M2_2],
            Type::UE8M0x2 => vec![Mod::BF16, Mod::E8],
            _ => return Err(self.unsupported_form(i)),
        };
        mods.push(Mod::UNPACK_B);
        mods.extend(i.modifiers.has(Word::Relu).then_some(Mod::RELU));
        if !self.takes(Op::F2FP, &mods, 2) {
            return Err(self.unsupported_form(i));
        }
        let a = self.word(self.operand(i, 1)?, from)?;
        let a = self.in_register(a);
        let d = self.result_word(self.operand(i, 0)?, to)?;
        self.op(Op::F2FP, &mods, d, [a]);
        Ok(())
    }

    fn pack_bytes(&mut self, i: &Instruction, to: Type, from: Type) -> Lowered {
        let mut mods: Vec<Mod> = narrow_kind(to).into_iter().chain(Self::rounding(i)).collect();
        // FP8 and narrower conversions always saturate.
        let saturate = to != Type::UE8M0x2 || i.modifiers.has(Word::Satfinite);
        mods.extend(saturate.then_some(Mod::SATFINITE));
        mods.extend(i.modifiers.has(Word::Relu).then_some(Mod::RELU));
        let a = self.word(self.operand(i, 1)?, from)?;
        let a = self.in_register(a);
        let sources = match from {
            Type::F32 => {
                let b = self.word(self.operand(i, 2)?, from)?;
                let b = self.in_register(b);
                mods.extend([Mod::F32, Mod::PACK_AB_MERGE_C]);
                vec![a, b, Source::rz()]
            }
            Type::F16x2 => {
                mods.extend([Mod::F16_2, Mod::UNPACK_B_MERGE_C]);
                vec![a, Source::rz()]
            }
            Type::BF16x2 => {
                mods.extend([Mod::BF16_2, Mod::UNPACK_B_MERGE_C]);
                vec![a, Source::rz()]
            }
            _ => return Err(self.unsupported_form(i)),
        };
        if !self.takes(Op::F2FP, &mods, sources.len() + 1) {
            return Err(self.unsupported_form(i));
        }
        let d = self.result_word(self.operand(i, 0)?, to)?;
        self.op(Op::F2FP, &mods, d, sources);
        Ok(())
    }

    fn convert_tf32(&mut self, i: &Instruction) -> Lowered {
        let a = self.word(self.operand(i, 1)?, Type::F32)?;
        let a = self.in_register(a);
        let d = self.result_word(self.operand(i, 0)?, Type::TF32)?;
        let finite_only = i.modifiers.has(Word::Satfinite);
        if !i.modifiers.has(Word::Rna) {
            let mut mods = vec![Mod::TF32, Mod::F32, Mod::PACK_B];
            mods.extend(Self::rounding(i));
            for (word, token) in [(Word::Relu, Mod::RELU), (Word::Satfinite, Mod::SATFINITE)] {
                mods.extend(i.modifiers.has(word).then_some(token));
            }
            self.op(Op::F2FP, &mods, d, [a]);
            return Ok(());
        }
        // To nearest, ties away: add half an ulp to the magnitude, unless nothing is rounded. A NaN is quieted first,
        // so that truncation keeps it a NaN.
        let value = self.b.r();
        self.op(Op::FADD, &[], value, [a, Source::rz().negated()]);
        let infinite = self.compare_magnitude(Mod::GEU, value, f32::INFINITY, false);
        let [sum, chosen] = [self.b.r(), self.b.r()];
        self.b.iadd3(sum, value, 0x1000u32, Source::rz());
        self.b.sel(chosen, value, sum, infinite);
        if !finite_only {
            self.b.and(d, chosen, TF32_MASK);
            return Ok(());
        }
        let [cut, less] = [self.b.r(), self.b.r()];
        self.b.and(cut, chosen, TF32_MASK);
        let overflow = self.compare_magnitude(Mod::GE, cut, f32::INFINITY, false);
        self.b.iadd3(less, cut, 0x2000u32.wrapping_neg(), Source::rz());
        self.b.sel(d, less, cut, overflow);
        Ok(())
    }

    /// `cvt.pack.sat`: two integers, clamped, become the low parts of the result.
    fn convert_pack(&mut self, i: &Instruction) -> Lowered {
        let (to, from) = (self.ty(i, 0)?, self.ty(i, 1)?);
        if from != Type::S32 || !i.modifiers.has(Word::Sat) {
            return Err(self.unsupported_form(i));
        }
        let (kind, suffix) = match to {
            Type::S16 => (Mod::S16, None),
            Type::U16 => (Mod::U16, None),
            Type::S8 => (Mod::S8, None),
            Type::U8 => (Mod::U8, None),
            Type::S4 => (Mod::S4, Some(Mod::_24)),
            Type::U4 => (Mod::U4, Some(Mod::_24)),
            Type::S2 => (Mod::S2, Some(Mod::_28)),
            Type::U2 => (Mod::U2, Some(Mod::_28)),
            _ => return Err(self.unsupported_form(i)),
        };
        let a = self.word(self.operand(i, 1)?, from)?;
        let a = self.in_register(a);
        let b = self.word(self.operand(i, 2)?, from)?;
        let b = self.in_register(b);
        let mut c = match i.operands.get(3) {
            Some(c) => {
                let c = self.word(c, Type::B32)?;
                self.in_register(c)
            }
            None => Source::rz(),
        };
        if let Some(suffix) = suffix {
            c = c.suffixed(suffix);
        }
        let d = self.result_word(self.operand(i, 0)?, Type::B32)?;
        self.op(Op::I2IP, &[kind, Mod::S32, Mod::SAT], d, [a, b, c]);
        Ok(())
    }
}

/// [`narrow_kind`] where it names the source.
fn narrow_kind_second(ty: Type) -> Option<Mod> {
    Some(match ty {
        Type::E4M3x2 => Mod::E4M3_2,
        Type::E5M2x2 => Mod::E5M2_2,
        Type::E2M1x2 => Mod::E2M1_2,
        Type::E2M3x2 => Mod::E2M3_2,
        Type::E3M2x2 => Mod::E3M2_2,
        Type::S2F6x2 => Mod::S2_6,
        _ => return None,
    })
}

/// The SASS modifier of a pair of FP8 or narrower floats.
fn narrow_kind(ty: Type) -> Option<Mod> {
    Some(match ty {
        Type::E4M3x2 => Mod::E4M3,
        Type::E5M2x2 => Mod::E5M2,
        Type::E2M1x2 => Mod::E2M1,
        Type::E2M3x2 => Mod::E2M3,
        Type::E3M2x2 => Mod::E3M2,
        Type::UE8M0x2 => Mod::E8,
        _ => return None,
    })
}
