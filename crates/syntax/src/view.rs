//! Places in a tree: a node or token of the green tree together with its start.
//!
//! A tree is read far more often than it is navigated: both are plain values of two words, so that a walk down needs no
//! allocation and no reference count, and texts are borrowed from the tree itself. There are no parent links; code that
//! needs the ancestors of a token asks for the path down to it ([`NodeRef::path`]).

use std::fmt;
use std::iter::FusedIterator;

use oriole_diagnostics::Span;
use rowan::{GreenNodeData, GreenTokenData, Language, NodeOrToken};

use crate::{PtxLanguage, SyntaxKind};

/// A node of a unit's tree.
#[derive(Clone, Copy)]
pub struct NodeRef<'t> {
    green: &'t GreenNodeData,
    start: u32,
}

/// A token of a unit's tree.
#[derive(Clone, Copy)]
pub struct TokenRef<'t> {
    green: &'t GreenTokenData,
    start: u32,
}

/// A node or token of a unit's tree.
pub type ElementRef<'t> = NodeOrToken<NodeRef<'t>, TokenRef<'t>>;

impl<'t> NodeRef<'t> {
    /// The root of a tree.
    pub fn root(green: &'t GreenNodeData) -> NodeRef<'t> {
        NodeRef { green, start: 0 }
    }

    /// The node without its place.
    pub(crate) fn green(self) -> &'t GreenNodeData {
        self.green
    }

    /// The kind of the node.
    pub fn kind(self) -> SyntaxKind {
        PtxLanguage::kind_from_raw(self.green.kind())
    }

    /// Its bytes, relative to its unit.
    pub fn span(self) -> Span {
        Span::between(self.start, self.end())
    }

    fn end(self) -> u32 {
        self.start + u32::from(self.green.text_len())
    }

    /// Its bytes without the trivia at its ends; all of them where there is nothing else.
    pub fn trimmed(self) -> Span {
        match (self.first_solid_token(), self.solid_end(true)) {
            (Some(first), Some(last)) => Span::between(first.start, last.end()),
            _ => self.span(),
        }
    }

    /// Its first token that is not trivia.
    pub fn first_solid_token(self) -> Option<TokenRef<'t>> {
        self.solid_end(false)
    }

    /// The first or last token that is not trivia. The parser bounds the depth of nodes.
    fn solid_end(self, last: bool) -> Option<TokenRef<'t>> {
        let mut children = self.children_with_tokens();
        let next = || if last { children.next_back() } else { children.next() };
        std::iter::from_fn(next).find_map(|child| match child {
            NodeOrToken::Node(node) => node.solid_end(last),
            NodeOrToken::Token(token) => (!token.kind().is_trivia()).then_some(token),
        })
    }

    /// The nodes and tokens right below it, in text order.
    pub fn children_with_tokens(self) -> Elements<'t> {
        Elements { raw: self.green.children(), start: self.start, end: self.end() }
    }

    /// The nodes right below it.
    pub fn children(self) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
        self.children_with_tokens().filter_map(NodeOrToken::into_node)
    }

    /// The tokens right below it.
    pub fn tokens(self) -> impl Iterator<Item = TokenRef<'t>> + use<'t> {
        self.children_with_tokens().filter_map(NodeOrToken::into_token)
    }

    /// It and all nodes below it, in preorder.
    pub fn descendants_with_tokens(self) -> Descendants<'t> {
        Descendants { first: Some(self), open: Vec::new() }
    }

    /// It and all nodes below it, each before those that it holds.
    pub fn descendants(self) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
        self.descendants_with_tokens().filter_map(NodeOrToken::into_node)
    }

    /// Every token in it, in text order.
    pub fn descendant_tokens(self) -> impl Iterator<Item = TokenRef<'t>> + use<'t> {
        self.descendants_with_tokens().filter_map(NodeOrToken::into_token)
    }

    /// Its last token, unless it ends with an empty node.
    pub fn last_token(self) -> Option<TokenRef<'t>> {
        let mut node = self;
        loop {
            match node.children_with_tokens().next_back()? {
                NodeOrToken::Node(inner) => node = inner,
                NodeOrToken::Token(token) => return Some(token),
            }
        }
    }

    /// The token that holds a byte of the unit, with the nodes above it, outermost first.
    pub fn path(self, byte: u32) -> Option<Path<'t>> {
        let mut above = vec![self];
        loop {
            let mut children = above.last()?.children_with_tokens();
            match children.find(|child| match child {
                NodeOrToken::Node(node) => (node.start..node.end()).contains(&byte),
                NodeOrToken::Token(token) => (token.start..token.end()).contains(&byte),
            })? {
                NodeOrToken::Node(node) => above.push(node),
                NodeOrToken::Token(token) => return Some(Path { token, above }),
            }
        }
    }
}

/// Its text, trivia inside it included.
impl fmt::Display for NodeRef<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.green.fmt(out)
    }
}

impl fmt::Debug for NodeRef<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}@{:?}", self.kind(), self.span())
    }
}

impl<'t> TokenRef<'t> {
    /// The kind of the token.
    pub fn kind(self) -> SyntaxKind {
        PtxLanguage::kind_from_raw(self.green.kind())
    }

    /// Its text.
    pub fn text(self) -> &'t str {
        self.green.text()
    }

    /// Its bytes, relative to its unit.
    pub fn span(self) -> Span {
        Span::between(self.start, self.end())
    }

    fn end(self) -> u32 {
        self.start + u32::from(self.green.text_len())
    }
}

