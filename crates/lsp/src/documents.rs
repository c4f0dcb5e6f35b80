//! Documents are opened, changed and closed: each change is applied to the host at once, and follow-up work is queued.
//!
//! It knows no message and no request: the main loop calls it, in its own thread.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use gen_lsp_types as lsp;
use oriole_ide::{Change, EditedText, Language, LineIndex, Position, Range, Settings, SettingsId};
use serde_json::{Value, json};

use crate::background::{compile_in_background, push_diagnostics};
use crate::client::Client;
use crate::hosts::{Core, HostState};
use crate::kernel_profile::ProfileSettings;
use crate::lock::locked;
use crate::outcome::{Answer, Failure};
use crate::pool::Pool;
use crate::profiles::profile_in_background;
use crate::ruling::rule;
use crate::snapshot::Document;
use crate::virtual_documents::SCHEME;
use crate::workspace::{Scope, Stream};
use crate::{extensions, sass_map, unopened, uri};

/// Idle time before code is compiled in the background.
const REST: Duration = Duration::from_millis(300);

/// The documents that a client has open, and the work that their changes lead to.
pub(crate) struct Documents {
    pub core: Arc<Core>,
    pub pool: Pool,
    /// The settings of each root, by its path.
    settings: BTreeMap<String, (SettingsId, Settings)>,
    /// The client's spelling of the URIs of open documents, by their canonical spelling.
    spellings: BTreeMap<String, String>,
    pub client_settings: Value,
    /// Errors of the configuration that were reported.
    warned: BTreeSet<String>,
    /// Documents that changed since they were compiled, and when to compile them.
    dirty: BTreeSet<String>,
    pub rest_until: Option<Instant>,
    /// Set when the compiles in the background are to stop.
    pub stop: Arc<AtomicBool>,
    /// Streams of workspace diagnostics.
    pub streams: Vec<Arc<Stream>>,
}

impl Documents {
    /// No documents yet; settings 0 are those of a client without folders.
    pub fn new(core: Arc<Core>, pool: Pool, client_settings: Value) -> Documents {
        Documents {
            core,
            pool,
            settings: BTreeMap::from([(String::new(), (SettingsId(0), Settings::default()))]),
            spellings: BTreeMap::new(),
            client_settings,
            warned: BTreeSet::new(),
            dirty: BTreeSet::new(),
            rest_until: None,
            stop: Arc::default(),
            streams: Vec::new(),
        }
    }

    /// Rewrites the URIs of open documents in the parameters as the client wrote them when it opened them: two
    /// spellings of one URI are one document.
    pub fn respell(&self, parameters: &mut Value) {
        let document = [&["textDocument", "uri"][..], &["uri"], &["item", "uri"], &["arguments", "0", "uri"]];
        for path in document {
            let place = path.iter().try_fold(&mut *parameters, |value, key| match value {
                Value::Object(map) => map.get_mut(*key),
                Value::Array(list) => list.first_mut(),
                _ => None,
            });
            if let Some(Value::String(address)) = place
                && let Some(known) = self.spellings.get(&uri::one_spelling(address))
                && known != address
            {
                address.clone_from(known);
            }
        }
    }

    /// Keeps the spelling of a URI, from `didOpen` to `didClose`.
    fn spell(&mut self, address: &str, open: bool) {
        let spelling = uri::one_spelling(address);
        if open {
            self.spellings.insert(spelling, address.to_owned())
        } else {
            self.spellings.remove(&spelling)
        };
    }

    /// Chooses the chip that a document is shown for.
    pub fn set_target(&mut self, argument: &Value) -> Answer {
        let uri = argument["uri"].as_str().unwrap_or_default();
        let chip = match argument["chip"].as_str() {
            Some(name) => {
                Some(name.parse::<oriole_chip::Chip>().map_err(|error| Failure::Invalid(error.to_string()))?)
            }
            None => None,
        };
        if let Some(chip) = chip.filter(|chip| !chip.is_supported()) {
            return Err(Failure::Invalid(format!("{chip} is not supported")));
        }
        {
            let mut state = locked(&self.core.state);
            let document = state.documents.get(uri).cloned();
            let document = document.ok_or_else(|| Failure::Invalid(format!("`{uri}` is not open")))?;
            state.apply(move |host| host.set_target(document.file, chip));
            self.core.commit(&mut state);
        }
        self.touched(uri);
        self.core.refresh();
        self.core.refresh_content(uri);
        if self.core.client.refreshes_tokens {
            self.core.request("workspace/semanticTokens/refresh", Value::Null);
        }
        Ok(Value::Null)
    }

