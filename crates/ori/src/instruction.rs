//! One instruction of Ori.

use crate::{CallShape, Destination, Guard, Opcode, Pseudo, Source, Value, Values};
use oriole_sass::Mods;
use smallvec::SmallVec;

/// The PTX statement of origin of an instruction: its ordinal in the function body, comments, labels and
/// `.loc` not counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
pub struct Origin(pub u32);

/// An instruction. Destinations and sources are in the order of SASS text; slots that the disassembler leaves
/// out (carry outputs that are `PT`, a full write mask) may be left out here too.
///
/// A partial definition keeps the old value of the components it does not write: the instruction has a guard, or
/// leaves out lanes. In SSA (between phases 23 and 73) that old value is listed in `tied`, one for each component of
/// all destinations in order; outside SSA `tied` is empty and the destination itself is the old value.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Instruction {
    /// Operation.
    pub opcode: Opcode,
    /// Dot-suffixes.
    pub mods: Mods,
    /// Guard predicate, `None` for always.
    pub guard: Option<Guard>,
    /// Written operands.
    pub destinations: SmallVec<[Destination; 1]>,
    /// Read operands.
    pub sources: SmallVec<[Source; 3]>,
    /// Old values of a partial definition in SSA.
    pub tied: Values,
    /// Memory access, for ordering and aliasing; `None` if it touches no memory.
    pub memory: Option<MemoryInfo>,
    /// Callee and clobbers of a call.
    pub call: Option<Box<CallShape>>,
    /// A floating-point multiply or add that may be contracted: the source requires no rounding between the two.
    pub contract: bool,
    /// Its origin.
    pub origin: Origin,
}

/// The memory access of an instruction. The space decides aliasing; two accesses of different known spaces never
/// conflict, `Generic` conflicts with global, shared and local.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemoryInfo {
    /// The memory space.
    pub space: Space,
    /// Reads it.
    pub reads: bool,
    /// Writes it.
    pub writes: bool,
    /// Volatile, atomic, or ordered (acquire, release): never removed, duplicated, or reordered with its like.
    pub ordered: bool,
    /// Operation on an mbarrier, if the cubin records it.
    pub object: Option<ObjectOperation>,
}

impl MemoryInfo {
    /// An access to any memory that generic addresses reach; it keeps its place.
    pub const EVERYTHING: MemoryInfo =
        MemoryInfo { space: Space::Generic, reads: true, writes: true, ordered: true, object: None };
    /// A register that allocation stores in the frame.
    pub const SPILL_STORE: MemoryInfo =
        MemoryInfo { space: Space::Spill, reads: false, writes: true, ordered: false, object: None };
    /// A register that allocation loads from the frame.
    pub const SPILL_LOAD: MemoryInfo =
        MemoryInfo { space: Space::Spill, reads: true, writes: false, ordered: false, object: None };
}

/// Operation on an mbarrier as the cubin records it. The opcode alone is ambiguous: waits for a state and for a
/// parity use the same one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
pub enum ObjectOperation {
    /// `mbarrier.init`.
    Initialize,
    /// `mbarrier.arrive`.
    Arrive,
    /// `mbarrier.arrive.noComplete`.
    ArriveIncomplete,
    /// `mbarrier.arrive_drop`.
    Drop,
    /// `mbarrier.arrive_drop.noComplete`.
    DropIncomplete,
    /// `mbarrier.test_wait`.
    TestState,
    /// `mbarrier.test_wait.parity`.
    TestParity,
    /// `cp.async.mbarrier.arrive`.
    CopiesArrive,
    /// `mbarrier.inval`.
    Invalidate,
    /// `mbarrier.try_wait`.
    TryState,
    /// `mbarrier.try_wait.parity`.
    TryParity,
    /// `mbarrier.expect_tx`.
    ExpectBytes,
    /// `mbarrier.complete_tx`.
    CompleteBytes,
}

impl ObjectOperation {
    /// All of them with their names in text.
    pub const NAMES: [(ObjectOperation, &str); 13] = [
        (ObjectOperation::Initialize, "initialize"),
        (ObjectOperation::Arrive, "arrive"),
        (ObjectOperation::ArriveIncomplete, "arrive_incomplete"),
        (ObjectOperation::Drop, "drop"),
        (ObjectOperation::DropIncomplete, "drop_incomplete"),
        (ObjectOperation::TestState, "test_state"),
        (ObjectOperation::TestParity, "test_parity"),
        (ObjectOperation::CopiesArrive, "copies_arrive"),
        (ObjectOperation::Invalidate, "invalidate"),
        (ObjectOperation::TryState, "try_state"),
        (ObjectOperation::TryParity, "try_parity"),
        (ObjectOperation::ExpectBytes, "expect_bytes"),
        (ObjectOperation::CompleteBytes, "complete_bytes"),
    ];

