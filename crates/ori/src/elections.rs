//! Elections: conditions that hold in one lane of a warp only, and the instructions for which that matters.
//!
//! A warp executes some instructions once, however many of its lanes are active: bulk copies and matrix multiplies in tensor
//! memory. Lowering builds a loop over the lanes around those of which each lane means one of its own, and phase 133 has
//! the whole warp execute those that an elected lane means. Both must agree on what an election is, so it is here. It
//! only answers: no rewriting may enter.

use crate::effects::{self, gathers_warp};
use crate::exits::is_bare_exit;
use crate::{
    BlockId, Cfg, Chains, Divergence, Dominators, Function, Guard, Instruction, Opcode, Pseudo, Source,
    SourceKind, Value,
};
use oriole_sass::{Mod, Op};
use rustc_hash::FxHashSet;
use std::cell::OnceCell;

/// Most instructions through which a condition is followed.
const DEPTH: u32 = 8;

/// Most blocks that are searched for an exit.
const MOST_BLOCKS: usize = 256;

/// How often a warp must execute an instruction of its own datapath if all lanes have the same operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// For every lane.
    EachLane,
    /// Once does.
    Once,
}

/// Conditions that hold in one lane only.
pub struct Elections<'a> {
    function: &'a Function,
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    divergence: &'a Divergence,
    definitions: Chains,
    /// Blocks at which some lanes of a warp may end, and others not; computed on first use.
    partial_ends: OnceCell<Vec<BlockId>>,
}

