//! Loads and stores as data: which bytes of which space an instruction moves, as a root, an offset and a width.
//!
//! It is here because forwarding, dead stores, local variables in registers and vector accesses must agree on the bytes
//! that an access touches. Two accesses with one root differ by their offsets only; about different roots of a space
//! nothing is known. No rule about what an optimization may do with an access may enter.

use crate::analyses::definitions::Definitions;
use oriole_ori::{
    AddressPart, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Space, Suffixes, SymbolId,
    Value, Values,
};
use oriole_sass::{Mod, Op};
use rustc_hash::FxHashMap;
use typed_index_collections::TiVec;

/// Bytes of a register.
pub const WORD: u32 = 4;
/// Steps from an address to its root: more would make the walk quadratic in chains of additions.
const STEPS: usize = 64;

/// Width of an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Width {
    /// Whole registers.
    Words(u32),
    /// One or two bytes, which a load extends to a register.
    Narrow {
        /// 1 or 2.
        bytes: u32,
        /// A load extends the sign.
        signed: bool,
    },
}

impl Width {
    /// Bytes that are accessed.
    pub fn bytes(self) -> u32 {
        match self {
            Width::Words(words) => words * WORD,
            Width::Narrow { bytes, .. } => bytes,
        }
    }
}

/// Direction of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// A load.
    Load,
    /// A store.
    Store,
}

/// A plain access: weak, of one address operand, without a cache policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Load or store.
    pub direction: Direction,
    /// Its space.
    pub space: Space,
    /// The load is of memory that nothing writes while the kernel runs.
    pub constant: bool,
    /// Its width.
    pub width: Width,
}

impl Access {
    /// The access of an instruction, if it is a plain one. Guards are for the caller to look at.
    pub fn of(instruction: &Instruction) -> Option<Access> {
        let memory = instruction.memory.filter(|memory| !memory.ordered && memory.object.is_none())?;
        let direction = match instruction.opcode {
            Opcode::Sass(Op::LD | Op::LDG | Op::LDS | Op::LDL) => Direction::Load,
            Opcode::Sass(Op::ST | Op::STG | Op::STS | Op::STL) => Direction::Store,
            _ => return None,
        };
        let (loads, operands) = match direction {
            Direction::Load => (true, instruction.sources.len() == 1 && instruction.destinations.len() == 1),
            Direction::Store => {
                (false, instruction.sources.len() == 2 && instruction.destinations.is_empty())
            }
        };
        let known = matches!(memory.space, Space::Generic | Space::Global | Space::Shared | Space::Local);
        if !operands || !known || memory.reads != loads || memory.writes == loads {
            return None;
        }
        address_of(instruction)?;
        let (mut width, mut constant) = (Width::Words(1), false);
        for modifier in instruction.mods.iter() {
            match modifier {
                Mod::_64 => width = Width::Words(2),
                Mod::_128 => width = Width::Words(4),
                Mod::U8 => width = Width::Narrow { bytes: 1, signed: false },
                Mod::S8 => width = Width::Narrow { bytes: 1, signed: true },
                Mod::U16 => width = Width::Narrow { bytes: 2, signed: false },
                Mod::S16 => width = Width::Narrow { bytes: 2, signed: true },
                Mod::CONSTANT => constant = true,
                // Hints for the caches change no value.
                Mod::E | Mod::EF | Mod::EL | Mod::EU | Mod::NA => {}
                Mod::LTC64B | Mod::LTC128B | Mod::LTC256B => {}
                _ => return None,
            }
        }
        let access = Access { direction, space: memory.space, constant, width };
        access.has_its_registers(instruction).then_some(access)
    }

    /// True if as many registers are moved as the width says, and no convention fixes them.
    fn has_its_registers(&self, instruction: &Instruction) -> bool {
        let words = self.registers();
        match self.direction {
            Direction::Load => {
                let [to] = instruction.destinations.as_slice() else { return false };
                to.file == File::R && to.fixed.is_none() && to.values.len() == words
            }
            Direction::Store => stored_words(instruction).is_some_and(|stored| stored.len() == words),
        }
    }

    /// Registers that hold what is moved.
    pub fn registers(&self) -> usize {
        match self.width {
            Width::Words(words) => words as usize,
            Width::Narrow { .. } => 1,
        }
    }
}

/// A word in a register: a value, or zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// This value.
    Value(Value),
    /// `RZ`.
    Zero,
}

impl Held {
    /// The operand that reads it.
    pub fn source(self) -> Source {
        match self {
            Held::Value(value) => value.into(),
            Held::Zero => Source::rz(),
        }
    }
}

