//! `oriole compile` of several files: one process, one database and one store for all, and files next to each other on the
//! threads.
//!
//! Each file is read, compiled and written as if it were alone, and a file that fails keeps no other from its cubin. Messages
//! come in the order of the files.

use super::delivery::{deliver, end};
use super::question::{Answer, Question, options_of};
use crate::arguments::Compile;
use crate::crash;
use crate::files::device::{self, Asked};
use crate::files::input;
use crate::files::output::Output;
use crate::files::sources::{Sources, is_pattern};
use crate::files::{DeviceError, FileError};
use crate::messages::{self, Message};
use crate::outcome::{Outcome, failed, misused};
use crate::session::threads;
use oriole::program::{Cache, Mode, Opened, Shared};
use oriole_chip::Chip;
use oriole_options::Options;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files of a thread whose cubins wait for the first of them to be written.
const AHEAD: usize = 8;

/// Whether an argument is one file, whether or not it is there.
pub fn is_one(argument: &Path) -> bool {
    match argument.metadata() {
        Ok(facts) => !facts.is_dir(),
        Err(_) => !is_pattern(argument),
    }
}

/// A file, and the place of its cubin.
struct Job {
    input: PathBuf,
    output: PathBuf,
}

/// The options and the database of all files.
struct Batch<'a> {
    arguments: &'a Compile,
    chip: Option<Chip>,
    options: Options,
    cache: Arc<Cache>,
    shared: Shared,
}

/// A file that was compiled.
struct Done {
    text: String,
    answer: Answer,
    output: Output,
}

/// Why a file was not compiled.
enum Failure {
    File(FileError),
    Device(DeviceError),
}

/// Compiles files, folders and patterns.
pub fn several(arguments: &Compile) -> Outcome {
    if let Some(option) = about_one(arguments) {
        return misused(format!("{option} is about one file, and there are several"));
    }
    let sources = Sources::of(&arguments.inputs, false);
    let mut outcome = Outcome::Right;
    for error in &sources.errors {
        outcome = worse(outcome, error.report());
    }
    let jobs = match jobs(&sources.files, arguments.output.as_deref()) {
        Ok(jobs) => jobs,
        Err(message) => return misused(message),
    };
    let (chip, options) = match options_of(arguments) {
        Ok(read) => read,
        Err(message) => return misused(message),
    };
    let cache = match arguments.cache.session() {
        Ok(cache) => cache,
        Err(message) => return misused(message),
    };
    if let Some(folder) = &arguments.output
        && let Err(error) = std::fs::create_dir_all(folder)
    {
        return failed(format!("{}: {error}", folder.display()));
    }
    let shared = Shared::with(cache.clone());
    let batch = Batch { arguments, chip, options, cache, shared };
    let threads = threads(arguments.jobs);
    let pool = match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool,
        Err(error) => return failed(error),
    };
    for some in jobs.chunks(threads * AHEAD) {
        let answers: Vec<Result<Done, Failure>> =
            pool.install(|| some.par_iter().map(|job| batch.compile(job)).collect());
        for (job, answer) in some.iter().zip(answers) {
            outcome = worse(outcome, give(&job.input, answer));
        }
    }
    end(&batch.cache, arguments.verbose && arguments.cache.cache != Mode::Off);
    outcome
}

/// An option that means nothing for several files.
fn about_one(arguments: &Compile) -> Option<&'static str> {
    let virtual_chip = arguments.target.arch.as_deref().is_some_and(|arch| arch.starts_with("compute_"));
    let standard = |path: &PathBuf| input::is_standard(path);
    [
        (arguments.json, "--json"),
        (arguments.tune_for.is_some(), "--tune-for"),
        (virtual_chip, "--arch compute_..."),
        (arguments.inputs.iter().any(standard) || arguments.output.as_ref().is_some_and(standard), "`-`"),
    ]
    .into_iter()
    .find_map(|(is_there, option)| is_there.then_some(option))
}

/// The files with the places of their cubins.
///
/// # Errors
/// Two of them would have one place.
fn jobs(inputs: &[PathBuf], folder: Option<&Path>) -> Result<Vec<Job>, String> {
    let mut taken: HashMap<PathBuf, &PathBuf> = HashMap::new();
    let mut jobs = Vec::with_capacity(inputs.len());
    for input in inputs {
        let output = match folder {
            Some(folder) => folder.join(input.file_name().unwrap_or_default()),
            None => input.clone(),
        };
        let output = output.with_extension("cubin");
        if let Some(other) = taken.insert(output.clone(), input) {
            return Err(format!(
                "{} and {} would both be compiled to {}",
                other.display(),
                input.display(),
                output.display()
            ));
        }
        jobs.push(Job { input: input.clone(), output });
    }
    Ok(jobs)
}

impl Batch<'_> {
    fn compile(&self, job: &Job) -> Result<Done, Failure> {
        let output = Output::new(&job.output, &job.input).map_err(Failure::File)?;
        let asked = Asked::of(&self.arguments.target.arch, &self.arguments.which.image);
        let text = device::text(&job.input, asked).map_err(Failure::Device)?;
        let shown = input::shown(&job.input);
        let question = Question::new(self.arguments, &text, &shown);
        let session = if question.keeps_stages() {
            // A report needs what the shared database drops.
            Opened::stored(&text, self.chip, &self.options, true, Some(self.cache.clone()))
        } else {
            self.shared.open(&text, self.chip, &self.options)
        };
        // The other threads have files of their own.
        let answer = question.answer(&session, |session| session.compile(1));
        drop(session);
        Ok(Done { text, answer, output })
    }
}

/// Prints and writes what became of a file.
fn give(input: &Path, done: Result<Done, Failure>) -> Outcome {
    match done {
        Ok(Done { text, answer, output }) => {
            messages::give(Message::of(&input::shown(input), &text, &answer.diagnostics));
            if let Some(error) = &answer.internal {
                crash::leave(error, &[(&input::shown(input), &text)]);
            }
            deliver(answer, &output)
        }
        Err(Failure::File(error)) => failed(error),
        Err(Failure::Device(error)) => error.report(),
    }
}

/// The outcome of both: one file that fails fails the command.
fn worse(one: Outcome, other: Outcome) -> Outcome {
    if one == Outcome::Right { other } else { one }
}
