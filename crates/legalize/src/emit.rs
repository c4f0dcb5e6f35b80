//! Instruction emitter of the expansions: each method appends one instruction and returns its fresh result, so that
//! an expansion reads like a formula. Operands go to the slots that the hardware has for them: an immediate or a
//! constant only in the second, a register elsewhere.

use oriole_ori::{BlockId, Builder, File, Opcode, Phi, Source, SourceKind, Value};
use oriole_sass::{Mod, Op};

/// A 64-bit quantity, low word first.
pub(crate) type Pair = [Value; 2];

/// The words that a path brings to a join.
pub(crate) struct Incoming<'w> {
    /// Last block of the path.
    pub from: BlockId,
    /// The words.
    pub words: &'w [Value],
}

/// Appends instructions and returns their results.
pub(crate) struct Emit<'b, 'f> {
    pub b: &'b mut Builder<'f>,
}

impl Emit<'_, '_> {
    /// Emits an operation with a one-word result.
    pub fn word(
        &mut self,
        op: impl Into<Opcode>,
        mods: &[Mod],
        sources: impl IntoIterator<Item = Source>,
    ) -> Value {
        let d = self.b.r();
        self.b.op(op).mods(mods).to(d).from_all(sources).emit();
        d
    }

    /// Two words from any operation.
    pub fn pair(
        &mut self,
        op: impl Into<Opcode>,
        mods: &[Mod],
        sources: impl IntoIterator<Item = Source>,
    ) -> Pair {
        let d = self.b.pair();
        self.b.op(op).mods(mods).to_tuple(d).from_all(sources).emit();
        d
    }

    /// Continues where two paths join, with phis of their words.
    pub fn merge(&mut self, join: BlockId, one: Incoming<'_>, other: Incoming<'_>) -> Vec<Value> {
        self.b.set_block(join);
        let merged: Vec<Value> = one.words.iter().map(|_| self.b.r()).collect();
        for (&destination, (&left, &right)) in merged.iter().zip(one.words.iter().zip(other.words)) {
            let sources = [(one.from, left.into()), (other.from, right.into())].into_iter().collect();
            self.b.function_mut().block_mut(join).phis.push(Phi { destination, sources });
        }
        merged
    }

    /// A register holding this word.
    pub fn register(&mut self, source: Source) -> Value {
        match source.as_plain_value() {
            Some(value) if self.b.function().file(value) == File::R => value,
            _ => {
                let d = self.b.r();
                self.b.mov(d, source);
                d
            }
        }
    }

    /// A word in a register-only slot: a register, `RZ`, or a copy; signs stay.
    pub fn in_register(&mut self, source: Source) -> Source {
        let is_general = |value: &Value| self.b.function().file(*value) == File::R;
        match &source.kind {
            SourceKind::Zero(_) => source,
            SourceKind::Values(values) if values.iter().all(is_general) => source,
            _ => {
                let mut plain = source.clone();
                (plain.negate, plain.invert, plain.absolute) = (false, false, false);
                let value = self.register(plain);
                let mut moved = Source::value(value);
                (moved.negate, moved.invert, moved.absolute) =
                    (source.negate, source.invert, source.absolute);
                moved
            }
        }
    }

    /// A register pair with this quantity: an immediate is sign-extended.
    pub fn pair_of(&mut self, source: &Source) -> Pair {
        let [low, high] = halves(source);
        [self.register(low), self.register(high)]
    }

    /// The constant.
    pub fn constant(&mut self, bits: u32) -> Value {
        self.register(Source::imm(bits))
    }

    /// The 64-bit constant.
    pub fn constant64(&mut self, bits: u64) -> Pair {
        [self.constant(bits as u32), self.constant((bits >> 32) as u32)]
    }

    pub fn add(&mut self, a: impl Into<Source>, b: impl Into<Source>) -> Value {
        self.word(Op::IADD3, &[], [a.into(), b.into(), Source::rz()])
    }

    pub fn and(&mut self, a: impl Into<Source>, b: impl Into<Source>) -> Value {
        self.logic(a, b, Source::rz(), 0xc0)
    }

    pub fn logic(
        &mut self,
        a: impl Into<Source>,
        b: impl Into<Source>,
        c: impl Into<Source>,
        table: u8,
    ) -> Value {
        let d = self.b.r();
        self.b.lop3(d, a, b, c, table);
        d
    }

    /// The sign of a word, spread over all bits.
    pub fn sign(&mut self, a: Value) -> Value {
        let d = self.b.r();
        self.b.sar(d, a, 31u32);
        d
    }

    pub fn mul(&mut self, a: impl Into<Source>, b: impl Into<Source>, c: impl Into<Source>) -> Value {
        self.word(Op::IMAD, &[], [a.into(), b.into(), c.into()])
    }

    pub fn select(&mut self, p: impl Into<Source>, a: impl Into<Source>, b: impl Into<Source>) -> Value {
        let d = self.b.r();
        self.b.sel(d, a, b, p);
        d
    }

    pub fn compare(
        &mut self,
        compare: Mod,
        unsigned: bool,
        a: impl Into<Source>,
        b: impl Into<Source>,
    ) -> Value {
        let p = self.b.p();
        self.b.isetp(p, compare, unsigned, a, b);
        p
    }

    pub fn compare_and(
        &mut self,
        compare: Mod,
        unsigned: bool,
        a: impl Into<Source>,
        b: impl Into<Source>,
        with: impl Into<Source>,
    ) -> Value {
        let p = self.b.p();
        self.b.isetp_and(p, compare, unsigned, a, b, with);
        p
    }

    /// `a * b + c` in f64 with this rounding.
    pub fn dfma(
        &mut self,
        rounding: &[Mod],
        a: impl Into<Source>,
        b: impl Into<Source>,
        c: impl Into<Source>,
    ) -> Pair {
        self.pair(Op::DFMA, rounding, [a.into(), b.into(), c.into()])
    }

    pub fn dmul(&mut self, a: impl Into<Source>, b: impl Into<Source>) -> Pair {
        self.pair(Op::DMUL, &[], [a.into(), b.into()])
    }

    /// An approximation function (`MUFU`) from high word to high word; the low word is zero.
    pub fn approximate_high(&mut self, function: Mod, high: impl Into<Source>) -> Pair {
        let high = self.word(Op::MUFU, &[function], [high.into()]);
        let low = self.register(Source::rz());
        [low, high]
    }
}

/// The two words of a 64-bit integer operand, signs and complement left out.
pub(crate) fn halves(source: &Source) -> [Source; 2] {
    match &source.kind {
        SourceKind::Values(values) if values.len() == 2 => {
            [Source::value(values[0]), Source::value(values[1])]
        }
        SourceKind::Zero(file) => {
            [Source::plain(SourceKind::Zero(*file)), Source::plain(SourceKind::Zero(*file))]
        }
        SourceKind::Imm(bits) => [Source::imm(*bits), Source::imm(((*bits as i32) >> 31) as u32)],
        SourceKind::Const { bank, base, offset } => {
            let word = |offset| Source::plain(SourceKind::Const { bank: *bank, base: *base, offset });
            [word(*offset), word(*offset + 4)]
        }
        other => unreachable!("a 64-bit operand is a pair, zero, an immediate or a constant, not {other:?}"),
    }
}
