//! The verifier: invariants that every stage may assume.
//!
//! Checked in every form:
//! * successors and targets name blocks; transfers come last and agree with the successors;
//! * every value is in range; the components of an operand are of one file; the width of a destination is its number
//!   of components; guards are predicates;
//! * the entry has no predecessor and no phi;
//! * UR and UP are written only where the whole warp executes, or for use in the same block.
//!
//! Before SSA also: a uniform register with a texture or a sampler copies what all lanes have.
//!
//! In SSA also: one definition for each value, which dominates every use; phis name exactly the predecessors, with
//! sources of the file of the result; a guarded definition lists old values of the right files. Outside SSA there are
//! neither phis nor old values. After SSA a value may have several definitions, but every path to a read has one:
//! this finds code that was moved above the definition of its operand.

use crate::effects;
use crate::handle::handles_of_one_lane;
use crate::print::Name;
use crate::{
    Address, BlockId, Cfg, Divergence, File, FlowGraph, Function, Instruction, Liveness, Opcode, Pseudo,
    Source, SourceKind, SymbolId, Value, values_across_blocks,
};
use oriole_sass::Op;
use typed_index_collections::{TiVec, ti_vec};

/// Most registers of the base of an address (the coordinates of a surface) and of the uniform registers after it:
/// bulk copies take an mbarrier and five coordinates there.
const BASE_PARTS: usize = 3;
const UNIFORM_PARTS: usize = 7;

/// The form of Ori, by pipeline position, which selects the rules.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    /// Values may be defined several times or not at all; no phis (before phase 23).
    Plain,
    /// Single definitions, phis, tied old values (23 to 73).
    Ssa,
    /// Values may be defined several times, and on every path to a read they are; no phis (after phase 73).
    Assigned,
}

/// A broken rule, and its location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// In which block.
    pub block: Option<BlockId>,
    /// At which instruction of the block.
    pub instruction: Option<usize>,
    /// The broken rule.
    pub message: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(block) = self.block {
            write!(f, "{block}")?;
            if let Some(instruction) = self.instruction {
                write!(f, "[{instruction}]")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}

/// Checks a function.
///
/// # Errors
/// Every broken rule, in block order.
pub fn verify(function: &Function, form: Form) -> Result<(), Vec<Violation>> {
    let mut verifier = Verifier { function, form, violations: Vec::new(), block: None, instruction: None };
    verifier.run();
    if verifier.violations.is_empty() { Ok(()) } else { Err(verifier.violations) }
}

struct Verifier<'a> {
    function: &'a Function,
    form: Form,
    violations: Vec<Violation>,
    block: Option<BlockId>,
    instruction: Option<usize>,
}

