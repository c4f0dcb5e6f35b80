//! From the words of a call of ptxas to its request.
//!
//! It is here because the called process and the resident compiler read the same words. Files come from the caller.

use oriole_ptxas::{CommandLine, Log, Opt, Request};

/// The line that words make, and its request. `None` if that cannot be done; the log says why.
pub fn request(
    words: &[String],
    log: &mut Log,
    read: &mut dyn FnMut(&str) -> Option<String>,
) -> Option<(CommandLine, Request)> {
    let line = oriole_ptxas::parse(words, log, read)?;
    // Warnings of the parser stay warnings, as they do in ptxas.
    log.quiet = line.has(Opt::NoWarnings);
    log.strict = line.has(Opt::WarningsAreErrors);
    let request = Request::new(&line, log)?;
    Some((line, request))
}
