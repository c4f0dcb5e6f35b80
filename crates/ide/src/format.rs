//! Formatting: white space between tokens, and nothing else.
//!
//! Each gap between two tokens gets its rule; an edit replaces a gap, so no token can change and none can move. Line
//! ends of the author stay, but several blank lines become one; a statement that shares its line gets one of its own.

use oriole_queries::files;
use oriole_syntax::{SyntaxKind, tokenize};

use crate::cursor::{ends_with_line, units_in};
use crate::snapshot::Snapshot;
use crate::{Edit, Feature, FileId, Range};

pub(crate) fn format(snapshot: &Snapshot, file: FileId, range: Option<Range>, style: Style) -> Vec<Edit> {
    let Some(source) = snapshot.ptx(file) else { return Vec::new() };
    if range.is_none() && !snapshot.is_on(file, Feature::Formatting) {
        return Vec::new();
    }
    let db = &snapshot.db;
    let count = files::split_file(db, source).len();
    let first = files::split_file(db, source).first().copied();
    // Lines end as the first one does.
    let text = snapshot.text(file);
    let first_line = text.as_deref().and_then(|text| text.split_once('\n')).map(|(line, _)| line);
    let carriage = first_line.is_some_and(|line| line.ends_with('\r'));
    let mut edits = Vec::new();
    for (unit, start) in units_in(db, source, range.unwrap_or(Range::new(0, u32::MAX))) {
        let place = UnitPlace {
            first: Some(unit) == first,
            last: files::split_file(db, source).get(count - 1) == Some(&unit),
            carriage,
            style,
        };
        for edit in gaps(unit.text(db), place) {
            let edit = Edit::new(edit.range.shifted(start), edit.text);
            if range.is_none_or(|range| range.meets(edit.range)) {
                edits.push(edit);
            }
        }
    }
    edits
}

/// The indentation of a new line at a position of a unit; `closes` if it begins with the brace that closes a block.
pub(crate) fn indentation(text: &str, at: u32, closes: bool, style: Style) -> String {
    let tokens = tokenize(text, &mut Vec::new());
    let end = |index: usize| tokens.get(index + 1).map_or(text.len() as u32, |next| next.start);
    let mut state = State::default();
    let solid = |kind| !matches!(kind, SyntaxKind::WHITESPACE | SyntaxKind::END);
    let mut last = 0;
    for (index, token) in tokens.iter().enumerate().take_while(|(_, token)| token.start < at) {
        if solid(token.kind) {
            step(&mut state, Solid { kind: token.kind, range: Range::new(token.start, end(index)) }, text);
            last = end(index);
        }
    }
    let ended = Range::new(last.min(at), at).slice(text).contains('\n');
    let closes = closes && state.groups == 0;
    let inside = state.blocks - usize::from(closes && state.blocks > 0);
    let line = state.line && state.length > 1 && !state.comma && ended;
    // The head of a function goes on without indentation, in parentheses with one.
    let head = state.blocks == 0 && state.groups == 0 && !state.instruction;
    let more = state.length > 0 && !closes && !line && !head;
    style.indentation(inside + usize::from(more))
}

/// The place of a unit in its file.
#[derive(Clone, Copy)]
struct UnitPlace {
    first: bool,
    last: bool,
    /// Lines of the file end with a carriage return.
    carriage: bool,
    style: Style,
}

/// The style of white space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Blanks of one indentation; `None` for a tab.
    pub blanks: Option<u32>,
}

impl Default for Style {
    fn default() -> Style {
        Style { blanks: Some(4) }
    }
}

