//! Diagnostics with their places in a text, and their rendering for people.

use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use oriole_diagnostics::{Code, LineIndex, Place, Severity};

/// Lines of source shown on each side of a diagnostic.
const CONTEXT_LINES: u32 = 2;
/// Longest source line that is shown, in bytes; longer ones are left out of the excerpt.
const LONGEST_LINE: u32 = 400;

/// The diagnostics of a text, in its order.
#[derive(Clone, PartialEq, Eq)]
pub struct Report {
    text: Arc<str>,
    found: Vec<oriole_diagnostics::Diagnostic>,
}

/// One diagnostic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Its stable code; `oriole explain CODE` prints the page.
    pub code: Code,
    /// The severity.
    pub severity: Severity,
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// The place, in bytes from the start of the text.
    pub range: std::ops::Range<usize>,
    /// The message: the problem, and the expectation.
    pub message: String,
    /// Help lines.
    pub help: Vec<String>,
}

/// Whether a rendered report is coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Plain text.
    Plain,
    /// With the escape sequences of a terminal.
    Coloured,
}

impl Report {
    /// A report about a text; spans count from its start.
    pub(crate) fn new(text: &str, found: Vec<oriole_diagnostics::Diagnostic>) -> Report {
        // A report without diagnostics needs no text.
        Report { text: if found.is_empty() { Arc::from("") } else { Arc::from(text) }, found }
    }

    /// The diagnostics in the order of the text.
    pub fn diagnostics(&self) -> impl Iterator<Item = Diagnostic> {
        let lines = LineIndex::new(&self.text);
        self.found.iter().map(move |found| {
            let at = lines.line_column(found.span.start);
            Diagnostic {
                code: found.code,
                severity: found.severity,
                line: at.line,
                column: at.column,
                range: found.span.start as usize..found.span.end() as usize,
                message: found.message.to_string(),
                help: found.help.iter().map(ToString::to_string).collect(),
            }
        })
    }

    /// Those that are errors.
    pub fn errors(&self) -> impl Iterator<Item = Diagnostic> {
        self.diagnostics().filter(|found| found.severity == Severity::Error)
    }

    /// Whether there are errors: the text does not compile.
    pub fn has_errors(&self) -> bool {
        self.found.iter().any(oriole_diagnostics::Diagnostic::is_error)
    }

    /// Whether there are no diagnostics.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The report for people, with excerpts of the text. `name` is the displayed name of the text, usually its path.
    pub fn rendered(&self, name: &str, style: Style) -> String {
        rendered(name, &self.text, &self.found, style)
    }
}

/// Diagnostics of a text for people, with excerpts. The spans count from the start of the text.
pub fn rendered(name: &str, text: &str, found: &[oriole_diagnostics::Diagnostic], style: Style) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    let lines = LineIndex::new(text);
    found.iter().map(|found| render(&renderer, name, text, &lines, found) + "\n\n").collect()
}
fn render(
    renderer: &Renderer,
    path: &str,
    text: &str,
    lines: &LineIndex,
    diagnostic: &oriole_diagnostics::Diagnostic,
) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let at = lines.line_column(diagnostic.span.start);
    let first = at.line.saturating_sub(CONTEXT_LINES).max(1);
    let last = (at.line + CONTEXT_LINES).min(lines.count());
    let bounds = |line: u32| lines.range(line - 1).unwrap_or(0..0);
    let window = bounds(first).start as usize..(bounds(last).end as usize).min(text.len());
    let message = diagnostic.message.to_string();
    let title = level.primary_title(message.as_str()).id(diagnostic.code.as_str());
    let too_long = window.len() > (LONGEST_LINE * (2 * CONTEXT_LINES + 2)) as usize;
    let mut group;
    if too_long || text.get(window.clone()).is_none() {
        group = title.element(Level::NOTE.message(format!("at {path}:{}:{}", at.line, at.column)));
    } else {
        let start = (diagnostic.span.start as usize).clamp(window.start, window.end) - window.start;
        let end = (diagnostic.span.end() as usize).clamp(window.start, window.end) - window.start;
        let excerpt = &text[window.clone()];
        let mut snippet = Snippet::source(excerpt)
            .path(path)
            .line_start(first as usize)
            .annotation(AnnotationKind::Primary.span(start..end.max(start)));
        for related in &diagnostic.related {
            if let Place::Here(span) = &related.place {
                let range = (span.start as usize)..(span.end() as usize);
                if range.start >= window.start && range.end <= window.end {
                    snippet = snippet.annotation(
                        AnnotationKind::Context
                            .span(range.start - window.start..range.end - window.start)
                            .label(related.message.to_string()),
                    );
                }
            }
        }
        group = title.element(snippet);
    }
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(help.to_string()));
    }
    for related in &diagnostic.related {
        if let Place::Symbol(name) = &related.place {
            group = group.element(Level::NOTE.message(format!("`{name}`: {}", related.message)));
        }
    }
    renderer.render(&[group])
}

impl std::fmt::Display for Report {
    /// One line a diagnostic: place, severity, code and message.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for found in self.diagnostics() {
            let (code, severity) = (found.code.as_str(), found.severity.as_str());
            writeln!(out, "{}:{}: {severity}[{code}]: {}", found.line, found.column, found.message)?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Report {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Report({self})")
    }
}

impl std::error::Error for Report {}
