//! Messages that the server sends without a request: followed code, diagnostics of the whole workspace, marks of
//! registers; and its end when the client is gone.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};

use crate::support::Client;
use expect_test::expect;
use lsp_server::{Message, RequestId};
use oriole_lsp::{End, Environment, Ptxas, PtxasError};
use serde_json::{Value, json};

const KERNEL: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry one(.param .u64 p)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [p];
    ld.global.u32 %r1, [%d1];
    xor.b32 %r2, %r1, 5;
    st.global.u32 [%d1], %r2;
    ret;
}
";

const URI: &str = "file:///w/one.ptx";

/// Files in memory, and a process whose end the test controls.
#[derive(Default)]
struct World {
    files: Mutex<Vec<(PathBuf, String)>>,
    ended: (Mutex<bool>, Condvar),
    ptxas: Mutex<Option<Ptxas>>,
}

impl World {
    fn put(&self, path: &str, text: &str) {
        let mut files = self.files.lock().unwrap();
        files.retain(|file| file.0 != Path::new(path));
        files.push((path.into(), text.to_owned()));
        files.sort();
    }

    fn remove(&self, path: &str) {
        self.files.lock().unwrap().retain(|file| file.0 != Path::new(path));
    }
}

impl Environment for World {
    fn read(&self, path: &Path, _: usize) -> Option<Vec<u8>> {
        let files = self.files.lock().unwrap();
        files.iter().find(|file| file.0 == path).map(|file| file.1.clone().into_bytes())
    }

    fn sources(&self, folder: &Path) -> Vec<PathBuf> {
        let files = self.files.lock().unwrap();
        files.iter().map(|file| file.0.clone()).filter(|path| path.starts_with(folder)).collect()
    }

    fn wait_for_end(&self, process: u32) -> bool {
        assert_eq!(process, 77);
        let ended = self.ended.1.wait_while(self.ended.0.lock().unwrap(), |ended| !*ended).unwrap();
        *ended
    }

    fn ptxas(&self, _text: &str, _chip: &str) -> Result<Ptxas, PtxasError> {
        self.ptxas.lock().unwrap().clone().ok_or(PtxasError::Missing)
    }
}

// ---- followed code

/// A client's state of a kernel's code: rows and their places.
#[derive(Default)]
struct Shown {
    name: Value,
    rows: Vec<Value>,
    map: Value,
}

impl Shown {
    fn apply(&mut self, told: &Value) {
        assert_eq!(told["previousResultId"], self.name, "each state builds on the one before");
        for edit in told["edits"].as_array().unwrap() {
            let start = edit["start"].as_u64().unwrap() as usize;
            let end = start + edit["deleteCount"].as_u64().unwrap() as usize;
            self.rows.splice(start..end, edit["rows"].as_array().unwrap().iter().cloned());
        }
        assert_eq!(told["count"], self.rows.len());
        assert_eq!(told["map"].as_array().unwrap().len(), self.rows.len());
        (self.name, self.map) = (told["resultId"].clone(), told["map"].clone());
    }

    /// Line of the statement that a mnemonic comes from.
    fn line_of(&self, mnemonic: &str) -> u64 {
        let at = self.rows.iter().position(|row| row["text"].as_str().unwrap().contains(mnemonic)).unwrap();
        self.map[at][0].as_u64().unwrap()
    }
}

fn told(client: &Client, version: i64) -> Value {
    let text = client.wait_until("ptx/sassMap", |told| told["textDocument"]["version"] == version);
    serde_json::from_str(&text).unwrap()
}

