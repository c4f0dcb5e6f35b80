//! PTX text and its syntax trees: lexer, unit splitter, error-resilient parser
//! and typed access.
//!
//! Nothing here fails and nothing here judges meaning. A file is cut into units
//! without building trees ([`split_file`]); each unit is parsed on its own into a
//! lossless tree whose text is the unit's text, byte for byte ([`parse_unit`]).
//! All positions are bytes from the start of the unit. No knowledge of chips,
//! instructions or types enters: an opcode is a word with modifiers.

pub mod ast;
mod builder;
mod cut;
mod directives;
mod kind;
mod lexer;
mod limits;
mod literal;
mod parse;
mod parser;
mod replaced;
mod source;
mod split;
mod unit;
mod view;

pub use cut::{CutText, Piece};
pub use directives::nearest_directive;
pub use kind::{PtxLanguage, SyntaxKind};
pub use lexer::{Token, tokenize};
pub use limits::*;
pub use literal::{NumberError, NumberValue, parse_number};
pub use parse::Parse;
pub use parser::{parse_unit, parse_unit_again};
pub use replaced::Replaced;
pub use rowan::{GreenNode, NodeOrToken};
pub use source::UnitSource;
pub use split::split_file;
pub use unit::{Unit, UnitKind};
pub use view::{Descendants, ElementRef, Elements, NodeRef, Path, TokenRef};
