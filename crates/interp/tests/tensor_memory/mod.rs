//! Programs that break rules of tensor memory: each mutation of a correct kernel is detected and reported.

use std::path::Path;

use crate::record;
use oriole_interp::Program;

/// Runs a launch of `test-data/tensor-memory` with changed text; returns the error.
fn told(name: &str, change: impl Fn(&str) -> String) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-data/tensor-memory");
    let record = record::read(&folder.join(format!("{name}.json"))).remove(0);
    let entry = format!(".visible .entry {name}(");
    let start = record.ptx.find(&entry).expect("the kernel");
    let (before, kernel) = record.ptx.split_at(start);
    let end = kernel.find("\n}\n").expect("its end");
    let changed = change(&kernel[..end]);
    let module = oriole_hir::resolve_module(&format!("{before}{changed}{}", &kernel[end..]));
    assert!(!module.has_errors(), "{:?}", module.diagnostics.first());
    let mut launch = record.launch;
    launch.budget = 20_000_000;
    match oriole_interp::run(&Program::from_module(&module), &launch).error {
        Some(fault) => fault.to_string(),
        None => "right".into(),
    }
}

/// The kernel with a piece of it replaced, which it has.
fn replaced<'k>(from: &'k str, to: &'k str) -> impl Fn(&str) -> String + 'k {
    move |kernel| {
        assert!(kernel.contains(from), "{from}");
        kernel.replacen(from, to, 1)
    }
}

const FREE: &str = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 tensor, 32;";

#[test]
fn columns_that_are_not_given_back_or_given_back_twice_are_found() {
    assert_eq!(told("tensor_f16", str::to_owned), "right");
    let kept = told("tensor_f16", replaced(FREE, ""));
    assert!(kept.contains("32 columns of tensor memory from column 0 on are not given back"), "{kept}");
    let twice = told("tensor_f16", replaced(FREE, &format!("{FREE}\n    {FREE}")));
    assert!(twice.contains("where no such run is allocated"), "{twice}");
    let part = told("tensor_f16", replaced(FREE, &FREE.replace("32;", "64;")));
    assert!(part.contains("where no such run is allocated"), "{part}");
}

#[test]
fn columns_are_used_by_whom_they_are_for() {
    let early = told(
        "tensor_f16",
        replaced("r31}, [lanes];\n    tcgen05.wait::ld", "r31}, [lanes+1];\n    tcgen05.wait::ld"),
    );
    assert!(early.contains("column 32 of tensor memory is not allocated"), "{early}");
    let other = told(
        "tensor_f16",
        replaced("r31}, [lanes];\n    tcgen05.wait::ld", "r31}, [tensor];\n    tcgen05.wait::ld"),
    );
    assert!(other.contains("lane 0, column 0 of tensor memory is not for this warp"), "{other}");
    let late = told(
        "tensor_f16",
        replaced(
            "    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n",
            "    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;\n",
        ),
    );
    assert!(late.contains("after the permit was given up"), "{late}");
    let more = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 512;";
    let stuck = told(
        "tensor_f16",
        replaced("    tcgen05.relinquish", &format!("    {more}\n    tcgen05.relinquish")),
    );
    assert!(stuck.contains("the first one for columns of tensor memory"), "{stuck}");
}

#[test]
fn results_are_used_when_their_barrier_object_told_of_them() {
    let wait = "    mbarrier.try_wait.parity.shared::cta.b64 lead, [done], 0;\n    @!lead bra wait;\n";
    let early = told("tensor_f16", replaced(wait, ""));
    assert!(early.contains("uses tensor memory that instruction"), "{early}");
    // The mbarrier is signalled before the MMA was started.
    let product = |kernel: &str| {
        let at = kernel.find("    @lead tcgen05.mma").expect("the product");
        let end = at + kernel[at..].find('\n').expect("its end") + 1;
        (kernel[..at].to_owned(), kernel[at..end].to_owned(), kernel[end..].to_owned())
    };
    let unordered = told("tensor_f16", |kernel| {
        let (before, product, behind) = product(kernel);
        format!("{before}{}", behind.replacen("wait:\n", &format!("{product}wait:\n"), 1))
    });
    assert!(unordered.contains("uses tensor memory that instruction"), "{unordered}");
    // The inputs of the MMA are overwritten while it may read them.
    let overwritten = told("tensor_f16", |kernel| {
        let (before, product, behind) = product(kernel);
        format!("{before}{product}    @lead st.shared.b32 [image], x;\n{behind}")
    });
    assert!(overwritten.contains("overwrites shared memory"), "{overwritten}");
    let left = told("tensor_f16_left", |kernel| {
        let (before, product, behind) = product(kernel);
        let store = "    tcgen05.st.sync.aligned.32x32b.x1.b32 [lanes+16], {x};\n    tcgen05.wait::st.sync.aligned;\n";
        format!("{before}{product}{store}{behind}")
    });
    assert!(left.contains("overwrites tensor memory that instruction"), "{left}");
}

