//! A completion, and the list that gathers those of a position.

use rustc_hash::FxHashSet;

use super::subject::Subject;
use super::templates::{Part, Template};
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
    /// A whole statement with places to fill in.
    Template,
}

/// A completion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The label, which is also the inserted text.
    pub label: String,
    /// Type or form in short.
    pub detail: String,
    /// The key of its description, which is written when it is asked for.
    pub subject: Option<Subject>,
    /// The kind.
    pub kind: CompletionKind,
    /// The edit that inserts it in place of the typed letters.
    pub edit: Edit,
    /// The range of the whole word, of which the typed letters are the beginning.
    pub word: Range,
    /// The parts of a statement with places to fill in.
    pub parts: Option<&'static [Part]>,
    /// Lower is more likely; equal ranks are sorted by label.
    pub rank: u8,
}

/// The completions of a position: those that fit the typed text, each label once.
pub(super) struct Collector<'a> {
    pub range: Range,
    /// The range up to the end of the word.
    pub word: Range,
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
    pub fn add(
        &mut self,
        label: &str,
        kind: CompletionKind,
        detail: &str,
        subject: Option<Subject>,
        rank: u8,
    ) {
        if !self.fits(label) {
            return;
        }
        // The label is the inserted text, so that an editor matches the typed text with it.
        let Some(edit) = self.located.up_edit(Edit::new(self.range, label)) else { return };
        let label = edit.text.clone();
        if self.seen.insert(label.clone()) {
            let (detail, word) = (detail.to_owned(), self.word_of(edit.range));
            self.list.push(Completion { label, detail, subject, kind, edit, word, parts: None, rank });
        }
    }

    /// Adds a statement with places to fill in, if its label fits the typed text.
    pub fn add_template(&mut self, template: &'static Template) {
        if !self.fits(template.label) || self.located.snippet.is_some() {
            return;
        }
        self.list.push(Completion {
            label: template.label.to_owned(),
            detail: template.meaning.to_owned(),
            subject: Some(Subject::Template(template.label)),
            kind: CompletionKind::Template,
            edit: Edit::new(self.range, template.plain()),
            word: self.word,
            parts: Some(template.parts),
            rank: 3,
        });
    }

    fn fits(&self, label: &str) -> bool {
        fits(self.partial, label.trim_start_matches('.')) || fits(self.partial, label)
    }

    /// The range of the whole word in the file, of which `typed` is the beginning.
    fn word_of(&self, typed: Range) -> Range {
        self.located.up(self.word).map_or(typed, |word| Range::new(typed.start, word.end.max(typed.end)))
    }
}
