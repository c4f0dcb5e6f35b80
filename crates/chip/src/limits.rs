//! Hard limits of a chip: registers, warps, shared memory. All figures are facts of the hardware.

use crate::Chip;

/// Limits of one SM and of one block or thread on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Highest count of 32-bit registers that a thread can name (register 255 is the zero register).
    pub registers_per_thread: u32,
    /// 32-bit registers of one SM.
    pub registers_per_sm: u32,
    /// Registers of a thread are rounded up to a multiple of this before launch.
    pub register_granularity_thread: u32,
    /// Registers of a warp are allocated in pieces of this many.
    pub register_granularity_warp: u32,
    /// Warps are allocated in multiples of this many: one for each quarter of the SM.
    pub warp_granularity: u32,
    /// Threads of a warp.
    pub warp_threads: u32,
    /// Threads of a block at most.
    pub threads_per_block: u32,
    /// Warps that an SM holds at a time.
    pub warps_per_sm: u32,
    /// Blocks that an SM holds at a time.
    pub blocks_per_sm: u32,
    /// Bytes of shared memory that an SM gives to blocks.
    pub shared_per_sm: u32,
    /// Bytes of shared memory that a block may use, dynamic included.
    pub shared_per_block: u32,
    /// Bytes of shared memory that a block may declare statically.
    pub static_shared_per_block: u32,
    /// Bytes that the system takes from each block's shared memory.
    pub shared_reserved_per_block: u32,
    /// Where the static variables of shared memory begin: behind what the system keeps, if that is at the start.
    pub static_shared_start: u32,
    /// Shared memory is allocated in pieces of this many bytes.
    pub shared_granularity: u32,
    /// Uniform registers of a warp that a word can name, without the zero register.
    pub uniform_registers: u32,
    /// Predicates of a thread, without the one that is always true.
    pub predicates: u32,
    /// Uniform predicates of a warp, without the one that is always true.
    pub uniform_predicates: u32,
    /// Convergence barrier registers of a warp.
    pub convergence_barriers: u32,
    /// Scoreboards of a warp.
    pub scoreboards: u32,
    /// Named barriers of a block.
    pub named_barriers: u32,
    /// Bytes of a user's constant bank.
    pub constant_bank: u32,
}

impl Chip {
    /// The limits of this chip, or `None` where they are not known for certain.
    pub fn limits(self) -> Option<Limits> {
        // The one row per number: warps and blocks of an SM, shared KiB of an SM and of a block.
        let (warps_per_sm, blocks_per_sm, shared_sm, shared_block) = match self.number() {
            75 => (32, 16, 64, 64),
            80 => (64, 32, 164, 163),
            86 => (48, 16, 100, 99),
            87 => (48, 16, 164, 163),
            89 => (48, 24, 100, 99),
            90 | 100 | 103 => (64, 32, 228, 227),
            _ => return None,
        };
        let reserved = if self.number() >= 80 { 1024 } else { 0 };
        Some(Limits {
            registers_per_thread: 255,
            registers_per_sm: 65536,
            register_granularity_thread: 8,
            register_granularity_warp: 256,
            warp_granularity: 4,
            warp_threads: 32,
            threads_per_block: 1024,
            warps_per_sm,
            blocks_per_sm,
            shared_per_sm: shared_sm * 1024,
            shared_per_block: shared_block * 1024,
            static_shared_per_block: 48 * 1024,
            shared_reserved_per_block: reserved,
            static_shared_start: if self.number() >= 90 { reserved } else { 0 },
            shared_granularity: if self.number() >= 80 { 128 } else { 256 },
            uniform_registers: 63,
            predicates: 7,
            uniform_predicates: 7,
            convergence_barriers: 16,
            scoreboards: 6,
            named_barriers: 16,
            constant_bank: 65536,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supported_chips_have_limits() {
        for chip in Chip::all() {
            if chip.is_supported() {
                let limits = chip.limits().unwrap();
                assert!(limits.shared_per_block + limits.shared_reserved_per_block <= limits.shared_per_sm);
                assert!(chip.constant_bank().is_some());
            }
        }
    }
}
