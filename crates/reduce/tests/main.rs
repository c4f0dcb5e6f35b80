//! Reduction of small modules to what is left of them. One program, so that it is linked once.

mod reduced;