    /// Opens a document with the settings of its folder.
    pub fn open(&mut self, item: lsp::TextDocumentItem) {
        let address = item.uri.0;
        let language = serde_json::to_value(&item.language_id).unwrap_or_default();
        let Some(language) = language_of(&address, language.as_str().unwrap_or_default()) else { return };
        self.spell(&address, true);
        let path = uri::to_path(&address);
        let ruling = rule(path.as_deref(), &self.client_settings, &*self.core.environment);
        self.warn(&ruling.warnings);
        {
            let mut state = locked(&self.core.state);
            let state = &mut *state;
            let settings = settings_of(&mut self.settings, state, &ruling.root, ruling.settings);
            if let Some(path) = &path {
                unopened::remove(state, path);
            }
            if let Some(known) = state.documents.get(&address).map(|known| known.file) {
                state.apply(move |host| host.close(known));
            }
            let text = item.text;
            let file = state.apply(move |host| host.open(language, &text, settings));
            self.core.shared.forget(file);
            let document = Document {
                file,
                version: item.version,
                text: state.next_text(),
                hints: ruling.hints,
                background: ruling.background && language == Language::Ptx,
                profile: of_ptx(ruling.profile, language == Language::Ptx),
                root: ruling.root,
            };
            Arc::make_mut(&mut state.documents).insert(address.clone(), document);
            self.core.commit(state);
        }
        self.touched(&address);
        self.tell_status(&address);
    }

    /// Reports the features that are switched off for a document.
    fn tell_status(&self, uri: &str) {
        let snapshot = self.core.snapshot();
        let Ok(file) = snapshot.file(uri) else { return };
        if snapshot.analysis.switched_off(file).is_empty() {
            return;
        }
        let status = extensions::status(&snapshot);
        drop(snapshot);
        if self.core.client.status {
            self.core.notify("ptx/serverStatus", status);
        } else if let Some(message) = status["message"].as_str() {
            self.core.notify("window/showMessage", json!({ "type": 3, "message": message }));
        }
    }

    /// Changes the text of a document.
    pub fn change(&mut self, parameters: Value) {
        let Some(address) = parameters["textDocument"]["uri"].as_str() else { return };
        let address = address.to_owned();
        {
            let since = Instant::now();
            let mut state = locked(&self.core.state);
            let Some(document) = state.documents.get(&address).cloned() else { return };
            state.host.cancel();
            self.core.shared.waited(since.elapsed());
            let changes = {
                let analysis = state.host.analysis();
                let (Some(text), Some(lines)) = (analysis.text(document.file), analysis.lines(document.file))
                else {
                    return;
                };
                drop(analysis);
                changes(&parameters["contentChanges"], &text, &lines, self.core.client)
            };
            state.change(document.file, &changes);
            let version = parameters["textDocument"]["version"].as_i64().unwrap_or_default() as i32;
            let text = state.next_text();
            if let Some(document) = Arc::make_mut(&mut state.documents).get_mut(&address) {
                (document.version, document.text) = (version, text);
            }
            self.core.commit(&mut state);
        }
        self.touched(&address);
    }

    /// After a change: diagnostics and followed code at once, the rest when the text is at rest.
    fn touched(&mut self, uri: &str) {
        let document = locked(&self.core.state).documents.get(uri).cloned();
        let Some(document) = document else { return };
        let version = document.version;
        if !self.core.client.pulls_diagnostics {
            let (core, uri) = (self.core.clone(), uri.to_owned());
            self.pool.urgent(move || push_diagnostics(&core, &uri, version));
        }
        if !self.core.shared.followed.of(uri).is_empty() {
            let (core, uri) = (self.core.clone(), uri.to_owned());
            self.pool.building(move || sass_map::push(&core, &uri, version));
        }
        if document.background || document.profile.enable {
            self.dirty.insert(uri.to_owned());
        }
        if document.background || document.profile.enable || !self.streams.is_empty() {
            self.rest_until = Some(Instant::now() + REST);
        }
    }

