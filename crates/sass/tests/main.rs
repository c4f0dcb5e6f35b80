//! Tests of words and their texts: those of real code, of each opcode, and the registers in them; and of the tables and
//! the choice of forms. One program, so that it is linked once. There are no others: a copy of all tables for unit
//! tests takes as long to build as the crate.

mod choice;
mod cubins;
mod floats;
mod registers;
mod tables;
mod text;
