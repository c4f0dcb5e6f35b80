//! The list of units of a file: the kind, the name and the input of each.
//!
//! Stages are keyed by the identity in `function_unit.rs`, not by these.

#![allow(missing_docs, reason = "the accessors that salsa generates cannot carry documentation")]

use std::sync::Arc;

use oriole_syntax::{Piece, UnitKind, UnitSource};
use salsa::Durability;

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
    pub(crate) fn create(db: &dyn salsa::Database, text: UnitText) -> UnitInput {
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
