//! The interference graph of one register file. It knows no bundles and chooses no register.

use crate::operands::is_partial;
use crate::work::Work;
use oriole_ori::effects::is_convergent;
use oriole_ori::{
    Cfg, Divergence, File, FlowGraph, Function, Instruction, Liveness, Opcode, Pseudo, SourceKind, Value,
    values_across_blocks,
};
use oriole_sass::Op;
use typed_index_collections::{TiVec, ti_vec};

/// The interference graph: interfering values, copy-related pairs, values live across calls.
pub(super) struct Graph {
    pub(super) neighbors: TiVec<Value, Vec<Value>>,
    /// Pairs joined by a copy, in program order.
    pub(super) copy_related: TiVec<Value, Vec<Value>>,
    pub(super) across_calls: TiVec<Value, bool>,
    /// Convergence barriers that are live across calls of routines.
    pub(super) across_routines: TiVec<Value, bool>,
    /// Values in order of first definition or use.
    pub(super) order: Vec<Value>,
}

impl Graph {
    pub(super) fn new(work: &Work, file: File) -> Graph {
        let function = &work.function;
        let count = function.values.len();
        let mut graph = Graph {
            neighbors: ti_vec![Vec::new(); count],
            copy_related: ti_vec![Vec::new(); count],
            across_calls: ti_vec![false; count],
            across_routines: ti_vec![false; count],
            order: Vec::new(),
        };
        let shape = function.graph();
        let cfg = shape.cfg();
        let liveness = Liveness::of(function, cfg, |value| function.file(value) == file);
        let changes_nothing = graph.find_order(function, cfg, file);
        let mut left = changes_nothing.as_slice();
        for &block in cfg.order() {
            let live = liveness.live_out(block).iter().copied();
            let mut live: Vec<Value> = live.filter(|v| function.file(*v) == file).collect();
            let instructions = &function.block(block).instructions;
            let (own, others) = left.split_at(instructions.len());
            left = others;
            for (instruction, _) in instructions.iter().zip(own).rev().filter(|(_, nothing)| !**nothing) {
                graph.step_backwards(function, file, instruction, &mut live);
            }
            // Values live-in at the entry block are undefined, but occupy registers.
            if cfg.predecessors(block).is_empty() {
                for (k, &a) in live.iter().enumerate() {
                    live[..k].iter().for_each(|&b| graph.interfere(a, b));
                }
            }
        }
        graph.keep_from_parts(function, &shape, file);
        for list in &mut graph.neighbors {
            list.sort_unstable();
            list.dedup();
        }
        graph
    }

    /// Adds interference for divergent code: a subset of the warp must not overwrite values that other lanes still
    /// need, wherever those are. Values local to a divergent block interfere with all values live across blocks, and
    /// those interfere with the clobbers of functions called by a subset of the warp.
    fn keep_from_parts(&mut self, function: &Function, shape: &FlowGraph, file: File) {
        if !matches!(file, File::UR | File::UP) || !may_write_in_parts(function, file) {
            return;
        }
        let cfg = shape.cfg();
        let divergence = Divergence::new(function, shape);
        let crosses = values_across_blocks(function);
        let crossing: Vec<Value> = self.order.iter().copied().filter(|&v| crosses[v]).collect();
        for &block in cfg.order() {
            if divergence.is_uniform_block(block) {
                continue;
            }
            for instruction in &function.block(block).instructions {
                instruction.for_each_definition(|v| {
                    if function.file(v) == file && !crosses[v] {
                        crossing.iter().for_each(|&other| self.interfere(v, other));
                    }
                });
                if file == File::UR && instruction.call.as_ref().is_some_and(|call| call.clobbers_uniform) {
                    crossing.iter().for_each(|&v| self.across_calls[v] = true);
                }
            }
        }
    }

    pub(super) fn interfere(&mut self, a: Value, b: Value) {
        self.neighbors[a].push(b);
        self.neighbors[b].push(a);
    }

