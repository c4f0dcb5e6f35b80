//! Numbers that stand for no block.
//!
//! They are here because both algorithms and the tree that they make use them.

use crate::BlockId;

/// Stands for the position of a block that has none.
pub(super) const NONE: u32 = u32::MAX;
/// No block.
pub(super) const NO_BLOCK: BlockId = BlockId(NONE);
