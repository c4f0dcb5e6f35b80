//! A compile as a drop-in replacement of ptxas, with its output file.

use crate::files::output::Output;
use crate::session::threads_for;
use oriole::program::Opened;
use oriole::ptxas::{Open, Outcome, Step, begin_in};
use oriole_ptxas::{Compilation, Log, Severity, Source, Threads};
use std::panic::resume_unwind;
use std::path::Path;
use std::time::Instant;

/// The result of a compile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Assembled {
    /// The container.
    Done(triomphe::Arc<Vec<u8>>),
    /// Nothing was to be made.
    Checked,
    /// Oriole cannot compile this, and nothing was said of it being wrong.
    Unsupported,
    /// It failed; the log says why.
    Failed,
}

/// Compiles or checks, in a database that `open` opens a text in. `ready` is what must be there before anything is compiled.
/// `None` if one of them failed; the log says why.
pub fn assemble<T: Default>(
    open: &Open<'_>,
    compilation: &Compilation,
    source: Source,
    log: &mut Log,
    ready: impl FnOnce(&mut Log) -> Option<T>,
) -> Option<(Assembled, T)> {
    let text = source.text().len();
    let job = match begin_in(open, compilation, source, log)? {
        Step::Checked => return Some((Assembled::Checked, T::default())),
        Step::Refused => return Some((Assembled::Unsupported, T::default())),
        Step::Compile(job) => job,
    };
    let ready = ready(log)?;
    let asked = match compilation.threads {
        Threads::Unsaid | Threads::All => None,
        Threads::Some(count) => Some(count),
    };
    let threads = threads_for(asked, job.functions(), text);
    let start = Instant::now();
    // It is cancelled in the resident compiler alone, which takes it as any request that unwinds.
    let compiled = job.compile(threads).unwrap_or_else(|cancelled| resume_unwind(Box::new(cancelled)));
    let microseconds = start.elapsed().as_micros() as u64;
    let outcome = job.tell(compiled, microseconds, log)?;
    Some((
        match outcome {
            Outcome::Done(cubin) => Assembled::Done(cubin),
            Outcome::Unsupported => Assembled::Unsupported,
        },
        ready,
    ))
}

/// Compiles or checks in this process, and says where the result goes. `None` if that failed; the log says why.
pub fn assemble_here(
    compilation: &Compilation,
    source: Source,
    log: &mut Log,
) -> Option<(Assembled, Option<Output>)> {
    let open = |text: &str, chip, options: &_| {
        let opened = Opened::once(text, Some(chip), options);
        // The process ends soon, and its memory with it: with a handle that is left, nothing is given back piece by piece.
        std::mem::forget(opened.db.clone());
        opened
    };
    // Messages of `ptxas` about an output that cannot be written come before it compiles.
    let ready = |log: &mut Log| match output(compilation) {
        Some(output) => Some(Some(output)),
        None => unwritable(&compilation.output, log),
    };
    assemble(&open, compilation, source, log, ready)
}

/// Where the result goes, if it can be written there.
pub fn output(compilation: &Compilation) -> Option<Output> {
    Output::anywhere(Path::new(&compilation.output)).ok()
}

/// Writes a result.
pub fn write(output: &Output, compilation: &Compilation, cubin: &[u8], log: &mut Log) -> Option<()> {
    if output.write(cubin).is_ok() { Some(()) } else { unwritable(&compilation.output, log) }
}

fn unwritable<T>(output: &str, log: &mut Log) -> Option<T> {
    log.say(Severity::Fatal, &format!("Output file '{output}' could not be opened"));
    None
}
