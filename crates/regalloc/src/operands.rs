//! The register operands of an instruction, for one file: groups of values that must be consecutive.

use oriole_ori::{Address, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Value, Values};
use oriole_sass::Class;
use smallvec::SmallVec;
use std::slice;

/// Values that must be in consecutive registers, the first aligned.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Lowest first.
    pub values: &'a [Value],
    /// The power of two that the first register must be a multiple of.
    pub align: u8,
    /// Required register of the first value.
    pub fixed: Option<u8>,
    /// The operand slot.
    pub operand: Slot,
}

/// Names an operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// The guard.
    Guard,
    /// A source with plain values or an index register.
    Source(u32),
    /// Part 0 (descriptor), 1 (base) or 2 (uniform) of an address.
    Address(u32, u8),
    /// A destination.
    Destination(u32),
}

/// The power of two that the first register of a group must be a multiple of in most instructions.
pub fn alignment(count: usize) -> u8 {
    match count {
        0 | 1 => 1,
        2 => 2,
        3 | 4 => 4,
        // Accumulators of `wgmma`; a smaller alignment is not documented.
        _ => 8,
    }
}

/// The alignment of a source of an instruction.
fn source_alignment(instruction: &Instruction, count: usize) -> u8 {
    match instruction.opcode {
        Opcode::Sass(op) => oriole_sass::source_alignment(op, count).unwrap_or(alignment(count)),
        Opcode::Pseudo(_) => alignment(count),
    }
}

/// True if a definition may leave the old value in place.
pub fn is_partial(instruction: &Instruction) -> bool {
    instruction.is_partial()
}

/// True for copies of many values at once.
pub fn is_parallel_copy(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Pseudo(Pseudo::ParallelCopy)
}

/// Groups that the instruction reads in this file; the stack pointer has its register for good and is left out.
pub fn sources<'a>(
    function: &Function,
    instruction: &'a Instruction,
    file: File,
    stack_pointer: Value,
) -> SmallVec<[Group<'a>; 4]> {
    let mut groups = SmallVec::new();
    let mut add = |values: &'a [Value], fixed: Option<u8>, operand: Slot| {
        if values.first().is_some_and(|&v| function.file(v) == file && v != stack_pointer) {
            let align = source_alignment(instruction, values.len());
            groups.push(Group { values, align, fixed, operand });
        }
    };
    if let Some(guard) = &instruction.guard {
        add(slice::from_ref(&guard.value), None, Slot::Guard);
    }
    for (index, source) in (0..).zip(&instruction.sources) {
        match &source.kind {
            SourceKind::Values(values) => add(values, source.fixed, Slot::Source(index)),
            SourceKind::ConstIndexed(place) => add(slice::from_ref(&place.index), None, Slot::Source(index)),
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
pub fn destinations(instruction: &Instruction, file: File) -> SmallVec<[Group<'_>; 2]> {
    let mut groups = SmallVec::new();
    for (index, destination) in (0..).zip(&instruction.destinations) {
        if destination.file == file && !destination.values.is_empty() {
            groups.push(Group {
                values: &destination.values,
                align: alignment(destination.values.len()),
                fixed: destination.fixed,
                operand: Slot::Destination(index),
            });
        }
    }
    groups
}

/// True if some operand is a tuple, in any file.
pub fn has_tuple(instruction: &Instruction) -> bool {
    let source = |source: &Source| match &source.kind {
        SourceKind::Values(values) => values.len() > 1,
        SourceKind::Address(address) => {
            address.base.len() > 1
                || address.uniform.len() > 1
                || address.descriptor.as_ref().is_some_and(|descriptor| descriptor.len() > 1)
        }
        _ => false,
    };
    instruction.destinations.iter().any(|destination| destination.values.len() > 1)
        || instruction.sources.iter().any(source)
}

/// True if an operand of this file is a tuple, or has a fixed register: most instructions have none in most files.
pub fn wants_places(function: &Function, instruction: &Instruction, file: File) -> bool {
    let wants = |values: &[Value], fixed: Option<u8>| match values {
        [] => false,
        [only] => fixed.is_some() && function.file(*only) == file,
        [first, ..] => function.file(*first) == file,
    };
    let source = |source: &Source| match &source.kind {
        SourceKind::Values(values) => wants(values, source.fixed),
        SourceKind::Address(address) => {
            wants(&address.base, source.fixed)
                || wants(&address.uniform, None)
                || address.descriptor.as_ref().is_some_and(|descriptor| wants(descriptor, None))
        }
        _ => false,
    };
    instruction.sources.iter().any(source)
        || instruction.destinations.iter().any(|destination| wants(&destination.values, destination.fixed))
}

/// True for a `wgmma`. It writes its accumulators while it still reads.
pub fn is_group_product(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Sass(op) if op.info().class(&instruction.mods) == Class::Group)
}

/// The accumulators among the sources of a `wgmma`: the last source as wide as the result. They are read in place.
pub fn accumulators<'a>(
    instruction: &Instruction,
    reads: &[Group<'a>],
    writes: &[Group<'_>],
) -> Option<Group<'a>> {
    let width = writes.first().filter(|_| is_group_product(instruction))?.values.len();
    let as_wide =
        |group: &&Group<'_>| group.values.len() == width && matches!(group.operand, Slot::Source(_));
    reads.iter().rfind(as_wide).copied()
}

/// The values of an operand, mutable; empty if the instruction has no such operand.
pub fn values_mut(instruction: &mut Instruction, operand: Slot) -> &mut [Value] {
    match operand {
        Slot::Guard => match &mut instruction.guard {
            Some(guard) => slice::from_mut(&mut guard.value),
            None => &mut [],
        },
        Slot::Source(index) => match &mut instruction.sources[index as usize].kind {
            SourceKind::Values(list) => list,
            SourceKind::ConstIndexed(place) => slice::from_mut(&mut place.index),
            _ => &mut [],
        },
        Slot::Address(index, part) => match (&mut instruction.sources[index as usize].kind, part) {
            (SourceKind::Address(address), 0) => address.descriptor.as_deref_mut().unwrap_or_default(),
            (SourceKind::Address(address), 1) => &mut address.base,
            (SourceKind::Address(address), _) => &mut address.uniform,
            _ => &mut [],
        },
        Slot::Destination(index) => &mut instruction.destinations[index as usize].values,
    }
}

/// Replaces the values of an operand.
pub fn replace(instruction: &mut Instruction, operand: Slot, values: &[Value]) {
    values_mut(instruction, operand).copy_from_slice(values);
}

/// `[base + offset]`, a 32-bit local address.
pub fn local_address(base: Value, offset: i32) -> Source {
    Source::plain(SourceKind::Address(Box::new(Address {
        base: Values::from_slice(&[base]),
        offset,
        ..Address::default()
    })))
}
