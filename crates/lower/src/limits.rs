//! Bounds: how many registers the directives of a kernel leave each thread, and how large a frame may be.
//!
//! They are separate because a callee's registers depend on the register limit, and on nothing else of the kernel.

use crate::LowerError;
use oriole_chip::Chip;
use oriole_diagnostics::Code;
use oriole_hir::{Body, FEWEST_REGISTERS, Immediate, Operand, Statement, register_cap};
use oriole_ori::Function;
use oriole_ptx::Opcode;

/// Most bytes of `.local` variables and arguments on the stack. Offsets from the stack pointer are signed and have 24
/// bits; 64 KiB are left for spills and saved registers.
const MOST_FRAME_BYTES: u64 = (1 << 23) - (1 << 16);

/// Checks that the frame of a lowered function can be addressed.
pub fn frame(function: &Function) -> Result<(), LowerError> {
    let calls = function.blocks.iter().flat_map(|block| &block.instructions).filter_map(|i| i.call.as_ref());
    let arguments = u64::from(calls.map(|call| call.stack_bytes).max().unwrap_or(0));
    let bytes = function.locals.iter().fold(arguments, |at, local| {
        at.next_multiple_of(u64::from(local.align.max(1))).saturating_add(local.size)
    });
    if bytes <= MOST_FRAME_BYTES {
        return Ok(());
    }
    let message = format!("{bytes} bytes of local memory in one function, {MOST_FRAME_BYTES} at most");
    Err(LowerError::new(Code::TooLarge, None, message))
}

/// The most registers that a thread starts with, as far as the source says; `None` if it says nothing. Where parts of
/// a kernel change the count, no thread starts with more than the largest request: a thread that requests more had
/// fewer before.
pub fn register_limit(body: &Body, chip: Chip) -> Option<u16> {
    let cap = register_cap(&body.directives, chip)?;
    Some(most_asked(body).map_or(cap, |asked| cap.min(asked.max(FEWEST_REGISTERS as u16))))
}

/// The largest register request in the kernel, if it changes the count.
fn most_asked(body: &Body) -> Option<u16> {
    let counts = body.statements.iter().filter_map(|statement| match statement {
        Statement::Instruction(i) if i.opcode == Opcode::Setmaxnreg => match i.operands.first() {
            Some(Operand::Immediate(Immediate::Integer(count))) => u16::try_from(*count).ok(),
            _ => None,
        },
        _ => None,
    });
    counts.max().filter(|_| body.changes_registers)
}
