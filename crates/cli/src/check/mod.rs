//! `oriole check`: the diagnostics of files, and their fixes.
//!
//! Files are read in order and checked side by side; what is said about them comes in order again. A file is written whole or not at
//! all. No rule of the language is here.

mod fix;
mod tally;

use crate::arguments::Check;
use crate::files::DeviceError;
use crate::files::device::{self, Asked};
use crate::files::output::Output;
use crate::files::sources::{SourceError, Sources};
use crate::files::{difference, input};
use crate::messages::{self, Message, MessageFormat, Region, Replacement};
use crate::outcome::{Outcome, failed, misused, print};
use crate::render;
use crate::session::{ArgumentError, jobs, linked, threads};
use fix::Fixed;
use oriole::program::{Lacking, Opened};
use oriole_chip::Chip;
use oriole_diagnostics::{Code, Diagnostic, LineIndex, Severity, Span, counted};
use oriole_options::Options;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use tally::Tally;

/// Files that are in memory at a time, for each thread.
const BATCH: usize = 8;

/// Stack of a thread in bytes: as much as the main thread has.
const STACK: usize = 8 << 20;

/// How files are checked.
struct Checker<'a> {
    arguments: &'a Check,
    chip: Option<Chip>,
    options: Options,
    /// Threads that compile one file.
    threads: usize,
}

/// A file that was checked.
struct Checked {
    /// The text that the diagnostics are about.
    text: String,
    /// The text as it was, if fixes changed it.
    before: Option<String>,
    found: Vec<Found>,
    fixed: usize,
    /// The chip, if it was compiled.
    compiled: Option<(Chip, usize, usize)>,
}

/// A diagnostic with more about it.
struct Found {
    diagnostic: Diagnostic,
    /// The forms that it stands for.
    lacking: Option<Lacking>,
    fixes: Vec<messages::Fix>,
}

/// Runs `oriole check`.
pub fn check(arguments: &Check) -> Outcome {
    let chip = match arguments.arch.as_deref().map(Chip::choose_any).transpose() {
        Ok(chip) => chip,
        Err(error) => return misused(ArgumentError::from(error)),
    };
    let sources = Sources::of(&arguments.inputs, arguments.which.image.is_some());
    if let Some(error) = sources.errors.iter().find(|error| matches!(error, SourceError::Pattern { .. })) {
        return error.report();
    }
    let reads_standard = sources.files.iter().any(|path| input::is_standard(path));
    let is_for_people = matches!(messages::format(), MessageFormat::Human | MessageFormat::Short);
    if (arguments.fix && reads_standard || arguments.diff) && !is_for_people {
        return misused("the result of --fix and --diff and the messages both go to standard output");
    }
    let options = linked(Options::default(), arguments.linked);
    let threads = threads(arguments.jobs);
    let alone = sources.files.len() <= 1;
    let checker = Checker { arguments, chip, options, threads: if alone { threads } else { 1 } };
    let mut said = Said { checker: &checker, tally: Tally::default(), outcome: Outcome::Right };
    for error in &sources.errors {
        said.fail(error.report());
    }
    match checked_files(&sources.files, &checker, threads, &mut said) {
        Ok(()) => said.end(),
        Err(message) => failed(message),
    }
}

