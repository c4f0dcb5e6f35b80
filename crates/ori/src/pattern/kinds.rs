//! Kinds of operands, sets of them, and how many registers an operand spans.

use crate::{File, Function, Source, SourceKind};

/// A set of operand kinds. There are sixteen kinds; each uppercase constant is the set of one, unless stated
/// otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kinds(u16);

impl Kinds {
    /// A general register.
    pub const REGISTER: Kinds = Kinds(1);
    /// `RZ`.
    pub const ZERO: Kinds = Kinds(1 << 1);
    /// A uniform register.
    pub const UNIFORM: Kinds = Kinds(1 << 2);
    /// `URZ`.
    pub const UNIFORM_ZERO: Kinds = Kinds(1 << 3);
    /// A predicate.
    pub const PREDICATE: Kinds = Kinds(1 << 4);
    /// `PT`.
    pub const TRUE: Kinds = Kinds(1 << 5);
    /// A uniform predicate.
    pub const UNIFORM_PREDICATE: Kinds = Kinds(1 << 6);
    /// `UPT`.
    pub const UNIFORM_TRUE: Kinds = Kinds(1 << 7);
    /// A convergence barrier.
    pub const BARRIER: Kinds = Kinds(1 << 8);
    /// A 32-bit immediate, known or filled in by layout.
    pub const IMMEDIATE: Kinds = Kinds(1 << 9);
    /// A literal that is part of the instruction.
    pub const NUMBER: Kinds = Kinds(1 << 10);
    /// A direct operand of a constant bank.
    pub const CONSTANT: Kinds = Kinds(1 << 11);
    /// A constant-bank location indexed by a register.
    pub const INDEXED: Kinds = Kinds(1 << 12);
    /// A memory address.
    pub const MEMORY: Kinds = Kinds(1 << 13);
    /// A code address.
    pub const TARGET: Kinds = Kinds(1 << 14);
    /// A special register or another name.
    pub const NAME: Kinds = Kinds(1 << 15);
    /// The wildcard: all sixteen.
    pub const ANY: Kinds = Kinds(u16::MAX);
    /// Each kind.
    pub const ALL: [Kinds; 16] = {
        let mut all = [Kinds(0); 16];
        let mut bit = 0;
        while bit < 16 {
            all[bit] = Kinds(1 << bit);
            bit += 1;
        }
        all
    };
    /// A general register or `RZ`.
    pub const GENERAL: Kinds = Kinds::REGISTER.or(Kinds::ZERO);
    /// Sources of a general operation that need no general register.
    pub const FOREIGN: Kinds = Kinds::UNIFORM.or(Kinds::IMMEDIATE).or(Kinds::CONSTANT);

    /// Either set.
    pub const fn or(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    /// True if no kind is in both.
    pub const fn is_apart(self, other: Kinds) -> bool {
        self.0 & other.0 == 0
    }

    /// True if all kinds of the other set are in this one.
    pub const fn covers(self, other: Kinds) -> bool {
        other.0 & !self.0 == 0
    }

    /// Count of kinds.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// The kind of a register of a file, or of its neutral register.
    pub fn of_file(file: File, neutral: bool) -> Kinds {
        match (file, neutral) {
            (File::R, false) => Kinds::REGISTER,
            (File::R, true) => Kinds::ZERO,
            (File::UR, false) => Kinds::UNIFORM,
            (File::UR, true) => Kinds::UNIFORM_ZERO,
            (File::P, false) => Kinds::PREDICATE,
            (File::P, true) => Kinds::TRUE,
            (File::UP, false) => Kinds::UNIFORM_PREDICATE,
            (File::UP, true) => Kinds::UNIFORM_TRUE,
            (File::B, _) => Kinds::BARRIER,
        }
    }

    /// The kind of a source; the file of a tuple is that of its first component.
    pub fn of_source(function: &Function, source: &Source) -> Kinds {
        match &source.kind {
            SourceKind::Values(values) => match values.first() {
                Some(&value) => Kinds::of_file(function.file(value), false),
                None => Kinds(0),
            },
            SourceKind::Zero(file) | SourceKind::True(file) => Kinds::of_file(*file, true),
            SourceKind::Imm(_)
            | SourceKind::Address32 { .. }
            | SourceKind::ReturnAddress(_)
            | SourceKind::ReturnDistance => Kinds::IMMEDIATE,
            SourceKind::Literal(_) => Kinds::NUMBER,
            SourceKind::Const { .. } => Kinds::CONSTANT,
            SourceKind::ConstIndexed(_) => Kinds::INDEXED,
            SourceKind::Address(_) => Kinds::MEMORY,
            SourceKind::Block(_) | SourceKind::Callee(_) | SourceKind::KernelStart => Kinds::TARGET,
            SourceKind::Symbol(_) | SourceKind::Scoreboard(_) => Kinds::NAME,
        }
    }
}

impl std::fmt::Debug for Kinds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const NAMES: [&str; 16] = [
            "register",
            "RZ",
            "uniform register",
            "URZ",
            "predicate",
            "PT",
            "uniform predicate",
            "UPT",
            "barrier",
            "immediate",
            "number",
            "constant",
            "indexed constant",
            "memory",
            "target",
            "name",
        ];
        if *self == Kinds::ANY {
            return f.write_str("anything");
        }
        let names: Vec<&str> = NAMES
            .iter()
            .enumerate()
            .filter(|(bit, _)| self.0 >> bit & 1 == 1)
            .map(|(_, name)| *name)
            .collect();
        f.write_str(&names.join(" or "))
    }
}

/// The register class of an operand: how many bits its registers hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Width {
    /// The wildcard: any number of registers, or none.
    Any,
    /// One register.
    W32,
    /// An aligned pair.
    W64,
    /// Four aligned registers.
    W128,
}

impl Width {
    /// Width in bits; 0 for the wildcard.
    pub fn bits(self) -> u8 {
        match self {
            Width::Any => 0,
            Width::W32 => 32,
            Width::W64 => 64,
            Width::W128 => 128,
        }
    }

    /// True if an operand with this many components is of this class.
    pub fn takes(self, components: usize) -> bool {
        match self {
            Width::Any => true,
            Width::W32 => components == 1,
            Width::W64 => components == 2,
            Width::W128 => components == 4,
        }
    }
}

/// The signs that a source may carry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Signs {
    /// None.
    Plain,
    /// It may be negated.
    MaybeNegated,
    /// It is negated.
    Negated,
    /// It may be inverted.
    MaybeInverted,
    /// It is inverted.
    Inverted,
}

impl Signs {
    /// True if the source has the signs, and no other sign or suffix.
    pub fn hold(self, source: &Source) -> bool {
        let (negate, invert) = (source.negate, source.invert);
        !source.absolute
            && source.suffixes.is_empty()
            && match self {
                Signs::Plain => !negate && !invert,
                Signs::MaybeNegated => !invert,
                Signs::Negated => negate && !invert,
                Signs::MaybeInverted => !negate,
                Signs::Inverted => invert && !negate,
            }
    }

    /// True if no source has both.
    pub fn excludes(self, other: Signs) -> bool {
        use Signs::{Inverted, MaybeInverted, MaybeNegated, Negated, Plain};
        matches!(
            (self, other),
            (Plain, Negated | Inverted)
                | (Negated | Inverted, Plain)
                | (Negated, Inverted | MaybeInverted)
                | (Inverted, Negated | MaybeNegated)
                | (MaybeInverted, Negated)
                | (MaybeNegated, Inverted)
        )
    }
}
