//! A diagnostic with its place, as all formats need it.

use crate::names;
use oriole_diagnostics::{Code, Diagnostic, Encoding, LineIndex, Severity, Span};

/// A place in a text. Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// The first line.
    pub line: u32,
    /// Columns of the first character and of the first one after it, and the last line; `None` for a whole line.
    pub columns: Option<Columns>,
}

/// The columns of a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Columns {
    /// Of the first character.
    pub start: u32,
    /// The last line.
    pub last: u32,
    /// Of the first character after the place, on the last line.
    pub end: u32,
}

impl Region {
    /// Of a span of a text.
    pub fn of(text: &str, lines: &LineIndex, span: Span) -> Region {
        let start = lines.position(text, span.start, Encoding::Utf32);
        let end = lines.position(text, span.end(), Encoding::Utf32);
        let columns = Columns { start: start.column + 1, last: end.line + 1, end: end.column + 1 };
        Region { line: start.line + 1, columns: Some(columns) }
    }

    /// A whole line.
    pub fn line(line: u32) -> Region {
        Region { line: line.max(1), columns: None }
    }
}

/// A place in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// In a text.
    Text(Region),
    /// In machine code.
    Code {
        /// The kernel or function.
        function: String,
        /// Offset in its code, in bytes.
        offset: u32,
    },
    /// The file.
    File,
}

/// Another place that explains a diagnostic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Related {
    /// The file.
    pub file: String,
    /// The place in it.
    pub place: Place,
    /// The message about it.
    pub text: String,
}

/// A part of a text, and the text that replaces it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replacement {
    /// The part.
    pub span: Span,
    /// The same by line and column.
    pub region: Region,
    /// The new text.
    pub text: String,
}

/// A change that removes the cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// The title, which says what it does.
    pub title: String,
    /// Whether it may be made without asking.
    pub safe: bool,
    /// The edits.
    pub edits: Vec<Replacement>,
}

/// A diagnostic with its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    /// The file.
    pub file: String,
    /// The place in it.
    pub place: Place,
    /// The code.
    pub code: Code,
    /// The severity.
    pub severity: Severity,
    /// The problem.
    pub text: String,
    /// Help lines.
    pub help: Vec<String>,
    /// Other places.
    pub related: Vec<Related>,
    /// Changes that remove the cause.
    pub fixes: Vec<Fix>,
    /// Fields of the JSON form besides those that follow from the others.
    pub fields: serde_json::Map<String, serde_json::Value>,
}

impl Message {
    /// Diagnostics of one file. The spans count from the start of the text.
    pub fn of(file: &str, text: &str, diagnostics: &[Diagnostic]) -> Vec<Message> {
        if diagnostics.is_empty() {
            return Vec::new();
        }
        let lines = LineIndex::new(text);
        diagnostics.iter().map(|diagnostic| Message::of_one(file, text, &lines, diagnostic)).collect()
    }

    fn of_one(file: &str, text: &str, lines: &LineIndex, diagnostic: &Diagnostic) -> Message {
        let related = diagnostic.related.iter().map(|related| Related {
            file: file.to_owned(),
            place: match &related.place {
                oriole_diagnostics::Place::Here(span) => Place::Text(Region::of(text, lines, *span)),
                oriole_diagnostics::Place::Symbol(_) => Place::File,
            },
            text: match &related.place {
                oriole_diagnostics::Place::Here(_) => explained(&related.message),
                oriole_diagnostics::Place::Symbol(name) => {
                    format!("`{name}`: {}", explained(&related.message))
                }
            },
        });
        let mut fields = serde_json::Map::new();
        if let serde_json::Value::Object(map) = diagnostic.to_json() {
            fields.extend(map);
        }
        // The columns of JSON count bytes.
        let at = lines.line_column(diagnostic.span.start);
        fields.insert("line".to_owned(), at.line.into());
        fields.insert("column".to_owned(), at.column.into());
        Message {
            file: file.to_owned(),
            place: Place::Text(Region::of(text, lines, diagnostic.span)),
            code: diagnostic.code,
            severity: diagnostic.severity,
            text: explained(&diagnostic.message),
            help: diagnostic.help.iter().map(explained).collect(),
            related: related.collect(),
            fixes: Vec::new(),
            fields,
        }
    }

    /// Adds a field to the JSON form.
    pub fn put(&mut self, name: &str, value: impl Into<serde_json::Value>) {
        self.fields.insert(name.to_owned(), value.into());
    }

    /// One line for people and for tools that look for `FILE:LINE:COLUMN`.
    pub fn short(&self) -> String {
        let place = match &self.place {
            Place::Text(Region { line, columns: Some(columns) }) => format!(":{line}:{}", columns.start),
            Place::Text(Region { line, columns: None }) => format!(":{line}"),
            Place::Code { function, offset } => format!(":{function}+{offset:#x}"),
            Place::File => String::new(),
        };
        let text = self.text.replace(['\n', '\r'], " ");
        format!("{}{place}: {}[{}]: {text}", self.file, self.severity.as_str(), self.code)
    }
}

fn explained(message: &oriole_diagnostics::Message) -> String {
    names::explained(&message.to_string()).into_owned()
}
