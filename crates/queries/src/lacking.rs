//! All of a file that cannot be compiled for a chip, reported at once: each form with its places.
//!
//! It is here because only the stages know what they refuse, and because a list of refusals for each function says the same many
//! times. Functions here are no queries: they may read places.

use std::collections::BTreeMap;

use oriole_diagnostics::{Code, Diagnostic};
use oriole_inputs::{Config, Database, SourceFile};

use crate::driver::{checked, failures, warm};
use crate::failure::{Failed, at_start};
use crate::{files, modules};

/// A form that cannot be compiled, and its places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lacking {
    /// The diagnostic at the first place; its span counts from the start of the file.
    pub first: Diagnostic,
    /// The function of the first place, if it is in one.
    pub function: Option<String>,
    /// In how many places.
    pub places: u32,
    /// In how many functions.
    pub functions: u32,
}

/// The diagnostics that keep a file from being compiled for the chip of a configuration, whatever else does,
/// in the order of first places; and those about the text, which come first: if one of them is an error,
/// nothing is compiled.
///
/// # Panics
/// Unwinds with [`salsa::Cancelled`] if a write is waiting.
pub fn lacking(
    db: &Database,
    file: SourceFile,
    config: Config,
    threads: usize,
) -> (Vec<Diagnostic>, Vec<Lacking>) {
    let found = checked(db, file, config, threads);
    if found.iter().any(Diagnostic::is_error) {
        return (found, Vec::new());
    }
    warm(db, file, config, threads);
    let mut all: Vec<Lacking> = Vec::new();
    let mut known: BTreeMap<(Code, String), usize> = BTreeMap::new();
    for (at, failed) in failures(db, file, config) {
        let unit = files::split_file(db, file)[at];
        // A function whose callee cannot be compiled says nothing: the callee does.
        for refusal in failed.refusals() {
            let next = all.len();
            match *known.entry((refusal.code, refusal.message.clone())).or_insert(next) {
                at if at == next => all.push(Lacking {
                    first: refusal.diagnostic(files::source_map(db, unit)).shifted(unit.start(db)),
                    function: Some(unit.name(db).to_string()),
                    places: refusal.count,
                    functions: 1,
                }),
                at => {
                    all[at].places += refusal.count;
                    all[at].functions += 1;
                }
            }
        }
    }
    if let (true, Err(Failed::Stage { code, message, .. })) =
        (all.is_empty(), modules::cubin(db, file, config))
    {
        let first = at_start(*code, message.clone());
        all.push(Lacking { first, function: None, places: 1, functions: 0 });
    }
    all.sort_by_key(|lacking| lacking.first.span.start);
    (found, all)
}
