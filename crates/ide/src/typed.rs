//! Formatting while a text is typed: the line of a statement that has just ended, and the indentation of a new line.
//!
//! The rules of white space are those of `format.rs`. Nothing after the cursor changes, and no line comes or goes.

use oriole_syntax::SyntaxKind;

use crate::cursor::spot;
use crate::format::{Style, format, indentation};
use crate::snapshot::Snapshot;
use crate::{Edit, FileId, Range};

/// The edits after a character was typed before a position: `;` or `}`, or the end of a line.
pub(crate) fn format_typed(
    snapshot: &Snapshot,
    file: FileId,
    at: u32,
    typed: char,
    style: Style,
) -> Vec<Edit> {
    let (Some(text), Some(source)) = (snapshot.text(file), snapshot.ptx(file)) else { return Vec::new() };
    if at as usize > text.len() || !text.is_char_boundary(at as usize) {
        return Vec::new();
    }
    let db = &snapshot.db;
    let Some(spot) = spot(db, source, at) else { return Vec::new() };
    let unit = spot.unit.text(db);
    if is_in_comment(unit, spot.at) {
        return Vec::new();
    }
    let line_start = |at: u32| text[..at as usize].rfind('\n').map_or(0, |newline| newline as u32 + 1);
    let own = line_start(at);
    // The gap before the first word of a line begins on the line before.
    let gaps = |start: u32, end: u32| {
        line(format(snapshot, file, Some(Range::new(start.saturating_sub(1), end)), style), start, end)
    };
    if typed != '\n' {
        return gaps(own, at);
    }
    let Some(ended) = own.checked_sub(1) else { return Vec::new() };
    let before = line_start(ended);
    let mut edits = gaps(before, ended);
    let behind = &text[own as usize..];
    let blanks = behind.find(|c| c != ' ' && c != '\t').unwrap_or(behind.len());
    let next = behind[blanks..].lines().next().unwrap_or_default();
    // A new last line of a unit may be taken for the first one of the next unit.
    let (unit, place) = match spot.before(db, source).filter(|_| unit[..spot.at as usize].trim().is_empty()) {
        Some(unit) => {
            let text: &str = unit.text(db);
            (text, text.len() as u32)
        }
        None => (&***unit, spot.at),
    };
    let wanted = indentation(unit, place, next, style);
    let range = Range::new(own, own + blanks as u32);
    if range.slice(&text) != wanted {
        edits.push(Edit::new(range, wanted));
    }
    edits
}

/// Whether a position is inside of a comment or a string.
fn is_in_comment(text: &str, at: u32) -> bool {
    let tokens = oriole_syntax::tokenize(text, &mut Vec::new());
    let behind = tokens.partition_point(|token| token.start < at);
    let end = tokens.get(behind).map_or(text.len() as u32, |next| next.start);
    match tokens[..behind].last() {
        Some(token) if token.kind == SyntaxKind::COMMENT => {
            let comment = Range::new(token.start, end).slice(text);
            at < end || !comment.ends_with("*/") || comment.starts_with("//")
        }
        Some(token) => token.kind == SyntaxKind::STRING && at < end,
        None => false,
    }
}

/// The edits of a line from its start to a position. Of an edit that joins it with the line before it the indentation is left.
fn line(edits: Vec<Edit>, start: u32, end: u32) -> Vec<Edit> {
    let own = |edit: Edit| {
        if edit.range.end > end || edit.range.end < start {
            return None;
        }
        if edit.range.start >= start {
            return (!edit.text.contains('\n')).then_some(edit);
        }
        let indentation = edit.text.rsplit_once('\n')?.1;
        Some(Edit::new(Range::new(start, edit.range.end), indentation))
    };
    edits.into_iter().filter_map(own).collect()
}
