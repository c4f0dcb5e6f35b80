//! Part of phase 74: 64-bit constants that f64 operations read are in uniform registers, on chips that do not read
//! pairs of words from constant banks (elsewhere see `literal_pool`).
//!
//! Reading one more register pair costs a cycle: the two register banks deliver one 64-bit operand at a time. A
//! uniform register is written only where the whole warp executes, at the moves to the general registers, which are
//! removed if they become dead. Where only a subset of the warp executes, the pair stays.

use crate::analyses::slots::exchanged;
use crate::passes::literal_pool::{number_of, pair_read, reads_doubles, words_with_numbers};
use crate::passes::live_dead;
use oriole_chip::Chip;
use oriole_ori::{
    BlockId, Destination, Divergence, File, FlowGraph, Function, Instruction, Source, SourceKind, Value,
    Values, is_legal,
};
use oriole_sass::Op;
use rustc_hash::FxHashMap;

/// A constant in uniform registers.
struct Number {
    words: [u32; 2],
    uniform: [Value; 2],
    /// It is written after this instruction of the block.
    place: (BlockId, usize),
}

/// Moves the constants. Outside SSA.
pub fn run(function: &mut Function, chip: Chip) {
    if chip.reads_long_constants() || !reads_doubles(function) {
        return;
    }
    let words = words_with_numbers(function);
    let graph = function.graph();
    let places = places(function, &graph, &words);
    let mut numbers: Vec<Number> = Vec::new();
    // By the pair of general registers.
    let mut known: FxHashMap<[Value; 2], usize> = FxHashMap::default();
    for &id in graph.cfg().order() {
        let mut instructions = std::mem::take(&mut function.block_mut(id).instructions);
        for instruction in &mut instructions {
            for index in 0..instruction.sources.len() {
                let Some(pair) = pair_read(instruction, index) else { continue };
                let Some(number) = number_of(&words, pair) else { continue };
                let [Some(low), Some(high)] = pair.map(|word| places.get(&word).copied()) else { continue };
                let met = known.get(&pair).map(|&at| numbers[at].uniform);
                let uniform = met.unwrap_or_else(|| {
                    pair.map(|word| function.new_value(File::UR, function.values[word].source))
                });
                let Some(other) = in_uniform(function, chip, instruction, index, uniform) else { continue };
                *instruction = other;
                if met.is_none() {
                    // The later of the two places.
                    let (_, block, at) = low.max(high);
                    known.insert(pair, numbers.len());
                    numbers.push(Number { words: number, uniform, place: (block, at) });
                }
            }
        }
        function.block_mut(id).instructions = instructions;
    }
    if numbers.is_empty() {
        return;
    }
    // From the end, so that indices stay valid.
    numbers.sort_by_key(|number| std::cmp::Reverse(number.place));
    for Number { words, uniform, place: (block, at) } in numbers {
        let instructions = &mut function.block_mut(block).instructions;
        let origin = instructions[at].origin;
        for (word, value) in words.into_iter().zip(uniform).rev() {
            let mut write = Instruction::new(Op::UMOV, origin);
            write.destinations.push(Destination::new(File::UR, [value]));
            write.sources.push(Source::imm(word));
            instructions.insert(at + 1, write);
        }
    }
    live_dead::run(function);
}

/// A program point in RPO: RPO number of the block, the block, the instruction.
type Place = (usize, BlockId, usize);

/// Points where the whole warp moves constants into general registers. Definitions that reach one reader dominate it,
/// so of two the earlier one in RPO dominates the other.
fn places(function: &Function, graph: &FlowGraph, words: &FxHashMap<Value, u32>) -> FxHashMap<Value, Place> {
    let divergence = Divergence::new(function, graph);
    let mut places = FxHashMap::default();
    for (number, &id) in graph.cfg().order().iter().enumerate() {
        if !divergence.is_uniform_block(id) {
            continue;
        }
        for (at, instruction) in function.block(id).instructions.iter().enumerate() {
            instruction.for_each_definition(|value| {
                if words.contains_key(&value) {
                    places.insert(value, (number, id, at));
                }
            });
        }
    }
    places
}

/// The instruction with this operand in uniform registers, with the first operand order that has a form.
fn in_uniform(
    function: &Function,
    chip: Chip,
    instruction: &Instruction,
    index: usize,
    uniform: [Value; 2],
) -> Option<Instruction> {
    let mut other = instruction.clone();
    other.sources[index].kind = SourceKind::Values(Values::from_slice(&uniform));
    let orders = [(0, 1), (1, 2), (0, 2)].into_iter().filter_map(|(a, b)| exchanged(&other, a, b));
    std::iter::once(other.clone()).chain(orders).find(|ordered| is_legal(chip, function, ordered))
}
