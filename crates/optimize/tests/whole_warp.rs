//! Instructions of an elected lane that the whole warp executes, and words computed in uniform registers for them.

use crate::common::*;
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_optimize::passes::{uniform_registers, whole_warp};
use oriole_ori::{Form, Function, parse};

/// A kernel in which `p4` is true in an elected lane. `r0` is a word that all lanes have, `r1` the number of the thread, and
/// `p5` a condition that all lanes have.
fn kernel(body: &str) -> Function {
    let edges = body.lines().next().unwrap_or_default();
    let rest: String = body.lines().skip(1).map(|line| format!("{line}\n")).collect();
    let text = format!(
        "kernel
b0: {edges}
  r0 = LDC c[0][0x210] ; 0
  r1 = S2R %(SR_TID.X) ; 0
  p5, PT = ISETP.AND.NE.U32 r0, RZ, PT ; 0
  p4, URZ = ELECT PT ; 1
{rest}"
    );
    let function = parse(&text).expect("Ori");
    assert_verified(&function, Form::Plain, "the input");
    function
}

/// The body after phase 133.
fn check(body: &str, expected: Expect) {
    let mut function = kernel(body);
    whole_warp::run(&mut function, None);
    assert_verified(&function, Form::Plain, "for the whole warp");
    let text = function.to_string();
    let lines = text.lines().skip_while(|line| !line.contains("= ELECT")).skip(1);
    expected.assert_eq(&lines.map(|line| format!("{line}\n")).collect::<String>());
}

/// True if phase 133 leaves the body as it is.
fn is_left(body: &str) -> bool {
    let mut function = kernel(body);
    let changed = whole_warp::run(&mut function, None);
    assert_eq!(changed, function.to_string() != kernel(body).to_string());
    !changed
}

const COMMIT: &str = "UTCBAR [^u6], URZ mem(generic rw ordered)";

