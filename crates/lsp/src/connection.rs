//! The connection to a client: messages as values, and large messages as text that is written as it is.
//!
//! It is here because a message as values takes tens of bytes for a number, and building, copying and freeing them takes
//! longer than finding the answer. No message is interpreted here.

use crossbeam_channel::Sender;
use lsp_server::{Message, Notification, RequestId, Response, ResponseError};
use serde_json::Value;

/// A connection to a client.
pub struct Connection {
    pub(crate) messages: lsp_server::Connection,
    /// Takes messages that are JSON text already; `None` for a client in the same process, which gets values.
    pub(crate) texts: Option<Sender<String>>,
}

impl From<lsp_server::Connection> for Connection {
    fn from(messages: lsp_server::Connection) -> Connection {
        Connection { messages, texts: None }
    }
}

/// The sending half of a connection.
pub(crate) struct Outgoing {
    pub messages: Sender<Message>,
    pub texts: Option<Sender<String>>,
}

impl From<lsp_server::Connection> for Outgoing {
    fn from(connection: lsp_server::Connection) -> Outgoing {
        Outgoing { messages: connection.sender, texts: None }
    }
}

impl Outgoing {
    /// Sends a message. A client that is gone is not an error: the reader of its messages notices.
    pub fn send(&self, message: Message) {
        let _ = self.messages.send(message);
    }

    /// Answers a request with JSON text.
    pub fn respond(&self, id: RequestId, result: String) {
        let Some(texts) = &self.texts else {
            let response_result = serde_json::from_str(&result).map_err(not_json);
            return self.send(Response { id, response_result }.into());
        };
        let id = serde_json::to_string(&id).unwrap_or_default();
        let _ = texts.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}"));
    }

    /// Sends a notification with parameters in JSON text.
    pub fn notify(&self, method: &str, parameters: String) {
        let Some(texts) = &self.texts else {
            let params = serde_json::from_str(&parameters).unwrap_or(Value::Null);
            return self.send(Notification { method: method.to_owned(), params }.into());
        };
        let method = Value::from(method);
        let _ = texts.send(format!("{{\"jsonrpc\":\"2.0\",\"method\":{method},\"params\":{parameters}}}"));
    }
}

/// The error for an answer that was written wrongly.
fn not_json(error: serde_json::Error) -> ResponseError {
    let code = lsp_server::ErrorCode::InternalError as i32;
    ResponseError { code, message: format!("the answer is no JSON: {error}"), data: None }
}
