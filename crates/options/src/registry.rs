//! The knob registry: one row is one knob.

use crate::{Limits, Optimization};
use std::ops::RangeInclusive;

/// The reader of a knob.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Reader {
    /// Lowering of PTX.
    Lower,
    /// The stages whose passes query an optimization.
    Passes,
    /// Scheduling before allocation.
    Order,
    /// Register allocation.
    Allocate,
    /// Selection.
    Select,
    /// Scheduling after allocation, and control words.
    Finish,
    /// The search of level 4.
    Search,
}

/// The type of a knob.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KnobKind {
    /// `true`/`false`, `on`/`off`, `1`/`0`.
    Bool,
    /// An integer in this range, both ends included.
    Number(u32, u32),
}

/// The value of a knob.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// Yes or no.
    Bool(bool),
    /// An integer.
    Number(u32),
}

/// One knob.
#[derive(Clone, Copy, Debug)]
pub struct Knob {
    /// Its name on the command line.
    pub name: &'static str,
    /// Type and range.
    pub kind: KnobKind,
    /// The default value.
    pub default: Value,
    /// Its readers; no other stage may read it.
    pub readers: &'static [Reader],
    /// The optimization that it turns on or off, if that is its only effect.
    pub optimization: Option<Optimization>,
    /// The description.
    pub doc: &'static str,
}

/// The reason why a knob was not set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KnobError {
    /// No such knob.
    Unknown(String),
    /// Not a value of this knob: the knob's name, the text, and the expected values.
    BadValue(&'static str, String, String),
}

impl std::fmt::Display for KnobError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KnobError::Unknown(name) => write!(f, "there is no knob `{name}`"),
            KnobError::BadValue(name, text, expected) => {
                write!(f, "`{text}` is no value of knob `{name}`: expected {expected}")
            }
        }
    }
}

impl std::error::Error for KnobError {}

/// A switch that turns an optimization off.
const fn without(name: &'static str, optimization: Optimization, doc: &'static str) -> Knob {
    Knob { optimization: Some(optimization), ..switch(name, &[Reader::Passes], doc) }
}

/// An optimization that is on, named after its effect.
const fn yes(name: &'static str, optimization: Optimization, doc: &'static str) -> Knob {
    Knob { default: Value::Bool(true), ..without(name, optimization, doc) }
}

const fn switch(name: &'static str, readers: &'static [Reader], doc: &'static str) -> Knob {
    let default = Value::Bool(false);
    Knob { name, kind: KnobKind::Bool, default, readers, optimization: None, doc }
}

const fn number(
    name: &'static str,
    range: RangeInclusive<u32>,
    default: u32,
    readers: &'static [Reader],
    doc: &'static str,
) -> Knob {
    let default = Value::Number(default);
    Knob {
        name,
        kind: KnobKind::Number(*range.start(), *range.end()),
        default,
        readers,
        optimization: None,
        doc,
    }
}

/// Trials of a function that make a compile at level 4 about ten times as long as one at level 3 (`docs/levels.md`).
const DEFAULT_TRIALS: u32 = 14;

/// Declares the knobs: an id and a row for each, in one order.
macro_rules! knobs {
    ($( $id:ident = $row:expr; )*) => {
        /// A knob by its id, which its readers use.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[allow(missing_docs, reason = "the rows say what each knob does")]
        pub enum KnobId {
            $( $id, )*
        }

        /// Every knob, in the order of [`KnobId`]. Debug switches are the boolean rows whose default is false: each
        /// turns one optimization off, or a check on.
        pub const KNOBS: &[Knob] = &[ $( $row, )* ];
    };
}

