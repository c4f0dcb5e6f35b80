//! The allocation checker. It walks the allocated function with a set of values for each physical location
//! (registers of all files, words of the spill area): those that the location is known to hold. It joins paths by
//! intersection, and checks every operand: its register must hold the value that the input names there, and tuples
//! must be aligned, consecutive, and where a convention requires them.
//!
//! Here is the walk; the folder has the contents that it computes with and the checks by kind of instruction. Rewrites
//! after expansion have a check of their own ([`moved`]).
//!
//! It shares only the data types and the calling convention with the allocator. It trusts two claims only, and
//! verifies both on the way: which instructions the allocator inserted, and which input value a new value stands for.

mod contents;
mod granted;
mod inserted;
pub mod moved;
mod original;
mod parallel;
mod rematerializations;

use crate::abi::FIRST_SAVED_UNIFORM;
use crate::allocation::{Allocation, Prepared};
use contents::{Place, State};
use oriole_chip::{Chip, RegisterFiles};
use oriole_ori::{BlockId, Cfg, File, Function, Liveness, Opcode, Pseudo, Value};
use rematerializations::Rematerializations;
use std::fmt;
use typed_index_collections::{TiVec, ti_vec};

/// Kinds of violations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ProblemKind {
    /// A reload from a slot that was never stored to.
    RefillUninitialized,
    /// The slot of a reload has content, but not the wanted value.
    MissingSpill,
    /// A predicate that was spilled to a general register is reloaded as another one.
    PredicateRefill,
    /// The general register of a spilled predicate was overwritten.
    PredicateBaseDestroyed,
    /// A source was defined in the input and is not in its register.
    Uninitialized,
    /// The old value of a guarded result is not in the result's register.
    OldValueDestroyed,
    /// Results overlap.
    ExtraDefinition,
    /// A value was rematerialized by an instruction that does not compute it.
    Rematerialization,
    /// An instruction of the input is missing or changed.
    InstructionLost,
    /// A register is missing, misaligned, not adjacent, not the one of a convention, or not writable.
    Constraint,
}

/// A violation and its location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Category.
    pub kind: ProblemKind,
    /// Block of the allocated function.
    pub block: BlockId,
    /// Instruction in it.
    pub instruction: usize,
    /// Details.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}[{}]: {:?}: {}", self.block.0, self.instruction, self.kind, self.message)
    }
}

/// Checks an allocation for a chip against its input. No problem means that every instruction reads and writes the
/// same values as before.
pub fn check(chip: Chip, input: &Prepared, allocation: &Allocation) -> Vec<Problem> {
    let mut checker = Checker {
        input: &input.function,
        stack_pointer: input.stack_pointer,
        allocation,
        files: chip.register_files(),
        problems: Vec::new(),
        report: false,
        at: (BlockId(0), 0),
        rematerializations: Rematerializations::new(&input.function),
    };
    checker.run();
    checker.report = true;
    checker.granted();
    checker.uniforms_of_callers();
    checker.problems.truncate(20);
    checker.problems
}

/// The register that the allocation gives a value.
fn place_of(allocation: &Allocation, v: Value) -> Option<Place> {
    let register = allocation.assignment.registers.get(v).copied().flatten()?;
    Some(Place::Register(allocation.function.file(v), register))
}

struct Checker<'a> {
    input: &'a Function,
    stack_pointer: Value,
    allocation: &'a Allocation,
    files: &'static RegisterFiles,
    problems: Vec<Problem>,
    report: bool,
    at: (BlockId, usize),
    rematerializations: Rematerializations,
}

