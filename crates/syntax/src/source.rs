//! The text of a unit together with its tree, which is built on first access.
//!
//! A text that results from another one by a change keeps the tree of that one until it has its own, and then reuses
//! the statements that no edit touched. This is not observable: the tree is always that of the text.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::{Parse, Replaced, UnitKind, parse_unit, parse_unit_again};

/// A unit's kind and text. Two are equal if these are.
pub struct UnitSource {
    kind: UnitKind,
    text: Arc<str>,
    tree: OnceLock<Parse>,
    digest: OnceLock<[u8; 32]>,
    mentions_extern: OnceLock<bool>,
    /// A tree of a text that differs from this one in one part.
    earlier: Mutex<Option<(Parse, Replaced)>>,
}

impl UnitSource {
    /// A text without an earlier tree.
    pub fn new(kind: UnitKind, text: &str) -> UnitSource {
        UnitSource {
            kind,
            text: text.into(),
            tree: OnceLock::new(),
            digest: OnceLock::new(),
            mentions_extern: OnceLock::new(),
            earlier: Mutex::new(None),
        }
    }

    /// The text that `old` becomes when `replaced` is replaced in it. After that part it may end earlier or later than
    /// `old`.
    #[must_use]
    pub fn changed(old: &UnitSource, kind: UnitKind, text: &str, replaced: Replaced) -> UnitSource {
        let earlier = match old.tree.get() {
            Some(tree) => Some((tree.clone(), replaced)),
            // It never had a tree. The tree that it could have reused serves this one, unless that tree is incomplete;
            // changes to the missing part are not known here.
            None => old.earlier().clone().and_then(|(tree, before)| {
                let behind = u32::from(tree.green.text_len()).saturating_sub(before.old_end);
                let moved = before.new_end + behind;
                (moved as usize <= old.text.len()).then(|| (tree, before.then(replaced)))
            }),
        };
        UnitSource { earlier: Mutex::new(earlier), ..UnitSource::new(kind, text) }
    }

    /// The kind that the splitter gave it.
    pub fn kind(&self) -> UnitKind {
        self.kind
    }

    /// The text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Its tree. Threads that ask at the same time do not wait for each other.
    pub fn parse(&self) -> &Parse {
        if let Some(tree) = self.tree.get() {
            return tree;
        }
        let earlier = self.earlier().clone();
        let tree = match earlier {
            Some((old, replaced)) => parse_unit_again(self.kind, &self.text, &old, replaced),
            None => parse_unit(self.kind, &self.text),
        };
        let tree = self.tree.get_or_init(|| tree);
        *self.earlier() = None;
        tree
    }

    /// Its tree for one look at a text that may never be shown: a tree that is not there yet is not kept either, unless an
    /// earlier one makes it cheap.
    pub fn parse_once(&self) -> Parse {
        match self.tree.get() {
            Some(tree) => tree.clone(),
            None if self.earlier().is_some() => self.parse().clone(),
            None => parse_unit(self.kind, &self.text),
        }
    }

    /// The hash of its text. All callers use the same hash function, and the hash is computed once.
    pub fn digest(&self, hash: impl FnOnce(&str) -> [u8; 32]) -> &[u8; 32] {
        self.digest.get_or_init(|| hash(&self.text))
    }

    /// Whether `.extern` is in its text, in a comment or not. The text is searched once.
    pub fn mentions_extern(&self) -> bool {
        *self.mentions_extern.get_or_init(|| self.text.contains(".extern"))
    }

    fn earlier(&self) -> std::sync::MutexGuard<'_, Option<(Parse, Replaced)>> {
        self.earlier.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for UnitSource {
    fn eq(&self, other: &UnitSource) -> bool {
        self.kind == other.kind && self.text == other.text
    }
}

impl Eq for UnitSource {}

impl std::fmt::Debug for UnitSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("UnitSource").field(&self.kind).field(&self.text).finish()
    }
}
