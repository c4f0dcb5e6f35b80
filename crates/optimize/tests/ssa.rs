//! Entering and leaving SSA, dead code, branches, convergence barriers: the behaviour of random functions is
//! preserved.

use crate::common::*;
use expect_test::{Expect, expect};
use oriole_optimize::{
    passes::branch_opt, passes::convert_mov_phi, passes::expand_sync, passes::generate_mov_phi,
    passes::live_dead,
};
use oriole_ori::{Form, Function, canonical, parse};

const SEEDS: u64 = 200;

#[test]
fn random_functions_survive_the_round_trip() {
    for seed in 0..SEEDS {
        let original = random_function(seed);
        let what = format!("seed {seed}");
        assert_verified(&original, Form::Plain, &what);
        let before = evaluator::run(&original, &world(seed + 1));

        let mut function = original.clone();
        generate_mov_phi::run(&mut function);
        assert_verified(&function, Form::Ssa, &what);
        assert_same(&before, &evaluator::run(&function, &world(seed + 1)), &format!("{what} in SSA"));

        live_dead::run(&mut function);
        assert_verified(&function, Form::Ssa, &what);
        assert_same(
            &before,
            &evaluator::run(&function, &world(seed + 1)),
            &format!("{what} without dead code"),
        );

        convert_mov_phi::run(&mut function);
        assert_verified(&function, Form::Plain, &what);
        assert_same(&before, &evaluator::run(&function, &world(seed + 1)), &format!("{what} out of SSA"));
        canonical::canonicalize(&mut function);
        assert_verified(&function, Form::Plain, &what);
    }
}

#[test]
fn branch_optimization_keeps_meaning() {
    for seed in 0..SEEDS {
        let original = random_function(seed);
        let what = format!("seed {seed}");
        let before = evaluator::run(&original, &world(seed + 1));
        let mut function = original.clone();
        branch_opt::run(&mut function);
        assert_verified(&function, Form::Plain, &what);
        assert_same(&before, &evaluator::run(&function, &world(seed + 1)), &what);
        live_dead::run(&mut function);
        assert_verified(&function, Form::Plain, &what);
        assert_same(&before, &evaluator::run(&function, &world(seed + 1)), &what);
    }
}

/// Lanes reconverge where the analysis says, no lane waits forever, and none waits at a barrier of others.
#[test]
fn barriers_gather_the_warp() {
    let mut barriers = 0;
    for seed in 0..SEEDS {
        let original = random_function(seed);
        let what = format!("seed {seed}");
        let before = evaluator::run(&original, &world(7));
        let mut function = original.clone();
        if seed % 2 == 0 {
            branch_opt::run(&mut function);
        }
        generate_mov_phi::run(&mut function);
        let _ = expand_sync::run(&mut function, true);
        assert_verified(&function, Form::Ssa, &what);
        barriers += count(&function, |i| i.opcode == oriole_sass::Op::BSSY.into());
        for schedule in [3, 99, 12345] {
            let world = checking_world(&function, schedule);
            let run = std::panic::catch_unwind(|| evaluator::run(&function, &world));
            let Ok(after) = run else { panic!("{what}, schedule {schedule}\n{function}") };
            assert_same(&before, &after, &what);
        }
        convert_mov_phi::run(&mut function);
        assert_verified(&function, Form::Plain, &what);
        let world = checking_world(&function, seed + 5);
        let run = std::panic::catch_unwind(|| evaluator::run(&function, &world));
        let Ok(after) = run else { panic!("{what} out of SSA\n{function}") };
        assert_same(&before, &after, &what);
    }
    assert!(barriers > 30, "only {barriers} barriers were placed");
}

fn check(text: &str, pass: impl Fn(&mut Function), expected: Expect) {
    let mut function = parse(text).unwrap();
    pass(&mut function);
    expected.assert_eq(&function.to_string());
}

