//! Parts of a text that are replaced.

use std::ops::Range;

/// Replaces a part of a text.
pub(crate) type Edit = (Range<usize>, String);

/// The text with parts replaced; they do not overlap.
pub(crate) fn edited(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let (mut new, mut at) = (String::with_capacity(text.len()), 0);
    for (range, replacement) in edits {
        new.push_str(&text[at..range.start]);
        new.push_str(&replacement);
        at = range.end;
    }
    new.push_str(&text[at..]);
    new
}
