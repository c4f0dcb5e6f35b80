//! Texts that change, each compiled for some chips with one set of options, and what ran after a change.
//!
//! A change runs only what depends on it. Files and their names are the program's.

use std::collections::BTreeMap;
use std::sync::Arc;

use oriole_chip::Chip;
use oriole_diagnostics::Diagnostic;
use oriole_inputs::{Config, Database, Extent, SourceFile};
use oriole_options::{Linking, Options};
use oriole_queries::Compiled;
use oriole_store::Cache;

use super::{Ran, looked_at};

/// The texts, in one database.
pub struct Texts {
    db: Database,
    options: Options,
    /// By chip, and by whether a whole program is made or a part to be linked.
    configs: BTreeMap<(Chip, bool), Config>,
}

/// A text. It is kept for good: inputs are never freed.
#[derive(Clone, Copy)]
pub struct Text(SourceFile);

impl Texts {
    /// No texts yet. With `keeps_stages` results of inner stages are kept, which are worth their memory only where options
    /// change.
    pub fn new(options: Options, cache: Arc<Cache>, keeps_stages: bool) -> Texts {
        let db = Database::with_log().cached(cache);
        Texts { db: if keeps_stages { db } else { db.without_stages() }, options, configs: BTreeMap::new() }
    }

    /// Opens a text.
    pub fn open(&self, text: &str) -> Text {
        Text(SourceFile::open(&self.db, text))
    }

    /// Replaces a text.
    pub fn replace(&mut self, text: Text, by: &Arc<String>) -> Extent {
        text.0.replace(&mut self.db, by)
    }

    /// Drops the contents of a text.
    pub fn clear(&mut self, text: Text) {
        text.0.update(&mut self.db, "");
    }

    /// The contents of a text.
    pub fn contents(&self, text: Text) -> Arc<String> {
        text.0.text(&self.db).clone()
    }

    /// Compiles with other options from now on. Results with the ones before are kept.
    pub fn set_options(&mut self, options: Options) {
        for (&(_, is_whole), config) in &self.configs {
            config.update(&mut self.db, &linked_as(&options, is_whole));
        }
        self.options = options;
    }

    /// The chip that a text names, or the one that is taken instead, with a warning.
    pub fn target(&self, text: Text) -> Chip {
        oriole_queries::target_chip(&self.db, text.0)
    }

    /// The warning about the chip, if that of the text is replaced.
    pub fn replaced_target(&self, text: Text) -> Option<Diagnostic> {
        oriole_queries::replaced_target(&self.db, text.0)
    }

    /// Compiles a text for a chip: where it leaves functions to a linker, as a part to be linked.
    pub fn compile(&mut self, text: Text, chip: Chip, threads: usize) -> Compiled {
        let options = looked_at(&self.db, text.0, &self.options);
        let key = (chip, options.linking == Linking::Whole);
        let config = *self.configs.entry(key).or_insert_with(|| Config::create(&self.db, chip, &options));
        oriole_queries::compile(&self.db, text.0, config, threads)
    }

    /// The queries that ran since the last call. The meaning of a change is asked once, for the first of several chips: `before` is
    /// what ran for the chip before.
    pub fn ran(&self, before: Option<&Ran>) -> Ran {
        Ran::new(self.db.log().map(|log| log.take()).unwrap_or_default(), before)
    }
}

/// The options for a whole program, or for a part to be linked.
fn linked_as(options: &Options, is_whole: bool) -> Options {
    let mut options = options.clone();
    options.linking = if is_whole { Linking::Whole } else { Linking::Relocatable };
    options
}
