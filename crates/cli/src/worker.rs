//! `oriole worker`: a process that compiles what a build system asks for on standard input, until that ends.
//!
//! It speaks the JSON protocol of Bazel's persistent workers, which Buck2 and others took over: one request a line, one answer a
//! line. All requests share one database and a store in memory. Files are read and written here; what is asked, and how an answer
//! is made, is `compile::question`.

mod protocol;

use crate::arguments::{self, Compile};
use crate::compile::question::{Answer, Question, options_of};
use crate::crash;
use crate::files::device::{self, Asked};
use crate::files::input;
use crate::files::output::Output;
use crate::outcome::{Outcome, misused, print};
use crate::session::threads;
use oriole::program::{Mode, Opened, Shared};
use protocol::{Request, Response};
use std::io::BufRead;
use std::path::Path;

/// Bytes of finished functions and files in memory.
const MEMORY: usize = 256 << 20;

/// Answers requests until standard input ends.
pub fn worker(jobs: Option<usize>) -> Outcome {
    let shared = Shared::new(MEMORY);
    let pool = match rayon::ThreadPoolBuilder::new().num_threads(threads(jobs)).build() {
        Ok(pool) => pool,
        Err(error) => return misused(error),
    };
    pool.in_place_scope(|scope| {
        for line in std::io::stdin().lock().lines() {
            let request = match line.map_err(|error| error.to_string()).and_then(|line| Request::read(&line))
            {
                Ok(request) => request,
                Err(message) => return misused(format!("standard input: {message}")),
            };
            // Another one for a request in flight. Its answer comes as without it.
            if request.cancel {
                continue;
            }
            let shared = &shared;
            if request.number == 0 {
                // The client waits before it asks again.
                reply(&request, answered(&request, shared));
            } else {
                scope.spawn(move |_| reply(&request, answered(&request, shared)));
            }
        }
        Outcome::Right
    })
}

fn reply(request: &Request, done: Result<String, String>) {
    let (status, output) = match done {
        Ok(said) => (0, said),
        Err(said) => (1, said),
    };
    // One call a line, so that lines of threads stay whole.
    print(&Response { status, output, number: request.number }.line());
}

/// The messages of a compile.
///
/// # Errors
/// The messages of one that failed.
fn answered(request: &Request, shared: &Shared) -> Result<String, String> {
    let arguments = arguments::of_compile(&request.arguments)?;
    let [given] = &arguments.inputs[..] else { return Err("a request is about one file\n".to_owned()) };
    if input::is_standard(given) || arguments.output.as_deref().is_some_and(input::is_standard) {
        return Err("standard input and output are those of the worker\n".to_owned());
    }
    if arguments.json || arguments.tune_for.is_some() {
        return Err("--json and --tune-for are no options of a worker\n".to_owned());
    }
    let place = |path: &Path| match &request.folder {
        Some(folder) => folder.join(path),
        None => path.to_owned(),
    };
    let input = place(given);
    let output = arguments.output.as_deref().map_or_else(|| input.with_extension("cubin"), place);
    let (answer, output) = compiled(&arguments, &input, &output, given, shared)?;
    let said = answer.told + answer.report.as_deref().unwrap_or_default();
    match answer.cubin {
        Some(cubin) => output.write(&cubin).map(|()| said).map_err(line),
        None => Err(said),
    }
}

/// The answer to a command line, and the place of the cubin.
fn compiled(
    arguments: &Compile,
    input: &Path,
    output: &Path,
    given: &Path,
    shared: &Shared,
) -> Result<(Answer, Output), String> {
    let output = Output::new(output, input).map_err(line)?;
    let (chip, options) = options_of(arguments).map_err(line)?;
    let asked = Asked::of(&arguments.target.arch, &arguments.which.image);
    let text = device::text(input, asked).map_err(line)?;
    let shown = input::shown(given);
    let question = Question { excerpts: true, styled: false, ..Question::new(arguments, &text, &shown) };
    let cache = arguments.cache.open().map_err(line)?;
    let session = if question.keeps_stages() || arguments.cache.cache != Mode::Off {
        Opened::stored(&text, chip, &options, question.keeps_stages(), cache.clone())
    } else {
        shared.open(&text, chip, &options)
    };
    let answer = question.answer(&session, |session| session.compile(1));
    if let Some(cache) = cache {
        cache.finish();
    }
    if let Some(error) = &answer.internal {
        crash::leave(error, &[(&shown, &text)]);
    }
    Ok((answer, output))
}

fn line(error: impl std::fmt::Display) -> String {
    format!("error: {error}\n")
}
