//! `oriole compile`.

pub mod question;

use crate::arguments::Compile;
use crate::cache;
use crate::files::device::{self, Asked};
use crate::files::input;
use crate::files::output::Output;
use crate::messages::{self, Message};
use crate::names;
use crate::outcome::{Outcome, failed, misused, print};
use crate::progress;
use crate::render;
use crate::resident;
use crate::session::{ArgumentError, jobs};
use crate::tune;
use oriole::program::{Cache, Opened, Progress};
use oriole_chip::Chip;
use oriole_diagnostics::Diagnostic;
use oriole_options::Options;
use question::{Answer, Question, asked_options};
use std::path::Path;
use std::sync::Arc;

/// Runs `oriole compile`.
pub fn compile(arguments: &Compile) -> Outcome {
    if let Some(number) = arguments.target.arch.as_deref().and_then(|arch| arch.strip_prefix("compute_")) {
        if arguments.json {
            return misused("a virtual chip has no code that --json could tell of");
        }
        return parse_only(arguments, number);
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
        Some(path) => Output::new(path, &arguments.input),
        None => Output::beside(&arguments.input),
    };
    let output = match output {
        Ok(output) => output,
        Err(message) => return failed(message),
    };
    let asked = Asked::of(&arguments.target.arch, &arguments.which.image);
    let text = match device::text(&arguments.input, asked) {
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
    let shown = input::shown(&arguments.input);
    let question = Question::new(arguments, &text, &shown);
    let answer = resident::compiled(arguments, &question)
        .unwrap_or_else(|| answered_here(&question, chip, &options, cache.as_ref()));
    messages::give(Message::of(&shown, &text, &answer.diagnostics));
    deliver(answer, &output, cache.as_deref())
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

/// Prints and writes an answer.
fn deliver(answer: Answer, output: &Output, cache: Option<&Cache>) -> Outcome {
    if !answer.told.is_empty() {
        eprint!("{}", answer.told);
    }
    let printed = |document: Option<String>| {
        if let Some(document) = document {
            print(&document);
        }
    };
    let Some(cubin) = answer.cubin else {
        printed(answer.document);
        return Outcome::Failed;
    };
    if let Err(message) = output.write(&cubin) {
        return failed(message);
    }
    printed(answer.document);
    if let Some(report) = answer.report {
        eprint!("{report}");
        if let Some(cache) = cache {
            eprintln!("{}", cache::summary(cache));
        }
    }
    if let Some(cache) = cache {
        cache.finish();
    }
    Outcome::Right
}

/// Chip and options of a command line. What is for the search of level 4, other levels do not take.
fn options_of(arguments: &Compile) -> Result<(Option<Chip>, Options), String> {
    let &Compile { ref target, compile_only, extensible_whole_program, search_trials, .. } = arguments;
    let (chip, options) = asked_options(target, compile_only, extensible_whole_program, search_trials)?;
    let said = [("--search-trials", search_trials.is_some()), ("--tune-for", arguments.tune_for.is_some())];
    match said.iter().find(|said| said.1 && options.level < Options::HIGHEST_LEVEL) {
        Some((option, _)) => {
            Err(format!("{option} is for -O4, and this is a compile at -O{}", options.level))
        }
        None => Ok((chip, options)),
    }
}

/// A virtual chip is nothing to compile for: the file is checked as far as the language goes, and nothing is written.
fn parse_only(arguments: &Compile, number: &str) -> Outcome {
    let chip = match Chip::choose_known(&format!("sm_{number}")) {
        Ok(chip) => chip,
        Err(error) => return misused(ArgumentError::from(error)),
    };
    let text = match device::text(&arguments.input, Asked::of(&arguments.target.arch, &arguments.which.image))
    {
        Ok(text) => text,
        Err(error) => return error.report(),
    };
    let session = Opened::looking(&text, Some(chip), &Options::default());
    let diagnostics = session.diagnostics_for_chip();
    render::to_terminal(&input::shown(&arguments.input), &text, &diagnostics);
    verdict(&diagnostics)
}

fn verdict(diagnostics: &[Diagnostic]) -> Outcome {
    if diagnostics.iter().any(Diagnostic::is_error) { Outcome::Failed } else { Outcome::Right }
}
