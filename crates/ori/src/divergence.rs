//! Divergence: values that may differ between the lanes of a warp, and blocks that a subset of the warp may execute.
//!
//! It is here because uniform registers, convergence barriers and the verifier must agree on one answer. The answer
//! is conservative: an operation is lane-wise (uniform inputs give uniform results) only if it is listed as such.
//!
//! A value is divergent if (a) its operation makes it so (thread ids, loads from memory that may change, warp
//! exchanges, atomics, calls), (b) an input is divergent, (c) it merges values whose choice depends on a divergent
//! branch, or (d) it leaves a loop that lanes leave at different times.
//!
//! An indirect call with a divergent target splits the warp as a branch does; the lanes of each target return on
//! their own. A block that ends with one counts as a divergent branch. Until convergence barriers are placed, a call
//! may be in the middle of a block; there is room for a barrier around each.

use crate::convergence::{Cover, Reconvergence};
use crate::csr::Csr;
use crate::exits::is_bare_exit;
use crate::{
    BlockId, Cfg, Chains, File, FlowGraph, Function, Instruction, Loops, Opcode, Pseudo, Source, SourceKind,
    Space, Value, effects,
};
use oriole_sass::{Effect, Mod, Op, Symbol};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use typed_index_collections::{TiVec, ti_vec};

/// How far the lanes of a warp agree on a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Agreement {
    /// The value.
    Same,
    /// All bits of a word but the lowest five, in which the number of a thread differs within a warp.
    UpperBits,
    /// Nothing.
    Nothing,
}

/// The answer for one function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    values: TiVec<Value, Agreement>,
    blocks: TiVec<BlockId, bool>,
    branches: TiVec<BlockId, bool>,
}

impl Divergence {
    /// Analyses a function, in SSA or not.
    pub fn new(function: &Function, graph: &FlowGraph) -> Divergence {
        Analysis::new(function, graph).run()
    }

    /// True if lanes may hold different values.
    pub fn is_divergent(&self, value: Value) -> bool {
        self.values[value] != Agreement::Same
    }

    /// True if all lanes of the warp hold the same value.
    pub fn is_uniform(&self, value: Value) -> bool {
        !self.is_divergent(value)
    }

    /// True if all threads of the warp that have not ended execute the block together (given convergence barriers
    /// at the sites of divergent branches, see [`crate::convergence`]).
    pub fn is_uniform_block(&self, block: BlockId) -> bool {
        !self.blocks[block]
    }

    /// True if lanes may leave the block to different successors.
    pub fn is_divergent_branch(&self, block: BlockId) -> bool {
        self.branches[block]
    }

    /// True if lanes that execute the block together leave it together: their branch depends on a value that one lane
    /// reads or the lanes vote on in this block.
    pub fn keeps_together(&self, function: &Function, block: BlockId) -> bool {
        let mut answers: Vec<Value> = Vec::new();
        for instruction in &function.block(block).instructions {
            let mut is_same = asks_once(instruction);
            instruction.for_each_use(|value| is_same &= self.is_uniform(value) || answers.contains(&value));
            if is_same || is_one_answer(instruction) {
                instruction.for_each_definition(|value| answers.push(value));
            } else {
                instruction.for_each_definition(|value| answers.retain(|&answer| answer != value));
            }
        }
        let mut is_same = true;
        let mut decides = |value| is_same &= self.is_uniform(value) || answers.contains(&value);
        for instruction in &function.block(block).instructions {
            match effects::called_address(instruction) {
                Some(target) => target.for_each_value(&mut decides),
                None if effects::is_transfer(instruction) => instruction.for_each_use(&mut decides),
                None => {}
            }
        }
        is_same
    }
}

struct Analysis<'a> {
    function: &'a Function,
    cfg: &'a Cfg,
    loops: &'a Loops,
    reconvergence: Reconvergence<'a>,
    uses: Chains,
    /// Computed on first use: many functions have no divergent branch.
    definitions: OnceCell<Chains>,
    result: Divergence,
    /// For divergent blocks, the end of the region through which that was found; `None` if it has none.
    parted_until: TiVec<BlockId, Option<BlockId>>,
    /// For each place in the dominator tree itself, or a later one if a part has covered it.
    whole_from: Vec<u32>,
    value_work: Vec<Value>,
    /// Values without content. As the old value of a guarded result one means nothing: if lanes agree on the guard, all
    /// have the result, or none.
    undefined: Vec<Value>,
    /// For parallel copies, by block and index: the values read, sorted, and the component that reads each.
    components: FxHashMap<(BlockId, usize), Vec<(Value, u32)>>,
    /// Divergent branches by RPO number, so that the outer ones come first.
    branch_work: BinaryHeap<Reverse<(u32, BlockId)>>,
    /// First loop to consider for each loop: itself, or an outer one if lanes are known to leave it at different
    /// times. An index past the last means no loop.
    loop_from: Vec<usize>,
    /// For each loop the values written in it and read outside of it; computed on first use.
    leaving: Option<Csr<usize, Value>>,
}

