//! The parser: tokens to a lossless tree, whatever the text is.
//!
//! Hand-written recursive descent over the token list, straight into a `rowan`
//! builder. It never fails: what fits nowhere becomes an `ERROR` node and a
//! diagnostic, and parsing goes on at the next semicolon, brace or line that
//! starts a statement. Every loop consumes a token or leaves, and every recursion
//! is counted against a bound of `limits`, so time is linear and depth bounded.
//!
//! This file has the machinery; the grammar is cut by subject.

mod declaration;
mod expression;
mod module;
mod statement;

pub(crate) use declaration::is_space;

use oriole_diagnostics::{Code, Diagnostic, Message, Span};
use rowan::{Checkpoint, GreenNode, GreenNodeBuilder, Language};

use crate::SyntaxKind::{self, *};
use crate::limits::{MAX_EXPRESSION_NESTING, MAX_SYNTAX_DIAGNOSTICS};
use crate::split::UnitKind;
use crate::{NodeRef, PtxLanguage, Token, tokenize};

/// The result of parsing one unit: a tree and what is wrong with the text.
///
/// Two results are equal exactly if texts and findings are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parse {
    /// The tree; its text is the unit's text.
    pub green: GreenNode,
    /// Findings in text order, with spans relative to the unit.
    pub errors: Vec<Diagnostic>,
}

impl Parse {
    /// The root of the tree, a `UNIT` node.
    pub fn syntax(&self) -> NodeRef<'_> {
        NodeRef::root(&self.green)
    }

    /// The root with typed access.
    pub fn unit(&self) -> crate::ast::Unit<'_> {
        crate::ast::Unit::from_root(self.syntax())
    }

    /// Whether a finding is an error.
    pub fn has_errors(&self) -> bool {
        self.errors.iter().any(Diagnostic::is_error)
    }
}

/// Parses the text of one unit. The kind says what the splitter saw; only
/// [`UnitKind::Broken`] changes the parse, which then gives one report and not
/// one for each token.
pub fn parse_unit(kind: UnitKind, text: &str) -> Parse {
    let mut errors = Vec::new();
    let tokens = tokenize(text, &mut errors);
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        next: 0,
        builder: GreenNodeBuilder::new(),
        errors,
        scopes: 0,
        expressions: 0,
        operators: 0,
    };
    parser.skip_trivia();
    parser.unit(kind);
    let Parser { builder, mut errors, .. } = parser;
    errors.sort_by_key(|error| error.span.start);
    Parse { green: builder.finish(), errors }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    /// First token that is not in the tree yet; may be trivia.
    at: usize,
    /// First token from `at` on that is not trivia.
    next: usize,
    builder: GreenNodeBuilder<'static>,
    errors: Vec<Diagnostic>,
    /// Open scopes.
    scopes: usize,
    /// Open nested expressions.
    expressions: usize,
    /// Infix and postfix operators in the operand being parsed.
    operators: usize,
}

impl<'a> Parser<'a> {
    // ---- looking

    fn kind(&self) -> SyntaxKind {
        self.tokens[self.next].kind
    }

    fn is(&self, kind: SyntaxKind) -> bool {
        self.kind() == kind
    }

    fn span(&self) -> Span {
        self.token_span(self.next)
    }

    fn token_span(&self, index: usize) -> Span {
        let start = self.tokens[index].start;
        let end = self.tokens.get(index + 1).map_or(start, |next| next.start);
        Span::between(start, end)
    }