#[test]
fn products_meet_no_stores_that_are_going_on() {
    let unwaited = told("tensor_f16", replaced("    tcgen05.wait::st.sync.aligned;\n", ""));
    assert!(unwaited.contains("may be in flight"), "{unwaited}");
    // Each warp has waited, and has not signalled.
    let untold = told("tensor_f16", |kernel| {
        let at = kernel.find("tcgen05.wait::st").expect("the wait");
        format!("{}{}", &kernel[..at], kernel[at..].replacen("    bar.sync 0;\n", "", 1))
    });
    // Warps that come late meet the MMA instead.
    let either = ["may be in flight", "may not have written"];
    assert!(either.iter().any(|rule| untold.contains(rule)), "{untold}");
    let unfenced = told("tensor_f16", replaced("    fence.proxy.async.shared::cta;\n", ""));
    assert!(unfenced.contains("without a fence for that"), "{unfenced}");
}

#[test]
fn descriptors_that_mean_nothing_are_told() {
    let text = "    @lead tcgen05.mma";
    let rows = told("tensor_f16", replaced(text, "    and.b32 x, x, 0xe0ffffff;\n    @lead tcgen05.mma"));
    assert!(rows.contains("no such product has 0 rows"), "{rows}");
    let swizzle = told(
        "tensor_f16",
        replaced(text, "    or.b64 start, start, 0x6000000000000000;\n    @lead tcgen05.mma"),
    );
    assert!(swizzle.contains("swizzles in mode 3"), "{swizzle}");
}

/// Only one chip has a depth of 96, and only MMAs of this depth have factors in two parts.
#[test]
fn a_depth_of_96_is_of_the_chip_that_has_it() {
    let told_for = |name: &str, target: &str, change: (&str, &str)| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-data/tensor-memory");
        let record = record::read(&folder.join(format!("{name}.json"))).remove(0);
        let (from, to) = change;
        assert!(record.ptx.contains(from), "{from}");
        let text = record.ptx.replace("sm_103a", target).replace(from, to);
        let module = oriole_hir::resolve_module(&text);
        assert!(!module.has_errors(), "{:?}", module.diagnostics.first());
        match oriole_interp::run(&Program::from_module(&module), &record.launch).error {
            Some(fault) => fault.to_string(),
            None => "right".into(),
        }
    };
    let same = (".target", ".target");
    assert_eq!(told_for("tensor_deep_parts", "sm_103a", same), "right");
    let elsewhere = told_for("tensor_deep_parts", "sm_100a", same);
    assert!(elsewhere.contains("the chip has no products of a depth of 96"), "{elsewhere}");
    // The same words with a depth of 64.
    let shallow = told_for("tensor_deep_parts", "sm_103a", ("mov.b32 x, 0xc", "mov.b32 x, 0x4"));
    assert!(shallow.contains("which only products of a depth of 96 have"), "{shallow}");
}

/// Without a state space the mbarrier is named by a generic address, or by its zero-extended address in shared memory.
#[test]
fn objects_that_operations_tell_are_named_in_three_ways() {
    let tell = "@lead tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];";
    let named = |how: &str| {
        let by = format!(
            "{{ .reg .b32 near; .reg .b64 wide; mov.u32 near, done; {how} \
             @lead tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [wide]; }}"
        );
        told("tensor_f16", replaced(tell, &by))
    };
    assert_eq!(named("cvt.u64.u32 wide, near;"), "right");
    assert_eq!(named("cvt.u64.u32 wide, near; cvta.shared.u64 wide, wide;"), "right");
    let elsewhere = named("mov.u64 wide, 0x700000000;");
    assert!(elsewhere.contains("0x700000000 is no address of shared memory"), "{elsewhere}");
}