#[test]
fn followed_code_is_pushed() {
    let mut client = Client::start(json!({ "textDocument": { "diagnostic": {} } }));
    client.open(URI, "ptx", KERNEL);
    let ask = json!({ "textDocument": { "uri": URI }, "kernel": "one", "follow": true });
    let first = client.ask_value("ptx/viewSass", ask.clone());
    let mut shown = Shown { name: first["resultId"].clone(), ..Shown::default() };
    for row in first["rows"].as_array().unwrap() {
        let mut row = row.clone();
        row.as_object_mut().unwrap().remove("source");
        shown.rows.push(row);
    }
    // An inserted line above moves every place and changes no row.
    client.edit(URI, 2, (3, 0), (3, 0), "// a line\n");
    let moved = told(&client, 2);
    assert_eq!(
        (&moved["edits"], &moved["stale"], &moved["chip"]),
        (&json!([]), &json!(false), &json!("sm_90"))
    );
    shown.apply(&moved);
    assert_eq!((shown.line_of("STG"), shown.line_of("LDG")), (11, 9));
    // Another operation changes some rows and not all.
    client.edit(URI, 3, (10, 4), (10, 11), "and.b32");
    let changed = told(&client, 3);
    let rows = changed["edits"][0]["rows"].as_array().unwrap().len();
    assert!(rows > 0 && rows < shown.rows.len(), "{rows} of {}", shown.rows.len());
    shown.apply(&changed);
    // A kernel that does not compile keeps its code, which is stale; the edited statement has no place.
    client.edit(URI, 4, (10, 4), (10, 11), "andd.b32");
    let stale = told(&client, 4);
    assert_eq!(stale["stale"], true);
    shown.apply(&stale);
    assert_eq!(shown.line_of("STG"), 11);
    // For another chip.
    let target = json!({ "command": "oriole.setTarget", "arguments": [{ "uri": URI, "chip": "sm_90a" }] });
    client.edit(URI, 5, (10, 4), (10, 12), "and.b32");
    shown.apply(&told(&client, 5));
    let id = client.send("workspace/executeCommand", target);
    let other = told(&client, 5);
    assert_eq!(other["chip"], "sm_90a");
    shown.apply(&other);
    let _ = id;
    // Rows that were patched together equal those of a full answer.
    let whole = client.ask_value("ptx/viewSass", ask.clone());
    let mut rows = whole["rows"].clone();
    rows.as_array_mut().unwrap().iter_mut().for_each(|row| {
        row.as_object_mut().unwrap().remove("source");
    });
    assert_eq!(rows, json!(shown.rows));
    // Without `follow` nothing is pushed any more.
    let mut end = ask;
    end["follow"] = json!(false);
    client.ask_value("ptx/viewSass", end);
    client.edit(URI, 6, (3, 0), (3, 0), "// more\n");
    client.tell("textDocument/didSave", json!({ "textDocument": { "uri": URI } }));
    client.ask_value("ptx/viewSass", json!({ "textDocument": { "uri": URI }, "kernel": "one" }));
    let id = client.send("ptx/serverStatus", json!({}));
    loop {
        match client.receive() {
            Message::Notification(found) => assert_ne!(found.method, "ptx/sassMap"),
            Message::Response(response) if response.id == id => break,
            _ => {}
        }
    }
    client.stop();
}

// ---- the workspace

fn report(items: &Value) -> String {
    let row = |item: &Value| {
        let messages: Vec<&str> = item["items"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|found| found["message"].as_str())
            .collect();
        let (uri, kind) = (item["uri"].as_str().unwrap(), item["kind"].as_str().unwrap());
        format!("{uri} {} {kind} {messages:?}\n", item["version"])
    };
    items.as_array().unwrap().iter().map(row).collect()
}

fn known(items: &Value) -> Value {
    let one = |item: &Value| json!({ "uri": item["uri"], "value": item["resultId"] });
    items.as_array().unwrap().iter().map(one).collect()
}

