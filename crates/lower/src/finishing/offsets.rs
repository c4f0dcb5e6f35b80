//! Moves address offsets that do not fit the form of their instruction into the base.
//!
//! Fields differ by form: most have 24 bits, the two of a copy to shared memory 12 and 20, those of the widest
//! accesses are in units of 32 bytes. So each instruction is checked individually, when all of its operands and
//! modifiers are known.

use crate::source::imm;
use oriole_chip::Chip;
use oriole_ori::{
    Address, BlockId, Builder, Function, Instruction, Pseudo, Source, SourceKind, Values, is_legal,
};
use oriole_sass::Mod;

/// Every field of an offset takes these, but those that count larger units.
const ALWAYS: std::ops::RangeInclusive<i32> = -128..=127;

/// Offsets that fit a 24-bit field, whatever the shared-memory address of the variable that they are relative to.
const USUAL: std::ops::RangeInclusive<i32> = -0x80_0000..=0x7f_ffff - SHARED_MEMORY;

/// More bytes than shared memory has on any chip.
const SHARED_MEMORY: i32 = 1 << 18;

/// Moves offsets that do not fit.
pub(crate) fn settle_offsets(function: &mut Function, chip: Chip) {
    let blocks: Vec<BlockId> = function.block_ids().collect();
    for block in blocks {
        let mut index = 0;
        while index < function.block(block).instructions.len() {
            let instruction = &function.block(block).instructions[index];
            let too_far = too_far(function, chip, instruction);
            if !too_far.is_empty() {
                index += split(function, block, index, &too_far);
            }
            index += 1;
        }
    }
}

/// Offset of the address in a source, zero if it is not an address.
fn offset(source: &Source) -> i32 {
    match &source.kind {
        SourceKind::Address(address) => address.offset,
        _ => 0,
    }
}

fn set_offset(instruction: &mut Instruction, at: usize, offset: i32) {
    if let SourceKind::Address(address) = &mut instruction.sources[at].kind {
        address.offset = offset;
    }
}

/// The sources whose offset leaves the instruction without a form.
fn too_far(function: &Function, chip: Chip, instruction: &Instruction) -> Vec<usize> {
    let sources = &instruction.sources;
    let has_room = |source: &Source| match offset(source) {
        0 => true,
        offset => ALWAYS.contains(&offset) && !instruction.mods.has(Mod::_256),
    };
    if sources.iter().all(has_room) || is_legal(chip, function, instruction) {
        return Vec::new();
    }
    let with_offset: Vec<usize> = (0..sources.len()).filter(|&at| offset(&sources[at]) != 0).collect();
    let mut near = instruction.clone();
    with_offset.iter().for_each(|&at| set_offset(&mut near, at, 0));
    if !is_legal(chip, function, &near) {
        // The instruction needs other changes that a later stage makes: some operands are not uniform yet. Offsets
        // that no field can hold are split all the same.
        return with_offset.into_iter().filter(|&at| !USUAL.contains(&offset(&sources[at]))).collect();
    }
    let mut far = Vec::new();
    for at in with_offset {
        set_offset(&mut near, at, offset(&sources[at]));
        if !is_legal(chip, function, &near) {
            set_offset(&mut near, at, 0);
            far.push(at);
        }
    }
    far
}

/// Adds the offsets to their bases before the instruction; returns the count of added instructions.
fn split(function: &mut Function, block: BlockId, index: usize, too_far: &[usize]) -> usize {
    let mut rest = function.block_mut(block).instructions.split_off(index);
    let instruction = &mut rest[0];
    let mut b = Builder::new(function, block, instruction.origin);
    for &at in too_far {
        if let SourceKind::Address(address) = &mut instruction.sources[at].kind {
            address.base = sum(&mut b, address);
            address.offset = 0;
        }
    }
    let instructions = &mut function.block_mut(block).instructions;
    let added = instructions.len() - index;
    instructions.append(&mut rest);
    added
}

/// Base and offset in registers, as many as the base has.
fn sum(b: &mut Builder<'_>, address: &Address) -> Values {
    let offset = i64::from(address.offset);
    let [low, high] = [offset as u32, (offset >> 32) as u32];
    match *address.base.as_slice() {
        [] => {
            let only = b.r();
            b.mov(only, imm(low));
            Values::from_slice(&[only])
        }
        [base] => {
            let only = b.r();
            b.iadd3(only, base, imm(low), Source::rz());
            Values::from_slice(&[only])
        }
        ref words => {
            let pair = b.pair();
            let parts = [low, high].map(|word| {
                let part = b.r();
                b.mov(part, imm(word));
                part
            });
            let draft = b.op(Pseudo::Add64).to_tuple(pair);
            draft.from(Source::values(words.iter().copied())).from(Source::values(parts)).emit();
            Values::from_slice(&pair)
        }
    }
}
