//! Operands and constant expressions.
//!
//! Operands are expressions, since `mov.u64 d, table+8` and `add.u32 r, a, 2*3` are both legal: precedence is C's. Two
//! forms take a left operand that decides the parse: `p|q` after a name, `_` or a vector is a pair, not a bitwise or.
//! Depth is bounded by the nesting level and by the number of operators, since a chain `1+1+…` nests to the left.

use crate::builder::Checkpoint;

use super::Parser;
use crate::SyntaxKind::{self, *};
use crate::limits::MAX_OPERATORS;
use oriole_diagnostics::Code;

/// The binding power of an infix operator; higher binds tighter.
fn binding_power(kind: SyntaxKind) -> Option<u8> {
    Some(match kind {
        PIPE_PIPE => 1,
        AMP_AMP => 2,
        PIPE => 3,
        CARET => 4,
        AMP => 5,
        EQ_EQ | BANG_EQ => 6,
        LT | LT_EQ | GT | GT_EQ => 7,
        LT_LT | GT_GT => 8,
        PLUS | MINUS => 9,
        STAR | SLASH | PERCENT => 10,
        _ => return None,
    })
}

/// Whether a dotted word selects a part of a register, a vector or a value.
pub(super) fn is_component(word: &str) -> bool {
    matches!(
        word,
        ".x" | ".y" | ".z" | ".w" | ".r" | ".g" | ".b" | ".a" | ".b0" | ".b1" | ".b2" | ".b3" | ".h0" | ".h1"
    )
}

impl Parser<'_> {
    /// One operand of an instruction, argument, element, or constant expression.
    pub(super) fn operand(&mut self) {
        // Elements of vectors and addresses share the budget of the operand that
        // holds them, because they can be the leaf of a chain of operators.
        if self.expressions == 0 {
            self.operators = 0;
        }
        self.nested(|parser| {
            let checkpoint = parser.checkpoint();
            let pairs = matches!(parser.kind(), IDENT | UNDERSCORE | L_BRACE);
            parser.unary();
            if pairs && parser.is(PIPE) {
                parser.start_at(checkpoint, PAIR);
                parser.bump();
                parser.unary();
                parser.finish();
            } else {
                parser.infix(checkpoint, 0);
                parser.conditional(checkpoint);
            }
        });
    }

    /// `… ? … : …` after a parsed condition.
    fn conditional(&mut self, checkpoint: Checkpoint) {
        if self.is(QUESTION) {
            self.start_at(checkpoint, TERNARY);
            self.bump();
            self.nested(Self::expression);
            self.expect(COLON, "`:`");
            self.nested(Self::expression);
            self.finish();
        }
    }

    fn expression(&mut self) {
        let checkpoint = self.checkpoint();
        self.unary();
        self.infix(checkpoint, 0);
        self.conditional(checkpoint);
    }

    /// Infix operators that bind tighter than `least`, after a parsed left side.
    fn infix(&mut self, checkpoint: Checkpoint, least: u8) {
        while let Some(power) = binding_power(self.kind()).filter(|&power| power > least) {
            if !self.count_operator() {
                return;
            }
            self.start_at(checkpoint, BINARY);
            self.bump();
            self.nested(|parser| {
                let right = parser.checkpoint();
                parser.unary();
                parser.infix(right, power);
            });
            self.finish();
        }
    }

    /// Counts an operator that nests to the left; past the bound it reports and
    /// skips the remaining statement.
    fn count_operator(&mut self) -> bool {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            let message = format!("an operand with more than {MAX_OPERATORS} operators");
            self.report(Code::NestingTooDeep, self.span(), message);
            self.pass_statement();
            return false;
        }
        true
    }

    fn unary(&mut self) {
        match self.kind() {
            MINUS | PLUS | BANG | TILDE => {
                self.start(PREFIX);
                self.bump();
                self.nested(Self::unary);
                self.finish();
            }
            L_PAREN if self.kind_after(1) == DOTTED && self.kind_after(2) == R_PAREN => {
                self.start(CAST);
                self.bump();
                self.bump();
                self.bump();
                self.nested(Self::unary);
                self.finish();
            }
            _ => self.postfix(),
        }
    }

    fn postfix(&mut self) {
        let checkpoint = self.checkpoint();
        let name = self.is(IDENT);
        let callable = name || self.is(INT_NUMBER);
        self.primary();
        loop {
            match self.kind() {
                DOTTED if name && (!self.token(self.next).on_new_line || is_component(self.word())) => {
                    if !self.count_operator() {
                        return;
                    }
                    self.start_at(checkpoint, MEMBER);
                    self.bump();
                    self.finish();
                }
                L_BRACKET if name => {
                    if !self.count_operator() {
                        return;
                    }
                    self.start_at(checkpoint, INDEX);
                    self.bump();
                    self.nested(Self::expression);
                    self.expect(R_BRACKET, "`]`");
                    self.finish();
                }
                // `generic(x)`, `mask(x)`, and `0xff(x)` as a mask of an address.
                L_PAREN if callable => {
                    if !self.count_operator() {
                        return;
                    }
                    self.start_at(checkpoint, CALL_EXPRESSION);
                    self.bump();
                    self.nested(Self::expression);
                    self.expect(R_PAREN, "`)`");
                    self.finish();
                }
                _ => return,
            }
        }
    }

    fn primary(&mut self) {
        let node = match self.kind() {
            IDENT => NAME,
            INT_NUMBER | FLOAT_NUMBER | STRING => LITERAL,
            UNDERSCORE => SINK,
            L_PAREN => {
                self.nested(|parser| {
                    parser.start(PAREN);
                    parser.bump();
                    parser.expression();
                    parser.expect(R_PAREN, "`)`");
                    parser.finish();
                });
                return;
            }
            L_BRACKET => {
                self.nested(Self::address);
                return;
            }
            L_BRACE => {
                self.nested(Self::vector);
                return;
            }
            _ => {
                self.expected("an operand");
                if !matches!(
                    self.kind(),
                    COMMA | SEMICOLON | R_PAREN | R_BRACKET | R_BRACE | END | COLON | QUESTION | GT
                ) && !self.at_statement_line()
                {
                    self.bump_error();
                }
                return;
            }
        };
        self.start(node);
        self.bump();
        self.finish();
    }

    /// `[a+4]`, `[tex, {x, y}]`, and `[a].unified`.
    fn address(&mut self) {
        self.start(ADDRESS);
        self.bump();
        self.elements(R_BRACKET, "`,` or `]`");
        if self.is(DOTTED) && (!self.token(self.next).on_new_line || self.word() == ".unified") {
            self.bump();
        }
        self.finish();
    }

    fn vector(&mut self) {
        self.start(VECTOR);
        self.bump();
        self.elements(R_BRACE, "`,` or `}`");
        self.finish();
    }

    fn elements(&mut self, close: SyntaxKind, what: &str) {
        loop {
            self.operand();
            if !self.is(COMMA) {
                break;
            }
            self.bump();
        }
        self.expect(close, what);
    }
}
