//! Inputs of a lowering besides the function: the chip and the options of this stage. No text and no other stage's
//! options, because a function is lowered again when one of these changes.

use oriole_chip::Chip;
use oriole_options::LowerOptions;

/// Inputs of lowering besides the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Environment {
    /// The chip that code is made for.
    pub chip: Chip,
    /// The options of this stage.
    pub options: LowerOptions,
}
