//! The shape of a matrix instruction, which a modifier such as `.m16n8k16` spells.

use crate::word::{Modifiers, Word};

/// The shape of a matrix multiply: `rows` times `depth` by `depth` times `columns`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MatrixShape {
    /// `m`
    pub rows: u32,
    /// `n`
    pub columns: u32,
    /// `k`
    pub depth: u32,
}

impl MatrixShape {
    /// The shape that a word names.
    pub fn of_word(word: Word) -> Option<MatrixShape> {
        let (rows, rest) = word.name().strip_prefix('m')?.split_once('n')?;
        let (columns, depth) = rest.split_once('k')?;
        Some(MatrixShape {
            rows: rows.parse().ok()?,
            columns: columns.parse().ok()?,
            depth: depth.parse().ok()?,
        })
    }
}

impl Modifiers {
    /// The shape among them.
    pub fn matrix_shape(&self) -> Option<MatrixShape> {
        self.iter().find_map(MatrixShape::of_word)
    }
}
