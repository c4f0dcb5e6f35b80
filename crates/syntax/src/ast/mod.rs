//! Typed access to syntax trees.
//!
//! Each struct wraps one node and finds its parts by kind, so an accessor gives
//! `None` (or less) where the text is incomplete and never panics. The structs
//! hold no data of their own. What a word means is not decided here, except for
//! the few words that the grammar itself gives a place (state space, vector,
//! linkage).

mod declaration;
mod item;
mod operand;
mod statement;

pub use declaration::*;
pub use item::*;
pub use operand::*;
pub use statement::*;

use crate::{NodeOrToken, PtxLanguage, SyntaxKind, SyntaxNode, SyntaxToken, node_span};
use oriole_diagnostics::Span;

/// Iterator over the typed children of a node.
pub type AstChildren<N> = rowan::ast::AstChildren<N>;

/// A typed view of a node.
pub trait AstNode: rowan::ast::AstNode<Language = PtxLanguage> {
    /// The node's bytes, relative to its unit.
    fn span(&self) -> Span {
        node_span(self.syntax())
    }

    /// The node's text, trivia inside it included.
    fn text(&self) -> String {
        self.syntax().text().to_string()
    }
}

impl<N: rowan::ast::AstNode<Language = PtxLanguage>> AstNode for N {}

/// Declares a typed wrapper of one node kind.
macro_rules! node {
    ($(#[$doc:meta])* $name:ident, $kind:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        pub struct $name(crate::SyntaxNode);

        impl rowan::ast::AstNode for $name {
            type Language = crate::PtxLanguage;

            fn can_cast(kind: crate::SyntaxKind) -> bool {
                kind == crate::SyntaxKind::$kind
            }

            fn cast(node: crate::SyntaxNode) -> Option<Self> {
                (node.kind() == crate::SyntaxKind::$kind).then_some(Self(node))
            }

            fn syntax(&self) -> &crate::SyntaxNode {
                &self.0
            }
        }

        impl $name {
            /// The wrapped node.
            pub fn syntax(&self) -> &crate::SyntaxNode {
                &self.0
            }
        }
    };
}

/// Declares an enum of several node kinds.
macro_rules! node_enum {
    ($(#[$doc:meta])* $name:ident { $( $(#[$variant_doc:meta])* $variant:ident($kind:ident), )* }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        pub enum $name { $( $(#[$variant_doc])* $variant($variant), )* }

        impl rowan::ast::AstNode for $name {
            type Language = crate::PtxLanguage;

            fn can_cast(kind: crate::SyntaxKind) -> bool {
                matches!(kind, $( crate::SyntaxKind::$kind )|*)
            }

            fn cast(node: crate::SyntaxNode) -> Option<Self> {
                Some(match node.kind() {
                    $( crate::SyntaxKind::$kind => $name::$variant(rowan::ast::AstNode::cast(node)?), )*
                    _ => return None,
                })
            }

            fn syntax(&self) -> &crate::SyntaxNode {
                match self { $( $name::$variant(it) => it.syntax(), )* }
            }
        }

        impl $name {
            /// The wrapped node.
            pub fn syntax(&self) -> &crate::SyntaxNode {
                rowan::ast::AstNode::syntax(self)
            }
        }
    };
}

pub(crate) use {node, node_enum};

fn child<N: rowan::ast::AstNode<Language = PtxLanguage>>(node: &SyntaxNode) -> Option<N> {
    rowan::ast::support::child(node)
}

fn children<N: rowan::ast::AstNode<Language = PtxLanguage>>(node: &SyntaxNode) -> AstChildren<N> {
    rowan::ast::support::children(node)
}

fn token(node: &SyntaxNode, kind: SyntaxKind) -> Option<SyntaxToken> {
    rowan::ast::support::token(node, kind)
}

/// The node's own tokens (not those of nodes in it), trivia left out.
fn tokens(node: &SyntaxNode) -> impl Iterator<Item = SyntaxToken> + use<> {
    node.children_with_tokens().filter_map(NodeOrToken::into_token).filter(|token| !token.kind().is_trivia())
}

/// The node's own dotted words, in order.
fn dotted(node: &SyntaxNode) -> impl Iterator<Item = SyntaxToken> + use<> {
    tokens(node).filter(|token| token.kind() == SyntaxKind::DOTTED)
}

/// A string literal without its quotes; an unclosed one without its first.
fn unquoted(token: &SyntaxToken) -> String {
    let text = token.text();
    let text = text.strip_prefix('"').unwrap_or(text);
    text.strip_suffix('"').unwrap_or(text).to_owned()
}
