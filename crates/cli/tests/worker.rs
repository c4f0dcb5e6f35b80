//! `oriole worker`: the protocol of Bazel's persistent workers, one JSON object a line.

use crate::support::{data, files, oriole, scratch, text};
use expect_test::expect;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The answers to some requests, in the order of their numbers, and the exit status.
fn answers(folder: &Path, lines: &str) -> (Vec<Value>, Option<i32>, String) {
    let mut worker = Command::new(env!("CARGO_BIN_EXE_oriole"))
        .args(["worker", "--persistent_worker", "--jobs", "2"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    worker.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let done = worker.wait_with_output().unwrap();
    let out = String::from_utf8(done.stdout).unwrap();
    let mut answers: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.sort_by_key(|answer| answer["requestId"].as_i64());
    (answers, done.status.code(), String::from_utf8(done.stderr).unwrap())
}

#[test]
fn requests_give_the_cubins_of_compiles() {
    let folder = scratch();
    std::fs::create_dir(folder.path().join("box")).unwrap();
    let mut lines = String::new();
    let kernels: Vec<_> = files(&data("kernels"), "ptx").into_iter().take(6).collect();
    for (number, kernel) in kernels.iter().enumerate() {
        let name = format!("{number}.ptx");
        // Half of them in a folder of the request.
        let (place, more) = match number % 2 {
            0 => (name.clone(), json!({})),
            _ => (format!("box/{name}"), json!({ "sandboxDir": "box" })),
        };
        std::fs::copy(kernel, folder.path().join(place)).unwrap();
        let mut request = json!({
            "arguments": ["compile", name, "-o", format!("{number}.cubin"), "-O2"],
            "inputs": [{ "path": name, "digest": "00" }],
            "requestId": number,
        });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        lines += &format!("{request}\n");
    }
    lines += "{\"requestId\": 3, \"cancel\": true}\n";
    let (answers, status, err) = answers(folder.path(), &lines);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert_eq!(answers.len(), kernels.len());
    for (number, kernel) in kernels.iter().enumerate() {
        assert_eq!(answers[number]["exitCode"], 0, "{}", answers[number]);
        let place = if number % 2 == 0 { "" } else { "box/" };
        let made = std::fs::read(folder.path().join(format!("{place}{number}.cubin"))).unwrap();
        let alone = folder.path().join("alone");
        assert_eq!(oriole(&["compile", &text(kernel), "-O2", "-o", &text(&alone)]).status, Some(0));
        assert!(made == std::fs::read(&alone).unwrap(), "{}", kernel.display());
    }
}

#[test]
fn what_fails_says_so_in_its_answer() {
    let folder = scratch();
    std::fs::write(
        folder.path().join("bad.ptx"),
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { mov.u32 %r1, 0; }\n",
    )
    .unwrap();
    let requests: &[&[&str]] = &[
        &["compile", "bad.ptx"],
        &["compile", "gone.ptx"],
        &["compile", "bad.ptx", "-o", "-"],
        &["compile", "bad.ptx", "bad.ptx"],
        &["compile", "bad.ptx", "--json"],
        &["check", "bad.ptx"],
        &[],
    ];
    let line =
        |(at, words): (usize, &&[&str])| format!("{}\n", json!({ "arguments": words, "requestId": at + 1 }));
    let lines: String = requests.iter().enumerate().map(line).collect();
    let (answers, status, _) = answers(folder.path(), &lines);
    assert_eq!(status, Some(0));
    let first = |answer: &Value| {
        let output = answer["output"].as_str().unwrap();
        format!("{}: {}\n", answer["exitCode"], output.lines().next().unwrap())
    };
    expect![[r#"
        1: error[ptx::unknown-name]: no register is called `%r1`
        1: error: gone.ptx: No such file or directory (os error 2)
        1: standard input and output are those of the worker
        1: a request is about one file
        1: --json and --tune-for are no options of a worker
        1: error: unrecognized subcommand 'check'
        1: An open, incremental compiler from PTX to SASS.
    "#]]
    .assert_eq(&answers.iter().map(first).collect::<String>());
}

#[test]
fn what_is_no_request_ends_the_worker() {
    let folder = scratch();
    let (answers, status, err) = answers(folder.path(), "{\"arguments\": 3}\n");
    assert!(answers.is_empty());
    assert_eq!(status, Some(2));
    assert!(err.starts_with("error: standard input: invalid type"), "{err}");
}
