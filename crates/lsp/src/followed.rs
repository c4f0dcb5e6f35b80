//! The kernels whose machine code a client follows, and the state of each that it has.
//!
//! `sass_map.rs` pushes the changes.

use std::collections::BTreeMap;
use std::sync::Mutex;

use oriole_chip::Chip;
use oriole_ide::SassListing;
use serde_json::{Value, json};

use crate::convert::Text;
use crate::lock::locked;
use crate::outcome::Failure;
use crate::values::row_value;

/// Kernels that one client may follow at a time.
const MOST: usize = 64;

/// A kernel, for a chip or for the default chip of its document.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Subject {
    pub uri: String,
    pub kernel: String,
    pub chip: Option<Chip>,
}

/// The client's state of a subject.
#[derive(Default)]
struct Sent {
    /// The revision of the texts.
    revision: u64,
    /// Its id; 0 for nothing yet.
    name: u64,
    /// Rows without their places.
    rows: Vec<Value>,
    /// All other data that was sent.
    rest: Value,
}

/// The subjects that a client follows.
#[derive(Default)]
pub(crate) struct Followed {
    subjects: Mutex<BTreeMap<Subject, Sent>>,
    last: Mutex<u64>,
}

impl Followed {
    /// Starts following a subject.
    pub fn begin(&self, subject: &Subject) -> Result<(), Failure> {
        let mut subjects = locked(&self.subjects);
        if subjects.len() >= MOST && !subjects.contains_key(subject) {
            return Err(Failure::Failed(format!("{MOST} kernels are followed already")));
        }
        subjects.entry(subject.clone()).or_default();
        Ok(())
    }

    /// Stops following it.
    pub fn end(&self, subject: &Subject) {
        locked(&self.subjects).remove(subject);
    }

    /// Forgets a document.
    pub fn forget(&self, uri: &str) {
        locked(&self.subjects).retain(|subject, _| subject.uri != uri);
    }

    /// The followed subjects of a document.
    pub fn of(&self, uri: &str) -> Vec<Subject> {
        locked(&self.subjects).keys().filter(|subject| subject.uri == uri).cloned().collect()
    }

    /// Records the state that an answer sends, and returns its id. `None` if a newer state has been sent, or no client
    /// follows.
    pub fn answered(
        &self,
        subject: &Subject,
        revision: u64,
        text: &Text,
        listing: &SassListing,
    ) -> Option<String> {
        let mut subjects = locked(&self.subjects);
        let sent = subjects.get_mut(subject).filter(|sent| sent.revision <= revision)?;
        let name = self.name();
        *sent = Sent { revision, name, rows: rows(listing), rest: rest(text, Some(listing)) };
        Some(name.to_string())
    }

    fn name(&self) -> u64 {
        let mut last = locked(&self.last);
        *last += 1;
        *last
    }

    /// The difference to a new state; `None` if the client has it, or a newer one.
    pub fn news(
        &self,
        subject: &Subject,
        revision: u64,
        text: &Text,
        listing: Option<&SassListing>,
    ) -> Option<Value> {
        let (rows, rest) = (listing.map(rows).unwrap_or_default(), rest(text, listing));
        let mut subjects = locked(&self.subjects);
        let sent = subjects.get_mut(subject).filter(|sent| sent.revision <= revision)?;
        sent.revision = revision;
        if sent.name != 0 && sent.rows == rows && sent.rest == rest {
            return None;
        }
        let mut told = rest.clone();
        told["previousResultId"] = if sent.name == 0 { Value::Null } else { json!(sent.name.to_string()) };
        told["edits"] = difference(&sent.rows, &rows);
        told["count"] = json!(rows.len());
        *sent = Sent { revision, name: self.name(), rows, rest };
        told["resultId"] = json!(sent.name.to_string());
        Some(told)
    }
}

fn rows(listing: &SassListing) -> Vec<Value> {
    listing.rows.iter().map(row_value).collect()
}

/// The place of each row in the text, and the subject of the rows.
fn rest(text: &Text, listing: Option<&SassListing>) -> Value {
    let Some(listing) = listing else { return json!({ "chip": null, "stale": true, "map": [] }) };
    let place = |range| {
        let range = text.range(range);
        json!([range.start.line, range.start.character, range.end.line, range.end.character])
    };
    let map: Vec<Value> = listing.rows.iter().map(|row| row.source.map_or(Value::Null, place)).collect();
    json!({ "chip": listing.chip.to_string(), "stale": listing.stale, "map": map })
}

/// The one range of rows that differs.
fn difference(old: &[Value], new: &[Value]) -> Value {
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()) - prefix;
    let ends = old.iter().rev().zip(new.iter().rev());
    let suffix = ends.take(most).take_while(|(old, new)| old == new).count();
    if prefix == old.len() && prefix == new.len() {
        return json!([]);
    }
    let rows = &new[prefix..new.len() - suffix];
    json!([{ "start": prefix, "deleteCount": old.len() - suffix - prefix, "rows": rows }])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_differ() {
        let rows = |text: &str| text.chars().map(|letter| json!(letter.to_string())).collect::<Vec<_>>();
        assert_eq!(difference(&rows("abc"), &rows("abc")), json!([]));
        let one = json!([{ "start": 1, "deleteCount": 1, "rows": ["x", "y"] }]);
        assert_eq!(difference(&rows("abc"), &rows("axyc")), one);
        assert_eq!(difference(&[], &rows("a")), json!([{ "start": 0, "deleteCount": 0, "rows": ["a"] }]));
    }
}
