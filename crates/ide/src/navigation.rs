//! Definitions, references, highlights and renaming, all read from the names of units.

use oriole_inputs::{Db, SourceFile};
use oriole_ptx::SpecialRegister;
use oriole_queries::files;
use oriole_syntax::SyntaxKind;

use crate::cursor::{Spot, spot};
use crate::names::{Access, DeclarationKind, Meaning, Names, Occurrence, names, names_like};
use crate::snapshot::{Located, Snapshot};
use crate::{Edit, FileId, Range};

/// The declaration of a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The file.
    pub file: FileId,
    /// The name.
    pub range: Range,
    /// The whole declaration.
    pub full: Range,
    /// The name at the query.
    pub origin: Range,
}

/// A use of a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reference {
    /// The file.
    pub file: FileId,
    /// The name.
    pub range: Range,
    /// The kind of use.
    pub access: Access,
}

/// The reason why a name cannot be renamed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RenameError {
    /// There is no name, or it is one of the language.
    NoName,
    /// The text is not a name.
    BadName(String),
    /// The name is in use where this one is used.
    Taken(String),
    /// It is one of a range of registers; the new name must be free of it.
    Range(String),
    /// It is an operand of the statement that inline PTX is in.
    Foreign,
}

impl std::fmt::Display for RenameError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RenameError::NoName => out.write_str("there is nothing to rename here"),
            RenameError::BadName(name) => write!(out, "`{name}` is not a name of PTX"),
            RenameError::Taken(name) => write!(out, "`{name}` already means something where this is used"),
            RenameError::Range(name) => {
                write!(
                    out,
                    "`{name}` is one of a range of registers; declare it by itself to rename it alone"
                )
            }
            RenameError::Foreign => out.write_str("this name belongs to the statement round the inline PTX"),
        }
    }
}

impl std::error::Error for RenameError {}

/// The name at a position.
pub(crate) struct Named<'a> {
    pub located: Located<'a>,
    pub spot: Spot<'a>,
    /// The names of the unit that are relevant to the name.
    pub names: Names,
    pub occurrence: Occurrence,
}

pub(crate) fn named<'a>(snapshot: &'a Snapshot, file: FileId, at: u32) -> Option<Named<'a>> {
    let located = snapshot.locate(file, at)?;
    let db: &dyn Db = &snapshot.db;
    let spot = spot(db, located.source, located.at)?;
    named_at(db, located, spot).or_else(|| {
        // At the border of two units the name may begin the second one.
        let units = files::split_file(db, located.source);
        let next = units.iter().copied().find(|unit| unit.start(db) == located.at)?;
        named_at(db, located, Spot { unit: next, start: located.at, at: 0 })
    })
}

fn named_at<'a>(db: &'a dyn Db, located: Located<'a>, spot: Spot<'a>) -> Option<Named<'a>> {
    let spelling = spot.name(db)?;
    let names = names_like(db, spot.unit, spelling);
    let occurrence = names.at(spot.at)?.clone();
    Some(Named { located, spot, names, occurrence })
}

pub(crate) fn definition(snapshot: &Snapshot, file: FileId, at: u32) -> Vec<Target> {
    let Some(named) = named(snapshot, file, at) else { return Vec::new() };
    let (located, start) = (named.located, named.spot.start);
    let Some(origin) = located.up(named.occurrence.range.shifted(start)) else { return Vec::new() };
    let target = |range: Range, full: Range| {
        let (range, full) = (located.up(range)?, located.up(full));
        Some(Target { file, range, full: full.unwrap_or(range), origin })
    };
    if let Some(declaration) = named.names.declaration(&named.occurrence) {
        let range = declaration.range.shifted(start);
        return target(range, declaration.full.shifted(start)).into_iter().collect();
    }
    if named.occurrence.meaning != Meaning::Module {
        return Vec::new();
    }
    let places = declarations(&snapshot.db, located.source, &named.occurrence.name);
    places.into_iter().filter_map(|(range, full)| target(range, full)).collect()
}

/// The declarations of a name in the module: the definition, or else the first declaration.
fn declarations(db: &dyn Db, source: SourceFile, name: &str) -> Vec<(Range, Range)> {
    let Some(unit) = files::definition(db, source, name.into()) else { return Vec::new() };
    let start = unit.start(db);
    let declares = |found: &&Occurrence| {
        found.meaning == Meaning::Module && found.access == Access::Declare && &*found.name == name
    };
    let all = names(db, unit).occurrences.iter().filter(declares);
    all.map(|found| (found.range.shifted(start), found.statement.shifted(start))).collect()
}

pub(crate) fn references(snapshot: &Snapshot, file: FileId, at: u32) -> Vec<Reference> {
    let Some(named) = named(snapshot, file, at) else { return Vec::new() };
    match named.occurrence.meaning {
        Meaning::Local(_) | Meaning::Special => in_unit(&named, file),
        Meaning::Module => {
            let db = &snapshot.db;
            let mut all = Vec::new();
            for &unit in files::split_file(db, named.located.source) {
                let start = unit.start(db);
                for found in names(db, unit).same(&named.occurrence) {
                    if let Some(range) = named.located.up(found.range.shifted(start)) {
                        all.push(Reference { file, range, access: found.access });
                    }
                }
            }
            all
        }
    }
}

