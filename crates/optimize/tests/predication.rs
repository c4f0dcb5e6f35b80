//! If-conversion: hammocks that it converts, hammocks that it leaves, and the behaviour of random functions.

use crate::common::*;
use expect_test::{Expect, expect};
use oriole_optimize::{
    passes::branch_opt, passes::convert_mov_phi, passes::expand_sync, passes::generate_mov_phi,
    passes::live_dead, passes::predication, rewriting::guarded_selections,
};
use oriole_ori::{Form, Instruction, Outcome, PassContext, parse};
use oriole_sass::Op;

#[test]
fn random_functions_keep_their_meaning() {
    let (mut converted, mut guarded) = (0, 0);
    let is_selection = |i: &Instruction| i.opcode == Op::SEL.into();
    for seed in 0..400 {
        let original = random_function(seed);
        let what = format!("seed {seed}");
        let before = evaluator::run(&original, &world(7));
        let mut function = original.clone();
        branch_opt::run(&mut function);
        generate_mov_phi::run(&mut function);
        live_dead::run(&mut function);
        let branches = count(&function, |i| i.opcode == Op::BRA.into());
        predication::run(&mut function, None);
        let selections = count(&function, is_selection);
        guarded_selections::run(&mut function);
        guarded += selections - count(&function, is_selection);
        converted += branches - count(&function, |i| i.opcode == Op::BRA.into());
        assert_verified(&function, Form::Ssa, &what);
        assert_same(&before, &evaluator::run(&function, &world(7)), &what);
        live_dead::run(&mut function);
        let _ = expand_sync::run(&mut function, true);
        convert_mov_phi::run(&mut function);
        assert_verified(&function, Form::Plain, &what);
        let world = checking_world(&function, seed);
        assert_same(&before, &evaluator::run(&function, &world), &what);
    }
    assert!(converted > 30, "only {converted} branches went");
    assert!(guarded > 10, "only {guarded} selections went");
}

fn check(text: &str, expected: Expect) {
    let mut function = parse(text).unwrap();
    predication::run(&mut function, None);
    guarded_selections::run(&mut function);
    assert_verified(&function, Form::Ssa, "after");
    expected.assert_eq(&function.to_string());
}

