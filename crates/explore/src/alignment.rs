//! Which rows of two codes are next to each other on a page: rows that are equal but for register indices, and between
//! those, rows with the same opcode.
//!
//! It is here because code of two compilers has few equal rows, and many of the same opcode in the same order.
//! `comparison.rs` decides which rows are equal.

use similar::{Algorithm, DiffOp, capture_diff_slices_by_key};

use crate::code::{KernelCode, Row};
use crate::comparison::{Change, Manner, key};

/// Rows that are next to each other, by their indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alignment {
    /// Their difference.
    pub change: Change,
    /// The rows.
    pub rows: [Option<usize>; 2],
}

/// Aligns two codes: each row is there once, in its order.
pub fn aligned(kernels: [&KernelCode; 2]) -> Vec<Alignment> {
    let [first, second] = kernels.map(|kernel| kernel.rows.as_slice());
    let mut list = Vec::with_capacity(first.len().max(second.len()));
    for op in capture_diff_slices_by_key(Algorithm::Myers, first, second, |row| key(row, Manner::default())) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => list.extend((0..len).map(|at| Alignment {
                change: Change::Same,
                rows: [Some(old_index + at), Some(new_index + at)],
            })),
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                let (old, new) = (op.old_range(), op.new_range());
                by_opcode([&first[old.clone()], &second[new.clone()]], [old.start, new.start], &mut list);
            }
        }
    }
    list
}

/// Rows of a stretch without equal ones: those with one opcode are next to each other, the others alone.
fn by_opcode(rows: [&[Row]; 2], starts: [usize; 2], list: &mut Vec<Alignment>) {
    let [first, second] = rows;
    for op in capture_diff_slices_by_key(Algorithm::Myers, first, second, |row| row.instruction.op.name()) {
        let (old, new) = (op.old_range(), op.new_range());
        let old: Vec<usize> = old.map(|at| starts[0] + at).collect();
        let new: Vec<usize> = new.map(|at| starts[1] + at).collect();
        if matches!(op, DiffOp::Equal { .. }) {
            let pairs = old.into_iter().zip(new);
            list.extend(
                pairs.map(|(one, other)| Alignment {
                    change: Change::Changed,
                    rows: [Some(one), Some(other)],
                }),
            );
        } else {
            let alone = |change, rows| Alignment { change, rows };
            list.extend(old.into_iter().map(|at| alone(Change::Removed, [Some(at), None])));
            list.extend(new.into_iter().map(|at| alone(Change::Added, [None, Some(at)])));
        }
    }
}
