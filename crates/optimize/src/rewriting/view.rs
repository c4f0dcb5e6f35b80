//! The context of the rewrites of one instruction: chip, function, definitions, facts.
//!
//! It is here because every family of rewrites reads it. No rewrite may enter.

use crate::analyses::definitions::Definitions;
use crate::analyses::value_facts::ValueFacts;
use oriole_chip::Chip;
use oriole_ori::Function;
use oriole_ori::pattern::Decisions;

/// Read-only context of the rewrites.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The chip, for legality.
    pub chip: Chip,
    /// The function.
    pub function: &'a Function,
    /// Definitions of values.
    pub definitions: &'a Definitions,
    /// Facts about the values.
    pub facts: &'a ValueFacts,
    /// Record of contests.
    pub decisions: Option<&'a Decisions>,
}
