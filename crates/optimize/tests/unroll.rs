//! Copies of loops that count.

use expect_test::{Expect, expect};
use oriole_optimize::passes::unroll;
use oriole_ori::{Form, Function, Opcode, parse, verify};
use oriole_sass::Op;
use std::fmt::Write as _;

/// A kernel with a number `r0`, a pair `{r2 r3}`, and `r1`, which begins with zero; then these blocks, from `b1` on.
fn unrolled(blocks: &str) -> Option<Function> {
    let text = format!(
        "kernel
b0: -> b1
  r0 = LDC c[0][0x210] ; 0
  {{r2 r3}} = LDC.64 c[0][0x218] ; 0
  r1 = Copy RZ ; 0
{blocks}"
    );
    let mut function = parse::parse(&text).expect("Ori");
    verify(&function, Form::Plain).expect("valid before");
    let changed = unroll::run(&mut function);
    verify(&function, Form::Plain).expect("valid after");
    changed.then_some(function)
}

/// A loop of one block around a body, with this step and test.
fn around(body: &str, step: &str, test: &str) -> String {
    format!("b1: -> b1 b2\n{body}  {step} ; 8\n  {test} ; 9\n  @p9 BRA b1 ; 9\nb2:\n  EXIT ; 10\n")
}

/// A multiply-add that stands for a body.
const BODY: &str = "  r4 = IMAD r4, r1, r0 ; 1\n";
/// A load from global memory.
const LOAD: &str = "  r6 = LDG.E [{r2 r3}].64 mem(global r) ; 1\n";
const STEP: &str = "r1 = IADD3 r1, 0x1, RZ";
const BELOW: &str = "p9, PT = ISETP.AND.LT r1, r0, PT";

/// The blocks: their successors, and how often the body is in each.
fn outline(function: &Function) -> String {
    let mut out = String::new();
    for (id, block) in function.blocks.iter_enumerated() {
        let to: Vec<String> = block.successors.iter().map(|to| format!("b{}", to.0)).collect();
        let bodies = block.instructions.iter().filter(|it| it.opcode == Opcode::Sass(Op::IMAD)).count();
        let _ = writeln!(out, "b{} x{bodies} -> {}", id.0, to.join(" "));
    }
    out
}

fn check_outline(blocks: &str, expected: Expect) {
    expected.assert_eq(&unrolled(blocks).as_ref().map_or("unchanged\n".into(), outline));
}

/// The number of iterations of a loop from zero to a known limit, and what becomes of it.
fn check_known(limit: &str, body: &str, expected: Expect) {
    let test = format!("p9, PT = ISETP.AND.LT r1, {limit}, PT");
    check_outline(&around(body, STEP, &test), expected);
}

