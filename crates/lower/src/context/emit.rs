//! Emission: what the chip can encode, sources as registers and tuples, parts of words, and single instructions. No PTX
//! instruction and no PTX operand is known here.

use super::Pending;
use crate::LowerError;
use crate::context::Lower;
use crate::source::{SIGN_EXTEND_8, SIGN_EXTEND_16, Words, ZERO_EXTEND_8, ZERO_EXTEND_16, imm, is_register};
use oriole_ori::{File, Pseudo, Source, SourceKind, Value, Values};
use oriole_ptx::Type;
use oriole_sass::{Mod, Mods, Op, Operand as MachineOperand, OperandKind, form, legal};
use smallvec::SmallVec;

impl Lower<'_> {
    /// True if the chip has the opcode.
    pub fn has(&self, op: Op) -> bool {
        oriole_sass::has(self.chip, op)
    }

    /// True if the chip has a form for such an instruction.
    pub fn is_legal(&self, op: Op, mods: &Mods, operands: &[MachineOperand]) -> bool {
        form::table(self.chip).is_some_and(|forms| legal(forms, op, mods, operands).is_some())
    }

    /// True if the opcode takes these modifiers with `registers` general registers, the result included.
    pub fn takes(&self, op: Op, mods: &[Mod], registers: usize) -> bool {
        let operands = vec![MachineOperand::plain(OperandKind::Reg(0)); registers];
        self.is_legal(op, &Mods::of(mods), &operands)
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

    /// A load of a constant bank into these words, with the size in `size`.
    pub fn load_constant(&mut self, d: impl IntoIterator<Item = Value>, size: &[Mod], source: SourceKind) {
        self.b.op(Op::LDC).mods(size).to_tuple(d).from(Source::plain(source)).emit();
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

    /// Uniform registers with these words, to be side by side.
    pub fn uniform_words(&mut self, words: &[Source]) -> Values {
        let copy = |l: &mut Self, word: &Source| -> Value {
            let uniform = l.b.temporary(File::UR);
            let zero = matches!(word.kind, SourceKind::Zero(_) | SourceKind::Imm(0));
            l.b.mov(uniform, if zero { Source::plain(SourceKind::Zero(File::UR)) } else { word.clone() });
            uniform
        };
        words.iter().map(|word| copy(self, word)).collect()
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

    /// Reads an element of `ty` at a byte offset of words in registers, extended to whole words.
    pub fn extract(&mut self, words: &Words, offset: u64, ty: Type) -> Result<Vec<Source>, LowerError> {
        let first = (offset / 4) as usize;
        let count = ty.bits().div_ceil(32).max(1) as usize;
        // Data past the end is undefined, and zero here.
        let word = |index: usize| words.get(index).map_or_else(Source::rz, |&word| Source::value(word));
        if ty.bits() >= 32 {
            return Ok((first..first.saturating_add(count)).map(word).collect());
        }
        let word = word(first);
        let byte = (offset % 4) as u32;
        let selector = if ty.bits() == 16 {
            let high = byte + 1;
            let fill = if ty.is_signed() { high | 8 } else { 7 };
            fill << 12 | fill << 8 | high << 4 | byte
        } else {
            let fill = if ty.is_signed() { byte | 8 } else { 7 };
            fill << 12 | fill << 8 | fill << 4 | byte
        };
        let d = self.b.r();
        self.b.prmt(d, word, imm(selector), Source::rz());
        Ok(vec![d.into()])
    }
}
