//! The debug info of a module: line tables, and the debug sections of its text with their names resolved.
//!
//! It comes after code and images, so that neither depends on the number of a line or on a name that only debuggers use.

pub mod lines;
pub mod names;
pub mod parts;
pub mod places;
pub mod text;

pub use lines::{KernelLines, LinedCode, LinedMember, line_sections, name_in_module};
pub use names::add_sections;
pub use parts::{DebugParts, OpenReference, loaded_variables};
pub use places::{CodePlaces, FinishedCode};
pub use text::TextSections;
