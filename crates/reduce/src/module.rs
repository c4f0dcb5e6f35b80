//! A module as the stages see it: its text and the trees of its units, in file order.
//!
//! It is made once for each stage. Places are bytes of the whole text, not of a unit.

use crate::text::{Change, Edit, removal};
use oriole_syntax::{NodeRef, Parse, SyntaxKind, TokenRef, UnitKind, parse_unit, split_file};
use std::ops::Range;

/// A text with its trees.
pub(crate) struct Module<'a> {
    pub text: &'a str,
    units: Vec<(UnitKind, usize, Parse)>,
}

/// A node or token of a module.
#[derive(Clone, Copy)]
pub(crate) struct At<T> {
    pub it: T,
    /// Where its unit starts.
    base: usize,
}

impl<'a> Module<'a> {
    pub(crate) fn new(text: &'a str) -> Module<'a> {
        let units = split_file(text).into_iter();
        let units =
            units.map(|unit| (unit.kind, unit.start as usize, parse_unit(unit.kind, unit.text(text))));
        Module { text, units: units.collect() }
    }

    /// The roots of the units, with their kinds.
    pub(crate) fn roots(&self) -> impl Iterator<Item = (UnitKind, At<NodeRef<'_>>)> {
        self.units.iter().map(|(kind, start, parse)| (*kind, At { it: parse.syntax(), base: *start }))
    }

    /// Every node of the module, each before those that it holds.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = At<NodeRef<'_>>> {
        self.roots().flat_map(|(_, root)| root.descendants())
    }

    /// Every node of a kind.
    pub(crate) fn of_kind(&self, kind: SyntaxKind) -> impl Iterator<Item = At<NodeRef<'_>>> {
        self.nodes().filter(move |node| node.it.kind() == kind)
    }

    /// Every token.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = At<TokenRef<'_>>> {
        self.roots().flat_map(|(_, root)| root.all_tokens())
    }

    /// The removal of a node.
    pub(crate) fn without(&self, node: At<NodeRef<'_>>) -> Change {
        vec![self.removed(node.range())]
    }

    /// The removal of some bytes.
    pub(crate) fn removed(&self, range: Range<usize>) -> Edit {
        removal(self.text, range)
    }
}

impl<'t> At<NodeRef<'t>> {
    /// Its bytes without trivia at the ends.
    pub(crate) fn range(self) -> Range<usize> {
        let span = self.it.trimmed();
        self.base + span.start as usize..self.base + span.end() as usize
    }

    pub(crate) fn kind(self) -> SyntaxKind {
        self.it.kind()
    }

    pub(crate) fn children(self) -> impl Iterator<Item = At<NodeRef<'t>>> {
        self.it.children().map(move |it| At { it, base: self.base })
    }

    pub(crate) fn descendants(self) -> impl Iterator<Item = At<NodeRef<'t>>> {
        self.it.descendants().map(move |it| At { it, base: self.base })
    }

    pub(crate) fn child(self, kind: SyntaxKind) -> Option<At<NodeRef<'t>>> {
        self.children().find(|child| child.kind() == kind)
    }

    /// The tokens right below it, trivia left out.
    pub(crate) fn tokens(self) -> impl Iterator<Item = At<TokenRef<'t>>> {
        self.it.tokens().filter(|token| !token.kind().is_trivia()).map(move |it| At { it, base: self.base })
    }

    /// Every token in it.
    pub(crate) fn all_tokens(self) -> impl Iterator<Item = At<TokenRef<'t>>> {
        self.it.descendant_tokens().map(move |it| At { it, base: self.base })
    }

    /// Its first own token of a kind.
    pub(crate) fn token(self, kind: SyntaxKind) -> Option<At<TokenRef<'t>>> {
        self.tokens().find(|token| token.kind() == kind)
    }
}

impl<'t> At<TokenRef<'t>> {
    pub(crate) fn range(self) -> Range<usize> {
        let span = self.it.span();
        self.base + span.start as usize..self.base + span.end() as usize
    }

    pub(crate) fn kind(self) -> SyntaxKind {
        self.it.kind()
    }

    pub(crate) fn text(self) -> &'t str {
        self.it.text()
    }
}
