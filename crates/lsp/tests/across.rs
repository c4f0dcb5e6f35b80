//! Names through all files of a workspace, open or not: one file is opened, the others are read.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use expect_test::expect;
use oriole_lsp::{Environment, Ptxas, PtxasError};
use serde_json::{Value, json};

use crate::support::Client;

const MAIN: &str = "\
.version 8.0
.target sm_90
.address_size 64
.extern .func square ();
.visible .entry k()
{
    call square;
    ret;
}
";
const LIBRARY: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .func square () { ret; }\n";
const MAIN_URI: &str = "file:///w/main.ptx";
const LIBRARY_URI: &str = "file:///w/library.ptx";

/// Files in memory.
#[derive(Default)]
struct World(Mutex<Vec<(PathBuf, String)>>);

impl World {
    fn put(&self, path: &str, text: &str) {
        self.remove(path);
        self.0.lock().unwrap().push((path.into(), text.to_owned()));
    }

    fn remove(&self, path: &str) {
        self.0.lock().unwrap().retain(|file| file.0 != Path::new(path));
    }
}

impl Environment for World {
    fn read(&self, path: &Path, _: usize) -> Option<Vec<u8>> {
        let files = self.0.lock().unwrap();
        files.iter().find(|file| file.0 == path).map(|file| file.1.clone().into_bytes())
    }

    fn sources(&self, folder: &Path) -> Vec<PathBuf> {
        let files = self.0.lock().unwrap();
        files.iter().map(|file| file.0.clone()).filter(|path| path.starts_with(folder)).collect()
    }

    fn wait_for_end(&self, _process: u32) -> bool {
        false
    }

    fn ptxas(&self, _text: &str, _chip: &str) -> Result<Ptxas, PtxasError> {
        Err(PtxasError::Missing)
    }
}

/// A workspace with a library on disk and its user, which is open.
fn start() -> (Arc<World>, Client) {
    let world = Arc::new(World::default());
    world.put("/w/library.ptx", LIBRARY);
    world.put("/w/main.ptx", MAIN);
    let folders = json!([{ "uri": "file:///w", "name": "w" }]);
    let client = Client::start_in(world.clone(), json!({ "capabilities": {}, "workspaceFolders": folders }));
    client.open(MAIN_URI, "ptx", MAIN);
    (world, client)
}

/// The place of the call.
fn call() -> Value {
    json!({ "textDocument": { "uri": MAIN_URI }, "position": { "line": 6, "character": 12 } })
}

/// Places of an answer: the end of each address and the start.
fn places(answer: &Value) -> Vec<String> {
    let one = |place: &Value| {
        let uri = place["uri"].as_str().or(place["targetUri"].as_str()).unwrap_or("?");
        let range = if place["range"].is_object() { &place["range"] } else { &place["targetSelectionRange"] };
        let name = uri.rsplit('/').next().unwrap_or(uri);
        format!("{name} {}:{}", range["start"]["line"], range["start"]["character"])
    };
    let mut found: Vec<String> = answer.as_array().unwrap_or(&Vec::new()).iter().map(one).collect();
    found.sort();
    found
}

#[test]
fn names_reach_files_that_are_not_open() {
    let (_world, mut client) = start();
    let definition = client.ask_value("textDocument/definition", call());
    assert_eq!(places(&definition), ["library.ptx 3:15"]);
    let declaration = client.ask_value("textDocument/declaration", call());
    assert_eq!(places(&declaration), ["main.ptx 3:14"]);
    let references = client.ask_value("textDocument/references", call());
    assert_eq!(places(&references), ["library.ptx 3:15", "main.ptx 3:14", "main.ptx 6:9"]);
    let hover = client.ask_value("textDocument/hover", call());
    assert!(
        hover["contents"]["value"]
            .as_str()
            .unwrap()
            .ends_with("Defined in [library.ptx, line 4](file:///w/library.ptx#L4)."),
        "{hover}"
    );
    let symbols = client.ask_value("workspace/symbol", json!({ "query": "square" }));
    let symbols: Vec<Value> =
        symbols.as_array().unwrap().iter().map(|symbol| symbol["location"].clone()).collect();
    assert_eq!(places(&Value::Array(symbols)), ["library.ptx 3:15", "main.ptx 3:14"]);
    let item = client.ask_value("textDocument/prepareCallHierarchy", call())[0].clone();
    assert_eq!(item["uri"], LIBRARY_URI);
    let callers = client.ask_value("callHierarchy/incomingCalls", json!({ "item": item }));
    assert_eq!((&callers[0]["from"]["name"], &callers[0]["from"]["uri"]), (&json!("k"), &json!(MAIN_URI)));
    assert_eq!(callers[0]["fromRanges"][0]["start"], json!({ "line": 6, "character": 9 }));
    client.stop();
}

#[test]
fn a_renaming_edits_files_that_are_not_open() {
    let (world, mut client) = start();
    world.put("/w/third.ptx", &LIBRARY.replace("square", "cube"));
    let rename = |new: &str| {
        let mut asked = call();
        asked["newName"] = json!(new);
        asked
    };
    expect![[r#"
        {
          "changes": {
            "file:///w/library.ptx": [
              {
                "newText": "power",
                "range": {
                  "end": {
                    "character": 21,
                    "line": 3
                  },
                  "start": {
                    "character": 15,
                    "line": 3
                  }
                }
              }
            ],
            "file:///w/main.ptx": [
              {
                "newText": "power",
                "range": {
                  "end": {
                    "character": 20,
                    "line": 3
                  },
                  "start": {
                    "character": 14,
                    "line": 3
                  }
                }
              },
              {
                "newText": "power",
                "range": {
                  "end": {
                    "character": 15,
                    "line": 6
                  },
                  "start": {
                    "character": 9,
                    "line": 6
                  }
                }
              }
            ]
          }
        }
    "#]]
    .assert_eq(&format!("{:#}\n", client.ask_value("textDocument/rename", rename("power"))));
    let refused = client.ask_value("textDocument/rename", rename("cube"));
    assert_eq!(refused["message"], "`cube` already means something in another file: /w/third.ptx");
    client.stop();
}

#[test]
fn files_are_followed_on_disk_and_in_the_editor() {
    let (world, mut client) = start();
    let ask = |client: &mut Client| places(&client.ask_value("textDocument/definition", call()));
    assert_eq!(ask(&mut client), ["library.ptx 3:15"]);
    let changed = |client: &Client, kind: u32| {
        let changes = json!([{ "uri": LIBRARY_URI, "type": kind }]);
        client.tell("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    };
    world.put("/w/library.ptx", &LIBRARY.replace(".visible", "\n\n.visible"));
    changed(&client, 2);
    assert_eq!(ask(&mut client), ["library.ptx 5:15"]);
    // The editor has the text of an open file, the disk that of a closed one.
    client.open(LIBRARY_URI, "ptx", &LIBRARY.replace(".visible", "\n.visible"));
    assert_eq!(ask(&mut client), ["library.ptx 4:15"]);
    client.close(LIBRARY_URI);
    assert_eq!(ask(&mut client), ["library.ptx 5:15"]);
    world.remove("/w/library.ptx");
    changed(&client, 3);
    assert_eq!(ask(&mut client), ["main.ptx 3:14"]);
    client.stop();
}
