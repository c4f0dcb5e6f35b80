//! Contents of comparisons: figures, code side by side, also as JSON and as a page.

use crate::support::code;
use expect_test::expect;
use oriole_explore::{Comparison, Manner, Side, comparison_json, comparison_page, comparison_text};
use std::collections::BTreeMap;

const SUM: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z3sumPj(.param .u64 p)
{
  .reg .b32 %r<4>;
  .reg .b64 %a;
  ld.param.u64 %a, [p];
  ld.global.u32 %r1, [%a];
  ld.global.u32 %r2, [%a+4];
  add.u32 %r3, %r1, %r2;
  st.global.u32 [%a], %r3;
  ret;
}
";

/// The text with another constant and another instruction.
fn changed() -> String {
    SUM.replace("[%a+4]", "[%a+8]").replace("  ret;", "  st.global.u32 [%a+16], %r3;\n  ret;")
}

fn side(label: &str, text: &str) -> Side {
    Side {
        label: label.to_owned(),
        code: code(text),
        spills: BTreeMap::from([("_Z3sumPj".to_owned(), (8, 4))]),
    }
}

fn compared(first: &str, second: &str, only: &[&str], exact: bool) -> Comparison {
    let only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
    Comparison::new(&[side("a.ptx", first), side("b.ptx", second)], &only, Manner { exact })
}

