//! Phases 10, 16, 33, 61 and 84, OriPerformLiveDead: dead-code elimination.
//!
//! Instructions with effects are kept, and transitively the definitions of their operands; all others are removed,
//! phis included. Works in SSA and outside it (there a register that is read anywhere keeps all its definitions). A
//! predicate result that is never read becomes `PT`. Texels that are never read leave the mask of their fetch: the others
//! are then written to fewer registers.

use oriole_options::Optimization;
use oriole_ori::{
    BlockId, Destination, File, Function, Instruction, Opcode, Outcome, Pass, Source, SourceKind, Value,
    effects,
};
use oriole_sass::Op;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// No entry in a list of definitions.
const NONE: u32 = u32::MAX;

/// A definition whose readers were not known when the sweep passed it, and the list index of the next definition of
/// the value.
struct Definition {
    block: BlockId,
    /// Index of the instruction, or of the phi with the highest bit set.
    place: u32,
    next: u32,
}

/// Marks phis among the places.
const PHI: u32 = 1 << 31;

/// Flag of an instruction: it stays.
const KEPT: u8 = 1;
/// Flag of an instruction: it may write a predicate.
const PREDICATE: u8 = 2;
/// Flag of an instruction: it fetches texels.
const TEXELS: u8 = 4;

/// Texels that a fetch writes without a mask.
const ALL_TEXELS: usize = 4;

/// Kinds of removed code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Removed {
    /// Nothing.
    Nothing,
    /// Instructions and phis as a whole.
    Whole,
    /// Results of instructions that stay, and maybe whole ones too.
    Results,
}

/// The pass.
pub static PASS: Pass = Pass {
    optimization: Some(Optimization::DeadCode),
    idle_at_fixed_point: true,
    ..Pass::new(|function, _| Outcome::changed_if(run(function)))
};

/// The pass for unoptimized code; elsewhere other passes remove dead code. Debuggers show dead values, too: in
/// functions for them it stays.
pub static UNOPTIMIZED: Pass = Pass {
    optimization: Some(Optimization::DeadCode),
    ..Pass::new(|function, context| {
        let acts = context.options.level == 0 && !function.calls_library;
        Outcome::changed_if(acts && run(function))
    })
};

/// Removes dead code. Returns true if there was some.
pub fn run(function: &mut Function) -> bool {
    remove(function) != Removed::Nothing
}

/// Removes dead code.
pub fn remove(function: &mut Function) -> Removed {
    let mut marks = Marks::new(function);
    marks.sweep_backwards(function);
    marks.close(function);
    marks.delete(function)
}

/// Values and instructions known to be needed.
struct Marks {
    needed: TiVec<Value, bool>,
    /// The last entry of `passed` that defines the value.
    last: TiVec<Value, u32>,
    /// Values that turned out to be needed after their definition was passed.
    work: Vec<Value>,
    /// Definitions that the sweep passed before their reader was found. Blocks are nearly in RPO, so they are few: a
    /// backward sweep visits most readers before the definitions.
    passed: Vec<Definition>,
    /// Start of each block's instructions in `found`.
    starts: TiVec<BlockId, usize>,
    /// [`KEPT`] and [`PREDICATE`] of all instructions in storage order.
    found: Vec<u8>,
}

impl Marks {
    fn new(function: &Function) -> Marks {
        let mut starts: TiVec<BlockId, usize> = TiVec::with_capacity(function.blocks.len());
        let mut count = 0;
        for block in &function.blocks {
            starts.push(count);
            count += block.instructions.len();
        }
        Marks {
            needed: ti_vec![false; function.values.len()],
            last: ti_vec![NONE; function.values.len()],
            work: Vec::new(),
            passed: Vec::new(),
            starts,
            found: vec![0; count],
        }
    }

    /// Keeps instructions with effects, and definitions of values that a later kept instruction reads.
    fn sweep_backwards(&mut self, function: &Function) {
        for (id, block) in function.blocks.iter_enumerated().rev() {
            for (index, instruction) in block.instructions.iter().enumerate().rev() {
                let mut keep = !effects::is_removable(instruction);
                let mut predicate = false;
                for destination in &instruction.destinations {
                    predicate |= matches!(destination.file, File::P | File::UP);
                    keep |= destination.values.iter().any(|&value| self.needed[value]);
                }
                let texels = fetches_texels(instruction);
                self.found[self.starts[id] + index] = if keep { KEPT } else { 0 }
                    | if predicate { PREDICATE } else { 0 }
                    | if texels { TEXELS } else { 0 };
                if keep {
                    instruction.for_each_use(|value| self.need(value));
                } else {
                    let place = index as u32;
                    instruction.for_each_definition(|value| self.pass(value, id, place));
                }
            }
            for (index, phi) in (0..).zip(&block.phis) {
                if self.needed[phi.destination] {
                    phi.values().for_each(|value| self.need(value));
                } else {
                    self.pass(phi.destination, id, PHI | index);
                }
            }
        }
    }

    /// Keeps the definitions that the sweep passed before their readers, and transitively their operands.
    fn close(&mut self, function: &Function) {
        while let Some(value) = self.work.pop() {
            let mut at = self.last[value];
            while let Some(&Definition { block, place, next }) = self.passed.get(at as usize) {
                at = next;
                let here = &function.blocks[block];
                if place & PHI != 0 {
                    let phi = &here.phis[(place & !PHI) as usize];
                    phi.values().for_each(|value| self.need(value));
                    continue;
                }
                let known = &mut self.found[self.starts[block] + place as usize];
                if *known & KEPT == 0 {
                    *known |= KEPT;
                    let instruction = &here.instructions[place as usize];
                    instruction.for_each_use(|value| self.need(value));
                }
            }
        }
    }

