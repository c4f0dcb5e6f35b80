//! The page about a document, whole and in parts: it has the text that is in the editor, and names what it cannot show.

use crate::support::Client;
use expect_test::expect;
use serde_json::{Value, json};

const URI: &str = "file:///w/k.ptx";
const KERNEL: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %a;
    ld.param.u64 %a, [p]; // </script><b>
    st.global.u32 [%a], 7;
    ret;
}
";

fn part(client: &mut Client, asked: Value) -> Value {
    let mut parameters = json!({ "textDocument": { "uri": URI } });
    for (key, value) in asked.as_object().expect("parameters") {
        parameters[key] = value.clone();
    }
    client.ask_value("ptx/viewPage", parameters)
}

#[test]
fn pages_follow_texts_that_are_not_saved() {
    let mut client = Client::start_in(
        std::sync::Arc::new(oriole_lsp::Nothing),
        json!({ "capabilities": {}, "initializationOptions": { "level": 1 } }),
    );
    client.open(URI, "ptx", KERNEL);
    let frame = part(&mut client, json!({ "part": "frame" }));
    let frame = frame["html"].as_str().expect("a page");
    assert!(frame.contains("data-served") && !frame.contains("st.global"), "{frame}");
    let file = part(&mut client, json!({ "part": "file" }));
    assert_eq!((&file["file"]["kernels"][0][0], &file["revision"]), (&json!("k"), &json!(1)), "{file}");
    assert!(file.to_string().contains("-O1"), "{file}");
    let code =
        |number: usize, revision: u64| json!({ "part": "code", "number": number, "revision": revision });
    let first = part(&mut client, code(0, 1)).to_string();
    assert!(first.contains("STG.E"), "{first}");
    let ori = part(&mut client, json!({ "part": "ori", "number": 0, "revision": 1 }));
    assert!(ori["lines"].is_object(), "{ori}");
    // Another text is another state; one that does not compile leaves the state before.
    client.edit(URI, 2, (7, 24), (7, 25), "8; st.global.u32 [%a+4], 9");
    expect![[r#"{"error":-32803,"message":"the text has changed"}"#]]
        .assert_eq(&part(&mut client, code(0, 1)).to_string());
    expect![[r#"{"error":null,"revision":2}"#]]
        .assert_eq(&part(&mut client, json!({ "part": "state" })).to_string());
    assert_ne!(part(&mut client, code(0, 2)).to_string(), first);
    client.edit(URI, 3, (8, 4), (8, 7), "rett");
    expect![[r#"{"error":"line 9: error[ptx::unknown-instruction]: no instruction is called `rett`; did you mean `ret`?","revision":2}"#]].assert_eq(&part(&mut client, json!({ "part": "state" })).to_string());
    let whole = json!({ "command": "oriole.showPage", "arguments": [{ "uri": URI }] });
    let refused = client.ask_value("workspace/executeCommand", whole.clone());
    assert!(refused["message"].as_str().is_some_and(|said| said.contains("rett")), "{refused}");
    client.edit(URI, 4, (8, 4), (8, 8), "ret");
    let whole = client.ask_value("workspace/executeCommand", whole);
    let whole = whole["html"].as_str().expect("a page");
    assert!(whole.contains("STG.E") && !whole.contains("</script><b>") && whole.contains("script-src"));
    expect![[r#"{"error":-32803,"message":"there is no kernel 1"}"#]]
        .assert_eq(&part(&mut client, code(1, 3)).to_string());
    for asked in [json!({ "part": "none" }), json!({ "part": "code" })] {
        assert_eq!(part(&mut client, asked)["error"], -32602);
    }
    client.close(URI);
    assert_eq!(part(&mut client, json!({ "part": "state" }))["error"], -32602);
    client.stop();
}
