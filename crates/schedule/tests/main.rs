//! Tests of control words with the hazard checker: on ptxas code, and with a wrong width planted. One test program,
//! so that it is linked once.

mod foreign_code;
mod wrong_width;
