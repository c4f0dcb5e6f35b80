//! PTX operands as Ori operands: single words, tuples, extensions of narrow registers, results. No arithmetic
//! instruction is chosen here beyond those for an extension.

use crate::context::{Lower, Lowered, Pending, Words};
use crate::{LowerError, immediate};
use oriole_hir::{Immediate, Operand};
use oriole_ori::{File, Pseudo, Source, SourceKind, Value};
use oriole_ptx::Type;
use oriole_sass::Op;
use smallvec::SmallVec;

/// Selector of `PRMT` that keeps the low half and clears the high one.
pub(crate) const ZERO_EXTEND_16: u32 = 0x7710;
/// Selector of `PRMT` that sign-extends the low half.
pub(crate) const SIGN_EXTEND_16: u32 = 0x9910;
/// Selector of `PRMT` that keeps the low byte and clears the others.
pub(crate) const ZERO_EXTEND_8: u32 = 0x7770;
/// Selector of `PRMT` that sign-extends the low byte.
pub(crate) const SIGN_EXTEND_8: u32 = 0x8880;

/// A 32-bit immediate, or `RZ` for zero.
pub(crate) fn imm(bits: u32) -> Source {
    if bits == 0 { Source::rz() } else { Source::imm(bits) }
}

/// True if the source is a register or `RZ`, so that it may be in any slot.
pub(crate) fn is_register(source: &Source) -> bool {
    matches!(source.kind, SourceKind::Values(_) | SourceKind::Zero(_))
}

/// The integer source with its sign flipped; an immediate is computed.
pub(crate) fn minus(source: Source) -> Source {
    match source.kind {
        SourceKind::Imm(bits) => imm(bits.wrapping_neg()),
        SourceKind::Zero(_) => source,
        _ => source.negated(),
    }
}

/// The integer source with its bits complemented; an immediate is computed.
pub(crate) fn complement(source: Source) -> Source {
    match source.kind {
        SourceKind::Imm(bits) => imm(!bits),
        SourceKind::Zero(_) => imm(!0),
        _ => source.inverted(),
    }
}

/// The floating source with its sign flipped; `sign` is the sign bit, or bits, of an immediate.
pub(crate) fn minus_float(source: Source, sign: u32) -> Source {
    match source.kind {
        SourceKind::Imm(bits) => imm(bits ^ sign),
        _ => source.negated(),
    }
}

/// The floating source without its sign; `sign` is the sign bit, or bits, of an immediate.
pub(crate) fn magnitude(source: Source, sign: u32) -> Source {
    match source.kind {
        SourceKind::Imm(bits) => imm(bits & !sign),
        _ => source.magnitude(),
    }
}

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
                self.variable_address(*variable, *offset)?.iter().map(|&v| Source::value(v)).collect()
            }
            Operand::FunctionAddress(function) => {
                self.function_address(*function)?.iter().map(|&v| Source::value(v)).collect()
            }
            Operand::Special(register) => {
                self.special_register(*register)?.iter().map(|&v| Source::value(v)).collect()
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

    /// Extends a word that holds a value of a narrower type.
    pub fn extend(&mut self, word: Source, ty: Type) -> Source {
        let selector = match (ty.bits(), ty.is_signed()) {
            (16, false) => ZERO_EXTEND_16,
            (16, true) => SIGN_EXTEND_16,
            (8, false) => ZERO_EXTEND_8,
            (8, true) => SIGN_EXTEND_8,
            _ => return word,
        };
        if !matches!(word.kind, SourceKind::Values(_)) {
            return word;
        }
        let d = self.b.r();
        self.b.prmt(d, word, selector, Source::rz());
        d.into()
    }

    /// The source in a register (or `RZ`); signs and suffixes are kept.
    pub fn in_register(&mut self, source: Source) -> Source {
        if is_register(&source) {
            return source;
        }
        let d = self.b.r();
        let plain = Source { negate: false, absolute: false, invert: false, ..source.clone() };
        self.b.mov(d, plain);
        Source { kind: Source::value(d).kind, ..source }
    }

    /// The source as a value; `RZ` and immediates are moved into one.
    pub fn value_of(&mut self, source: Source) -> Value {
        if let Some(value) = source.as_plain_value() {
            return value;
        }
        let d = self.b.r();
        self.b.mov(d, source);
        d
    }

    /// A tuple of the words in one operand; immediates and zeros are moved to registers, but a tuple of zeros is
    /// `RZ`.
    pub fn tuple(&mut self, words: impl IntoIterator<Item = Source>) -> Source {
        let words: SmallVec<[Source; 4]> = words.into_iter().collect();
        if words.iter().all(|w| matches!(w.kind, SourceKind::Zero(_))) {
            return Source::rz();
        }
        let values: Words = words.into_iter().map(|w| self.value_of(w)).collect();
        Source::values(values)
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

    /// The word above a 32-bit value: its sign, or zero.
    pub fn sign_word(&mut self, low: Source, signed: bool) -> Source {
        match low.kind {
            SourceKind::Imm(bits) if signed && bits >> 31 != 0 => imm(!0),
            SourceKind::Values(_) if signed => {
                let high = self.b.r();
                self.b.sar(high, low, 31u32);
                high.into()
            }
            _ => Source::rz(),
        }
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

    /// Writes a result into a wider register, extended by the signedness of its type.
    pub fn write_widened(&mut self, pending: Pending) {
        let target = self.register(pending.register);
        let low = self.extend(pending.words[0].into(), pending.ty);
        let mut sources: SmallVec<[Source; 4]> = SmallVec::new();
        sources.push(low.clone());
        sources.extend(pending.words[1..].iter().map(|&v| Source::value(v)));
        let top = sources[sources.len() - 1].clone();
        while sources.len() < target.len() {
            let sign = self.sign_word(top.clone(), pending.ty.is_signed());
            sources.push(sign);
        }
        for (&d, source) in target.iter().zip(sources) {
            self.b.mov(d, source);
        }
    }

    /// Emits a pseudo-operation with one destination tuple.
    pub fn pseudo(
        &mut self,
        pseudo: Pseudo,
        mods: &[oriole_sass::Mod],
        d: impl IntoIterator<Item = Value>,
        sources: impl IntoIterator<Item = Source>,
    ) {
        self.b.op(pseudo).mods(mods).to_tuple(d).from_all(sources).emit();
    }

    /// `IADD3 d, a, b, RZ`, with an immediate in a slot that takes it.
    pub fn add(&mut self, d: Value, a: Source, b: Source) {
        let (a, b) = if is_register(&a) { (a, b) } else { (b, a) };
        let a = self.in_register(a);
        self.b.iadd3(d, a, b, Source::rz());
    }

    /// A machine operation with one word as result.
    pub fn op(
        &mut self,
        op: Op,
        mods: &[oriole_sass::Mod],
        d: Value,
        sources: impl IntoIterator<Item = Source>,
    ) {
        self.b.op(op).mods(mods).to(d).from_all(sources).emit();
    }
}