impl<'a> Elections<'a> {
    /// Prepares the answers for one function.
    pub fn new(
        function: &'a Function,
        cfg: &'a Cfg,
        dominators: &'a Dominators,
        divergence: &'a Divergence,
    ) -> Elections<'a> {
        let definitions = Chains::of_definitions(function, cfg.order());
        Elections { function, cfg, dominators, divergence, definitions, partial_ends: OnceCell::new() }
    }

    /// Where each value is written.
    pub fn definitions(&self) -> &Chains {
        &self.definitions
    }

    /// True if all paths to the block go through a branch that only an elected lane takes.
    pub fn one_lane_reaches(&self, block: BlockId) -> bool {
        let mut at = Some(block);
        while let Some(id) = at {
            if let [before] = self.cfg.predecessors(id)
                && self.is_taken_by_one(*before, id)
            {
                return true;
            }
            at = self.dominators.immediate(id);
        }
        false
    }

    /// True if an elected lane at most takes the edge between the blocks.
    pub fn is_taken_by_one(&self, from: BlockId, to: BlockId) -> bool {
        let block = self.function.block(from);
        let [taken, otherwise] = block.successors.as_slice() else { return false };
        let Some(last) = block.instructions.last() else { return false };
        let (Opcode::Sass(Op::BRA | Op::EXIT), Some(guard)) = (last.opcode, last.guard) else { return false };
        let wanted = if *taken == to { !guard.negated } else { guard.negated };
        taken != otherwise && self.elects(from, guard.value, wanted, DEPTH)
    }

    /// The instructions that write the value and their block, if all are in one block and lanes that reach `block`
    /// have the value from one election. Either it is `block` itself, so that lanes that execute it divergently or at
    /// another time do not affect the condition. Or the whole warp executes the defining block together, or was
    /// reconverged in it, so that no lane has the value of another time.
    fn writers(&self, block: BlockId, value: Value) -> Option<(BlockId, Vec<&Instruction>)> {
        let of = self.definitions.of(value);
        let &(home, _) = of.first()?;
        let instructions = &self.function.block(home).instructions;
        let phis = self.function.block(home).phis.len();
        let first = of.iter().map(|&(_, index)| (index as usize).saturating_sub(phis)).min()?;
        let together = || {
            self.divergence.is_uniform_block(home) || instructions[..first].iter().any(|it| self.gathers(it))
        };
        if home != block && !(self.dominators.dominates(home, block) && together()) {
            return None;
        }
        let own = |&(at, index): &(BlockId, u32)| {
            (at == home).then(|| (index as usize).checked_sub(phis).map(|index| &instructions[index]))?
        };
        Some((home, of.iter().map(own).collect::<Option<_>>()?))
    }

    /// True if the predicate has this truth in one lane at most.
    fn elects(&self, block: BlockId, value: Value, wanted: bool, depth: u32) -> bool {
        let Some((block, writers)) = self.writers(block, value).filter(|_| depth > 0) else { return false };
        let [only] = writers.as_slice() else { return false };
        if only.guard.is_some() {
            return false;
        }
        match only.opcode {
            Opcode::Sass(Op::ELECT) => wanted,
            Opcode::Pseudo(Pseudo::Copy) => self.implies(block, &only.sources[0], wanted, depth),
            Opcode::Sass(Op::PLOP3) => self.logic_elects(block, only, wanted, depth),
            Opcode::Sass(Op::ISETP) => self.comparison_elects(block, only, wanted, depth),
            _ => false,
        }
    }

    fn implies(&self, block: BlockId, source: &Source, wanted: bool, depth: u32) -> bool {
        let SourceKind::Values(values) = &source.kind else { return false };
        self.elects(block, values[0], wanted != source.invert, depth - 1)
    }

    /// A LUT of three predicates elects if it is true only where one of them has an electing value.
    fn logic_elects(&self, block: BlockId, logic: &Instruction, wanted: bool, depth: u32) -> bool {
        let SourceKind::Literal(table) = logic.sources[3].kind else { return false };
        let allowed = |row: i64| {
            (0..3).all(|at| match logic.sources[at].kind {
                SourceKind::True(_) => (row >> (2 - at) & 1 == 1) != logic.sources[at].invert,
                _ => true,
            })
        };
        let rows: Vec<i64> =
            (0..8).filter(|&row| allowed(row) && (table >> row & 1 == 1) == wanted).collect();
        (0..3).any(|at| {
            let bit = |row: &i64| row >> (2 - at) & 1 == 1;
            let truth = rows.first().is_some_and(bit);
            !rows.is_empty()
                && rows.iter().all(|row| bit(row) == truth)
                && self.implies(block, &logic.sources[at], truth, depth)
        })
    }

    /// A comparison with zero elects if its operand is nonzero in an elected lane only.
    fn comparison_elects(&self, block: BlockId, test: &Instruction, wanted: bool, depth: u32) -> bool {
        let [a, b, and] = [&test.sources[0], &test.sources[1], &test.sources[2]];
        if !test.mods.has(Mod::AND) || test.mods.has(Mod::EX) {
            return false;
        }
        if wanted && self.implies(block, and, true, depth) {
            return true;
        }
        let plain = matches!(and.kind, SourceKind::True(_)) && !and.invert;
        let unequal = test.mods.has(Mod::NE) && wanted || test.mods.has(Mod::EQ) && !wanted && plain;
        let zero = matches!(b.kind, SourceKind::Zero(_) | SourceKind::Imm(0));
        unequal && zero && a.as_plain_value().is_some_and(|value| self.is_set_by_one(block, value, depth - 1))
    }

    /// True if the word is nonzero in at most one lane: zero at first, and then written under an electing condition.
    fn is_set_by_one(&self, block: BlockId, value: Value, depth: u32) -> bool {
        let Some((block, writers)) = self.writers(block, value).filter(|_| depth > 0) else { return false };
        let zero = |source: &Source| self.is_zero(source);
        let elected = |guard: Guard| self.elects(block, guard.value, !guard.negated, depth - 1);
        match writers.as_slice() {
            [only] if only.guard.is_some() => false,
            [only] if only.opcode == Opcode::Sass(Op::SEL) => {
                zero(&only.sources[1]) && self.implies(block, &only.sources[2], true, depth)
                    || zero(&only.sources[0]) && self.implies(block, &only.sources[2], false, depth)
            }
            [only] if is_move(only) => {
                let from = only.sources[0].as_plain_value();
                from.is_some_and(|from| self.is_set_by_one(block, from, depth - 1))
            }
            [first, then] => {
                first.guard.is_none()
                    && is_move(first)
                    && self.reads_zero(block, first)
                    && then.guard.is_some_and(elected)
            }
            _ => false,
        }
    }

    /// True if the source is zero, possibly in a register that is only written by moves of zero.
    fn is_zero(&self, source: &Source) -> bool {
        self.constant(source) == Some(0)
    }

    /// True if a move of the block moves zero, perhaps from a register that was written last by a move of zero in the
    /// block.
    fn reads_zero(&self, block: BlockId, reader: &Instruction) -> bool {
        let source = &reader.sources[0];
        let instructions = self.function.block(block).instructions.iter();
        let mut written_zero = false;
        for instruction in instructions.take_while(|it| !std::ptr::eq(*it, reader)) {
            let moves_zero =
                is_move(instruction) && instruction.guard.is_none() && self.is_zero(&instruction.sources[0]);
            instruction.for_each_definition(|value| {
                if source.as_plain_value() == Some(value) {
                    written_zero = moves_zero;
                }
            });
        }
        written_zero || self.is_zero(source)
    }

    /// True if the predicate has this truth in one active lane exactly whenever the whole warp executes the block: one was
    /// elected in a block that the whole warp executes, and none can have ended since.
    pub fn is_of_one_lane(&self, block: BlockId, value: Value, wanted: bool) -> bool {
        self.is_election(block, value, wanted, DEPTH).is_some_and(|home| {
            self.divergence.is_uniform_block(home) && !self.lanes_end_between(home, block)
        })
    }

    /// The block of the election, if the predicate has this truth in the elected lane and in no other.
    fn is_election(&self, block: BlockId, value: Value, wanted: bool, depth: u32) -> Option<BlockId> {
        let (home, writers) = self.writers(block, value).filter(|_| depth > 0)?;
        let [only] = writers.as_slice() else { return None };
        let same = |source: &Source, wanted: bool| {
            let SourceKind::Values(values) = &source.kind else { return None };
            self.is_election(home, values[0], wanted != source.invert, depth - 1)
        };
        match (only.opcode, only.sources.as_slice()) {
            _ if only.guard.is_some() => None,
            (Opcode::Sass(Op::ELECT), [Source { kind: SourceKind::True(_), invert: false, .. }]) => {
                wanted.then_some(home)
            }
            (Opcode::Pseudo(Pseudo::Copy), [from]) => same(from, wanted),
            (Opcode::Sass(Op::ISETP), [word, zero, and]) => {
                let compare = if wanted { Mod::NE } else { Mod::EQ };
                let plain = only.mods.has(compare)
                    && only.mods.has(Mod::AND)
                    && !only.mods.has(Mod::EX)
                    && matches!(and.kind, SourceKind::True(_))
                    && !and.invert
                    && self.is_zero(zero);
                self.is_word_of_election(home, word.as_plain_value().filter(|_| plain)?, depth - 1)
            }
            _ => None,
        }
    }

    /// The block of the election, if the word is not zero in the elected lane and zero in all others.
    fn is_word_of_election(&self, block: BlockId, value: Value, depth: u32) -> Option<BlockId> {
        let (home, writers) = self.writers(block, value).filter(|_| depth > 0)?;
        let number = |source: &Source| self.constant(source).is_some_and(|bits| bits != 0);
        let election = |value, wanted| self.is_election(home, value, wanted, depth - 1);
        match writers.as_slice() {
            [only] if only.guard.is_some() => None,
            [only] if only.opcode == Opcode::Sass(Op::SEL) => {
                let [first, second, condition] = only.sources.as_slice() else { return None };
                let SourceKind::Values(values) = &condition.kind else { return None };
                if number(first) && self.is_zero(second) {
                    election(values[0], !condition.invert)
                } else if self.is_zero(first) && number(second) {
                    election(values[0], condition.invert)
                } else {
                    None
                }
            }
            [only] if is_move(only) => {
                self.is_word_of_election(home, only.sources[0].as_plain_value()?, depth - 1)
            }
            [first, then] => {
                let sets = first.guard.is_none()
                    && is_move(first)
                    && self.reads_zero(home, first)
                    && is_move(then)
                    && number(&then.sources[0]);
                let guard = then.guard.filter(|_| sets)?;
                election(guard.value, !guard.negated)
            }
            _ => None,
        }
    }

    /// True if some lanes of a warp may end, and others not, on the way from one block to the end of another that it
    /// dominates.
    fn lanes_end_between(&self, home: BlockId, block: BlockId) -> bool {
        let ends = self.partial_ends.get_or_init(|| {
            let order = self.cfg.order().iter().copied();
            order.filter(|&id| self.may_end_partly(id)).collect()
        });
        if home == block || ends.is_empty() {
            return false;
        }
        let mut seen: FxHashSet<BlockId> = FxHashSet::default();
        let mut work = self.cfg.predecessors(block).to_vec();
        while let Some(id) = work.pop() {
            if seen.insert(id) && id != home {
                work.extend(self.cfg.predecessors(id));
            }
            if seen.len() > MOST_BLOCKS {
                return true;
            }
        }
        ends.iter().any(|id| seen.contains(id))
    }

    /// True if some lanes that execute the block together may end there, or in a function called there, and others not.
    fn may_end_partly(&self, id: BlockId) -> bool {
        let block = self.function.block(id);
        let whole = self.divergence.is_uniform_block(id);
        block.instructions.iter().any(|it| {
            let calls = it.call.is_some() || effects::called_address(it).is_some();
            // A bare exit belongs to the blocks that lead there.
            let exits = effects::leaves_function(it) && !is_bare_exit(self.function, id);
            let leads = effects::is_transfer(it)
                && block.successors.iter().any(|&next| is_bare_exit(self.function, next));
            let parts = |guard: Guard| self.divergence.is_divergent(guard.value);
            calls || (exits || leads) && (!whole || it.guard.is_some_and(parts))
        })
    }

    /// True if it waits for all live lanes of the warp, whether their mask is in a register or not.
    fn gathers(&self, instruction: &Instruction) -> bool {
        let is_wait = instruction.opcode == Opcode::Sass(Op::WARPSYNC) && instruction.guard.is_none();
        let names_all = |mask: &Source| self.constant(mask) == Some(u32::MAX);
        gathers_warp(instruction)
            || is_wait && matches!(instruction.sources.as_slice(), [mask] if names_all(mask))
    }

    /// The constant of the source, possibly in a register that is only written by moves of it.
    fn constant(&self, source: &Source) -> Option<u32> {
        let known = |source: &Source| match source.kind {
            SourceKind::Zero(_) => Some(0),
            SourceKind::Imm(bits) => Some(bits),
            _ => None,
        };
        let moved = |value: Value| {
            let &[(block, index)] = self.definitions.of(value) else { return None };
            let block = self.function.block(block);
            let at = (index as usize).checked_sub(block.phis.len())?;
            let writer = Some(&block.instructions[at]).filter(|it| is_move(it) && it.guard.is_none())?;
            known(&writer.sources[0])
        };
        known(source).or_else(|| moved(source.as_plain_value()?))
    }
}

