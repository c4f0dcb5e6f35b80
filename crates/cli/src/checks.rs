//! The findings of checks of a program, as text and as JSON: for `oriole run --check` and `oriole verify --check`.
//!
//! The checks themselves are in `oriole-checks`; here instructions get their lines.

use crate::arguments::Machine;
use oriole_checks::{Checks, Finding, Report, Spot};
use oriole_verify::{Site, Source};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The findings of launches, rendered.
pub struct Found {
    /// Number of findings that make the command fail.
    pub faults: usize,
    /// Lines for people; empty if nothing was found.
    pub text: String,
    /// The same for programs: a list.
    pub document: serde_json::Value,
}

/// The checks of a list; `None` if only the compiled code is checked.
///
/// # Errors
/// An unknown name, or the checks do not go with the machine.
pub fn asked(list: Option<&str>, on: Machine) -> Result<Option<Checks>, String> {
    match list {
        None | Some("hazards") => Ok(None),
        Some(_) if on == Machine::Sim => {
            Err("checks of the program run on the PTX interpreter: give `--on interp`".to_owned())
        }
        Some(list) => Checks::of_list(list).map(Some).map_err(|error| error.to_string()),
    }
}

/// Checks launches of a program. The same finding in several launches is one.
pub fn of_launches(
    source: &Source,
    launches: &[oriole_interp::Launch],
    asked: Checks,
    limit: usize,
) -> Found {
    let mut all: BTreeMap<(String, Vec<(String, u32)>), Finding> = BTreeMap::new();
    let mut order = Vec::new();
    let mut is_partial = false;
    for launch in launches {
        let report = oriole_checks::check(&source.program, launch, asked);
        is_partial |= report.is_partial;
        for finding in report.findings {
            let places = finding.spots.iter().map(|spot| (spot.function.clone(), spot.ordinal));
            let key = (finding.code.to_string(), places.collect());
            match all.get_mut(&key) {
                Some(known) => known.count += finding.count,
                None => {
                    order.push(key.clone());
                    all.insert(key, finding);
                }
            }
        }
    }
    let findings: Vec<Finding> = order.iter().filter_map(|key| all.remove(key)).collect();
    Found::of(source, &findings, is_partial, limit)
}

impl Found {
    /// The findings of a report; at most `limit` are shown.
    pub fn new(source: &Source, report: &Report, limit: usize) -> Found {
        Found::of(source, &report.findings, report.is_partial, limit)
    }

    fn of(source: &Source, findings: &[Finding], is_partial: bool, limit: usize) -> Found {
        let mut text = String::new();
        for finding in findings.iter().take(limit) {
            describe(&mut text, source, finding);
        }
        if findings.len() > limit {
            let _ = writeln!(text, "  {} more findings; --limit shows more", findings.len() - limit);
        }
        if is_partial {
            let _ = writeln!(text, "  note: too much memory was accessed to check all of it for races");
        }
        let document = findings.iter().take(limit).map(|finding| document(source, finding)).collect();
        Found { faults: findings.iter().filter(|finding| finding.is_fault()).count(), text, document }
    }
}

fn describe(text: &mut String, source: &Source, finding: &Finding) {
    let same = if finding.same_value { " (the same value)" } else { "" };
    let _ = writeln!(text, "  {}[{}]: {}{same}", finding.severity().as_str(), finding.code, finding.message);
    for spot in &finding.spots {
        let (line, statement) = line(source, spot);
        let _ = write!(text, "    PTX line {line}: {statement}");
        if let Some((file, line)) = source.location(&spot.function, spot.ordinal) {
            let _ = write!(text, " ({file}:{line})");
        }
        let _ = writeln!(text);
        let _ = write!(text, "      {}", spot.part);
        if let Some(([x, y, z], [a, b, c])) = spot.thread {
            let _ = write!(text, ": block {x},{y},{z}, thread {a},{b},{c}");
        }
        let _ = writeln!(text);
    }
    if finding.count > 1 {
        let _ = writeln!(text, "    {} times", finding.count);
    }
}

fn line<'a>(source: &Source<'a>, spot: &Spot) -> (usize, &'a str) {
    let (block, thread) = spot.thread.unwrap_or_default();
    let site = Site { function: spot.function.clone(), ordinal: spot.ordinal, block, thread };
    source.line(&site).unwrap_or((0, ""))
}

fn document(source: &Source, finding: &Finding) -> serde_json::Value {
    let spots = finding.spots.iter().map(|spot| {
        let (line, statement) = line(source, spot);
        let location = source.location(&spot.function, spot.ordinal);
        serde_json::json!({
            "function": spot.function, "line": line, "text": statement, "part": spot.part,
            "source": location.map(|(file, line)| serde_json::json!({ "file": file, "line": line })),
            "block": spot.thread.map(|thread| thread.0), "thread": spot.thread.map(|thread| thread.1),
        })
    });
    serde_json::json!({
        "code": finding.code.as_str(), "severity": finding.severity().as_str(), "message": finding.message,
        "address": finding.address, "count": finding.count, "same_value": finding.same_value,
        "places": spots.collect::<Vec<_>>(),
    })
}
