//! State shared by the message reader and the workers: two hosts of the same texts, and the connection to the client.
//!
//! The first host answers queries of trees and types; they are short, so a change never waits for them. The second one,
//! the workshop, compiles; the first one shows its last results. A compile is cancelled between two phases only, which
//! may take long in a large kernel; the workshop's thread waits for that and not the message reader. Both get the same
//! changes in the same order, and so give files and settings the same ids.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender, unbounded};
use lsp_server::{Message, Notification, Request, RequestId, Response, ResponseError};
use oriole_ide::{AnalysisHost, Canceller, Change, FileId};
use serde_json::{Value, json};

use crate::client::Client;
use crate::connection::Outgoing;
use crate::environment::Environment;
use crate::lock::locked;
use crate::outcome::Reply;
use crate::shared::Shared;
use crate::snapshot::{Document, Snapshot};
use crate::virtual_documents;
use crate::workspace_files::{Files, WorkspaceFiles};

/// A request that has no answer yet.
#[derive(Default)]
pub(crate) struct Pending {
    cancelled: AtomicBool,
    pub canceller: Mutex<Option<Canceller>>,
}

impl Pending {
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        if let Some(canceller) = &*locked(&self.canceller) {
            canceller.cancel();
        }
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }
}

/// The revisions of a host at one moment, such as the arrival of a request.
#[derive(Clone, Copy)]
pub(crate) struct Revisions {
    pub revision: u64,
    pub texts: u64,
}

/// An operation on a host.
type Act = Box<dyn FnOnce(&mut AnalysisHost) + Send>;

/// The operations that bring the workshop to a revision.
pub(crate) struct Order {
    acts: Vec<Act>,
    documents: Arc<BTreeMap<String, Document>>,
    files: Arc<Files>,
    revision: u64,
    texts: u64,
}

/// A host with its revision and settings.
pub(crate) struct HostState {
    pub host: AnalysisHost,
    pub documents: Arc<BTreeMap<String, Document>>,
    /// Files of the workspace that are not open.
    pub files: Arc<Files>,
    /// Counts changes of texts and settings.
    pub revision: u64,
    /// Counts changes of texts alone: a request whose text is unchanged is not outdated.
    pub texts: u64,
    /// Operations done on this host and not yet on the workshop's.
    acts: Vec<Act>,
}

impl HostState {
    fn new(host: AnalysisHost) -> HostState {
        HostState {
            host,
            documents: Arc::default(),
            files: Arc::default(),
            revision: 0,
            texts: 0,
            acts: Vec::new(),
        }
    }

    /// Applies an operation to the host, and queues it for the workshop.
    pub fn apply<T>(&mut self, act: impl Fn(&mut AnalysisHost) -> T + Send + 'static) -> T {
        let result = act(&mut self.host);
        self.acts.push(Box::new(move |host| {
            act(host);
        }));
        result
    }

    /// The count of changes of texts once the change that is being applied is committed.
    pub fn next_text(&self) -> u64 {
        self.texts + 1
    }

    /// Changes a text; the workshop takes over the resulting text.
    pub fn change(&mut self, file: FileId, changes: &[Change]) {
        self.host.change(file, changes);
        if let Some(text) = self.host.shared_text(file) {
            self.acts.push(Box::new(move |host| host.take_text(file, &text)));
        }
    }
}

/// State shared by the main thread and the workers.
pub(crate) struct Core {
    pub state: Mutex<HostState>,
    pub workshop: Mutex<HostState>,
    /// Signals that the workshop has reached a revision.
    reached: Condvar,
    /// `None` ends the workshop.
    pub orders: Sender<Option<Order>>,
    outgoing: Outgoing,
    pub client: Client,
    pub environment: Arc<dyn Environment>,
    pub shared: Arc<Shared>,
    pub pending: Mutex<BTreeMap<RequestId, Arc<Pending>>>,
    /// Virtual documents that the client shows.
    pub shown: Mutex<BTreeSet<String>>,
    pub requests: Mutex<i32>,
    /// Folders of the workspace.
    pub folders: Mutex<Vec<PathBuf>>,
    /// The state of their files in the hosts.
    pub files: WorkspaceFiles,
}

impl Core {
    pub fn new(
        outgoing: Outgoing,
        client: Client,
        environment: Arc<dyn Environment>,
    ) -> (Core, Receiver<Option<Order>>) {
        let (orders, receiver) = unbounded();
        let workshop = AnalysisHost::counting();
        let reading = AnalysisHost::counting().reading_from(&workshop);
        let core = Core {
            state: Mutex::new(HostState::new(reading)),
            workshop: Mutex::new(HostState::new(workshop)),
            reached: Condvar::new(),
            orders,
            outgoing,
            client,
            environment,
            shared: Arc::default(),
            pending: Mutex::default(),
            shown: Mutex::default(),
            requests: Mutex::new(0),
            folders: Mutex::default(),
            files: WorkspaceFiles::default(),
        };
        (core, receiver)
    }

