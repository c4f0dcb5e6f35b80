//! Maps allocated Ori to machine instructions: the pattern table gives the operation, the assignment the registers,
//! and symbolic operands become fixups.

use crate::backend::tree;
use crate::balance::{Decision, covers_next, decide};
use crate::template::{Mismatch, Template};
use oriole_chip::Chip;
use oriole_latency::Model;
use oriole_options::SelectOptions;
use oriole_ori::pattern::{Candidate, Site, Tree};
use oriole_ori::{
    Assignment, BlockId, File, Function, Instruction, MachineBlock, MachineFunction, MachineInstruction,
    MarshalError, Marshalled, Opcode, Value,
};
use oriole_sass::form::{self, Table};
use oriole_sass::{Control, Guard};
use typed_index_collections::TiVec;

/// Chip tables that selection needs.
#[derive(Clone, Copy)]
pub struct Tables {
    /// Its forms.
    pub forms: &'static Table,
    /// Its rows as a decision tree.
    pub tree: &'static Tree<Template>,
    /// Its latencies.
    pub latency: &'static Model,
}

impl Tables {
    /// The tables of a chip, `None` if it lacks one or its rows are undecided.
    pub fn of(chip: Chip) -> Option<Tables> {
        Some(Tables { forms: form::table(chip)?, tree: tree(chip).ok()?, latency: Model::of(chip)? })
    }
}

/// An instruction that has no machine form: a compiler bug, never a user error.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no form for `{instruction}`: {reason}")]
pub struct SelectError {
    /// The instruction as Ori text.
    pub instruction: String,
    /// Why.
    pub reason: SelectReason,
}

/// Why an instruction has no machine form.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SelectReason {
    /// A pseudo-operation without a row.
    #[error("no pattern speaks of this pseudo-operation")]
    NoRow,
    /// A row whose tests let an instruction through that its template cannot build.
    #[error("row `{0}` does not ask all that it needs")]
    IncompleteRow(&'static str),
    /// A pseudo-operation that is left where only machine operations may be.
    #[error("a pseudo-operation after expansion")]
    Pseudo,
    /// The operands cannot be written.
    #[error(transparent)]
    Marshal(#[from] MarshalError),
}

/// Selects the form of every instruction of an allocated function. Loop depths are filled in, control words are
/// neutral.
///
/// # Errors
/// An instruction that is a pseudo-operation, has an unassigned value, or has no form on the chip.
pub fn select(
    tables: &Tables,
    function: &Function,
    assignment: &Assignment,
    options: &SelectOptions,
) -> Result<MachineFunction, SelectError> {
    let mut machine = MachineFunction {
        blocks: TiVec::with_capacity(function.blocks.len()),
        general_registers: assignment.general_registers,
        frame_bytes: assignment.frame_bytes,
    };
    let &Tables { forms, tree, latency: model } = tables;
    let depths = loop_depths(function);
    for (block, depth) in function.blocks.iter().zip(depths) {
        // Passes after selection may add one.
        let mut instructions = Vec::with_capacity(block.instructions.len() + 1);
        let mut decisions =
            decide(tree, model, function, assignment, block, options.alternatives).into_iter();
        let mut rest = block.instructions.iter();
        while let (Some(instruction), Some(decision)) = (rest.next(), decisions.next()) {
            let next = rest.as_slice().first();
            let chosen =
                choose(forms, function, assignment, instruction, next, decision).map_err(|reason| {
                    let instruction = oriole_ori::print::InstructionText(function, instruction).to_string();
                    SelectError { instruction, reason }
                })?;
            instructions.push(chosen);
            if covers_next(decision.map(|decision| decision.choice)) {
                rest.next();
                decisions.next();
            }
        }
        machine.blocks.push(MachineBlock {
            instructions,
            successors: block.successors.clone(),
            loop_depth: depth,
        });
    }
    Ok(machine)
}

fn loop_depths(function: &Function) -> TiVec<BlockId, u8> {
    let graph = function.graph();
    let loops = graph.loops();
    function.block_ids().map(|block| u8::try_from(loops.depth(block)).unwrap_or(u8::MAX)).collect()
}

/// Why an instruction gets the row that it gets.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The instruction before selection, as Ori text.
    pub before: String,
    /// Every row that speaks of its operation, best first. The first one without a failed test is the one chosen.
    pub candidates: Vec<Candidate>,
}

impl Explained {
    /// The row that won; `None` if none matches.
    pub fn winner(&self) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.failed.is_none())
    }
}

/// The reasons for each machine instruction of [`select`], block by block.
pub fn explain(
    tables: &Tables,
    function: &Function,
    assignment: &Assignment,
    options: &SelectOptions,
) -> Vec<Vec<Explained>> {
    let &Tables { tree, latency: model, .. } = tables;
    let blocks = function.blocks.iter().map(|block| {
        let decisions = decide(tree, model, function, assignment, block, options.alternatives);
        let reasons = block.instructions.iter().enumerate().zip(decisions);
        let reasons = reasons.filter_map(|((at, instruction), decision)| {
            let next = if options.alternatives { block.instructions.get(at + 1) } else { None };
            let Decision { pipe, .. } = decision?;
            let site = Site { function, instruction, next, assignment: Some(assignment), pipe };
            Some(Explained {
                before: oriole_ori::print::InstructionText(function, instruction).to_string(),
                candidates: tree.candidates(&site),
            })
        });
        reasons.collect()
    });
    blocks.collect()
}

fn choose(
    forms: &'static Table,
    function: &Function,
    assignment: &Assignment,
    original: &Instruction,
    next: Option<&Instruction>,
    decision: Option<Decision>,
) -> Result<MachineInstruction, SelectReason> {
    let Some(Decision { choice: (row, pattern), .. }) = decision else {
        return Err(SelectReason::NoRow);
    };
    let rewritten;
    let instruction = match pattern.template {
        Template::Keep => original,
        Template::Build(build) => {
            rewritten =
                build.apply(original, next).map_err(|Mismatch| SelectReason::IncompleteRow(pattern.name))?;
            &rewritten
        }
    };
    let Opcode::Sass(op) = instruction.opcode else {
        return Err(SelectReason::Pseudo);
    };
    let registers = Registers { assignment };
    let guard = match instruction.guard {
        None => Guard::ALWAYS,
        Some(guard) => Guard {
            uniform: function.file(guard.value) == File::UP,
            register: registers.tuple(&[guard.value])?,
            negated: guard.negated,
        },
    };
    let Marshalled { operands, fixup, form } =
        oriole_ori::marshal(forms, function, instruction, |values| registers.tuple(values))?;
    let mods = instruction.mods.clone();
    Ok(MachineInstruction {
        instruction: oriole_sass::Instruction { guard, op, mods, operands, control: Control::NEUTRAL },
        form,
        row: Some(row),
        fixup,
        memory: instruction.memory,
        origin: instruction.origin,
    })
}

struct Registers<'a> {
    assignment: &'a Assignment,
}

impl Registers<'_> {
    fn number(&self, value: Value) -> Result<u8, MarshalError> {
        let register = self.assignment.registers.get(value).copied().flatten();
        register.ok_or(MarshalError::Unassigned(value))
    }

    /// The lowest register of a tuple; the registers must be consecutive.
    fn tuple(&self, values: &[Value]) -> Result<u8, MarshalError> {
        let first = self.number(values[0])?;
        for (index, &value) in values.iter().enumerate() {
            if usize::from(self.number(value)?) != usize::from(first) + index {
                return Err(MarshalError::TornTuple);
            }
        }
        Ok(first)
    }
}
