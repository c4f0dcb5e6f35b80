//! `ptx/sassMap`: machine code on display, pushed to the client when it changes.
//!
//! A client that requests machine code with `follow` gets each later state: the difference of the rows, and the places
//! of all rows in the text. So views side by side move together without requests. Each state has an id, and names the
//! one that it builds on: a client with another one requests everything again.

use serde_json::json;

use crate::hosts::Core;
use crate::lock::locked;
use crate::outcome::Failure;

/// Pushes changes of all followed subjects of a document. A change elsewhere cancels and restarts it; a change of the
/// document itself has its own push.
pub(crate) fn push(core: &Core, uri: &str, version: i32) {
    let revision = locked(&core.state).revision;
    for subject in core.shared.followed.of(uri) {
        loop {
            let snapshot = core.building_snapshot(revision);
            if snapshot.documents.get(uri).is_none_or(|document| document.version != version) {
                return;
            }
            let found = snapshot.open(uri).and_then(|(file, text)| {
                let chip = snapshot.chip(file, subject.chip)?;
                Ok((text, snapshot.analysis.sass(file, &subject.kernel, chip)?))
            });
            let revision = snapshot.revision;
            drop(snapshot);
            match found {
                Ok((text, listing)) => {
                    let news = core.shared.followed.news(&subject, revision, &text, listing.as_ref());
                    if let Some(mut told) = news {
                        told["textDocument"] = json!({ "uri": uri, "version": version });
                        told["kernel"] = json!(subject.kernel);
                        told["asked"] = json!(subject.chip.map(|chip| chip.to_string()));
                        core.notify("ptx/sassMap", told);
                    }
                    break;
                }
                Err(Failure::Cancelled) => {}
                Err(_) => break,
            }
        }
    }
}
