//! `workspace/diagnostic`: diagnostics of all documents that are open, and of the PTX files in the folders of the workspace.
//!
//! A client that takes partial results gets a stream: all diagnostics at first, then changes, until it cancels. Another
//! client gets the present ones. Files that are not open are read and parsed on demand, and cached by their text;
//! nothing of them stays in the hosts.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lsp_server::RequestId;
use oriole_diagnostics::Code;
use oriole_ide::{AnalysisHost, Language, SettingsId};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::closed_files::Known;
use crate::convert::{self, Text};
use crate::diagnostics;
use crate::hosts::{Core, Pending};
use crate::lock::locked;
use crate::outcome::{Failure, answer, failure};
use crate::uri;
use crate::workspace_files::LARGEST;

/// Number of documents that are reported at a time.
const CHUNK: usize = 64;

/// Parameters.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pull {
    #[serde(default)]
    previous_result_ids: Vec<Previous>,
    partial_result_token: Option<Value>,
}

#[derive(Deserialize)]
struct Previous {
    uri: String,
    value: String,
}

/// The extent of a change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Scope {
    /// Open documents.
    Open,
    /// Files too.
    Files,
}

/// A request with partial results.
pub(crate) struct Stream {
    id: RequestId,
    token: Value,
    pending: Arc<Pending>,
    /// The client's state, by URI: the result ids of diagnostics.
    client: Mutex<BTreeMap<String, String>>,
    work: Mutex<Work>,
}

/// Pending work, and whether a thread does it.
#[derive(Default)]
struct Work {
    running: bool,
    wanted: Option<Scope>,
}

/// Diagnostics of one document.
struct Found {
    uri: String,
    version: Option<i32>,
    name: String,
    items: Value,
}

/// The start of a request.
pub(crate) enum Begun {
    /// One answer, given on a worker.
    Answer(Box<dyn FnOnce(&Core) + Send>),
    /// A stream of partial results.
    Stream(Arc<Stream>),
}

/// Reads a request.
pub(crate) fn begin(id: RequestId, asked: Pull, pending: Arc<Pending>) -> Begun {
    let client: BTreeMap<String, String> =
        asked.previous_result_ids.into_iter().map(|known| (known.uri, known.value)).collect();
    let client = Mutex::new(client);
    match asked.partial_result_token {
        Some(token) => Begun::Stream(Arc::new(Stream { id, token, pending, client, work: Mutex::default() })),
        None => Begun::Answer(Box::new(move |core| {
            let mut items = Vec::new();
            let done = round(core, &pending, &client, Scope::Files, true, &mut |chunk| items.extend(chunk));
            core.respond(id, done.map(|()| json!({ "items": items })).map_err(failure));
        })),
    }
}

impl Stream {
    pub fn is(&self, id: &RequestId) -> bool {
        self.id == *id
    }

    /// Records the extent of a change; true if no thread is at work, so that [`Stream::work`] must be called.
    pub fn wake(&self, scope: Scope) -> bool {
        let mut work = locked(&self.work);
        work.wanted = Some(work.wanted.map_or(scope, |known| known.max(scope)));
        !std::mem::replace(&mut work.running, true)
    }

    /// Sends changes until there are none; on a worker. At `first` it also sends unchanged documents.
    pub fn work(&self, core: &Core, first: bool) {
        let mut all = first;
        loop {
            let scope = {
                let mut work = locked(&self.work);
                let scope = work.wanted.take().filter(|_| !self.pending.is_cancelled());
                work.running = scope.is_some();
                scope
            };
            let Some(scope) = scope else { return };
            let mut tell = |chunk: Vec<Value>| {
                core.notify("$/progress", json!({ "token": self.token, "value": { "items": chunk } }));
            };
            // An error of one document is reported by its own request; if the request is cancelled, the canceller has
            // answered it.
            let _ = round(core, &self.pending, &self.client, scope, all, &mut tell);
            all = false;
        }
    }

    /// Ends the stream.
    pub fn end(&self, core: &Core) {
        self.pending.cancel();
        core.respond(self.id.clone(), Ok(json!({ "items": [] })));
    }

    /// Answers that the request was cancelled.
    pub fn cancelled(&self, core: &Core) {
        core.respond::<Value>(self.id.clone(), Err(failure(Failure::Cancelled)));
    }
}

