//! The queries that ran after a change and why, in words: read from the log of executed queries.

use crate::names;
use oriole_diagnostics::counted;
use oriole_inputs::Execution;
use oriole_queries::functions::STAGES;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The queries that ran, by what they mean to the user.
pub struct Ran {
    /// Units whose text was parsed again.
    parsed: BTreeSet<String>,
    /// Units whose text was parsed again now, or for another chip after the same change.
    changed: BTreeSet<String>,
    /// Units that were resolved again now, or for another chip after the same change.
    resolved: BTreeSet<String>,
    /// Functions that were compiled.
    compiled: BTreeSet<String>,
    /// Functions that were looked up, and were in the store.
    found: BTreeSet<String>,
    /// Kernels that were laid out again.
    placed: BTreeSet<String>,
    /// Nothing ran that looks into a kernel: the file as a whole was in the store.
    whole: bool,
    /// How many queries ran.
    queries: usize,
}

/// The most functions that are named one by one.
const NAMED: usize = 8;

impl Ran {
    /// Sorts the executions of a log. The meaning of a change is asked once, for the first of several chips:
    /// `before` is what ran for the one before this.
    pub fn new(executions: Vec<Execution>, before: Option<&Ran>) -> Ran {
        let units = |name: &str| -> BTreeSet<String> {
            executions.iter().filter(|it| it.query == name).map(|it| it.unit.clone()).collect()
        };
        // Encoding alone compiles nothing: the query looks into the store.
        let [stages @ .., _] = STAGES;
        let compiled =
            stages.iter().chain(&["compiled"]).flat_map(|&stage| units(stage)).collect::<BTreeSet<_>>();
        let asked = units("encoded");
        let parsed = units("function_tree");
        let (mut changed, mut resolved) = (parsed.clone(), units("resolved"));
        if let Some(before) = before {
            changed.extend(before.changed.iter().cloned());
            resolved.extend(before.resolved.iter().cloned());
        }
        let looked = ["function_tree", "resolved", "encoded", "cubin"];
        Ran {
            whole: compiled.is_empty()
                && !executions.iter().any(|it| looked.contains(&it.query) && it.unit != "header"),
            parsed,
            changed,
            resolved,
            found: asked.difference(&compiled).cloned().collect(),
            compiled,
            placed: units("kernel_image"),
            queries: executions.len(),
        }
    }

    /// Whether the file as a whole was known.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// How much was done, in a line.
    pub fn summary(&self) -> String {
        if self.whole {
            return "known as a whole".to_owned();
        }
        let mut line = format!("{} compiled", counted(self.compiled.len(), "function"));
        if !self.found.is_empty() {
            let _ = write!(line, ", {} from the store", self.found.len());
        }
        let _ =
            write!(line, ", {} laid out, {}", counted(self.placed.len(), "kernel"), queries(self.queries));
        line
    }
}

fn queries(number: usize) -> String {
    if number == 1 { "1 query ran".to_owned() } else { format!("{number} queries ran") }
}

/// Why each function was compiled, and which changes led to nothing; a line each.
pub fn explain(ran: &Ran, failed: bool) -> String {
    let mut lines = Vec::new();
    for unit in &ran.compiled {
        let why = if ran.changed.contains(unit) {
            "its text changed"
        } else if ran.resolved.contains(unit) {
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
