//! Work after a change without a request: pushed diagnostics, and compiling while the text is at rest.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use oriole_diagnostics::Code;
use serde_json::{Value, json};

use crate::basis::Basis;
use crate::diagnostics;
use crate::hosts::Core;
use crate::lock::locked;
use crate::outcome::Failure;
use crate::snapshot::Snapshot;

/// Work that takes longer shows its progress.
const SHOWN_AFTER: Duration = Duration::from_millis(500);

/// Pushes the diagnostics of a document. A change elsewhere cancels and restarts it; a change of the document itself
/// has its own push.
pub(crate) fn push_diagnostics(core: &Core, uri: &str, version: i32) {
    loop {
        let snapshot = core.snapshot();
        if snapshot.documents.get(uri).is_none_or(|document| document.version != version) {
            return;
        }
        match diagnostics::push(snapshot, uri) {
            Ok(parameters) => return core.notify_written("textDocument/publishDiagnostics", parameters),
            Err(Failure::Cancelled) => {}
            Err(_) => return,
        }
    }
}

/// Compiles a document kernel by kernel, and publishes the diagnostics of code generation. True if diagnostics changed.
pub(crate) fn compile_in_background(core: &Core, uri: &str, version: i32, stop: &AtomicBool) -> bool {
    let mut progress = Progress::new(core);
    let revision = locked(&core.state).revision;
    loop {
        let snapshot = core.building_snapshot(revision);
        if snapshot.documents.get(uri).is_none_or(|document| document.version != version) {
            progress.end();
            return false;
        }
        match compile_all(&snapshot, uri, &mut progress, stop) {
            Ok(Changed { diagnostics, marks }) => {
                let pulls = snapshot.client.pulls_diagnostics;
                drop(snapshot);
                progress.end();
                if diagnostics && !pulls {
                    push_diagnostics(core, uri, version);
                }
                if diagnostics {
                    core.refresh();
                }
                core.refresh_content(uri);
                if marks && core.client.refreshes_tokens {
                    core.request("workspace/semanticTokens/refresh", Value::Null);
                }
                return diagnostics;
            }
            Err(Failure::Cancelled) => {}
            Err(_) => {
                progress.end();
                return false;
            }
        }
    }
}

/// The changes of the displayed data.
#[derive(Default)]
struct Changed {
    diagnostics: bool,
    marks: bool,
}

fn compile_all(
    snapshot: &Snapshot,
    uri: &str,
    progress: &mut Progress<'_>,
    stop: &AtomicBool,
) -> Result<Changed, Failure> {
    let file = snapshot.file(uri)?;
    let basis = Basis::of(snapshot, uri)?;
    let chip = basis.chip;
    let kernels = snapshot.analysis.kernels(file)?;
    for (at, kernel) in kernels.iter().enumerate() {
        if stop.load(Ordering::SeqCst) {
            return Ok(Changed::default());
        }
        progress.report(kernel, at, kernels.len());
        snapshot.analysis.lens(file, kernel, chip)?;
    }
    let found = snapshot.analysis.code_diagnostics(file, chip)?;
    if let Some(internal) = found.iter().find(|found| found.code == Code::InternalError) {
        progress.core.keep_crash(&internal.message, Some(uri));
    }
    let marks = snapshot.analysis.register_marks(file, chip, &snapshot.shared.marks(file))?;
    Ok(Changed {
        diagnostics: snapshot.shared.keep_code(file, basis, found),
        marks: snapshot.shared.keep_marks(file, marks),
    })
}

/// Progress that is shown only for long work.
struct Progress<'a> {
    core: &'a Core,
    since: Instant,
    token: Option<String>,
}

impl<'a> Progress<'a> {
    fn new(core: &'a Core) -> Progress<'a> {
        Progress { core, since: Instant::now(), token: None }
    }

    fn send(&self, value: Value) {
        if let Some(token) = &self.token {
            self.core.notify("$/progress", json!({ "token": token, "value": value }));
        }
    }

    fn report(&mut self, kernel: &str, at: usize, count: usize) {
        let percentage = 100 * at / count.max(1);
        if self.token.is_some() {
            self.send(json!({ "kind": "report", "message": kernel, "percentage": percentage }));
        } else if self.core.client.progress && self.since.elapsed() > SHOWN_AFTER {
            let token = format!("oriole/compile/{}", *locked(&self.core.requests));
            self.core.request("window/workDoneProgress/create", json!({ "token": token }));
            self.token = Some(token);
            self.send(json!({
                "kind": "begin", "title": "Compiling", "message": kernel, "percentage": percentage,
                "cancellable": true
            }));
        }
    }

    fn end(&mut self) {
        self.send(json!({ "kind": "end" }));
        self.token = None;
    }
}
