//! Updates of one address by all lanes of a warp.

use expect_test::{Expect, expect};
use oriole_optimize::passes::uniform_atomics;
use oriole_ori::{Form, Function, parse, verify};

/// A kernel with `{r0 r1}`, the address of a counter, `r2`, a number that all lanes have, `r3`, the thread, and `p4`, which
/// differs between lanes.
fn combined(chip: &str, body: &str) -> Function {
    let edges = if body.contains("b1:") { " -> b2 b1" } else { "" };
    let text = format!(
        "kernel
b0:{edges}
  {{r0 r1}} = LDC.64 c[0][0x210] ; 0
  r2 = LDC c[0][0x218] ; 0
  r3 = S2R %(SR_TID.X) ; 0
  p4, PT = ISETP.AND.LT.U32 r3, r2, PT ; 0
{body}"
    );
    let mut function = parse::parse(&text).expect("Ori");
    verify(&function, Form::Ssa).expect("in SSA");
    uniform_atomics::run(&mut function, chip.parse().expect("a chip"));
    verify(&function, Form::Ssa).expect("still in SSA");
    function
}

/// Compares the body after the pass.
fn check(chip: &str, body: &str, expected: Expect) {
    let text = combined(chip, &format!("{body}  EXIT ; 9\n")).to_string();
    let lines = text.lines().skip_while(|line| !line.contains("p4, PT =")).skip(1);
    let lines: String = lines.map(|line| format!("{}\n", line.trim_start())).collect();
    expected.assert_eq(&lines);
}

/// True if the body is left as it is.
fn is_left(body: &str) -> bool {
    let text = combined("sm_90", body).to_string();
    !text.contains("VOTE")
}

