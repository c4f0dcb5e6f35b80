//! The lexer: a unit's text to tokens, trivia included.
//!
//! Total and linear: every byte belongs to exactly one token, and each token is decided by looking at its own bytes
//! (and, for `.5`, at the token before it). It reports errors inside a token; it knows no grammar.

mod bytes;
mod kinds;
mod numbers;

pub(crate) use bytes::{is_blank, is_name_byte};

use oriole_diagnostics::Diagnostic;

use crate::SyntaxKind::{self, *};

/// One token; its text is `start..end` of the unit, where `end` is the next
/// token's start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// The kind of the token.
    pub kind: SyntaxKind,
    /// Whether there is a line end between it and the token before it.
    pub on_new_line: bool,
    /// First byte, from the start of the unit.
    pub start: u32,
}

impl Token {
    /// Whether it is the first of its line and could begin a statement.
    pub(crate) fn begins_statement_line(self) -> bool {
        self.on_new_line && matches!(self.kind, IDENT | AT | DOTTED | L_BRACE | R_BRACE)
    }
}

/// Lexes `text`. The last token is [`SyntaxKind::END`] at the end of the text. Diagnostics are appended to `errors`, at
/// most [`MAX_SYNTAX_DIAGNOSTICS`] of them.
pub fn tokenize(text: &str, errors: &mut Vec<Diagnostic>) -> Vec<Token> {
    let mut lexer = Lexer::new(text);
    lexer.run();
    errors.append(&mut lexer.errors);
    lexer.tokens
}

