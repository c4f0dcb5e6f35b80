//! The instruction set as data: opcode names, modifier tokens, operands, and the one table of encoded forms from
//! which encoder, decoder, printer, assembler parser and legality predicate derive.
//!
//! It is here because all code about SASS must use the same table. No virtual register, no pass, no latency and no
//! file format may enter.

pub mod access;
mod choose;
pub mod decode;
pub mod encode;
mod error;
mod fill;
mod float;
pub mod form;
pub mod info;
pub mod instruction;
mod legal;
pub mod modifier;
pub mod mods;
pub mod op;
pub mod parse;
pub mod print;
pub mod register;
mod role;
mod substitute;
pub mod symbol;
mod texture;
mod width;
mod word;

pub use access::{Access, accesses, accesses_of, source_alignment};
pub use decode::{DecodeError, decode};
pub use encode::{encode, encode_as, form_of};
pub use error::{EncodeError, Leftover};
pub use form::FormId;
pub use info::{Class, Effect, OpInfo, Unit};
pub use instruction::{Control, Guard, Instruction, Operand, OperandKind};
pub use legal::{cached_operands, legal, why_not_legal};
pub use modifier::Mod;
pub use mods::Mods;
pub use op::Op;
pub use parse::{ParseError, parse};
pub use print::{Style, text};
pub use register::RegisterFile;
pub use role::{ResultPart, Slot};
pub use substitute::{has, has_long_extremes, has_long_integers, on_chip, unsaid};
pub use symbol::Symbol;
pub use word::{InstructionWord, append_words, words_of_bytes};

/// Parts of this crate that only its tests ask.
#[doc(hidden)]
pub mod tested {
    pub use crate::choose::{Slots, choose_for, fits};
    pub use crate::fill::{Asked, fill};
    pub use crate::float::{parse, text};
    pub use crate::form::{Constraints, Word, can_be_left_out, mask_len};
    pub use crate::substitute::SAME;
}
