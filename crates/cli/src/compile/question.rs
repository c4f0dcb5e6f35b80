//! A compile as a question: the text and what is asked of it, apart from files and streams; and the answer, all that the
//! command prints and writes.
//!
//! It is here so that the process that was asked and the resident compiler answer by the same function. No file is read or
//! written here, and nothing is printed.

use crate::arguments::{Compile, Target};
use crate::hazards;
use crate::messages::{self, MessageFormat};
use crate::render;
use crate::session::{self, options};
use oriole::Style;
use oriole::program::{Compiled, Opened};
use oriole_chip::Chip;
use oriole_diagnostics::{Code, Diagnostic};
use oriole_explore::{resource_document, resource_report};
use oriole_options::{Linking, Options};
use serde::{Deserialize, Serialize};

/// A text, and all that is asked of it.
#[derive(Serialize, Deserialize)]
pub struct Question<'a> {
    /// The text.
    pub text: &'a str,
    /// How messages name it.
    pub shown: &'a str,
    /// Chip and options.
    pub target: Target,
    /// Make a relocatable object.
    pub compile_only: bool,
    /// Make a whole program that a linker completes.
    pub extensible: bool,
    /// The number of trials of `-O4`.
    pub search_trials: Option<u32>,
    /// The number of threads.
    pub jobs: Option<usize>,
    /// The report of resources is wanted.
    pub verbose: bool,
    /// The JSON document is wanted.
    pub json: bool,
    /// The code is to be checked for hazards.
    pub check: bool,
    /// Diagnostics are wanted with excerpts, for people.
    pub excerpts: bool,
    /// These are coloured.
    pub styled: bool,
}

/// The result of a compile, for streams and files.
#[derive(Serialize, Deserialize)]
pub struct Answer {
    /// Diagnostics for people, if they are wanted so.
    pub told: String,
    /// Diagnostics that are wanted otherwise, which no other process is asked for.
    #[serde(skip)]
    pub diagnostics: Vec<Diagnostic>,
    /// The container, unless there are errors. In messages it follows the rest.
    #[serde(skip)]
    pub cubin: Option<Vec<u8>>,
    /// The report of resources, if it is wanted.
    pub report: Option<String>,
    /// The JSON document, if it is wanted.
    pub document: Option<String>,
    /// The message of an error of the compiler itself.
    pub internal: Option<String>,
}

impl<'a> Question<'a> {
    /// The question of a command line, about a text.
    pub fn new(arguments: &Compile, text: &'a str, shown: &'a str) -> Question<'a> {
        Question {
            text,
            shown,
            target: arguments.target.clone(),
            compile_only: arguments.compile_only,
            extensible: arguments.extensible_whole_program,
            search_trials: arguments.search_trials,
            jobs: arguments.jobs,
            verbose: arguments.verbose,
            json: arguments.json,
            check: arguments.check,
            excerpts: !arguments.json && messages::format() == MessageFormat::Human,
            styled: render::style() == Style::Coloured,
        }
    }

    /// Whether diagnostics are wanted in another form than excerpts and the document.
    pub fn is_for_programs(&self) -> bool {
        !self.excerpts && !self.json
    }

    /// Whether results are needed that a compile would drop otherwise.
    pub fn keeps_stages(&self) -> bool {
        self.verbose || self.json
    }

    /// The answer from a text that is open; `compile` compiles it.
    pub fn answer(&self, session: &Opened, compile: impl FnOnce(&Opened) -> Compiled) -> Answer {
        let mut compiled = compile(session);
        if let Some(cubin) = compiled.cubin.as_deref().filter(|_| self.check) {
            let found = hazards::diagnostics(session, self.text, cubin);
            if !found.is_empty() {
                compiled.cubin = None;
                compiled.diagnostics.extend(found);
            }
        }
        let cubin = compiled.cubin.as_deref();
        let style = if self.styled { Style::Coloured } else { Style::Plain };
        let document = || {
            let diagnostics = render::json(self.shown, self.text, &compiled.diagnostics);
            format!(
                "{}\n",
                resource_document(
                    &session::compiled(session),
                    self.shown,
                    cubin.map(Vec::as_slice),
                    diagnostics
                )
            )
        };
        let report = |cubin: &Vec<u8>| resource_report(&session::compiled(session), cubin);
        Answer {
            told: if self.excerpts {
                render::rendered(self.shown, self.text, &compiled.diagnostics, style)
            } else {
                String::new()
            },
            report: cubin.filter(|_| self.verbose).map(report),
            document: self.json.then(document),
            internal: compiled
                .diagnostics
                .iter()
                .find(|found| found.code == Code::InternalError)
                .map(|found| found.message.to_string()),
            cubin: cubin.cloned(),
            diagnostics: if self.is_for_programs() { compiled.diagnostics } else { Vec::new() },
        }
    }
}

/// Chip and options of a compile; no chip if the file's `.target` names it.
///
/// # Errors
/// The argument that is wrong, as a message.
pub fn asked_options(
    target: &Target,
    compile_only: bool,
    extensible: bool,
    search_trials: Option<u32>,
) -> Result<(Option<Chip>, Options), String> {
    let (chip, mut options) = options(target).map_err(|error| error.to_string())?;
    options.linking = match (compile_only, extensible) {
        (true, _) => Linking::Relocatable,
        (false, true) => Linking::Extensible,
        (false, false) => Linking::Whole,
    };
    if let Some(trials) = search_trials {
        options.set("search-trials", &trials.to_string()).map_err(|error| error.to_string())?;
    }
    Ok((chip, options))
}

/// Chip and options of a command line.
///
/// # Errors
/// As [`asked_options`]; and an option for the search of level 4 at another level.
pub fn options_of(arguments: &Compile) -> Result<(Option<Chip>, Options), String> {
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
