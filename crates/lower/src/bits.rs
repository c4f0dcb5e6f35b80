//! Bit operations: logic, shifts, fields, permutations, counts.

use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::integer::unsigned;
use crate::integer64::signedness_64;
use crate::operand::{imm, is_register};
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{Pseudo, Source, SourceKind, Value};
use oriole_ptx::word::{Bounds, Combine, Direction, PermuteMode};
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

/// Table of LOP3 for `a & b`, `a | b`, `a ^ b`, with `c` left out.
fn logic_table(opcode: Opcode) -> u8 {
    match opcode {
        Opcode::And => 0xc0,
        Opcode::Or => 0xfc,
        _ => 0x3c,
    }
}

impl Lower<'_> {
    /// `and`, `or`, `xor`.
    pub fn logic(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let table = logic_table(i.opcode);
        let (a, b) = (self.operand(i, 1)?, self.operand(i, 2)?);
        match ty.bits() {
            1 => {
                let Some(d) = self.result_predicate(self.operand(i, 0)?)? else { return Ok(()) };
                let (a, b) = (self.predicate(a)?, self.predicate(b)?);
                self.b.plop3(d, a, b, Source::pt(), table);
            }
            64 => {
                let (a, b) = (self.pair(a, ty)?, self.pair(b, ty)?);
                let d = self.result_pair(self.operand(i, 0)?, ty)?;
                self.logic_64(d, a, b, Source::rz(), table);
            }
            _ => {
                let (a, b) = (self.word(a, ty)?, self.word(b, ty)?);
                let (a, b) = if is_register(&a) { (a, b) } else { (b, a) };
                let a = self.in_register(a);
                let d = self.result_word(self.operand(i, 0)?, ty)?;
                self.b.lop3(d, a, b, Source::rz(), table);
            }
        }
        Ok(())
    }

    fn logic_64(&mut self, d: [Value; 2], a: Source, b: Source, c: Source, table: u8) {
        self.pseudo(Pseudo::Logic64, &[], d, [a, b, c, Source::literal(table.into())]);
    }

    /// `not`.
    pub fn not(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let a = self.operand(i, 1)?;
        match ty.bits() {
            1 => {
                let Some(d) = self.result_predicate(self.operand(i, 0)?)? else { return Ok(()) };
                let a = self.predicate(a)?;
                self.b.plop3(d, a, Source::pt(), Source::pt(), 0x0f);
            }
            64 => {
                let a = self.pair(a, ty)?;
                let d = self.result_pair(self.operand(i, 0)?, ty)?;
                self.logic_64(d, Source::rz(), a, Source::rz(), 0x33);
            }
            _ => {
                let a = self.word(a, ty)?;
                let d = self.result_word(self.operand(i, 0)?, ty)?;
                self.b.not(d, a);
            }
        }
        Ok(())
    }

    /// `cnot`: 1 for zero, else 0.
    pub fn cnot(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let p = self.b.p();
        if ty.bits() == 64 {
            let a = self.pair(self.operand(i, 1)?, ty)?;
            self.pseudo(Pseudo::SetPredicate64, &[Mod::EQ, Mod::U64], [p], [a, Source::rz()]);
        } else {
            let unsigned = if ty.bits() == 16 { Type::U16 } else { Type::U32 };
            let a = self.extended(self.operand(i, 1)?, unsigned)?;
            let a = self.in_register(a);
            self.b.isetp(p, Mod::EQ, true, a, Source::rz());
        }
        let d = self.result(self.operand(i, 0)?, ty)?;
        self.b.sel(d[0], Source::rz(), 1u32, Source::value(p).inverted());
        if let Some(&high) = d.get(1) {
            self.b.mov(high, Source::rz());
        }
        Ok(())
    }

    /// `lop3`, also with the predicate result (`lop3.and d|p, a, b, c, lut, q`).
    pub fn lop3(&mut self, i: &Instruction) -> Lowered {
        let ty = Type::B32;
        let Operand::Immediate(Immediate::Integer(table)) = *self.operand(i, 4)? else {
            return Err(self.unsupported_form(i));
        };
        let mut table = table as u8;
        let mut abc = [
            self.word(self.operand(i, 1)?, ty)?,
            self.word(self.operand(i, 2)?, ty)?,
            self.word(self.operand(i, 3)?, ty)?,
        ];
        // Only the middle slot takes an immediate.
        if is_register(&abc[1]) {
            if !is_register(&abc[0]) {
                abc.swap(0, 1);
                table = swap_inputs(table, 0, 1);
            } else if !is_register(&abc[2]) {
                abc.swap(1, 2);
                table = swap_inputs(table, 1, 2);
            }
        }
        let [a, b, c] = abc;
        let (a, c) = (self.in_register(a), self.in_register(c));
        let (d, p) = match self.operand(i, 0)? {
            Operand::Pair(d, p) => (&**d, Some(&**p)),
            d => (d, None),
        };
        let d = self.result_word(d, ty)?;
        let Some(p) = p else {
            self.b.lop3(d, a, b, c, table);
            return Ok(());
        };
        self.b.lop3(d, a, b, c, table);
        // The predicate is true if any bit is set, combined with the last operand.
        let q = self.predicate(self.operand(i, 5)?)?;
        if let Some(p) = self.result_predicate(p)? {
            let op = match i.modifiers.at() {
                Some(Combine::And) => Mod::AND,
                Some(Combine::Or) => Mod::OR,
                Some(Combine::Xor) | None => return Err(self.unsupported_form(i)),
            };
            self.b
                .op(Op::ISETP)
                .mods(&[Mod::NE, Mod::U32, op])
                .to(p)
                .drop_result(oriole_ori::File::P)
                .from(d)
                .from(Source::rz())
                .from(q)
                .emit();
        }
        Ok(())
    }

    /// `shl` and `shr`: amounts beyond the width act like the width.
    pub fn shift(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let left = i.opcode == Opcode::Shl;
        let amount = self.word(self.operand(i, 2)?, Type::U32)?;
        if ty.bits() == 64 {
            let a = self.pair(self.operand(i, 1)?, ty)?;
            let d = self.result_pair(self.operand(i, 0)?, ty)?;
            if left {
                self.pseudo(Pseudo::Shl64, &[], d, [a, amount]);
            } else {
                self.pseudo(Pseudo::Shr64, &[signedness_64(ty)], d, [a, amount]);
            }
            return Ok(());
        }
        let a = self.operand(i, 1)?;
        let a = if left { self.word(a, ty)? } else { self.extended(a, ty)? };
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        let a = if is_register(&amount) && !left { a } else { self.in_register(a) };
        match (left, ty.is_signed()) {
            (true, _) => self.b.shl(d, a, amount),
            (false, true) => self.b.sar(d, a, amount),
            (false, false) => self.b.shr(d, a, amount),
        }
        Ok(())
    }

    /// `shf`.
    pub fn funnel_shift(&mut self, i: &Instruction) -> Lowered {
        let ty = Type::B32;
        let low = self.word(self.operand(i, 1)?, ty)?;
        let low = self.in_register(low);
        let high = self.word(self.operand(i, 2)?, ty)?;
        let amount = self.word(self.operand(i, 3)?, Type::U32)?;
        let high = if is_register(&amount) { high } else { self.in_register(high) };
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        let mut mods = vec![Mod::U32];
        if i.modifiers.at() == Some(Bounds::Wrap) {
            mods.push(Mod::W);
        }
        match i.modifiers.at() {
            Some(Direction::L) => mods.extend([Mod::L, Mod::HI]),
            Some(Direction::R) => mods.push(Mod::R),
            None => return Err(self.unsupported_form(i)),
        }
        self.b.shf(d, &mods, low, amount, high);
        Ok(())
    }

    /// A byte amount in a register or immediate, as for `bfe` and `bfi`.
    fn byte_amount(&mut self, operand: &Operand) -> Result<Source, LowerError> {
        if let Operand::Immediate(Immediate::Integer(value)) = operand {
            return Ok(imm(*value as u32 & 0xff));
        }
        let word = self.word(operand, Type::U32)?;
        Ok(self.extend(word, Type::U8))
    }

    /// `bfe`.
    pub fn extract_field(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let position = self.byte_amount(self.operand(i, 2)?)?;
        let length = self.byte_amount(self.operand(i, 3)?)?;
        if ty.bits() == 64 {
            return self.extract_field_64(i, ty, position, length);
        }
        let a = self.word(self.operand(i, 1)?, ty)?;
        let a = if is_register(&position) { a } else { self.in_register(a) };
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        // Positions beyond the word give sign or zero, as the clamped shift does.
        let shifted = self.b.r();
        if ty.is_signed() {
            self.b.sar(shifted, a, position);
        } else {
            self.b.shr(shifted, a, position);
        }
        self.op(Op::SGXT, unsigned(ty), d, [shifted.into(), length]);
        Ok(())
    }

    /// A 64-bit field: shifted to the top, then down again, so that the sign extends.
    fn extract_field_64(&mut self, i: &Instruction, ty: Type, position: Source, length: Source) -> Lowered {
        let a = self.pair(self.operand(i, 1)?, ty)?;
        let d = self.result_pair(self.operand(i, 0)?, ty)?;
        let shifted = self.b.pair();
        self.pseudo(Pseudo::Shr64, &[signedness_64(ty)], shifted, [a, position]);
        // 64 - length, at least 0: the unwanted bits above the field.
        let (length, rest) = (self.in_register(length), self.b.r());
        let clamped = self.b.r();
        self.min_max(&[Mod::U32], clamped, length, Source::imm(64), Source::pt());
        self.b.iadd3(rest, Source::value(clamped).negated(), 64u32, Source::rz());
        let top = self.b.pair();
        self.pseudo(Pseudo::Shl64, &[], top, [shifted.into(), rest.into()]);
        self.pseudo(Pseudo::Shr64, &[signedness_64(ty)], d, [top.into(), rest.into()]);
        Ok(())
    }

    /// `bfi`.
    pub fn insert_field(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let position = self.byte_amount(self.operand(i, 3)?)?;
        let length = self.byte_amount(self.operand(i, 4)?)?;
        if ty.bits() == 64 {
            let a = self.pair(self.operand(i, 1)?, ty)?;
            let b = self.pair(self.operand(i, 2)?, ty)?;
            let d = self.result_pair(self.operand(i, 0)?, ty)?;
            let ones = self.tuple([imm(!0), imm(!0)]);
            let [outside, low, mask, field] = [self.b.pair(), self.b.pair(), self.b.pair(), self.b.pair()];
            self.pseudo(Pseudo::Shl64, &[], outside, [ones, length]);
            self.logic_64(low, Source::rz(), outside.into(), Source::rz(), 0x33);
            self.pseudo(Pseudo::Shl64, &[], mask, [low.into(), position.clone()]);
            self.pseudo(Pseudo::Shl64, &[], field, [a, position]);
            self.logic_64(d, mask.into(), field.into(), b, SELECT);
            return Ok(());
        }
        let a = self.word(self.operand(i, 1)?, ty)?;
        let a = self.in_register(a);
        let b = self.word(self.operand(i, 2)?, ty)?;
        let b = self.in_register(b);
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        let [mask, field] = [self.b.r(), self.b.r()];
        let start = self.in_register(position.clone());
        self.op(Op::BMSK, &[], mask, [start, length]);
        self.b.shl(field, a, position);
        self.b.lop3(d, mask, field, b, SELECT);
        Ok(())
    }

    /// `bfind`.
    pub fn find_bit(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let shift = i.modifiers.has(Word::Shiftamt);
        let mut mods = unsigned(ty).to_vec();
        if shift {
            mods.push(Mod::SH);
        }
        if ty.bits() == 32 {
            let a = self.word(self.operand(i, 1)?, ty)?;
            let d = self.result_word(self.operand(i, 0)?, Type::U32)?;
            self.op(Op::FLO, &mods, d, [a]);
            return Ok(());
        }
        let words = self.words(self.operand(i, 1)?, ty)?;
        let (low, high) = (self.in_register(words[0].clone()), self.in_register(words[1].clone()));
        // In a signed value the bits that differ from the sign count.
        let low = if ty.is_signed() {
            let sign = self.sign_word(high.clone(), true);
            let d = self.b.r();
            self.b.xor(d, low, sign);
            d.into()
        } else {
            low
        };
        let d = self.result_word(self.operand(i, 0)?, Type::U32)?;
        let [in_high, in_low, moved] = [self.b.r(), self.b.r(), self.b.r()];
        let [found_high, found_low] = [self.b.p(), self.b.p()];
        self.op(Op::FLO, &mods, in_high, [high]);
        let low_mods: &[Mod] = if shift { &[Mod::U32, Mod::SH] } else { &[Mod::U32] };
        self.op(Op::FLO, low_mods, in_low, [low]);
        self.b.isetp(found_high, Mod::NE, true, in_high, imm(!0));
        // A position counts from bit 0, a shift amount from bit 63.
        let (to_move, other, found) =
            if shift { (in_low, in_high, found_low) } else { (in_high, in_low, found_high) };
        self.b.iadd3(moved, to_move, 32u32, Source::rz());
        if shift {
            self.b.isetp(found, Mod::NE, true, in_low, imm(!0));
            let low_part = self.b.r();
            self.b.sel(low_part, moved, imm(!0), found);
            self.b.sel(d, other, low_part, found_high);
        } else {
            self.b.sel(d, moved, other, found_high);
        }
        Ok(())
    }

    /// `clz`.
    pub fn count_leading_zeros(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let words = self.words(self.operand(i, 1)?, ty)?;
        let d = self.result_word(self.operand(i, 0)?, Type::U32)?;
        let position = self.b.r();
        if ty.bits() == 32 {
            self.op(Op::FLO, &[Mod::U32], position, [words[0].clone()]);
            self.b.iadd3(d, Source::value(position).negated(), 31u32, Source::rz());
            return Ok(());
        }
        let (low, high) = (self.in_register(words[0].clone()), self.in_register(words[1].clone()));
        let in_high = self.b.p();
        let [word, base] = [self.b.r(), self.b.r()];
        self.b.isetp(in_high, Mod::NE, true, high.clone(), Source::rz());
        self.b.sel(word, high, low, in_high);
        self.op(Op::FLO, &[Mod::U32], position, [word.into()]);
        let thirty_one = self.in_register(imm(31));
        self.b.sel(base, thirty_one, 63u32, in_high);
        self.b.iadd3(d, base, Source::value(position).negated(), Source::rz());
        Ok(())
    }

    /// `popc`.
    pub fn count_bits(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let words = self.words(self.operand(i, 1)?, ty)?;
        let d = self.result_word(self.operand(i, 0)?, Type::U32)?;
        if ty.bits() == 32 {
            self.op(Op::POPC, &[], d, [words[0].clone()]);
        } else {
            let counts = self.b.pair();
            self.op(Op::POPC, &[], counts[0], [words[0].clone()]);
            self.op(Op::POPC, &[], counts[1], [words[1].clone()]);
            self.b.iadd3(d, counts[0], counts[1], Source::rz());
        }
        Ok(())
    }

    /// `brev`.
    pub fn reverse_bits(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let words = self.words(self.operand(i, 1)?, ty)?;
        if ty.bits() == 32 {
            let d = self.result_word(self.operand(i, 0)?, ty)?;
            self.op(Op::BREV, &[], d, [words[0].clone()]);
            return Ok(());
        }
        let reversed = self.b.pair();
        self.op(Op::BREV, &[], reversed[0], [words[1].clone()]);
        self.op(Op::BREV, &[], reversed[1], [words[0].clone()]);
        self.write(self.operand(i, 0)?, ty, &reversed.map(Source::value))
    }

    /// `bmsk` and `szext`.
    pub fn mask_or_extend(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let a = self.word(self.operand(i, 1)?, Type::B32)?;
        let a = self.in_register(a);
        let b = self.word(self.operand(i, 2)?, Type::B32)?;
        let d = self.result_word(self.operand(i, 0)?, Type::B32)?;
        let mut mods = Vec::new();
        if i.modifiers.at() == Some(Bounds::Wrap) {
            mods.push(Mod::W);
        }
        if i.opcode == Opcode::Szext {
            mods.extend_from_slice(unsigned(ty));
            self.op(Op::SGXT, &mods, d, [a, b]);
        } else {
            self.op(Op::BMSK, &mods, d, [a, b]);
        }
        Ok(())
    }

    /// `prmt`.
    pub fn permute(&mut self, i: &Instruction) -> Lowered {
        let ty = Type::B32;
        let a = self.word(self.operand(i, 1)?, ty)?;
        let a = self.in_register(a);
        let b = self.word(self.operand(i, 2)?, ty)?;
        let selector = self.word(self.operand(i, 3)?, ty)?;
        // Only the low 16 bits select; the hardware ignores the others, and the form has no bits for them.
        let selector = match selector.kind {
            SourceKind::Imm(bits) => imm(bits & 0xffff),
            _ => selector,
        };
        let b = if is_register(&selector) { b } else { self.in_register(b) };
        let d = self.result_word(self.operand(i, 0)?, ty)?;
        let mods: Vec<Mod> = i
            .modifiers
            .at()
            .map(|mode| match mode {
                PermuteMode::F4e => Mod::F4E,
                PermuteMode::B4e => Mod::B4E,
                PermuteMode::Rc8 => Mod::RC8,
                PermuteMode::Ecl => Mod::ECL,
                PermuteMode::Ecr => Mod::ECR,
                PermuteMode::Rc16 => Mod::RC16,
            })
            .into_iter()
            .collect();
        self.op(Op::PRMT, &mods, d, [a, selector, b]);
        Ok(())
    }

    /// `fns`: the position of the n-th set bit of a mask, counted upward or downward from a base.
    ///
    /// Counting down is counting up in the reversed mask. The bits below the base are cleared; then a binary search
    /// with population counts of the lower half finds the n-th.
    pub fn find_nth_set(&mut self, i: &Instruction) -> Lowered {
        let mask = self.word(self.operand(i, 1)?, Type::B32)?;
        let mask = self.in_register(mask);
        let base = self.word(self.operand(i, 2)?, Type::B32)?;
        let base = self.in_register(base);
        let offset = self.word(self.operand(i, 3)?, Type::S32)?;
        let offset = self.in_register(offset);
        let d = self.result_word(self.operand(i, 0)?, Type::B32)?;
        let [down, zero] = [self.b.p(), self.b.p()];
        self.b.isetp(down, Mod::LT, false, offset.clone(), Source::rz());
        self.b.isetp(zero, Mod::EQ, false, offset.clone(), Source::rz());
        let [reversed, oriented, far, start, count, one] =
            [self.b.r(), self.b.r(), self.b.r(), self.b.r(), self.b.r(), self.b.r()];
        self.op(Op::BREV, &[], reversed, [mask.clone()]);
        self.b.sel(oriented, reversed, mask, down);
        self.b.iadd3(far, base.clone().negated(), 31u32, Source::rz());
        self.b.sel(start, far, base, down);
        self.op(Op::IABS, &[], count, [offset]);
        self.b.mov(one, imm(1));
        // An offset of zero selects the bit at the base itself: only that bit is kept.
        let [above, single, kept, wanted, left] =
            [self.b.r(), self.b.r(), self.b.r(), self.b.r(), self.b.r()];
        let ones = self.in_register(imm(!0));
        self.b.shl(above, ones, start);
        self.b.shl(single, one, start);
        self.b.sel(kept, single, above, zero);
        self.b.sel(wanted, one, count, zero);
        self.b.and(left, kept, oriented);
        let total = self.b.r();
        self.op(Op::POPC, &[], total, [left.into()]);
        let enough = self.b.p();
        self.b.isetp(enough, Mod::GE, false, total, wanted);
        let (mut rest, mut need, mut place): (Value, Value, Source) = (left, wanted, Source::rz());
        for half in [16u32, 8, 4, 2, 1] {
            let [low, count, shifted, fewer, next, needed, further, placed] = [
                self.b.r(),
                self.b.r(),
                self.b.r(),
                self.b.r(),
                self.b.r(),
                self.b.r(),
                self.b.r(),
                self.b.r(),
            ];
            self.op(Op::SGXT, &[Mod::U32], low, [rest.into(), Source::imm(half)]);
            self.op(Op::POPC, &[], count, [low.into()]);
            let in_upper = self.b.p();
            self.b.isetp(in_upper, Mod::LT, true, count, need);
            self.b.shr(shifted, rest, half);
            self.b.iadd3(fewer, need, Source::value(count).negated(), Source::rz());
            self.b.sel(next, shifted, rest, in_upper);
            self.b.sel(needed, fewer, need, in_upper);
            self.b.iadd3(further, place.clone(), half, Source::rz());
            self.b.sel(placed, further, place, in_upper);
            (rest, need, place) = (next, needed, placed.into());
        }
        let [mirrored, found] = [self.b.r(), self.b.r()];
        self.b.iadd3(mirrored, place.clone().negated(), 31u32, Source::rz());
        self.b.sel(found, mirrored, place, down);
        self.b.sel(d, found, imm(!0), enough);
        Ok(())
    }
}

/// Table of LOP3 for `a ? b : c`, bit by bit.
pub(crate) const SELECT: u8 = 0xca;

/// The table with two of its inputs exchanged; input 0 is the most significant.
fn swap_inputs(table: u8, first: u32, second: u32) -> u8 {
    let mut swapped = 0;
    for row in 0..8u8 {
        let bit = |index: u32| row >> (2 - index) & 1;
        let (x, y) = (bit(first), bit(second));
        let other = row & !(1 << (2 - first)) & !(1 << (2 - second)) | y << (2 - first) | x << (2 - second);
        swapped |= (table >> other & 1) << row;
    }
    swapped
}

#[cfg(test)]
mod tests {
    use super::swap_inputs;

    #[test]
    fn tables_follow_their_inputs() {
        // a & ~b and b & ~a.
        assert_eq!(swap_inputs(0x30, 0, 1), 0x0c);
        // a is 0xf0, b 0xcc, c 0xaa.
        assert_eq!(swap_inputs(0xf0, 0, 1), 0xcc);
        assert_eq!(swap_inputs(0xcc, 1, 2), 0xaa);
    }
}
