//! Comparison and selection: `setp`, `set`, `selp`, `slct`, `testp`, `copysign`.

use crate::LowerError;
use crate::bits::SELECT;
use crate::context::{Lower, Lowered};
use crate::half::{Half, half_of};
use crate::integer64::signedness_64;
use crate::operand::{imm, is_register};
use oriole_hir::{Instruction, Operand};
use oriole_ori::{File, Pseudo, Source, Value};
use oriole_ptx::{Type, Word, word};
use oriole_sass::{Mod, Op};

/// A comparison as a SASS modifier, and with swapped operands.
fn comparison_mods(comparison: word::Comparison) -> (Mod, Mod) {
    match comparison {
        word::Comparison::Eq => (Mod::EQ, Mod::EQ),
        word::Comparison::Ne => (Mod::NE, Mod::NE),
        word::Comparison::Lt | word::Comparison::Lo => (Mod::LT, Mod::GT),
        word::Comparison::Le | word::Comparison::Ls => (Mod::LE, Mod::GE),
        word::Comparison::Gt | word::Comparison::Hi => (Mod::GT, Mod::LT),
        word::Comparison::Ge | word::Comparison::Hs => (Mod::GE, Mod::LE),
        word::Comparison::Equ => (Mod::EQU, Mod::EQU),
        word::Comparison::Neu => (Mod::NEU, Mod::NEU),
        word::Comparison::Ltu => (Mod::LTU, Mod::GTU),
        word::Comparison::Leu => (Mod::LEU, Mod::GEU),
        word::Comparison::Gtu => (Mod::GTU, Mod::LTU),
        word::Comparison::Geu => (Mod::GEU, Mod::LEU),
        word::Comparison::Num => (Mod::NUM, Mod::NUM),
        word::Comparison::Nan => (Mod::NAN, Mod::NAN),
    }
}

/// A comparison and its combining predicate.
struct Comparison {
    compare: Mod,
    swapped: Mod,
    combine: Mod,
    with: Source,
}