#[test]
fn the_whole_warp_executes_what_is_elected() {
    check(
        "-> b2 b1
  @!p4 BRA b2 ; 2
b1: -> b2
  r7 = IADD3 r0, 0x8, RZ ; 3
  u6 = Copy r7 ; 3
  UTCBAR [^u6], URZ mem(generic rw ordered) ; 3
b2:
  STS [r1], r0 mem(shared w) ; 4
  EXIT ; 5
",
        expect![[r#"
            b1: -> b2
              r7 = IADD3 r0, 0x8, RZ ; 3
              u6 = Copy r7 ; 3
              UTCBAR [^u6], URZ mem(generic rw ordered) ; 3
            b2:
              STS [r1], r0 mem(shared w) ; 4
              EXIT ; 5
        "#]],
    );
}

#[test]
fn more_than_an_election_is_voted_on() {
    check(
        "-> b2 b1
  p8, PT = PLOP3.LUT p4, p5, PT, #192, #0 ; 2
  @!p8 BRA b2 ; 2
b1: -> b2
  u6 = Copy r0 ; 3
  UTCBAR [^u6], URZ mem(generic rw ordered) ; 3
b2:
  STS [r1], r0 mem(shared w) ; 4
  EXIT ; 5
",
        expect![[r#"
              p8, PT = PLOP3.LUT p4, p5, PT, #192, #0 ; 2
              RZ, p9 = VOTE.ANY p8 ; 2
              @!p9 BRA b2 ; 2
            b1: -> b2
              u6 = Copy r0 ; 3
              UTCBAR [^u6], URZ mem(generic rw ordered) ; 3
            b2:
              STS [r1], r0 mem(shared w) ; 4
              EXIT ; 5
        "#]],
    );
}

/// A word that is set in the elected lane, and the side that is taken.
#[test]
fn a_word_may_stand_for_the_election() {
    check(
        "-> b1 b2
  r7 = Copy RZ ; 2
  @p4 r7 = MOV 0x1 ; 2
  p8, PT = ISETP.AND.NE.U32 r7, RZ, PT ; 2
  @p8 BRA b1 ; 2
b1: -> b2
  u6 = Copy r0 ; 3
  UTCBAR [^u6], URZ mem(generic rw ordered) ; 3
b2:
  STS [r1], r0 mem(shared w) ; 4
  EXIT ; 5
",
        expect![[r#"
              r7 = Copy RZ ; 2
              @p4 r7 = MOV 0x1 ; 2
              p8, PT = ISETP.AND.NE.U32 r7, RZ, PT ; 2
              BRA b1 ; 2
            b1: -> b2
              u6 = Copy r0 ; 3
              UTCBAR [^u6], URZ mem(generic rw ordered) ; 3
            b2:
              STS [r1], r0 mem(shared w) ; 4
              EXIT ; 5
        "#]],
    );
}

#[test]
fn regions_that_do_something_for_their_lane_stay() {
    let region = |instructions: &str, after: &str| {
        format!(
            "-> b2 b1
  @!p4 BRA b2 ; 2
b1: -> b2
{instructions}  {COMMIT} ; 3
b2:
{after}  STS [r1], r0 mem(shared w) ; 4
  EXIT ; 5
"
        )
    };
    assert!(!is_left(&region("  u6 = Copy r0 ; 3\n", "")));
    // The operand differs between lanes.
    assert!(is_left(&region("  u6 = Copy r1 ; 3\n", "")));
    // A store of the lane.
    assert!(is_left(&region("  u6 = Copy r0 ; 3\n  STS [r0], r0 mem(shared w) ; 3\n", "")));
    // A result of the lane that is read later.
    assert!(is_left(&region(
        "  u6 = Copy r0 ; 3\n  r7 = IADD3 r0, 0x8, RZ ; 3\n",
        "  STS [r1], r7 mem(shared w) ; 4\n"
    )));
}

/// Lanes that are not elected skip the word's definition.
#[test]
fn a_word_of_the_elected_lane_stays_with_it() {
    assert!(is_left(
        "-> b2 b1
  @!p4 BRA b2 ; 2
b1: -> b2
  r7 = IADD3 r0, 0x8, RZ ; 3
  STS [r0], r7 mem(shared w) ; 3
b2: -> b4 b3
  @!p4 BRA b4 ; 4
b3: -> b4
  u6 = Copy r7 ; 5
  UTCBAR [^u6], URZ mem(generic rw ordered) ; 5
b4:
  EXIT ; 6
"
    ));
}

/// Without the elected lane the instruction must not be executed.
#[test]
fn the_lanes_vote_if_the_elected_one_may_have_ended() {
    check(
        "-> b1
  @p4 EXIT ; 2
b1: -> b3 b2
  @!p4 BRA b3 ; 3
b2: -> b3
  u6 = Copy r0 ; 3
  UTCBAR [^u6], URZ mem(generic rw ordered) ; 3
b3:
  STS [r1], r0 mem(shared w) ; 4
  EXIT ; 5
",
        expect![[r#"
              @p4 EXIT ; 2
            b1: -> b3 b2
              RZ, p7 = VOTE.ANY p4 ; 3
              @!p7 BRA b3 ; 3
            b2: -> b3
              u6 = Copy r0 ; 3
              UTCBAR [^u6], URZ mem(generic rw ordered) ; 3
            b3:
              STS [r1], r0 mem(shared w) ; 4
              EXIT ; 5
        "#]],
    );
}

/// Each lane that passes means a signal of its own.
#[test]
fn conditions_of_several_lanes_stay() {
    assert!(is_left(
        "-> b2 b1
  p8, PT = ISETP.AND.LT.U32 r1, 0x5, PT ; 2
  @!p8 BRA b2 ; 2
b1: -> b2
  u6 = Copy r0 ; 3
  UTCBAR [^u6], URZ mem(generic rw ordered) ; 3
b2:
  EXIT ; 5
"
    ));
}

/// The code after phase 74.
fn uniform(body: &str, expected: Expect) {
    let mut function = kernel(body);
    uniform_registers::run(&mut function, Chip::SM_90, None);
    assert_verified(&function, Form::Plain, "uniform words");
    let text = function.to_string();
    let lines = text.lines().filter(|line| !line.contains(" value ")).skip(1);
    expected.assert_eq(&lines.map(|line| format!("{line}\n")).collect::<String>());
}

/// One copy of a root that a store reads, too, in place of one for each sum.
#[test]
fn sums_of_a_root_are_computed_in_uniform_registers() {
    uniform(
        "-> b1
  PT, r9 = SHFL.IDX r1, #0, #31 ; 2
  r7 = IADD3 r9, 0x8, RZ ; 3
  u6 = Copy r7 ; 3
  UTCBAR [^u6], URZ mem(generic rw ordered) ; 3
  r10 = IADD3 r9, 0x10, RZ ; 3
  u11 = Copy r10 ; 3
  UTCBAR [^u11], URZ mem(generic rw ordered) ; 3
b1:
  STS [r1], r9 mem(shared w) ; 4
  EXIT ; 5
",
        expect![[r#"
            b0: -> b1
              u12 = ULDC c[0][0x210] ; 0
              r1 = S2R %(SR_TID.X) ; 0
              p5, PT = ISETP.AND.NE.U32 RZ, u12, PT ; 0
              p4, URZ = ELECT PT ; 1
              PT, r9 = SHFL.IDX r1, #0, #31 ; 2
              u15 = Copy r9 ; 2
              u13 = UIADD3 u15, 0x8, URZ ; 3
              u6 = Copy u13 ; 3
              UTCBAR [^u6], URZ mem(generic rw ordered) ; 3
              u14 = UIADD3 u15, 0x10, URZ ; 3
              u11 = Copy u14 ; 3
              UTCBAR [^u11], URZ mem(generic rw ordered) ; 3
            b1:
              STS [r1], r9 mem(shared w) ; 4
              EXIT ; 5
        "#]],
    );
}

/// A sum of two words would take two copies in place of one.
#[test]
fn chains_that_save_no_copies_stay() {
    uniform(
        "-> b1
  PT, r9 = SHFL.IDX r1, #0, #31 ; 2
  PT, r8 = SHFL.IDX r1, #1, #31 ; 2
  r7 = IADD3 r9, r8, RZ ; 3
  u6 = Copy r7 ; 3
  UTCBAR [^u6], URZ mem(generic rw ordered) ; 3
b1:
  STS [r1], r9 mem(shared w) ; 4
  STS [r1], r8 mem(shared w) ; 4
  EXIT ; 5
",
        expect![[r#"
            b0: -> b1
              u10 = ULDC c[0][0x210] ; 0
              r1 = S2R %(SR_TID.X) ; 0
              p5, PT = ISETP.AND.NE.U32 RZ, u10, PT ; 0
              p4, URZ = ELECT PT ; 1
              PT, r9 = SHFL.IDX r1, #0, #31 ; 2
              PT, r8 = SHFL.IDX r1, #1, #31 ; 2
              r7 = IADD3 r9, r8, RZ ; 3
              u6 = Copy r7 ; 3
              UTCBAR [^u6], URZ mem(generic rw ordered) ; 3
            b1:
              STS [r1], r9 mem(shared w) ; 4
              STS [r1], r8 mem(shared w) ; 4
              EXIT ; 5
        "#]],
    );
}