/// The words that a plain store writes.
pub fn stored_words(instruction: &Instruction) -> Option<Vec<Held>> {
    let source = instruction.sources.get(1)?;
    let signed = source.negate || source.absolute || source.invert || !source.suffixes.is_empty();
    if signed || source.fixed.is_some() {
        return None;
    }
    let words = Access::words_of_mods(instruction);
    match &source.kind {
        SourceKind::Values(values) => Some(values.iter().map(|&value| Held::Value(value)).collect()),
        SourceKind::Zero(File::R) => Some(vec![Held::Zero; words]),
        _ => None,
    }
}

impl Access {
    fn words_of_mods(instruction: &Instruction) -> usize {
        match (instruction.mods.has(Mod::_128), instruction.mods.has(Mod::_64)) {
            (true, _) => 4,
            (false, true) => 2,
            (false, false) => 1,
        }
    }
}

/// The first source, if it is a memory address.
fn address_of(instruction: &Instruction) -> Option<(&oriole_ori::Address, &Source)> {
    match instruction.sources.first() {
        Some(source @ Source { kind: SourceKind::Address(address), fixed: None, .. }) => {
            Some((address, source))
        }
        _ => None,
    }
}

/// Where the offsets of addresses count from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Root {
    /// The space of the address.
    pub space: Space,
    /// Variable whose start it is, or that is added to the registers.
    pub symbol: Option<SymbolId>,
    /// Registers, none if the variable is all.
    pub base: Values,
    /// Uniform registers.
    pub uniform: Values,
    /// How the registers are read.
    pub suffixes: Suffixes,
}

/// A root by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RootId(pub u32);

oriole_ori::index_of_tables!(RootId);

/// An address: a root and the bytes from there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// Where the offset counts from.
    pub root: RootId,
    /// Bytes from the root; modulo the size of an address.
    pub offset: i64,
}

/// The roots of a function in SSA.
#[derive(Default)]
pub struct Roots {
    numbers: FxHashMap<Root, RootId>,
    known: TiVec<RootId, Root>,
}

impl Roots {
    /// The root with this number.
    pub fn get(&self, id: RootId) -> &Root {
        &self.known[id]
    }

    /// The address of a plain access.
    pub fn place(
        &mut self,
        function: &Function,
        definitions: &Definitions,
        instruction: &Instruction,
    ) -> Option<Place> {
        let (address, source) = address_of(instruction)?;
        // No store writes where such a load reads.
        let constant = instruction.mods.has(Mod::CONSTANT);
        let space = if constant { Space::Constant } else { instruction.memory?.space };
        let mut symbol = address.symbol;
        let mut base = address.base.clone();
        let mut offset = i64::from(address.offset);
        let unscaled = source.suffixes.iter().all(|suffix| suffix == Mod::_64);
        if unscaled {
            match (space, base.as_slice()) {
                // These have 32 bits: an upper word does not count.
                (Space::Local | Space::Shared, &[low, ..]) => {
                    let (start, distance) = low_start(function, definitions, low);
                    offset += distance;
                    match start {
                        Start::Value(value) => base = Values::from_slice(&[value]),
                        Start::Symbol(start) if symbol.is_none() => {
                            symbol = Some(start);
                            base.clear();
                        }
                        Start::Symbol(_) => return None,
                    }
                }
                (_, &[low, high]) => {
                    let (start, distance) = pair_start(function, definitions, [low, high]);
                    offset = offset.wrapping_add(distance);
                    base = Values::from_slice(&start);
                }
                _ => {}
            }
        }
        if matches!(space, Space::Local | Space::Shared) {
            offset = i64::from(offset as i32);
        }
        let suffixes = if base.is_empty() { Suffixes::none() } else { source.suffixes.clone() };
        let root = Root { space, symbol, base, uniform: address.uniform.clone(), suffixes };
        let next = self.known.next_key();
        let id = *self.numbers.entry(root).or_insert_with_key(|root| {
            self.known.push(root.clone());
            next
        });
        Some(Place { root: id, offset })
    }
}

/// The start of a 32-bit address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// A value.
    Value(Value),
    /// A variable.
    Symbol(SymbolId),
}

/// A value as a start and a distance from it, modulo 2^32.
pub fn low_start(function: &Function, definitions: &Definitions, value: Value) -> (Start, i64) {
    let (mut at, mut distance) = (value, 0i64);
    for _ in 0..STEPS {
        let Some(instruction) = definitions.instruction(function, at) else { break };
        match step(function, definitions, instruction, at) {
            Some((Start::Value(next), by)) => {
                at = next;
                distance = distance.wrapping_add(by);
            }
            Some((symbol, by)) => return (symbol, distance.wrapping_add(by)),
            None => break,
        }
    }
    (Start::Value(at), distance)
}

