//! Source files: their text, split into units, and nothing else.
//!
//! A path is known to the host only: no query may depend on it. The host keeps one [`SourceFile`] for each path and
//! reuses it when a file is closed and reopened, since inputs are never freed.
//!
//! Each unit's text is an input by itself ([`UnitInput`]), so that an edit of one unit leaves those of all others, and
//! their durability, unchanged. Everything is of high durability at first; the text of a kernel becomes one of low
//! durability when the kernel is edited. From then on its edits do not concern the other kernels: their results are not
//! even verified. This has one cost: salsa treats a value that becomes less durable as changed. So queries shared by
//! several units (the [`SourceFile::volatile`] queries) are of low durability from the start, and inputs of all kernels
//! (the list of units, headers, functions, variables) are of high durability forever.

#![allow(missing_docs, reason = "the accessors that salsa generates cannot carry documentation")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use oriole_syntax::{CutText, Piece, Replaced, UnitKind, UnitSource};
use salsa::{Durability, Setter};

use crate::unit::{Unit, UnitInput, UnitText};

/// Maximum number of units of an edit by hand. A text that differs in more was regenerated, which does not predict the
/// place of the next edit.
const EDITED: usize = 8;

/// A file of PTX.
#[salsa::input(debug)]
pub struct SourceFile {
    /// The whole text, split into units when it was written: unchanged parts are not split again. No query may read it;
    /// rendering places its output with it.
    #[returns(ref)]
    pub cut: CutText,
    /// The units in file order. Only the query that creates the units may read it.
    #[returns(ref)]
    pub units: Units,
    /// Read to be of low durability, never written.
    #[returns(copy)]
    ephemeral: (),
}

/// The extent of an edit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// The text is unchanged.
    Nothing,
    /// The text of one kernel.
    Kernel,
    /// More than that, or something that kernels share.
    More,
}

/// The units of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default, salsa::SalsaValue)]
pub struct Units {
    /// The present units, in file order.
    pub present: Vec<Unit>,
    /// Inputs of removed units, for reuse by new ones: inputs are never freed.
    spare: Vec<UnitInput>,
}

/// The text before the NUL bytes at its end: programs pass their buffer to the driver, which takes a terminated text.
fn without_terminator(text: &str) -> &str {
    text.trim_end_matches('\0')
}

impl SourceFile {
    /// A file that is being edited.
    pub fn open(db: &dyn salsa::Database, text: &str) -> SourceFile {
        let cut = CutText::new(without_terminator(text));
        let present = cut.pieces().iter().map(|piece| Unit::of(piece, UnitInput::create(db, text_of(piece))));
        let units = Units { present: present.collect(), spare: Vec::new() };
        SourceFile::builder(cut, units, ()).units_durability(Durability::HIGH).new(db)
    }

    /// Makes the calling query one of low durability, whatever else it reads. Then its result never becomes less
    /// durable, and an equal result stops the propagation.
    pub fn volatile(self, db: &dyn salsa::Database) {
        self.ephemeral(db);
    }

    /// The whole text, for programs that keep it nowhere else; no query may read it.
    pub fn text(self, db: &dyn salsa::Database) -> &Arc<String> {
        self.cut(db).text()
    }

    /// Replaces the text. Does nothing, and starts no revision, if it is equal.
    pub fn update(self, db: &mut dyn salsa::Database, text: &str) {
        let text = without_terminator(text);
        if let Some(replaced) = Replaced::between(self.text(db), text) {
            self.change(db, Arc::new(text.to_owned()), replaced);
        }
    }

    /// As [`SourceFile::update`], for a text that the host keeps as well: the two share it.
    pub fn replace(self, db: &mut dyn salsa::Database, text: &Arc<String>) -> Extent {
        if Arc::ptr_eq(self.text(db), text) {
            return Extent::Nothing;
        }
        match Replaced::between(self.text(db), text) {
            Some(replaced) => self.change(db, text.clone(), replaced),
            None => Extent::Nothing,
        }
    }

    /// Takes over a text that is split already.
    pub fn take(self, db: &mut dyn salsa::Database, cut: &CutText) {
        if !Arc::ptr_eq(self.text(db), cut.text()) {
            self.put(db, cut.clone());
        }
    }

    /// Replaces the text by one that is equal outside of `replaced`.
    pub fn change(self, db: &mut dyn salsa::Database, text: Arc<String>, replaced: Replaced) -> Extent {
        let Replaced { start, old_end, new_end } = replaced;
        let old = &self.text(db).as_bytes()[start as usize..old_end as usize];
        if *old == text.as_bytes()[start as usize..new_end as usize] {
            return Extent::Nothing;
        }
        let cut = self.cut(db).changed(text, replaced);
        self.put(db, cut)
    }

    /// Writes a text: only the changed units.
    fn put(self, db: &mut dyn salsa::Database, cut: CutText) -> Extent {
        let units = self.units(db);
        let same = units.present.len() == cut.pieces().len()
            && units.present.iter().zip(cut.pieces()).all(|(unit, piece)| unit.is(piece));
        if !same {
            self.regroup(db, cut.pieces());
        }
        let units = self.units(db).present.iter().zip(cut.pieces());
        let changed = units.filter(|(unit, piece)| !unit.input.text(db).holds(piece));
        let changed: Vec<(Unit, UnitText)> =
            changed.map(|(unit, piece)| (unit.clone(), text_of(piece))).collect();
        let edited = changed.len() <= EDITED;
        let extent = match changed.as_slice() {
            [(unit, _)] if same && unit.is_named_kernel() => Extent::Kernel,
            _ => Extent::More,
        };
        for (unit, text) in changed {
            let field = unit.input.set_text(db);
            if edited && unit.is_named_kernel() {
                field.with_durability(Durability::LOW).to(text);
            } else {
                field.to(text);
            }
        }
        self.set_cut(db).to(cut);
        extent
    }

    /// Makes the list of units from the pieces. A piece whose kind and name were present keeps their input, in file
    /// order among several equal ones.
    fn regroup(self, db: &mut dyn salsa::Database, pieces: &[Piece]) {
        let Units { present, mut spare } = self.units(db).clone();
        let mut known: BTreeMap<(UnitKind, Arc<str>), VecDeque<UnitInput>> = BTreeMap::new();
        for unit in present {
            known.entry((unit.kind, unit.name)).or_default().push_back(unit.input);
        }
        let mut take = |piece: &Piece| known.get_mut(&(piece.kind, piece.name.clone()))?.pop_front();
        let kept: Vec<Option<UnitInput>> = pieces.iter().map(&mut take).collect();
        let edited = kept.iter().filter(|kept| kept.is_none()).count() <= EDITED;
        for input in known.into_values().flatten() {
            // Cached data of a text are dropped with it.
            input.set_text(db).to(UnitText(triomphe::Arc::new(UnitSource::new(UnitKind::Trailer, ""))));
            spare.push(input);
        }
        let mut present = Vec::with_capacity(pieces.len());
        for (piece, kept) in pieces.iter().zip(kept) {
            let input = kept.or_else(|| spare.pop()).unwrap_or_else(|| UnitInput::create(db, text_of(piece)));
            let unit = Unit::of(piece, input);
            if kept.is_none() {
                // A new kernel is being edited.
                let low = edited && unit.is_named_kernel();
                let durability = if low { Durability::LOW } else { Durability::HIGH };
                input.set_text(db).with_durability(durability).to(text_of(piece));
            }
            present.push(unit);
        }
        self.set_units(db).to(Units { present, spare });
    }
}

fn text_of(piece: &Piece) -> UnitText {
    UnitText(piece.source.clone())
}
