//! 64-bit constants that f64 operations read.

use crate::common::*;
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_optimize::{passes::literal_pool, passes::uniform_registers};
use oriole_ori::{Form, Function, parse, verify};

/// 1/3 twice, once as an addend of a multiply with another constant; a constant whose lower word is zero stays an
/// operand.
const TEXT: &str = "kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  {r1 r2} = LDG.64.E [{r0 r0}] mem(global r) ; 1
  r3 = MOV 0x55555555 ; 2
  r4 = MOV 0x3fd55555 ; 2
  r5 = MOV 0x9999999a ; 3
  r6 = MOV 0x3fb99999 ; 3
  {r7 r8} = DFMA {r1 r2}, {r5 r6}, {r3 r4} ; 4
  {r9 r10} = DADD {r7 r8}, -{r3 r4} ; 5
  {r11 r12} = DMUL {r9 r10}, 0x3fe00000 ; 6
  STG.64.E [{r0 r0}], {r11 r12} mem(global w) ; 7
  STG.64.E [{r0 r0}], {r3 r4} mem(global w) ; 8
  EXIT ; 9
";

fn shown(function: &Function, expected: Expect) {
    let text = function.to_string();
    let lines = text.lines().skip(1).filter(|line| !line.contains("S2R") && !line.contains("value"));
    expected.assert_eq(&lines.map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn numbers_come_from_a_constant_bank() {
    let mut function = parse::parse(TEXT).expect("Ori");
    assert!(literal_pool::run(&mut function, Chip::SM_90));
    verify(&function, Form::Ssa).expect("in SSA");
    shown(
        &function,
        expect![[r#"
          table t0 words 0x9999999a 0x3fb99999 0x55555555 0x3fd55555
        b0:
          {r1 r2} = LDG.64.E [{r0 r0}] mem(global r) ; 1
          r3 = MOV 0x55555555 ; 2
          r4 = MOV 0x3fd55555 ; 2
          r5 = MOV 0x9999999a ; 3
          r6 = MOV 0x3fb99999 ; 3
          {r7 r8} = DFMA {r1 r2}, c[2][t0], {r3 r4} ; 4
          {r9 r10} = DADD {r7 r8}, -c[2][t0+0x8] ; 5
          {r11 r12} = DMUL {r9 r10}, 0x3fe00000 ; 6
          STG.64.E [{r0 r0}], {r11 r12} mem(global w) ; 7
          STG.64.E [{r0 r0}], {r3 r4} mem(global w) ; 8
          EXIT ; 9
    "#]],
    );
    let mut other = parse::parse(TEXT).expect("Ori");
    assert!(!literal_pool::run(&mut other, "sm_100".parse().expect("a chip")));
}

#[test]
fn numbers_are_in_uniform_registers_where_no_bank_is_read() {
    let mut function = parse::parse(TEXT).expect("Ori");
    uniform_registers::run(&mut function, "sm_100".parse().expect("a chip"), None);
    assert_verified(&function, Form::Plain, "uniform");
    shown(
        &function,
        expect![[r#"
        b0:
          {r1 r2} = LDG.64.E [{r0 r0}] mem(global r) ; 1
          r3 = MOV 0x55555555 ; 2
          r4 = MOV 0x3fd55555 ; 2
          u17 = UMOV 0x55555555 ; 2
          u18 = UMOV 0x3fd55555 ; 2
          u13 = UMOV 0x9999999a ; 3
          u14 = UMOV 0x3fb99999 ; 3
          {r7 r8} = DFMA {r1 r2}, {u13 u14}, {r3 r4} ; 4
          {r9 r10} = DADD {r7 r8}, -{u17 u18} ; 5
          {r11 r12} = DMUL {r9 r10}, 0x3fe00000 ; 6
          STG.64.E [{r0 r0}], {r11 r12} mem(global w) ; 7
          STG.64.E [{r0 r0}], {r3 r4} mem(global w) ; 8
          EXIT ; 9
    "#]],
    );
}

/// Where only a subset of the warp executes, other lanes could be about to read the registers.
#[test]
fn a_part_of_the_warp_keeps_its_numbers() {
    let parted = "kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT r0, 0x5, PT ; 1
  @p1 BRA b2 ; 1
b1: -> b2
  {r2 r3} = LDG.64.E [{r0 r0}] mem(global r) ; 2
  r4 = MOV 0x55555555 ; 3
  r5 = MOV 0x3fd55555 ; 3
  {r6 r7} = DADD {r2 r3}, {r4 r5} ; 4
  STG.64.E [{r0 r0}], {r6 r7} mem(global w) ; 5
b2:
  STG.E [{r0 r0}], r0 mem(global w) ; 6
  EXIT ; 7
";
    let mut function = parse::parse(parted).expect("Ori");
    uniform_registers::run(&mut function, "sm_100".parse().expect("a chip"), None);
    assert!(!function.to_string().contains("UMOV"), "{function}");
}
