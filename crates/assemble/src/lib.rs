//! Text of machine code, as `oriole dis` prints it, to instruction words, with labels; and these words into the code of a
//! cubin of any producer.
//!
//! It is here, apart from the parser of one instruction, because lines of a listing know of one another: a label is a
//! place, and places move when lines are inserted. Structures of the file format must never enter; `oriole-cubin` has
//! them. Nothing is read or written here.

mod into;
mod labels;
mod listing;
mod returns;

pub use into::{Edited, IntoError, Warning, into_cubin};
pub use labels::{LINE_LABEL, Labels};
pub use listing::{FunctionText, RAW_WORD, TextError, assemble};
