//! Diagnostics as plain data: a stable code, a severity, a span relative to
//! the unit it was found in, a message in parts, help lines and related places.
//!
//! Every stage that can meet a user's mistake returns these values, so they must be comparable: a
//! memoized stage stops when its diagnostics are equal. They have no file offsets, paths or
//! colours. Rendering with source excerpts belongs to the binary and to the editor layer; nothing
//! here prints, reads a file or knows where a unit is in its file.

mod code;
mod diagnostic;
mod json;
mod line_index;
mod plural;
mod reference;
mod severity;
mod span;

pub use code::{Code, Family};
pub use diagnostic::{Diagnostic, Message, Part, Place, Related};
pub use line_index::{Encoding, LineColumn, LineIndex, Position};
pub use plural::{counted, plural};
pub use severity::Severity;
pub use span::Span;
