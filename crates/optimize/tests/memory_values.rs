//! Loads of values that registers hold, and stores that nothing reads.

use expect_test::{Expect, expect};
use oriole_optimize::passes::{dead_stores, memory_values};
use oriole_ori::{Form, Function, parse, verify};

/// A kernel whose entry defines addresses `r0` to `r3`, words `r4` to `r7` and a predicate.
fn kernel_text(body: &str) -> String {
    format!(
        "kernel
b0:
  {{r0 r1}} = LDC.64 c[0][0x210] ; 0
  {{r2 r3}} = LDC.64 c[0][0x218] ; 0
  r4 = S2R %(SR_TID.X) ; 0
  r5 = IADD3 r4, 0x1, RZ ; 0
  r6 = IADD3 r4, 0x2, RZ ; 0
  r7 = IADD3 r4, 0x3, RZ ; 0
  p8, PT = ISETP.AND.LT r4, 0x7, PT ; 0
{body}"
    )
}

fn kernel(body: &str) -> Function {
    let function = parse::parse(&kernel_text(body)).expect("Ori");
    verify(&function, Form::Ssa).expect("in SSA");
    function
}

fn shown(function: &Function, expected: &Expect) {
    verify(function, Form::Ssa).expect("still in SSA");
    let lines: String = function
        .to_string()
        .lines()
        .filter(|line| {
            line.contains("; 1") || line.contains("; 2") || line.contains("b1:") || line.contains("b2:")
        })
        .map(|line| format!("{}\n", line.trim_start()))
        .collect();
    expected.assert_eq(&lines);
}

fn forwarded(body: &str, expected: Expect) {
    let mut function = kernel(body);
    memory_values::run(&mut function);
    shown(&function, &expected);
}

fn without_dead_stores(body: &str, expected: Expect) {
    let mut function = kernel(body);
    dead_stores::run(&mut function);
    shown(&function, &expected);
}

