//! The view of an observer of a run: stores to memory, and, if it follows the run, every access and each time that
//! threads wait for each other.
//!
//! It is here to find the place of a difference between two runs in the program, and to check the rules of memory and
//! synchronization. A run without an observer collects nothing of this. No rule may enter: these are facts of a run.

use crate::fault::Fault;
use crate::step::Semantics;
use oriole_machine_model::races::Race;

/// A watcher of a run.
pub trait Observer {
    /// A thread is about to write memory, or to change it by an atomic.
    fn stored(&mut self, _store: &Store) {}

    /// Whether it follows the run by [`Observer::follow`]. The rules for copies that the interpreter checks itself are
    /// events then, after which the run goes on.
    fn follows(&self) -> bool {
        false
    }

    /// False if the run is to end early. It is asked now and then, so that a run of any length can be given up.
    fn goes_on(&self) -> bool {
        true
    }

    /// Something happened.
    fn follow(&mut self, _event: &Event) {}
}

/// A write of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Store<'a> {
    /// Function of the instruction.
    pub function: &'a str,
    /// Ordinal of the instruction in it.
    pub ordinal: u32,
    /// Block.
    pub block: [u32; 3],
    /// Thread in the block.
    pub thread: [u32; 3],
    /// The address is one of global memory; otherwise one in the space of a block or thread.
    pub global: bool,
    /// Address.
    pub address: u64,
    /// Bytes.
    pub bytes: usize,
}

/// A thread by its numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ThreadNumber {
    /// Number of its block in the grid; x grows first.
    pub block: u32,
    /// Its number in the block; x grows first, and 32 threads are a warp.
    pub thread: u32,
}

/// The setting of a run, which does not change.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// The instructions, in the order of the numbers by which events name them.
    pub steps: Vec<StepFacts>,
    /// Names of the functions that steps name.
    pub functions: Vec<String>,
    /// The objects in memory that have a name.
    pub regions: Vec<Region>,
    /// Bytes of the shared memory of a block, from address zero on.
    pub shared_bytes: u32,
}

/// Facts of an instruction.
#[derive(Clone, Copy, Debug)]
pub struct StepFacts {
    /// Its function: index into [`Setting::functions`].
    pub function: u32,
    /// Its ordinal there.
    pub ordinal: u32,
    /// How it orders memory.
    pub semantics: Semantics,
}

/// A space of memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MemorySpace {
    /// Global memory.
    Global,
    /// Shared memory of a block.
    Shared,
    /// Memory of a thread.
    Local,
}

/// An object in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// The name of a variable, or which buffer it is.
    pub name: String,
    /// The space.
    pub space: MemorySpace,
    /// Its first address.
    pub start: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// A read.
    Read,
    /// A write.
    Write,
    /// An atomic, or an operation on an mbarrier.
    Atomic,
}

/// An access of a thread to memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryUse {
    /// The thread.
    pub thread: ThreadNumber,
    /// The space.
    pub space: MemorySpace,
    /// The block whose shared memory it is; the thread's own block in other spaces.
    pub owner: u32,
    /// Address in the space.
    pub address: u64,
    /// Bytes.
    pub bytes: u32,
    /// The kind.
    pub kind: Use,
    /// It changes or asks an mbarrier.
    pub of_object: bool,
    /// The instruction.
    pub pc: u32,
}

/// The lanes of a warp at a barrier that is complete.
#[derive(Clone, Debug)]
pub struct WarpAtBarrier {
    /// Lanes that arrived.
    pub arrived: u32,
    /// Lanes that have not exited.
    pub live: u32,
    /// All its lanes.
    pub all: u32,
    /// Lanes that wait, and the instruction at which each does.
    pub waiting: Vec<(u32, u32)>,
}

/// A thread that waits at the end of a run in which nothing can go on.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The thread.
    pub thread: ThreadNumber,
    /// The instruction at which it waits.
    pub pc: u32,
    /// Of which it waits, in words.
    pub what: String,
}

