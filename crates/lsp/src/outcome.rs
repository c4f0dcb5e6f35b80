//! The outcome of a request: its answer, or a failure with the error that the protocol has for it.
//!
//! Parameters and answers are JSON here. No request and no text is known.

use lsp_server::{ErrorCode, ResponseError};
use oriole_ide::Cancelled;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The reason why a request has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// The text changed, or the client cancelled.
    Cancelled,
    /// The request is invalid.
    Invalid(String),
    /// It is valid and cannot be answered.
    Failed(String),
}

impl From<Cancelled> for Failure {
    fn from(_: Cancelled) -> Failure {
        Failure::Cancelled
    }
}

/// An answer.
pub(crate) type Answer = Result<Value, Failure>;

/// An answer on its way to the client.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Reply {
    /// JSON as values.
    Value(Value),
    /// JSON as text: answers of a million numbers would be many times as large as values.
    Text(String),
}

impl From<Value> for Reply {
    fn from(value: Value) -> Reply {
        Reply::Value(value)
    }
}

/// Writes an answer as text.
pub(crate) fn text(value: &impl serde::Serialize) -> Result<Reply, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(Reply::Text(text))
}

/// Reads the parameters of a request.
pub(crate) fn parse<P: DeserializeOwned>(parameters: Value) -> Result<P, Failure> {
    // Parameters may be missing or null, where all of them are optional.
    let parameters = if parameters.is_null() { Value::Object(serde_json::Map::new()) } else { parameters };
    serde_json::from_value(parameters).map_err(|error| Failure::Invalid(error.to_string()))
}

/// Writes an answer.
pub(crate) fn answer(value: impl serde::Serialize) -> Answer {
    serde_json::to_value(value).map_err(|error| Failure::Failed(error.to_string()))
}

/// The error of a valid request that cannot be answered.
const REQUEST_FAILED: i32 = -32803;

/// An error of the protocol.
pub(crate) fn error(code: i32, message: impl Into<String>) -> ResponseError {
    ResponseError { code, message: message.into(), data: None }
}

/// The error for a failure; a change of the text is not one.
pub(crate) fn failure(failure: Failure) -> ResponseError {
    match failure {
        Failure::Cancelled => error(ErrorCode::RequestCanceled as i32, "cancelled by the client"),
        Failure::Invalid(message) => error(ErrorCode::InvalidParams as i32, message),
        Failure::Failed(message) => error(REQUEST_FAILED, message),
    }
}
