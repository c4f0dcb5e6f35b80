//! f32 arithmetic and approximate functions.

use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::operand::{is_register, magnitude, minus_float};
use oriole_hir::Instruction;
use oriole_ori::{File, Guard, Pseudo, Source, SourceKind, Value};
use oriole_ptx::word::{Precision, Rounding};
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

/// The sign bit.
pub(crate) const SIGN: u32 = 0x8000_0000;

/// Smallest normal f32.
const NORMAL: f32 = f32::MIN_POSITIVE;
/// Above this the reciprocal is subnormal.
const LARGE: f32 = 8.507_059e37;
/// 1 / (2 pi), the scale of the hardware's sine and cosine.
const TURNS: f32 = 0.159_154_94;

/// SASS modifiers of four packed narrow floats of a type as the result, and as the second and third operand.
fn four_of(ty: Type) -> Option<[Mod; 3]> {
    Some(match ty {
        Type::E4M3x4 => [Mod::E4M3x4, Mod::E4M3x4_2, Mod::E4M3x4_3],
        Type::E5M2x4 => [Mod::E5M2x4, Mod::E5M2x4_2, Mod::E5M2x4_3],
        // No results are of these types.
        Type::E2M3x4 => [Mod::E4M3x4, Mod::E2M3x4_2, Mod::E2M3x4_3],
        Type::E3M2x4 => [Mod::E4M3x4, Mod::E3M2x4_2, Mod::E3M2x4_3],
        Type::E2M1x4 => [Mod::E4M3x4, Mod::E2M1x4_2, Mod::E2M1x4_3],
        _ => return None,
    })
}

