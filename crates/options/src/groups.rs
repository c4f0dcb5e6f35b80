//! One plain struct for each stage that reads options: all that the stage may know of them.

use crate::{KNOBS, KnobId, Options, PassOptions};

/// What of a module is left to a linker.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Linking {
    /// Nothing: the loader takes it as it is.
    #[default]
    Whole,
    /// What other files define. Its own functions and shared memory are laid out, as those of a whole program.
    Extensible,
    /// Everything: functions and variables are where a linker puts them.
    Relocatable,
}

impl Linking {
    /// Whether other files may define what the module names.
    pub fn leaves_open(self) -> bool {
        self != Linking::Whole
    }
}

/// What lowering may know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct LowerOptions {
    /// What is left to a linker.
    pub linking: Linking,
    /// Level 0. Nothing optimized is for debuggers.
    pub unoptimized: bool,
    /// The options or the module ask for all that debuggers read; only at level 0.
    pub for_debuggers: bool,
}

impl LowerOptions {
    /// Each function is in a section of its own.
    pub fn separate(self) -> bool {
        self.linking == Linking::Relocatable || self.for_debuggers
    }

    /// Divisions and roots call functions of the library by the calling convention.
    pub fn calls_library(self) -> bool {
        self.unoptimized && self.separate()
    }

    /// Threads wait for the errors of their accesses before they end, so that a debugger shows whose they are.
    pub fn reports_errors(self) -> bool {
        self.for_debuggers
    }
}

/// How the scheduler before allocation ranks ready instructions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ScheduleMode {
    /// Fewest live registers.
    Pressure,
    /// Longest latency-weighted path.
    #[default]
    Latency,
    /// Loads in batches.
    Batches,
}

/// What scheduling before allocation may know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OrderOptions {
    /// Optimization level 0 to 3.
    pub level: u8,
    /// Instructions may be moved.
    pub reorder: bool,
    /// Ranking.
    pub mode: ScheduleMode,
    /// Where registers do not suffice, what computes with values only may pass barriers.
    pub across_barriers: bool,
    /// In blocks that multiply matrices, loads and copies go between the products.
    pub between_products: bool,
    /// Where registers do not suffice, values are made again where they are used.
    pub rematerialize: bool,
    /// Registers are saved where an SM then holds one block more.
    pub occupancy: bool,
    /// No more general registers than this.
    pub limit: Option<u16>,
}

/// What selection may know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SelectOptions {
    /// Of several ways to write the same, the one whose unit has time for it is chosen.
    pub alternatives: bool,
}

/// What scheduling after allocation and the computation of control words may know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FinishOptions {
    /// Optimization level 0 to 3.
    pub level: u8,
    /// Every instruction waits for everything before it.
    pub serial: bool,
    /// Instructions may be moved.
    pub reorder: bool,
    /// In blocks that multiply matrices, loads and copies go between the products.
    pub between_products: bool,
    /// Flags of the operand cache are set.
    pub reuse: bool,
    /// Longest stall, cycles.
    pub stall_cap: u8,
}

/// Which debug information a container has. Of them only `full` changes code, by way of [`LowerOptions`]: functions then have
/// sections of their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DebugOptions {
    /// Line tables, whether the source has places in it or not.
    pub lines: bool,
    /// None, whatever the source has.
    pub suppressed: bool,
    /// All that debuggers read, as if the header of the module had `debug`; at level 0 only.
    pub full: bool,
}

/// What register allocation may know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AllocateOptions {
    /// Optimization level 0 to 3.
    pub level: u8,
    /// As few registers as possible.
    pub minimal: bool,
    /// Constants that both sides of a branch put into one register are put there before it.
    pub hoist_constants: bool,
    /// Moves on a back edge stand before the branch where they may.
    pub latch_moves: bool,
    /// Values that copies and tuples connect are given registers together.
    pub clusters: bool,
    /// Branches go past blocks that stayed empty, and fall through where they can.
    pub thread_branches: bool,
    /// Most general registers, if limited.
    pub limit: Option<u16>,
    /// In place of it for functions that others call.
    pub function_limit: Option<u16>,
    /// Prove the result right; builds with debug assertions always do.
    pub check: bool,
    /// What needs the frame is given up by the caller: nothing is done to make it better.
    pub frameless: bool,
}

impl Options {
    /// The part that lowering reads.
    pub fn lower(&self) -> LowerOptions {
        LowerOptions {
            linking: self.linking,
            unoptimized: self.level == 0,
            for_debuggers: self.level == 0 && self.debug.full,
        }
    }

    /// What the passes over Ori may know; a stage takes of it what its passes declare.
    pub fn passes(&self) -> PassOptions {
        // Of an optimization that is wanted, the knob is as it is by default.
        let wanted = self.values.iter().zip(KNOBS).filter(|(value, knob)| **value == knob.default);
        let optimizations = wanted.filter_map(|(_, knob)| knob.optimization);
        PassOptions::new(self.level, optimizations.collect()).verifying(self.bool(KnobId::Verify))
    }

    /// The part that scheduling before allocation reads. At level 0 nothing moves.
    pub fn order(&self) -> OrderOptions {
        OrderOptions {
            level: self.level,
            reorder: self.level > 0 && !self.bool(KnobId::NoSched),
            mode: match self.number(KnobId::ScheduleMode) {
                0 => ScheduleMode::Pressure,
                2 => ScheduleMode::Batches,
                _ => ScheduleMode::Latency,
            },
            across_barriers: !self.bool(KnobId::NoCrossBarriers),
            between_products: !self.bool(KnobId::NoBetweenProducts),
            rematerialize: !self.bool(KnobId::NoRemat),
            occupancy: !self.bool(KnobId::NoOccupancy),
            limit: self.register_limit(),
        }
    }

    /// The part that selection reads. At level 0 it writes everything in one way.
    pub fn select(&self) -> SelectOptions {
        SelectOptions { alternatives: self.level > 0 && !self.bool(KnobId::NoSelectAlternatives) }
    }

    /// The part that scheduling after allocation and control words read. At level 0 nothing moves and every instruction
    /// waits for everything.
    pub fn finish(&self) -> FinishOptions {
        FinishOptions {
            level: self.level,
            serial: self.level == 0 || self.bool(KnobId::SerialDeps),
            reorder: self.level > 0 && !self.bool(KnobId::NoSched) && !self.bool(KnobId::NoLateSched),
            between_products: !self.bool(KnobId::NoBetweenProducts),
            reuse: self.level > 0 && !self.bool(KnobId::NoReuse),
            stall_cap: self.number(KnobId::StallCap) as u8,
        }
    }

    fn register_limit(&self) -> Option<u16> {
        self.count(KnobId::Maxrregcount)
    }

    /// A number of registers, of which 0 says nothing.
    fn count(&self, knob: KnobId) -> Option<u16> {
        let limit = self.number(knob);
        (limit > 0).then_some(limit as u16)
    }

    /// The part that register allocation reads.
    pub fn allocate(&self) -> AllocateOptions {
        AllocateOptions {
            level: self.level,
            minimal: self.bool(KnobId::MinRegs),
            hoist_constants: self.level > 0 && !self.bool(KnobId::NoHoistConstants),
            latch_moves: self.level > 0 && !self.bool(KnobId::NoLatchMoves),
            clusters: !self.bool(KnobId::NoRegisterClusters),
            thread_branches: self.level > 0 && !self.bool(KnobId::NoThreadBranches),
            limit: self.register_limit(),
            function_limit: self.count(KnobId::FuncMaxrregcount),
            check: self.bool(KnobId::CheckRegisters),
            frameless: false,
        }
    }
}
