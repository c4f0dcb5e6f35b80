//! `oriole time` as its users run it: one code or two, as text and as JSON, and how it ends.

use crate::support::{compile, data, oriole, scratch, text};
use serde_json::Value;

fn document(arguments: &[&str]) -> Value {
    let done = oriole(&[&["time", "--json"], arguments].concat());
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{arguments:?}");
    serde_json::from_str(&done.out).expect("one document")
}

/// The same launch for our code and for a slower cubin of it; each part says the same in the text.
#[test]
fn two_codes_are_compared() {
    let folder = scratch();
    let slow = folder.path().join("slow.cubin");
    compile(&data("kernels").join("reduce.ptx"), &slow, &["-O0"]).expect("it compiles");
    let (record, slow) = (text(&data("kernels").join("reduce_tree_i32.json")), text(&slow));
    let both = document(&[&record, "--against", &slow]);
    let cycles = |side: &str| both[side]["cycles"].as_f64().expect("cycles");
    let (own, other) = (cycles("estimate"), cycles("against"));
    assert!(own > 100.0 && other > own, "{own} {other}");
    assert_eq!(both["ratio"].as_f64(), Some(own / other));
    assert_eq!(both["estimate"]["product"], "H100 SXM");
    assert_eq!(document(&[&record, "--cubin", &slow])["estimate"], both["against"]);
    assert_eq!(document(&[&record, "-O0"])["estimate"], both["against"]);
    let lines = both["estimate"]["lines"].as_array().expect("lines");
    assert!(lines.iter().any(|line| line["text"].as_str().is_some_and(|text| text.starts_with("BAR"))));
    let shown = oriole(&["time", &record, "--against", &slow, "--lines", "1"]);
    assert_eq!(shown.status, Some(0), "{}", shown.err);
    assert!(shown.out.starts_with(&format!("reduce_tree_i32: {own:.0} cycles, ")), "{}", shown.out);
    assert!(shown.out.ends_with(&format!("  ratio {:.3}\n", own / other)), "{}", shown.out);
    assert_eq!(shown.out.lines().filter(|line| line.contains(" issued ")).count(), 2);
}

/// A larger grid takes longer, cold data too; blocks that are not replayed need not run.
#[test]
fn grids_and_caches() {
    let record = text(&data("kernels").join("reduce_tree_i32.json"));
    let cycles = |more: &[&str]| {
        document(&[&[record.as_str()], more].concat())["estimate"]["cycles"].as_f64().expect("cycles")
    };
    let (small, large, cold) = (cycles(&[]), cycles(&["--blocks", "100000"]), cycles(&["--cold"]));
    assert!(large > 10.0 * small && cold > small, "{small} {large} {cold}");
    assert_eq!(small, cycles(&["--sample"]));
}

/// Other chips have other products, and a launch that fails has no time.
#[test]
fn chips_and_failures() {
    let record = text(&data("kernels").join("reduce_tree_i32.json"));
    assert_eq!(document(&[&record, "--arch", "sm_120"])["estimate"]["product"], "RTX 5090");
    let done = oriole(&["time", &record, "--step-limit", "10"]);
    assert!(done.status == Some(1) && done.err.contains("the step limit was reached"), "{}", done.err);
    assert_eq!(oriole(&["time", &record, "--arch", "sm_99"]).status, Some(2));
    let done = oriole(&["time", &record, "--cubin", "none.cubin"]);
    assert!(done.status == Some(1) && done.err.contains("none.cubin"), "{}", done.err);
}

/// Waits for other warps, blocks, copies and MMAs end: no trace is stuck.
#[test]
fn traces_of_all_kinds_end() {
    for name in [
        "barrier_pipeline",
        "bulk_cluster",
        "bulk_stencil",
        "cluster_sum",
        "copy_pipeline",
        "gemm_cluster",
        "tensor_transpose",
        "wgmma_gemm",
    ] {
        let record = text(&data("kernels").join(format!("{name}.json")));
        let estimate = &document(&[&record])["estimate"];
        assert_eq!(estimate["forced"], 0, "{name}");
        assert!(estimate["waited"]["barrier"].as_u64().is_some_and(|cycles| cycles > 0), "{name}");
    }
}
