//! Inputs of the linear scan of a register file that do not depend on the register limit, since a function may be
//! scanned several times: control flow, next uses, values that can be rematerialized, affinities, register pressure.

use super::affinity::{self, Affinities};
use super::banks::Banks;
use super::calls::Calls;
use crate::next_use::{NextUse, Touches};
use crate::operands::{is_parallel_copy, is_partial};
use crate::work::Work;
use oriole_chip::nameable;
use oriole_ori::{
    BlockId, File, FlowGraph, Grants, Instruction, Liveness, Opcode, Pseudo, SourceKind, Value,
};
use oriole_sass::Op;
use std::sync::Arc;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// Inputs and hints of one file, by value unless stated otherwise.
pub struct ScanInputs {
    /// The graph, with its loops.
    pub graph: Arc<FlowGraph>,
    /// Values that each instruction reads and writes.
    pub touches: Touches,
    /// Next-use distances.
    pub next_use: NextUse,
    /// The instruction that rematerializes a value.
    pub rematerializations: TiVec<Value, Option<Box<Instruction>>>,
    /// True if it has one unconditional definition.
    pub single: TiVec<Value, bool>,
    /// Webs of parallel copies: the lowest value of each.
    web: TiVec<Value, Value>,
    /// Register affinities of values.
    pub affinities: Affinities,
    /// Effects of calls on values.
    pub calls: Calls,
    /// Values that are read together; empty for other files.
    pub banks: Banks,
    /// True for blocks that call a routine: they are on a slow path, which few threads take.
    pub slow: TiVec<BlockId, bool>,
    /// For each block the most values of the file live at once; for a header those of the loop.
    pub pressure: TiVec<BlockId, u32>,
    /// Register counts by program point, if they change.
    pub grants: Option<Grants>,
    /// The most values live at once that need a register or the frame: those that are neither rematerializable nor
    /// undefined.
    pub held: u32,
}

fn calls_routine(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Pseudo(Pseudo::CallHelper)
}

impl ScanInputs {
    /// Looks at a function; with `clusters` values that are connected are joined.
    pub fn new(work: &Work, file: File, clusters: bool) -> ScanInputs {
        let function = &work.function;
        let stack_pointer = work.stack_pointer;
        let values = function.values.len();
        let graph = function.graph();
        let (cfg, loops) = (graph.cfg(), graph.loops());
        let wanted = |value: Value| function.file(value) == file && value != stack_pointer;
        let liveness = Liveness::of(function, cfg, wanted);
        let touches = Touches::new(function, file, stack_pointer);
        let next_use = NextUse::new(function, cfg, &liveness, loops, &touches);
        let first = function.register_limit.filter(|_| file == File::R).map(nameable);
        let grants = first.and_then(|first| Grants::new(function, cfg, first));
        let mut inputs = ScanInputs {
            grants,
            graph: graph.clone(),
            touches,
            next_use,
            rematerializations: ti_vec![None; values],
            single: ti_vec![false; values],
            web: function.values.keys().collect(),
            affinities: Affinities::default(),
            calls: Calls::default(),
            banks: Banks::default(),
            slow: function.blocks.iter().map(|block| block.instructions.iter().any(calls_routine)).collect(),
            pressure: ti_vec![0; function.blocks.len()],
            held: 0,
        };
        let undefined = inputs.look_at_operands(work, file);
        let facts = affinity::Facts {
            function,
            file,
            stack_pointer,
            cfg,
            loops,
            touches: &inputs.touches,
            next_use: &inputs.next_use,
            single: &inputs.single,
        };
        inputs.affinities = Affinities::new(&facts, clusters);
        inputs.calls = Calls::new(&facts, &inputs.affinities);
        if file == File::R {
            inputs.banks = Banks::new(function, cfg, loops);
        }
        let held = inputs.held(&undefined);
        inputs.count_pressure(&held);
        inputs
    }

