//! The main loop: messages in, changes applied, requests handed to workers, answers out.
//!
//! The thread that reads messages holds no snapshot and computes nothing. A worker takes its snapshot when it starts, so
//! that what waits in a queue never holds up a change; it does not start if the text has changed since it was asked.
//!
//! There are two hosts of the same texts. The first one answers what reads trees and types; its questions are short, so a
//! change never waits for them. The second one, the workshop, compiles. A compile is cancelled between two phases only,
//! which may take long in a large kernel; it is the thread of the workshop that waits for that and not the one that reads
//! messages. Both get the same changes in the same order, and so give files and settings the same numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use gen_lsp_types as lsp;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response, ResponseError};
use oriole_ide::{
    AnalysisHost, Canceller, Change, Language, LineIndex, Position, Range, Settings, SettingsId,
};
use serde_json::{Value, json};

use crate::capabilities::{self, Client};
use crate::config::{self, rule};
use crate::environment::Environment;
use crate::pool::Pool;
use crate::requests::{Cost, Row, row};
use crate::state::{Answer, Document, Failure, Shared, Snapshot, parse};
use crate::virtual_documents::SCHEME;
use crate::{extensions, findings, uri};

/// How long nothing must change before code is compiled in the background.
const REST: Duration = Duration::from_millis(300);
/// Work that takes longer shows its progress.
const SHOWN_AFTER: Duration = Duration::from_millis(500);

/// The error of a request that was cancelled because the text changed, and that the client may send again.
const SERVER_CANCELLED: i32 = -32802;
const REQUEST_FAILED: i32 = -32803;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request that has no answer yet.
#[derive(Default)]
struct Pending {
    cancelled: AtomicBool,
    canceller: Mutex<Option<Canceller>>,
}

impl Pending {
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        if let Some(canceller) = &*locked(&self.canceller) {
            canceller.cancel();
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }
}

/// Something that is done to a host.
type Act = Box<dyn FnOnce(&mut AnalysisHost) + Send>;

/// What the workshop has to do to reach a revision.
struct Order {
    acts: Vec<Act>,
    documents: Arc<BTreeMap<String, Document>>,
    revision: u64,
}

/// A host with what belongs to it.
struct HostState {
    host: AnalysisHost,
    documents: Arc<BTreeMap<String, Document>>,
    /// Counts changes of texts and settings.
    revision: u64,
    /// What has been done to this host and not yet to the workshop's.
    acts: Vec<Act>,
}

impl HostState {
    fn new() -> HostState {
        HostState { host: AnalysisHost::counting(), documents: Arc::default(), revision: 0, acts: Vec::new() }
    }

    /// Does something to the host, and notes it for the workshop.
    fn apply<T>(&mut self, act: impl Fn(&mut AnalysisHost) -> T + Send + 'static) -> T {
        let result = act(&mut self.host);
        self.acts.push(Box::new(move |host| {
            act(host);
        }));
        result
    }
}

/// What the main thread and the workers share.
struct Core {
    state: Mutex<HostState>,
    workshop: Mutex<HostState>,
    /// Tells that the workshop has reached a revision.
    reached: Condvar,
    /// Nothing ends the workshop.
    orders: Sender<Option<Order>>,
    sender: Sender<Message>,
    client: Client,
    environment: Arc<dyn Environment>,
    shared: Arc<Shared>,
    pending: Mutex<BTreeMap<RequestId, Arc<Pending>>>,
    /// Documents of our own that the client shows.
    shown: Mutex<BTreeSet<String>>,
    requests: Mutex<i32>,
}

impl Core {
    fn new(
        sender: Sender<Message>,
        client: Client,
        environment: Arc<dyn Environment>,
    ) -> (Core, Receiver<Option<Order>>) {
        let (orders, receiver) = unbounded();
        let core = Core {
            state: Mutex::new(HostState::new()),
            workshop: Mutex::new(HostState::new()),
            reached: Condvar::new(),
            orders,
            sender,
            client,
            environment,
            shared: Arc::default(),
            pending: Mutex::default(),
            shown: Mutex::default(),
            requests: Mutex::new(0),
        };
        (core, receiver)
    }