fn in_unit(named: &Named<'_>, file: FileId) -> Vec<Reference> {
    let declared = named.names.declaration(&named.occurrence);
    let prefix = declared.filter(|declared| matches!(declared.kind, DeclarationKind::Registers(_)));
    let mut all: Vec<Reference> = named
        .names
        .same(&named.occurrence)
        .chain(
            // The declaration of the range that the register is one of.
            named.names.occurrences.iter().filter(|found| {
                prefix.is_some_and(|prefix| prefix.range == found.range)
                    && found.name != named.occurrence.name
            }),
        )
        .filter_map(|found| {
            let range = named.located.up(found.range.shifted(named.spot.start))?;
            Some(Reference { file, range, access: found.access })
        })
        .collect();
    all.sort();
    all
}

pub(crate) fn highlights(snapshot: &Snapshot, file: FileId, at: u32) -> Vec<Reference> {
    named(snapshot, file, at).map_or_else(Vec::new, |named| in_unit(&named, file))
}

/// Whether a text is a name of PTX.
fn is_name(text: &str) -> bool {
    let mut errors = Vec::new();
    let tokens = oriole_syntax::tokenize(text, &mut errors);
    errors.is_empty() && tokens.len() == 2 && tokens[0].kind == SyntaxKind::IDENT
}

pub(crate) fn prepare_rename(
    snapshot: &Snapshot,
    file: FileId,
    at: u32,
) -> Result<(Range, String), RenameError> {
    let named = named(snapshot, file, at).ok_or(RenameError::NoName)?;
    if named.occurrence.meaning == Meaning::Special {
        return Err(RenameError::NoName);
    }
    let name = named.occurrence.name.to_string();
    if named.located.snippet.is_some() {
        let declared = named.names.declaration(&named.occurrence);
        let visible = |range: Range| named.located.up(range.shifted(named.spot.start)).is_some();
        if !declared.is_some_and(|declared| visible(declared.range)) {
            return Err(RenameError::Foreign);
        }
    }
    let range = named.located.up(named.occurrence.range.shifted(named.spot.start));
    Ok((range.ok_or(RenameError::Foreign)?, name))
}

pub(crate) fn rename(
    snapshot: &Snapshot,
    file: FileId,
    at: u32,
    new: &str,
) -> Result<Vec<Edit>, RenameError> {
    prepare_rename(snapshot, file, at)?;
    let named = named(snapshot, file, at).ok_or(RenameError::NoName)?;
    if !is_name(new) || SpecialRegister::from_name(new).is_some() {
        return Err(RenameError::BadName(new.to_owned()));
    }
    if *new == *named.occurrence.name {
        return Ok(Vec::new());
    }
    if let Some(declaration) = named.names.declaration(&named.occurrence)
        && let DeclarationKind::Registers(_) = declaration.kind
    {
        return rename_range(&named, names(&snapshot.db, named.spot.unit), &declaration.name, new);
    }
    let db = &snapshot.db;
    let module = named.occurrence.meaning == Meaning::Module;
    let taken = module && files::definition(db, named.located.source, new.into()).is_some();
    let in_the_way = |found: &Names| {
        let meant = found.occurrences.iter().any(|found| *found.name == *new);
        let declared = found.declarations.iter().any(|found| match found.kind {
            DeclarationKind::Registers(count) => member(new, &found.name).is_some_and(|at| at < count),
            _ => *found.name == *new,
        });
        meant || declared
    };
    let mut edits = Vec::new();
    let units = files::split_file(db, named.located.source);
    for &unit in units.iter().filter(|&&unit| module || unit == named.spot.unit) {
        let names = names(db, unit);
        let mut same = names.same(&named.occurrence).peekable();
        if same.peek().is_some() && (taken || in_the_way(names)) {
            return Err(RenameError::Taken(new.to_owned()));
        }
        for found in same {
            let edit = Edit::new(found.range.shifted(unit.start(db)), new);
            edits.push(named.located.up_edit(edit).ok_or(RenameError::Foreign)?);
        }
    }
    Ok(edits)
}

/// The index of a register of a range, by its name.
fn member(name: &str, prefix: &str) -> Option<u64> {
    let number = name.strip_prefix(prefix)?;
    let plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (plain && (number.len() == 1 || !number.starts_with('0'))).then(|| number.parse().ok())?
}

/// Renaming one of a range, or its declaration, renames the range: `%r3` to `%x3` makes `%r<9>` to `%x<9>`.
fn rename_range(named: &Named<'_>, all: &Names, prefix: &str, new: &str) -> Result<Vec<Edit>, RenameError> {
    let own = &*named.occurrence.name;
    let new_prefix = match own.strip_prefix(prefix) {
        Some("") => new,
        Some(number) => new.strip_suffix(number).ok_or_else(|| RenameError::Range(own.to_owned()))?,
        None => return Err(RenameError::NoName),
    };
    if !is_name(new_prefix) {
        return Err(RenameError::BadName(new.to_owned()));
    }
    let other = |found: &Occurrence| found.meaning != named.occurrence.meaning;
    if all.occurrences.iter().any(|found| {
        other(found) && (*found.name == *new_prefix || member(&found.name, new_prefix).is_some())
    }) {
        return Err(RenameError::Taken(new_prefix.to_owned()));
    }
    let mut edits = Vec::new();
    for found in all.occurrences.iter().filter(|found| !other(found)) {
        let Some(tail) = found.name.strip_prefix(prefix) else { continue };
        let edit = Edit::new(found.range.shifted(named.spot.start), format!("{new_prefix}{tail}"));
        edits.push(named.located.up_edit(edit).ok_or(RenameError::Foreign)?);
    }
    Ok(edits)
}
