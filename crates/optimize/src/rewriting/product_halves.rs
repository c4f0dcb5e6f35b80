//! Multiplies of which both halves are computed, each by its own instruction: merged into one wide multiply.
//!
//! It is part of value numbering (phase 49) and runs after it: equal operands have one name then. The two must be
//! close to each other in one block: the second half is computed early, and both take one aligned register pair.

use oriole_chip::Chip;
use oriole_ori::{
    BlockId, Destination, File, Function, Instruction, Opcode, Source, SourceKind, Value, is_legal,
};
use oriole_sass::{Mod, Mods, Op};
use rustc_hash::FxHashMap;

/// Most instructions between the two.
const NEAR: usize = 6;

/// Half of a product that an instruction computes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Low,
    /// With whether the factors are unsigned.
    High(bool),
}

/// Merges the halves of multiplies. In SSA. True if there were some.
pub fn join(function: &mut Function, chip: Chip) -> bool {
    let mut changed = false;
    for id in function.block_ids() {
        changed |= join_in(function, chip, id);
    }
    changed
}

fn join_in(function: &mut Function, chip: Chip, id: BlockId) -> bool {
    let halves = function.block(id).instructions.iter().enumerate();
    let halves: Vec<(usize, Half)> = halves.filter_map(|(index, i)| Some((index, half(i)?))).collect();
    if halves.iter().all(|(_, half)| *half == Half::Low) {
        return false;
    }
    // First instruction for each half of a product.
    let mut met: FxHashMap<([Source; 2], bool), (usize, Half)> = FxHashMap::default();
    let mut gone = Vec::new();
    for (index, half) in halves {
        let is_low = half == Half::Low;
        let factors = factors(&function.block(id).instructions[index]);
        let other = met.remove(&(factors.clone(), !is_low)).filter(|&(first, _)| index - first <= NEAR);
        let Some((first, other)) = other else {
            met.insert((factors, is_low), (index, half));
            continue;
        };
        let instructions = &function.block(id).instructions;
        let (low, high, unsigned) = match (half, other) {
            (Half::High(unsigned), _) => (first, index, unsigned),
            (_, Half::High(unsigned)) => (index, first, unsigned),
            _ => continue,
        };
        let words = [low, high].map(|at| instructions[at].destinations[0].values[0]);
        let product = product(&instructions[first], words, unsigned);
        if is_legal(chip, function, &product) {
            function.block_mut(id).instructions[first] = product;
            gone.push(index);
        }
    }
    let mut at = 0..;
    function
        .block_mut(id)
        .instructions
        .retain(|_| at.next().is_none_or(|at| gone.binary_search(&at).is_err()));
    !gone.is_empty()
}

/// Half of a 32x32-bit product that an instruction computes, if it does nothing else.
fn half(i: &Instruction) -> Option<Half> {
    let [destination] = i.destinations.as_slice() else { return None };
    let [first, second, addend] = i.sources.as_slice() else { return None };
    let is_factor = |source: &Source| {
        let plain = !source.negate && !source.invert && source.suffixes.is_empty() && source.fixed.is_none();
        plain && matches!(source.kind, SourceKind::Values(_) | SourceKind::Imm(_) | SourceKind::Const { .. })
    };
    let nothing = matches!(addend.kind, SourceKind::Zero(_)) && !addend.negate && !addend.invert;
    let result = destination.file == File::R && destination.values.len() == 1 && destination.fixed.is_none();
    let multiplies = i.opcode == Opcode::Sass(Op::IMAD) && i.guard.is_none() && nothing && result;
    if !multiplies || !is_factor(first) || !is_factor(second) {
        return None;
    }
    match (i.mods.has(Mod::HI), i.mods.has(Mod::U32), i.mods.len()) {
        (false, _, 0) | (false, true, 1) => Some(Half::Low),
        (true, unsigned, count) if count == 1 + usize::from(unsigned) => Some(Half::High(unsigned)),
        _ => None,
    }
}

/// The factors, registers sorted by id.
fn factors(i: &Instruction) -> [Source; 2] {
    let [first, second] = [0, 1].map(|index: usize| i.sources[index].clone());
    let number = |source: &Source| source.as_plain_value().map_or(u32::MAX, |value| value.0);
    if number(&first) <= number(&second) { [first, second] } else { [second, first] }
}

/// The wide multiply.
fn product(half: &Instruction, words: [Value; 2], unsigned: bool) -> Instruction {
    let mut product = half.clone();
    product.mods = Mods::none();
    product.mods.insert(Mod::WIDE);
    if unsigned {
        product.mods.insert(Mod::U32);
    }
    product.destinations = [Destination::new(File::R, words)].into_iter().collect();
    product
}
