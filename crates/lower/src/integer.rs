//! Integer arithmetic of 16 and 32 bits, packed 16-bit integers, and carries. 64-bit arithmetic is in `integer64`.

use crate::context::{Lower, Lowered};
use crate::operand::{complement, is_register, minus};
use oriole_hir::Instruction;
use oriole_ori::{Pseudo, Source, SourceKind, Value};
use oriole_ptx::word::Part;
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

/// The modifier of an unsigned 32-bit operation, if the type is unsigned.
pub(crate) fn unsigned(ty: Type) -> &'static [Mod] {
    if ty.is_signed() { &[] } else { &[Mod::U32] }
}

/// SASS modifiers of packed adds; the signedness matters where they saturate.
fn parts_of(ty: Type, saturates: bool) -> Option<Vec<Mod>> {
    let parts = match ty {
        Type::U32 => Mod::_32,
        Type::U16x2 => Mod::_16x2,
        Type::S16x2 => Mod::S16x2,
        Type::U8x4 => Mod::U8x4,
        Type::S8x4 => Mod::S8x4,
        _ => return None,
    };
    Some(std::iter::once(parts).chain(saturates.then_some(Mod::ISAT)).collect())
}

impl Lower<'_> {
    /// `add` and `sub` of integers up to 32 bits and of packed 16-bit integers, without carry.
    pub fn add_integer(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let subtract = i.opcode == Opcode::Sub;
        let a = self.word(self.operand(i, 1)?, ty)?;
        let b = self.word(self.operand(i, 2)?, ty)?;
        let saturates = i.modifiers.has(Word::Sat);
        if saturates && ty != Type::S32 || matches!(ty, Type::U8x4 | Type::S8x4) {
            let parts = parts_of(ty, saturates).ok_or_else(|| self.unsupported_form(i))?;
            let [a, b] = [a, b].map(|it| self.in_register(it));
            return self.add_parts(i, &parts, a, if subtract { minus(b) } else { b });
        }
        if matches!(ty, Type::U16x2 | Type::S16x2) {
            let (a, b) = if is_register(&a) || subtract { (a, b) } else { (b, a) };
            let a = self.in_register(a);
            let d = self.result_word(self.operand(i, 0)?, ty)?;
            // A negated immediate would have to be negated in halves.
            let b = if subtract { self.in_register(b) } else { b };
            self.add_halves(d, a, b, subtract);
            return Ok(());
        }
        if saturates {
            let d = self.result_word(self.operand(i, 0)?, ty)?;
            self.add_saturating(d, a, b, subtract);
            return Ok(());
        }
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        self.add(d, a, if subtract { minus(b) } else { b });
        Ok(())
    }

    /// Packed add of two words.
    fn add_parts(&mut self, i: &Instruction, parts: &[Mod], a: Source, b: Source) -> Lowered {
        if !self.takes(Op::VIADD, parts, 3) {
            return Err(self.unsupported_form(i));
        }
        let d = self.result_word(self.operand(i, 0)?, Type::B32)?;
        self.op(Op::VIADD, parts, d, [a, b]);
        Ok(())
    }

    /// `clmad`.
    pub fn multiply_without_carries(&mut self, i: &Instruction) -> Lowered {
        let part = match i.modifiers.at() {
            Some(Part::Lo) => Mod::LO,
            Some(Part::Hi) => Mod::HI,
            Some(Part::Wide) | None => return Err(self.unsupported_form(i)),
        };
        let mut sources = Vec::new();
        for index in 1..4 {
            let source = self.pair(self.operand(i, index)?, Type::U64)?;
            sources.push(self.in_register(source));
        }
        let d = self.result_pair(self.operand(i, 0)?, Type::U64)?;
        self.b.op(Op::CLMAD).m(part).to_tuple(d).from_all(sources).emit();
        Ok(())
    }

    /// `d <- a + b` (or `a - b`), clamped to the range of signed 32 bits.
    pub fn add_saturating(&mut self, d: Value, a: Source, b: Source, subtract: bool) {
        let a = self.in_register(a);
        let b = self.in_register(b);
        let sum = self.b.r();
        self.b.iadd3(sum, a.clone(), if subtract { minus(b.clone()) } else { b.clone() }, Source::rz());
        self.clamp_sum(d, a, b, sum, subtract);
    }

    /// `d <- sum`, saturated: `sum` is `a + b`, possibly with a carry.
    fn clamp_sum(&mut self, d: Value, a: Source, b: Source, sum: Value, subtract: bool) {
        let [overflow, limit] = [self.b.r(), self.b.r()];
        // Overflow: both addends have one sign and the sum the other.
        let table = if subtract { 0x24 } else { 0x18 };
        self.b.lop3(overflow, sum, a.clone(), b, table);
        let wrong = self.b.p();
        self.b.isetp(wrong, Mod::LT, false, overflow, Source::rz());
        self.b.sar(limit, a, 31u32);
        let clamped = self.b.r();
        self.b.xor(clamped, limit, 0x7fff_ffffu32);
        self.b.sel(d, clamped, sum, wrong);
    }

    /// `add.cc`, `addc`, `sub.cc`, `subc` of 32 and 64 bits.
    pub fn add_carry(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let subtract = matches!(i.opcode, Opcode::Sub | Opcode::Subc);
        let takes = matches!(i.opcode, Opcode::Addc | Opcode::Subc);
        let gives = i.modifiers.has(Word::Cc);
        let a = self.words(self.operand(i, 1)?, ty)?;
        let b = self.words(self.operand(i, 2)?, ty)?;
        let d = self.result(self.operand(i, 0)?, ty)?;
        self.add_chain(&d, &a, &b, subtract, takes, gives);
        Ok(())
    }

    /// A chain of adds with carry, one for each word. The first uses the carry flag if `takes`, the last sets it if
    /// `gives`.
    pub fn add_chain(
        &mut self,
        d: &[Value],
        a: &[Source],
        b: &[Source],
        subtract: bool,
        takes: bool,
        gives: bool,
    ) {
        let carry = self.carry();
        // Between the words of one value the carry is a temporary; only the last word may leave it in the carry flag.
        let inner = if d.len() > 1 { self.b.p() } else { carry };
        let last = d.len() - 1;
        let mut sums = Vec::new();
        for (index, (a, b)) in a.iter().zip(b).enumerate().take(d.len()) {
            let (a, b) =
                if is_register(a) || subtract { (a.clone(), b.clone()) } else { (b.clone(), a.clone()) };
            let a = self.in_register(a);
            let sum = if index == last { d[index] } else { self.b.r() };
            let out = if index < last { Some(inner) } else { gives.then_some(carry) };
            let taken: Option<Source> = if index > 0 {
                Some(inner.into())
            } else if takes {
                Some(carry.into())
            } else if subtract && !matches!(b.kind, SourceKind::Values(_)) {
                // The carry of `a - b` is that of `a + ~b + 1`, for `b` of zero as well.
                Some(Source::pt())
            } else {
                None
            };
            let b = match (subtract, taken.is_some()) {
                (true, true) => complement(b),
                (true, false) => minus(b),
                (false, _) => b,
            };
            let mut draft = self.b.op(Op::IADD3).m_if(taken.is_some(), Mod::X).to(sum);
            if let Some(out) = out {
                draft = draft.to(out);
            }
            draft = draft.from(a).from(b).from(Source::rz());
            if let Some(taken) = taken {
                draft = draft.from(taken).from(Source::not_pt());
            }
            draft.emit();
            sums.push(sum);
        }
        for (&d, sum) in d.iter().zip(sums) {
            if d != sum {
                self.b.mov(d, sum);
            }
        }
    }

    /// `mul`, `mad` and `madc` of integers.
    pub fn multiply(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        if i.modifiers.at() == Some(Part::Wide) {
            return self.multiply_wide(i, ty);
        }
        if ty.bits() == 64 {
            return self.multiply_64(i, ty);
        }
        let high = i.modifiers.at() == Some(Part::Hi);
        let has_addend = i.opcode != Opcode::Mul;
        let extra = i.modifiers.has(Word::Cc) || i.opcode == Opcode::Madc;
        let a = self.extended_if(i, 1, ty, high)?;
        let b = self.extended_if(i, 2, ty, high)?;
        let (a, b) = if is_register(&a) { (a, b) } else { (b, a) };
        let a = self.in_register(a);
        let c = if has_addend { Some(self.word(self.operand(i, 3)?, ty)?) } else { None };
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        if !high && !extra {
            let c = c.unwrap_or_else(Source::rz);
            let c = if is_register(&b) { c } else { self.in_register(c) };
            self.b.imad(d, a, b, c);
            return Ok(());
        }
        let product = if has_addend { self.b.r() } else { d };
        if !high {
            self.b.imad(product, a, b, Source::rz());
        } else if ty.bits() == 16 {
            let whole = self.b.r();
            self.b.imad(whole, a, b, Source::rz());
            if ty.is_signed() {
                self.b.sar(product, whole, 16u32);
            } else {
                self.b.shr(product, whole, 16u32);
            }
        } else {
            self.b.imad_hi(product, !ty.is_signed(), a, b, Source::rz());
        }
        let Some(c) = c else { return Ok(()) };
        if extra {
            let takes = i.opcode == Opcode::Madc;
            let gives = i.modifiers.has(Word::Cc);
            if i.modifiers.has(Word::Sat) {
                let (c, sum) = (self.in_register(c), self.b.r());
                self.add_chain(&[sum], &[product.into()], std::slice::from_ref(&c), false, takes, gives);
                self.clamp_sum(d, product.into(), c, sum, false);
            } else {
                self.add_chain(&[d], &[product.into()], &[c], false, takes, gives);
            }
        } else if i.modifiers.has(Word::Sat) {
            self.add_saturating(d, product.into(), c, false);
        } else {
            self.add(d, product.into(), c);
        }
        Ok(())
    }

    fn extended_if(
        &mut self,
        i: &Instruction,
        index: usize,
        ty: Type,
        condition: bool,
    ) -> Result<Source, crate::LowerError> {
        let operand = self.operand(i, index)?;
        if condition { self.extended(operand, ty) } else { self.word(operand, ty) }
    }

    /// `mul.wide` and `mad.wide`.
    fn multiply_wide(&mut self, i: &Instruction, ty: Type) -> Lowered {
        let a = self.extended(self.operand(i, 1)?, ty)?;
        let b = self.extended(self.operand(i, 2)?, ty)?;
        let (a, b) = if is_register(&a) { (a, b) } else { (b, a) };
        let a = self.in_register(a);
        let has_addend = i.opcode != Opcode::Mul;
        match ty.bits() {
            16 => {
                let wide = if ty.is_signed() { Type::S32 } else { Type::U32 };
                let c = if has_addend { self.word(self.operand(i, 3)?, wide)? } else { Source::rz() };
                let c = if is_register(&b) { c } else { self.in_register(c) };
                let d = self.result_word(self.operand(i, 0)?, wide)?;
                self.b.imad(d, a, b, c);
            }
            32 => {
                let wide = if ty.is_signed() { Type::S64 } else { Type::U64 };
                let c = if has_addend { self.pair(self.operand(i, 3)?, wide)? } else { Source::rz() };
                let d = self.result_pair(self.operand(i, 0)?, wide)?;
                self.b.imad_wide(d, !ty.is_signed(), a, b, c);
            }
            _ => return Err(self.unsupported_form(i)),
        }
        Ok(())
    }

    /// `mul24` and `mad24`: operands are the low 24 bits.
    pub fn multiply_24(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let [a, b] = [1, 2].map(|index| self.low_24(i, index, ty));
        let (a, b) = (a?, b?);
        let c = if i.opcode == Opcode::Mad24 { Some(self.word(self.operand(i, 3)?, ty)?) } else { None };
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        if i.modifiers.at() != Some(Part::Hi) {
            self.b.imad(d, a, b, c.unwrap_or_else(Source::rz));
            return Ok(());
        }
        // Bits 16 to 47 of the 48-bit product.
        let whole = self.b.pair();
        self.b.imad_wide(whole, !ty.is_signed(), a, b, Source::rz());
        let product = if c.is_some() { self.b.r() } else { d };
        self.b.shf(product, &[Mod::R, Mod::U64], whole[0], 16u32, whole[1]);
        match c {
            None => {}
            Some(c) if i.modifiers.has(Word::Sat) => self.add_saturating(d, product.into(), c, false),
            Some(c) => self.add(d, product.into(), c),
        }
        Ok(())
    }

    fn low_24(&mut self, i: &Instruction, index: usize, ty: Type) -> Result<Source, crate::LowerError> {
        let word = self.word(self.operand(i, index)?, ty)?;
        let word = self.in_register(word);
        let d = self.b.r();
        self.op(Op::SGXT, unsigned(ty), d, [word, Source::imm(24)]);
        Ok(d.into())
    }

    /// `sad`.
    pub fn sad(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        if ty.bits() == 64 {
            return self.sad_64(i, ty);
        }
        let a = self.extended(self.operand(i, 1)?, ty)?;
        let b = self.extended(self.operand(i, 2)?, ty)?;
        let c = self.word(self.operand(i, 3)?, ty)?;
        let (a, b) = if is_register(&a) { (a, b) } else { (b, a) };
        let a = self.in_register(a);
        let c = if is_register(&b) { c } else { self.in_register(c) };
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        self.add_distance(unsigned(ty), d, a, b, c);
        Ok(())
    }

    /// `abs` of integers.
    pub fn abs_integer(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        if ty.bits() == 64 {
            return self.abs_64(i, ty);
        }
        let a = self.extended(self.operand(i, 1)?, ty)?;
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        self.op(Op::IABS, &[], d, [a]);
        Ok(())
    }

    /// `neg` of integers.
    pub fn neg_integer(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let a = self.operand(i, 1)?;
        if ty.bits() == 64 {
            let a = self.pair(a, ty)?;
            let d = self.result_pair(self.operand(i, 0)?, ty)?;
            self.pseudo(Pseudo::Add64, &[], d, [Source::rz(), a.negated()]);
            return Ok(());
        }
        let a = self.word(a, ty)?;
        let a = self.in_register(a);
        if ty == Type::S8x4 {
            return self.add_parts(i, &[Mod::S8x4], minus(a), Source::rz());
        }
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        self.b.iadd3(d, minus(a), Source::rz(), Source::rz());
        Ok(())
    }

    /// `min` and `max` of integers.
    pub fn min_max_integer(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let min = i.opcode == Opcode::Min;
        if ty.bits() == 64 {
            let (a, b) = (self.pair(self.operand(i, 1)?, ty)?, self.pair(self.operand(i, 2)?, ty)?);
            let d = self.result_pair(self.operand(i, 0)?, ty)?;
            let mods = [if ty.is_signed() { Mod::S64 } else { Mod::U64 }];
            self.pseudo(if min { Pseudo::Min64 } else { Pseudo::Max64 }, &mods, d, [a, b]);
            return Ok(());
        }
        let a = self.extended(self.operand(i, 1)?, ty)?;
        let b = self.extended(self.operand(i, 2)?, ty)?;
        let (a, b) = if is_register(&a) { (a, b) } else { (b, a) };
        let a = self.in_register(a);
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        let mut mods: Vec<Mod> = match ty {
            Type::U16x2 => vec![Mod::U16x2],
            Type::S16x2 => vec![Mod::S16x2],
            Type::U8x4 => vec![Mod::U8x4],
            Type::S8x4 => vec![Mod::S8x4],
            _ => unsigned(ty).to_vec(),
        };
        if i.modifiers.has(Word::Relu) {
            mods.push(Mod::RELU);
        }
        self.min_max(&mods, d, a, b, if min { Source::pt() } else { Source::not_pt() });
        Ok(())
    }

    /// `div` and `rem` of integers.
    pub fn divide_integer(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let pseudo = if i.opcode == Opcode::Div { Pseudo::Divide } else { Pseudo::Remainder };
        if ty.bits() == 64 {
            let (a, b) = (self.pair(self.operand(i, 1)?, ty)?, self.pair(self.operand(i, 2)?, ty)?);
            let d = self.result_pair(self.operand(i, 0)?, ty)?;
            let mods = [if ty.is_signed() { Mod::S64 } else { Mod::U64 }];
            self.pseudo(pseudo, &mods, d, [a, b]);
            return Ok(());
        }
        let a = self.extended(self.operand(i, 1)?, ty)?;
        let a = self.in_register(a);
        let b = self.extended(self.operand(i, 2)?, ty)?;
        let b = self.in_register(b);
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        let mods = [if ty.is_signed() { Mod::S32 } else { Mod::U32 }];
        self.pseudo(pseudo, &mods, [d], [a, b]);
        Ok(())
    }

    /// `dp4a` and `dp2a`.
    pub fn dot_product(&mut self, i: &Instruction) -> Lowered {
        let (ta, tb) = (self.ty(i, 0)?, self.ty(i, 1)?);
        let a = self.word(self.operand(i, 1)?, Type::B32)?;
        let a = self.in_register(a);
        let b = self.word(self.operand(i, 2)?, Type::B32)?;
        let b = self.in_register(b);
        let c = self.word(self.operand(i, 3)?, Type::B32)?;
        let c = self.in_register(c);
        let d = self.result_word(self.operand(i, 0)?, Type::B32)?;
        let byte = |ty: Type| if ty.is_signed() { Mod::S8 } else { Mod::U8 };
        let second = if tb.is_signed() { Mod::S8_2 } else { Mod::U8_2 };
        let mods: Vec<Mod> = if i.opcode == Opcode::Dp4a {
            vec![Mod::_4A, byte(ta), second]
        } else {
            vec![
                Mod::_2A,
                if i.modifiers.at() == Some(Part::Hi) { Mod::HI } else { Mod::LO },
                if ta.is_signed() { Mod::S16 } else { Mod::U16 },
                second,
            ]
        };
        self.op(Op::IDP, &mods, d, [a, b, c]);
        Ok(())
    }
}
