//! PTX operands as Ori operands: single words, tuples, extensions of narrow registers, results. No arithmetic
//! instruction is chosen here beyond those for an extension.

use super::{Lowered, Pending, immediate};
use crate::context::Lower;
use crate::source::{Words, imm};
use crate::{LowerError, names};
use oriole_hir::{Immediate, Operand};
use oriole_ori::{File, Source, SourceKind, Value};
use oriole_ptx::Type;
use smallvec::SmallVec;

impl Lower<'_> {
    /// The operand with this index.
    pub fn operand<'i>(
        &self,
        instruction: &'i oriole_hir::Instruction,
        index: usize,
    ) -> Result<&'i Operand, LowerError> {
        instruction.operands.get(index).ok_or_else(|| {
            self.unsupported(format!(
                "`{}` with {} operands",
                instruction.opcode.name(),
                instruction.operands.len()
            ))
        })
    }

    /// The type with this index.
    pub fn ty(&self, instruction: &oriole_hir::Instruction, index: usize) -> Result<Type, LowerError> {
        instruction
            .types
            .get(index)
            .copied()
            .ok_or_else(|| self.unsupported(format!("`{}` without a type", instruction.opcode.name())))
    }

    /// An error for a form of an instruction that is not supported.
    pub fn unsupported_form(&self, instruction: &oriole_hir::Instruction) -> LowerError {
        let mut name = instruction.opcode.name().to_string();
        for modifier in instruction.modifiers.iter() {
            name.push('.');
            name.push_str(modifier.name());
        }
        if let Some(space) = instruction.space
            && !space.name().is_empty()
        {
            name.push('.');
            name.push_str(space.name());
        }
        if instruction.vector > 1 {
            name.push_str(&format!(".v{}", instruction.vector));
        }
        for ty in &instruction.types {
            name.push('.');
            name.push_str(ty.name());
        }
        self.unsupported(format!("`{name}` is not supported"))
    }

    /// The words of a source operand of this type, lowest first. Words that a narrower register lacks are zero.
    pub fn words(&mut self, operand: &Operand, ty: Type) -> Result<SmallVec<[Source; 4]>, LowerError> {
        let count = ty.bits().div_ceil(32).max(1) as usize;
        let mut words: SmallVec<[Source; 4]> = match operand {
            Operand::Register(id) => self.register(*id).iter().map(|&v| Source::value(v)).collect(),
            Operand::Immediate(value) => {
                let bits = if ty.is_float() {
                    immediate::bits(*value, ty)
                } else {
                    immediate::extended(*value, ty) as u64
                };
                SmallVec::from_iter([imm(bits as u32), imm((bits >> 32) as u32)])
            }
            Operand::VariableAddress(variable, offset) => {
                names::variable_address(self, *variable, *offset)?.iter().map(|&v| Source::value(v)).collect()
            }
            Operand::FunctionAddress(function) => {
                names::function_address(self, *function)?.iter().map(|&v| Source::value(v)).collect()
            }
            Operand::Special(register) => {
                names::special_register(self, *register)?.iter().map(|&v| Source::value(v)).collect()
            }
            Operand::Vector(elements) => self.packed(elements, ty)?,
            other => return Err(self.unsupported(format!("this operand cannot be read: {other:?}"))),
        };
        words.truncate(count);
        while words.len() < count {
            words.push(Source::rz());
        }
        Ok(words)
    }

    /// The low word of a source operand of this type. Bits above a narrow type are undefined for a register; an
    /// immediate is extended by the signedness of the type.
    pub fn word(&mut self, operand: &Operand, ty: Type) -> Result<Source, LowerError> {
        Ok(self.words(operand, ty)?.swap_remove(0))
    }

    /// The low word of a source operand, extended to 32 bits if the type is narrower.
    pub fn extended(&mut self, operand: &Operand, ty: Type) -> Result<Source, LowerError> {
        let word = self.word(operand, ty)?;
        Ok(self.extend(word, ty))
    }

    /// A tuple operand of this type.
    pub fn pair(&mut self, operand: &Operand, ty: Type) -> Result<Source, LowerError> {
        let words = self.words(operand, ty)?;
        Ok(self.tuple(words))
    }

    /// A 64-bit operand sign- or zero-extended from a 32-bit or narrower type.
    pub fn widened(&mut self, operand: &Operand, ty: Type) -> Result<Source, LowerError> {
        if ty.bits() == 64 {
            return self.pair(operand, ty);
        }
        let low = self.extended(operand, ty)?;
        let high = self.sign_word(low.clone(), ty.is_signed());
        Ok(self.tuple([low, high]))
    }

    /// An f64 operand: a register pair, or an immediate where the low word is zero and the slot takes one.
    pub fn double(&mut self, operand: &Operand, immediate_allowed: bool) -> Result<Source, LowerError> {
        let words = self.words(operand, Type::F64)?;
        if let (SourceKind::Zero(_), SourceKind::Imm(high)) = (&words[0].kind, &words[1].kind)
            && immediate_allowed
        {
            return Ok(Source::imm(*high));
        }
        Ok(self.tuple(words))
    }

    /// A predicate operand: a register, its negation, or a constant.
    pub fn predicate(&mut self, operand: &Operand) -> Result<Source, LowerError> {
        match operand {
            Operand::Register(id) => Ok(Source::value(self.register(*id)[0])),
            Operand::NotRegister(id) => Ok(Source::value(self.register(*id)[0]).inverted()),
            Operand::Immediate(Immediate::Integer(0)) => Ok(Source::not_pt()),
            Operand::Immediate(Immediate::Integer(_)) => Ok(Source::pt()),
            other => Err(self.unsupported(format!("this operand is no predicate: {other:?}"))),
        }
    }

    /// The words of a vector of elements that together are one value of type `ty`, lowest first.
    pub fn packed(&mut self, elements: &[Operand], ty: Type) -> Result<SmallVec<[Source; 4]>, LowerError> {
        let width = ty.bits() / elements.len().max(1) as u32;
        let element = match width {
            8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            64 => Type::B64,
            _ => return Err(self.unsupported(format!("a vector of {} in `.{}`", elements.len(), ty.name()))),
        };
        let mut words = SmallVec::new();
        if width >= 32 {
            for e in elements {
                words.extend(self.words(e, element)?);
            }
            return Ok(words);
        }
        let per_word = (32 / width) as usize;
        for group in elements.chunks(per_word) {
            let parts = group.iter().map(|e| self.word(e, element)).collect::<Result<Vec<_>, _>>()?;
            words.push(self.join(parts, width));
        }
        Ok(words)
    }

    /// The elements of a vector operand, or the operand itself.
    pub fn elements(&self, operand: &Operand) -> Vec<Operand> {
        match operand {
            Operand::Vector(elements) => elements.clone(),
            other => vec![other.clone()],
        }
    }

    /// The words of the elements, if each is a register of exactly this size and no word is repeated.
    pub fn direct_words(&mut self, elements: &[Operand], ty: Type) -> Option<Words> {
        let mut words = Words::new();
        for element in elements {
            let Operand::Register(id) = element else { return None };
            let declared = self.body.registers[*id].ty;
            let own = self.register(*id);
            if declared.bits() > ty.bits() || own.len() != ty.bits().div_ceil(32) as usize {
                return None;
            }
            if own.iter().any(|v| words.contains(v)) {
                return None;
            }
            words.extend(own);
        }
        Some(words)
    }

    /// The destination of a result of this type. If the register has exactly these words, they are returned; else
    /// temporaries, which are widened into the register when the statement ends.
    pub fn result(&mut self, operand: &Operand, ty: Type) -> Result<Words, LowerError> {
        let count = if ty == Type::Pred { 1 } else { ty.bits().div_ceil(32).max(1) as usize };
        let file = if ty == Type::Pred { File::P } else { File::R };
        match operand {
            Operand::Register(id) => {
                let declared = self.body.registers[*id].ty;
                let words = self.register(*id);
                let fits = words.len() == count && declared.bits() == ty.bits();
                // A narrow result in a wider register of one word must be extended as well.
                if fits
                    || (ty == Type::Pred) == (declared == Type::Pred)
                        && declared.bits() <= ty.bits()
                        && words.len() == count
                {
                    return Ok(words);
                }
                let temporaries: Words = (0..count).map(|_| self.b.temporary(file)).collect();
                self.pending.push(Pending { register: *id, ty, words: temporaries.clone() });
                Ok(temporaries)
            }
            Operand::Sink => Ok((0..count).map(|_| self.b.temporary(file)).collect()),
            other => Err(self.unsupported(format!("this operand cannot be written: {other:?}"))),
        }
    }

    /// The destination of a one-word result.
    pub fn result_word(&mut self, operand: &Operand, ty: Type) -> Result<Value, LowerError> {
        Ok(self.result(operand, ty)?[0])
    }

    /// The destination of a two-word result.
    pub fn result_pair(&mut self, operand: &Operand, ty: Type) -> Result<[Value; 2], LowerError> {
        let words = self.result(operand, ty)?;
        match words[..] {
            [low, high] => Ok([low, high]),
            _ => Err(self.unsupported("a 64-bit result in a narrow register")),
        }
    }

    /// Destination of a predicate result; `None` for `_`.
    pub fn result_predicate(&mut self, operand: &Operand) -> Result<Option<Value>, LowerError> {
        match operand {
            Operand::Register(id) if self.body.registers[*id].ty == Type::Pred => {
                Ok(Some(self.register(*id)[0]))
            }
            Operand::Sink => Ok(None),
            other => Err(self.unsupported(format!("this operand is no predicate: {other:?}"))),
        }
    }

    /// Copies words into a destination operand, at once: all sources are read before the first word is written.
    pub fn write(&mut self, operand: &Operand, ty: Type, words: &[Source]) -> Lowered {
        let destination = self.result(operand, ty)?;
        let mut sources: SmallVec<[Source; 4]> = words.iter().cloned().collect();
        for i in 1..sources.len() {
            // A word that an earlier write of this list overwrites is copied first.
            if let Some(value) = sources[i].as_plain_value()
                && destination[..i.min(destination.len())].contains(&value)
            {
                let saved = self.b.r();
                self.b.mov(saved, value);
                sources[i] = saved.into();
            }
        }
        for (&d, source) in destination.iter().zip(sources) {
            if source.as_plain_value() != Some(d) {
                self.b.mov(d, source);
            }
        }
        Ok(())
    }

    /// Writes the elements of a vector, all sources being read first.
    pub fn write_all(
        &mut self,
        elements: &[Operand],
        ty: Type,
        parts: Vec<SmallVec<[Source; 4]>>,
    ) -> Lowered {
        // A register that one element overwrites may be a source of a later one.
        let mut written: Vec<oriole_ori::Value> = Vec::new();
        let mut safe = Vec::new();
        for (element, part) in elements.iter().zip(parts) {
            let part: SmallVec<[Source; 4]> = part
                .into_iter()
                .map(|source| match source.as_plain_value() {
                    Some(value) if written.contains(&value) => {
                        let saved = self.b.r();
                        self.b.mov(saved, value);
                        saved.into()
                    }
                    _ => source,
                })
                .collect();
            if let Operand::Register(id) = element {
                written.extend(self.register(*id));
            }
            safe.push((element, part));
        }
        for (element, part) in safe {
            if *element != Operand::Sink {
                self.write(element, ty, &part)?;
            }
        }
        Ok(())
    }
}
