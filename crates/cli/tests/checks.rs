//! `oriole run --check` and `oriole verify --check` as their users run them: each mistake of `test-data/checks` is found,
//! by its code, and a right kernel has no finding.

use crate::support::{data, files, oriole, text};
use expect_test::{Expect, expect};
use serde_json::Value;

/// The kernels of `test-data/checks`, and the codes of the findings in each.
const MISTAKES: &[(&str, &[&str])] = &[
    ("absent_lane", &["check::absent-lane"]),
    ("early_exit", &["check::divergence"]),
    ("last_block", &["check::race"]),
    ("odd_address", &["check::misaligned"]),
    ("past_the_end", &["check::out-of-bounds"]),
    ("stray_mask", &["check::deadlock"]),
    ("stuck_half", &["check::deadlock"]),
    ("sum_of_block", &["check::race", "check::unwritten-memory"]),
    ("sum_of_warp", &["check::race"]),
    ("unset_tile", &["check::unwritten-memory"]),
];

fn document(record: &str, check: &str) -> (Option<i32>, Value) {
    let done = oriole(&["run", record, "--on", "interp", check, "--json"]);
    (
        done.status,
        serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{record}: {} {}", done.out, done.err)),
    )
}

#[test]
fn mistakes_are_found() {
    let folder = data("checks");
    let records = files(&folder, "json");
    assert_eq!(records.len(), MISTAKES.len());
    for (name, expected) in MISTAKES {
        let record = text(&folder.join(format!("{name}.json")));
        let (status, document) = document(&record, "--check=races,bounds,uninit,aligned,divergence");
        assert_eq!(status, Some(1), "{name}: {document}");
        let mut codes: Vec<&str> = document["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .filter(|finding| finding["severity"] != "note")
            .filter_map(|finding| finding["code"].as_str())
            .collect();
        codes.dedup();
        assert_eq!(codes, *expected, "{name}: {document}");
    }
}

fn shows(name: &str, expected: &Expect) {
    let record = text(&data("checks").join(format!("{name}.json")));
    let done = oriole(&["run", &record, "--on", "interp", "--check=all"]);
    expected.assert_eq(&format!("{}{}", done.out, done.err));
}

#[test]
fn findings_name_lines_and_threads() {
    shows(
        "sum_of_block",
        &expect![[r#"
        sum_of_block: ran, nothing to compare with
          error[check::race]: a write and a read of two lanes of a warp at shared `tile`+4, and nothing orders them
            PTX line 18: st.shared.u32 [%r4], %r1; (sum_of_block.cu:9)
              writes: block 0,0,0, thread 1,0,0
            PTX line 26: ld.shared.u32 %r7, [%r2]; (sum_of_block.cu:14)
              reads: block 0,0,0, thread 0,0,0
            63 times
          error[check::unwritten-memory]: a read of shared `tile`+128, which nothing has written
            PTX line 26: ld.shared.u32 %r7, [%r2]; (sum_of_block.cu:14)
              reads: block 0,0,0, thread 0,0,0
            32 times
        0 of 0 right; 1 ran, nothing to compare with; 1 with findings
    "#]],
    );
    shows(
        "past_the_end",
        &expect![[r#"
        past_the_end: wrong: write of 4 bytes at global address 0x7b0001000080 is outside every object there at instruction 4 of `past_the_end`, block [0, 0, 0], thread [31, 0, 0]
          error[check::out-of-bounds]: write of 4 bytes at global address 0x7b0001000080 is outside every object there: 0 bytes after the end of argument 0, which has 128 bytes
            PTX line 14: st.global.u32 [%rd3+4], %r1;
              executes it: block 0,0,0, thread 31,0,0
        0 of 1 right; 1 with findings
    "#]],
    );
    shows(
        "stuck_half",
        &expect![[r#"
        stuck_half: wrong: every thread of the block that has not ended waits; the first one for barrier 2 at instruction 6 of `stuck_half`, block [0, 0, 0], thread [0, 0, 0]
          error[check::deadlock]: all threads that have not exited wait for others, which never come
            PTX line 14: bar.sync 1;
              32 threads wait for barrier 1: block 0,0,0, thread 32,0,0
            PTX line 17: bar.sync 2;
              32 threads wait for barrier 2: block 0,0,0, thread 0,0,0
        0 of 1 right; 1 with findings
    "#]],
    );
}

#[test]
fn right_kernels_have_no_findings() {
    for name in ["reduce_tree_i32", "matmul_tiled_f32", "sort_radix_warp", "bulk_cluster", "exchange", "ring"]
    {
        let record = text(&data("kernels").join(format!("{name}.json")));
        let (status, document) = document(&record, "--check=races,bounds,uninit,aligned,divergence");
        assert_eq!((status, &document["findings"]), (Some(0), &Value::Array(Vec::new())), "{name}");
    }
}

#[test]
fn launches_that_are_made_are_checked() {
    let input = text(&data("checks").join("sum_of_block.ptx"));
    let done = oriole(&["verify", &input, "--check=races", "--seeds", "1"]);
    assert_eq!(done.status, Some(1), "{}", done.out);
    assert!(done.out.contains("error[check::race]: a write and a read"), "{}", done.out);
    let done = oriole(&["verify", &input, "--check=aligned", "--seeds", "1"]);
    assert!(!done.out.contains("check::"), "{}", done.out);
}

#[test]
fn lists_and_limits() {
    let record = text(&data("checks").join("sum_of_warp.json"));
    let run = |more: &[&str]| oriole(&[&["run", record.as_str(), "--on"], more].concat());
    let done = run(&["interp", "--check=speed"]);
    assert!(done.status == Some(2) && done.err.contains("there is no check `speed`"), "{}", done.err);
    assert_eq!(run(&["sim", "--check=races"]).status, Some(2));
    assert_eq!(run(&["interp", "--check=banks,aligned"]).status, Some(0));
    let done = run(&["interp", "--check=races", "--limit", "0"]);
    assert!(done.status == Some(1) && done.out.contains("more findings"), "{}", done.out);
}
