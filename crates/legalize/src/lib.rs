//! What the chip lacks: expansions of operations that stay whole until a phase says otherwise.
//!
//! It is here so that neither lowering nor the passes know how a missing operation is made up. No PTX, no encoding and no
//! physical register may enter.
//!
//! [`expand_exact`] replaces quotients, remainders, reciprocals and roots (phase 45, in SSA, for it needs control flow,
//! and after the passes that know cheaper ways for constants); [`expand_wide`] splits 64-bit integer operations into
//! 32-bit ones with explicit carries (phase 78), where the chip has none of 64 bits. What is rare in the first goes
//! to a [`routine`], or to a function of the [`library`]. [`uniform_operands`] (phase 55) brings operands to uniform registers where the machine wants them there. The algorithms are Newton iterations with exact residuals; each file says why its results are right
//! whatever the approximation unit gives within its error.

mod emit;
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
