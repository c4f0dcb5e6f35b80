//! A client for tests: it talks to the server over a pair of channels and records incoming messages.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use oriole_lsp::{End, Environment, Nothing, ServeError};
use serde_json::{Value, json};

/// Longest that a test waits for a message.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Client {
    connection: Connection,
    server: Option<JoinHandle<Result<End, ServeError>>>,
    last: i32,
}

impl Client {
    /// Starts a server without an environment and initializes it with these capabilities.
    pub fn start(capabilities: Value) -> Client {
        Client::start_in(Arc::new(Nothing), json!({ "capabilities": capabilities }))
    }

    /// Starts a server in an environment and initializes it with these parameters.
    pub fn start_in(world: Arc<dyn Environment>, parameters: Value) -> Client {
        let (server, client) = Connection::memory();
        let thread = std::thread::spawn(move || oriole_lsp::serve(server, world));
        let mut client = Client { connection: client, server: Some(thread), last: 0 };
        client.ask_value("initialize", parameters);
        client.tell("initialized", json!({}));
        client
    }

    pub fn tell(&self, method: &str, params: Value) {
        let message = Notification { method: method.to_owned(), params };
        self.connection.sender.send(message.into()).expect("the server listens");
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, params: Value) -> RequestId {
        self.last += 1;
        let id = RequestId::from(self.last);
        let message = Request { id: id.clone(), method: method.to_owned(), params };
        self.connection.sender.send(message.into()).expect("the server listens");
        id
    }

    /// Answers a request of the server.
    pub fn respond(&self, id: RequestId, value: Value) {
        let response = Response { id, response_result: Ok(value) };
        self.connection.sender.send(response.into()).expect("the server listens");
    }

    /// The next message of the server.
    pub fn receive(&self) -> Message {
        self.connection.receiver.recv_timeout(PATIENCE).expect("the server answers")
    }

    /// The answer to a request; requests of the server get a null answer.
    pub fn answer(&self, id: &RequestId) -> Response {
        loop {
            match self.receive() {
                Message::Response(response) if response.id == *id => return response,
                Message::Request(request) => {
                    let response = Response { id: request.id, response_result: Ok(Value::Null) };
                    self.connection.sender.send(response.into()).expect("the server listens");
                }
                _ => {}
            }
        }
    }

    pub fn ask_value(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        match self.answer(&id).response_result {
            Ok(value) => value,
            Err(error) => json!({ "error": error.code, "message": error.message }),
        }
    }

    pub fn ask(&mut self, method: &str, params: Value) -> String {
        self.ask_value(method, params).to_string()
    }

    pub fn open(&self, uri: &str, language: &str, text: &str) {
        self.tell(
            "textDocument/didOpen",
            json!({ "textDocument": { "uri": uri, "languageId": language, "version": 1, "text": text } }),
        );
    }

    pub fn edit(&self, uri: &str, version: i32, start: (u32, u32), end: (u32, u32), text: &str) {
        let at = |(line, character): (u32, u32)| json!({ "line": line, "character": character });
        let change = json!({ "range": { "start": at(start), "end": at(end) }, "text": text });
        self.tell(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [change] }),
        );
    }

    pub fn close(&self, uri: &str) {
        self.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }

    /// The next notification of a method that passes a test.
    pub fn wait_until(&self, method: &str, wanted: impl Fn(&Value) -> bool) -> String {
        loop {
            if let Message::Notification(found) = self.receive()
                && found.method == method
                && wanted(&found.params)
            {
                return found.params.to_string();
            }
        }
    }

    pub fn wait(&self, method: &str) -> String {
        self.wait_until(method, |_| true)
    }

    /// Sends `shutdown` and `exit`; the server must end well.
    pub fn stop(mut self) {
        let id = self.send("shutdown", Value::Null);
        self.answer(&id);
        self.tell("exit", Value::Null);
        assert_eq!(self.ended(), End::Goodbye);
    }

    /// Waits until the server ends by itself.
    pub fn ended(mut self) -> End {
        let server = self.server.take().expect("the server runs");
        server.join().expect("the server does not panic").expect("the server ends well")
    }
}
