//! Building green trees, with equal tokens and small nodes kept once.
//!
//! `rowan` has a builder of its own; this one exists because a tree is often rebuilt with most of its statements
//! unchanged, and those are reused. A new node is cached with its hash, so that the table grows without reading the
//! trees again.

use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::HashTable;
use rowan::{GreenNode, GreenToken, Language, NodeOrToken};
use rustc_hash::FxBuildHasher;

use crate::{PtxLanguage, SyntaxKind};

type Element = NodeOrToken<GreenNode, GreenToken>;

/// Nodes with more children than this are not looked up in the cache.
const MOST_SHARED_CHILDREN: usize = 3;

/// The kinds up to the last one of punctuation.
const FIXED: usize = SyntaxKind::QUESTION as usize + 1;

/// A position where a node may be started later, to hold everything added from here on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checkpoint(usize);

/// A tree while it is built.
pub(crate) struct TreeBuilder {
    /// Nodes that are not finished: kind, and where their children begin.
    open: Vec<(SyntaxKind, usize)>,
    /// Finished children of open nodes, each with its hash if it is shared.
    children: Vec<(Option<u64>, Element)>,
    tokens: HashTable<(u64, GreenToken)>,
    /// By kind: the tokens of one spelling, and the single blank, with their hashes. Half of all tokens are of these, and
    /// need no search.
    fixed: [Option<(u64, GreenToken)>; FIXED],
    nodes: HashTable<(u64, GreenNode)>,
}

impl Default for TreeBuilder {
    fn default() -> TreeBuilder {
        TreeBuilder {
            open: Vec::new(),
            children: Vec::new(),
            tokens: HashTable::new(),
            fixed: [const { None }; FIXED],
            nodes: HashTable::new(),
        }
    }
}

impl TreeBuilder {
    pub(crate) fn token(&mut self, kind: SyntaxKind, text: &str) {
        let at = kind as usize;
        let fixed = kind.is_punctuation() || kind == SyntaxKind::WHITESPACE && text == " ";
        if fixed && let Some((hash, token)) = &self.fixed[at] {
            self.children.push((Some(*hash), NodeOrToken::Token(token.clone())));
            return;
        }
        let kind = PtxLanguage::kind_to_raw(kind);
        let hash = FxBuildHasher.hash_one((kind.0, text));
        let known = |(known, token): &(u64, GreenToken)| {
            *known == hash && token.kind() == kind && token.text() == text
        };
        let entry = self.tokens.entry(hash, known, |(hash, _)| *hash);
        let token = entry.or_insert_with(|| (hash, GreenToken::new(kind, text))).get().1.clone();
        if fixed {
            self.fixed[at] = Some((hash, token.clone()));
        }
        self.children.push((Some(hash), NodeOrToken::Token(token)));
    }

    pub(crate) fn start_node(&mut self, kind: SyntaxKind) {
        self.open.push((kind, self.children.len()));
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.children.len())
    }

    /// Starts a node that holds everything added since the checkpoint, which must have been made in the current node.
    pub(crate) fn start_node_at(&mut self, checkpoint: Checkpoint, kind: SyntaxKind) {
        debug_assert!(self.open.last().is_none_or(|&(_, first)| first <= checkpoint.0));
        self.open.push((kind, checkpoint.0));
    }

    /// Adds a node of another tree unchanged.
    pub(crate) fn take(&mut self, node: GreenNode) {
        self.children.push((None, NodeOrToken::Node(node)));
    }

    /// Ends the node that was begun last.
    ///
    /// # Panics
    /// If none is open.
    pub(crate) fn finish_node(&mut self) {
        let (kind, first) = self.open.pop().expect("each end has its start");
        let (hash, node) = self.close(kind, first);
        self.children.push((hash, NodeOrToken::Node(node)));
    }

    /// The tree, once its root has been ended.
    ///
    /// # Panics
    /// If there is no root.
    pub(crate) fn finish(mut self) -> GreenNode {
        match self.children.pop() {
            Some((_, NodeOrToken::Node(root))) => root,
            _ => unreachable!("a tree has a root"),
        }
    }

    fn close(&mut self, kind: SyntaxKind, first: usize) -> (Option<u64>, GreenNode) {
        let raw = PtxLanguage::kind_to_raw(kind);
        let Some(hash) = hash_of(raw, &self.children[first..]) else {
            return (None, GreenNode::new(raw, self.children.drain(first..).map(|(_, child)| child)));
        };
        let (children, nodes) = (&mut self.children, &mut self.nodes);
        let known = |(known, node): &(u64, GreenNode)| {
            *known == hash && node.kind() == raw && {
                let own = children[first..].iter().map(|(_, child)| address(child));
                let other = node.children().map(|child| match child {
                    NodeOrToken::Node(node) => std::ptr::from_ref(node).cast::<()>(),
                    NodeOrToken::Token(token) => std::ptr::from_ref(token).cast(),
                });
                own.eq(other)
            }
        };
        if let Some((_, node)) = nodes.find(hash, known) {
            let node = node.clone();
            children.truncate(first);
            return (Some(hash), node);
        }
        let node = GreenNode::new(raw, children.drain(first..).map(|(_, child)| child));
        nodes.insert_unique(hash, (hash, node.clone()), |(hash, _)| *hash);
        (Some(hash), node)
    }
}

/// The hash of a node that may be shared: one of few children, all of them shared.
fn hash_of(kind: rowan::SyntaxKind, children: &[(Option<u64>, Element)]) -> Option<u64> {
    if children.len() > MOST_SHARED_CHILDREN {
        return None;
    }
    let mut hasher = FxBuildHasher.build_hasher();
    kind.0.hash(&mut hasher);
    for (hash, _) in children {
        (*hash)?.hash(&mut hasher);
    }
    Some(hasher.finish())
}

fn address(child: &Element) -> *const () {
    match child {
        NodeOrToken::Node(node) => std::ptr::from_ref::<rowan::GreenNodeData>(node).cast(),
        NodeOrToken::Token(token) => std::ptr::from_ref::<rowan::GreenTokenData>(token).cast(),
    }
}
