//! Facts about values: a constant, a constant-bank word, the address of a variable, another equal value, and counts
//! of leading zero bits, sign bits and trailing zero bits.
//!
//! It is here because copy propagation, folding and algebra share the facts. A fact depends on the defining
//! instruction alone, so a walk in RPO has the facts of everything before.

use crate::analyses::definitions::Definitions;
use crate::analyses::slots::is_plain_permutation;
use crate::rewriting::fold;
use oriole_ori::{
    AddressPart, ConstBase, Destination, File, Function, Instruction, Opcode, Phi, PhiSource, Pseudo, Source,
    SourceKind, SymbolId, Value,
};
use oriole_sass::{Mod, Op, Symbol};
use smallvec::SmallVec;
use typed_index_collections::{TiVec, ti_vec};

/// Known content of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fact {
    /// Nothing.
    #[default]
    Unknown,
    /// These bits; 0 or 1 for a predicate.
    Word(u32),
    /// This word of a constant bank, which does not change while the kernel runs.
    Bank {
        /// Bank number.
        bank: u8,
        /// Base of the offset.
        base: ConstBase,
        /// Offset in bytes.
        offset: i32,
    },
    /// One word of the address of a variable.
    Address {
        /// The variable.
        symbol: SymbolId,
        /// The word of the address.
        part: AddressPart,
        /// Offset in bytes.
        offset: i32,
    },
    /// Equal to another value (of a predicate: or its complement).
    Same {
        /// The other value.
        value: Value,
        /// True for the contrary of a predicate.
        invert: bool,
    },
}

/// Leading and trailing bits of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// Lower bound of the leading zero bits.
    pub zeros: u8,
    /// Lower bound of the equal leading bits; 1 means unknown.
    pub signs: u8,
    /// Lower bound of the trailing zero bits.
    pub trailing: u8,
}

impl Bits {
    /// Nothing is known.
    pub const UNKNOWN: Bits = Bits { zeros: 0, signs: 1, trailing: 0 };

    /// Bits of a known word.
    #[inline]
    pub fn of(word: u32) -> Bits {
        Bits {
            zeros: word.leading_zeros() as u8,
            signs: word.leading_zeros().max(word.leading_ones()) as u8,
            trailing: word.trailing_zeros() as u8,
        }
    }

    fn zeros(zeros: u32) -> Bits {
        let zeros = zeros.min(32) as u8;
        Bits { zeros, signs: zeros.max(1), trailing: if zeros == 32 { 32 } else { 0 } }
    }

    fn signs(signs: u32) -> Bits {
        Bits { zeros: 0, signs: signs.clamp(1, 32) as u8, trailing: 0 }
    }

    /// Bits of a value that is one of two.
    fn either(self, other: Bits) -> Bits {
        Bits {
            zeros: self.zeros.min(other.zeros),
            signs: self.signs.min(other.signs),
            trailing: self.trailing.min(other.trailing),
        }
    }

    fn with_trailing(self, trailing: u8) -> Bits {
        Bits { trailing, ..self }
    }

    /// The bits that are known to be zero.
    pub fn known_zeros(self) -> u32 {
        let below = |count: u8| u32::MAX.checked_shr(32 - u32::from(count)).unwrap_or(0);
        below(self.trailing) | !below(32 - self.zeros)
    }
}

/// Result of evaluating an instruction with the current facts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Evaluation {
    /// The instruction as it is was not evaluated.
    NotMade,
    /// Its results are not known.
    Unknown,
}

/// The facts of one function.
pub struct ValueFacts {
    facts: TiVec<Value, Fact>,
    bits: TiVec<Value, Bits>,
    /// Trailing zero bits of the addresses of variables.
    alignments: TiVec<SymbolId, u8>,
    /// Some f32 value is an add of `-0`.
    signed_singles: bool,
}

/// Facts about all values of a function.
pub fn known(function: &Function) -> ValueFacts {
    let definitions = Definitions::in_ssa(function);
    let mut facts = ValueFacts::new(function);
    for &id in function.graph().cfg().order() {
        let block = function.block(id);
        for phi in &block.phis {
            facts.learn_phi(&definitions, phi);
        }
        for instruction in &block.instructions {
            facts.learn(function, &definitions, instruction, Evaluation::NotMade);
        }
    }
    facts
}

