//! Typed access to syntax trees.
//!
//! Each struct wraps one node and finds its parts by kind, so an accessor gives `None` (or less)
//! where the text is incomplete and never panics. The structs hold no data of their own and are
//! copied freely. No word has a meaning here, except for the few that the grammar itself gives a
//! place (state space, vector, linkage).

mod declaration;
mod item;
mod operand;
mod statement;

pub use declaration::*;
pub use item::*;
pub use operand::*;
pub use statement::*;

use std::marker::PhantomData;

use oriole_diagnostics::Span;

use crate::view::Elements;
use crate::{NodeRef, SyntaxKind, TokenRef};

/// A typed view of a node.
pub trait AstNode<'t>: Copy {
    /// The node as one of this type, if it is one.
    fn cast(node: NodeRef<'t>) -> Option<Self>;

    /// The wrapped node.
    fn syntax(self) -> NodeRef<'t>;

    /// The node's bytes, relative to its unit.
    fn span(self) -> Span {
        self.syntax().span()
    }

    /// The node's text, trivia inside it included.
    fn text(self) -> String {
        self.syntax().to_string()
    }
}

/// Iterator over the typed children of a node.
#[derive(Clone)]
pub struct AstChildren<'t, N> {
    elements: Elements<'t>,
    of: PhantomData<N>,
}

impl<'t, N: AstNode<'t>> Iterator for AstChildren<'t, N> {
    type Item = N;

    fn next(&mut self) -> Option<N> {
        self.elements.find_map(|element| N::cast(element.into_node()?))
    }
}

/// Declares a typed wrapper of one node kind.
macro_rules! node {
    ($(#[$doc:meta])* $name:ident, $kind:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<'t>(crate::NodeRef<'t>);

        impl<'t> AstNode<'t> for $name<'t> {
            fn cast(node: crate::NodeRef<'t>) -> Option<Self> {
                (node.kind() == crate::SyntaxKind::$kind).then_some(Self(node))
            }

            fn syntax(self) -> crate::NodeRef<'t> {
                self.0
            }
        }
    };
}

/// Declares an enum of several node kinds.
macro_rules! node_enum {
    ($(#[$doc:meta])* $name:ident { $( $(#[$variant_doc:meta])* $variant:ident($kind:ident), )* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name<'t> { $( $(#[$variant_doc])* $variant($variant<'t>), )* }

        impl<'t> AstNode<'t> for $name<'t> {
            fn cast(node: crate::NodeRef<'t>) -> Option<Self> {
                Some(match node.kind() {
                    $( crate::SyntaxKind::$kind => $name::$variant($variant::cast(node)?), )*
                    _ => return None,
                })
            }

            fn syntax(self) -> crate::NodeRef<'t> {
                match self { $( $name::$variant(it) => it.syntax(), )* }
            }
        }
    };
}

pub(crate) use {node, node_enum};

fn child<'t, N: AstNode<'t>>(node: NodeRef<'t>) -> Option<N> {
    children(node).next()
}

fn children<'t, N: AstNode<'t>>(node: NodeRef<'t>) -> AstChildren<'t, N> {
    AstChildren { elements: node.children_with_tokens(), of: PhantomData }
}

fn token<'t>(node: NodeRef<'t>, kind: SyntaxKind) -> Option<TokenRef<'t>> {
    node.tokens().find(|token| token.kind() == kind)
}

/// The node's own tokens (not those of nodes in it), trivia left out.
fn tokens<'t>(node: NodeRef<'t>) -> impl Iterator<Item = TokenRef<'t>> + use<'t> {
    node.tokens().filter(|token| !token.kind().is_trivia())
}

/// The node's own dotted words, in order.
fn dotted<'t>(node: NodeRef<'t>) -> impl Iterator<Item = TokenRef<'t>> + use<'t> {
    node.tokens().filter(|token| token.kind() == SyntaxKind::DOTTED)
}

/// A string literal without its quotes; an unclosed one without its first.
fn unquoted(token: TokenRef<'_>) -> String {
    let text = token.text();
    let text = text.strip_prefix('"').unwrap_or(text);
    text.strip_suffix('"').unwrap_or(text).to_owned()
}