#[test]
fn figures_and_code_side_by_side() {
    let comparison = compared(SUM, &changed(), &[], false);
    expect![[r#"
        first:  a.ptx for sm_90
        second: b.ptx for sm_90

        _Z3sumPj (sum(unsigned int*))
                                              first     second
          registers                               7          7
          uniform registers                       6          6
          live at most                            4          4
          spill stores, bytes                     8          8
          spill loads, bytes                      4          4
          constant bytes                        536        536
          instructions                            7          8  +1 (+14 %)
          issue cycles                           17         18  +1 (+6 %)
          issue cycles, loops ten times          17         18  +1 (+6 %)
          cycles with waits, straight           300        301  +1 (+0 %)
          warps of an SM                         64         64
          opcodes: STG +1
          ... 2 the same
          0020 LDG.E R0, desc[UR4][R2.64]       0020 LDG.E R0, desc[UR4][R2.64]
          0030 LDG.E R4, desc[UR4][R2.64+0x4] | 0030 LDG.E R4, desc[UR4][R2.64+0x8]
          0040 IADD3 R0, R0, R4, RZ             0040 IADD3 R0, R0, R4, RZ
          0050 STG.E desc[UR4][R2.64], R0       0050 STG.E desc[UR4][R2.64], R0
                                              > 0060 STG.E desc[UR4][R2.64+0x10], R0
          0060 EXIT                             0070 EXIT
    "#]]
    .assert_eq(&comparison_text(&comparison, true, Some(1)));
    // Each field of the one kernel on a line of its own.
    let document = comparison_json(&comparison);
    let fields = document["kernels"][0].as_object().expect("an object").iter();
    let lines = fields.map(|(name, value)| format!("{name}: {value}\n"));
    expect![[r#"
        figures: {"barriers":[0,0],
        "constant_bytes":[536,536],
        "cycles_with_waits_straight":[300,301],
        "instructions":[7,8],
        "issue_cycles":[17,18],
        "issue_cycles_loops_ten_times":[17,18],
        "live_at_most":[4,4],
        "local_loads":[0,0],
        "local_stores":[0,0],
        "predicates":[0,0],
        "registers":[7,7],
        "shared_bytes":[0,0],
        "spill_loads_bytes":[4,4],
        "spill_stores_bytes":[8,8],
        "stack_bytes":[0,0],
        "uniform_registers":[6,6],
        "warps_of_an_sm":[64,64]}
        identical: false
        lines: [{"change":"same","first":{"address":0,"text":"LDC.64 R2, c[0x0][0x210]"},"second":{"address":0,"text":"LDC.64 R2, c[0x0][0x210]"}},
        {"change":"same","first":{"address":16,"text":"ULDC.64 UR4, c[0x0][0x208]"},"second":{"address":16,"text":"ULDC.64 UR4, c[0x0][0x208]"}},
        {"change":"same","first":{"address":32,"text":"LDG.E R0, desc[UR4][R2.64]"},"second":{"address":32,"text":"LDG.E R0, desc[UR4][R2.64]"}},
        {"change":"changed","first":{"address":48,"text":"LDG.E R4, desc[UR4][R2.64+0x4]"},"second":{"address":48,"text":"LDG.E R4, desc[UR4][R2.64+0x8]"}},
        {"change":"same","first":{"address":64,"text":"IADD3 R0, R0, R4, RZ"},"second":{"address":64,"text":"IADD3 R0, R0, R4, RZ"}},
        {"change":"same","first":{"address":80,"text":"STG.E desc[UR4][R2.64], R0"},"second":{"address":80,"text":"STG.E desc[UR4][R2.64], R0"}},
        {"change":"added","first":null,"second":{"address":96,"text":"STG.E desc[UR4][R2.64+0x10], R0"}},
        {"change":"same","first":{"address":96,"text":"EXIT"},"second":{"address":112,"text":"EXIT"}}]
        names: ["_Z3sumPj","_Z3sumPj"]
        opcodes: {"STG":[1,2]}
        same: false
    "#]].assert_eq(&lines.collect::<String>().replace("},{", "},\n{").replace("],\"", "],\n\""));
    assert_eq!((&document["version"], &document["same"]), (&1.into(), &false.into()));
    assert_eq!(document["sides"][1], "b.ptx for sm_90");
}

/// Other register indices are no difference unless exactness is requested; other constants are.
#[test]
fn what_counts_as_a_difference() {
    let moved = SUM.replace("%r1, %r2;", "%r2, %r1;");
    let told = |exact| {
        let comparison = compared(SUM, &moved, &[], exact);
        let text = comparison_text(&comparison, false, Some(0));
        (
            comparison.is_same(),
            text.lines()
                .skip(3)
                .filter(|line| !line.starts_with("  l"))
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    };
    expect![[r#"
        [
            (
                true,
                [
                    "_Z3sumPj",
                    "                                      first     second",
                    "  registers                               7          7",
                    "  uniform registers                       6          6",
                    "  spill stores, bytes                     8          8",
                    "  spill loads, bytes                      4          4",
                    "  constant bytes                        536        536",
                    "  instructions                            7          7",
                    "  issue cycles                           17         17",
                    "  issue cycles, loops ten times          17         17",
                    "  cycles with waits, straight           300        300",
                    "  warps of an SM                         64         64",
                    "  the same instructions; registers, targets or control words differ",
                ],
            ),
            (
                false,
                [
                    "_Z3sumPj",
                    "                                      first     second",
                    "  registers                               7          7",
                    "  uniform registers                       6          6",
                    "  spill stores, bytes                     8          8",
                    "  spill loads, bytes                      4          4",
                    "  constant bytes                        536        536",
                    "  instructions                            7          7",
                    "  issue cycles                           17         17",
                    "  issue cycles, loops ten times          17         17",
                    "  cycles with waits, straight           300        300",
                    "  warps of an SM                         64         64",
                    "  ... 4 the same",
                    "  0040 IADD3 R0, R0, R4, RZ       | 0040 IADD3 R4, R4, R0, RZ",
                    "  0050 STG.E desc[UR4][R2.64], R0 | 0050 STG.E desc[UR4][R2.64], R4",
                    "  ... 1 the same",
                ],
            ),
        ]
    "#]]
    .assert_debug_eq(&[told(false), told(true)]);
    let comparison = compared(SUM, SUM, &[], true);
    assert!(comparison.is_same() && comparison.pairs[0].is_identical);
    assert!(comparison_text(&comparison, true, Some(3)).ends_with("  the same code\n"));
}

/// Kernels are paired by name; single kernels are paired whatever their names.
#[test]
fn which_kernels_go_together() {
    let two = format!("{SUM}{}", SUM[SUM.find(".visible").expect("a kernel")..].replace("_Z3sumPj", "other"));
    let names = |first: &str, second: &str, only: &[&str]| {
        let comparison = compared(first, second, only, false);
        let pairs: Vec<_> = comparison.pairs.iter().map(|pair| pair.names.join("/")).collect();
        format!("{} {:?}", pairs.join(" "), comparison.alone)
    };
    assert_eq!(names(&two, &two, &[]), "other/other _Z3sumPj/_Z3sumPj [[], []]");
    assert_eq!(names(&two, SUM, &[]), "_Z3sumPj/_Z3sumPj [[\"other\"], []]");
    assert_eq!(names(&two, &two, &["_Z3sumPj"]), "_Z3sumPj/_Z3sumPj [[], []]");
    assert_eq!(names(SUM, &SUM.replace("_Z3sumPj", "other"), &[]), "_Z3sumPj/other [[], []]");
    assert_eq!(names(SUM, SUM, &["nobody"]), " [[], []]");
    assert!(!compared(&two, SUM, &[], false).is_same(), "a kernel that one side lacks is a difference");
}

/// The page has each line once, in a document that loads nothing and has no scripts.
#[test]
fn the_page_of_a_comparison() {
    let label = "<script>alert(1)</script>.ptx";
    let sides = [side(label, SUM), side("b.ptx", &changed())];
    let page = comparison_page(&Comparison::new(&sides, &[], Manner::default()), true);
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"));
    assert!(!page.contains("http://") && !page.contains("https://"));
    assert!(page.contains("<h2>sum(unsigned int*)</h2>"));
    let count = |class: &str| page.matches(&format!("<div class=\"line {class}\">")).count();
    assert_eq!(["same", "changed", "removed", "added"].map(count), [6, 1, 0, 1]);
    // Long runs of equal lines are collapsed.
    let stores = "  st.volatile.global.u32 [%a+64], %r3;\n".repeat(40);
    let long = SUM.replace("  ret;", &format!("{stores}  ret;"));
    let sides = [side("a.ptx", &long), side("b.ptx", &long.replace("[%a+4]", "[%a+8]"))];
    let page = comparison_page(&Comparison::new(&sides, &[], Manner::default()), true);
    assert!(page.contains("lines that are the same</summary>"), "{page}");
}
