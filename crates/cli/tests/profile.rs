//! `oriole profile` as its users run it: kernels that each have one known fault, kernels that have none, the forms of its
//! output, and how it ends.

use crate::support::{compile, data, oriole, scratch, text};
use serde_json::Value;
use std::collections::BTreeMap;

/// Faults that need a launch or a chip of their own: name, and arguments.
const OF_THEIR_OWN: [(&str, &[&str]); 4] = [
    ("latency", &["--blocks", "132"]),
    ("small_grid", &["--blocks", "16"]),
    ("tail", &["--blocks", "140"]),
    ("f64", &["--arch", "sm_86", "--blocks", "336"]),
];

fn documents(file: &str, arguments: &[&str]) -> Vec<Value> {
    let folder = data("profile");
    let (ptx, launches) = (folder.join("faults.ptx"), folder.join(file));
    let done = oriole(&[&["profile", "--json", &text(&ptx), &text(&launches)], arguments].concat());
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{arguments:?}");
    done.out.lines().map(|line| serde_json::from_str(line).expect("a document")).collect()
}

/// The kinds of the faults of a document, most costly first.
fn kinds(document: &Value) -> Vec<String> {
    let findings = document["findings"].as_array().expect("findings");
    findings.iter().map(|finding| finding["kind"].as_str().expect("a kind").to_owned()).collect()
}

/// A file with the record of one kernel.
fn one(folder: &std::path::Path, name: &str) -> std::path::PathBuf {
    let all = std::fs::read_to_string(data("profile").join("faults.json")).expect("records");
    let record =
        all.lines().find(|line| line.contains(&format!("\"name\": \"{name}\""))).expect("the record");
    let path = folder.join(format!("{name}.json"));
    let ptx = text(&data("profile").join("faults.ptx"));
    std::fs::write(&path, record.replace("faults.ptx", &ptx)).expect("it is written");
    path
}

/// The fault that each kernel was written with is the first that is named. A name is that of the kind, with a number after
/// it where there are several.
#[test]
fn known_faults_are_named_first() {
    let folder = scratch();
    let mut first: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for document in documents("faults.json", &["--arch", "sm_90", "--blocks", "1056"]) {
        first.insert(document["name"].as_str().expect("a name").to_owned(), kinds(&document));
    }
    for (name, arguments) in OF_THEIR_OWN {
        let record = one(folder.path(), name);
        let chip: &[&str] = if arguments.contains(&"--arch") { &[] } else { &["--arch", "sm_90"] };
        let done = oriole(&[&["profile", "--json", &text(&record)], chip, arguments].concat());
        assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{name}");
        let document: Value = serde_json::from_str(&done.out).expect("a document");
        first.insert(name.to_owned(), kinds(&document));
    }
    let expected = |name: &str| {
        let numbered = name.rsplit_once('_').filter(|(_, number)| number.parse::<u32>().is_ok());
        numbered.map_or(name, |(kind, _)| kind).replace('_', "-")
    };
    let wrong: Vec<_> = first.iter().filter(|(name, kinds)| kinds.first() != Some(&expected(name))).collect();
    assert!(first.len() >= 25 && wrong.is_empty(), "of {}: {wrong:#?}", first.len());
}

/// Kernels at the bandwidth, or at the rate of arithmetic, have no fault: the text says what bounds them.
#[test]
fn sound_kernels_have_no_fault() {
    let (ptx, launches) = (data("profile").join("sound.ptx"), data("profile").join("sound.json"));
    let run = |more: &[&str]| {
        let fixed = ["profile", &text(&ptx), &text(&launches), "--arch", "sm_90", "--blocks", "16896"];
        let done = oriole(&[&fixed, more].concat());
        assert_eq!((done.status, done.err.as_str()), (Some(0), ""));
        done.out
    };
    let documents = run(&["--json"]);
    let documents: Vec<Value> =
        documents.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    let found: Vec<_> = documents.iter().map(|document| (&document["name"], kinds(document))).collect();
    assert!(found.len() == 5 && found.iter().all(|found| found.1.is_empty()), "{found:?}");
    let shown = run(&["--lines", "0"]);
    assert_eq!(shown.matches("no fault was found: bound by ").count(), 5, "{shown}");
}

const WITH_LINES: &str = r#".version 8.0
.target sm_90
.address_size 64
.file 1 "column.cu"
.visible .entry column(.param .u64 x, .param .u32 n)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .reg .f32 %f<2>;
    .loc 1 2 5
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [x];
    .loc 1 3 5
    mul.wide.u32 %rd2, %r1, 512;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    add.f32 %f1, %f1, %f1;
    st.global.f32 [%rd3], %f1;
    ret;
}
"#;
const SOURCE: &str =
    "__global__ void column(float *x, int n) {\n    int i = threadIdx.x;\n    x[i * 128] *= 2; // <b>\n}\n";
const LAUNCH: &str = r#"{"entry": "column", "grid": [2, 1, 1], "block": [256, 1, 1],
    "args": [{"buffer": {"len": 131072}}, {"scalar": {"type": "u32", "value": 1}}]}"#;

