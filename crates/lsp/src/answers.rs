//! Running a request on a worker: its snapshot, its answer, and the error in case of a failure.
//!
//! A worker takes its snapshot when it starts, so that queued requests never delay a change. It does not start if the
//! text has changed since the request. If only settings changed, it starts anew.

use std::panic::{AssertUnwindSafe, catch_unwind};

use gen_lsp_types as lsp;
use lsp_server::{ErrorCode, Request, ResponseError};
use serde_json::json;

use crate::hosts::{Core, Pending, Revisions};
use crate::lock::locked;
use crate::outcome::{Failure, error, failure, parse};
use crate::requests::{Beyond, Cost, Row};
use crate::unopened;

/// The error of a request that was cancelled because the text changed, and that the client may send again.
const SERVER_CANCELLED: i32 = -32802;

/// The message of a panic.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

/// Runs a request on a worker.
pub(crate) fn run(core: &Core, request: Request, row: Row, pending: &Pending, asked: Revisions) {
    let asked = reach(core, &request, row, asked);
    if row.cost == Cost::Looks {
        let again = request.clone();
        if run_once(core, request, Row { cost: Cost::Reads, ..row }, pending, asked, true) {
            return;
        }
        run_once(core, again, Row { cost: Cost::Builds, ..row }, pending, asked, false);
        return;
    }
    run_once(core, request, row, pending, asked, false);
}

/// Brings the files of the workspace into the hosts if the answer depends on them: the revisions to ask then.
fn reach(core: &Core, request: &Request, row: Row, asked: Revisions) -> Revisions {
    if row.beyond == Beyond::Document || core.files.are_current() {
        return asked;
    }
    let shared = || -> Result<bool, Failure> {
        let place: lsp::TextDocumentPositionParams = parse(request.params.clone())?;
        let snapshot = core.snapshot();
        let (file, _, at) = snapshot.at(&place)?;
        Ok(snapshot.analysis.is_shared(file, at)?)
    };
    // The answer to the request reports the failure.
    if row.beyond == Beyond::Workspace || shared().unwrap_or(false) {
        unopened::follow(core);
        return Revisions { revision: core.now().revision, ..asked };
    }
    asked
}

/// Runs a request on a snapshot. False if there is no answer, since missing code would have added to it and `complete`
/// requires that code.
fn run_once(
    core: &Core,
    request: Request,
    row: Row,
    pending: &Pending,
    asked: Revisions,
    complete: bool,
) -> bool {
    let id = request.id.clone();
    let uri = request.params["textDocument"]["uri"].as_str().map(str::to_owned);
    let outdated = || {
        if pending.is_cancelled() {
            return failure(Failure::Cancelled);
        }
        if row.method == "textDocument/diagnostic" {
            let data = Some(json!({ "retriggerRequest": true }));
            return ResponseError { code: SERVER_CANCELLED, message: "the text changed".to_owned(), data };
        }
        error(ErrorCode::ContentModified as i32, "the text changed")
    };
    let (answer, lacks) = loop {
        let snapshot = match row.cost {
            Cost::Reads | Cost::Looks => core.snapshot(),
            Cost::Builds | Cost::BuildsMuch => core.building_snapshot(asked.revision),
        };
        if snapshot.texts != asked.texts || pending.is_cancelled() {
            drop(snapshot);
            core.respond::<serde_json::Value>(id, Err(outdated()));
            return true;
        }
        let (lacks, revision) = (snapshot.analysis.lacks(), snapshot.revision);
        *locked(&pending.canceller) = Some(snapshot.analysis.canceller());
        if pending.is_cancelled() {
            pending.cancel();
        }
        let parameters = request.params.clone();
        let answer = catch_unwind(AssertUnwindSafe(|| (row.run)(snapshot, parameters)));
        // New settings cancel running queries; the request is still valid.
        let stopped = matches!(answer, Ok(Err(Failure::Cancelled))) && !pending.is_cancelled();
        let now = core.now();
        if !stopped || now.texts != asked.texts || now.revision == revision {
            break (answer, lacks);
        }
    };
    if complete && lacks.is_some_and(|lacks| lacks.anything()) {
        return false;
    }
    let result = match answer {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(Failure::Cancelled)) => Err(outdated()),
        Ok(Err(other)) => Err(failure(other)),
        Err(payload) => {
            let message = format!("`{}` failed: {}", row.method, panic_text(&*payload));
            core.keep_crash(&message, uri.as_deref());
            Err(error(ErrorCode::InternalError as i32, message))
        }
    };
    core.respond(id, result);
    true
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lsp_server::{Connection, Message, RequestId};
    use serde_json::Value;

    use std::path::{Path, PathBuf};

    use super::*;
    use crate::client::Client;
    use crate::outcome::Reply;
    use crate::snapshot::Snapshot;

    /// A place for reports of errors, and nothing else.
    struct Reports;

    impl crate::Environment for Reports {
        fn read(&self, _: &Path, _: usize) -> Option<Vec<u8>> {
            None
        }

        fn sources(&self, _: &Path) -> Vec<PathBuf> {
            Vec::new()
        }

        fn wait_for_end(&self, _: u32) -> bool {
            false
        }

        fn keep_crash(&self, error: &str, texts: &[(&str, &str)]) -> Option<PathBuf> {
            assert_eq!((error, texts), ("`test` failed: number 7", &[][..]));
            Some(PathBuf::from("/crash"))
        }

        fn ptxas(&self, _: &str, _: &str) -> Result<crate::Ptxas, crate::PtxasError> {
            Err(crate::PtxasError::Missing)
        }
    }

    /// Runs a request that does `run` and returns the error of its answer.
    fn failed(
        run: fn(Snapshot, Value) -> Result<Reply, Failure>,
        cancel: bool,
        outdated: bool,
    ) -> (i32, String) {
        let (server, client) = Connection::memory();
        let (core, _) = Core::new(server.into(), Client::default(), Arc::new(Reports));
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
            Row { method: "test", run, cost: Cost::Reads, beyond: Beyond::Document },
            &pending,
            Revisions { revision: 0, texts: u64::from(outdated) },
        );
        let mut next = client.receiver.try_recv().expect("there is an answer");
        if let Message::Notification(told) = &next {
            assert!(
                told.params["message"].as_str().is_some_and(|text| text.contains(" in /crash: ")),
                "{told:?}"
            );
            next = client.receiver.try_recv().expect("there is an answer");
        }
        let Message::Response(response) = next else { panic!("there is no answer") };
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
        assert_eq!(failed(|_, _| Ok(json!(1).into()), false, false), (0, "1".to_owned()));
        assert_eq!(failed(|_, _| Ok(Reply::Text("[2]".to_owned())), false, false), (0, "[2]".to_owned()));
        assert_eq!(failed(|_, _| Ok(json!(1).into()), true, false).0, -32800);
        assert_eq!(failed(|_, _| Ok(json!(1).into()), false, true).0, -32801);
        assert_eq!(failed(|_, _| Err(Failure::Cancelled), false, false).0, -32801);
    }
}
