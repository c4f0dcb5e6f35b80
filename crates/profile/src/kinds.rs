//! The kinds of faults, a row each: name, the share of the time from which a fault is named, and what to try. Words about
//! one kernel are made where the fault is found.

use oriole_diagnostics::Code;

/// A kind of fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Lanes access global memory at a distance that is more than their bytes.
    Strided,
    /// Lanes access global memory at places without order.
    Scattered,
    /// Lanes access neighbouring bytes that begin inside of a sector.
    Misaligned,
    /// Instructions access neighbouring addresses one by one.
    Vector,
    /// Lanes meet in banks of shared memory.
    Conflicts,
    /// Atomic operations on global memory meet at one address.
    Atomics,
    /// The same in shared memory.
    SharedAtomics,
    /// Registers are stored to local memory and loaded again.
    Spills,
    /// Variables are in local memory.
    Local,
    /// Integers are divided by values of run time.
    Division,
    /// Lanes of a warp go different ways.
    Divergence,
    /// The last warp of a block has few lanes.
    PartialWarp,
    /// Some warps of a block do more before a barrier than others.
    Barrier,
    /// Registers leave an SM few warps.
    Registers,
    /// Shared memory leaves an SM few warps.
    SharedMemory,
    /// Blocks are too small to fill an SM.
    SmallBlocks,
    /// SMs have no work.
    SmallGrid,
    /// SMs have no work at the end.
    Tail,
    /// 64-bit floating-point arithmetic on a chip with few units for it.
    Double,
    /// Special functions.
    Special,
    /// Warps wait for memory, and nothing is busy.
    Latency,
    /// Warps wait for results of arithmetic, and nothing is busy.
    Dependence,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct KindRow {
    /// The kind.
    pub kind: Kind,
    /// Its code as a diagnostic.
    pub code: Code,
    /// Its name in documents.
    pub name: &'static str,
    /// The share of the time from which it is named.
    pub least: f64,
    /// Advice.
    pub advice: &'static str,
}

const fn row(kind: Kind, code: Code, name: &'static str, least: f64, advice: &'static str) -> KindRow {
    KindRow { kind, code, name, least, advice }
}

/// All kinds.
pub const KINDS: [KindRow; 22] = [
    row(
        Kind::Strided,
        Code::Strided,
        "strided",
        0.05,
        "let threadIdx.x index the last dimension (structures of arrays, not arrays of structures), or stage through shared memory",
    ),
    row(
        Kind::Scattered,
        Code::Scattered,
        "scattered",
        0.08,
        "sort or bin the indices so that lanes of a warp come to neighbouring elements, or gather through shared memory",
    ),
    row(
        Kind::Misaligned,
        Code::UnalignedAccess,
        "misaligned",
        0.05,
        "begin the accesses of a warp at a multiple of 32 bytes: pad rows, or peel the first elements",
    ),
    row(
        Kind::Vector,
        Code::ScalarAccess,
        "scalar-accesses",
        0.05,
        "one vector access (ld.v2, ld.v4; float4) where the address is aligned",
    ),
    row(
        Kind::Conflicts,
        Code::SlowConflict,
        "bank-conflicts",
        0.05,
        "pad rows of the tile by one element, or permute the column with bits of the row",
    ),
    row(
        Kind::Atomics,
        Code::Contention,
        "contended-atomics",
        0.08,
        "add up in each thread, warp (redux, shfl) or block (shared memory) first, and do one atomic operation for it",
    ),
    row(
        Kind::SharedAtomics,
        Code::SharedContention,
        "contended-shared-atomics",
        0.08,
        "add up in registers or with shfl first, or have several copies of the counters, one for each warp or lane",
    ),
    row(
        Kind::Spills,
        Code::SpillCost,
        "spills",
        0.05,
        "give the thread more registers (maxnreg, minnctapersm, maxrregcount), unroll less, or keep fewer values alive",
    ),
    row(
        Kind::Local,
        Code::LocalMemory,
        "local-memory",
        0.05,
        "index local arrays by constants (unroll the loop), or put them into shared memory",
    ),
    row(
        Kind::Division,
        Code::Division,
        "integer-division",
        0.05,
        "divide by a constant or a power of two, multiply by a reciprocal that the host computes, or count up instead",
    ),
    row(
        Kind::Divergence,
        Code::SplitWarps,
        "divergence",
        0.05,
        "let whole warps go one way: order the work by its branch or its length, or compute both sides and select",
    ),
    row(
        Kind::PartialWarp,
        Code::PartialWarps,
        "partial-warps",
        0.05,
        "make the number of threads of a block a multiple of 32",
    ),
    row(
        Kind::Barrier,
        Code::Imbalance,
        "barrier-imbalance",
        0.05,
        "share the work before the barrier among all warps, or let warps that have none do the next piece",
    ),
    row(
        Kind::Registers,
        Code::FewByRegisters,
        "occupancy-registers",
        0.05,
        "maxnreg or minnctapersm, smaller tiles in registers, less unrolling",
    ),
    row(
        Kind::SharedMemory,
        Code::FewByShared,
        "occupancy-shared-memory",
        0.05,
        "a smaller tile, a smaller type, or fewer stages of a pipeline",
    ),
    row(
        Kind::SmallBlocks,
        Code::FewBySize,
        "occupancy-blocks",
        0.05,
        "more threads in a block, or more independent work in each thread",
    ),
    row(
        Kind::SmallGrid,
        Code::SmallGrid,
        "small-grid",
        0.10,
        "more and smaller blocks: split the longest dimension, or the sum that each block makes (--blocks gives the real grid, \
         if the record is a part of it)",
    ),
    row(
        Kind::Tail,
        Code::Tail,
        "tail",
        0.08,
        "a grid of a whole multiple of the blocks that run at a time, or persistent blocks that share the work",
    ),
    row(
        Kind::Double,
        Code::SlowDouble,
        "f64",
        0.10,
        "f32, or pairs of f32 where more digits are needed: this chip has few units for f64",
    ),
    row(
        Kind::Special,
        Code::SlowSpecial,
        "special-functions",
        0.10,
        "fewer of them: reuse results, rcp or rsqrt once for several quotients, a polynomial for a part of the calls",
    ),
    row(
        Kind::Latency,
        Code::MemoryLatency,
        "latency",
        0.10,
        "more loads in flight (unroll, load the next elements before this one is used, cp.async), or more warps",
    ),
    row(
        Kind::Dependence,
        Code::ChainLatency,
        "dependent-arithmetic",
        0.10,
        "more independent chains in a thread (several accumulators), or more warps",
    ),
];

impl Kind {
    /// True if the shape of the launch alone is at fault: it says nothing of a kernel whose launch was made up.
    pub fn is_of_launch(self) -> bool {
        matches!(self, Kind::PartialWarp | Kind::SmallBlocks | Kind::SmallGrid | Kind::Tail)
    }

    /// Its row.
    pub fn row(self) -> &'static KindRow {
        KINDS.iter().find(|row| row.kind == self).unwrap_or(&KINDS[0])
    }
}

/// A count with its noun.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
