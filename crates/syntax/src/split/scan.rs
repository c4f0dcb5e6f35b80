//! The scan to the end of an item: braces, statements, and the directives that cannot belong to it.

use super::comments::CommentEnd;
use super::splitter::Splitter;
use super::words::{is_header, is_linkage, is_space};
use crate::lexer::is_blank;

/// Why a scan stopped; `Splitter::at` is the end of the unit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Semicolon,
    Brace,
    /// A module-level directive or the end of the file.
    Cut,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
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

impl Splitter<'_> {
    /// Scans from `at` to the end of the item, sets `self.at` to it and says why
    /// it stopped.
    pub(super) fn scan(&mut self, mut at: usize, mode: Mode) -> Stop {
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
