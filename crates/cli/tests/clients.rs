//! The texts that programs which call ptxas look for, each by its own regular expression, in the messages of Oriole.
//!
//! `test-data/clients/contracts.txt` has them, and what they catch; its first lines say how it is written. Programs that can be
//! installed are run themselves, by the scripts in `tools/clients`.

use crate::ptxas::{folder, ours, words};
use crate::support::{data, finish};
use regex::Regex;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The match of an expression: its groups, or, without any, that it is found.
fn caught(expression: &str, text: &str) -> String {
    let expression = Regex::new(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    let Some(found) = expression.captures(text) else { return "nothing".to_owned() };
    let groups: Vec<&str> =
        found.iter().skip(1).map(|group| group.map_or("nothing", |found| found.as_str())).collect();
    if groups.is_empty() { "found".to_owned() } else { groups.join(" | ") }
}

/// The record as this program's answers make it.
fn recorded(record: &str, program: &Path, folder: &Path) -> String {
    let mut said = None;
    let mut now = String::new();
    for line in record.lines() {
        if let Some(command) = line.strip_prefix("> ") {
            said = Some(finish(Command::new(program).args(words(command)).current_dir(folder)));
        }
        if line.starts_with("= ") {
            continue;
        }
        let _ = writeln!(now, "{line}");
        let (stream, expression) = line.split_once(' ').unwrap_or_default();
        if let "out" | "err" = stream {
            let said = said.as_ref().expect("a command line stands before what is looked for");
            let text = if stream == "out" { &said.out } else { &said.err };
            let _ = writeln!(now, "= {}", caught(expression, text.trim_end()));
        }
    }
    now
}

fn record() -> PathBuf {
    data("clients").join("contracts.txt")
}

#[test]
fn clients_find_what_they_look_for() {
    let folder = folder();
    let text = std::fs::read_to_string(record()).expect("the record");
    expect_test::expect_file![record()].assert_eq(&recorded(&text, &ours(folder.path()), folder.path()));
}

#[test]
#[ignore = "needs ORIOLE_ORACLE, a folder with ptxas, nvdisasm and cuobjdump"]
fn clients_find_the_same_in_what_ptxas_says() {
    let folder = folder();
    let text = std::fs::read_to_string(record()).expect("the record");
    assert_eq!(recorded(&text, &crate::oracle::tools().join("ptxas"), folder.path()), text);
}