knobs! {
    Fmad = yes("fmad", Optimization::Contraction,
        "Contract separate f32 and f64 multiplies and adds into fused ones.");
    NoFold = without("no-fold", Optimization::Folding,
        "Disable copy propagation, constant folding and algebraic simplification.");
    NoDeadCode = without("no-dead-code", Optimization::DeadCode, "Disable dead code elimination.");
    NoBranchOpt = without("no-branch-opt", Optimization::Branches, "Disable branch folding and straightening.");
    NoStrength = without("no-strength", Optimization::StrengthReduction, "Disable strength reduction.");
    NoLinear = without("no-linear", Optimization::LinearReplacement,
        "Disable the fusion of adds, shifts and multiplies.");
    NoSinking = without("no-sinking", Optimization::Sinking,
        "Do not sink computations into the branch that uses them.");
    NoVectorLoads = without("no-vector-loads", Optimization::VectorLoads,
        "Do not merge adjacent loads of shared memory into vector loads.");
    NoLicm = without("no-licm", Optimization::Licm, "Disable loop-invariant code motion.");
    NoGvn = without("no-gvn", Optimization::Gvn, "Disable global value numbering.");
    NoReassociate = without("no-reassociate", Optimization::Reassociation, "Disable reassociation.");
    NoJoinPhis = without("no-join-phis", Optimization::JoinPhis,
        "Keep separate phis for the two halves of a 64-bit value.");
    NoNestedConditions = without("no-nested-conditions", Optimization::NestedConditions, "Do not join the branches of nested conditions.");
    NoPredication = without("no-predication", Optimization::Predication, "Disable if-conversion.");
    NoJoinBlocks = without("no-join-blocks", Optimization::JoinBlocks,
        "Do not merge straight-line blocks after if-conversion.");
    NoUniform = without("no-uniform", Optimization::UniformRegisters,
        "Use uniform registers only where the machine requires them.");
    NoBackCopy = without("no-back-copy", Optimization::BackCopy, "Disable back copy propagation.");
    NoUniformAtomics = without("no-uniform-atomics", Optimization::UniformAtomics,
        "Update memory once for each lane where a warp could update one address once.");
    NoUnroll = without("no-unroll", Optimization::Unrolling, "Disable loop unrolling.");
    NoGatheredSlowPaths = without("no-gathered-slow-paths", Optimization::GatheredSlowPaths,
        "Branch to the slow path of each division and root for itself.");
    NoRotation = without("no-rotation", Optimization::Rotation,
        "Test loops at their top where the source does.");
    NoVectorAccesses = without("no-vector-accesses", Optimization::VectorAccesses,
        "Do not merge adjacent stores, nor loads of local and global memory, into vector accesses.");
    NoMemoryValues = without("no-memory-values", Optimization::MemoryValues,
        "Load from memory again what is in registers.");
    NoInvariantLoads = without("no-invariant-loads", Optimization::InvariantLoads,
        "Load what does not change in a loop in each round.");
    NoDeadStores = without("no-dead-stores", Optimization::DeadStores,
        "Keep stores that are overwritten before anything reads them.");
    NoLocalRegisters = without("no-local-registers", Optimization::LocalRegisters,
        "Keep local variables in memory.");
    NoRoutines = without("no-routines", Optimization::Routines,
        "Inline the slow paths of divisions and square roots instead of calling routines.");
    NoWholeWarp = without("no-whole-warp", Optimization::WholeWarp,
        "Branch around bulk copies and tensor memory instructions that an elected lane executes.");
    NoUniformSources = switch("no-uniform-sources", &[Reader::Lower],
        "Assume that lanes differ in what they load from one address, and in warp numbers computed from thread numbers.");
    NoInlining = switch("no-inlining", &[Reader::Lower], "Call functions of the module instead of inlining them.");
    Verify = switch("verify", &[Reader::Passes], "Verify the intermediate representation after every phase.");
    PhaseLimit = number("phase-limit", 0..=Limits::NONE, Limits::NONE, &[Reader::Passes],
        "Run only this number of optional phases, the first ones in their order. `oriole bisect` sets it.");
    RewriteLimit = number("rewrite-limit", 0..=Limits::NONE, Limits::NONE, &[Reader::Passes],
        "Number of rewrites of the last phase that phase-limit lets run, in each function, if that phase counts them.");
    NoSelectAlternatives = switch("no-select-alternatives", &[Reader::Select],
        "Select the same encoding for an operation however busy its execution unit is.");
    SerialDeps = switch("serial-deps", &[Reader::Finish], "Make every instruction wait for all earlier ones.");
    NoSched = switch("no-sched", &[Reader::Order, Reader::Finish],
        "Disable instruction scheduling, before and after register allocation.");
    NoEarlySched = switch("no-early-sched", &[Reader::Order],
        "Schedule instructions only after register allocation, except in functions that need the frame so.");
    NoReschedule = switch("no-reschedule", &[Reader::Order],
        "Schedule each function once before register allocation, not again for fewer registers.");
    NoCrossBarriers = switch("no-cross-barriers", &[Reader::Order],
        "Never schedule instructions across barriers, even under register pressure.");
    NoBetweenProducts = switch("no-between-products", &[Reader::Order, Reader::Finish],
        "Do not interleave loads and copies with matrix multiply instructions.");
    NoOccupancy = switch("no-occupancy", &[Reader::Order],
        "Do not reduce register use to fit one more block on an SM.");
    NoRegisterBudget = switch("no-register-budget", &[Reader::Order],
        "Weigh every register against time, even where fewer bring no more warps onto an SM.");
    NoRemat = switch("no-remat", &[Reader::Order], "Disable rematerialization.");
    NoLateSched = switch("no-late-sched", &[Reader::Finish],
        "Disable instruction scheduling after register allocation.");
    NoInOrder = switch("no-in-order", &[Reader::Finish],
        "Set a scoreboard for each result, even in units that complete in order, and wait until loads have read their addresses.");
    NoReuse = switch("no-reuse", &[Reader::Finish], "Set no operand reuse flags.");
    ScheduleMode = number("schedule-mode", 0..=2, 1, &[Reader::Order],
        "Ranking of the scheduler before register allocation: 0 register pressure, 1 latency, 2 batched loads.");
    StallCap = number("stall-cap", 1..=15, 15, &[Reader::Finish], "Longest stall in one control word, in cycles.");
    NoThreadBranches = switch("no-thread-branches", &[Reader::Allocate],
        "Disable jump threading and the removal of empty blocks after register allocation.");
    NoHoistConstants = switch("no-hoist-constants", &[Reader::Allocate],
        "Do not hoist constants that both sides of a branch load into the same register.");
    NoColdBlocks = switch("no-cold-blocks", &[Reader::Allocate],
        "Leave code that is rarely run where it is, between the code that is run.");
    NoLatchMoves = switch("no-latch-moves", &[Reader::Allocate],
        "Keep the moves of a loop back edge in a block of their own.");
    NoRegisterClusters = switch("no-register-clusters", &[Reader::Allocate],
        "Assign a register to each value separately, whatever copies and tuples connect it with.");
    NoRename = switch("no-rename", &[Reader::Allocate],
        "Do not give values other registers where they would wait until memory accesses have read the ones that they have.");
    NoReallocation = switch("no-reallocation", &[Reader::Allocate],
        "Allocate the registers of each function once, not again with fewer of them or in another order.");
    MinRegs = switch("min-regs", &[Reader::Allocate], "Use as few registers as possible.");
    CheckRegisters = switch("check-registers", &[Reader::Allocate],
        "Check each register allocation with an independent checker.");
    Maxrregcount = number("maxrregcount", 0..=255, 0, &[Reader::Order, Reader::Allocate],
        "Maximum number of general registers per thread; 0 for no limit.");
    FuncMaxrregcount = number("func-maxrregcount", 0..=255, 0, &[Reader::Allocate],
        "Maximum number of general registers of device functions, within what their kernels leave them; 0 for the limit of maxrregcount.");
    SearchTrials = number("search-trials", 0..=1000, DEFAULT_TRIALS, &[Reader::Search],
        "Compiles of each function with other choices that level 4 judges.");
}

/// The row with this name.
pub(crate) fn index(name: &str) -> Option<usize> {
    KNOBS.iter().position(|knob| knob.name == name)
}

impl Knob {
    /// Reads a value of this knob.
    ///
    /// # Errors
    /// The text is not of the knob's type, or outside its range.
    pub fn parse(&self, text: &str) -> Result<Value, KnobError> {
        let bad = |expected: String| KnobError::BadValue(self.name, text.to_owned(), expected);
        match self.kind {
            KnobKind::Bool => match text {
                "true" | "on" | "1" => Ok(Value::Bool(true)),
                "false" | "off" | "0" => Ok(Value::Bool(false)),
                _ => Err(bad("true or false".to_owned())),
            },
            KnobKind::Number(low, high) => match text.parse::<u32>() {
                Ok(number) if (low..=high).contains(&number) => Ok(Value::Number(number)),
                _ => Err(bad(format!("a number from {low} to {high}"))),
            },
        }
    }
}

impl Optimization {
    /// The name of its knob.
    pub fn knob(self) -> &'static str {
        let row = KNOBS.iter().find(|knob| knob.optimization == Some(self));
        row.map_or("", |knob| knob.name)
    }
}
