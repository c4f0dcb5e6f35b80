//! Ids as indices of tables: the conversions that typed vectors need.
//!
//! Every table over blocks, values or symbols is a `TiVec` of that id, so that a table of blocks cannot be indexed by a value.
//! Values of ids are written out in text, counted and compared as numbers, which ids of an arena hide.

/// Makes a type around a `u32` the index of typed vectors.
///
/// ```
/// #[derive(Clone, Copy, PartialEq, Debug)]
/// struct NodeId(u32);
/// oriole_ori::index_of_tables!(NodeId);
///
/// assert_eq!(NodeId::from(7_usize), NodeId(7));
/// assert_eq!(usize::from(NodeId(7)), 7);
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