/// Something that happened in a run. Instructions are numbers of [`Setting::steps`]; an mbarrier is named by its block
/// and its address.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The run begins.
    Begins(&'a Setting),
    /// Lanes of a warp begin an instruction.
    Step {
        /// Number of the instruction.
        pc: u32,
        /// Number of the block.
        block: u32,
        /// Index of the warp in it.
        warp: u32,
        /// The lanes that execute it.
        lanes: u32,
    },
    /// A thread accesses memory.
    Uses(&'a MemoryUse),
    /// The last write changed nothing: the bytes were there.
    Unchanged,
    /// A call gives a thread new local memory.
    NewFrame {
        /// The thread.
        thread: ThreadNumber,
        /// Its first address.
        start: u64,
        /// Bytes.
        bytes: u32,
    },
    /// A thread uses a register that nothing has written.
    Unwritten {
        /// The thread.
        thread: ThreadNumber,
        /// The instruction.
        pc: u32,
        /// Slot of the register.
        slot: u32,
    },
    /// Lanes of the warp have synchronized at a collective instruction.
    LanesMeet {
        /// Number of the block.
        block: u32,
        /// Index of the warp in it.
        warp: u32,
        /// The lanes.
        lanes: u32,
        /// The instruction of the first one.
        pc: u32,
        /// The instruction wants all lanes of the warp.
        whole: bool,
        /// Lanes that exist and do not take part, because they have exited.
        missing: u32,
    },
    /// A shuffle reads from a lane that does not take part.
    AbsentLane {
        /// The thread that reads.
        thread: ThreadNumber,
        /// The instruction.
        pc: u32,
        /// The lane that is read.
        from: u32,
    },
    /// A thread arrives at a barrier of its block.
    Arrives {
        /// The thread.
        thread: ThreadNumber,
        /// Index of the barrier.
        barrier: u32,
    },
    /// A barrier of a block is complete.
    BlockMeets {
        /// Number of the block.
        block: u32,
        /// Index of the barrier.
        barrier: u32,
        /// It waited for all threads of the block, not for a count of them.
        whole: bool,
        /// The warps of the block.
        warps: &'a [WarpAtBarrier],
    },
    /// A thread arrives at the barrier of its cluster.
    ArrivesAtCluster {
        /// The thread.
        thread: ThreadNumber,
        /// Number of the cluster's first block.
        cluster: u32,
        /// Number of its arrival, from 1.
        phase: u64,
        /// The instruction.
        pc: u32,
    },
    /// A thread has waited for the barrier of its cluster.
    LeavesCluster {
        /// The thread.
        thread: ThreadNumber,
        /// Number of the cluster's first block.
        cluster: u32,
        /// Number of the phase, from 1.
        phase: u64,
        /// The instruction.
        pc: u32,
    },
    /// A thread arrives at an mbarrier, or a copy of it completes bytes there.
    Signals {
        /// The thread.
        thread: ThreadNumber,
        /// The mbarrier.
        object: (u32, u64),
        /// The phase is over.
        over: bool,
        /// The instruction.
        pc: u32,
        /// The instruction is not an arrival: a copy of the thread completes bytes.
        copies: bool,
    },
    /// A thread has found a phase of an mbarrier complete.
    Passes {
        /// The thread.
        thread: ThreadNumber,
        /// The mbarrier.
        object: (u32, u64),
        /// The instruction.
        pc: u32,
    },
    /// A thread executes a fence.
    Fences {
        /// The thread.
        thread: ThreadNumber,
        /// The instruction.
        pc: u32,
    },
    /// A thread exits.
    Exits {
        /// The thread.
        thread: ThreadNumber,
    },
    /// A block has ended; its number is not used again.
    Ends(u32),
    /// An instruction has broken a rule for copies, with what `other` did.
    Breaks {
        /// The thread: the first of the lanes that execute it.
        thread: ThreadNumber,
        /// The instruction.
        pc: u32,
        /// The rule.
        rule: Race,
        /// The other instruction.
        other: u32,
    },
    /// Nothing can go on.
    Stuck(&'a [Waiting]),
    /// The run ends early.
    Fails(&'a Fault),
}
