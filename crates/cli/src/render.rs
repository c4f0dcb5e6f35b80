//! Where diagnostics go: to a terminal, coloured where it can be, or to a tool as JSON. The facade lays them out.

use crate::names;
use crate::outcome::print;
use oriole::Style;
use oriole_diagnostics::{Diagnostic, LineIndex, Message};
use std::ffi::OsString;
use std::io::IsTerminal;

/// Prints diagnostics of one file to standard error, in order of place. The spans count from the start of the file.
pub fn to_terminal(path: &str, text: &str, diagnostics: &[Diagnostic]) {
    if diagnostics.is_empty() {
        return;
    }
    eprint!("{}", rendered(path, text, diagnostics, style()));
}

/// How diagnostics look on standard error.
pub fn style() -> Style {
    let styled = is_styled(std::io::stderr().is_terminal(), variable("NO_COLOR"), variable("TERM"));
    if styled { Style::Coloured } else { Style::Plain }
}

/// Diagnostics of one file for people, in order of place, with names of sources after those of symbols.
pub fn rendered(path: &str, text: &str, diagnostics: &[Diagnostic], style: Style) -> String {
    if diagnostics.is_empty() {
        return String::new();
    }
    let explained: Vec<Diagnostic> = diagnostics.iter().map(explained).collect();
    oriole::rendered(path, text, &explained, style)
}

/// The diagnostic with names of sources after those of symbols.
fn explained(diagnostic: &Diagnostic) -> Diagnostic {
    let explain = |message: &mut Message| *message = Message::from(&*names::explained(&message.to_string()));
    let mut diagnostic = diagnostic.clone();
    explain(&mut diagnostic.message);
    diagnostic.help.iter_mut().for_each(explain);
    diagnostic.related.iter_mut().for_each(|related| explain(&mut related.message));
    diagnostic
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Whether standard error is a terminal on which a line can be written again and again. No colour is needed for that.
pub fn is_live() -> bool {
    is_styled(std::io::stderr().is_terminal(), None, variable("TERM"))
}

/// Whether output is coloured: on a terminal that can, unless `NO_COLOR` is set to anything.
fn is_styled(terminal: bool, no_color: Option<OsString>, kind: Option<OsString>) -> bool {
    terminal && no_color.is_none_or(|value| value.is_empty()) && kind.is_none_or(|kind| kind != "dumb")
}

/// Prints diagnostics as JSON, one object a line, to standard output. Lines and columns count from 1.
pub fn to_json(path: &str, text: &str, diagnostics: &[Diagnostic]) {
    let lines = json(path, text, diagnostics).into_iter().map(|value| format!("{value}\n"));
    print(&lines.collect::<String>());
}

/// Diagnostics as JSON objects with file, line and column.
pub fn json(path: &str, text: &str, diagnostics: &[Diagnostic]) -> Vec<serde_json::Value> {
    if diagnostics.is_empty() {
        return Vec::new();
    }
    let lines = LineIndex::new(text);
    let object = |diagnostic: &Diagnostic| {
        let at = lines.line_column(diagnostic.span.start);
        let mut value = diagnostic.to_json();
        if let serde_json::Value::Object(map) = &mut value {
            map.insert("file".to_owned(), path.into());
            map.insert("line".to_owned(), at.line.into());
            map.insert("column".to_owned(), at.column.into());
        }
        value
    };
    diagnostics.iter().map(object).collect()
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
