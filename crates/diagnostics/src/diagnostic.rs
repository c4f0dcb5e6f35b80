//! The diagnostic value and its parts.
//!
//! A message is kept in parts (plain words and quoted source names) so that a
//! renderer can emphasize names and a test can look for them; the plain text is
//! one call away. No layout, no colour, no position in a file.

use std::borrow::Cow;
use std::fmt;

use crate::{Code, Severity, Span};

/// One part of a message.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// Plain words.
    Text(Cow<'static, str>),
    /// A piece of PTX: a name, an opcode, a type. Printed between backticks.
    Source(String),
}

/// A message: words and quoted pieces of source.
///
/// Built from ordinary text; the text between two backticks becomes [`Part::Source`], so `` format!("unknown register
/// `{name}`") `` is enough.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Message(Vec<Part>);

impl Message {
    /// The parts in reading order.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, quoted)) = rest.split_once('`') {
            let Some((source, after)) = quoted.split_once('`') else { break };
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned().into()));
            }
            parts.push(Part::Source(source.to_owned()));
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned().into()));
        }
        Message(parts)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Message::from(text.as_str())
    }
}

impl From<Vec<Part>> for Message {
    fn from(parts: Vec<Part>) -> Self {
        Message(parts)
    }
}

impl fmt::Display for Message {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                Part::Text(text) => out.write_str(text)?,
                Part::Source(text) => write!(out, "`{text}`")?,
            }
        }
        Ok(())
    }
}

/// The place of a related remark.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// A span of the same unit.
    Here(Span),
    /// A module-level name, found by the renderer: a stored value never holds
    /// another unit's position.
    Symbol(String),
}

/// A second place that explains the diagnostic.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Related {
    /// The place.
    pub place: Place,
    /// The text.
    pub message: Message,
}

/// One diagnostic about the user's input.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Diagnostic {
    /// Stable code with a page of its own.
    pub code: Code,
    /// The severity; the code's own unless changed.
    pub severity: Severity,
    /// The place, in bytes from the start of the unit.
    pub span: Span,
    /// The message: the problem, and the expectation.
    pub message: Message,
    /// Help lines.
    pub help: Vec<Message>,
    /// Related places.
    pub related: Vec<Related>,
}

impl Diagnostic {
    /// A diagnostic with the default severity of its code.
    pub fn new(code: Code, span: impl Into<Span>, message: impl Into<Message>) -> Self {
        Diagnostic {
            code,
            severity: code.severity(),
            span: span.into(),
            message: message.into(),
            help: Vec::new(),
            related: Vec::new(),
        }
    }

    /// Adds a help line.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<Message>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Adds a remark about another span of the same unit.
    #[must_use]
    pub fn with_label(mut self, span: impl Into<Span>, message: impl Into<Message>) -> Self {
        self.related.push(Related { place: Place::Here(span.into()), message: message.into() });
        self
    }

    /// Adds a remark about a module-level name.
    #[must_use]
    pub fn with_symbol(mut self, name: impl Into<String>, message: impl Into<Message>) -> Self {
        self.related.push(Related { place: Place::Symbol(name.into()), message: message.into() });
        self
    }

    /// Changes the severity, for example where a switch turns warnings off or into errors.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Whether no result may be produced.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The diagnostic with `offset` bytes added to every span of this unit; used when a renderer joins a unit's
    /// diagnostics to its file.
    #[must_use]
    pub fn shifted(mut self, offset: u32) -> Self {
        self.span.start = self.span.start.saturating_add(offset);
        for related in &mut self.related {
            if let Place::Here(span) = &mut related.place {
                span.start = span.start.saturating_add(offset);
            }
        }
        self
    }
}

/// One line: severity, code, message. For tests and for logs; it shows the span as `start..end` because there is no
/// text to refer to.
impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { start, .. } = self.span;
        write!(
            out,
            "{}[{}] {start}..{}: {}",
            self.severity.as_str(),
            self.code,
            self.span.end(),
            self.message
        )?;
        for help in &self.help {
            write!(out, "; help: {help}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::{Code, Diagnostic, Part, Span};

    #[test]
    fn backticks_become_source_parts() {
        let found =
            Diagnostic::new(Code::UnknownName, Span::new(3, 4), format!("unknown register `{}` here", "%r1"))
                .with_help("declare it with `.reg`");
        assert_eq!(found.message.parts()[1], Part::Source("%r1".to_owned()));
        expect![["error[ptx::unknown-name] 3..7: unknown register `%r1` here; help: declare it with `.reg`"]]
            .assert_eq(&found.to_string());
    }

    #[test]
    fn a_lone_backtick_is_text() {
        let found = Diagnostic::new(Code::Syntax, Span::point(0), "unexpected character ` here");
        assert_eq!(found.message.to_string(), "unexpected character ` here");
    }

    #[test]
    fn shifting_moves_every_local_span() {
        let found = Diagnostic::new(Code::DuplicateName, Span::new(1, 1), "twice")
            .with_label(Span::new(5, 1), "first")
            .shifted(10);
        assert_eq!(found.span, Span::new(11, 1));
        assert_eq!(found.related[0].place, crate::Place::Here(Span::new(15, 1)));
    }
}
