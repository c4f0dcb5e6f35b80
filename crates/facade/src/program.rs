//! The library as the program `oriole` uses it: a text in a database of its own, texts that change, and the store of
//! compiled functions.
//!
//! It is here so that library and program open and compile a text in one way, and no command names a query. It is for
//! the program alone and promises nothing to others. No option of a command line is read, no file is opened and nothing
//! is printed.

mod opened;
mod ran;
mod shared;
mod texts;

pub use opened::Opened;
pub(crate) use opened::looked_at;
pub use ran::Ran;
pub use shared::Shared;
pub use texts::{Text, Texts};

/// The extent of a change of a text.
pub use oriole_inputs::Extent;
/// The search for choices of code generation, for a judge of its own.
pub use oriole_pipeline::search;
/// The build of the compiler, which stored results depend on.
pub use oriole_queries::BUILD;
/// The result of a compile: the container if there is one, and the diagnostics.
pub use oriole_queries::Compiled;
/// A form that cannot be compiled, and its places.
pub use oriole_queries::Lacking;
/// The progress of a compile, for another thread to ask for.
pub use oriole_queries::Progress;
/// The store of compiled functions: a program brings a place for its values, such as a folder.
pub use oriole_store::{Cache, Key, KeyBuilder, Mode, Store, frame};
