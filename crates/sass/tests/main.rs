//! Tests of words and their texts: those of real code, of each opcode, and the registers in them. One program, so
//! that it is linked once.

mod cubins;
mod registers;
mod text;
