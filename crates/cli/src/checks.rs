//! The findings of checks of a program, as text and as JSON: for `oriole run --check` and `oriole verify --check`.
//!
//! The checks themselves are in `oriole-checks`; here instructions get their lines.

use crate::arguments::Machine;
use crate::messages::{self, Message, Place, Region, Related};
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
    /// The same for the formats of diagnostics; the file has no name yet.
    pub messages: Vec<Message>,
}

impl Found {
    /// Prints the findings in the format of the command line.
    pub fn give(&mut self, file: &str) {
        for message in &mut self.messages {
            message.file = file.to_owned();
            let here = message.related.iter_mut().filter(|related| related.file.is_empty());
            here.for_each(|related| related.file = file.to_owned());
        }
        messages::give(std::mem::take(&mut self.messages));
    }
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
        let messages = findings.iter().take(limit).map(|finding| message(source, finding)).collect();
        let faults = findings.iter().filter(|finding| finding.is_fault()).count();
        Found { faults, text, document, messages }
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
        let _ = writeln!(text, "      {}", part(spot));
    }
    if finding.count > 1 {
        let _ = writeln!(text, "    {} times", finding.count);
    }
}

/// A finding as a message: the first instruction is its place.
fn message(source: &Source, finding: &Finding) -> Message {
    let same = if finding.same_value { " (the same value)" } else { "" };
    let place = |spot: &Spot| match u32::try_from(line(source, spot).0) {
        Ok(line) if line > 0 => Place::Text(Region::line(line)),
        _ => Place::File,
    };
    let mut related = Vec::new();
    for (number, spot) in finding.spots.iter().enumerate() {
        let text = part(spot);
        if number > 0 {
            related.push(Related { file: String::new(), place: place(spot), text: text.clone() });
        }
        if let Some((file, line)) = source.location(&spot.function, spot.ordinal) {
            related.push(Related { file: file.to_owned(), place: Place::Text(Region::line(line)), text });
        }
    }
    let first = finding.spots.first();
    let mut fields = serde_json::Map::new();
    if let serde_json::Value::Object(map) = document(source, finding) {
        fields.extend(map);
    }
    Message {
        file: String::new(),
        place: first.map_or(Place::File, place),
        code: finding.code,
        severity: finding.severity(),
        text: format!(
            "{}{same}{}",
            finding.message,
            first.map_or(String::new(), |spot| format!("; {}", part(spot)))
        ),
        help: Vec::new(),
        related,
        fixes: Vec::new(),
        fields,
    }
}

/// How an instruction takes part, and the thread of the first case.
fn part(spot: &Spot) -> String {
    let mut text = spot.part.clone();
    if let Some(([x, y, z], [a, b, c])) = spot.thread {
        let _ = write!(text, ": block {x},{y},{z}, thread {a},{b},{c}");
    }
    text
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
