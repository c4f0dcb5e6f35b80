//! Hard limits of a chip: registers, warps, shared memory. All figures are facts of the hardware.

/// Limits of one SM and of one block or thread on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
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
    /// Bytes of shared memory of an SM that are available to blocks.
    pub shared_per_sm: u32,
    /// Bytes of shared memory that a block may use, dynamic included.
    pub shared_per_block: u32,
    /// Bytes of shared memory that a block may declare statically.
    pub static_shared_per_block: u32,
    /// Bytes that the system takes from each block's shared memory.
    pub shared_reserved_per_block: u32,
    /// Start of the static variables in shared memory: after the part reserved for the system, if that is at the
    /// start.
    pub static_shared_start: u32,
    /// Shared memory is allocated in pieces of this many bytes.
    pub shared_granularity: u32,
    /// Scoreboards of a warp.
    pub scoreboards: u32,
    /// Named barriers of a block.
    pub named_barriers: u32,
    /// Bytes of a user's constant bank.
    pub constant_bank: u32,
}

impl Limits {
    /// Limits of code for this very chip, which runs on no other: it may declare all shared memory that a block may
    /// use.
    pub const fn accelerated(self) -> Limits {
        Limits { static_shared_per_block: self.shared_per_block, ..self }
    }

    /// Turing: warps and blocks of an SM, shared KiB of an SM and of a block.
    pub(crate) const fn turing(warps: u32, blocks: u32, shared_sm: u32, shared_block: u32) -> Limits {
        Limits {
            registers_per_sm: 65536,
            register_granularity_thread: 8,
            register_granularity_warp: 256,
            warp_granularity: 4,
            warp_threads: 32,
            threads_per_block: 1024,
            warps_per_sm: warps,
            blocks_per_sm: blocks,
            shared_per_sm: shared_sm * 1024,
            shared_per_block: shared_block * 1024,
            static_shared_per_block: 48 * 1024,
            shared_reserved_per_block: 0,
            static_shared_start: 0,
            shared_granularity: 256,
            scoreboards: 6,
            named_barriers: 16,
            constant_bank: 65536,
        }
    }

    /// Ampere and Ada: the system takes a part of the shared memory of each block.
    pub(crate) const fn ampere(warps: u32, blocks: u32, shared_sm: u32, shared_block: u32) -> Limits {
        let base = Limits::turing(warps, blocks, shared_sm, shared_block);
        Limits { shared_reserved_per_block: 1024, shared_granularity: 128, ..base }
    }

    /// Hopper and later: the reserved part is at the start.
    pub(crate) const fn hopper(warps: u32, blocks: u32, shared_sm: u32, shared_block: u32) -> Limits {
        let base = Limits::ampere(warps, blocks, shared_sm, shared_block);
        Limits { static_shared_start: base.shared_reserved_per_block, ..base }
    }
}
