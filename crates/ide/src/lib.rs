//! Queries of an editor, and answers in plain data: no protocol and no database type is in the interface.
//!
//! [`AnalysisHost`] takes changes: texts, targets, options. [`Analysis`] is a snapshot that answers from any thread;
//! each answer may be [`Cancelled`] because a change is waiting. Positions are bytes from the start of a file. The
//! crate reads no file, clock or environment and prints nothing; the caller supplies such facts. No rule of PTX, no
//! pass and no protocol may enter: it combines results of the query layer with positions.
//!
//! Features are functions over the state in `snapshot.rs`, one file each. [`Analysis`] has a method for each of them, and
//! no feature names it.

mod analysis;
mod calls;
mod compiled;
mod completion;
mod cubin;
mod cursor;
mod cycles;
pub mod demangle;
mod diagnostics;
mod documentation;
mod edited;
mod embedded;
mod feature;
mod file;
mod fixes;
mod folding;
mod format;
mod hints;
mod history;
mod host;
mod hover;
mod kernel;
mod language;
mod last_good;
mod links;
mod live_range;
mod marks;
mod names;
mod navigation;
mod recomputed;
mod renaming;
mod sass;
mod selection;
mod settings;
mod shared_names;
mod snapshot;
mod symbols;
mod text;
mod tokens;
mod typed;
mod views;

pub use analysis::Analysis;
pub use calls::{Call, CallItem};
pub use completion::{Completion, CompletionKind, Part, Signature, SignatureHelp, Subject};
pub use cubin::{Annotated, AnnotatedLine, CubinError, annotate, chip_of};
pub use diagnostics::{FileDiagnostic, Remark, Tag};
pub use edited::EditedText;
pub use feature::Feature;
pub use file::FileId;
pub use fixes::Fix;
pub use folding::{Fold, FoldKind};
pub use format::Style;
pub use hints::{Hint, HintKind, HintOptions, Lens};
pub use history::{OriLine, OriSnapshot};
pub use host::{AnalysisHost, Memory, SharedText};
pub use hover::Hover;
pub use kernel::{KernelStatistics, LiveRegister, Liveness};
pub use language::Language;
pub use links::Link;
pub use marks::{Marks, RegisterMarks};
pub use names::Access;
pub use navigation::{Reference, Target};
pub use oriole_diagnostics::{Encoding, LineIndex, Position};
pub use oriole_inputs::{Cancellable, Cancelled, Canceller, Reads, record_reads};
pub use recomputed::{Because, Query, Ran, Recomputed};
pub use renaming::RenameError;
pub use sass::{SassListing, SassRow};
pub use settings::{Settings, SettingsId};
pub use snapshot::Lacks;
pub use symbols::{Symbol, SymbolKind, UnitSymbols};
pub use text::{Change, Edit, Range};
pub use tokens::{Token, TokenKind, TokenModifiers, UnitTokens};
pub use views::{OriError, PhaseInfo, QueryCount, TreeNode, phases};
