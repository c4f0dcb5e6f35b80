//! A file in a database, and its functions, as the commands that show them take them.
//!
//! It is here so that a program asks for a report without types of the database. Nothing is compiled until a report
//! needs it.

use oriole_diagnostics::Diagnostic;
use oriole_ide::demangle;
use oriole_inputs::{Config, Database, FunctionUnit, SourceFile};
use oriole_queries::{Failed, files, view};

/// A file that was compiled.
#[derive(Clone, Copy)]
pub struct Compiled<'a> {
    /// The database.
    pub db: &'a Database,
    /// The file.
    pub file: SourceFile,
    /// The configuration.
    pub config: Config,
    /// Whether names of sources are shown in addition to those of symbols.
    pub demangle: bool,
}

impl<'a> Compiled<'a> {
    /// Its functions with code, in the order of the text.
    pub fn functions(&self) -> Vec<Function<'a>> {
        let units = files::code_units(self.db, self.file).into_iter();
        units
            .map(|unit| Function { db: self.db, unit, config: self.config, demangle: self.demangle })
            .collect()
    }

    /// A name, with the one of its source where those are shown.
    pub(crate) fn shown(&self, name: &str) -> String {
        if self.demangle { demangle::with_source(name) } else { name.to_owned() }
    }
}

/// A kernel or function of a file.
#[derive(Clone, Copy)]
pub struct Function<'a> {
    pub(crate) db: &'a Database,
    pub(crate) unit: FunctionUnit<'a>,
    pub(crate) config: Config,
    demangle: bool,
}

impl<'a> Function<'a> {
    /// Its name in the text.
    pub fn name(&self) -> &'a str {
        self.unit.name(self.db)
    }

    /// Its name for readers.
    pub(crate) fn shown(&self) -> String {
        if self.demangle { demangle::with_source(self.name()) } else { self.name().to_owned() }
    }

    /// A failure as diagnostics, their spans counted from the start of the file.
    pub(crate) fn diagnosed(&self, failed: &Failed) -> Vec<Diagnostic> {
        view::diagnostics(self.db, self.unit, failed)
    }
}
