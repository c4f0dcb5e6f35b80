//! Unusual clients: late answers, settings that come while requests run, two spellings of one URI.

use crate::support::Client;
use lsp_server::{Message, RequestId};
use oriole_lsp::End;
use serde_json::{Value, json};
use tracing_subscriber::layer::SubscriberExt;

const KERNEL: &str = "\
.version 8.0
.target sm_90
.address_size 64
.entry one()
{
    .reg .b32 %r<4>;
    xor.b32 %r2, %r1, 5;
    ret;
}
";

/// The server's request for settings.
fn question(client: &Client) -> RequestId {
    loop {
        match client.receive() {
            Message::Request(request) if request.method == "workspace/configuration" => return request.id,
            _ => {}
        }
    }
}

fn hover(uri: &str) -> Value {
    json!({ "textDocument": { "uri": uri }, "position": { "line": 6, "character": 5 } })
}

/// Settings that come between a request and its answer are not a change of the text.
#[test]
fn settings_outdate_no_request() {
    let uri = "file:///w/one.ptx";
    for settings in [json!({}), json!({ "level": 1 })] {
        let mut client = Client::start(json!({ "workspace": { "configuration": true } }));
        let asked = question(&client);
        client.open(uri, "ptx", KERNEL);
        let sent: Vec<RequestId> = (0..40).map(|_| client.send("textDocument/hover", hover(uri))).collect();
        client.respond(asked, json!([settings]));
        let mut open = sent.len();
        while open > 0 {
            if let Message::Response(response) = client.receive() {
                assert!(sent.contains(&response.id));
                let value = response.response_result.expect("a hover");
                assert!(value.to_string().contains("xor"), "{value}");
                open -= 1;
            }
        }
        client.stop();
    }
}

#[test]
fn after_shutdown_requests_are_refused_and_answers_passed_over() {
    let mut client = Client::start(json!({}));
    let id = client.send("shutdown", Value::Null);
    assert_eq!(client.answer(&id).response_result.expect("goodbye"), Value::Null);
    let refused = client.ask_value("textDocument/hover", hover("file:///w/one.ptx"));
    assert_eq!(refused["error"], -32600);
    client.respond(RequestId::from("oriole/9".to_owned()), Value::Null);
    client.tell("textDocument/didOpen", json!({}));
    client.tell("exit", Value::Null);
    assert_eq!(client.ended(), End::Goodbye);
}

/// `é` may be percent-encoded or not.
/// An unknown chip gives a warning where it is named, and hides no other diagnostic; its code is not shown.
#[test]
fn an_unknown_chip_is_a_warning() {
    let uri = "file:///w/one.ptx";
    let text = KERNEL.replace("sm_90", "sm_130").replace("%r2, %r1", "%r9, %r1");
    let mut client = Client::start(json!({ "textDocument": { "diagnostic": {} } }));
    client.open(uri, "ptx", &text);
    let document = json!({ "textDocument": { "uri": uri } });
    let found = client.ask_value("textDocument/diagnostic", document.clone());
    let [warning, error] = found["items"].as_array().expect("diagnostics").as_slice() else {
        panic!("{found}");
    };
    assert_eq!((&warning["code"], &warning["severity"]), (&json!("target::stand-in"), &json!(2)));
    assert_eq!(warning["range"]["start"], json!({ "line": 1, "character": 8 }));
    assert!(warning["message"].as_str().expect("a message").contains("`sm_121`"), "{warning}");
    assert_eq!((&error["code"], &error["range"]["start"]["line"]), (&json!("ptx::unknown-name"), &json!(6)));

    client.edit(uri, 2, (6, 12), (6, 15), "%r2");
    let found = client.ask_value("textDocument/diagnostic", document.clone());
    assert!(found["items"].as_array().expect("diagnostics").iter().all(|item| item["severity"] != 1));
    assert!(client.ask("textDocument/hover", hover(uri)).contains("xor"));
    let mut kernel = document;
    kernel["kernel"] = json!("one");
    let refused = client.ask_value("ptx/viewSass", kernel);
    assert!(refused["message"].as_str().is_some_and(|said| said.contains("sm_130")), "{refused}");
    client.stop();
}

