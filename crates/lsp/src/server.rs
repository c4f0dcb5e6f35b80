//! The main loop: messages in, changes applied, requests handed to workers, answers out.
//!
//! The thread that reads messages holds no snapshot and computes nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_channel::{Receiver, Sender, at, bounded, never, select};
use gen_lsp_types as lsp;
use lsp_server::{ErrorCode, Message, Notification, ProtocolError, Request, RequestId, Response};
use oriole_ide::AnalysisHost;
use serde_json::{Value, json};

use crate::answers::{panic_text, run};
use crate::capabilities;
use crate::client::Client;
use crate::config;
use crate::connection::{Connection, Outgoing};
use crate::documents::Documents;
use crate::environment::Environment;
use crate::hosts::{Core, Pending};
use crate::lock::locked;
use crate::outcome::{Answer, Failure, error, failure, parse};
use crate::pool::Pool;
use crate::profiles;
use crate::reports::report;
use crate::requests::{Cost, row};
use crate::uri;
use crate::workspace::{self, Begun, Scope};

/// The kind of a change of a watched file that has neither come nor gone.
const CHANGED: i32 = 2;

/// The state of the main loop.
struct Server {
    core: Arc<Core>,
    documents: Documents,
    /// The client has sent `shutdown`; `exit` may follow.
    ending: bool,
    /// The id of the open request for settings.
    asked_settings: Option<RequestId>,
    /// Signals that the process of the client is gone.
    gone: (Sender<()>, Receiver<()>),
}

/// The end of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The client sent `shutdown` and `exit`.
    Goodbye,
    /// The client sent `exit` without `shutdown`.
    Exit,
    /// The messages ended.
    Disconnected,
    /// The process of the client is gone. Output is no longer read, so threads that send may never end: the program
    /// should not wait for them.
    ClientGone,
}

/// Why a client is not served any more.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// It broke the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// A thread of the server cannot be started.
    #[error(transparent)]
    Thread(#[from] std::io::Error),
    /// A thread of the server panicked, with this message.
    #[error("{0}")]
    Panicked(String),
}

/// Serves one client until it exits, its messages end, or the process that it named is gone.
///
/// # Errors
/// The client broke the protocol before it was initialized, or the server cannot go on.
pub fn serve(
    connection: impl Into<Connection>,
    environment: Arc<dyn Environment>,
) -> Result<End, ServeError> {
    let Connection { messages: connection, texts } = connection.into();
    let (id, parameters) = connection.initialize_start()?;
    let client = Client::new(&parameters);
    let answer = json!({
        "capabilities": capabilities::server(&client),
        "serverInfo": { "name": "oriole", "version": env!("CARGO_PKG_VERSION") }
    });
    connection.initialize_finish(id, answer)?;
    let outgoing = Outgoing { messages: connection.sender.clone(), texts };
    let (core, orders) = Core::new(outgoing, client, environment);
    let core = Arc::new(core);
    let workshop = {
        let core = core.clone();
        std::thread::Builder::new().name("lsp-workshop".to_owned()).spawn(move || core.follow(&orders))?
    };
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get()).clamp(2, 8);
    let settings = parameters["initializationOptions"].clone();
    let mut server = Server {
        documents: Documents::new(core.clone(), Pool::new(threads), settings),
        core,
        ending: false,
        asked_settings: None,
        gone: bounded(1),
    };
    *locked(&server.core.folders) = folders(&parameters);
    server.watch_client(&parameters);
    server.greet();
    let end = server.listen(&connection);
    if end == End::ClientGone {
        // A worker that waits for the client to read would wait forever.
        std::mem::forget(server);
        return Ok(end);
    }
    server.documents.stop.store(true, Ordering::SeqCst);
    // Running requests are no longer wanted. The workers end first, since they may wait for the workshop.
    {
        let mut state = locked(&server.core.state);
        state.apply(AnalysisHost::cancel);
        server.core.commit(&mut state);
    }
    let core = server.core.clone();
    drop(server);
    let _ = core.orders.send(None);
    workshop.join().map_err(|payload| ServeError::Panicked(panic_text(&*payload)))?;
    Ok(end)
}

/// The folders that a client works in.
fn folders(parameters: &Value) -> Vec<PathBuf> {
    let path = |uri: &Value| uri.as_str().and_then(uri::to_path);
    match parameters["workspaceFolders"].as_array() {
        Some(list) => list.iter().filter_map(|folder| path(&folder["uri"])).collect(),
        None => path(&parameters["rootUri"]).into_iter().collect(),
    }
}

