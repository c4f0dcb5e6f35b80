//! Branches of nested conditions: those that become one, those that stay, and the behaviour of random functions.

use crate::common::*;
use expect_test::{Expect, expect};
use oriole_optimize::{passes::branch_opt, passes::generate_mov_phi, passes::nested_conditions};
use oriole_ori::{Form, parse};
use oriole_sass::Op;

fn check(text: &str, expected: Expect) {
    let mut function = parse(text).expect("Ori");
    assert_verified(&function, Form::Ssa, "before");
    let changed = nested_conditions::run(&mut function, None);
    assert_verified(&function, Form::Ssa, "after");
    expected.assert_eq(&if changed { function.to_string() } else { "unchanged\n".into() });
}

/// A step of a sum over a tree in shared memory: two conditions, one place after them that empty blocks lead to.
#[test]
fn two_conditions_of_one_store() {
    check(
        "
kernel
b0: -> b4 b1
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.GT.U32 r0, 0x7f, PT ; 1
  @p1 BRA b4 ; 2
b1: -> b3 b2
  r2 = LOP3.LUT r0, 0x80, RZ, #252, !PT ; 3
  p3, PT = ISETP.AND.GE.U32 r2, c[0][0x0], PT ; 4
  @p3 BRA b3 ; 5
b2: -> b5
  r4 = LDS [r0+0x200] mem(shared r) ; 6
  STS [r0], r4 mem(shared w) ; 7
b3: -> b5
b4: -> b5
b5:
  EXIT ; 8
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.GT.U32 r0, 0x7f, PT ; 1
              r2 = LOP3.LUT r0, 0x80, RZ, #252, !PT ; 3
              p3, PT = ISETP.AND.GE.U32 r2, c[0][0x0], PT ; 4
              p5, PT = PLOP3.LUT p1, p3, PT, #252, #0 ; 5
              @p5 BRA b2 ; 5
            b1: -> b3
              r4 = LDS [r0+0x200] mem(shared r) ; 6
              STS [r0], r4 mem(shared w) ; 7
            b2: -> b3
            b3:
              EXIT ; 8
        "#]],
    );
}

/// The first branch goes to the code, the second past it.
#[test]
fn conditions_that_lead_opposite_ways() {
    check(
        "
kernel
b0: -> b1 b3
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT r0, 0x10, PT ; 1
  @p1 BRA b1 ; 2
b1: -> b3 b2
  p2, PT = ISETP.AND.NE r0, 0x3, PT ; 3
  @!p2 BRA b3 ; 4
b2: -> b3
  STG.E [0x0], r0 mem(global w) ; 5
b3:
  EXIT ; 6
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.LT r0, 0x10, PT ; 1
              p2, PT = ISETP.AND.NE r0, 0x3, PT ; 3
              p3, PT = PLOP3.LUT !p1, !p2, PT, #252, #0 ; 4
              @p3 BRA b2 ; 4
            b1: -> b2
              STG.E [0x0], r0 mem(global w) ; 5
            b2:
              EXIT ; 6
        "#]],
    );
}

#[test]
fn exits_between_which_nothing_happens() {
    check(
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.GT r0, 0x10, PT ; 1
  @p1 EXIT ; 2
  r2 = S2R %(SR_CTAID.X) ; 3
  p3, PT = ISETP.AND.GT r2, 0x20, PT ; 4
  @!p3 EXIT ; 5
  STG.E [0x0], r0 mem(global w) ; 6
  @p3 EXIT ; 7
  STG.E [0x8], r2 mem(global w) ; 8
  EXIT ; 9
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.GT r0, 0x10, PT ; 1
              r2 = S2R %(SR_CTAID.X) ; 3
              p3, PT = ISETP.AND.GT r2, 0x20, PT ; 4
              p4, PT = PLOP3.LUT p1, !p3, PT, #252, #0 ; 5
              @p4 EXIT ; 5
              STG.E [0x0], r0 mem(global w) ; 6
              @p3 EXIT ; 7
              STG.E [0x8], r2 mem(global w) ; 8
              EXIT ; 9
        "#]],
    );
}

#[test]
fn what_stays() {
    let nest = |between: &str, values: [&str; 2]| {
        format!(
            "
kernel
b0: -> b3 b1
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.GT r0, 0x10, PT ; 1
  @p1 BRA b3 ; 2
b1: -> b3 b2
{between}  p2, PT = ISETP.AND.NE r0, 0x3, PT ; 3
  @p2 BRA b3 ; 4
b2: -> b3
  STG.E [0x0], r0 mem(global w) ; 5
b3:
  r3 = phi b0: {}, b1: {}, b2: r0
  STG.E [0x4], r3 mem(global w) ; 6
  EXIT ; 7
",
            values[0], values[1]
        )
    };
    let stays = |between: &str, values| check(&nest(between, values), expect!["unchanged\n"]);
    // The values depend on the way.
    stays("", ["0x1", "0x2"]);
    // Memory would be read and written where it was not.
    stays("  r4 = LDG.E [{r0 r0}] mem(global r) ; 3\n", ["r0", "r0"]);
    stays("  STG.E [0x8], r0 mem(global w) ; 3\n", ["r0", "r0"]);
    // A branch is cheaper than seven instructions.
    let long: String = (4..11).map(|n| format!("  r{n} = IADD3 r0, {n:#x}, RZ ; 3\n")).collect();
    stays(&long, ["r0", "r0"]);
    let mut joined = parse(&nest("", ["r0", "r0"])).expect("Ori");
    assert!(nested_conditions::run(&mut joined, None), "equal values do not tell the ways apart");
}

#[test]
fn random_functions_keep_their_meaning() {
    let mut joined = 0;
    for seed in 0..600 {
        let original = random_function(seed);
        let what = format!("seed {seed}");
        let before = evaluator::run(&original, &world(7));
        let mut function = original.clone();
        branch_opt::run(&mut function);
        generate_mov_phi::run(&mut function);
        let branches = count(&function, |i| i.opcode == Op::BRA.into());
        nested_conditions::run(&mut function, None);
        joined += branches - count(&function, |i| i.opcode == Op::BRA.into());
        assert_verified(&function, Form::Ssa, &what);
        assert_same(&before, &evaluator::run(&function, &world(7)), &what);
    }
    assert!(joined > 10, "only {joined} branches were joined");
}
