//! One text in a database of its own: what one compile, one check and each command of the program start from.
//!
//! It is here so that library and program open a text in one way. It is for the program alone, and promises nothing to others: the
//! database is in its interface. No option is read and nothing is compiled here.

use oriole_chip::Chip;
use oriole_diagnostics::Diagnostic;
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::{Linking, Options};

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

    /// Opens a text in a new database.
    pub fn within(db: Database, text: &str, chip: Option<Chip>, options: &Options) -> Opened {
        let file = SourceFile::open(&db, text);
        Opened::of(db, file, chip, options)
    }

    /// Opens a text to look at it, not to make a program of it: where it leaves functions to a linker, as a part to be linked.
    pub fn looking(text: &str, chip: Option<Chip>, options: &Options) -> Opened {
        let db = Database::default();
        let file = SourceFile::open(&db, text);
        let options = looked_at(&db, file, text, options);
        Opened::of(db, file, chip, &options)
    }

    fn of(db: Database, file: SourceFile, chip: Option<Chip>, options: &Options) -> Opened {
        let replaced = if chip.is_none() { oriole_queries::replaced_target(&db, file) } else { None };
        let chip = chip.unwrap_or_else(|| oriole_queries::target_chip(&db, file));
        let config = Config::create(&db, chip, options);
        Opened { db, file, config, replaced }
    }
}

/// The options for code of a file with this text that is only looked at: where it leaves functions to a linker, those of a part to be
/// linked. The database is not asked where the text shows that it leaves none, as that of a whole file that is in the store.
pub fn looked_at(db: &Database, file: SourceFile, text: &str, options: &Options) -> Options {
    let mut options = options.clone();
    let open = || text.contains(".extern") && oriole_queries::leaves_open(db, file);
    if options.linking == Linking::Whole && open() {
        options.linking = Linking::Relocatable;
    }
    options
}
