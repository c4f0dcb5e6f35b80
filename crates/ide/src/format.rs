//! Formatting: white space between tokens, and nothing else.
//!
//! Each gap between two tokens gets its rule; an edit replaces a gap, so no token can change and none can move. Labels are
//! at the left edge on lines of their own, operands and comments in columns that depend on no other line. Line ends of the
//! author inside of a statement stay, but a list of parameters that has one has one for each parameter; several blank
//! lines become one.

mod space;
mod statement;

use oriole_queries::files;
use oriole_syntax::SyntaxKind;

use self::space::{Space, between, comment_after, operands_after};
use self::statement::{Solids, State};
use crate::cursor::units_in;
use crate::snapshot::Snapshot;
use crate::{Edit, Feature, FileId, Range};

/// Columns of a tab where a column is counted.
const TAB: usize = 8;

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

/// The indentation of a new line at a position of a unit, before the text `rest`.
pub(crate) fn indentation(text: &str, at: u32, rest: &str, style: Style) -> String {
    let mut solids = Solids::of(text);
    solids.list.retain(|solid| solid.range.start < at);
    let mut state = State::default();
    for index in 0..solids.list.len() {
        state.step(&solids, index);
        let here = solids.get(index + 1).is_none();
        if here && Range::new(solids.gap(index).start.min(at), at).slice(text).contains('\n') {
            state.end_line();
        } else if !here && solids.lines(index) > 0 {
            state.end_line();
            state.level = level_of(&state, &solids, index + 1);
        }
    }
    let next = Solids::of(rest);
    style.indentation(level_of(&state, &next, 0))
}

/// The level of the line that begins with a token.
fn level_of(state: &State, solids: &Solids<'_>, index: usize) -> usize {
    state.level_of(solids.kind(index), solids.word(index), solids.is_label(index))
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
        self.blanks.map_or_else(|| "\t".repeat(levels), |_| " ".repeat(self.width(levels)))
    }

    /// The columns of an indentation.
    fn width(self, levels: usize) -> usize {
        self.blanks.map_or(TAB, |blanks| blanks.min(16) as usize) * levels
    }
}

/// The edits of the gaps of a unit.
fn gaps(text: &str, place: UnitPlace) -> Vec<Edit> {
    let solids = Solids::of(text);
    let mut edits = Edits { text, carriage: place.carriage, list: Vec::new() };
    let Some(first) = solids.get(0) else {
        if place.last {
            let wanted = if place.first { "" } else { "\n" };
            edits.push(Range::new(0, text.len() as u32), wanted.to_owned());
        }
        return edits.list;
    };
    let lead = Range::new(0, first.range.start);
    if place.first {
        edits.push(lead, String::new());
    } else {
        let lines = lead.slice(text).matches('\n').count().clamp(1, 2);
        edits.push(lead, "\n".repeat(lines));
    }
    let mut state = State::default();
    let mut line = Line::new(place.style);
    for index in 0..solids.list.len() {
        state.step(&solids, index);
        line.take(solids.word(index));
        if solids.get(index + 1).is_none() {
            break;
        }
        let lines = solids.lines(index);
        if lines > 0 {
            state.end_line();
        }
        let continues = lines > 0 && line.continues(&solids, index + 1);
        let space = between(&state, &solids, index, continues);
        if let Space::Lines(_, level) = space {
            state.level = level;
        }
        edits.push(solids.gap(index), line.write(space, solids.gap(index).slice(text)));
        if solids.kind(index + 1) == Some(SyntaxKind::COMMENT) && lines == 0 {
            line.comment = Some((authors_column(&solids, index + 1), line.end));
        }
    }
    // An unclosed comment or string would swallow the following text.
    if place.last && !solids.is_open {
        edits.push(solids.gap(solids.list.len() - 1), "\n".to_owned());
    }
    edits.list
}

/// The edits of a text so far.
struct Edits<'a> {
    text: &'a str,
    /// Lines end with a carriage return.
    carriage: bool,
    list: Vec<Edit>,
}

impl Edits<'_> {
    fn push(&mut self, range: Range, mut wanted: String) {
        if self.carriage && wanted.contains('\n') {
            wanted = wanted.replace('\n', "\r\n");
            // The comment extends to the end of its line.
            if self.text[..range.start as usize].ends_with('\r') {
                wanted.remove(0);
            }
        }
        if range.slice(self.text) != wanted {
            self.list.push(Edit::new(range, wanted));
        }
    }
}

/// The line that is being written.
struct Line {
    style: Style,
    /// The column of its statement.
    start: usize,
    /// The column of its end so far.
    end: usize,
    /// The columns of the last comment after other text of its line: that of the author, and the one it is written in.
    comment: Option<(usize, usize)>,
}

impl Line {
    fn new(style: Style) -> Line {
        Line { style, start: 0, end: 0, comment: None }
    }

    /// Writes a token.
    fn take(&mut self, word: &str) {
        match word.rsplit_once('\n') {
            Some((_, last)) => self.end = last.chars().count(),
            None => self.end += word.trim_end_matches('\r').chars().count(),
        }
    }

    /// Whether a comment on a line of its own is in the column of the one before it, which has text before it.
    fn continues(&self, solids: &Solids<'_>, index: usize) -> bool {
        let is_comment = |index| solids.kind(index) == Some(SyntaxKind::COMMENT);
        is_comment(index)
            && is_comment(index - 1)
            && solids.lines(index - 1) == 1
            && self.comment.is_some_and(|(theirs, _)| theirs == authors_column(solids, index))
    }

