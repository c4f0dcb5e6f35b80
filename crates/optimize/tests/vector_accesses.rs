//! Adjacent stores, and loads of local and global memory.

use expect_test::{Expect, expect};
use oriole_optimize::passes::vector_accesses;
use oriole_ori::{Form, parse, verify};

/// `r4` to `r7` are words, `{r0 r1}` is a pointer, `{r14 r15}` one to a multiple of 16 bytes, `r3` the address of the thread's line of 32
/// bytes in shared memory, and `r2` that of a local variable.
fn joined(align: u32, body: &str, expected: Expect) {
    let text = format!(
        "kernel
  symbol s0 shared \"tile\" align=16
  symbol s1 local(0) \"a\"
  local l0 size=64 align={align}
b0:
  {{r0 r1}} = LDC.64 c[0][0x210] ; 0
  r14 = LOP3.LUT r0, 0xfffffff0, RZ, #192, !PT ; 0
  r15 = Copy r1 ; 0
  r4 = S2R %(SR_TID.X) ; 0
  r5 = IADD3 r4, 0x1, RZ ; 0
  r6 = IADD3 r4, 0x2, RZ ; 0
  r7 = IADD3 r4, 0x3, RZ ; 0
  r8 = SHF.L.U32 r4, 0x5, RZ ; 0
  r9 = MOV low(s0) ; 0
  r3 = IADD3 r8, r9, RZ ; 0
  r2 = FrameAddress low(s1) ; 0
  p10, PT = ISETP.AND.LT r4, 0x7, PT ; 0
{body}  EXIT ; 9
"
    );
    let mut function = parse::parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    verify(&function, Form::Ssa).expect("in SSA");
    vector_accesses::run(&mut function);
    verify(&function, Form::Ssa).expect("still in SSA");
    let lines = function.to_string();
    let lines = lines.lines().filter(|line| line.contains("; 1") || line.contains("; 2"));
    expected.assert_eq(&lines.map(|line| format!("{}\n", line.trim_start())).collect::<String>());
}

