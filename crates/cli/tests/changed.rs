//! `oriole ori --changed`: the phases that change a function, as differences.

use crate::support::{oriole, scratch, text};
use expect_test::expect;

const KERNELS: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry nothing()
{
    ret;
}
.visible .entry k(.param .u64 p, .param .u32 q)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r4, [q];
    mov.u32 %r5, %tid.x;
    add.s32 %r6, %r5, 0;
    mul.wide.u32 %rd2, %r6, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r4;
    ret;
}
";

/// Only phases that change something, up to the one that is named.
#[test]
fn phases_show_what_they_change() {
    let folder = scratch();
    let path = folder.path().join("k.ptx");
    std::fs::write(&path, KERNELS).expect("a file is written");
    let input = text(&path);
    let shown = |more: &[&str]| {
        let done = oriole(&[&["ori", input.as_str(), "--changed"], more].concat());
        assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{more:?}");
        done.out
    };
    let all = shown(&["--after", "OriLinearReplacement", "--context", "1"]);
    expect![[r#"
        // k: 13 GeneralOptimizeEarly
        @@ -15,5 +15,3 @@
           r5 = S2R %(SR_TID.X) ; 2
        -  r6 = Copy r5 ; 2
        -  r7 = IADD3 r6, RZ, RZ ; 3
        -  {r8 r9} = IMAD.U32.WIDE r7, 0x4, RZ ; 4
        +  {r8 r9} = IMAD.U32.WIDE r5, 0x4, RZ ; 4
           {r10 r11} = Add64 {r2 r3}, {r8 r9} ; 5
        // k: 31 OriLinearReplacement
        @@ -13,4 +13,3 @@
           r5 = S2R %(SR_TID.X) ; 2
        -  {r6 r7} = IMAD.U32.WIDE r5, 0x4, RZ ; 4
        -  {r8 r9} = Add64 {r2 r3}, {r6 r7} ; 5
        +  {r8 r9} = IMAD.U32.WIDE r5, 0x4, {r2 r3} ; 5
           STG.E desc{u0 u1}[{r8 r9}].64, r4 mem(global w) ; 6
    "#]]
    .assert_eq(&all);
    // The first phase alone, and nothing at level 0, where no phase has anything to do.
    let first = shown(&["--after", "13", "--context", "1"]);
    assert!(!first.is_empty() && all.starts_with(&first) && all.len() > first.len());
    assert!(shown(&["--after", "all", "--context", "1"]).starts_with(&all));
    assert_eq!(shown(&["--after", "all", "--function", "nothing"]), "");
    for wrong in [
        &["--after", "all"][..],
        &["--after", "all", "--changed", "--dot"],
        &["--after", "13", "--context", "1"],
    ] {
        assert_eq!(oriole(&[&["ori", input.as_str()], wrong].concat()).status, Some(2), "{wrong:?}");
    }
}