#[test]
fn a_small_loop_of_a_known_count_disappears() {
    check_known(
        "0x3",
        BODY,
        expect![[r#"
        b0 x3 -> 
    "#]],
    );
    // It is executed once at least.
    check_known(
        "0xffffff00",
        BODY,
        expect![[r#"
        b0 x1 -> 
    "#]],
    );
}

#[test]
fn a_long_loop_of_a_known_count_has_the_rest_in_front() {
    let body = BODY.repeat(6);
    check_known(
        "0x100",
        &body,
        expect![[r#"
            b0 x6 -> b1
            b1 x306 -> b1 b2
            b2 x0 -> 
        "#]],
    );
    check_known(
        "0x101",
        &body,
        expect![[r#"
            b0 x12 -> b1
            b1 x306 -> b1 b2
            b2 x0 -> 
        "#]],
    );
    // Too large for a part.
    check_known(
        "0x100",
        &BODY.repeat(73),
        expect![[r#"
        unchanged
    "#]],
    );
}

#[test]
fn an_open_loop_is_four_two_and_one() {
    let function = unrolled(&around(BODY, STEP, BELOW)).expect("it counts");
    let text = function.to_string();
    let code: String = text
        .lines()
        .skip_while(|line| !line.starts_with("b0"))
        .fold(String::new(), |all, line| all + line + "\n");
    expect![[r#"
        b0: -> b3 b1
          r0 = LDC c[0][0x210] ; 0
          {r2 r3} = LDC.64 c[0][0x218] ; 0
          r1 = Copy RZ ; 0
          r10 = IADD3 r0, 0xfffffffd, RZ ; 9
          p11, PT = ISETP.AND.GE r0, 0x80000003, PT ; 9
          p12, PT = ISETP.AND.LT r1, r10, PT ; 9
          p13, PT = PLOP3.LUT p12, p11, PT, #128, #0 ; 9
          @!p13 BRA b3 ; 9
        b1: -> b1 b2
          r4 = IMAD r4, r1, r0 ; 1
          r1 = IADD3 r1, 0x1, RZ ; 8
          p9, PT = ISETP.AND.LT r1, r0, PT ; 9
          r4 = IMAD r4, r1, r0 ; 1
          r1 = IADD3 r1, 0x1, RZ ; 8
          p9, PT = ISETP.AND.LT r1, r0, PT ; 9
          r4 = IMAD r4, r1, r0 ; 1
          r1 = IADD3 r1, 0x1, RZ ; 8
          p9, PT = ISETP.AND.LT r1, r0, PT ; 9
          r4 = IMAD r4, r1, r0 ; 1
          r1 = IADD3 r1, 0x1, RZ ; 8
          p9, PT = ISETP.AND.LT r1, r0, PT ; 9
          p14, PT = ISETP.AND.LT r1, r10, PT ; 9
          @p14 BRA b1 ; 9
        b2: -> b3
          @!p9 EXIT ; 9
        b3: -> b5 b4
          r15 = IADD3 r0, 0xffffffff, RZ ; 9
          p16, PT = ISETP.AND.LT r1, r15, PT ; 9
          p17, PT = PLOP3.LUT p16, p11, PT, #128, #0 ; 9
          @!p17 BRA b5 ; 9
        b4: -> b5
          r4 = IMAD r4, r1, r0 ; 1
          r1 = IADD3 r1, 0x1, RZ ; 8
          p9, PT = ISETP.AND.LT r1, r0, PT ; 9
          r4 = IMAD r4, r1, r0 ; 1
          r1 = IADD3 r1, 0x1, RZ ; 8
          p9, PT = ISETP.AND.LT r1, r0, PT ; 9
          @!p9 EXIT ; 9
        b5: -> b5 b6
          r4 = IMAD r4, r1, r0 ; 1
          r1 = IADD3 r1, 0x1, RZ ; 8
          p9, PT = ISETP.AND.LT r1, r0, PT ; 9
          @p9 BRA b5 ; 9
        b6:
          EXIT ; 10
    "#]]
    .assert_eq(&code);
}

/// The code before an open loop with this step and comparison: whether four iterations follow.
fn gate(step: &str, test: &str) -> String {
    let Some(function) = unrolled(&around(LOAD, step, test)) else { return "unchanged\n".into() };
    let text = function.to_string();
    let lines = text.lines().skip_while(|line| !line.contains("Copy RZ ; 0")).skip(1);
    lines.take_while(|line| !line.starts_with('b')).fold(String::new(), |all, line| all + line.trim() + "\n")
}

/// A loop over a grid: its step is in a register, and each copy has the test of the one before it.
#[test]
fn a_loop_with_a_step_in_a_register_has_guarded_copies() {
    let body = format!("{LOAD}  r4 = IADD3 r4, r6, RZ ; 2\n");
    let step = "r1 = IADD3 r1, c[0][0x0], RZ";
    let code = |test: &str, [to, end]: [&str; 2]| {
        let after = "b2:\n  STG.E [0x0], r4 mem(global w) ; 10\n  EXIT ; 10\n";
        let blocks = format!("b1: -> {to}\n{body}  {step} ; 8\n  {test} ; 9\n  {end} ; 9\n{after}");
        unrolled(&blocks).map_or("unchanged\n".into(), |function| {
            let text = function.to_string();
            let lines = text.lines().skip_while(|line| !line.starts_with("b1"));
            lines.fold(String::new(), |all, line| all + line + "\n")
        })
    };
    expect![[r#"
        b1: -> b1 b2
          r6 = LDG.E [{r2 r3}].64 mem(global r) ; 1
          r4 = IADD3 r4, r6, RZ ; 2
          r1 = IADD3 r1, c[0][0x0], RZ ; 8
          p9, PT = ISETP.AND.LT r1, r0, PT ; 9
          r10 = Undefined ; 1
          @p9 r10 = LDG.E [{r2 r3}].64 mem(global r) ; 1
          r11 = IADD3 r4, r10, RZ ; 2
          r12 = IADD3 r1, c[0][0x0], RZ ; 8
          p13, PT = ISETP.AND.LT r12, r0, PT ; 9
          r14 = SEL r11, r4, p9 ; 9
          p15, PT = PLOP3.LUT p9, p13, PT, #192, #0 ; 9
          r16 = Undefined ; 1
          @p15 r16 = LDG.E [{r2 r3}].64 mem(global r) ; 1
          r17 = IADD3 r14, r16, RZ ; 2
          r18 = IADD3 r12, c[0][0x0], RZ ; 8
          p19, PT = ISETP.AND.LT r18, r0, PT ; 9
          r20 = SEL r17, r14, p15 ; 9
          p21, PT = PLOP3.LUT p15, p19, PT, #192, #0 ; 9
          r22 = Undefined ; 1
          @p21 r22 = LDG.E [{r2 r3}].64 mem(global r) ; 1
          r23 = IADD3 r20, r22, RZ ; 2
          r24 = IADD3 r18, c[0][0x0], RZ ; 8
          p25, PT = ISETP.AND.LT r24, r0, PT ; 9
          r26 = SEL r23, r20, p21 ; 9
          p27, PT = PLOP3.LUT p21, p25, PT, #192, #0 ; 9
          r4 = Copy r26 ; 9
          r1 = Copy r24 ; 9
          @p27 BRA b1 ; 9
        b2:
          STG.E [0x0], r4 mem(global w) ; 10
          EXIT ; 10
    "#]]
    .assert_eq(&code(BELOW, ["b1 b2", "@p9 BRA b1"]));
    // The branch leads out.
    let leads_out = code("p9, PT = ISETP.AND.GE r1, r0, PT", ["b2 b1", "@p9 BRA b2 ; 9\n  BRA b1"]);
    let is_test = |line: &&str| line.contains("BRA") || line.contains("PLOP3");
    let tests: Vec<&str> = leads_out.lines().map(str::trim).filter(is_test).collect();
    expect![[r#"
        p15, PT = PLOP3.LUT !p9, !p13, PT, #192, #0 ; 9
        p21, PT = PLOP3.LUT p15, !p19, PT, #192, #0 ; 9
        p27, PT = PLOP3.LUT p21, !p25, PT, #192, #0 ; 9
        @!p27 BRA b2 ; 9
        BRA b1 ; 9"#]]
    .assert_eq(&tests.join("\n"));
}

#[test]
fn the_gate_is_exact_for_every_comparison() {
    let rows = [
        ("r1 = IADD3 r1, 0x1, RZ", "ISETP.AND.LT r1, r0, PT"),
        ("r1 = IADD3 r1, 0x2, RZ", "ISETP.AND.LE.U32 r1, r0, PT"),
        ("r1 = IADD3 r1, 0xffffffff, RZ", "ISETP.AND.GT r1, r0, PT"),
        ("r1 = IADD3 r1, 0xfffffffd, RZ", "ISETP.AND.GE.U32 r1, r0, PT"),
        ("r1 = IADD3 r1, 0x3, RZ", "ISETP.AND.NE r1, r0, PT"),
        ("r1 = IADD3 r1, 0xffffffff, RZ", "ISETP.AND.NE r1, r0, PT"),
        // The limit comes first.
        ("r1 = IADD3 r1, 0x1, RZ", "ISETP.AND.GT r0, r1, PT"),
        ("r1 = IADD3 r1, 0x1, RZ", "ISETP.AND.LT r1, c[0][0x220], PT"),
        // Away from the limit.
        ("r1 = IADD3 r1, 0xffffffff, RZ", "ISETP.AND.LT r1, r0, PT"),
        ("r1 = IADD3 r1, 0x1, RZ", "ISETP.AND.GT r1, r0, PT"),
    ];
    let mut all = String::new();
    for (step, test) in rows {
        let _ = write!(all, "{step}; {test}\n{}", gate(step, &format!("p9, PT = {test}")));
    }
    expect![[r#"
        r1 = IADD3 r1, 0x1, RZ; ISETP.AND.LT r1, r0, PT
        r10 = IADD3 r0, 0xfffffffd, RZ ; 9
        p11, PT = ISETP.AND.GE r0, 0x80000003, PT ; 9
        p12, PT = ISETP.AND.LT r1, r10, PT ; 9
        p13, PT = PLOP3.LUT p12, p11, PT, #128, #0 ; 9
        @!p13 BRA b3 ; 9
        r1 = IADD3 r1, 0x2, RZ; ISETP.AND.LE.U32 r1, r0, PT
        r10 = IADD3 r0, 0xfffffffa, RZ ; 9
        p11, PT = ISETP.AND.GE.U32 r0, 0x6, PT ; 9
        p12, PT = ISETP.AND.LE.U32 r1, r10, PT ; 9
        p13, PT = PLOP3.LUT p12, p11, PT, #128, #0 ; 9
        @!p13 BRA b3 ; 9
        r1 = IADD3 r1, 0xffffffff, RZ; ISETP.AND.GT r1, r0, PT
        r10 = IADD3 r0, 0x3, RZ ; 9
        p11, PT = ISETP.AND.LE r0, 0x7ffffffc, PT ; 9
        p12, PT = ISETP.AND.GT r1, r10, PT ; 9
        p13, PT = PLOP3.LUT p12, p11, PT, #128, #0 ; 9
        @!p13 BRA b3 ; 9
        r1 = IADD3 r1, 0xfffffffd, RZ; ISETP.AND.GE.U32 r1, r0, PT
        r10 = IADD3 r0, 0x9, RZ ; 9
        p11, PT = ISETP.AND.LE.U32 r0, 0xfffffff6, PT ; 9
        p12, PT = ISETP.AND.GE.U32 r1, r10, PT ; 9
        p13, PT = PLOP3.LUT p12, p11, PT, #128, #0 ; 9
        @!p13 BRA b3 ; 9
        r1 = IADD3 r1, 0x3, RZ; ISETP.AND.NE r1, r0, PT
        r10 = IADD3 r0, -r1, RZ ; 9
        p11, PT = ISETP.AND.GT.U32 r10, 0x9, PT ; 9
        @!p11 BRA b3 ; 9
        r1 = IADD3 r1, 0xffffffff, RZ; ISETP.AND.NE r1, r0, PT
        r10 = IADD3 r1, -r0, RZ ; 9
        p11, PT = ISETP.AND.GT.U32 r10, 0x3, PT ; 9
        @!p11 BRA b3 ; 9
        r1 = IADD3 r1, 0x1, RZ; ISETP.AND.GT r0, r1, PT
        r10 = IADD3 r0, 0xfffffffd, RZ ; 9
        p11, PT = ISETP.AND.GE r0, 0x80000003, PT ; 9
        p12, PT = ISETP.AND.LT r1, r10, PT ; 9
        p13, PT = PLOP3.LUT p12, p11, PT, #128, #0 ; 9
        @!p13 BRA b3 ; 9
        r1 = IADD3 r1, 0x1, RZ; ISETP.AND.LT r1, c[0][0x220], PT
        r10 = MOV c[0][0x220] ; 9
        r11 = IADD3 r10, 0xfffffffd, RZ ; 9
        r12 = MOV c[0][0x220] ; 9
        p13, PT = ISETP.AND.GE r12, 0x80000003, PT ; 9
        p14, PT = ISETP.AND.LT r1, r11, PT ; 9
        p15, PT = PLOP3.LUT p14, p13, PT, #128, #0 ; 9
        @!p15 BRA b3 ; 9
        r1 = IADD3 r1, 0xffffffff, RZ; ISETP.AND.LT r1, r0, PT
        unchanged
        r1 = IADD3 r1, 0x1, RZ; ISETP.AND.GT r1, r0, PT
        unchanged
    "#]]
    .assert_eq(&all);
}

#[test]
fn what_must_not_be_copied_is_left() {
    let open = |body: &str| around(body, STEP, BELOW);
    let loops = [
        ("a fence", open("  MEMBAR.SC.GPU mem(generic rw ordered) ; 1\n")),
        ("a root", open("  r4 = FSquareRoot.F32.RN r0 ; 1\n")),
        ("a large body", open(&BODY.repeat(19))),
        ("a limit that changes", open("  r0 = IADD3 r0, r1, RZ ; 1\n")),
        ("a step from a register", around(BODY, "r1 = IADD3 r1, r0, RZ", BELOW)),
        ("a step under a guard", around(BODY, "@p8 r1 = IADD3 r1, 0x1, RZ", BELOW)),
        ("a second step", open("  r1 = IMAD r1, r0, r0 ; 1\n")),
        ("a test of the old value", "b1: -> b1 b2\n  p9, PT = ISETP.AND.LT r1, r0, PT ; 1\n  r1 = IADD3 r1, 0x1, RZ ; 2\n  @p9 BRA b1 ; 9\nb2:\n  EXIT ; 10\n".into()),
        ("a test of equality", around(BODY, STEP, "p9, PT = ISETP.AND.EQ r1, r0, PT")),
        ("a test with a condition", around(BODY, STEP, "p9, PT = ISETP.AND.LT r1, r0, p8")),
        ("a pragma", open(BODY).replacen("b1:", "b1: nounroll", 1)),
        ("a second exit", "b1: -> b3 b2\n  p8, PT = ISETP.AND.LT r4, r0, PT ; 1\n  @p8 BRA b3 ; 2\nb2: -> b1 b3\n  r1 = IADD3 r1, 0x1, RZ ; 3\n  p9, PT = ISETP.AND.LT r1, r0, PT ; 4\n  @p9 BRA b1 ; 9\nb3:\n  EXIT ; 10\n".into()),
        ("a counter that a branch changes", "b1: -> b3 b2\n  p8, PT = ISETP.AND.LT r4, r0, PT ; 1\n  @p8 BRA b3 ; 2\nb2: -> b3\n  r1 = IADD3 r1, 0x2, RZ ; 3\nb3: -> b1 b4\n  r1 = IADD3 r1, 0x1, RZ ; 3\n  p9, PT = ISETP.AND.LT r1, r0, PT ; 4\n  @p9 BRA b1 ; 9\nb4:\n  EXIT ; 10\n".into()),
        ("a limit at the end of the range", around(BODY, STEP, "p9, PT = ISETP.AND.LT r1, 0x80000001, PT")),
    ];
    for (what, blocks) in loops {
        let text = unrolled(&blocks).map(|function| function.to_string());
        // The last one has a known count, of one.
        let expected = what == "a limit at the end of the range";
        assert_eq!(text.is_some(), expected, "{what}: {text:?}");
    }
}

#[test]
fn the_counter_is_found_through_copies_and_pairs() {
    let copied = "b1: -> b1 b2\n  r4 = IMAD r4, r1, r0 ; 1\n  r5 = IADD3 r1, 0x1, RZ ; 2\n  p9, PT = ISETP.AND.LT r5, r0, PT ; 3\n  r1 = Copy r5 ; 4\n  @p9 BRA b1 ; 9\nb2:\n  EXIT ; 10\n";
    check_outline(
        copied,
        expect![[r#"
            b0 x0 -> b3 b1
            b1 x4 -> b1 b2
            b2 x0 -> b3
            b3 x0 -> b5 b4
            b4 x2 -> b5
            b5 x1 -> b5 b6
            b6 x0 -> 
        "#]],
    );
    let wide = "b1: -> b1 b2\n  r4 = IMAD r4, r1, r0 ; 1\n  r5 = MOV 0x4 ; 2\n  r6 = Copy RZ ; 2\n  {r7 r8} = Add64 {r7 r8}, {r5 r6} ; 2\n  p9 = SetPredicate64.NE.U64 {r7 r8}, {r2 r3} ; 3\n  @p9 BRA b1 ; 9\nb2:\n  EXIT ; 10\n";
    check_outline(
        wide,
        expect![[r#"
            b0 x0 -> b3 b1
            b1 x4 -> b1 b2
            b2 x0 -> b3
            b3 x0 -> b5 b4
            b4 x2 -> b5
            b5 x1 -> b5 b6
            b6 x0 -> 
        "#]],
    );
    // It leaves the loop if the condition holds.
    let turned = "b1: -> b2 b1\n  r4 = IMAD r4, r1, r0 ; 1\n  r1 = IADD3 r1, 0x1, RZ ; 2\n  p9, PT = ISETP.AND.GE r1, r0, PT ; 3\n  @p9 BRA b2 ; 9\n  BRA b1 ; 9\nb2:\n  EXIT ; 10\n";
    check_outline(
        turned,
        expect![[r#"
            b0 x0 -> b3 b1
            b1 x4 -> b1 b2
            b2 x0 -> b3
            b3 x0 -> b5 b4
            b4 x2 -> b5
            b5 x1 -> b6 b5
            b6 x0 -> 
        "#]],
    );
}

#[test]
fn an_outer_loop_is_copied_once_nothing_is_left_inside() {
    let nest = |limit: &str| {
        format!(
            "b1: -> b2
  r5 = Copy RZ ; 1
b2: -> b2 b3
  r4 = IMAD r4, r5, r0 ; 2
  r5 = IADD3 r5, 0x1, RZ ; 3
  p8, PT = ISETP.AND.LT r5, {limit}, PT ; 4
  @p8 BRA b2 ; 4
b3: -> b1 b4
  r1 = IADD3 r1, 0x1, RZ ; 5
  p9, PT = ISETP.AND.LT r1, r0, PT ; 6
  @p9 BRA b1 ; 6
b4:
  EXIT ; 10
"
        )
    };
    check_outline(
        &nest("0x4"),
        expect![[r#"
            b0 x0 -> b3 b1
            b1 x16 -> b1 b2
            b2 x0 -> b3
            b3 x0 -> b5 b4
            b4 x8 -> b5
            b5 x4 -> b5 b6
            b6 x0 -> 
        "#]],
    );
    check_outline(
        &nest("r0"),
        expect![[r#"
            b0 x0 -> b1
            b1 x0 -> b4 b2
            b2 x4 -> b2 b3
            b3 x0 -> b7 b4
            b4 x0 -> b6 b5
            b5 x2 -> b7 b6
            b6 x1 -> b6 b7
            b7 x0 -> b1 b8
            b8 x0 -> 
        "#]],
    );
}
