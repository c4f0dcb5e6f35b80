//! Differences of a text before and after a change, in unified form, as `patch` and `git apply` take them.
//!
//! Nothing is changed here. The difference of edits takes time in proportion to the text, also where each line changes.

use crate::colour;
use oriole_ide::{Edit, Range};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::fmt::Write as _;

/// Lines around a change.
const CONTEXT: usize = 3;

/// Whole lines that are replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Change {
    /// Lines before, from 0.
    old: std::ops::Range<usize>,
    /// Lines after.
    new: std::ops::Range<usize>,
}

/// The difference that edits make; empty if they change nothing.
pub fn of_edits(name: &str, before: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<Edit> = edits.iter().map(|edit| trimmed(before, edit)).collect();
    edits.retain(|edit| edit.range.slice(before) != edit.text);
    edits.sort();
    let after = Edit::apply(before, &edits);
    let (old, new) = (lines(before), lines(&after));
    let (starts, new_starts) = (starts(&old), starts(&new));
    // The end of a text that ends with its line is a line of its own, which holds nothing.
    let line_of = |at: usize| {
        let ended = at == before.len() && (before.is_empty() || before.ends_with('\n'));
        if ended { old.len() } else { starts.partition_point(|&start| start <= at) - 1 }
    };
    let end_of = |line: usize| starts.get(line).copied().unwrap_or(before.len());
    let new_line = |at: i64| new_starts.partition_point(|&start| (start as i64) < at);
    let mut changes: Vec<Change> = Vec::new();
    let mut grown = 0i64;
    for edit in &edits {
        let (first, last) = (line_of(edit.range.start as usize), line_of(edit.range.end as usize));
        let lines = first..(last + 1).min(old.len());
        let new_first = new_line(end_of(first) as i64 + grown);
        grown += edit.text.len() as i64 - i64::from(edit.range.len());
        let new_last = new_line(end_of(lines.end) as i64 + grown);
        match changes.last_mut().filter(|last| last.old.end >= lines.start) {
            Some(change) => {
                change.old.end = change.old.end.max(lines.end);
                change.new.end = new_line(end_of(change.old.end) as i64 + grown);
            }
            None => changes.push(Change { old: lines, new: new_first..new_last }),
        }
    }
    written(name, &old, &new, changes)
}

/// An edit without the bytes at its ends that stay.
fn trimmed(text: &str, edit: &Edit) -> Edit {
    let old = edit.range.slice(text);
    let front = old.char_indices().zip(edit.text.chars()).take_while(|((_, a), b)| a == b).last();
    let front = front.map_or(0, |((at, letter), _)| at + letter.len_utf8());
    let (old, new) = (&old[front..], &edit.text[front..]);
    let back: usize =
        old.chars().rev().zip(new.chars().rev()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let range = Range::new(edit.range.start + front as u32, edit.range.end - back as u32);
    Edit::new(range, &new[..new.len() - back])
}

/// The difference of two texts that differ in few places.
pub fn of_texts(name: &str, before: &str, after: &str) -> String {
    let (old, new) = (lines(before), lines(after));
    let changes = capture_diff_slices(Algorithm::Myers, &old, &new)
        .into_iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| Change { old: op.old_range(), new: op.new_range() });
    written(name, &old, &new, changes.collect())
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn starts(lines: &[&str]) -> Vec<usize> {
    let ends = lines.iter().scan(0, |at, line| {
        *at += line.len();
        Some(*at)
    });
    std::iter::once(0).chain(ends).take(lines.len()).collect()
}

/// The lines at the ends of a change that stay are none of it.
fn shrunk(old: &[&str], new: &[&str], mut change: Change) -> Change {
    while !change.old.is_empty() && !change.new.is_empty() && old[change.old.start] == new[change.new.start] {
        change.old.start += 1;
        change.new.start += 1;
    }
    while !change.old.is_empty()
        && !change.new.is_empty()
        && old[change.old.end - 1] == new[change.new.end - 1]
    {
        change.old.end -= 1;
        change.new.end -= 1;
    }
    change
}

fn written(name: &str, old: &[&str], new: &[&str], changes: Vec<Change>) -> String {
    let changes: Vec<Change> = changes
        .into_iter()
        .map(|change| shrunk(old, new, change))
        .filter(|change| !change.old.is_empty() || !change.new.is_empty())
        .collect();
    if changes.is_empty() {
        return String::new();
    }
    let mut out = Painted { text: String::new(), coloured: colour::on_output() };
    out.line("1", &format!("--- {name}"));
    out.line("1", &format!("+++ {name}"));
    let apart = |one: &Change, other: &Change| other.old.start - one.old.end <= 2 * CONTEXT;
    for group in changes.chunk_by(apart) {
        hunk(&mut out, old, new, group);
    }
    out.text
}

fn hunk(out: &mut Painted, old: &[&str], new: &[&str], group: &[Change]) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let before = first.old.start.min(CONTEXT);
    let behind = (old.len() - last.old.end).min(CONTEXT);
    let (old_start, new_start) = (first.old.start - before, first.new.start - before);
    let place = |start: usize, count: usize| match count {
        0 => format!("{start},0"),
        1 => (start + 1).to_string(),
        _ => format!("{},{count}", start + 1),
    };
    let head = format!(
        "@@ -{} +{} @@",
        place(old_start, last.old.end + behind - old_start),
        place(new_start, last.new.end + behind - new_start),
    );
    out.line("36", &head);
    let mut at = old_start;
    for change in group {
        old[at..change.old.start].iter().for_each(|line| out.source("", ' ', line));
        old[change.old.clone()].iter().for_each(|line| out.source("31", '-', line));
        new[change.new.clone()].iter().for_each(|line| out.source("32", '+', line));
        at = change.old.end;
    }
    old[at..at + behind].iter().for_each(|line| out.source("", ' ', line));
}

