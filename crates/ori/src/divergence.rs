//! Divergence: which values may differ between the lanes of a warp, and which blocks the warp may execute in parts.
//!
//! It is here because uniform registers, convergence barriers and the verifier must agree on one answer. The answer
//! errs on the side of divergent: an operation counts as lane-wise (uniform inputs give uniform results) only if
//! it is listed so.
//!
//! A value is divergent if (a) its operation makes it so (thread numbers, loads from memory that may change, warp
//! exchanges, atomics, calls), (b) an input is divergent, (c) it merges values whose choice depends on a divergent
//! branch, or (d) it leaves a loop that lanes leave at different times.

use crate::convergence::{Meetings, Reconvergence};
use crate::{BlockId, Cfg, File, Function, Instruction, Loops, Opcode, Pseudo, SourceKind, Space, Value};
use oriole_sass::{Op, Symbol};

/// The answer for one function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Divergence {
    values: Vec<bool>,
    blocks: Vec<bool>,
    branches: Vec<bool>,
}

impl Divergence {
    /// Analyses a function, in SSA or not.
    pub fn new(function: &Function, cfg: &Cfg) -> Divergence {
        Analysis::new(function, cfg).run()
    }

    /// True if lanes may hold different values.
    pub fn is_divergent(&self, value: Value) -> bool {
        self.values[value.0 as usize]
    }

    /// True if all lanes of the warp hold the same value.
    pub fn is_uniform(&self, value: Value) -> bool {
        !self.is_divergent(value)
    }

    /// True if all threads of the warp that have not ended execute the block together (given convergence barriers
    /// at the sites of divergent branches, see [`crate::convergence`]).
    pub fn is_uniform_block(&self, block: BlockId) -> bool {
        !self.blocks[block.0 as usize]
    }

    /// True if lanes may leave the block to different successors.
    pub fn is_divergent_branch(&self, block: BlockId) -> bool {
        self.branches[block.0 as usize]
    }
}

/// True if the block does nothing but end the thread: who goes there can disturb nobody.
pub fn is_bare_exit(function: &Function, block: BlockId) -> bool {
    let block = function.block(block);
    block.phis.is_empty()
        && block.successors.is_empty()
        && matches!(block.instructions.as_slice(), [only] if only.opcode == Opcode::Sass(Op::EXIT) && only.guard.is_none())
}

struct Analysis<'a> {
    function: &'a Function,
    cfg: &'a Cfg,
    loops: Loops,
    reconvergence: Reconvergence<'a>,
    /// For each value the places that read it: block and index (phis first, then instructions).
    uses: Vec<Vec<(BlockId, u32)>>,
    /// For each value the blocks that define it.
    definitions: Vec<smallvec::SmallVec<[BlockId; 1]>>,
    result: Divergence,
    value_work: Vec<Value>,
    branch_work: Vec<BlockId>,
    loop_done: Vec<bool>,
}

