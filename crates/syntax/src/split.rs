//! The unit splitter: a file's text to kernels, functions, variables and other
//! items, without building a tree.
//!
//! It keeps incremental work small: everything downstream sees one unit's text and no file position, so an edit reaches
//! only the unit it falls into. Therefore it must be total (any bytes), linear, much faster than the parser, and
//! robust: half-typed text may spoil the unit it is in and no other.
//!
//! Rules:
//! * Units concatenated are the file. White space and comments belong to the item that
//!   follows; what follows the last item is a [`UnitKind::Trailer`].
//! * A unit ends where its grammar ends it: a body at its closing brace, a
//!   declaration at its semicolon, header and `.file` lines at the next directive.
//! * Directives that can only be at module level (`.entry`, `.func`, linkage
//!   words, header words, `.section`) end the unit before them, whatever the brace
//!   depth. When a body ends this way, and its last closing brace is followed by a
//!   module-level declaration, the body is taken to end at that brace.
//! * A string ends at its closing quote or at the end of its line.
//! * A block comment ends at the first `*/`. It is taken for unclosed if there is
//!   none, or if a line that starts a kernel, function or other linked item and
//!   then another `/*` come first; an unclosed comment ends before that line and
//!   the comments above it, and the parser reports it. A comment that merely
//!   holds a commented-out kernel is therefore a comment, as the language says.

use std::cell::Cell;

use crate::lexer::{is_blank, is_name_byte};

/// The kind of item that a unit holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum UnitKind {
    /// `.version`, `.target`, `.address_size`, module-level `.pragma`.
    Header,
    /// A module-level variable declaration, all names up to its semicolon.
    Variable,
    /// A function or kernel without a body, or an `.alias`.
    Declaration,
    /// A `.func` with a body.
    Function,
    /// An `.entry` with a body.
    Entry,
    /// `.section { … }`, or a run of `.file` and `.loc` lines.
    DebugSection,
    /// White space and comments after the last item.
    Trailer,
    /// Text that belongs to no item.
    Broken,
}

/// One unit of a file.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Unit {
    /// The kind of the unit.
    pub kind: UnitKind,
    /// The (first) name that it declares; a section's name; else empty.
    pub name: Box<str>,
    /// First byte in the file, leading white space and comments included.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
    /// Line of the first byte, from 1.
    pub line: u32,
}

impl Unit {
    /// The unit's text, given the file's.
    pub fn text<'a>(&self, file: &'a str) -> &'a str {
        &file[self.start as usize..(self.start + self.len) as usize]
    }
}

/// Cuts a file into units, in file order.
///
/// # Panics
/// If the text is 4 GiB or longer; a driver refuses such files before.
pub fn split_file(text: &str) -> Vec<Unit> {
    let mut splitter = Splitter::new(text, 0);
    let mut units = Vec::new();
    let (mut line, mut line_at) = (1, 0);
    while let Some((unit, _)) = splitter.next_unit() {
        let start = unit.start as usize;
        line += line_ends(&text.as_bytes()[line_at..start]);
        line_at = start;
        units.push(Unit { line, ..unit });
    }
    units
}

/// Number of line ends in a text.
fn line_ends(text: &[u8]) -> u32 {
    memchr::memchr_iter(b'\n', text).count() as u32
}

/// How a block comment ends.
enum CommentEnd {
    /// After its `*/`.
    Closed(usize),
    /// It is unclosed and taken to end here.
    Open(usize),
}

/// Why a scan stopped; `Splitter::at` is the end of the unit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Semicolon,
    Brace,
    /// A module-level directive or the end of the file.
    Cut,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Up to the `;` outside braces.
    Statement,
    /// Up to the brace that closes the first one, or a `;` before any brace.
    Body,
    /// Up to the next directive that is not a header word.
    HeaderRun,
    /// Up to the next directive that is not `.file` or `.loc`.
    FileRun,
    /// Up to the next directive that can start an item.
    Broken,
}

