//! Phase 49, GvnCse: global value numbering. An instruction whose operation and operands are those of one that dominates
//! it gives way to that one.
//!
//! Walking the dominator tree with a scoped table, operands are replaced before an instruction is looked up, so equal
//! computations of equal values are found in one walk. Pure instructions count anywhere; ordinary loads only within a
//! block, as long as nothing there may write memory or wait for others.

use oriole_options::Optimization;
use oriole_ori::{
    BlockId, Cfg, Dominators, File, FormChange, Function, Instruction, Opcode, Outcome, Pass, PhiSources,
    Source, SourceKind, Space, Value, effects,
};
use oriole_sass::{Effect, Op};
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::hash::BuildHasher;
use typed_index_collections::TiVec;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    optimization: Some(Optimization::Gvn),
    ..Pass::new(|function, _| Outcome::changed_if(run(function)))
};

/// Numbers the values of a function in SSA and removes what is computed twice. Returns true if something went.
pub fn run(function: &mut Function) -> bool {
    if function.blocks.is_empty() {
        return false;
    }
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(function, &cfg);
    let mut numbering = Numbering {
        newest: FxHashMap::default(),
        entries: Vec::new(),
        leader: function.values.keys().collect(),
        changed: false,
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
    // Phis read at the ends of blocks that the walk may not have left yet when it stood at the phi.
    for block in &mut function.blocks {
        for phi in &mut block.phis {
            phi.values_mut().for_each(|value| *value = numbering.leader[*value]);
        }
    }
    numbering.changed
}

enum Step {
    Visit(BlockId),
    Leave(usize),
}

/// What an instruction computes: everything but results and origin. Operands whose order does not matter are sorted.
#[derive(PartialEq, Eq, Hash)]
struct Key(Instruction);

/// Results of an instruction.
type Results = SmallVec<[Value; 2]>;

/// Something that was computed, in the order in which the walk came by.
struct Entry {
    key: Key,
    results: Results,
    hash: u64,
    /// The entry of this hash before it.
    next: Option<u32>,
}

struct Numbering {
    /// The last entry of each hash.
    newest: FxHashMap<u64, u32>,
    /// What is known where the walk stands: whatever dominates this place.
    entries: Vec<Entry>,
    /// The value that stands for each value.
    leader: TiVec<Value, Value>,
    changed: bool,
}

impl Numbering {
    fn rewind(&mut self, length: usize) {
        for entry in self.entries.drain(length..).rev() {
            match entry.next {
                Some(next) => self.newest.insert(entry.hash, next),
                None => self.newest.remove(&entry.hash),
            };
        }
    }

    /// The results of the last entry with this key.
    fn known(&self, hash: u64, key: &Key) -> Option<&Results> {
        let mut at = self.newest.get(&hash).copied();
        while let Some(entry) = at.map(|at| &self.entries[at as usize]) {
            if entry.key == *key {
                return Some(&entry.results);
            }
            at = entry.next;
        }
        None
    }

    fn enter(&mut self, hash: u64, key: Key, results: Results) {
        let next = self.newest.insert(hash, self.entries.len() as u32);
        self.entries.push(Entry { key, results, hash, next });
    }

    fn block(&mut self, function: &mut Function, id: BlockId) {
        // Loads of this block that still hold, in the order of their keys in `loads`.
        let mut loads: FxHashMap<Key, Results> = FxHashMap::default();
        let mut phis: FxHashMap<PhiSources, Value> = FxHashMap::default();
        let mut block = std::mem::take(function.block_mut(id));
        block.phis.retain_mut(|phi| {
            phi.values_mut().for_each(|value| *value = self.leader[*value]);
            // A phi that merges what another one of the block merges is that one.
            let file = function.file(phi.destination);
            match phis.get(&phi.sources) {
                Some(&other) if function.file(other) == file => {
                    self.leader[phi.destination] = other;
                    self.changed = true;
                    false
                }
                _ => {
                    phis.insert(phi.sources.clone(), phi.destination);
                    true
                }
            }
        });
        block.instructions.retain_mut(|instruction| {
            instruction.for_each_use_mut(|value| *value = self.leader[*value]);
            if disturbs_memory(instruction) {
                loads.clear();
            }
            let is_load = is_plain_load(instruction);
            if !is_load && !is_numbered(instruction) {
                return true;
            }
            let key = key(instruction);
            let mut results = Results::new();
            instruction.for_each_definition(|value| results.push(value));
            let hash = if is_load { 0 } else { FxBuildHasher.hash_one(&key) };
            let known = if is_load { loads.get(&key) } else { self.known(hash, &key) };
            if let Some(known) = known
                && known.len() == results.len()
            {
                let known = known.clone();
                for (&result, &leader) in results.iter().zip(&known) {
                    self.leader[result] = leader;
                }
                self.changed = true;
                return false;
            }
            if is_load {
                loads.insert(key, results);
            } else {
                self.enter(hash, key, results);
            }
            true
        });
        *function.block_mut(id) = block;
    }
}

/// Pure, with results in registers that nobody fixed. What is guarded depends on guard and old values, too.
fn is_numbered(instruction: &Instruction) -> bool {
    effects::is_pure(instruction)
        && instruction.guard.is_none() == instruction.tied.is_empty()
        && !instruction.destinations.is_empty()
        && instruction.destinations.iter().all(|destination| {
            // A uniform register that a part of the warp writes is for its block alone.
            destination.fixed.is_none() && !matches!(destination.file, File::B | File::UR | File::UP)
        })
        && instruction.sources.iter().all(|source| source.fixed.is_none())
        // The address of the code is its own.
        && !matches!(instruction.opcode, Opcode::Sass(Op::LEPC))
}

fn is_plain_load(instruction: &Instruction) -> bool {
    let Some(memory) = instruction.memory else { return false };
    memory.reads
        && !memory.writes
        && !memory.ordered
        && memory.space != Space::Constant
        && instruction.guard.is_none()
        && !effects::is_convergent(instruction)
        && matches!(instruction.opcode, Opcode::Sass(op) if op.info().effect == Effect::Load)
        && instruction.destinations.len() == 1
        && instruction.destinations[0].fixed.is_none()
}

/// May change what a load reads, or wait until somebody else did.
fn disturbs_memory(instruction: &Instruction) -> bool {
    if let Some(memory) = instruction.memory {
        return memory.writes || memory.ordered;
    }
    if instruction.call.is_some() {
        return true;
    }
    // What is neither pure arithmetic nor removable may be a barrier, a fence or worse.
    !effects::is_pure(instruction)
        && !effects::is_removable(instruction)
        && !effects::is_product_step(instruction)
}

/// The number of an instruction: results and provenance do not count, the order of exchangeable operands neither.
fn key(instruction: &Instruction) -> Key {
    let mut key = instruction.clone();
    key.origin = oriole_ori::Origin(0);
    for destination in &mut key.destinations {
        // Which results are wanted does not change how they are computed, but a dropped one cannot stand for a wanted
        // one.
        destination.values.iter_mut().for_each(|value| *value = Value(0));
    }
    let exchangeable = match key.opcode {
        Opcode::Sass(op) => op.info().commutes(&key.mods),
        Opcode::Pseudo(
            oriole_ori::Pseudo::Add64 | oriole_ori::Pseudo::Mul64 | oriole_ori::Pseudo::MulHi64,
        ) => 2,
        _ => 0,
    };
    let end = exchangeable.min(key.sources.len());
    key.sources[..end].sort_by_key(order);
    Key(key)
}

/// Any fixed order of operands serves.
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
