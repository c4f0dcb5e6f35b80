//! Source files: their text, and nothing else.
//!
//! A path is the host's business: no query may depend on it. The host keeps one [`SourceFile`] for each path and
//! reuses it when a file is closed and opened again, since inputs are never freed.

#![allow(missing_docs, reason = "the accessors that salsa generates cannot carry documentation")]

use std::sync::Arc;

use oriole_syntax::{CutText, Replaced};
use salsa::{Durability, Setter};

use crate::Db;

/// A file of PTX.
#[salsa::input(debug)]
pub struct SourceFile {
    /// The whole text, cut into units where it was written: what has not changed is not looked at again. Only the query that
    /// makes the units may read it.
    #[returns(ref)]
    pub cut: CutText,
}

impl SourceFile {
    /// A file that is being edited.
    pub fn open(db: &dyn Db, text: &str) -> SourceFile {
        SourceFile::new(db, CutText::new(text))
    }

    /// The whole text, for programs that keep it nowhere else; no query may ask for it.
    pub fn text(self, db: &dyn Db) -> &Arc<String> {
        self.cut(db).text()
    }

    /// Replaces the text. Does nothing, and starts no revision, if it is the same.
    pub fn update(self, db: &mut dyn Db, text: &str) {
        if let Some(replaced) = Replaced::between(self.text(db), text) {
            self.change(db, Arc::new(text.to_owned()), replaced);
        }
    }

    /// As [`SourceFile::update`], for a text that the host keeps as well: the two share it.
    pub fn replace(self, db: &mut dyn Db, text: &Arc<String>) {
        if !Arc::ptr_eq(self.text(db), text)
            && let Some(replaced) = Replaced::between(self.text(db), text)
        {
            self.change(db, text.clone(), replaced);
        }
    }

    /// Takes over a text that is cut already.
    pub fn take(self, db: &mut dyn Db, cut: &CutText) {
        if !Arc::ptr_eq(self.text(db), cut.text()) {
            self.set_cut(db).with_durability(Durability::LOW).to(cut.clone());
        }
    }

    /// Replaces the text by one that is the same outside of `replaced`.
    pub fn change(self, db: &mut dyn Db, text: Arc<String>, replaced: Replaced) {
        let Replaced { start, old_end, new_end } = replaced;
        let old = &self.text(db).as_bytes()[start as usize..old_end as usize];
        if *old != text.as_bytes()[start as usize..new_end as usize] {
            let cut = self.cut(db).changed(text, replaced);
            self.set_cut(db).with_durability(Durability::LOW).to(cut);
        }
    }
}
