//! The options of a command line, and how many threads a command may use.
//!
//! It is here so that every command reads chip and options in the same way. Nothing is compiled or printed here.

use crate::arguments::{Linked, Target, Tuning};
use crate::names;
use oriole::program::Opened;
use oriole_chip::{Chip, ChipError};
use oriole_diagnostics::Code;
use oriole_explore::Compiled;
use oriole_options::{DebugOptions, KnobError, Linking, Options};
use oriole_shared_store::SigningKeyError;
use std::path::PathBuf;

/// An argument that is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ArgumentError {
    /// `--arch` names a chip without known encodings.
    #[error("[{}] --arch: {}", Code::NoEncoding, ChipError::NoEncoding(*.0))]
    NoEncoding(Chip),
    /// `--arch` names no chip that can be compiled for.
    #[error("--arch: {0}")]
    Chip(ChipError),
    /// A knob or switch.
    #[error(transparent)]
    Option(#[from] KnobError),
    /// `--knob` without a value.
    #[error("--knob: `{0}` is not of the form NAME=VALUE")]
    Knob(String),
    /// `--cache` without a folder.
    #[error("--cache: there is no user's cache folder here: give --cache-dir")]
    NoCacheFolder,
    /// `--cache-signing-key` with a file that cannot be read.
    #[error("--cache-signing-key: {}: {error}", path.display())]
    SigningKeyFile {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// `--cache-signing-key` with a file that holds no key.
    #[error("--cache-signing-key: {}: {error}", path.display())]
    SigningKey {
        /// The file.
        path: PathBuf,
        /// Why.
        error: SigningKeyError,
    },
}

impl From<ChipError> for ArgumentError {
    fn from(error: ChipError) -> ArgumentError {
        match error {
            ChipError::NoEncoding(chip) => ArgumentError::NoEncoding(chip),
            error => ArgumentError::Chip(error),
        }
    }
}

/// Chip and options of a command line; no chip if the file's `.target` names it.
///
/// # Errors
/// The argument that is wrong.
pub fn options(target: &Target) -> Result<(Option<Chip>, Options), ArgumentError> {
    let chip = target.arch.as_deref().map(Chip::choose_supported).transpose()?;
    Ok((chip, tuned(&target.tuning)?))
}

/// Chip and options of a command that makes no code: for a chip that no table knows, the tables of another stand in.
///
/// # Errors
/// The argument that is wrong.
pub fn options_without_code(target: &Target) -> Result<(Option<Chip>, Options), ArgumentError> {
    let unknown = |name: &str| Chip::choose_any(name).ok().filter(|chip| chip.stand_in().is_some());
    match target.arch.as_deref().and_then(unknown) {
        Some(chip) => Ok((Some(chip), tuned(&target.tuning)?)),
        None => options(target),
    }
}

/// The options of a text that may be a part of a program.
#[must_use]
pub fn linked(mut options: Options, linked: Linked) -> Options {
    if linked.compile_only {
        options.linking = Linking::Relocatable;
    }
    options
}

/// The options of a command line.
///
/// # Errors
/// The argument that is wrong.
pub fn tuned(target: &Tuning) -> Result<Options, ArgumentError> {
    let mut options = Options::default();
    options.level = target.level.unwrap_or(if target.device_debug { 0 } else { options.level });
    options.debug = DebugOptions {
        lines: target.generate_line_info,
        suppressed: target.suppress_debug_info,
        full: target.device_debug,
    };
    options.set("fmad", if target.fmad { "true" } else { "false" })?;
    if let Some(limit) = target.maxrregcount {
        options.set("maxrregcount", &limit.to_string())?;
    }
    for knob in &target.knobs {
        let (name, value) = knob.split_once('=').ok_or_else(|| ArgumentError::Knob(knob.clone()))?;
        options.set(name, value)?;
    }
    for switch in target.switches.iter().filter(|switch| !switch.is_empty()) {
        options.switch_on(switch)?;
    }
    Ok(options)
}

/// An opened text, for a report.
pub fn compiled(opened: &Opened) -> Compiled<'_> {
    let &Opened { ref db, file, config, .. } = opened;
    Compiled { db, file, config, demangle: names::are_demangled() }
}

/// How many threads a command may use.
pub fn threads(jobs: Option<usize>) -> usize {
    jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |count| count.get())).max(1)
}

/// Least text (bytes) of a thread, which is 20 ms of work. Two threads take up to 6 % more CPU time than one, and
/// builds run a compile on every CPU as it is. Texts of 30 to 80 kB were done 3 to 7 ms sooner on two threads,
/// one of 174 kB 17 ms.
const TEXT_PER_THREAD: usize = 64 << 10;

/// Threads that compile a number of functions in a text of a number of bytes, unless the command line names a count. Where one is
/// enough, the number of CPUs is not asked for, which takes a dozen system calls.
pub fn threads_for(asked: Option<usize>, functions: usize, text: usize) -> usize {
    match (functions, asked, text / TEXT_PER_THREAD) {
        (0 | 1, _, _) | (_, None, 0 | 1) => 1,
        (_, None, most) => threads(None).min(most),
        (_, Some(_), _) => threads(asked),
    }
}

/// The same for an opened text.
pub fn jobs(asked: Option<usize>, session: &Opened) -> usize {
    threads_for(asked, session.functions(), session.bytes())
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
