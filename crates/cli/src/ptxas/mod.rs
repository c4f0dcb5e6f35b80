//! Oriole as a drop-in replacement of ptxas: called by that name, or as `oriole ptxas`. The meaning of the
//! options and the messages are in `oriole_ptxas`; here are the files, the streams and the exit status.

pub mod compile;
mod fallback;
pub mod request;
mod shadow;
mod status;

pub use shadow::init_shadow;

use crate::crash;
use crate::files::input;
use crate::outcome::{Outcome, print};
use crate::resident;
use compile::Assembled;
use oriole_diagnostics::Code;
use oriole_ptxas::{Action, CommandLine, Compilation, Entry, Form, Input, Log, Opt, Source};
use request::request;
use status::FAILED;
use std::cell::OnceCell;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// The name that is answered to, and how names begin that are.
const NAME: &str = "ptxas";

/// A call as `ptxas`.
pub struct Call {
    /// The start of messages.
    program: String,
    /// The words of the command line after it.
    words: Vec<String>,
    /// Standard input, once it was read.
    standard: OnceCell<String>,
}

impl Call {
    /// The call, if the program was started as `ptxas`. A first word `ptxas` is not an input: nvcc puts it after
    /// a prefix.
    pub fn from_environment() -> Option<Call> {
        let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        let path = words.next()?;
        let mut words = words.peekable();
        let own = oriole_ptxas::program_name(&path);
        let named = own.starts_with(NAME);
        let asked = words.next_if(|word| word == NAME).is_some();
        if !named && !asked {
            return None;
        }
        while words.next_if(|word| word == NAME).is_some() {}
        let program = if named { own } else { NAME };
        Some(Call { program: program.to_owned(), words: words.collect(), standard: OnceCell::new() })
    }

    /// Does what is asked.
    pub fn run(&self) -> ExitCode {
        let mut log = Log::new(&self.program, Form::Program);
        let done = self.answer(&mut log);
        tell(&log);
        let is_internal = |entry: &&Entry| entry.text.contains(Code::InternalError.as_str());
        if let Some(entry) = log.entries().iter().find(is_internal) {
            let texts: Vec<(&str, &str)> =
                self.standard.get().map(|text| (STANDARD, text.as_str())).into_iter().collect();
            crash::leave(entry.text.trim(), &texts);
        }
        done.unwrap_or(ExitCode::from(FAILED))
    }

    /// The exit status; `None` for failure, which the log explains.
    fn answer(&self, log: &mut Log) -> Option<ExitCode> {
        // The resident compiler reads the same words, and gets these files with them.
        let mut files = Vec::new();
        let mut read = |name: &str| {
            let text = input::text(Path::new(name)).ok();
            files.push((name.to_owned(), text.clone()));
            text
        };
        let (line, request) = request(&self.words, log, &mut read)?;
        let compilation = match &request.action {
            Action::Help => return printed(&oriole_ptxas::help(&self.program)),
            Action::Version => return printed(&version(&self.program)),
            Action::ListVersions => return printed(&oriole_ptxas::isa_versions()),
            Action::ListChips => return printed(&oriole_ptxas::architectures()),
            Action::Compile(compilation) => compilation,
        };
        if !request.refused.is_empty() {
            return fallback::run(&line, None, log);
        }
        self.compile(&line, &files, compilation, log)
    }

    fn compile(
        &self,
        line: &CommandLine,
        files: &[(String, Option<String>)],
        compilation: &Compilation,
        log: &mut Log,
    ) -> Option<ExitCode> {
        let read = inputs(line, log)?;
        if let Some(input) = read.iter().find(|input| input.name == STANDARD) {
            let _ = self.standard.set(input.text.clone());
        }
        let call = resident::Call {
            is_asked: line.has(Opt::Resident),
            program: &self.program,
            words: &self.words,
            files,
        };
        // An output that cannot be written has its message between others, which only this process can put there.
        let asked = compile::output(compilation)
            .and_then(|output| Some((resident::assembled(&call, &read, log)?, Some(output))));
        let (assembled, output) = match asked {
            Some(answer) => answer,
            None => {
                let source = Source::join(read, compilation.architecture, log)?;
                compile::assemble_here(compilation, source, log)?
            }
        };
        match assembled {
            Assembled::Done(cubin) => {
                compile::write(&output?, compilation, &cubin, log)?;
                Some(ExitCode::SUCCESS)
            }
            Assembled::Checked => Some(ExitCode::SUCCESS),
            Assembled::Unsupported => fallback::run(line, self.standard.get().map(String::as_str), log),
            Assembled::Failed => None,
        }
    }
}

/// How messages name standard input.
const STANDARD: &str = "<stdin>";
/// How messages name a text of the command line.
const FROM_OPTION: &str = "application ptx input";

/// Reads every input; texts of the command line come first.
fn inputs(line: &CommandLine, log: &mut Log) -> Option<Vec<Input>> {
    let given = line.values(Opt::InputAsString);
    let mut inputs: Vec<Input> =
        given.map(|text| Input { name: FROM_OPTION.to_owned(), text: text.to_owned() }).collect();
    let mut missing = false;
    for name in &line.inputs {
        match input::bytes(Path::new(name)) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => {
                    let name = if name == "-" { STANDARD } else { name };
                    inputs.push(Input { name: name.to_owned(), text });
                }
                Err(error) => {
                    let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                    let line = 1 + valid.iter().filter(|&&byte| byte == b'\n').count();
                    let text = format!("Unexpected non-ASCII character encountered on line {line}");
                    log.say(oriole_ptxas::Severity::Fatal, &text);
                    missing = true;
                }
            },
            Err(_) => {
                log.say(oriole_ptxas::Severity::Fatal, &format!("Input file '{name}' could not be opened"));
                missing = true;
            }
        }
    }
    if missing {
        log.abort();
        return None;
    }
    Some(inputs)
}

/// The version names the very build: callers put the text into the keys of their caches.
fn version(program: &str) -> String {
    let build = format!("{}.{}", env!("CARGO_PKG_VERSION"), oriole::program::BUILD);
    oriole_ptxas::version(program, &build)
}

fn printed(text: &str) -> Option<ExitCode> {
    (print(text) == Outcome::Right).then_some(ExitCode::SUCCESS)
}

/// Writes all messages to standard error; a reader that went away is not a failure.
fn tell(log: &Log) {
    let text: String = log.entries().iter().map(|entry| entry.text.as_str()).collect();
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