/// Text with the colours of a terminal, where they are wanted.
struct Painted {
    text: String,
    coloured: bool,
}

impl Painted {
    fn line(&mut self, colour: &str, line: &str) {
        if self.coloured && !colour.is_empty() {
            let _ = writeln!(self.text, "\x1b[{colour}m{line}\x1b[0m");
        } else {
            let _ = writeln!(self.text, "{line}");
        }
    }

    /// A line of the text with its mark; a last line without an end is marked as other tools do.
    fn source(&mut self, colour: &str, mark: char, line: &str) {
        let whole = line.strip_suffix('\n');
        self.line(colour, &format!("{mark}{}", whole.unwrap_or(line)));
        if whole.is_none() {
            self.line("", "\\ No newline at end of file");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn differences_are_those_of_the_edits() {
        let before = "a\nb\n  c\nd\ne\nf\ng\nh\ni\nj\nk\nl";
        let edits =
            [Edit::new(Range::new(3, 6), "\n"), Edit::insert(before.len() as u32, "\n"), Edit::insert(0, "")];
        let shown = of_edits("k.ptx", before, &edits);
        expect![[r#"
            --- k.ptx
            +++ k.ptx
            @@ -1,6 +1,6 @@
             a
             b
            -  c
            +c
             d
             e
             f
            @@ -9,4 +9,4 @@
             i
             j
             k
            -l
            \ No newline at end of file
            +l
        "#]]
        .assert_eq(&shown);
        assert_eq!(of_texts("k.ptx", before, &Edit::apply(before, &edits)), shown);
        assert_eq!(of_edits("k.ptx", before, &[Edit::new(Range::new(0, 1), "a")]), "");
        let joined = of_edits("k", "a\nb\n", &[Edit::new(Range::new(1, 2), " ")]);
        assert_eq!(joined, "--- k\n+++ k\n@@ -1,2 +1 @@\n-a\n-b\n+a b\n");
        let split = of_edits("k", "a b\n", &[Edit::new(Range::new(1, 2), "\n")]);
        assert_eq!(split, "--- k\n+++ k\n@@ -1 +1,2 @@\n-a b\n+a\n+b\n");
        let gone = of_edits("k", "a\n\n\n", &[Edit::new(Range::new(1, 4), "\n")]);
        assert_eq!(gone, "--- k\n+++ k\n@@ -1,3 +1 @@\n a\n-\n-\n");
    }
}
