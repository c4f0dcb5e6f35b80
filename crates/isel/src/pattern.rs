//! What a pattern is: tests that an instruction must pass, and the template of what it becomes. Rows only; which row
//! wins is the matcher's matter.

use oriole_ori::{File, Function, Instruction, Opcode, Source, SourceKind};
use oriole_sass::{Mod, Op};

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// Its name in explanations.
    pub name: &'static str,
    /// What must hold; all of it.
    pub tests: &'static [Test],
    /// What the instruction becomes.
    pub template: Template,
}

/// A question about an instruction that is answered by looking at it alone. Register numbers are never asked for, but
/// for the ones that mean zero and true.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Test {
    /// It is this operation.
    Opcode(Opcode),
    /// It is a machine operation, whichever.
    Machine,
    /// Its n-th destination is of this file.
    Destination(u8, File),
    /// It has this many sources.
    Sources(u8),
    /// Its n-th source is of this kind.
    Source(u8, Kind),
    /// Its n-th source has neither sign nor suffix.
    Plain(u8),
    /// It has no modifier at all.
    Bare,
    /// It has this modifier.
    Mod(Mod),
}

/// Kinds of sources as far as patterns tell them apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A register or predicate of this file, or the zero or true of it.
    File(File),
    /// A 32-bit immediate, known or filled in by layout.
    Immediate,
    /// A direct operand of a constant bank.
    Constant,
    /// Anything else.
    Other,
}

/// What an instruction becomes.
#[derive(Clone, Copy, Debug)]
pub enum Template {
    /// Itself.
    Keep,
    /// Another operation on the same guard.
    Build {
        /// The mnemonic.
        op: Op,
        /// Its modifiers.
        mods: &'static [Mod],
        /// Its destinations.
        destinations: &'static [Target],
        /// Its sources.
        sources: &'static [Piece],
    },
}

/// A destination of a template.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// The n-th destination of the instruction.
    Destination(u8),
    /// A result that is dropped.
    Dropped(File),
}

/// A source of a template.
#[derive(Clone, Copy, Debug)]
pub enum Piece {
    /// The n-th source of the instruction, signs and all.
    Source(u8),
    /// The true predicate of a file.
    True(File),
    /// A number that is part of the instruction.
    Literal(i64),
}

impl Test {
    /// True if the instruction passes.
    pub fn holds(self, function: &Function, instruction: &Instruction) -> bool {
        let source = |n: u8| instruction.sources.get(n as usize);
        match self {
            Test::Opcode(opcode) => instruction.opcode == opcode,
            Test::Machine => matches!(instruction.opcode, Opcode::Sass(_)),
            Test::Destination(n, file) => {
                instruction.destinations.get(n as usize).is_some_and(|destination| destination.file == file)
            }
            Test::Sources(count) => instruction.sources.len() == count as usize,
            Test::Source(n, kind) => source(n).is_some_and(|source| kind_of(function, source) == kind),
            Test::Plain(n) => source(n).is_some_and(|source| {
                !(source.negate || source.absolute || source.invert) && source.suffixes.is_empty()
            }),
            Test::Bare => instruction.mods.is_empty(),
            Test::Mod(name) => instruction.mods.has(name),
        }
    }

    /// True if no instruction passes both.
    pub fn excludes(self, other: Test) -> bool {
        match (self, other) {
            (Test::Opcode(a), Test::Opcode(b)) => a != b,
            (Test::Opcode(Opcode::Pseudo(_)), Test::Machine)
            | (Test::Machine, Test::Opcode(Opcode::Pseudo(_))) => true,
            (Test::Destination(n, a), Test::Destination(m, b)) => n == m && a != b,
            (Test::Sources(a), Test::Sources(b)) => a != b,
            (Test::Source(n, a), Test::Source(m, b)) => n == m && a != b,
            (Test::Bare, Test::Mod(_)) | (Test::Mod(_), Test::Bare) => true,
            _ => false,
        }
    }

    /// How much it narrows what may match; the sum over a pattern is its priority.
    pub fn weight(self) -> u32 {
        match self {
            Test::Opcode(_) => 100,
            Test::Machine => 1,
            Test::Destination(..) | Test::Source(..) => 10,
            Test::Sources(_) => 8,
            Test::Mod(_) => 6,
            Test::Plain(_) | Test::Bare => 4,
        }
    }
}

impl Pattern {
    /// The more a pattern asks, the more it knows: its priority over others that match too.
    pub fn priority(&self) -> u32 {
        self.tests.iter().map(|test| test.weight()).sum()
    }
}

/// The kind of a source; the file of a register is that of its first component.
pub(crate) fn kind_of(function: &Function, source: &Source) -> Kind {
    match &source.kind {
        SourceKind::Values(values) => match values.first() {
            Some(&value) => Kind::File(function.file(value)),
            None => Kind::Other,
        },
        SourceKind::Zero(file @ (File::R | File::UR)) | SourceKind::True(file @ (File::P | File::UP)) => {
            Kind::File(*file)
        }
        SourceKind::Imm(_) | SourceKind::Address32 { .. } | SourceKind::ReturnAddress(_) => Kind::Immediate,
        SourceKind::Const { .. } => Kind::Constant,
        _ => Kind::Other,
    }
}
