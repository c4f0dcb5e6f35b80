//! A compile as a drop-in replacement of ptxas, with its output file.

use crate::files::output::Output;
use crate::session::threads_for;
use oriole::ptxas::{Outcome, Step, begin};
use oriole_ptxas::{Compilation, Log, Severity, Source, Threads};
use std::path::Path;
use std::time::Instant;

/// How a compile ended that did not fail by a mistake of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// All right.
    Done,
    /// Oriole cannot compile this, and nothing was said of it being wrong.
    Unsupported,
}

/// Compiles or checks. `None` if that failed; the log says why.
pub fn compile(compilation: &Compilation, source: Source, log: &mut Log) -> Option<Ended> {
    let text = source.text().len();
    let job = match begin(compilation, source, log)? {
        Step::Checked => return Some(Ended::Done),
        Step::Refused => return Some(Ended::Unsupported),
        Step::Compile(job) => job,
    };
    // Messages of `ptxas` about an output that cannot be written come before it compiles.
    let Ok(output) = Output::anywhere(Path::new(&compilation.output)) else {
        return unwritable(&compilation.output, log);
    };
    let asked = match compilation.threads {
        Threads::Unsaid | Threads::All => None,
        Threads::Some(count) => Some(count),
    };
    let threads = threads_for(asked, job.functions(), text);
    let start = Instant::now();
    let compiled = job.compile(threads).expect("nobody cancels it");
    let microseconds = start.elapsed().as_micros() as u64;
    let outcome = job.tell(compiled, microseconds, log)?;
    // The process ends here, and its memory with it: nothing is gained by giving back each piece.
    std::mem::forget(job);
    match outcome {
        Outcome::Done(cubin) if output.write(&cubin).is_ok() => Some(Ended::Done),
        Outcome::Done(_) => unwritable(&compilation.output, log),
        Outcome::Unsupported => Some(Ended::Unsupported),
    }
}

fn unwritable(output: &str, log: &mut Log) -> Option<Ended> {
    log.say(Severity::Fatal, &format!("Output file '{output}' could not be opened"));
    None
}