impl Server {
    /// Ends with the process that the client named.
    fn watch_client(&self, parameters: &Value) {
        let process = parameters["processId"].as_u64().and_then(|number| u32::try_from(number).ok());
        let Some(process) = process else { return };
        let (environment, gone) = (self.core.environment.clone(), self.gone.0.clone());
        // The thread sleeps until then; nothing waits for it.
        let _ = std::thread::Builder::new().name("client".to_owned()).spawn(move || {
            if environment.wait_for_end(process) {
                let _ = gone.send(());
            }
        });
    }

    fn greet(&mut self) {
        let client = self.core.client;
        if client.watches {
            let watchers =
                json!([{ "globPattern": format!("**/{}", config::FILE) }, { "globPattern": "**/*.ptx" }]);
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

    fn listen(&mut self, connection: &lsp_server::Connection) -> End {
        loop {
            let rest = self.documents.rest_until.map_or_else(never, at);
            let message = select! {
                recv(connection.receiver) -> message => message,
                recv(rest) -> _ => {
                    self.documents.rest();
                    continue;
                }
                recv(self.gone.1) -> _ => return End::ClientGone,
            };
            match message {
                Ok(Message::Request(request)) => {
                    if request.method == "shutdown" {
                        self.documents.streams.drain(..).for_each(|stream| stream.end(&self.core));
                    }
                    if self.ending {
                        let refused =
                            error(ErrorCode::InvalidRequest as i32, "the server has been shut down");
                        self.core.send(Response { id: request.id, response_result: Err(refused) });
                    } else if request.method == "shutdown" {
                        self.ending = true;
                        self.core.send(Response { id: request.id, response_result: Ok(Value::Null) });
                    } else {
                        self.request(request);
                    }
                }
                Ok(Message::Notification(notification)) => {
                    if notification.method == "exit" {
                        return if self.ending { End::Goodbye } else { End::Exit };
                    }
                    if !self.ending {
                        self.notification(notification);
                    }
                }
                Ok(Message::Response(_)) if self.ending => {}
                Ok(Message::Response(response)) => self.response(response),
                Err(_) => return End::Disconnected,
            }
        }
    }

    // ---- requests

    fn request(&mut self, mut request: Request) {
        self.documents.respell(&mut request.params);
        let pending: Arc<Pending> = Arc::default();
        locked(&self.core.pending).insert(request.id.clone(), pending.clone());
        if let Some(answer) = self.own(&request) {
            return self.core.respond(request.id, answer.map_err(failure));
        }
        if let Some(report) = report(&request.method, &request.params) {
            // The workshop may be busy; only the caller waits for it.
            let core = self.core.clone();
            return self.documents.pool.patient(move || {
                let (mut first, mut second) = (locked(&core.state), locked(&core.workshop));
                let answer = report(&mut [&mut first.host, &mut second.host], &request.params);
                drop((first, second));
                core.respond(request.id, answer.map_err(failure));
            });
        }
        if request.method == "workspace/executeCommand" && request.params["command"] == "oriole.profile" {
            return self.profile(request, pending);
        }
        if request.method == "workspace/diagnostic" {
            return self.workspace_diagnostics(request, pending);
        }
        let Some(row) = row(&request.method) else {
            let message = format!("there is no request `{}`", request.method);
            return self
                .core
                .respond::<Value>(request.id, Err(error(ErrorCode::MethodNotFound as i32, message)));
        };
        if row.method == "workspace/textDocumentContent"
            && let Some(uri) = request.params["uri"].as_str()
        {
            locked(&self.core.shown).insert(uri.to_owned());
        }
        let core = self.core.clone();
        let asked = self.core.now();
        let task = move || run(&core, request, row, &pending, asked);
        match row.cost {
            Cost::Reads | Cost::Looks => self.documents.pool.urgent(task),
            Cost::Builds => self.documents.pool.building(task),
            Cost::BuildsMuch => self.documents.pool.patient(task),
        }
    }

    /// `oriole.profile`: it may take seconds, and the client waits for it.
    fn profile(&mut self, request: Request, pending: Arc<Pending>) {
        let (core, stop) = (self.core.clone(), self.documents.stop.clone());
        let subject = match profiles::Subject::of(&core, &request.params) {
            Ok(subject) => subject,
            Err(found) => return core.respond::<Value>(request.id, Err(failure(found))),
        };
        self.documents.pool.running(move || {
            let answer =
                catch_unwind(AssertUnwindSafe(|| profiles::command(&core, &subject, &pending, &stop)));
            let answer = answer.unwrap_or_else(|payload| {
                let message = format!("`oriole.profile` failed: {}", panic_text(&*payload));
                core.keep_crash(&message, Some(subject.uri()));
                Err(Failure::Failed(message))
            });
            let answer = answer.map_err(|found| match found {
                Failure::Cancelled if !pending.is_cancelled() => {
                    error(ErrorCode::ContentModified as i32, "the text changed")
                }
                other => failure(other),
            });
            core.respond(request.id, answer);
        });
    }

    /// Diagnostics of the whole workspace: one answer, or a stream.
    fn workspace_diagnostics(&mut self, request: Request, pending: Arc<Pending>) {
        match parse::<workspace::Pull>(request.params) {
            Err(found) => self.core.respond::<Value>(request.id, Err(failure(found))),
            Ok(asked) => {
                let core = self.core.clone();
                match workspace::begin(request.id, asked, pending) {
                    Begun::Answer(answer) => self.documents.pool.building(move || answer(&core)),
                    Begun::Stream(stream) => {
                        self.documents.streams.push(stream.clone());
                        if stream.wake(Scope::Files) {
                            self.documents.pool.building(move || stream.work(&core, true));
                        }
                    }
                }
            }
        }
    }

    /// Requests that need the host itself, and so run here; they are quick.
    fn own(&mut self, request: &Request) -> Option<Answer> {
        Some(match request.method.as_str() {
            "ptx/reload" => {
                self.documents.reload();
                Ok(Value::Null)
            }
            "workspace/executeCommand" if request.params["command"] == "oriole.setTarget" => {
                self.documents.set_target(&request.params["arguments"][0])
            }
            _ => return None,
        })
    }

    fn response(&mut self, response: Response) {
        if self.asked_settings.as_ref() == Some(&response.id) {
            self.asked_settings = None;
            if let Ok(Value::Array(list)) = response.response_result {
                self.documents.client_settings = list.into_iter().next().unwrap_or_default();
                self.documents.reload();
            }
        }
    }

    // ---- notifications

    fn notification(&mut self, notification: Notification) {
        let mut parameters = notification.params;
        self.documents.respell(&mut parameters);
        match notification.method.as_str() {
            "textDocument/didOpen" => {
                if let Ok(opened) = parse::<lsp::DidOpenTextDocumentParams>(parameters) {
                    self.documents.open(opened.text_document);
                }
            }
            "textDocument/didChange" => self.documents.change(parameters),
            "textDocument/didClose" => {
                if let Some(uri) = parameters["textDocument"]["uri"].as_str() {
                    self.documents.close(uri);
                }
            }
            "textDocument/didSave" => {
                self.documents.rest();
                if !self.core.client.watches {
                    self.core.files.forget_all();
                }
                self.documents.wake(Scope::Files);
            }
            "workspace/didChangeWorkspaceFolders" => {
                let event = &parameters["event"];
                let paths = |list: &Value| -> Vec<PathBuf> {
                    let uris =
                        list.as_array().into_iter().flatten().filter_map(|folder| folder["uri"].as_str());
                    uris.filter_map(uri::to_path).collect()
                };
                let removed = paths(&event["removed"]);
                {
                    let mut folders = locked(&self.core.folders);
                    folders.retain(|folder| !removed.contains(folder));
                    folders.extend(paths(&event["added"]));
                }
                self.core.files.forget_all();
                self.documents.wake(Scope::Files);
            }
            "workspace/didChangeConfiguration" => {
                if self.core.client.configuration {
                    self.ask_settings();
                } else {
                    let settings = &parameters["settings"];
                    let own = if settings["oriole"].is_object() { &settings["oriole"] } else { settings };
                    self.documents.client_settings = own.clone();
                    self.documents.reload();
                }
            }
            "workspace/didChangeWatchedFiles" => {
                let changes = parameters["changes"].as_array().into_iter().flatten();
                let uris: Vec<(&str, bool)> = changes
                    .filter_map(|change| Some((change["uri"].as_str()?, change["type"] == CHANGED)))
                    .collect();
                if uris.iter().any(|(uri, _)| uri.ends_with(config::FILE)) {
                    self.documents.reload();
                }
                for (uri, changed) in uris {
                    match uri::to_path(uri).filter(|_| changed) {
                        Some(path) => self.core.files.forget(path),
                        None => self.core.files.forget_all(),
                    }
                }
                self.documents.wake(Scope::Files);
            }
            "$/cancelRequest" => {
                if let Ok(id) = serde_json::from_value::<RequestId>(parameters["id"].clone()) {
                    if let Some(pending) = locked(&self.core.pending).get(&id) {
                        pending.cancel();
                    }
                    if let Some(at) = self.documents.streams.iter().position(|stream| stream.is(&id)) {
                        self.documents.streams.remove(at).cancelled(&self.core);
                    }
                }
            }
            "window/workDoneProgress/cancel" => {
                self.documents.stop.store(true, Ordering::SeqCst);
                self.documents.stop = Arc::default();
            }
            _ => {}
        }
    }
}
