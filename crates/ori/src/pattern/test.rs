//! The tests of rows.

use super::{Kinds, Signs, Width};
use crate::{
    Assignment, Destination, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Value,
};
use oriole_sass::{Mod, Op};

/// The two arithmetic pipes that can do the same simple work.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Pipe {
    /// Integer, logic, compare.
    Alu,
    /// Multiply-add.
    Fma,
}

/// An instruction and its context.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The function.
    pub function: &'a Function,
    /// The instruction.
    pub instruction: &'a Instruction,
    /// The one after it in its block.
    pub next: Option<&'a Instruction>,
    /// The registers, once they are chosen.
    pub assignment: Option<&'a Assignment>,
    /// The preferred pipe for this instruction, as the analysis of the block found.
    pub pipe: Pipe,
}

impl Site<'_> {
    fn source(&self, n: u8) -> Option<&Source> {
        self.instruction.sources.get(usize::from(n))
    }

    fn destination(&self, n: u8) -> Option<&Destination> {
        self.instruction.destinations.get(usize::from(n))
    }

    fn register(&self, values: &[Value]) -> Option<u8> {
        let [value] = values else { return None };
        self.assignment?.registers.get(*value).copied().flatten()
    }
}

/// A test of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Test {
    /// It is this operation.
    Opcode(Opcode),
    /// It is one of these operations.
    Opcodes(&'static [Opcode]),
    /// It is any machine operation.
    Machine,
    /// It has these modifiers and no other, sorted.
    Mods(&'static [Mod]),
    /// It has this modifier.
    Mod(Mod),
    /// It has one of these modifiers: a set of data types.
    OneOf(&'static [Mod]),
    /// It has no guard.
    Unguarded,
    /// It has this many destinations.
    Destinations(u8),
    /// It has this many sources.
    Sources(u8),
    /// Its n-th destination is of one of these kinds and of this class.
    Destination(u8, Kinds, Width),
    /// Its n-th source is of one of these kinds and of this class.
    Source(u8, Kinds, Width),
    /// Its n-th source has these signs, and no suffix.
    Signs(u8, Signs),
    /// The literal or immediate in its n-th source.
    Number(u8, Number),
    /// Its n-th destination has the register of its m-th source.
    Same(u8, u8),
    /// The next instruction is the same operation on the same sources; the two write the halves of an aligned
    /// register pair.
    Twin,
    /// The next instruction is the same operation on the upper halves of the aligned register pairs whose lower
    /// halves this one uses.
    Halves,
    /// This and the next instruction write immediates into the lower and upper halves of an aligned register pair.
    Numbers,
    /// This pipe serves it better.
    Pipe(Pipe),
}

/// A test of an immediate or literal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Number {
    /// It is this one.
    Is(i64),
    /// It is within these bounds, both included.
    Between(i64, i64),
}

impl Test {
    /// True if the instruction passes.
    pub fn holds(self, site: &Site<'_>) -> bool {
        let Site { function, instruction, .. } = *site;
        match self {
            Test::Opcode(opcode) => instruction.opcode == opcode,
            Test::Opcodes(opcodes) => opcodes.contains(&instruction.opcode),
            Test::Machine => matches!(instruction.opcode, Opcode::Sass(_)),
            Test::Mods(mods) => {
                instruction.mods.len() == mods.len() && mods.iter().all(|&name| instruction.mods.has(name))
            }
            Test::Mod(name) => instruction.mods.has(name),
            Test::OneOf(mods) => mods.iter().any(|&name| instruction.mods.has(name)),
            Test::Unguarded => instruction.guard.is_none(),
            Test::Destinations(count) => instruction.destinations.len() == usize::from(count),
            Test::Sources(count) => instruction.sources.len() == usize::from(count),
            Test::Destination(n, kinds, width) => site.destination(n).is_some_and(|destination| {
                let kind = Kinds::of_file(destination.file, destination.values.is_empty());
                kinds.covers(kind) && width.takes(usize::from(destination.width))
            }),
            Test::Source(n, kinds, width) => site.source(n).is_some_and(|source| {
                let components = match &source.kind {
                    SourceKind::Values(values) => values.len(),
                    _ => 0,
                };
                kinds.covers(Kinds::of_source(function, source)) && width.takes(components)
            }),
            Test::Signs(n, signs) => site.source(n).is_some_and(|source| signs.hold(source)),
            Test::Number(n, number) => {
                let value = site.source(n).and_then(|source| match source.kind {
                    SourceKind::Imm(bits) => Some(i64::from(bits as i32)),
                    SourceKind::Literal(number) => Some(number),
                    _ => None,
                });
                value.is_some_and(|value| match number {
                    Number::Is(wanted) => value == wanted,
                    Number::Between(low, high) => (low..=high).contains(&value),
                })
            }
            Test::Same(n, m) => {
                let (Some(to), Some(from)) = (site.destination(n), site.source(m)) else { return false };
                let SourceKind::Values(values) = &from.kind else { return false };
                let register = site.register(&to.values);
                let same_file = values.first().is_some_and(|&value| function.file(value) == to.file);
                register.is_some() && same_file && register == site.register(values)
            }
            Test::Twin => is_twin(site),
            Test::Halves => halves(site, |low, high| halves_of_source(site, low, high)),
            Test::Numbers => halves(site, |low, high| is_number(low) && is_number(high)),
            Test::Pipe(pipe) => site.pipe == pipe,
        }
    }

    /// True if no instruction passes both.
    pub fn excludes(self, other: Test) -> bool {
        let apart = |a: &[Mod], b: &[Mod]| !a.iter().any(|name| b.contains(name));
        match (self, other) {
            (Test::Opcode(a), Test::Opcode(b)) => a != b,
            (Test::Opcodes(set), Test::Opcode(one)) | (Test::Opcode(one), Test::Opcodes(set)) => {
                !set.contains(&one)
            }
            (Test::Opcodes(a), Test::Opcodes(b)) => !a.iter().any(|opcode| b.contains(opcode)),
            (Test::Opcode(Opcode::Pseudo(_)), Test::Machine)
            | (Test::Machine, Test::Opcode(Opcode::Pseudo(_))) => true,
            (Test::Mods(a), Test::Mods(b)) => a != b,
            (Test::Mods(all), Test::Mod(one)) | (Test::Mod(one), Test::Mods(all)) => !all.contains(&one),
            (Test::Mods(all), Test::OneOf(some)) | (Test::OneOf(some), Test::Mods(all)) => apart(all, some),
            (Test::Destinations(a), Test::Destinations(b)) | (Test::Sources(a), Test::Sources(b)) => a != b,
            (Test::Destinations(count), Test::Destination(n, ..))
            | (Test::Destination(n, ..), Test::Destinations(count)) => n >= count,
            (Test::Sources(count), Test::Source(n, ..) | Test::Signs(n, _) | Test::Number(n, _))
            | (Test::Source(n, ..) | Test::Signs(n, _) | Test::Number(n, _), Test::Sources(count)) => {
                n >= count
            }
            (Test::Destination(n, a, v), Test::Destination(m, b, w))
            | (Test::Source(n, a, v), Test::Source(m, b, w)) => {
                n == m && (a.is_apart(b) || (v != w && v != Width::Any && w != Width::Any))
            }
            (Test::Signs(n, a), Test::Signs(m, b)) => n == m && a.excludes(b),
            (Test::Number(n, Number::Is(a)), Test::Number(m, Number::Is(b))) => n == m && a != b,
            (Test::Number(n, _), Test::Source(m, kinds, _))
            | (Test::Source(m, kinds, _), Test::Number(n, _)) => {
                n == m && kinds.is_apart(Kinds::IMMEDIATE.or(Kinds::NUMBER))
            }
            (Test::Pipe(a), Test::Pipe(b)) => a != b,
            _ => false,
        }
    }

    /// True if every instruction that passes this test passes the other too.
    pub fn implies(self, other: Test) -> bool {
        match (self, other) {
            (Test::Opcode(one), Test::Opcodes(set)) => set.contains(&one),
            (Test::Opcode(Opcode::Sass(_)), Test::Machine) => true,
            (Test::Destination(n, a, v), Test::Destination(m, b, w))
            | (Test::Source(n, a, v), Test::Source(m, b, w)) => {
                n == m && b.covers(a) && (w == Width::Any || v == w)
            }
            _ => self == other,
        }
    }

    /// How much it narrows the match; the total of a pattern is its priority.
    pub fn weight(self) -> u32 {
        let operand = |kinds: Kinds, width: Width| {
            let kind = match kinds.count() {
                1 => 10,
                2..=8 => 7,
                _ => 1,
            };
            kind + 2 * u32::from(width != Width::Any)
        };
        match self {
            Test::Opcode(_) => 100,
            Test::Opcodes(_) => 90,
            Test::Machine => 1,
            Test::Mods(_) => 8,
            Test::Mod(_) => 6,
            Test::OneOf(_) => 4,
            Test::Unguarded => 3,
            Test::Destinations(_) => 4,
            Test::Sources(_) => 8,
            Test::Destination(_, kinds, width) | Test::Source(_, kinds, width) => operand(kinds, width),
            Test::Signs(_, Signs::Plain | Signs::Negated | Signs::Inverted) => 4,
            Test::Signs(..) => 3,
            Test::Number(_, Number::Is(_)) => 6,
            Test::Number(..) => 4,
            Test::Same(..) => 9,
            Test::Twin | Test::Halves | Test::Numbers => 20,
            Test::Pipe(_) => 5,
        }
    }
}

/// See [`Test::Twin`].
fn is_twin(site: &Site<'_>) -> bool {
    let (one, Some(other)) = (site.instruction, site.next) else { return false };
    let alike = one.opcode == other.opcode
        && one.mods == other.mods
        && one.guard == other.guard
        && one.sources == other.sources;
    let ([low], [high]) = (one.destinations.as_slice(), other.destinations.as_slice()) else { return false };
    if !alike || low.file != high.file {
        return false;
    }
    let (low, high) = (site.register(&low.values), site.register(&high.values));
    matches!((low, high), (Some(low), Some(high)) if low % 2 == 0 && high == low + 1)
}

/// True if the next instruction equals this one except for its operands, the two write the low and high halves of an
/// aligned pair, and `sources` holds for each pair of operands.
fn halves(site: &Site<'_>, sources: impl Fn(&Source, &Source) -> bool) -> bool {
    let (one, Some(other)) = (site.instruction, site.next) else { return false };
    let moves = |opcode| matches!(opcode, Opcode::Sass(Op::MOV | Op::UMOV) | Opcode::Pseudo(Pseudo::Copy));
    let alike = one.opcode == other.opcode || moves(one.opcode) && moves(other.opcode);
    let ([low], [high]) = (one.destinations.as_slice(), other.destinations.as_slice()) else { return false };
    alike
        && one.mods == other.mods
        && one.guard == other.guard
        && low.file == high.file
        && is_pair(site, &low.values, &high.values)
        && one.sources.len() == other.sources.len()
        && one.sources.iter().zip(&other.sources).all(|(low, high)| sources(low, high))
}

/// True if these are the registers of an aligned pair, in order.
fn is_pair(site: &Site<'_>, low: &[Value], high: &[Value]) -> bool {
    let pair = (site.register(low), site.register(high));
    matches!(pair, (Some(low), Some(high)) if low % 2 == 0 && high == low + 1)
}

/// True if two operands are the low and high halves of a register pair, or the same predicate, or both zero.
fn halves_of_source(site: &Site<'_>, low: &Source, high: &Source) -> bool {
    match (&low.kind, &high.kind) {
        (SourceKind::Values(l), SourceKind::Values(h)) if l.len() == 1 && h.len() == 1 => {
            let (file, other) = (site.function.file(l[0]), site.function.file(h[0]));
            match file {
                File::R | File::UR => {
                    file == other && is_pair(site, l, h) && Signs::Plain.hold(low) && Signs::Plain.hold(high)
                }
                _ => low == high,
            }
        }
        (SourceKind::Zero(_) | SourceKind::True(_), _) => low == high,
        _ => false,
    }
}

fn is_number(source: &Source) -> bool {
    matches!(source.kind, SourceKind::Imm(_) | SourceKind::Zero(_)) && Signs::Plain.hold(source)
}

/// The property that a failing instruction lacks.
impl std::fmt::Display for Test {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let operand = |f: &mut std::fmt::Formatter<'_>, which: &str, n: u8, kinds: Kinds, width: Width| {
            write!(f, "{which} {n} is not {kinds:?}")?;
            match width {
                Width::Any => Ok(()),
                width => write!(f, " of {} bits", width.bits()),
            }
        };
        match *self {
            Test::Opcode(opcode) => write!(f, "it is not {opcode:?}"),
            Test::Opcodes(opcodes) => write!(f, "it is none of {opcodes:?}"),
            Test::Machine => f.write_str("it is a pseudo-operation"),
            Test::Mods([]) => f.write_str("it has modifiers"),
            Test::Mods(mods) => write!(f, "its modifiers are not {mods:?}"),
            Test::Mod(name) => write!(f, "it lacks .{}", name.spelling()),
            Test::OneOf(mods) => write!(f, "it has none of {mods:?}"),
            Test::Unguarded => f.write_str("it has a guard"),
            Test::Destinations(count) => write!(f, "it has not {count} destinations"),
            Test::Sources(count) => write!(f, "it has not {count} sources"),
            Test::Destination(n, kinds, width) => operand(f, "destination", n, kinds, width),
            Test::Source(n, kinds, width) => operand(f, "source", n, kinds, width),
            Test::Signs(n, signs) => write!(f, "source {n} is not {signs:?}"),
            Test::Number(n, Number::Is(number)) => write!(f, "source {n} is not {number}"),
            Test::Number(n, Number::Between(low, high)) => {
                write!(f, "source {n} is not from {low} to {high}")
            }
            Test::Same(n, m) => write!(f, "destination {n} and source {m} have different registers"),
            Test::Twin => f.write_str("the next instruction does not fill the other half of a pair"),
            Test::Halves => {
                f.write_str("the next instruction does not do the same with the other halves of pairs")
            }
            Test::Numbers => f.write_str("the next instruction puts no number into the other half of a pair"),
            Test::Pipe(pipe) => write!(f, "the {pipe:?} pipe has less time for it"),
        }
    }
}