    fn token_text(&self, index: usize) -> &'a str {
        let span = self.token_span(index);
        &self.text[span.start as usize..span.end() as usize]
    }

    /// The text of the next token.
    fn word(&self) -> &'a str {
        self.token_text(self.next)
    }

    fn is_word(&self, word: &str) -> bool {
        self.is(DOTTED) && self.word() == word
    }

    /// The kind of the `ahead`-th token behind the next one, trivia left out.
    fn kind_after(&self, ahead: usize) -> SyntaxKind {
        self.tokens[self.index_after(ahead)].kind
    }

    fn index_after(&self, ahead: usize) -> usize {
        let mut index = self.next;
        for _ in 0..ahead {
            if self.tokens[index].kind == END {
                break;
            }
            index += 1;
            while self.tokens[index].kind.is_trivia() {
                index += 1;
            }
        }
        index
    }

    /// The end of the last token in the tree that is not trivia.
    fn previous_end(&self) -> u32 {
        let mut index = self.at;
        while index > 0 && self.tokens[index - 1].kind.is_trivia() {
            index -= 1;
        }
        self.tokens[index].start
    }

    /// Whether the next token is the first of its line and could begin a
    /// statement: the sign that the statement before it was left unfinished.
    fn at_statement_line(&self) -> bool {
        self.tokens[self.next].on_new_line && matches!(self.kind(), IDENT | AT | DOTTED | L_BRACE | R_BRACE)
    }

    // ---- building

    fn skip_trivia(&mut self) {
        self.next = self.at;
        while self.tokens[self.next].kind.is_trivia() {
            self.next += 1;
        }
    }

    /// Puts the trivia before the next token into the tree.
    fn flush(&mut self) {
        while self.at < self.next {
            self.push_token();
        }
    }

    fn push_token(&mut self) {
        let kind = self.tokens[self.at].kind;
        let text = self.token_text(self.at);
        self.builder.token(PtxLanguage::kind_to_raw(kind), text);
        self.at += 1;
    }

    /// Puts the next token into the tree. At the end of the text it does nothing.
    fn bump(&mut self) {
        if self.is(END) {
            return;
        }
        self.flush();
        self.push_token();
        self.skip_trivia();
    }

    fn eat(&mut self, kind: SyntaxKind) -> bool {
        let found = self.is(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Opens a node; the trivia before the next token stay outside.
    fn start(&mut self, kind: SyntaxKind) {
        self.flush();
        self.builder.start_node(PtxLanguage::kind_to_raw(kind));
    }

    fn checkpoint(&mut self) -> Checkpoint {
        self.flush();
        self.builder.checkpoint()
    }

    fn start_at(&mut self, checkpoint: Checkpoint, kind: SyntaxKind) {
        self.builder.start_node_at(checkpoint, PtxLanguage::kind_to_raw(kind));
    }

    fn finish(&mut self) {
        self.builder.finish_node();
    }

    // ---- reporting and recovery

    fn report(&mut self, code: Code, span: Span, message: impl Into<Message>) {
        if self.errors.len() < MAX_SYNTAX_DIAGNOSTICS {
            self.errors.push(Diagnostic::new(code, span, message));
        }
    }

    /// What stands at the next token, for messages.
    fn found(&self) -> String {
        match self.kind() {
            END => "the end of the text".to_owned(),
            _ => {
                let text = self.word();
                let mut cut = text.len().min(40);
                while !text.is_char_boundary(cut) {
                    cut -= 1;
                }
                let dots = if cut < text.len() { "…" } else { "" };
                format!("`{}{dots}`", text[..cut].replace('`', "'"))
            }
        }
    }

    /// Reports that `what` is missing at the next token. A token that the lexer
    /// has complained about is not complained about again.
    fn expected(&mut self, what: &str) {
        if !self.is(ERROR_TOKEN) {
            let message = format!("{what} expected, found {}", self.found());
            let span = match self.kind() {
                END => Span::point(self.previous_end()),
                _ => self.span(),
            };
            self.report(Code::Syntax, span, message);
        }
    }

    /// Reports that `what` is missing behind the last token. The place is that of the next token, as other PTX
    /// compilers say it, or the end of the text.
    fn missing(&mut self, what: &str) {
        let span = match self.kind() {
            END => Span::point(self.text.len() as u32),
            _ => self.span(),
        };
        let message = format!("{what} expected before {}", self.found());
        self.report(Code::Syntax, span, message);
    }

    fn expect(&mut self, kind: SyntaxKind, what: &str) -> bool {
        let found = self.eat(kind);
        if !found {
            self.expected(what);
        }
        found
    }

    /// The semicolon of a statement, or recovery behind it.
    fn expect_semicolon(&mut self) {
        if self.eat(SEMICOLON) {
            return;
        }
        if self.at_statement_line() || matches!(self.kind(), END | R_BRACE) {
            self.missing("`;`");
            return;
        }
        self.expected("`;`");
        self.recover();
    }

    /// Puts everything up to the statement's end into an `ERROR` node: through the
    /// next semicolon, or up to a brace or a line that begins a statement.
    fn recover(&mut self) {
        if matches!(self.kind(), END | R_BRACE) {
            return;
        }
        self.start(ERROR);
        loop {
            match self.kind() {
                END | L_BRACE | R_BRACE => break,
                SEMICOLON => {
                    self.bump();
                    break;
                }
                _ => {
                    self.bump();
                    if self.at_statement_line() {
                        break;
                    }
                }
            }
        }
        self.finish();
    }

    /// Puts the next token alone into an `ERROR` node.
    fn bump_error(&mut self) {
        if !self.is(END) {
            self.start(ERROR);
            self.bump();
            self.finish();
        }
    }

    /// Runs `inner` one expression level deeper; past the bound it reports once
    /// and puts the rest of the statement into an `ERROR` node.
    fn nested(&mut self, inner: impl FnOnce(&mut Self)) {
        if self.expressions >= MAX_EXPRESSION_NESTING {
            self.too_deep();
            return;
        }
        self.expressions += 1;
        inner(self);
        self.expressions -= 1;
    }

    fn too_deep(&mut self) {
        let message = format!("this is nested deeper than {MAX_EXPRESSION_NESTING} levels");
        self.report(Code::NestingTooDeep, self.span(), message);
        self.start(ERROR);
        while !matches!(self.kind(), END | SEMICOLON) {
            self.bump();
            if self.at_statement_line() {
                break;
            }
        }
        self.finish();
    }
}