impl<'a> Analysis<'a> {
    fn new(function: &'a Function, cfg: &'a Cfg) -> Analysis<'a> {
        let reconvergence = Reconvergence::new(function, cfg);
        let loops = reconvergence.loops().clone();
        let values = function.values.len();
        let blocks = function.blocks.len();
        let mut uses = vec![Vec::new(); values];
        let mut definitions = vec![smallvec::SmallVec::new(); values];
        for &id in cfg.order() {
            let block = function.block(id);
            for (index, phi) in block.phis.iter().enumerate() {
                note_definition(&mut definitions, phi.destination, id);
                for (_, source) in &phi.sources {
                    source.for_each_value(|v| uses[v.0 as usize].push((id, index as u32)));
                }
            }
            for (index, instruction) in block.instructions.iter().enumerate() {
                let index = (block.phis.len() + index) as u32;
                instruction.for_each_use(|v| uses[v.0 as usize].push((id, index)));
                instruction.for_each_definition(|v| note_definition(&mut definitions, v, id));
            }
        }
        Analysis {
            function,
            cfg,
            reconvergence,
            uses,
            definitions,
            result: Divergence {
                values: vec![false; values],
                blocks: vec![false; blocks],
                branches: vec![false; blocks],
            },
            value_work: Vec::new(),
            branch_work: Vec::new(),
            loop_done: vec![false; loops.loops.len()],
            loops,
        }
    }

    fn run(mut self) -> Divergence {
        for &id in self.cfg.order() {
            let block = self.function.block(id);
            for instruction in &block.instructions {
                if is_divergence_source(instruction) {
                    self.mark_results(instruction);
                }
            }
            // A transfer whose target is in a register, or that nobody knows, may go anywhere.
            if let Some(last) = block.instructions.last()
                && block.successors.len() > 1
                && last.guard.is_none()
                && last.sources.iter().any(|s| matches!(s.kind, SourceKind::Values(_)))
                && last.sources.iter().all(|s| !self.reads_only_uniform_files(s))
            {
                self.mark_branch_if_divergent(id);
            }
        }
        if self.loops.irreducible {
            // No reconvergence point is known for a cycle with several entries: nothing is taken as uniform.
            for &id in self.cfg.order() {
                self.result.blocks[id.0 as usize] = true;
                if self.function.block(id).successors.len() > 1 {
                    self.result.branches[id.0 as usize] = true;
                }
                let block = self.function.block(id);
                block.phis.iter().for_each(|phi| self.mark(phi.destination));
                block.instructions.iter().for_each(|instruction| self.mark_results(instruction));
            }
        }
        loop {
            if let Some(value) = self.value_work.pop() {
                let uses = std::mem::take(&mut self.uses[value.0 as usize]);
                for &(block, index) in &uses {
                    self.visit_use(block, index as usize, value);
                }
            } else if let Some(block) = self.branch_work.pop() {
                self.visit_branch(block);
            } else {
                return self.result;
            }
        }
    }

    fn reads_only_uniform_files(&self, source: &crate::Source) -> bool {
        let mut uniform = true;
        source.for_each_value(|v| uniform &= is_uniform_file(self.function.file(v)));
        uniform
    }

    fn mark(&mut self, value: Value) {
        if is_uniform_file(self.function.file(value)) {
            return;
        }
        if !std::mem::replace(&mut self.result.values[value.0 as usize], true) {
            self.value_work.push(value);
        }
    }

    fn mark_results(&mut self, instruction: &Instruction) {
        for destination in &instruction.destinations {
            for &value in &destination.values {
                self.mark(value);
            }
        }
    }

    fn visit_use(&mut self, id: BlockId, index: usize, value: Value) {
        let block = self.function.block(id);
        if index < block.phis.len() {
            self.mark(block.phis[index].destination);
            return;
        }
        let at = index - block.phis.len();
        let instruction = &block.instructions[at];
        if instruction.opcode == Opcode::Pseudo(Pseudo::ParallelCopy) && instruction.guard.is_none() {
            // Component by component: one divergent source spoils its own destination only.
            for (destination, source) in instruction.destinations.iter().zip(&instruction.sources) {
                let mut reads = false;
                source.for_each_value(|v| reads |= v == value);
                if reads {
                    destination.values.iter().for_each(|&v| self.mark(v));
                }
            }
        } else {
            self.mark_results(instruction);
        }
        // The guard of a branch, or the target of an indexed one, decides where lanes go.
        if is_control(instruction) && at + 2 >= block.instructions.len() {
            self.mark_branch_if_divergent(id);
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
        // Even two ways to one block part the threads, if only for a moment.
        if live.len() > 1 && !std::mem::replace(&mut self.result.branches[id.0 as usize], true) {
            self.branch_work.push(id);
        }
    }

    /// A divergent branch: blocks up to where its threads meet again are executed in parts; values merged where two
    /// of its paths first meet depend on it; values that leave a loop it leaves differ.
    fn visit_branch(&mut self, branch: BlockId) {
        let join = self.reconvergence.site(branch).map(|site| site.join);
        let Meetings { joins, region } = self.reconvergence.meetings(branch, join);
        for block in joins {
            let phis: Vec<Value> =
                self.function.block(block).phis.iter().map(|phi| phi.destination).collect();
            phis.into_iter().for_each(|value| self.mark(value));
        }
        for block in region {
            if !std::mem::replace(&mut self.result.blocks[block.0 as usize], true) {
                self.spoil_multiple_definitions(block);
            }
        }
        // Loops that the branch lies in and its join does not: lanes leave them at different times.
        let mut at = self.loops.innermost(branch);
        while let Some(index) = at {
            if join.is_some_and(|join| self.loops.contains(index, join)) {
                break;
            }
            self.leave_loop_divergently(index);
            at = self.loops.loops[index].parent;
        }
    }

    /// Outside SSA a value written in a block that only a part of the warp executes differs afterwards, if it is
    /// also written elsewhere.
    fn spoil_multiple_definitions(&mut self, block: BlockId) {
        let function = self.function;
        for instruction in &function.block(block).instructions {
            instruction.for_each_definition(|value| {
                if self.definitions[value.0 as usize].iter().any(|&other| other != block) {
                    self.mark(value);
                }
            });
        }
    }

    fn leave_loop_divergently(&mut self, index: usize) {
        if std::mem::replace(&mut self.loop_done[index], true) {
            return;
        }
        for value in 0..self.function.values.len() as u32 {
            let value = Value(value);
            if self.result.values[value.0 as usize] {
                continue;
            }
            if !self.definitions[value.0 as usize].iter().any(|&block| self.loops.contains(index, block)) {
                continue;
            }
            // A phi outside reads on the edge that leaves the loop.
            let escapes =
                self.uses[value.0 as usize].iter().any(|&(block, _)| !self.loops.contains(index, block));
            if escapes {
                self.mark(value);
            }
        }
    }
}

fn note_definition(definitions: &mut [smallvec::SmallVec<[BlockId; 1]>], value: Value, block: BlockId) {
    let list = &mut definitions[value.0 as usize];
    if list.last() != Some(&block) {
        list.push(block);
    }
}

fn is_uniform_file(file: File) -> bool {
    matches!(file, File::UR | File::UP)
}

/// True if the instruction may transfer control.
pub fn is_control(instruction: &Instruction) -> bool {
    match instruction.opcode {
        Opcode::Sass(op) => matches!(
            op,
            Op::BRA | Op::BRX | Op::BRXU | Op::JMP | Op::JMX | Op::JMXU | Op::EXIT | Op::RET | Op::KILL
        ),
        Opcode::Pseudo(pseudo) => pseudo == Pseudo::Return,
    }
}

/// True if the results differ between lanes whatever the inputs are.
pub fn is_divergence_source(instruction: &Instruction) -> bool {
    if let Some(memory) = instruction.memory
        && memory.reads
        && memory.space != Space::Constant
    {
        return true;
    }
    match instruction.opcode {
        Opcode::Sass(Op::S2R | Op::CS2R) => !instruction.sources.iter().all(|source| {
            matches!(
                source.kind,
                SourceKind::Symbol(
                    Symbol::SR_CTAID_X | Symbol::SR_CTAID_Y | Symbol::SR_CTAID_Z | Symbol::SRZ
                )
            )
        }),
        Opcode::Sass(op) => !crate::effects::is_lane_wise(op),
        Opcode::Pseudo(pseudo) => matches!(
            pseudo,
            Pseudo::Call | Pseudo::CallHelper | Pseudo::Parameters | Pseudo::Undefined | Pseudo::Return
        ),
    }
}
