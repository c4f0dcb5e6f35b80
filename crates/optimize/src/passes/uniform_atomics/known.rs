//! Which updates are worth combining: facts about the function before the pass.

use super::update::{Update, Way};
use crate::analyses::definitions::{Definitions, Place};
use oriole_chip::Chip;
use oriole_ori::{
    BlockId, Cfg, Divergence, Dominators, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Value,
};
use oriole_sass::{Mod, Op, Symbol};

/// Most conditions that are followed to a test of the lane.
const DEPTH: u32 = 4;

/// An update that is worth combining.
pub(super) struct Plan {
    pub(super) update: Update,
    pub(super) way: Way,
}

/// Facts about the function before the pass.
pub(super) struct Known<'a> {
    pub(super) function: &'a Function,
    pub(super) divergence: Divergence,
    pub(super) definitions: Definitions,
    pub(super) cfg: &'a Cfg,
    pub(super) dominators: &'a Dominators,
}

impl Known<'_> {
    pub(super) fn plan(&self, chip: Chip, instruction: &Instruction) -> Option<Plan> {
        let update = Update::of(instruction)?;
        let [address, value] = instruction.sources.as_slice() else { return None };
        if !matches!(address.kind, SourceKind::Address(_)) || !self.is_same(address) {
            return None;
        }
        if update.words == 2 && !matches!(value.kind, SourceKind::Values(_)) {
            return None;
        }
        if update.increments && self.constant(value) != Some(u32::MAX) {
            return None;
        }
        let one = update.increments || self.is_same(value);
        let way = update.way(one, chip)?;
        Some(Plan { update, way })
    }

    /// The constant that a word is.
    fn constant(&self, source: &Source) -> Option<u32> {
        match source.kind {
            SourceKind::Zero(_) => Some(0),
            SourceKind::Imm(bits) => Some(bits),
            _ => {
                let writer = self.writer(source.as_plain_value()?)?;
                let moves = matches!(writer.opcode, Opcode::Sass(Op::MOV) | Opcode::Pseudo(Pseudo::Copy));
                match (moves && writer.guard.is_none(), &writer.sources.first()?.kind) {
                    (true, SourceKind::Imm(bits)) => Some(*bits),
                    (true, SourceKind::Zero(_)) => Some(0),
                    _ => None,
                }
            }
        }
    }

    fn writer(&self, value: Value) -> Option<&Instruction> {
        match self.definitions.place(value) {
            Place::Instruction(block, index) => self.function.block(block).instructions.get(index as usize),
            _ => None,
        }
    }

    /// True if a branch on the way to the block lets one lane pass, as far as its condition shows.
    pub(super) fn one_lane_reaches(&self, block: BlockId) -> bool {
        let mut at = Some(block);
        while let Some(id) = at {
            if let [before] = *self.cfg.predecessors(id)
                && let [taken, otherwise] = *self.function.block(before).successors
                && taken != otherwise
                && let Some(guard) =
                    self.function.block(before).instructions.last().and_then(|last| last.guard)
                && self.picks_lane(guard.value, (taken == id) != guard.negated, DEPTH)
            {
                return true;
            }
            at = self.dominators.immediate(id);
        }
        false
    }

    /// True if the predicate has this truth in one lane, as far as can be seen.
    fn picks_lane(&self, predicate: Value, wanted: bool, depth: u32) -> bool {
        let Some(writer) = self.writer(predicate).filter(|_| depth > 0) else { return false };
        let follows = |source: &Source, wanted: bool| match source.kind {
            SourceKind::Values(ref values) => self.picks_lane(values[0], wanted != source.invert, depth - 1),
            _ => false,
        };
        match (writer.opcode, writer.sources.as_slice()) {
            (Opcode::Sass(Op::ELECT), _) => wanted,
            (Opcode::Sass(Op::ISETP), [a, b, and]) => {
                let compare = if wanted { Mod::EQ } else { Mod::NE };
                let tests = writer.mods.has(compare)
                    && [(a, b), (b, a)]
                        .into_iter()
                        .any(|(lane, other)| self.names_lane(lane, depth) && self.is_same(other));
                writer.mods.has(Mod::AND) && (tests || wanted && follows(and, true))
            }
            // Both of two conditions hold.
            (Opcode::Sass(Op::PLOP3), [a, b, _, table, ..]) if wanted => {
                matches!(table.kind, SourceKind::Literal(0x80 | 0xc0))
                    && (follows(a, true) || follows(b, true))
            }
            _ => false,
        }
    }

    /// True if all lanes have the same word.
    pub(super) fn is_same(&self, source: &Source) -> bool {
        let mut same = true;
        source.for_each_value(|value| same &= self.divergence.is_uniform(value));
        same
    }

    /// True if it is the number of a lane or thread, or that plus a number that all lanes have.
    fn names_lane(&self, source: &Source, depth: u32) -> bool {
        let Some(writer) = source.as_plain_value().and_then(|value| self.writer(value)) else {
            return false;
        };
        match (writer.opcode, writer.sources.as_slice()) {
            (Opcode::Sass(Op::S2R), [register]) => {
                matches!(register.kind, SourceKind::Symbol(Symbol::SR_TID_X | Symbol::SR_LANEID))
            }
            (Opcode::Sass(Op::IADD3), addends) if depth > 0 => {
                let varying = || addends.iter().filter(|addend| !self.is_same(addend));
                varying().count() == 1 && varying().all(|addend| self.names_lane(addend, depth - 1))
            }
            _ => false,
        }
    }
}
