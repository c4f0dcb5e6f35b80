//! Legalization: expansions of operations that the chip lacks; they stay whole until a phase expands them.
//!
//! It is here so that neither lowering nor the passes know how a missing operation is expanded. No PTX, no encoding
//! and no physical register may enter.
//!
//! [`exchanges`] (phase 5) makes lanes that reach an exchange at several places meet in a routine. [`expand_exact`]
//! expands divisions, remainders, reciprocals and square roots (phase 45, in SSA, since it needs
//! control flow, and after the passes that have cheaper sequences for constants). [`expand_wide`] splits 64-bit
//! integer operations into 32-bit ones with explicit carries (phase 78), where the chip has no 64-bit ones. Slow
//! paths of the former go to a [`routine`], or to a function of the [`library`]. [`uniform_operands`] (phase 55)
//! copies operands to uniform registers where the hardware requires them. The algorithms are Newton iterations with
//! exact residuals; each file says why its results are correct for any error of the approximation unit within its
//! bound.

mod emit;
mod exchange_places;
mod exchange_routine;
pub mod exchanges;
pub mod expand_exact;
mod expand_missing;
pub mod expand_wide;
mod float_divide;
mod integer_divide;
pub mod library;
mod long;
mod long_divisions;
mod long_operands;
mod root;
pub mod routine;
pub mod uniform_operands;
mod wide;
