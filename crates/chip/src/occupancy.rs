//! How many blocks and warps of a kernel one SM holds at a time, and what stops it from holding more.

use crate::Chip;

/// What a kernel uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared: u32,
    /// Threads of a block.
    pub threads: u32,
}

/// The resource that runs out first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limiter {
    /// The SM holds no more warps.
    Warps,
    /// The SM holds no more blocks.
    Blocks,
    /// The registers are used up.
    Registers,
    /// The shared memory is used up.
    SharedMemory,
}

/// How full an SM gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occupancy {
    /// Blocks that fit; 0 if not even one does.
    pub blocks: u32,
    /// Warps of those blocks.
    pub warps: u32,
    /// What ran out.
    pub limiter: Limiter,
}

/// The occupancy of a kernel, or `None` where the limits of the chip are not known.
pub fn occupancy(chip: Chip, usage: Usage) -> Option<Occupancy> {
    let limits = chip.limits()?;
    let warps = usage.threads.max(1).div_ceil(limits.warp_threads);
    let by_warps = limits.warps_per_sm / warps;
    let by_registers = if usage.registers > u32::from(chip.register_files().general.count)
        || warps > limits.warps_per_sm
    {
        0
    } else {
        let per_thread = usage.registers.max(1).next_multiple_of(limits.register_granularity_thread);
        let per_warp = (per_thread * limits.warp_threads).next_multiple_of(limits.register_granularity_warp);
        // Each quarter of the SM has its own quarter of the registers, and a warp lives in one quarter.
        let per_quarter = limits.registers_per_sm / limits.warp_granularity / per_warp;
        per_quarter * limits.warp_granularity / warps
    };
    let shared = usage
        .shared
        .saturating_add(limits.shared_reserved_per_block)
        .checked_next_multiple_of(limits.shared_granularity)
        .unwrap_or(u32::MAX);
    let by_shared = if usage.shared > limits.shared_per_block {
        0
    } else {
        limits.shared_per_sm.checked_div(shared).unwrap_or(limits.blocks_per_sm)
    };
    let candidates = [
        (by_warps, Limiter::Warps),
        (limits.blocks_per_sm, Limiter::Blocks),
        (by_registers, Limiter::Registers),
        (by_shared, Limiter::SharedMemory),
    ];
    let (blocks, limiter) = candidates.into_iter().min_by_key(|&(blocks, _)| blocks)?;
    Some(Occupancy { blocks, warps: blocks * warps, limiter })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_hopper(registers: u32, shared: u32, threads: u32) -> (u32, u32, Limiter) {
        let usage = Usage { registers, shared, threads };
        let found = occupancy(Chip::SM_90, usage).unwrap();
        (found.blocks, found.warps, found.limiter)
    }

    #[test]
    fn figures_for_hopper() {
        assert_eq!(on_hopper(32, 0, 256), (8, 64, Limiter::Warps));
        assert_eq!(on_hopper(32, 0, 32), (32, 32, Limiter::Blocks));
        assert_eq!(on_hopper(33, 0, 256), (6, 48, Limiter::Registers));
        assert_eq!(on_hopper(255, 0, 1024), (0, 0, Limiter::Registers));
        assert_eq!(on_hopper(64, 0, 1024), (1, 32, Limiter::Registers));
        assert_eq!(on_hopper(32, 100 * 1024, 128), (2, 8, Limiter::SharedMemory));
        assert_eq!(on_hopper(32, 228 * 1024, 128), (0, 0, Limiter::SharedMemory));
    }
}
