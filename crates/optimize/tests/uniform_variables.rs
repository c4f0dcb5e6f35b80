//! Values with several definitions in uniform registers: counters of loops.

use crate::common::*;
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_optimize::{
    passes::convert_mov_phi, passes::expand_sync, passes::general_optimize, passes::generate_mov_phi,
    passes::uniform_registers,
};
use oriole_options::Options;
use oriole_ori::{File, Form, Function, PassContext, parse};

/// The code of a function after the pass.
fn check(text: &str, expected: Expect) {
    let mut function = parse(text).unwrap();
    uniform_registers::run(&mut function, Chip::SM_90, None);
    assert_verified(&function, Form::Plain, "uniform variables");
    let text = function.to_string();
    let code: String =
        text.lines().filter(|line| !line.contains(" value ")).map(|it| format!("{it}\n")).collect();
    expected.assert_eq(&code);
}

/// The counter is compared with a bound, which stays: one of two operands may be uniform. Other components of the
/// copy are split off.
#[test]
fn a_counter_is_uniform() {
    check(
        "
kernel
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDC c[0][0x210] ; 1
  r2 = LDC c[0][0x214] ; 2
  r3, r4 = ParallelCopy r1, r0 ; 3
b1: -> b1 b2
  r5 = IADD3 r4, r3, RZ ; 4
  r6 = IADD3 r3, 0x20, RZ ; 5
  p7, PT = ISETP.AND.LT r6, r2, PT ; 6
  r3, r4 = ParallelCopy r6, r5 ; 7
  @p7 BRA b1 ; 8
b2:
  STS [r0], r5 mem(shared w) ; 9
  EXIT ; 10
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b1
              r0 = S2R %(SR_TID.X) ; 0
              u9 = ULDC c[0][0x210] ; 1
              r2 = LDC c[0][0x214] ; 2
              r4 = ParallelCopy r0 ; 3
              u8 = ParallelCopy u9 ; 3
            b1: -> b1 b2
              r5 = IADD3 r4, u8, RZ ; 4
              u11 = UIADD3 u8, 0x20, URZ ; 5
              p7, PT = ISETP.AND.GT r2, u11, PT ; 6
              r4 = ParallelCopy r5 ; 7
              u8 = ParallelCopy u11 ; 7
              @p7 BRA b1 ; 8
            b2:
              STS [r0], r5 mem(shared w) ; 9
              EXIT ; 10
        "#]],
    );
}