impl ValueFacts {
    /// No facts yet of the values of a function.
    pub fn new(function: &Function) -> ValueFacts {
        let count = function.values.len();
        ValueFacts {
            facts: ti_vec![Fact::Unknown; count],
            bits: ti_vec![Bits::UNKNOWN; count],
            alignments: function.symbols.iter().map(|symbol| symbol.align.trailing_zeros() as u8).collect(),
            signed_singles: false,
        }
    }

    /// False if no instruction seen so far applies a sign to an f32 value, see [`is_signed_single`].
    #[inline]
    pub fn has_signed_singles(&self) -> bool {
        self.signed_singles
    }

    /// Facts about the results of an instruction.
    pub fn of_results(&self, instruction: &Instruction) -> SmallVec<[(Fact, Bits); 2]> {
        let mut results = SmallVec::new();
        instruction.for_each_definition(|value| results.push((self.of(value), self.bits(value))));
        results
    }

    /// Trailing zero bits of the address of a variable.
    pub fn alignment(&self, symbol: SymbolId) -> u8 {
        self.alignments.get(symbol).copied().unwrap_or(0)
    }

    /// The fact about a value.
    #[inline]
    pub fn of(&self, value: Value) -> Fact {
        self.facts.get(value).copied().unwrap_or_default()
    }

    /// The word that the value is.
    #[inline]
    pub fn word(&self, value: Value) -> Option<u32> {
        match self.of(value) {
            Fact::Word(bits) => Some(bits),
            _ => None,
        }
    }

    /// Leading bits of a value.
    #[inline]
    pub fn bits(&self, value: Value) -> Bits {
        match self.of(value) {
            Fact::Word(bits) => Bits::of(bits),
            Fact::Same { value, invert: false } => self.bits.get(value).copied().unwrap_or(Bits::UNKNOWN),
            Fact::Address { symbol, part: AddressPart::Low, offset } => self.address_bits(symbol, offset),
            _ => self.bits.get(value).copied().unwrap_or(Bits::UNKNOWN),
        }
    }

    /// Bits of the lower word of an address.
    fn address_bits(&self, symbol: SymbolId, offset: i32) -> Bits {
        Bits::UNKNOWN.with_trailing(self.alignment(symbol).min(offset.trailing_zeros() as u8))
    }

    /// Leading bits of a plain one-word source.
    pub fn source_bits(&self, source: &Source) -> Bits {
        if source.negate || source.invert || source.absolute || !source.suffixes.is_empty() {
            return Bits::UNKNOWN;
        }
        self.kind_bits(&source.kind)
    }

    /// Bits of a source kind, without sign modifiers.
    fn kind_bits(&self, kind: &SourceKind) -> Bits {
        match kind {
            SourceKind::Values(values) if values.len() == 1 => self.bits(values[0]),
            SourceKind::Imm(bits) => Bits::of(*bits),
            SourceKind::Zero(_) => Bits::of(0),
            SourceKind::Address32 { symbol, part: AddressPart::Low, offset } => {
                self.address_bits(*symbol, *offset)
            }
            _ => Bits::UNKNOWN,
        }
    }

    /// The raw bits of a source: a register, a pair, an immediate, a predicate; signs are not applied.
    pub fn source_word(&self, source: &Source) -> Option<u64> {
        match &source.kind {
            SourceKind::Imm(bits) => Some((*bits).into()),
            SourceKind::Literal(number) => Some(*number as u64),
            SourceKind::Zero(_) => Some(0),
            SourceKind::True(_) => Some(1),
            SourceKind::Values(values) if values.len() <= 2 => {
                let mut word = 0u64;
                for (index, &value) in values.iter().enumerate() {
                    word |= u64::from(self.word(value)?) << (32 * index);
                }
                Some(word)
            }
            _ => None,
        }
    }

    /// The bits of a 64-bit integer operand. The width of an immediate there is ambiguous, so it is unknown.
    pub fn source_long(&self, source: &Source) -> Option<u64> {
        match source.kind {
            SourceKind::Imm(0) => Some(0),
            SourceKind::Imm(_) => None,
            _ => self.source_word(source),
        }
    }

