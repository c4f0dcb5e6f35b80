//! What makes an id the index of tables: the conversions that typed vectors ask for.
//!
//! It is here because every table over blocks, values or symbols of Ori, and over registers, labels or variables of a
//! resolved body, is a `TiVec` of that id: a table of blocks cannot be indexed by a value. It knows no id; the crate
//! that owns one names it.

/// Makes a type around a `u32` the index of typed vectors.
///
/// ```
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// struct BlockId(u32);
/// oriole_index::index_of_tables!(BlockId);
///
/// assert_eq!(BlockId::from(7_usize), BlockId(7));
/// assert_eq!(usize::from(BlockId(7)), 7);
/// ```
#[macro_export]
macro_rules! index_of_tables {
    ($id:ident) => {
        impl From<usize> for $id {
            #[inline]
            fn from(index: usize) -> $id {
                debug_assert!(u32::try_from(index).is_ok(), "more than 2^32 entries");
                $id(index as u32)
            }
        }

        impl From<$id> for usize {
            #[inline]
            fn from(id: $id) -> usize {
                let $id(index) = id;
                index as usize
            }
        }
    };
}
