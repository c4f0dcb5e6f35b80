//! 64-bit integer operations as 32-bit ones. Each writes its last results to the given values.

use crate::emit::{Emit, Pair, halves};
use oriole_ori::{File, Pseudo, Source, Value};
use oriole_sass::{Mod, Mods, Op};

impl Emit<'_, '_> {
    /// Copies a word, unless it already is the wanted value.
    pub fn deliver(&mut self, out: Value, source: impl Into<Source>) {
        let source = source.into();
        if source.as_plain_value() != Some(out) {
            self.b.mov(out, source);
        }
    }

    /// 64-bit add; a negated source is subtracted: complement and carry.
    pub fn add64(&mut self, out: Pair, a: &Source, b: &Source) {
        let (mut a, mut b) = (a.clone(), b.clone());
        if a.negate && b.negate {
            // One negation at a time: two would need two carries.
            let negative = self.b.pair();
            self.add64(negative, &Source::rz(), &a);
            a = negative.into();
        }
        if a.negate {
            std::mem::swap(&mut a, &mut b);
        }
        // An operand that is not a general register goes second, if it is not there already.
        let general = |e: &Self, s: &Source| {
            let mut general = true;
            s.for_each_value(|v| general &= e.b.function().file(v) == File::R);
            general && matches!(s.kind, oriole_ori::SourceKind::Values(_))
        };
        if !b.negate && !general(self, &a) && general(self, &b) {
            std::mem::swap(&mut a, &mut b);
        }
        let ([a_low, a_high], [b_low, b_high]) = (halves(&a), halves(&b));
        let sign = |source: Source, low: bool| match (b.negate, low) {
            (false, _) => source,
            (true, true) => source.negated(),
            (true, false) => source.inverted(),
        };
        // Only the second slot takes an operand that is not a register; a negated immediate would change the carry.
        let immediate = |s: &Source| matches!(s.kind, oriole_ori::SourceKind::Imm(_));
        let second = |e: &mut Self, s: Source| if b.negate && immediate(&s) { e.in_register(s) } else { s };
        let (a_low, a_high) = (self.in_register(a_low), self.in_register(a_high));
        let (b_low, b_high) = (second(self, b_low), second(self, b_high));
        let carry = self.b.p();
        self.b.add_carry_out(Some(out[0]), carry, a_low, sign(b_low, true));
        self.b.add_carry_in(out[1], a_high, sign(b_high, false), carry);
    }

    /// Low half of the product: `a.low * b.low` in full, the cross products into its high word.
    pub fn mul64(&mut self, out: Pair, a: &Source, b: &Source) {
        let (a, b) = (self.pair_of(a), self.pair_of(b));
        let cross = self.mul(a[1], b[0], Source::rz());
        let cross = self.mul(a[0], b[1], cross);
        let high = self.b.r();
        self.b.imad_wide([out[0], high], true, a[0], b[0], Source::rz());
        self.b.iadd3(out[1], high, cross, Source::rz());
    }

    /// High half of the unsigned product: the four partial products with their carries.
    pub fn mul_high_unsigned(&mut self, out: Pair, a: Pair, b: Pair) {
        let first = self.pair(Op::IMAD, &[Mod::WIDE, Mod::U32], [a[1].into(), b[0].into(), Source::rz()]);
        let lowest = self.pair(Op::IMAD, &[Mod::WIDE, Mod::U32], [a[0].into(), b[0].into(), Source::rz()]);
        let middle = self.b.pair();
        let carry = self.b.p();
        self.b
            .op(Op::IMAD)
            .mods(&[Mod::WIDE, Mod::U32])
            .to_tuple(middle)
            .to(carry)
            .from(a[0])
            .from(b[1])
            .from(first)
            .emit();
        let low_carry = self.b.p();
        self.b.add_carry_out(None, low_carry, lowest[1], middle[0]);
        // Adds instead of the addend of the last multiply: that would be a pair of words from different instructions.
        let highest = self.pair(Op::IMAD, &[Mod::WIDE, Mod::U32], [a[1].into(), b[1].into(), Source::rz()]);
        let last_carry = self.b.p();
        let sum = self.b.op(Op::IADD3).mods(&[Mod::X]).to(out[0]).to(last_carry);
        sum.from(highest[0]).from(middle[1]).from(Source::rz()).from(low_carry).from(Source::not_pt()).emit();
        // The carry of the middle add counts in the highest word.
        let sum = self.b.op(Op::IADD3).mods(&[Mod::X]).to(out[1]);
        sum.from(highest[1]).from(Source::rz()).from(Source::rz()).from(last_carry).from(carry).emit();
    }

    /// High half of the signed product: the unsigned one less each factor where the other is negative.
    pub fn mul_high_signed(&mut self, out: Pair, a: Pair, b: Pair) {
        let unsigned = self.b.pair();
        self.mul_high_unsigned(unsigned, a, b);
        let masked = |e: &mut Self, value: Pair, by: Pair| {
            let sign = e.sign(by[1]);
            [e.and(value[0], sign), e.and(value[1], sign)]
        };
        let less_b = masked(self, b, a);
        let less_a = masked(self, a, b);
        let partial = self.b.pair();
        self.add64(partial, &unsigned.into(), &Source::from(less_b).negated());
        self.add64(out, &partial.into(), &Source::from(less_a).negated());
    }

