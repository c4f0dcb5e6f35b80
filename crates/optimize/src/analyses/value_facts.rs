//! Facts about values: a constant, a constant-bank word, the address of a variable, another equal value, and counts
//! of leading zero bits, sign bits and trailing zero bits.
//!
//! It is here because copy propagation, folding and algebra share the facts. A fact depends on the defining
//! instruction alone, so a walk in RPO has the facts of everything before.
//! Here are the facts and how they are asked for; the folder has what instructions say about their results.

mod bits;
mod copies;
mod results;

use crate::analyses::definitions::Definitions;
use crate::rewriting::fold;
pub use bits::Bits;
use oriole_ori::{
    AddressPart, ConstBase, File, Function, Instruction, Opcode, Phi, PhiSource, Source, SourceKind,
    SymbolId, Value,
};
use oriole_sass::{Mod, Op};
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

/// The table with an input fixed to 0 or 1; it no longer depends on it.
pub fn fixed_input(table: u8, input: usize, one: bool) -> u8 {
    let shift = 1 << (2 - input);
    let low_rows: u8 = [0x0f, 0x33, 0x55][input];
    let kept = if one { table >> shift & low_rows } else { table & low_rows };
    kept | kept << shift
}
