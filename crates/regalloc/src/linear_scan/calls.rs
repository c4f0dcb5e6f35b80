//! Effects of calls on the values of a file: registers clobbered while a value is live, and argument registers. A
//! value that is in the right register from the start needs no move at the call, nor after it.

use super::affinity::{Affinities, ClusterId, Facts};
use crate::operands::{destinations, sources};
use crate::set::RegisterSet;
use oriole_ori::{BlockId, CallShape, File, Opcode, Pseudo, Value};
use rustc_hash::FxHashMap;
use typed_index_collections::{TiVec, ti_vec};

/// The registers of a file that a call overwrites.
pub(super) fn overwritten_by(call: &CallShape, file: File) -> RegisterSet {
    match file {
        File::R => RegisterSet::from_words(call.clobbers),
        File::P => RegisterSet::from_words([u64::from(call.clobbered_predicates), 0, 0, 0]),
        _ => RegisterSet::default(),
    }
}

/// Effects of the calls of a function on values.
#[derive(Default)]
pub struct Calls {
    /// By cluster; empty if there is no call.
    overwritten: TiVec<ClusterId, RegisterSet>,
    /// Preferred register of each argument of a call.
    arguments: FxHashMap<Value, u8>,
    /// The results of routines, each with its register, in order.
    results: Vec<(Value, u8)>,
}

impl Calls {
    /// Finds the values live across calls.
    pub fn new(facts: &Facts, affinities: &Affinities) -> Calls {
        let mut calls = Calls::default();
        for &block in facts.cfg.order() {
            if facts.function.block(block).instructions.iter().any(|i| i.call.is_some()) {
                if calls.overwritten.is_empty() {
                    calls.overwritten = ti_vec![RegisterSet::default(); affinities.clusters.len()];
                }
                calls.add(facts, affinities, block);
            }
        }
        calls
    }

    fn add(&mut self, facts: &Facts, affinities: &Affinities, block: BlockId) {
        let &Facts { function, file, stack_pointer, .. } = facts;
        let instructions = &function.block(block).instructions;
        let mut alive: Vec<Value> = facts.next_use.at_exit(block).iter().map(|&(v, _)| v).collect();
        alive.sort_unstable();
        for (instruction, touch) in instructions.iter().zip(facts.touches.of(block)).rev() {
            if !touch.partial {
                for v in touch.definitions {
                    let _ = alive.binary_search(v).map(|at| alive.remove(at));
                }
            }
            if let Some(call) = &instruction.call {
                for &v in &alive {
                    let known = &mut self.overwritten[affinities.position(v).cluster];
                    *known = known.with(overwritten_by(call, file));
                }
                for group in sources(function, instruction, file, stack_pointer) {
                    let first = group.fixed.into_iter();
                    let places = first.flat_map(|first| group.values.iter().copied().zip(first..));
                    self.arguments.extend(places);
                }
                if instruction.opcode == Opcode::Pseudo(Pseudo::CallHelper) {
                    for group in destinations(instruction, file) {
                        self.results.extend(group.values.first().copied().zip(group.fixed));
                    }
                }
            }
            for v in touch.kept() {
                if let Err(at) = alive.binary_search(&v) {
                    alive.insert(at, v);
                }
            }
        }
    }

    /// Registers that calls clobber while a value of a cluster is live.
    #[inline]
    pub fn overwritten(&self, cluster: ClusterId) -> RegisterSet {
        self.overwritten.get(cluster).copied().unwrap_or_default()
    }

    /// The results of routines whose registers no call overwrites while a value of the cluster is live. The path that
    /// is nearly always taken leaves its own result there, so that it needs no move where the paths meet.
    pub fn results<'a>(&'a self, affinities: &'a Affinities) -> impl Iterator<Item = (Value, u8)> + 'a {
        self.results.iter().copied().filter(|&(v, register)| {
            let id = affinities.position(v).cluster;
            let end = u16::from(register) + u16::from(affinities.clusters[id].width);
            self.overwritten(id).within(RegisterSet::range(register.into(), end)).is_empty()
        })
    }

    /// Register in which a call expects a value.
    #[inline]
    pub fn argument(&self, v: Value) -> Option<u8> {
        if self.arguments.is_empty() { None } else { self.arguments.get(&v).copied() }
    }
}
