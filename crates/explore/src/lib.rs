//! Compiled code for readers: the code of a cubin, the report of a compile, the reasons of selection, and a page for a browser about
//! a file of PTX.
//!
//! It is here so that readers see code in one way, wherever it is shown. The facts come from elsewhere: no pass, no table of a chip,
//! no file and no terminal may enter.

mod alignment;
mod code;
mod columns;
mod comparison;
mod comparison_page;
mod comparison_text;
mod compiled;
mod flow_graph;
mod graphviz;
mod latencies;
mod layered;
mod lines;
mod listing;
mod ori_graph;
mod page;
mod phase_columns;
mod phases;
mod profiled;
mod resources;
mod selection;
mod sources;
mod text_part;
mod texts;
mod view;

pub use alignment::{Alignment, aligned};
pub use code::{Block, Code, CodeError, KernelCode, Row, WordError, code_words, figures};
pub use columns::index;
pub use comparison::{Change, Comparison, Figure, Line, Manner, Pair, Side};
pub use comparison_page::comparison_page;
pub use comparison_text::{comparison_json, comparison_text};
pub use compiled::{Compiled, Function};
pub use flow_graph::dot;
pub use latencies::{latencies, stand_in_warning};
pub use lines::{LinesError, PtxLine, PtxLines, SourceLines};
pub use listing::{CodeLine, RAW_WORD, code_lines};
pub use ori_graph::ori_dot;
pub use page::{code_part, ori_part, page, served_page};
pub use phases::{Layout, OptionalPhase, PhaseView, difference, optional_phases, phase_list, write_changes};
pub use profiled::{ProfileError, ProfileOptions, ProfiledImage};
pub use resources::{resource_document, resource_report};
pub use selection::{Wins, write_selection};
pub use sources::{Place, Source, source_names};
pub use text_part::TextPart;
pub use view::{Entry, FileView, Heat, KernelView, Note, Question, Remark, ViewError};
