//! `oriole compile`.

mod delivery;
pub mod question;
mod several;

use crate::arguments::Compile;
use crate::crash;
use crate::files::device::{self, Asked};
use crate::files::input::shown;
use crate::files::output::Output;
use crate::messages::{self, Message};
use crate::names;
use crate::outcome::{Outcome, failed, misused};
use crate::progress;
use crate::render;
use crate::resident;
use crate::session::{ArgumentError, jobs};
use crate::tune;
use delivery::{deliver, end};
use oriole::program::{Cache, Opened, Progress};
use oriole_chip::Chip;
use oriole_diagnostics::Diagnostic;
use oriole_options::Options;
use question::{Answer, Question, options_of};
use std::path::Path;
use std::sync::Arc;

/// Runs `oriole compile`.
pub fn compile(arguments: &Compile) -> Outcome {
    match &arguments.inputs[..] {
        [input] if several::is_one(input) && !has_folder(arguments) => one(arguments, input),
        _ => several::several(arguments),
    }
}

/// Whether the output is written as a folder, with `/` at its end: cubins go into it, also that of a single file.
fn has_folder(arguments: &Compile) -> bool {
    arguments.output.as_deref().is_some_and(|path| path.as_os_str().as_encoded_bytes().ends_with(b"/"))
}

/// Compiles one file.
fn one(arguments: &Compile, input: &Path) -> Outcome {
    if let Some(number) = arguments.target.arch.as_deref().and_then(|arch| arch.strip_prefix("compute_")) {
        if arguments.json {
            return misused("a virtual chip has no code that --json could tell of");
        }
        return parse_only(arguments, input, number);
    }
    let (chip, options) = match options_of(arguments) {
        Ok(read) => read,
        Err(message) => return misused(message),
    };
    if arguments.json && arguments.output.as_deref() == Some(Path::new("-")) {
        return misused("--json and the cubin both go to standard output; name a file with -o");
    }
    let cache = match arguments.cache.open() {
        Ok(cache) => cache,
        Err(message) => return misused(message),
    };
    let output = match &arguments.output {
        Some(path) => Output::new(path, input),
        None => Output::beside(input),
    };
    let output = match output {
        Ok(output) => output,
        Err(message) => return failed(message),
    };
    let asked = Asked::of(&arguments.target.arch, &arguments.which.image);
    let text = match device::text(input, asked) {
        Ok(text) => text,
        Err(error) => return error.report(),
    };
    let (options, notes) = match tune::tuned(arguments, &text, chip, &options) {
        Ok(tuned) => tuned,
        Err(message) => return failed(message),
    };
    if !arguments.json {
        notes.iter().for_each(|note| eprintln!("{}", names::explained(note)));
    }
    let shown = shown(input);
    let question = Question::new(arguments, &text, &shown);
    let answer = resident::compiled(arguments, &question)
        .unwrap_or_else(|| answered_here(&question, chip, &options, cache.as_ref()));
    messages::give(Message::of(&shown, &text, &answer.diagnostics));
    if let Some(error) = &answer.internal {
        crash::leave(error, &[(&shown, &text)]);
    }
    let outcome = deliver(answer, &output);
    if let Some(cache) = cache.filter(|_| outcome == Outcome::Right) {
        end(&cache, arguments.verbose);
    }
    outcome
}

/// Answers a question in this process.
fn answered_here(
    question: &Question<'_>,
    chip: Option<Chip>,
    options: &Options,
    cache: Option<&Arc<Cache>>,
) -> Answer {
    let session = Opened::stored(question.text, chip, options, question.keeps_stages(), cache.cloned());
    let jobs = jobs(question.jobs, &session);
    let answer = question.answer(&session, |session| {
        let compile = |progress: &Progress| session.compile_watched(jobs, progress);
        // A program that reads JSON wants nothing else, wherever it is.
        if question.json {
            compile(&Progress::default())
        } else {
            progress::watched(question.text.len(), compile)
        }
    });
    // The process ends soon, and its memory with it: nothing is gained by giving back each piece.
    std::mem::forget(session);
    answer
}

/// A virtual chip is nothing to compile for: the file is checked as far as the language goes, and nothing is written.
fn parse_only(arguments: &Compile, input: &Path, number: &str) -> Outcome {
    let chip = match Chip::choose_known(&format!("sm_{number}")) {
        Ok(chip) => chip,
        Err(error) => return misused(ArgumentError::from(error)),
    };
    let text = match device::text(input, Asked::of(&arguments.target.arch, &arguments.which.image)) {
        Ok(text) => text,
        Err(error) => return error.report(),
    };
    let session = Opened::looking(&text, Some(chip), &Options::default());
    let diagnostics = session.diagnostics_for_chip();
    render::to_terminal(&shown(input), &text, &diagnostics);
    verdict(&diagnostics)
}

fn verdict(diagnostics: &[Diagnostic]) -> Outcome {
    if diagnostics.iter().any(Diagnostic::is_error) { Outcome::Failed } else { Outcome::Right }
}