impl<'a> Analysis<'a> {
    fn new(function: &'a Function, graph: &'a FlowGraph) -> Analysis<'a> {
        let (cfg, loops) = (graph.cfg(), graph.loops());
        let reconvergence = Reconvergence::new(function, graph);
        let values = function.values.len();
        let blocks = function.blocks.len();
        let uses = Chains::of_uses(function, cfg.order());
        Analysis {
            function,
            cfg,
            reconvergence,
            uses,
            definitions: OnceCell::new(),
            result: Divergence {
                values: ti_vec![Agreement::Same; values],
                blocks: ti_vec![false; blocks],
                branches: ti_vec![false; blocks],
            },
            parted_until: ti_vec![None; blocks],
            whole_from: (0..=blocks as u32).collect(),
            value_work: Vec::new(),
            undefined: Vec::new(),
            components: FxHashMap::default(),
            branch_work: BinaryHeap::new(),
            loop_from: (0..=loops.loops.len()).collect(),
            leaving: None,
            loops,
        }
    }

    fn run(mut self) -> Divergence {
        for &id in self.cfg.order() {
            let block = self.function.block(id);
            for instruction in &block.instructions {
                if self.is_number_in_row(instruction) {
                    self.raise_results(instruction, Agreement::UpperBits);
                } else if instruction.opcode == Opcode::Pseudo(Pseudo::Undefined) {
                    self.visit_undefined(instruction);
                } else if self.is_source(instruction) {
                    self.mark_results(instruction);
                }
            }
            // A transfer with a register or unknown target may go to any successor.
            if let Some(last) = block.instructions.last()
                && block.successors.len() > 1
                && last.guard.is_none()
                && last.sources.iter().any(|s| matches!(s.kind, SourceKind::Values(_)))
                && last.sources.iter().all(|s| !self.reads_only_uniform_files(s))
            {
                self.mark_branch_if_divergent(id);
            }
        }
        self.undefined.sort_unstable();
        self.visit_irreducible();
        loop {
            if let Some(value) = self.value_work.pop() {
                for at in 0..self.uses.of(value).len() {
                    let (block, index) = self.uses.of(value)[at];
                    self.visit_use(block, index as usize, value);
                }
            } else if let Some(Reverse((_, block))) = self.branch_work.pop() {
                self.visit_branch(block);
            } else {
                return self.result;
            }
        }
    }

    /// Outside SSA, the value has content from its other definitions wherever that is read; only they count.
    fn visit_undefined(&mut self, instruction: &Instruction) {
        let (function, cfg) = (self.function, self.cfg);
        instruction.for_each_definition(|value| {
            let definitions = self.definitions.get_or_init(|| Chains::of_definitions(function, cfg.order()));
            if definitions.of(value).len() == 1 {
                self.undefined.push(value);
                self.mark(value);
            }
        });
    }

    /// True if the results differ where the value does.
    fn passes_on(&self, instruction: &Instruction, value: Value) -> bool {
        let is_nothing = self.undefined.binary_search(&value).is_ok() && is_only_tied(instruction, value);
        !is_one_answer(instruction) && !is_nothing
    }

    /// No reconvergence point is known for a cycle with several entries: no value or branch in it counts as uniform,
    /// and from there on the warp is divergent.
    fn visit_irreducible(&mut self) {
        let (function, cycles) = (self.function, self.loops.irreducible.clone());
        for &id in &cycles {
            self.mark_merged(id);
            function.block(id).instructions.iter().for_each(|instruction| self.mark_results(instruction));
            self.mark_branch_if_divergent(id);
        }
        let mut work = cycles;
        while let Some(block) = work.pop() {
            if !self.result.blocks[block] && !is_bare_exit(function, block) {
                self.part(block, None);
                work.extend(&function.block(block).successors);
            }
        }
    }

    fn reads_only_uniform_files(&self, source: &crate::Source) -> bool {
        let mut uniform = true;
        source.for_each_value(|v| uniform &= is_uniform_file(self.function.file(v)));
        uniform
    }

    /// True if its results differ between lanes whatever its operands are.
    fn is_source(&self, instruction: &Instruction) -> bool {
        is_divergence_source(instruction) || self.function.lanes_apart && is_common_load(instruction)
    }

    /// True if the lanes of a warp read consecutive numbers, the first of which is a multiple of 32.
    fn is_number_in_row(&self, instruction: &Instruction) -> bool {
        let reads = |register| {
            matches!(instruction.sources.as_slice(),
                [Source { kind: SourceKind::Symbol(read), .. }] if *read == register)
        };
        self.function.warps_in_rows
            && !self.function.lanes_apart
            && instruction.opcode == Opcode::Sass(Op::S2R)
            && (reads(Symbol::SR_TID_X) || reads(Symbol::SR_LANEID))
    }

    fn mark(&mut self, value: Value) {
        self.raise(value, Agreement::Nothing);
    }

    fn mark_results(&mut self, instruction: &Instruction) {
        self.raise_results(instruction, Agreement::Nothing);
    }

    /// Lanes agree on no more of the value than this.
    fn raise(&mut self, value: Value, most: Agreement) {
        if !is_uniform_file(self.function.file(value)) && self.result.values[value] < most {
            self.result.values[value] = most;
            self.value_work.push(value);
        }
    }

    fn raise_results(&mut self, instruction: &Instruction, most: Agreement) {
        for destination in &instruction.destinations {
            for &value in &destination.values {
                self.raise(value, most);
            }
        }
    }

    fn visit_use(&mut self, id: BlockId, index: usize, value: Value) {
        let block = self.function.block(id);
        let most = self.result.values[value];
        if index < block.phis.len() {
            self.raise(block.phis[index].destination, most);
            return;
        }
        let at = index - block.phis.len();
        let instruction = &block.instructions[at];
        if instruction.opcode == Opcode::Pseudo(Pseudo::ParallelCopy) && instruction.guard.is_none() {
            // Component by component: one divergent source spoils its own destination only.
            let components = self.components.entry((id, at)).or_insert_with(|| {
                let mut components = Vec::new();
                for (index, source) in (0..).zip(&instruction.sources) {
                    source.for_each_value(|v| components.push((v, index)));
                }
                components.sort_unstable();
                components
            });
            let first = components.partition_point(|&(v, _)| v < value);
            let reads = components[first..].iter().take_while(|&&(v, _)| v == value);
            let written: Vec<Value> = reads
                .flat_map(|&(_, index)| instruction.destinations[index as usize].values.iter().copied())
                .collect();
            written.into_iter().for_each(|v| self.raise(v, most));
        } else if self.passes_on(instruction, value) {
            let left = if most == Agreement::UpperBits { left_of_row(instruction, value) } else { most };
            self.raise_results(instruction, left);
        }
        // The guard of a branch, or the target of an indexed one, decides where lanes go.
        if effects::is_transfer(instruction) && at + 2 >= block.instructions.len() {
            self.mark_branch_if_divergent(id);
        }
        if at + 1 == block.instructions.len()
            && let Some(target) = effects::called_address(instruction)
        {
            let mut decides = false;
            target.for_each_value(|read| decides |= read == value);
            if decides {
                self.mark_branch(id);
            }
        }
    }

    fn mark_branch_if_divergent(&mut self, id: BlockId) {
        let live: smallvec::SmallVec<[BlockId; 4]> = self
            .function
            .block(id)
            .successors
            .iter()
            .copied()
            .filter(|&s| !is_bare_exit(self.function, s))
            .collect();
        // Even two edges to one block split the threads, if only briefly.
        if live.len() > 1 {
            self.mark_branch(id);
        }
    }

    fn mark_branch(&mut self, id: BlockId) {
        if !std::mem::replace(&mut self.result.branches[id], true) {
            self.branch_work.push(Reverse((self.cfg.position(id).unwrap_or(u32::MAX), id)));
        }
    }

    /// Handles a divergent branch. Blocks up to its reconvergence point are executed by a subset of the warp. Values
    /// merged where two of its paths first meet depend on it. Values live out of a loop that it exits are divergent.
    fn visit_branch(&mut self, branch: BlockId) {
        let join = self.reconvergence.site(branch).map(|site| site.join);
        for block in self.reconvergence.meetings_ahead(branch, join) {
            self.mark_merged(block);
        }
        if !self.lies_in_parted_region(branch, join) {
            match self.reconvergence.cover(branch, join) {
                Some(cover) => self.part_cover(&cover, join),
                None => {
                    let (parted, until) = (&self.result.blocks, &self.parted_until);
                    // A region with the same end was already visited together with all that follows it.
                    let known =
                        |block: BlockId| parted[block] && (until[block].is_none() || until[block] == join);
                    for block in self.reconvergence.walk(branch, join, known) {
                        self.part(block, join);
                    }
                }
            }
        }
        // Loops that contain the branch but not its join: lanes leave them at different times.
        let mut at = self.next_together(self.loops.innermost(branch));
        while let Some(index) = at.filter(|&index| !join.is_some_and(|join| self.loops.contains(index, join)))
        {
            self.leave_loop_divergently(index);
            at = self.next_together(Some(index));
        }
    }

    /// The loop itself or the next one around it of which it is not known that lanes leave it at different times.
    fn next_together(&mut self, index: Option<usize>) -> Option<usize> {
        let mut end = index?;
        while self.loop_from[end] != end {
            end = self.loop_from[end];
        }
        let mut at = index?;
        while at != end {
            at = std::mem::replace(&mut self.loop_from[at], end);
        }
        Some(end).filter(|&end| end < self.loops.loops.len())
    }

    /// Marks the blocks of a part of the dominator tree as divergent; those already marked are skipped.
    fn part_cover(&mut self, cover: &Cover, join: Option<BlockId>) {
        for range in &cover.places {
            let mut place = self.next_whole(range.start);
            while place < range.end {
                let block = self.reconvergence.at(place);
                self.whole_from[place as usize] = place + 1;
                if !is_bare_exit(self.function, block) {
                    self.part(block, join);
                }
                place = self.next_whole(place);
            }
        }
    }

    /// The first place in the dominator tree from this one on that no part has covered.
    fn next_whole(&mut self, place: u32) -> u32 {
        let mut end = place;
        while self.whole_from[end as usize] != end {
            end = self.whole_from[end as usize];
        }
        let mut at = place;
        while at != end {
            at = std::mem::replace(&mut self.whole_from[at as usize], end);
        }
        end
    }

    /// Marks the block as executed by a subset of the warp until `join`. Lanes reach the headers of loops for which
    /// it is a latch at different times.
    fn part(&mut self, block: BlockId, join: Option<BlockId>) {
        self.parted_until[block] = join;
        if std::mem::replace(&mut self.result.blocks[block], true) {
            return;
        }
        self.spoil_multiple_definitions(block);
        let answers = &self.function.block(block).instructions;
        answers.iter().filter(|it| asks_once(it)).for_each(|it| self.mark_results(it));
        let (function, cfg) = (self.function, self.cfg);
        for &successor in &function.block(block).successors {
            if cfg.position(successor) <= cfg.position(block) {
                self.mark_merged(successor);
            }
        }
    }

    /// True if a region that was looked at reaches from before the branch to its join or beyond.
    fn lies_in_parted_region(&self, branch: BlockId, join: Option<BlockId>) -> bool {
        self.result.blocks[branch]
            && match (self.parted_until[branch], join) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(until), Some(join)) => self.reconvergence.post_dominates(until, join),
            }
    }

    fn mark_merged(&mut self, block: BlockId) {
        let function = self.function;
        function.block(block).phis.iter().for_each(|phi| self.mark(phi.destination));
    }

    /// Outside SSA, a value written in a block that only a subset of the warp executes is divergent afterwards if it
    /// is also written elsewhere.
    fn spoil_multiple_definitions(&mut self, block: BlockId) {
        let (function, cfg) = (self.function, self.cfg);
        for instruction in &function.block(block).instructions {
            instruction.for_each_definition(|value| {
                let definitions =
                    self.definitions.get_or_init(|| Chains::of_definitions(function, cfg.order()));
                if definitions.of(value).iter().any(|&(other, _)| other != block) {
                    self.mark(value);
                }
            });
        }
    }

    fn leave_loop_divergently(&mut self, index: usize) {
        self.loop_from[index] = self.loops.loops[index].parent.unwrap_or(self.loops.loops.len());
        let leaving = self.leaving.take().unwrap_or_else(|| self.values_that_leave());
        leaving.of(index).iter().for_each(|&value| self.mark(value));
        self.leaving = Some(leaving);
    }

    /// For each loop the values written in it that have readers outside; a phi outside reads on the edge that leaves
    /// the loop. Values that are known to differ are left out.
    fn values_that_leave(&self) -> Csr<usize, Value> {
        let mut leaving: Vec<(usize, Value)> = Vec::new();
        let mut last: TiVec<Value, Option<usize>> = ti_vec![None; self.function.values.len()];
        for &id in self.cfg.order() {
            let Some(innermost) = self.loops.innermost(id) else { continue };
            let block = self.function.block(id);
            let mut visit = |value: Value| {
                if self.result.values[value] == Agreement::Nothing
                    || last[value].replace(innermost) == Some(innermost)
                {
                    return;
                }
                let mut inside = Some(innermost);
                for &(reader, _) in self.uses.of(value) {
                    while let Some(index) = inside.filter(|&index| !self.loops.contains(index, reader)) {
                        leaving.push((index, value));
                        inside = self.loops.loops[index].parent;
                    }
                }
            };
            block.phis.iter().for_each(|phi| visit(phi.destination));
            block.instructions.iter().for_each(|instruction| instruction.for_each_definition(&mut visit));
        }
        Csr::new(self.loops.loops.len(), &leaving)
    }
}