#[test]
fn stored_words_are_loaded_as_copies() {
    forwarded(
        "  STG.128.E [{r0 r1}+0x10], {r4 r5 r6 r7} mem(global w) ; 1
  STG.E [{r0 r1}+0x14], RZ mem(global w) ; 1
  r10 = LDG.E [{r0 r1}+0x18] mem(global r) ; 2
  {r11 r12} = LDG.64.E [{r0 r1}+0x10] mem(global r) ; 2
  {r13 r14} = LDG.64.E [{r0 r1}+0x1c] mem(global r) ; 2
  EXIT ; 3
",
        expect![[r#"
            STG.128.E [{r0 r1}+0x10], {r4 r5 r6 r7} mem(global w) ; 1
            STG.E [{r0 r1}+0x14], RZ mem(global w) ; 1
            r10 = Copy r6 ; 2
            r11 = Copy r4 ; 2
            r12 = Copy RZ ; 2
            {r13 r14} = LDG.64.E [{r0 r1}+0x1c] mem(global r) ; 2
        "#]],
    );
}

#[test]
fn other_addresses_may_be_the_same() {
    forwarded(
        "  STG.E [{r0 r1}], r4 mem(global w) ; 1
  STG.E [{r2 r3}+0x100], r5 mem(global w) ; 1
  r10 = LDG.E [{r0 r1}] mem(global r) ; 2
  r11 = LDG.E [{r2 r3}+0x100] mem(global r) ; 2
  r12 = LDG.E [{r0 r1}] mem(global r) ; 2
  r13 = LDG.CONSTANT.E [{r2 r3}+0x100] mem(global r) ; 2
  EXIT ; 3
",
        expect![[r#"
            STG.E [{r0 r1}], r4 mem(global w) ; 1
            STG.E [{r2 r3}+0x100], r5 mem(global w) ; 1
            r10 = LDG.E [{r0 r1}] mem(global r) ; 2
            r11 = Copy r5 ; 2
            r12 = Copy r10 ; 2
            r13 = LDG.CONSTANT.E [{r2 r3}+0x100] mem(global r) ; 2
        "#]],
    );
}

#[test]
fn spaces_are_apart_but_for_generic_addresses() {
    forwarded(
        "  STS [r4], r5 mem(shared w) ; 1
  STG.E [{r0 r1}], r6 mem(global w) ; 1
  r10 = LDS [r4] mem(shared r) ; 2
  ST.E [{r2 r3}], r7 mem(generic w) ; 1
  r11 = LDS [r4] mem(shared r) ; 2
  r12 = LD.E [{r2 r3}] mem(generic r) ; 2
  STS [r4+0x4], r7 mem(shared w) ; 1
  r13 = LDS [r4] mem(shared r) ; 2
  r14 = LD.E [{r2 r3}] mem(generic r) ; 2
  EXIT ; 3
",
        expect![[r#"
            STS [r4], r5 mem(shared w) ; 1
            STG.E [{r0 r1}], r6 mem(global w) ; 1
            r10 = Copy r5 ; 2
            ST.E [{r2 r3}], r7 mem(generic w) ; 1
            r11 = LDS [r4] mem(shared r) ; 2
            r12 = Copy r7 ; 2
            STS [r4+0x4], r7 mem(shared w) ; 1
            r13 = Copy r11 ; 2
            r14 = LD.E [{r2 r3}] mem(generic r) ; 2
        "#]],
    );
}

#[test]
fn bytes_are_extended_and_never_assembled() {
    forwarded(
        "  STS.U8 [r4], r5 mem(shared w) ; 1
  STS.U16 [r4+0x2], r6 mem(shared w) ; 1
  r10 = LDS.U8 [r4] mem(shared r) ; 2
  r11 = LDS.S8 [r4] mem(shared r) ; 2
  r12 = LDS.U16 [r4+0x2] mem(shared r) ; 2
  r13 = LDS [r4] mem(shared r) ; 2
  r14 = LDS.S8 [r4] mem(shared r) ; 2
  r15 = LDS.U8 [r4+0x2] mem(shared r) ; 2
  STS.U8 [r4+0x3], r7 mem(shared w) ; 1
  r16 = LDS.U16 [r4+0x2] mem(shared r) ; 2
  EXIT ; 3
",
        expect![[r#"
            STS.U8 [r4], r5 mem(shared w) ; 1
            STS.U16 [r4+0x2], r6 mem(shared w) ; 1
            r10 = LDS.U8 [r4] mem(shared r) ; 2
            r11 = LDS.S8 [r4] mem(shared r) ; 2
            r12 = LOP3.LUT r6, 0xffff, RZ, #192, !PT ; 2
            r13 = LDS [r4] mem(shared r) ; 2
            r14 = Copy r11 ; 2
            r15 = LDS.U8 [r4+0x2] mem(shared r) ; 2
            STS.U8 [r4+0x3], r7 mem(shared w) ; 1
            r16 = LDS.U16 [r4+0x2] mem(shared r) ; 2
        "#]],
    );
}

#[test]
fn nothing_is_known_behind_a_barrier() {
    forwarded(
        "  STS [r4], r5 mem(shared w) ; 1
  r10 = LDG.CONSTANT.E [{r0 r1}] mem(global r) ; 2
  BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 1
  r11 = LDS [r4] mem(shared r) ; 2
  r12 = LDG.CONSTANT.E [{r0 r1}] mem(global r) ; 2
  @p8 STS [r4], r6 mem(shared w) ; 1
  r13 = LDS [r4] mem(shared r) ; 2
  r14 = LDS [r4] mem(shared r) ; 2
  r15 = LDG.E.GPU.STRONG [{r0 r1}] mem(global r ordered) ; 2
  r16 = LDS [r4] mem(shared r) ; 2
  EXIT ; 3
",
        expect![[r#"
            STS [r4], r5 mem(shared w) ; 1
            r10 = LDG.CONSTANT.E [{r0 r1}] mem(global r) ; 2
            BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 1
            r11 = LDS [r4] mem(shared r) ; 2
            r12 = Copy r10 ; 2
            @p8 STS [r4], r6 mem(shared w) ; 1
            r13 = LDS [r4] mem(shared r) ; 2
            r14 = Copy r13 ; 2
            r15 = LDG.E.GPU.STRONG [{r0 r1}] mem(global r ordered) ; 2
            r16 = LDS [r4] mem(shared r) ; 2
        "#]],
    );
}

#[test]
fn paths_that_meet_must_agree() {
    let diamond = |then: &str| {
        format!(
            "  STG.E [{{r0 r1}}], r4 mem(global w) ; 1
  @p8 BRA b2 ; 1
b1: -> b3
{then}b2: -> b3
b3:
  r10 = LDG.E [{{r0 r1}}] mem(global r) ; 2
  EXIT ; 3
"
        )
    };
    let mut unchanged = kernel_of_blocks(&diamond("  STS [r4], r5 mem(shared w) ; 1\n"));
    memory_values::run(&mut unchanged);
    shown(
        &unchanged,
        &expect![[r#"
        STG.E [{r0 r1}], r4 mem(global w) ; 1
        @p8 BRA b2 ; 1
        b1: -> b3
        STS [r4], r5 mem(shared w) ; 1
        b2: -> b3
        r10 = Copy r4 ; 2
    "#]],
    );
    let mut changed = kernel_of_blocks(&diamond("  STG.E [{r2 r3}], r5 mem(global w) ; 1\n"));
    memory_values::run(&mut changed);
    shown(
        &changed,
        &expect![[r#"
        STG.E [{r0 r1}], r4 mem(global w) ; 1
        @p8 BRA b2 ; 1
        b1: -> b3
        STG.E [{r2 r3}], r5 mem(global w) ; 1
        b2: -> b3
        r10 = LDG.E [{r0 r1}] mem(global r) ; 2
    "#]],
    );
}

#[test]
fn loops_that_store_load_again() {
    let looped = |inside: &str| {
        format!(
            "  r9 = LDG.E [{{r0 r1}}] mem(global r) ; 1
b1: -> b2
b2: -> b4 b3
  r10 = LDG.E [{{r0 r1}}] mem(global r) ; 2
{inside}  p11, PT = ISETP.AND.LT r10, 0x7, PT ; 3
  @p11 BRA b4 ; 3
b3:
  EXIT ; 3
b4: -> b2
"
        )
    };
    let mut plain = kernel_of_blocks(&looped(""));
    memory_values::run(&mut plain);
    shown(
        &plain,
        &expect![[r#"
        r9 = LDG.E [{r0 r1}] mem(global r) ; 1
        b1: -> b2
        b2: -> b4 b3
        r10 = Copy r9 ; 2
    "#]],
    );
    let mut storing = kernel_of_blocks(&looped("  STG.E [{r2 r3}], r10 mem(global w) ; 2\n"));
    memory_values::run(&mut storing);
    shown(
        &storing,
        &expect![[r#"
        r9 = LDG.E [{r0 r1}] mem(global r) ; 1
        b1: -> b2
        b2: -> b4 b3
        r10 = LDG.E [{r0 r1}] mem(global r) ; 2
        STG.E [{r2 r3}], r10 mem(global w) ; 2
    "#]],
    );
}

/// Like [`kernel`], with the edge of the first block to two others, or to the next one.
fn kernel_of_blocks(body: &str) -> Function {
    let edges = if body.contains("@p8 BRA b2") { "b0: -> b2 b1" } else { "b0: -> b1" };
    let text = kernel_text(body).replacen("b0:", edges, 1);
    let function = parse::parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    verify(&function, Form::Ssa).expect("in SSA");
    function
}

#[test]
fn overwritten_stores_go() {
    without_dead_stores(
        "  STG.E [{r0 r1}], r4 mem(global w) ; 1
  STG.E [{r0 r1}+0x4], r4 mem(global w) ; 1
  @p8 STG.E [{r0 r1}+0x4], r5 mem(global w) ; 1
  r10 = LDS [r4] mem(shared r) ; 2
  STG.64.E [{r0 r1}], {r6 r7} mem(global w) ; 1
  EXIT ; 3
",
        expect![[r#"
            r10 = LDS [r4] mem(shared r) ; 2
            STG.64.E [{r0 r1}], {r6 r7} mem(global w) ; 1
        "#]],
    );
}

#[test]
fn stores_that_may_be_read_stay() {
    without_dead_stores(
        "  STG.E [{r0 r1}], r4 mem(global w) ; 1
  r10 = LDG.E [{r2 r3}] mem(global r) ; 2
  STG.E [{r0 r1}], r5 mem(global w) ; 1
  r11 = LD.E [{r2 r3}] mem(generic r) ; 2
  STG.E [{r0 r1}], r6 mem(global w) ; 1
  BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 1
  STG.E [{r0 r1}], r7 mem(global w) ; 1
  @p8 STG.E [{r0 r1}], r4 mem(global w) ; 1
  STG.E.STRONG.SYS [{r0 r1}], r5 mem(global w ordered) ; 1
  STG.E [{r0 r1}], r6 mem(global w) ; 1
  STG.U16.E [{r0 r1}], r7 mem(global w) ; 1
  EXIT ; 3
",
        expect![[r#"
            STG.E [{r0 r1}], r4 mem(global w) ; 1
            r10 = LDG.E [{r2 r3}] mem(global r) ; 2
            STG.E [{r0 r1}], r5 mem(global w) ; 1
            r11 = LD.E [{r2 r3}] mem(generic r) ; 2
            STG.E [{r0 r1}], r6 mem(global w) ; 1
            BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 1
            STG.E [{r0 r1}], r7 mem(global w) ; 1
            @p8 STG.E [{r0 r1}], r4 mem(global w) ; 1
            STG.E.STRONG.SYS [{r0 r1}], r5 mem(global w ordered) ; 1
            STG.E [{r0 r1}], r6 mem(global w) ; 1
            STG.E.U16 [{r0 r1}], r7 mem(global w) ; 1
        "#]],
    );
}

#[test]
fn loads_of_other_bytes_read_nothing() {
    without_dead_stores(
        "  STS [r4], r5 mem(shared w) ; 1
  r10 = LDS [r4+0x4] mem(shared r) ; 2
  STS.U8 [r4+0x7], r5 mem(shared w) ; 1
  STS [r4], r6 mem(shared w) ; 1
  r11 = LDSM.16.M88 [r6] mem(shared r) ; 2
  STS.64 [r4], {r6 r7} mem(shared w) ; 1
  EXIT ; 3
",
        expect![[r#"
            r10 = LDS [r4+0x4] mem(shared r) ; 2
            STS.U8 [r4+0x7], r5 mem(shared w) ; 1
            STS [r4], r6 mem(shared w) ; 1
            r11 = LDSM.16.M88 [r6] mem(shared r) ; 2
            STS.64 [r4], {r6 r7} mem(shared w) ; 1
        "#]],
    );
}

#[test]
fn threads_that_leave_keep_what_they_stored() {
    without_dead_stores(
        "  STG.E [{r0 r1}], r4 mem(global w) ; 1
  @p8 EXIT ; 2
  STG.E [{r0 r1}], r5 mem(global w) ; 1
  EXIT ; 3
",
        expect![[r#"
            STG.E [{r0 r1}], r4 mem(global w) ; 1
            @p8 EXIT ; 2
            STG.E [{r0 r1}], r5 mem(global w) ; 1
        "#]],
    );
}
