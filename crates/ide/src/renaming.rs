//! Renaming: the edits of all uses of a name, or the reason why there are none.
//!
//! Uses are found as in `navigation.rs`; what is here is which new names are free, in every file that the edits touch.

use oriole_ptx::SpecialRegister;
use oriole_queries::files;
use oriole_syntax::SyntaxKind;

use crate::names::{DeclarationKind, Meaning, Names, Occurrence, names};
use crate::navigation::{Named, named, sharers};
use crate::shared_names::{self, Sharer, Standing};
use crate::snapshot::Snapshot;
use crate::{Edit, FileId, Range};

/// The reason why a name cannot be renamed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RenameError {
    /// There is no name, or it is one of the language.
    NoName,
    /// The text is not a name.
    BadName(String),
    /// The name is in use where this one is used.
    Taken(String),
    /// The name is in use in this other file, which shares the renamed one or would be linked with it.
    TakenIn(String, FileId),
    /// These files define the name, and others mean one of them.
    Ambiguous(String, Vec<FileId>),
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
            RenameError::TakenIn(name, _) => write!(out, "`{name}` already means something in another file"),
            RenameError::Ambiguous(name, _) => {
                write!(
                    out,
                    "several files define `{name}`, and others use it without saying which one they mean"
                )
            }
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
) -> Result<Vec<(FileId, Edit)>, RenameError> {
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
        let edits = rename_range(&named, names(&snapshot.db, named.spot.unit), &declaration.name, new)?;
        return Ok(edits.into_iter().map(|edit| (file, edit)).collect());
    }
    if let Some(sharers) = sharers(snapshot, &named, file) {
        return rename_shared(snapshot, &named, &sharers, new);
    }
    let db = &snapshot.db;
    let module = named.occurrence.meaning == Meaning::Module;
    let taken = module && files::definition(db, named.located.source, new.into()).is_some();
    let mut edits = Vec::new();
    let units = files::split_file(db, named.located.source);
    for &unit in units.iter().filter(|&&unit| module || unit == named.spot.unit) {
        let names = names(db, unit);
        let mut same = names.same(&named.occurrence).peekable();
        if same.peek().is_some() && (taken || is_in_the_way(names, new)) {
            return Err(RenameError::Taken(new.to_owned()));
        }
        for found in same {
            let edit = Edit::new(found.range.shifted(unit.start(db)), new);
            edits.push((file, named.located.up_edit(edit).ok_or(RenameError::Foreign)?));
        }
    }
    Ok(edits)
}

/// Whether a unit means or declares something by a name.
fn is_in_the_way(names: &Names, new: &str) -> bool {
    let meant = names.occurrences.iter().any(|found| *found.name == *new);
    let declared = names.declarations.iter().any(|found| match found.kind {
        DeclarationKind::Registers(count) => member(new, &found.name).is_some_and(|at| at < count),
        _ => *found.name == *new,
    });
    meant || declared
}

/// Renames a name in all files that share it, its own file first.
fn rename_shared(
    snapshot: &Snapshot,
    named: &Named<'_>,
    linked: &[Sharer<'_>],
    new: &str,
) -> Result<Vec<(FileId, Edit)>, RenameError> {
    let (db, name) = (&snapshot.db, &named.occurrence.name);
    let all = shared_names::sharers(snapshot, name);
    let (defining, using): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|sharer| sharer.standing == Standing::Defines);
    if defining.len() > 1 && !using.is_empty() {
        let files = defining.iter().map(|sharer| sharer.file).collect();
        return Err(RenameError::Ambiguous(name.to_string(), files));
    }
    let own = linked[0].file;
    let taken = |file: FileId| match file == own {
        true => RenameError::Taken(new.to_owned()),
        false => RenameError::TakenIn(new.to_owned(), file),
    };
    let mut edits = Vec::new();
    for sharer in linked {
        if shared_names::declares(snapshot, sharer.source, new) {
            return Err(taken(sharer.file));
        }
        for &unit in sharer.units {
            let names = names(db, unit);
            if is_in_the_way(names, new) {
                return Err(taken(sharer.file));
            }
            let edit = |found: &Occurrence| Edit::new(found.range.shifted(unit.start(db)), new);
            edits.extend(names.same(&named.occurrence).map(|found| (sharer.file, edit(found))));
        }
    }
    // A file that shares the new name would be linked with these. One that defines it may be another program, if the renamed
    // name is of one file only.
    let others = shared_names::sharers(snapshot, new).into_iter();
    let joined = others.into_iter().find(|other| linked.len() > 1 || other.standing != Standing::Defines);
    match joined {
        Some(other) => Err(taken(other.file)),
        None => Ok(edits),
    }
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
