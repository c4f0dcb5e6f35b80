//! One database and what a command asked of it: files opened, options read from the command line.

use crate::arguments::{Target, Tuning};
use oriole_chip::{Chip, NameError};
use oriole_diagnostics::{Code, Diagnostic};
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::{DebugOptions, Linking, Options};
use oriole_store::Cache;
use std::sync::Arc;

/// Chip and options of a command line; no chip if the file's `.target` is to say it.
///
/// # Errors
/// A message that says which argument is wrong.
pub fn options(target: &Target) -> Result<(Option<Chip>, Options), String> {
    let chip = target.arch.as_deref().map(supported_chip).transpose()?;
    Ok((chip, tuned(&target.tuning)?))
}

/// Chip and options of a command that makes no code: for a chip that no table knows, the tables of another stand in.
///
/// # Errors
/// A message that says which argument is wrong.
pub fn options_without_code(target: &Target) -> Result<(Option<Chip>, Options), String> {
    let unknown = |name: &str| any_chip(name).ok().filter(|chip| chip.stand_in().is_some());
    match target.arch.as_deref().and_then(unknown) {
        Some(chip) => Ok((Some(chip), tuned(&target.tuning)?)),
        None => options(target),
    }
}

/// The chip of a name; of one that no table knows, with the tables of the chip that stands in.
///
/// # Errors
/// A message that says what is wrong.
pub fn any_chip(name: &str) -> Result<Chip, String> {
    Chip::or_stand_in(name).map_err(|error| match error {
        NameError::Shape(_) => format!("--arch: {error}"),
        NameError::Unknown(_) | NameError::Old(_) => {
            format!("--arch: {error}; {} can be compiled for", supported())
        }
    })
}

/// The chips that can be compiled for, for a message.
fn supported() -> String {
    let chips = Chip::all().into_iter().filter(|chip| chip.is_supported());
    chips.map(|chip| chip.to_string()).collect::<Vec<_>>().join(", ")
}

/// A chip that has tables of its own.
///
/// # Errors
/// A message that says what is wrong.
pub fn known_chip(name: &str) -> Result<Chip, String> {
    let chip = any_chip(name)?;
    match chip.stand_in() {
        None => Ok(chip),
        Some(_) => {
            Err(format!("[{}] --arch: the instruction encodings are unknown for {chip}", Code::NoEncoding))
        }
    }
}

/// A chip that can be compiled for.
///
/// # Errors
/// A message that says what is wrong.
pub fn supported_chip(name: &str) -> Result<Chip, String> {
    let chip = known_chip(name)?;
    if !chip.is_supported() {
        return Err(format!("--arch: {chip} is not supported yet: {} are", supported()));
    }
    Ok(chip)
}

/// The options of a command line.
///
/// # Errors
/// A message that says which argument is wrong.
pub fn tuned(target: &Tuning) -> Result<Options, String> {
    let mut options = Options::default();
    options.level = target.level.unwrap_or(if target.device_debug { 0 } else { options.level });
    options.debug = DebugOptions {
        lines: target.generate_line_info,
        suppressed: target.suppress_debug_info,
        full: target.device_debug,
    };
    options.set("fmad", if target.fmad { "true" } else { "false" }).map_err(|error| error.to_string())?;
    if let Some(limit) = target.maxrregcount {
        options.set("maxrregcount", &limit.to_string()).map_err(|error| error.to_string())?;
    }
    for knob in &target.knobs {
        let (name, value) =
            knob.split_once('=').ok_or_else(|| format!("--knob: `{knob}` is not of the form NAME=VALUE"))?;
        options.set(name, value).map_err(|error| error.to_string())?;
    }
    for switch in target.switches.iter().filter(|switch| !switch.is_empty()) {
        options.switch_on(switch).map_err(|error| error.to_string())?;
    }
    Ok(options)
}

