//! `oriole check --for-codegen`: all of a file that cannot be compiled for a chip, reported together, each kind once.

use crate::support::{data, oriole, scratch, text};
use expect_test::expect;
use serde_json::Value;

/// Three places of one kind in two functions, and a kernel that calls one of them.
const LACKING: &str = "\
.version 8.0
.target sm_90
.address_size 64
.func _Z6helperm(.param .b64 p)
{
  .reg .b64 %d<4>;
  alloca.u64 %d1, 16, 24;
  ret;
}
.visible .entry a(.param .u64 p)
{
  .reg .b64 %d<4>;
  alloca.u64 %d1, 16, 24;
  ld.param.u64 %d3, [p];
  alloca.u64 %d2, 16, 24;
  ret;
}
.visible .entry c(.param .u64 p)
{
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [p];
  { .param .b64 x; st.param.b64 [x], %d1; call _Z6helperm, (x); }
  ret;
}
";

#[test]
fn what_cannot_be_compiled_is_told_at_once() {
    let folder = scratch();
    let input = folder.path().join("k.ptx");
    std::fs::write(&input, LACKING).expect("a temporary file");
    let check =
        |arguments: &[&str]| oriole(&[&["check", "--for-codegen", &text(&input)], arguments].concat());
    // The language allows it all.
    assert_eq!(oriole(&["check", &text(&input)]).status, Some(0));
    let done = check(&[]);
    let shown = |told: &str| told.replace(&text(folder.path()), "");
    assert_eq!((done.status, done.out.as_str()), (Some(1), ""));
    expect![[r#"
        error[oriole::not-supported]: an alignment that is no power of two
         --> /k.ptx:7:3
          |
        7 |   alloca.u64 %d1, 16, 24;
          |   ^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: in 3 places of 2 functions; this one is in `_Z6helperm` (helper(unsigned long))

        /k.ptx: 1 thing cannot be compiled for sm_90, in 3 places
        1 error
    "#]]
    .assert_eq(&shown(&done.err));
    let done = check(&["--message-format", "json"]);
    assert_eq!((done.status, done.err.as_str()), (Some(1), ""));
    let line = |line: &str| {
        let value: Value = serde_json::from_str(line).expect("an object");
        ["code", "line", "message", "function", "functions", "places"]
            .map(|field| value[field].to_string())
            .join(" ")
    };
    expect![[r#"
        "oriole::not-supported" 7 "an alignment that is no power of two" "_Z6helperm" 2 3
    "#]]
    .assert_eq(&done.out.lines().map(|text| line(text) + "\n").collect::<String>());
    assert_eq!(crate::support::names(folder.path()), ["k.ptx"]);
}

/// Code that compiles gives no output; refusals of the language or the chip are those of `check` and `compile`.
#[test]
fn what_can_be_compiled_is_right() {
    let reduce = text(&data("kernels").join("reduce.ptx"));
    let done = oriole(&["check", "--for-codegen", &reduce]);
    assert_eq!((done.status, done.out.as_str(), done.err.as_str()), (Some(0), "", ""));
    let done = oriole(&["check", "--for-codegen", &reduce, "--arch", "sm_123"]);
    assert!(done.status == Some(1) && done.err.contains("target::no-encoding"), "{}", done.err);
    let folder = scratch();
    let input = folder.path().join("k.ptx");
    std::fs::write(&input, LACKING.replace("%d3, [p]", "%e3, [p]")).expect("a temporary file");
    let done = oriole(&["check", "--for-codegen", &text(&input)]);
    assert!(done.status == Some(1) && done.err.contains("ptx::unknown-name"), "{}", done.err);
    assert!(!done.err.contains("not-supported"), "an error of the text comes first: {}", done.err);
}