/// A text being lexed token by token.
pub(crate) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    /// Kind of the last token that is not trivia.
    previous: SyntaxKind,
    /// Nothing but trivia since the last line end (or since the start).
    line_start: bool,
    /// The tokens so far.
    pub tokens: Vec<Token>,
    /// Diagnostics, in text order.
    pub errors: Vec<Diagnostic>,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Lexer<'a> {
        let text = text.as_bytes();
        Lexer { text, at: 0, previous: END, line_start: true, tokens: Vec::new(), errors: Vec::new() }
    }

    /// Makes room for the tokens of a text that is lexed as a whole.
    pub fn reserve(&mut self) {
        self.tokens.reserve(self.text.len() / 3 + 2);
    }

    /// Lexes the rest of the text.
    pub fn run(&mut self) {
        self.reserve();
        while self.at < self.text.len() {
            self.step();
        }
        self.step();
    }

    /// Lexes one more token; at the end of the text that is [`SyntaxKind::END`].
    pub fn step(&mut self) {
        let start = self.at;
        if start == self.text.len() {
            self.tokens.push(Token { kind: END, on_new_line: true, start: start as u32 });
            return;
        }
        let kind = self.token();
        debug_assert!(self.at > start, "a token has at least one byte");
        self.tokens.push(Token { kind, on_new_line: self.line_start, start: start as u32 });
        if !kind.is_trivia() {
            self.previous = kind;
            self.line_start = false;
        } else if !self.line_start {
            self.line_start = self.text[start..self.at].iter().any(|&byte| matches!(byte, b'\n' | b'\r'));
        }
    }

    /// Continues at byte `end` in place of the token `index`. The text between is known without being lexed again: it
    /// ends with a token of the kind `last` and has no errors.
    pub fn jump(&mut self, index: usize, end: u32, last: SyntaxKind) {
        let start = self.tokens[index].start;
        while self.errors.pop_if(|error| error.span.start >= start).is_some() {}
        self.tokens.truncate(index);
        self.tokens.push(Token { kind: last, on_new_line: false, start });
        (self.at, self.previous, self.line_start) = (end as usize, last, false);
    }

    /// Lexes on from the token `index` until `stop` accepts a token that is not trivia, or to the end. The tokens
    /// passed become one token, which replaces `index` and all tokens after it.
    pub fn pass(&mut self, index: usize, mut stop: impl FnMut(Token) -> bool) {
        let first = self.rewind(index);
        loop {
            let state = (self.at, self.previous, self.line_start);
            self.step();
            let Some(token) = self.tokens.pop() else { break };
            if token.kind == END || !token.kind.is_trivia() && stop(token) {
                while self.errors.pop_if(|error| error.span.start >= token.start).is_some() {}
                (self.at, self.previous, self.line_start) = state;
                break;
            }
        }
        self.tokens.push(Token { kind: ERROR_TOKEN, ..first });
    }

    /// Lexes the number at the token `index` and the numbers that follow it after commas as one token. Returns false
    /// and changes nothing if there are fewer than two. A number that neither comma nor closing brace follows is not
    /// included, nor is one with a diagnostic.
    pub fn numbers(&mut self, index: usize) -> bool {
        let first = self.rewind(index);
        let said = self.errors.len();
        let (mut count, mut end) = (0, self.at);
        while matches!(self.peek(0), b'0'..=b'9' | b'.')
            && matches!(self.token(), INT_NUMBER | FLOAT_NUMBER)
            && self.errors.len() == said
        {
            let behind = self.at;
            self.skip_while(is_blank);
            if !matches!(self.peek(0), b',' | b'}') {
                break;
            }
            (count, end) = (count + 1, behind);
            if self.peek(0) == b'}' {
                break;
            }
            self.at += 1;
            self.previous = COMMA;
            self.skip_while(is_blank);
        }
        self.errors.truncate(said);
        if count < 2 {
            self.rewind_to(first);
            self.step();
            return false;
        }
        self.tokens.push(Token { kind: NUMBERS, ..first });
        (self.at, self.previous, self.line_start) = (end, NUMBERS, false);
        true
    }

    /// Removes the token `index` and all tokens after it, and returns it.
    fn rewind(&mut self, index: usize) -> Token {
        let first = self.tokens[index];
        while self.errors.pop_if(|error| error.span.start >= first.start).is_some() {}
        self.tokens.truncate(index);
        self.rewind_to(first);
        first
    }

    /// Continues at the start of a token that comes after the existing ones.
    fn rewind_to(&mut self, token: Token) {
        self.at = token.start as usize;
        self.line_start = token.on_new_line;
        let before = self.tokens.iter().rev().find(|token| !token.kind.is_trivia());
        self.previous = before.map_or(END, |token| token.kind);
    }

    /// The end of the last token.
    pub fn end(&self) -> u32 {
        self.at as u32
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::tokenize;
    use crate::SyntaxKind::END;

    fn check(text: &str, expected: Expect) {
        let mut errors = Vec::new();
        let tokens = tokenize(text, &mut errors);
        let mut out = String::new();
        for pair in tokens.windows(2) {
            if pair[0].kind != END && !pair[0].kind.is_trivia() {
                let text = &text[pair[0].start as usize..pair[1].start as usize];
                out += &format!("{:?} {text:?}\n", pair[0].kind);
            }
        }
        for error in errors {
            out += &format!("{error}\n");
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn names_and_dots() {
        check(
            "%tid.x _ $L__1: .shared::cta.2d .5 %",
            expect![[r#"
                IDENT "%tid"
                DOTTED ".x"
                UNDERSCORE "_"
                IDENT "$L__1"
                COLON ":"
                DOTTED ".shared::cta"
                DOTTED ".2d"
                DOTTED ".5"
                PERCENT "%"
            "#]],
        );
    }

    #[test]
    fn numbers() {
        check(
            "12 12U 0x1F 0XfU 017 0b101 0B1U 0f3F800000 0D3FF0000000000000 1.5e-3 5. ,.5e1 1e5 8.0",
            expect![[r#"
                INT_NUMBER "12"
                INT_NUMBER "12U"
                INT_NUMBER "0x1F"
                INT_NUMBER "0XfU"
                INT_NUMBER "017"
                INT_NUMBER "0b101"
                INT_NUMBER "0B1U"
                FLOAT_NUMBER "0f3F800000"
                FLOAT_NUMBER "0D3FF0000000000000"
                FLOAT_NUMBER "1.5e-3"
                FLOAT_NUMBER "5."
                COMMA ","
                FLOAT_NUMBER ".5e1"
                FLOAT_NUMBER "1e5"
                FLOAT_NUMBER "8.0"
            "#]],
        );
    }

    #[test]
    fn broken_numbers() {
        check(
            "089 0x 0b12 1abc 12u 0f1 0d3FF00000",
            expect![[r#"
                INT_NUMBER "089"
                INT_NUMBER "0x"
                INT_NUMBER "0b12"
                INT_NUMBER "1abc"
                INT_NUMBER "12u"
                FLOAT_NUMBER "0f1"
                FLOAT_NUMBER "0d3FF00000"
                error[ptx::invalid-number] 0..3: a literal that begins with 0 is octal and has the digits 0 to 7 only
                error[ptx::invalid-number] 4..6: hexadecimal digits are expected in this literal
                error[ptx::invalid-number] 7..11: the digits 0 and 1 are expected in this literal
                error[ptx::invalid-number] 12..16: letters are glued to a number; a name cannot begin with a digit
                error[ptx::invalid-number] 17..20: letters are glued to a number; a name cannot begin with a digit
                error[ptx::invalid-number] 21..24: a `0f` literal has exactly 8 hexadecimal digits
                error[ptx::invalid-number] 25..35: a `0d` literal has exactly 16 hexadecimal digits
            "#]],
        );
    }

    #[test]
    fn strings_comments_and_garbage() {
        check(
            "\"a\" \"b\n/* x */ y # é\0\n# 5 \"f.cu\"\n. x /* open",
            expect![[r##"
                STRING "\"a\""
                STRING "\"b"
                IDENT "y"
                ERROR_TOKEN "#"
                ERROR_TOKEN "é\0"
                ERROR_TOKEN "."
                IDENT "x"
                error[ptx::unterminated-string] 4..6: the string is not closed on its line
                error[ptx::invalid-character] 17..18: no PTX token begins with the character '#'
                error[ptx::invalid-character] 19..22: a character outside ASCII can only be in a comment or a string
                error[ptx::invalid-character] 34..35: a name is expected directly behind `.`
                error[ptx::unterminated-comment] 38..40: the block comment is never closed; help: close it with `*/`
            "##]],
        );
    }
}