#[test]
fn diagnostics_of_the_workspace() {
    let world = Arc::new(World::default());
    world.put("/w/a.ptx", KERNEL);
    world.put("/w/sub/b.ptx", &KERNEL.replace("ret;", "rett;"));
    world.put("/other/c.ptx", "nonsense");
    let folders = json!([{ "uri": "file:///w", "name": "w" }]);
    let mut client =
        Client::start_in(world.clone(), json!({ "capabilities": {}, "workspaceFolders": folders }));
    client.open(URI, "ptx", &KERNEL.replace("%r2, %r1", "%r2, %r9"));
    let first = client.ask_value("workspace/diagnostic", json!({ "previousResultIds": [] }));
    expect![[r#"
        file:///w/one.ptx 1 full ["no register is called `%r9`\nhelp: the range ends with `%r3`"]
        file:///w/a.ptx null full []
        file:///w/sub/b.ptx null full ["no instruction is called `rett`; did you mean `ret`?"]
    "#]]
    .assert_eq(&report(&first["items"]));
    let again = json!({ "previousResultIds": known(&first["items"]) });
    expect![[r#"
        file:///w/one.ptx 1 unchanged []
        file:///w/a.ptx null unchanged []
        file:///w/sub/b.ptx null unchanged []
    "#]]
    .assert_eq(&report(&client.ask_value("workspace/diagnostic", again.clone())["items"]));
    // A file that is too large is listed.
    world.put("/w/large.ptx", &" ".repeat(33 << 20));
    client.ask_value("workspace/diagnostic", json!({ "previousResultIds": [] }));
    expect![[r#"{"health":"warning","message":"off because of its size for file:///w/large.ptx: diagnostics before it is opened","off":[{"features":["diagnostics before it is opened"],"uri":"file:///w/large.ptx"}],"quiescent":true}"#]]
        .assert_eq(&client.ask("ptx/serverStatus", json!({})));
    world.remove("/w/large.ptx");
    // Another folder, a corrected file, a removed one, and a corrected open one.
    world.put("/w/sub/b.ptx", KERNEL);
    world.remove("/w/a.ptx");
    client.edit(URI, 2, (9, 19), (9, 20), "1");
    let event = json!({ "event": { "added": [{ "uri": "file:///other", "name": "o" }], "removed": [] } });
    client.tell("workspace/didChangeWorkspaceFolders", event);
    expect![[r#"
        file:///w/one.ptx 2 full []
        file:///w/sub/b.ptx null full []
        file:///other/c.ptx null full ["a module-level directive expected, found `nonsense`", "a module begins with a `.version` directive"]
        file:///w/a.ptx null full []
    "#]]
    .assert_eq(&report(&client.ask_value("workspace/diagnostic", again)["items"]));
    client.stop();
}

/// Chunks of a stream until its end.
fn chunk(client: &Client) -> Value {
    let found = client.wait_until("$/progress", |told| told["token"] == "diagnostics");
    let found: Value = serde_json::from_str(&found).unwrap();
    found["value"]["items"].clone()
}

#[test]
fn diagnostics_of_the_workspace_go_on() {
    let world = Arc::new(World::default());
    world.put("/w/a.ptx", KERNEL);
    let parameters = json!({ "capabilities": {}, "rootUri": "file:///w" });
    let mut client = Client::start_in(world.clone(), parameters);
    let asked = json!({ "previousResultIds": [], "partialResultToken": "diagnostics" });
    let id = client.send("workspace/diagnostic", asked.clone());
    let mut shown = report(&chunk(&client));
    // A file changes on disk, one is opened, and one is closed again.
    world.put("/w/a.ptx", &KERNEL.replace("ret;", "rett;"));
    let changed = json!({ "changes": [{ "uri": "file:///w/a.ptx", "type": 2 }] });
    client.tell("workspace/didChangeWatchedFiles", changed);
    shown.push_str(&report(&chunk(&client)));
    client.open("file:///w/a.ptx", "ptx", &KERNEL.replace("%r2, %r1", "%r2, %r9"));
    shown.push_str(&report(&chunk(&client)));
    client.close("file:///w/a.ptx");
    shown.push_str(&report(&chunk(&client)));
    expect![[r#"
        file:///w/a.ptx null full []
        file:///w/a.ptx null full ["no instruction is called `rett`; did you mean `ret`?"]
        file:///w/a.ptx 1 full ["no register is called `%r9`\nhelp: the range ends with `%r3`"]
        file:///w/a.ptx null full ["no instruction is called `rett`; did you mean `ret`?"]
    "#]]
    .assert_eq(&shown);
    // The client cancels, and begins another stream, which `shutdown` ends.
    client.tell("$/cancelRequest", json!({ "id": 2 }));
    assert_eq!(id, RequestId::from(2));
    assert_eq!(client.answer(&id).response_result.unwrap_err().code, -32800);
    let id = client.send("workspace/diagnostic", asked);
    chunk(&client);
    let goodbye = client.send("shutdown", Value::Null);
    assert_eq!(client.answer(&id).response_result.unwrap(), json!({ "items": [] }));
    client.answer(&goodbye);
    client.tell("exit", Value::Null);
    assert_eq!(client.ended(), End::Goodbye);
}

// ---- the end

#[test]
fn the_server_ends_with_its_client() {
    let world = Arc::new(World::default());
    let client = Client::start_in(world.clone(), json!({ "capabilities": {}, "processId": 77 }));
    client.open(URI, "ptx", KERNEL);
    *world.ended.0.lock().unwrap() = true;
    world.ended.1.notify_all();
    assert_eq!(client.ended(), End::ClientGone);
    // A client that exits without `shutdown`.
    let client = Client::start(json!({}));
    client.tell("exit", Value::Null);
    assert_eq!(client.ended(), End::Exit);
}

// ---- register marks from compiled code

/// Registers are marked by the last good code, and the client gets a refresh request.
#[test]
fn tokens_with_marks() {
    let refresh = json!({ "semanticTokens": { "refreshSupport": true } });
    let mut client = Client::start(json!({ "workspace": refresh, "textDocument": { "diagnostic": {} } }));
    client.open(
        URI,
        "ptx",
        &KERNEL.replace("xor.b32 %r2, %r1, 5;", "xor.b32 %r2, %r1, 5;\n    add.u32 %r3, %r2, 1;"),
    );
    let until = |client: &Client| loop {
        match client.receive() {
            Message::Request(request) if request.method == "workspace/semanticTokens/refresh" => break,
            _ => {}
        }
    };
    until(&client);
    let full =
        client.ask_value("textDocument/semanticTokens/full", json!({ "textDocument": { "uri": URI } }));
    // The bit of `dead`, at the one place that names %r3.
    let dead =
        full["data"].as_array().unwrap().chunks(5).filter(|token| token[4].as_u64().unwrap() >> 6 & 1 == 1);
    assert_eq!(dead.count(), 1);
    client.stop();
}

#[test]
fn phases_are_listed() {
    let mut client = Client::start(json!({}));
    client.open(URI, "ptx", KERNEL);
    let phases = client.ask_value("ptx/phases", json!({}));
    let mut shown = String::new();
    for name in ["OriCheckInitialProgram", "AdvancedPhaseAllocReg", "NOP"] {
        let phase = phases.as_array().unwrap().iter().find(|phase| phase["name"] == name).unwrap();
        shown.push_str(&format!("{phase}\n"));
        let ask = json!({ "textDocument": { "uri": URI }, "kernel": "one", "phase": name });
        let found = client.ask_value("ptx/viewIr", ask);
        assert_eq!(found["message"], phase["reason"]);
    }
    expect![[r#"
        {"doc":"Structural check of the raw function, where verification is asked for.","group":"bridged","level":0,"name":"OriCheckInitialProgram","number":0,"ori":true,"reason":null,"state":"done"}
        {"doc":"Register allocation.","group":"allocated","level":0,"name":"AdvancedPhaseAllocReg","number":101,"ori":false,"reason":"phase 101 AdvancedPhaseAllocReg leaves machine code, not Ori: see `oriole isel` and `oriole dis`","state":"done"}
        {"doc":"Late duplicate: the work is done at the earlier phase of the name.","group":"report","level":0,"name":"NOP","number":158,"ori":false,"reason":"phase 158 NOP does nothing in compute code","state":"not for compute"}
    "#]]
    .assert_eq(&shown);
    client.stop();
}

// ---- ptxas

/// Verdicts of both, for accepted and refused programs; without ptxas a reason.
#[test]
fn verdicts_are_compared() {
    let world = Arc::new(World::default());
    let mut client = Client::start_in(world.clone(), json!({ "capabilities": {} }));
    client.open(URI, "ptx", KERNEL);
    let ask = json!({ "textDocument": { "uri": URI }, "kernel": "one" });
    let mut shown = String::new();
    let mut row = |client: &mut Client| {
        let found = client.ask_value("ptx/compare", ask.clone());
        let sass = found["oriole"]["sass"].as_str().map(|text| text.contains("EXIT"));
        let verdicts = (&found["oriole"]["verdict"], &found["ptxas"]["verdict"]);
        shown.push_str(&format!(
            "{} {} {} sass {sass:?} {} {}\n",
            found["agree"], verdicts.0, verdicts.1, found["oriole"]["diagnostics"], found["message"]
        ));
    };
    row(&mut client);
    *world.ptxas.lock().unwrap() = Some(Ptxas::Refused("wrong".to_owned()));
    row(&mut client);
    client.edit(URI, 2, (11, 4), (11, 7), "rett");
    row(&mut client);
    client.edit(URI, 3, (11, 4), (11, 8), "alloca.u64 %d1, 16, 24");
    row(&mut client);
    expect![[r#"
        null null null sass None null "no `ptxas` is installed"
        false "accepted" "refused" sass Some(true) [] null
        true "refused" "refused" sass None ["ptx::unknown-instruction: no instruction is called `rett`; did you mean `ret`?"] null
        false "not supported" "refused" sass None ["oriole::not-supported: an alignment that is no power of two"] null
    "#]]
    .assert_eq(&shown);
    client.stop();
}
