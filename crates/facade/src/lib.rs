//! Oriole as a library: PTX in, a cubin out, with all the information that the compiler has about it.
//!
//! A program that embeds the compiler has one crate to name, and its interface fits on one page. Public items here keep
//! their meaning from one minor version to the next; the other crates of the project promise nothing. No compiler
//! stage, no file, no clock, no environment and no terminal may enter.
//!
//! # One compile
//!
//! [`compile`] takes a text and [`Options`] and returns a [`Cubin`], or a [`Report`] with the errors of the text:
//!
//! ```
//! let ptx = "
//! .version 8.0
//! .target sm_90
//! .address_size 64
//! .visible .entry twice(.param .u64 p)
//! {
//!     .reg .b32 %r<3>;
//!     .reg .b64 %d<3>;
//!     ld.param.u64 %d1, [p];
//!     cvta.to.global.u64 %d2, %d1;
//!     ld.global.u32 %r1, [%d2];
//!     add.u32 %r2, %r1, %r1;
//!     st.global.u32 [%d2], %r2;
//!     ret;
//! }";
//! let cubin = oriole::compile(ptx, &oriole::Options::new())?;
//! assert_eq!(&cubin.bytes[..4], b"\x7fELF");
//! assert_eq!(cubin.functions[0].name, "twice");
//! assert_eq!(cubin.functions[0].spill_stores, 0);
//! # Ok::<(), oriole::Report>(())
//! ```
//!
//! A text that does not compile gives its diagnostics, each with a code, a place and a message:
//!
//! ```
//! let report = oriole::compile(".version 8.0\n.target sm_90\n.entry k() { foo; }", &oriole::Options::new()).unwrap_err();
//! let first = report.errors().next().unwrap();
//! assert_eq!((first.line, first.code.as_str()), (3, "ptx::unknown-instruction"));
//! println!("{}", report.rendered("k.ptx", oriole::Style::Plain));
//! ```
//!
//! # Many compiles of texts that change
//!
//! A [`Session`] caches its results. After an edit only results that depend on it are recomputed, and the output is
//! that of a compile of the new text alone, byte by byte:
//!
//! ```
//! # let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.entry a() { ret; }\n.entry b() { ret; }\n";
//! let mut session = oriole::Session::new(oriole::Options::new());
//! let file = session.open(ptx);
//! let before = session.compile(file).unwrap();
//! let at = ptx.find("ret").unwrap();
//! session.edit(file, at..at + 3, "trap");
//! let after = session.compile(file).unwrap();
//! assert_ne!(before.bytes, after.bytes);
//! ```
//!
//! A thread that must not wait for a compile hands it to another one as a [`Snapshot`], and keeps its [`Canceller`].
//!
//! # Drop-in replacement of ptxas
//!
//! [`ptxas`] compiles with ptxas's options, and emits ptxas's messages; `oriole_ptxas` reads the command line.
//!
//! # Running without a GPU
//!
//! [`run::interpret`] runs a kernel as PTX is defined, [`run::simulate`] the machine code of a cubin of any compiler;
//! [`interpret_checked`] finds races and accesses outside of memory, [`profile`] says why a kernel is slow, [`verify`] compares
//! text and code on launches that it makes, and [`disassemble`] shows the code:
//!
//! ```
//! use oriole::run::{Argument, Launch, interpret, simulate};
//! # let ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry twice(.param .u64 p) {\n\
//! #   .reg .b32 %r<3>; .reg .b64 %d<2>; ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1];\n\
//! #   add.u32 %r2, %r1, %r1; st.global.u32 [%d1], %r2; ret; }";
//! let mut launch = Launch::new("twice");
//! launch.arguments.push(Argument::Buffer(21u32.to_le_bytes().to_vec()));
//! let after = interpret(ptx, &launch)?.buffers.remove(0);
//! assert_eq!(after, Some(42u32.to_le_bytes().to_vec()));
//! let cubin = oriole::compile(ptx, &oriole::Options::new()).unwrap();
//! assert_eq!(simulate(&cubin.bytes, &launch, false)?.buffers.remove(0), after);
//! # Ok::<(), oriole::run::RunError>(())
//! ```
//!
//! # Queries of an editor
//!
//! [`ide`] is the whole interface of the language server in plain data: hovers, completions, machine code with its map to the
//! text, statistics of a kernel and the reasons for them.

mod checked;
mod cubin;
mod listing;
mod options;
mod profiled;
#[doc(hidden)]
pub mod program;
pub mod ptxas;
mod report;
pub mod run;
mod session;
mod verification;

pub use checked::{CheckFinding, CheckPlace, CheckedRun, UnknownCheck, checks, interpret_checked};
pub use cubin::Cubin;
pub use listing::{Listing, disassemble};
pub use options::{OptionError, Options};
pub use oriole_chip::Chip;
pub use oriole_diagnostics::{Code, Severity};
/// Queries of an editor, in plain data.
pub use oriole_ide as ide;
pub use oriole_queries::view::Resources;
pub use profiled::{Profile, ProfileFinding, ProfilePlace, Where, profile, profile_code};
pub use report::{Diagnostic, Report, Style, rendered};
pub use session::{Cancelled, Canceller, FileId, Session, Snapshot};
pub use verification::{Verdict, Verification, verify, verify_until};

use program::Opened;

/// Compiles a text. The bytes depend on the text and the options alone, not on the number of threads.
///
/// # Errors
/// The errors of the text, or features that the compiler does not support. Warnings of a text that compiles are in
/// [`Cubin::warnings`].
pub fn compile(text: &str, options: &Options) -> Result<Cubin, Report> {
    let opened = Opened::once(text, options.chip, &options.compiler);
    let compiled = opened.compile(options.threads.get());
    cubin::of(text, compiled, opened.resources())
}

/// Checks a text against the language, and for the chip of the options if they name one; nothing is compiled. The
/// report may have no errors.
pub fn check(text: &str, options: &Options) -> Report {
    let opened = Opened::once(text, options.chip, &options.compiler);
    let found = match options.chip {
        Some(_) => opened.diagnostics_for_chip(),
        None => opened.diagnostics(),
    };
    Report::new(text, found)
}
