//! The linker: from encoded functions and the variables of a module to images of kernels, and from these to a container.
//!
//! It is a crate of its own, after the stages, because these questions concern several units at once, and pure, so that each is tested
//! without a database: the query layer reads what a question needs, asks it here and remembers the answer. No unit, no query, no text of
//! a file and no pass may enter.

pub mod call_graph;
pub mod container;
pub mod data;
pub mod debug_info;
pub mod debug_program;
pub mod error;
pub mod image;
pub mod layout;
pub mod source;
pub mod symbols;

pub use call_graph::CallGraph;
pub use error::{ImageError, LinkError};
pub use layout::Layout;
pub use symbols::{ModuleSymbols, ModuleVariable, VariableSpace, function_value};
