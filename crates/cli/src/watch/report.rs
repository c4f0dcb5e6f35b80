//! The queries that ran after a change and why, in words.

use crate::names;
use oriole::program::Ran;
use oriole_diagnostics::counted;
use std::fmt::Write as _;

/// The most functions that are named one by one.
const NAMED: usize = 8;

/// How much was done, in a line.
pub fn summary(ran: &Ran) -> String {
    if ran.whole {
        return "known as a whole".to_owned();
    }
    let mut line = format!("{} compiled", counted(ran.compiled.len(), "function"));
    if !ran.found.is_empty() {
        let _ = write!(line, ", {} from the store", ran.found.len());
    }
    let _ = write!(line, ", {} laid out, {}", counted(ran.placed.len(), "kernel"), queries(ran.queries));
    line
}

fn queries(number: usize) -> String {
    if number == 1 { "1 query ran".to_owned() } else { format!("{number} queries ran") }
}

/// Why each function was compiled, and which changes led to nothing; a line each.
pub fn explain(ran: &Ran, failed: bool) -> String {
    let mut lines = Vec::new();
    for unit in &ran.compiled {
        let why = if ran.is_changed(unit) {
            "its text changed"
        } else if ran.is_resolved(unit) {
            "something that it names changed"
        } else {
            "what its callers or options leave it changed"
        };
        lines.push(format!("{unit}: compiled, as {why}"));
    }
    for unit in &ran.found {
        lines.push(format!("{unit}: found in the store"));
    }
    let untouched = |unit: &&String| !ran.compiled.contains(*unit) && !ran.found.contains(*unit);
    for unit in ran.parsed.iter().filter(untouched).filter(|unit| !unit.starts_with("trailer")) {
        // With errors in the file nothing is compiled, whatever the text means.
        let what = if failed { "its text changed" } else { "its text changed, what it means did not" };
        lines.push(format!("{unit}: {what}"));
    }
    for unit in &ran.placed {
        if !ran.compiled.contains(unit) && !ran.found.contains(unit) {
            lines.push(format!("{unit}: laid out again, as what it calls or names changed"));
        }
    }
    let mut text = String::new();
    for line in lines.iter().take(NAMED) {
        let _ = writeln!(text, "  {}", names::explained(line));
    }
    if lines.len() > NAMED {
        let _ = writeln!(text, "  and {} more", lines.len() - NAMED);
    }
    text
}
