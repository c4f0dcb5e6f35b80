//! Source files: their text, and nothing else.
//!
//! A path is the host's business: no query may depend on it. The host keeps one [`SourceFile`] for each path and
//! reuses it when a file is closed and opened again, since inputs are never freed.

#![allow(missing_docs, reason = "the accessors that salsa generates cannot carry documentation")]

use std::sync::Arc;

use salsa::{Durability, Setter};

use crate::Db;

/// A file of PTX.
#[salsa::input(debug)]
pub struct SourceFile {
    /// The whole text. Only the query that splits it into units may read it.
    #[returns(ref)]
    pub text: Arc<str>,
}

impl SourceFile {
    /// A file that is being edited.
    pub fn open(db: &dyn Db, text: &str) -> SourceFile {
        SourceFile::new(db, Arc::from(text))
    }

    /// Replaces the text. Does nothing, and starts no revision, if it is the same.
    pub fn update(self, db: &mut dyn Db, text: &str) {
        if **self.text(db) != *text {
            self.set_text(db).with_durability(Durability::LOW).to(Arc::from(text));
        }
    }

    /// As [`SourceFile::update`], for a text that the host keeps as well: the two share it.
    pub fn replace(self, db: &mut dyn Db, text: &Arc<str>) {
        if !Arc::ptr_eq(self.text(db), text) && **self.text(db) != **text {
            self.set_text(db).with_durability(Durability::LOW).to(text.clone());
        }
    }
}
