//! Profiles in an editor: when they are made, what is shown of them, and how they end.

use crate::support::Client;
use expect_test::expect;
use oriole_lsp::{Environment, Nothing, Ptxas, PtxasError};
use oriole_simulate::{Argument, Launch, Options};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

const URI: &str = "file:///w/k.ptx";

/// Neighbouring threads read 128 bytes apart.
const STRIDED: &str = "\
.version 8.0
.target sm_90
.address_size 64

.visible .entry strided(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<5>;
    .reg .b64 %rd<8>;

    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 64, %r1;
    mul.wide.u32 %rd3, %r3, 128;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.u32 %r4, [%rd4];
    mul.wide.u32 %rd5, %r3, 4;
    add.u64 %rd6, %rd2, %rd5;
    st.global.u32 [%rd6], %r4;
    ret;
}
";

/// It counts to its argument.
const LONG: &str = "\
.version 8.0
.target sm_90
.address_size 64

.visible .entry long(.param .u32 n, .param .u64 out)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .b64 %rd<2>;

    ld.param.u32 %r1, [n];
    ld.param.u64 %rd1, [out];
    mov.u32 %r2, 0;
    mov.u32 %r3, 7;
loop:
    add.u32 %r2, %r2, 1;
    mad.lo.u32 %r3, %r3, %r3, %r2;
    setp.lt.u32 %p, %r2, %r1;
    @%p bra loop;
    st.global.u32 [%rd1], %r3;
    ret;
}
";

/// A kernel that no launch ends: the search for one tries many.
const LOST: &str = "\
.version 8.0
.target sm_90
.address_size 64

.visible .entry lost(.param .u64 out)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;

    ld.param.u64 %rd1, [out];
loop:
    ld.volatile.global.u32 %r1, [%rd1];
    st.volatile.global.u32 [%rd1+4], %r1;
    bra loop;
}
";

/// A launch record of a kernel that runs for minutes.
struct Endless;

impl Environment for Endless {
    fn read(&self, _: &Path, _: usize) -> Option<Vec<u8>> {
        None
    }

    fn sources(&self, _: &Path) -> Vec<PathBuf> {
        Vec::new()
    }

    fn launch(&self, ptx: &Path, kernel: &str) -> Option<Result<(String, Launch), String>> {
        assert_eq!((ptx, kernel), (Path::new("/w/k.ptx"), "long"));
        let arguments = vec![Argument::Value(vec![0xff; 4]), Argument::Buffer(vec![0; 4])];
        let launch = Launch {
            kernel: kernel.to_owned(),
            grid: [64, 1, 1],
            block: [256, 1, 1],
            cluster: None,
            dynamic_shared: 0,
            arguments,
            bindings: Vec::new(),
            options: Options::default(),
        };
        Some(Ok(("k.json".to_owned(), launch)))
    }

    fn wait_for_end(&self, _: u32) -> bool {
        false
    }

    fn ptxas(&self, _: &str, _: &str) -> Result<Ptxas, PtxasError> {
        Err(PtxasError::Missing)
    }
}

fn start(world: Arc<dyn Environment>, settings: &Value) -> Client {
    Client::start_in(
        world,
        json!({ "capabilities": { "textDocument": { "diagnostic": {} } }, "initializationOptions": settings }),
    )
}

/// The diagnostics of a model, without figures: code, severity, line, first words.
fn findings(client: &mut Client) -> String {
    let found = client.ask_value("textDocument/diagnostic", json!({ "textDocument": { "uri": URI } }));
    let items = found["items"].as_array().expect("a full report").iter();
    let row = |item: &Value| {
        let message = item["message"].as_str().expect("a message");
        let words = message.split_once(" % of the time: ").expect("the share comes first").1;
        let words = words.replace('\n', " | ");
        format!("{} {} line {}: {words}\n", item["code"], item["severity"], item["range"]["start"]["line"])
    };
    let is_model = |item: &&Value| item["code"].as_str().is_some_and(|code| code.starts_with("perf::"));
    items.filter(is_model).map(row).collect()
}

/// The lines with a hint of the model.
fn hot(client: &mut Client) -> Vec<(u64, String)> {
    let range = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 40, "character": 0 } });
    let asked = json!({ "textDocument": { "uri": URI }, "range": range });
    let hints = client.ask_value("textDocument/inlayHint", asked);
    let hints = hints.as_array().expect("hints").iter();
    let hints =
        hints.filter(|hint| hint["label"].as_str().is_some_and(|label| label.ends_with("% of stall cycles")));
    hints
        .map(|hint| (hint["position"]["line"].as_u64().expect("a line"), hint["tooltip"].to_string()))
        .collect()
}

fn profile(client: &mut Client, kernel: &str) -> Value {
    let run = json!({ "command": "oriole.profile", "arguments": [{ "uri": URI, "kernel": kernel }] });
    client.ask_value("workspace/executeCommand", run)
}

