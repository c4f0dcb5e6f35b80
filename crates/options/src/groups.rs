//! One plain struct for each stage that reads options: all options that the stage can depend on.

use crate::{KNOBS, KnobId, Limits, Options, PassOptions};

/// The parts of a module that are left to a linker.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub enum Linking {
    /// None: the loader takes the module as it is.
    #[default]
    Whole,
    /// Definitions of other files. Its own functions and shared memory are laid out as for whole-program output.
    Extensible,
    /// All: functions and variables are placed by a linker.
    Relocatable,
}

impl Linking {
    /// Whether other files may define symbols that the module names.
    pub fn leaves_open(self) -> bool {
        self != Linking::Whole
    }
}

/// Options of lowering.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct LowerOptions {
    /// The parts left to a linker.
    pub linking: Linking,
    /// Level 0. Optimized code is never a debug build.
    pub unoptimized: bool,
    /// The options or the module ask for full debug info; only at level 0.
    pub for_debuggers: bool,
    /// Lanes that load from one address together are not taken to agree, nor are those of a warp on its number.
    pub lanes_apart: bool,
    /// Calls of functions of the module are inlined where it is worth it; only in whole programs.
    pub inlines: bool,
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

    /// Threads wait for the errors of their accesses before they exit, so that a debugger can attribute them.
    pub fn reports_errors(self) -> bool {
        self.for_debuggers
    }
}

/// The ranking of ready instructions in the scheduler before allocation.
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

/// Options of scheduling before allocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OrderOptions {
    /// Instructions may be moved.
    pub reorder: bool,
    /// They are moved before allocation in every function, not only in those whose values then need the frame.
    pub early: bool,
    /// Functions are scheduled again for fewer registers, with which an SM holds more warps.
    pub again: bool,
    /// Ranking.
    pub mode: ScheduleMode,
    /// Under register pressure, computations on values only may cross barriers.
    pub across_barriers: bool,
    /// In blocks with MMAs, loads and copies are placed between the MMAs.
    pub between_products: bool,
    /// Under register pressure, values are rematerialized at their uses.
    pub rematerialize: bool,
    /// Registers are reduced where an SM then holds one more block.
    pub occupancy: bool,
    /// Registers are free up to a count with which an SM holds as many warps as it can.
    pub budgeted: bool,
    /// No more general registers than this.
    pub limit: Option<u16>,
}

/// Options of selection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SelectOptions {
    /// Among equivalent instructions, the one with the less busy unit is selected.
    pub alternatives: bool,
}

/// Options of scheduling after allocation and of control words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FinishOptions {
    /// Every instruction waits for everything before it.
    pub serial: bool,
    /// Instructions may be moved.
    pub reorder: bool,
    /// In blocks with MMAs, loads and copies are placed between the MMAs.
    pub between_products: bool,
    /// Of results that a unit completes in order and that one instruction waits for, the last one has a scoreboard; loads
    /// do not wait until earlier ones have read their addresses, where the chip lets them.
    pub in_order: bool,
    /// Flags of the operand cache are set.
    pub reuse: bool,
    /// Longest stall, cycles.
    pub stall_cap: u8,
}

/// Debug info of a container. Only `full` changes code, through [`LowerOptions`]: functions then have sections of their
/// own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DebugOptions {
    /// Line tables, whether the source has places in it or not.
    pub lines: bool,
    /// None, even if the source has line directives.
    pub suppressed: bool,
    /// Full debug info, as if the header of the module had `debug`; at level 0 only.
    pub full: bool,
}

/// Options of register allocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AllocateOptions {
    /// Optimization level 0 to 3.
    pub level: u8,
    /// As few registers as possible.
    pub minimal: bool,
    /// Constants that both sides of a branch materialize in one register are hoisted before it.
    pub hoist_constants: bool,
    /// Moves on a back edge are placed before the branch where possible.
    pub latch_moves: bool,
    /// Blocks that are rarely run go to the end.
    pub cold_blocks: bool,
    /// Values that copies and tuples connect are assigned registers together.
    pub clusters: bool,
    /// Branches skip empty blocks, and fall through where they can.
    pub thread_branches: bool,
    /// Values take other registers where they would wait for memory accesses.
    pub rename: bool,
    /// Most general registers, if limited.
    pub limit: Option<u16>,
    /// Limit for functions that others call, instead of that.
    pub function_limit: Option<u16>,
    /// Fewer registers than this are worth nothing.
    pub enough: Option<u16>,
    /// The first allocation is improved by others: with fewer registers, and with the least recently used one first.
    pub improve: bool,
    /// Values take the registers in turn, as many as `enough` and as are live at once: nothing was scheduled before.
    pub in_turn: bool,
    /// Verify the result; builds with debug assertions always do.
    pub check: bool,
    /// The caller rejects results that need the frame: little effort is made to improve them.
    pub frameless: bool,
}