    fn of(&self, state: &HostState) -> Snapshot {
        Snapshot {
            analysis: state.host.analysis(),
            documents: state.documents.clone(),
            client: self.client,
            environment: self.environment.clone(),
            shared: self.shared.clone(),
            revision: state.revision,
        }
    }

    /// A snapshot for what reads trees and types.
    fn snapshot(&self) -> Snapshot {
        self.of(&locked(&self.state))
    }

    /// A snapshot for what compiles, of this revision or a later one.
    fn building_snapshot(&self, revision: u64) -> Snapshot {
        let mut state = locked(&self.workshop);
        while state.revision < revision {
            state = self.reached.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.of(&state)
    }

    /// After changes: counts the revision and has the workshop follow.
    fn commit(&self, state: &mut HostState) {
        state.revision += 1;
        let (acts, documents) = (std::mem::take(&mut state.acts), state.documents.clone());
        let _ = self.orders.send(Some(Order { acts, documents, revision: state.revision }));
    }

    /// The workshop: follows until it is told to end.
    fn follow(&self, orders: &Receiver<Option<Order>>) {
        while let Ok(Some(order)) = orders.recv() {
            let mut state = locked(&self.workshop);
            for act in order.acts {
                act(&mut state.host);
            }
            (state.documents, state.revision) = (order.documents, order.revision);
            drop(state);
            self.reached.notify_all();
        }
    }

    fn send(&self, message: impl Into<Message>) {
        // The client may be gone; the loop ends when it notices.
        let _ = self.sender.send(message.into());
    }

    fn notify(&self, method: &str, parameters: Value) {
        self.send(Notification { method: method.to_owned(), params: parameters });
    }

    /// Sends a request to the client and gives its number.
    fn request(&self, method: &str, parameters: Value) -> RequestId {
        let mut last = locked(&self.requests);
        *last += 1;
        let id = RequestId::from(format!("oriole/{last}"));
        self.send(Request { id: id.clone(), method: method.to_owned(), params: parameters });
        id
    }

    /// Answers a request, once.
    fn respond(&self, id: RequestId, result: Result<Value, ResponseError>) {
        if locked(&self.pending).remove(&id).is_some() {
            self.send(Response { id, response_result: result });
        }
    }

    /// What a client shows of compiled code is no longer current.
    fn refresh(&self) {
        let wanted = [
            (self.client.refreshes_diagnostics, "workspace/diagnostic/refresh"),
            (self.client.refreshes_hints, "workspace/inlayHint/refresh"),
            (self.client.refreshes_lenses, "workspace/codeLens/refresh"),
        ];
        for (_, method) in wanted.iter().filter(|(wanted, _)| *wanted) {
            self.request(method, Value::Null);
        }
        if self.client.refreshes_content {
            for uri in locked(&self.shown).iter() {
                self.request("workspace/textDocumentContent/refresh", json!({ "uri": uri }));
            }
        }
    }
}

fn error(code: i32, message: impl Into<String>) -> ResponseError {
    ResponseError { code, message: message.into(), data: None }
}

/// What a panic said.
fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

/// Runs a request on a worker.
fn run(core: &Core, request: Request, row: Row, pending: &Pending, revision: u64) {
    let id = request.id.clone();
    let outdated = || {
        if pending.is_cancelled() {
            return error(ErrorCode::RequestCanceled as i32, "cancelled by the client");
        }
        if row.method == "textDocument/diagnostic" {
            let data = Some(json!({ "retriggerRequest": true }));
            return ResponseError { code: SERVER_CANCELLED, message: "the text changed".to_owned(), data };
        }
        error(ErrorCode::ContentModified as i32, "the text changed")
    };
    let snapshot = match row.cost {
        Cost::Reads => core.snapshot(),
        Cost::Builds | Cost::BuildsMuch => core.building_snapshot(revision),
    };
    if snapshot.revision != revision || pending.is_cancelled() {
        drop(snapshot);
        return core.respond(id, Err(outdated()));
    }
    *locked(&pending.canceller) = Some(snapshot.analysis.canceller());
    if pending.is_cancelled() {
        pending.cancel();
    }
    let answer = catch_unwind(AssertUnwindSafe(|| (row.run)(snapshot, request.params)));
    let result = match answer {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(Failure::Cancelled)) => Err(outdated()),
        Ok(Err(Failure::Invalid(message))) => Err(error(ErrorCode::InvalidParams as i32, message)),
        Ok(Err(Failure::Failed(message))) => Err(error(REQUEST_FAILED, message)),
        Err(payload) => {
            let message = format!("`{}` failed: {}", row.method, panic_text(&*payload));
            Err(error(ErrorCode::InternalError as i32, message))
        }
    };
    core.respond(id, result);
}

