//! Module-level grammar: header lines, functions, debug lines.
//!
//! A unit of a function holds that item alone; in other units any sequence is parsed, so that a test or a tool can
//! parse a whole file as one unit of a header.

use super::Parser;
use crate::SyntaxKind::{self, *};
use crate::Token;
use crate::directives::nearest_directive;
use crate::lexer::is_name_byte;
use crate::unit::UnitKind;
use oriole_diagnostics::{Code, Span};

impl Parser<'_> {
    pub(super) fn unit(&mut self, kind: UnitKind) {
        self.builder.start_node(UNIT);
        if kind == UnitKind::Broken && !self.is(END) {
            self.broken();
        }
        let function = matches!(kind, UnitKind::Entry | UnitKind::Function | UnitKind::Declaration);
        while !self.is(END) {
            let ends = function && self.at_function();
            self.item();
            if ends && !self.is(END) {
                self.behind_function();
            }
        }
        self.flush();
        self.finish();
    }

    /// Whether a function begins here, after its linkage.
    fn at_function(&mut self) -> bool {
        let mut at = self.next;
        while matches!(self.token_text(at), ".visible" | ".extern" | ".weak" | ".common") {
            at = self.following(at);
        }
        matches!(self.token_text(at), ".entry" | ".func")
    }

    /// The rest of a function's unit after the function, whose body was closed too early. None of it is an item of the
    /// module, so that such a unit declares its function and nothing else.
    fn behind_function(&mut self) {
        if !self.is(ERROR_TOKEN) {
            let message = format!("the function ends before {}: a `}}` above is one too many", self.found());
            self.report(Code::Syntax, self.span(), message);
        }
        self.pass(|_| false);
    }

    fn broken(&mut self) {
        if !self.is(ERROR_TOKEN) {
            let message = format!("a module-level directive expected, found {}", self.found());
            self.report(Code::Syntax, self.span(), message);
        }
        self.pass(|_| false);
    }

    fn item(&mut self) {
        if !self.is(DOTTED) {
            self.expected("a module-level directive");
            self.recover_item();
            return;
        }
        match self.word() {
            ".version" => self.simple(VERSION_DIRECTIVE, FLOAT_NUMBER, "a version number such as `8.0`"),
            ".address_size" => self.simple(ADDRESS_SIZE_DIRECTIVE, INT_NUMBER, "32 or 64"),
            ".target" => self.target(),
            ".file" => self.file(),
            ".loc" | ".loc_intermediate" => self.loc(),
            ".section" => self.section(),
            ".pragma" => self.pragma(),
            ".alias" => self.alias(),
            ".entry" | ".func" => self.function(),
            ".visible" | ".extern" | ".weak" | ".common" => self.linked(),
            word if super::declaration::begins_variable(word) => self.variable(),
            word => {
                let message = format!("`{word}` is no module-level directive");
                self.report_directive(message, nearest_directive(word, false));
                self.recover_item();
            }
        }
    }

    /// Up to the next item: through a semicolon or brace, or up to a dotted word on
    /// a new line.
    fn recover_item(&mut self) {
        let mut last = None;
        self.pass(|next| {
            let ended = matches!(last, Some(SEMICOLON | R_BRACE))
                || last.is_some() && next.on_new_line && next.kind == DOTTED;
            last = Some(next.kind);
            ended
        });
    }

    fn simple(&mut self, node: SyntaxKind, value: SyntaxKind, what: &str) {
        self.start(node);
        self.bump();
        if !self.eat(value) {
            self.expected(what);
            if matches!(self.kind(), INT_NUMBER | FLOAT_NUMBER | IDENT) {
                self.bump_error();
            }
        }
        self.finish();
    }

    fn target(&mut self) {
        self.start(TARGET_DIRECTIVE);
        self.bump();
        loop {
            if !self.expect(IDENT, "a chip or a target option") {
                break;
            }
            if !self.eat(COMMA) {
                break;
            }
        }
        self.finish();
    }

    pub(super) fn file(&mut self) {
        self.start(FILE_DIRECTIVE);
        self.bump();
        self.expect(INT_NUMBER, "a file number");
        self.expect(STRING, "a file name in quotes");
        while self.is(COMMA) {
            self.bump();
            self.expect(INT_NUMBER, "a number");
        }
        self.finish();
    }

    pub(super) fn loc(&mut self) {
        self.start(LOC_DIRECTIVE);
        self.bump();
        for what in ["a file number", "a line number", "a column number"] {
            if !self.expect(INT_NUMBER, what) {
                break;
            }
        }
        if self.is(COMMA) {
            self.bump();
            self.start(INLINED_AT);
            if self.contextual("function_name") {
                if !self.eat(DOTTED) {
                    self.expect(IDENT, "the label of a function's name");
                }
                if self.eat(PLUS) {
                    self.expect(INT_NUMBER, "an offset");
                }
                self.expect(COMMA, "`,`");
                if self.contextual("inlined_at") {
                    for what in ["a file number", "a line number", "a column number"] {
                        self.expect(INT_NUMBER, what);
                    }
                } else {
                    self.expected("`inlined_at`");
                }
            } else {
                self.expected("`function_name`");
            }
            self.finish();
        }
        self.finish();
    }

    /// Takes a word that is a keyword only at this place.
    fn contextual(&mut self, word: &str) -> bool {
        let found = self.is(IDENT) && self.word() == word;
        if found {
            self.bump();
        }
        found
    }

    /// The closing brace of a body or section.
    pub(super) fn expect_close(&mut self, what: &str) {
        if self.eat(R_BRACE) {
            return;
        }
        // At the end of the text, where ptxas reports it.
        let at = self.text.len() as u32;
        self.report(
            Code::UnterminatedBody,
            Span::point(at),
            format!("the {what} is not closed: `}}` expected"),
        );
    }

    pub(super) fn pragma(&mut self) {
        self.start(PRAGMA);
        self.bump();
        loop {
            self.expect(STRING, "a string");
            if !self.eat(COMMA) {
                break;
            }
        }
        self.expect_semicolon();
        self.finish();
    }

    fn alias(&mut self) {
        self.start(ALIAS);
        self.bump();
        self.expect(IDENT, "the alias");
        self.expect(COMMA, "`,`");
        self.expect(IDENT, "the function that it names");
        self.expect_semicolon();
        self.finish();
    }

    /// After a linkage word: a function or a variable.
    fn linked(&mut self) {
        let mut behind = self.next;
        while matches!(self.token_text(behind), ".visible" | ".extern" | ".weak" | ".common") {
            behind = self.following(behind);
        }
        match self.token_text(behind) {
            ".entry" | ".func" => self.function(),
            _ => self.variable(),
        }
    }

    fn function(&mut self) {
        self.start(FUNCTION);
        while !matches!(self.word(), ".entry" | ".func") {
            self.bump();
        }
        self.bump();
        while self.is_word(".attribute") {
            self.attribute();
        }
        let first = self.span();
        if self.is(L_PAREN) {
            self.parameters(RETURN_LIST);
            // Parameters without a name before them: the name is missing before the parenthesis.
            if !self.is(IDENT) && !self.is(ERROR_TOKEN) {
                self.report(Code::Syntax, first, "the function's name expected, found `(`");
            } else {
                self.expect(IDENT, "the function's name");
            }
        } else {
            self.expect(IDENT, "the function's name");
        }
        if self.is(L_PAREN) {
            self.parameters(PARAMETER_LIST);
        }
        loop {
            match self.kind() {
                DOTTED if self.word() == ".pragma" => self.pragma(),
                DOTTED if self.word() == ".attribute" => self.attribute(),
                DOTTED => self.performance_directive(),
                _ => break,
            }
        }
        match self.kind() {
            SEMICOLON => self.bump(),
            L_BRACE => self.block("body"),
            END => self.missing("`{` or `;`"),
            _ => {
                self.expected("`{` or `;`");
                let text = self.text;
                self.pass(|next| matches!(next.kind, L_BRACE | SEMICOLON) || begins_item(text, next));
                match self.kind() {
                    L_BRACE => self.block("body"),
                    SEMICOLON => self.bump(),
                    _ => {}
                }
            }
        }
        self.finish();
    }

    pub(super) fn performance_directive(&mut self) {
        self.start(PERFORMANCE_DIRECTIVE);
        self.bump();
        if matches!(self.kind(), INT_NUMBER | FLOAT_NUMBER | IDENT | L_PAREN | MINUS) {
            loop {
                self.operand();
                if !self.eat(COMMA) {
                    break;
                }
            }
        }
        self.finish();
    }
}

/// Whether a token is the first of its line and begins an item of the module.
fn begins_item(text: &str, token: Token) -> bool {
    let line = &text[token.start as usize..];
    let is = |word: &&str| {
        line.strip_prefix(*word).is_some_and(|after| !after.bytes().next().is_some_and(is_name_byte))
    };
    let items = [".entry", ".func", ".visible", ".extern", ".weak", ".global", ".const"];
    token.on_new_line && token.kind == DOTTED && items.iter().any(is)
}
