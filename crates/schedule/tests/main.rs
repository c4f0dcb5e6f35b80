//! Tests of control words with the hazard checker: on code of another compiler, and with a wrong width planted. One program, so
//! that it is linked once.

mod foreign_code;
mod wrong_width;