#[test]
fn an_address_may_be_spelled_in_two_ways() {
    let mut client = Client::start(json!({}));
    client.open("file:///w/\u{e9}.ptx", "ptx", KERNEL);
    let found = client.ask("textDocument/hover", hover("file:///w/%C3%A9.ptx"));
    assert!(found.contains("xor"), "{found}");
    client.open("file:///w/%c3%a9.ptx", "ptx", &KERNEL.replace("xor", "and"));
    let found = client.ask("textDocument/hover", hover("file:///w/\u{e9}.ptx"));
    assert!(found.contains("and"), "{found}");
    client.close("file:///w/%C3%A9.ptx");
    assert_eq!(client.ask_value("textDocument/hover", hover("file:///w/\u{e9}.ptx"))["error"], -32602);
    client.stop();
}

/// The editor sets the indentation.
#[test]
fn formatting_follows_the_editor() {
    let uri = "file:///w/one.ptx";
    let mut client = Client::start(json!({}));
    client.open(uri, "ptx", ".version 8.0\r\n.entry one()\r\n{\r\nret;\r\n}\r\n");
    let ask = |options: Value| json!({ "textDocument": { "uri": uri }, "options": options });
    for (options, wanted) in [
        (json!({ "tabSize": 2, "insertSpaces": true }), "\r\n  "),
        (json!({ "tabSize": 8, "insertSpaces": false }), "\r\n\t"),
    ] {
        let edits = client.ask_value("textDocument/formatting", ask(options));
        let texts: Vec<&str> =
            edits.as_array().expect("edits").iter().filter_map(|it| it["newText"].as_str()).collect();
        assert_eq!(texts, [wanted]);
    }
    client.stop();
}

/// Parameters may be null where all of them are optional.
#[test]
fn parameters_may_be_null() {
    let mut client = Client::start(json!({}));
    for method in ["ptx/phases", "ptx/serverStatus", "ptx/writeWaits"] {
        let answer = client.ask_value(method, Value::Null);
        assert!(answer["error"].is_null(), "{method}: {answer}");
    }
    client.stop();
}

/// The queries caused by the last edit, with causes: recorded from the edit after the first request on, until a client
/// stops it.
#[test]
fn the_server_says_why_a_query_ran_again() {
    let subscriber = tracing_subscriber::registry().with(oriole_lsp::Reads::layer());
    tracing::subscriber::set_global_default(subscriber).expect("no other test sets one");
    let uri = "file:///w/one.ptx";
    let mut client = Client::start(json!({}));
    client.open(uri, "ptx", KERNEL);
    client.ask_value("textDocument/hover", hover(uri));
    let first = client.ask_value("ptx/lastEdit", json!({}));
    assert_eq!(first["recording"], true);
    assert_eq!(first["queries"], json!([]));
    assert!(first["text"].as_str().is_some_and(|text| text.starts_with("From the next edit on")), "{first}");
    client.edit(uri, 2, (6, 22), (6, 23), "6");
    client.wait_until("textDocument/publishDiagnostics", |found| found["version"] == 2);
    let sass = json!({ "textDocument": { "uri": uri }, "kernel": "one" });
    client.ask_value("textDocument/documentSymbol", json!({ "textDocument": { "uri": uri } }));
    client.ask_value("ptx/viewSass", sass);
    let told = client.ask_value("ptx/lastEdit", json!({}));
    let because = |host: &str, query: &str| {
        let queries = told["queries"].as_array().expect("a list");
        let ran = queries.iter().find(|ran| ran["host"] == host && ran["query"] == query);
        ran.unwrap_or_else(|| panic!("{query} did not run: {told}"))["because"].clone()
    };
    assert_eq!(because("answers", "function_tree"), json!({ "field": "UnitInput.text" }));
    assert_eq!(because("compiles", "function_tree"), json!({ "field": "UnitInput.text" }));
    assert_eq!(because("compiles", "bridged"), json!({ "query": "body", "unit": "entry one", "chip": null }));
    let line = "compiles: bridged entry one sm_90: because of body entry one";
    assert!(told["text"].as_str().is_some_and(|text| text.lines().any(|each| each == line)), "{told}");
    // As a command it gives the same result.
    let command = json!({ "command": "oriole.explainEdit", "arguments": [] });
    assert_eq!(client.ask_value("workspace/executeCommand", command), told);
    let last = client.ask_value("ptx/lastEdit", json!({ "record": false }));
    assert_eq!((&last["recording"], &last["queries"]), (&json!(false), &json!([])));
    client.stop();
}
