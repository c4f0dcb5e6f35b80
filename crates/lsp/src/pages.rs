//! `ptx/viewPage`: the page about a document as it is in the editor, whole or in the parts that a page asks for that is served.
//!
//! The contents of a page are made in `oriole-explore`. Here is the state that pages of a document show: one view for one text, chip
//! and options, by its number. A text that does not compile leaves the view before, with the reason.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use oriole_diagnostics::Diagnostic;
use oriole_explore::{
    FileView, Question, Remark, Source, ViewError, code_part, index, ori_part, page, served_page,
    source_names,
};
use oriole_ide::{Cancelled, FileId};
use oriole_options::{KNOBS, Linking, Options, Value as Setting};
use serde_json::json;

use crate::asked::Asked;
use crate::basis::Basis;
use crate::convert::Text;
use crate::lock::locked;
use crate::outcome::{Failure, Reply};
use crate::snapshot::Snapshot;
use crate::uri;

/// Bytes of a source that is read for its lines, at most.
const LARGEST_SOURCE: usize = 16 << 20;
/// Errors of a text that are shown.
const MOST_ERRORS: usize = 10;

/// A view, with what it depends on.
struct Kept {
    basis: Basis,
    revision: u64,
    view: Arc<FileView>,
}

/// The views of documents whose pages are shown.
#[derive(Default)]
pub(crate) struct Pages {
    /// The number of the last view, and the views.
    views: Mutex<(u64, BTreeMap<FileId, Kept>)>,
}

impl Pages {
    /// Forgets a file.
    pub fn forget(&self, file: FileId) {
        locked(&self.views).1.remove(&file);
    }

    /// The last view of a file, and whether it is of this basis.
    fn last(&self, file: FileId, basis: &Basis) -> Option<(u64, Arc<FileView>, bool)> {
        let views = locked(&self.views);
        let kept = views.1.get(&file)?;
        Some((kept.revision, kept.view.clone(), kept.basis == *basis))
    }

    /// Keeps a view, and gives it a number.
    fn keep(&self, file: FileId, basis: Basis, view: &Arc<FileView>) -> u64 {
        let (last, views) = &mut *locked(&self.views);
        *last += 1;
        views.insert(file, Kept { basis, revision: *last, view: view.clone() });
        *last
    }
}

/// The state that is shown.
struct Shown {
    revision: u64,
    view: Arc<FileView>,
    /// Why the text as it is now cannot be shown.
    error: Option<String>,
}

/// `ptx/viewPage`
pub(crate) fn view_page(snapshot: Snapshot, asked: Asked) -> Result<Reply, Failure> {
    let address = asked.uri()?.to_owned();
    let file = snapshot.file(&address)?;
    let part = asked.part.as_deref().unwrap_or("page");
    if part == "frame" {
        return Ok(Reply::Value(json!({ "html": served_page(&name_of(&address)) })));
    }
    if matches!(part, "code" | "ori") {
        return kernel_part(&snapshot, &asked, part == "ori");
    }
    let shown = shown(&snapshot, &address, file)?;
    let Shown { revision, view, error } = shown;
    match part {
        "state" => Ok(Reply::Value(json!({ "revision": revision, "error": error }))),
        "file" => Ok(Reply::Text(format!("{{\"revision\":{revision},\"file\":{}}}", index(&view)))),
        "page" => {
            // A whole page needs the results of its own text.
            if let Some(error) = error {
                return Err(Failure::Failed(error));
            }
            let html = page(&view, &snapshot.analysis, 1)?.map_err(failed)?;
            Ok(Reply::Value(json!({ "html": html })))
        }
        _ => Err(Failure::Invalid(format!("a page has no part `{part}`"))),
    }
}

/// A part of a kernel in the state that the page shows.
fn kernel_part(snapshot: &Snapshot, asked: &Asked, ori: bool) -> Result<Reply, Failure> {
    let address = asked.uri()?;
    let file = snapshot.file(address)?;
    let missing = || Failure::Invalid("`number` or `revision` is missing".to_owned());
    let (number, wanted) = (asked.number.ok_or_else(missing)?, asked.revision.ok_or_else(missing)?);
    let basis = Basis::of(snapshot, address)?;
    let known = snapshot.shared.pages.last(file, &basis);
    let view = match known {
        Some((revision, view, true)) if revision == wanted => view,
        _ => return Err(Failure::Failed("the text has changed".to_owned())),
    };
    let made = if ori { ori_part } else { code_part };
    made(&view, &snapshot.analysis, number)?.map(Reply::Text).map_err(failed)
}

