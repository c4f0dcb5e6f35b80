//! Statements of a function body.

use super::Parser;
use crate::SyntaxKind::*;
use crate::limits::MAX_SCOPE_NESTING;
use oriole_diagnostics::Code;

impl Parser<'_> {
    /// `{ … }` with statements.
    pub(super) fn block(&mut self, what: &str) {
        if self.scopes >= MAX_SCOPE_NESTING {
            self.skip_deep_block();
            return;
        }
        self.scopes += 1;
        self.start(BLOCK);
        self.bump();
        while !matches!(self.kind(), R_BRACE | END) {
            self.statement();
        }
        self.expect_close(what);
        self.finish();
        self.scopes -= 1;
    }

    /// A block past the nesting bound: all its tokens in one flat `ERROR` node.
    fn skip_deep_block(&mut self) {
        let message = format!("scopes are nested deeper than {MAX_SCOPE_NESTING} levels");
        self.report(Code::NestingTooDeep, self.span(), message);
        let (mut depth, mut begun) = (0usize, false);
        self.pass(|next| {
            if depth == 0 && std::mem::replace(&mut begun, true) {
                return true;
            }
            match next.kind {
                L_BRACE => depth += 1,
                R_BRACE => depth -= 1,
                _ => {}
            }
            false
        });
    }

    fn statement(&mut self) {
        if self.take_over() {
            return;
        }
        match self.kind() {
            L_BRACE => self.block("scope"),
            IDENT if self.kind_after(1) == COLON => self.label(),
            IDENT | AT => self.instruction(),
            DOTTED => self.directive(),
            SEMICOLON => {
                self.expected("a statement");
                self.bump_error();
            }
            _ => {
                self.expected("a statement");
                let before = self.next;
                self.recover();
                if self.next == before {
                    self.bump_error();
                }
            }
        }
    }

    fn directive(&mut self) {
        match self.word() {
            ".loc" | ".loc_intermediate" => self.loc(),
            ".pragma" => self.pragma(),
            word if super::declaration::begins_variable(word) => self.variable(),
            ".branchtargets" | ".calltargets" | ".callprototype" => {
                let message = format!("`{}` needs a label before it", self.word());
                self.report(Code::Syntax, self.span(), message);
                self.recover();
            }
            _ => self.unknown_directive(),
        }
    }

    fn label(&mut self) {
        let checkpoint = self.checkpoint();
        self.start(LABEL);
        self.bump();
        self.bump();
        self.finish();
        let node = match self.word() {
            ".branchtargets" => BRANCH_TARGETS,
            ".calltargets" => CALL_TARGETS,
            ".callprototype" => CALL_PROTOTYPE,
            _ => return,
        };
        self.start_at(checkpoint, node);
        if node == CALL_PROTOTYPE {
            self.call_prototype();
        } else {
            self.bump();
            loop {
                if self.is(IDENT) {
                    self.start(NAME);
                    self.bump();
                    self.finish();
                } else {
                    self.expected("a name");
                    break;
                }
                if !self.eat(COMMA) {
                    break;
                }
            }
            self.expect_semicolon();
        }
        self.finish();
    }

    fn instruction(&mut self) {
        self.start(INSTRUCTION);
        if self.is(AT) {
            self.start(GUARD);
            self.bump();
            self.eat(BANG);
            let complete = self.expect(IDENT, "a predicate register");
            self.finish();
            if !complete {
                self.recover();
                self.finish();
                return;
            }
        }
        if !self.is(IDENT) {
            self.expected("an instruction");
            self.recover();
            self.finish();
            return;
        }
        let call = self.word() == "call";
        self.start(OPCODE);
        self.bump();
        while self.is(DOTTED) && !self.starts_directive_line() {
            self.bump();
        }
        self.finish();
        if !self.is(SEMICOLON) && !self.at_next_statement() {
            self.operands(call);
        }
        self.expect_semicolon();
        self.finish();
    }

    /// Whether the token after an opcode is the first of its line and cannot be an operand: then the opcode was left
    /// without its semicolon. (PTX itself does not care for line ends; calls often have their operands on lines of
    /// their own.)
    fn at_next_statement(&mut self) -> bool {
        self.token(self.next).on_new_line
            && match self.kind() {
                AT | DOTTED | R_BRACE => true,
                IDENT => match self.kind_after(1) {
                    IDENT | COLON => true,
                    DOTTED => {
                        let behind = self.following(self.next);
                        !super::expression::is_component(self.token_text(behind))
                    }
                    _ => false,
                },
                _ => false,
            }
    }

    /// Whether the current dotted word is the first of its line and a directive:
    /// then the opcode before it was left half-typed.
    fn starts_directive_line(&self) -> bool {
        self.token(self.next).on_new_line
            && matches!(
                self.word(),
                ".reg"
                    | ".loc"
                    | ".loc_intermediate"
                    | ".pragma"
                    | ".branchtargets"
                    | ".calltargets"
                    | ".callprototype"
            )
    }

    fn operands(&mut self, call: bool) {
        if matches!(self.kind(), END | R_BRACE) {
            return;
        }
        self.start(OPERAND_LIST);
        loop {
            if call && self.is(L_PAREN) {
                self.arguments();
            } else {
                self.operand();
            }
            if !self.is(COMMA) {
                break;
            }
            self.bump();
            if matches!(self.kind(), SEMICOLON | R_BRACE | END) {
                self.expected("an operand");
                break;
            }
        }
        self.finish();
    }

    fn arguments(&mut self) {
        self.start(ARGUMENT_LIST);
        self.bump();
        while !matches!(self.kind(), R_PAREN | SEMICOLON | R_BRACE | END) {
            self.operand();
            if !self.eat(COMMA) {
                break;
            }
            if self.is(R_PAREN) {
                self.expected("an argument");
            }
        }
        self.expect(R_PAREN, "`,` or `)`");
        self.finish();
    }
}
