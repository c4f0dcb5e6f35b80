//! The stages of a reduction, coarse ones first: one row is one stage.
//!
//! A stage proposes changes of a module and does not know which of them keep the property. Each makes the module smaller or
//! simpler, and none undoes what another one does, so the stages come to an end.

mod declarations;
mod names;
mod operands;
mod statements;
mod trivia;
mod units;

use crate::module::Module;
use crate::text::Change;

/// A stage: a kind of change.
#[derive(Clone, Copy)]
pub struct Stage {
    /// Its name, for progress.
    pub name: &'static str,
    /// All changes of a module, in text order.
    pub(crate) changes: fn(&Module<'_>) -> Vec<Change>,
    /// Whether it is tried again at once when it has found something, because its changes make others of its own possible.
    pub(crate) again: bool,
}

impl PartialEq for Stage {
    fn eq(&self, other: &Stage) -> bool {
        self.name == other.name
    }
}

impl Eq for Stage {}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn once(name: &'static str, changes: fn(&Module<'_>) -> Vec<Change>) -> Stage {
    Stage { name, changes, again: false }
}

const fn again(name: &'static str, changes: fn(&Module<'_>) -> Vec<Change>) -> Stage {
    Stage { name, changes, again: true }
}

/// Every stage, in the order in which they are tried.
pub const STAGES: &[Stage] = &[
    once("debug information", units::debug_information),
    once("comments", trivia::comments),
    once("units", units::units),
    once("bodies", units::bodies),
    once("scopes", statements::scopes),
    once("instructions", statements::instructions),
    again("unused declarations", declarations::unused),
    once("white space", trivia::white_space),
    once("declarations", declarations::all),
    once("braces", statements::braces),
    once("guards", operands::guards),
    once("attributes", declarations::attributes),
    once("values", declarations::values),
    once("parameters", declarations::parameters),
    once("vectors", operands::vectors),
    once("long vectors", operands::long_vectors),
    once("constants", operands::constants),
    once("numbers", operands::numbers),
    again("offsets", operands::offsets),
    once("registers", operands::registers),
    once("modifiers", operands::modifiers),
    once("register names", names::registers),
    once("names", names::names),
];
