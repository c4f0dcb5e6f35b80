//! Divisions that follow each other, and what they share.

use expect_test::{Expect, expect};
use oriole_optimize::passes::gather_slow_paths;
use oriole_ori::{Form, parse, verify};

/// The second of two divisions: `r1 / r2`, then the code between them, then `q / r3`, with the quotient stored.
fn two_divisions(between: &str, q: &str, expected: Expect) {
    let text = format!(
        "kernel
  symbol s0 helper \"oriole.divide_f32\"
b0: -> b2 b1
  {{r1 r2}} = LDC.64 c[0][0x210] ; 0
  {{r3 r4}} = LDC.64 c[0][0x218] ; 0
  {{r5 r6}} = LDC.64 c[0][0x220] ; 0
  r10 = MUFU.RCP r2 ; 1
  r11 = FMUL r1, r10 ; 1
  p12 = FCHK r1, r2 ; 1
  @!p12 BRA b2 ; 1
b1: cold -> b2
  r13$6 = CallHelper r1, r2 call(s0 stack=0 clobbers=3fd,0,0,0 predicates=7) ; 1
b2: -> b4 b3
  r14 = phi b0: r11, b1: r13
{between}  r20 = MUFU.RCP r3 ; 3
  r21 = FMUL {q}, r20 ; 3
  p22 = FCHK {q}, r3 ; 3
  @!p22 BRA b4 ; 3
b3: cold -> b4
  r23$6 = CallHelper {q}, r3 call(s0 stack=0 clobbers=3fd,0,0,0 predicates=7) ; 3
b4:
  r24 = phi b2: r21, b3: r23
  r25 = FADD r14, r24 ; 4
  STG.E [{{r5 r6}}], r25 mem(global w) ; 4
  EXIT ; 5
"
    );
    let mut function = parse::parse(&text).expect("Ori");
    verify(&function, Form::Ssa).expect("in SSA");
    gather_slow_paths::run(&mut function, "sm_90".parse().expect("a chip"));
    verify(&function, Form::Ssa).expect("still in SSA");
    let text = function.to_string();
    let code = text.split_once("b0:").expect("a block").1;
    expected.assert_eq(&format!("b0:{code}"));
}

