//! The number of a row of patterns.
//!
//! It is here because machine instructions remember it, which tests of patterns look at. Only the number may enter.

/// The index of a row in its table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RowId(pub(super) u16);
