//! Part of phase 85: a word that is copied to uniform registers several times, or in each iteration of a loop, is
//! copied once.
//!
//! Lowering copies uniform operands right before the instruction, often where only an elected lane executes. A
//! uniform word that the whole warp computes is instead copied after the instruction that defines it. Each old copy
//! then copies from one uniform register to another, which the allocator mostly coalesces. A uniform register is
//! written only where the whole warp executes, so it still holds the word wherever a subset of the warp reads it.
//! Constants need no copy at all, and pairs of the same two constants are written once in a block.
//!
//! Register pairs that always hold the same two words, such as addresses, are read in place. Blocks with `wgmma` use
//! `group_descriptors` instead: descriptors change from one MMA to the next, and uniform registers are short there.

use crate::analyses::definitions::{Definitions, Place};
use crate::analyses::warp_group::is_product;
use crate::passes::live_dead;
use oriole_ori::{
    BlockId, Destination, Divergence, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Value,
    Values,
};
use oriole_sass::Op;
use rustc_hash::FxHashMap;

/// Most words that are copied once: they are live in uniform registers up to their last use.
const MOST: usize = 16;

/// Most pairs of constants that are kept through a block.
const MOST_NUMBERS: usize = 4;

/// The copies of one word.
struct Copies {
    word: Value,
    /// The instruction that makes the word.
    made: (BlockId, u32),
    places: Vec<(BlockId, u32)>,
}

/// Copies words once and constants never. Outside SSA. True if something changed.
pub fn run(function: &mut Function) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    if !function.is_entry || !instructions.any(|instruction| copied(instruction).is_some()) {
        return false;
    }
    let definitions = Definitions::new(function);
    let constants = constants(function, &definitions);
    let found = find(function, &definitions);
    let shared_numbers = share_numbers(function, &definitions);
    let changed = constants || shared_numbers || !found.is_empty();
    let mut behind: FxHashMap<BlockId, Vec<(u32, Value, Value)>> = FxHashMap::default();
    let mut shared = Shared::default();
    for Copies { word, made: (block, index), places } in found {
        let one = function.new_value(File::UR, None);
        for (at, place) in places {
            let copy = &mut function.block_mut(at).instructions[place as usize];
            copy.sources[0] = one.into();
            copy.for_each_definition(|to| shared.add(&definitions, to, one));
        }
        behind.entry(block).or_default().push((index, word, one));
    }
    shared.replace_pairs(function);
    for (block, mut copies) in behind {
        // From the last one on, so that the others keep their indices.
        copies.sort_unstable_by(|a, b| b.cmp(a));
        let instructions = &mut function.block_mut(block).instructions;
        for (index, word, shared) in copies {
            let mut copy = Instruction::new(Pseudo::Copy, instructions[index as usize].origin);
            copy.destinations.push(Destination::new(File::UR, [shared]));
            copy.sources.push(word.into());
            instructions.insert(index as usize + 1, copy);
        }
    }
    if changed {
        live_dead::run(function);
    }
    changed
}

/// Reads pairs of the same two constants from one pair of registers in each block. True if there were some.
fn share_numbers(function: &mut Function, definitions: &Definitions) -> bool {
    let mut changed = false;
    for block in function.blocks.iter_mut().filter(|block| !block.instructions.iter().any(is_product)) {
        let mut numbers: FxHashMap<Value, u32> = FxHashMap::default();
        let mut known: FxHashMap<[u32; 2], [Value; 2]> = FxHashMap::default();
        for instruction in &mut block.instructions {
            for source in &mut instruction.sources {
                let Some(pair) = pair_of(source) else { continue };
                let [Some(&low), Some(&high)] = [pair[0], pair[1]].map(|word| numbers.get(&word)) else {
                    continue;
                };
                let met = known.get(&[low, high]).copied();
                if let Some([low, high]) = met {
                    changed |= pair[0] != low;
                    (pair[0], pair[1]) = (low, high);
                } else if known.len() < MOST_NUMBERS {
                    known.insert([low, high], [pair[0], pair[1]]);
                }
            }
            if let (Opcode::Sass(Op::UMOV), [destination], [Source { kind: SourceKind::Imm(bits), .. }]) =
                (instruction.opcode, instruction.destinations.as_slice(), instruction.sources.as_slice())
                && instruction.guard.is_none()
                && let [word] = destination.values[..]
                && definitions.is_stable(word)
            {
                numbers.insert(word, *bits);
            }
        }
    }
    changed
}

/// Uniform registers that replace others.
#[derive(Default)]
struct Shared {
    /// For each copy the register that it copies.
    of: FxHashMap<Value, Value>,
    /// For each register of a pair its position there and the other register.
    partners: FxHashMap<Value, (usize, Value)>,
}