    /// Deletes unmarked instructions.
    fn delete(&self, function: &mut Function) -> Removed {
        let (mut whole, mut results) = (false, false);
        for (block, &start) in function.blocks.iter_mut().zip(&self.starts) {
            if !self.passed.is_empty() {
                let phis = block.phis.len();
                block.phis.retain(|phi| self.needed[phi.destination]);
                whole |= block.phis.len() != phis;
            }
            let found = &self.found[start..start + block.instructions.len()];
            for (instruction, known) in block.instructions.iter_mut().zip(found) {
                if *known & (KEPT | PREDICATE) == KEPT | PREDICATE {
                    results |= drop_predicates(instruction, &self.needed);
                }
                if *known & (KEPT | TEXELS) == KEPT | TEXELS {
                    results |= drop_texels(instruction, &self.needed);
                }
            }
            if found.iter().any(|known| known & KEPT == 0) {
                whole = true;
                let mut found = found.iter();
                block.instructions.retain(|_| found.next().is_none_or(|known| known & KEPT != 0));
            }
        }
        match (whole, results) {
            (_, true) => Removed::Results,
            (true, false) => Removed::Whole,
            (false, false) => Removed::Nothing,
        }
    }

    /// Marks a value as read. A definition that the sweep has not reached needs no more than the mark.
    fn need(&mut self, value: Value) {
        if !std::mem::replace(&mut self.needed[value], true) && self.last[value] != NONE {
            self.work.push(value);
        }
    }

    fn pass(&mut self, value: Value, block: BlockId, place: u32) {
        let next = std::mem::replace(&mut self.last[value], self.passed.len() as u32);
        self.passed.push(Definition { block, place, next });
    }
}

/// Drops predicate results that are never read, with the old values tied to them.
fn drop_predicates(instruction: &mut Instruction, needed: &TiSlice<Value, bool>) -> bool {
    if instruction.call.is_some() || matches!(instruction.opcode, Opcode::Pseudo(_)) {
        return false;
    }
    let dead = |destination: &Destination| {
        matches!(destination.file, File::P | File::UP)
            && !destination.values.is_empty()
            && destination.fixed.is_none()
            && destination.values.iter().all(|&v| !needed[v])
    };
    if !instruction.destinations.iter().any(dead) {
        return false;
    }
    let mut tied = instruction.tied.iter().copied();
    let mut still_tied = oriole_ori::Values::new();
    for destination in &mut instruction.destinations {
        let old: Vec<Value> = tied.by_ref().take(destination.values.len()).collect();
        if dead(destination) {
            *destination = Destination::dropped(destination.file, destination.width);
        } else {
            still_tied.extend(old);
        }
    }
    instruction.tied = still_tied;
    true
}

/// True for fetches whose last operand may be a mask of the texels that they write.
fn fetches_texels(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Sass(Op::TEX | Op::TLD | Op::TLD4 | Op::TXD))
}

/// Drops texels that are never read: the mask says which are left, and they follow each other, two in the pair of the lower ones.
fn drop_texels(instruction: &mut Instruction, needed: &TiSlice<Value, bool>) -> bool {
    let [.., high, low] = &instruction.destinations[..] else { return false };
    let before: Vec<Value> = low.values.iter().chain(&high.values).copied().collect();
    let left: Vec<Value> = before.iter().copied().filter(|&value| needed[value]).collect();
    // A fetch for the predicate alone still names a texel.
    if left.is_empty() || left.len() == before.len() {
        return false;
    }
    let mut bits: Vec<u32> = (0..ALL_TEXELS as u32).collect();
    if before.len() < ALL_TEXELS {
        let Some(SourceKind::Literal(mask)) = instruction.sources.last().map(|source| &source.kind) else {
            return false;
        };
        bits.retain(|bit| mask >> bit & 1 != 0);
        instruction.sources.pop();
    }
    debug_assert_eq!(bits.len(), before.len());
    let kept = bits.iter().zip(&before).filter(|&(_, &value)| needed[value]);
    let mask = kept.fold(0, |mask, (bit, _)| mask | 1 << bit);
    instruction.sources.push(Source::literal(mask));

    // Old values are listed in the order of the destinations: the upper pair comes first.
    let old: Vec<(Value, Value)> = {
        let defined = instruction.destinations.iter().flat_map(|destination| &destination.values).copied();
        defined.zip(instruction.tied.iter().copied()).collect()
    };
    let (lower, upper) = left.split_at(left.len().min(2));
    let count = instruction.destinations.len();
    for (place, values) in [(count - 2, upper), (count - 1, lower)] {
        instruction.destinations[place] = match values {
            [] => Destination::dropped(File::R, 1),
            values => Destination::new(File::R, values.iter().copied()),
        };
    }
    if !old.is_empty() {
        let defined = instruction.destinations.iter().flat_map(|destination| &destination.values);
        let old_of = |value: &Value| old.iter().find(|(new, _)| new == value).map(|&(_, old)| old);
        instruction.tied = defined.filter_map(old_of).collect();
    }
    true
}
