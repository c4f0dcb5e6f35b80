//! Units of a file and their identity.

#![allow(missing_docs, reason = "the accessors that salsa generates cannot carry documentation")]

use std::sync::Arc;

use oriole_syntax::{Piece, UnitKind, UnitSource};
use salsa::Durability;

use crate::{Db, SourceFile};

/// The text of a unit, with its cached tree. Values that share one allocation are equal without a comparison, as all
/// units are that an edit does not touch.
#[derive(Clone, Eq, Debug, salsa::SalsaValue)]
pub struct UnitText(pub triomphe::Arc<UnitSource>);

impl PartialEq for UnitText {
    fn eq(&self, other: &UnitText) -> bool {
        triomphe::Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl UnitText {
    /// Whether it is the text of a piece.
    pub(crate) fn holds(&self, piece: &Piece) -> bool {
        triomphe::Arc::ptr_eq(&self.0, &piece.source) || self.0 == piece.source
    }
}

impl std::ops::Deref for UnitText {
    type Target = Arc<str>;

    fn deref(&self) -> &Arc<str> {
        self.0.text()
    }
}

/// The text of one unit.
#[salsa::input(debug)]
pub struct UnitInput {
    /// Leading comments included.
    #[returns(ref)]
    pub text: UnitText,
}

impl UnitInput {
    /// An input for a unit that has not been edited yet.
    pub(crate) fn create(db: &dyn Db, text: UnitText) -> UnitInput {
        UnitInput::builder(text).durability(Durability::HIGH).new(db)
    }
}

/// A unit in the list of a file.
#[derive(Clone, PartialEq, Eq, Debug, salsa::SalsaValue)]
pub struct Unit {
    /// The kind of item.
    pub kind: UnitKind,
    /// The name it declares; may be empty.
    pub name: Arc<str>,
    /// Its text.
    pub input: UnitInput,
}

impl Unit {
    pub(crate) fn of(piece: &Piece, input: UnitInput) -> Unit {
        Unit { kind: piece.kind, name: piece.name.clone(), input }
    }

    /// Whether it is the unit of a piece.
    pub(crate) fn is(&self, piece: &Piece) -> bool {
        self.kind == piece.kind && self.name == piece.name
    }

    /// Whether it is a kernel that others know by its name alone. The declarations of one without a name are collected
    /// by a query that all others read.
    pub(crate) fn is_named_kernel(&self) -> bool {
        self.kind == UnitKind::Entry && !self.name.is_empty()
    }
}

/// A unit of a file, as the splitter finds it.
///
/// Identity: the file, the kind, the name, and its index among units of that kind and name. Its text and its place may
/// change without changing the identity. So typing inside a kernel, moving it, or moving everything above it keeps the
/// unit and its results; renaming makes another one.
///
/// Readers: only the query that parses the unit reads the text; only rendering, which is no query, reads the place.
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
    pub fn of(db: &'db dyn Db, file: SourceFile) -> Vec<FunctionUnit<'db>> {
        let units = file.units(db).present.iter().enumerate();
        units
            .map(|(at, unit)| {
                FunctionUnit::new(db, file, unit.kind, unit.name.clone(), unit.input, at as u32)
            })
            .collect()
    }

    /// Its text, leading comments included.
    pub fn text(self, db: &'db dyn Db) -> &'db UnitText {
        self.input(db).text(db)
    }

    /// Its first byte in the file.
    pub fn start(self, db: &'db dyn Db) -> u32 {
        self.file(db).cut(db).starts()[self.at(db) as usize]
    }

    /// Kind and name as text, for logs.
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
