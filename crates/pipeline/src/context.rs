//! Inputs of a run of phases in addition to the function: the target, options of each group, a cancellation
//! hook.

use crate::Target;
use oriole_options::{
    AllocateOptions, Choices, FinishOptions, LowerOptions, Options, OrderOptions, PassOptions, SelectOptions,
};
use oriole_ori::pattern::Decisions;

/// The options of all stages. A caller that tracks what was read fills in only what the group at hand may read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Settings {
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
    pub fn new(options: &Options) -> Settings {
        Settings {
            lower: options.lower(),
            passes: options.passes(),
            order: options.order(),
            allocate: options.allocate(),
            select: options.select(),
            finish: options.finish(),
        }
    }

    /// These settings with choices of the search.
    #[must_use]
    pub fn choosing(self, choices: Choices) -> Settings {
        Settings {
            lower: self.lower,
            passes: choices.passes(self.passes),
            order: choices.order(self.order),
            allocate: choices.allocate(self.allocate),
            select: choices.select(self.select),
            finish: choices.finish(self.finish),
        }
    }
}

/// Inputs of the driver of a group.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The chip and all that is known of it.
    pub target: &'a Target,
    /// The options.
    pub settings: &'a Settings,
    /// Called between phases; it may unwind to cancel the compile.
    pub check: &'a dyn Fn(),
    /// Verify the function after every phase; the options may ask for it too.
    pub verify: bool,
    /// Where contests that passes decide are recorded, if they are to be shown.
    pub decisions: Option<&'a Decisions>,
}

impl<'a> Context<'a> {
    /// A context that is never cancelled.
    pub fn new(target: &'a Target, settings: &'a Settings) -> Context<'a> {
        Context { target, settings, check: &|| {}, verify: cfg!(debug_assertions), decisions: None }
    }
}
