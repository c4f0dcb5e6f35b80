//! The view of an observer of a run: the code once, and each instruction that a warp issues, with the lanes that it acts
//! in, the memory that they access and the meetings that they arrive at.
//!
//! It is here so that a model of time needs no semantics of instructions of its own. Nothing that only such a model
//! knows (units, caches, cycles) may enter. A run without an observer collects nothing of this.

use crate::cached_source::Source;
use crate::program::Program;
use oriole_latency::{CachedRead, Class};
use oriole_sass::Instruction;

/// A watcher of a run.
pub trait Observer {
    /// The code of the kernel, before the first instruction; `None` for a word that is not an instruction.
    fn code(&mut self, steps: Vec<Option<Described>>);

    /// True if this cluster is to run at all, given its number in the grid.
    fn runs(&self, _cluster: u64) -> bool {
        true
    }

    /// True if the instructions of this block are wanted, given its number in the grid.
    fn wants(&self, block: u64) -> bool;

    /// False if the run is to end early. It is asked now and then, so that a run of any length can be given up.
    fn goes_on(&self) -> bool {
        true
    }

    /// A warp has issued an instruction of a block that is wanted.
    fn issued(&mut self, event: &Event);
}

/// An instruction of the code.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its offset in bytes.
    pub address: u32,
    /// The instruction.
    pub instruction: Instruction,
    /// Its scheduling class.
    pub class: Class,
    /// The general registers that it reads through the operand cache.
    pub sources: Vec<CachedRead>,
}

/// An instruction that a warp has issued.
#[derive(Debug)]
pub struct Event<'a> {
    /// Number of the block in the grid.
    pub block: u64,
    /// Number of the cluster in the grid.
    pub cluster: u64,
    /// Number of the warp in its block.
    pub warp: u32,
    /// Index of the instruction in the code.
    pub index: u32,
    /// Lanes at this place.
    pub lanes: u32,
    /// Lanes in which it acts: those under the guard.
    pub active: u32,
    /// Accesses to memory, those of asynchronous engines not included.
    pub accesses: &'a [Access],
    /// Bytes that an asynchronous engine moves.
    pub moved: u64,
    /// The meeting that the lanes arrive at.
    pub arrives: Option<Meeting>,
    /// The meeting that the lanes wait for.
    pub awaits: Option<Meeting>,
    /// Mbarriers that it signals, or whose signal follows from a copy that it starts: shared addresses with the rank of
    /// the block above.
    pub signals: &'a [u64],
    /// Mbarriers whose phase it found complete.
    pub passed: &'a [u64],
}

/// A meeting of warps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Meeting {
    /// At a barrier of the block.
    Block {
        /// The barrier.
        barrier: u8,
        /// How often it was completed before.
        generation: u32,
    },
    /// At the barrier of the cluster.
    Cluster {
        /// How often the lane arrived there.
        generation: u32,
    },
}

/// The memory of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Global.
    Global,
    /// Shared, of this block or another one of the cluster.
    Shared,
    /// Local.
    Local,
}

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// It reads.
    Load,
    /// It writes.
    Store,
    /// It reads and writes in one.
    Atomic,
}

/// Accesses of lanes to one memory.
#[derive(Clone, Debug)]
pub struct Access {
    /// The memory.
    pub memory: Memory,
    /// The kind.
    pub kind: AccessKind,
    /// Bytes of each lane.
    pub bytes: u32,
    /// The lanes.
    pub lanes: u32,
    /// The address of each lane. In shared memory the rank of the block is above the address in it.
    pub addresses: [u64; 32],
}

/// Signals of asynchronous operations while an instruction executes; collected only for an observer.
#[derive(Default)]
pub(crate) struct Log {
    /// Mbarriers that were signalled.
    pub signals: Vec<u64>,
    /// Mbarriers whose phase was found complete.
    pub passed: Vec<u64>,
    /// Bytes moved.
    pub moved: u64,
}

impl Log {
    pub(crate) fn clear(&mut self) {
        self.signals.clear();
        self.passed.clear();
        self.moved = 0;
    }
}

/// The code as observers see it.
pub(crate) fn described(program: &Program) -> Vec<Option<Described>> {
    let operand = |source: &Source| {
        let Source { double, slot, first, registers, keep } = *source;
        CachedRead { double, slot, first, registers, keep }
    };
    let steps = (0..).zip(&program.steps).map(|(index, step)| {
        let step = step.as_ref().ok()?;
        Some(Described {
            address: program.shape.address(index),
            instruction: step.instruction.clone(),
            class: step.class,
            sources: step.cached.iter().map(operand).collect(),
        })
    });
    steps.collect()
}
