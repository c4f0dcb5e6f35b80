//! A completion, and the list that gathers those of a position.

use rustc_hash::FxHashSet;

use crate::snapshot::Located;
use crate::{Edit, Range};

/// The kind of a completion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum CompletionKind {
    /// An opcode.
    Opcode,
    /// A modifier, type or state space of an opcode.
    Modifier,
    /// A directive.
    Directive,
    /// A register.
    Register,
    /// A variable or parameter.
    Variable,
    /// A function.
    Function,
    /// A label.
    Label,
    /// A special register, a chip, a version.
    Constant,
}

/// A completion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The label, which is also the inserted text.
    pub label: String,
    /// Type or form in short.
    pub detail: String,
    /// The description.
    pub documentation: String,
    /// The kind.
    pub kind: CompletionKind,
    /// The edit that inserts it.
    pub edit: Edit,
    /// Lower is more likely; equal ranks are sorted by label.
    pub rank: u8,
}

/// The completions of a position: those that fit the typed text, each label once.
pub(super) struct Collector<'a> {
    pub range: Range,
    pub located: Located<'a>,
    pub partial: &'a str,
    pub list: Vec<Completion>,
    pub seen: FxHashSet<String>,
}

/// Whether the typed text matches the label: its letters are in the label in their order.
fn fits(partial: &str, label: &str) -> bool {
    let mut letters = label.chars();
    partial.chars().all(|wanted| letters.any(|letter| letter.eq_ignore_ascii_case(&wanted)))
}

impl Collector<'_> {
    /// Adds a completion if it fits the typed text.
    pub fn add(&mut self, label: &str, kind: CompletionKind, detail: &str, documentation: &str, rank: u8) {
        if !fits(self.partial, label.trim_start_matches('.')) && !fits(self.partial, label) {
            return;
        }
        // The label is the inserted text, so that an editor matches the typed text with it.
        let Some(edit) = self.located.up_edit(Edit::new(self.range, label)) else { return };
        let label = edit.text.clone();
        if self.seen.insert(label.clone()) {
            let (detail, documentation) = (detail.to_owned(), documentation.to_owned());
            self.list.push(Completion { label, detail, documentation, kind, edit, rank });
        }
    }
}