/// Splits units off a text, one after the other.
/// The braces and statements that a scan is inside of.
#[derive(Default)]
struct Nesting {
    depth: usize,
    /// After `=` braces are an initializer, up to the semicolon.
    initializer: bool,
    pragma: bool,
    /// End of the last brace that closed something other than an initializer.
    last_close: Option<usize>,
}

impl Nesting {
    /// Takes a byte of `{};=` that ends at `end`. Says why the item ends there, if it does.
    fn punctuation(&mut self, byte: u8, end: usize, mode: Mode) -> Option<Stop> {
        match byte {
            b'{' => self.depth += 1,
            b'}' if self.depth > 0 => {
                self.depth -= 1;
                if !self.initializer {
                    self.last_close = Some(end);
                }
                if self.depth == 0 && mode == Mode::Body {
                    return Some(Stop::Brace);
                }
            }
            b';' => {
                self.initializer = false;
                let pragma = std::mem::take(&mut self.pragma);
                let ends = match mode {
                    Mode::Statement => true,
                    Mode::Body => !pragma,
                    _ => false,
                };
                if ends && self.depth == 0 {
                    return Some(Stop::Semicolon);
                }
            }
            b'=' => self.initializer = true,
            _ => {}
        }
        None
    }
}

pub(crate) struct Splitter<'a> {
    whole: &'a str,
    text: &'a [u8],
    at: usize,
    /// From here on the text has no `*/`.
    no_close_from: usize,
    /// End of the bytes that the current unit has examined; one more than the length of the text if it looked for the
    /// end.
    seen: Cell<usize>,
}

const BORING: [bool; 256] = {
    let mut table = [true; 256];
    let stops = b"{};./\"=";
    let mut at = 0;
    while at < stops.len() {
        table[stops[at] as usize] = false;
        at += 1;
    }
    table
};

fn is_linkage(word: &[u8]) -> bool {
    matches!(word, b".visible" | b".extern" | b".weak" | b".common")
}

/// Whether a dotted word may come before the state space of a variable.
fn precedes_space(word: &[u8]) -> bool {
    matches!(word, b".align" | b".attribute")
}

fn is_header(word: &[u8]) -> bool {
    matches!(word, b".version" | b".target" | b".address_size")
}

fn is_space(word: &[u8]) -> bool {
    matches!(word, b".global" | b".const" | b".shared" | b".local" | b".param" | b".reg" | b".tex")
}

impl<'a> Splitter<'a> {
    /// Begins at the start of a unit.
    ///
    /// # Panics
    /// If the text is 4 GiB or longer.
    pub(crate) fn new(text: &'a str, at: usize) -> Splitter<'a> {
        assert!(
            u32::try_from(text.len()).is_ok(),
            "a file of 4 GiB or more must be refused before splitting"
        );
        Splitter { whole: text, text: text.as_bytes(), at, no_close_from: usize::MAX, seen: Cell::new(at) }
    }

    /// The next unit, without its line number, and the end of the bytes examined to find it; `None` after the last one.
    /// Of the text before the unit only the line that it begins on is read.
    pub(crate) fn next_unit(&mut self) -> Option<(Unit, usize)> {
        let start = self.at;
        if start >= self.text.len() {
            return None;
        }
        self.seen.set(start);
        let item = self.trivia_end(start);
        self.at = item;
        let (kind, name) = if item == self.text.len() {
            (UnitKind::Trailer, Box::default())
        } else {
            self.item(item, self.whole)
        };
        debug_assert!(self.at > start, "a unit has at least one byte");
        let len = (self.at - start) as u32;
        self.look(self.at - 1);
        Some((Unit { kind, name, start: start as u32, len, line: 1 }, self.seen.get()))
    }

    /// Notes that a decision depends on a byte, or on the text ending before it.
    fn look(&self, at: usize) {
        self.seen.set(self.seen.get().max((at + 1).min(self.text.len() + 1)));
    }

    fn byte(&self, at: usize) -> u8 {
        self.look(at);
        self.text.get(at).copied().unwrap_or(0)
    }

    /// The dotted word that begins at `at`, as far as splitting cares.
    fn word(&self, at: usize) -> &'a [u8] {
        let rest = &self.text[at..];
        let len = 1 + rest[1..].iter().take_while(|&&byte| is_name_byte(byte)).count();
        self.look(at + len);
        &rest[..len]
    }

