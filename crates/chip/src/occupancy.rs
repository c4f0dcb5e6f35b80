//! Occupancy: blocks and warps of a kernel that one SM holds at a time, and the limiting resource.

use crate::{Chip, Limits, RegisterFiles};

/// Resource usage of a kernel.
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

/// Occupancy of an SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occupancy {
    /// Blocks that fit; 0 if not even one does.
    pub blocks: u32,
    /// Warps of those blocks.
    pub warps: u32,
    /// The limiting resource.
    pub limiter: Limiter,
}

/// The occupancy of a kernel, or `None` if the limits of the chip are not known.
pub fn occupancy(chip: Chip, usage: Usage) -> Option<Occupancy> {
    Some(chip.limits()?.occupancy(chip.register_files(), usage))
}

impl Limits {
    /// The occupancy of a kernel on a chip with these limits and register files.
    pub fn occupancy(&self, files: &RegisterFiles, usage: Usage) -> Occupancy {
        let (by_registers, by_shared) = (self.by_registers(files, usage), self.by_shared(usage));
        let by_warps = self.warps_per_sm / self.warps(usage);
        let candidates = [
            (by_warps, Limiter::Warps),
            (self.blocks_per_sm, Limiter::Blocks),
            (by_registers, Limiter::Registers),
            (by_shared, Limiter::SharedMemory),
        ];
        // Ties go to the first.
        let less = |least: (u32, Limiter), next: (u32, Limiter)| if next.0 < least.0 { next } else { least };
        let (blocks, limiter) = candidates.into_iter().fold(candidates[0], less);
        Occupancy { blocks, warps: blocks * self.warps(usage), limiter }
    }

    /// True if an SM holds this many blocks of this size at a time, regardless of other resources.
    pub fn holds(&self, blocks: u32, threads: u32) -> bool {
        let warps = threads.div_ceil(self.warp_threads).saturating_mul(blocks);
        blocks <= self.blocks_per_sm && warps <= self.warps_per_sm
    }

    /// Warps of a block.
    fn warps(&self, usage: Usage) -> u32 {
        usage.threads.max(1).div_ceil(self.warp_threads)
    }

    /// Blocks whose registers fit.
    fn by_registers(&self, files: &RegisterFiles, usage: Usage) -> u32 {
        let warps = self.warps(usage);
        if usage.registers > u32::from(files.general.count) || warps > self.warps_per_sm {
            return 0;
        }
        let per_thread = usage.registers.max(1).next_multiple_of(self.register_granularity_thread);
        let per_warp = (per_thread * self.warp_threads).next_multiple_of(self.register_granularity_warp);
        // Each quarter of the SM has its own quarter of the registers, and a warp stays in one quarter.
        let per_quarter = self.registers_per_sm / self.warp_granularity / per_warp;
        per_quarter * self.warp_granularity / warps
    }

    /// Blocks whose shared memory fits.
    fn by_shared(&self, usage: Usage) -> u32 {
        if usage.shared > self.shared_per_block {
            return 0;
        }
        let shared = usage.shared.saturating_add(self.shared_reserved_per_block);
        let shared = shared.checked_next_multiple_of(self.shared_granularity).unwrap_or(u32::MAX);
        self.shared_per_sm.checked_div(shared).unwrap_or(self.blocks_per_sm)
    }
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
