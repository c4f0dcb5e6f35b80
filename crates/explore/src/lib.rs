//! Compiled code for readers: what the words of a cubin tell, and a page for a browser about a file of PTX.
//!
//! It is here so that what people see of code is one thing, wherever it is shown. What is shown is known elsewhere: no pass,
//! no table of a chip, no file and no terminal may enter.

mod charts;
mod code;
mod comparison;
mod comparison_page;
mod comparison_text;
mod flow_graph;
mod graphviz;
mod layered;
mod ori_graph;
mod page;
mod view;

pub use code::{Block, Code, CodeError, KernelCode, Row, WordError, code_words};
pub use comparison::{Change, Comparison, Figure, Line, Manner, Pair, Side};
pub use comparison_page::comparison_page;
pub use comparison_text::{comparison_json, comparison_text};
pub use flow_graph::dot;
pub use ori_graph::ori_dot;
pub use page::page;
pub use view::{FileView, KernelView, Note, Question, TextPart, ViewError, gather};
