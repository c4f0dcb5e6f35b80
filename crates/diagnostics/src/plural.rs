//! Counts with their nouns, for messages and reports.
//!
//! It is here so that every message makes plurals in one way. No noun is known here.

/// The ending of a noun after a count.
pub fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A count with its noun: `1 place`, `2 places`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", plural(count))
}
