//! What makes an id the index of tables: the conversions that typed vectors ask for.
//!
//! It is here because every table over registers, labels or variables is a `TiVec` of that id, so that a table of labels
//! cannot be indexed by a register.

/// Makes a type around a `u32` the index of typed vectors.
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

pub(crate) use index_of_tables;