impl Verifier<'_> {
    fn say(&mut self, message: impl Into<String>) {
        self.violations.push(Violation {
            block: self.block,
            instruction: self.instruction,
            message: message.into(),
        });
    }

    fn name(&self, value: Value) -> String {
        Name(self.function, value).to_string()
    }

    fn run(&mut self) {
        let function = self.function;
        if function.blocks.is_empty() {
            return self.say("a function needs a block");
        }
        for id in function.block_ids() {
            self.block = Some(id);
            self.structure(id);
        }
        // The checks that follow walk the graph and the values: both must be in range.
        if !self.violations.is_empty() {
            return;
        }
        // A graph of its own, whatever the function keeps.
        let graph = FlowGraph::new(function.edges());
        let cfg = graph.cfg();
        self.block = Some(BlockId(0));
        if !cfg.predecessors(BlockId(0)).is_empty() {
            self.say("the entry has a predecessor");
        }
        if !function.block(BlockId(0)).phis.is_empty() {
            self.say("the entry has a phi");
        }
        match self.form {
            Form::Ssa => self.ssa(&graph),
            Form::Plain => {
                self.plain();
                for block in handles_of_one_lane(function, &graph) {
                    self.block = Some(block);
                    self.say("a texture or sampler in a uniform register is that of one lane, and lanes may differ");
                }
            }
            Form::Assigned => {
                self.plain();
                self.assigned(cfg);
            }
        }
        self.uniform_writes(&graph);
    }

    fn structure(&mut self, id: BlockId) {
        let function = self.function;
        let block = function.block(id);
        let end = function.blocks.next_key();
        if let Some(bad) = block.successors.iter().find(|&&s| s >= end) {
            self.say(format!("successor {bad} does not exist"));
        }
        for phi in &block.phis {
            self.value(phi.destination);
            for (predecessor, source) in &phi.sources {
                if *predecessor >= end {
                    self.say(format!("phi names {predecessor}, which does not exist"));
                }
                if let Some(value) = source.value() {
                    self.value(value);
                }
            }
        }
        for (index, instruction) in block.instructions.iter().enumerate() {
            self.instruction = Some(index);
            self.operands(instruction);
        }
        self.instruction = None;
        self.transfers(id);
    }

    fn value(&mut self, value: Value) -> bool {
        let known = value < self.function.values.next_key();
        if !known {
            self.say(format!("value {} does not exist", value.0));
        }
        known
    }

    fn source(&mut self, source: &Source) {
        let mut known = true;
        source.for_each_value(|v| known &= self.value(v));
        if !known {
            return;
        }
        match &source.kind {
            SourceKind::Values(values) => {
                if values.is_empty() {
                    self.say("an empty register operand");
                }
                self.one_file(values);
            }
            SourceKind::Address(address) => {
                let Address { descriptor, base, uniform, symbol, .. } = &**address;
                self.one_file(base);
                if base.len() > BASE_PARTS || uniform.len() > UNIFORM_PARTS {
                    self.say("an address part spans more registers than any instruction reads");
                }
                let uniform_parts = descriptor.iter().flatten().chain(uniform);
                if uniform_parts.into_iter().any(|&v| self.function.file(v) != File::UR) {
                    self.say("descriptor and uniform part of an address must be in UR");
                }
                if let Some(symbol) = symbol {
                    self.symbol(*symbol);
                }
            }
            SourceKind::Address32 { symbol, .. } => self.symbol(*symbol),
            SourceKind::Const { .. } | SourceKind::ConstIndexed(_) => match source.kind.const_base() {
                Some(
                    crate::ConstBase::Variable(symbol)
                    | crate::ConstBase::AddressSlot(symbol)
                    | crate::ConstBase::HeaderSlot(symbol),
                ) => self.symbol(*symbol),
                Some(crate::ConstBase::Table(table)) if *table as usize >= self.function.tables.len() => {
                    self.say(format!("table t{table} does not exist"));
                }
                _ => {}
            },
            SourceKind::Block(block) if *block >= self.function.blocks.next_key() => {
                self.say(format!("target {block} does not exist"));
            }
            _ => {}
        }
    }

    fn symbol(&mut self, symbol: SymbolId) {
        if symbol >= self.function.symbols.next_key() {
            self.say(format!("symbol s{} does not exist", symbol.0));
        }
    }

    fn one_file(&mut self, values: &[Value]) {
        if values.windows(2).any(|pair| self.function.file(pair[0]) != self.function.file(pair[1])) {
            self.say("the components of an operand are of different files");
        }
    }

    fn operands(&mut self, instruction: &Instruction) {
        let function = self.function;
        if let Some(guard) = instruction.guard
            && self.value(guard.value)
            && !matches!(function.file(guard.value), File::P | File::UP)
        {
            self.say(format!("guard {} is no predicate", self.name(guard.value)));
        }
        instruction.sources.iter().for_each(|source| self.source(source));
        for destination in &instruction.destinations {
            let mut known = true;
            destination.values.iter().for_each(|&v| known &= self.value(v));
            if !known {
                continue;
            }
            if destination.values.iter().any(|&v| function.file(v) != destination.file) {
                self.say("a destination names another file than its components have");
            }
            if !destination.values.is_empty() && destination.values.len() != usize::from(destination.width) {
                self.say("the width of a destination is not its number of components");
            }
        }
        instruction.tied.iter().for_each(|&v| {
            self.value(v);
        });
        if let Some(call) = &instruction.call
            && let Some(callee) = call.callee
        {
            self.symbol(callee);
        }
        if instruction.opcode == Opcode::Pseudo(Pseudo::ParallelCopy)
            && instruction.destinations.len() != instruction.sources.len()
        {
            self.say("a parallel copy needs one source for each destination");
        }
        if instruction.is_copy() {
            for (destination, source) in instruction.destinations.iter().zip(&instruction.sources) {
                if !self.may_copy(source, destination.file) {
                    self.say("a copy goes from a register file to another kind of register file");
                }
            }
        }
        let is_call = matches!(instruction.opcode, Opcode::Pseudo(Pseudo::Call | Pseudo::CallHelper));
        if is_call != instruction.call.is_some() {
            self.say("a call needs a call shape, and nothing else has one");
        }
    }

    /// True if a copy may bring the source into a register of this file: predicates and words never mix.
    fn may_copy(&self, source: &Source, to: File) -> bool {
        let is_predicate = |file: File| matches!(file, File::P | File::UP);
        match &source.kind {
            SourceKind::Values(values) => values.iter().all(|&value| {
                let file = self.function.file(value);
                is_predicate(file) == is_predicate(to) && (file == File::B) == (to == File::B)
            }),
            SourceKind::Zero(file) | SourceKind::True(file) => is_predicate(*file) == is_predicate(to),
            _ => !is_predicate(to),
        }
    }

    /// Transfers come last and agree with the successors.
    fn transfers(&mut self, id: BlockId) {
        let block = self.function.block(id);
        let count = block.instructions.len();
        let mut taken = Vec::new();
        let mut falls_through = true;
        for (index, instruction) in block.instructions.iter().enumerate() {
            if !effects::is_transfer(instruction) {
                if !falls_through || !taken.is_empty() {
                    self.instruction = Some(index);
                    self.say("an instruction follows a transfer of control");
                    self.instruction = None;
                    return;
                }
                continue;
            }
            self.instruction = Some(index);
            let leaves_function = effects::leaves_function(instruction);
            let guarded = instruction.guard.is_some() || has_branch_condition(instruction);
            if !falls_through {
                self.say("an instruction follows an unconditional transfer");
            }
            if guarded && leaves_function {
                // A guarded exit ends some threads and lets the others continue: an ordinary instruction.
                self.instruction = None;
                continue;
            }
            if guarded && !taken.is_empty() {
                self.say("a block has at most one guarded branch");
            }
            if !leaves_function {
                let target = instruction.sources.iter().find_map(|source| match source.kind {
                    SourceKind::Block(target) => Some(target),
                    _ => None,
                });
                match target {
                    Some(target) => taken.push(target),
                    None => {
                        // Indexed branches: the successors are all that is known.
                        if index + 1 != count {
                            self.say("an indexed branch must be last");
                        }
                        self.instruction = None;
                        return;
                    }
                }
            }
            falls_through = guarded;
            self.instruction = None;
        }
        let expected = taken.len() + usize::from(falls_through);
        if block.successors.len() != expected || block.successors[..taken.len().min(expected)] != taken[..] {
            let listed: Vec<String> = block.successors.iter().map(|s| s.to_string()).collect();
            self.say(format!("successors [{}] do not agree with how the block ends", listed.join(" ")));
        }
    }

    fn plain(&mut self) {
        for id in self.function.block_ids() {
            self.block = Some(id);
            let block = self.function.block(id);
            if !block.phis.is_empty() {
                self.say("a phi outside SSA");
            }
            for (index, instruction) in block.instructions.iter().enumerate() {
                if !instruction.tied.is_empty() {
                    self.instruction = Some(index);
                    self.say("tied old values outside SSA");
                }
            }
            self.instruction = None;
        }
    }

    /// A value that is live-in at the entry is read on some path without a definition.
    fn assigned(&mut self, cfg: &Cfg) {
        let liveness = Liveness::of_readers(self.function, cfg);
        for &value in liveness.live_in(BlockId(0)) {
            (self.block, self.instruction) = self.unassigned_read(cfg, &liveness, value);
            self.say(format!("{} is read where its definition does not reach", self.name(value)));
        }
        self.instruction = None;
    }

    /// The first read of a value that is live-in at the entry, among the blocks where it is live-in.
    fn unassigned_read(
        &self,
        cfg: &Cfg,
        liveness: &Liveness,
        value: Value,
    ) -> (Option<BlockId>, Option<usize>) {
        for &id in cfg.order().iter().filter(|&&id| liveness.is_live_in(id, value)) {
            let reads = |instruction: &Instruction| {
                let mut found = false;
                instruction.for_each_use(|used| found |= used == value);
                found
            };
            if let Some(index) = self.function.block(id).instructions.iter().position(reads) {
                return (Some(id), Some(index));
            }
        }
        (None, None)
    }

    fn ssa(&mut self, graph: &FlowGraph) {
        let function = self.function;
        let (cfg, dominators) = (graph.cfg(), graph.dominators());
        // Place of definition: block, and position (0 for phis, instruction index + 1 otherwise).
        let mut defined: TiVec<Value, Option<(BlockId, usize)>> = ti_vec![None; function.values.len()];
        for &id in cfg.order() {
            self.block = Some(id);
            let block = function.block(id);
            let mut places: Vec<(Value, usize)> = block.phis.iter().map(|phi| (phi.destination, 0)).collect();
            for (index, instruction) in block.instructions.iter().enumerate() {
                instruction.for_each_definition(|v| places.push((v, index + 1)));
            }
            for (value, place) in places {
                if defined[value].replace((id, place)).is_some() {
                    self.say(format!("{} is defined twice", self.name(value)));
                }
            }
        }
        let available = |value: Value, block: BlockId, place: usize| match defined[value] {
            None => false,
            Some((at, defined_place)) if at == block => defined_place < place,
            Some((at, _)) => dominators.dominates(at, block),
        };
        for &id in cfg.order() {
            self.block = Some(id);
            let block = function.block(id);
            for phi in &block.phis {
                let mut named: Vec<BlockId> = phi.sources.iter().map(|(p, _)| *p).collect();
                named.sort_unstable();
                let mut expected = cfg.predecessors(id).to_vec();
                expected.sort_unstable();
                if named != expected {
                    self.say(format!(
                        "phi {} does not name exactly the predecessors",
                        self.name(phi.destination)
                    ));
                }
                for (predecessor, source) in &phi.sources {
                    if let Some(v) = source.value() {
                        if function.file(v) != function.file(phi.destination) {
                            self.say(format!("phi {} merges another file", self.name(phi.destination)));
                        }
                        if !available(v, *predecessor, usize::MAX) {
                            self.say(format!(
                                "{} does not reach phi {} from {predecessor}",
                                self.name(v),
                                self.name(phi.destination)
                            ));
                        }
                    }
                }
            }
            for (index, instruction) in block.instructions.iter().enumerate() {
                self.instruction = Some(index);
                let mut missing = Vec::new();
                instruction.for_each_use(|v| {
                    if !available(v, id, index + 1) {
                        missing.push(v);
                    }
                });
                for value in missing {
                    self.say(format!("{} is read where its definition does not reach", self.name(value)));
                }
                let mut old = instruction.tied.iter().map(|&v| function.file(v));
                let mut agrees = true;
                if instruction.is_partial() {
                    instruction.for_each_definition(|v| agrees &= old.next() == Some(function.file(v)));
                }
                if !agrees || old.next().is_some() {
                    self.say("old values do not match the components that a partial definition writes");
                }
            }
            self.instruction = None;
        }
    }

    fn uniform_writes(&mut self, graph: &FlowGraph) {
        let function = self.function;
        if !function.values.iter().any(|data| matches!(data.file, File::UR | File::UP)) {
            return;
        }
        let divergence = Divergence::new(function, graph);
        // Values that a subset of the warp writes and reads within one block are invisible to other lanes.
        let crosses = values_across_blocks(function);
        for &id in graph.cfg().order() {
            if divergence.is_uniform_block(id) {
                continue;
            }
            self.block = Some(id);
            for (index, instruction) in function.block(id).instructions.iter().enumerate() {
                self.instruction = Some(index);
                let mut written = None;
                instruction.for_each_definition(|v| {
                    if matches!(function.file(v), File::UR | File::UP) && crosses[v] {
                        written.get_or_insert(v);
                    }
                });
                if let Some(value) = written {
                    let name = self.name(value);
                    self.say(format!(
                        "{name} is written where only a part of the warp is, and read elsewhere"
                    ));
                }
            }
            self.instruction = None;
        }
    }
}

/// True for a branch with a predicate operand besides its guard.
fn has_branch_condition(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Sass(Op::BRA))
        && instruction.sources.iter().any(|source| matches!(source.kind, SourceKind::Values(_)))
}
