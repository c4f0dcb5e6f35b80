//! Diagnostics for people: the message, the source excerpt, the help lines. The only place that lays out a diagnostic
//! for a terminal.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use oriole_diagnostics::{Diagnostic, LineIndex, Place, Severity};
use std::ffi::OsString;
use std::io::IsTerminal;

/// Lines of source shown on each side of a diagnostic.
const CONTEXT_LINES: u32 = 2;
/// Longest source line that is shown whole, bytes; longer ones are left out of the excerpt.
const LONGEST_LINE: u32 = 400;

/// Prints diagnostics of one file to standard error, in order of place. The spans count from the start of the file.
pub fn to_terminal(path: &str, text: &str, diagnostics: &[Diagnostic]) {
    if diagnostics.is_empty() {
        return;
    }
    let variable = |name| std::env::var_os(name);
    let styled = is_styled(std::io::stderr().is_terminal(), variable("NO_COLOR"), variable("TERM"));
    let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
    let lines = LineIndex::new(text);
    for diagnostic in diagnostics {
        eprintln!("{}\n", render(&renderer, path, text, &lines, diagnostic));
    }
}

/// Whether output is coloured: on a terminal that can, unless `NO_COLOR` is set to anything.
fn is_styled(terminal: bool, no_color: Option<OsString>, kind: Option<OsString>) -> bool {
    terminal && no_color.is_none_or(|value| value.is_empty()) && kind.is_none_or(|kind| kind != "dumb")
}

fn render(renderer: &Renderer, path: &str, text: &str, lines: &LineIndex, diagnostic: &Diagnostic) -> String {
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

/// Prints diagnostics as JSON, one object a line, to standard output. Lines and columns count from 1.
pub fn to_json(path: &str, text: &str, diagnostics: &[Diagnostic]) {
    if diagnostics.is_empty() {
        return;
    }
    let lines = LineIndex::new(text);
    for diagnostic in diagnostics {
        let at = lines.line_column(diagnostic.span.start);
        let mut value = diagnostic.to_json();
        if let serde_json::Value::Object(map) = &mut value {
            map.insert("file".to_owned(), path.into());
            map.insert("line".to_owned(), at.line.into());
            map.insert("column".to_owned(), at.column.into());
        }
        println!("{value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_only_where_they_are_wanted() {
        let set = |text: &str| Some(OsString::from(text));
        assert!(is_styled(true, None, set("xterm")) && is_styled(true, set(""), None));
        assert!(!is_styled(true, set("1"), set("xterm")));
        assert!(!is_styled(true, None, set("dumb")));
        assert!(!is_styled(false, None, set("xterm")));
    }
}
