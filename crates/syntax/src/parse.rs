//! The result of parsing a unit.

use oriole_diagnostics::Diagnostic;
use rowan::{GreenNode, GreenNodeData, NodeOrToken};

use crate::NodeRef;

/// The result of parsing one unit: a tree and the errors of the text.
///
/// Two results are equal exactly if texts and diagnostics are.
#[derive(Clone, Eq, Debug)]
pub struct Parse {
    /// The tree; its text is the unit's text.
    pub green: GreenNode,
    /// Diagnostics in text order, with spans relative to the unit.
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

    /// Whether a diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.errors.iter().any(Diagnostic::is_error)
    }
}

impl PartialEq for Parse {
    fn eq(&self, other: &Parse) -> bool {
        self.errors == other.errors && same_tree(&self.green, &other.green)
    }
}

/// Compares trees, of which many share most of their nodes.
fn same_tree(one: &GreenNodeData, other: &GreenNodeData) -> bool {
    std::ptr::eq(one, other)
        || one.kind() == other.kind()
            && one.text_len() == other.text_len()
            && one.children().len() == other.children().len()
            && one.children().zip(other.children()).all(|pair| match pair {
                (NodeOrToken::Node(one), NodeOrToken::Node(other)) => same_tree(one, other),
                (NodeOrToken::Token(one), NodeOrToken::Token(other)) => one == other,
                _ => false,
            })
}
