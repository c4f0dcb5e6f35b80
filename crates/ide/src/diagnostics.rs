//! Diagnostics of a file with their ranges: syntax and types at once, those of code generation when it is done.
//!
//! Diagnostics are found and memoized unit by unit; here they only get their place in the file.

use oriole_chip::Chip;
use oriole_diagnostics::{Code, Diagnostic, Place, Severity};
use oriole_inputs::{Db, FunctionUnit, SourceFile};
use oriole_options::Linking;
use oriole_pipeline::facts::Origin;
use oriole_queries::{Failed, files, functions, images};
use oriole_syntax::UnitKind;

use crate::demangle;
use crate::snapshot::{Located, Snapshot};
use crate::{Feature, FileId, Range};

/// An attribute of a diagnostic that changes how it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Tag {
    /// The text has no effect.
    Unnecessary,
}

/// Another place that explains a diagnostic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// The place.
    pub range: Range,
    /// The message.
    pub message: String,
}

/// A diagnostic in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileDiagnostic {
    /// The place.
    pub range: Range,
    /// Its code; `Code::page` is the page.
    pub code: Code,
    /// The severity.
    pub severity: Severity,
    /// The message, help lines after it.
    pub message: String,
    /// Other places.
    pub related: Vec<Remark>,
    /// Attributes for display.
    pub tags: Vec<Tag>,
}

pub(crate) fn diagnostics(snapshot: &Snapshot, file: FileId) -> Vec<FileDiagnostic> {
    let mut all = Vec::new();
    // A part of a program leaves functions to a linker.
    let is_part = snapshot.options(file).is_some_and(|options| options.linking == Linking::Relocatable);
    for located in snapshot.sources(file) {
        let mut found = oriole_queries::diagnostics(&snapshot.db, located.source);
        found.retain(|found| !is_part || found.code != Code::UnresolvedExternal);
        all.extend(found.iter().filter_map(|found| place(&snapshot.db, located, found)));
        all.extend(hints(&snapshot.db, located));
    }
    all
}

/// Correct code without effect: unreachable instructions, unused registers.
fn hints(db: &dyn Db, located: Located<'_>) -> Vec<FileDiagnostic> {
    let mut all = Vec::new();
    for &unit in files::split_file(db, located.source).iter().filter(|unit| unit.has_code(db)) {
        if files::body(db, unit).is_none() {
            continue;
        }
        let notes = files::flow_report(db, unit).notes(files::source_map(db, unit));
        all.extend(notes.filter_map(|found| place(db, located, &found.shifted(unit.start(db)))));
    }
    all
}

/// Gives a diagnostic its place in the file; `None` outside of a snippet.
fn place(db: &dyn Db, located: Located<'_>, found: &Diagnostic) -> Option<FileDiagnostic> {
    let range = located.up(found.span.into())?;
    // Declarations of the host of inline PTX are not visible.
    if located.snippet.is_some() && outside(found) {
        return None;
    }
    let mut message = demangle::in_text(&found.message.to_string()).into_owned();
    for help in &found.help {
        message.push_str(&format!("\nhelp: {help}"));
    }
    if let Some(snippet) = located.snippet {
        message = snippet.names(&message);
    }
    let related = found
        .related
        .iter()
        .filter_map(|related| {
            let span = match &related.place {
                Place::Here(span) => *span,
                Place::Symbol(name) => oriole_queries::place_of(db, located.source, name)?,
            };
            Some(Remark {
                range: located.up(span.into())?,
                message: demangle::in_text(&related.message.to_string()).into_owned(),
            })
        })
        .collect();
    let tags = match found.code {
        Code::Unreachable | Code::UnusedDeclaration | Code::Ignored => vec![Tag::Unnecessary],
        _ => Vec::new(),
    };
    Some(FileDiagnostic { range, code: found.code, severity: found.severity, message, related, tags })
}

/// Whether a diagnostic about inline PTX may be due to facts that only the host knows.
fn outside(found: &Diagnostic) -> bool {
    matches!(
        found.code,
        Code::UseBeforeDeclaration
            | Code::UnresolvedExternal
            | Code::UnusedDeclaration
            | Code::NotSupported
            | Code::NeedsVersion
            | Code::Uninitialized
    )
}

pub(crate) fn code_diagnostics(snapshot: &Snapshot, file: FileId, chip: Chip) -> Vec<FileDiagnostic> {
    if !snapshot.is_on(file, Feature::CodeDiagnostics) {
        return Vec::new();
    }
    let db = &snapshot.db;
    let (Some(source), Some(config)) = (snapshot.ptx(file), snapshot.config(file, chip)) else {
        return Vec::new();
    };
    let located = Located { source, at: 0, snippet: None };
    let mut all: Vec<FileDiagnostic> = Vec::new();
    all.extend(
        oriole_queries::target_diagnostics(db, source, config).and_then(|found| place(db, located, &found)),
    );
    for &unit in files::split_file(db, source) {
        let failed = match unit.kind(db) {
            UnitKind::Entry => images::kernel_image(db, unit, config).as_ref().err(),
            UnitKind::Function => functions::encoded(db, unit, config).as_ref().err(),
            _ => continue,
        };
        match failed {
            Some(failed) => all.extend(failure(snapshot, source, unit, failed)),
            None => all.extend(spills(snapshot, file, unit, chip)),
        }
    }
    all
}

fn failure(
    snapshot: &Snapshot,
    source: SourceFile,
    unit: FunctionUnit<'_>,
    failed: &Failed,
) -> Vec<FileDiagnostic> {
    let db = &snapshot.db;
    let found = failed.diagnostics(files::source_map(db, unit)).into_iter();
    let place = |diagnostic: Diagnostic| {
        place(db, Located { source, at: 0, snippet: None }, &diagnostic.shifted(unit.start(db)))
    };
    found.filter_map(place).collect()
}

/// A note at the kernel's name if registers were spilled, with the names of the spilled values.
fn spills(snapshot: &Snapshot, file: FileId, unit: FunctionUnit<'_>, chip: Chip) -> Option<FileDiagnostic> {
    let db = &snapshot.db;
    let shown = snapshot.compiled(file, unit, chip)?;
    let facts = &shown.compiled.facts;
    if facts.spills.is_empty() {
        return None;
    }
    let stores = facts.spills.iter().filter(|spill| !spill.reload).count();
    let loads = facts.spills.len() - stores;
    let range = Range::from(files::source_map(db, unit).name).shifted(unit.start(db));
    let mut related: Vec<Remark> = Vec::new();
    for spill in facts.spills.iter().filter(|spill| !spill.reload).take(8) {
        let whose = match spill.origin {
            Origin::Source(register, _) => format!("`{}`", shown.register(register)),
            Origin::Temporary => "a value of the compiler's own".to_owned(),
        };
        if let Some(range) = shown.statement(spill.statement) {
            related.push(Remark { range, message: format!("{whose} is spilled here") });
        }
    }
    let message = format!(
        "for {chip}, {} bytes of registers are spilled: {stores} stores, {loads} reloads; at its peak {} registers are \
         live",
        facts.spill_bytes, facts.peak.live.general
    );
    Some(FileDiagnostic {
        range,
        code: Code::TooManyRegisters,
        severity: Severity::Note,
        message,
        related,
        tags: Vec::new(),
    })
}
