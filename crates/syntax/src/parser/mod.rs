//! The parser: tokens to a lossless tree, whatever the text is.
//!
//! Hand-written recursive descent over the token list, straight into a `rowan` builder. It never fails: unexpected
//! tokens become an `ERROR` node and a diagnostic, and parsing continues at the next semicolon, brace or line that
//! starts a statement. Every loop consumes a token or leaves, and every recursion is counted against a bound of
//! `limits`, so time is linear and depth bounded.
//!
//! This file has the machinery; the grammar is split by subject.

mod again;
mod declaration;
mod expression;
mod module;
mod section;
mod statement;

pub(crate) use declaration::is_space;

use again::Reusable;
use oriole_diagnostics::{Code, Diagnostic, Message, Span};

use crate::SyntaxKind::{self, *};
use crate::builder::{Checkpoint, TreeBuilder};
use crate::lexer::Lexer;
use crate::limits::{MAX_EXPRESSION_NESTING, MAX_PASSED_TOKENS, MAX_SYNTAX_DIAGNOSTICS, MAX_SYNTAX_ERRORS};
use crate::unit::UnitKind;
use crate::{Parse, Replaced, Token};

/// Parses the text of one unit. The kind says what the splitter saw; only
/// [`UnitKind::Broken`] changes the parse, which then gives one report and not
/// one for each token.
pub fn parse_unit(kind: UnitKind, text: &str) -> Parse {
    let mut lexer = Lexer::new(text);
    lexer.reserve();
    parse(kind, text, lexer, Reusable::default())
}

/// As [`parse_unit`], for a text of which all but `replaced` is that of `old`: reuses what the change left alone.
pub fn parse_unit_again(kind: UnitKind, text: &str, old: &Parse, replaced: Replaced) -> Parse {
    let reusable = Reusable::new(old, replaced, text.len());
    if reusable.is_empty() {
        return parse_unit(kind, text);
    }
    parse(kind, text, Lexer::new(text), reusable)
}

fn parse(kind: UnitKind, text: &str, lexer: Lexer<'_>, reusable: Reusable<'_>) -> Parse {
    let mut parser = Parser {
        text,
        lexer,
        reusable,
        at: 0,
        next: 0,
        builder: TreeBuilder::default(),
        errors: Vec::new(),
        found: 0,
        scopes: 0,
        expressions: 0,
        operators: 0,
    };
    parser.skip_trivia();
    parser.unit(kind);
    let Parser { builder, lexer, errors: found, .. } = parser;
    let mut errors = lexer.errors;
    let room = MAX_SYNTAX_DIAGNOSTICS.saturating_sub(errors.len());
    errors.extend(found.into_iter().take(room));
    errors.sort_by_key(|error| error.span.start);
    Parse { green: builder.finish(), errors }
}

