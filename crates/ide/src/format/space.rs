//! The rules of white space: what belongs between two tokens of a statement, and how far a column is.
//!
//! A rule sees the statement so far, the two tokens, and the white space that is there. It makes no text and keeps no position.

use oriole_syntax::SyntaxKind;

use super::statement::{Solids, State};

/// The column of operands, from the start of the statement, and the distance of the columns after it.
const OPERANDS: usize = 16;
const STEP: usize = 8;
/// The column of comments after statements, from the start of the line.
const COMMENTS: usize = 48;

/// White space between two tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Space {
    /// None.
    Tight,
    /// A blank.
    Blank,
    /// As it is.
    Kept,
    /// Blanks up to the column of operands.
    Operands,
    /// Blanks up to the column of comments.
    Comment,
    /// A comment that goes on in the column of the comment before it.
    CommentGoesOn,
    /// N line ends, then an indentation of this level.
    Lines(usize, usize),
    /// N line ends alone.
    Ends(usize),
}

/// The column after the text that ends in column `end` of a line whose statement begins in column `start`.
pub(super) fn operands_after(start: usize, end: usize) -> usize {
    start + column(end.saturating_sub(start), OPERANDS)
}

/// The column of a comment after the text that ends in column `end`.
pub(super) fn comment_after(end: usize) -> usize {
    column(end, COMMENTS)
}

/// The first column with a blank before it.
fn column(end: usize, first: usize) -> usize {
    if end < first { first } else { end + STEP - end % STEP }
}

/// The white space after the token `index`, in the state after it. `continues` if the next token is a comment on a line of
/// its own, in the column of the comment before it.
pub(super) fn between(state: &State, solids: &Solids<'_>, index: usize, continues: bool) -> Space {
    use SyntaxKind::*;
    let (Some(token), Some(next)) = (solids.kind(index), solids.kind(index + 1)) else { return Space::Kept };
    let lines = solids.lines(index);
    let new_line = |count: usize| {
        let label = solids.is_label(index + 1);
        Space::Lines(count.clamp(1, 2), state.level_of(Some(next), solids.word(index + 1), label))
    };
    if token == LINE_MARKER || next == LINE_MARKER {
        return if lines > 0 { Space::Ends(lines.clamp(1, 2)) } else { Space::Kept };
    }
    let block_opens = token == L_BRACE && state.length == 0;
    let block_closes = next == R_BRACE && state.groups.is_empty();
    // No empty line begins or ends a block.
    let most = if block_opens || block_closes { 1 } else { 2 };
    if next == COMMENT {
        return match lines {
            0 => behind(state, solids, index).unwrap_or_else(|| new_line(1)),
            _ if continues => Space::CommentGoesOn,
            _ => new_line(lines.min(most)),
        };
    }
    if token == COMMENT {
        // Text on a line with a comment stays on that line.
        return if lines > 0 { new_line(lines.min(most)) } else { Space::Blank };
    }
    let listed = state.groups.len() == 1 && state.groups[0].listed;
    if token == L_PAREN && next == R_PAREN || matches!(next, SEMICOLON | COMMA) {
        return Space::Tight;
    }
    if block_opens && next == R_BRACE && lines == 0 {
        return Space::Tight;
    }
    if listed && (matches!(token, L_PAREN | COMMA) || next == R_PAREN) {
        return new_line(lines);
    }
    let ends = state.length == 0 && matches!(token, SEMICOLON | L_BRACE | R_BRACE | COLON);
    // A list or prototype is on the line of its name.
    let named = token == COLON && state.length > 0;
    if lines > 0 && !named || ends || block_closes {
        return new_line(lines.min(most));
    }
    inside(state, solids, index)
}

/// The white space before a comment on the line of the token; `None` if the comment belongs to what follows on that line.
fn behind(state: &State, solids: &Solids<'_>, index: usize) -> Option<Space> {
    use SyntaxKind::*;
    let token = solids.kind(index)?;
    let ended = state.length == 0;
    let last =
        solids.lines(index + 1) > 0 || matches!(solids.kind(index + 2), None | Some(R_BRACE | COMMENT));
    if ended && matches!(token, SEMICOLON | L_BRACE | R_BRACE | COLON) && !last {
        return None;
    }
    let is_statement = ended && matches!(token, SEMICOLON | COLON) || state.line;
    Some(if is_statement && state.blocks > 0 { Space::Comment } else { Space::Blank })
}

/// The white space between two tokens of a statement on one line.
fn inside(state: &State, solids: &Solids<'_>, index: usize) -> Space {
    use SyntaxKind::*;
    let (Some(token), Some(next)) = (solids.kind(index), solids.kind(index + 1)) else { return Space::Kept };
    let is_empty = solids.gap(index).start == solids.gap(index).end;
    let word = |kind| matches!(kind, IDENT | INT_NUMBER);
    let in_address = state.instruction && !state.groups.is_empty();
    match (token, next) {
        (_, R_PAREN | R_BRACKET | COLON) | (L_PAREN | L_BRACKET | AT, _) => Space::Tight,
        (IDENT | DOTTED, DOTTED) if state.in_opcode => Space::Tight,
        _ if state.in_opcode => Space::Operands,
        (_, IDENT) if state.unnamed && state.groups.is_empty() => Space::Operands,
        (COMMA, _) => Space::Blank,
        (L_BRACE, _) | (_, R_BRACE) if !state.groups.is_empty() => Space::Tight,
        (_, L_BRACE) if !state.opens_group() => Space::Blank,
        (BANG, IDENT) | (PIPE, IDENT | UNDERSCORE) | (IDENT | UNDERSCORE, PIPE) => Space::Tight,
        (IDENT, L_PAREN) if state.head => Space::Tight,
        (DOTTED, L_PAREN) if state.head => Space::Blank,
        (IDENT, L_BRACKET | LT) if !state.instruction => Space::Tight,
        (EQ, _) | (_, EQ) if !state.instruction && state.groups.is_empty() => Space::Blank,
        // The sign of an offset. A sign that follows another one is a part of a number.
        (PLUS | MINUS, next) if in_address && word(next) => Space::Tight,
        (token, PLUS | MINUS) if in_address && word(token) => Space::Tight,
        // Elsewhere a gap may have a meaning: `-1`, `f(`, `<10>`.
        _ if is_empty => Space::Tight,
        _ => Space::Blank,
    }
}