    /// Compiles, and then profiles, the documents that changed: the text is at rest.
    pub fn rest(&mut self) {
        self.rest_until = None;
        let mut profiled = Vec::new();
        for uri in std::mem::take(&mut self.dirty) {
            let document = locked(&self.core.state).documents.get(&uri).cloned();
            let Some(Document { version, background, profile, .. }) = document else { continue };
            if profile.enable {
                profiled.push((uri.clone(), version));
            }
            if !background {
                continue;
            }
            let (core, stop) = (self.core.clone(), self.stop.clone());
            let streams = self.streams.clone();
            self.pool.patient(move || {
                if compile_in_background(&core, &uri, version, &stop) {
                    streams
                        .iter()
                        .filter(|stream| stream.wake(Scope::Open))
                        .for_each(|stream| stream.work(&core, false));
                }
            });
        }
        for (uri, version) in profiled {
            let (core, stop) = (self.core.clone(), self.stop.clone());
            self.pool.running(move || profile_in_background(&core, &uri, version, &stop));
        }
        self.wake(Scope::Open);
    }

    /// Wakes the streams of diagnostics.
    pub fn wake(&self, scope: Scope) {
        for stream in self.streams.iter().filter(|stream| stream.wake(scope)) {
            let (core, stream) = (self.core.clone(), stream.clone());
            self.pool.building(move || stream.work(&core, false));
        }
    }

    /// Closes a document.
    pub fn close(&mut self, uri: &str) {
        self.spell(uri, false);
        {
            let mut state = locked(&self.core.state);
            let Some(document) = Arc::make_mut(&mut state.documents).remove(uri) else { return };
            state.apply(move |host| host.close(document.file));
            self.core.commit(&mut state);
            self.core.shared.forget(document.file);
            self.core.shared.followed.forget(uri);
        }
        // From now on its text is that of the file, if it is one of the workspace.
        if let Some(path) = uri::to_path(uri) {
            self.core.files.forget(path);
        }
        self.wake(Scope::Files);
        self.dirty.remove(uri);
        if !self.core.client.pulls_diagnostics {
            let parameters = json!({ "uri": uri, "diagnostics": [] });
            self.core.notify("textDocument/publishDiagnostics", parameters);
        }
    }

    /// Reads the configuration again for every document. Unchanged settings cancel nothing.
    pub fn reload(&mut self) {
        let uris: Vec<String> = locked(&self.core.state).documents.keys().cloned().collect();
        let mut changed = Vec::new();
        for address in uris {
            let path = uri::to_path(&address);
            let ruling = rule(path.as_deref(), &self.client_settings, &*self.core.environment);
            self.warn(&ruling.warnings);
            let mut state = locked(&self.core.state);
            let state = &mut *state;
            let Some(document) = state.documents.get(&address).cloned() else { continue };
            let is_ptx = state.host.analysis().language(document.file) == Some(Language::Ptx);
            let now = Document {
                hints: ruling.hints,
                background: ruling.background && is_ptx,
                profile: of_ptx(ruling.profile, is_ptx),
                root: ruling.root,
                ..document.clone()
            };
            let known = self.settings.get(&now.root).is_some_and(|(_, known)| *known == ruling.settings);
            if known && now == document && !changed.contains(&now.root) {
                continue;
            }
            let settings = settings_of(&mut self.settings, state, &now.root, ruling.settings);
            let file = now.file;
            changed.push(now.root.clone());
            self.core.shared.forget_profiles(file);
            state.apply(move |host| host.set_file_settings(file, settings));
            Arc::make_mut(&mut state.documents).insert(address.clone(), now);
            self.core.commit_settings(state);
        }
        if changed.is_empty() {
            return;
        }
        let uris: Vec<String> = locked(&self.core.state).documents.keys().cloned().collect();
        for address in &uris {
            self.touched(address);
        }
        self.core.refresh();
        uris.iter().for_each(|uri| self.core.refresh_content(uri));
    }

