//! Phase 49, GvnCse: global value numbering. An instruction is replaced by a dominating one with the same operation
//! and operands.
//!
//! Walking the dominator tree with a scoped table, operands are replaced before an instruction is looked up, so one
//! walk finds all equal computations of equal values. Pure instructions are numbered across blocks; ordinary loads
//! and texture fetches only within a block, as long as nothing there may write what they read or wait for other threads.

use crate::analyses::memory_order::{disturbs_memory, disturbs_textures, is_plain_fetch, is_plain_load};
use crate::passes::{dead_stores, invariant_loads, memory_values};
use crate::rewriting::product_halves;
use oriole_options::Optimization;
use oriole_ori::{
    Allowance, BlockId, Destination, File, FormChange, Function, Instruction, Opcode, Outcome, Pass, Phi,
    PhiSources, Source, SourceKind, Value, effects,
};
use oriole_sass::{Mod, Op};
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::hash::{BuildHasher, Hash, Hasher};
use typed_index_collections::TiVec;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    optimization: Some(Optimization::Gvn),
    asks: &[Optimization::MemoryValues, Optimization::InvariantLoads, Optimization::DeadStores],
    ..Pass::new(|function, context| {
        let numbered = run_within(function, context.allowance);
        let mut changed = product_halves::join(function, context.chip);
        // Equal addresses are one value now.
        changed |= context.wants(Optimization::MemoryValues) && memory_values::run(function);
        changed |= context.wants(Optimization::InvariantLoads) && invariant_loads::run(function);
        changed |= context.wants(Optimization::DeadStores) && dead_stores::run(function);
        if changed { Outcome::Changed } else { numbered }
    })
};

/// Value-numbers a function in SSA and removes redundant computations.
pub fn run(function: &mut Function) -> Outcome {
    run_within(function, None)
}

fn run_within(function: &mut Function, allowance: Option<&Allowance>) -> Outcome {
    if function.blocks.is_empty() {
        return Outcome::Unchanged;
    }
    let graph = function.graph();
    let dominators = graph.dominators();
    let mut numbering = Numbering {
        newest: FxHashMap::default(),
        entries: Vec::new(),
        leader: function.values.keys().collect(),
        gone: Vec::new(),
        changed: false,
        reads_twice: false,
        allowance,
    };
    let mut steps: Vec<Step> = dominators.roots().iter().rev().map(|&root| Step::Visit(root)).collect();
    while let Some(step) = steps.pop() {
        match step {
            Step::Leave(length) => numbering.rewind(length),
            Step::Visit(id) => {
                steps.push(Step::Leave(numbering.entries.len()));
                numbering.block(function, id);
                steps.extend(dominators.children(id).iter().rev().map(|&child| Step::Visit(child)));
            }
        }
    }
    numbering.remove(function);
    // Phis read at the ends of blocks that the walk may not have finished when it visited the phi.
    for block in &mut function.blocks {
        for phi in &mut block.phis {
            numbering.lead_phi(phi);
        }
    }
    // A merged value has only facts that both had; the only news is that they are equal.
    match numbering {
        Numbering { changed: false, .. } => Outcome::Unchanged,
        Numbering { reads_twice: true, .. } => Outcome::Changed,
        _ => Outcome::Kept,
    }
}

enum Step {
    Visit(BlockId),
    Leave(usize),
}

/// Results of an instruction.
type Results = SmallVec<[Value; 2]>;

/// A visited instruction, in walk order. It stays in place until the walk ends.
struct Entry {
    block: BlockId,
    index: u32,
    hash: u64,
    /// The entry of this hash before it.
    next: Option<u32>,
}

struct Numbering<'a> {
    /// The last entry of each hash.
    newest: FxHashMap<u64, u32>,
    /// Instructions that dominate the current point.
    entries: Vec<Entry>,
    /// The leader of each value.
    leader: TiVec<Value, Value>,
    /// Replaced instructions.
    gone: Vec<(BlockId, u32)>,
    changed: bool,
    /// Something may read one value twice that read two.
    reads_twice: bool,
    /// The merges that are left, if they are limited.
    allowance: Option<&'a Allowance>,
}

