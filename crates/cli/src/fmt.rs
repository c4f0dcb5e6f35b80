//! `oriole fmt`: the formatter of the language server, for files.
//!
//! It changes white space between tokens and nothing else, which is checked before a file is written. A file is written whole or not
//! at all.

use crate::arguments::Fmt;
use crate::check::replaced;
use crate::files::sources::{SourceError, Sources};
use crate::files::{difference, input};
use crate::outcome::{Outcome, failed, print};
use crate::session::threads;
use oriole_diagnostics::{Code, counted};
use oriole_ide::{AnalysisHost, Edit, Feature, Language, SettingsId, Style};
use oriole_syntax::{SyntaxKind, split_file, tokenize};
use rayon::prelude::*;
use std::path::Path;

/// Files that are in memory at a time, for each thread.
const BATCH: usize = 8;

/// Stack of a thread in bytes: as much as the main thread has.
const STACK: usize = 8 << 20;

/// A text after formatting.
struct Formatted {
    before: String,
    edits: Vec<Edit>,
}

/// Runs `oriole fmt`.
pub fn fmt(arguments: &Fmt) -> Outcome {
    let sources = Sources::of(&arguments.inputs, false);
    if let Some(error) = sources.errors.iter().find(|error| matches!(error, SourceError::Pattern { .. })) {
        return error.report();
    }
    let mut outcome = Outcome::Right;
    for error in &sources.errors {
        outcome = error.report();
    }
    let style = Style { blanks: (!arguments.tabs).then_some(arguments.indent) };
    let threads = threads(arguments.jobs);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build();
    let pool = match pool {
        Ok(pool) => pool,
        Err(error) => return failed(error),
    };
    let (mut changed, mut kept) = (0, 0);
    for batch in sources.files.chunks(BATCH * threads) {
        let formatted: Vec<Result<Formatted, String>> =
            pool.install(|| batch.par_iter().map(|path| formatted(path, style)).collect());
        for (path, formatted) in batch.iter().zip(formatted) {
            match formatted.and_then(|formatted| done(path, &formatted, arguments)) {
                Ok(true) => changed += 1,
                Ok(false) => kept += 1,
                Err(message) => outcome = failed(message),
            }
        }
    }
    let only_looks = arguments.check || arguments.diff;
    if sources.files.iter().any(|path| !input::is_standard(path)) || only_looks {
        let would = if only_looks { "would be " } else { "" };
        eprintln!(
            "{} {would}formatted, {} already formatted",
            counted(changed, "file"),
            counted(kept, "file")
        );
    }
    if only_looks && changed > 0 && outcome == Outcome::Right { Outcome::Failed } else { outcome }
}

fn formatted(path: &Path, style: Style) -> Result<Formatted, String> {
    let before = input::text(path).map_err(|error| error.to_string())?;
    let shown = input::shown(path);
    let mut host = AnalysisHost::new();
    let file = host.open(Language::Ptx, &before, SettingsId(0));
    let analysis = host.analysis();
    if analysis.switched_off(file).contains(&Feature::Formatting) {
        return Err(format!("{shown}: the file is too large to be formatted"));
    }
    let edits =
        analysis.format(file, None, style).map_err(|_| format!("{shown}: formatting was cancelled"))?;
    if !edits.is_empty() && !keeps_tokens(&before, &Edit::apply(&before, &edits)) {
        return Err(format!(
            "[{}] {shown}: formatting would change more than white space",
            Code::InternalError
        ));
    }
    Ok(Formatted { before, edits })
}

/// Whether two texts have the same tokens and comments.
fn keeps_tokens(before: &str, after: &str) -> bool {
    let (before, after) = (tokens(before), tokens(after));
    before.eq(after)
}

fn tokens(text: &str) -> impl Iterator<Item = String> + '_ {
    split_file(text).into_iter().flat_map(move |unit| {
        let text = unit.text(text);
        let tokens = tokenize(text, &mut Vec::new());
        let ends: Vec<u32> =
            tokens.iter().skip(1).map(|token| token.start).chain([text.len() as u32]).collect();
        let solid = tokens
            .into_iter()
            .zip(ends)
            .filter(|(token, _)| !matches!(token.kind, SyntaxKind::WHITESPACE | SyntaxKind::END));
        // A comment of a line extends to its end, of which a carriage return is not a part.
        let word = |(token, end): (oriole_syntax::Token, u32)| {
            text[token.start as usize..end as usize].trim_end_matches('\r').to_owned()
        };
        solid.map(word).collect::<Vec<_>>()
    })
}

/// Writes, names or shows what changed; whether anything did.
fn done(path: &Path, formatted: &Formatted, arguments: &Fmt) -> Result<bool, String> {
    let Formatted { before, edits } = formatted;
    let shown = input::shown(path);
    let changes = !edits.is_empty();
    if arguments.diff {
        print(&difference::of_edits(&shown, before, edits));
    } else if arguments.check {
        if changes {
            print(&format!("{shown}\n"));
        }
    } else {
        let after = Edit::apply(before, edits);
        if input::is_standard(path) {
            print(&after);
        } else if changes {
            replaced(path, before, &after)?;
        }
    }
    Ok(changes)
}
