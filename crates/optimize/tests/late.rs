//! The passes after SSA: uniform registers and back copy propagation preserve the semantics of random functions.

use crate::common::*;
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_optimize::{
    passes::back_copy, passes::branch_opt, passes::convert_mov_phi, passes::expand_sync,
    passes::generate_mov_phi, passes::live_dead, passes::rematerialize, passes::uniform_registers,
    rewriting::uniform_copies,
};
use oriole_ori::{Budget, Form, Function, Opcode, Pseudo, parse};

#[test]
fn random_functions_keep_their_meaning() {
    let (mut copies_before, mut copies_after) = (0, 0);
    for seed in 0..300 {
        let original = random_function(seed);
        let what = format!("seed {seed}");
        let before = evaluator::run(&original, &world(7));
        let mut function = original.clone();
        branch_opt::run(&mut function);
        generate_mov_phi::run(&mut function);
        live_dead::run(&mut function);
        let _ = expand_sync::run(&mut function, true);
        convert_mov_phi::run(&mut function);
        uniform_registers::run(&mut function, Chip::SM_90, None);
        assert_verified(&function, Form::Plain, &what);
        assert_same(&before, &evaluator::run(&function, &checking_world(&function, seed)), &what);
        let components = |f: &oriole_ori::Function| {
            f.blocks
                .iter()
                .flat_map(|b| &b.instructions)
                .filter(|i| matches!(i.opcode, Opcode::Pseudo(Pseudo::Copy | Pseudo::ParallelCopy)))
                .map(|i| i.destinations.len())
                .sum::<usize>()
        };
        copies_before += components(&function);
        back_copy::run(&mut function);
        copies_after += components(&function);
        assert_verified(&function, Form::Plain, &what);
        assert_same(&before, &evaluator::run(&function, &checking_world(&function, seed)), &what);
    }
    assert!(copies_after < copies_before, "{copies_before} copies before, {copies_after} after");
}

/// Prints the values that become uniform in a function for sm_90.
fn check_uniform(text: &str, expected: &Expect) {
    let mut function = parse(text).unwrap();
    uniform_registers::run(&mut function, Chip::SM_90, None);
    assert_verified(&function, Form::Plain, "uniform");
    expected.assert_eq(&function.to_string());
}