impl Style {
    fn indentation(self, levels: usize) -> String {
        self.blanks.map_or_else(|| "\t".repeat(levels), |blanks| " ".repeat(blanks.min(16) as usize * levels))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Solid {
    kind: SyntaxKind,
    range: Range,
}

/// The state of the walk between two tokens.
#[derive(Default)]
struct State {
    /// Blocks that are open.
    blocks: usize,
    /// Parentheses, brackets and braces of operands that are open.
    groups: usize,
    /// The current statement is an instruction.
    instruction: bool,
    /// Tokens of the current statement so far.
    length: usize,
    /// The statement is a directive line of a section.
    section: bool,
    /// The braces that are open are an initial value.
    initializer: bool,
    /// The statement is a directive that ends with its line.
    line: bool,
    /// The last token of the statement is a comma.
    comma: bool,
    /// The token before is a modifier or opcode of an instruction.
    in_opcode: bool,
}

fn gaps(text: &str, place: UnitPlace) -> Vec<Edit> {
    let mut errors = Vec::new();
    let tokens = tokenize(text, &mut errors);
    let end = |index: usize| tokens.get(index + 1).map_or(text.len() as u32, |next| next.start);
    let solid: Vec<Solid> = tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| !matches!(token.kind, SyntaxKind::WHITESPACE | SyntaxKind::END))
        .map(|(index, token)| Solid { kind: token.kind, range: Range::new(token.start, end(index)) })
        .collect();
    let mut edits = Vec::new();
    let mut state = State::default();
    let mut push = |range: Range, mut wanted: String| {
        if place.carriage && wanted.contains('\n') {
            wanted = wanted.replace('\n', "\r\n");
            // The comment extends to the end of its line.
            if text[..range.start as usize].ends_with('\r') {
                wanted.remove(0);
            }
        }
        if range.slice(text) != wanted {
            edits.push(Edit::new(range, wanted));
        }
    };
    let Some(first) = solid.first() else {
        if place.last {
            push(Range::new(0, text.len() as u32), if place.first { "" } else { "\n" }.to_owned());
        }
        return edits;
    };
    let lead = Range::new(0, first.range.start);
    if place.first {
        push(lead, String::new());
    } else {
        let lines = lead.slice(text).matches('\n').count().clamp(1, 2);
        push(lead, "\n".repeat(lines));
    }
    for index in 0..solid.len() {
        let token = solid[index];
        step(&mut state, token, text);
        let Some(&next) = solid.get(index + 1) else { break };
        let gap = Range::new(token.range.end, next.range.start);
        if state.line && state.length > 1 && !state.comma && gap.slice(text).contains('\n') {
            state = State { blocks: state.blocks, section: state.section, ..State::default() };
        }
        push(gap, between(&state, token, next, gap.slice(text), place.style));
    }
    // An unclosed comment or string would swallow the following text.
    if let Some(last) = solid.last()
        && place.last
        && errors.is_empty()
    {
        push(Range::new(last.range.end, text.len() as u32), "\n".to_owned());
    }
    edits
}

/// Takes a token into account.
fn step(state: &mut State, token: Solid, text: &str) {
    use SyntaxKind::*;
    if token.kind.is_trivia() {
        return;
    }
    state.comma = token.kind == COMMA;
    match token.kind {
        SEMICOLON => {
            // Inside of parentheses a semicolon is a mistake; it ends the statement all the same.
            *state = State { blocks: state.blocks, section: state.section, ..State::default() };
            return;
        }
        L_BRACE if state.groups > 0 || state.instruction && state.length > 0 || state.initializer => {
            state.groups += 1;
        }
        R_BRACE if state.groups > 0 => state.groups -= 1,
        L_BRACE => {
            *state = State { blocks: state.blocks + 1, section: state.section, ..State::default() };
            return;
        }
        R_BRACE => {
            *state = State { blocks: state.blocks.saturating_sub(1), ..State::default() };
            return;
        }
        L_PAREN | L_BRACKET => state.groups += 1,
        R_PAREN | R_BRACKET => state.groups = state.groups.saturating_sub(1),
        EQ => state.initializer = true,
        COLON if state.length == 1 => {
            *state = State { blocks: state.blocks, section: state.section, ..State::default() };
            return;
        }
        IDENT if state.length == 0 => {
            state.instruction = true;
            state.in_opcode = true;
        }
        AT if state.length == 0 => {}
        DOTTED if state.length == 0 => {
            state.section |= token.range.slice(text) == ".section";
            state.line = ends_with_line(token.range.slice(text));
        }
        IDENT if !state.instruction && state.length > 0 && state.length <= 3 => {
            // The opcode after a guard: `@p`, `@!p`.
            state.in_opcode = false;
        }
        DOTTED if state.in_opcode => {}
        _ => state.in_opcode = false,
    }
    state.length += 1;
}

/// The white space between two tokens, given the existing gap.
fn between(state: &State, token: Solid, next: Solid, gap: &str, style: Style) -> String {
    use SyntaxKind::*;
    let lines = gap.matches('\n').count();
    let line_comment = |solid: Solid| solid.kind == LINE_MARKER;
    let new_line = |count: usize| {
        let closes = next.kind == R_BRACE && state.groups == 0;
        let inside = state.blocks - usize::from(closes && state.blocks > 0);
        // Continuation lines of a statement get one more indentation.
        let more = usize::from(state.length > 0 && !(next.kind == L_BRACE && state.groups == 0))
            * usize::from(!(closes));
        format!("{}{}", "\n".repeat(count.clamp(1, 2)), style.indentation(inside + more))
    };
    if line_comment(next) || line_comment(token) {
        return if lines > 0 { "\n".repeat(lines.clamp(1, 2)) } else { gap.to_owned() };
    }
    if token.kind == COMMENT || next.kind == COMMENT {
        // Text on a line with a comment stays on that line.
        return if lines > 0 { new_line(lines) } else { " ".to_owned() };
    }
    let ended = state.length == 0;
    if lines > 0 {
        // A label keeps its instruction on the line only where the author wrote it there.
        return new_line(lines);
    }
    if ended && matches!(token.kind, SEMICOLON | L_BRACE | R_BRACE) {
        // An empty body stays on its line.
        if token.kind == L_BRACE && next.kind == R_BRACE {
            return String::new();
        }
        return new_line(1);
    }
    if next.kind == R_BRACE && state.groups == 0 {
        return new_line(1);
    }
    let tight = match (token.kind, next.kind) {
        (_, SEMICOLON | COMMA | R_PAREN | R_BRACKET) => true,
        (L_PAREN | L_BRACKET, _) => true,
        (L_BRACE, _) | (_, R_BRACE) if state.groups > 0 => true,
        (IDENT | DOTTED, DOTTED) if state.in_opcode => true,
        (AT, _) => true,
        (BANG, _) if gap.is_empty() => true,
        (_, COLON) => true,
        // The presence of a gap may have a meaning: `-1`, `a+4`, `f(`, `<10>`.
        _ => gap.is_empty(),
    };
    if tight { String::new() } else { " ".to_owned() }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn formatted(text: &str) -> String {
        formatted_as(text, Style::default())
    }

    fn formatted_as(text: &str, style: Style) -> String {
        let carriage = text.contains("\r\n");
        let units = oriole_syntax::split_file(text);
        let last = units.len().saturating_sub(1);
        let mut out = String::new();
        for (index, unit) in units.iter().enumerate() {
            let place = UnitPlace { first: index == 0, last: index == last, carriage, style };
            let text = unit.text(text);
            out.push_str(&Edit::apply(text, &gaps(text, place)));
        }
        out
    }

    fn tokens(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        for unit in oriole_syntax::split_file(text) {
            let text = unit.text(text);
            let tokens = tokenize(text, &mut Vec::new());
            let ends = tokens.iter().skip(1).map(|token| token.start);
            let pairs = tokens.iter().zip(ends);
            let solid = pairs.filter(|(token, _)| token.kind != SyntaxKind::WHITESPACE);
            all.extend(solid.map(|(token, end)| text[token.start as usize..end as usize].to_owned()));
        }
        all
    }

    fn check(text: &str, expected: Expect) {
        let once = formatted(text);
        expected.assert_eq(&once);
        assert_eq!(formatted(&once), once, "a second run changes something");
        assert_eq!(tokens(text), tokens(&once), "a token changed");
    }

    #[test]
    fn a_kernel() {
        check(
            "  .version 8.0\n.target  sm_90\n.address_size 64\n\n\n\n.visible .entry k(.param .u64 p,\n.param .u32 n)\n{\n\
             .reg .b32 %r<4>;  .reg .pred %p;\n  ld.param.u32 %r1,[n] ;\n@%p bra DONE; // skip\n{ .reg .b32 t;\nmov.b32 t , {%h1,%h2};\n}\n\
             DONE:\nret;\n}\n\n\n",
            expect![[r#"
                .version 8.0
                .target sm_90
                .address_size 64

                .visible .entry k(.param .u64 p,
                    .param .u32 n)
                {
                    .reg .b32 %r<4>;
                    .reg .pred %p;
                    ld.param.u32 %r1,[n];
                    @%p bra DONE; // skip
                    {
                        .reg .b32 t;
                        mov.b32 t, {%h1,%h2};
                    }
                    DONE:
                    ret;
                }
            "#]],
        );
    }

    #[test]
    fn directives_that_end_with_their_lines() {
        check(
            ".version 8.0 // one\n.target sm_90,\ndebug\n.file 1 \"a.cu\"\n.entry k()\n{\n.loc 1 2 3\nret;\n.loc 1 4 3,\ninlined_at 1 2 3\n}\n",
            expect![[r#"
                .version 8.0 // one
                .target sm_90,
                    debug
                .file 1 "a.cu"
                .entry k()
                {
                    .loc 1 2 3
                    ret;
                    .loc 1 4 3,
                        inlined_at 1 2 3
                }
            "#]],
        );
    }

    #[test]
    fn line_ends_and_indentation_are_those_of_the_author() {
        let text = ".version 8.0\r\n.entry k() { // one\r\nret; exit;\r\n}\r\n";
        let once = formatted(text);
        assert_eq!(once, ".version 8.0\r\n.entry k() { // one\r\n    ret;\r\n    exit;\r\n}\r\n");
        assert_eq!(formatted(&once), once);
        let style = |blanks| formatted_as(".entry k() { { ret; } }\n", Style { blanks });
        assert_eq!(style(None), ".entry k() {\n\t{\n\t\tret;\n\t}\n}\n");
        assert_eq!(style(Some(2)), ".entry k() {\n  {\n    ret;\n  }\n}\n");
    }

    #[test]
    fn hostile_text_keeps_its_tokens() {
        for text in [
            "",
            "\n",
            "}}}{",
            ".entry k { add.u32 {{ ; } ]",
            "/* open\n.entry",
            "@!%p add\n.u32 a,,;",
            "\"x\n\"",
        ] {
            let once = formatted(text);
            assert_eq!(tokens(text), tokens(&once), "{text:?} -> {once:?}");
            assert_eq!(formatted(&once), once, "{text:?}");
        }
    }
}