/// Pushes the findings of a document. A change elsewhere cancels it and it begins again; a change of the document itself
/// has its own push.
fn push_findings(core: &Core, uri: &str, version: i32) {
    loop {
        let snapshot = core.snapshot();
        if snapshot.documents.get(uri).is_none_or(|document| document.version != version) {
            return;
        }
        match findings::push(snapshot, uri) {
            Ok(parameters) => return core.notify("textDocument/publishDiagnostics", parameters),
            Err(Failure::Cancelled) => {}
            Err(_) => return,
        }
    }
}

/// Compiles a document kernel by kernel, and shows what code generation found.
fn compile_in_background(core: &Core, uri: &str, version: i32, stop: &AtomicBool) {
    let mut progress = Progress::new(core);
    let revision = locked(&core.state).revision;
    loop {
        let snapshot = core.building_snapshot(revision);
        if snapshot.documents.get(uri).is_none_or(|document| document.version != version) {
            return progress.end();
        }
        match compile_all(&snapshot, uri, &mut progress, stop) {
            Ok(changed) => {
                let pulls = snapshot.client.pulls_diagnostics;
                drop(snapshot);
                progress.end();
                if changed {
                    if !pulls {
                        push_findings(core, uri, version);
                    }
                    core.refresh();
                }
                return;
            }
            Err(Failure::Cancelled) => {}
            Err(_) => return progress.end(),
        }
    }
}

/// Whether anything changed in what is shown.
fn compile_all(
    snapshot: &Snapshot,
    uri: &str,
    progress: &mut Progress<'_>,
    stop: &AtomicBool,
) -> Result<bool, Failure> {
    let file = snapshot.file(uri)?;
    let chip = snapshot.chip(file, None)?;
    let kernels = snapshot.analysis.kernels(file)?;
    for (at, kernel) in kernels.iter().enumerate() {
        if stop.load(Ordering::SeqCst) {
            return Ok(false);
        }
        progress.report(kernel, at, kernels.len());
        snapshot.analysis.lens(file, kernel, chip)?;
    }
    let found = snapshot.analysis.code_findings(file, chip)?;
    Ok(snapshot.shared.keep_code(file, snapshot.revision, found))
}

/// Progress that is shown once it takes long.
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

/// A report about both hosts.
type Report = fn(&mut AnalysisHost, &mut AnalysisHost) -> Value;

fn report(method: &str) -> Option<Report> {
    match method {
        "ptx/queryStats" => Some(|first, second| {
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for row in first.query_counts().into_iter().chain(second.query_counts()) {
                *counts.entry(row.name).or_default() += row.count;
            }
            let rows = counts.iter().map(|(name, count)| json!({ "query": name, "executions": count }));
            Value::Array(rows.collect())
        }),
        "ptx/memoryUsage" => Some(|first, second| {
            let mut sums: BTreeMap<String, (usize, usize)> = BTreeMap::new();
            for row in first.memory().into_iter().chain(second.memory()) {
                let sum = sums.entry(row.name).or_default();
                (sum.0, sum.1) = (sum.0 + row.count, sum.1 + row.bytes);
            }
            let total: usize = sums.values().map(|sum| sum.1).sum();
            let mut rows: Vec<_> = sums.into_iter().collect();
            rows.sort_by(|left, right| (right.1.1, &left.0).cmp(&(left.1.1, &right.0)));
            let rows: Vec<Value> = rows
                .iter()
                .map(|(name, (count, bytes))| json!({ "name": name, "count": count, "bytes": bytes }))
                .collect();
            json!({ "bytes": total, "rows": rows })
        }),
        _ => None,
    }
}