    /// Notes a fact; true if it is new.
    fn note(&mut self, definitions: &Definitions, value: Value, fact: Fact) -> bool {
        if !definitions.is_stable(value) || fact == Fact::Unknown || self.of(value) == fact {
            return false;
        }
        self.facts[value] = fact;
        true
    }

    /// The fact for a copy of a stable value.
    pub fn copied(&self, definitions: &Definitions, value: Value) -> Fact {
        match self.of(value) {
            Fact::Unknown if definitions.is_stable(value) => Fact::Same { value, invert: false },
            fact => fact,
        }
    }

    /// The fact that a plain source of one word, or a predicate, is.
    pub fn of_source(&self, definitions: &Definitions, source: &Source) -> Fact {
        if source.negate || source.absolute || !source.suffixes.is_empty() || source.fixed.is_some() {
            return Fact::Unknown;
        }
        let fact = match &source.kind {
            SourceKind::Values(values) if values.len() == 1 => self.copied(definitions, values[0]),
            SourceKind::Imm(bits) => Fact::Word(*bits),
            SourceKind::Zero(_) => Fact::Word(0),
            SourceKind::True(_) => Fact::Word(1),
            SourceKind::Const { bank, base, offset } => {
                Fact::Bank { bank: *bank, base: *base, offset: *offset }
            }
            SourceKind::Address32 { symbol, part, offset } => {
                Fact::Address { symbol: *symbol, part: *part, offset: *offset }
            }
            _ => Fact::Unknown,
        };
        match (source.invert, fact) {
            (false, fact) => fact,
            (true, Fact::Same { value, invert }) => Fact::Same { value, invert: !invert },
            _ => Fact::Unknown,
        }
    }

    /// Learns from a phi; true if there is a new fact.
    pub fn learn_phi(&mut self, definitions: &Definitions, phi: &Phi) -> bool {
        let mut common: Option<Fact> = None;
        let mut bits: Option<Bits> = None;
        for (_, source) in &phi.sources {
            // A loop-carried source that is the phi itself adds nothing.
            if source.value() == Some(phi.destination) {
                continue;
            }
            let (of_this, fact) = match *source {
                PhiSource::Value(value) => (self.bits(value), self.copied(definitions, value)),
                PhiSource::Imm(bits) => (Bits::of(bits), Fact::Word(bits)),
                PhiSource::Zero(_) => (Bits::of(0), Fact::Word(0)),
                PhiSource::True(_) => (Bits::UNKNOWN, Fact::Word(1)),
                PhiSource::False(_) => (Bits::UNKNOWN, Fact::Word(0)),
            };
            bits = Some(bits.map_or(of_this, |bits| bits.either(of_this)));
            if let Fact::Same { value, .. } = fact
                && value == phi.destination
            {
                continue;
            }
            match common {
                None => common = Some(fact),
                Some(known) if known == fact => {}
                Some(_) => common = Some(Fact::Unknown),
            }
        }
        if let Some(bits) = bits
            && definitions.is_stable(phi.destination)
        {
            self.bits[phi.destination] = bits;
        }
        match common {
            // Banks and addresses would have to be loaded at the phi.
            Some(fact @ (Fact::Word(_) | Fact::Same { .. })) => self.note(definitions, phi.destination, fact),
            _ => false,
        }
    }

    /// Learns from an instruction; true if there is a new fact. `results` holds its evaluation, if there was one.
    pub fn learn(
        &mut self,
        function: &Function,
        definitions: &Definitions,
        instruction: &Instruction,
        results: Evaluation,
    ) -> bool {
        if instruction.guard.is_some() {
            return false;
        }
        self.signed_singles |= is_signed_single(instruction);
        let mut new = false;
        let evaluated = match results {
            Evaluation::NotMade => fold::evaluate(instruction, &|source| self.source_word(source)),
            Evaluation::Unknown => None,
        };
        if let Some(results) = evaluated {
            for (destination, result) in instruction.destinations.iter().zip(results) {
                for (index, &value) in destination.values.iter().enumerate() {
                    let word = match destination.file {
                        File::P | File::UP => (result & 1) as u32,
                        File::R | File::UR => (result >> (32 * index)) as u32,
                        File::B => continue,
                    };
                    new |= self.note(definitions, value, Fact::Word(word));
                }
            }
            return new;
        }
        new |= self.learn_copies(function, definitions, instruction);
        if let [destination] = instruction.destinations.as_slice()
            && destination.file == File::R
        {
            let bits = self.result_bits(instruction);
            for &value in destination.values.iter().take(1) {
                if definitions.is_stable(value) {
                    self.bits[value] = bits;
                }
                if bits.zeros == 32 {
                    new |= self.note(definitions, value, Fact::Word(0));
                }
            }
        }
        new
    }

