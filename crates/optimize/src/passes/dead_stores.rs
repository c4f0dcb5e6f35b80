//! After phase 49: stores whose bytes are overwritten before anything may read them are removed.
//!
//! It walks each block backwards. A store is dead if later stores of the block write all of its bytes, and nothing in
//! between may read them: no load of the space but from other bytes of the same root, no generic access, nothing ordered or
//! asynchronous, no barrier, fence or call, no exit under a guard. At the end of a block everything may be read. It must never remove a volatile,
//! ordered or strong store, and a store that only may act hides none before it.

use crate::analyses::accesses::{Access, Direction, Place, RootId, Roots, WORD};
use crate::analyses::definitions::Definitions;
use crate::passes::memory_values::Event;
use oriole_ori::{BlockId, Function, MemoryInfo, Space, effects};
use rustc_hash::FxHashMap;

/// Bytes that later stores write: for each word from a root on, a bit each.
type Overwritten = FxHashMap<RootId, FxHashMap<i64, u8>>;

/// Removes dead stores. True if there were some. In SSA.
pub fn run(function: &mut Function) -> bool {
    let candidates: Vec<BlockId> =
        function.blocks.iter_enumerated().filter(|(_, block)| stores(block) > 1).map(|(id, _)| id).collect();
    if candidates.is_empty() {
        return false;
    }
    let definitions = Definitions::in_ssa(function);
    let mut roots = Roots::default();
    // Definitions are known by their places: nothing goes before all is found.
    let dead = candidates.into_iter().map(|id| (id, dead_stores(function, &definitions, &mut roots, id)));
    let dead: Vec<(BlockId, Vec<usize>)> = dead.filter(|(_, dead)| !dead.is_empty()).collect();
    for (id, dead) in &dead {
        let (mut dead, mut index) = (dead.iter().rev().peekable(), 0..);
        let instructions = &mut function.block_mut(*id).instructions;
        instructions
            .retain(|_| index.next().is_none_or(|index: usize| dead.next_if(|&&at| at == index).is_none()));
    }
    !dead.is_empty()
}

fn stores(block: &oriole_ori::Block) -> usize {
    let accesses = block.instructions.iter().filter_map(Access::of);
    accesses.filter(|access| access.direction == Direction::Store).count()
}

/// Places of the dead stores of a block, the last one first.
fn dead_stores(function: &Function, definitions: &Definitions, roots: &mut Roots, id: BlockId) -> Vec<usize> {
    let mut dead = Vec::new();
    let mut overwritten = Overwritten::default();
    for (index, instruction) in function.block(id).instructions.iter().enumerate().rev() {
        let leaves = effects::is_transfer(instruction);
        let access = match Event::of(instruction) {
            // A plain load of memory that nothing writes reads no store.
            Event::Plain(access) if access.constant => continue,
            Event::Plain(access) => access,
            // A thread that leaves under a guard leaves memory as it is.
            Event::Nothing if !leaves && instruction.memory.is_none_or(is_constant) => continue,
            _ => {
                overwritten.clear();
                continue;
            }
        };
        let Some(place) = roots.place(function, definitions, instruction) else {
            overwritten.clear();
            continue;
        };
        match access.direction {
            Direction::Load => read(&mut overwritten, roots, &access, place),
            Direction::Store => {
                let bytes = bytes_of(place.offset, access.width.bytes());
                let here = overwritten.entry(place.root).or_default();
                if bytes.iter().all(|(word, mask)| here.get(word).is_some_and(|known| known & mask == *mask))
                {
                    dead.push(index);
                } else if instruction.guard.is_none() {
                    bytes.iter().for_each(|&(word, mask)| *here.entry(word).or_default() |= mask);
                }
            }
        }
    }
    dead
}

fn is_constant(memory: MemoryInfo) -> bool {
    memory.space == Space::Constant
}

/// A load may read what stores before it wrote.
fn read(overwritten: &mut Overwritten, roots: &Roots, access: &Access, place: Place) {
    let mut same = overwritten.remove(&place.root);
    if let Some(words) = &mut same {
        for (word, mask) in bytes_of(place.offset, access.width.bytes()) {
            if let Some(known) = words.get_mut(&word) {
                *known &= !mask;
            }
        }
    }
    let apart = |one: Space, other: Space| one != other && one != Space::Generic && other != Space::Generic;
    overwritten.retain(|root, _| apart(roots.get(*root).space, access.space));
    if let Some(words) = same {
        overwritten.insert(place.root, words);
    }
}

/// The bytes of an access: words from the root on, and a bit for each byte of them.
fn bytes_of(offset: i64, bytes: u32) -> Vec<(i64, u8)> {
    let mut found: Vec<(i64, u8)> = Vec::new();
    for byte in 0..i64::from(bytes) {
        let at = offset.wrapping_add(byte);
        let (word, bit) = (at.div_euclid(i64::from(WORD)), 1u8 << at.rem_euclid(i64::from(WORD)));
        match found.last_mut() {
            Some((last, mask)) if *last == word => *mask |= bit,
            _ => found.push((word, bit)),
        }
    }
    found
}