    /// Whether the dot at `at` begins a word of its own: `.reg`, not the dot of
    /// `add.u32`, `8.0` or `[a].unified`.
    fn starts_directive(&self, at: usize) -> bool {
        at == 0 || !is_name_byte(self.text[at - 1]) && !matches!(self.text[at - 1], b']' | b':')
    }

    fn line_end(&self, at: usize) -> usize {
        let end = memchr::memchr2(b'\n', b'\r', &self.text[at..]).map_or(self.text.len(), |len| at + len);
        self.look(end);
        end
    }

    /// The first byte from `at` on that is neither white space nor in a (closed)
    /// comment.
    fn trivia_end(&mut self, mut at: usize) -> usize {
        loop {
            match self.byte(at) {
                byte if is_blank(byte) => at += 1,
                b'/' if self.byte(at + 1) == b'/' => at = self.line_end(at),
                b'/' if self.byte(at + 1) == b'*' => match self.comment_end(at) {
                    CommentEnd::Closed(end) => at = end,
                    CommentEnd::Open(_) => return at,
                },
                b'#' if self.is_line_start(at) => at = self.line_end(at),
                _ => return at,
            }
            if at >= self.text.len() {
                return self.text.len();
            }
        }
    }

    fn is_line_start(&self, at: usize) -> bool {
        let before = self.text[..at].iter().rev().find(|&&byte| !matches!(byte, b' ' | b'\t'));
        before.is_none_or(|&byte| matches!(byte, b'\n' | b'\r'))
    }

    /// Whether an item that the comment rule looks for starts on the line at `at`.
    fn is_item_line(&self, at: usize) -> bool {
        let indent = self.text[at..].iter().take_while(|&&byte| matches!(byte, b' ' | b'\t')).count();
        if self.byte(at + indent) != b'.' {
            return false;
        }
        let word = self.word(at + indent);
        is_linkage(word)
            || matches!(word, b".entry" | b".func" | b".section")
            || indent == 0 && matches!(word, b".global" | b".const")
    }