    fn learn_copies(
        &mut self,
        function: &Function,
        definitions: &Definitions,
        instruction: &Instruction,
    ) -> bool {
        let [destination] = instruction.destinations.as_slice() else {
            return match instruction.opcode {
                Opcode::Sass(Op::PLOP3) => self.learn_predicate(definitions, instruction),
                Opcode::Sass(Op::IADD3) => self.learn_carry(definitions, instruction),
                _ => false,
            };
        };
        if destination.values.is_empty() || destination.fixed.is_some() {
            return false;
        }
        let Some(facts) = self.result_words(function, definitions, instruction, destination) else {
            return false;
        };
        let mut new = false;
        for (&value, fact) in destination.values.iter().zip(facts) {
            new |= self.note(definitions, value, fact);
        }
        new
    }

    /// The facts for the one or two words of a result.
    fn result_words(
        &self,
        function: &Function,
        definitions: &Definitions,
        instruction: &Instruction,
        destination: &Destination,
    ) -> Option<[Fact; 2]> {
        let values = &destination.values;
        let pair = |index: usize| self.pair(definitions, &instruction.sources[index]);
        Some(match instruction.opcode {
            Opcode::Pseudo(Pseudo::Copy) | Opcode::Sass(Op::MOV)
                if values.len() == 1 && instruction.sources.len() == 1 =>
            {
                let fact = self.of_source(definitions, &instruction.sources[0]);
                // A general register may copy a uniform one, but the uniform one cannot replace it everywhere.
                match fact {
                    Fact::Same { value, .. } if function.file(value) != destination.file => return None,
                    // A constant or address belongs to the general file; other files load it differently.
                    Fact::Bank { .. } | Fact::Address { .. } if destination.file != File::R => return None,
                    fact => [fact, Fact::Unknown],
                }
            }
            Opcode::Sass(Op::LDC) if is_plain_constant_load(instruction) => {
                let SourceKind::Const { bank, base, offset } = instruction.sources[0].kind else {
                    return None;
                };
                let word = |index: i32| Fact::Bank { bank, base, offset: offset + 4 * index };
                [word(0), word(1)]
            }
            Opcode::Pseudo(Pseudo::Add64) if values.len() == 2 => {
                let is_zero = |index: usize| self.source_long(&instruction.sources[index]) == Some(0);
                if is_zero(0) {
                    pair(1)
                } else if is_zero(1) {
                    pair(0)
                } else {
                    return None;
                }
            }
            Opcode::Pseudo(Pseudo::Shl64 | Pseudo::Shr64) if values.len() == 2 => {
                let left = instruction.opcode == Opcode::Pseudo(Pseudo::Shl64);
                let signed = instruction.mods.has(Mod::S64);
                match self.source_word(&instruction.sources[1]) {
                    Some(0) => pair(0),
                    Some(32) if left => [Fact::Word(0), pair(0)[0]],
                    Some(32) if !signed => [pair(0)[1], Fact::Word(0)],
                    _ => return None,
                }
            }
            Opcode::Pseudo(Pseudo::Select64) if values.len() == 2 => {
                let choice = &instruction.sources[2];
                match self.source_word(choice) {
                    Some(holds) if (holds & 1 == 1) != choice.invert => pair(0),
                    Some(_) => pair(1),
                    None if instruction.sources[0] == instruction.sources[1] => pair(0),
                    None => return None,
                }
            }
            Opcode::Pseudo(Pseudo::Logic64) if values.len() == 2 => {
                let SourceKind::Literal(table) = instruction.sources[3].kind else { return None };
                let pairs = [pair(0), pair(1), pair(2)];
                let plain = instruction.sources[..3].iter().all(|s| !s.invert && !s.negate);
                if !plain {
                    return None;
                }
                [0, 1].map(|half| logic_fact(table as u8, [pairs[0][half], pairs[1][half], pairs[2][half]]))
            }
            _ => return None,
        })
    }