/// Checks files, some at a time.
fn checked_files(
    files: &[PathBuf],
    checker: &Checker<'_>,
    threads: usize,
    said: &mut Said<'_>,
) -> Result<(), rayon::ThreadPoolBuildError> {
    let text = |path: &PathBuf| {
        device::text(path, Asked::of(&checker.arguments.arch, &checker.arguments.which.image))
    };
    if let [path] = files {
        said.file(path, text(path).map(|text| checker.check(text)));
        return Ok(());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build()?;
    for batch in files.chunks(BATCH * threads) {
        // Messages of reading come in order.
        let texts: Vec<_> = batch.iter().map(text).collect();
        let checked: Vec<_> =
            pool.install(|| texts.into_par_iter().map(|text| text.map(|text| checker.check(text))).collect());
        batch.iter().zip(checked).for_each(|(path, checked)| said.file(path, checked));
    }
    Ok(())
}

impl Checker<'_> {
    /// The diagnostics of a text; a function for a linker to find is none if the text is to be linked.
    fn diagnostics(&self, text: &str) -> Vec<Diagnostic> {
        let session = Opened::looking(text, self.chip, &self.options);
        let mut found = match (self.chip, self.arguments.linked.compile_only) {
            (None, false) => session.diagnostics(),
            (None, true) => {
                let mut found = session.diagnostics_for_chip();
                // No chip is asked for.
                found.retain(|diagnostic| diagnostic.code != Code::TargetMismatch);
                found
            }
            (Some(_), _) => {
                let mut found = session.diagnostics_for_chip();
                found.extend(session.stand_in());
                found
            }
        };
        self.drop_linked(&mut found);
        found
    }

    fn drop_linked(&self, found: &mut Vec<Diagnostic>) {
        if self.arguments.linked.compile_only {
            found.retain(|diagnostic| diagnostic.code != Code::UnresolvedExternal);
        }
    }

    fn check(&self, before: String) -> Checked {
        let mends = self.arguments.fix || self.arguments.diff;
        let (text, mut found, fixed, before) = if mends {
            let check = |text: &str| self.diagnostics(text);
            let Fixed { text, left, count } = fix::fixed(before.clone(), self.arguments.unsafe_fixes, &check);
            let before = (text != before).then_some(before);
            (text, left, count, before)
        } else if self.arguments.for_codegen {
            (before, Vec::new(), 0, None)
        } else {
            let found = self.diagnostics(&before);
            (before, found, 0, None)
        };
        let (mut lacking, mut compiled) = (Vec::new(), None);
        if self.arguments.for_codegen {
            let session = Opened::looking(&text, self.chip, &self.options);
            (found, lacking) = session.lacking(jobs(Some(self.threads), &session));
            self.drop_linked(&mut found);
            let places: u32 = lacking.iter().map(|lacking| lacking.places).sum();
            compiled = Some((session.chip(), lacking.len(), places as usize));
        }
        let offered = if found.is_empty() { Vec::new() } else { fix::fixes(&text) };
        let lines = LineIndex::new(&text);
        let edit = |edit: &oriole_ide::Edit| {
            let span = Span::between(edit.range.start, edit.range.end);
            Replacement { span, region: Region::of(&text, &lines, span), text: edit.text.clone() }
        };
        let one = |diagnostic: Diagnostic| {
            let fixes = fix::of(&offered, &diagnostic).map(|fix| messages::Fix {
                title: fix.title.clone(),
                safe: fix.safe,
                edits: fix.edits.iter().map(edit).collect(),
            });
            Found { fixes: fixes.collect(), diagnostic, lacking: None }
        };
        let mut found: Vec<Found> = found.into_iter().map(one).collect();
        found.extend(lacking.into_iter().map(|lacking| Found {
            diagnostic: with_count(&lacking),
            fixes: Vec::new(),
            lacking: Some(lacking),
        }));
        if self.arguments.deny_warnings {
            for found in found.iter_mut().filter(|found| found.diagnostic.severity == Severity::Warning) {
                found.diagnostic.severity = Severity::Error;
            }
        }
        Checked { text, before, found, fixed, compiled }
    }
}

/// The first place of a form that cannot be compiled, with the count of all.
fn with_count(lacking: &Lacking) -> Diagnostic {
    let within = lacking.function.as_deref().filter(|_| lacking.functions > 0);
    let first = lacking.first.clone();
    match within {
        Some(function) if lacking.places > 1 => first.with_help(format!(
            "in {} of {}; this one is in `{function}`",
            counted(lacking.places as usize, "place"),
            counted(lacking.functions as usize, "function"),
        )),
        _ => first,
    }
}

/// The output of the command.
struct Said<'a> {
    checker: &'a Checker<'a>,
    tally: Tally,
    outcome: Outcome,
}

