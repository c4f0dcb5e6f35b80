//! The examples of the README: each block marked `console` is what a shell prints. `UPDATE_EXPECT=1` writes them anew.

use crate::support::{data, finish, scratch};
use std::path::Path;
use std::process::Command;

/// The text with the output below each `$ command` of its `console` blocks replaced by what the command prints.
fn run_examples(text: &str, mut run: impl FnMut(&str) -> String) -> String {
    let mut out = String::new();
    let mut inside = false;
    for line in text.lines() {
        match (inside, line) {
            (false, _) => inside = line == "```console",
            (true, "```") => inside = false,
            (true, _) => {
                if let Some(command) = line.strip_prefix("$ ") {
                    out.push_str(&format!("{line}\n{}", run(command)));
                }
                continue;
            }
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[test]
fn examples_of_the_readme_are_what_the_program_prints() {
    let root = data("").parent().expect("the checkout").to_owned();
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README");
    let folder = scratch();
    std::os::unix::fs::symlink(data(""), folder.path().join("test-data")).expect("a link");
    let programs = Path::new(env!("CARGO_BIN_EXE_oriole")).parent().expect("a folder").display();
    let path = format!("{programs}:{}", std::env::var("PATH").expect("a path"));
    let mut commands = 0;
    let shown = run_examples(&readme, |command| {
        commands += 1;
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{{ {command}\n}} 2>&1")]).current_dir(&folder).env("PATH", &path);
        finish(&mut shell).out
    });
    assert!(commands > 3, "{commands} commands");
    expect_test::expect_file!["../../../README.md"].assert_eq(&shown);
}

#[test]
fn outputs_are_replaced_and_the_rest_is_kept() {
    let text = "a\n```console\n$ one\nold\n$ two\n```\n```\n$ three\n```\n";
    let shown = run_examples(text, |command| if command == "one" { "new\n".into() } else { String::new() });
    assert_eq!(shown, text.replace("old", "new"));
}