    /// The two words of a pair operand.
    fn pair(&self, definitions: &Definitions, source: &Source) -> [Fact; 2] {
        if source.negate || source.invert || source.absolute {
            return [Fact::Unknown; 2];
        }
        match &source.kind {
            SourceKind::Values(values) if values.len() == 2 => {
                [self.copied(definitions, values[0]), self.copied(definitions, values[1])]
            }
            SourceKind::Zero(_) => [Fact::Word(0); 2],
            _ => [Fact::Unknown; 2],
        }
    }

    /// A truth table that depends on one input only.
    fn learn_predicate(&mut self, definitions: &Definitions, instruction: &Instruction) -> bool {
        let mut new = false;
        for (index, destination) in instruction.destinations.iter().enumerate() {
            let (Some(&value), Some(SourceKind::Literal(table))) =
                (destination.values.first(), instruction.sources.get(3 + index).map(|s| &s.kind))
            else {
                continue;
            };
            let inputs = [0, 1, 2].map(|input| {
                let source = &instruction.sources[input];
                match (&source.kind, source.invert) {
                    (SourceKind::True(_), true) => Fact::Word(0),
                    _ => match (self.source_word(source), source.invert) {
                        (Some(bit), invert) => Fact::Word((bit & 1) as u32 ^ u32::from(invert)),
                        (None, _) => self.of_source(definitions, source),
                    },
                }
            });
            new |= self.note(definitions, value, predicate_fact(*table as u8, inputs));
        }
        new
    }

    /// An add with a single nonzero word does not carry.
    fn learn_carry(&mut self, definitions: &Definitions, instruction: &Instruction) -> bool {
        let [_, carry] = instruction.destinations.as_slice() else { return false };
        let is_zero = |source: &&Source| matches!(source.kind, SourceKind::Zero(_));
        let plain = |source: &Source| !source.negate && !source.invert;
        let sources = &instruction.sources;
        let holds = instruction.mods.is_empty()
            && sources.len() == 3
            && sources.iter().all(plain)
            && sources.iter().filter(is_zero).count() >= 2;
        match carry.values.first() {
            Some(&carry) if holds => self.note(definitions, carry, Fact::Word(0)),
            _ => false,
        }
    }

    /// Leading bits of the (lowest word of the) result.
    fn result_bits(&self, instruction: &Instruction) -> Bits {
        let sources = &instruction.sources;
        let Opcode::Sass(op) = instruction.opcode else { return Bits::UNKNOWN };
        let has = |name: Mod| instruction.mods.has(name);
        let known = |index: usize| self.known_word(instruction, index);
        let bits = |index: usize| sources.get(index).map_or(Bits::UNKNOWN, |s| self.source_bits(s));
        match op {
            Op::LDG | Op::LD | Op::LDS | Op::LDL | Op::LDC if instruction.destinations[0].width == 1 => {
                loaded_bits(instruction)
            }
            Op::S2R => special_register_bits(instruction),
            Op::POPC => Bits::zeros(26),
            Op::SEL => bits(0).either(bits(1)),
            Op::SGXT => match known(1) {
                Some(width @ 1..=32) if has(Mod::U32) => Bits::zeros(32 - width),
                Some(width @ 1..=32) => Bits::signs(33 - width),
                _ => Bits::UNKNOWN,
            },
            Op::LOP3 => {
                let Some(table) = known(3) else { return Bits::UNKNOWN };
                let zeros = logic_zeros(table as u8, [0, 1, 2].map(|input| bits(input).zeros));
                let trailing = logic_zeros(table as u8, [0, 1, 2].map(|input| bits(input).trailing));
                Bits::zeros(zeros.into()).with_trailing(trailing)
            }
            Op::IADD3 if !has(Mod::X) => {
                let trailing = (0..3).map(|index| self.trailing_zeros(instruction, index)).min();
                Bits::UNKNOWN.with_trailing(trailing.unwrap_or(0))
            }
            Op::IMAD if !(has(Mod::X) || has(Mod::HI) || has(Mod::WIDE)) => {
                let [a, b, c] = [0, 1, 2].map(|index| self.trailing_zeros(instruction, index));
                Bits::UNKNOWN.with_trailing(c.min((a + b).min(32)))
            }
            Op::LEA if instruction.mods.is_empty() => match known(2) {
                Some(amount @ 0..32) => {
                    let shifted = (self.trailing_zeros(instruction, 0) + amount as u8).min(32);
                    Bits::UNKNOWN.with_trailing(shifted.min(self.trailing_zeros(instruction, 1)))
                }
                _ => Bits::UNKNOWN,
            },
            Op::SHF if has(Mod::L) && !has(Mod::HI) && known(2) == Some(0) => match known(1) {
                Some(amount @ 0..32) => {
                    Bits::UNKNOWN.with_trailing((bits(0).trailing + amount as u8).min(32))
                }
                _ => Bits::UNKNOWN,
            },
            Op::SHF if has(Mod::R) && has(Mod::HI) && known(0) == Some(0) => match known(1) {
                Some(amount) => shifted_bits(instruction, bits(2), amount.min(32)),
                None => Bits::UNKNOWN,
            },
            Op::PRMT if is_plain_permutation(instruction) => {
                let Some(selector) = known(1) else { return Bits::UNKNOWN };
                self.permuted_bits(instruction, selector)
            }
            Op::VIMNMX if has(Mod::U32) && !has(Mod::RELU) => {
                let (a, b) = (bits(0), bits(1));
                match sources.get(2) {
                    Some(Source { kind: SourceKind::True(_), invert: false, .. }) => {
                        Bits::zeros(a.zeros.max(b.zeros).into())
                    }
                    _ => Bits::zeros(a.zeros.min(b.zeros).into()),
                }
            }
            _ => Bits::UNKNOWN,
        }
    }