#[test]
fn a_swap_in_a_loop() {
    check(
        "
kernel
b0: -> b1
  r0 = MOV 0x1 ; 0
  r1 = MOV 0x2 ; 1
  r3 = S2R %(SR_TID.X) ; 2
b1: -> b1 b2
  r2 = Copy r0 ; 3
  r0 = Copy r1 ; 4
  r1 = Copy r2 ; 5
  r3 = IADD3 r3, 0xffffffff, RZ ; 6
  p4, PT = ISETP.AND.NE r3, RZ, PT ; 7
  @p4 BRA b1 ; 8
b2:
  STG [0x0], r0 mem(global w) ; 9
  EXIT ; 10
",
        |function| {
            generate_mov_phi::run(function);
            convert_mov_phi::run(function);
        },
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b1
              r0 = MOV 0x1 ; 0
              r1 = MOV 0x2 ; 1
              r3 = S2R %(SR_TID.X) ; 2
              r5, r6, r7 = ParallelCopy r0, r1, r3 ; 2
            b1: -> b3 b2
              r2 = Copy r5 ; 3
              r8 = Copy r6 ; 4
              r9 = Copy r2 ; 5
              r10 = IADD3 r7, 0xffffffff, RZ ; 6
              p4, PT = ISETP.AND.NE r10, RZ, PT ; 7
              @p4 BRA b3 ; 8
            b2:
              STG [0x0], r8 mem(global w) ; 9
              EXIT ; 10
            b3: -> b1
              r5, r6, r7 = ParallelCopy r8, r9, r10 ; 8
        "#]],
    );
}

#[test]
fn a_guarded_write_lists_the_old_value() {
    check(
        "
kernel
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT r0, 0x3, PT ; 1
  @p1 r0 = MOV 0x7 ; 2
  @!p1 r2 = MOV 0x8 ; 3
b1:
  STG [0x0], r0 mem(global w) ; 4
  STG [0x4], r2 mem(global w) ; 4
  EXIT ; 5
",
        generate_mov_phi::run,
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b1
              r4 = Undefined ; 0
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.LT r0, 0x3, PT ; 1
              @p1 r3 = MOV 0x7 tied(r0) ; 2
              @!p1 r2 = MOV 0x8 tied(r4) ; 3
            b1:
              STG [0x0], r3 mem(global w) ; 4
              STG [0x4], r2 mem(global w) ; 4
              EXIT ; 5
        "#]],
    );
}

/// Of two loads by half the lanes each, the second keeps the result of the first.
#[test]
fn loads_of_half_the_lanes_list_the_old_value() {
    check(
        "
kernel
b0:
  u0 = UMOV 0x0 ; 0
  {r1 r2} = LDTM.16dp32bit_t0_t15.x2 [^u0] mem(generic rw ordered) ; 1
  {r1 r2} = LDTM.16dp32bit_t16_t31.x2 [^u0+0x8] mem(generic rw ordered) ; 1
  STG.64 [0x0], {r1 r2} mem(global w) ; 2
  EXIT ; 3
",
        generate_mov_phi::run,
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              u0 = UMOV 0x0 ; 0
              {r1 r2} = LDTM.16dp32bit_t0_t15.x2 [^u0] mem(generic rw ordered) ; 1
              {r3 r4} = LDTM.16dp32bit_t16_t31.x2 [^u0+0x8] tied(r1 r2) mem(generic rw ordered) ; 1
              STG.64 [0x0], {r3 r4} mem(global w) ; 2
              EXIT ; 3
        "#]],
    );
}

/// A constant that a guarded write keeps is copied straight into the result register, whatever else reads it.
#[test]
fn a_constant_old_value_is_copied_as_such() {
    check(
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT r0, 0x3, PT ; 1
  r2 = Copy RZ ; 2
  r3 = MOV 0x7 ; 2
  @p1 {r4 r5} = LDG.64 [0x0] tied(r2 r3) mem(global r) ; 3
  @p1 r6 = LDG [0x8] tied(r0) mem(global r) ; 4
  STG [0x10], r2 mem(global w) ; 5
  STG.64 [0x18], {r4 r5} mem(global w) ; 5
  STG [0x20], r6 mem(global w) ; 5
  EXIT ; 6
",
        convert_mov_phi::run,
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.LT r0, 0x3, PT ; 1
              r2 = Copy RZ ; 2
              r3 = MOV 0x7 ; 2
              r4, r5 = ParallelCopy RZ, 0x7 ; 3
              @p1 {r4 r5} = LDG.64 [0x0] mem(global r) ; 3
              r6 = ParallelCopy r0 ; 4
              @p1 r6 = LDG [0x8] mem(global r) ; 4
              STG [0x10], r2 mem(global w) ; 5
              STG.64 [0x18], {r4 r5} mem(global w) ; 5
              STG [0x20], r6 mem(global w) ; 5
              EXIT ; 6
        "#]],
    );
}