/// How far lanes agree on the results of an instruction, if they agree on the upper bits of an operand and on all other
/// operands. A guard is one of these; if-conversion must not change the answer.
fn left_of_row(instruction: &Instruction, value: Value) -> Agreement {
    if is_only_tied(instruction, value) {
        return Agreement::UpperBits;
    }
    let sources = instruction.sources.as_slice();
    let fits = match instruction.opcode {
        Opcode::Pseudo(Pseudo::Copy) | Opcode::Sass(Op::MOV) => {
            is_plain_read(&sources[0], value).then_some(Agreement::UpperBits)
        }
        Opcode::Sass(Op::SEL) => {
            sources[..2].iter().any(|it| is_plain_read(it, value)).then_some(Agreement::UpperBits)
        }
        Opcode::Sass(Op::SHF) => shifted_row(instruction, value),
        Opcode::Sass(Op::LOP3) => masked_row(instruction),
        Opcode::Sass(Op::ISETP) => compared_row(instruction, value),
        _ => None,
    };
    fits.unwrap_or(Agreement::Nothing)
}

/// True if the value is the old value of a result, and no operand.
fn is_only_tied(instruction: &Instruction, value: Value) -> bool {
    let mut reads = false;
    instruction.sources.iter().for_each(|source| source.for_each_value(|read| reads |= read == value));
    instruction.tied.contains(&value) && !reads
}