    /// Its name in text.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<ObjectOperation> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(operation, _)| *operation)
    }
}

/// Memory spaces; only those of compute code.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Space {
    /// Generic address.
    Generic,
    /// Global.
    Global,
    /// Shared.
    Shared,
    /// Local.
    Local,
    /// Constant bank or parameter: never written by the kernel.
    Constant,
    /// Compiler-made spill slot.
    Spill,
}

/// Written by hand, since the lists are short: their generic clone prepares for any length.
impl Clone for Instruction {
    fn clone(&self) -> Instruction {
        let mut destinations = SmallVec::new();
        self.destinations.iter().for_each(|destination| destinations.push(destination.clone()));
        let mut sources = SmallVec::new();
        self.sources.iter().for_each(|source| sources.push(source.clone()));
        Instruction {
            opcode: self.opcode,
            mods: self.mods.clone(),
            guard: self.guard,
            destinations,
            sources,
            tied: self.tied.clone(),
            memory: self.memory,
            call: self.call.clone(),
            contract: self.contract,
            origin: self.origin,
        }
    }
}

impl Instruction {
    /// An instruction with nothing but an opcode and its origin.
    #[inline]
    pub fn new(opcode: impl Into<Opcode>, origin: Origin) -> Instruction {
        Instruction {
            opcode: opcode.into(),
            mods: Mods::none(),
            guard: None,
            destinations: SmallVec::new(),
            sources: SmallVec::new(),
            tied: Values::new(),
            memory: None,
            call: None,
            contract: false,
            origin,
        }
    }

    /// True for copies of one or several values, whose components are independent.
    pub fn is_copy(&self) -> bool {
        matches!(self.opcode, Opcode::Pseudo(Pseudo::Copy | Pseudo::ParallelCopy))
    }

    /// True if a lane may keep old values of the destinations: the instruction has a guard, or leaves out lanes.
    #[inline]
    pub fn is_partial(&self) -> bool {
        self.guard.is_some() || matches!(self.opcode, Opcode::Sass(op) if op.info().is_partial(&self.mods))
    }

    /// [`Instruction::is_partial`] where the old values are those of the destinations themselves, as outside SSA.
    #[inline]
    pub fn keeps_its_results(&self) -> bool {
        self.tied.is_empty() && self.is_partial()
    }

    /// Every component that is read: guard, sources, tied old values.
    #[inline]
    pub fn for_each_use(&self, mut visit: impl FnMut(Value)) {
        if let Some(guard) = self.guard {
            visit(guard.value);
        }
        for source in &self.sources {
            source.for_each_value(&mut visit);
        }
        self.tied.iter().for_each(|&v| visit(v));
    }

    /// Every component that is read, to be replaced.
    #[inline]
    pub fn for_each_use_mut(&mut self, mut visit: impl FnMut(&mut Value)) {
        if let Some(guard) = &mut self.guard {
            visit(&mut guard.value);
        }
        for source in &mut self.sources {
            source.for_each_value_mut(&mut visit);
        }
        self.tied.iter_mut().for_each(visit);
    }

    /// Every component that is written, to be replaced.
    #[inline]
    pub fn for_each_definition_mut(&mut self, mut visit: impl FnMut(&mut Value)) {
        for destination in &mut self.destinations {
            destination.values.iter_mut().for_each(&mut visit);
        }
    }

    /// Every component that is written.
    #[inline]
    pub fn for_each_definition(&self, mut visit: impl FnMut(Value)) {
        for destination in &self.destinations {
            destination.values.iter().for_each(|&v| visit(v));
        }
    }
}

impl From<oriole_sass::Op> for Opcode {
    fn from(op: oriole_sass::Op) -> Opcode {
        Opcode::Sass(op)
    }
}

impl From<crate::Pseudo> for Opcode {
    fn from(pseudo: crate::Pseudo) -> Opcode {
        Opcode::Pseudo(pseudo)
    }
}
