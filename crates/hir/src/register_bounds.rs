//! How many registers the directives of a kernel leave each thread, and whether parts of it may change the count.
//!
//! It is here because the lowering, the container and the diagnostics must agree. Nothing that is known of code after
//! this crate may enter: whether a kernel changes its count does not depend on its registers.

use crate::{Body, Directives, Instruction, Operand, Statement};
use oriole_chip::Chip;
use oriole_ptx::Opcode;

/// Minimum registers of a thread, whatever the directives say.
pub const FEWEST_REGISTERS: u32 = 24;

/// Registers that a kernel with large matrix operands has in addition to two of them, in the rule of
/// [`changes_registers`].
const BESIDE_MATRICES: usize = 48;

/// The most registers that `.maxnreg` and the bounds on threads allow a thread; `None` if they say nothing. With
/// both, the smaller: a block of as many threads as the kernel permits can be launched.
pub fn register_cap(directives: &Directives, chip: Chip) -> Option<u16> {
    let threads = directives.block_threads();
    let most = u32::from(chip.register_files().general.count);
    let stated = directives.maxnreg.map(|registers| registers.max(FEWEST_REGISTERS));
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
        Some(fit.clamp(FEWEST_REGISTERS, most))
    });
    stated.into_iter().chain(fit).min().map(|limit| limit.min(most) as u16)
}

/// Whether the `setmaxnreg` of a kernel have an effect: it must be known with how many registers a thread starts.
///
/// The directives state it, or matrix operands are so large compared with the registers that the block leaves a thread that
/// all of these are taken; the rule is that of ptxas, found by trying. Each chip with the instruction has the registers of
/// sm_90.
pub(crate) fn changes_registers(body: &Body) -> bool {
    if !body.is_entry || !body.statements.iter().any(is_change) {
        return false;
    }
    if body.directives.state_registers() {
        return true;
    }
    let Some(cap) = register_cap(&body.directives, Chip::SM_90).map(usize::from) else { return false };
    body.statements.iter().any(|statement| match statement {
        Statement::Instruction(it) => match it.opcode {
            Opcode::Wgmma => cap <= 2 * largest_vector(it) + BESIDE_MATRICES,
            Opcode::Tcgen05 => cap < 2 * largest_vector(it) + BESIDE_MATRICES,
            _ => false,
        },
        _ => false,
    })
}

/// True for `setmaxnreg`.
pub(crate) fn is_change(statement: &Statement) -> bool {
    matches!(statement, Statement::Instruction(it) if it.opcode == Opcode::Setmaxnreg)
}

/// The most components that a vector of an instruction has.
fn largest_vector(instruction: &Instruction) -> usize {
    let length = |operand: &Operand| match operand {
        Operand::Vector(components) => components.len(),
        _ => 0,
    };
    instruction.operands.iter().map(length).max().unwrap_or(0)
}
