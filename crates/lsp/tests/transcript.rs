//! Recorded conversations of a client and the server: each message, in order, as text.

use crate::support::Client;
use expect_test::expect;
use serde_json::{Value, json};

const KERNEL: &str = "\
.version 8.0
.target sm_90
.address_size 64

.visible .entry scale(.param .u64 data, .param .f32 factor)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<5>;
    .reg .f32 %f<4>;

    ld.param.u64 %rd1, [data];
    ld.param.f32 %f1, [factor];
    mov.u32 %r1, %tid.x;
    cvta.to.global.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    mul.f32 %f3, %f2, %f1;
    st.global.f32 [%rd4], %f3;
    ret;
}
";

const URI: &str = "file:///w/scale.ptx";

/// A hover up to its machine code, which changes with every better pass.
fn before_code(hover: &str) -> String {
    let (before, code) = hover.split_once("**sm_90**").expect("the hover tells the machine code");
    assert!(code.contains("pipe"), "{code}");
    before.to_owned()
}

/// A new user's first ten minutes: open, error, quick fix, hover, rename, see SASS, change the target, see it again.
#[test]
fn the_first_ten_minutes() {
    let mut client = Client::start(json!({ "textDocument": { "diagnostic": {} } }));
    client.open(URI, "ptx", KERNEL);
    let pull = json!({ "textDocument": { "uri": URI } });
    expect![[r#"{"items":[],"kind":"full","resultId":"7904dd65836c8ff4"}"#]]
        .assert_eq(&client.ask("textDocument/diagnostic", pull.clone()));
    // The result of the multiply is written to an undeclared register.
    client.edit(URI, 2, (17, 12), (17, 15), "%f9");
    expect![[r#"{"items":[{"code":"ptx::unknown-name","codeDescription":{"href":"https://github.com/oriole-compiler/oriole/blob/main/docs/codes.md#ptxunknown-name"},"message":"no register is called `%f9`\nhelp: the range ends with `%f3`","range":{"end":{"character":15,"line":17},"start":{"character":12,"line":17}},"severity":1,"source":"oriole"}],"kind":"full","resultId":"3a44ada0e44da650"}"#]].assert_eq(&client.ask("textDocument/diagnostic", pull.clone()));
    let action = json!({
        "textDocument": { "uri": URI },
        "range": { "start": { "line": 17, "character": 12 }, "end": { "line": 17, "character": 15 } },
        "context": { "diagnostics": [] }
    });
    expect![[r#"[{"diagnostics":[],"edit":{"changes":{"file:///w/scale.ptx":[{"newText":"10","range":{"end":{"character":18,"line":8},"start":{"character":17,"line":8}}}]}},"isPreferred":true,"kind":"quickfix","title":"Make it `%f<10>`"},{"diagnostics":[],"edit":{"changes":{"file:///w/scale.ptx":[{"newText":"\n    .reg .f32 %f9;","range":{"end":{"character":1,"line":5},"start":{"character":1,"line":5}}}]}},"isPreferred":false,"kind":"quickfix","title":"Declare `.reg .f32 %f9;`"}]"#]].assert_eq(&client.ask("textDocument/codeAction", action));
    // The first fix is applied.
    client.edit(URI, 3, (8, 17), (8, 18), "10");
    expect![[r#"{"items":[{"code":"ptx::uninitialized-register","codeDescription":{"href":"https://github.com/oriole-compiler/oriole/blob/main/docs/codes.md#ptxuninitialized-register"},"message":"`%f3` is read here, and nothing can have written it before","range":{"end":{"character":30,"line":18},"start":{"character":4,"line":18}},"relatedInformation":[{"location":{"range":{"end":{"character":16,"line":8},"start":{"character":14,"line":8}},"uri":"file:///w/scale.ptx"},"message":"declared here"}],"severity":2,"source":"oriole"}],"kind":"full","resultId":"bdeda36d8e0ba427"}"#]]
        .assert_eq(&client.ask("textDocument/diagnostic", pull));
    client.edit(URI, 4, (18, 26), (18, 29), "%f9");
    let at = |line: u32, character: u32| json!({ "textDocument": { "uri": URI }, "position": { "line": line, "character": character } });
    expect![[r#"{"contents":{"kind":"markdown","value":"```ptx\nmul[.{rn,rz,rm,rp}][.ftz][.sat].f32 d, a, b\n```\nMultiplies.\n\nPTX 1.0, all chips; `.ftz` needs PTX 1.4 and `sm_10` or later; `.rm` needs PTX 1.0 and `sm_20` or later; `.rp` needs PTX 1.0 and `sm_20` or later\n\nOther forms:\n* `mul[.{rn,rz,rm,rp}].f64 d, a, b`: Multiplies.\n* `mul[.{rn,rz,rm,rp}][.ftz].f32x2 d, a, b`: Multiplies two pairs.\n* `mul[.rn][.ftz][.sat].{f16,f16x2} d, a, b`: Multiplies.\n* `mul[.rn].{bf16,bf16x2} d, a, b`: Multiplies.\n* `mul[.rn][.satfinite].{e4m3x4,e5m2x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4}.{e4m3x4,e5m2x4,e2m3x4,e3m2x4,e2m1x4} d, a, b`: Multiplies packed FP8, FP6 or FP4 values.\n* `mul.{lo,hi}.{u16,u32,u64,s16,s32,s64} d, a, b`: Low or high half of the product.\n* `mul.wide.{u16,u32,s16,s32} d, a, b`: The whole product, twice as wide as the factors.\n\n"#]].assert_eq(&before_code(&client.ask("textDocument/hover", at(17, 5))));
    let mut rename = at(10, 20);
    rename["newName"] = json!("%address1");
    expect![[r#"{"changes":{"file:///w/scale.ptx":[{"newText":"%address","range":{"end":{"character":17,"line":7},"start":{"character":14,"line":7}}},{"newText":"%address1","range":{"end":{"character":21,"line":10},"start":{"character":17,"line":10}}},{"newText":"%address2","range":{"end":{"character":27,"line":13},"start":{"character":23,"line":13}}},{"newText":"%address1","range":{"end":{"character":33,"line":13},"start":{"character":29,"line":13}}},{"newText":"%address3","range":{"end":{"character":21,"line":14},"start":{"character":17,"line":14}}},{"newText":"%address4","range":{"end":{"character":16,"line":15},"start":{"character":12,"line":15}}},{"newText":"%address2","range":{"end":{"character":22,"line":15},"start":{"character":18,"line":15}}},{"newText":"%address3","range":{"end":{"character":28,"line":15},"start":{"character":24,"line":15}}},{"newText":"%address4","range":{"end":{"character":28,"line":16},"start":{"character":24,"line":16}}},{"newText":"%address4","range":{"end":{"character":23,"line":18},"start":{"character":19,"line":18}}}]}}"#]].assert_eq(&client.ask("textDocument/rename", rename));
    let lenses = client.ask_value("textDocument/codeLens", json!({ "textDocument": { "uri": URI } }));
    let lens = client.ask_value("codeLens/resolve", lenses[0].clone());
    let title = lens["command"]["title"].as_str().unwrap();
    assert!(
        title.starts_with("sm_90: ") && title.contains(" registers, ") && title.contains(" warps at "),
        "{title}"
    );
    assert!(lens["command"]["tooltip"].as_str().unwrap().contains("because"));
    let show = client.ask_value("codeLens/resolve", lenses[1].clone());
    let run = json!({ "command": show["command"]["command"], "arguments": show["command"]["arguments"] });
    let shown = client.ask_value("workspace/executeCommand", run);
    let code = shown["text"].as_str().unwrap();
    assert!(
        code.starts_with("// scale for sm_90, ") && code.contains("FMUL") && code.contains("STG"),
        "{code}"
    );
    // Another target, and the document of the machine code is requested again.
    for chip in ["sm_90a", "sm_100f"] {
        let target = json!({ "command": "oriole.setTarget", "arguments": [{ "uri": URI, "chip": chip }] });
        expect!["null"].assert_eq(&client.ask("workspace/executeCommand", target));
        let uri = "oriole:///sass/scale.sass?uri=file%3A%2F%2F%2Fw%2Fscale.ptx&kernel=scale";
        let content = client.ask_value("workspace/textDocumentContent", json!({ "uri": uri }));
        let first = content["text"].as_str().unwrap().lines().next().unwrap().to_owned();
        assert!(first.starts_with(&format!("// scale for {chip}, ")), "{first}");
    }
    client.stop();
}

/// A client that cannot pull gets diagnostics pushed, with their version.
#[test]
fn diagnostics_are_pushed_to_old_clients() {
    let client = Client::start(json!({}));
    client.open(URI, "ptx", KERNEL);
    expect![[r#"{"diagnostics":[],"uri":"file:///w/scale.ptx","version":1}"#]]
        .assert_eq(&client.wait("textDocument/publishDiagnostics"));
    client.edit(URI, 2, (19, 4), (19, 7), "rett");
    let pushed = client.wait_until("textDocument/publishDiagnostics", |found| found["version"] == 2);
    expect![[r#"{"diagnostics":[{"code":"ptx::unknown-instruction","codeDescription":{"href":"https://github.com/oriole-compiler/oriole/blob/main/docs/codes.md#ptxunknown-instruction"},"message":"no instruction is called `rett`; did you mean `ret`?","range":{"end":{"character":8,"line":19},"start":{"character":4,"line":19}},"severity":1,"source":"oriole"}],"uri":"file:///w/scale.ptx","version":2}"#]].assert_eq(&pushed);
    client.close(URI);
    let pushed = client.wait_until("textDocument/publishDiagnostics", |found| found["version"].is_null());
    expect![[r#"{"diagnostics":[],"uri":"file:///w/scale.ptx"}"#]].assert_eq(&pushed);
    client.stop();
}

/// Positions use the negotiated encoding.
#[test]
fn encodings() {
    let text = "// \u{1f600}\u{e9}\n.version 8.0 /* \u{1f600} */ .target sm_1\n";
    let mut shown = String::new();
    for encodings in [json!(["utf-8", "utf-16"]), json!(["utf-16"]), json!(["utf-32"]), json!([])] {
        let mut client = Client::start(json!({
            "general": { "positionEncodings": encodings }, "textDocument": { "diagnostic": {} }
        }));
        client.open(URI, "ptx", text);
        let found = client.ask_value("textDocument/diagnostic", json!({ "textDocument": { "uri": URI } }));
        shown.push_str(&format!("{encodings} {}\n", found["items"][0]["range"]));
        client.stop();
    }
    expect![[r#"
        ["utf-8","utf-16"] {"end":{"character":36,"line":1},"start":{"character":32,"line":1}}
        ["utf-16"] {"end":{"character":34,"line":1},"start":{"character":30,"line":1}}
        ["utf-32"] {"end":{"character":33,"line":1},"start":{"character":29,"line":1}}
        [] {"end":{"character":34,"line":1},"start":{"character":30,"line":1}}
    "#]]
    .assert_eq(&shown);
}

/// A failure in one request is that request's error.
#[test]
fn errors_have_their_codes() {
    let mut client = Client::start(json!({ "textDocument": { "diagnostic": {} } }));
    client.open(URI, "ptx", KERNEL);
    let mut shown = String::new();
    for (method, parameters) in [
        ("textDocument/nothing", json!({})),
        ("textDocument/hover", json!({ "textDocument": 1 })),
        (
            "textDocument/hover",
            json!({ "textDocument": { "uri": "file:///no" }, "position": { "line": 0, "character": 0 } }),
        ),
        ("ptx/viewIr", json!({ "textDocument": { "uri": URI }, "kernel": "scale", "phase": "nothing" })),
        ("ptx/explain", json!({ "code": "ptx::unknown-name" })),
        ("ptx/viewCubin", json!({ "uri": "file:///no.cubin" })),
        (
            "textDocument/hover",
            json!({ "textDocument": { "uri": URI }, "position": { "line": 999, "character": 7 } }),
        ),
    ] {
        shown.push_str(&format!("{method}: {}\n", client.ask(method, parameters)));
    }
    expect![[r#"
        textDocument/nothing: {"error":-32601,"message":"there is no request `textDocument/nothing`"}
        textDocument/hover: {"error":-32602,"message":"invalid type: integer `1`, expected struct TextDocumentIdentifier"}
        textDocument/hover: {"error":-32602,"message":"`file:///no` is not open"}
        ptx/viewIr: {"error":-32803,"message":"there is no phase `nothing`"}
        ptx/explain: {"code":"ptx::unknown-name","severity":"error","text":"A register, variable, label, parameter or function is used without a visible declaration. Names are visible from their declaration to the end of the scope that holds it; labels are visible in the whole scope."}
        ptx/viewCubin: {"error":-32803,"message":"/no.cubin cannot be read"}
        textDocument/hover: null
    "#]].assert_eq(&shown);
    client.stop();
}

/// Every other request of the protocol, once.
#[test]
fn all_requests_answer() {
    let mut client = Client::start(json!({ "textDocument": { "diagnostic": {} } }));
    client.open(URI, "ptx", KERNEL);
    let document = json!({ "uri": URI });
    let range = json!({ "start": { "line": 11, "character": 0 }, "end": { "line": 13, "character": 0 } });
    let place = json!({ "textDocument": document, "position": { "line": 15, "character": 13 } });
    let of_document = json!({ "textDocument": document });
    let of_range = json!({ "textDocument": document, "range": range, "options": { "tabSize": 4, "insertSpaces": true } });
    let mut shown = String::new();
    for (method, parameters) in [
        ("textDocument/definition", place.clone()),
        (
            "textDocument/references",
            json!({ "textDocument": document, "position": { "line": 15, "character": 13 }, "context": { "includeDeclaration": false } }),
        ),
        ("textDocument/documentHighlight", place.clone()),
        ("textDocument/prepareRename", place.clone()),
        ("textDocument/signatureHelp", place.clone()),
        (
            "textDocument/selectionRange",
            json!({ "textDocument": document, "positions": [{ "line": 15, "character": 13 }] }),
        ),
        ("textDocument/foldingRange", of_document.clone()),
        ("textDocument/semanticTokens/range", of_range.clone()),
        ("textDocument/rangeFormatting", of_range.clone()),
        ("textDocument/prepareCallHierarchy", place.clone()),
        ("textDocument/documentLink", of_document.clone()),
        ("workspace/symbol", json!({ "query": "sc" })),
        ("ptx/serverStatus", json!({})),
    ] {
        shown.push_str(&format!("{method}: {}\n", client.ask(method, parameters)));
    }
    expect![[r#"
        textDocument/definition: [{"originSelectionRange":{"end":{"character":16,"line":15},"start":{"character":12,"line":15}},"targetRange":{"end":{"character":21,"line":7},"start":{"character":4,"line":7}},"targetSelectionRange":{"end":{"character":17,"line":7},"start":{"character":14,"line":7}},"targetUri":"file:///w/scale.ptx"}]
        textDocument/references: [{"range":{"end":{"character":16,"line":15},"start":{"character":12,"line":15}},"uri":"file:///w/scale.ptx"},{"range":{"end":{"character":28,"line":16},"start":{"character":24,"line":16}},"uri":"file:///w/scale.ptx"},{"range":{"end":{"character":23,"line":18},"start":{"character":19,"line":18}},"uri":"file:///w/scale.ptx"}]
        textDocument/documentHighlight: [{"kind":1,"range":{"end":{"character":17,"line":7},"start":{"character":14,"line":7}}},{"kind":3,"range":{"end":{"character":16,"line":15},"start":{"character":12,"line":15}}},{"kind":2,"range":{"end":{"character":28,"line":16},"start":{"character":24,"line":16}}},{"kind":2,"range":{"end":{"character":23,"line":18},"start":{"character":19,"line":18}}}]
        textDocument/prepareRename: {"placeholder":"%rd4","range":{"end":{"character":16,"line":15},"start":{"character":12,"line":15}}}
        textDocument/signatureHelp: {"activeParameter":0,"activeSignature":0,"signatures":[{"documentation":{"kind":"markdown","value":"Adds; the result wraps. PTX 1.0, all chips"},"label":"add.{u16,u32,u64,s16,s32,s64} d, a, b","parameters":[{"label":[30,31]},{"label":[33,34]},{"label":[36,37]}]},{"documentation":{"kind":"markdown","value":"Adds and writes the carry. PTX 1.2, all chips; `.s64` needs PTX 4.3 and `sm_20` or later; `.u64` needs PTX 4.3 and `sm_20` or later"},"label":"add.cc.{u32,u64,s32,s64} d, a, b","parameters":[{"label":[25,26]},{"label":[28,29]},{"label":[31,32]}]}]}
        textDocument/selectionRange: [{"parent":{"parent":{"parent":{"parent":{"parent":{"range":{"end":{"character":0,"line":21},"start":{"character":0,"line":0}}},"range":{"end":{"character":1,"line":20},"start":{"character":0,"line":4}}},"range":{"end":{"character":1,"line":20},"start":{"character":0,"line":5}}},"range":{"end":{"character":29,"line":15},"start":{"character":4,"line":15}}},"range":{"end":{"character":28,"line":15},"start":{"character":12,"line":15}}},"range":{"end":{"character":16,"line":15},"start":{"character":12,"line":15}}}]
        textDocument/foldingRange: [{"endCharacter":16,"endLine":2,"kind":"imports","startCharacter":0,"startLine":0},{"endCharacter":1,"endLine":20,"startCharacter":0,"startLine":5}]
        textDocument/semanticTokens/range: {"data":[11,4,2,1,0,0,2,6,4,0,0,6,4,3,0,0,5,3,5,2,0,6,6,6,4,1,4,3,1,0,0,3,4,3,0,0,5,3,5,2,0,5,6,5,36]}
        textDocument/rangeFormatting: [{"newText":"    ","range":{"end":{"character":17,"line":11},"start":{"character":16,"line":11}}},{"newText":"         ","range":{"end":{"character":12,"line":12},"start":{"character":11,"line":12}}}]
        textDocument/prepareCallHierarchy: [{"detail":"(.u64, .f32)","kind":24,"name":"scale","range":{"end":{"character":1,"line":20},"start":{"character":0,"line":4}},"selectionRange":{"end":{"character":21,"line":4},"start":{"character":16,"line":4}},"uri":"file:///w/scale.ptx"}]
        textDocument/documentLink: []
        workspace/symbol: [{"containerName":"(.u64, .f32)","kind":24,"location":{"range":{"end":{"character":21,"line":4},"start":{"character":16,"line":4}},"uri":"file:///w/scale.ptx"},"name":"scale"}]
        ptx/serverStatus: {"health":"ok","message":null,"off":[],"quiescent":true}
    "#]].assert_eq(&shown);
    for (method, parameters, key) in [
        ("textDocument/documentSymbol", of_document.clone(), "/0/name"),
        ("textDocument/completion", place.clone(), "/items/0/label"),
        ("textDocument/inlayHint", of_range.clone(), "/0/label"),
        ("ptx/liveness", place.clone(), "/live/general"),
        ("textDocument/formatting", of_range, "/0/newText"),
        ("ptx/viewSyntaxTree", of_document.clone(), "/0/kind"),
        ("ptx/viewSass", json!({ "textDocument": document, "kernel": "scale" }), "/rows/0/text"),
        ("ptx/viewIr", json!({ "textDocument": document, "kernel": "scale", "phase": "0" }), "/chip"),
        ("ptx/kernelStats", of_document.clone(), "/0/registers"),
        ("ptx/queryStats", json!({}), "/0/query"),
        ("ptx/memoryUsage", json!({}), "/rows/0/name"),
        ("ptx/reload", json!({}), ""),
    ] {
        let answer = client.ask_value(method, parameters);
        let part = answer.pointer(key);
        assert!(part.is_some() || method.ends_with("formatting"), "{method}: {answer}");
    }
    // The second answer contains only the changes.
    let full = client.ask_value("textDocument/semanticTokens/full", of_document);
    client.edit(URI, 2, (10, 0), (10, 0), "// new\n");
    let delta = json!({ "textDocument": document, "previousResultId": full["resultId"] });
    let delta = client.ask_value("textDocument/semanticTokens/full/delta", delta);
    expect![[r#"[{"data":[0,6,12,0,1],"deleteCount":0,"start":131}]"#]]
        .assert_eq(&delta["edits"].to_string());
    client.stop();
}

/// The parts of a completion that depend on the client, and its description.
#[test]
fn completions_as_clients_take_them() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n    bra_\n}\n";
    let ask = |capabilities: Value| {
        let completion = json!({ "completion": { "completionItem": capabilities } });
        let mut client = Client::start(json!({ "textDocument": completion }));
        client.open(URI, "ptx", text);
        let place = json!({ "textDocument": { "uri": URI }, "position": { "line": 5, "character": 7 } });
        let answer = client.ask_value("textDocument/completion", place);
        let items: Vec<Value> = answer["items"].as_array().unwrap().clone();
        let of = |label: &str| items.iter().find(|item| item["label"] == label).cloned();
        let resolved = client.ask_value("completionItem/resolve", of("bra").unwrap());
        let bad = client.ask_value("completionItem/resolve", json!({ "label": "bra", "data": "form no 1" }));
        assert_eq!(bad["error"], -32602, "{bad}");
        client.stop();
        (of("bra").unwrap(), of("@%p bra"), resolved["documentation"].clone())
    };
    let (plain, template, description) = ask(json!({}));
    assert_eq!(template, None);
    expect![[r#"
        {"data":"form bra 0","detail":"bra[.uni] target","filterText":"bra","kind":14,"label":"bra","sortText":"000bra","textEdit":{"newText":"bra","range":{"end":{"character":8,"line":5},"start":{"character":4,"line":5}}}}
        {"kind":"markdown","value":"```ptx\nbra[.uni] target\n```\nBranches to a label.\n\nPTX 1.0, all chips"}"#]].assert_eq(&format!("{plain}\n{description}"));
    let (item, template, _) = ask(json!({ "snippetSupport": true, "insertReplaceSupport": true }));
    expect![[r#"
        {"insert":{"end":{"character":7,"line":5},"start":{"character":4,"line":5}},"newText":"bra","replace":{"end":{"character":8,"line":5},"start":{"character":4,"line":5}}}
        {"data":"template @%p bra","detail":"Jumps if a predicate is true.","filterText":"@%p bra","insertTextFormat":2,"kind":15,"label":"@%p bra","sortText":"003@%p bra","textEdit":{"insert":{"end":{"character":7,"line":5},"start":{"character":4,"line":5}},"newText":"@${1:%p1} bra ${2:done};","replace":{"end":{"character":8,"line":5},"start":{"character":4,"line":5}}}}"#]].assert_eq(&format!("{}\n{}", item["textEdit"], template.unwrap()));
}

/// Formatting while typing.
#[test]
fn formatting_while_typing() {
    let mut client = Client::start(json!({}));
    client.open(URI, "ptx", ".version 8.0\n.target sm_90\n.entry k()\n{\nret ;\n}\n");
    let asked = |character: u32, ch: &str| {
        json!({ "textDocument": { "uri": URI }, "position": { "line": 4, "character": character }, "ch": ch,
                "options": { "tabSize": 2, "insertSpaces": true } })
    };
    expect![[r#"[{"newText":"  ","range":{"end":{"character":0,"line":4},"start":{"character":0,"line":4}}},{"newText":"","range":{"end":{"character":4,"line":4},"start":{"character":3,"line":4}}}]"#]].assert_eq(&client.ask("textDocument/onTypeFormatting", asked(5, ";")));
    assert_eq!(client.ask_value("textDocument/onTypeFormatting", asked(5, ""))["error"], -32602);
    client.stop();
}

/// Inline PTX of a CUDA source.
#[test]
fn inline_ptx() {
    let uri = "file:///w/a.cu";
    let mut client = Client::start(json!({ "textDocument": { "diagnostic": {} } }));
    client.open(uri, "cuda-cpp", "void f() {\n  asm(\"mov.u32 %0, %%laneidd;\" : \"=r\"(x));\n}\n");
    expect![[r#"{"items":[{"code":"ptx::unknown-name","codeDescription":{"href":"https://github.com/oriole-compiler/oriole/blob/main/docs/codes.md#ptxunknown-name"},"message":"no register is called `%laneidd`\nhelp: did you mean `%laneid`?","range":{"end":{"character":28,"line":1},"start":{"character":19,"line":1}},"severity":1,"source":"oriole"}],"kind":"full","resultId":"8c6f0ac70d2b8126"}"#]]
        .assert_eq(&client.ask("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } })));
    client.stop();
}