fn is_plain_read(source: &Source, value: Value) -> bool {
    source.as_plain_value() == Some(value)
}

/// The constant that a source is.
fn constant(source: &Source) -> Option<u32> {
    match source.kind {
        _ if source.negate || source.invert || source.absolute => None,
        SourceKind::Imm(bits) => Some(bits),
        SourceKind::Literal(bits) => u32::try_from(bits).ok(),
        SourceKind::Zero(_) => Some(0),
        _ => None,
    }
}

/// A shift to the right by five bits or more leaves the bits that agree.
fn shifted_row(shift: &Instruction, value: Value) -> Option<Agreement> {
    let [low, amount, high] = shift.sources.as_slice() else { return None };
    let fits = shift.mods.has(Mod::R)
        && shift.mods.has(Mod::HI)
        && !shift.mods.has(Mod::W)
        && (shift.mods.has(Mod::U32) || shift.mods.has(Mod::S32))
        && !matches!(&low.kind, SourceKind::Values(values) if values.contains(&value))
        && is_plain_read(high, value)
        && constant(amount).is_some_and(|bits| (5..32).contains(&bits));
    fits.then_some(Agreement::Same)
}

/// Logic keeps the bits apart. The lanes agree on all of them if the lowest five do not depend on the value.
fn masked_row(logic: &Instruction) -> Option<Agreement> {
    let sources = logic.sources.get(..3)?;
    let SourceKind::Literal(table) = logic.sources.get(3)?.kind else { return None };
    let plain = |source: &Source| source.as_plain_value().is_some() || constant(source).is_some();
    if logic.destinations.len() != 1 || !sources.iter().all(plain) {
        return None;
    }
    let depends = (0..5).any(|bit| {
        // Each source has one value in this bit or may have both.
        let may =
            |at: usize, set: bool| constant(&sources[at]).is_none_or(|bits| (bits >> bit & 1 == 1) == set);
        let rows = (0..8).filter(|row| (0..3).all(|at| may(at, row >> (2 - at) & 1 == 1)));
        let mut results = rows.map(|row: i64| table >> row & 1 == 1);
        let first = results.next();
        results.any(|result| Some(result) != first)
    });
    Some(if depends { Agreement::UpperBits } else { Agreement::Same })
}

