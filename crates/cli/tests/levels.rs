//! Level 4 as its users meet it: it finds choices and says which, in compile and as ptxas; for a launch it judges by the model of
//! time; and how it ends.

use crate::support::{data, oriole, scratch, text};
use serde_json::Value;
use std::path::Path;

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file that was written")
}

/// Compiles a file with options; its bytes.
fn compiled(source: &Path, options: &[&str]) -> Vec<u8> {
    let folder = scratch();
    let cubin = folder.path().join("out.cubin");
    let done = oriole(&[&["compile", &text(source), "-o", &text(&cubin)], options].concat());
    assert_eq!(done.status, Some(0), "{options:?}: {}", done.err);
    read(&cubin)
}

/// The line about the choices in a report.
fn choices(report: &str) -> &str {
    let line = report.lines().find(|line| line.contains("choices: "));
    line.unwrap_or_else(|| panic!("no choices: {report}")).trim()
}

#[test]
fn every_command_takes_level_4() {
    let folder = scratch();
    let source = data("kernels").join("reduce.ptx");
    let own = compiled(&source, &["-O4"]);
    assert_eq!(own, compiled(&source, &["-O4", "--jobs", "3"]), "on three threads");
    assert_eq!(compiled(&source, &["-O4", "--search-trials", "0"]), compiled(&source, &["-O3"]));
    let cubin = folder.path().join("as-ptxas.cubin");
    for level in ["-O4", "-O7"] {
        let done = oriole(&["ptxas", &text(&source), "-arch=sm_90", level, "-o", &text(&cubin)]);
        assert_eq!(done.status, Some(0), "{}", done.err);
        assert_eq!(read(&cubin), compiled(&source, &["-O4", "--arch", "sm_90"]), "{level}");
    }
    let record = text(&data("kernels").join("reduce_tree_i32.json"));
    assert_eq!(oriole(&["run", &record, "--on", "sim", "-O4"]).status, Some(0));
    assert_eq!(oriole(&["compile", &text(&source), "-O5"]).status, Some(2));
}

/// The report names the choices of each kernel, as text and as JSON; below level 4 there are none.
#[test]
fn choices_are_told() {
    let folder = scratch();
    let cubin = text(&folder.path().join("out.cubin"));
    let source = text(&data("kernels").join("reduce.ptx"));
    let done = oriole(&["compile", &source, "-O4", "-v", "-o", &cubin]);
    assert!(
        choices(&done.err).ends_with(" codes") || choices(&done.err).ends_with(" is best"),
        "{}",
        done.err
    );
    assert!(!oriole(&["compile", &source, "-v", "-o", &cubin]).err.contains("choices"));
    let document = |level: &str| -> Value {
        let done = oriole(&["compile", &source, level, "--json", "-o", &cubin]);
        serde_json::from_str(&done.out).expect("a document")
    };
    let (searched, third) = (document("-O4"), document("-O3"));
    let found = &searched["kernels"][0]["choices"];
    assert!(found["judged"].as_u64() > Some(1) && found["ratio"].as_f64() <= Some(1.0), "{found}");
    assert!(found["knobs"].is_object() && third["kernels"][0]["choices"].is_null());
}

/// For a launch: what is found is a compile with these knobs, takes the time that was promised, and is the same each time.
#[test]
fn a_kernel_is_tuned_for_its_launch() {
    let folder = scratch();
    let (source, record) =
        (data("kernels").join("reduce.ptx"), text(&data("kernels").join("reduce_tree_i32.json")));
    let cubin = text(&folder.path().join("tuned.cubin"));
    let tune =
        ["compile", &text(&source), "-O4", "--tune-for", &record, "--tune-blocks", "500", "-o", &cubin];
    let done = oriole(&tune);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let line = choices(&done.err).to_owned();
    let bytes = read(Path::new(&cubin));
    assert_eq!(choices(&oriole(&tune).err), line, "again");
    assert_eq!(read(Path::new(&cubin)), bytes, "again");
    let cycles = |options: &[&str]| -> f64 {
        let time = ["time", &record, "--blocks", "500", "--sample", "--json"];
        let done = oriole(&[&time[..], options].concat());
        let document: Value = serde_json::from_str(&done.out).expect("a document");
        document["estimate"]["cycles"].as_f64().expect("cycles")
    };
    let ratio = cycles(&["--cubin", &cubin]) / cycles(&["-O3"]);
    assert!(ratio <= 1.0, "{line}: {ratio}");
    if !line.contains("choices: none") {
        assert!(line.contains(&format!(": {ratio:.3} of the time at level 3")), "{line}: {ratio}");
        let (_, knobs) = line.split_once("choices: ").expect("choices");
        let (knobs, _) = knobs.split_once(": ").expect("a ratio");
        let knobs = knobs.split(", ").map(|knob| match knob.contains('=') {
            true => format!("--knob={knob}"),
            false => format!("--debug-switch={knob}"),
        });
        let knobs: Vec<String> = knobs.collect();
        let knobs: Vec<&str> = knobs.iter().map(String::as_str).collect();
        assert_eq!(cycles(&knobs), cycles(&["--cubin", &cubin]));
    }
}

#[test]
fn a_tuning_that_cannot_be_is_refused() {
    let folder = scratch();
    let cubin = text(&folder.path().join("out.cubin"));
    let source = text(&data("kernels").join("reduce.ptx"));
    let record = text(&data("kernels").join("reduce_tree_i32.json"));
    let refused = |status: i32, why: &str, options: &[&str]| {
        let done = oriole(&[&["compile", &source, "-o", &cubin], options].concat());
        assert!(done.status == Some(status) && done.err.contains(why), "{options:?}: {}", done.err);
        assert!(!Path::new(&cubin).exists(), "{options:?}");
    };
    refused(2, "--tune-for is for -O4", &["--tune-for", &record]);
    refused(2, "--search-trials is for -O4", &["-O2", "--search-trials", "3"]);
    refused(2, "--tune-for", &["-O4", "--tune-blocks", "3"]);
    refused(1, "none.json", &["-O4", "--tune-for", "none.json"]);
    let other = text(&data("kernels").join("tensor_transpose.json"));
    refused(1, "the text has no kernel", &["-O4", "--tune-for", &other]);
}