    /// Reports errors of the configuration, each once.
    fn warn(&mut self, warnings: &[String]) {
        for warning in warnings {
            if self.warned.insert(warning.clone()) {
                let message = format!("oriole: {warning}");
                self.core.notify("window/showMessage", json!({ "type": 2, "message": message }));
            }
        }
    }
}

/// The settings of a root, created on first use and brought up to date.
fn settings_of(
    known: &mut BTreeMap<String, (SettingsId, Settings)>,
    state: &mut HostState,
    root: &str,
    settings: Settings,
) -> SettingsId {
    if let Some((id, now)) = known.get_mut(root) {
        let id = *id;
        if *now != settings {
            now.clone_from(&settings);
            state.apply(move |host| host.set_settings(id, settings.clone()));
        }
        return id;
    }
    let kept = settings.clone();
    let id = state.apply(move |host| host.add_settings(settings.clone()));
    known.insert(root.to_owned(), (id, kept));
    id
}

/// The settings of profiles of a document: only kernels of PTX are profiled.
fn of_ptx(settings: ProfileSettings, is_ptx: bool) -> ProfileSettings {
    ProfileSettings { enable: settings.enable && is_ptx, ..settings }
}

/// The language of a document; `None` for other documents.
fn language_of(uri: &str, id: &str) -> Option<Language> {
    if uri.starts_with(&format!("{SCHEME}:")) {
        return None;
    }
    let extension = Path::new(uri).extension().and_then(|extension| extension.to_str()).unwrap_or("");
    match id {
        "ptx" => Some(Language::Ptx),
        "cuda" | "cuda-cpp" | "cpp" | "c" => Some(Language::Cuda),
        "rust" => Some(Language::Rust),
        "cubin" => None,
        _ => match extension {
            "cu" | "cuh" | "h" | "hpp" | "cpp" | "cc" => Some(Language::Cuda),
            "rs" => Some(Language::Rust),
            "ptx" => Some(Language::Ptx),
            _ => None,
        },
    }
}

/// Changes of the protocol as changes in bytes.
fn changes(list: &Value, text: &str, lines: &Arc<LineIndex>, client: Client) -> Vec<Change> {
    let list: Vec<&Value> = list.as_array().into_iter().flatten().collect();
    let mut changes = Vec::with_capacity(list.len());
    let mut edited = EditedText::new(text, lines.clone());
    for (index, change) in list.iter().enumerate() {
        let range: Option<lsp::Range> = serde_json::from_value(change["range"].clone()).ok();
        let range = range.map(|range| {
            let at = |position: lsp::Position| {
                let position = Position { line: position.line, column: position.character };
                edited.offset(position, client.encoding)
            };
            let start = at(range.start);
            Range::new(start, at(range.end).max(start))
        });
        let change = Change { range, text: change["text"].as_str().unwrap_or_default().to_owned() };
        if index + 1 < list.len() {
            edited.apply(&change);
        }
        changes.push(change);
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_count_in_the_text_that_the_ones_before_left() {
        let text: Arc<str> = "a\u{1f600}b\nc\n".into();
        let lines = Arc::new(LineIndex::of_document(&text));
        let list = json!([
            { "range": { "start": {"line": 0, "character": 3}, "end": {"line": 0, "character": 4} }, "text": "x\ny" },
            { "range": { "start": {"line": 1, "character": 1}, "end": {"line": 2, "character": 1} }, "text": "" },
            { "text": "whole" }
        ]);
        let found = changes(&list, &text, &lines, Client::default());
        let ranges: Vec<Option<Range>> = found.iter().map(|change| change.range).collect();
        assert_eq!(ranges, [Some(Range::new(5, 6)), Some(Range::new(8, 10)), None]);
    }

    #[test]
    fn languages() {
        assert_eq!(language_of("file:///a.ptx", "plaintext"), Some(Language::Ptx));
        assert_eq!(language_of("file:///a.cu", ""), Some(Language::Cuda));
        assert_eq!(language_of("file:///a", "rust"), Some(Language::Rust));
        assert_eq!(language_of("file:///a.ptx.md", "markdown"), None);
        assert_eq!(language_of("untitled:Untitled-1", "ptx"), Some(Language::Ptx));
        assert_eq!(language_of("oriole:///sass/k.sass?uri=x", "sass"), None);
    }
}