#[test]
fn returns_are_one() {
    check(
        "
function
b0: -> b2 b1
  r0 = Parameters ; 0
  p1, PT = ISETP.AND.LT r0, 0x3, PT ; 1
  @p1 BRA b2 ; 2
b1:
  Return r0 ; 3
b2:
  r2 = MOV 0x5 ; 4
  Return r2 ; 5
",
        generate_mov_phi::run,
        expect![[r#"
            function params=0 barriers=0
            b0: -> b2 b1
              r0 = Parameters ; 0
              p1, PT = ISETP.AND.LT r0, 0x3, PT ; 1
              @p1 BRA b2 ; 2
            b1: -> b3
              r3 = Copy r0 ; 3
              BRA b3 ; 3
            b2: -> b3
              r2 = MOV 0x5 ; 4
              r4 = Copy r2 ; 5
              BRA b3 ; 5
            b3:
              r5 = phi b1: r3, b2: r4
              Return r5 ; 3
        "#]],
    );
}

#[test]
fn a_loop_that_lanes_leave_one_by_one() {
    check(
        "
kernel
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
b1: -> b3 b2
  p1, PT = ISETP.AND.EQ r0, RZ, PT ; 1
  @p1 BRA b3 ; 2
b2: -> b1
  r0 = IADD3 r0, 0xffffffff, RZ ; 3
  BRA b1 ; 4
b3:
  STG [0x0], r0 mem(global w) ; 5
  EXIT ; 6
",
        |function| {
            generate_mov_phi::run(function);
            let _ = expand_sync::run(function, true);
        },
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b1
              r0 = S2R %(SR_TID.X) ; 0
            b1: -> b2
              x4 = BSSY b4 ; 1
            b2: -> b4 b3
              r2 = phi b1: r0, b3: r3
              p1, PT = ISETP.AND.EQ r2, RZ, PT ; 1
              @p1 BRA b4 ; 2
            b3: -> b2
              r3 = IADD3 r2, 0xffffffff, RZ ; 3
              BRA b2 ; 4
            b4: -> b5
              BSYNC x4 ; 4
            b5:
              STG [0x0], r2 mem(global w) ; 5
              EXIT ; 6
        "#]],
    );
}

/// Lanes with different targets return from an indirect call at different times, and reconverge right after it. With
/// one target for all, nothing diverges.
#[test]
fn lanes_meet_after_an_indirect_call() {
    let text = "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  TARGET ; 1
  r3 = MOV 0x7 ; 2
  r4 = Call r3, {r1 r2} mem(generic rw ordered) call(indirect stack=0 clobbers=f0fff3,0,0,0 predicates=7f uniform) ; 3
  WARPSYNC.ALL ; 4
  r5, PT = VOTE.ANY PT ; 4
  STG [0x0], r5 mem(global w) ; 5
  EXIT ; 6
";
    let passes = |function: &mut Function| {
        generate_mov_phi::run(function);
        let _ = expand_sync::run(function, true);
    };
    check(
        &text.replace("TARGET", "{r1 r2} = LDG.64 [r0] mem(global r)"),
        passes,
        expect![[r#"
        kernel params=0 barriers=0
        b0: -> b1
          r0 = S2R %(SR_TID.X) ; 0
          {r1 r2} = LDG.64 [r0] mem(global r) ; 1
          r3 = MOV 0x7 ; 2
          x6 = BSSY b1 ; 3
          r4 = Call r3, {r1 r2} mem(generic rw ordered) call(indirect stack=0 clobbers=f0fff3,0,0,0 predicates=7f uniform) ; 3
        b1: -> b2
          BSYNC x6 ; 3
        b2:
          r5, PT = VOTE.ANY PT ; 4
          STG [0x0], r5 mem(global w) ; 5
          EXIT ; 6
    "#]],
    );
    check(
        &text.replace("TARGET", "{r1 r2} = LDC.64 c[0][0x210]"),
        passes,
        expect![[r#"
        kernel params=0 barriers=0
        b0: -> b1
          r0 = S2R %(SR_TID.X) ; 0
          {r1 r2} = LDC.64 c[0][0x210] ; 1
          r3 = MOV 0x7 ; 2
          r4 = Call r3, {r1 r2} mem(generic rw ordered) call(indirect stack=0 clobbers=f0fff3,0,0,0 predicates=7f uniform) ; 3
        b1:
          r5, PT = VOTE.ANY PT ; 4
          STG [0x0], r5 mem(global w) ; 5
          EXIT ; 6
    "#]],
    );
}

#[test]
fn an_exit_is_taken_in_place() {
    check(
        "
kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.GE r0, 0x3, PT ; 1
  @p1 BRA b2 ; 2
b1: -> b2
  STG [0x0], r0 mem(global w) ; 3
b2:
  EXIT ; 4
",
        branch_opt::run,
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.GE r0, 0x3, PT ; 1
              @p1 EXIT ; 2
              STG [0x0], r0 mem(global w) ; 3
              EXIT ; 4
        "#]],
    );
}

#[test]
fn a_warpsync_of_all_goes_where_all_are() {
    check(
        "
kernel
b0: -> b2 b1
  WARPSYNC 0xffffffff ; 0
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.GE r0, 0x3, PT ; 1
  @p1 BRA b2 ; 2
b1: -> b2
  WARPSYNC 0xffffffff ; 3
b2:
  STG [0x0], r0 mem(global w) ; 3
  EXIT ; 4
",
        |function| {
            expand_sync::remove_warp_syncs(function);
        },
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.GE r0, 0x3, PT ; 1
              @p1 BRA b2 ; 2
            b1: -> b2
              WARPSYNC 0xffffffff ; 3
            b2:
              STG [0x0], r0 mem(global w) ; 3
              EXIT ; 4
        "#]],
    );
}

/// Lanes that exchange stay together until something parts them; those that only wait may be at several places.
#[test]
fn lanes_that_exchange_meet_once() {
    check(
        "
kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.GE r0, 0x3, PT ; 1
  @p1 BRA b2 ; 2
b1: -> b2
  WARPSYNC 0xffffffff ; 3
  WARPSYNC 0xffffffff ; 4
  PT, r2 = SHFL.BFLY r0, #16, #31 ; 4
  WARPSYNC 0xffffffff ; 5
  r3 = IADD3 r0, r2, RZ ; 5
  PT, r4 = SHFL.BFLY r3, #8, #31 ; 5
  WARPSYNC 0xffffffff ; 6
  WARPSYNC 0xffffffff ; 7
  PT, r5 = SHFL.BFLY r4, #4, #31 ; 7
  STG [0x0], r5 mem(global w) ; 8
  WARPSYNC 0xffffffff ; 9
  PT, r6 = SHFL.BFLY r4, #4, #31 ; 9
  STG [0x0], r6 mem(global w) ; 9
b2:
  STG [0x0], r0 mem(global w) ; 10
  EXIT ; 10
",
        |function| {
            expand_sync::remove_warp_syncs(function);
        },
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.GE r0, 0x3, PT ; 1
              @p1 BRA b2 ; 2
            b1: -> b2
              WARPSYNC 0xffffffff ; 3
              WARPSYNC 0xffffffff ; 4
              PT, r2 = SHFL.BFLY r0, #16, #31 ; 4
              r3 = IADD3 r0, r2, RZ ; 5
              PT, r4 = SHFL.BFLY r3, #8, #31 ; 5
              WARPSYNC 0xffffffff ; 6
              WARPSYNC 0xffffffff ; 7
              PT, r5 = SHFL.BFLY r4, #4, #31 ; 7
              STG [0x0], r5 mem(global w) ; 8
              WARPSYNC 0xffffffff ; 9
              PT, r6 = SHFL.BFLY r4, #4, #31 ; 9
              STG [0x0], r6 mem(global w) ; 9
            b2:
              STG [0x0], r0 mem(global w) ; 10
              EXIT ; 10
        "#]],
    );
}

fn barriers(text: &str) -> Vec<String> {
    let mut function = parse(text).unwrap_or_else(|error| panic!("{error}"));
    generate_mov_phi::run(&mut function);
    let _ = expand_sync::run(&mut function, true);
    let names = |op: oriole_sass::Op| matches!(op.name(), "BSSY" | "BSYNC" | "BREAK");
    let blocks = function.blocks.iter_enumerated();
    let all =
        blocks.flat_map(|(id, block)| block.instructions.iter().map(move |instruction| (id, instruction)));
    let barriers = all.filter_map(|(id, instruction)| match instruction.opcode {
        oriole_ori::Opcode::Sass(op) if names(op) => Some(format!("{id} {}", op.name())),
        _ => None,
    });
    barriers.collect()
}

/// A branch of single lanes in a loop, which reconverge after it before the next iteration.
const ROUNDS: &str = "
kernel
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 0
b1: -> b3 b2
  r0 = IADD3 r0, 0xffffffff, RZ ; 1
  p1, PT = ISETP.AND.GE r0, 0x3, PT ; 1
  @p1 BRA b3 ; 2
b2: -> b3
  STG [0x0], r0 mem(global w) ; 3
b3: -> b1
  p2, PT = ISETP.AND.LT r0, RZ, PT ; 4
";

/// A cycle may end without a block after it.
#[test]
fn threads_meet_in_cycles_that_they_leave_by_exits_only() {
    let exits = format!("{ROUNDS}  @p2 EXIT ; 5\n  BRA b1 ; 6\n");
    assert_eq!(barriers(&exits), ["b1 BSSY", "b4 BSYNC"]);
    // Lanes that never end never reach a join.
    let endless = format!("{ROUNDS}  BRA b1 ; 6\n");
    assert!(barriers(&endless).is_empty());
}

/// A cycle with two entries has no barrier around or in it; code next to it has.
#[test]
fn cycles_with_two_entries_have_no_barriers_and_others_have() {
    let text = "
kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.GE r0, 0x3, PT ; 1
  @p1 BRA b2 ; 2
b1: -> b2
  STG [0x0], r0 mem(global w) ; 3
b2: -> b6 b3
  p2, PT = ISETP.AND.GE r0, 0x5, PT ; 4
  @p2 BRA b6 ; 5
b3: -> b5 b4
  STG [0x4], r0 mem(global w) ; 6
  p3, PT = ISETP.AND.GE r0, 0x6, PT ; 7
  @p3 BRA b5 ; 8
b4: -> b5
  STG [0x8], r0 mem(global w) ; 9
b5: -> b6
  r0 = IADD3 r0, 0xffffffff, RZ ; 10
b6: -> b3 b7
  r0 = IADD3 r0, 0xfffffffe, RZ ; 11
  p4, PT = ISETP.AND.GE r0, RZ, PT ; 12
  @p4 BRA b3 ; 13
b7: -> b9 b8
  p5, PT = ISETP.AND.GE r0, 0x7, PT ; 14
  @p5 BRA b9 ; 15
b8: -> b9
  STG [0xc], r0 mem(global w) ; 16
b9:
  STG [0x10], r0 mem(global w) ; 17
  EXIT ; 18
";
    assert_eq!(barriers(text), ["b0 BSSY", "b3 BSYNC", "b8 BSSY", "b11 BSYNC"]);
}

/// Lanes that wait together for an mbarrier get one result, and so do voters: they need no reconvergence.
#[test]
fn lanes_that_get_one_answer_stay_together() {
    let text = |answer: &str| {
        format!(
            "
kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.GE r0, 0x3, PT ; 1
  @p1 BRA b2 ; 2
b1: -> b1 b2
  r3 = LDC c[0][0x210] ; 3
  {answer} ; 4
  @!p2 BRA b1 ; 5
b2:
  STG [0x10], r0 mem(global w) ; 17
  EXIT ; 18
"
        )
    };
    let count = |answer: &str| barriers(&text(answer)).len();
    assert_eq!(count("p2 = SYNCS.PHASECHK.TRANS64 [r3], r3 mem(generic rw ordered)"), 2);
    assert_eq!(count("RZ, p2 = VOTE.ANY p1"), 2);
    assert_eq!(count("p2, PT = ISETP.AND.GE r0, r3, PT"), 4);
    // The result of a query by lanes on different mbarriers is not uniform.
    assert_eq!(count("p2 = SYNCS.PHASECHK.TRANS64 [r0], r3 mem(generic rw ordered)"), 4);
}