    /// Trailing zero bits of a source, whatever its sign.
    fn trailing_zeros(&self, instruction: &Instruction, index: usize) -> u8 {
        match instruction.sources.get(index) {
            Some(source) if !source.invert && !source.absolute && source.suffixes.is_empty() => {
                self.kind_bits(&source.kind).trailing
            }
            _ => 0,
        }
    }

    /// The low 32 bits of a source, if they are known.
    fn known_word(&self, instruction: &Instruction, index: usize) -> Option<u32> {
        instruction.sources.get(index).and_then(|source| self.source_word(source)).map(|bits| bits as u32)
    }

    fn permuted_bits(&self, instruction: &Instruction, selector: u32) -> Bits {
        let zero = |byte: u32| {
            let source = &instruction.sources[if byte < 4 { 0 } else { 2 }];
            let bits = self.source_bits(source);
            u32::from(bits.zeros) >= 32 - 8 * (byte & 3)
        };
        let mut zeros = 0;
        for place in (0..4).rev() {
            if !zero(selector >> (4 * place) & 7) {
                break;
            }
            zeros += 8;
        }
        if zeros > 0 {
            return Bits::zeros(zeros);
        }
        // Sign bytes of the byte below them.
        match selector {
            0x9910 | 0xbb32 => Bits::signs(17),
            0x8880 => Bits::signs(25),
            _ => Bits::UNKNOWN,
        }
    }
}

/// True for an add of an f32 value and `-0`, which is that value with its sign modifier applied.
pub fn is_signed_single(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::FADD)
        && matches!(
            instruction.sources.as_slice(),
            [_, Source { kind: SourceKind::Zero(_), negate: true, .. }]
        )
}

/// A load of one or two words from a fixed location of a constant bank.
pub fn is_plain_constant_load(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::LDC)
        && instruction.guard.is_none()
        && matches!(instruction.sources.as_slice(), [Source { kind: SourceKind::Const { .. }, .. }])
        && instruction.mods.iter().all(|name| name == Mod::_64)
        && instruction.destinations.len() == 1
        && instruction.destinations[0].fixed.is_none()
}

/// True if the table depends on the input.
pub fn uses_input(table: u8, input: usize) -> bool {
    let shift = 2 - input;
    let low_rows: u8 = [0x0f, 0x33, 0x55][input];
    (table & low_rows) != (table >> (1 << shift)) & low_rows
}

/// The bits that a load of less than a word leaves in the upper part of the register.
fn loaded_bits(load: &Instruction) -> Bits {
    let has = |name: Mod| load.mods.has(name);
    if has(Mod::U8) {
        Bits::zeros(24)
    } else if has(Mod::U16) {
        Bits::zeros(16)
    } else if has(Mod::S8) {
        Bits::signs(25)
    } else if has(Mod::S16) {
        Bits::signs(17)
    } else {
        Bits::UNKNOWN
    }
}