impl Numbering<'_> {
    fn rewind(&mut self, length: usize) {
        for entry in self.entries.drain(length..).rev() {
            match entry.next {
                Some(next) => self.newest.insert(entry.hash, next),
                None => self.newest.remove(&entry.hash),
            };
        }
    }

    /// Replaces a value by its leader; true if that is another one.
    fn lead(&self, value: &mut Value) -> bool {
        let leader = self.leader[*value];
        std::mem::replace(value, leader) != leader
    }

    fn lead_phi(&mut self, phi: &mut Phi) {
        let replaced = phi.values_mut().fold(false, |replaced, value| self.lead(value) | replaced);
        self.reads_twice |= replaced && reads_twice(phi.values().collect());
    }

    fn lead_instruction(&mut self, instruction: &mut Instruction) {
        let mut replaced = false;
        instruction.for_each_use_mut(|value| replaced |= self.lead(value));
        if replaced {
            let mut read = Results::new();
            instruction.for_each_use(|value| read.push(value));
            self.reads_twice |= reads_twice(read);
        }
    }

    /// The last instruction with the same computation.
    fn known<'f>(&self, function: &'f Function, hash: u64, wanted: &Instruction) -> Option<&'f Instruction> {
        let mut at = self.newest.get(&hash).copied();
        while let Some(entry) = at.map(|at| &self.entries[at as usize]) {
            let instruction = &function.block(entry.block).instructions[entry.index as usize];
            if computes_same(instruction, wanted) {
                return Some(instruction);
            }
            at = entry.next;
        }
        None
    }

    fn enter(&mut self, hash: u64, block: BlockId, index: u32) {
        let next = self.newest.insert(hash, self.entries.len() as u32);
        self.entries.push(Entry { block, index, hash, next });
    }

    fn block(&mut self, function: &mut Function, id: BlockId) {
        self.phis(function, id);
        // Available loads of this block, by hash; loads of kernel-constant memory are available to its end, and texture
        // fetches past ordinary stores.
        type Loads = FxHashMap<u64, SmallVec<[u32; 1]>>;
        let (mut constants, mut loads, mut fetches) = (Loads::default(), Loads::default(), Loads::default());
        for index in 0..function.block(id).instructions.len() {
            self.lead_instruction(&mut function.block_mut(id).instructions[index]);
            let instructions = &function.block(id).instructions;
            let instruction = &instructions[index];
            if disturbs_memory(instruction) {
                loads.clear();
                if disturbs_textures(instruction) {
                    fetches.clear();
                }
            }
            let is_fetch = is_plain_fetch(instruction);
            let is_load = is_fetch || is_plain_load(instruction);
            if !is_load && !is_numbered(instruction) {
                continue;
            }
            let hash = hash_of(instruction);
            let loads = match () {
                () if is_fetch => &mut fetches,
                () if instruction.mods.has(Mod::CONSTANT) => &mut constants,
                () => &mut loads,
            };
            let known = if is_load {
                let met = loads.get(&hash).into_iter().flatten();
                let mut met = met.map(|&load| &instructions[load as usize]);
                met.find(|load| computes_same(load, instruction))
            } else {
                self.known(function, hash, instruction)
            };
            match known.filter(|_| Allowance::allows(self.allowance)) {
                Some(known) => {
                    for (result, leader) in results(instruction).into_iter().zip(results(known)) {
                        self.leader[result] = leader;
                    }
                    self.gone.push((id, index as u32));
                    self.changed = true;
                }
                None if is_load => loads.entry(hash).or_default().push(index as u32),
                None => self.enter(hash, id, index as u32),
            }
        }
    }

    /// Merges equal phis of the block.
    fn phis(&mut self, function: &mut Function, id: BlockId) {
        let mut met: FxHashMap<PhiSources, Value> = FxHashMap::default();
        let mut phis = std::mem::take(&mut function.block_mut(id).phis);
        phis.retain_mut(|phi| {
            self.lead_phi(phi);
            let file = function.file(phi.destination);
            match met.get(&phi.sources) {
                Some(&other) if function.file(other) == file && Allowance::allows(self.allowance) => {
                    self.leader[phi.destination] = other;
                    self.changed = true;
                    false
                }
                _ => {
                    met.insert(phi.sources.clone(), phi.destination);
                    true
                }
            }
        });
        function.block_mut(id).phis = phis;
    }

    /// Removes the replaced instructions.
    fn remove(&self, function: &mut Function) {
        // Removed instructions of a block are contiguous and in visiting order.
        for gone in self.gone.chunk_by(|one, other| one.0 == other.0) {
            let [(block, _), ..] = *gone else { continue };
            let (mut gone, mut index) = (gone.iter().map(|&(_, at)| at).peekable(), 0);
            function.block_mut(block).instructions.retain(|_| {
                let goes = gone.next_if_eq(&index).is_some();
                index += 1;
                !goes
            });
        }
    }
}

