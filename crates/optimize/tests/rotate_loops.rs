//! Loops that are tested at their top.

use crate::common::*;
use expect_test::{Expect, expect};
use oriole_optimize::passes::rotate_loops;
use oriole_ori::{Form, parse, verify};

/// A kernel with a number `r0`, a pair `{r2 r3}`, and `r1`, which begins with zero; then these blocks, from `b1` on.
fn check(blocks: &str, expected: Expect) {
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
    let changed = rotate_loops::run(&mut function);
    verify(&function, Form::Plain).expect("valid after");
    let after = if changed { function.to_string() } else { "unchanged\n".to_owned() };
    expected.assert_eq(&after);
}

#[test]
fn a_test_at_the_top_comes_to_the_end() {
    check(
        "b1: -> b3 b2
  p9, PT = ISETP.AND.GE r1, r0, PT ; 1
  @p9 BRA b3 ; 2
b2: -> b1
  r1 = IADD3 r1, 0x1, RZ ; 3
  BRA b1 ; 4
b3:
  EXIT ; 5
",
        expect![[r#"
            kernel params=0 barriers=0
              value r4
              value r5
              value r6
              value r7
              value r8
            b0: -> b1
              r0 = LDC c[0][0x210] ; 0
              {r2 r3} = LDC.64 c[0][0x218] ; 0
              r1 = Copy RZ ; 0
              p9, PT = ISETP.AND.GE r1, r0, PT ; 1
              @p9 EXIT ; 2
            b1: -> b2 b1
              r1 = IADD3 r1, 0x1, RZ ; 3
              p9, PT = ISETP.AND.GE r1, r0, PT ; 1
              @p9 BRA b2 ; 2
            b2:
              EXIT ; 5
        "#]],
    );
}

/// The way out is an exit, one edge back is conditional, the body may leave the loop, and the mark goes with the loop.
#[test]
fn an_exit_at_the_top_of_a_loop_with_two_ways_back() {
    check(
        "b1: nounroll -> b2
  r4 = LDG.E [{r2 r3}].64 mem(global r) ; 1
  p9, PT = ISETP.AND.GE r4, r0, PT ; 1
  @p9 EXIT ; 2
b2: -> b1 b3
  r1 = IADD3 r1, 0x1, RZ ; 3
  p8, PT = ISETP.AND.EQ r1, r4, PT ; 4
  @p8 BRA b1 ; 4
b3: -> b5 b4
  p7, PT = ISETP.AND.EQ r1, 0x9, PT ; 5
  @p7 BRA b5 ; 5
b4: -> b1
  r1 = IADD3 r1, 0x2, RZ ; 6
  BRA b1 ; 6
b5:
  EXIT ; 7
",
        expect![[r#"
            kernel params=0 barriers=0
              value r5
              value r6
            b0: -> b1
              r0 = LDC c[0][0x210] ; 0
              {r2 r3} = LDC.64 c[0][0x218] ; 0
              r1 = Copy RZ ; 0
              r4 = LDG.E [{r2 r3}].64 mem(global r) ; 1
              p9, PT = ISETP.AND.GE r4, r0, PT ; 1
              @p9 EXIT ; 2
            b1: nounroll -> b3 b2
              r1 = IADD3 r1, 0x1, RZ ; 3
              p8, PT = ISETP.AND.EQ r1, r4, PT ; 4
              @p8 BRA b3 ; 4
            b2: -> b3
              p7, PT = ISETP.AND.EQ r1, 0x9, PT ; 5
              @p7 EXIT ; 5
              r1 = IADD3 r1, 0x2, RZ ; 6
              BRA b3 ; 6
            b3: -> b1
              r4 = LDG.E [{r2 r3}].64 mem(global r) ; 1
              p9, PT = ISETP.AND.GE r4, r0, PT ; 1
              @p9 EXIT ; 2
        "#]],
    );
}

/// The body of the outer loop begins with the inner one, whose way out is the test of the outer one.
#[test]
fn nested_loops_that_share_edges() {
    check(
        "b1: -> b4 b2
  p9, PT = ISETP.AND.GE r1, r0, PT ; 1
  @p9 BRA b4 ; 1
b2: -> b1 b3
  r1 = IADD3 r1, 0x1, RZ ; 2
  p8, PT = ISETP.AND.GE r5, r1, PT ; 2
  @p8 BRA b1 ; 2
b3: -> b2
  r5 = IADD3 r5, 0x1, RZ ; 3
  BRA b2 ; 3
b4:
  EXIT ; 4
",
        expect![[r#"
            kernel params=0 barriers=0
              value r4
              value r6
              value r7
            b0: -> b1
              r0 = LDC c[0][0x210] ; 0
              {r2 r3} = LDC.64 c[0][0x218] ; 0
              r1 = Copy RZ ; 0
              p9, PT = ISETP.AND.GE r1, r0, PT ; 1
              @p9 EXIT ; 1
            b1: -> b3 b2
              r1 = IADD3 r1, 0x1, RZ ; 2
              p8, PT = ISETP.AND.GE r5, r1, PT ; 2
              @p8 BRA b3 ; 2
            b2: -> b3 b2
              r5 = IADD3 r5, 0x1, RZ ; 3
              r1 = IADD3 r1, 0x1, RZ ; 2
              p8, PT = ISETP.AND.GE r5, r1, PT ; 2
              @p8 BRA b3 ; 2
            b3: -> b4 b1
              p9, PT = ISETP.AND.GE r1, r0, PT ; 1
              @p9 BRA b4 ; 1
            b4:
              EXIT ; 4
        "#]],
    );
}

#[test]
fn loops_that_stay() {
    let stays = || expect![["unchanged\n"]];
    // The test is at the end already.
    check(
        "b1: -> b3 b2
  p9, PT = ISETP.AND.GE r1, r0, PT ; 1
  @p9 BRA b3 ; 2
b2: -> b1 b3
  r1 = IADD3 r1, 0x1, RZ ; 3
  p8, PT = ISETP.AND.GE r1, r0, PT ; 3
  @p8 BRA b1 ; 4
b3:
  EXIT ; 5
",
        stays(),
    );
    // A vote is of the threads that are in the loop, and stores and barriers are not copied either.
    for first in ["p8 = VOTE.ANY p9 ; 1", "STG.E [{r2 r3}].64, r1 mem(global w) ; 1", "BAR.SYNC 0x0 ; 1"] {
        check(
            &format!(
                "b1: -> b3 b2
  p9, PT = ISETP.AND.GE r1, r0, PT ; 1
  {first}
  @p9 BRA b3 ; 2
b2: -> b1
  r1 = IADD3 r1, 0x1, RZ ; 3
  BRA b1 ; 4
b3:
  EXIT ; 5
"
            ),
            stays(),
        );
    }
}

#[test]
fn random_functions_with_their_loops_turned() {
    let mut turned = 0;
    for seed in 0..1000 {
        let original = random_function(seed);
        let what = format!("seed {seed}");
        let before = evaluator::run(&original, &world(seed + 1));
        let mut function = original.clone();
        turned += u32::from(rotate_loops::run(&mut function));
        assert_verified(&function, Form::Plain, &what);
        assert_same(&before, &evaluator::run(&function, &world(seed + 1)), &what);
    }
    assert!(turned > 10, "{turned}");
}