impl Lower<'_> {
    /// Arithmetic on four packed FP8 or narrower floats, each rounded once.
    pub fn four_narrow(&mut self, i: &Instruction) -> Lowered {
        let to = self.ty(i, 0)?;
        let (op, types) = match i.opcode {
            Opcode::Add | Opcode::Sub => (Op::QADD4, vec![self.ty(i, 1)?, to]),
            Opcode::Mul => (Op::QMUL4, vec![self.ty(i, 1)?, self.ty(i, 2)?]),
            Opcode::Fma => (Op::QFMA4, vec![self.ty(i, 1)?, self.ty(i, 2)?, to]),
            _ => return Err(self.unsupported_form(i)),
        };
        if !self.has(op) {
            return Err(self.unsupported_form(i));
        }
        let named = |ty: Type, place: usize| four_of(ty).map(|names| names[place]);
        let mut mods = vec![named(to, 0)];
        // The type of an addend is that of the result and has no name.
        let factors = if op == Op::QADD4 { 1 } else { 2 };
        mods.extend((0..factors).map(|at| named(types[at], at + 1)));
        let mut mods: Vec<Mod> =
            mods.into_iter().collect::<Option<_>>().ok_or_else(|| self.unsupported_form(i))?;
        mods.extend(i.modifiers.has(Word::Satfinite).then_some(Mod::SATFINITE));
        let mut sources = Vec::new();
        for (at, &ty) in types.iter().enumerate() {
            let word = self.word(self.operand(i, at + 1)?, ty)?;
            // FP4 elements are packed, others are in a byte each.
            let part = if ty == Type::E2M1x4 { Mod::N3210 } else { Mod::B3210 };
            let source = self.in_register(word).suffixed(part);
            let negates = at == 1 && i.opcode == Opcode::Sub;
            sources.push(if negates { source.negated() } else { source });
        }
        let d = self.result_word(self.operand(i, 0)?, to)?;
        self.op(op, &mods, d, sources);
        Ok(())
    }

    /// The SASS rounding modifier, if the instruction does not round to nearest.
    pub fn rounding(i: &Instruction) -> Option<Mod> {
        match i.modifiers.at()? {
            // The last is done in integers; see `convert_tf32`.
            Rounding::Rn | Rounding::Rna => None,
            Rounding::Rz => Some(Mod::RZ),
            Rounding::Rm => Some(Mod::RM),
            Rounding::Rp => Some(Mod::RP),
        }
    }

    fn float_mods(i: &Instruction) -> Vec<Mod> {
        let mut mods: Vec<Mod> = Self::rounding(i).into_iter().collect();
        for (word, token) in [(Word::Ftz, Mod::FTZ), (Word::Sat, Mod::SAT)] {
            if i.modifiers.has(word) {
                mods.push(token);
            }
        }
        mods
    }

    /// `add`, `sub`, `mul`, `fma`, `mad`, `min`, `max`, `abs`, `neg` of f32.
    pub fn float_arithmetic(&mut self, i: &Instruction) -> Lowered {
        if matches!(i.opcode, Opcode::Min | Opcode::Max) && i.operands.len() > 3 {
            return self.extreme_of_three(i);
        }
        let ty = Type::F32;
        let mut mods = Self::float_mods(i);
        let a = self.word(self.operand(i, 1)?, ty)?;
        if matches!(i.opcode, Opcode::Abs | Opcode::Neg) {
            let a = if i.opcode == Opcode::Abs { magnitude(a, SIGN) } else { minus_float(a, SIGN) };
            let a = self.in_register(a);
            let d = self.result_word(self.operand(i, 0)?, ty)?;
            // Adding minus zero only flushes and quiets.
            self.op(Op::FADD, &mods, d, [a, Source::rz().negated()]);
            return Ok(());
        }
        let b = self.word(self.operand(i, 2)?, ty)?;
        let (a, b) = match i.opcode {
            Opcode::Sub => (a, minus_float(b, SIGN)),
            _ => (a, b),
        };
        let (a, b) = if is_register(&a) { (a, b) } else { (b, a) };
        let mut sources = vec![self.in_register(a), b];
        let op = match i.opcode {
            Opcode::Add | Opcode::Sub => Op::FADD,
            Opcode::Mul => Op::FMUL,
            Opcode::Fma | Opcode::Mad => {
                let c = self.word(self.operand(i, 3)?, ty)?;
                let c = if is_register(&sources[1]) { c } else { self.in_register(c) };
                sources.push(c);
                Op::FFMA
            }
            Opcode::Min | Opcode::Max => {
                if i.modifiers.has(Word::NaN) {
                    mods.push(Mod::NAN);
                }
                if i.modifiers.has(Word::XorsignAbs) {
                    mods.push(Mod::XORSIGN);
                    for source in &mut sources {
                        // The sign of an immediate counts too, so it may not be cut off here.
                        *source = magnitude(self.in_register(source.clone()), SIGN);
                    }
                }
                sources.push(if i.opcode == Opcode::Min { Source::pt() } else { Source::not_pt() });
                Op::FMNMX
            }
            _ => return Err(self.unsupported_form(i)),
        };
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        let contract = Self::contractable(i);
        self.b.op(op).mods(&mods).to(d).from_all(sources).contract_if(contract).emit();
        Ok(())
    }

    /// `min` and `max` of three f32 values.
    fn extreme_of_three(&mut self, i: &Instruction) -> Lowered {
        let mut mods = Self::float_mods(i);
        if i.modifiers.has(Word::NaN) {
            mods.push(Mod::NAN);
        }
        let mut sources = Vec::new();
        for index in 1..4 {
            let word = self.word(self.operand(i, index)?, Type::F32)?;
            let word = if i.modifiers.has(Word::Abs) { magnitude(word, SIGN) } else { word };
            sources.push(self.in_register(word));
        }
        let which = || if i.opcode == Opcode::Min { Source::pt() } else { Source::not_pt() };
        let d = self.result_word(self.operand(i, 0)?, Type::F32)?;
        if self.has(Op::FMNMX3) {
            sources.push(which());
            self.op(Op::FMNMX3, &mods, d, sources);
            return Ok(());
        }
        let first = self.b.r();
        let [a, b, c] = [0, 1, 2].map(|n| sources[n].clone());
        self.op(Op::FMNMX, &mods, first, [a, b, which()]);
        self.op(Op::FMNMX, &mods, d, [first.into(), c, which()]);
        Ok(())
    }

    /// `add`, `sub`, `fma` of f32 with f16 or bf16 first operands: where the hardware does not read those directly
    /// they are widened, which is exact.
    pub fn mixed_singles(&mut self, i: &Instruction, half: Type) -> Lowered {
        let (op, of_halves) = match i.opcode {
            Opcode::Add | Opcode::Sub => (Op::FADD, Op::FHADD),
            Opcode::Fma => (Op::FFMA, Op::FHFMA),
            _ => return Err(self.unsupported_form(i)),
        };
        let direct = self.has(of_halves);
        let last = i.operands.len() - 1;
        let mut sources = Vec::new();
        for index in 1..last {
            let word = self.word(self.operand(i, index)?, half)?;
            let word = self.in_register(word);
            if direct {
                sources.push(word);
            } else {
                let single = self.b.r();
                self.single_of_half(single, word, half);
                sources.push(single.into());
            }
        }
        let c = self.word(self.operand(i, last)?, Type::F32)?;
        let c = if i.opcode == Opcode::Sub { minus_float(c, SIGN) } else { c };
        sources.push(self.in_register(c));
        let d = self.result_word(self.operand(i, 0)?, Type::F32)?;
        let draft = self.b.op(if direct { of_halves } else { op }).mods(&Self::float_mods(i));
        draft.m_if(direct && half == Type::BF16, Mod::BF16).to(d).from_all(sources).emit();
        Ok(())
    }

    /// Widens an f16 or bf16 value to f32.
    pub(crate) fn single_of_half(&mut self, d: Value, word: Source, half: Type) {
        if half == Type::BF16 {
            self.b.shl(d, word, 16u32);
        } else {
            self.op(Op::HADD2, &[Mod::F32], d, [Source::rz().negated(), word.suffixed(Mod::H0_H0)]);
        }
    }

    /// `add`, `sub`, `mul`, `fma` of f32x2: as one instruction, or as two.
    pub fn single_pairs(&mut self, i: &Instruction) -> Lowered {
        let (op, of_pairs) = match i.opcode {
            Opcode::Add | Opcode::Sub => (Op::FADD, Op::FADD2),
            Opcode::Mul => (Op::FMUL, Op::FMUL2),
            Opcode::Fma => (Op::FFMA, Op::FFMA2),
            _ => return Err(self.unsupported_form(i)),
        };
        let (ty, mods) = (Type::F32x2, Self::float_mods(i));
        let mut operands = Vec::new();
        for index in 1..i.operands.len() {
            operands.push(self.words(self.operand(i, index)?, ty)?);
        }
        let d = self.result_pair(self.operand(i, 0)?, ty)?;
        if self.has(of_pairs) {
            let mut sources: Vec<Source> =
                operands.into_iter().map(|words| self.pair_of_singles(words)).collect();
            if i.opcode == Opcode::Sub {
                sources[1] = sources[1].clone().negated();
            }
            let contract = Self::contractable(i);
            self.b.op(of_pairs).mods(&mods).to_tuple(d).from_all(sources).contract_if(contract).emit();
            return Ok(());
        }
        for (half, &d) in d.iter().enumerate() {
            let mut sources: Vec<Source> = operands.iter().map(|words| words[half].clone()).collect();
            if i.opcode == Opcode::Sub {
                sources[1] = minus_float(sources[1].clone(), SIGN);
            }
            let sources: Vec<Source> = sources.into_iter().map(|word| self.in_register(word)).collect();
            let contract = Self::contractable(i);
            self.b.op(op).mods(&mods).to(d).from_all(sources).contract_if(contract).emit();
        }
        Ok(())
    }

    /// An f32x2 operand: one register is enough where both elements are equal.
    fn pair_of_singles(&mut self, words: impl IntoIterator<Item = Source>) -> Source {
        let words: Vec<Source> = words.into_iter().collect();
        let same = words.iter().all(|word| *word == words[0]);
        if same && !matches!(words[0].kind, SourceKind::Zero(_)) {
            return self.in_register(words[0].clone()).suffixed(Mod::F32);
        }
        self.tuple(words).suffixed(Mod::F32x2).suffixed(Mod::HI_LO)
    }

    /// True for an add, subtract or multiply without a rounding mode: only then PTX allows contraction of the
    /// multiply with the add of its result.
    pub fn contractable(i: &Instruction) -> bool {
        matches!(i.opcode, Opcode::Add | Opcode::Sub | Opcode::Mul) && i.modifiers.at::<Rounding>().is_none()
    }

    /// `p <- |a| compare limit`.
    pub fn compare_magnitude(&mut self, compare: Mod, a: Value, limit: f32, ftz: bool) -> Value {
        let p = self.b.p();
        self.b
            .op(Op::FSETP)
            .mods(&[compare, Mod::AND])
            .m_if(ftz, Mod::FTZ)
            .to(p)
            .drop_result(File::P)
            .from(Source::value(a).magnitude())
            .from(limit.to_bits())
            .from(Source::pt())
            .emit();
        p
    }

    /// A copy of `a`, multiplied by `factor` where the predicate is `when`.
    fn scaled(&mut self, a: Value, factor: f32, p: Value, when: bool, ftz: bool) -> Value {
        self.adjusted(Op::FMUL, a, Source::imm(factor.to_bits()), p, when, ftz)
    }

    /// A copy of `a`, with the operation applied where the predicate is `when`.
    fn adjusted(&mut self, op: Op, a: Value, by: Source, p: Value, when: bool, ftz: bool) -> Value {
        let d = self.b.r();
        self.b.mov(d, a);
        let guard = Guard { value: p, negated: !when };
        self.b.op(op).m_if(ftz, Mod::FTZ).to(d).from(d).from(by).guarded(guard).emit();
        d
    }

    /// A function of the multi-function unit.
    fn mufu(&mut self, d: Value, function: Mod, a: impl Into<Source>) {
        self.op(Op::MUFU, &[function], d, [a.into()]);
    }

    /// `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`, `ex2`, `tanh` of f32.
    ///
    /// The multi-function unit flushes subnormal inputs; without `.ftz` the input is scaled by a power of two before
    /// and the result after.
    pub fn float_function(&mut self, i: &Instruction) -> Lowered {
        let ftz = i.modifiers.has(Word::Ftz);
        if !i.modifiers.has(Word::Approx) && matches!(i.opcode, Opcode::Rcp | Opcode::Sqrt) {
            return self.float_exact(i);
        }
        let a = self.word(self.operand(i, 1)?, Type::F32)?;
        let a = self.value_of(a);
        let d = self.result_word(self.operand(i, 0)?, Type::F32)?;
        match i.opcode {
            Opcode::Sin | Opcode::Cos => {
                let mut turns = a;
                // The unit takes the angle in turns, and so does the form with that modifier.
                if !i.modifiers.has(Word::_2pi) {
                    turns = self.b.r();
                    let mods: &[Mod] = if ftz { &[Mod::RZ, Mod::FTZ] } else { &[Mod::RZ] };
                    self.op(Op::FMUL, mods, turns, [a.into(), Source::imm(TURNS.to_bits())]);
                }
                self.mufu(d, if i.opcode == Opcode::Sin { Mod::SIN } else { Mod::COS }, turns);
            }
            Opcode::Tanh => self.mufu(d, Mod::TANH, a),
            Opcode::Rcp if ftz => self.mufu(d, Mod::RCP, a),
            Opcode::Sqrt if ftz => self.mufu(d, Mod::SQRT, a),
            Opcode::Rsqrt if ftz => self.mufu(d, Mod::RSQ, a),
            Opcode::Lg2 if ftz => self.mufu(d, Mod::LG2, a),
            Opcode::Ex2 if ftz => self.mufu(d, Mod::EX2, a),
            Opcode::Rcp => {
                let normal = self.compare_magnitude(Mod::GEU, a, NORMAL, false);
                let large = self.compare_magnitude(Mod::GT, a, LARGE, false);
                let [up, factor] = [self.b.r(), self.b.r()];
                let one = self.in_register(Source::imm(1f32.to_bits()));
                self.b.sel(up, one.clone(), 16_777_216f32.to_bits(), normal);
                self.b.sel(factor, up, 0.25f32.to_bits(), Source::value(large).inverted());
                let [scaled, reciprocal] = [self.b.r(), self.b.r()];
                self.op(Op::FMUL, &[], scaled, [a.into(), factor.into()]);
                self.mufu(reciprocal, Mod::RCP, scaled);
                self.op(Op::FMUL, &[], d, [factor.into(), reciprocal.into()]);
            }
            Opcode::Sqrt | Opcode::Rsqrt => {
                let (function, factor) =
                    if i.opcode == Opcode::Sqrt { (Mod::SQRT, 1.0 / 4096.0) } else { (Mod::RSQ, 4096.0) };
                let normal = self.compare_magnitude(Mod::GEU, a, NORMAL, false);
                let scaled = self.scaled(a, 16_777_216.0, normal, false, false);
                let root = self.b.r();
                self.mufu(root, function, scaled);
                let result = self.scaled(root, factor, normal, false, false);
                self.b.mov(d, result);
            }
            Opcode::Lg2 => {
                let normal = self.compare_magnitude(Mod::GEU, a, NORMAL, false);
                let scaled = self.scaled(a, 16_777_216.0, normal, false, false);
                let logarithm = self.b.r();
                self.mufu(logarithm, Mod::LG2, scaled);
                let less = Source::imm((-24f32).to_bits());
                let result = self.adjusted(Op::FADD, logarithm, less, normal, false, false);
                self.b.mov(d, result);
            }
            Opcode::Ex2 => {
                // Below -126 the result is subnormal: use half the exponent, then square.
                let normal = self.b.p();
                self.b
                    .op(Op::FSETP)
                    .mods(&[Mod::GEU, Mod::AND])
                    .to(normal)
                    .drop_result(File::P)
                    .from(a)
                    .from((-126f32).to_bits())
                    .from(Source::pt())
                    .emit();
                let halved = self.scaled(a, 0.5, normal, false, false);
                let power = self.b.r();
                self.mufu(power, Mod::EX2, halved);
                let result = self.adjusted(Op::FMUL, power, power.into(), normal, false, false);
                self.b.mov(d, result);
            }
            _ => return Err(self.unsupported_form(i)),
        }
        Ok(())
    }

    /// Correctly rounded `rcp`, `sqrt` and `div`, kept whole for a later phase.
    fn float_exact(&mut self, i: &Instruction) -> Lowered {
        let pseudo = match i.opcode {
            Opcode::Rcp => Pseudo::FReciprocal,
            Opcode::Sqrt => Pseudo::FSquareRoot,
            _ => Pseudo::FDivide,
        };
        let mut mods = vec![Mod::F32, Self::rounding(i).unwrap_or(Mod::RN)];
        if i.modifiers.has(Word::Ftz) {
            mods.push(Mod::FTZ);
        }
        let count = if i.opcode == Opcode::Div { 2 } else { 1 };
        let mut sources = Vec::new();
        for index in 1..=count {
            let source = self.word(self.operand(i, index)?, Type::F32)?;
            sources.push(self.in_register(source));
        }
        let d = self.result_word(self.operand(i, 0)?, Type::F32)?;
        self.pseudo(pseudo, &mods, [d], sources);
        Ok(())
    }

    /// `div` of f32.
    pub fn float_divide(&mut self, i: &Instruction) -> Lowered {
        let Some(precision) = i.modifiers.at::<Precision>() else { return self.float_exact(i) };
        let ftz = i.modifiers.has(Word::Ftz);
        let a = self.word(self.operand(i, 1)?, Type::F32)?;
        let mut a = self.value_of(a);
        let b = self.word(self.operand(i, 2)?, Type::F32)?;
        let mut b = self.value_of(b);
        let d = self.result_word(self.operand(i, 0)?, Type::F32)?;
        // Both are scaled, so that the divisor has a normal reciprocal.
        if precision == Precision::Full {
            let large = self.compare_magnitude(Mod::GT, b, LARGE, ftz);
            let small = (!ftz).then(|| self.compare_magnitude(Mod::GEU, b, NORMAL, false));
            (a, b) = (self.scaled(a, 0.25, large, true, ftz), self.scaled(b, 0.25, large, true, ftz));
            if let Some(normal) = small {
                (a, b) = (
                    self.scaled(a, 16_777_216.0, normal, false, false),
                    self.scaled(b, 16_777_216.0, normal, false, false),
                );
            }
        } else if !ftz {
            let normal = self.compare_magnitude(Mod::GEU, b, NORMAL, false);
            (a, b) = (
                self.scaled(a, 16_777_216.0, normal, false, false),
                self.scaled(b, 16_777_216.0, normal, false, false),
            );
        }
        let reciprocal = self.b.r();
        self.mufu(reciprocal, Mod::RCP, b);
        let mods: &[Mod] = if ftz { &[Mod::FTZ] } else { &[] };
        self.op(Op::FMUL, mods, d, [a.into(), reciprocal.into()]);
        Ok(())
    }

    /// The type of a floating-point instruction, f32x2 excluded.
    pub fn float_type(&self, i: &Instruction) -> Result<Type, LowerError> {
        let ty = self.ty(i, 0)?;
        if ty == Type::F32x2 { Err(self.unsupported_form(i)) } else { Ok(ty) }
    }
}
