//! `oriole bisect` as its users run it: the phase and the rewrite that are found, and how it ends.
//!
//! No defect is planted. Contraction of a multiply and an add changes the last bit of some results by design, so a record
//! that expects the bits of two roundings fails with it: in one phase, and from one fused instruction on.

use crate::support::{data, oriole, scratch, text};
use expect_test::expect;
use serde_json::{Value, json};

/// Three products and sums, of which only the second loses bits when it is fused: (1 + 3 * 2^-23)^2 - 1.
const KERNEL: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .f32 %f<12>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [p];
    ld.global.f32 %f1, [%rd1];
    ld.global.f32 %f2, [%rd1+4];
    ld.global.f32 %f3, [%rd1+8];
    mul.f32 %f4, %f1, %f1;
    add.f32 %f5, %f4, %f1;
    mul.f32 %f6, %f2, %f2;
    add.f32 %f7, %f6, %f3;
    mul.f32 %f8, %f1, %f3;
    add.f32 %f9, %f8, %f3;
    st.global.f32 [%rd1], %f5;
    st.global.f32 [%rd1+4], %f7;
    st.global.f32 [%rd1+8], %f9;
    ret;
}
";

/// 2, 1 + 3 * 2^-23, -1.
const INPUT: &str = "00000040 0300803f 000080bf";
/// 6, 6 * 2^-23, -3.
const TWICE_ROUNDED: &str = "0000c040 00004035 000040c0";

fn record(expected: Option<&str>) -> Value {
    let mut record = json!({
        "name": "rounded", "ptx_text": KERNEL, "entry": "k", "grid": [1, 1, 1], "block": [1, 1, 1],
        "args": [{ "buffer": { "bytes_hex": INPUT.replace(' ', "") } }],
    });
    if let Some(expected) = expected {
        record["expect"] = json!({ "0": { "bytes_hex": expected.replace(' ', "") } });
    }
    record
}

fn bisected(record: &Value, more: &[&str]) -> (Option<i32>, String, String) {
    let folder = scratch();
    let path = folder.path().join("case.json");
    std::fs::write(&path, record.to_string()).expect("a file is written");
    let path = text(&path);
    let done = oriole(&[&["bisect", path.as_str()], more].concat());
    (done.status, done.out, done.err)
}

/// The phase, what avoids it, and the one fused instruction.
#[test]
fn the_rewrite_is_found() {
    let (status, out, err) = bisected(&record(Some(TWICE_ROUNDED)), &["--context", "1"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    expect![[r#"
        rounded: kernel `k` is wrong at -O3: argument 0: byte 4 differs: expected 00004035 at 4, found 02004035
          levels: -O0 right, -O1 wrong, -O2 wrong, -O3 wrong
          interpreter: right
          phase: 31 OriLinearReplacement
          right with: --debug-switch no-linear, or --knob fmad=false
          rewrite: number 2 of the phase; again with --knob phase-limit=10 --knob rewrite-limit=2
        // k: 31 OriLinearReplacement
        @@ -20,4 +20,3 @@
           r8 = FFMA r4, r4, r4 ; 5
        -  r9 = FMUL r5, r5 contract ; 6
        -  r10 = FADD r9, r6 contract ; 7
        +  r10 = FFMA r5, r5, r6 ; 7
           r11 = FMUL r4, r6 contract ; 8
    "#]].assert_eq(&out);
    // The interpreter rounds twice, too, and lower levels contract as well.
    for (expected, more) in [(None, &[][..]), (Some(TWICE_ROUNDED), &["-O1"])] {
        let (status, out, err) = bisected(&record(expected), &[&["--json"], more].concat());
        assert_eq!((status, err.as_str()), (Some(0), ""));
        let found: Value = serde_json::from_str(&out).expect("one document");
        assert_eq!((&found["phase"]["number"], &found["rewrite"]), (&json!(31), &json!(2)), "{found}");
        assert!(found["right_with"].as_array().expect("a list").contains(&json!("--knob fmad=false")));
        assert_eq!(found["levels"][0], json!({ "level": 0, "right": true }));
    }
    // The limits that it names make the difference.
    let folder = scratch();
    let path = folder.path().join("case.json");
    std::fs::write(&path, record(Some(TWICE_ROUNDED)).to_string()).expect("a file is written");
    let again = out.lines().find_map(|line| line.split_once("again with ")).expect("arguments").1;
    let run = |arguments: &str| {
        let words = ["run", &text(&path), "--on", "sim"].map(str::to_owned).into_iter();
        let words: Vec<String> = words.chain(arguments.split(' ').map(str::to_owned)).collect();
        oriole(&words).status
    };
    assert_eq!(run(again), Some(1), "{again}");
    assert_eq!(run(&again.replace("rewrite-limit=2", "rewrite-limit=1")), Some(0), "{again}");
}

/// Nothing to find: all is right, or wrong without any optimization, or the arguments are.
#[test]
fn nothing_is_found() {
    let (status, out, err) = bisected(&record(Some(TWICE_ROUNDED)), &["--fmad", "false"]);
    assert_eq!((status, out.as_str()), (Some(1), ""));
    assert!(err.contains("nothing to search for: 1 of 1 launches are right"), "{err}");
    let (status, out, _) = bisected(&record(Some("00000000 00000000 00000000")), &[]);
    assert!(status == Some(1) && out.contains("without any optional phase"), "{out}");
    assert!(out.contains("interpreter: wrong"), "{out}");
    let (status, _, err) = bisected(&record(None), &["--knob", "phase-limit=3"]);
    assert!(status == Some(2) && err.contains("sets phase-limit"), "{err}");
    let (status, _, err) = bisected(&record(None), &["--cubin", "none.cubin"]);
    assert!(status == Some(1) && err.contains("none.cubin"), "{err}");
}

/// The code of another compile is the reference.
#[test]
fn another_cubin_is_the_reference() {
    let folder = scratch();
    let source = folder.path().join("k.ptx");
    std::fs::write(&source, KERNEL).expect("a file is written");
    let cubin = text(&folder.path().join("k.cubin"));
    let done = oriole(&["compile", &text(&source), "-o", &cubin, "--fmad", "false"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    let (status, out, err) = bisected(&record(None), &["--cubin", &cubin, "--json"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let found: Value = serde_json::from_str(&out).expect("one document");
    assert_eq!(found["phase"]["name"], "OriLinearReplacement");
}

/// Code is right with any number of phases, and with any number of rewrites of the last of them.
#[test]
fn limited_compiles_are_right() {
    let folder = data("kernels");
    for record in ["reduce_tree_i32", "deep_loops", "control_levenshtein"] {
        let path = folder.join(format!("{record}.json"));
        for (phases, rewrites) in (0..34).step_by(3).flat_map(|phases| [(phases, 2), (phases, 1_000_000)]) {
            let limits = [format!("phase-limit={phases}"), format!("rewrite-limit={rewrites}")];
            let done =
                oriole(&["run", &text(&path), "--on", "sim", "--knob", &limits[0], "--knob", &limits[1]]);
            assert_eq!(done.status, Some(0), "{record} {limits:?}: {}{}", done.out, done.err);
        }
    }
}
