//! A line of Ori text that is read from the left: words, numbers and tokens. It knows no function.

use super::problem::{Parsed, Problem, found, too_large};

/// A line being read from the left.
pub(super) struct Cursor<'t> {
    pub(super) rest: &'t str,
}

impl<'t> Cursor<'t> {
    pub(super) fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    pub(super) fn end(&mut self) -> Parsed<()> {
        self.skip();
        if self.rest.is_empty() { Ok(()) } else { Err(Problem::Rest(self.rest.to_owned())) }
    }

    pub(super) fn eat(&mut self, token: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    pub(super) fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) {
            return Ok(());
        }
        Err(Problem::Token { token: token.to_owned(), rest: self.rest.to_owned() })
    }

    pub(super) fn peek(&mut self) -> Option<char> {
        self.skip();
        self.rest.chars().next()
    }

    pub(super) fn word(&mut self) -> &'t str {
        self.skip();
        let end =
            self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// An unsigned integer: decimal, or hexadecimal with `0x`.
    pub(super) fn number(&mut self) -> Parsed<u64> {
        let word = self.word();
        let parsed = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        parsed.map_err(|_| found("a number", &format!("{word}{}", self.rest)))
    }

    pub(super) fn number_as<T: TryFrom<u64>>(&mut self) -> Parsed<T> {
        let number = self.number()?;
        T::try_from(number).map_err(|_| Problem::TooLarge(format!("number {number}")))
    }

    pub(super) fn in_parentheses(&mut self) -> Parsed<u32> {
        self.expect("(")?;
        let number = self.number_as()?;
        self.expect(")")?;
        Ok(number)
    }

    /// A mask: hexadecimal digits only.
    pub(super) fn mask(&mut self) -> Parsed<u64> {
        let digits = self.word();
        u64::from_str_radix(digits, 16).map_err(|_| found("a mask", digits))
    }

    /// `letter` and an index.
    pub(super) fn indexed(&mut self, letter: &str) -> Parsed<u32> {
        self.expect(letter)?;
        self.number_as()
    }

    /// Optional `+0x..` or `-0x..`.
    pub(super) fn offset(&mut self) -> Parsed<i32> {
        let negative = match self.peek() {
            Some('+') => false,
            Some('-') => true,
            _ => return Ok(0),
        };
        self.rest = &self.rest[1..];
        let magnitude = self.number()? as i64;
        i32::try_from(if negative { -magnitude } else { magnitude }).map_err(|_| too_large("offset"))
    }
}
