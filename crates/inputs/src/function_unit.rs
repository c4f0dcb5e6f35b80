//! The identity of a unit of a file: the key of all stages.

#![allow(missing_docs, reason = "the accessors that salsa generates cannot carry documentation")]

use std::sync::Arc;

use oriole_syntax::UnitKind;

use crate::SourceFile;
use crate::unit::{UnitInput, UnitText};

/// A unit of a file, as the splitter finds it.
///
/// Identity: the file, the kind, the name, and its index among units of that kind and name. Its text and its place may
/// change without changing the identity. So typing inside a kernel, moving it, or moving everything above it keeps the
/// unit and its results; renaming makes another one.
///
/// Readers: only the query that parses the unit reads the text; only rendering, which is not a query, reads the place.
#[salsa::tracked(debug)]
pub struct FunctionUnit<'db> {
    /// The file that it belongs to.
    #[returns(copy)]
    pub file: SourceFile,
    /// The kind of item.
    #[returns(copy)]
    pub kind: UnitKind,
    /// The name it declares; may be empty.
    #[returns(ref)]
    pub name: Arc<str>,
    /// The input with its text, which belongs to it for the life of the unit.
    #[returns(copy)]
    input: UnitInput,
    /// Its place in the list of units.
    #[tracked]
    #[returns(copy)]
    at: u32,
}

impl<'db> FunctionUnit<'db> {
    /// The units of a file.
    pub fn of(db: &'db dyn salsa::Database, file: SourceFile) -> Vec<FunctionUnit<'db>> {
        let units = file.units(db).present.iter().enumerate();
        units
            .map(|(at, unit)| {
                FunctionUnit::new(db, file, unit.kind, unit.name.clone(), unit.input, at as u32)
            })
            .collect()
    }

    /// Its text, leading comments included.
    pub fn text(self, db: &'db dyn salsa::Database) -> &'db UnitText {
        self.input(db).text(db)
    }

    /// Its first byte in the file.
    pub fn start(self, db: &'db dyn salsa::Database) -> u32 {
        self.file(db).cut(db).starts()[self.at(db) as usize]
    }

    /// Kind and name as text, for logs.
    pub fn label(self, db: &'db dyn salsa::Database) -> String {
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
    pub fn has_code(self, db: &'db dyn salsa::Database) -> bool {
        matches!(self.kind(db), UnitKind::Entry | UnitKind::Function)
    }
}
