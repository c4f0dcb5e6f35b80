//! Phase 64: loads of adjacent words in shared memory become one load of 64 or 128 bits.
//!
//! A load takes one slot in the memory queue whatever its width, and GEMM kernels that stage tiles in shared memory
//! read little else. The wide load replaces the first of the narrow ones, within a block, where nothing between them
//! may write shared memory or wait for a writer. Its address must be a multiple of its size: the facts about values
//! show that, and the alignment of the variable, which the layout of the kernel keeps
//! (`oriole_ori::shared_alignment`).
//!
//! Loads that are far apart stay, since all words of a wide load are in registers until the last one is read.

use crate::analyses::memory_order::{disturbs_memory, is_plain_load};
use crate::analyses::value_facts::{ValueFacts, known};
use crate::passes::vector_accesses;
use oriole_options::Optimization;
use oriole_ori::{
    Address, FormChange, Function, Instruction, Opcode, Outcome, Pass, Source, SourceKind, Space, Values,
};
use oriole_sass::{Mod, Mods, Op};
use rustc_hash::FxHashMap;

/// Bytes of a register.
const WORD: i64 = 4;
/// Words of the widest load.
const WIDEST: usize = 4;
/// No more instructions between the first of the loads and the last.
const REACH: usize = 64;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    optimization: Some(Optimization::VectorLoads),
    asks: &[Optimization::VectorAccesses],
    ..Pass::new(|function, context| {
        let mut changed = run(function);
        changed |= context.wants(Optimization::VectorAccesses) && vector_accesses::run(function);
        Outcome::changed_if(changed)
    })
};

/// A load of shared memory.
struct Load {
    /// Its place in the block.
    at: usize,
    offset: i64,
    words: usize,
}

/// Loads whose addresses differ only in their offsets, with no memory disturbance between them.
struct Group {
    /// The address of all of them, without an offset.
    address: Address,
    loads: Vec<Load>,
}

/// Loads that become one: their places in the block, by address.
struct Joined {
    loads: Vec<usize>,
    words: usize,
}

/// Joins the loads of a function. True if there were some. In SSA.
pub fn run(function: &mut Function) -> bool {
    let mut facts: Option<ValueFacts> = None;
    let mut changed = false;
    for id in function.graph().cfg().order().to_vec() {
        let mut here = false;
        for group in groups(&function.block(id).instructions) {
            // Facts are computed only where there are loads to merge: most kernels have none.
            let facts = facts.get_or_insert_with(|| known(function));
            let alignment = alignment(facts, &group.address);
            for joined in joined(group.loads, alignment) {
                join(&mut function.block_mut(id).instructions, &joined);
                here = true;
            }
        }
        if here {
            function.block_mut(id).instructions.retain(|instruction| !is_gone(instruction));
        }
        changed |= here;
    }
    changed
}

/// Groups of two loads and more.
fn groups(instructions: &[Instruction]) -> Vec<Group> {
    let mut closed: Vec<Group> = Vec::new();
    let mut open: Vec<Group> = Vec::new();
    let mut by_address: FxHashMap<Address, usize> = FxHashMap::default();
    for (at, instruction) in instructions.iter().enumerate() {
        if disturbs_shared(instruction) {
            closed.append(&mut open);
            by_address.clear();
        }
        let Some((address, words)) = loaded(instruction) else { continue };
        let load = Load { at, offset: i64::from(address.offset), words };
        let address = Address { offset: 0, ..address.clone() };
        let group = *by_address.entry(address).or_insert_with_key(|address| {
            open.push(Group { address: address.clone(), loads: Vec::new() });
            open.len() - 1
        });
        open[group].loads.push(load);
    }
    closed.append(&mut open);
    closed.retain(|group| group.loads.len() > 1);
    closed
}

/// True if it may change shared memory, or waits until another thread may have.
fn disturbs_shared(instruction: &Instruction) -> bool {
    let elsewhere = instruction.memory.is_some_and(|memory| {
        !memory.ordered
            && matches!(memory.space, Space::Global | Space::Constant | Space::Local | Space::Spill)
    });
    !elsewhere && disturbs_memory(instruction)
}

/// The address of a load of whole words from shared memory, and how many it loads.
fn loaded(instruction: &Instruction) -> Option<(&Address, usize)> {
    let words = match instruction.mods.iter().collect::<Vec<_>>().as_slice() {
        [] => 1,
        [Mod::_64] => 2,
        _ => return None,
    };
    let plain = instruction.opcode == Opcode::Sass(Op::LDS)
        && instruction.memory.is_some_and(|memory| memory.space == Space::Shared)
        && is_plain_load(instruction);
    match instruction.sources.as_slice() {
        [Source { kind: SourceKind::Address(address), .. }]
            if plain && instruction.destinations[0].values.len() == words =>
        {
            Some((address, words))
        }
        _ => None,
    }
}

/// Trailing zero bits of an address without its offset.
fn alignment(facts: &ValueFacts, address: &Address) -> u32 {
    let values = address.base.iter().chain(&address.uniform);
    let parts = values.map(|&value| facts.bits(value).trailing);
    parts.chain(address.symbol.map(|symbol| facts.alignment(symbol))).min().unwrap_or(32).into()
}

/// Groups of loads that become one.
fn joined(mut loads: Vec<Load>, alignment: u32) -> Vec<Joined> {
    loads.sort_by_key(|load| (load.offset, load.at));
    let mut found = Vec::new();
    let mut rest = loads.as_slice();
    while let [_, behind @ ..] = rest {
        let joined = [WIDEST, 2].into_iter().find_map(|words| beside(rest, words, alignment));
        match joined {
            Some(count) => {
                let (together, others) = rest.split_at(count);
                let words = together.iter().map(|load| load.words).sum();
                found.push(Joined { loads: together.iter().map(|load| load.at).collect(), words });
                rest = others;
            }
            None => rest = behind,
        }
    }
    found
}

/// Count of leading loads that form one load of `words` words.
fn beside(loads: &[Load], words: usize, alignment: u32) -> Option<usize> {
    let bytes = words as i64 * WORD;
    let first = &loads[0];
    if bytes.trailing_zeros() > alignment || first.offset % bytes != 0 {
        return None;
    }
    let (mut count, mut end) = (0, first.offset);
    for load in loads {
        if end == first.offset + bytes {
            break;
        }
        if load.offset != end {
            return None;
        }
        end += load.words as i64 * WORD;
        count += 1;
    }
    let together = &loads[..count];
    let places = together.iter().map(|load| load.at);
    let near = places.clone().max()? - places.min()? <= REACH;
    (count > 1 && end == first.offset + bytes && near).then_some(count)
}

/// Replaces the first of the loads by the wide one; the others are left without results.
fn join(instructions: &mut [Instruction], joined: &Joined) {
    let values: Values =
        joined.loads.iter().flat_map(|&at| instructions[at].destinations[0].values.clone()).collect();
    let lowest = instructions[joined.loads[0]].sources.clone();
    for &at in &joined.loads {
        instructions[at].destinations.clear();
    }
    let Some(&first) = joined.loads.iter().min() else { return };
    let load = &mut instructions[first];
    load.sources = lowest;
    load.mods = Mods::none();
    load.mods.insert(if joined.words == 2 { Mod::_64 } else { Mod::_128 });
    load.destinations.push(oriole_ori::Destination::new(oriole_ori::File::R, values));
}

/// A load whose words another load provides.
fn is_gone(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::LDS) && instruction.destinations.is_empty()
}