impl Checker<'_> {
    fn problem(&mut self, kind: ProblemKind, message: impl FnOnce() -> String) {
        if self.report && self.problems.len() < 100 {
            let (block, instruction) = self.at;
            self.problems.push(Problem { kind, block, instruction, message: message() });
        }
    }

    /// A function must not write callee-saved uniform registers.
    fn uniforms_of_callers(&mut self) {
        if self.allocation.function.is_entry {
            return;
        }
        for instruction in self.allocation.function.blocks.iter().flat_map(|block| &block.instructions) {
            let mut callers = None;
            instruction.for_each_definition(|value| {
                if let Some(Place::Register(File::UR, register)) = self.place(value)
                    && register >= FIRST_SAVED_UNIFORM
                {
                    callers = Some(register);
                }
            });
            if let Some(register) = callers {
                self.problem(ProblemKind::Constraint, || format!("UR{register} is a caller's"));
            }
        }
    }

    fn run(&mut self) {
        let function = &self.allocation.function;
        let graph = function.graph();
        let cfg = graph.cfg();
        let mut entry: TiVec<BlockId, Option<State>> = ti_vec![None; function.blocks.len()];
        // Nothing is known of any value before its first definition.
        if let Some(first) = entry.first_mut() {
            *first = Some(State::default());
        }
        let input_cfg = Cfg::new(self.input.edges());
        let liveness = Liveness::new(self.input, &input_cfg);
        self.edges(cfg);
        let mut work: std::collections::BTreeSet<u32> = [0].into();
        while let Some(position) = work.pop_first() {
            let block = cfg.order()[position as usize];
            let Some(mut state) = entry[block].clone() else { continue };
            self.block(block, &mut state);
            if let Some(Some(old)) = self.allocation.blocks.get(block) {
                let live = liveness.live_out(*old);
                state.prune(|v| live.binary_search(&v).is_ok());
            }
            for &successor in &function.block(block).successors {
                let changed = match &mut entry[successor] {
                    Some(known) => known.meet(&state),
                    slot => {
                        *slot = Some(state.clone());
                        true
                    }
                };
                if changed && let Some(position) = cfg.position(successor) {
                    work.insert(position);
                }
            }
        }
        self.report = true;
        for &block in cfg.order() {
            if let Some(mut state) = entry[block].clone() {
                self.block(block, &mut state);
            }
        }
    }

    /// Checks that the graph is that of the input except for edge blocks.
    fn edges(&mut self, cfg: &Cfg) {
        self.report = true;
        let through = |this: &Self, b: BlockId| match this.allocation.blocks.get(b) {
            Some(Some(old)) => *old,
            _ => match this.allocation.function.block(b).successors.as_slice() {
                [only] => this.allocation.blocks.get(*only).copied().flatten().unwrap_or(*only),
                _ => b,
            },
        };
        for &block in cfg.order() {
            let Some(Some(old)) = self.allocation.blocks.get(block) else { continue };
            let now: oriole_ori::Successors =
                self.allocation.function.block(block).successors.iter().map(|&s| through(self, s)).collect();
            self.at = (block, 0);
            if now != self.input.block(*old).successors {
                self.problem(ProblemKind::InstructionLost, || "other successors than in the input".into());
            }
        }
        self.report = false;
    }

    fn place(&self, v: Value) -> Option<Place> {
        place_of(self.allocation, v)
    }

    fn block(&mut self, block: BlockId, state: &mut State) {
        let allocated = &self.allocation.function.block(block).instructions;
        let marks = &self.allocation.inserted[block];
        let old = self.allocation.blocks[block].map(|b| &self.input.block(b).instructions);
        let mut wanted = old.into_iter().flatten();
        for (index, instruction) in allocated.iter().enumerate() {
            self.at = (block, index);
            if marks.get(index).copied().unwrap_or(false) {
                self.inserted(instruction, state);
                continue;
            }
            loop {
                match wanted.next() {
                    Some(old) if old.opcode == Opcode::Pseudo(Pseudo::Undefined) => {
                        old.for_each_definition(|v| {
                            state.forget(v);
                            state.defined.remove(&v);
                        });
                        if instruction.opcode == old.opcode {
                            break;
                        }
                    }
                    Some(old) => {
                        self.original(old, instruction, state);
                        break;
                    }
                    None => {
                        self.problem(ProblemKind::InstructionLost, || "an instruction too many".into());
                        break;
                    }
                }
            }
        }
        for old in wanted {
            if old.opcode == Opcode::Pseudo(Pseudo::Undefined) {
                old.for_each_definition(|v| {
                    state.forget(v);
                    state.defined.remove(&v);
                });
            } else {
                self.at = (block, allocated.len());
                self.problem(ProblemKind::InstructionLost, || "an instruction is missing".into());
            }
        }
    }
}