/// With the setting on, findings and hot lines are there after a rest, and go with the text.
#[test]
fn kernels_are_profiled_while_the_text_rests() {
    let mut client = start(Arc::new(Nothing), &json!({ "profile": { "enable": true }, "background": false }));
    client.open(URI, "ptx", STRIDED);
    let until = Instant::now() + Duration::from_secs(60);
    while findings(&mut client).is_empty() {
        assert!(Instant::now() < until, "there is no profile");
        std::thread::sleep(Duration::from_millis(20));
    }
    expect![[r#"
        "perf::strided-access" 3 line 16: ld.global.u32 loads 32 sectors of 32 bytes where 4 would do: neighbouring threads read 128 bytes apart | help: let threadIdx.x index the last dimension (structures of arrays, not arrays of structures), or stage through shared memory | (model of a launch made from the PTX on sm_90)
    "#]].assert_eq(&findings(&mut client));
    let hot = hot(&mut client);
    assert!(hot.iter().any(|(line, why)| *line == 19 && why.contains("memory")), "{hot:?}");
    // Another document changes nothing of that.
    client.open("file:///w/other.ptx", "ptx", LONG);
    client.edit("file:///w/other.ptx", 2, (0, 0), (0, 0), "// a change\n");
    assert!(findings(&mut client).starts_with("\"perf::strided-access\" 3 line 16: "));
    client.edit(URI, 2, (20, 4), (20, 4), "rett; ");
    assert_eq!(findings(&mut client), "");
    client.stop();
}

/// Without the setting a kernel is profiled on request: the lens is always there.
#[test]
fn a_kernel_is_profiled_when_it_is_asked_for() {
    let mut client = start(Arc::new(Nothing), &json!({}));
    client.open(URI, "ptx", STRIDED);
    let lenses = client.ask_value("textDocument/codeLens", json!({ "textDocument": { "uri": URI } }));
    let lenses = lenses.as_array().expect("lenses").iter();
    let lens = lenses.clone().find(|lens| lens["data"]["what"] == "profile").cloned().expect("the lens");
    let lens = client.ask_value("codeLens/resolve", lens);
    expect![[r#"{"arguments":[{"chip":"sm_90","kernel":"strided","uri":"file:///w/k.ptx"}],"command":"oriole.profile","title":"Profile this kernel"}"#]]
        .assert_eq(&lens["command"].to_string());
    assert_eq!(findings(&mut client), "");
    let run = json!({ "command": "oriole.profile", "arguments": lens["command"]["arguments"] });
    let answer = client.ask_value("workspace/executeCommand", run);
    let text = answer["text"].as_str().expect("a report");
    assert!(text.starts_with("strided: ") && text.ends_with("(a launch made from the PTX)\n"), "{text}");
    assert!(findings(&mut client).starts_with("\"perf::strided-access\" 3 line 16: "));
    // A profile for another chip is not shown.
    let target = json!({ "command": "oriole.setTarget", "arguments": [{ "uri": URI, "chip": "sm_100" }] });
    client.ask_value("workspace/executeCommand", target);
    assert_eq!(findings(&mut client), "");
    let missing = profile(&mut client, "none");
    expect![[r#""no launch can be made for it, and there is no record: the PTX has no kernel `none`""#]]
        .assert_eq(&missing["message"].to_string());
    client.stop();
}

/// A profile ends with its budget, with an edit, when it is cancelled, and with the server.
#[test]
fn long_profiles_end_early() {
    let mut client = start(Arc::new(Endless), &json!({ "profile": { "budget": 100 } }));
    client.open(URI, "ptx", LONG);
    let over = profile(&mut client, "long");
    expect![[
        r#"{"error":-32803,"message":"the profile took longer than the setting `profile.budget` allows"}"#
    ]]
    .assert_eq(&over.to_string());
    client.stop();
    let mut client = start(Arc::new(Endless), &json!({ "profile": { "budget": 600_000 } }));
    client.open(URI, "ptx", LONG);
    let run = json!({ "command": "oriole.profile", "arguments": [{ "uri": URI, "kernel": "long" }] });
    let id = client.send("workspace/executeCommand", run.clone());
    client.edit(URI, 2, (0, 0), (0, 0), "// a change\n");
    let edited = client.answer(&id).response_result.expect_err("the text has changed");
    let id = client.send("workspace/executeCommand", run);
    client.tell("$/cancelRequest", json!({ "id": id }));
    let cancelled = client.answer(&id).response_result.expect_err("it is not wanted");
    expect!["-32801 -32800"].assert_eq(&format!("{} {}", edited.code, cancelled.code));
    let run = json!({ "command": "oriole.profile", "arguments": [{ "uri": URI, "kernel": "long" }] });
    client.send("workspace/executeCommand", run);
    client.stop();
}

/// So does the search for a launch.
#[test]
fn long_searches_for_a_launch_end_early() {
    let mut client = start(Arc::new(Nothing), &json!({ "profile": { "budget": 100 } }));
    client.open(URI, "ptx", LOST);
    let over = profile(&mut client, "lost");
    expect![[r#""the profile took longer than the setting `profile.budget` allows""#]]
        .assert_eq(&over["message"].to_string());
    client.stop();
    let mut client = start(Arc::new(Nothing), &json!({ "profile": { "budget": 600_000 } }));
    client.open(URI, "ptx", LOST);
    let run = json!({ "command": "oriole.profile", "arguments": [{ "uri": URI, "kernel": "lost" }] });
    let id = client.send("workspace/executeCommand", run);
    client.tell("$/cancelRequest", json!({ "id": id }));
    let cancelled = client.answer(&id).response_result.expect_err("it is not wanted");
    assert_eq!(cancelled.code, -32800);
    client.stop();
}
