//! Programs that do not wait for their copies: the bytes may be right, since interpreter and simulator copy at once, but the run is
//! not.

use crate::support::{data, oriole, scratch, text};
use serde_json::Value;

/// Runs a kernel of the repository with changed text in the interpreter and the simulator, and returns the outcome in the
/// simulator: the error, or that the run is right. If one of the two finds a broken rule, so does the other. They run warps in
/// different orders, so the other may report the other side of the race, or a missed phase of a thread that is too far ahead.
fn run(name: &str, change: impl Fn(String) -> String) -> String {
    let [simulated, interpreted] = ["sim", "interp"].map(|machine| run_on(machine, name, &change));
    let breaks = |told: &str| RULES.iter().any(|rule| told.contains(rule));
    let missed = |told: &str| MISSED.iter().any(|what| told.contains(what));
    assert!(
        !breaks(&simulated) || breaks(&interpreted) || missed(&interpreted),
        "{simulated}\n{interpreted}"
    );
    assert!(!breaks(&interpreted) || breaks(&simulated) || missed(&simulated), "{simulated}\n{interpreted}");
    assert_eq!(
        simulated.ends_with(": right"),
        interpreted.ends_with(": right"),
        "{simulated}\n{interpreted}"
    );
    simulated
}

/// The words for each rule.
const RULES: [&str; 4] =
    ["without a fence for that", "may not have written", "may not have read", "may still use"];

/// The messages about a run in which threads were so far ahead that an object missed a phase.
const MISSED: [&str; 3] =
    ["that has not ended waits", "arrivals at an mbarrier that waits for", "changed while a product"];

fn run_on(machine: &str, name: &str, change: &impl Fn(String) -> String) -> String {
    let kernels = data("kernels").canonicalize().expect("the kernels are there");
    let record = std::fs::read_to_string(kernels.join(format!("{name}.json"))).expect("a launch record");
    let mut record: Value = serde_json::from_str(&record).expect("a launch record");
    let file = kernels.join(record["ptx"].as_str().expect("a file"));
    let ptx = change(std::fs::read_to_string(file).expect("the kernel file"));
    let folder = scratch();
    let own = folder.path().join("changed.ptx");
    std::fs::write(&own, ptx).expect("a temporary file");
    record["ptx"] = text(&own).into();
    let path = folder.path().join("changed.json");
    std::fs::write(&path, record.to_string()).expect("a temporary file");
    // Far more than a right run takes: a wrong one may wait for ever.
    let run = oriole(&["run", &text(&path), "--on", machine, "--json", "--step-limit", "1000000"]);
    let result: Value = serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}", run.err));
    match (&result["hazards"], &result["error"]) {
        (Value::Array(hazards), _) if !hazards.is_empty() => result["hazards"].to_string(),
        (_, Value::Null) => format!("{name}: right"),
        (_, error) => error.to_string(),
    }
}

/// The text without the part between two marks, from this kernel on.
fn without(ptx: &str, kernel: &str, from: &str, to: &str) -> String {
    let start = ptx.find(kernel).expect("the kernel");
    let begin = start + ptx[start..].find(from).expect("where it begins");
    let end = begin + ptx[begin..].find(to).expect("where it ends");
    format!("{}{}", &ptx[..begin], &ptx[end..])
}

#[test]
fn copies_that_nobody_waits_for_are_found() {
    let right = run("bulk_stencil", |ptx| ptx);
    assert!(right.ends_with(": right"), "{right}");

    let unfenced =
        run("bulk_stencil", |ptx| without(&ptx, "entry bulk_stencil", "fence.proxy.async", "bar.sync"));
    assert!(unfenced.contains("without a fence for that"), "{unfenced}");

    let early =
        run("bulk_stencil", |ptx| without(&ptx, "entry bulk_stencil", "wait:\n", "mad.lo.u32 s, t, 4, s;"));
    assert!(early.contains("may not have written"), "{early}");

    let reused = run("bulk_bytes", |ptx| {
        ptx.replacen("cp.async.bulk.wait_group.read 1;", "st.shared.u32 [tile], x;", 1)
    });
    assert!(reused.contains("may not have read"), "{reused}");

    // The group that is left may still be reading its half; the other one is through.
    let half = |place: &str| {
        let store = format!("cp.async.bulk.wait_group.read 1;\n    st.shared.u32 [tile+{place}], x;");
        run("bulk_bytes", |ptx| ptx.replacen("cp.async.bulk.wait_group.read 1;", &store, 1))
    };
    assert!(half("0").ends_with(": right"), "{}", half("0"));
    assert!(half("128").contains("may not have read"), "{}", half("128"));
}

