//! One text in a database of its own: what one compile, one check and each command of the program start from.
//!
//! Its fields are for reports of `oriole-explore`; everything else asks by its methods.

use std::sync::Arc;

use oriole_chip::Chip;
use oriole_diagnostics::Diagnostic;
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::{Linking, Options};
use oriole_queries::{Compiled, Lacking, Progress, configuration, files, view};
use oriole_store::Cache;

/// A database with one file and one configuration.
pub struct Opened {
    /// The database.
    pub db: Database,
    /// The file.
    pub file: SourceFile,
    /// The configuration.
    pub config: Config,
    /// The warning about the chip, if none is named and that of the text is replaced.
    pub replaced: Option<Diagnostic>,
}

impl Opened {
    /// Opens a text for one compile that keeps no results of stages. It is compiled for a chip, by default the one that it names.
    pub fn once(text: &str, chip: Option<Chip>, options: &Options) -> Opened {
        Opened::within(Database::once(), text, chip, options)
    }

    /// Opens a text for one compile and reports about it: with `keep` the results of inner stages are kept.
    pub fn stored(
        text: &str,
        chip: Option<Chip>,
        options: &Options,
        keep: bool,
        cache: Option<Arc<Cache>>,
    ) -> Opened {
        let db = if keep { Database::default() } else { Database::once() };
        let db = match cache {
            Some(cache) => db.cached(cache),
            None => db,
        };
        Opened::within(db, text, chip, options)
    }

    fn within(db: Database, text: &str, chip: Option<Chip>, options: &Options) -> Opened {
        let file = SourceFile::open(&db, text);
        Opened::of(db, file, chip, options)
    }

    /// Opens a text to look at it, not to make a program of it: where it leaves functions to a linker, as a part to be linked.
    pub fn looking(text: &str, chip: Option<Chip>, options: &Options) -> Opened {
        let db = Database::default();
        let file = SourceFile::open(&db, text);
        let options = looked_at(&db, file, options);
        Opened::of(db, file, chip, &options)
    }

    fn of(db: Database, file: SourceFile, chip: Option<Chip>, options: &Options) -> Opened {
        let replaced = if chip.is_none() { oriole_queries::replaced_target(&db, file) } else { None };
        let chip = chip.unwrap_or_else(|| oriole_queries::target_chip(&db, file));
        let config = Config::create(&db, chip, options);
        Opened { db, file, config, replaced }
    }

    /// Changes the options.
    pub fn set_options(&mut self, options: &Options) {
        self.config.update(&mut self.db, options);
    }

    /// Compiles on `threads` threads.
    pub fn compile(&self, threads: usize) -> Compiled {
        self.compile_watched(threads, &Progress::default())
    }

    /// [`Opened::compile`], of which another thread may ask how far it is.
    pub fn compile_watched(&self, threads: usize, progress: &Progress) -> Compiled {
        let mut compiled =
            oriole_queries::compile_watched(&self.db, self.file, self.config, threads, progress);
        compiled.diagnostics.splice(0..0, self.replaced.clone());
        compiled
    }

    /// The resources of the kernels and functions of a text that was compiled.
    pub fn resources(&self) -> Vec<view::Resources> {
        view::resources(&self.db, self.file, self.config)
    }

    /// The number of functions to compile: more threads are useless.
    pub fn functions(&self) -> usize {
        files::code_units(&self.db, self.file).len()
    }

    /// The length of the text in bytes.
    pub fn bytes(&self) -> usize {
        self.file.text(&self.db).len()
    }

    /// The first byte of the text of a function with code.
    pub fn start_of(&self, name: &str) -> Option<u32> {
        let units = files::code_units(&self.db, self.file);
        let unit = units.iter().find(|unit| **unit.name(&self.db) == *name)?;
        Some(unit.start(&self.db))
    }

    /// The chip.
    pub fn chip(&self) -> Chip {
        configuration::chip_info(&self.db, self.config)
    }

    /// The diagnostics of the language, whatever the chip.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        oriole_queries::diagnostics(&self.db, self.file)
    }

    /// The diagnostics of the language and of the chip.
    pub fn diagnostics_for_chip(&self) -> Vec<Diagnostic> {
        oriole_queries::diagnostics_for(&self.db, self.file, self.config)
    }

    /// The warning that the tables of another chip stand in for those of the chip, if the text does not name it.
    pub fn stand_in(&self) -> Option<Diagnostic> {
        oriole_queries::stand_in_diagnostic(&self.db, self.file, self.config)
    }

    /// The error that no code can be made for the chip, if none can.
    pub fn no_encoding(&self) -> Option<Diagnostic> {
        oriole_queries::encoding_diagnostic(&self.db, self.config)
    }

    /// The diagnostics of the text, and all forms that cannot be compiled, each once. Takes as long as compiling.
    pub fn lacking(&self, threads: usize) -> (Vec<Diagnostic>, Vec<Lacking>) {
        oriole_queries::lacking(&self.db, self.file, self.config, threads)
    }
}

/// The options for code of a file with this text that is only looked at: where it leaves functions to a linker, those of a part to be
/// linked. The database is not asked where the text shows that it leaves none, as that of a whole file that is in the store.
pub(crate) fn looked_at(db: &Database, file: SourceFile, options: &Options) -> Options {
    let mut options = options.clone();
    // Unit by unit: after an edit only the text of the edited one is searched.
    let mentions = || file.cut(db).pieces().iter().any(|piece| piece.source.mentions_extern());
    let open = || mentions() && oriole_queries::leaves_open(db, file);
    if options.linking == Linking::Whole && open() {
        options.linking = Linking::Relocatable;
    }
    options
}
