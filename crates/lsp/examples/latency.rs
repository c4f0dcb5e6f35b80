//! How long a keystroke takes, measured over the protocol: from the message of a change to the findings of that version.
//!
//! `cargo run --release -p oriole-lsp --example latency [kernels] [lines of each] [keystrokes]` opens a generated module,
//! types into random kernels, and prints percentiles. While it types, kernels are compiled in the background and hints are
//! asked for, so that a change always meets work that it has to cancel.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use oriole_lsp::Nothing;
use serde_json::{Value, json};

const URI: &str = "file:///w/large.ptx";

/// A module of equal kernels; each line of a body stands alone.
fn module(kernels: usize, lines: usize) -> String {
    let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
    for kernel in 0..kernels {
        text.push_str(&format!(
            "\n.visible .entry k{kernel}(.param .u64 p)\n{{\n    .reg .b32 %r<99>;\n    .reg .b64 %d<4>;\n    \
             ld.param.u64 %d1, [p];\n    cvta.to.global.u64 %d2, %d1;\n    ld.global.u32 %r1, [%d2];\n"
        ));
        for line in 0..lines.saturating_sub(11) {
            let (to, from) = (1 + line % 90, 1 + (line * 7 + 3) % 90.min(line + 1));
            text.push_str(&format!("    mad.lo.u32 %r{to}, %r{from}, {}, %r1;\n", line + kernel));
        }
        text.push_str("    st.global.u32 [%d2], %r1;\n    ret;\n}\n");
    }
    text
}

struct Client {
    connection: Connection,
    last: i32,
}

impl Client {
    fn tell(&self, method: &str, params: Value) {
        let message = Notification { method: method.to_owned(), params };
        self.connection.sender.send(message.into()).expect("the server listens");
    }

    fn ask(&mut self, method: &str, params: Value) -> RequestId {
        self.last += 1;
        let id = RequestId::from(self.last);
        let message = Request { id: id.clone(), method: method.to_owned(), params };
        self.connection.sender.send(message.into()).expect("the server listens");
        id
    }

    /// Waits for the findings of a version.
    fn findings(&self, version: i64) -> usize {
        loop {
            let message = self.connection.receiver.recv().expect("the server answers");
            if let Message::Notification(found) = message
                && found.method == "textDocument/publishDiagnostics"
                && found.params["version"] == version
            {
                return found.params["diagnostics"].as_array().map_or(0, Vec::len);
            }
        }
    }

    fn answer(&self, id: &RequestId) {
        loop {
            if let Message::Response(response) = self.connection.receiver.recv().expect("the server answers")
                && response.id == *id
            {
                return;
            }
        }
    }
}

fn percentiles(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
    println!(
        "{what}: p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, most {:.2} ms",
        at(50),
        at(90),
        at(99),
        at(100)
    );
}

fn main() {
    let number = |at: usize, default: usize| {
        std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (kernels, lines, keystrokes) = (number(1, 500), number(2, 200), number(3, 300));
    let text = module(kernels, lines);
    let starts: Vec<usize> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("ld.global"))
        .map(|(number, _)| number)
        .collect();
    println!("{} kernels, {} lines, {} bytes", starts.len(), text.lines().count(), text.len());
    let (server, client) = Connection::memory();
    let server = std::thread::spawn(move || oriole_lsp::serve(server, Arc::new(Nothing)));
    let mut client = Client { connection: client, last: 0 };
    let id = client.ask("initialize", json!({ "capabilities": {} }));
    client.answer(&id);
    client.tell("initialized", json!({}));
    let since = Instant::now();
    let document = json!({ "uri": URI, "languageId": "ptx", "version": 1, "text": text });
    client.tell("textDocument/didOpen", json!({ "textDocument": document }));
    client.findings(1);
    println!("open to findings: {:.0} ms", since.elapsed().as_secs_f64() * 1e3);
    let mut quiet = Vec::new();
    let mut busy = Vec::new();
    let mut random = 1u64;
    let mut version = 1;
    for stroke in 0..2 * keystrokes {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let line = starts[(random >> 33) as usize % starts.len()] + 1 + stroke % 50;
        let working = stroke >= keystrokes;
        if working {
            // Hints and lenses make workers compile; the change comes while they do.
            let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 1_000_000, "character": 0 } });
            client.ask("textDocument/inlayHint", json!({ "textDocument": { "uri": URI }, "range": range }));
            client.ask("ptx/kernelStats", json!({ "textDocument": { "uri": URI } }));
            std::thread::sleep(Duration::from_millis(1 + (random >> 20) % 40));
        }
        version += 1;
        let at = json!({ "line": line, "character": 4 });
        let change =
            json!({ "range": { "start": at, "end": at }, "text": if stroke % 2 == 0 { " " } else { "x" } });
        let since = Instant::now();
        client.tell(
            "textDocument/didChange",
            json!({ "textDocument": { "uri": URI, "version": version }, "contentChanges": [change] }),
        );
        client.findings(version);
        if working { busy.push(since.elapsed()) } else { quiet.push(since.elapsed()) }
    }
    percentiles("keystroke to findings", quiet);
    percentiles("the same while workers compile", busy);
    let id = client.ask("shutdown", Value::Null);
    client.answer(&id);
    client.tell("exit", Value::Null);
    server.join().expect("the server does not panic").expect("the server ends well");
}
