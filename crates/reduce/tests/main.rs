//! Reduction of small modules, with the modules that are left. One program, so that it is linked
//! once.

mod reduced;
