//! What a run of phases may know beside the function: chip, options of each group, a cancellation hook.

use oriole_chip::Chip;
use oriole_options::{
    AllocateOptions, FinishOptions, LowerOptions, Options, OrderOptions, PassOptions, SelectOptions,
};

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

/// What the driver of a group is given.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Chip and options.
    pub settings: &'a Settings,
    /// Called between phases; it may unwind to cancel the compile.
    pub check: &'a dyn Fn(),
    /// Verify the function after every phase; the options may ask for it too.
    pub verify: bool,
}

impl<'a> Context<'a> {
    /// A context that nobody cancels.
    pub fn new(settings: &'a Settings) -> Context<'a> {
        Context { settings, check: &|| {}, verify: cfg!(debug_assertions) }
    }
}