struct Server {
    core: Arc<Core>,
    pool: Pool,
    settings: BTreeMap<String, SettingsId>,
    client_settings: Value,
    /// The number of the question for settings that is open.
    asked_settings: Option<RequestId>,
    warned: BTreeSet<String>,
    /// Documents that changed since they were compiled, and when to compile them.
    dirty: BTreeSet<String>,
    rest_until: Option<Instant>,
    stop: Arc<AtomicBool>,
}

/// Serves one client until it says goodbye or its streams end.
///
/// # Errors
/// The client broke the protocol before it was initialized, or after it said goodbye.
pub fn serve(connection: Connection, environment: Arc<dyn Environment>) -> Result<(), String> {
    let (id, parameters) = connection.initialize_start().map_err(|error| error.to_string())?;
    let client = Client::new(&parameters);
    let answer = json!({
        "capabilities": capabilities::server(&client),
        "serverInfo": { "name": "oriole", "version": env!("CARGO_PKG_VERSION") }
    });
    connection.initialize_finish(id, answer).map_err(|error| error.to_string())?;
    let (core, orders) = Core::new(connection.sender.clone(), client, environment);
    let core = Arc::new(core);
    let workshop = {
        let core = core.clone();
        std::thread::Builder::new().spawn(move || core.follow(&orders)).map_err(|error| error.to_string())?
    };
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get()).clamp(2, 8);
    let mut server = Server {
        core,
        pool: Pool::new(threads),
        settings: BTreeMap::from([(String::new(), SettingsId(0))]),
        client_settings: parameters["initializationOptions"].clone(),
        asked_settings: None,
        warned: BTreeSet::new(),
        dirty: BTreeSet::new(),
        rest_until: None,
        stop: Arc::default(),
    };
    server.greet();
    let result = server.listen(&connection);
    server.stop.store(true, Ordering::SeqCst);
    // What still runs is not wanted any more. The workers end first, since they may wait for the workshop.
    {
        let mut state = locked(&server.core.state);
        state.apply(AnalysisHost::cancel);
        server.core.commit(&mut state);
    }
    let core = server.core.clone();
    drop(server);
    let _ = core.orders.send(None);
    let ended = workshop.join().map_err(|payload| panic_text(&*payload));
    result.and(ended)
}

impl Server {
    fn greet(&mut self) {
        let client = self.core.client;
        if client.watches {
            let watchers = json!([{ "globPattern": format!("**/{}", config::FILE) }]);
            let registration = json!({
                "id": "oriole/watch", "method": "workspace/didChangeWatchedFiles",
                "registerOptions": { "watchers": watchers }
            });
            self.core.request("client/registerCapability", json!({ "registrations": [registration] }));
        }
        self.ask_settings();
    }

    fn ask_settings(&mut self) {
        if self.core.client.configuration {
            let items = json!({ "items": [{ "section": "oriole" }] });
            self.asked_settings = Some(self.core.request("workspace/configuration", items));
        }
    }