#[test]
fn a_selection_that_is_added() {
    check(
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDG.E [{r0 r0}] mem(global r) ; 0
  p2, PT = ISETP.AND.NE r0, r1, PT ; 1
  r3 = SEL RZ, 0x1, !p2 ; 2
  r4 = IADD3 r1, r3, RZ ; 3
  r5 = SEL r4, RZ, !p2 ; 4
  r6 = IADD3 r5, r0, RZ ; 5
  r7 = SEL r0, 0x1, p2 ; 6
  r8 = IADD3 r7, r6, RZ ; 7
  STG.E [0x8], r8 mem(global w) ; 8
  EXIT ; 9
",
        expect![[r#"
            kernel params=0 barriers=0
              value r3
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r1 = LDG.E [{r0 r0}] mem(global r) ; 0
              p2, PT = ISETP.AND.NE r0, r1, PT ; 1
              @p2 r4 = IADD3 r1, 0x1, RZ tied(r1) ; 3
              r5 = SEL r4, RZ, !p2 ; 4
              r6 = IADD3 r5, r0, RZ ; 5
              r7 = SEL r0, 0x1, p2 ; 6
              r8 = IADD3 r7, r6, RZ ; 7
              STG.E [0x8], r8 mem(global w) ; 8
              EXIT ; 9
        "#]],
    );
}

/// A step of a sum over a tree: the sum is stored under the guard, and kept otherwise.
#[test]
fn a_selection_of_what_is_stored_under_its_guard() {
    let step = |store: &str| {
        format!(
            "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDG.E [{{r0 r0}}] mem(global r) ; 0
  p2, PT = ISETP.AND.GT r0, 0x3f, PT ; 1
  r3 = FADD r1, r0 ; 2
  {store} ; 3
  r4 = SEL r1, r3, p2 ; 4
  STG.E [0x8], r4 mem(global w) ; 5
  EXIT ; 6
"
        )
    };
    check(
        &step("@!p2 STG.E [0x4], r3 mem(global w)"),
        expect![[r#"
            kernel params=0 barriers=0
              value r3
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r1 = LDG.E [{r0 r0}] mem(global r) ; 0
              p2, PT = ISETP.AND.GT r0, 0x3f, PT ; 1
              @!p2 r4 = FADD r1, r0 tied(r1) ; 2
              @!p2 STG.E [0x4], r4 mem(global w) ; 3
              STG.E [0x8], r4 mem(global w) ; 5
              EXIT ; 6
        "#]],
    );
    // Stored under another condition.
    check(
        &step("@p2 STG.E [0x4], r3 mem(global w)"),
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r1 = LDG.E [{r0 r0}] mem(global r) ; 0
              p2, PT = ISETP.AND.GT r0, 0x3f, PT ; 1
              r3 = FADD r1, r0 ; 2
              @p2 STG.E [0x4], r3 mem(global w) ; 3
              r4 = SEL r1, r3, p2 ; 4
              STG.E [0x8], r4 mem(global w) ; 5
              EXIT ; 6
        "#]],
    );
}

#[test]
fn a_diamond_with_a_store_and_a_load() {
    check(
        "
kernel
b0: -> b1 b2
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT r0, 0x3, PT ; 1
  @!p1 BRA b1 ; 2
b1: -> b3
  r2 = IADD3 r0, 0x1, RZ ; 3
  r3 = LDG.E [{r0 r2}] mem(global r) ; 4
b2: -> b3
  STG.E [0x0], r0 mem(global w) ; 5
b3:
  r4 = phi b1: r2, b2: 0x7
  r5 = phi b1: r3, b2: r0
  p6 = phi b1: !PT, b2: p1
  @p6 STG.E [0x4], r4 mem(global w) ; 6
  STG.E [0x8], r5 mem(global w) ; 6
  EXIT ; 7
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b1
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.LT r0, 0x3, PT ; 1
              r2 = IADD3 r0, 0x1, RZ ; 3
              @!p1 r3 = LDG.E [{r0 r2}] tied(r0) mem(global r) ; 4
              @p1 STG.E [0x0], r0 mem(global w) ; 5
              r4 = SEL r2, 0x7, !p1 ; 2
              r5 = Copy r3 ; 2
              p6, PT = PLOP3.LUT !p1, !PT, p1, #202, #0 ; 2
            b1:
              @p6 STG.E [0x4], r4 mem(global w) ; 6
              STG.E [0x8], r5 mem(global w) ; 6
              EXIT ; 7
        "#]],
    );
}

/// Neither load waits for the other: one of them keeps nothing, and a select follows. A value without a load may be kept.
#[test]
fn loads_of_both_sides_are_in_flight_together() {
    check(
        "
kernel
b0: -> b1 b2
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT r0, 0x3, PT ; 1
  @!p1 BRA b1 ; 2
b1: -> b3
  r2 = LDG.E [{r0 r0}] mem(global r) ; 3
  r3 = LOP3.LUT RZ, r2, RZ, #51, !PT ; 4
b2: -> b3
  r4 = LDG.E [{r0 r0}+0x4] mem(global r) ; 5
b3: -> b4 b5
  r5 = phi b1: r3, b2: r4
  r6 = LDG.E [{r0 r0}+0x8] mem(global r) ; 6
  @p1 BRA b4 ; 7
b4: -> b5
  r7 = LDG.E [{r0 r5}] mem(global r) ; 8
b5: -> b6 b7
  r8 = phi b3: r6, b4: r7
  r9 = IADD3 r0, 0x5, RZ ; 9
  @p1 BRA b6 ; 10
b6: -> b7
  r10 = LDG.E [{r0 r0}+0x10] mem(global r) ; 11
b7:
  r11 = phi b5: r9, b6: r10
  STG.E [0x8], r8 mem(global w) ; 12
  STG.E [0xc], r11 mem(global w) ; 12
  EXIT ; 13
",
        expect![[r#"
            kernel params=0 barriers=0
              value r3
            b0: -> b1
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.LT r0, 0x3, PT ; 1
              r12 = Undefined ; 3
              r13 = Undefined ; 5
              @!p1 r2 = LDG.E [{r0 r0}] tied(r12) mem(global r) ; 3
              @p1 r4 = LDG.E [{r0 r0}+0x4] tied(r13) mem(global r) ; 5
              @!p1 r5 = LOP3.LUT RZ, r2, RZ, #51, !PT tied(r4) ; 2
            b1: -> b2
              r6 = LDG.E [{r0 r0}+0x8] mem(global r) ; 6
              r14 = Undefined ; 8
              @p1 r7 = LDG.E [{r0 r5}] tied(r14) mem(global r) ; 8
              r8 = SEL r7, r6, p1 ; 7
            b2: -> b3
              r9 = IADD3 r0, 0x5, RZ ; 9
              @p1 r10 = LDG.E [{r0 r0}+0x10] tied(r9) mem(global r) ; 11
              r11 = Copy r10 ; 10
            b3:
              STG.E [0x8], r8 mem(global w) ; 12
              STG.E [0xc], r11 mem(global w) ; 12
              EXIT ; 13
        "#]],
    );
}

#[test]
fn a_barrier_stays_behind_its_branch() {
    let text = "
kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT r0, 0x3, PT ; 1
  @p1 BRA b2 ; 2
b1: -> b2
  BAR.SYNC #0 ; 3
b2:
  EXIT ; 7
";
    let before = parse(text).unwrap();
    let mut after = before.clone();
    predication::run(&mut after, None);
    assert!(after == before);
}

/// The pass merges straight lines, since the schedulers see one block at a time; its switch disables that.
#[test]
fn straight_lines_are_joined() {
    let text = "
kernel
b0: -> b1 b2
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT r0, 0x3, PT ; 1
  @!p1 BRA b1 ; 2
b1: -> b2
  r2 = IADD3 r0, 0x1, RZ ; 3
b2: -> b3
  r4 = phi b0: 0x7, b1: r2
  STG.E [0x4], r4 mem(global w) ; 4
b3:
  STG.E [0x8], r0 mem(global w) ; 5
  EXIT ; 6
";
    let run = |options: &oriole_options::Options| {
        let mut function = parse(text).unwrap();
        let options = &options.passes();
        let context = PassContext {
            chip: oriole_chip::Chip::SM_90,
            form: Form::Ssa,
            options,
            decisions: None,
            allowance: None,
        };
        assert_eq!((predication::PASS.run)(&mut function, &context), Outcome::Changed);
        assert_verified(&function, Form::Ssa, "after");
        function
    };
    expect![[r#"
        kernel params=0 barriers=0
          value r3
        b0:
          r0 = S2R %(SR_TID.X) ; 0
          p1, PT = ISETP.AND.LT r0, 0x3, PT ; 1
          r2 = IADD3 r0, 0x1, RZ ; 3
          r4 = SEL r2, 0x7, !p1 ; 2
          STG.E [0x4], r4 mem(global w) ; 4
          STG.E [0x8], r0 mem(global w) ; 5
          EXIT ; 6
    "#]]
    .assert_eq(&run(&oriole_options::Options::default()).to_string());
    let mut apart = oriole_options::Options::default();
    apart.switch_on("no-join-blocks").unwrap();
    assert_eq!(run(&apart).blocks.len(), 3);
}

/// A fresh result that is selected instead of a value that is dead after it overwrites that value; where the value is
/// read again, the selection stays.
#[test]
fn selections_become_guarded_instructions() {
    let mut function = parse(
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_TID.Y) ; 0
  p2, PT = ISETP.AND.GE r0, r1, PT ; 1
  r3 = IADD3 r0, -r1, RZ ; 2
  r4 = IADD3 r1, 0x1, RZ ; 3
  r5 = SEL r4, r1, p2 ; 4
  r6 = SEL r3, r0, p2 ; 5
  STS [r1], r5 mem(shared w) ; 6
  STS [r1], r6 mem(shared w) ; 7
  EXIT ; 8
",
    )
    .unwrap();
    assert!(guarded_selections::run(&mut function));
    assert_verified(&function, Form::Ssa, "after");
    expect![[r#"
        kernel params=0 barriers=0
          value r3
        b0:
          r0 = S2R %(SR_TID.X) ; 0
          r1 = S2R %(SR_TID.Y) ; 0
          p2, PT = ISETP.AND.GE r0, r1, PT ; 1
          r4 = IADD3 r1, 0x1, RZ ; 3
          r5 = SEL r4, r1, p2 ; 4
          @p2 r6 = IADD3 r0, -r1, RZ tied(r0) ; 5
          STS [r1], r5 mem(shared w) ; 6
          STS [r1], r6 mem(shared w) ; 7
          EXIT ; 8
    "#]]
    .assert_eq(&function.to_string());
}
