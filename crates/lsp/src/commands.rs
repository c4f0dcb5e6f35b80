//! `workspace/executeCommand`: the commands that show a document or a text.

use serde_json::{Value, json};

use crate::asked::Asked;
use crate::outcome::{Failure, Reply, parse};
use crate::snapshot::Snapshot;
use crate::virtual_documents::Document;
use crate::{comparison, extensions, pages};

/// `workspace/executeCommand`: returns the document that the command shows.
pub(crate) fn command(snapshot: Snapshot, parameters: Value) -> Result<Reply, Failure> {
    let name = parameters["command"].as_str().unwrap_or_default().to_owned();
    let asked: Asked = parse(parameters["arguments"][0].clone())?;
    match name.as_str() {
        "oriole.explain" => Ok(extensions::explain(snapshot, asked)?.into()),
        "oriole.comparePtxas" => Ok(comparison::compare(snapshot, asked)?.into()),
        "oriole.showPage" => pages::view_page(snapshot, asked),
        "oriole.showSass" | "oriole.showOri" => {
            let (uri, chip, kernel) = (asked.uri()?.to_owned(), asked.chip()?, asked.kernel()?.to_owned());
            let document = match name.as_str() {
                "oriole.showSass" => Document::Sass { uri, kernel, chip },
                _ => {
                    let phase = asked.phase.unwrap_or_else(|| "FinalInspectionPass".to_owned());
                    Document::Ori { uri, function: kernel, chip, phase }
                }
            };
            let text = document.text(&snapshot)?;
            Ok(Reply::Value(json!({ "uri": document.uri(), "text": text })))
        }
        _ => Err(Failure::Invalid(format!("there is no command `{name}`"))),
    }
}
