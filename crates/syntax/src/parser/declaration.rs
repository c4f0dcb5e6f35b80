//! Declarations: variables, registers, parameters and their initial values.
//!
//! The head of a declaration is a run of dotted words; which of them are state space, vector and type is decided by the
//! typed layer, not here.

use super::Parser;
use crate::SyntaxKind::{self, *};
use crate::directives::nearest_directive;
use oriole_diagnostics::Code;

/// Whether a declaration of a variable begins with this word, linkage aside.
pub(super) fn begins_variable(word: &str) -> bool {
    is_space(word) || matches!(word, ".align" | ".attribute")
}

/// Whether a dotted word names a state space of a declaration.
pub(crate) fn is_space(word: &str) -> bool {
    matches!(word, ".global" | ".const" | ".shared" | ".local" | ".param" | ".reg" | ".sreg" | ".tex")
}

impl Parser<'_> {
    /// A variable or register declaration with its semicolon.
    pub(super) fn variable(&mut self) {
        self.start(VARIABLE);
        self.declaration_head();
        loop {
            if !self.declarator() {
                break;
            }
            if !self.eat(COMMA) {
                break;
            }
        }
        self.expect_semicolon();
        self.finish();
    }

    fn declaration_head(&mut self) {
        loop {
            match self.kind() {
                DOTTED => match self.word() {
                    ".align" => self.align(),
                    ".ptr" => self.ptr(),
                    ".attribute" => self.attribute(),
                    _ => self.bump(),
                },
                L_BRACKET => {
                    self.start(BANK_CLAUSE);
                    self.bump();
                    self.expect(INT_NUMBER, "a bank number");
                    self.expect(R_BRACKET, "`]`");
                    self.finish();
                }
                _ => break,
            }
        }
    }

    fn align(&mut self) {
        self.start(ALIGN_CLAUSE);
        self.bump();
        if matches!(self.kind(), INT_NUMBER | L_PAREN) {
            self.operand();
        } else {
            self.expected("an alignment in bytes");
        }
        self.finish();
    }

    fn ptr(&mut self) {
        self.start(PTR_CLAUSE);
        self.bump();
        if self.is(DOTTED)
            && matches!(
                self.word(),
                ".global"
                    | ".const"
                    | ".shared"
                    | ".local"
                    | ".param"
                    | ".generic"
                    | ".texref"
                    | ".samplerref"
                    | ".surfref"
            )
        {
            self.bump();
        }
        if self.is_word(".align") {
            self.align();
        }
        self.finish();
    }

    /// `.attribute(.managed, .unified(1, 2))`, kept flat.
    pub(super) fn attribute(&mut self) {
        self.start(ATTRIBUTE);
        self.bump();
        if self.expect(L_PAREN, "`(`") {
            let mut depth = 1usize;
            while depth > 0 {
                match self.kind() {
                    L_PAREN => depth += 1,
                    R_PAREN => depth -= 1,
                    DOTTED | IDENT | COMMA | INT_NUMBER => {}
                    _ => {
                        self.expected("an attribute or `)`");
                        break;
                    }
                }
                self.bump();
            }
        }
        self.finish();
    }

    /// One name with its range, dimensions and value; `false` if there is no name.
    fn declarator(&mut self) -> bool {
        if !matches!(self.kind(), IDENT | UNDERSCORE) {
            self.expected("a name");
            return false;
        }
        self.start(DECLARATOR);
        self.bump();
        if self.is(LT) {
            self.start(REGISTER_RANGE);
            self.bump();
            self.expect(INT_NUMBER, "the number of registers");
            self.expect(GT, "`>`");
            self.finish();
        }
        while self.is(L_BRACKET) {
            self.start(DIMENSION);
            self.bump();
            if !self.is(R_BRACKET) {
                self.operand();
            }
            self.expect(R_BRACKET, "`]`");
            self.finish();
        }
        if self.is(EQ) {
            self.start(INITIALIZER);
            self.bump();
            self.initializer_value();
            self.finish();
        }
        self.finish();
        true
    }

    fn initializer_value(&mut self) {
        if self.is(L_BRACE) {
            self.nested(Self::initializer_list);
        } else {
            self.operators = 0;
            self.operand();
        }
    }

    fn initializer_list(&mut self) {
        self.start(INITIALIZER_LIST);
        self.bump();
        loop {
            match self.kind() {
                R_BRACE | END | SEMICOLON => break,
                IDENT if self.kind_after(1) == EQ => {
                    self.start(FIELD_INITIALIZER);
                    self.bump();
                    self.bump();
                    self.initializer_value();
                    self.finish();
                }
                INT_NUMBER | FLOAT_NUMBER if self.cut_numbers() => self.bump(),
                _ => self.initializer_value(),
            }
            if !self.eat(COMMA) {
                break;
            }
            if self.is(R_BRACE) {
                self.expected("a value");
            }
        }
        self.expect(R_BRACE, "`,` or `}`");
        self.finish();
    }

    /// Makes one token of the next number and the numbers after it, if there are some: tables are long, and a node and
    /// some tokens for each value take many times the memory and time of its bytes.
    fn cut_numbers(&mut self) -> bool {
        self.flush();
        self.lexer.numbers(self.at)
    }

    /// A parenthesized list of parameters, as `node`.
    pub(super) fn parameters(&mut self, node: SyntaxKind) {
        self.start(node);
        self.bump();
        while !matches!(self.kind(), R_PAREN | END | L_BRACE | R_BRACE | SEMICOLON) {
            let before = self.next;
            self.start(PARAMETER);
            if !self.is(DOTTED) {
                self.expected("a parameter such as `.param .u64 name`");
            }
            self.declaration_head();
            self.declarator();
            self.finish();
            if self.eat(COMMA) {
                if self.is(R_PAREN) {
                    self.expected("a parameter");
                }
                continue;
            }
            if self.is(R_PAREN) {
                break;
            }
            if self.next != before && self.is(DOTTED) {
                self.missing("`,`");
                continue;
            }
            self.parameter_garbage();
            self.eat(COMMA);
        }
        self.expect(R_PAREN, "`,` or `)`");
        self.finish();
    }

    fn parameter_garbage(&mut self) {
        self.expected("`,` or `)`");
        self.pass(|next| matches!(next.kind, COMMA | R_PAREN | L_BRACE | R_BRACE | SEMICOLON));
    }

    /// `.callprototype (…) _ (…) .noreturn;` after its label.
    pub(super) fn call_prototype(&mut self) {
        self.bump();
        if self.is(L_PAREN) {
            self.parameters(RETURN_LIST);
        }
        if !self.eat(UNDERSCORE) && !self.eat(IDENT) {
            self.expected("`_`");
        }
        if self.is(L_PAREN) {
            self.parameters(PARAMETER_LIST);
        }
        while self.is(DOTTED) {
            self.performance_directive();
        }
        self.expect_semicolon();
    }

    /// Reports a directive that has no meaning inside a body.
    pub(super) fn unknown_directive(&mut self) {
        let message = format!("`{}` is no directive of a function body", self.word());
        self.report_directive(message, nearest_directive(self.word(), true));
        self.recover();
    }

    /// Reports a word that is not a directive here, and the one that may be meant.
    pub(super) fn report_directive(&mut self, message: String, near: Option<&str>) {
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        self.report(Code::UnknownDirective, self.span(), message + &near);
    }
}