    fn listen(&mut self, connection: &Connection) -> Result<(), String> {
        loop {
            let message = match self.rest_until {
                Some(until) => connection.receiver.recv_deadline(until),
                None => connection.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(Message::Request(request)) => {
                    if connection.handle_shutdown(&request).map_err(|error| error.to_string())? {
                        return Ok(());
                    }
                    self.request(request);
                }
                Ok(Message::Notification(notification)) => {
                    if notification.method == "exit" {
                        return Ok(());
                    }
                    self.notification(notification);
                }
                Ok(Message::Response(response)) => self.response(response),
                Err(RecvTimeoutError::Timeout) => self.rest(),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    // ---- requests

    fn request(&mut self, request: Request) {
        let pending: Arc<Pending> = Arc::default();
        locked(&self.core.pending).insert(request.id.clone(), pending.clone());
        if let Some(answer) = self.own(&request) {
            let result = answer.map_err(|failure| match failure {
                Failure::Cancelled => error(ErrorCode::RequestCanceled as i32, "cancelled"),
                Failure::Invalid(message) => error(ErrorCode::InvalidParams as i32, message),
                Failure::Failed(message) => error(REQUEST_FAILED, message),
            });
            return self.core.respond(request.id, result);
        }
        if let Some(report) = report(&request.method) {
            // The workshop may be in the middle of something; nobody but the one who asked waits for it.
            let core = self.core.clone();
            let id = request.id;
            return self.pool.patient(move || {
                let value = report(&mut locked(&core.state).host, &mut locked(&core.workshop).host);
                core.respond(id, Ok(value));
            });
        }
        let Some(row) = row(&request.method) else {
            let message = format!("there is no request `{}`", request.method);
            return self.core.respond(request.id, Err(error(ErrorCode::MethodNotFound as i32, message)));
        };
        if row.method == "workspace/textDocumentContent"
            && let Some(uri) = request.params["uri"].as_str()
        {
            locked(&self.core.shown).insert(uri.to_owned());
        }
        let core = self.core.clone();
        let revision = locked(&core.state).revision;
        let task = move || run(&core, request, row, &pending, revision);
        match row.cost {
            Cost::Reads => self.pool.urgent(task),
            Cost::Builds => self.pool.building(task),
            Cost::BuildsMuch => self.pool.patient(task),
        }
    }

    /// Requests that need the host itself, and so run here; they are quick.
    fn own(&mut self, request: &Request) -> Option<Answer> {
        Some(match request.method.as_str() {
            "ptx/reload" => {
                self.reload();
                Ok(Value::Null)
            }
            "workspace/executeCommand" if request.params["command"] == "oriole.setTarget" => {
                self.set_target(&request.params["arguments"][0])
            }
            _ => return None,
        })
    }

    fn set_target(&mut self, argument: &Value) -> Answer {
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
        if self.core.client.refreshes_tokens {
            self.core.request("workspace/semanticTokens/refresh", Value::Null);
        }
        Ok(Value::Null)
    }

    fn response(&mut self, response: Response) {
        if self.asked_settings.as_ref() == Some(&response.id) {
            self.asked_settings = None;
            if let Ok(Value::Array(list)) = response.response_result {
                self.client_settings = list.into_iter().next().unwrap_or_default();
                self.reload();
            }
        }
    }

    // ---- notifications

    fn notification(&mut self, notification: Notification) {
        let parameters = notification.params;
        match notification.method.as_str() {
            "textDocument/didOpen" => {
                if let Ok(opened) = parse::<lsp::DidOpenTextDocumentParams>(parameters) {
                    self.open(opened.text_document);
                }
            }
            "textDocument/didChange" => self.change(parameters),
            "textDocument/didClose" => {
                if let Some(uri) = parameters["textDocument"]["uri"].as_str() {
                    self.close(uri);
                }
            }
            "textDocument/didSave" => self.rest(),
            "workspace/didChangeConfiguration" => {
                if self.core.client.configuration {
                    self.ask_settings();
                } else {
                    let settings = &parameters["settings"];
                    let own = if settings["oriole"].is_object() { &settings["oriole"] } else { settings };
                    self.client_settings = own.clone();
                    self.reload();
                }
            }
            "workspace/didChangeWatchedFiles" => self.reload(),
            "$/cancelRequest" => {
                if let Ok(id) = serde_json::from_value::<RequestId>(parameters["id"].clone())
                    && let Some(pending) = locked(&self.core.pending).get(&id)
                {
                    pending.cancel();
                }
            }
            "window/workDoneProgress/cancel" => {
                self.stop.store(true, Ordering::SeqCst);
                self.stop = Arc::default();
            }
            _ => {}
        }
    }

    fn open(&mut self, item: lsp::TextDocumentItem) {
        let address = item.uri.0;
        let language = serde_json::to_value(&item.language_id).unwrap_or_default();
        let Some(language) = language_of(&address, language.as_str().unwrap_or_default()) else { return };
        let path = uri::to_path(&address);
        let ruling = rule(path.as_deref(), &self.client_settings, &*self.core.environment);
        self.warn(&ruling.warnings);
        {
            let mut state = locked(&self.core.state);
            let state = &mut *state;
            let settings = settings_of(&mut self.settings, state, ruling.root, ruling.settings);
            if let Some(known) = state.documents.get(&address).map(|known| known.file) {
                state.apply(move |host| host.close(known));
            }
            let text = item.text;
            let file = state.apply(move |host| host.open(language, &text, settings));
            self.core.shared.forget(file);
            let document = Document {
                file,
                version: item.version,
                hints: ruling.hints,
                background: ruling.background && language == Language::Ptx,
            };
            Arc::make_mut(&mut state.documents).insert(address.clone(), document);
            self.core.commit(state);
        }
        self.touched(&address);
        self.tell_status(&address);
    }

    /// Names what is switched off for a document.
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

    fn change(&mut self, parameters: Value) {
        let Some(address) = parameters["textDocument"]["uri"].as_str() else { return };
        let address = address.to_owned();
        {
            let mut state = locked(&self.core.state);
            let Some(document) = state.documents.get(&address).cloned() else { return };
            let changes = {
                let analysis = state.host.analysis();
                let (Some(text), Some(lines)) = (analysis.text(document.file), analysis.lines(document.file))
                else {
                    return;
                };
                drop(analysis);
                changes(&parameters["contentChanges"], &text, &lines, self.core.client)
            };
            state.apply(move |host| host.change(document.file, &changes));
            let version = parameters["textDocument"]["version"].as_i64().unwrap_or_default() as i32;
            if let Some(document) = Arc::make_mut(&mut state.documents).get_mut(&address) {
                document.version = version;
            }
            self.core.commit(&mut state);
        }
        self.touched(&address);
    }

    /// After a change: findings at once, code when there is rest.
    fn touched(&mut self, uri: &str) {
        let document = locked(&self.core.state).documents.get(uri).cloned();
        let Some(document) = document else { return };
        if !self.core.client.pulls_diagnostics {
            let (core, uri) = (self.core.clone(), uri.to_owned());
            self.pool.urgent(move || push_findings(&core, &uri, document.version));
        }
        if document.background {
            self.dirty.insert(uri.to_owned());
            self.rest_until = Some(Instant::now() + REST);
        }
    }

    fn rest(&mut self) {
        self.rest_until = None;
        for uri in std::mem::take(&mut self.dirty) {
            let version = locked(&self.core.state).documents.get(&uri).map(|document| document.version);
            let Some(version) = version else { continue };
            let (core, stop) = (self.core.clone(), self.stop.clone());
            self.pool.patient(move || compile_in_background(&core, &uri, version, &stop));
        }
    }

    fn close(&mut self, uri: &str) {
        {
            let mut state = locked(&self.core.state);
            let Some(document) = Arc::make_mut(&mut state.documents).remove(uri) else { return };
            state.apply(move |host| host.close(document.file));
            self.core.commit(&mut state);
            self.core.shared.forget(document.file);
        }
        self.dirty.remove(uri);
        if !self.core.client.pulls_diagnostics {
            let parameters = json!({ "uri": uri, "diagnostics": [] });
            self.core.notify("textDocument/publishDiagnostics", parameters);
        }
    }

    /// Reads the configuration again for every document.
    fn reload(&mut self) {
        let uris: Vec<String> = locked(&self.core.state).documents.keys().cloned().collect();
        for address in &uris {
            let path = uri::to_path(address);
            let ruling = rule(path.as_deref(), &self.client_settings, &*self.core.environment);
            self.warn(&ruling.warnings);
            let mut state = locked(&self.core.state);
            let state = &mut *state;
            let settings = settings_of(&mut self.settings, state, ruling.root, ruling.settings);
            let file = state.documents.get(address).map(|document| document.file);
            let Some(file) = file else { continue };
            state.apply(move |host| host.set_file_settings(file, settings));
            let is_ptx = state.host.analysis().language(file) == Some(Language::Ptx);
            if let Some(document) = Arc::make_mut(&mut state.documents).get_mut(address) {
                document.hints = ruling.hints;
                document.background = ruling.background && is_ptx;
            }
            self.core.commit(state);
        }
        for address in &uris {
            self.touched(address);
        }
        if !uris.is_empty() {
            self.core.refresh();
        }
    }

    /// Says once what is wrong with the configuration.
    fn warn(&mut self, warnings: &[String]) {
        for warning in warnings {
            if self.warned.insert(warning.clone()) {
                let message = format!("oriole: {warning}");
                self.core.notify("window/showMessage", json!({ "type": 2, "message": message }));
            }
        }
    }
}

/// The settings of a root, made at first and brought up to date.
fn settings_of(
    known: &mut BTreeMap<String, SettingsId>,
    state: &mut HostState,
    root: String,
    settings: Settings,
) -> SettingsId {
    if let Some(&id) = known.get(&root) {
        state.apply(move |host| host.set_settings(id, settings.clone()));
        return id;
    }
    let id = state.apply(move |host| host.add_settings(settings.clone()));
    known.insert(root, id);
    id
}

/// The language of a document; nothing for what is not ours.
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
            "cubin" => None,
            _ => Some(Language::Ptx),
        },
    }
}

