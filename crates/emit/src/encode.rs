//! Encodes one function, and patches a word once layout resolves its fixup.

use oriole_chip::Chip;
use oriole_ori::{BlockId, Fixup, MachineFunction, ObjectOperation, Origin};
use oriole_sass::register::PT;
use oriole_sass::{EncodeError, FormId, Guard, Instruction, InstructionWord, Mod, Op, Operand, OperandKind};
use typed_index_collections::TiVec;

/// The words of a function, with relocations and the facts that the cubin must record. Positions are instruction
/// indices from the start of the function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct EncodedFunction {
    /// Instruction words in order.
    pub words: Vec<InstructionWord>,
    /// Fixups that layout must resolve.
    pub relocations: Vec<Relocation>,
    /// Index of the first instruction of each block.
    pub block_starts: TiVec<BlockId, u32>,
    /// The PTX statement of origin of each word.
    pub origins: Vec<Origin>,
    /// Indices of `EXIT`.
    pub exits: Vec<u32>,
    /// Indices of instructions that act on a whole warp with a member mask (`VOTE`, `MATCH`, `REDUX`, `WARPSYNC`),
    /// each with the register that holds the mask, `None` for a full or immediate one.
    pub warp_wide: Vec<(u32, Option<u8>)>,
    /// Indices of accesses to mbarriers that the cubin records.
    pub objects: Vec<(u32, ObjectOperation)>,
    /// Indices of the shuffles that mark an entry.
    pub entry_marks: Vec<u32>,
    /// Indices of indexed branches (`BRX`).
    pub indexed_branches: Vec<u32>,
    /// Indices of calls to an address (`CALL.ABS`): of functions that the driver provides, and in a function with a
    /// section of its own all calls except those of routines.
    pub absolute_calls: Vec<u32>,
    /// True if there is a call or a convergence region.
    pub needs_call_stack: bool,
    /// General registers used, highest plus one.
    pub general_registers: u16,
    /// Own frame in bytes.
    pub frame_bytes: u32,
}

/// A guard that is always false.
const NEVER: Guard = Guard { uniform: false, register: PT, negated: true };

/// A word that layout must complete.
#[derive(Clone, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub struct Relocation {
    /// Index of the word.
    pub at: u32,
    /// The instruction, its symbolic field zero.
    pub instruction: Instruction,
    /// The form of the instruction.
    pub form: FormId,
    /// The value for the field.
    pub fixup: Fixup,
    /// For a return address and the distance to it: the index of the instruction after its call. Otherwise the word's
    /// own index.
    pub anchor: u32,
}

/// An instruction without encoding: a compiler bug, never a user error.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("instruction {at} `{instruction}`: {reason}")]
pub struct EncodeFailure {
    /// Index of the instruction.
    pub at: u32,
    /// The instruction as text.
    pub instruction: String,
    /// Why.
    pub reason: EncodeReason,
}

/// Why an instruction has no encoding.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeReason {
    /// The target of a branch does not exist.
    #[error("branch to no block")]
    NoBlock,
    /// No call follows that would return to the address.
    #[error("a return address without a call after it")]
    NoCall,
    /// The distance starts at an instruction that is missing.
    #[error("a distance to a return address without `LEPC` before it")]
    NoStart,
    /// The instruction has no operand for the value of its fixup.
    #[error("no operand takes the symbolic value")]
    NoOperand,
    /// The value does not fit its field.
    #[error("offset {0} is out of range")]
    Range(i64),
    /// The chip has no such form.
    #[error(transparent)]
    Form(#[from] EncodeError),
}

/// Encodes a function.
///
/// # Errors
/// The first instruction that has no form on this chip, or a branch to a block that does not exist.
pub fn encode_function(chip: Chip, function: &MachineFunction) -> Result<EncodedFunction, EncodeFailure> {
    let mut starts: TiVec<BlockId, u32> = TiVec::with_capacity(function.blocks.len() + 1);
    let mut count = 0u32;
    for block in &function.blocks {
        starts.push(count);
        count += block.instructions.len() as u32;
    }
    let mut encoded = EncodedFunction {
        words: Vec::with_capacity(count as usize),
        general_registers: function.general_registers,
        frame_bytes: function.frame_bytes,
        ..EncodedFunction::default()
    };
    for (at, machine) in (0u32..).zip(function.blocks.iter().flat_map(|block| &block.instructions)) {
        let fail = |reason: EncodeReason| EncodeFailure {
            at,
            instruction: format!("{:?} {:?}", machine.instruction.op, machine.instruction.operands),
            reason,
        };
        let mut instruction = &machine.instruction;
        let resolved;
        match machine.fixup {
            Some(Fixup::Block(block)) => {
                let start = starts.get(block).ok_or_else(|| fail(EncodeReason::NoBlock))?;
                // `BSSY` names the block that waits; the encoding has the instruction after the wait.
                let after_wait = match instruction.op {
                    Op::BSSY => function.blocks[block]
                        .instructions
                        .iter()
                        .position(|waiting| waiting.instruction.op == Op::BSYNC)
                        .map_or(0, |place| place as i64 + 1),
                    _ => 0,
                };
                let words = i64::from(*start) + after_wait - i64::from(at) - 1;
                let distance = words * chip.words().bytes() as i64;
                resolved = with_value(instruction, Field::Target, distance).map_err(&fail)?;
                instruction = &resolved;
            }
            Some(fixup) => {
                encoded.relocations.push(Relocation {
                    at,
                    instruction: instruction.clone(),
                    form: machine.form,
                    fixup,
                    anchor: at,
                });
            }
            None => {}
        }
        note_facts(&mut encoded, at, instruction);
        encoded
            .objects
            .extend(machine.memory.and_then(|memory| memory.object).map(|operation| (at, operation)));
        let word =
            oriole_sass::encode_as(chip, machine.form, instruction).map_err(|error| fail(error.into()))?;
        encoded.words.push(word);
        encoded.origins.push(machine.origin);
    }
    encoded.block_starts = starts;
    anchor_return_addresses(&mut encoded, function)?;
    Ok(encoded)
}

