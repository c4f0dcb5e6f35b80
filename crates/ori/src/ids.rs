//! Ids of blocks and symbols.
//!
//! They are here because operands name them, and functions hold both the operands and what the ids stand for.

/// A basic block: an index into [`crate::Function::blocks`] and into every table over blocks.
///
/// ```compile_fail,E0277
/// # use oriole_ori::{BlockId, Value};
/// # use typed_index_collections::{TiVec, ti_vec};
/// let depths: TiVec<BlockId, u32> = ti_vec![0; 4];
/// let depth = depths[Value(2)];
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
pub struct BlockId(pub u32);

crate::index_of_tables!(BlockId);

/// A symbol outside the function (or a local variable): an index into [`crate::Function::symbols`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
pub struct SymbolId(pub u32);

crate::index_of_tables!(SymbolId);
