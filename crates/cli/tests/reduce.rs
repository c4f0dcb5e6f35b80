//! `oriole reduce` as its users run it: commands, files, the time that commands may take, and how it ends.

use crate::support::{data, finish, oriole, scratch, text};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A module in which one kernel of two multiplies.
const MODULE: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry first(.param .u64 p)
{
    ret;
}
.visible .entry second(.param .u64 p, .param .u32 q)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r4, [q];
    mov.u32 %r5, %tid.x;
    mul.lo.s32 %r6, %r5, %r4;
    st.global.u32 [%rd1], %r6;
    ret;
}
";

fn written(folder: &Path, name: &str, contents: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, contents).expect("a file is written");
    text(&path)
}

/// The path is appended or takes its place; what is left is smaller, valid, and still interesting.
#[test]
fn a_module_is_reduced() {
    let folder = scratch();
    let input = written(folder.path(), "k.ptx", MODULE);
    for keep in ["grep -q mul.lo", "test -s {} && grep -q mul.lo {}"] {
        let done = oriole(&["reduce", &input, "--keep", keep]);
        assert_eq!((done.status, done.out.as_str()), (Some(0), ""), "{}", done.err);
        let output = folder.path().join("k.reduced.ptx");
        let result = std::fs::read_to_string(&output).expect("a result");
        assert_eq!(
            result,
            ".version 8.0\n.target sm_90\n.address_size 64\n.entry f0()\n{\n.reg .b32 %r<1>;\nmul.lo.s32 %r0, 0, 0;\n}\n"
        );
        assert!(done.err.contains(&format!("k.reduced.ptx: {} of {} bytes", result.len(), MODULE.len())));
        assert_eq!(oriole(&["check", &text(&output)]).status, Some(0));
    }
    // One job finds the same, and standard output takes the result.
    let done = oriole(&["reduce", &input, "--keep", "grep -q mul.lo", "-o", "-", "--jobs", "1"]);
    let result = std::fs::read_to_string(folder.path().join("k.reduced.ptx")).expect("a result");
    assert_eq!((done.status, done.out), (Some(0), result));
}

/// Registers that nothing writes are kept out where the user asks for it, and errors unless the user asks for them.
#[test]
fn candidates_are_valid() {
    let folder = scratch();
    let input = written(folder.path(), "k.ptx", MODULE);
    let output = text(&folder.path().join("out.ptx"));
    let reduced = |more: &[&str]| {
        let done =
            oriole(&[&["reduce", &input, "--keep", "grep -q 'st.global.*%r'", "-o", &output], more].concat());
        assert_eq!(done.status, Some(0), "{}", done.err);
        std::fs::read_to_string(&output).expect("a result")
    };
    let (plain, defined, invalid) = (reduced(&[]), reduced(&["--defined"]), reduced(&["--invalid"]));
    assert!(plain.len() < defined.len() && invalid.len() < plain.len(), "{plain}{defined}{invalid}");
    assert!(oriole(&["check", &written(folder.path(), "p.ptx", &plain)]).err.contains("uninitialized"));
    assert_eq!(oriole(&["check", &written(folder.path(), "d.ptx", &defined)]).err, "");
    assert_eq!(oriole(&["check", &written(folder.path(), "i.ptx", &invalid)]).status, Some(1));
    // The file itself has errors: those are not in the way then.
    let broken =
        written(folder.path(), "broken.ptx", &MODULE.replace("mul.lo.s32 %r6, ", "mul.lo.s32 %x6, "));
    let done = oriole(&["reduce", &broken, "--keep", "grep -q %x6", "-o", &output]);
    assert_eq!(done.status, Some(0), "{}", done.err);
}

/// Nothing is written if the file is not interesting; a command that does not end is ended.
#[test]
fn commands_that_do_not_help() {
    let folder = scratch();
    let input = written(folder.path(), "k.ptx", MODULE);
    let ran = |more: &[&str]| oriole(&[&["reduce", input.as_str()], more].concat());
    let done = ran(&["--keep", "echo why not >&2; false"]);
    assert_eq!(done.status, Some(1));
    assert!(done.err.contains("why not\n") && done.err.contains("not interesting"), "{}", done.err);
    let late = ran(&["--keep", "sleep 100 #", "--timeout", "1"]);
    assert!(late.status == Some(1) && late.err.contains("longer than --timeout"), "{}", late.err);
    assert!(late.took.as_secs() < 60);
    assert!(!folder.path().join("k.reduced.ptx").exists());
    assert_eq!(ran(&[]).status, Some(2));
    assert_eq!(ran(&["--keep", "true", "--json", "-o", "-"]).status, Some(2));
    assert_eq!(ran(&["--keep", "true", "-o", &input]).status, Some(1), "the input is never overwritten");
}

/// A signal ends the search, and the best text so far stays; the document says so.
#[test]
#[cfg(unix)]
fn a_signal_leaves_the_best_so_far() {
    let folder = scratch();
    let input = written(folder.path(), "k.ptx", MODULE);
    let output = folder.path().join("out.ptx");
    // The third time that the command succeeds it ends the search.
    let count = text(&folder.path().join("count"));
    let keep = format!(
        "grep -q mul.lo {{}} || exit 1; echo x >> {count}; test $(wc -l < {count}) -lt 3 || kill -INT $PPID"
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.args(["reduce", &input, "--json", "--jobs", "1", "--keep", &keep, "-o", &text(&output)]);
    let done = finish(&mut command);
    assert_eq!(done.status, Some(1), "{}", done.err);
    let document: Value = serde_json::from_str(&done.out).expect("one document");
    assert_eq!(document["complete"], false);
    let result = std::fs::read_to_string(&output).expect("a result");
    assert!(result.contains("mul.lo") && result.len() < MODULE.len());
    assert_eq!(document["bytes_after"], result.len());
}

/// A file of the repository, and an instruction of the machine as the property.
#[test]
fn a_module_of_many_kernels_is_a_few_lines() {
    let folder = scratch();
    let input = text(&data("kernels").join("handwritten.ptx"));
    let output = folder.path().join("out.ptx");
    let oriole_itself = env!("CARGO_BIN_EXE_oriole");
    let keep = format!("{oriole_itself} compile {{}} -o - | {oriole_itself} dis - | grep -q VIADDMNMX");
    let done = oriole(&["reduce", &input, "--keep", &keep, "-o", &text(&output)]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let result = std::fs::read_to_string(&output).expect("a result");
    assert!(result.len() < 500, "{result}");
}
