//! One database and what a command asked of it: files opened, options read from the command line.

use crate::arguments::{Target, Tuning};
use oriole_chip::Chip;
use oriole_inputs::{Config, Database, SourceFile};
use oriole_options::Options;
use oriole_store::Cache;
use std::path::Path;
use std::sync::Arc;

/// Most bytes of a PTX file.
const LARGEST_FILE: u64 = 1 << 30;

/// Chip and options of a command line.
///
/// # Errors
/// A message that says which argument is wrong.
pub fn options(target: &Target) -> Result<(Chip, Options), String> {
    Ok((supported_chip(&target.arch)?, tuned(&target.tuning)?))
}

/// A chip that can be compiled for.
///
/// # Errors
/// A message that says what is wrong.
pub fn supported_chip(name: &str) -> Result<Chip, String> {
    let chip = name.parse::<Chip>().map_err(|error| format!("--arch: {error}"))?;
    if !chip.is_supported() {
        return Err(format!("--arch: {chip} is not supported yet: sm_90 and sm_90a are"));
    }
    Ok(chip)
}

/// The options of a command line.
///
/// # Errors
/// A message that says which argument is wrong.
pub fn tuned(target: &Tuning) -> Result<Options, String> {
    let mut options = Options::default();
    options.level = target.level;
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

/// The text of a PTX file.
///
/// # Errors
/// A message with the path: the file cannot be read, is too large, or is no text.
pub fn read_text(path: &Path) -> Result<String, String> {
    let place = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let length = std::fs::metadata(path).map_err(|error| place(&error))?.len();
    if length > LARGEST_FILE {
        return Err(place(&"the file is larger than 1 GiB"));
    }
    let bytes = std::fs::read(path).map_err(|error| place(&error))?;
    String::from_utf8(bytes).map_err(|error| {
        format!("{}:{}: [ptx::not-utf8] the file is no UTF-8 text", path.display(), line(&error))
    })
}

fn line(error: &std::string::FromUtf8Error) -> usize {
    let valid = error.utf8_error().valid_up_to();
    1 + error.as_bytes()[..valid].iter().filter(|&&byte| byte == b'\n').count()
}

/// A database with one file and one configuration.
pub struct Session {
    /// The database.
    pub db: Database,
    /// The file.
    pub file: SourceFile,
    /// The configuration.
    pub config: Config,
}

impl Session {
    /// Opens a text for a chip with options.
    pub fn new(text: &str, chip: Chip, options: &Options) -> Session {
        Session::with(Database::default(), text, chip, options)
    }

    /// The same for a command that compiles the text and is done with it.
    pub fn once(
        text: &str,
        chip: Chip,
        options: &Options,
        timed: bool,
        cache: Option<Arc<Cache>>,
    ) -> Session {
        let mut db = Database::once();
        if timed {
            db = db.timed();
        }
        if let Some(cache) = cache {
            db = db.cached(cache);
        }
        Session::with(db, text, chip, options)
    }

    fn with(db: Database, text: &str, chip: Chip, options: &Options) -> Session {
        let file = SourceFile::open(&db, text);
        let config = Config::create(&db, chip, options);
        Session { db, file, config }
    }
}

/// How many threads a command may use.
pub fn threads(jobs: Option<usize>) -> usize {
    jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |count| count.get())).max(1)
}