#[test]
fn adjacent_stores_become_one() {
    joined(
        16,
        "  STS [r3+0x8], r6 mem(shared w) ; 1
  STS [r3], r4 mem(shared w) ; 1
  STG.E [{r0 r1}], r4 mem(global w) ; 2
  STS [r3+0xc], RZ mem(shared w) ; 1
  STS [r3+0x4], r5 mem(shared w) ; 1
  STL.64 [r2+0x18], {r4 r5} mem(local w) ; 2
  STL [r2+0x14], RZ mem(local w) ; 2
  STL [r2+0x10], RZ mem(local w) ; 2
  STL [r2+0x4], RZ mem(local w) ; 2
  STL [r2], RZ mem(local w) ; 2
",
        expect![[r#"
            r16 = Copy RZ ; 1
            STG.E [{r0 r1}], r4 mem(global w) ; 2
            STS.128 [r3], {r4 r5 r6 r16} mem(shared w) ; 1
            r17 = Copy RZ ; 2
            STL.128 [r2+0x10], {r17 r17 r4 r5} mem(local w) ; 2
            STL.64 [r2], RZ mem(local w) ; 2
        "#]],
    );
}

#[test]
fn stores_that_something_may_notice_stay() {
    joined(
        16,
        "  STS [r3], r4 mem(shared w) ; 1
  r11 = LDS [r4] mem(shared r) ; 2
  STS [r3+0x4], r5 mem(shared w) ; 1
  STS [r4], r5 mem(shared w) ; 2
  STS [r3], r4 mem(shared w) ; 1
  BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 2
  STS [r3+0x4], r5 mem(shared w) ; 1
  STS [r3], r4 mem(shared w) ; 1
  STS [r3], r6 mem(shared w) ; 1
  @p10 STS [r3+0x4], r5 mem(shared w) ; 1
  STS.U8 [r3+0x4], r5 mem(shared w) ; 1
  STS [r3+0x8], r6 mem(shared w) ; 1
  ST.E [{r0 r1}], r4 mem(generic w) ; 2
  STS [r3+0xc], r6 mem(shared w) ; 1
  r12 = LDSM.16.M88 [r3] mem(shared r) ; 2
  STS [r3+0x8], r6 mem(shared w) ; 1
",
        expect![[r#"
            STS [r3], r4 mem(shared w) ; 1
            r11 = LDS [r4] mem(shared r) ; 2
            STS [r3+0x4], r5 mem(shared w) ; 1
            STS [r4], r5 mem(shared w) ; 2
            STS [r3], r4 mem(shared w) ; 1
            BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 2
            STS.64 [r3], {r4 r5} mem(shared w) ; 1
            STS [r3], r6 mem(shared w) ; 1
            @p10 STS [r3+0x4], r5 mem(shared w) ; 1
            STS.U8 [r3+0x4], r5 mem(shared w) ; 1
            STS [r3+0x8], r6 mem(shared w) ; 1
            ST.E [{r0 r1}], r4 mem(generic w) ; 2
            STS [r3+0xc], r6 mem(shared w) ; 1
            r12 = LDSM.16.M88 [r3] mem(shared r) ; 2
            STS [r3+0x8], r6 mem(shared w) ; 1
        "#]],
    );
}

#[test]
fn the_alignment_must_be_known() {
    let body = "  STG.E [{r0 r1}], r4 mem(global w) ; 1
  STG.E [{r0 r1}+0x4], r5 mem(global w) ; 1
  STG.E [{r14 r15}+0x8], r4 mem(global w) ; 1
  STG.E [{r14 r15}+0xc], r5 mem(global w) ; 1
  STL [r2+0x8], r4 mem(local w) ; 2
  STL [r2+0xc], r5 mem(local w) ; 2
";
    joined(
        8,
        body,
        expect![[r#"
        STG.E [{r0 r1}], r4 mem(global w) ; 1
        STG.E [{r0 r1}+0x4], r5 mem(global w) ; 1
        STG.64.E [{r14 r15}+0x8], {r4 r5} mem(global w) ; 1
        STL.64 [r2+0x8], {r4 r5} mem(local w) ; 2
    "#]],
    );
    joined(
        4,
        body,
        expect![[r#"
        STG.E [{r0 r1}], r4 mem(global w) ; 1
        STG.E [{r0 r1}+0x4], r5 mem(global w) ; 1
        STG.64.E [{r14 r15}+0x8], {r4 r5} mem(global w) ; 1
        STL [r2+0x8], r4 mem(local w) ; 2
        STL [r2+0xc], r5 mem(local w) ; 2
    "#]],
    );
}

#[test]
fn a_wider_access_proves_the_alignment() {
    joined(
        4,
        "  r11 = LDG.E [{r0 r1}+0xc] mem(global r) ; 1
  r12 = LDG.E [{r0 r1}+0x8] mem(global r) ; 1
  r13 = LDG.E [{r0 r1}+0x10] mem(global r) ; 1
  {r16 r17} = LDG.64.E [{r0 r1}+0x4] mem(global r) ; 2
  MEMBAR.GPU.SC mem(generic rw ordered) ; 2
  r18 = LDG.E [{r0 r1}+0x1c] mem(global r) ; 1
  r19 = LDG.E [{r0 r1}+0x20] mem(global r) ; 1
  r20 = LDG.CONSTANT.E [{r14 r15}] mem(global r) ; 2
  STG.E [{r0 r1}], r18 mem(global w) ; 2
  r21 = LDG.CONSTANT.E [{r14 r15}+0x4] mem(global r) ; 2
",
        expect![[r#"
            {r11 r13} = LDG.64.E [{r0 r1}+0xc] mem(global r) ; 1
            r12 = LDG.E [{r0 r1}+0x8] mem(global r) ; 1
            {r16 r17} = LDG.64.E [{r0 r1}+0x4] mem(global r) ; 2
            MEMBAR.GPU.SC mem(generic rw ordered) ; 2
            {r18 r19} = LDG.64.E [{r0 r1}+0x1c] mem(global r) ; 1
            {r20 r21} = LDG.64.CONSTANT.E [{r14 r15}] mem(global r) ; 2
            STG.E [{r0 r1}], r18 mem(global w) ; 2
        "#]],
    );
}

#[test]
fn what_comes_behind_a_fence_proves_nothing_before_it() {
    joined(
        4,
        "  r11 = LDL [r2] mem(local r) ; 1
  r12 = LDL [r2+0x4] mem(local r) ; 1
  MEMBAR.GPU.SC mem(generic rw ordered) ; 2
  {r13 r16} = LDL.64 [r2] mem(local r) ; 1
  r17 = LDL [r2+0xc] mem(local r) ; 1
  r18 = LDL [r2+0x8] mem(local r) ; 1
",
        expect![[r#"
            r11 = LDL [r2] mem(local r) ; 1
            r12 = LDL [r2+0x4] mem(local r) ; 1
            MEMBAR.GPU.SC mem(generic rw ordered) ; 2
            {r13 r16} = LDL.64 [r2] mem(local r) ; 1
            {r18 r17} = LDL.64 [r2+0x8] mem(local r) ; 1
        "#]],
    );
}

#[test]
fn threads_that_leave_store_what_is_theirs() {
    joined(
        16,
        "  STS [r3], r4 mem(shared w) ; 1
  r11 = LDL [r2] mem(local r) ; 1
  @p10 EXIT ; 2
  STS [r3+0x4], r5 mem(shared w) ; 1
  r12 = LDL [r2+0x4] mem(local r) ; 1
",
        expect![[r#"
            STS [r3], r4 mem(shared w) ; 1
            r11 = LDL [r2] mem(local r) ; 1
            @p10 EXIT ; 2
            STS [r3+0x4], r5 mem(shared w) ; 1
            r12 = LDL [r2+0x4] mem(local r) ; 1
        "#]],
    );
}