/// Changes of the protocol as changes in bytes.
fn changes(list: &Value, text: &Arc<str>, lines: &Arc<LineIndex>, client: Client) -> Vec<Change> {
    let list: Vec<&Value> = list.as_array().into_iter().flatten().collect();
    let mut changes = Vec::with_capacity(list.len());
    // The text between two changes is only needed if there are several.
    let mut between: Option<(String, LineIndex)> = None;
    for (index, change) in list.iter().enumerate() {
        let new = change["text"].as_str().unwrap_or_default().to_owned();
        let range: Option<lsp::Range> = serde_json::from_value(change["range"].clone()).ok();
        let range = range.map(|range| {
            let (text, lines) = match &between {
                Some((text, lines)) => (text.as_str(), lines),
                None => (&**text, &**lines),
            };
            let at = |position: lsp::Position| {
                let position = Position { line: position.line, column: position.character };
                lines.offset(text, position, client.encoding)
            };
            let start = at(range.start);
            Range::new(start, at(range.end).max(start))
        });
        if index + 1 < list.len() {
            let (mut after, mut after_lines) =
                between.take().unwrap_or_else(|| (text.to_string(), (**lines).clone()));
            match range {
                Some(range) => {
                    after_lines.change(range, &new);
                    after.replace_range(range.start as usize..range.end as usize, &new);
                }
                None => {
                    after = new.clone();
                    after_lines = LineIndex::new(&after);
                }
            }
            between = Some((after, after_lines));
        }
        changes.push(Change { range, text: new });
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_count_in_the_text_that_the_ones_before_left() {
        let text: Arc<str> = "a\u{1f600}b\nc\n".into();
        let lines = Arc::new(LineIndex::new(&text));
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
        assert_eq!(language_of("oriole:///sass/k.sass?uri=x", "sass"), None);
    }

    /// Runs a request that does `run` and gives the error of its answer.
    fn failed(run: fn(Snapshot, Value) -> Answer, cancel: bool, outdated: bool) -> (i32, String) {
        let (server, client) = Connection::memory();
        let (core, _) = Core::new(server.sender.clone(), Client::default(), Arc::new(crate::Nothing));
        let id = RequestId::from(1);
        let pending: Arc<Pending> = Arc::default();
        locked(&core.pending).insert(id.clone(), pending.clone());
        if cancel {
            pending.cancel();
        }
        let request = Request { id, method: "test".to_owned(), params: Value::Null };
        super::run(
            &core,
            request,
            Row { method: "test", run, cost: Cost::Reads },
            &pending,
            u64::from(outdated),
        );
        let Ok(Message::Response(response)) = client.receiver.try_recv() else {
            panic!("there is no answer")
        };
        assert!(client.receiver.try_recv().is_err() && locked(&core.pending).is_empty());
        response
            .response_result
            .map_or_else(|error| (error.code, error.message), |value| (0, value.to_string()))
    }

    #[test]
    fn a_request_fails_alone() {
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let panicked = failed(|_, _| panic!("number {}", 7), false, false);
        std::panic::set_hook(quiet);
        assert_eq!(panicked, (-32603, "`test` failed: number 7".to_owned()));
        assert_eq!(failed(|_, _| Ok(json!(1)), false, false), (0, "1".to_owned()));
        assert_eq!(failed(|_, _| Ok(json!(1)), true, false).0, -32800);
        assert_eq!(failed(|_, _| Ok(json!(1)), false, true).0, -32801);
        assert_eq!(failed(|_, _| Err(Failure::Cancelled), false, false).0, -32801);
    }
}
