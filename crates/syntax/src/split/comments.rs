//! White space and comments, closed or not.

use super::splitter::Splitter;
use super::words::is_linkage;
use crate::lexer::is_blank;

/// How a block comment ends.
pub(super) enum CommentEnd {
    /// After its `*/`.
    Closed(usize),
    /// It is unclosed and taken to end here.
    Open(usize),
}

impl Splitter<'_> {
    /// The first byte from `at` on that is neither white space nor in a (closed)
    /// comment.
    pub(super) fn trivia_end(&mut self, mut at: usize) -> usize {
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

    pub(super) fn comment_end(&mut self, start: usize) -> CommentEnd {
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
}
