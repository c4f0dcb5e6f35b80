//! ptxas's command line and its text as data: the names and meanings of its options, their spelling, the grammar of its
//! messages, its report of resources, its help and version.
//!
//! Every drop-in replacement (the program under that name, a library with the functions of NVIDIA's) reads the same
//! options and emits the same text. Nothing is compiled here, no file is opened and nothing is printed: the caller
//! brings texts and takes messages.
//!
//! Sequence of a call: [`parse`] reads the words, [`Request::new`] interprets them, [`Source::join`] makes one module
//! of the inputs and the options that stand for directives, the caller compiles, [`translate`] and [`Resources`] report
//! the result.

mod architecture;
mod cache_operators;
mod command_line;
mod edit;
mod message;
mod options;
mod request;
mod resources;
mod source;
mod texts;
mod translate;

pub use architecture::Architecture;
pub use cache_operators::CacheOperators;
pub use command_line::{CommandLine, parse};
pub use message::{Entry, Form, Log, Severity};
pub use options::{Here, Kind, OPTIONS, Opt, Row};
pub use request::{Action, Compilation, Limits, Request, TensorChecks, Threads};
pub use resources::{FunctionNeeds, KernelNeeds, Resources};
pub use source::{Input, Source, program_name};
pub use texts::{ISA_VERSIONS, TOOLKIT, architectures, help, isa_versions, version};
pub use translate::{is_of_the_text, is_unsupported, translate};