/// Bounds of thread and block ids.
fn special_register_bits(read: &Instruction) -> Bits {
    match read.sources.first().map(|source| &source.kind) {
        Some(SourceKind::Symbol(Symbol::SR_LANEID)) => Bits::zeros(27),
        Some(SourceKind::Symbol(Symbol::SR_TID_X | Symbol::SR_TID_Y | Symbol::SR_TID_Z)) => Bits::zeros(22),
        Some(SourceKind::Symbol(Symbol::SR_CTAID_Y | Symbol::SR_CTAID_Z)) => Bits::zeros(16),
        Some(SourceKind::Symbol(Symbol::SR_CTAID_X)) => Bits::zeros(1),
        _ => Bits::UNKNOWN,
    }
}

/// The leading zeros that a bitwise table leaves of those of its inputs.
fn logic_zeros(table: u8, zeros: [u8; 3]) -> u8 {
    // Where an input is known to be zero, half of the table does not count.
    let mut best = 0;
    for (rows, zeros) in [0x0f, 0x33, 0x55].into_iter().zip(zeros) {
        if table & rows == 0 {
            best = best.max(zeros);
        }
    }
    // If all inputs are zero, so is the result, unless the table says otherwise.
    if table & 1 == 0 {
        let used = (0..3).filter(|&input| uses_input(table, input));
        best = best.max(used.map(|input| zeros[input]).min().unwrap_or(32));
    }
    best
}

/// A shift to the right by a known amount.
fn shifted_bits(shift: &Instruction, from: Bits, amount: u32) -> Bits {
    if shift.mods.has(Mod::U32) || (shift.mods.has(Mod::S32) && from.zeros > 0) {
        Bits::zeros((u32::from(from.zeros) + amount).min(32))
    } else if shift.mods.has(Mod::S32) {
        Bits::signs((u32::from(from.signs) + amount).min(32))
    } else {
        Bits::UNKNOWN
    }
}

/// The table with an input fixed to 0 or 1; it no longer depends on it.
pub fn fixed_input(table: u8, input: usize, one: bool) -> u8 {
    let shift = 1 << (2 - input);
    let low_rows: u8 = [0x0f, 0x33, 0x55][input];
    let kept = if one { table >> shift & low_rows } else { table & low_rows };
    kept | kept << shift
}

/// The result of a bitwise table on words of which some are known to be all zeros or all ones.
fn logic_fact(table: u8, inputs: [Fact; 3]) -> Fact {
    let mut table = table;
    for (index, input) in inputs.iter().enumerate() {
        match input {
            Fact::Word(0) => table = fixed_input(table, index, false),
            Fact::Word(u32::MAX) => table = fixed_input(table, index, true),
            _ => {}
        }
    }
    match table {
        0 => Fact::Word(0),
        0xff => Fact::Word(u32::MAX),
        0xf0 => inputs[0],
        0xcc => inputs[1],
        0xaa => inputs[2],
        _ => match inputs {
            [Fact::Word(a), Fact::Word(b), Fact::Word(c)] => Fact::Word(fold::lookup(table, a, b, c)),
            _ => Fact::Unknown,
        },
    }
}

fn predicate_fact(table: u8, inputs: [Fact; 3]) -> Fact {
    let mut table = table;
    for (index, input) in inputs.iter().enumerate() {
        if let Fact::Word(bit) = input {
            table = fixed_input(table, index, bit & 1 == 1);
        }
    }
    let contrary = |fact: Fact| match fact {
        Fact::Same { value, invert } => Fact::Same { value, invert: !invert },
        _ => Fact::Unknown,
    };
    let same = |fact: Fact| match fact {
        Fact::Same { .. } => fact,
        _ => Fact::Unknown,
    };
    match table {
        0 => Fact::Word(0),
        0xff => Fact::Word(1),
        0xf0 => same(inputs[0]),
        0xcc => same(inputs[1]),
        0xaa => same(inputs[2]),
        0x0f => contrary(inputs[0]),
        0x33 => contrary(inputs[1]),
        0x55 => contrary(inputs[2]),
        _ => Fact::Unknown,
    }
}
