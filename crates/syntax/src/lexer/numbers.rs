//! Numbers: integers, floating-point literals and their exact forms.

use oriole_diagnostics::Code;

use super::Lexer;
use super::bytes::is_name_byte;
use crate::SyntaxKind::{self, *};

impl Lexer<'_> {
    pub(super) fn number(&mut self) -> SyntaxKind {
        let start = self.at;
        if self.peek(0) == b'0' {
            let digits = match self.peek(1) {
                b'f' | b'F' => Some(8),
                b'd' | b'D' => Some(16),
                _ => None,
            };
            if let Some(digits) = digits {
                self.at += 2;
                self.skip_while(is_name_byte);
                let body = &self.text[start + 2..self.at];
                if body.len() != digits || !body.iter().all(u8::is_ascii_hexdigit) {
                    let prefix = self.text[start + 1] as char;
                    self.error(
                        Code::InvalidNumber,
                        start,
                        format!("a `0{prefix}` literal has exactly {digits} hexadecimal digits"),
                    );
                }
                return FLOAT_NUMBER;
            }
            if matches!(self.peek(1), b'x' | b'X' | b'b' | b'B') {
                let hexadecimal = matches!(self.peek(1), b'x' | b'X');
                self.at += 2;
                self.skip_while(is_name_byte);
                let body = &self.text[start + 2..self.at];
                let body = body.strip_suffix(b"U").unwrap_or(body);
                let valid = |byte: &u8| {
                    if hexadecimal { byte.is_ascii_hexdigit() } else { matches!(byte, b'0' | b'1') }
                };
                if body.is_empty() || !body.iter().all(valid) {
                    let what = if hexadecimal { "hexadecimal digits" } else { "the digits 0 and 1" };
                    self.error(Code::InvalidNumber, start, format!("{what} are expected in this literal"));
                }
                return INT_NUMBER;
            }
        }
        self.skip_while(|byte| byte.is_ascii_digit());
        let mut float = false;
        if self.peek(0) == b'.'
            && (self.at == start || !self.peek(1).is_ascii_alphabetic() || self.exponent(1))
        {
            float = true;
            self.at += 1;
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        if self.exponent(0) {
            float = true;
            self.at += 2;
            self.skip_while(|byte| byte.is_ascii_digit());
        }
        if float {
            if is_name_byte(self.peek(0)) {
                self.skip_while(is_name_byte);
                self.error(Code::InvalidNumber, start, "letters are glued to a floating-point literal");
            }
            return FLOAT_NUMBER;
        }
        let digits = start..self.at;
        if self.peek(0) == b'U' {
            self.at += 1;
        }
        if is_name_byte(self.peek(0)) {
            self.skip_while(is_name_byte);
            self.error(
                Code::InvalidNumber,
                start,
                "letters are glued to a number; a name cannot begin with a digit",
            );
        } else if self.text[start] == b'0' && self.text[digits].iter().any(|&digit| digit > b'7') {
            self.error(
                Code::InvalidNumber,
                start,
                "a literal that begins with 0 is octal and has the digits 0 to 7 only",
            );
        }
        INT_NUMBER
    }

    /// Whether `e5`, `e+5` or `e-5` is `ahead` bytes on.
    fn exponent(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), b'e' | b'E')
            && (self.peek(ahead + 1).is_ascii_digit()
                || matches!(self.peek(ahead + 1), b'+' | b'-') && self.peek(ahead + 2).is_ascii_digit())
    }
}
