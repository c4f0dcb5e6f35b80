//! Requests and answers of Bazel's persistent workers as lines of JSON.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A request. Fields that say nothing here, such as digests of inputs, are not read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// The command line after the name of the program.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The number that the answer has; 0 where no other request comes before it.
    #[serde(default, rename = "requestId")]
    pub number: i64,
    /// The answer to the request of this number is not needed any more.
    #[serde(default)]
    pub cancel: bool,
    /// The folder that relative paths are in.
    #[serde(default, rename = "sandboxDir", deserialize_with = "folder")]
    pub folder: Option<PathBuf>,
}

fn folder<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
    Ok(Some(PathBuf::deserialize(from)?).filter(|folder| !folder.as_os_str().is_empty()))
}

impl Request {
    /// Reads a line.
    ///
    /// # Errors
    /// It is no request.
    pub fn read(line: &str) -> Result<Request, String> {
        serde_json::from_str(line).map_err(|error| error.to_string())
    }
}

/// An answer.
#[derive(Serialize)]
pub struct Response {
    /// The exit status.
    #[serde(rename = "exitCode")]
    pub status: i32,
    /// Messages for the user.
    pub output: String,
    /// The number of the request.
    #[serde(rename = "requestId")]
    pub number: i64,
}

impl Response {
    /// The line.
    pub fn line(&self) -> String {
        // Texts and numbers are always JSON.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}
