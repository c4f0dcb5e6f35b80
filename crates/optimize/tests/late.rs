//! The passes after SSA: uniform registers and back copy propagation keep what random functions do.

use crate::common::*;
use expect_test::expect;
use oriole_chip::Chip;
use oriole_optimize::{
    back_copy, branch_opt, convert_mov_phi, expand_sync, generate_mov_phi, live_dead, uniform_registers,
};
use oriole_ori::{Form, Opcode, Pseudo, parse};

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
        expand_sync::run(&mut function, true);
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