fn failed(error: ViewError) -> Failure {
    Failure::Failed(error.to_string())
}

/// The state that is shown of a document now.
fn shown(snapshot: &Snapshot, address: &str, file: FileId) -> Result<Shown, Failure> {
    let basis = Basis::of(snapshot, address)?;
    let pages = &snapshot.shared.pages;
    let before = pages.last(file, &basis);
    if let Some((revision, view, true)) = before {
        return Ok(Shown { revision, view, error: None });
    }
    match view(snapshot, address, file, &basis)? {
        Ok(view) => {
            let view = Arc::new(view);
            Ok(Shown { revision: pages.keep(file, basis, &view), view, error: None })
        }
        Err(error) => match before {
            Some((revision, view, _)) => Ok(Shown { revision, view, error: Some(error) }),
            None => Err(Failure::Failed(error)),
        },
    }
}

/// The view of the text as it is, or why there is none.
fn view(
    snapshot: &Snapshot,
    address: &str,
    file: FileId,
    basis: &Basis,
) -> Result<Result<FileView, String>, Failure> {
    let (analysis, text) = (&snapshot.analysis, snapshot.text(file)?);
    // One thread: the others answer what is typed.
    let Some((compiled, _)) = analysis.compile(file, basis.chip, 1)? else {
        return Ok(Err("pages are about PTX".to_owned()));
    };
    let remarks: Vec<Remark> = compiled.diagnostics.iter().map(|found| remark(&text, found)).collect();
    if compiled.cubin.is_none() {
        let errors = compiled.diagnostics.iter().filter(|found| found.is_error()).take(MOST_ERRORS);
        let lines: Vec<String> = errors.map(|found| in_line(&text, found)).collect();
        return Ok(Err(lines.join("\n")));
    }
    let named = source_names(&text.text).into_iter();
    let sources =
        named.map(|(number, name)| (number, Source { lines: source(snapshot, address, &name), name }));
    let question = Question {
        file: name_of(address),
        options: in_words(&basis.options),
        demangle: true,
        diagnostics: remarks,
        sources: sources.collect(),
        ..Question::default()
    };
    let view =
        FileView::of_text(analysis, file, basis.chip, question).map_err(|Cancelled| Failure::Cancelled)?;
    Ok(match view {
        Ok(view) if view.kernels.is_empty() => Err("there is no kernel".to_owned()),
        other => other.map_err(|error| error.to_string()),
    })
}

fn remark(text: &Text, found: &Diagnostic) -> Remark {
    Remark {
        text: oriole_ide::demangle::in_text(&found.to_string()).into_owned(),
        line: text.lines.line(found.span.start) + 1,
        is_error: found.is_error(),
    }
}

/// An error with its line.
fn in_line(text: &Text, found: &Diagnostic) -> String {
    let line = text.lines.line(found.span.start) + 1;
    let message = found.message.to_string();
    format!("line {line}: error[{}]: {}", found.code, oriole_ide::demangle::in_text(&message))
}

/// The name of a document for readers.
fn name_of(address: &str) -> String {
    let path = uri::to_path(address).unwrap_or_else(|| PathBuf::from(address));
    path.file_name().map_or_else(|| address.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The lines of a source, where it can be read: as it is named, or in the folder of the document.
fn source(snapshot: &Snapshot, address: &str, name: &str) -> Vec<String> {
    let named = Path::new(name);
    let folder = uri::to_path(address).and_then(|path| path.parent().map(Path::to_owned));
    let beside = folder.zip(named.file_name()).map(|(folder, name)| folder.join(name));
    let places = [named.is_absolute().then(|| named.to_owned()), beside];
    let read = |path: &Path| {
        let bytes = snapshot.environment.read(path, LARGEST_SOURCE);
        bytes.filter(|bytes| bytes.len() <= LARGEST_SOURCE)
    };
    let bytes = places.into_iter().flatten().find_map(|path| read(&path)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

/// Options as they stand on a command line.
fn in_words(options: &Options) -> String {
    let mut words = vec![format!("-O{}", options.level)];
    if options.linking == Linking::Relocatable {
        words.push("-c".to_owned());
    }
    for knob in KNOBS {
        let value = options.get(knob.name).filter(|value| *value != knob.default);
        words.extend(value.map(|value| match value {
            Setting::Bool(value) => format!("--knob {}={value}", knob.name),
            Setting::Number(value) => format!("--knob {}={value}", knob.name),
        }));
    }
    words.join(" ")
}