/// Gives each return address the instruction after the next call, and each distance to one the last `LEPC` before it
/// too: a walk from the end that remembers the last call, and the distances that begin at no `LEPC` yet.
fn anchor_return_addresses(
    encoded: &mut EncodedFunction,
    function: &MachineFunction,
) -> Result<(), EncodeFailure> {
    let mut after_call = None;
    let mut at = encoded.words.len() as u32;
    let mut open = encoded.relocations.iter_mut().rev().peekable();
    let mut distances: Vec<&mut Relocation> = Vec::new();
    let fail = |relocation: &Relocation, reason| EncodeFailure {
        at: relocation.at,
        instruction: format!("{:?}", relocation.instruction.op),
        reason,
    };
    for machine in function.blocks.iter().rev().flat_map(|block| block.instructions.iter().rev()) {
        at -= 1;
        match machine.instruction.op {
            Op::CALL => after_call = Some(at + 1),
            Op::LEPC => {
                distances.drain(..).for_each(|distance| distance.fixup = Fixup::ReturnDistance(Some(at)));
            }
            _ => {}
        }
        let Some(relocation) = open.next_if(|relocation| relocation.at == at) else { continue };
        if matches!(relocation.fixup, Fixup::ReturnAddress(_) | Fixup::ReturnDistance(_)) {
            relocation.anchor = after_call.ok_or_else(|| fail(relocation, EncodeReason::NoCall))?;
        }
        if relocation.fixup == Fixup::ReturnDistance(None) {
            distances.push(relocation);
        }
    }
    match distances.first() {
        Some(distance) => Err(fail(distance, EncodeReason::NoStart)),
        None => Ok(()),
    }
}

/// The word of a relocation once its value is known. The value is: for a target the distance in bytes from the end of
/// the instruction; for an address part that 32-bit part; for a constant the byte offset in its bank; for a shared
/// offset the byte offset.
///
/// # Errors
/// The value does not fit its field.
pub fn patch(chip: Chip, relocation: &Relocation, value: i64) -> Result<InstructionWord, EncodeFailure> {
    let field = match relocation.fixup {
        Fixup::KernelStart if relocation.instruction.op == Op::BRX => Field::Immediate,
        Fixup::Call(_) if relocation.instruction.mods.has(Mod::ABS) => Field::Immediate,
        Fixup::Block(_) | Fixup::Call(_) | Fixup::KernelStart => Field::Target,
        Fixup::ReturnAddress(_) if relocation.instruction.op == Op::LEPC => Field::Target,
        Fixup::Address { .. } | Fixup::ReturnAddress(_) | Fixup::ReturnDistance(_) => Field::Immediate,
        Fixup::Const { .. } => Field::Constant,
        Fixup::SharedOffset { .. } => Field::Memory,
    };
    let fail = |reason: EncodeReason| EncodeFailure {
        at: relocation.at,
        instruction: format!("{:?} {:?}", relocation.instruction.op, relocation.instruction.operands),
        reason,
    };
    let instruction = with_value(&relocation.instruction, field, value).map_err(&fail)?;
    oriole_sass::encode_as(chip, relocation.form, &instruction).map_err(|error| fail(error.into()))
}

/// The operand that a fixup fills.
#[derive(Clone, Copy)]
enum Field {
    Target,
    Immediate,
    Constant,
    Memory,
}

fn with_value(instruction: &Instruction, field: Field, value: i64) -> Result<Instruction, EncodeReason> {
    let mut changed = instruction.clone();
    for operand in &mut changed.operands {
        if fill(operand, field, value)? {
            return Ok(changed);
        }
    }
    Err(EncodeReason::NoOperand)
}

fn fill(operand: &mut Operand, field: Field, value: i64) -> Result<bool, EncodeReason> {
    let narrow = |value: i64| i32::try_from(value).map_err(|_| EncodeReason::Range(value));
    match (&mut operand.kind, field) {
        (OperandKind::Target(target), Field::Target) => *target = value,
        (OperandKind::Imm(immediate), Field::Immediate) => *immediate = value,
        (OperandKind::Float(bits), Field::Immediate) => *bits = value as u32,
        (
            OperandKind::Const { offset, .. }
            | OperandKind::ConstIndexed { offset, .. }
            | OperandKind::ConstUniformIndexed { offset, .. },
            Field::Constant,
        ) => *offset = narrow(value)?,
        (OperandKind::Memory { offset, .. }, Field::Memory) => *offset = narrow(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn note_facts(encoded: &mut EncodedFunction, at: u32, instruction: &Instruction) {
    match instruction.op {
        Op::EXIT => encoded.exits.push(at),
        Op::BRX => encoded.indexed_branches.push(at),
        Op::CALL => {
            encoded.needs_call_stack = true;
            if !instruction.mods.has(Mod::REL) {
                encoded.absolute_calls.push(at);
            }
        }
        Op::BSSY => encoded.needs_call_stack = true,
        Op::SHFL if instruction.guard == NEVER => encoded.entry_marks.push(at),
        op if op.info().warp_wide => {
            let mask = match instruction.op {
                Op::WARPSYNC => instruction.operands.iter().find_map(|operand| match operand.kind {
                    OperandKind::Reg(register) => Some(register),
                    _ => None,
                }),
                _ => None,
            };
            encoded.warp_wide.push((at, mask));
        }
        _ => {}
    }
}
