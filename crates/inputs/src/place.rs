//! The key of a query, and its words in the log.

use crate::{ChipKey, Config, FunctionUnit, SourceFile};

/// The key of a query.
#[derive(Clone, Copy)]
pub enum Place<'db> {
    /// The session.
    Session,
    /// A file.
    File(SourceFile),
    /// A file and a name in it.
    Name(SourceFile, &'db str),
    /// A chip.
    Chip(ChipKey<'db>),
    /// A configuration.
    Config(Config),
    /// A unit.
    Unit(FunctionUnit<'db>),
    /// A unit and a configuration.
    UnitConfig(FunctionUnit<'db>, Config),
    /// A file and a configuration.
    FileConfig(SourceFile, Config),
    /// A stage and a configuration.
    StageConfig(&'static str, Config),
    /// A routine of the compiler and a configuration.
    Routine(&'static str, Config),
}

impl Place<'_> {
    /// The unit's kind and name, or the looked-up name, or nothing; and the chip of the configuration, or nothing.
    pub(crate) fn words(self, db: &dyn salsa::Database) -> (String, String) {
        let (unit, config) = match self {
            Place::Chip(chip) => return (String::new(), chip.chip(db).to_string()),
            Place::Session | Place::File(_) => (String::new(), None),
            Place::Name(_, name) => (name.to_owned(), None),
            Place::Config(config) | Place::FileConfig(_, config) => (String::new(), Some(config)),
            Place::Unit(unit) => (unit.label(db), None),
            Place::UnitConfig(unit, config) => (unit.label(db), Some(config)),
            Place::StageConfig(stage, config) => (format!("stage {stage}"), Some(config)),
            Place::Routine(name, config) => (format!("routine {name}"), Some(config)),
        };
        (unit, config.map_or_else(String::new, |config| config.label(db)))
    }
}
