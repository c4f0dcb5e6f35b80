//! The register operands of an instruction, seen for one file: groups of values that must lie side by side.

use oriole_ori::{Address, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Value, Values};
use smallvec::SmallVec;

/// Values that must lie in consecutive registers, the first aligned.
#[derive(Clone, Debug)]
pub struct Group {
    /// Lowest first.
    pub values: SmallVec<[Value; 4]>,
    /// Where the first must be.
    pub fixed: Option<u8>,
    /// Which operand it is.
    pub operand: Slot,
}

/// Names an operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// The guard.
    Guard,
    /// A source with plain values or an index.
    Source(usize),
    /// Part 0 (descriptor), 1 (base) or 2 (uniform) of an address.
    Address(usize, u8),
    /// A destination.
    Destination(usize),
}

/// The power of two that the first register of a group must be a multiple of.
pub fn alignment(count: usize) -> u8 {
    match count {
        0 | 1 => 1,
        2 => 2,
        3 | 4 => 4,
        // Accumulators of warp groups; nothing says that less would do.
        _ => 8,
    }
}

/// True if a definition may leave the old value in place.
pub fn is_partial(instruction: &Instruction) -> bool {
    instruction.guard.is_some()
}

/// True for copies of many values at once.
pub fn is_parallel_copy(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Pseudo(Pseudo::ParallelCopy)
}

/// Groups that the instruction reads in this file; the stack pointer has its register for good and is left out.
pub fn sources(
    function: &Function,
    instruction: &Instruction,
    file: File,
    stack_pointer: Value,
) -> SmallVec<[Group; 4]> {
    let mut groups = SmallVec::new();
    let mut add = |values: &[Value], fixed: Option<u8>, operand: Slot| {
        if values.first().is_some_and(|&v| function.file(v) == file && v != stack_pointer) {
            groups.push(Group { values: SmallVec::from_slice(values), fixed, operand });
        }
    };
    if let Some(guard) = instruction.guard {
        add(&[guard.value], None, Slot::Guard);
    }
    for (index, source) in instruction.sources.iter().enumerate() {
        match &source.kind {
            SourceKind::Values(values) => add(values, source.fixed, Slot::Source(index)),
            SourceKind::ConstIndexed(place) => add(&[place.index], None, Slot::Source(index)),
            SourceKind::Address(address) => {
                let Address { descriptor, base, uniform, .. } = &**address;
                if let Some(descriptor) = descriptor {
                    add(descriptor, None, Slot::Address(index, 0));
                }
                add(base, source.fixed, Slot::Address(index, 1));
                add(uniform, None, Slot::Address(index, 2));
            }
            _ => {}
        }
    }
    groups
}

/// Groups that the instruction writes in this file.
pub fn destinations(instruction: &Instruction, file: File) -> SmallVec<[Group; 2]> {
    let mut groups = SmallVec::new();
    for (index, destination) in instruction.destinations.iter().enumerate() {
        if destination.file == file && !destination.values.is_empty() {
            groups.push(Group {
                values: SmallVec::from_slice(&destination.values),
                fixed: destination.fixed,
                operand: Slot::Destination(index),
            });
        }
    }
    groups
}

/// Puts other values into an operand.
pub fn replace(instruction: &mut Instruction, operand: Slot, values: &[Value]) {
    let copy = |to: &mut [Value]| to.copy_from_slice(values);
    match operand {
        Slot::Guard => {
            if let Some(guard) = &mut instruction.guard {
                guard.value = values[0];
            }
        }
        Slot::Source(index) => match &mut instruction.sources[index].kind {
            SourceKind::Values(list) => copy(list),
            SourceKind::ConstIndexed(place) => place.index = values[0],
            _ => {}
        },
        Slot::Address(index, part) => {
            if let SourceKind::Address(address) = &mut instruction.sources[index].kind {
                let Address { descriptor, base, uniform, .. } = &mut **address;
                match part {
                    0 => {
                        if let Some(descriptor) = descriptor {
                            copy(descriptor);
                        }
                    }
                    1 => copy(base),
                    _ => copy(uniform),
                }
            }
        }
        Slot::Destination(index) => copy(&mut instruction.destinations[index].values),
    }
}

/// `[base + offset]`, a 32-bit local address.
pub fn local_address(base: Value, offset: i32) -> Source {
    Source::plain(SourceKind::Address(Box::new(Address {
        base: Values::from_slice(&[base]),
        offset,
        ..Address::default()
    })))
}