    /// Finds rematerializable values, and webs of parallel copies; returns the values that are undefined somewhere.
    fn look_at_operands(&mut self, work: &Work, file: File) -> Vec<Value> {
        let mut undefined = Vec::new();
        let function = &work.function;
        let mut definitions: TiVec<Value, u32> = ti_vec![0u32; self.single.len()];
        for &block in self.graph.cfg().order() {
            let marks = &work.inserted[block];
            for (instruction, &mark) in function.block(block).instructions.iter().zip(marks) {
                let copy = is_parallel_copy(instruction);
                for written in instruction.destinations.iter().filter(|written| written.file == file) {
                    if instruction.opcode == Opcode::Pseudo(Pseudo::Undefined) {
                        undefined.extend_from_slice(&written.values);
                    }
                    // Parallel copies count twice: there is no single point after them to store.
                    let times = if copy || is_partial(instruction) { 2 } else { 1 };
                    for &v in written.values.iter() {
                        definitions[v] += times;
                        self.single[v] = definitions[v] == 1;
                        // Instructions inserted for an earlier file have a different meaning.
                        self.rematerializations[v] =
                            (definitions[v] == 1 && !mark && is_rematerializable(instruction))
                                .then(|| Box::new(instruction.clone()));
                    }
                }
                if copy {
                    for (d, s) in instruction.destinations.iter().zip(&instruction.sources) {
                        if let (Some(&d), SourceKind::Values(s)) = (d.values.first(), &s.kind)
                            && function.file(d) == file
                            && function.file(s[0]) == file
                        {
                            let (a, b) = (root(&mut self.web, d), root(&mut self.web, s[0]));
                            self.web[a.max(b)] = a.min(b);
                        }
                    }
                }
            }
        }
        for value in self.web.keys() {
            self.web[value] = root(&mut self.web, value);
        }
        undefined
    }

    /// Values that are neither rematerializable nor undefined. A value without a definition is undefined, and so may
    /// be parallel copies of it.
    fn held(&self, undefined: &[Value]) -> TiVec<Value, bool> {
        let mut unknown: TiVec<Value, bool> = ti_vec![false; self.single.len()];
        if let Some(&entry) = self.graph.cfg().order().first() {
            self.next_use.at_entry(entry).iter().for_each(|&(v, _)| unknown[self.web[v]] = true);
        }
        undefined.iter().for_each(|&v| unknown[self.web[v]] = true);
        let held = |(v, made): (Value, &Option<_>)| made.is_none() && !unknown[self.web[v]];
        self.rematerializations.iter_enumerated().map(held).collect()
    }

    /// Counts live values, from the end of each block backwards.
    fn count_pressure(&mut self, held: &TiSlice<Value, bool>) {
        // For each value the last block in which it was seen live.
        let mut seen: TiVec<Value, u32> = ti_vec![u32::MAX; self.single.len()];
        for &block in self.graph.cfg().order() {
            let at_exit = self.next_use.at_exit(block);
            let mut count = at_exit.len() as u32;
            let mut count_held = at_exit.iter().filter(|&&(v, _)| held[v]).count() as u32;
            at_exit.iter().for_each(|&(v, _)| seen[v] = block.0);
            let (mut highest, mut highest_held) = (count, count_held);
            for touch in self.touches.of(block).rev() {
                if !touch.partial {
                    for &v in touch.definitions {
                        let was = std::mem::replace(&mut seen[v], u32::MAX);
                        count -= u32::from(was == block.0);
                        count_held -= u32::from(was == block.0 && held[v]);
                    }
                }
                for v in touch.kept() {
                    let was = std::mem::replace(&mut seen[v], block.0);
                    count += u32::from(was != block.0);
                    count_held += u32::from(was != block.0 && held[v]);
                }
                highest = highest.max(count);
                highest_held = highest_held.max(count_held);
            }
            self.pressure[block] = highest;
            self.held = self.held.max(highest_held);
        }
        // The pressure of a loop is the highest of its blocks; outer loops come before the loops in them.
        let mut highest = vec![0; self.graph.loops().loops.len()];
        for &block in self.graph.cfg().order() {
            if let Some(index) = self.graph.loops().innermost(block) {
                highest[index] = self.pressure[block].max(highest[index]);
            }
        }
        for (index, lap) in self.graph.loops().loops.iter().enumerate().rev() {
            self.pressure[lap.header] = highest[index];
            if let Some(parent) = lap.parent {
                highest[parent] = highest[parent].max(highest[index]);
            }
        }
    }
}

/// An instruction whose result can be rematerialized anywhere: it reads no register and the result never changes.
fn is_rematerializable(instruction: &Instruction) -> bool {
    let plain = |kind: &SourceKind| {
        matches!(
            kind,
            SourceKind::Imm(_)
                | SourceKind::Zero(_)
                | SourceKind::True(_)
                | SourceKind::Const { .. }
                | SourceKind::Address32 { .. }
                | SourceKind::Literal(_)
        )
    };
    instruction.guard.is_none()
        && instruction.destinations.len() == 1
        && instruction.destinations[0].values.len() == 1
        && instruction.destinations[0].fixed.is_none()
        && matches!(instruction.opcode, Opcode::Sass(Op::MOV) | Opcode::Pseudo(Pseudo::Copy))
        && instruction.sources.iter().all(|s| plain(&s.kind))
}

/// Root of a value in the forest of webs.
fn root(web: &mut TiSlice<Value, Value>, value: Value) -> Value {
    let mut at = value;
    while web[at] != at {
        let up = web[at];
        web[at] = web[up];
        at = up;
    }
    at
}