/// A database with one file and one configuration.
pub struct Session {
    /// The database.
    pub db: Database,
    /// The file.
    pub file: SourceFile,
    /// The configuration.
    pub config: Config,
    /// What is to be told of the chip that was chosen, where nobody asked for one.
    pub replaced: Option<Diagnostic>,
}

impl Session {
    /// Opens a text for a chip, by default the one that it asks for, with options, for a command that compiles it and is done with
    /// it; what inner stages give is kept if asked.
    pub fn once(
        text: &str,
        chip: Option<Chip>,
        options: &Options,
        keep: bool,
        cache: Option<Arc<Cache>>,
    ) -> Session {
        let mut db = if keep { Database::default() } else { Database::once() };
        if let Some(cache) = cache {
            db = db.cached(cache);
        }
        Session::with(db, text, chip, options)
    }

    /// Opens a text to look at it, not to make a program of it: where it leaves functions to a linker, as a part to be linked.
    pub fn looking(text: &str, chip: Option<Chip>, options: &Options) -> Session {
        let db = Database::default();
        let file = SourceFile::open(&db, text);
        let options = looked_at(&db, file, text, options);
        Session::of(db, file, chip, &options)
    }

    fn with(db: Database, text: &str, chip: Option<Chip>, options: &Options) -> Session {
        let file = SourceFile::open(&db, text);
        Session::of(db, file, chip, options)
    }

    fn of(db: Database, file: SourceFile, chip: Option<Chip>, options: &Options) -> Session {
        let replaced = if chip.is_none() { oriole_queries::replaced_target(&db, file) } else { None };
        let chip = chip.unwrap_or_else(|| oriole_queries::target_chip(&db, file));
        let config = Config::create(&db, chip, options);
        Session { db, file, config, replaced }
    }
}

/// The options for code of a file with this text that is only looked at: where it leaves functions to a linker, those of a part to be
/// linked. Nothing is asked of the database where the text says that it cannot, as that of a file that is known as a whole.
pub fn looked_at(db: &Database, file: SourceFile, text: &str, options: &Options) -> Options {
    let mut options = options.clone();
    let open = || text.contains(".extern") && oriole_queries::leaves_open(db, file);
    if options.linking == Linking::Whole && open() {
        options.linking = Linking::Relocatable;
    }
    options
}

/// How many threads a command may use.
pub fn threads(jobs: Option<usize>) -> usize {
    jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |count| count.get())).max(1)
}

/// So much text (bytes) there is for each thread at least, which is 20 ms of work. Two threads take up to 6 % more processor time
/// than one, and builds run a compile on every processor as it is. Texts of 30 to 80 kB were done 3 to 7 ms sooner on two threads,
/// one of 174 kB 17 ms.
const TEXT_PER_THREAD: usize = 64 << 10;

/// How many threads compile so many functions in a text of so many bytes, unless somebody asked for a number. Where one is
/// enough, the number of processors is not even asked for, which takes a dozen system calls.
pub fn threads_for(asked: Option<usize>, functions: usize, text: usize) -> usize {
    match (functions, asked, text / TEXT_PER_THREAD) {
        (0 | 1, _, _) | (_, None, 0 | 1) => 1,
        (_, None, most) => threads(None).min(most),
        (_, Some(_), _) => threads(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::{TEXT_PER_THREAD, threads, threads_for};

    #[test]
    fn a_thread_more_for_each_share_of_the_text() {
        let all = threads(None);
        for (asked, functions, shares, expected) in [
            (None, 9, 1, 1),
            (None, 9, 2, 2.min(all)),
            (None, 1, 99, 1),
            (Some(3), 9, 0, 3),
            (Some(3), 1, 9, 1),
        ] {
            assert_eq!(threads_for(asked, functions, shares * TEXT_PER_THREAD), expected);
        }
        assert_eq!(threads_for(None, 9, 2 * TEXT_PER_THREAD - 1), 1);
    }
}