#[test]
fn the_leader_adds_for_all() {
    check(
        "sm_90",
        "  REDG.ADD.E.GPU.STRONG [{r0 r1}].64, r2 mem(global rw ordered) ; 1\n",
        expect![[r#"
        r5, PT = VOTE.ANY PT ; 1
        r6 = FLO.U32 r5 ; 1
        r7 = S2R %(SR_LANEID) ; 1
        p8, PT = ISETP.AND.EQ.U32 r7, r6, PT ; 1
        r9 = POPC r5 ; 1
        r10 = IMAD r9, r2, RZ ; 1
        @p8 REDG.ADD.E.GPU.STRONG [{r0 r1}].64, r10 mem(global rw ordered) ; 1
        EXIT ; 9
    "#]],
    );
}

#[test]
fn old_values_are_those_of_lane_after_lane() {
    check(
        "sm_90",
        "  @p4 PT, r5 = ATOMG.ADD.E.GPU.STRONG [{r0 r1}].64, r2 tied(r3) mem(global rw ordered) ; 1
  STG.E [{r0 r1}+0x4].64, r5 mem(global w) ; 2\n",
        expect![[r#"
            r6, PT = VOTE.ANY p4 ; 1
            r7 = FLO.U32 r6 ; 1
            r8 = S2R %(SR_LANEID) ; 1
            p9, PT = ISETP.AND.EQ.U32 r8, r7, PT ; 1
            r10 = POPC r6 ; 1
            r11 = IMAD r10, r2, RZ ; 1
            r13 = Undefined ; 1
            @p9 PT, r12 = ATOMG.ADD.E.GPU.STRONG [{r0 r1}].64, r11 tied(r13) mem(global rw ordered) ; 1
            PT, r14 = SHFL.IDX r12, r7, #31 ; 1
            r15 = S2R %(SR_LTMASK) ; 1
            r16 = LOP3.LUT r15, r6, RZ, #192, !PT ; 1
            r17 = POPC r16 ; 1
            r18 = IMAD r17, r2, r14 ; 1
            @p4 r5 = Copy r18 tied(r3) ; 1
            STG.E [{r0 r1}+0x4].64, r5 mem(global w) ; 2
            EXIT ; 9
        "#]],
    );
}

#[test]
fn values_that_differ_are_reduced_first() {
    check(
        "sm_90",
        "  @p4 REDG.E.GPU.MAX.S32.STRONG [{r0 r1}].64, r3 mem(global rw ordered) ; 1\n",
        expect![[r#"
            r5, PT = VOTE.ANY p4 ; 1
            r6 = FLO.U32 r5 ; 1
            r7 = S2R %(SR_LANEID) ; 1
            p8, PT = ISETP.AND.EQ.U32 r7, r6, PT ; 1
            r9 = MOV 0x80000000 ; 1
            r10 = SEL r3, r9, p4 ; 1
            u11 = REDUX.MAX.S32 r10 ; 1
            r12 = Copy u11 ; 1
            @p8 REDG.E.GPU.MAX.S32.STRONG [{r0 r1}].64, r12 mem(global rw ordered) ; 1
            EXIT ; 9
        "#]],
    );
    check(
        "sm_75",
        "  RED.E.GPU.MIN.STRONG [{r0 r1}].64, r3 mem(global rw ordered) ; 1\n",
        expect![[r#"
        r5, PT = VOTE.ANY PT ; 1
        r6 = FLO.U32 r5 ; 1
        r7 = S2R %(SR_LANEID) ; 1
        p8, PT = ISETP.AND.EQ.U32 r7, r6, PT ; 1
        p9, PT = ISETP.AND.EQ.U32 r5, 0xffffffff, PT ; 1
        r11 = Undefined ; 1
        @p9 PT, r10 = SHFL.BFLY r3, #1, #31 tied(r11) ; 1
        p13, PT = ISETP.AND.LT.U32 r10, r3, PT ; 1
        @p9 r12 = SEL r10, r3, p13 tied(r3) ; 1
        r15 = Undefined ; 1
        @p9 PT, r14 = SHFL.BFLY r12, #2, #31 tied(r15) ; 1
        p17, PT = ISETP.AND.LT.U32 r14, r12, PT ; 1
        @p9 r16 = SEL r14, r12, p17 tied(r12) ; 1
        r19 = Undefined ; 1
        @p9 PT, r18 = SHFL.BFLY r16, #4, #31 tied(r19) ; 1
        p21, PT = ISETP.AND.LT.U32 r18, r16, PT ; 1
        @p9 r20 = SEL r18, r16, p21 tied(r16) ; 1
        r23 = Undefined ; 1
        @p9 PT, r22 = SHFL.BFLY r20, #8, #31 tied(r23) ; 1
        p25, PT = ISETP.AND.LT.U32 r22, r20, PT ; 1
        @p9 r24 = SEL r22, r20, p25 tied(r20) ; 1
        r27 = Undefined ; 1
        @p9 PT, r26 = SHFL.BFLY r24, #16, #31 tied(r27) ; 1
        p29, PT = ISETP.AND.LT.U32 r26, r24, PT ; 1
        @p9 r28 = SEL r26, r24, p29 tied(r24) ; 1
        r30 = S2R %(SR_LANEID) ; 1
        p32, PT = ISETP.AND.EQ.U32 r30, 0x0, PT ; 1
        p33, PT = PLOP3.LUT p32, !p9, PT, #252, #0 ; 1
        p31, PT = PLOP3.LUT p33, PT, PT, #192, #0 ; 1
        @p31 RED.E.GPU.MIN.STRONG [{r0 r1}].64, r28 mem(global rw ordered) ; 1
        EXIT ; 9
    "#]],
    );
}

#[test]
fn two_updates_need_one_vote() {
    check(
        "sm_90",
        "  REDG.E.GPU.MAX.STRONG [{r0 r1}].64, r2 mem(global rw ordered) ; 1
  REDG.E.GPU.OR.STRONG [{r0 r1}+0x4].64, r2 mem(global rw ordered) ; 2\n",
        expect![[r#"
            r5, PT = VOTE.ANY PT ; 1
            r6 = FLO.U32 r5 ; 1
            r7 = S2R %(SR_LANEID) ; 1
            p8, PT = ISETP.AND.EQ.U32 r7, r6, PT ; 1
            @p8 REDG.E.GPU.MAX.STRONG [{r0 r1}].64, r2 mem(global rw ordered) ; 1
            @p8 REDG.E.GPU.OR.STRONG [{r0 r1}+0x4].64, r2 mem(global rw ordered) ; 2
            EXIT ; 9
        "#]],
    );
}

#[test]
fn a_warp_that_lanes_left_votes_again() {
    let body = "  REDG.E.GPU.MAX.STRONG [{r0 r1}].64, r2 mem(global rw ordered) ; 1
  @p4 EXIT ; 2
  REDG.E.GPU.OR.STRONG [{r0 r1}+0x4].64, r2 mem(global rw ordered) ; 3
  EXIT ; 9
";
    let text = combined("sm_90", body).to_string();
    assert_eq!(text.matches("VOTE.ANY").count(), 2, "{text}");
}

#[test]
fn what_is_not_one_integer_at_one_address_is_left() {
    let update = |mods: &str, place: &str, value: &str| {
        is_left(&format!(
            "  REDG.E.GPU.STRONG.{mods} [{place}].64, {value} mem(global rw ordered) ; 1\n  EXIT ; 9\n"
        ))
    };
    assert!(!update("ADD", "{r0 r1}", "r2"));
    assert!(update("ADD.F32.FTZ.RN", "{r0 r1}", "r2"));
    assert!(update("INC", "{r0 r1}", "r2"));
    assert!(update("ADD", "{r0 r3}", "r2"));
    // The sum of 64-bit values has no instruction.
    assert!(update("64.ADD", "{r0 r1}", "{r2 r3}"));
}

#[test]
fn one_lane_needs_no_vote() {
    let head = |test: &str| {
        is_left(&format!(
            "  p5, PT = ISETP.AND.{test} ; 1
  @p5 BRA b2 ; 1
b1: -> b2
  REDG.ADD.E.GPU.STRONG [{{r0 r1}}].64, r2 mem(global rw ordered) ; 2
b2:
  EXIT ; 9
"
        ))
    };
    assert!(head("NE.U32 r3, 0x5, PT"));
    assert!(head("NE.U32 r3, r2, PT"));
    assert!(!head("NE.U32 r2, 0x5, PT"));
    assert!(!head("GT.U32 r3, 0x0, PT"));
}

/// A loop that adds a pair to eight bytes of shared memory, and a reader of what was there. `added` is the instruction that adds.
fn spin_loop(added: &str) -> String {
    format!(
        "kernel
b0: -> b1
  {{r0 r1}} = LDC.64 c[0][0x210] ; 0
  r2 = LDC c[0][0x218] ; 0
  r3 = S2R %(SR_TID.X) ; 0
  r4 = IMAD r3, 0x8, RZ ; 0
  r11 = MOV 0x1 ; 1
b1: -> b3 b2
  {{r5 r6}} = LDS.64 [0x8] mem(shared r ordered) ; 1
  {added} ; 1
  {{r9 r10}} = ATOMS.64.CAST.SPIN [0x8], {{r5 r6}}, {{r7 r8}} mem(shared rw ordered) ; 1
  r12 = Copy RZ ; 1
  p13 = SetPredicate64.EQ.U64 {{r9 r10}}, {{r11 r12}} ; 1
  @!p13 BRA b3 ; 1
b2:
  STG.64.E [r4], {{r5 r6}} mem(global w) ; 2
  EXIT ; 3
b3: -> b1
"
    )
}

fn in_loop(text: &str) -> String {
    let mut function = parse::parse(text).expect("Ori");
    verify(&function, Form::Ssa).expect("in SSA");
    uniform_atomics::run(&mut function, "sm_90".parse().expect("a chip"));
    verify(&function, Form::Ssa).expect("still in SSA");
    function.to_string()
}

#[test]
fn the_leader_swaps_for_all() {
    expect![[r#"
        kernel params=0 barriers=0
        b0: -> b1
          {r0 r1} = LDC.64 c[0][0x210] ; 0
          r2 = LDC c[0][0x218] ; 0
          r3 = S2R %(SR_TID.X) ; 0
          r4 = IMAD r3, 0x8, RZ ; 0
          r11 = MOV 0x1 ; 1
          r14, PT = VOTE.ANY PT ; 1
          r15 = FLO.U32 r14 ; 1
          r16 = S2R %(SR_LANEID) ; 1
          p17, PT = ISETP.AND.EQ.U32 r16, r15, PT ; 1
          r18 = POPC r14 ; 1
          {r21 r22} = IMAD.U32.WIDE r18, r0, RZ ; 1
          r19 = Copy r21 ; 1
          r20 = IMAD r18, r1, r22 ; 1
          r23 = MOV 0x1 ; 1
          r24 = MOV 0x0 ; 1
        b1: -> b3 b2
          {r5 r6} = LDS.64 [0x8] mem(shared r ordered) ; 1
          {r7 r8} = Add64 {r5 r6}, {r19 r20} ; 1
          @p17 {r9 r10} = ATOMS.64.CAST.SPIN [0x8], {r5 r6}, {r7 r8} tied(r23 r24) mem(shared rw ordered) ; 1
          r12 = Copy RZ ; 1
          p13 = SetPredicate64.EQ.U64 {r9 r10}, {r11 r12} ; 1
          @!p13 BRA b3 ; 1
        b2:
          PT, r25 = SHFL.IDX r5, r15, #31 ; 1
          PT, r26 = SHFL.IDX r6, r15, #31 ; 1
          r27 = S2R %(SR_LTMASK) ; 1
          r28 = LOP3.LUT r27, r14, RZ, #192, !PT ; 1
          r29 = POPC r28 ; 1
          {r32 r33} = IMAD.U32.WIDE r29, r0, {r25 r26} ; 1
          r30 = Copy r32 ; 1
          r31 = IMAD r29, r1, r33 ; 1
          STG.64.E [r4], {r30 r31} mem(global w) ; 2
          EXIT ; 3
        b3: -> b1
    "#]]
    .assert_eq(&in_loop(&spin_loop("{r7 r8} = Add64 {r5 r6}, {r0 r1}")));
    let product = in_loop(&spin_loop("{r7 r8} = IMAD.U32.WIDE r2, 0x3, {r5 r6}"));
    let lines: String = product
        .lines()
        .filter(|line| line.contains("WIDE") || line.contains("Add64"))
        .map(|line| format!("{}\n", line.trim()))
        .collect();
    expect![[r#"
        {r18 r19} = IMAD.U32.WIDE r2, 0x3, RZ ; 1
        {r23 r24} = IMAD.U32.WIDE r20, r18, RZ ; 1
        {r7 r8} = Add64 {r5 r6}, {r21 r22} ; 1
        {r34 r35} = IMAD.U32.WIDE r31, r18, {r27 r28} ; 1
    "#]]
    .assert_eq(&lines);
}

#[test]
fn loops_whose_lanes_differ_are_left() {
    for added in [
        // The addend, and the place.
        spin_loop("{r7 r8} = IMAD.U32.WIDE r3, 0x3, {r5 r6}"),
        spin_loop("{r7 r8} = Add64 {r5 r6}, {r0 r1}").replace("[0x8]", "[r4+0x8]"),
        // Not an addition to what was there.
        spin_loop("{r7 r8} = Add64 {r0 r1}, {r0 r1}"),
        spin_loop("{r7 r8} = IMAD.U32.WIDE r2, 0x3, {r0 r1}"),
        // It loads from another place than it stores to.
        spin_loop("{r7 r8} = Add64 {r5 r6}, {r0 r1}").replace("LDS.64 [0x8]", "LDS.64 [0x10]"),
    ] {
        let after = in_loop(&added);
        assert!(!after.contains("VOTE"), "{after}");
    }
}
