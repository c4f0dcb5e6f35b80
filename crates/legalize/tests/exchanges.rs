//! Exchanges that lanes may reach at several places, before and after phase 5.

use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_legalize::exchanges;
use oriole_ori::{Form, parse, verify};

fn check(input: &str, expected: &Expect) {
    let mut function = parse(input).expect("a function");
    exchanges::run(&mut function, Chip::SM_90);
    assert_eq!(verify(&function, Form::Plain), Ok(()));
    expected.assert_eq(&function.to_string());
}

#[test]
fn lanes_of_two_arms_meet_in_a_routine() {
    check(
        "kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT.U32 r0, 0x10, PT ; 1
  @p1 BRA b2 ; 2
b1: -> b3
  WARPSYNC.ALL ; 3
  PT, r2 = SHFL.BFLY r0, #16, #31 ; 3
  BRA b3 ; 4
b2: -> b3
  WARPSYNC.ALL ; 5
  PT, r2 = SHFL.BFLY r0, #8, #31 ; 5
b3:
  EXIT ; 6
",
        &expect![[r#"
            kernel params=0 barriers=0
              symbol s0 helper "oriole.shuffle_bfly"
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.LT.U32 r0, 0x10, PT ; 1
              @p1 BRA b2 ; 2
            b1: -> b8 b7
              r10, PT = VOTE.ANY PT ; 3
              p11, PT = ISETP.AND.EQ.U32 r10, 0xffffffff, PT ; 3
              @!p11 BRA b8 ; 3
            b2: -> b5 b4
              r3, PT = VOTE.ANY PT ; 5
              p4, PT = ISETP.AND.EQ.U32 r3, 0xffffffff, PT ; 5
              @!p4 BRA b5 ; 5
            b3:
              EXIT ; 6
            b4: -> b6
              PT, r2 = SHFL.BFLY r0, #8, #31 ; 5
            b5: cold -> b6
              r5 = MOV 0x8 ; 5
              r6 = MOV 0x1f ; 5
              r7 = MOV 0xffffffff ; 5
              r8, r9 = CallHelper r0, r5, r6, r7 call(s0 stack=0 clobbers=fd,0,0,0 predicates=3 exchanges) ; 5
              r2 = Copy r8 ; 5
              BRA b6 ; 5
            b6: -> b3
            b7: -> b9
              PT, r2 = SHFL.BFLY r0, #16, #31 ; 3
            b8: cold -> b9
              r12 = MOV 0x10 ; 3
              r13 = MOV 0x1f ; 3
              r14 = MOV 0xffffffff ; 3
              r15, r16 = CallHelper r0, r12, r13, r14 call(s0 stack=0 clobbers=fd,0,0,0 predicates=3 exchanges) ; 3
              r2 = Copy r15 ; 3
              BRA b9 ; 3
            b9: -> b3
              BRA b3 ; 4
        "#]],
    );
}

#[test]
fn exchanges_in_a_row_ask_once() {
    check(
        "kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDC c[0][0x160] ; 0
  p5, PT = ISETP.AND.LT.U32 r0, 0x10, PT ; 1
  @p5 BRA b2 ; 2
b1: -> b3
  WARPSYNC r1 ; 3
  p6, r2 = SHFL.UP r0, #16, #0 ; 3
  r3 = IADD3 r2, r0, RZ ; 4
  WARPSYNC r1 ; 5
  @p6 r4, PT = VOTE.ANY p6 ; 5
  BRA b3 ; 6
b2: -> b3
  WARPSYNC.ALL ; 7
  p6, r2 = SHFL.UP r0, #16, #0 ; 7
  WARPSYNC.ALL ; 8
  r4, PT = VOTE.ANY !p6 ; 8
b3:
  EXIT ; 8
",
        &expect![[r#"
            kernel params=0 barriers=0
              symbol s0 helper "oriole.shuffle_up"
              symbol s1 helper "oriole.vote_any"
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              r1 = LDC c[0][0x160] ; 0
              p5, PT = ISETP.AND.LT.U32 r0, 0x10, PT ; 1
              @p5 BRA b2 ; 2
            b1: -> b8 b7
              r19, PT = VOTE.ANY PT ; 3
              r21 = LOP3.LUT r19, r1, RZ, #12, !PT ; 3
              p20, PT = ISETP.AND.EQ.U32 r21, RZ, PT ; 3
              @!p20 BRA b8 ; 3
            b2: -> b5 b4
              r7, PT = VOTE.ANY PT ; 7
              p8, PT = ISETP.AND.EQ.U32 r7, 0xffffffff, PT ; 7
              @!p8 BRA b5 ; 7
            b3:
              EXIT ; 8
            b4: -> b6
              p6, r2 = SHFL.UP r0, #16, #0 ; 7
              r4, PT = VOTE.ANY !p6 ; 8
            b5: cold -> b6
              r9 = MOV 0x10 ; 7
              r10 = MOV 0x0 ; 7
              r11 = MOV 0xffffffff ; 7
              r12, r13 = CallHelper r0, r9, r10, r11 call(s0 stack=0 clobbers=fd,0,0,0 predicates=3 exchanges) ; 7
              r2 = Copy r12 ; 7
              p6, PT = ISETP.AND.NE.U32 r13, RZ, PT ; 7
              r15 = MOV 0x1 ; 8
              r14 = SEL r15, RZ, !p6 ; 8
              r16 = MOV 0xffffffff ; 8
              r17, r18 = CallHelper r14, r16 call(s1 stack=0 clobbers=fd,0,0,0 predicates=3 exchanges) ; 8
              r4 = Copy r17 ; 8
              BRA b6 ; 8
            b6: -> b3
            b7: -> b9
              p6, r2 = SHFL.UP r0, #16, #0 ; 3
              r3 = IADD3 r2, r0, RZ ; 4
              @p6 r4, PT = VOTE.ANY p6 ; 5
            b8: cold -> b11 b10
              r22 = MOV 0x10 ; 3
              r23 = MOV 0x0 ; 3
              r24, r25 = CallHelper r0, r22, r23, r1 call(s0 stack=0 clobbers=fd,0,0,0 predicates=3 exchanges) ; 3
              r2 = Copy r24 ; 3
              p6, PT = ISETP.AND.NE.U32 r25, RZ, PT ; 3
              r3 = IADD3 r2, r0, RZ ; 4
              @!p6 BRA b11 ; 5
            b9: -> b3
              BRA b3 ; 6
            b10: cold -> b11
              r27 = MOV 0x1 ; 5
              r26 = SEL r27, RZ, p6 ; 5
              r28, r29 = CallHelper r26, r1 call(s1 stack=0 clobbers=fd,0,0,0 predicates=3 exchanges) ; 5
              r4 = Copy r28 ; 5
            b11: cold -> b9
              BRA b9 ; 5
        "#]],
    );
}

#[test]
fn one_arm_or_two_masks_or_two_kinds_stay() {
    for (first, second) in [
        ("BAR.SYNC #0 ; 3", "WARPSYNC.ALL ; 5\n  PT, r2 = SHFL.BFLY r0, #8, #31 ; 5"),
        (
            "WARPSYNC #255 ; 3\n  PT, r2 = SHFL.BFLY r0, #8, #31 ; 3",
            "WARPSYNC #65280 ; 5\n  PT, r2 = SHFL.BFLY r0, #8, #31 ; 5",
        ),
        (
            "WARPSYNC.ALL ; 3\n  PT, r2 = SHFL.BFLY r0, #8, #31 ; 3",
            "WARPSYNC.ALL ; 5\n  PT, r2 = SHFL.IDX r0, #8, #31 ; 5",
        ),
    ] {
        let text = format!(
            "kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT.U32 r0, 0x10, PT ; 1
  @p1 BRA b2 ; 2
b1: -> b3
  {first}
  BRA b3 ; 4
b2: -> b3
  {second}
b3:
  EXIT ; 6
"
        );
        let mut function = parse(&text).expect("a function");
        assert!(!exchanges::run(&mut function, Chip::SM_90), "{function}");
    }
}