    pub fn of(&self, state: &HostState) -> Snapshot {
        Snapshot {
            analysis: state.host.analysis(),
            documents: state.documents.clone(),
            files: state.files.clone(),
            client: self.client,
            environment: self.environment.clone(),
            shared: self.shared.clone(),
            revision: state.revision,
            texts: state.texts,
        }
    }

    /// The current revisions.
    pub fn now(&self) -> Revisions {
        let state = locked(&self.state);
        Revisions { revision: state.revision, texts: state.texts }
    }

    /// A snapshot for queries of trees and types.
    pub fn snapshot(&self) -> Snapshot {
        self.of(&locked(&self.state))
    }

    /// A snapshot for compiling, of this revision or a later one.
    pub fn building_snapshot(&self, revision: u64) -> Snapshot {
        let mut state = locked(&self.workshop);
        while state.revision < revision {
            state = self.reached.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.of(&state)
    }

    /// After changes: increments the revision and lets the workshop follow.
    pub fn commit(&self, state: &mut HostState) {
        state.texts += 1;
        self.commit_settings(state);
    }

    /// After changes of settings only.
    pub fn commit_settings(&self, state: &mut HostState) {
        state.revision += 1;
        let (acts, documents) = (std::mem::take(&mut state.acts), state.documents.clone());
        let files = state.files.clone();
        let (revision, texts) = (state.revision, state.texts);
        let _ = self.orders.send(Some(Order { acts, documents, files, revision, texts }));
    }

    /// The workshop: follows until it gets the end message.
    pub fn follow(&self, orders: &Receiver<Option<Order>>) {
        while let Ok(Some(order)) = orders.recv() {
            let mut state = locked(&self.workshop);
            for act in order.acts {
                act(&mut state.host);
            }
            (state.documents, state.revision) = (order.documents, order.revision);
            (state.texts, state.files) = (order.texts, order.files);
            drop(state);
            self.reached.notify_all();
        }
    }

    pub fn send(&self, message: impl Into<Message>) {
        self.outgoing.send(message.into());
    }

    pub fn notify(&self, method: &str, parameters: Value) {
        self.send(Notification { method: method.to_owned(), params: parameters });
    }

    /// Sends a request to the client and returns its id.
    pub fn request(&self, method: &str, parameters: Value) -> RequestId {
        let mut last = locked(&self.requests);
        *last += 1;
        let id = RequestId::from(format!("oriole/{last}"));
        self.send(Request { id: id.clone(), method: method.to_owned(), params: parameters });
        id
    }

    /// Keeps what a report of an error of the compiler itself needs, with the text of a document, and says where.
    pub fn keep_crash(&self, error: &str, uri: Option<&str>) {
        let text = uri.and_then(|uri| {
            let snapshot = self.snapshot();
            Some((uri, snapshot.analysis.text(snapshot.file(uri).ok()?)?))
        });
        let texts: Vec<(&str, &str)> = text.iter().map(|(uri, text)| (*uri, text.as_str())).collect();
        if let Some(folder) = self.environment.keep_crash(error, &texts) {
            let message =
                format!("oriole: what a report of this error needs is in {}: {error}", folder.display());
            self.notify("window/logMessage", json!({ "type": 1, "message": message }));
        }
    }

    /// Answers a request, once.
    pub fn respond<R: Into<Reply>>(&self, id: RequestId, result: Result<R, ResponseError>) {
        if locked(&self.pending).remove(&id).is_none() {
            return;
        }
        let result = match result.map(Into::into) {
            Ok(Reply::Text(text)) => return self.outgoing.respond(id, text),
            Ok(Reply::Value(value)) => Ok(value),
            Err(error) => Err(error),
        };
        self.send(Response { id, response_result: result });
    }

    /// Sends a notification whose parameters are JSON text.
    pub fn notify_written(&self, method: &str, parameters: String) {
        self.outgoing.notify(method, parameters);
    }

    /// Asks the client to refresh what it shows of compiled code.
    pub fn refresh(&self) {
        let wanted = [
            (self.client.refreshes_diagnostics, "workspace/diagnostic/refresh"),
            (self.client.refreshes_hints, "workspace/inlayHint/refresh"),
            (self.client.refreshes_lenses, "workspace/codeLens/refresh"),
        ];
        for (_, method) in wanted.iter().filter(|(wanted, _)| *wanted) {
            self.request(method, Value::Null);
        }
    }

    /// Asks the client to reload virtual documents that show code of a document.
    pub fn refresh_content(&self, of: &str) {
        if !self.client.refreshes_content {
            return;
        }
        let shown: Vec<String> = locked(&self.shown).iter().cloned().collect();
        let made_of =
            |uri: &String| virtual_documents::Document::parse(uri).is_some_and(|it| it.source() == of);
        for uri in shown.into_iter().filter(made_of) {
            self.request("workspace/textDocumentContent/refresh", json!({ "uri": uri }));
        }
    }
}
