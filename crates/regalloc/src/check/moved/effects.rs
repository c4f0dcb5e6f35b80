//! Registers that each instruction reads and writes, with ids for instructions that compute the same: the form in
//! which both comparisons walk a function.
//!
//! Neither the graph nor what reaches an instruction is known here.

use crate::set::RegisterSet;
use oriole_ori::{Assignment, BlockId, File, Function, Instruction, Opcode, Origin, Value};
use oriole_sass::{Mods, Op};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use typed_index_collections::TiVec;

/// A register of a file.
pub(super) type Register = (File, u8);

/// Ids of readers and writers.
#[derive(Default)]
pub(super) struct Writers {
    numbers: FxHashMap<Instruction, u32>,
    named: Vec<(Opcode, Mods, Origin)>,
}

impl Writers {
    /// Instructions that compute the same have one id, wherever they are and whatever registers they write.
    fn number(&mut self, instruction: &Instruction) -> u32 {
        let mut key = instruction.clone();
        key.origin = Origin(0);
        key.destinations.iter_mut().for_each(|destination| destination.values.clear());
        let next = self.named.len() as u32;
        match self.numbers.entry(key) {
            std::collections::hash_map::Entry::Occupied(known) => *known.get(),
            std::collections::hash_map::Entry::Vacant(new) => {
                self.named.push((instruction.opcode, instruction.mods.clone(), instruction.origin));
                *new.insert(next)
            }
        }
    }

    /// The instruction of an id, for a message.
    pub(super) fn text(&self, number: u32) -> String {
        self.named.get(number as usize).map_or_else(
            || "nothing".into(),
            |(opcode, mods, origin)| format!("{opcode:?}{mods:?} of statement {}", origin.0),
        )
    }
}

/// Registers of one instruction.
pub(super) struct Effect {
    /// The instruction.
    pub(super) number: u32,
    /// Registers that it reads, in order and each once.
    pub(super) read: SmallVec<[Register; 4]>,
    /// It reads every register that anything wrote: a caller finds there the results of the convention, and the
    /// preserved registers.
    pub(super) returns: bool,
    /// Registers that its results are in.
    pub(super) written: SmallVec<[Register; 2]>,
    /// The results may keep what the registers held.
    pub(super) keeps: bool,
    /// Registers that a call may overwrite.
    pub(super) clobbered: Vec<Register>,
}

/// The effects of the instructions of each block.
pub(super) struct Effects {
    pub(super) blocks: TiVec<BlockId, Vec<Effect>>,
}

impl Effects {
    pub(super) fn of(function: &Function, assignment: &Assignment, writers: &mut Writers) -> Effects {
        let register = |value: Value| -> Option<Register> {
            let register = assignment.registers.get(value).copied().flatten()?;
            Some((function.file(value), register))
        };
        let mut effect = |instruction: &Instruction| {
            let mut read: SmallVec<[Register; 4]> = SmallVec::new();
            instruction.for_each_use(|value| read.extend(register(value)));
            let mut written = SmallVec::new();
            instruction.for_each_definition(|value| written.extend(register(value)));
            let mut clobbered = Vec::new();
            if let Some(call) = &instruction.call {
                read.extend(members(call.arguments).map(|register| (File::R, register)));
                let predicates =
                    |mask: u8| members([mask.into(), 0, 0, 0]).map(|register| (File::P, register));
                read.extend(predicates(call.argument_predicates));
                clobbered.extend(members(call.clobbers).map(|register| (File::R, register)));
                clobbered.extend(predicates(call.clobbered_predicates));
            }
            read.sort_unstable();
            read.dedup();
            Effect {
                number: writers.number(instruction),
                read,
                returns: instruction.opcode == Opcode::Sass(Op::RET),
                written,
                keeps: instruction.is_partial(),
                clobbered,
            }
        };
        let blocks = function.blocks.iter().map(|block| block.instructions.iter().map(&mut effect).collect());
        Effects { blocks: blocks.collect() }
    }

    /// All effects, in the order of the blocks.
    pub(super) fn all(&self) -> impl Iterator<Item = &Effect> {
        self.blocks.iter().flatten()
    }
}

/// The registers of a mask, bit n of word k for register `64 k + n`.
fn members(words: [u64; 4]) -> impl Iterator<Item = u8> {
    RegisterSet::from_words(words).iter()
}