/// One step from the low word of an address to the value that a constant is added to.
pub fn step(
    function: &Function,
    definitions: &Definitions,
    instruction: &Instruction,
    result: Value,
) -> Option<(Start, i64)> {
    let low = instruction.destinations.first()?.values.first() == Some(&result);
    if !low || instruction.guard.is_some() || !instruction.tied.is_empty() {
        return None;
    }
    let word = |index: usize| {
        instruction.sources.get(index).and_then(|source| constant(function, definitions, source))
    };
    let value = |index: usize| instruction.sources.get(index).and_then(Source::as_plain_value);
    match instruction.opcode {
        Opcode::Pseudo(Pseudo::FrameAddress) => match instruction.sources.first()?.kind {
            SourceKind::Address32 { symbol, part: AddressPart::Low, offset } => {
                Some((Start::Symbol(symbol), offset.into()))
            }
            _ => None,
        },
        Opcode::Pseudo(Pseudo::Copy) | Opcode::Sass(Op::MOV) if instruction.sources.len() == 1 => {
            Some((Start::Value(value(0)?), 0))
        }
        Opcode::Sass(Op::IADD3) if instruction.sources.len() == 3 && instruction.mods.is_empty() => {
            let constants = [word(0), word(1), word(2)];
            let index = constants.iter().position(Option::is_none)?;
            let others = || constants.iter().enumerate().filter(|&(at, _)| at != index);
            let sum = others().try_fold(0i64, |sum, (_, word)| Some(sum + i64::from((*word)? as i32)))?;
            Some((Start::Value(value(index)?), sum))
        }
        // The low word of a 64-bit address.
        Opcode::Pseudo(Pseudo::Add64) => {
            let [a, b] = instruction.sources.as_slice() else { return None };
            let (a, b) = (pair(a)?, pair(b)?);
            let low = |values: [Value; 2]| constant(function, definitions, &values[0].into());
            match (low(a), low(b)) {
                (None, Some(by)) => Some((Start::Value(a[0]), i64::from(by as i32))),
                (Some(by), None) => Some((Start::Value(b[0]), i64::from(by as i32))),
                _ => None,
            }
        }
        Opcode::Sass(Op::IMAD) if instruction.mods.has(Mod::WIDE) && instruction.mods.has(Mod::U32) => {
            let [_, factor, addend] = instruction.sources.as_slice() else { return None };
            if constant(function, definitions, factor) != Some(1) {
                return None;
            }
            let by = match &addend.kind {
                SourceKind::Zero(_) => 0,
                _ => constant(function, definitions, &pair(addend)?[0].into())?,
            };
            Some((Start::Value(value(0)?), i64::from(by as i32)))
        }
        _ => None,
    }
}

/// A 64-bit address as a start and a distance from it.
fn pair_start(function: &Function, definitions: &Definitions, pair_of: [Value; 2]) -> ([Value; 2], i64) {
    let (mut at, mut distance) = (pair_of, 0i64);
    for _ in 0..STEPS {
        let Some(instruction) = definitions.instruction(function, at[0]) else { break };
        let is_sum = instruction.opcode == Opcode::Pseudo(Pseudo::Add64)
            && instruction.guard.is_none()
            && instruction.destinations.len() == 1
            && instruction.destinations[0].values.as_slice() == at;
        let [a, b] = instruction.sources.as_slice() else { break };
        let (Some(a), Some(b)) = (pair(a), pair(b)) else { break };
        if !is_sum {
            break;
        }
        let whole = |values: [Value; 2]| {
            let [low, high] = values.map(|value| constant(function, definitions, &value.into()));
            Some((u64::from(high?) << 32 | u64::from(low?)) as i64)
        };
        let (start, by) = match (whole(a), whole(b)) {
            (None, Some(by)) => (a, by),
            (Some(by), None) => (b, by),
            _ => break,
        };
        at = start;
        distance = distance.wrapping_add(by);
    }
    (at, distance)
}

/// The two values of a plain pair.
fn pair(source: &Source) -> Option<[Value; 2]> {
    let plain = !source.negate && !source.absolute && !source.invert && source.suffixes.is_empty();
    match &source.kind {
        SourceKind::Values(values) if plain && source.fixed.is_none() => values.as_slice().try_into().ok(),
        _ => None,
    }
}

/// A word that is known: an immediate, zero, or a copy of one.
fn constant(function: &Function, definitions: &Definitions, source: &Source) -> Option<u32> {
    let plain = !source.negate && !source.absolute && !source.invert && source.suffixes.is_empty();
    match source.kind {
        SourceKind::Imm(bits) if plain => return Some(bits),
        SourceKind::Zero(File::R) => return Some(0),
        _ => {}
    }
    let instruction = definitions.instruction(function, source.as_plain_value()?)?;
    let copies = matches!(instruction.opcode, Opcode::Pseudo(Pseudo::Copy) | Opcode::Sass(Op::MOV));
    match instruction.sources.as_slice() {
        [Source { kind: SourceKind::Imm(bits), negate: false, absolute: false, invert: false, .. }]
            if copies =>
        {
            Some(*bits)
        }
        [Source { kind: SourceKind::Zero(File::R), .. }] if copies => Some(0),
        _ => None,
    }
}