impl Said<'_> {
    /// Notes that an input could not be read.
    fn fail(&mut self, outcome: Outcome) {
        self.tally.unread += 1;
        self.worsen(outcome);
    }

    fn worsen(&mut self, outcome: Outcome) {
        if self.outcome != Outcome::Misused && outcome != Outcome::Right {
            self.outcome = outcome;
        }
    }

    fn file(&mut self, path: &Path, checked: Result<Checked, DeviceError>) {
        let checked = match checked {
            Ok(checked) => checked,
            Err(error) => return self.fail(error.report()),
        };
        let shown = input::shown(path);
        self.tally.files += 1;
        if self.checker.arguments.fix && input::is_standard(path) {
            print(&checked.text);
        }
        if let Some(before) = &checked.before {
            self.change(path, &shown, before, &checked.text);
            self.tally.fixed += checked.fixed;
            self.tally.changed += 1;
        }
        let is_faulty = |found: &Found| found.diagnostic.severity != Severity::Note;
        self.tally.faulty += usize::from(checked.found.iter().any(is_faulty));
        let mut visible = Vec::new();
        for found in &checked.found {
            let severity = found.diagnostic.severity;
            self.tally.add(severity);
            self.tally.fixable += usize::from(found.fixes.iter().any(|fix| fix.safe));
            let most = self.checker.arguments.max_errors;
            let is_full = most > 0 && self.tally.shown >= most;
            if !is_full {
                self.tally.shown += usize::from(severity == Severity::Error);
                visible.push(found);
            }
        }
        show(&shown, &checked.text, &visible);
        if let Some((chip, count, places)) = checked.compiled.filter(|compiled| compiled.1 > 0)
            && messages::format() == MessageFormat::Human
        {
            eprintln!(
                "{shown}: {} cannot be compiled for {chip}, in {}",
                counted(count, "thing"),
                counted(places, "place")
            );
        }
    }

    /// Writes a text that was fixed, or shows the difference.
    fn change(&mut self, path: &Path, shown: &str, before: &str, after: &str) {
        if self.checker.arguments.diff {
            print(&difference::of_texts(shown, before, after));
            self.worsen(Outcome::Failed);
        } else if !input::is_standard(path)
            && let Err(message) = replaced(path, before, after)
        {
            self.worsen(failed(message));
        }
    }

    fn end(mut self) -> Outcome {
        let arguments = self.checker.arguments;
        let is_for_people = matches!(messages::format(), MessageFormat::Human | MessageFormat::Short);
        if is_for_people && self.tally.is_told() {
            let writes = (arguments.fix || arguments.diff).then_some(arguments.fix);
            eprintln!("{}", self.tally.summary(writes));
        }
        if self.tally.errors > 0 {
            self.worsen(Outcome::Failed);
        }
        self.outcome
    }
}

/// Puts a text in the place of the one that it was made from.
///
/// # Errors
/// The file is not text of its own, has changed, or cannot be written.
pub fn replaced(path: &Path, before: &str, after: &str) -> Result<(), String> {
    let there = input::bytes(path).map_err(|error| error.to_string())?;
    if there != before.as_bytes() {
        let shown = input::shown(path);
        return Err(format!(
            "{shown}: only files that are PTX as they are can be changed, and while nothing else changes them"
        ));
    }
    Output::anywhere(path)
        .and_then(|output| output.write(after.as_bytes()))
        .map_err(|error| error.to_string())
}

/// Prints diagnostics of a file in the format of the command line.
fn show(shown: &str, text: &str, found: &[&Found]) {
    if messages::format() == MessageFormat::Human {
        let diagnostics: Vec<Diagnostic> = found.iter().map(|found| found.diagnostic.clone()).collect();
        render::to_terminal(shown, text, &diagnostics);
        return;
    }
    let of = |diagnostics: Vec<Diagnostic>| Message::of(shown, text, &diagnostics);
    let mut all = of(found.iter().map(|found| found.diagnostic.clone()).collect());
    let lacking = || found.iter().filter_map(|found| found.lacking.as_ref());
    // The fields of the form itself, and the count in fields of its own.
    let mut firsts = of(lacking().map(|lacking| lacking.first.clone()).collect()).into_iter();
    for (found, message) in found.iter().zip(&mut all) {
        message.fixes.clone_from(&found.fixes);
        if let Some(lacking) = &found.lacking {
            message.fields = firsts.next().map(|first| first.fields).unwrap_or_default();
            message.put("places", lacking.places);
            message.put("functions", lacking.functions);
            message.put("function", lacking.function.as_deref());
        }
    }
    messages::give(all);
}
