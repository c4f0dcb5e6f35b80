//! Reparsing a unit after a change: which statements of the earlier tree are reusable.
//!
//! A keystroke in a kernel of ten thousand statements parses one of them. The result equals that of parsing from
//! scratch. A statement is reusable if the parser could not see a difference: none of the bytes that it was made from
//! have changed, and it has no diagnostics. A statement with its semicolon is made from its own bytes alone, and a
//! `.loc` from those up to the first byte of the token after it. So nothing needs to be remembered but the tree.

use oriole_diagnostics::Diagnostic;
use rowan::{GreenNode, NodeOrToken};

use crate::SyntaxKind::{self, *};
use crate::limits::MAX_SYNTAX_DIAGNOSTICS;
use crate::{NodeRef, Parse, Replaced, TokenRef};

/// A reusable statement, in bytes of the new text.
pub(super) struct Statement<'t> {
    pub start: u32,
    pub end: u32,
    /// The kind of its last token.
    pub last: SyntaxKind,
    node: NodeRef<'t>,
}

impl Statement<'_> {
    pub fn tree(&self) -> GreenNode {
        self.node.green().to_owned()
    }
}

/// The reusable statements, in text order.
#[derive(Default)]
pub(super) struct Reusable<'t> {
    statements: Vec<Statement<'t>>,
    next: usize,
}

impl<'t> Reusable<'t> {
    /// The reusable statements of `old`, whose text had `replaced` replaced; the new text has `length` bytes.
    pub fn new(old: &'t Parse, replaced: Replaced, length: usize) -> Reusable<'t> {
        let mut reusable = Reusable::default();
        // Where diagnostics were dropped, a statement without one is not known to be correct.
        if old.errors.len() < MAX_SYNTAX_DIAGNOSTICS {
            let errors = old.errors.as_slice();
            Walk { errors, replaced, length, statements: &mut reusable.statements }.tree(old.syntax());
        }
        reusable
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    /// The statement that begins at this byte. Queries come in ascending order of bytes.
    pub fn at(&mut self, start: u32) -> Option<&Statement<'t>> {
        while self.statements.get(self.next)?.start < start {
            self.next += 1;
        }
        self.statements.get(self.next).filter(|statement| statement.start == start)
    }
}

struct Walk<'a, 't> {
    /// Diagnostics that are not before the current statement.
    errors: &'a [Diagnostic],
    replaced: Replaced,
    length: usize,
    statements: &'a mut Vec<Statement<'t>>,
}

impl<'t> Walk<'_, 't> {
    fn tree(&mut self, root: NodeRef<'t>) {
        let mut open = vec![(root.kind(), root.children_with_tokens())];
        // A `.loc`, until its next token is known.
        let mut pending: Option<NodeRef<'t>> = None;
        while let Some((parent, children)) = open.last_mut() {
            let Some(child) = children.next() else {
                open.pop();
                continue;
            };
            let (start, trivia) = match child {
                NodeOrToken::Node(node) => (node.span().start, false),
                NodeOrToken::Token(token) => (token.span().start, token.kind().is_trivia()),
            };
            if !trivia && let Some(before) = pending.take() {
                self.statement(before, start + 1);
            }
            let NodeOrToken::Node(node) = child else { continue };
            match node.kind() {
                kind @ (FUNCTION | BLOCK) => open.push((kind, node.children_with_tokens())),
                LOC_DIRECTIVE if *parent == BLOCK => pending = Some(node),
                INSTRUCTION | VARIABLE | PRAGMA if *parent == BLOCK => {
                    self.statement(node, node.span().end());
                }
                _ => {}
            }
        }
    }

    /// A statement that was made from the bytes before `seen`.
    fn statement(&mut self, node: NodeRef<'t>, seen: u32) {
        let Replaced { start: first, old_end, new_end } = self.replaced;
        let start = node.span().start;
        let before = self.errors.iter().take_while(|error| error.span.start < start).count();
        self.errors = &self.errors[before..];
        let said = self.errors.first().is_some_and(|error| error.span.start < seen);
        let (moved, moved_seen) = if seen <= first {
            (start, seen)
        } else if start >= old_end {
            (start - old_end + new_end, seen - old_end + new_end)
        } else {
            return;
        };
        let last = node.last_token().map(TokenRef::kind);
        let complete = last == Some(SEMICOLON) || node.kind() == LOC_DIRECTIVE;
        if let Some(last) = last.filter(|_| complete && !said && moved_seen as usize <= self.length) {
            self.statements.push(Statement { start: moved, end: moved + node.span().len, last, node });
        }
    }
}
