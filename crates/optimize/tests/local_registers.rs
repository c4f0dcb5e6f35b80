//! Local variables in registers.

use expect_test::{Expect, expect};
use oriole_optimize::passes::local_registers;
use oriole_ori::{Form, parse, verify};

fn check(text: &str, expected: Expect) {
    let mut function = parse::parse(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    verify(&function, Form::Ssa).expect("in SSA");
    local_registers::run(&mut function);
    verify(&function, Form::Ssa).expect("still in SSA");
    let lines = function.to_string();
    let lines = lines.lines().filter(|line| !line.starts_with("  value") && !line.starts_with("  symbol"));
    expected.assert_eq(&lines.map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn words_and_parts_of_words_are_in_registers() {
    check(
        "kernel
  symbol s0 local(0) \"a\"
  local l0 size=16 align=8
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = FrameAddress low(s0) ; 1
  r2 = IADD3 r1, 0x4, RZ ; 1
  STL.64 [r1], {r0 r0} mem(local w) ; 2
  STL.U8 [r1+0x2], RZ mem(local w) ; 3
  STL.U16 [r2+0x2], r0 mem(local w) ; 4
  {r3 r4} = LDL.64 [r1] mem(local r) ; 5
  r5 = LDL.S8 [r1+0x7] mem(local r) ; 6
  r6 = LDL.U16 [r1+0x2] mem(local r) ; 7
  r7 = LDL [r2] mem(local r) ; 8
  EXIT ; 9
",
        expect![[r#"
            kernel params=0 barriers=0
              local l0 size=0 align=1
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r1 = FrameAddress low(s0) ; 1
              r2 = IADD3 r1, 0x4, RZ ; 1
              r8 = Copy r0 ; 2
              r9 = Copy r0 ; 2
              r12 = PRMT r8, 0x3410, RZ ; 3
              r13 = PRMT r9, 0x5410, r0 ; 4
              r3 = Copy r12 ; 5
              r4 = Copy r13 ; 5
              r5 = PRMT r13, 0xbbb3, RZ ; 6
              r6 = PRMT r12, 0x4432, RZ ; 7
              r7 = Copy r13 ; 8
              EXIT ; 9
        "#]],
    );
}

#[test]
fn paths_meet_in_phis_and_guards_keep_old_words() {
    check(
        "kernel
  symbol s0 local(0) \"a\"
  local l0 size=4 align=4
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT r0, 0x7, PT ; 0
  r2 = FrameAddress low(s0) ; 1
  STL [r2], r0 mem(local w) ; 1
  @p1 BRA b2 ; 2
b1: -> b3
  STL [r2], RZ mem(local w) ; 3
b2: -> b3
  @p1 STL [r2], r0 mem(local w) ; 4
b3:
  @!p1 r3 = LDL [r2] tied(r0) mem(local r) ; 5
  STG.E [{r0 r0}], r3 mem(global w) ; 6
  EXIT ; 7
",
        expect![[r#"
            kernel params=0 barriers=0
              local l0 size=0 align=1
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.LT r0, 0x7, PT ; 0
              r2 = FrameAddress low(s0) ; 1
              r4 = Copy r0 ; 1
              @p1 BRA b2 ; 2
            b1: -> b3
              r5 = Copy RZ ; 3
            b2: -> b3
              @p1 r6 = Copy r0 tied(r4) ; 4
            b3:
              r7 = phi b1: r5, b2: r6
              @!p1 r3 = Copy r7 tied(r0) ; 5
              STG.E [{r0 r0}], r3 mem(global w) ; 6
              EXIT ; 7
        "#]],
    );
}

#[test]
fn loads_at_computed_addresses_compare() {
    check(
        "kernel
  symbol s0 local(0) \"a\"
  local l0 size=12 align=4
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = FrameAddress low(s0) ; 1
  STL [r1], r0 mem(local w) ; 1
  STL [r1+0x4], RZ mem(local w) ; 1
  r2 = IADD3 r0, r0, RZ ; 2
  r3 = IADD3 r1, r2, RZ ; 2
  r4 = IADD3 r3, 0x4, RZ ; 2
  r5 = LDL [r4+0x4] mem(local r) ; 3
  STG.E [{r0 r0}], r5 mem(global w) ; 4
  EXIT ; 5
",
        expect![[r#"
            kernel params=0 barriers=0
              local l0 size=0 align=1
            b0:
              r15 = Undefined ; 0
              r0 = S2R %(SR_TID.X) ; 0
              r1 = FrameAddress low(s0) ; 1
              r6 = Copy r0 ; 1
              r7 = Copy RZ ; 1
              r2 = IADD3 r0, r0, RZ ; 2
              r3 = IADD3 r1, r2, RZ ; 2
              r4 = IADD3 r3, 0x4, RZ ; 2
              r9 = FrameAddress low(s0) ; 3
              r10 = IADD3 r4, 0x4, -r9 ; 3
              p11, PT = ISETP.AND.EQ.U32 r10, 0x4, PT ; 3
              r12 = SEL r7, r6, p11 ; 3
              p13, PT = ISETP.AND.EQ.U32 r10, 0x8, PT ; 3
              r14 = SEL r15, r12, p13 ; 3
              r5 = Copy r14 ; 3
              STG.E [{r0 r0}], r5 mem(global w) ; 4
              EXIT ; 5
        "#]],
    );
}

const STAYS: [(&str, &str); 9] = [
    ("a store at an index", "  r3 = IADD3 r1, r0, RZ ; 2\n  STL [r3], r0 mem(local w) ; 2\n"),
    ("a difference", "  r3 = IADD3 r0, -r1, RZ ; 2\n  r4 = LDL [r3] mem(local r) ; 2\n"),
    ("a byte at an index", "  r3 = IADD3 r1, r0, RZ ; 2\n  r4 = LDL.U8 [r3] mem(local r) ; 2\n"),
    ("the address as a word", "  STG.E [{r0 r0}], r1 mem(global w) ; 2\n"),
    ("the address stored in itself", "  STL [r1], r1 mem(local w) ; 2\n"),
    ("an unaligned word", "  STL [r1+0x2], r0 mem(local w) ; 2\n"),
    ("bytes behind the variable", "  STL [r1+0x8], r0 mem(local w) ; 2\n"),
    ("a bare address", "  r3 = LDL [0x10] mem(local r) ; 2\n"),
    ("a cache hint that is not known", "  r3 = LDL.LU [r1] mem(local r) ; 2\n"),
];

#[test]
fn other_uses_keep_a_variable_in_memory() {
    for (why, line) in STAYS {
        let text = format!(
            "kernel
  symbol s0 local(0) \"a\"
  local l0 size=8 align=4
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = FrameAddress low(s0) ; 1
  STL [r1], r0 mem(local w) ; 1
{line}  r2 = LDL [r1] mem(local r) ; 3
  EXIT ; 4
"
        );
        let mut function = parse::parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        verify(&function, Form::Ssa).expect("in SSA");
        assert!(!local_registers::run(&mut function), "{why}\n{function}");
    }
}