    fn comment_end(&mut self, start: usize) -> CommentEnd {
        let mut item_line = None;
        let mut at = start + 2;
        while at < self.text.len() {
            match self.text[at] {
                b'*' if self.byte(at + 1) == b'/' => return CommentEnd::Closed(at + 2),
                b'/' if self.byte(at + 1) == b'*' && item_line.is_some() => break,
                b'\n' | b'\r' if item_line.is_none() && self.is_item_line(at + 1) => {
                    item_line = Some(at + 1);
                    if start >= self.no_close_from {
                        self.look(self.text.len());
                        break;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.look(at);
        if at >= self.text.len() {
            self.no_close_from = self.no_close_from.min(start);
        }
        CommentEnd::Open(item_line.map_or(self.text.len(), |line| self.end_of_text_above(line, start + 2)))
    }

    /// Walks up from the line at `line` over blank and `//` lines; gives the end of
    /// the text of the line above them, but nothing before `floor`.
    fn end_of_text_above(&self, line: usize, floor: usize) -> usize {
        let mut end = line;
        loop {
            // `end` is the start of a line; step over the line end before it.
            let mut above = end;
            if above > floor && self.text[above - 1] == b'\n' {
                above -= 1;
            }
            if above > floor && self.text[above - 1] == b'\r' {
                above -= 1;
            }
            if above <= floor || above == end {
                return above.max(floor);
            }
            let start = memchr::memrchr2(b'\n', b'\r', &self.text[floor..above])
                .map_or(floor, |last| floor + last + 1);
            let text = self.text[start..above].trim_ascii();
            if start == floor || !(text.is_empty() || text.starts_with(b"//")) {
                let kept = self.text[start..above].trim_ascii_end().len();
                return (start + kept).max(floor);
            }
            end = start;
        }
    }

    fn item(&mut self, item: usize, text: &str) -> (UnitKind, Box<str>) {
        if self.text[item] != b'.' {
            return self.broken();
        }
        let word = self.word(item);
        let after = item + word.len();
        match word {
            word if is_header(word) => {
                self.scan(after, Mode::HeaderRun);
                (UnitKind::Header, Box::default())
            }
            b".file" | b".loc" | b".loc_intermediate" => {
                self.scan(after, Mode::FileRun);
                (UnitKind::DebugSection, Box::default())
            }
            b".pragma" => {
                self.scan(after, Mode::Statement);
                (UnitKind::Header, Box::default())
            }
            b".alias" => {
                self.scan(after, Mode::Statement);
                let name = self.name_after(after, text);
                (UnitKind::Declaration, name)
            }
            b".section" => {
                let at = self.trivia_end(after);
                let end = at
                    + self.text[at..].iter().take_while(|&&byte| is_name_byte(byte) || byte == b'.').count();
                self.look(end);
                let name = text[at..end].into();
                self.scan(after, Mode::Body);
                (UnitKind::DebugSection, name)
            }
            b".entry" => self.function(after, UnitKind::Entry, text),
            b".func" => self.function(after, UnitKind::Function, text),
            word if is_linkage(word) => self.linked(after, text),
            word if precedes_space(word) => self.linked(item, text),
            word if is_space(word) => self.variable(after, text),
            _ => self.broken(),
        }
    }

    /// The end of the argument of `.align` or `.attribute`: a number, or a list in parentheses.
    fn argument_end(&mut self, at: usize) -> usize {
        let at = self.trivia_end(at);
        let rest = &self.text[at..];
        let list = rest.first() == Some(&b'(');
        let inside = |&&byte: &&u8| {
            if list {
                is_name_byte(byte) || is_blank(byte) || matches!(byte, b'(' | b'.' | b',')
            } else {
                is_name_byte(byte)
            }
        };
        let len = rest.iter().take_while(inside).count();
        let len = len + usize::from(list && rest.get(len) == Some(&b')'));
        self.look(at + len);
        at + len
    }

    /// After a linkage word: more of them, an alignment or attributes, then a function or a variable.
    fn linked(&mut self, mut after: usize, text: &str) -> (UnitKind, Box<str>) {
        loop {
            let at = self.trivia_end(after);
            if self.byte(at) != b'.' {
                return self.variable(after, text);
            }
            let word = self.word(at);
            let end = at + word.len();
            match word {
                b".entry" => return self.function(end, UnitKind::Entry, text),
                b".func" => return self.function(end, UnitKind::Function, text),
                word if is_linkage(word) => after = end,
                word if precedes_space(word) => after = self.argument_end(end),
                word if is_space(word) => return self.variable(end, text),
                _ => return self.variable(after, text),
            }
        }
    }

    fn function(&mut self, after: usize, kind: UnitKind, text: &str) -> (UnitKind, Box<str>) {
        let stop = self.scan(after, Mode::Body);
        let name = self.name_after(after, text);
        (if stop == Stop::Semicolon { UnitKind::Declaration } else { kind }, name)
    }

    fn variable(&mut self, after: usize, text: &str) -> (UnitKind, Box<str>) {
        self.scan(after, Mode::Statement);
        let name = self.name_after(after, text);
        (UnitKind::Variable, name)
    }

    fn broken(&mut self) -> (UnitKind, Box<str>) {
        self.scan(self.at, Mode::Broken);
        (UnitKind::Broken, Box::default())
    }

    /// The first name after a keyword, past dotted words, numbers and groups in parentheses or brackets; none after the
    /// end of the unit, which has been scanned.
    fn name_after(&mut self, mut at: usize, text: &str) -> Box<str> {
        let mut depth = 0usize;
        loop {
            at = self.trivia_end(at);
            if at >= self.at {
                return Box::default();
            }
            match self.byte(at) {
                b'(' | b'[' => {
                    depth += 1;
                    at += 1;
                }
                b')' | b']' => {
                    depth = depth.saturating_sub(1);
                    at += 1;
                }
                b'.' => {
                    let word = self.word(at);
                    if matches!(word, b".entry" | b".func") || is_linkage(word) {
                        return Box::default();
                    }
                    at += word.len();
                }
                byte if is_name_byte(byte) || byte == b'%' => {
                    let end =
                        at + 1 + self.text[at + 1..].iter().take_while(|&&byte| is_name_byte(byte)).count();
                    self.look(end);
                    if depth == 0 && !byte.is_ascii_digit() {
                        return text[at..end].into();
                    }
                    at = end;
                }
                b',' | b':' | b'+' | b'-' | b'<' | b'>' if depth > 0 => at += 1,
                _ => return Box::default(),
            }
        }
    }

    /// Scans from `at` to the end of the item, sets `self.at` to it and says why
    /// it stopped.
    fn scan(&mut self, mut at: usize, mode: Mode) -> Stop {
        let text = self.text;
        let mut nesting = Nesting::default();
        // Everything up to here is known to end in a byte that is not trivia.
        let mut solid = at;
        // From here up to `at` there are uninteresting bytes: names, numbers, white space.
        let mut run = at;
        let settle = |solid: usize, run: usize, at: usize| {
            let kept = text[run..at].iter().rposition(|&byte| !is_blank(byte));
            kept.map_or(solid, |last| run + last + 1)
        };
        loop {
            while at < text.len() && BORING[usize::from(text[at])] {
                at += 1;
            }
            if at >= text.len() {
                solid = settle(solid, run, at);
                // An unclosed body reaches to the end of the text, where its brace is missing.
                if nesting.depth > 0 && mode == Mode::Body {
                    solid = text.len();
                }
                break;
            }
            match text[at] {
                b'.' if self.starts_directive(at) => {
                    solid = settle(solid, run, at);
                    let word = self.word(at);
                    let len = word.len();
                    if self.ends_unit(at, solid, mode, nesting.depth) {
                        break;
                    }
                    nesting.pragma = self.word(at) == b".pragma";
                    at += len;
                    solid = at;
                }
                b'/' => {
                    solid = settle(solid, run, at);
                    match self.byte(at + 1) {
                        b'/' => at = self.line_end(at),
                        b'*' => match self.comment_end(at) {
                            CommentEnd::Closed(end) => at = end,
                            CommentEnd::Open(end) => {
                                // The unclosed comment is the unit's last text, not
                                // the next unit's leading comment.
                                self.at = end;
                                return Stop::Cut;
                            }
                        },
                        _ => {
                            at += 1;
                            solid = at;
                        }
                    }
                }
                b'"' => {
                    let end = memchr::memchr3(b'"', b'\n', b'\r', &text[at + 1..]);
                    at = end.map_or(text.len(), |len| at + 1 + len);
                    at += usize::from(self.byte(at) == b'"');
                    solid = at;
                }
                byte => {
                    at += 1;
                    solid = at;
                    if let Some(stop) = nesting.punctuation(byte, at, mode) {
                        self.at = at;
                        return stop;
                    }
                }
            }
            run = at;
        }
        self.look(at);
        self.at = solid;
        if let (true, Some(close)) = (nesting.depth > 0 && mode == Mode::Body, nesting.last_close)
            && self.is_declaration_after(close, solid)
        {
            self.at = close;
        }
        Stop::Cut
    }

    /// Whether a declaration that only a module can hold follows a brace, before the end of what was scanned.
    fn is_declaration_after(&mut self, close: usize, end: usize) -> bool {
        let next = self.trivia_end(close);
        next < end
            && self.text[next] == b'.'
            && matches!(
                self.word(next),
                b".global" | b".const" | b".shared" | b".file" | b".alias" | b".pragma"
            )
    }

    /// Whether the dotted word at `at` cannot belong to the unit being scanned,
    /// whose text so far ends at `solid`.
    fn ends_unit(&mut self, at: usize, solid: usize, mode: Mode, depth: usize) -> bool {
        let before = if solid == 0 { b';' } else { self.text[solid - 1] };
        let word = self.word(at);
        let end = at + word.len();
        match word {
            b".entry" | b".func" | b".visible" | b".extern" | b".common" | b".section" => true,
            word if is_header(word) => mode != Mode::HeaderRun,
            b".weak" => {
                // Also a modifier of loads and stores, which may be separated from its opcode.
                let next = self.trivia_end(end);
                matches!(mode, Mode::HeaderRun | Mode::FileRun)
                    || matches!(before, b';' | b'{' | b'}')
                    || self.byte(next) == b'.'
                        && (matches!(self.word(next), b".entry" | b".func") || is_linkage(self.word(next)))
            }
            b".file" | b".loc" | b".loc_intermediate" if mode == Mode::FileRun => false,
            _ if matches!(mode, Mode::HeaderRun | Mode::FileRun) => true,
            word if mode == Mode::Statement => depth == 0 && is_space(word),
            b".global" | b".const" | b".alias" => mode == Mode::Broken && matches!(before, b';' | b'}'),
            b".shared" | b".file" | b".pragma" => mode == Mode::Broken && before == b'}',
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::split_file;

    fn check(text: &str, expected: Expect) {
        let mut out = String::new();
        let mut joined = String::new();
        for unit in split_file(text) {
            out += &format!("{}: {:?} `{}` {:?}\n", unit.line, unit.kind, unit.name, unit.text(text));
            joined += unit.text(text);
        }
        assert_eq!(joined, text);
        expected.assert_eq(&out);
    }

    #[test]
    fn items() {
        check(
            "// head\n.version 8.0\n.target sm_90, debug // x\n.address_size 64\n\n\
             .pragma \"a;b\";\n.extern .func (.param .b32 r) f (.param .b32 a);\n\
             .visible .global .align 8 .v2 .f32 arr[2] = {{1,2},{3,4}}, z;\n\
             // k\n.visible .entry k(.param .u64 .ptr .global .align 4 p)\n.maxntid 32\n.pragma \"x\";\n{ { /* } */ } }\n\
             .weak .func g { ret; }\n.alias b, g;\n.file 1 \"a\"\n.file 2 \"b\"\n\
             .section .debug_str {\n.b32 .debug_abbrev\n}\n// end\n",
            expect![[r#"
                1: Header `` "// head\n.version 8.0\n.target sm_90, debug // x\n.address_size 64"
                4: Header `` "\n\n.pragma \"a;b\";"
                6: Declaration `f` "\n.extern .func (.param .b32 r) f (.param .b32 a);"
                7: Variable `arr` "\n.visible .global .align 8 .v2 .f32 arr[2] = {{1,2},{3,4}}, z;"
                8: Entry `k` "\n// k\n.visible .entry k(.param .u64 .ptr .global .align 4 p)\n.maxntid 32\n.pragma \"x\";\n{ { /* } */ } }"
                13: Function `g` "\n.weak .func g { ret; }"
                14: Declaration `b` "\n.alias b, g;"
                15: DebugSection `` "\n.file 1 \"a\"\n.file 2 \"b\""
                17: DebugSection `.debug_str` "\n.section .debug_str {\n.b32 .debug_abbrev\n}"
                20: Trailer `` "\n// end\n"
            "#]],
        );
    }

    #[test]
    fn one_line_and_empty() {
        check(
            ".version 8.0 .target sm_90 .entry k { ld .weak.u32 a, [b].unified; }",
            expect![[r#"
                1: Header `` ".version 8.0 .target sm_90"
                1: Entry `k` " .entry k { ld .weak.u32 a, [b].unified; }"
            "#]],
        );
        check("", expect![[""]]);
        check(
            " \n",
            expect![[r#"
            1: Trailer `` " \n"
        "#]],
        );
    }

    #[test]
    fn unclosed_brace_spoils_one_unit() {
        check(
            ".entry a { { ret; }\n\n// b\n.visible .entry b { ret; }",
            expect![[r#"
                1: Entry `a` ".entry a { { ret; }"
                1: Entry `b` "\n\n// b\n.visible .entry b { ret; }"
            "#]],
        );
        check(
            ".entry a { { ret; }\n.global .b32 x = {1};\n.shared .b32 y;\n.entry b { ret; }",
            expect![[r#"
                1: Entry `a` ".entry a { { ret; }"
                1: Variable `x` "\n.global .b32 x = {1};"
                2: Variable `y` "\n.shared .b32 y;"
                3: Entry `b` "\n.entry b { ret; }"
            "#]],
        );
    }

    #[test]
    fn surplus_brace_spoils_one_unit() {
        check(
            ".entry a { ret; } add.u32 a, b, c; .shared .b32 q; }\n.shared .b32 y;\n.entry b { ret; }",
            expect![[r#"
                1: Entry `a` ".entry a { ret; }"
                1: Broken `` " add.u32 a, b, c; .shared .b32 q; }"
                1: Variable `y` "\n.shared .b32 y;"
                2: Entry `b` "\n.entry b { ret; }"
            "#]],
        );
    }

    #[test]
    fn open_string_spoils_its_line() {
        check(
            ".entry a { \" ret; \n }\n.entry b { ret; }",
            expect![[r#"
                1: Entry `a` ".entry a { \" ret; \n }"
                2: Entry `b` "\n.entry b { ret; }"
            "#]],
        );
    }

    #[test]
    fn open_comment_spoils_one_unit() {
        let expected = expect![[r#"
            1: Entry `a` ".entry a {\n /* ret;\n}"
            3: Entry `b` "\n\n\t// .globl b\n\n.visible .entry b { /* c */ ret; }"
            7: Entry `c` "\n.entry c {}"
        "#]];
        check(
            ".entry a {\n /* ret;\n}\n\n\t// .globl b\n\n.visible .entry b { /* c */ ret; }\n.entry c {}",
            expected,
        );
        check(
            ".entry a {\n /* ret; }\n.entry b { /* ret; }\n.entry c {}\n",
            expect![[r#"
                1: Entry `a` ".entry a {\n /* ret; }"
                2: Entry `b` "\n.entry b { /* ret; }"
                3: Entry `c` "\n.entry c {}"
                4: Trailer `` "\n"
            "#]],
        );
    }

    #[test]
    fn a_commented_out_kernel_is_a_comment() {
        check(
            "/*\n.entry a {}\n*/ .entry b {}",
            expect![[r#"
                1: Entry `b` "/*\n.entry a {}\n*/ .entry b {}"
            "#]],
        );
    }

    #[test]
    fn missing_semicolons_and_half_typed_headers() {
        check(
            ".global .b32 x\n.global .b32 y;\n.entry\n.entry b {}\n.func (\n.visible .entry c {}",
            expect![[r#"
                1: Variable `x` ".global .b32 x"
                1: Variable `y` "\n.global .b32 y;"
                2: Entry `` "\n.entry"
                3: Entry `b` "\n.entry b {}"
                4: Function `` "\n.func ("
                5: Entry `c` "\n.visible .entry c {}"
            "#]],
        );
    }

    #[test]
    fn many_open_comments_are_linear() {
        let text = "/* \n.entry a {\n".repeat(20_000);
        assert_eq!(split_file(&text).len(), 20_001);
        let text = "/* ".repeat(200_000);
        assert_eq!(split_file(&text).len(), 1);
    }
}
