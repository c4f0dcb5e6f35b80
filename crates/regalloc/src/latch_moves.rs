//! Moves that a loop needs on its back edge are hoisted above the branch, where the other path does not read the
//! overwritten registers. Then the branch itself goes to the header, and no block with a jump is in between.
//!
//! It is here because only after allocation the remaining moves of an edge are known, and the registers that the
//! other path reads. For kernels only: the results of a function are in registers that its return does not name.

use crate::edges::tail_start;
use crate::set::RegisterSet;
use oriole_ori::branches::is_plain_branch;
use oriole_ori::{Assignment, BlockId, Cfg, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind};
use oriole_sass::Op;
use typed_index_collections::{TiVec, ti_vec};

/// More moves than these cost the exit path more than the jump costs the loop.
const MOST_MOVES: usize = 8;

/// Hoists the moves.
pub fn merge(function: &mut Function, assignment: &Assignment) {
    if !function.is_entry {
        return;
    }
    let graph = function.graph();
    let cfg = graph.cfg();
    let registers = Registers { function, assignment };
    let latches: Vec<Latch> = cfg.order().iter().filter_map(|&id| registers.latch(cfg, id)).collect();
    if latches.is_empty() {
        return;
    }
    let live = registers.live_at_entries(cfg);
    let free = latches.into_iter().filter(|latch| !latch.written.meets(live[latch.exit]));
    for latch in free.collect::<Vec<Latch>>() {
        let from = function.block_mut(latch.block);
        let jump = from.instructions.iter().position(is_plain_branch).unwrap_or(from.instructions.len());
        let moves: Vec<Instruction> = from.instructions.drain(..jump).collect();
        let into = function.block_mut(latch.before);
        let end = tail_start(&into.instructions);
        into.instructions.splice(end..end, moves);
    }
}

/// A block on a back edge that only holds moves.
struct Latch {
    block: BlockId,
    /// The block whose branch leads to it.
    before: BlockId,
    /// The other target of that branch.
    exit: BlockId,
    written: Set,
}

/// General registers and predicates.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Set {
    general: RegisterSet,
    predicates: RegisterSet,
}

impl Set {
    fn of_words(general: [u64; 4], predicates: u8) -> Set {
        Set {
            general: RegisterSet::from_words(general),
            predicates: RegisterSet::from_words([predicates.into(), 0, 0, 0]),
        }
    }

    fn with(self, other: Set) -> Set {
        Set { general: self.general.with(other.general), predicates: self.predicates.with(other.predicates) }
    }

    fn without(self, other: Set) -> Set {
        Set {
            general: self.general.without(other.general),
            predicates: self.predicates.without(other.predicates),
        }
    }

    fn meets(self, other: Set) -> bool {
        !(self.general.within(other.general).is_empty()
            && self.predicates.within(other.predicates).is_empty())
    }
}

/// A function with its registers.
struct Registers<'a> {
    function: &'a Function,
    assignment: &'a Assignment,
}

impl Registers<'_> {
    fn insert(&self, set: &mut Set, value: oriole_ori::Value) {
        let Some(register) = self.assignment.registers.get(value).copied().flatten() else { return };
        match self.function.file(value) {
            File::R => set.general.insert(register),
            File::P => set.predicates.insert(register),
            File::UR | File::UP | File::B => {}
        }
    }

    fn read(&self, instruction: &Instruction) -> Set {
        let mut set = Set::default();
        instruction.for_each_use(|value| self.insert(&mut set, value));
        match &instruction.call {
            Some(call) => set.with(Set::of_words(call.arguments, call.argument_predicates)),
            None => set,
        }
    }

    /// Registers that an instruction overwrites unconditionally.
    fn written(&self, instruction: &Instruction) -> Set {
        let mut set = Set::default();
        if !instruction.is_partial() {
            instruction.for_each_definition(|value| self.insert(&mut set, value));
        }
        match &instruction.call {
            Some(call) => set.with(Set::of_words(call.clobbers, call.clobbered_predicates)),
            None => set,
        }
    }

    /// The latch that a branch of this block leads to, if its moves may be hoisted above the branch as far as the
    /// exit allows.
    fn latch(&self, cfg: &Cfg, before: BlockId) -> Option<Latch> {
        let &[one, other] = self.function.block(before).successors.as_slice() else { return None };
        [(one, other), (other, one)].into_iter().find_map(|(block, exit)| {
            let [header] = self.function.block(block).successors[..] else { return None };
            let goes_back = cfg.position(header) <= cfg.position(before);
            if block == exit || !goes_back || cfg.predecessors(block) != [before] {
                return None;
            }
            let instructions = &self.function.block(block).instructions;
            let moves = match instructions.split_last() {
                Some((last, moves)) if is_plain_branch(last) => moves,
                _ => instructions,
            };
            if moves.is_empty() || moves.len() > MOST_MOVES || !moves.iter().all(is_move) {
                return None;
            }
            let written = moves.iter().fold(Set::default(), |set, it| set.with(self.written(it)));
            let instructions = &self.function.block(before).instructions;
            let transfers = &instructions[tail_start(instructions)..];
            let asked = transfers.iter().any(|transfer| self.read(transfer).meets(written));
            (!asked).then_some(Latch { block, before, exit, written })
        })
    }

    /// The registers that are read before they are written from the beginning of each block on.
    fn live_at_entries(&self, cfg: &Cfg) -> TiVec<BlockId, Set> {
        let mut live: TiVec<BlockId, Set> = ti_vec![Set::default(); self.function.blocks.len()];
        // For each block the registers that it reads before writing, and those that it overwrites.
        let summaries: TiVec<BlockId, (Set, Set)> = self
            .function
            .blocks
            .iter()
            .map(|block| {
                block.instructions.iter().rev().fold(
                    (Set::default(), Set::default()),
                    |(read, written), it| {
                        let overwritten = self.written(it);
                        (read.without(overwritten).with(self.read(it)), written.with(overwritten))
                    },
                )
            })
            .collect();
        loop {
            let mut changed = false;
            for &id in cfg.order().iter().rev() {
                let successors = self.function.block(id).successors.iter();
                let behind = successors.fold(Set::default(), |set, &successor| set.with(live[successor]));
                let (read, written) = summaries[id];
                let now = behind.without(written).with(read);
                changed |= std::mem::replace(&mut live[id], now) != now;
            }
            if !changed {
                return live;
            }
        }
    }
}

/// An unguarded move to one register: from another register, an immediate, or a constant-bank word.
fn is_move(instruction: &Instruction) -> bool {
    let [source] = instruction.sources.as_slice() else { return false };
    let [destination] = instruction.destinations.as_slice() else { return false };
    let Source { kind, .. } = source;
    let one_word = match kind {
        SourceKind::Values(values) => values.len() == 1,
        SourceKind::Zero(_) | SourceKind::True(_) | SourceKind::Imm(_) | SourceKind::Const { .. } => true,
        _ => false,
    };
    one_word
        && instruction.guard.is_none()
        && destination.values.len() == 1
        && matches!(destination.file, File::R | File::P)
        && matches!(instruction.opcode, Opcode::Sass(Op::MOV) | Opcode::Pseudo(Pseudo::Copy))
}
