//! The work of the resident compiler: the answers to questions, by the functions that a process without it uses.
//!
//! All questions share one database and a store in memory. A compiler that contradicts itself, and a question that cannot be
//! read, are left to the process that asks.

use super::messages::{self, Assemble, Message};
use crate::compile::question::{Question, asked_options};
use crate::ptxas::compile::{Assembled, assemble};
use crate::ptxas::request::request;
use crate::session::jobs;
use oriole::program::{Opened, Shared};
use oriole_diagnostics::Code;
use oriole_ptxas::{Action, Compilation, Form, Input, Log, Source};
use oriole_resident::{Watch, Work};

/// Bytes of finished functions and files in memory.
const MEMORY: usize = 256 << 20;

/// The compiler.
pub struct Compiler {
    shared: Shared,
}

impl Compiler {
    /// A compiler that knows nothing yet.
    pub fn new() -> Compiler {
        Compiler { shared: Shared::new(MEMORY) }
    }

    fn compile(&self, question: &Question<'_>, watch: &Watch) -> Option<Vec<u8>> {
        let Question { ref target, compile_only, extensible, search_trials, .. } = *question;
        let (chip, options) = asked_options(target, compile_only, extensible, search_trials).ok()?;
        let session = if question.keeps_stages() {
            // A report needs what the shared database drops.
            Opened::stored(question.text, chip, &options, true, None)
        } else {
            self.shared.open(question.text, chip, &options)
        };
        cancelled_by(watch, &session);
        let jobs = jobs(question.jobs, &session);
        let answer = question.answer(&session, |session| session.compile(jobs));
        if answer.internal.is_some() { None } else { messages::answer(&answer) }
    }

    fn assemble(&self, call: &Assemble<'_>, watch: &Watch) -> Option<Vec<u8>> {
        let mut log = Log::new(call.program, Form::Program);
        let words: Vec<String> = call.words.iter().map(|&word| word.to_owned()).collect();
        let mut read = |name: &str| {
            let file = call.files.iter().find(|file| file.0 == name)?;
            file.1.map(str::to_owned)
        };
        let (_, request) = request(&words, &mut log, &mut read)?;
        let Action::Compile(compilation) = &request.action else { return None };
        if !request.refused.is_empty() {
            return None;
        }
        let assembled = self.assembled(compilation, call, watch, &mut log);
        // A message that names it is one of the compiler itself.
        let is_internal = log.entries().iter().any(|entry| entry.text.contains(Code::InternalError.as_str()));
        if is_internal { None } else { messages::ended(assembled.as_ref(), log.entries()) }
    }

    /// None for failure, which the log explains.
    fn assembled(
        &self,
        compilation: &Compilation,
        call: &Assemble<'_>,
        watch: &Watch,
        log: &mut Log,
    ) -> Option<Assembled> {
        let input = |&(name, text): &(&str, &str)| Input { name: name.to_owned(), text: text.to_owned() };
        let inputs = call.inputs.iter().map(input).collect();
        let source = Source::join(inputs, compilation.architecture, log)?;
        let open = |text: &str, chip, options: &_| {
            let session = self.shared.open(text, Some(chip), options);
            cancelled_by(watch, &session);
            session
        };
        assemble(&open, compilation, source, log, |_| Some(())).map(|(assembled, ())| assembled)
    }
}

/// Cancels the compile of a session when the client goes away.
fn cancelled_by(watch: &Watch, session: &Opened) {
    let canceller = session.db.canceller();
    watch.on_close(move || canceller.cancel());
}

impl Work for Compiler {
    fn answer(&self, request: &[u8], watch: &Watch) -> Option<Vec<u8>> {
        match postcard::from_bytes(request).ok()? {
            Message::Compile(question) => self.compile(&question, watch),
            Message::Assemble(call) => self.assemble(&call, watch),
        }
    }
}
