//! A fix, and the list that gathers those of a diagnostic.

use oriole_diagnostics::Code;

use crate::snapshot::Located;
use crate::{Edit, FileDiagnostic, Range};

/// A fix for a diagnostic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// The title, which says what it does.
    pub title: String,
    /// The diagnostic's code.
    pub code: Code,
    /// The diagnostic's place.
    pub range: Range,
    /// The change.
    pub edits: Vec<Edit>,
    /// It is the preferred fix.
    pub preferred: bool,
    /// Nothing else can have been meant: a program may apply it without asking.
    pub safe: bool,
}

/// A diagnostic and the list that gathers its fixes.
pub(super) struct Mender<'a> {
    pub located: Located<'a>,
    pub diagnostic: &'a FileDiagnostic,
    pub all: &'a mut Vec<Fix>,
}

impl Mender<'_> {
    /// Adds a fix with edits of the PTX, unless one of them is outside of the file's own text.
    pub fn offer(&mut self, title: impl Into<String>, edits: Vec<Edit>, preferred: bool) {
        self.add(title.into(), edits, preferred, false);
    }

    /// Adds the one fix that can have been meant.
    pub fn offer_safe(&mut self, title: impl Into<String>, edits: Vec<Edit>) {
        self.add(title.into(), edits, true, true);
    }

    fn add(&mut self, title: String, edits: Vec<Edit>, preferred: bool, safe: bool) {
        let placed: Option<Vec<Edit>> = edits.into_iter().map(|edit| self.located.up_edit(edit)).collect();
        if let Some(edits) = placed {
            let (code, range) = (self.diagnostic.code, self.diagnostic.range);
            self.all.push(Fix { title, code, range, edits, preferred, safe });
        }
    }
}