impl Options {
    /// The part that lowering reads.
    pub fn lower(&self) -> LowerOptions {
        LowerOptions {
            linking: self.linking,
            unoptimized: self.level == 0,
            for_debuggers: self.level == 0 && self.debug.full,
            lanes_apart: self.level == 0 || self.bool(KnobId::NoUniformSources),
            inlines: self.level > 0 && self.linking == Linking::Whole && !self.bool(KnobId::NoInlining),
        }
    }

    /// The options of the passes over Ori; a stage takes the part that its passes declare.
    pub fn passes(&self) -> PassOptions {
        // For an optimization that is enabled, the knob has its default value.
        let wanted = self.values.iter().zip(KNOBS).filter(|(value, knob)| **value == knob.default);
        let optimizations = wanted.filter_map(|(_, knob)| knob.optimization);
        let limits =
            Limits { phases: self.number(KnobId::PhaseLimit), rewrites: self.number(KnobId::RewriteLimit) };
        let options = PassOptions::new(self.effort(), optimizations.collect());
        options.verifying(self.bool(KnobId::Verify)).limited(limits)
    }

    /// The part that scheduling before allocation reads. At level 0 nothing moves, at level 1 little before allocation, and
    /// up to level 2 no function is scheduled again.
    pub fn order(&self) -> OrderOptions {
        OrderOptions {
            reorder: self.level > 0 && !self.bool(KnobId::NoSched),
            early: self.level > 1 && !self.bool(KnobId::NoEarlySched),
            again: self.level > 2 && !self.bool(KnobId::NoReschedule),
            mode: match self.number(KnobId::ScheduleMode) {
                0 => ScheduleMode::Pressure,
                2 => ScheduleMode::Batches,
                _ => ScheduleMode::Latency,
            },
            across_barriers: !self.bool(KnobId::NoCrossBarriers),
            between_products: self.level > 1 && !self.bool(KnobId::NoBetweenProducts),
            rematerialize: !self.bool(KnobId::NoRemat),
            occupancy: !self.bool(KnobId::NoOccupancy),
            budgeted: !self.bool(KnobId::NoRegisterBudget),
            limit: self.register_limit(),
        }
    }

    /// The part that selection reads. Below level 2 there is one way to select each instruction.
    pub fn select(&self) -> SelectOptions {
        SelectOptions { alternatives: self.level > 1 && !self.bool(KnobId::NoSelectAlternatives) }
    }

    /// The part that scheduling after allocation and control words read. At level 0 nothing moves and every instruction
    /// waits for everything.
    pub fn finish(&self) -> FinishOptions {
        FinishOptions {
            serial: self.level == 0 || self.bool(KnobId::SerialDeps),
            reorder: self.level > 0 && !self.bool(KnobId::NoSched) && !self.bool(KnobId::NoLateSched),
            between_products: self.level > 1 && !self.bool(KnobId::NoBetweenProducts),
            in_order: !self.bool(KnobId::NoInOrder),
            reuse: self.level > 1 && !self.bool(KnobId::NoReuse),
            stall_cap: self.number(KnobId::StallCap) as u8,
        }
    }

    fn register_limit(&self) -> Option<u16> {
        self.count(KnobId::Maxrregcount)
    }

    /// A number of registers; 0 means no limit.
    fn count(&self, knob: KnobId) -> Option<u16> {
        let limit = self.number(knob);
        (limit > 0).then_some(limit as u16)
    }

    /// The part that register allocation reads. Up to level 2 the first allocation is the last.
    pub fn allocate(&self) -> AllocateOptions {
        AllocateOptions {
            level: self.effort(),
            minimal: self.bool(KnobId::MinRegs),
            hoist_constants: self.level > 0 && !self.bool(KnobId::NoHoistConstants),
            latch_moves: self.level > 0 && !self.bool(KnobId::NoLatchMoves),
            cold_blocks: self.level > 0 && !self.bool(KnobId::NoColdBlocks),
            clusters: !self.bool(KnobId::NoRegisterClusters),
            thread_branches: self.level > 0 && !self.bool(KnobId::NoThreadBranches),
            rename: self.level > 1 && !self.bool(KnobId::NoRename),
            limit: self.register_limit(),
            function_limit: self.count(KnobId::FuncMaxrregcount),
            enough: None,
            improve: self.level > 2 && !self.bool(KnobId::NoReallocation),
            in_turn: false,
            check: self.bool(KnobId::CheckRegisters),
            frameless: false,
        }
    }
}