struct Parser<'a> {
    text: &'a str,
    /// Has lexed all tokens that were looked ahead.
    lexer: Lexer<'a>,
    reusable: Reusable<'a>,
    /// First token that is not in the tree yet; may be trivia.
    at: usize,
    /// First token from `at` on that is not trivia.
    next: usize,
    builder: TreeBuilder,
    /// Diagnostics of the grammar, as many as are reported.
    errors: Vec<Diagnostic>,
    /// Number of diagnostics found, dropped ones included.
    found: usize,
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
        self.token(self.next).kind
    }

    fn is(&self, kind: SyntaxKind) -> bool {
        self.kind() == kind
    }

    fn span(&self) -> Span {
        self.token_span(self.next)
    }

    /// A token that has been lexed already.
    fn token(&self, index: usize) -> Token {
        self.lexer.tokens[index]
    }

    fn token_span(&self, index: usize) -> Span {
        let start = self.token(index).start;
        let end = self.lexer.tokens.get(index + 1).map_or(self.lexer.end(), |next| next.start);
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

    /// The kind of the `ahead`-th token after the next one, trivia left out.
    fn kind_after(&mut self, ahead: usize) -> SyntaxKind {
        let mut index = self.next;
        for _ in 0..ahead {
            index = self.following(index);
        }
        self.token(index).kind
    }

    /// The token after another one, trivia left out; nothing follows the end.
    fn following(&mut self, index: usize) -> usize {
        match self.token(index).kind {
            END => index,
            _ => self.significant(index + 1),
        }
    }

    /// The first token from `index` on that is not trivia.
    fn significant(&mut self, mut index: usize) -> usize {
        loop {
            if index == self.lexer.tokens.len() {
                self.lexer.step();
            }
            if !self.token(index).kind.is_trivia() {
                return index;
            }
            index += 1;
        }
    }

    /// The end of the last token in the tree that is not trivia.
    fn previous_end(&self) -> u32 {
        let mut index = self.at;
        while index > 0 && self.token(index - 1).kind.is_trivia() {
            index -= 1;
        }
        self.token(index).start
    }

    /// Whether the next token is the first of its line and could begin a
    /// statement: the sign that the statement before it was left unfinished.
    fn at_statement_line(&self) -> bool {
        self.token(self.next).begins_statement_line()
    }

    // ---- building

    fn skip_trivia(&mut self) {
        self.next = self.significant(self.at);
    }

    /// Puts the trivia before the next token into the tree.
    fn flush(&mut self) {
        while self.at < self.next {
            self.push_token();
        }
    }

    fn push_token(&mut self) {
        let kind = self.token(self.at).kind;
        let text = self.token_text(self.at);
        self.builder.token(kind, text);
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

    /// Puts the statement at the next token into the tree as it was before, if it is reusable.
    fn take_over(&mut self) -> bool {
        let Some(statement) = self.reusable.at(self.lexer.tokens[self.next].start) else { return false };
        let (tree, end, last) = (statement.tree(), statement.end, statement.last);
        self.flush();
        self.builder.take(tree);
        self.lexer.jump(self.at, end, last);
        self.at += 1;
        self.skip_trivia();
        true
    }

    /// Opens a node; the trivia before the next token stay outside.
    fn start(&mut self, kind: SyntaxKind) {
        self.flush();
        self.builder.start_node(kind);
    }

    fn checkpoint(&mut self) -> Checkpoint {
        self.flush();
        self.builder.checkpoint()
    }

    fn start_at(&mut self, checkpoint: Checkpoint, kind: SyntaxKind) {
        self.builder.start_node_at(checkpoint, kind);
    }

    fn finish(&mut self) {
        self.builder.finish_node();
    }

    // ---- reporting and recovery

    fn report(&mut self, code: Code, span: Span, message: impl Into<Message>) {
        if self.errors.len() < MAX_SYNTAX_DIAGNOSTICS {
            self.errors.push(Diagnostic::new(code, span, message));
        }
        self.found += 1;
        if self.found == MAX_SYNTAX_ERRORS && !self.is(END) {
            self.give_up();
        }
    }

    /// Puts the remaining text into the tree as one token.
    fn give_up(&mut self) {
        self.flush();
        self.lexer.jump(self.at, self.text.len() as u32, ERROR_TOKEN);
        self.push_token();
        self.skip_trivia();
    }

    /// Puts tokens into an `ERROR` node until `stop` accepts the next one, or to the end of the text.
    fn pass(&mut self, mut stop: impl FnMut(Token) -> bool) {
        self.start(ERROR);
        for _ in 0..MAX_PASSED_TOKENS {
            if self.is(END) || stop(self.token(self.next)) {
                return self.finish();
            }
            self.bump();
        }
        // `stop` has seen only the tokens that are in the tree already.
        if !self.is(END) && !stop(self.token(self.next)) {
            let first = self.token(self.next).start;
            self.flush();
            self.lexer.pass(self.at, |token| token.start > first && stop(token));
            self.push_token();
            self.skip_trivia();
        }
        self.finish();
    }

    /// The next token as it is named in messages.
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

    /// Reports that `what` is missing at the next token. A token that the lexer has reported is not reported again.
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

    /// Reports that `what` is missing after the last token. The place is that of the next token, as in ptxas, or the
    /// end of the text.
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

    /// The semicolon of a statement, or recovery after it.
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
        let mut last = None;
        self.pass(|next| {
            let ended = matches!(next.kind, L_BRACE | R_BRACE)
                || last == Some(SEMICOLON)
                || last.is_some() && next.begins_statement_line();
            last = Some(next.kind);
            ended
        });
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
    /// and puts the remaining statement into an `ERROR` node.
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
        self.pass_statement();
    }

    /// Puts what remains of an unfinished statement into an `ERROR` node, without its semicolon.
    fn pass_statement(&mut self) {
        let mut first = true;
        self.pass(|next| {
            next.kind == SEMICOLON || !std::mem::take(&mut first) && next.begins_statement_line()
        });
    }
}
