//! Debug sections: lines of data, labels, and what a value may be.
//!
//! Separate from the items of the module: debug sections are long, and their values are few and simple. The tree is
//! kept flat.

use super::Parser;
use crate::SyntaxKind::*;
use crate::{NumberValue, parse_number};
use oriole_diagnostics::Code;

/// The types of data, and their bits.
const TYPES: [(&str, u32); 4] = [(".b8", 8), (".b16", 16), (".b32", 32), (".b64", 64)];

impl Parser<'_> {
    pub(super) fn section(&mut self) {
        self.start(SECTION);
        self.bump();
        self.expect(DOTTED, "a section name");
        if self.expect(L_BRACE, "`{`") {
            while !matches!(self.kind(), END | R_BRACE) {
                self.section_data();
            }
            self.expect_close("section");
        }
        self.finish();
    }

    /// `.b8 1, 2` / `.b64 label+4` / `label:`
    fn section_data(&mut self) {
        self.start(SECTION_DATA);
        match self.kind() {
            IDENT if self.kind_after(1) == COLON => {
                self.bump();
                self.bump();
            }
            DOTTED => {
                let bits = TYPES.iter().find(|row| row.0 == self.word()).map(|row| row.1);
                if bits.is_none() {
                    self.expected("`.b8`, `.b16`, `.b32` or `.b64`");
                }
                self.bump();
                self.section_values(bits.unwrap_or(64));
            }
            _ => {
                self.expected("section data");
                self.bump_error();
            }
        }
        self.finish();
    }

    /// Numbers, or one symbol.
    fn section_values(&mut self, bits: u32) {
        if matches!(self.kind(), IDENT | DOTTED) {
            if bits < 32 {
                self.expected(&format!("a number of {bits} bits"));
            }
            self.section_symbol();
            return;
        }
        loop {
            match self.kind() {
                INT_NUMBER => self.section_number(bits, false),
                MINUS if self.kind_after(1) == INT_NUMBER => {
                    self.bump();
                    self.section_number(bits, true);
                }
                _ => {
                    self.expected("a number");
                    if !matches!(self.kind(), END | R_BRACE) {
                        self.bump_error();
                    }
                }
            }
            if !self.eat(COMMA) {
                break;
            }
        }
    }

    /// `label`, `label+4`, `label-label`, `.section`, `.section+4`
    fn section_symbol(&mut self) {
        let label = self.is(IDENT);
        self.bump();
        match self.kind() {
            PLUS => {
                self.bump();
                self.expect(INT_NUMBER, "an offset");
            }
            MINUS if label => {
                self.bump();
                self.expect(IDENT, "a label");
            }
            _ => {}
        }
    }

    fn section_number(&mut self, bits: u32, negative: bool) {
        if let Ok(NumberValue::Integer { bits: value, .. }) = parse_number(self.word()) {
            // For non-negative values, ptxas looks at the low 32 bits only.
            let value = if negative { value } else { value & u64::from(u32::MAX) };
            let most = match (bits, negative) {
                (64, _) | (32, false) => u64::MAX,
                (_, false) => (1 << bits) - 1,
                (_, true) => 1 << (bits - 1),
            };
            if value > most {
                let message = format!("the number does not fit into {bits} bits");
                self.report(Code::InvalidNumber, self.span(), message);
            }
        }
        self.bump();
    }
}