#[test]
fn independent_divisions_share_a_branch() {
    two_divisions(
        "",
        "r4",
        expect![[r#"
        b0: -> b5 b6
          {r1 r2} = LDC.64 c[0][0x210] ; 0
          {r3 r4} = LDC.64 c[0][0x218] ; 0
          {r5 r6} = LDC.64 c[0][0x220] ; 0
          r10 = MUFU.RCP r2 ; 1
          r11 = FMUL r1, r10 ; 1
          p12 = FCHK r1, r2 ; 1
          r20 = MUFU.RCP r3 ; 3
          r21 = FMUL r4, r20 ; 3
          p22 = FCHK r4, r3 ; 3
          p30, PT = PLOP3.LUT !p12, !p22, PT, #128, #0 ; 3
          @p30 BRA b5 ; 1
        b1: cold -> b2
          r13$6 = CallHelper r1, r2 call(s0 stack=0 clobbers=3fd,0,0,0 predicates=7) ; 1
        b2: -> b4 b3
          r28 = phi b6: r11, b1: r13
          p27 = FCHK r4, r3 ; 3
          @!p27 BRA b4 ; 3
        b3: cold -> b4
          r23$6 = CallHelper r4, r3 call(s0 stack=0 clobbers=3fd,0,0,0 predicates=7) ; 3
        b4: -> b5
          r29 = phi b2: r21, b3: r23
        b5:
          r14 = phi b0: r11, b4: r28
          r24 = phi b0: r21, b4: r29
          r25 = FADD r14, r24 ; 4
          STG.E [{r5 r6}], r25 mem(global w) ; 4
          EXIT ; 5
        b6: cold -> b2 b1
          p26 = FCHK r1, r2 ; 1
          @!p26 BRA b2 ; 1
    "#]],
    );
}

#[test]
fn what_a_quotient_goes_into_stays_below_and_in_order() {
    let between = "  STG.E [{r5 r6}+0x4], r14 mem(global w) ; 2
  r15 = LDG.E [{r5 r6}+0x4] mem(global r) ; 2
  STG.E [{r5 r6}+0x8], r15 mem(global w) ; 2
";
    two_divisions(
        between,
        "r4",
        expect![[r#"
        b0: -> b5 b6
          {r1 r2} = LDC.64 c[0][0x210] ; 0
          {r3 r4} = LDC.64 c[0][0x218] ; 0
          {r5 r6} = LDC.64 c[0][0x220] ; 0
          r10 = MUFU.RCP r2 ; 1
          r11 = FMUL r1, r10 ; 1
          p12 = FCHK r1, r2 ; 1
          r20 = MUFU.RCP r3 ; 3
          r21 = FMUL r4, r20 ; 3
          p22 = FCHK r4, r3 ; 3
          p30, PT = PLOP3.LUT !p12, !p22, PT, #128, #0 ; 3
          @p30 BRA b5 ; 1
        b1: cold -> b2
          r13$6 = CallHelper r1, r2 call(s0 stack=0 clobbers=3fd,0,0,0 predicates=7) ; 1
        b2: -> b4 b3
          r28 = phi b6: r11, b1: r13
          p27 = FCHK r4, r3 ; 3
          @!p27 BRA b4 ; 3
        b3: cold -> b4
          r23$6 = CallHelper r4, r3 call(s0 stack=0 clobbers=3fd,0,0,0 predicates=7) ; 3
        b4: -> b5
          r29 = phi b2: r21, b3: r23
        b5:
          r14 = phi b0: r11, b4: r28
          r24 = phi b0: r21, b4: r29
          STG.E [{r5 r6}+0x4], r14 mem(global w) ; 2
          r15 = LDG.E [{r5 r6}+0x4] mem(global r) ; 2
          STG.E [{r5 r6}+0x8], r15 mem(global w) ; 2
          r25 = FADD r14, r24 ; 4
          STG.E [{r5 r6}], r25 mem(global w) ; 4
          EXIT ; 5
        b6: cold -> b2 b1
          p26 = FCHK r1, r2 ; 1
          @!p26 BRA b2 ; 1
    "#]],
    );
}

#[test]
fn a_load_goes_up_where_nothing_was_written() {
    two_divisions(
        "  r15 = LDG.E [{r5 r6}] mem(global r) ; 2\n",
        "r15",
        expect![[r#"
        b0: -> b5 b6
          {r1 r2} = LDC.64 c[0][0x210] ; 0
          {r3 r4} = LDC.64 c[0][0x218] ; 0
          {r5 r6} = LDC.64 c[0][0x220] ; 0
          r10 = MUFU.RCP r2 ; 1
          r11 = FMUL r1, r10 ; 1
          p12 = FCHK r1, r2 ; 1
          r15 = LDG.E [{r5 r6}] mem(global r) ; 2
          r20 = MUFU.RCP r3 ; 3
          r21 = FMUL r15, r20 ; 3
          p22 = FCHK r15, r3 ; 3
          p30, PT = PLOP3.LUT !p12, !p22, PT, #128, #0 ; 3
          @p30 BRA b5 ; 1
        b1: cold -> b2
          r13$6 = CallHelper r1, r2 call(s0 stack=0 clobbers=3fd,0,0,0 predicates=7) ; 1
        b2: -> b4 b3
          r28 = phi b6: r11, b1: r13
          p27 = FCHK r15, r3 ; 3
          @!p27 BRA b4 ; 3
        b3: cold -> b4
          r23$6 = CallHelper r15, r3 call(s0 stack=0 clobbers=3fd,0,0,0 predicates=7) ; 3
        b4: -> b5
          r29 = phi b2: r21, b3: r23
        b5:
          r14 = phi b0: r11, b4: r28
          r24 = phi b0: r21, b4: r29
          r25 = FADD r14, r24 ; 4
          STG.E [{r5 r6}], r25 mem(global w) ; 4
          EXIT ; 5
        b6: cold -> b2 b1
          p26 = FCHK r1, r2 ; 1
          @!p26 BRA b2 ; 1
    "#]],
    );
}

#[test]
fn a_quotient_that_is_divided_waits() {
    two_divisions(
        "",
        "r14",
        expect![[r#"
        b0: -> b2 b1
          {r1 r2} = LDC.64 c[0][0x210] ; 0
          {r3 r4} = LDC.64 c[0][0x218] ; 0
          {r5 r6} = LDC.64 c[0][0x220] ; 0
          r10 = MUFU.RCP r2 ; 1
          r11 = FMUL r1, r10 ; 1
          p12 = FCHK r1, r2 ; 1
          @!p12 BRA b2 ; 1
        b1: cold -> b2
          r13$6 = CallHelper r1, r2 call(s0 stack=0 clobbers=3fd,0,0,0 predicates=7) ; 1
        b2: -> b4 b3
          r14 = phi b0: r11, b1: r13
          r20 = MUFU.RCP r3 ; 3
          r21 = FMUL r14, r20 ; 3
          p22 = FCHK r14, r3 ; 3
          @!p22 BRA b4 ; 3
        b3: cold -> b4
          r23$6 = CallHelper r14, r3 call(s0 stack=0 clobbers=3fd,0,0,0 predicates=7) ; 3
        b4:
          r24 = phi b2: r21, b3: r23
          r25 = FADD r14, r24 ; 4
          STG.E [{r5 r6}], r25 mem(global w) ; 4
          EXIT ; 5
    "#]],
    );
}

#[test]
fn a_thread_that_may_end_between_them_keeps_them_apart() {
    two_divisions(
        "  @p12 EXIT ; 2\n",
        "r4",
        expect![[r#"
        b0: -> b2 b1
          {r1 r2} = LDC.64 c[0][0x210] ; 0
          {r3 r4} = LDC.64 c[0][0x218] ; 0
          {r5 r6} = LDC.64 c[0][0x220] ; 0
          r10 = MUFU.RCP r2 ; 1
          r11 = FMUL r1, r10 ; 1
          p12 = FCHK r1, r2 ; 1
          @!p12 BRA b2 ; 1
        b1: cold -> b2
          r13$6 = CallHelper r1, r2 call(s0 stack=0 clobbers=3fd,0,0,0 predicates=7) ; 1
        b2: -> b4 b3
          r14 = phi b0: r11, b1: r13
          @p12 EXIT ; 2
          r20 = MUFU.RCP r3 ; 3
          r21 = FMUL r4, r20 ; 3
          p22 = FCHK r4, r3 ; 3
          @!p22 BRA b4 ; 3
        b3: cold -> b4
          r23$6 = CallHelper r4, r3 call(s0 stack=0 clobbers=3fd,0,0,0 predicates=7) ; 3
        b4:
          r24 = phi b2: r21, b3: r23
          r25 = FADD r14, r24 ; 4
          STG.E [{r5 r6}], r25 mem(global w) ; 4
          EXIT ; 5
    "#]],
    );
}
