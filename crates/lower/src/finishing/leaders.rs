//! Waterfall loops for instructions that a warp executes once, however many of its lanes are active.
//!
//! Each active lane of a bulk copy means a copy of its own. Where only one lane is known to be active, because it was
//! elected, the instruction stays as it is; so does one that can be executed once if all lanes mean the same. All
//! others get a loop: one of the remaining lanes is elected, executes the block of the instruction, and leaves.

use oriole_ori::effects::gathers_warp;
use oriole_ori::{
    BlockId, Builder, Cfg, Chains, Divergence, Dominators, File, Function, Guard, Instruction, Opcode,
    Pseudo, Source, SourceKind, Value,
};
use oriole_sass::{Mod, Op};

/// Most instructions through which a condition is followed.
const DEPTH: u32 = 8;

/// How often a bulk-copy engine instruction must be executed if all lanes have the same operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    /// For every lane.
    EachLane,
    /// Once does.
    Once,
}

/// Conditions that hold in one lane only.
struct Elections<'a> {
    function: &'a Function,
    cfg: &'a Cfg,
    dominators: &'a Dominators,
    divergence: &'a Divergence,
    definitions: Chains,
}

impl Elections<'_> {
    /// True if all paths to the block go through a branch that only an elected lane takes.
    fn one_lane_reaches(&self, block: BlockId) -> bool {
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

    fn is_taken_by_one(&self, from: BlockId, to: BlockId) -> bool {
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

fn times(instruction: &Instruction) -> Option<Times> {
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

/// Builds waterfall loops around the instructions that need them. Each is in a block of its own that one block falls
/// into.
pub(crate) fn take_turns(function: &mut Function) {
    let alone = |id: BlockId| {
        let block = function.block(id);
        block.instructions.iter().rev().find_map(times).map(|times| (id, times))
    };
    let found: Vec<(BlockId, Times)> = function.block_ids().filter_map(alone).collect();
    if found.is_empty() {
        return;
    }
    let graph = function.graph();
    let (cfg, dominators) = (graph.cfg(), graph.dominators());
    let divergence = Divergence::new(function, &graph);
    let definitions = Chains::of_definitions(function, cfg.order());
    let elections = Elections { function, cfg, dominators, divergence: &divergence, definitions };
    let needs_turns = |&(id, times): &(BlockId, Times)| {
        let mut agree = true;
        for instruction in &function.block(id).instructions {
            let copies = instruction.opcode == Opcode::Pseudo(Pseudo::Copy);
            instruction.for_each_use(|value| agree &= !copies || divergence.is_uniform(value));
        }
        cfg.is_reachable(id) && !(times == Times::Once && agree) && !elections.one_lane_reaches(id)
    };
    let found: Vec<BlockId> = found.into_iter().filter(needs_turns).map(|(id, _)| id).collect();
    let before: Vec<(BlockId, BlockId)> =
        found.iter().filter_map(|&id| Some((*cfg.predecessors(id).first()?, id))).collect();
    for (before, id) in before {
        wrap(function, before, id);
    }
}

/// Builds a loop around the block `body`, into which `before` falls.
fn wrap(function: &mut Function, before: BlockId, body: BlockId) {
    let origin = function.block(body).instructions[0].origin;
    let behind = function.block(body).successors[0];
    let mut b = Builder::new(function, before, origin);
    let [head, next] = [b.new_block(), b.new_block()];
    let [waits, leads, rest, any] = [b.p(), b.p(), b.p(), b.p()];
    b.mov(waits, Source::pt());
    b.fall_through(head);
    b.set_block(head);
    b.mov(leads, Source::not_pt());
    let waiting = Guard { value: waits, negated: false };
    b.op(Op::ELECT).to(leads).drop_result(File::UR).from(Source::pt()).guarded(waiting).emit();
    b.branch(Guard { value: leads, negated: true }, next, body);
    b.set_block(body);
    b.fall_through(next);
    b.set_block(next);
    b.plop3(rest, waits, Source::value(leads).inverted(), Source::pt(), 0x80);
    b.mov(waits, rest);
    b.op(Op::VOTE).m(Mod::ANY).drop_result(File::R).to(any).from(rest).emit();
    b.branch(Guard { value: any, negated: false }, head, behind);
}

/// True if it only moves its source.
fn is_move(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Pseudo(Pseudo::Copy) | Opcode::Sass(Op::MOV))
}