fn reads_twice(mut read: Results) -> bool {
    read.sort_unstable();
    read.windows(2).any(|pair| pair[0] == pair[1])
}

fn results(instruction: &Instruction) -> Results {
    let mut results = Results::new();
    instruction.for_each_definition(|value| results.push(value));
    results
}

/// True for pure instructions with results in registers without fixed assignment. A guarded one also depends on guard
/// and old values.
fn is_numbered(instruction: &Instruction) -> bool {
    effects::is_pure(instruction)
        && instruction.guard.is_none() == instruction.tied.is_empty()
        && !instruction.destinations.is_empty()
        && instruction.destinations.iter().all(|destination| {
            // A uniform register that a subset of the warp writes is local to its block.
            destination.fixed.is_none() && !matches!(destination.file, File::B | File::UR | File::UP)
        })
        && instruction.sources.iter().all(|source| source.fixed.is_none())
        // The address of the code is its own.
        && !matches!(instruction.opcode, Opcode::Sass(Op::LEPC))
}

/// Count of leading operands that commute.
fn exchangeable(instruction: &Instruction) -> usize {
    let count = match instruction.opcode {
        Opcode::Sass(op) => op.info().commutes(&instruction.mods),
        Opcode::Pseudo(
            oriole_ori::Pseudo::Add64 | oriole_ori::Pseudo::Mul64 | oriole_ori::Pseudo::MulHi64,
        ) => 2,
        _ => 0,
    };
    count.min(instruction.sources.len())
}

/// The commutative operands in canonical order, and the others.
fn ordered(instruction: &Instruction) -> (SmallVec<[&Source; 4]>, &[Source]) {
    let (first, others) = instruction.sources.split_at(exchangeable(instruction));
    let mut first: SmallVec<[&Source; 4]> = first.iter().collect();
    first.sort_by_key(|source| order(source));
    (first, others)
}

/// The hash of a computation: equal for all that [`computes_same`] considers equal.
fn hash_of(instruction: &Instruction) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    instruction.opcode.hash(&mut hasher);
    instruction.mods.hash(&mut hasher);
    instruction.guard.hash(&mut hasher);
    instruction.tied.hash(&mut hasher);
    let (first, others) = ordered(instruction);
    first.iter().for_each(|source| source.hash(&mut hasher));
    others.hash(&mut hasher);
    hasher.finish()
}

/// True if two instructions compute the same: results, provenance and the order of commutative operands do not count.
/// A dropped result cannot replace one that is read.
fn computes_same(one: &Instruction, other: &Instruction) -> bool {
    let alike = |(one, other): (&Destination, &Destination)| {
        one.values.len() == other.values.len()
            && (one.file, one.width, one.fixed) == (other.file, other.width, other.fixed)
    };
    one.opcode == other.opcode
        && one.mods == other.mods
        && one.guard == other.guard
        && one.sources.len() == other.sources.len()
        && one.destinations.len() == other.destinations.len()
        && one.destinations.iter().zip(&other.destinations).all(alike)
        && ordered(one) == ordered(other)
        && (&one.tied, one.memory, &one.call, one.contract)
            == (&other.tied, other.memory, &other.call, other.contract)
}

/// Any fixed operand order works.
fn order(source: &Source) -> (u8, u64, u64, bool, bool, bool) {
    let (kind, first, second) = match &source.kind {
        SourceKind::Values(values) => (
            0,
            values.first().map_or(0, |value| value.0.into()),
            values.get(1).map_or(0, |value| value.0.into()),
        ),
        SourceKind::Imm(bits) => (1, (*bits).into(), 0),
        SourceKind::Const { bank, offset, .. } => (2, (*bank).into(), *offset as u64),
        SourceKind::Zero(_) => (3, 0, 0),
        _ => (4, 0, 0),
    };
    (kind, first, second, source.negate, source.absolute, source.invert)
}
