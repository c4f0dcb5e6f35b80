//! Maps allocated Ori to machine instructions: the pattern table says which operation, the assignment which registers,
//! and symbolic parts become fixups.

use crate::hopper;
use crate::matcher::{Candidate, Tree, candidates};
use crate::pattern::{Pattern, Piece, Target, Template};
use oriole_chip::Chip;
use oriole_ori::{
    Assignment, BlockId, Destination, File, Function, Instruction, MachineBlock, MachineFunction,
    MachineInstruction, MarshalError, Marshalled, Opcode, Source, SourceKind, Value,
};
use oriole_sass::{Control, Guard, Mods};

/// An instruction that has no machine form: an error of the compiler, never of its user.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SelectError {
    /// The instruction as Ori text.
    pub instruction: String,
    /// Why.
    pub reason: String,
}

impl std::fmt::Display for SelectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no form for `{}`: {}", self.instruction, self.reason)
    }
}

impl std::error::Error for SelectError {}

/// Chooses the form of every instruction of an allocated function. Loop depths are filled in, control words are
/// neutral.
///
/// # Errors
/// An instruction that is a pseudo-operation, has an unassigned value, or has no form on the chip.
pub fn select(
    chip: Chip,
    function: &Function,
    assignment: &Assignment,
) -> Result<MachineFunction, SelectError> {
    let mut machine = MachineFunction {
        blocks: Vec::with_capacity(function.blocks.len()),
        general_registers: assignment.general_registers,
        frame_bytes: assignment.frame_bytes,
    };
    let tree = Tree::new(patterns(chip)).map_err(|tie| SelectError {
        instruction: "the pattern table".to_owned(),
        reason: tie.to_string(),
    })?;
    let depths = loop_depths(function);
    for (block, depth) in function.blocks.iter().zip(depths) {
        let mut instructions = Vec::with_capacity(block.instructions.len());
        for instruction in &block.instructions {
            let chosen =
                choose(chip, &tree, function, assignment, instruction).map_err(|reason| SelectError {
                    instruction: oriole_ori::print::InstructionText(function, instruction).to_string(),
                    reason,
                })?;
            instructions.push(chosen);
        }
        machine.blocks.push(MachineBlock {
            instructions,
            successors: block.successors.clone(),
            loop_depth: depth,
        });
    }
    Ok(machine)
}

fn loop_depths(function: &Function) -> Vec<u8> {
    let cfg = oriole_ori::Cfg::new(function);
    let dominators = oriole_ori::Dominators::new(function, &cfg);
    let loops = oriole_ori::Loops::new(function, &cfg, &dominators);
    function.block_ids().map(|block: BlockId| loops.depth(block).min(255) as u8).collect()
}

/// The pattern table of a chip.
pub fn patterns(_chip: Chip) -> &'static [Pattern] {
    // One table serves every chip that code can be made for so far.
    hopper::PATTERNS
}

/// Why an instruction gets the form that it gets: every row of the table that speaks of its operation, best first. The
/// first row without a failed test is the one chosen.
pub fn explain(chip: Chip, function: &Function, instruction: &Instruction) -> Vec<Candidate> {
    candidates(patterns(chip), function, instruction)
}

/// The instruction that a template makes of another.
fn rewrite(template: Template, from: &Instruction) -> Result<Instruction, String> {
    let Template::Build { op, mods, destinations, sources } = template else { return Ok(from.clone()) };
    let missing = || "the template names an operand that is not there".to_owned();
    let mut made = from.clone();
    made.opcode = Opcode::Sass(op);
    made.mods = Mods::of(mods);
    made.destinations.clear();
    made.sources.clear();
    for target in destinations {
        made.destinations.push(match target {
            Target::Destination(n) => from.destinations.get(*n as usize).cloned().ok_or_else(missing)?,
            Target::Dropped(file) => Destination::dropped(*file, 1),
        });
    }
    for piece in sources {
        made.sources.push(match piece {
            Piece::Source(n) => from.sources.get(*n as usize).cloned().ok_or_else(missing)?,
            Piece::True(file) => Source::plain(SourceKind::True(*file)),
            Piece::Literal(number) => Source::literal(*number),
        });
    }
    Ok(made)
}

fn choose(
    chip: Chip,
    tree: &Tree,
    function: &Function,
    assignment: &Assignment,
    original: &Instruction,
) -> Result<MachineInstruction, String> {
    let pattern = tree
        .find(function, original)
        .ok_or_else(|| "no pattern speaks of this pseudo-operation".to_owned())?;
    let rewritten;
    let instruction = match pattern.template {
        Template::Keep => original,
        template => {
            rewritten = rewrite(template, original)?;
            &rewritten
        }
    };
    let Opcode::Sass(op) = instruction.opcode else {
        return Err("a pseudo-operation after expansion".to_owned());
    };
    let registers = Registers { assignment };
    let guard = match instruction.guard {
        None => Guard::ALWAYS,
        Some(guard) => Guard {
            uniform: function.file(guard.value) == File::UP,
            register: registers.tuple(&[guard.value]).map_err(|error| error.to_string())?,
            negated: guard.negated,
        },
    };
    let Marshalled { operands, fixup, form } =
        oriole_ori::marshal(chip, function, instruction, |values| registers.tuple(values))
            .map_err(|error| error.to_string())?;
    let mods = instruction.mods.clone();
    Ok(MachineInstruction {
        instruction: oriole_sass::Instruction { guard, op, mods, operands, control: Control::NEUTRAL },
        form,
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
        let register = self.assignment.registers.get(value.0 as usize).copied().flatten();
        register.ok_or(MarshalError::Unassigned(value))
    }

    /// The lowest register of a tuple, which must lie in order.
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
