//! The one table of encoded forms: its structure and its queries. Encoder, decoder, printer, assembler parser and
//! legality predicate all walk these rows; the rows themselves are text under `tables/`, which `cargo xtask codegen`
//! turns into Rust.
//!
//! No instruction selection may enter: a form says what is encodable, not what is best.

mod constraints;
mod encoding;
mod shape;
mod table;
mod tables;

#[doc(hidden)]
pub use constraints::{Constraints, Word, mask_len};
pub use encoding::{
    Access, CONTROL_SHIFT, Elided, Field, FloatKind, Form, NO_BIT, Place, Row, SELF, Set, Slot, SlotKind,
    Token, Width,
};
pub(crate) use shape::OperandKinds;
#[doc(hidden)]
pub use shape::can_be_left_out;
pub use shape::{MOST_OPERANDS, Shape};
pub use table::{FormId, Table};

use oriole_chip::Chip;

/// The form table of a chip, or `None` if there is none for it.
pub fn table(chip: Chip) -> Option<&'static Table> {
    tables::of(chip.number())
}
