//! Templates of rows: the new operation and its operands.

use oriole_ori::{Destination, File, Guard, Instruction, Source, SourceKind};
use oriole_sass::{Mod, Mods, Op, Symbol};

/// The replacement for an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Template {
    /// Itself.
    Keep,
    /// Another operation.
    Build(Build),
}

/// Another operation.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// The mnemonic.
    pub op: Op,
    /// Its modifiers.
    pub mods: &'static [Mod],
    /// When it acts.
    pub guard: Guarding,
    /// Its destinations.
    pub destinations: &'static [Target],
    /// Its sources.
    pub sources: &'static [Operand],
    /// It also does the work of the next instruction.
    pub covers_next: bool,
}

/// When the new operation acts.
#[derive(Clone, Copy, Debug)]
pub enum Guarding {
    /// The old opcode.
    Same,
    /// When the n-th source, a predicate, holds.
    If(u8),
    /// When it does not.
    Unless(u8),
}

/// A destination of a template.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// The n-th destination of the instruction.
    Destination(u8),
    /// The first destinations of the instruction and of the next one, as a pair.
    Pair,
    /// A result that is dropped.
    Dropped(File),
}

/// A source of a template.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// The n-th source of the instruction, signs and all.
    Source(u8),
    /// The n-th source of the instruction and that of the next one, as a register pair; an operand common to both
    /// stays.
    Pair(u8),
    /// The immediates that are the only sources of this and the next instruction, as one 64-bit immediate.
    Long,
    /// The true predicate of a file.
    True(File),
    /// `RZ`.
    Zero,
    /// A literal of the instruction.
    Literal(i64),
    /// A 32-bit immediate.
    Immediate(u32),
    /// Two to the power of the immediate that is the n-th source, as an immediate.
    PowerOfTwo(u8),
    /// A special register.
    Name(Symbol),
}

/// The template names an operand that the instruction lacks, or has in another shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mismatch;

impl Build {
    /// The operation on the operands of an instruction and of the next one.
    ///
    /// # Errors
    /// The tests of the row do not ensure all that its template needs.
    pub fn apply(&self, from: &Instruction, next: Option<&Instruction>) -> Result<Instruction, Mismatch> {
        let source = |n: u8| from.sources.get(usize::from(n)).ok_or(Mismatch);
        let destination =
            |of: &Instruction, n: u8| of.destinations.get(usize::from(n)).cloned().ok_or(Mismatch);
        let mut made = Instruction::new(self.op, from.origin);
        made.mods = Mods::of(self.mods);
        made.memory = from.memory;
        made.guard = match self.guard {
            Guarding::Same => from.guard,
            Guarding::If(n) => Some(guard(source(n)?, false)?),
            Guarding::Unless(n) => Some(guard(source(n)?, true)?),
        };
        for target in self.destinations {
            made.destinations.push(match target {
                Target::Destination(n) => destination(from, *n)?,
                Target::Pair => {
                    let (low, high) = (destination(from, 0)?, destination(next.ok_or(Mismatch)?, 0)?);
                    Destination::new(low.file, low.values.iter().chain(high.values.iter()).copied())
                }
                Target::Dropped(file) => Destination::dropped(*file, 1),
            });
        }
        for piece in self.sources {
            made.sources.push(match *piece {
                Operand::Source(n) => source(n)?.clone(),
                Operand::Pair(n) => pair(source(n)?, next.and_then(|next| next.sources.get(usize::from(n))))?,
                Operand::Long => {
                    let high = next.and_then(|next| next.sources.first()).ok_or(Mismatch)?;
                    long(word(source(0)?)?, word(high)?)
                }
                Operand::True(file) => Source::plain(SourceKind::True(file)),
                Operand::Zero => Source::rz(),
                Operand::Literal(number) => Source::literal(number),
                Operand::Immediate(bits) => Source::imm(bits),
                Operand::PowerOfTwo(n) => Source::imm(1u32.checked_shl(number(source(n)?)?).ok_or(Mismatch)?),
                Operand::Name(symbol) => Source::plain(SourceKind::Symbol(symbol)),
            });
        }
        Ok(made)
    }
}

/// Two operands as one of twice the width.
fn pair(low: &Source, high: Option<&Source>) -> Result<Source, Mismatch> {
    match (&low.kind, &high.ok_or(Mismatch)?.kind) {
        (SourceKind::Values(one), SourceKind::Values(other)) if one != other => {
            Ok(Source::values(one.iter().chain(other.iter()).copied()))
        }
        _ => Ok(low.clone()),
    }
}

fn long(low: u32, high: u32) -> Source {
    Source::literal((u64::from(high) << u32::BITS | u64::from(low)).cast_signed())
}

fn word(source: &Source) -> Result<u32, Mismatch> {
    match source.kind {
        SourceKind::Imm(bits) => Ok(bits),
        SourceKind::Zero(_) => Ok(0),
        _ => Err(Mismatch),
    }
}

fn guard(source: &Source, turned: bool) -> Result<Guard, Mismatch> {
    match &source.kind {
        SourceKind::Values(values) if values.len() == 1 => {
            Ok(Guard { value: values[0], negated: source.invert != turned })
        }
        _ => Err(Mismatch),
    }
}

fn number(source: &Source) -> Result<u32, Mismatch> {
    match source.kind {
        SourceKind::Imm(bits) => Ok(bits),
        SourceKind::Literal(number) => u32::try_from(number).map_err(|_| Mismatch),
        _ => Err(Mismatch),
    }
}