/// Values computed from parameters only become uniform, multiplies and their upper halves included, and readers that
/// take a uniform register in another slot.
#[test]
fn what_is_computed_from_parameters_becomes_uniform() {
    let text = "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDC c[0][0x210] ; 1
  r2 = IMAD.HI.U32 r1, 0xd2511f53, RZ ; 2
  r3 = IMAD r1, 0xd2511f53, RZ ; 2
  r4 = IADD3 r1, 0x3c6ef372, RZ ; 3
  r5 = LOP3.LUT r2, r0, RZ, #48, !PT ; 4
  r6 = LOP3.LUT r5, r0, r3, #150, !PT ; 4
  p7, PT = ISETP.AND.LT.U32 r4, r6, PT ; 5
  @p7 STS [r0], r6 mem(shared w) ; 6
  EXIT ; 7
";
    check_uniform(
        text,
        &expect![[r#"
        kernel params=0 barriers=0
          value r1
          value r2
          value r3
          value r4
        b0:
          r0 = S2R %(SR_TID.X) ; 0
          u8 = ULDC c[0][0x210] ; 1
          {u12 u9} = UIMAD.U32.WIDE u8, 0xd2511f53, URZ ; 2
          u10 = UIMAD u8, 0xd2511f53, URZ ; 2
          u11 = UIADD3 u8, 0x3c6ef372, URZ ; 3
          r5 = LOP3.LUT r0, u9, RZ, #12, !PT ; 4
          r6 = LOP3.LUT r5, u10, r0, #150, !PT ; 4
          p7, PT = ISETP.AND.GT.U32 r6, u11, PT ; 5
          @p7 STS [r0], r6 mem(shared w) ; 6
          EXIT ; 7
    "#]],
    );
}

/// A wide multiply of uniform factors is uniform.
#[test]
fn whole_products_become_uniform() {
    let text = "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDC c[0][0x210] ; 1
  {r2 r3} = IMAD.U32.WIDE r1, 0xd2511f53, RZ ; 2
  r4 = LOP3.LUT r2, r0, RZ, #60, !PT ; 3
  r5 = LOP3.LUT r4, r3, r0, #150, !PT ; 3
  STS [r0], r5 mem(shared w) ; 4
  EXIT ; 5
";
    check_uniform(
        text,
        &expect![[r#"
        kernel params=0 barriers=0
          value r1
          value r2
          value r3
        b0:
          r0 = S2R %(SR_TID.X) ; 0
          u6 = ULDC c[0][0x210] ; 1
          {u7 u8} = UIMAD.U32.WIDE u6, 0xd2511f53, URZ ; 2
          r4 = LOP3.LUT r0, u7, RZ, #60, !PT ; 3
          r5 = LOP3.LUT r4, u8, r0, #150, !PT ; 3
          STS [r0], r5 mem(shared w) ; 4
          EXIT ; 5
    "#]],
    );
}

/// Floating-point values of parameters are uniform where the chip has a uniform datapath for them.
#[test]
fn floats_become_uniform_where_the_chip_has_them() {
    let text = "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDC c[0][0x380] ; 1
  r2 = I2FP.F32.S32 r1 ; 2
  r3 = FMUL r2, 0x3f000000 ; 3
  r4 = FFMA r3, -r3, r2 ; 4
  r5 = I2F.U32.RP r1 ; 5
  r6 = FADD r5, r4 ; 6
  r7 = I2FP.F32.S32 r0 ; 7
  r8 = FFMA r7, r6, r7 ; 8
  STS [r0], r8 mem(shared w) ; 9
  EXIT ; 10
";
    let uniform = |chip: &str| {
        let mut function = parse(text).unwrap();
        uniform_registers::run(&mut function, chip.parse().expect("a chip"), None);
        function.to_string().lines().filter(|line| !line.contains(" value ")).collect::<Vec<_>>().join("\n")
    };
    assert!(!uniform("sm_100").contains("UF"));
    expect![[r#"
        kernel params=0 barriers=0
        b0:
          r0 = S2R %(SR_TID.X) ; 0
          u9 = LDCU c[0][0x380] ; 1
          u10 = UI2FP.F32.S32 u9 ; 2
          u11 = UFMUL u10, 0x3f000000 ; 3
          u12 = UFFMA u11, -u11, u10 ; 4
          u13 = UI2F.RP.U32 u9 ; 5
          u14 = UFADD u13, u12 ; 6
          r7 = I2FP.F32.S32 r0 ; 7
          r8 = FFMA r7, u14, r7 ; 8
          STS [r0], r8 mem(shared w) ; 9
          EXIT ; 10"#]]
    .assert_eq(&uniform("sm_120"));
}

#[test]
fn narrow_parameters_become_uniform() {
    let text = "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDC.U8 c[0][0x210] ; 1
  r2 = LDC.S8 c[0][0x211] ; 2
  r3 = PRMT r1, 0x8880, RZ ; 3
  p4, PT = ISETP.EQ.AND r3, RZ, PT ; 4
  r5 = IADD3 r0, r2, RZ ; 5
  r6 = PRMT r0, 0x8880, RZ ; 6
  @p4 STG.E [0x8], r5 mem(global w) ; 7
  STG.E [0xc], r6 mem(global w) ; 8
  EXIT ; 9
";
    let mut function = parse(text).unwrap();
    uniform_registers::run(&mut function, Chip::SM_90, None);
    expect![[r#"
        kernel params=0 barriers=0
          value r1
          value r2
          value r3
        b0:
          r0 = S2R %(SR_TID.X) ; 0
          u7 = ULDC.U8 c[0][0x210] ; 1
          u8 = ULDC.S8 c[0][0x211] ; 2
          u9 = UPRMT u7, 0x8880, URZ ; 3
          p4, PT = ISETP.AND.EQ RZ, u9, PT ; 4
          r5 = IADD3 r0, u8, RZ ; 5
          r6 = PRMT r0, 0x8880, RZ ; 6
          @p4 STG.E [0x8], r5 mem(global w) ; 7
          STG.E [0xc], r6 mem(global w) ; 8
          EXIT ; 9
    "#]]
    .assert_eq(&function.to_string());
}

#[test]
fn parameters_and_block_numbers_become_uniform() {
    let text = "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_CTAID.X) ; 1
  r2 = LDC c[0][0x0] ; 2
  {r4 r5} = LDC.64 c[0][0x210] ; 3
  r3 = IMAD r1, r2, r0 ; 4
  {r6 r7} = IMAD.WIDE r3, 0x4, RZ ; 5
  {r8 r9} = Add64 {r4 r5}, {r6 r7} ; 6
  r10 = LDC c[0][0x218] ; 7
  {r12 r13} = LDC.64 c[0][0x220] ; 7
  STG.E [{r8 r9}], r10 mem(global w) ; 8
  STG.E [{r12 r13}], r10 mem(global w) ; 8
  EXIT ; 9
";
    let mut function = parse(text).unwrap();
    uniform_registers::run(&mut function, Chip::SM_90, None);
    expect![[r#"
        kernel params=0 barriers=0
          value r1
          value r4
          value r5
          value r11
          value u15
          value u18
          value u19
          value u20
        b0:
          r0 = S2R %(SR_TID.X) ; 0
          u14 = S2UR %(SR_CTAID.X) ; 1
          r2 = LDC c[0][0x0] ; 2
          {u16 u17} = ULDC.64 c[0][0x210] ; 3
          r3 = IMAD r2, u14, r0 ; 4
          {r6 r7} = IMAD.WIDE r3, 0x4, RZ ; 5
          {r8 r9} = Add64 {r6 r7}, {u16 u17} ; 6
          r10 = LDC c[0][0x218] ; 7
          {r12 r13} = LDC.64 c[0][0x220] ; 7
          STG.E [{r8 r9}], r10 mem(global w) ; 8
          STG.E [{r12 r13}], r10 mem(global w) ; 8
          EXIT ; 9
    "#]]
    .assert_eq(&function.to_string());
}

/// Rematerializes values with the same budget everywhere.
fn made_again(function: &mut Function, budget: u32) -> bool {
    let general = function.blocks.iter().map(|_| budget).collect();
    rematerialize::run(function, &Budget { general, predicates: 6 })
}

#[test]
fn made_again_random_functions_keep_their_meaning() {
    let mut changed = 0;
    for seed in 0..300 {
        let original = random_function(seed);
        let before = evaluator::run(&original, &world(7));
        let mut function = original.clone();
        branch_opt::run(&mut function);
        generate_mov_phi::run(&mut function);
        live_dead::run(&mut function);
        let _ = expand_sync::run(&mut function, true);
        convert_mov_phi::run(&mut function);
        changed += u32::from(made_again(&mut function, 1));
        changed += u32::from(rematerialize::run_for_predicates(&mut function, 1));
        let what = format!("seed {seed}");
        assert_verified(&function, Form::Plain, &what);
        assert_same(&before, &evaluator::run(&function, &checking_world(&function, seed)), &what);
    }
    assert!(changed > 50, "{changed}");
}

#[test]
fn what_lives_through_a_loop_is_made_again_behind_it() {
    let text = "
kernel params=0 barriers=0
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = SHF.L.U32 r0, 0x2, RZ ; 1
  r2 = IADD3 r1, 0x10, RZ ; 2
  r3 = LDS [r0] mem(shared r) ; 3
  r4 = LDS [r1] mem(shared r) ; 4
  r5 = IADD3 r3, 0x1, RZ ; 5
  r6 = MOV 0x0 ; 6
b1: -> b1 b2
  r6 = IADD3 r6, r3, RZ ; 7
  p7, PT = ISETP.AND.LT r6, 0x64, PT ; 8
  @p7 BRA b1 ; 9
b2:
  STS [r2], r6 mem(shared w) ; 10
  STS [r2+0x4], r4 mem(shared w) ; 11
  STS [r5], r3 mem(shared w) ; 12
  EXIT ; 13
";
    // A function that fits does not change.
    let mut function = parse(text).unwrap();
    assert!(!made_again(&mut function, 5));
    assert!(made_again(&mut function, 3));
    expect![[r#"
        kernel params=0 barriers=0
          value r2
          value r5
        b0: -> b1
          r0 = S2R %(SR_TID.X) ; 0
          r1 = SHF.L.U32 r0, 0x2, RZ ; 1
          r3 = LDS [r0] mem(shared r) ; 3
          r4 = LDS [r1] mem(shared r) ; 4
          r6 = MOV 0x0 ; 6
        b1: -> b1 b2
          r6 = IADD3 r6, r3, RZ ; 7
          p7, PT = ISETP.AND.LT r6, 0x64, PT ; 8
          @p7 BRA b1 ; 9
        b2:
          r8 = S2R %(SR_TID.X) ; 0
          r9 = SHF.L.U32 r8, 0x2, RZ ; 1
          r10 = IADD3 r9, 0x10, RZ ; 2
          STS [r10], r6 mem(shared w) ; 10
          STS [r10+0x4], r4 mem(shared w) ; 11
          r11 = IADD3 r3, 0x1, RZ ; 5
          STS [r11], r3 mem(shared w) ; 12
          EXIT ; 13
    "#]]
    .assert_eq(&function.to_string());
}

/// The operand of a value has changed since: its old content is gone, so the value stays live.
#[test]
fn nothing_is_made_again_from_what_has_changed() {
    let text = "
kernel params=0 barriers=0
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  r3 = LDS [r0] mem(shared r) ; 1
  r6 = LDS [r0+0x4] mem(shared r) ; 2
  r2 = IADD3 r6, 0x10, RZ ; 3
b1: -> b1 b2
  r6 = IADD3 r6, r3, RZ ; 4
  p7, PT = ISETP.AND.LT r6, 0x64, PT ; 5
  @p7 BRA b1 ; 6
b2:
  STS [r2], r6 mem(shared w) ; 7
  EXIT ; 8
";
    let mut function = parse(text).unwrap();
    assert!(!made_again(&mut function, 1), "{function}");
}

/// Only the excess counts: where a part of a function has fewer registers, values live through that part are
/// rematerialized, and predicates beyond their limit take general registers as well.
#[test]
fn each_block_has_its_own_budget_and_predicates_count() {
    let text = "
kernel params=0 barriers=0
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = IADD3 r0, 0x10, RZ ; 1
  p2, PT = ISETP.AND.LT r0, 0x10, PT ; 2
  p3, PT = ISETP.AND.LT r0, 0x20, PT ; 3
  r6 = MOV 0x0 ; 4
b1: -> b1 b2
  r6 = IADD3 r6, r0, RZ ; 5
  p7, PT = ISETP.AND.LT r6, 0x64, PT ; 6
  @p7 BRA b1 ; 7
b2:
  STS [r1], r6 mem(shared w) ; 8
  @p2 STS [r1+0x4], r6 mem(shared w) ; 9
  @p3 STS [r1+0x8], r6 mem(shared w) ; 10
  EXIT ; 11
";
    let behind_the_loop = |general: [u32; 3], predicates: u32| {
        let mut function = parse(text).unwrap();
        let budget = Budget { general: general.into_iter().collect(), predicates };
        rematerialize::run(&mut function, &budget);
        assert_verified(&function, Form::Plain, "made again");
        function.blocks.last().expect("a block").instructions.iter().map(|i| i.origin.0).collect::<Vec<_>>()
    };
    let found = [([3, 3, 3], 3), ([3, 2, 3], 3), ([3, 3, 3], 2), ([3, 2, 3], 2)]
        .map(|(general, predicates)| behind_the_loop(general, predicates));
    assert_eq!(
        found,
        [vec![8, 9, 10, 11], vec![0, 1, 8, 9, 10, 11], vec![0, 1, 8, 9, 10, 11], vec![0, 1, 8, 2, 9, 10, 11],]
    );
}

/// Comparisons are rematerialized where more predicates are live than there are, whatever the general registers; a
/// result of more than two instructions is not.
#[test]
fn comparisons_are_rematerialized_where_predicates_are_missing() {
    let rest = |from: u32| {
        (from..from + 17).map(|at| format!("  STS [r0+{:#x}], r0 mem(shared w) ; {at}\n", 4 * at))
    };
    let text = format!(
        "
kernel params=0 barriers=0
b0:
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT r0, 0x10, PT ; 1
  p2, PT = ISETP.AND.LT r0, 0x20, PT ; 2
  r4 = LDS [r0] mem(shared r) ; 3
  p3, PT = ISETP.AND.LT r4, 0x30, PT ; 4
{}  @p1 STS [r0+0x4], r0 mem(shared w) ; 40
  @p2 STS [r0+0x8], r0 mem(shared w) ; 41
  @p3 STS [r0+0xc], r0 mem(shared w) ; 42
  EXIT ; 43
",
        rest(10).collect::<String>()
    );
    let ends = |predicates: u32| {
        let mut function = parse(&text).unwrap();
        rematerialize::run_for_predicates(&mut function, predicates);
        assert_verified(&function, Form::Plain, "rematerialized");
        let all = function.blocks.iter().flat_map(|block| &block.instructions).map(|i| i.origin.0);
        all.filter(|at| !(10..30).contains(at)).collect::<Vec<_>>()
    };
    assert_eq!(ends(3), [0, 1, 2, 3, 4, 40, 41, 42, 43]);
    assert_eq!(ends(2), [0, 2, 3, 4, 1, 40, 41, 42, 43]);
    // The operand of the third is dead by then.
    assert_eq!(ends(0), [0, 3, 4, 1, 40, 2, 41, 42, 43]);
}

/// A value that lives through a call must be in registers that the call leaves alone.
#[test]
fn values_are_rematerialized_after_a_call_that_leaves_few_registers_alone() {
    let rest = (10..27).map(|at| format!("  STS [r0+{:#x}], r0 mem(shared w) ; {at}\n", 4 * at));
    let rest = rest.collect::<String>();
    let ends = |clobbers: &str| {
        let text = format!(
            "
kernel
  symbol s0 helper \"oriole.divide_f32\"
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = IADD3 r0, 0x10, RZ ; 1
  p2, PT = ISETP.AND.LT r0, 0x20, PT ; 2
  r3$6 = CallHelper r0 call(s0 stack=0 clobbers={clobbers}) ; 3
{rest}  @p2 STS [r1], r3 mem(shared w) ; 40
  STS [r0], r3 mem(shared w) ; 41
  EXIT ; 42
"
        );
        let mut function = parse(&text).unwrap();
        made_again(&mut function, 8);
        assert_verified(&function, Form::Plain, "rematerialized");
        let all = function.blocks.iter().flat_map(|block| &block.instructions).map(|i| i.origin.0);
        all.filter(|at| !(10..30).contains(at)).collect::<Vec<_>>()
    };
    assert_eq!(ends("3f,0,0,0 predicates=7"), [0, 1, 2, 3, 40, 41, 42]);
    assert_eq!(ends("7f,0,0,0 predicates=7"), [0, 2, 3, 1, 40, 41, 42]);
    assert_eq!(ends("3f,0,0,0 predicates=7f"), [0, 2, 3, 1, 40, 41, 42]);
}

/// Where two blocks have too many live values, the one with the larger excess comes first: rematerialization after it
/// relieves the other as well. Of points in a block with the same excess, the last counts.
#[test]
fn values_are_made_again_first_where_most_registers_are_missing() {
    let text = "
kernel params=0 barriers=0
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = IADD3 r0, 0x10, RZ ; 1
  r2 = IADD3 r0, 0x20, RZ ; 2
  r3 = IADD3 r0, 0x30, RZ ; 3
b1: -> b4 b2
  STS [r2], r0 mem(shared w) ; 4
  p7, PT = ISETP.AND.LT r0, 0x64, PT ; 5
  @p7 BRA b4 ; 6
b2: -> b3
  STS [r0], r0 mem(shared w) ; 7
b3:
  STS [r2], r3 mem(shared w) ; 8
  STS [r2+0x4], r0 mem(shared w) ; 9
  EXIT ; 10
b4:
  STS [r1], r0 mem(shared w) ; 11
  EXIT ; 12
";
    let ends = |of_b1: u32, of_b2: u32| {
        let mut function = parse(text).unwrap();
        let general = [9, of_b1, of_b2, 9, 9].into_iter().collect();
        rematerialize::run(&mut function, &Budget { general, predicates: 6 });
        assert_verified(&function, Form::Plain, "made again");
        let blocks = function.blocks.iter().skip(3);
        blocks.map(|block| block.instructions.iter().map(|i| i.origin.0).collect()).collect::<Vec<Vec<_>>>()
    };
    assert_eq!(ends(3, 1), [vec![2, 3, 8, 9, 10], vec![11, 12]]);
    assert_eq!(ends(2, 9), [vec![2, 3, 8, 9, 10], vec![1, 11, 12]]);
}

/// Two elected lanes pass an address, a coordinate and a zero to the copy engine; the whole warp computed them.
#[test]
fn words_for_several_elected_lanes_are_copied_once() {
    let text = "
kernel params=0 barriers=0
b0: -> b2 b1
  {r0 r1} = LDC.64 c[0][0x238] ; 0
  r2 = S2R %(SR_CTAID.X) ; 1
  r3 = S2R %(SR_TID.X) ; 2
  p4, URZ = ELECT PT ; 3
  @!p4 BRA b2 ; 4
b1: -> b2
  u5 = Copy r0 ; 5
  u6 = Copy r1 ; 5
  u7 = Copy r2 ; 5
  u8 = Copy RZ ; 5
  u9 = Copy r3 ; 5
  UTMALDG.2D [^{u7 u9 u8 u7}], [^{u5 u6}] mem(generic rw ordered) ; 5
b2: -> b4 b3
  p10, URZ = ELECT PT ; 6
  @!p10 BRA b4 ; 7
b3: -> b4
  u11 = Copy r0 ; 8
  u12 = Copy r1 ; 8
  u13 = Copy r2 ; 8
  u14 = Copy r3 ; 8
  UTMALDG.2D [^{u13 u13 u14 u13}], [^{u11 u12}] mem(generic rw ordered) ; 8
b4:
  EXIT ; 9
";
    let mut function = parse(text).unwrap();
    assert!(uniform_copies::run(&mut function));
    expect![[r#"
        kernel params=0 barriers=0
          value u5
          value u6
          value u11
          value u12
        b0: -> b2 b1
          {r0 r1} = LDC.64 c[0][0x238] ; 0
          u15 = Copy r0 ; 0
          u16 = Copy r1 ; 0
          r2 = S2R %(SR_CTAID.X) ; 1
          u17 = Copy r2 ; 1
          r3 = S2R %(SR_TID.X) ; 2
          p4, URZ = ELECT PT ; 3
          @!p4 BRA b2 ; 4
        b1: -> b2
          u7 = Copy u17 ; 5
          u8 = UMOV 0x0 ; 5
          u9 = Copy r3 ; 5
          UTMALDG.2D [^{u7 u9 u8 u7}], [^{u15 u16}] mem(generic rw ordered) ; 5
        b2: -> b4 b3
          p10, URZ = ELECT PT ; 6
          @!p10 BRA b4 ; 7
        b3: -> b4
          u13 = Copy u17 ; 8
          u14 = Copy r3 ; 8
          UTMALDG.2D [^{u13 u13 u14 u13}], [^{u15 u16}] mem(generic rw ordered) ; 8
        b4:
          EXIT ; 9
    "#]]
    .assert_eq(&function.to_string());
    assert!(!uniform_copies::run(&mut function), "nothing is left to do");
}

/// A loop with too many predicates spills one that is live through it, although not where most registers are live.
#[test]
fn predicates_of_a_loop_count_in_all_of_it() {
    let text = "
kernel params=0 barriers=0
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  p2, PT = ISETP.AND.LT r0, 0x10, PT ; 1
  p3, PT = ISETP.AND.LT r0, 0x20, PT ; 2
  r6 = MOV 0x0 ; 3
b1: -> b2
  r10 = LDS [r0] mem(shared r) ; 4
  r11 = LDS [r0+0x4] mem(shared r) ; 5
  r6 = IADD3 r10, r11, r6 ; 6
b2: -> b1 b3
  p7, PT = ISETP.AND.LT r6, 0x64, PT ; 7
  p8, PT = ISETP.AND.LT r6, 0x10, PT ; 8
  @p8 STS [r0], r6 mem(shared w) ; 9
  @p7 BRA b1 ; 10
b3:
  @p2 STS [0x10], r6 mem(shared w) ; 11
  @p3 STS [0x14], r6 mem(shared w) ; 12
  EXIT ; 13
";
    let behind_the_loop = |predicates: u32| {
        let mut function = parse(text).unwrap();
        let budget = Budget { general: [4; 4].into_iter().collect(), predicates };
        rematerialize::run(&mut function, &budget);
        function.blocks.last().expect("a block").instructions.iter().map(|i| i.origin.0).collect::<Vec<_>>()
    };
    assert_eq!(behind_the_loop(4), [11, 12, 13], "it fits");
    assert_eq!(behind_the_loop(3), [0, 1, 11, 12, 13], "one predicate is made again");
}

/// A constant-bank word that is copied to a general register is loaded there where no move reads the bank; the copy
/// of another uniform value stays a copy.
#[test]
fn copied_constants_are_loaded_where_they_are_wanted() {
    let text = "
kernel
b0:
  r0 = S2R %(SR_CTAID.X) ; 0
  {r4 r5} = LDC.64 c[0][0x380] ; 0
  r6 = LDC c[0][0x388] ; 0
  r1 = Copy r4 ; 1
  r2 = Copy r5 ; 1
  r3 = Copy r0 ; 1
  {r8 r9} = IMAD.WIDE r3, 0x4, {r1 r2} ; 2
  STG.E [{r8 r9}], r6 mem(global w) ; 3
  p7, PT = ISETP.AND.GE r3, r6, PT ; 3
  @p7 STG.E [{r8 r9}], r3 mem(global w) ; 3
  EXIT ; 4
";
    let defined = |chip: &str| {
        let mut function = parse(text).unwrap();
        uniform_registers::run(&mut function, chip.parse().unwrap(), None);
        let text = function.to_string();
        let lines = text.lines().filter(|line| line.contains("c[0]") || line.contains("SR_"));
        lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    expect![[r#"
        [
            "u10 = S2UR %(SR_CTAID.X) ; 0",
            "{u11 u12} = ULDC.64 c[0][0x380] ; 0",
            "r6 = LDC c[0][0x388] ; 0",
        ]
    "#]]
    .assert_debug_eq(&defined("sm_90"));
    expect![[r#"
        [
            "u10 = S2UR %(SR_CTAID.X) ; 0",
            "{r4 r5} = LDC.64 c[0][0x380] ; 0",
            "r6 = LDC c[0][0x388] ; 0",
        ]
    "#]]
    .assert_debug_eq(&defined("sm_100"));
}

/// One word is copied for all descriptors that differ by constants; where the lower add may carry, its result is
/// copied.
#[test]
fn descriptors_that_differ_by_numbers_are_made_of_one_word() {
    let text = |bits: &str| {
        format!(
            "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = SGXT.U32 r0, {bits} ; 0
  r2 = MOV 0x40000040 ; 1
  u3 = Copy r1 ; 2
  u4 = Copy r2 ; 2
  u5 = Copy r1 ; 2
  u6 = Copy r2 ; 2
  {{r7 r8 r9 r10}} = HGMMA.64x8x16.F32 {{u3 u4 u5 u6}}, RZ, !UPT mem(shared r) ; 3
  r11 = MOV 0xffff0000 ; 4
  {{r12 r13}} = IMAD.U32.WIDE r1, 0x1, {{r11 r2}} ; 4
  u14 = Copy r12 ; 5
  u15 = Copy r13 ; 5
  {{r16 r17 r18 r19}} = HGMMA.64x8x16.F32 {{u14 u15 u5 u6}}, {{r7 r8 r9 r10}}, %(gsb0) mem(shared r) ; 6
  STS.128 [r0], {{r16 r17 r18 r19}} mem(shared w) ; 7
  EXIT ; 8
"
        )
    };
    let copies = |bits: &str| {
        let mut function = parse::parse(&text(bits)).expect("Ori");
        oriole_optimize::passes::group_descriptors::run(&mut function, Chip::SM_90A);
        let lines = function.to_string();
        lines
            .lines()
            .filter(|line| line.trim_start().starts_with('u'))
            .map(|line| format!("{}\n", line.trim_start()))
            .collect::<String>()
    };
    expect![[r#"
          u3 = Copy r1 ; 2
          u4 = UMOV 0x40000040 ; 2
          u5 = Copy u3 ; 2
          u6 = UMOV 0x40000040 ; 2
          u14 = UIADD3 u3, 0xffff0000, URZ ; 5
          u15 = UMOV 0x40000040 ; 5
    "#]]
    .assert_eq(&copies("0xe"));
    expect![[r#"
          u3 = Copy r1 ; 2
          u4 = UMOV 0x40000040 ; 2
          u5 = Copy u3 ; 2
          u6 = UMOV 0x40000040 ; 2
          u14 = Copy r12 ; 5
          u15 = Copy r13 ; 5
    "#]]
    .assert_eq(&copies("0x11"));
}