impl fmt::Debug for TokenRef<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}@{:?} {:?}", self.kind(), self.span(), self.text())
    }
}

/// A token and the nodes that hold it.
#[derive(Clone, Debug)]
pub struct Path<'t> {
    /// The token.
    pub token: TokenRef<'t>,
    above: Vec<NodeRef<'t>>,
}

impl<'t> Path<'t> {
    /// The nodes above the token, innermost first.
    pub fn ancestors(&self) -> impl Iterator<Item = NodeRef<'t>> {
        self.above.iter().rev().copied()
    }
}

/// The nodes and tokens right below a node.
#[derive(Clone)]
pub struct Elements<'t> {
    raw: rowan::Children<'t>,
    /// Start of the next one.
    start: u32,
    /// End of the last one.
    end: u32,
}

impl<'t> Iterator for Elements<'t> {
    type Item = ElementRef<'t>;

    fn next(&mut self) -> Option<ElementRef<'t>> {
        let start = self.start;
        Some(match self.raw.next()? {
            NodeOrToken::Node(green) => {
                self.start += u32::from(green.text_len());
                NodeOrToken::Node(NodeRef { green, start })
            }
            NodeOrToken::Token(green) => {
                self.start += u32::from(green.text_len());
                NodeOrToken::Token(TokenRef { green, start })
            }
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.raw.size_hint()
    }
}

impl<'t> DoubleEndedIterator for Elements<'t> {
    fn next_back(&mut self) -> Option<ElementRef<'t>> {
        Some(match self.raw.next_back()? {
            NodeOrToken::Node(green) => {
                self.end -= u32::from(green.text_len());
                NodeOrToken::Node(NodeRef { green, start: self.end })
            }
            NodeOrToken::Token(green) => {
                self.end -= u32::from(green.text_len());
                NodeOrToken::Token(TokenRef { green, start: self.end })
            }
        })
    }
}

impl FusedIterator for Elements<'_> {}

/// A node and all nodes below it, in preorder.
#[derive(Clone)]
pub struct Descendants<'t> {
    first: Option<NodeRef<'t>>,
    open: Vec<Elements<'t>>,
}

impl<'t> Descendants<'t> {
    fn enter(&mut self, node: NodeRef<'t>) -> Option<ElementRef<'t>> {
        self.open.push(node.children_with_tokens());
        Some(NodeOrToken::Node(node))
    }
}

impl<'t> Iterator for Descendants<'t> {
    type Item = ElementRef<'t>;

    fn next(&mut self) -> Option<ElementRef<'t>> {
        if let Some(first) = self.first.take() {
            return self.enter(first);
        }
        loop {
            match self.open.last_mut()?.next() {
                Some(NodeOrToken::Node(node)) => return self.enter(node),
                Some(token) => return Some(token),
                None => {
                    self.open.pop();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{UnitKind, parse_unit};

    const TEXT: &str =
        "// a kernel\n.entry k ( .param .u64 p ) { @!q ld.param.u64 r, [p+8] ; /* é */ x: ret; }\n\n";

    #[test]
    fn spans_are_those_of_the_text() {
        let parse = parse_unit(UnitKind::Entry, TEXT);
        let mut next = 0;
        for token in parse.syntax().descendant_tokens() {
            let span = token.span();
            assert_eq!(span.start, next);
            assert_eq!(&TEXT[span.start as usize..span.end() as usize], token.text());
            next = span.end();
        }
        assert_eq!(next as usize, TEXT.len());
        for node in parse.syntax().descendants() {
            let span = node.span();
            assert_eq!(&TEXT[span.start as usize..span.end() as usize], node.to_string());
            // Iteration from both ends gives the same children.
            let mut backwards: Vec<_> =
                node.children_with_tokens().rev().map(|it| format!("{it:?}")).collect();
            backwards.reverse();
            let forwards: Vec<_> = node.children_with_tokens().map(|it| format!("{it:?}")).collect();
            assert_eq!(forwards, backwards);
            let tokens: Vec<_> = node.descendant_tokens().filter(|token| !token.kind().is_trivia()).collect();
            let (first, last) = (tokens[0].span(), tokens[tokens.len() - 1].span());
            assert_eq!(node.trimmed(), Span::between(first.start, last.end()));
        }
    }

    #[test]
    fn every_byte_has_one_path() {
        let parse = parse_unit(UnitKind::Entry, TEXT);
        for token in parse.syntax().descendant_tokens() {
            for byte in token.span().start..token.span().end() {
                let path = parse.syntax().path(byte).unwrap();
                assert_eq!(path.token.span(), token.span());
                let mut inner = token.span();
                for node in path.ancestors() {
                    assert!(node.span().start <= inner.start && inner.end() <= node.span().end());
                    inner = node.span();
                }
                assert_eq!(inner, parse.syntax().span());
            }
        }
        assert!(parse.syntax().path(TEXT.len() as u32).is_none());
    }

    #[test]
    fn an_empty_text_has_nothing_in_it() {
        let parse = parse_unit(UnitKind::Trailer, "");
        let root = parse.syntax();
        assert!(root.path(0).is_none() && root.last_token().is_none() && root.first_solid_token().is_none());
        assert_eq!(root.trimmed(), Span::point(0));
    }
}
