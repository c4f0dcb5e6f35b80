//! Reduction of PTX: from a module with a property to the smallest one that still has it.
//!
//! A candidate is a text; the property is a function of a text that the caller gives, such as a command that compiles it
//! and searches the result. The stages of [`STAGES`] propose changes from the syntax tree, from whole functions down to
//! modifiers, and [`reduce`] tries them in ever smaller groups. It ends when no change of any stage keeps the property.
//! No process, file or clock enters here, and nothing that knows what an instruction means.

mod module;
mod search;
mod stages;
mod text;

pub use search::{Step, reduce};
pub use stages::{STAGES, Stage};