    /// Shift left; the hardware clamps the amount.
    pub fn shl64(&mut self, out: Pair, a: &Source, amount: &Source) {
        let a = self.pair_of(a);
        self.b.shf(out[1], &[Mod::L, Mod::U64, Mod::HI], a[0], amount.clone(), a[1]);
        self.b.shf(out[0], &[Mod::L, Mod::U32], a[0], amount.clone(), Source::rz());
    }

    /// Shift right; the hardware clamps the amount.
    pub fn shr64(&mut self, out: Pair, signed: bool, a: &Source, amount: &Source) {
        let a = self.pair_of(a);
        let (both, word) = if signed { (Mod::S64, Mod::S32) } else { (Mod::U64, Mod::U32) };
        self.b.shf(out[0], &[Mod::R, both], a[0], amount.clone(), a[1]);
        self.b.shf(out[1], &[Mod::R, word, Mod::HI], Source::rz(), amount.clone(), a[1]);
    }

    /// Comparison: low words unsigned, then high words where they decide.
    pub fn compare64(&mut self, out: Value, compare: Mod, unsigned: bool, a: &Source, b: &Source) {
        let ([a_low, a_high], [b_low, b_high]) = (halves(a), halves(b));
        let (a_low, a_high) = (self.in_register(a_low), self.in_register(a_high));
        let low = self.compare(compare, true, a_low, b_low);
        self.b.isetp_ex(out, compare, unsigned, a_high, b_high, low);
    }

    /// Word by word selection.
    pub fn choose64(&mut self, out: Pair, a: &Source, b: &Source, p: &Source) {
        for (out, (a, b)) in out.into_iter().zip(halves(a).into_iter().zip(halves(b))) {
            let a = self.in_register(a);
            self.b.sel(out, a, b, p.clone());
        }
    }

    /// Word by word logic. Complements of sources go into the table.
    pub fn logic64(&mut self, out: Pair, sources: [&Source; 3], table: u8) {
        let mut table = table;
        for (place, source) in sources.iter().enumerate() {
            if source.invert {
                table = complement_input(table, 4 >> place);
            }
        }
        let [a, b, c] = sources.map(halves);
        for word in 0..2 {
            let a = self.in_register(a[word].clone());
            let c = self.in_register(c[word].clone());
            self.b.lop3(out[word], a, b[word].clone(), c, table);
        }
    }

    /// Expands one pseudo-operation into `out`; false if it is not one of the 64-bit integer operations.
    pub fn expand_wide(&mut self, op: Pseudo, mods: &Mods, sources: &[Source], out: &[Value]) -> bool {
        let pair = || [out[0], out[1]];
        let signed = mods.has(Mod::S64);
        match op {
            Pseudo::Add64 => self.add64(pair(), &sources[0], &sources[1]),
            Pseudo::Mul64 => self.mul64(pair(), &sources[0], &sources[1]),
            Pseudo::MulHi64 => {
                let (a, b) = (self.pair_of(&sources[0]), self.pair_of(&sources[1]));
                if signed {
                    self.mul_high_signed(pair(), a, b);
                } else {
                    self.mul_high_unsigned(pair(), a, b);
                }
            }
            Pseudo::Shl64 => self.shl64(pair(), &sources[0], &sources[1]),
            Pseudo::Shr64 => self.shr64(pair(), signed, &sources[0], &sources[1]),
            Pseudo::SetPredicate64 => {
                let unsigned = mods.has(Mod::U64);
                self.compare64(out[0], comparison(mods), unsigned, &sources[0], &sources[1]);
            }
            Pseudo::Select64 => self.choose64(pair(), &sources[0], &sources[1], &sources[2]),
            Pseudo::Logic64 => {
                let table = match sources[3].kind {
                    oriole_ori::SourceKind::Literal(table) => table as u8,
                    oriole_ori::SourceKind::Imm(table) => table as u8,
                    ref other => unreachable!("the table of a logic operation is a literal, not {other:?}"),
                };
                self.logic64(pair(), [&sources[0], &sources[1], &sources[2]], table);
            }
            Pseudo::Min64 | Pseudo::Max64 => {
                let compare = if op == Pseudo::Min64 { Mod::LT } else { Mod::GT };
                let first = self.b.temporary(File::P);
                self.compare64(first, compare, !signed, &sources[0], &sources[1]);
                self.choose64(pair(), &sources[0], &sources[1], &first.into());
            }
            _ => return false,
        }
        true
    }
}

/// The comparison among the modifiers.
pub(crate) fn comparison(mods: &Mods) -> Mod {
    let known = [Mod::LT, Mod::LE, Mod::GT, Mod::GE, Mod::EQ, Mod::NE];
    known.into_iter().find(|&m| mods.has(m)).unwrap_or(Mod::EQ)
}

/// The table with one input (4, 2 or 1 for the first, second, third) complemented.
fn complement_input(table: u8, input: usize) -> u8 {
    (0..8).filter(|entry| table & (1 << (entry ^ input)) != 0).fold(0, |out, entry| out | 1 << entry)
}