impl Lower<'_> {
    fn comparison(&mut self, i: &Instruction, with: Option<&Operand>) -> Result<Comparison, LowerError> {
        let Some((compare, swapped)) = i.modifiers.at().map(comparison_mods) else {
            return Err(self.unsupported_form(i));
        };
        let combine = match i.modifiers.at() {
            Some(word::Combine::And) | None => Mod::AND,
            Some(word::Combine::Or) => Mod::OR,
            Some(word::Combine::Xor) => Mod::XOR,
        };
        let with = match with {
            Some(operand) => self.predicate(operand)?,
            None => Source::pt(),
        };
        Ok(Comparison { compare, swapped, combine, with })
    }

    /// `setp`.
    pub fn set_predicate(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let (first, second) = match self.operand(i, 0)? {
            Operand::Pair(p, q) => (self.result_predicate(p)?, self.result_predicate(q)?),
            p => (self.result_predicate(p)?, None),
        };
        let comparison = self.comparison(i, i.operands.get(3))?;
        let (a, b) = (self.operand(i, 1)?, self.operand(i, 2)?);
        self.compare(i, ty, comparison, [first, second], a, b)
    }

    /// Compares `a` and `b` of type `ty`: the first result is the comparison combined with the predicate, the second
    /// its negation combined with it (for f16x2: the comparison of the upper halves).
    fn compare(
        &mut self,
        i: &Instruction,
        ty: Type,
        c: Comparison,
        d: [Option<Value>; 2],
        a: &Operand,
        b: &Operand,
    ) -> Lowered {
        let ftz = i.modifiers.has(Word::Ftz);
        let (op, mods, a, b): (Op, Vec<Mod>, Source, Source) = match ty {
            Type::F32 => {
                let (a, b) = (self.word(a, ty)?, self.word(b, ty)?);
                let mods = if ftz { vec![Mod::FTZ] } else { vec![] };
                let (compare, a, b) = ordered(&c, a, b);
                (Op::FSETP, [mods, vec![compare]].concat(), self.in_register(a), b)
            }
            Type::F64 => {
                let a = self.double(a, false)?;
                let b = self.double(b, true)?;
                (Op::DSETP, vec![c.compare], a, b)
            }
            _ if half_of(ty).is_some() => {
                let half = half_of(ty).unwrap_or(Half { bf16: false, packed: false });
                let (a, b) = (self.half_source(a, ty)?, self.half_source(b, ty)?);
                let a = self.in_register(a);
                let mut mods = vec![c.compare];
                mods.extend(half.mods());
                if ftz {
                    mods.push(Mod::FTZ);
                }
                (Op::HSETP2, mods, a, b)
            }
            _ if ty.bits() == 64 => {
                let (a, b) = (self.pair(a, ty)?, self.pair(b, ty)?);
                return self.compare_64(ty, c, d, a, b);
            }
            _ => {
                let (a, b) = (self.extended(a, ty)?, self.extended(b, ty)?);
                let (compare, a, b) = ordered(&c, a, b);
                let mut mods = vec![compare];
                if !ty.is_signed() {
                    mods.push(Mod::U32);
                }
                (Op::ISETP, mods, self.in_register(a), b)
            }
        };
        let mut draft = self.b.op(op).mods(&mods).m(c.combine);
        for d in d {
            draft = draft.to_or_drop(d, File::P);
        }
        draft.from(a).from(b).from(c.with).emit();
        Ok(())
    }

    fn compare_64(
        &mut self,
        ty: Type,
        c: Comparison,
        d: [Option<Value>; 2],
        a: Source,
        b: Source,
    ) -> Lowered {
        let mods = [c.compare, signedness_64(ty)];
        let plain = c.with == Source::pt() && c.combine == Mod::AND;
        if let ([Some(d), None], true) = (d, plain) {
            self.pseudo(Pseudo::SetPredicate64, &mods, [d], [a, b]);
            return Ok(());
        }
        let holds = self.b.p();
        self.pseudo(Pseudo::SetPredicate64, &mods, [holds], [a, b]);
        // Table of `x op y` and of `!x op y`.
        let (table, contrary) = match c.combine {
            Mod::AND => (0xc0, 0x0c),
            Mod::OR => (0xfc, 0xcf),
            _ => (0x3c, 0xc3),
        };
        // A result may be the predicate that the other combination reads.
        let first = d[0].map(|d| (d, self.b.p()));
        if let Some((_, temporary)) = first {
            self.b.plop3(temporary, holds, c.with.clone(), Source::pt(), table);
        }
        if let Some(d) = d[1] {
            self.b.plop3(d, holds, c.with, Source::pt(), contrary);
        }
        if let Some((d, temporary)) = first {
            self.b.mov(d, temporary);
        }
        Ok(())
    }

    /// `set`: all ones or zero, 1.0 or 0.0.
    pub fn set(&mut self, i: &Instruction) -> Lowered {
        let (to, from) = (self.ty(i, 0)?, self.ty(i, 1)?);
        let comparison = self.comparison(i, i.operands.get(3))?;
        let (a, b) = (self.operand(i, 1)?, self.operand(i, 2)?);
        if let Some(half) = half_of(from)
            && half.packed
        {
            // Both halves at once; results are masks, or 1.0 with BF.
            let (a, b) = (self.half_source(a, from)?, self.half_source(b, from)?);
            let a = self.in_register(a);
            let d = self.result_word(self.operand(i, 0)?, Type::B32)?;
            let mut mods = vec![comparison.compare, comparison.combine];
            mods.extend(half.mods());
            if to.is_float() {
                mods.push(Mod::BF);
            }
            if i.modifiers.has(Word::Ftz) {
                mods.push(Mod::FTZ);
            }
            self.op(Op::HSET2, &mods, d, [a, b, comparison.with]);
            return Ok(());
        }
        let p = self.b.p();
        self.compare(i, from, comparison, [Some(p), None], a, b)?;
        let true_bits = match to {
            Type::F32 => 0x3f80_0000,
            Type::F16 => 0x3c00,
            Type::BF16 => 0x3f80,
            _ => !0u32,
        };
        let d = self.result_word(self.operand(i, 0)?, to)?;
        self.b.sel(d, Source::rz(), true_bits, Source::value(p).inverted());
        Ok(())
    }

    /// `selp`.
    pub fn select(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let p = self.predicate(self.operand(i, 3)?)?;
        self.select_by(i, ty, p)
    }

    fn select_by(&mut self, i: &Instruction, ty: Type, p: Source) -> Lowered {
        let (a, b) = (self.operand(i, 1)?, self.operand(i, 2)?);
        if ty.bits() == 64 {
            let (a, b) = (self.pair(a, ty)?, self.pair(b, ty)?);
            let d = self.result_pair(self.operand(i, 0)?, ty)?;
            self.pseudo(Pseudo::Select64, &[], d, [a, b, p]);
            return Ok(());
        }
        let (a, b) = (self.word(a, ty)?, self.word(b, ty)?);
        let (a, b, p) = if is_register(&a) { (a, b, p) } else { (b, a, p.inverted()) };
        let a = self.in_register(a);
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        self.b.sel(d, a, b, p);
        Ok(())
    }

    /// `slct`: the first operand where the third is not negative.
    pub fn select_by_sign(&mut self, i: &Instruction) -> Lowered {
        let (ty, by) = (self.ty(i, 0)?, self.ty(i, 1)?);
        let c = self.word(self.operand(i, 3)?, by)?;
        let c = self.in_register(c);
        let p = self.b.p();
        if by == Type::F32 {
            let mut draft = self.b.op(Op::FSETP).mods(&[Mod::GE, Mod::AND]);
            if i.modifiers.has(Word::Ftz) {
                draft = draft.m(Mod::FTZ);
            }
            draft.to(p).drop_result(File::P).from(c).from(Source::rz()).from(Source::pt()).emit();
        } else {
            self.b.isetp(p, Mod::GE, false, c, Source::rz());
        }
        self.select_by(i, ty, p.into())
    }

    /// `testp`: tests the class of a floating-point value by its bits.
    pub fn test_class(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let Some(d) = self.result_predicate(self.operand(i, 0)?)? else { return Ok(()) };
        let words = self.words(self.operand(i, 1)?, ty)?;
        let top = self.in_register(words[words.len() - 1].clone());
        let magnitude = self.b.r();
        self.b.and(magnitude, top, 0x7fff_ffffu32);
        // The bits without the sign, as an integer of one word or two.
        let bits: Source = if words.len() == 2 {
            self.tuple([words[0].clone(), magnitude.into()])
        } else {
            magnitude.into()
        };
        let (infinity, normal) =
            if ty == Type::F64 { (0x7ff0_0000, 0x0010_0000) } else { (0x7f80_0000, 0x0080_0000) };
        let Some(class) = i.modifiers.at() else { return Err(self.unsupported_form(i)) };
        match class {
            word::NumberClass::Finite => self.compare_bits(d, Mod::LT, bits, infinity),
            word::NumberClass::Infinite => self.compare_bits(d, Mod::EQ, bits, infinity),
            word::NumberClass::Notanumber => self.compare_bits(d, Mod::GT, bits, infinity),
            word::NumberClass::Number => self.compare_bits(d, Mod::LE, bits, infinity),
            word::NumberClass::Normal => {
                let [large, small] = [self.b.p(), self.b.p()];
                self.compare_bits(large, Mod::GE, bits.clone(), normal);
                self.compare_bits(small, Mod::LT, bits.clone(), infinity);
                // Zero counts as normal: (large and small) or zero.
                let zero = self.b.p();
                self.compare_bits(zero, Mod::EQ, bits, 0);
                self.b.plop3(d, large, small, zero, 0xea);
            }
            word::NumberClass::Subnormal => {
                let [small, nonzero] = [self.b.p(), self.b.p()];
                self.compare_bits(small, Mod::LT, bits.clone(), normal);
                self.compare_bits(nonzero, Mod::NE, bits, 0);
                self.b.plop3(d, small, nonzero, Source::pt(), 0xc0);
            }
        }
        Ok(())
    }

    /// Compares one or two words with a constant whose low word, if any, is zero.
    fn compare_bits(&mut self, d: Value, compare: Mod, bits: Source, high: u32) {
        let wide = matches!(&bits.kind, oriole_ori::SourceKind::Values(v) if v.len() == 2);
        if wide {
            let limit = self.tuple([Source::rz(), imm(high)]);
            self.pseudo(Pseudo::SetPredicate64, &[compare, Mod::U64], [d], [bits, limit]);
        } else {
            self.b.isetp(d, compare, true, bits, imm(high));
        }
    }

    /// `copysign d, a, b`: the magnitude of `b` with the sign of `a`.
    pub fn copy_sign(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let a = self.words(self.operand(i, 1)?, ty)?;
        let b = self.words(self.operand(i, 2)?, ty)?;
        let top = a.len() - 1;
        let (sign, rest) = (self.in_register(a[top].clone()), self.in_register(b[top].clone()));
        let word = self.b.r();
        let mask = self.in_register(imm(0x8000_0000));
        self.b.lop3(word, mask, sign, rest, SELECT);
        let mut result: Vec<Source> = b.to_vec();
        result[top] = word.into();
        self.write(self.operand(i, 0)?, ty, &result)
    }
}

/// The comparison with an immediate, if there is one, as second operand.
fn ordered(c: &Comparison, a: Source, b: Source) -> (Mod, Source, Source) {
    if !is_register(&a) && is_register(&b) { (c.swapped, b, a) } else { (c.compare, a, b) }
}
