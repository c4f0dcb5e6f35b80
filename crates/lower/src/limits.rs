//! Bounds: how many registers the directives of a kernel leave each thread, and how large a frame may be.
//!
//! They are separate because a callee's registers depend on the register limit, and on nothing else of the kernel.

use crate::LowerError;
use oriole_chip::Chip;
use oriole_diagnostics::Code;
use oriole_hir::{Body, Immediate, Operand, Statement};
use oriole_ori::Function;
use oriole_ptx::Opcode;

/// Most bytes of `.local` variables and arguments on the stack. Offsets from the stack pointer are signed and have 24
/// bits; 64 KiB are left for spills and saved registers.
const MOST_FRAME_BYTES: u64 = (1 << 23) - (1 << 16);

/// Minimum registers of a thread, whatever the directives say.
const FEWEST: u32 = 24;

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
    let cap = register_cap(body, chip)?;
    Some(most_asked(body).map_or(cap, |asked| cap.min(asked.max(FEWEST as u16))))
}

/// The most registers that `.maxnreg` and the bounds on threads allow a thread; `None` if they say nothing. With
/// both, the smaller: a block of as many threads as the kernel permits can be launched.
pub fn register_cap(body: &Body, chip: Chip) -> Option<u16> {
    let directives = &body.directives;
    let threads = directives.block_threads();
    let most = u32::from(chip.register_files().general.count);
    let stated = directives.maxnreg.map(|registers| registers.max(FEWEST));
    let fit = threads.zip(chip.limits()).and_then(|(threads, limits)| {
        // Bounds beyond the capacity of an SM cannot be met with few registers either, and are ignored.
        let asked = directives.minnctapersm.unwrap_or(1).max(1);
        let blocks = [asked, 1].into_iter().find(|&blocks| limits.holds(blocks, threads))?;
        // All threads of the resident blocks share the registers of one SM. The allocation unit is a warp, and each
        // quarter of the SM holds its share of the warps in its share of the registers.
        let warps = threads.div_ceil(limits.warp_threads) * blocks;
        let resident = warps
            .div_ceil(limits.warp_granularity)
            .saturating_mul(limits.warp_granularity * limits.warp_threads);
        let granularity = limits.register_granularity_thread;
        let fit = limits.registers_per_sm / resident.max(1) / granularity * granularity;
        Some(fit.clamp(FEWEST, most))
    });
    stated.into_iter().chain(fit).min().map(|limit| limit.min(most) as u16)
}

/// True if the source asks for a register count itself, and not only bounds the threads of a block. Without such a
/// bound a count of blocks means nothing.
pub fn states_registers(body: &Body) -> bool {
    let directives = &body.directives;
    directives.maxnreg.is_some() || directives.minnctapersm.is_some() && directives.block_threads().is_some()
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
    counts.max().filter(|_| body.directives.tell_registers())
}
