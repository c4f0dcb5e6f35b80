//! Programs that do not wait for their bulk copies: the bytes may be right in the simulator, which copies at once, but the
//! run is not.

use crate::support::{data, oriole, scratch, text};
use serde_json::Value;

/// Runs a kernel of the repository with changed text, and gives the line that tells how it went.
fn run(name: &str, change: impl Fn(String) -> String) -> String {
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
    let run = oriole(&["run", &text(&path), "--on", "sim"]);
    run.out.lines().next().unwrap_or_default().to_owned()
}

/// The text without what lies between two marks, from this kernel on.
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
    assert!(unfenced.contains("without a fence for the copy engine"), "{unfenced}");

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
