//! Findings about compiled code stay while what they depend on stays: an edit of one document hides those of no other.

use crate::support::Client;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const SPILLING: &str = "file:///w/spilling.ptx";
const OTHER: &str = "file:///w/other.ptx";

const OTHER_TEXT: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.entry one()\n{\n    ret;\n}\n";

/// A kernel with more values than registers, and some comment lines after it.
fn spilling() -> String {
    let load = |at| format!("    ld.volatile.global.f32 %x{at}, [%rd1+{}];\n", 4 * at);
    let store = |at| format!("    st.volatile.global.f32 [%rd1+{}], %x{};\n", 4 * at, 39 - at);
    let body: String = (0..40).map(load).chain((0..40).map(store)).collect();
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p)\n.maxnreg 24\n{{\n    .reg .f32 \
         %x<64>;\n    .reg .b64 %rd<2>;\n    ld.param.u64 %rd1, [p];\n{body}    ret;\n}}\n// end\n"
    )
}

/// Whether diagnostics, pulled or pushed, name spilled registers.
fn tells_spills(found: &Value) -> bool {
    let items = found["items"].as_array().or_else(|| found["diagnostics"].as_array()).expect("diagnostics");
    items.iter().any(|item| item["message"].as_str().is_some_and(|message| message.contains("are spilled")))
}

fn pulled(client: &mut Client) -> bool {
    let asked = json!({ "textDocument": { "uri": SPILLING } });
    tells_spills(&client.ask_value("textDocument/diagnostic", asked))
}

fn wait_for_spills(client: &mut Client) {
    let until = Instant::now() + Duration::from_secs(60);
    while !pulled(client) {
        assert!(Instant::now() < until, "no diagnostic of the code comes");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_edit_of_another_document_hides_nothing() {
    let mut client = Client::start(json!({ "textDocument": { "diagnostic": {} } }));
    client.open(SPILLING, "ptx", &spilling());
    client.open(OTHER, "ptx", OTHER_TEXT);
    wait_for_spills(&mut client);
    client.edit(OTHER, 2, (5, 0), (5, 0), "    bar.sync 0;\n");
    assert!(pulled(&mut client), "the other document was edited");
    client.close(OTHER);
    assert!(pulled(&mut client), "the other document was closed");
    // Another chip is other code, and so is another text.
    let target = |chip: &str| json!({ "command": "oriole.setTarget", "arguments": [{ "uri": SPILLING, "chip": chip }] });
    client.ask_value("workspace/executeCommand", target("sm_100"));
    assert!(!pulled(&mut client), "the code is that of another chip");
    wait_for_spills(&mut client);
    client.edit(SPILLING, 2, (0, 0), (0, 0), "// a change\n");
    assert!(!pulled(&mut client), "the text is another one");
    // A text that was closed may come back with the same version.
    wait_for_spills(&mut client);
    client.close(SPILLING);
    client.open(SPILLING, "ptx", &spilling().replace(".maxnreg 24\n", ""));
    assert!(!pulled(&mut client), "the text was opened again");
    client.stop();
}

/// Published findings come again after an edit that leaves them as they are.
#[test]
fn equal_findings_are_published_for_each_text() {
    let client = Client::start(json!({}));
    client.open(SPILLING, "ptx", &spilling());
    let of = |version: i32| move |found: &Value| found["version"] == version && tells_spills(found);
    client.wait_until("textDocument/publishDiagnostics", of(1));
    let last = spilling().lines().count() as u32;
    client.edit(SPILLING, 2, (last, 0), (last, 0), "// more\n");
    client.wait_until("textDocument/publishDiagnostics", of(2));
    client.stop();
}
