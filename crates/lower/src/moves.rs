//! `mov` in all its forms: copies, immediates, addresses, special registers, predicates, packing and unpacking.

use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::operand::imm;
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::Source;
use oriole_ptx::{SpecialRegister, Type};
use oriole_sass::Mod;
use smallvec::SmallVec;

impl Lower<'_> {
    /// `mov`.
    pub fn mov(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let (d, a) = (self.operand(i, 0)?, self.operand(i, 1)?);
        if ty == Type::Pred {
            return self.move_predicate(d, a);
        }
        if i.vector > 1 {
            let sources = a.components().iter().map(|source| self.words(source, ty));
            let sources = sources.collect::<Result<Vec<_>, _>>()?;
            return self.write_all(d.components(), ty, sources);
        }
        if let Operand::Vector(elements) = d {
            return self.unpack(elements, a, ty);
        }
        if let &Operand::VariableAddress(variable, 0) = a
            && ty.bits() == 64
            && let Some(handle) = self.handle(variable)?
        {
            return self.write(d, ty, &handle);
        }
        let words = self.words(a, ty)?;
        self.write(d, ty, &words)
    }

    fn move_predicate(&mut self, d: &Operand, a: &Operand) -> Lowered {
        let Some(d) = self.result_predicate(d)? else { return Ok(()) };
        if let Operand::Special(SpecialRegister::IsExplicitCluster) = a {
            let place =
                self.bank.explicit_cluster.ok_or_else(|| self.unsupported("`%is_explicit_cluster`"))?;
            let word = self.bank_word(place);
            self.b.isetp(d, Mod::EQ, true, word, 1u32);
            return Ok(());
        }
        let a = self.predicate(a)?;
        match a.as_plain_value() {
            Some(value) => self.b.mov(d, value),
            // The table of its first input.
            None => self.b.plop3(d, a, Source::pt(), Source::pt(), 0xf0),
        }
        Ok(())
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

    /// Packs elements of 8 or 16 bits into one word, lowest first. Bits above the last element are undefined.
    pub fn join(&mut self, mut parts: Vec<Source>, mut width: u32) -> Source {
        while parts.len() > 1 {
            let selector = if width == 8 { 0x0040u32 } else { 0x5410 };
            let mut joined = Vec::new();
            for pair in parts.chunks(2) {
                let [low, high] = pair else {
                    joined.extend(pair.iter().cloned());
                    continue;
                };
                let low = self.in_register(low.clone());
                let high = self.in_register(high.clone());
                let d = self.b.r();
                self.b.prmt(d, low, selector, high);
                joined.push(d.into());
            }
            parts = joined;
            width *= 2;
        }
        parts.pop().unwrap_or_else(Source::rz)
    }

    /// `mov` into a vector.
    fn unpack(&mut self, elements: &[Operand], a: &Operand, ty: Type) -> Lowered {
        let width = ty.bits() / elements.len().max(1) as u32;
        let words = self.words(a, ty)?;
        let parts = self.split(&words, width, elements.len())?;
        let element = match width {
            8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            _ => Type::B64,
        };
        self.write_all(elements, element, parts)
    }

    /// The parts of `width` bits of a value in words, each in words of its own; bits above a narrow part are
    /// undefined.
    pub fn split(
        &mut self,
        words: &[Source],
        width: u32,
        count: usize,
    ) -> Result<Vec<SmallVec<[Source; 4]>>, LowerError> {
        let mut parts = Vec::new();
        for index in 0..count as u32 {
            let bit = index * width;
            let first = (bit / 32) as usize;
            match width {
                32 | 64 => {
                    let count = (width / 32) as usize;
                    parts.push(words[first..first + count].iter().cloned().collect());
                }
                8 | 16 => {
                    let word = self.in_register(words[first].clone());
                    let shift = bit % 32;
                    if shift == 0 {
                        parts.push(SmallVec::from_iter([word]));
                    } else {
                        let byte = shift / 8;
                        let selector = if width == 16 { 0x7732 } else { 0x7770 | byte };
                        let d = self.b.r();
                        self.b.prmt(d, word, imm(selector), Source::rz());
                        parts.push(SmallVec::from_iter([Source::value(d)]));
                    }
                }
                _ => return Err(self.unsupported(format!("parts of {width} bits"))),
            }
        }
        Ok(parts)
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

    /// True if the operand is the integer immediate `value`.
    pub fn is_integer(operand: &Operand, value: i64) -> bool {
        matches!(operand, Operand::Immediate(Immediate::Integer(v)) if *v == value)
    }
}