impl Shared {
    fn add(&mut self, definitions: &Definitions, copy: Value, one: Value) {
        if definitions.is_stable(copy) {
            self.of.insert(copy, one);
        }
    }

    /// Reads pairs from the registers that are copied into them. No register is in two pairs.
    fn replace_pairs(&mut self, function: &mut Function) {
        for source in
            function.blocks.iter_mut().flat_map(|b| &mut b.instructions).flat_map(|i| &mut i.sources)
        {
            let Some(pair) = pair_of(source) else { continue };
            let (Some(&low), Some(&high)) = (self.of.get(&pair[0]), self.of.get(&pair[1])) else { continue };
            match [low, high].map(|register| self.partners.get(&register).copied()) {
                [None, None] if low != high => {
                    self.partners.insert(low, (0, high));
                    self.partners.insert(high, (1, low));
                }
                [Some((0, other)), _] if other == high => {}
                _ => continue,
            }
            (pair[0], pair[1]) = (low, high);
        }
    }
}

/// The register pair that an operand names, if it names one.
fn pair_of(source: &mut Source) -> Option<&mut Values> {
    let values = match &mut source.kind {
        SourceKind::Values(values) => values,
        SourceKind::Address(address) => {
            if address.base.is_empty() {
                &mut address.uniform
            } else {
                &mut address.base
            }
        }
        _ => return None,
    };
    (values.len() == 2).then_some(values)
}

/// The source of an unguarded copy to a uniform register.
fn copied(instruction: &Instruction) -> Option<&Source> {
    let [destination] = instruction.destinations.as_slice() else { return None };
    let copies = instruction.opcode == Opcode::Pseudo(Pseudo::Copy)
        && instruction.guard.is_none()
        && destination.file == File::UR
        && destination.values.len() == 1
        && destination.fixed.is_none();
    instruction.sources.first().filter(|source| copies && !source.negate && !source.invert)
}

/// Materializes constants where they are needed.
fn constants(function: &mut Function, definitions: &Definitions) -> bool {
    let mut found: Vec<(BlockId, usize, u32)> = Vec::new();
    for block in function.block_ids() {
        for (index, instruction) in function.block(block).instructions.iter().enumerate() {
            let bits = copied(instruction).and_then(|source| constant(function, definitions, source));
            found.extend(bits.map(|bits| (block, index, bits)));
        }
    }
    for &(block, index, bits) in &found {
        let instruction = &mut function.block_mut(block).instructions[index];
        instruction.opcode = Op::UMOV.into();
        instruction.sources[0] = Source::imm(bits);
    }
    !found.is_empty()
}

/// The constant that a source is known to be.
fn constant(function: &Function, definitions: &Definitions, source: &Source) -> Option<u32> {
    match source.kind {
        SourceKind::Zero(_) => Some(0),
        SourceKind::Imm(bits) => Some(bits),
        _ => {
            let maker = definitions.instruction(function, source.as_plain_value()?)?;
            match (maker.opcode, maker.sources.as_slice()) {
                (Opcode::Sass(Op::MOV), &[Source { kind: SourceKind::Imm(bits), .. }]) => Some(bits),
                _ => None,
            }
        }
    }
}

/// The uniform words that are worth a copy of their own, those with most copies first.
fn find(function: &Function, definitions: &Definitions) -> Vec<Copies> {
    let mut places: FxHashMap<Value, Vec<(BlockId, u32)>> = FxHashMap::default();
    let multiplies = |&block: &BlockId| function.block(block).instructions.iter().any(is_product);
    for block in function.block_ids().filter(|block| !multiplies(block)) {
        for (index, instruction) in (0..).zip(&function.block(block).instructions) {
            let word = copied(instruction).and_then(Source::as_plain_value);
            if let Some(word) = word.filter(|&word| function.file(word) == File::R) {
                places.entry(word).or_default().push((block, index));
            }
        }
    }
    if places.is_empty() {
        return Vec::new();
    }
    let graph = function.graph();
    let divergence = Divergence::new(function, &graph);
    let loops = graph.loops();
    let mut found: Vec<Copies> = Vec::new();
    for (word, places) in places {
        let Place::Instruction(block, index) = definitions.place(word) else { continue };
        let whole = divergence.is_uniform(word) && divergence.is_uniform_block(block);
        let repeated = places.iter().any(|&(at, _)| loops.depth(at) > loops.depth(block));
        if whole && (repeated || places.len() > 1) {
            found.push(Copies { word, made: (block, index), places });
        }
    }
    found.sort_unstable_by_key(|copies| (std::cmp::Reverse(copies.places.len()), copies.word));
    found.truncate(MOST);
    found
}