/// How often it must be executed, if a warp executes it once however many lanes are active.
pub fn times(instruction: &Instruction) -> Option<Times> {
    let Opcode::Sass(op) = instruction.opcode else { return None };
    match op {
        // An mbarrier counts the bytes of each lane, and a reduction adds each.
        Op::UBLKRED | Op::UTMALDG | Op::UTMAREDG => Some(Times::EachLane),
        // Each lane requests a cluster of its own.
        Op::UGETNEXTWORKID => Some(Times::EachLane),
        // Each thread requests an MMA, a copy, or a signal of its own.
        Op::UTCHMMA | Op::UTCQMMA | Op::UTCIMMA | Op::UTCOMMA | Op::UTCCP | Op::UTCSHIFT | Op::UTCBAR => {
            Some(Times::EachLane)
        }
        Op::UBLKCP if !instruction.mods.has(Mod::G) => Some(Times::EachLane),
        // Lanes that arrive at an mbarrier together and see one another's masks, each with the same count.
        Op::SYNCS if instruction.mods.has(Mod::TMASK) => Some(Times::Once),
        Op::UBLKCP | Op::UBLKPF | Op::UTMASTG | Op::UTMAPF | Op::UTMACCTL | Op::UMEMSETS => Some(Times::Once),
        _ => None,
    }
}

/// True if it only moves its source.
fn is_move(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Pseudo(Pseudo::Copy) | Opcode::Sass(Op::MOV))
}