/// Places are lines of the source where the code names them, else lines of the PTX, else instructions; of a cubin too.
#[test]
fn places_are_lines_of_the_source() {
    let folder = scratch();
    let [ptx, source, launch, cubin, page] =
        ["a.ptx", "column.cu", "a.json", "a.cubin", "a.html"].map(|name| folder.path().join(name));
    std::fs::write(&ptx, WITH_LINES).expect("it is written");
    std::fs::write(&source, SOURCE).expect("it is written");
    std::fs::write(&launch, LAUNCH).expect("it is written");
    compile(&ptx, &cubin, &["--generate-line-info"]).expect("it compiles");
    let [ptx, launch, cubin, page] = [&ptx, &launch, &cubin, &page].map(|path| text(path));
    let shown = |words: &[&str]| {
        let done = oriole(&[&["profile"], words, &["--blocks", "1056"]].concat());
        assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{words:?}");
        done.out
    };
    let of_source = shown(&[&ptx, &launch, "--html", &page]);
    assert!(of_source.contains("column.cu:3"), "{of_source}");
    assert!(of_source.contains("x[i * 128] *= 2;") && of_source.contains("512 bytes apart"), "{of_source}");
    assert!(shown(&[&ptx, &launch, "--by", "ptx"]).contains("line 16: ld.global.f32 loads 32 sectors"));
    assert!(shown(&[&ptx, &launch, "--by", "sass"]).contains(": ld.global.f32 loads 32 sectors"));
    let of_cubin = shown(&[&cubin, &launch]);
    assert!(of_cubin.contains("column.cu:3") && of_cubin.contains("LDG.E loads 32 sectors"), "{of_cubin}");
    assert_eq!(shown(&[&ptx, &launch, "--cubin", &cubin]), of_cubin);
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("*= 2; // &lt;b&gt;") && !page.contains("<b>\n") && !page.contains("<script"));
    let done = oriole(&["profile", &cubin, &launch, "--by", "ptx"]);
    assert!(done.status == Some(1) && done.err.contains("--by ptx"), "{}", done.err);
}

/// Without a launch there is a message with a record that works; what does not compile or run fails.
#[test]
fn a_launch_is_needed() {
    let folder = scratch();
    let [ptx, launch] = ["a.ptx", "a.json"].map(|name| folder.path().join(name));
    std::fs::write(&ptx, WITH_LINES).expect("it is written");
    let done = oriole(&["profile", &text(&ptx)]);
    assert!(done.status == Some(2) && done.err.contains("docs/launch-records.md"), "{}", done.err);
    let (_, record) = done.err.split_once('\n').expect("a record");
    std::fs::write(&launch, record.replace("\"grid\": [256,", "\"grid\": [1,")).expect("it is written");
    let done = oriole(&["profile", &text(&ptx), &text(&launch)]);
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""));
    let done = oriole(&["profile", &text(&ptx), &text(&launch), "--step-limit", "3"]);
    assert!(done.status == Some(1) && done.err.contains("the step limit was reached"), "{}", done.err);
    std::fs::write(&launch, LAUNCH.replace("column", "row")).expect("it is written");
    let done = oriole(&["profile", &text(&ptx), &text(&launch)]);
    assert!(done.status == Some(1) && done.err.contains("there is no kernel `row`"), "{}", done.err);
    std::fs::write(&ptx, WITH_LINES.replace("add.f32", "add.f33")).expect("it is written");
    let done = oriole(&["profile", &text(&ptx), &text(&launch)]);
    assert!(done.status == Some(1) && done.err.contains("a.ptx"), "{}", done.err);
    assert_eq!(oriole(&["profile", &text(&ptx), &text(&launch), "--by", "line"]).status, Some(2));
    assert_eq!(oriole(&["profile", &text(&folder.path().join("none.ptx"))]).status, Some(1));
}

/// Spilled registers have the names of the PTX, and each instruction its figures.
#[test]
fn the_document_names_spills_and_shapes() {
    let folder = scratch();
    let of = |name: &str| {
        let record = text(&one(folder.path(), name));
        let done = oriole(&["profile", "--json", &record, "--arch", "sm_90", "--blocks", "1056"]);
        serde_json::from_str::<Value>(&done.out).expect("a document")
    };
    let spills = of("spills");
    assert!(spills["spilled"].as_array().is_some_and(|names| names.iter().any(|name| name == "%f42")));
    assert!(
        spills["findings"][0]["words"]
            .as_str()
            .is_some_and(|words| words.contains("registers are spilled of %f"))
    );
    let strided = of("strided");
    let instructions = strided["instructions"].as_array().expect("instructions");
    let load =
        instructions.iter().find(|row| row["text"].as_str().is_some_and(|text| text.starts_with("LDG")));
    let memory = &load.expect("a load")["memory"];
    assert_eq!((&memory["distance"], &memory["bytes"]), (&128.into(), &4.into()));
    assert_eq!(memory["sectors"].as_u64(), memory["least_sectors"].as_u64().map(|least| 8 * least));
    let registers = &of("occupancy_registers")["occupancy"];
    assert_eq!((&registers["limit"], &registers["blocks"]), (&"registers".into(), &1.into()));
    assert_eq!(registers["next_step"]["blocks"], 2);
}