/// A constant is one of the definitions; a reader that takes the variable only from a general register keeps it
/// there.
#[test]
fn definitions_are_constants_and_readers_decide() {
    let text = |reader: &str| {
        format!(
            "
kernel
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDC c[0][0x210] ; 1
  r2 = Copy 0x4 ; 2
b1: -> b1 b2
  {reader} ; 3
  r2 = IADD3 r2, r1, RZ ; 4
  p4, PT = ISETP.AND.LT r3, r0, PT ; 5
  @p4 BRA b1 ; 6
b2:
  EXIT ; 7
"
        )
    };
    check(
        &text("r3 = LOP3.LUT r0, r2, RZ, #192, !PT"),
        expect![[r#"
        kernel params=0 barriers=0
        b0: -> b1
          r0 = S2R %(SR_TID.X) ; 0
          u6 = ULDC c[0][0x210] ; 1
          u5 = Copy 0x4 ; 2
        b1: -> b1 b2
          r3 = LOP3.LUT r0, u5, RZ, #192, !PT ; 3
          u5 = UIADD3 u5, u6, URZ ; 4
          p4, PT = ISETP.AND.LT r3, r0, PT ; 5
          @p4 BRA b1 ; 6
        b2:
          EXIT ; 7
    "#]],
    );
    check(
        &text("PT, r3 = SHFL.BFLY r2, #1, #31"),
        expect![[r#"
        kernel params=0 barriers=0
        b0: -> b1
          r0 = S2R %(SR_TID.X) ; 0
          u6 = ULDC c[0][0x210] ; 1
          r2 = Copy 0x4 ; 2
        b1: -> b1 b2
          PT, r3 = SHFL.BFLY r2, #1, #31 ; 3
          r2 = IADD3 r2, u6, RZ ; 4
          p4, PT = ISETP.AND.LT r3, r0, PT ; 5
          @p4 BRA b1 ; 6
        b2:
          EXIT ; 7
    "#]],
    );
}

/// A value that a subset of the warp writes differs between its lanes.
#[test]
fn what_a_part_of_the_warp_writes_stays() {
    check(
        "
kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDC c[0][0x210] ; 1
  r2 = Copy r1 ; 2
  p3, PT = ISETP.AND.LT r0, 0x5, PT ; 3
  @p3 BRA b2 ; 4
b1: -> b2
  r2 = Copy 0x7 ; 5
b2:
  r4 = IADD3 r0, r2, RZ ; 6
  STS [r0], r4 mem(shared w) ; 7
  EXIT ; 8
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              u5 = ULDC c[0][0x210] ; 1
              r2 = Copy u5 ; 2
              p3, PT = ISETP.AND.LT r0, 0x5, PT ; 3
              @p3 BRA b2 ; 4
            b1: -> b2
              r2 = Copy 0x7 ; 5
            b2:
              r4 = IADD3 r0, r2, RZ ; 6
              STS [r0], r4 mem(shared w) ; 7
              EXIT ; 8
        "#]],
    );
}

/// A loop of the whole warp that changes three variables in each iteration, one way or another, with a divergent
/// block in it: the lanes accumulate them.
fn random_loop(seed: u64) -> Function {
    let mut dice = Dice::new(seed);
    let variable = |dice: &mut Dice| dice.pick(&["r10", "r11", "r12"]);
    let sum = |dice: &mut Dice| {
        let (to, by) = (dice.pick(&["r20", "r21"]), variable(dice));
        match dice.roll(3) {
            0 => format!("  {to} = IADD3 {to}, {by}, RZ ; 1\n"),
            1 => format!("  {to} = LOP3.LUT {to}, {by}, r0, #150, !PT ; 1\n"),
            _ => format!("  {to} = IADD3 {by}, {to}, r0 ; 1\n"),
        }
    };
    let change = |dice: &mut Dice| {
        let (to, from, number) = (variable(dice), variable(dice), dice.roll(90));
        match dice.roll(5) {
            0 => format!("  {to} = IADD3 {from}, {number:#x}, RZ ; 2\n"),
            1 => format!("  {to} = LOP3.LUT {from}, {}, RZ, #60, !PT ; 2\n", variable(dice)),
            2 => format!("  {to} = Copy {from} ; 2\n"),
            3 => format!("  {to} = Copy {number:#x} ; 2\n"),
            _ => format!("  {to} = IADD3 {from}, r1, RZ ; 2\n"),
        }
    };
    let mut text = "kernel\nb0: -> b1\n  r0 = S2R %(SR_TID.X) ; 0\n  r1 = LDC c[0][0x210] ; 0\n".to_owned();
    text += "  r2 = S2R %(SR_CTAID.X) ; 0\n  r3 = LDC c[0][0x214] ; 0\n  r20 = Copy r0 ; 0\n  r21 = Copy r0 ; 0\n";
    for to in ["r10", "r11", "r12", "r13"] {
        let from = dice.pick(&["r1", "r2", "0x5", "0x0", "r3"]);
        text += &format!("  {to} = Copy {} ; 0\n", if to == "r13" { "0x0" } else { from });
    }
    text += "b1: -> b3 b2\n";
    (0..dice.roll(3)).for_each(|_| text += &sum(&mut dice));
    (0..dice.roll(3)).for_each(|_| text += &change(&mut dice));
    text += "  p30, PT = ISETP.AND.LT r0, 0x2, PT ; 3\n  @p30 BRA b3 ; 3\nb2: -> b3\n";
    (0..1 + dice.roll(3)).for_each(|_| text += &sum(&mut dice));
    // Sometimes a subset of the warp changes a variable.
    (0..u64::from(dice.roll(8) == 0)).for_each(|_| text += &change(&mut dice));
    text += "b3: -> b1 b4\n";
    (0..dice.roll(4)).for_each(|_| text += &change(&mut dice));
    (0..dice.roll(3)).for_each(|_| text += &sum(&mut dice));
    text +=
        "  r13 = IADD3 r13, 0x1, RZ ; 4\n  p31, PT = ISETP.AND.LT r13, r3, PT ; 4\n  @p31 BRA b1 ; 4\nb4:\n";
    for (at, value) in ["r20", "r21", "r0"].into_iter().enumerate() {
        text += &format!("  STG [{:#x}], {value} mem(global w) ; 5\n", 4 * at);
    }
    parse(&(text + "  EXIT ; 6\n")).unwrap()
}

#[test]
fn random_loops_keep_their_meaning() {
    let mut moved = 0;
    for seed in 0..1000 {
        let what = format!("seed {seed}");
        let world = |mut world: evaluator::World| {
            world.constants.extend([(0x210, 7), (0x214, 1 + seed as u32 % 5)]);
            world
        };
        let mut function = random_loop(seed);
        let before = evaluator::run(&function, &world(crate::common::world(7)));
        generate_mov_phi::run(&mut function);
        let options = &Options::default().passes();
        let context =
            PassContext { chip: Chip::SM_90, form: Form::Ssa, options, decisions: None, allowance: None };
        let _ = general_optimize::run(&mut function, &context);
        let _ = expand_sync::run(&mut function, true);
        convert_mov_phi::run(&mut function);
        uniform_registers::run(&mut function, Chip::SM_90, None);
        assert_verified(&function, Form::Plain, &what);
        assert_same(&before, &evaluator::run(&function, &world(checking_world(&function, seed))), &what);
        let mut definitions = std::collections::BTreeMap::new();
        for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
            instruction.for_each_definition(|value| *definitions.entry(value).or_insert(0) += 1);
        }
        moved += definitions
            .iter()
            .filter(|&(&value, &count)| count > 1 && function.file(value) == File::UR)
            .count();
    }
    assert!(moved > 200, "{moved} variables are uniform");
}

/// Variables that are dropped again, because readers take them from general registers only, take no slot from other
/// values.
#[test]
fn variables_crowd_out_no_other_values() {
    let uniform = |variables: u32| {
        let mut text = "kernel\nb0: -> b1\n  r0 = S2R %(SR_TID.X) ; 0\n".to_owned();
        (0..variables).for_each(|at| text += &format!("  r{} = Copy {at:#x} ; 0\n", 100 + at));
        text += "b1: -> b1 b2\n";
        for at in (0..variables).map(|at| 100 + at) {
            text += &format!(
                "  PT, r{} = SHFL.BFLY r{at}, #1, #31 ; 1\n  r{at} = IADD3 r{at}, 0x1, RZ ; 1\n",
                200 + at
            );
        }
        for at in 0..40 {
            let offset = 0x210 + 4 * at;
            text += &format!(
                "  r{} = LDC c[0][{offset:#x}] ; 2\n  r{} = IADD3 r0, r{}, RZ ; 2\n",
                400 + at,
                500 + at,
                400 + at
            );
            text += &format!("  STS [r0], r{} mem(shared w) ; 2\n", 500 + at);
        }
        text += "  p1, PT = ISETP.AND.LT r0, 0x5, PT ; 3\n  @p1 BRA b1 ; 3\nb2:\n  EXIT ; 4\n";
        let mut function = parse(&text).unwrap();
        uniform_registers::run(&mut function, Chip::SM_90, None);
        count(&function, |i| i.destinations.iter().any(|destination| destination.file == File::UR))
    };
    let alone = uniform(0);
    assert!(alone >= 32 && uniform(12) >= alone, "{alone} alone, {} beside", uniform(12));
}