#[test]
fn tiles_in_use_are_not_copied_over() {
    // The tile is loaded once more, with the same bytes, after the barrier of its readers, or before.
    let copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [g], 144, [full];";
    let again = |behind: bool| {
        run("bulk_stencil", |ptx| {
            let meeting = "fence.proxy.async.shared::cta;\n    bar.sync 0;\n    @!one bra done;\n";
            assert_eq!(ptx.matches(meeting).count(), 1);
            let changed =
                if behind { format!("{meeting}    {copy}\n") } else { format!("@one {copy}\n    {meeting}") };
            ptx.replacen(meeting, &changed, 1)
        })
    };
    assert!(again(true).ends_with(": right"), "{}", again(true));
    assert!(again(false).contains("may still use"), "{}", again(false));

    let full = run("copy_pipeline", |ptx| without(&ptx, "entry copy_pipeline(", "free:\n", "mov.u32 tile"));
    assert!(full.contains("may still use") || full.contains("may not have written"), "{full}");

    let early =
        run("copy_pipeline", |ptx| without(&ptx, "entry copy_pipeline(", "filled:\n", "// What a neighbour"));
    assert!(early.contains("may not have written"), "{early}");
}

#[test]
fn copies_by_threads_are_waited_for_and_met_for() {
    let right = run("gemm_f16", |ptx| ptx);
    assert!(right.ends_with(": right"), "{right}");

    let wait = "cp.async.wait_group 1;";
    let early = run("gemm_f16", |ptx| ptx.replacen(wait, "", 1));
    assert!(early.contains("may not have written"), "{early}");

    // One group too many is left.
    let late = run("gemm_f16", |ptx| ptx.replacen(wait, "cp.async.wait_group 2;", 1));
    assert!(late.contains("may not have written"), "{late}");

    // Each thread has waited for its own copies only.
    let alone = run("gemm_f16", |ptx| without(&ptx, "entry gemm_f16", "bar.sync", "\n"));
    assert!(alone.contains("may not have written"), "{alone}");
}

#[test]
fn products_see_what_was_fenced() {
    let unfenced =
        run("wgmma_gemm", |ptx| without(&ptx, "entry wgmma_gemm", "fence.proxy.async", "bar.sync"));
    assert!(unfenced.contains("without a fence for that"), "{unfenced}");
}

#[test]
fn stages_are_filled_when_they_are_free_and_read_when_they_are_full() {
    for kernel in ["gemm_stages", "gemm_cluster"] {
        let right = run(kernel, |ptx| ptx);
        assert!(right.ends_with(": right"), "{right}");
        let entry = format!("entry {kernel}(");
        let hasty = run(kernel, |ptx| without(&ptx, &entry, "taken:\n", "mov.u32 full"));
        assert!(hasty.contains("may still use") || hasty.contains("may not have written"), "{hasty}");
        let early = run(kernel, |ptx| without(&ptx, &entry, "filled:\n", "mov.u32 tile"));
        assert!(early.contains("may not have written") || early.contains("changed while"), "{early}");
        // A stage is given back while the product before it may still read it.
        let loose = run(kernel, |ptx| {
            without(&ptx, &entry, "wgmma.wait_group.sync.aligned 1;", "setp.eq.u32 p, i, 0;")
        });
        assert!(loose.contains("may still use") || loose.contains("changed while"), "{loose}");
    }
}
