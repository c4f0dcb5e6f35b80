//! A client of the protocol that knows the text it sends, and waits for answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use oriole_lsp::Nothing;
use serde_json::{Value, json};

use crate::module::Edit;
use crate::processor;
use crate::times::Times;

/// The threads on the path of a keystroke's diagnostics: the message reader and the threads for urgent requests.
const PATH: [&str; 2] = ["lsp-main", "lsp-urgent"];

/// The threads on the path of fresh code; all other kernels are compiled by a thread of another name.
const BUILDING: [&str; 3] = ["lsp-main", "lsp-workshop", "lsp-building"];

/// A server in this process and the client's end of it.
pub struct Client {
    connection: Connection,
    server: std::thread::JoinHandle<Result<oriole_lsp::End, oriole_lsp::ServeError>>,
    last: i32,
    version: i64,
}

impl Client {
    pub fn start() -> Client {
        let (server, connection) = Connection::memory();
        let serve = move || oriole_lsp::serve(server, Arc::new(Nothing));
        let server = std::thread::Builder::new().name("lsp-main".to_owned()).spawn(serve);
        let server = server.expect("a thread can be started");
        let mut client = Client { connection, server, last: 0, version: 0 };
        client.answer("initialize", json!({ "capabilities": {} }));
        client.tell("initialized", json!({}));
        client
    }

    pub fn end(mut self) {
        self.answer("shutdown", Value::Null);
        self.tell("exit", Value::Null);
        self.server.join().expect("the server does not panic").expect("the server ends well");
    }

    pub fn tell(&self, method: &str, params: Value) {
        let message = Notification { method: method.to_owned(), params };
        self.connection.sender.send(message.into()).expect("the server listens");
    }

    /// Sends a request and returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> RequestId {
        self.last += 1;
        let id = RequestId::from(self.last);
        let message = Request { id: id.clone(), method: method.to_owned(), params };
        self.connection.sender.send(message.into()).expect("the server listens");
        id
    }

    /// Waits for a message, no longer than a minute.
    fn wait<T>(&self, mut wanted: impl FnMut(Message) -> Option<T>) -> T {
        loop {
            let message = self.connection.receiver.recv_timeout(Duration::from_secs(120));
            if let Some(found) = wanted(message.expect("the server answers")) {
                return found;
            }
        }
    }

    /// Waits for the answer to a request.
    pub fn response(&self, id: &RequestId) -> Response {
        self.wait(|message| match message {
            Message::Response(response) if response.id == *id => Some(response),
            _ => None,
        })
    }

    /// The response if it has come, within a time.
    pub fn response_within(&self, id: &RequestId, time: Duration) -> Option<Response> {
        let end = Instant::now() + time;
        while let Ok(message) = self.connection.receiver.recv_deadline(end) {
            if let Message::Response(response) = message
                && response.id == *id
            {
                return Some(response);
            }
        }
        None
    }

    /// Sends a request and waits; repeats it while the server reports that the text has changed.
    pub fn answer(&mut self, method: &str, params: Value) -> Value {
        loop {
            let id = self.ask(method, params.clone());
            match self.response(&id).response_result {
                Ok(value) => return value,
                Err(error) if error.code == -32801 => {}
                Err(error) => panic!("{method}: {}", error.message),
            }
        }
    }

    /// Opens a document and waits for its diagnostics.
    pub fn open(&mut self, uri: &str, text: &str) -> Duration {
        self.version += 1;
        let since = Instant::now();
        let document = json!({ "uri": uri, "languageId": "ptx", "version": self.version, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
        self.diagnostics();
        since.elapsed()
    }

    pub fn close(&mut self, uri: &str) {
        self.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }

    /// Waits for the diagnostics of the last version.
    fn diagnostics(&self) -> usize {
        self.wait(|message| match message {
            Message::Notification(found)
                if found.method == "textDocument/publishDiagnostics"
                    && found.params["version"] == self.version =>
            {
                Some(found.params["diagnostics"].as_array().map_or(0, Vec::len))
            }
            _ => None,
        })
    }

    /// Sends an edit and does not wait.
    pub fn send(&mut self, uri: &str, edit: &Edit) {
        self.version += 1;
        let changes: Vec<Value> = edit
            .changes
            .iter()
            .map(|change| {
                let place = |(line, character): (usize, usize)| json!({ "line": line, "character": character });
                json!({ "range": { "start": place(change.start), "end": place(change.end) }, "text": change.text })
            })
            .collect();
        let document = json!({ "uri": uri, "version": self.version });
        self.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// Records how long something took, and the CPU time of threads of these names.
    fn measured<T>(&mut self, threads: &[&str], times: &mut Times, act: impl FnOnce(&mut Client) -> T) -> T {
        let (since, before) = (Instant::now(), processor::time_of(threads));
        let value = act(self);
        let wall = since.elapsed();
        let after = processor::time_of(threads);
        times.add(wall, after.zip(before).map(|(after, before)| after.saturating_sub(before)));
        value
    }

    /// Sends an edit, waits for its diagnostics, records how long that took.
    pub fn edit(&mut self, uri: &str, edit: &Edit, times: &mut Times) -> usize {
        self.measured(&PATH, times, |client| {
            client.send(uri, edit);
            client.diagnostics()
        })
    }

    /// Sends a request, waits, records how long that took.
    pub fn timed(&mut self, method: &str, params: Value, times: &mut Times) -> Value {
        self.measured(&PATH, times, |client| client.answer(method, params))
    }

    /// Sends an edit, requests code, records how long that took.
    pub fn code(&mut self, uri: &str, edit: &Edit, asked: &Value, times: &mut Times) -> Value {
        self.measured(&BUILDING, times, |client| {
            client.send(uri, edit);
            client.answer("ptx/viewSass", asked.clone())
        })
    }

    /// Has all kernels of a document compiled, and does not wait for it.
    pub fn compile_all(&mut self, uri: &str) {
        self.ask("ptx/kernelStats", json!({ "textDocument": { "uri": uri } }));
    }
}
