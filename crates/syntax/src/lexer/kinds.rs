//! One token by its first bytes.

use oriole_diagnostics::{Code, Diagnostic, Span};

use super::Lexer;
use super::bytes::{is_blank, is_name_byte};
use crate::SyntaxKind::{self, *};
use crate::limits::MAX_SYNTAX_DIAGNOSTICS;

impl Lexer<'_> {
    #[inline]
    pub(super) fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn skip_while(&mut self, test: impl Fn(u8) -> bool) {
        let rest = &self.text[self.at..];
        self.at += rest.iter().position(|&byte| !test(byte)).unwrap_or(rest.len());
    }

    fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
    }

    pub(super) fn error(
        &mut self,
        code: Code,
        start: usize,
        message: impl Into<oriole_diagnostics::Message>,
    ) {
        if self.errors.len() < MAX_SYNTAX_DIAGNOSTICS {
            self.errors.push(Diagnostic::new(code, Span::between(start as u32, self.at as u32), message));
        }
    }

    pub(super) fn token(&mut self) -> SyntaxKind {
        let first = self.text[self.at];
        match first {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => {
                self.skip_while(is_blank);
                WHITESPACE
            }
            b'a'..=b'z' | b'A'..=b'Z' => {
                self.skip_while(is_name_byte);
                IDENT
            }
            b'%' | b'$' | b'_' => {
                self.at += 1;
                if is_name_byte(self.peek(0)) {
                    self.skip_while(is_name_byte);
                    return IDENT;
                }
                match first {
                    b'%' => PERCENT,
                    b'_' => UNDERSCORE,
                    _ => {
                        self.error(Code::InvalidCharacter, self.at - 1, "a lone `$` is no name");
                        ERROR_TOKEN
                    }
                }
            }
            b'0'..=b'9' => self.number(),
            b'.' => self.dot(),
            b'"' => self.string(),
            b'/' if self.peek(1) == b'/' => {
                self.skip_line();
                COMMENT
            }
            b'/' if self.peek(1) == b'*' => self.block_comment(),
            b'#' if self.line_start => {
                self.skip_line();
                LINE_MARKER
            }
            _ => self.punctuation(first),
        }
    }

    fn punctuation(&mut self, first: u8) -> SyntaxKind {
        let second = self.peek(1);
        let (kind, len) = match (first, second) {
            (b'<', b'<') => (LT_LT, 2),
            (b'>', b'>') => (GT_GT, 2),
            (b'<', b'=') => (LT_EQ, 2),
            (b'>', b'=') => (GT_EQ, 2),
            (b'=', b'=') => (EQ_EQ, 2),
            (b'!', b'=') => (BANG_EQ, 2),
            (b'&', b'&') => (AMP_AMP, 2),
            (b'|', b'|') => (PIPE_PIPE, 2),
            (b'{', _) => (L_BRACE, 1),
            (b'}', _) => (R_BRACE, 1),
            (b'(', _) => (L_PAREN, 1),
            (b')', _) => (R_PAREN, 1),
            (b'[', _) => (L_BRACKET, 1),
            (b']', _) => (R_BRACKET, 1),
            (b',', _) => (COMMA, 1),
            (b';', _) => (SEMICOLON, 1),
            (b':', _) => (COLON, 1),
            (b'@', _) => (AT, 1),
            (b'!', _) => (BANG, 1),
            (b'+', _) => (PLUS, 1),
            (b'-', _) => (MINUS, 1),
            (b'*', _) => (STAR, 1),
            (b'/', _) => (SLASH, 1),
            (b'<', _) => (LT, 1),
            (b'>', _) => (GT, 1),
            (b'=', _) => (EQ, 1),
            (b'&', _) => (AMP, 1),
            (b'|', _) => (PIPE, 1),
            (b'^', _) => (CARET, 1),
            (b'~', _) => (TILDE, 1),
            (b'?', _) => (QUESTION, 1),
            _ => return self.garbage(),
        };
        self.at += len;
        kind
    }

    /// A run of bytes that begin no token: one token and one report, so that a
    /// binary file stays cheap.
    fn garbage(&mut self) -> SyntaxKind {
        let start = self.at;
        self.skip_while(|byte| {
            !byte.is_ascii()
                || byte.is_ascii_control() && !byte.is_ascii_whitespace() && byte != 0x0b
                || matches!(byte, b'#' | b'\\' | b'`' | b'\'')
        });
        let message = match self.text[start] {
            0 => "PTX text cannot contain a NUL byte".to_owned(),
            byte if byte.is_ascii_graphic() => {
                format!("no PTX token begins with the character {byte:?}", byte = byte as char)
            }
            byte if byte.is_ascii() => format!("PTX text cannot contain a control character (0x{byte:02x})"),
            _ => "a character outside ASCII can only be in a comment or a string".to_owned(),
        };
        self.error(Code::InvalidCharacter, start, message);
        ERROR_TOKEN
    }

    /// A dotted word, `.5`, or a lone dot.
    fn dot(&mut self) -> SyntaxKind {
        let start = self.at;
        // After a word, `.2d` is a modifier; elsewhere `.5` is a number.
        if self.peek(1).is_ascii_digit() && !matches!(self.previous, IDENT | DOTTED | R_BRACKET) {
            return self.number();
        }
        self.at += 1;
        if !is_name_byte(self.peek(0)) {
            self.error(Code::InvalidCharacter, start, "a name is expected directly behind `.`");
            return ERROR_TOKEN;
        }
        self.skip_while(is_name_byte);
        while self.peek(0) == b':' && self.peek(1) == b':' && is_name_byte(self.peek(2)) {
            self.at += 2;
            self.skip_while(is_name_byte);
        }
        DOTTED
    }

    /// A string ends at its closing quote, or, if that is missing, at the line
    /// end: a half-typed string spoils one line.
    fn string(&mut self) -> SyntaxKind {
        let start = self.at;
        self.at += 1;
        self.skip_while(|byte| !matches!(byte, b'"' | b'\n' | b'\r'));
        if self.peek(0) == b'"' {
            self.at += 1;
        } else {
            self.error(Code::UnterminatedString, start, "the string is not closed on its line");
        }
        STRING
    }

    fn block_comment(&mut self) -> SyntaxKind {
        let start = self.at;
        let body = start + 2;
        match memchr::memmem::find(&self.text[body..], b"*/") {
            Some(end) => self.at = body + end + 2,
            None => {
                self.at = self.text.len();
                self.errors.push(
                    Diagnostic::new(
                        Code::UnterminatedComment,
                        Span::new(start as u32, 2),
                        "the block comment is never closed",
                    )
                    .with_help("close it with `*/`"),
                );
            }
        }
        COMMENT
    }
}
