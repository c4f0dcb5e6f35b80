//! Diagnostics of one file: with excerpts for people, coloured where they are wanted so, or in the format that is asked for. The
//! facade lays excerpts out.

use crate::messages::{self, MessageFormat};
use crate::{colour, names};
use oriole::Style;
use oriole_diagnostics::{Diagnostic, LineIndex, Message};

/// Prints diagnostics of one file in the format of the command line, in order of place. The spans count from the start of the file.
pub fn to_terminal(path: &str, text: &str, diagnostics: &[Diagnostic]) {
    if diagnostics.is_empty() {
        return;
    }
    if messages::format() != MessageFormat::Human {
        messages::give(messages::Message::of(path, text, diagnostics));
        return;
    }
    eprint!("{}", rendered(path, text, diagnostics, style()));
}

/// How diagnostics look on standard error.
pub fn style() -> Style {
    if colour::on_error() { Style::Coloured } else { Style::Plain }
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
