//! Where an answer goes: streams, the output file, and the server of the cache.

use super::question::Answer;
use crate::cache;
use crate::files::output::Output;
use crate::outcome::{Outcome, failed, print};
use oriole::program::Cache;

/// Prints and writes an answer.
pub fn deliver(answer: Answer, output: &Output) -> Outcome {
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
    }
    Outcome::Right
}

/// Prints the counts of a cache, where they are wanted, and sends its server what waits.
pub fn end(cache: &Cache, verbose: bool) {
    if verbose {
        eprintln!("{}", cache::summary(cache));
    }
    cache.finish();
}
