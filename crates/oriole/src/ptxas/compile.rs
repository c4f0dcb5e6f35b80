//! A compile in ptxas's place: of a joined text, with ptxas's messages in the log.

use super::resources;
use crate::compile::jobs;
use crate::files::output::Output;
use crate::session::Session;
use oriole_diagnostics::Diagnostic;
use oriole_ptxas::{Compilation, Log, Severity, Source, Threads, is_unsupported, translate};
use std::path::Path;
use std::time::Instant;

/// How a compile ended that did not fail by a mistake of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All right.
    Done,
    /// Oriole cannot compile this, and nothing was said of it being wrong.
    Unsupported,
}

/// Compiles or checks. `None` if that failed; the log says why.
pub fn compile(compilation: &Compilation, mut source: Source, log: &mut Log) -> Option<Outcome> {
    if compilation.warn_doubles {
        source.warn_of_doubles(log);
    }
    if compilation.check_only {
        let session = Session::new(source.text(), Some(compilation.chip), &compilation.options);
        return checked(&session, &source, compilation, log).map(|()| Outcome::Done);
    }
    if !compilation.entries.is_empty() {
        // All of the text is checked, also what is then left out.
        let session = Session::new(source.text(), Some(compilation.chip), &compilation.options);
        checked(&session, &source, compilation, log)?;
        source.keep_entries(&compilation.entries, log).then_some(())?;
    }
    source.cache(&compilation.cache);
    source.limit(&compilation.limits, compilation.chip, compilation.verbose, log);
    if log.has_failed() {
        log.abort();
        return None;
    }
    // What `ptxas` would say of an output that cannot be written, it says before it compiles.
    let Ok(output) = Output::anywhere(Path::new(&compilation.output)) else {
        return unwritable(&compilation.output, log);
    };
    let tells = compilation.verbose || compilation.warn_spills || compilation.warn_local;
    let start = Instant::now();
    let session = Session::once(source.text(), Some(compilation.chip), &compilation.options, false, None);
    let threads = match compilation.threads {
        Threads::Unsaid | Threads::All => None,
        Threads::Some(count) => Some(count),
    };
    let compiled =
        oriole_queries::compile(&session.db, session.file, session.config, jobs(threads, &session));
    let took = start.elapsed();
    let Some(cubin) = compiled.cubin else {
        let mut errors = compiled.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
        let unsupported = errors.all(is_unsupported);
        translate(&compiled.diagnostics, &source, compilation.chip, log);
        return unsupported.then_some(Outcome::Unsupported);
    };
    translate(&compiled.diagnostics, &source, compilation.chip, log);
    if tells {
        let resources = resources::gather(&session, &cubin, took);
        resources.warn(compilation.warn_spills, compilation.warn_local, log);
        if compilation.verbose {
            resources.say(log);
        }
        if log.has_failed() {
            return None;
        }
    }
    if output.write(&cubin).is_err() {
        return unwritable(&compilation.output, log);
    }
    // The process ends here, and its memory with it: nothing is gained by giving back each piece.
    std::mem::forget(session);
    Some(Outcome::Done)
}

fn unwritable(output: &str, log: &mut Log) -> Option<Outcome> {
    log.say(Severity::Fatal, &format!("Output file '{output}' could not be opened"));
    None
}

/// Checks a text as far as the language goes.
fn checked(session: &Session, source: &Source, compilation: &Compilation, log: &mut Log) -> Option<()> {
    let mut diagnostics = oriole_queries::diagnostics(&session.db, session.file);
    diagnostics.extend(oriole_queries::target_diagnostics(&session.db, session.file, session.config));
    translate(&diagnostics, source, compilation.chip, log);
    if log.has_failed() && !diagnostics.iter().any(Diagnostic::is_error) {
        log.abort();
    }
    (!log.has_failed()).then_some(())
}