/// A comparison with a multiple of 32 asks for bits that agree.
fn compared_row(test: &Instruction, value: Value) -> Option<Agreement> {
    let [a, b, and] = test.sources.as_slice() else { return None };
    let bits = constant(b).filter(|_| is_plain_read(a, value) && !test.mods.has(Mod::EX))?;
    let below = test.mods.has(Mod::LT) || test.mods.has(Mod::GE);
    let above = test.mods.has(Mod::GT) || test.mods.has(Mod::LE);
    let same = (below && bits % 32 == 0 || above && bits % 32 == 31)
        && matches!(and.kind, SourceKind::True(_) | SourceKind::Values(_));
    same.then_some(Agreement::Same)
}

fn is_uniform_file(file: File) -> bool {
    matches!(file, File::UR | File::UP)
}

/// Special registers that all threads of a block read the same, and that the uniform datapath reads too.
pub const BLOCK_REGISTERS: [Symbol; 4] =
    [Symbol::SR_CTAID_X, Symbol::SR_CTAID_Y, Symbol::SR_CTAID_Z, Symbol::SR_CgaCtaId];

/// True if all lanes that execute it together with the same operands get one answer, whatever they would get later.
fn asks_once(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::SYNCS) && instruction.mods.has(Mod::PHASECHK)
        || is_common_load(instruction)
        || is_one_answer(instruction)
}

