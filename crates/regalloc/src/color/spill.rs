//! Spilling of uniform values between definition and use: values that need no register to compute are rematerialized
//! before each use, the others are kept in a general register.

use crate::operands::{Slot, destinations, is_parallel_copy, is_partial, replace, sources};
use crate::work::Work;
use oriole_ori::{Destination, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Value};
use oriole_sass::Op;
use rustc_hash::{FxHashMap, FxHashSet};

/// Spills or rematerializes the values.
pub(super) fn spill_or_rematerialize(work: &mut Work, evicted: &FxHashSet<Value>) {
    let rematerializations = rematerializations(&work.function, evicted);
    let mut kept: FxHashMap<Value, Value> = FxHashMap::default();
    let mut order: Vec<Value> =
        evicted.iter().copied().filter(|v| !rematerializations.contains_key(v)).collect();
    order.sort_unstable();
    for v in order {
        let general = work.new_value(File::R);
        work.original[general] = work.original[v];
        kept.insert(v, general);
    }
    let mut rewriter = Rewriter { work, rematerializations, kept, out: Vec::new(), out_marks: Vec::new() };
    for block in rewriter.work.function.block_ids() {
        let old = std::mem::take(&mut rewriter.work.function.blocks[block].instructions);
        let marks = std::mem::take(&mut rewriter.work.inserted[block]);
        rewriter.out.reserve(old.len());
        rewriter.out_marks.reserve(old.len());
        for (instruction, mark) in old.into_iter().zip(marks) {
            rewriter.instruction(instruction, mark);
        }
        rewriter.work.function.blocks[block].instructions = std::mem::take(&mut rewriter.out);
        rewriter.work.inserted[block] = std::mem::take(&mut rewriter.out_marks);
    }
}

/// For each value with one definition, which reads no register, that definition.
fn rematerializations(function: &Function, evicted: &FxHashSet<Value>) -> FxHashMap<Value, Instruction> {
    let mut rematerializations: FxHashMap<Value, Instruction> = FxHashMap::default();
    let mut definitions: FxHashMap<Value, u32> = FxHashMap::default();
    for instruction in function.blocks.iter().flat_map(|b| &b.instructions) {
        let made = matches!(instruction.opcode, Opcode::Sass(Op::ULDC | Op::LDCU | Op::UMOV))
            && instruction.guard.is_none();
        let constant = instruction
            .sources
            .iter()
            .all(|s| matches!(s.kind, SourceKind::Const { .. } | SourceKind::Imm(_) | SourceKind::Zero(_)));
        instruction.for_each_definition(|v| {
            *definitions.entry(v).or_default() += 1;
            if made && constant {
                rematerializations.insert(v, instruction.clone());
            }
        });
    }
    rematerializations.retain(|v, _| definitions[v] == 1 && evicted.contains(v));
    rematerializations
}

struct Rewriter<'a> {
    work: &'a mut Work,
    rematerializations: FxHashMap<Value, Instruction>,
    /// The general value that holds each spilled value.
    kept: FxHashMap<Value, Value>,
    out: Vec<Instruction>,
    out_marks: Vec<bool>,
}

impl Rewriter<'_> {
    fn insert(&mut self, instruction: Instruction) {
        self.out.push(instruction);
        self.out_marks.push(true);
    }

    /// Appends an instruction with its reloads before and its spills after it.
    fn instruction(&mut self, mut instruction: Instruction, mark: bool) {
        let origin = instruction.origin;
        // The old value of a guarded result is read, too; it is reloaded into the register of the result.
        if is_partial(&instruction) {
            for group in destinations(&instruction, File::UR) {
                for &v in group.values {
                    if let Some(&general) = self.kept.get(&v) {
                        self.insert(copy(File::UR, v, general, origin));
                    }
                }
            }
        }
        if is_parallel_copy(&instruction) {
            // Sources of parallel copies are reloaded into their own registers before it.
            instruction.for_each_use(|v| {
                if let Some(&general) = self.kept.get(&v) {
                    self.insert(copy(File::UR, v, general, origin));
                }
            });
        } else {
            self.reload_sources(&mut instruction);
        }
        let mut behind = Vec::new();
        instruction.for_each_definition(|v| {
            if let Some(&general) = self.kept.get(&v) {
                behind.push(copy(File::R, general, v, origin));
            }
        });
        self.out.push(instruction);
        self.out_marks.push(mark);
        behind.into_iter().for_each(|copy| self.insert(copy));
    }

    /// Lets the instruction read new values instead of the evicted ones.
    fn reload_sources(&mut self, instruction: &mut Instruction) {
        let origin = instruction.origin;
        let mut replaced: Vec<(Slot, Vec<Value>)> = Vec::new();
        for group in sources(&self.work.function, instruction, File::UR, self.work.stack_pointer) {
            let mut values: Vec<Value> = group.values.to_vec();
            for k in 0..values.len() {
                let v = group.values[k];
                if values[k] != v {
                    continue;
                }
                if let Some(rematerialization) = self.rematerializations.get(&v) {
                    let mut made = rematerialization.clone();
                    made.origin = origin;
                    for component in &mut made.destinations[0].values {
                        let new = self.work.new_value(File::UR);
                        self.work.original[new] = self.work.original[*component];
                        values.iter_mut().filter(|s| **s == *component).for_each(|s| *s = new);
                        *component = new;
                    }
                    self.insert(made);
                } else if let Some(&general) = self.kept.get(&v) {
                    let new = self.work.new_value(File::UR);
                    self.work.original[new] = self.work.original[v];
                    values.iter_mut().filter(|s| **s == v).for_each(|s| *s = new);
                    self.insert(copy(File::UR, new, general, origin));
                }
            }
            replaced.push((group.operand, values));
        }
        for (operand, values) in replaced {
            replace(instruction, operand, &values);
        }
    }
}

fn copy(file: File, to: Value, from: Value, origin: oriole_ori::Origin) -> Instruction {
    let mut copy = Instruction::new(Pseudo::Copy, origin);
    copy.destinations.push(Destination::new(file, [to]));
    copy.sources.push(Source::value(from));
    copy
}