    /// Finds the order of the values. Returns for each instruction, in block order, whether it does not affect the
    /// file.
    fn find_order(&mut self, function: &Function, cfg: &Cfg, file: File) -> Vec<bool> {
        let mut met: TiVec<Value, bool> = ti_vec![false; function.values.len()];
        let mut changes_nothing = Vec::new();
        for instruction in cfg.order().iter().flat_map(|&block| &function.block(block).instructions) {
            let mut nothing = instruction.call.is_none();
            let mut meet = |v: Value| {
                if function.file(v) == file {
                    nothing = false;
                    if !std::mem::replace(&mut met[v], true) {
                        self.order.push(v);
                    }
                }
            };
            instruction.for_each_use(&mut meet);
            instruction.for_each_definition(&mut meet);
            changes_nothing.push(nothing);
        }
        changes_nothing
    }

    /// Steps from the values live after an instruction to those live before it. Several results of one instruction,
    /// and old values of partial ones, interfere with each other.
    fn step_backwards(
        &mut self,
        function: &Function,
        file: File,
        instruction: &Instruction,
        live: &mut Vec<Value>,
    ) {
        let is_ours = |v: Value| function.file(v) == file;
        let partial = is_partial(instruction);
        let mut defined: Vec<Value> = Vec::new();
        instruction.for_each_definition(|v| {
            if is_ours(v) {
                defined.push(v);
            }
        });
        let single = instruction.opcode == Opcode::Pseudo(Pseudo::Copy);
        for (k, &d) in defined.iter().enumerate() {
            let from = copied_from(instruction, d).filter(|&from| is_ours(from));
            if let Some(from) = from {
                self.copy_related[d].push(from);
                self.copy_related[from].push(d);
            }
            for &other in live.iter().chain(&defined[..k]) {
                // A copy and its source may share a register while both hold the same.
                if other != d && !(single && from == Some(other) && !partial) {
                    self.interfere(d, other);
                }
            }
        }
        if !partial {
            live.retain(|v| !defined.contains(v));
        }
        let calls = instruction.call.as_ref().is_some_and(|c| match file {
            File::B => instruction.opcode == Opcode::Pseudo(Pseudo::Call),
            _ => c.clobbers_uniform,
        });
        if calls {
            live.iter().for_each(|&v| self.across_calls[v] = true);
        }
        if instruction.opcode == Opcode::Pseudo(Pseudo::CallHelper) {
            live.iter().for_each(|&v| self.across_routines[v] = true);
        }
        let mut begin = |v: Value| {
            if !live.contains(&v) {
                live.push(v);
            }
        };
        instruction.for_each_use(|v| {
            if is_ours(v) {
                begin(v);
            }
        });
        if partial {
            defined.iter().for_each(|&d| begin(d));
        }
    }
}

/// True if some block after the first copies something to the file, gathers something of the lanes there, or calls a function
/// that may write it. All other writes are where the whole warp executes.
fn may_write_in_parts(function: &Function, file: File) -> bool {
    let moves = [Opcode::Pseudo(Pseudo::Copy), Opcode::Sass(Op::UMOV)];
    function.blocks.iter().skip(1).flat_map(|block| &block.instructions).any(|instruction| {
        let writes = (moves.contains(&instruction.opcode) || is_convergent(instruction))
            && instruction.destinations.iter().any(|destination| destination.file == file);
        writes || instruction.call.as_ref().is_some_and(|call| call.clobbers_uniform)
    })
}

/// The source of a copy to a destination.
fn copied_from(instruction: &Instruction, d: Value) -> Option<Value> {
    if !matches!(instruction.opcode, Opcode::Pseudo(Pseudo::Copy | Pseudo::ParallelCopy)) {
        return None;
    }
    let at = instruction.destinations.iter().position(|x| x.values.first() == Some(&d))?;
    match &instruction.sources.get(at)?.kind {
        SourceKind::Values(s) => Some(s[0]),
        _ => None,
    }
}
