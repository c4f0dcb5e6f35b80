//! One plain struct for each group of phases: all that the group may know of the options.

use crate::Options;

/// What lowering may know: nothing yet changes what PTX means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct LowerOptions {}

/// What the target-independent passes may know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OptimizeOptions {
    /// Optimization level 0 to 3.
    pub level: u8,
    /// Contract multiplies and adds.
    pub fmad: bool,
    /// Copy propagation, constant folding, algebra.
    pub fold: bool,
    /// Removal of unused instructions.
    pub dead_code: bool,
    /// Branch folding and straightening.
    pub branch: bool,
    /// Strength reduction.
    pub strength: bool,
    /// Linear replacement.
    pub linear: bool,
    /// Loop-invariant code motion.
    pub licm: bool,
    /// Global value numbering.
    pub gvn: bool,
    /// Reassociation.
    pub reassociate: bool,
    /// If-conversion.
    pub predication: bool,
    /// Uniform registers where a value allows it.
    pub uniform: bool,
    /// Back copy propagation.
    pub back_copy: bool,
}

/// What the expansions may know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct LegalizeOptions {
    /// Optimization level 0 to 3.
    pub level: u8,
    /// Slow ways of divisions and roots are routines that are called.
    pub routines: bool,
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

/// What scheduling and control words may know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ScheduleOptions {
    /// Optimization level 0 to 3.
    pub level: u8,
    /// Every instruction waits for everything before it.
    pub serial: bool,
    /// Instructions may be moved before registers are chosen.
    pub reorder: bool,
    /// Instructions may be moved after registers are chosen.
    pub reorder_late: bool,
    /// Flags of the operand cache are set.
    pub reuse: bool,
    /// Ranking.
    pub mode: ScheduleMode,
    /// Longest stall, cycles.
    pub stall_cap: u8,
}

/// What register allocation may know.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AllocateOptions {
    /// Optimization level 0 to 3.
    pub level: u8,
    /// As few registers as possible.
    pub minimal: bool,
    /// Most general registers, if limited.
    pub limit: Option<u16>,
    /// Prove the result right; builds with debug assertions always do.
    pub check: bool,
}

impl Options {
    /// The part that lowering reads.
    pub fn lower(&self) -> LowerOptions {
        LowerOptions {}
    }

    /// The part that the target-independent passes read.
    pub fn optimize(&self) -> OptimizeOptions {
        OptimizeOptions {
            level: self.level,
            fmad: self.bool("fmad"),
            fold: !self.bool("no-fold"),
            dead_code: !self.bool("no-dead-code"),
            branch: !self.bool("no-branch-opt"),
            strength: !self.bool("no-strength"),
            linear: !self.bool("no-linear"),
            licm: !self.bool("no-licm"),
            gvn: !self.bool("no-gvn"),
            reassociate: !self.bool("no-reassociate"),
            predication: !self.bool("no-predication"),
            uniform: !self.bool("no-uniform"),
            back_copy: !self.bool("no-back-copy"),
        }
    }

    /// The part that the expansions read.
    pub fn legalize(&self) -> LegalizeOptions {
        LegalizeOptions { level: self.level, routines: !self.bool("no-routines") }
    }

    /// The part that scheduling reads. At level 0 nothing moves and every instruction waits for everything.
    pub fn schedule(&self) -> ScheduleOptions {
        ScheduleOptions {
            level: self.level,
            serial: self.level == 0 || self.bool("serial-deps"),
            reorder: self.level > 0 && !self.bool("no-sched"),
            reorder_late: self.level > 0 && !self.bool("no-sched") && !self.bool("no-late-sched"),
            reuse: self.level > 0 && !self.bool("no-reuse"),
            mode: match self.number("schedule-mode") {
                0 => ScheduleMode::Pressure,
                2 => ScheduleMode::Batches,
                _ => ScheduleMode::Latency,
            },
            stall_cap: self.number("stall-cap") as u8,
        }
    }

    /// The part that register allocation reads.
    pub fn allocate(&self) -> AllocateOptions {
        let limit = self.number("maxrregcount");
        AllocateOptions {
            level: self.level,
            minimal: self.bool("min-regs"),
            limit: (limit > 0).then_some(limit as u16),
            check: self.bool("check-registers"),
        }
    }
}