/// Reports documents, chunk by chunk: the changed ones, and if `all` is set also the unchanged ones.
fn round(
    core: &Core,
    pending: &Pending,
    client: &Mutex<BTreeMap<String, String>>,
    scope: Scope,
    all: bool,
    tell: &mut dyn FnMut(Vec<Value>),
) -> Result<(), Failure> {
    let mut chunk = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut report = |found: Found, chunk: &mut Vec<Value>| {
        let mut client = locked(client);
        let unchanged = client.get(&found.uri) == Some(&found.name);
        if unchanged && !all {
            return;
        }
        let mut row = json!({ "uri": found.uri, "version": found.version, "resultId": found.name });
        if unchanged {
            row["kind"] = json!("unchanged");
        } else {
            row["kind"] = json!("full");
            row["items"] = found.items;
            client.insert(found.uri, found.name);
        }
        chunk.push(row);
        if chunk.len() == CHUNK {
            tell(std::mem::take(chunk));
        }
    };
    let open: Vec<String> = core.snapshot().documents.keys().cloned().collect();
    for uri in open {
        if let Some(found) = open_document(core, &uri, pending)? {
            seen.insert(uri);
            report(found, &mut chunk);
        }
    }
    if scope == Scope::Files {
        files(core, pending, &mut seen, &mut |found| report(found, &mut chunk))?;
        // A removed file has no diagnostics.
        let gone: Vec<String> = locked(client).keys().filter(|uri| !seen.contains(*uri)).cloned().collect();
        for uri in gone {
            locked(client).remove(&uri);
            chunk.push(json!({ "uri": uri, "version": null, "kind": "full", "items": [] }));
        }
    }
    if !chunk.is_empty() {
        tell(chunk);
    }
    Ok(())
}

/// The diagnostics of an open document; `None` if it was closed.
fn open_document(core: &Core, uri: &str, pending: &Pending) -> Result<Option<Found>, Failure> {
    loop {
        if pending.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        let snapshot = core.snapshot();
        let Some(version) = snapshot.documents.get(uri).map(|document| document.version) else {
            return Ok(None);
        };
        match diagnostics::named(snapshot, uri) {
            Ok((name, items)) => {
                return Ok(Some(Found { uri: uri.to_owned(), version: Some(version), name, items }));
            }
            // The text changed: the new one is read.
            Err(Failure::Cancelled) => {}
            Err(other) => return Err(other),
        }
    }
}

/// The diagnostics of files that are not open.
fn files(
    core: &Core,
    pending: &Pending,
    seen: &mut BTreeSet<String>,
    report: &mut dyn FnMut(Found),
) -> Result<(), Failure> {
    let folders = locked(&core.folders).clone();
    // A client may spell a URI otherwise: files are compared by their paths.
    let open: BTreeSet<PathBuf> =
        core.snapshot().documents.keys().filter_map(|address| uri::to_path(address)).collect();
    let mut kept: BTreeMap<String, Known> = BTreeMap::new();
    let mut too_large = Vec::new();
    let mut host: Option<(AnalysisHost, usize)> = None;
    for path in folders.iter().flat_map(|folder| core.environment.sources(folder)) {
        if pending.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        let address = uri::from_path(&path.to_string_lossy());
        if seen.contains(&address) || open.contains(&path) {
            continue;
        }
        let Some(bytes) = core.environment.read(&path, LARGEST) else { continue };
        if bytes.len() > LARGEST {
            too_large.push(address);
            continue;
        }
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let hash = hasher.finish();
        let known = match core.shared.files.known(&address, hash) {
            Some(known) => known,
            None => {
                // A host that has read many files is large; a new one costs little.
                let (own, count) = host.get_or_insert_with(|| (AnalysisHost::new(), 0));
                *count += 1;
                let items = closed_document(own, core, &path, bytes)?;
                if *count == CHUNK {
                    host = None;
                }
                (hash, diagnostics::name(&items), items)
            }
        };
        seen.insert(address.clone());
        report(Found { uri: address.clone(), version: None, name: known.1.clone(), items: known.2.clone() });
        kept.insert(address, known);
    }
    core.shared.files.replace(kept, too_large);
    Ok(())
}

fn closed_document(
    host: &mut AnalysisHost,
    core: &Core,
    path: &Path,
    bytes: Vec<u8>,
) -> Result<Value, Failure> {
    let Ok(text) = String::from_utf8(bytes) else {
        let start = json!({ "line": 0, "character": 0 });
        return Ok(json!([{
            "range": { "start": start, "end": start }, "severity": 1, "source": "oriole",
            "code": Code::NotUtf8.as_str(), "message": format!("{} is no UTF-8 text", path.display())
        }]));
    };
    let file = host.open(Language::Ptx, &text, SettingsId(0));
    let address = uri::from_path(&path.to_string_lossy());
    let items = {
        let analysis = host.analysis();
        let text = Text::of(&analysis, file, core.client.encoding)
            .ok_or_else(|| Failure::Failed("a file that was opened is not there".to_owned()))?;
        let found = analysis.diagnostics(file)?;
        answer(found.iter().map(|found| convert::diagnostic(&text, &address, found)).collect::<Vec<_>>())?
    };
    host.close(file);
    Ok(items)
}
