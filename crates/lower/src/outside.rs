//! The options of lowering that a body reads: one that names nothing outside of itself is lowered in one way, whatever is
//! left to a linker.
//!
//! It is apart from the families because each of them that reads [`Linking`] does so for a name: of a variable of the
//! module, of shared memory, or of a function. No other option is narrowed here.

use oriole_hir::Body;
use oriole_options::{Linking, LowerOptions};
use oriole_ptx::Space;

/// The options, with all that the body does not read at its default, so that results for other options can be shared.
pub fn options_for(body: &Body, options: LowerOptions) -> LowerOptions {
    if options.separate() || names_outside(body) {
        return options;
    }
    LowerOptions { linking: Linking::Whole, ..options }
}

/// Whether a body names functions, or memory that a linker places.
fn names_outside(body: &Body) -> bool {
    let own = |space| matches!(space, Space::Local | Space::KernelParameter | Space::FunctionParameter);
    !body.functions.is_empty() || !body.variables.values().all(|variable| own(variable.space))
}