/// True if lanes that execute it together with one address load with one access of memory. A generic address may be of local
/// memory, of which each lane has its own. A thread that waits for another one reads with an order: lanes that a barrier
/// of some lanes took apart would see its word at different times.
fn is_common_load(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Sass(Op::LDG | Op::LDS))
        && instruction.memory.is_some_and(|memory| !memory.ordered)
}

/// True if all lanes that execute it together get one answer whatever their operands are.
fn is_one_answer(instruction: &Instruction) -> bool {
    is_broadcast(instruction) || is_vote(instruction)
}

/// True if the active lanes vote.
fn is_vote(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::VOTE) && instruction.guard.is_none()
}

/// True if all lanes that execute it together get the word of one lane, which the instruction names.
fn is_broadcast(instruction: &Instruction) -> bool {
    let whole_warp = SourceKind::Literal(0x1f);
    instruction.opcode == Opcode::Sass(Op::SHFL)
        && instruction.mods.has(Mod::IDX)
        && instruction.guard.is_none()
        && matches!(instruction.sources.as_slice(), [_, lane, lanes]
            if matches!(lane.kind, SourceKind::Literal(_) | SourceKind::Zero(_)) && lanes.kind == whole_warp)
}

/// True if the results differ between lanes whatever the inputs are.
pub fn is_divergence_source(instruction: &Instruction) -> bool {
    if asks_once(instruction) {
        return false;
    }
    if let Some(memory) = instruction.memory
        && memory.reads
        && memory.space != Space::Constant
    {
        return true;
    }
    match instruction.opcode {
        Opcode::Sass(op) if op.info().effect == Effect::Register => {
            !instruction.sources.iter().all(|source| match source.kind {
                SourceKind::Symbol(register) => {
                    register == Symbol::SRZ || BLOCK_REGISTERS.contains(&register)
                }
                _ => false,
            })
        }
        Opcode::Sass(op) => !effects::is_lane_wise(op),
        Opcode::Pseudo(pseudo) => {
            // A routine computes lane by lane, unless lanes exchange in it: its results are as uniform as its arguments.
            // Stacks grow lane by lane.
            instruction.call.as_ref().is_some_and(|call| call.exchanges)
                || matches!(pseudo, Pseudo::Call | Pseudo::Parameters | Pseudo::Undefined | Pseudo::Return)
                || pseudo.moves_stack()
        }
    }
}
