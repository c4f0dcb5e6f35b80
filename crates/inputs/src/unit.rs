//! Units of a file and their identity.

#![allow(missing_docs, reason = "the accessors that salsa generates cannot carry documentation")]

use std::sync::Arc;

use oriole_syntax::{UnitKind, UnitSource};

use crate::{Db, SourceFile};

/// The text of a unit, which knows its tree. What shares one allocation is equal without a look at it, as all units are that
/// an edit leaves.
#[derive(Clone, Eq, Debug, salsa::SalsaValue)]
pub struct UnitText(pub triomphe::Arc<UnitSource>);

impl PartialEq for UnitText {
    fn eq(&self, other: &UnitText) -> bool {
        triomphe::Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl std::ops::Deref for UnitText {
    type Target = Arc<str>;

    fn deref(&self) -> &Arc<str> {
        self.0.text()
    }
}

/// A unit of a file, as the splitter cuts it.
///
/// Identity: the file, the kind, the name, and the how-manieth of that kind and name it is. What may change
/// without changing it: its text and its place. So typing inside a kernel, moving it, or moving everything above
/// it keeps the unit and all that is known of it; renaming makes another one.
///
/// Who may read what: `text` only the query that parses the unit; `start` and `line` only rendering, which is no
/// query, and the line table.
#[salsa::tracked(debug)]
pub struct FunctionUnit<'db> {
    /// The file that it belongs to.
    #[returns(copy)]
    pub file: SourceFile,
    /// What it holds.
    #[returns(copy)]
    pub kind: UnitKind,
    /// The name it declares; may be empty.
    #[returns(ref)]
    pub name: Arc<str>,
    /// Its text, leading comments included.
    #[tracked]
    #[returns(ref)]
    pub text: UnitText,
    /// First byte in the file.
    #[tracked]
    #[returns(copy)]
    pub start: u32,
    /// Line of the first byte, from 1.
    #[tracked]
    #[returns(copy)]
    pub line: u32,
}

impl<'db> FunctionUnit<'db> {
    /// Kind and name in words, for logs.
    pub fn label(self, db: &'db dyn Db) -> String {
        let kind = match self.kind(db) {
            UnitKind::Header => "header",
            UnitKind::Variable => "variable",
            UnitKind::Declaration => "declaration",
            UnitKind::Function => "function",
            UnitKind::Entry => "entry",
            UnitKind::DebugSection => "debug",
            UnitKind::Trailer => "trailer",
            UnitKind::Broken => "broken",
        };
        match &**self.name(db) {
            "" => kind.to_owned(),
            name => format!("{kind} {name}"),
        }
    }

    /// Whether it has code: a kernel or a function with a body.
    pub fn has_code(self, db: &'db dyn Db) -> bool {
        matches!(self.kind(db), UnitKind::Entry | UnitKind::Function)
    }
}
