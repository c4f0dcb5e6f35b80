//! What a run of phases may know beside the function: chip, options of each group, an observer, a cancellation hook.

use crate::Phase;
use oriole_chip::Chip;
use oriole_options::{
    AllocateOptions, FinishOptions, LowerOptions, Options, OrderOptions, PassOptions, SelectOptions,
};
use oriole_ori::Function;

/// Chip and options. A caller that tracks what was read fills in only what the group at hand may read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Settings {
    /// Chip.
    pub chip: Chip,
    /// Of lowering.
    pub lower: LowerOptions,
    /// Of the passes.
    pub passes: PassOptions,
    /// Of scheduling before allocation.
    pub order: OrderOptions,
    /// Of allocation.
    pub allocate: AllocateOptions,
    /// Of selection.
    pub select: SelectOptions,
    /// Of scheduling after allocation, and of control words.
    pub finish: FinishOptions,
}

impl Settings {
    /// Everything that the options say.
    pub fn new(chip: Chip, options: &Options) -> Settings {
        Settings {
            chip,
            lower: options.lower(),
            passes: options.passes(),
            order: options.order(),
            allocate: options.allocate(),
            select: options.select(),
            finish: options.finish(),
        }
    }
}

/// Sees each phase come and go; for dumps, statistics and times.
pub trait Observer {
    /// A phase is about to run.
    fn before(&self, _phase: &Phase) {}
    /// A phase has run.
    fn after(&self, _phase: &Phase, _function: &Function) {}
}

/// An observer that looks away.
pub struct Unobserved;

impl Observer for Unobserved {}

/// What the driver of a group is given.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Chip and options.
    pub settings: &'a Settings,
    /// Sees the phases.
    pub observer: &'a dyn Observer,
    /// Called between phases; it may unwind to cancel the compile.
    pub check: &'a dyn Fn(),
    /// Verify the function after every phase; the options may ask for it too.
    pub verify: bool,
}

impl<'a> Context<'a> {
    /// A context that nobody observes or cancels.
    pub fn new(settings: &'a Settings) -> Context<'a> {
        Context { settings, observer: &Unobserved, check: &|| {}, verify: cfg!(debug_assertions) }
    }
}
