//! Items by their first words: the kind of a unit, and its name.

use super::scan::{Mode, Stop};
use super::splitter::Splitter;
use super::words::{is_header, is_linkage, is_space, precedes_space};
use crate::lexer::{is_blank, is_name_byte};
use crate::unit::UnitKind;

impl Splitter<'_> {
    pub(super) fn item(&mut self, item: usize, text: &str) -> (UnitKind, Box<str>) {
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
}
