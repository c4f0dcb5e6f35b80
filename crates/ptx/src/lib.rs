//! The PTX language as data: scalar types, state spaces, special registers, and one declarative row for each
//! instruction form.
//!
//! The checker, the reference pages, completion, the interpreter and the lowering share this one meaning of an
//! instruction. No syntax tree, no machine opcode and no register allocation may enter.

pub mod space;
pub mod types;

pub use space::Space;
pub use types::Type;

mod nearest;
pub mod opcode;
mod shape;
pub mod special;
pub mod table;
pub mod word;

pub use nearest::{nearest, nearest_of, nearest_special};
pub use opcode::Opcode;
pub use shape::MatrixShape;
pub use special::SpecialRegister;
pub use word::{Modifiers, Word};
