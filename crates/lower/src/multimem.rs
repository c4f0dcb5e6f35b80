//! `multimem`: memory with a copy on each of several devices, under one address.
//!
//! Stores and reductions are like those of other addresses. A load reduces the copies to one value.

use crate::LowerError;
use crate::atomics::packed_type;
use crate::context::{Lower, Lowered, Words};
use oriole_hir::{Instruction, Operand};
use oriole_ptx::word::{Operation, Semantics};
use oriole_ptx::{Space, Type, Word};
use oriole_sass::{Mod, Op};
use smallvec::SmallVec;

impl Lower<'_> {
    /// `multimem`.
    pub fn copies(&mut self, i: &Instruction) -> Lowered {
        match () {
            () if i.modifiers.has(Word::Cp) => self.bulk(i),
            () if i.modifiers.has(Word::LdReduce) => self.reduce_copies(i),
            () if i.modifiers.has(Word::Red) => self.atomic(i),
            () => self.store(i),
        }
    }

    /// `multimem.ld_reduce`.
    fn reduce_copies(&mut self, i: &Instruction) -> Lowered {
        let (ty, vector) = packed_type(self.ty(i, 0)?, i.vector);
        let mods = self.reduction_of_copies(i, ty, vector)?;
        let mut place = self.place(self.operand(i, 1)?, i.space.unwrap_or(Space::Generic))?;
        place.space = Space::Global;
        let mut address = self.memory_operand(&place, false);
        address.suffixes.insert(Mod::_64);
        let words = (ty.bytes() * vector / 4) as usize;
        let elements = self.elements(self.operand(i, 0)?);
        let direct = self.direct_words(&elements, ty).filter(|direct| direct.len() == words);
        let d: Words = direct.clone().unwrap_or_else(|| (0..words).map(|_| self.b.r()).collect());
        let memory = Self::memory_info(Space::Global, true, false, true);
        self.b.op(Op::LDGMC).mods(&mods).to_tuple(d.clone()).from(address).memory(memory).emit();
        if i.modifiers.at() == Some(Semantics::Acquire) {
            self.invalidate();
        }
        match direct {
            Some(_) => Ok(()),
            None if is_narrow(ty) && elements.len() > words => self.write_bytes(&elements, &d),
            None => self.write_vector(&elements, ty, vector, &d),
        }
    }

    /// Elements of one or two bytes, which are packed in these words.
    fn write_bytes(&mut self, elements: &[Operand], words: &Words) -> Lowered {
        let each = 4 * words.len() / elements.len();
        let ty = if each == 1 { Type::U8 } else { Type::U16 };
        let mut parts = Vec::new();
        for element in 0..elements.len() {
            parts.push(self.extract(words, (each * element) as u64, ty)?.into_iter().collect());
        }
        self.write_all(elements, Type::U32, parts)
    }

    fn reduction_of_copies(
        &self,
        i: &Instruction,
        ty: Type,
        vector: u32,
    ) -> Result<SmallVec<[Mod; 6]>, LowerError> {
        let operation = match i.modifiers.at() {
            Some(Operation::Add) if i.modifiers.has(Word::AccF32) => self.exact_sum(),
            Some(Operation::Add) if i.modifiers.has(Word::AccF16) => Mod::HPADD,
            Some(Operation::Add) => Mod::ADD,
            Some(Operation::Min) => Mod::MIN,
            Some(Operation::Max) => Mod::MAX,
            Some(Operation::And) => Mod::AND,
            Some(Operation::Or) => Mod::OR,
            Some(Operation::Xor) => Mod::XOR,
            Some(Operation::Inc | Operation::Dec | Operation::Exch | Operation::Cas) | None => {
                return Err(self.unsupported_form(i));
            }
        };
        let of_type = match (ty, vector) {
            (Type::F32, 1) => Mod::F32,
            (Type::F32, 2) => Mod::F32x2,
            (Type::F32, _) => Mod::F32x4,
            (Type::F64, _) => Mod::F64,
            (Type::F16x2, 1) => Mod::F16x2,
            (Type::F16x2, 2) => Mod::F16x4,
            (Type::F16x2, _) => Mod::F16x8,
            (Type::BF16x2, 1) => Mod::BF16x2,
            (Type::BF16x2, 2) => Mod::BF16x4,
            (Type::BF16x2, _) => Mod::BF16x8,
            (Type::E4M3x4, 1) => Mod::E4M3x4,
            (Type::E4M3x4, 2) => Mod::E4M3x8,
            (Type::E4M3x4, _) => Mod::E4M3x16,
            (Type::E5M2x4, 1) => Mod::E5M2x4,
            (Type::E5M2x4, 2) => Mod::E5M2x8,
            (Type::E5M2x4, _) => Mod::E5M2x16,
            (Type::S32, _) => Mod::S32,
            (Type::S64, _) => Mod::S64,
            (ty, _) if ty.bits() == 64 => Mod::_64,
            _ => Mod::_32,
        };
        let rounded = ty.is_float().then_some(Mod::RN);
        let mods = [Some(Mod::E), Some(operation), Some(of_type), rounded, Some(Mod::STRONG), Some(Mod::SYS)];
        Ok(mods.into_iter().flatten().collect())
    }
}

/// True for words of four FP8 elements.
fn is_narrow(ty: Type) -> bool {
    matches!(ty, Type::E4M3x4 | Type::E5M2x4)
}