    /// Writes white space in place of a gap.
    fn write(&mut self, space: Space, gap: &str) -> String {
        let column = match space {
            Space::Tight => self.end,
            Space::Blank => self.end + 1,
            Space::Operands => operands_after(self.start, self.end),
            Space::Comment => comment_after(self.end),
            Space::Kept => {
                self.end += gap.len();
                return gap.to_owned();
            }
            Space::CommentGoesOn => {
                self.end = self.comment.map_or(0, |(_, column)| column);
                return format!("\n{}", " ".repeat(self.end));
            }
            Space::Lines(count, level) => {
                self.start = self.style.width(level);
                (self.end, self.comment) = (self.start, None);
                return "\n".repeat(count) + &self.style.indentation(level);
            }
            Space::Ends(count) => {
                (self.start, self.end, self.comment) = (0, 0, None);
                return "\n".repeat(count);
            }
        };
        let blanks = " ".repeat(column - self.end);
        self.end = column;
        blanks
    }
}

/// The column of a token in the author's text, with tabs of eight.
fn authors_column(solids: &Solids<'_>, index: usize) -> usize {
    let start = solids.get(index).map_or(0, |solid| solid.range.start as usize);
    let before = &solids.text[..start];
    let line = &before[before.rfind('\n').map_or(0, |newline| newline + 1)..];
    line.chars().fold(0, |column, c| if c == '\t' { column + TAB - column % TAB } else { column + 1 })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use oriole_syntax::tokenize;

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

                .visible .entry k(
                    .param .u64 p,
                    .param .u32 n
                )
                {
                    .reg .b32       %r<4>;
                    .reg .pred      %p;
                    ld.param.u32    %r1, [n];
                    @%p bra         DONE;                       // skip
                    {
                        .reg .b32       t;
                        mov.b32         t, {%h1, %h2};
                    }
                DONE:
                    ret;
                }
            "#]],
        );
    }

    #[test]
    fn labels_lists_and_calls() {
        check(
            ".visible .func(.param .b32 r) f (.param .b32 a,.param .b32 b)\n.noreturn\n{\nL0 : L1: add.u32 x,x,1;\n  T : .branchtargets\n L0,\n  L1 ;\n\
             P: .callprototype (.param .b32 _) _ (.param .b32 _);\n@! %p mov.b64 %d , {%x,\n%y} ;\ncall (r) ,\nf,\n(\na ,\nb\n) ;\n\
             setp.lt.s32 p | q,a,-1; ld.global.u32 x,[y + 4]; st [y+-4],x;@p  add.u32 a,a,1;\n\n}\n.global .b32 t [ 4 ]={1,2,\n3,4};",
            expect![[r#"
                .visible .func (.param .b32 r) f(.param .b32 a, .param .b32 b)
                .noreturn
                {
                L0:
                L1:
                    add.u32         x, x, 1;
                    T: .branchtargets
                        L0,
                        L1;
                    P: .callprototype (.param .b32 _) _ (.param .b32 _);
                    @!%p mov.b64    %d, {%x,
                        %y};
                    call            (r),
                        f,
                        (
                            a,
                            b
                        );
                    setp.lt.s32     p|q, a, -1;
                    ld.global.u32   x, [y+4];
                    st              [y+-4], x;
                    @p add.u32      a, a, 1;
                }
                .global .b32 t[4] = {1, 2,
                    3, 4};
            "#]],
        );
    }

    /// Comments after statements have a column; one that goes on below them stays with them.
    #[test]
    fn comments_and_sections() {
        check(
            ".entry k() // head\n{\n\n  // first\n  ret; // one\n       // two\n  // three\nL:      // a loop\n\t\t// goes on\n  exit; /* next */ bar.sync 0;\n\
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a],[b],4,[c]; // wide\n}\n\
             .section .debug_str { \nS:\n.b8 1 // code\n.b8 2,3\n.b32 S+4\n}\n",
            expect![[r#"
                .entry k() // head
                {
                    // first
                    ret;                                        // one
                                                                // two
                    // three
                L:                                              // a loop
                    // goes on
                    exit;
                    /* next */ bar.sync     0;
                    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes       [a], [b], 4, [c];   // wide
                }
                .section .debug_str {
                S:
                    .b8 1                                       // code
                    .b8 2, 3
                    .b32 S+4
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
            ".entry k(\n.param .b32 a\n{ add\n.reg .b32 x; }",
            ".entry k() { L: /* a */ M: { /* b */ ret; } // c\n// d\n }",
            ".func (\n) f(\n// one\n.param .b32 a, // two\n\n.param .b32 b /* three */) ;",
            ".entry k() { @p { ret; } @!q L: x y: ( ; [ } )",
        ] {
            let once = formatted(text);
            assert_eq!(tokens(text), tokens(&once), "{text:?} -> {once:?}");
            assert_eq!(formatted(&once), once, "{text:?}");
        }
    }

    /// The number of blanks that the author writes between two tokens makes no difference. Columns of comments do.
    #[test]
    fn blanks_of_the_author_make_no_difference() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test-data/kernels");
        let (mut count, mut state) = (0, 1u32);
        for entry in std::fs::read_dir(folder).expect("the test data") {
            let path = entry.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "ptx") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a text");
            if text.contains("/*") || text.contains('"') {
                continue;
            }
            let lines = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
            let text: String = lines.flat_map(|line| [line, "\n"]).collect();
            let mut other = String::new();
            for word in text.split(' ') {
                other.push_str(word);
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                other.push_str(["", " ", "\t", " \t  "][(state >> 30) as usize]);
                other.push(' ');
            }
            assert_eq!(formatted(&other), formatted(&text), "{}", path.display());
            count += 1;
        }
        assert!(count > 20, "{count}");
    }
}
