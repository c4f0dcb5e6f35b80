//! The passes that rewrite instructions: small functions before and after, and semantics of random ones.

use crate::common::*;
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_optimize::{
    passes::constant_addends, passes::convert_mov_phi, passes::expand_sync, passes::general_optimize,
    passes::generate_mov_phi, passes::gvn_cse, passes::hoist_invariants, passes::linear_replacement,
    passes::live_dead, passes::reassociate, passes::sink, rewriting::join_phis, rewriting::product_halves,
};
use oriole_options::Options;
use oriole_ori::{
    BlockId, Builder, File, Form, Function, Guard, Origin, Outcome, Pass, PassContext, Pseudo, Source,
    SourceKind, Value, parse,
};
use oriole_sass::{Mod, Op, Symbol};
use typed_index_collections::ti_vec;

/// All options of linear replacement.
const FUSED: linear_replacement::Wants = linear_replacement::Wants { contraction: true, folding: true };

/// Runs the general optimizations with all options as they are by default.
fn general_in(function: &mut Function, form: Form) -> Outcome {
    let options = &Options::default().passes();
    general_optimize::run(
        function,
        &PassContext { chip: Chip::SM_90, form, options, decisions: None, allowance: None },
    )
}

/// General optimizations on a chip with 64-bit integers.
fn general_with_long_integers(function: &mut Function) {
    let options = &Options::default().passes();
    let chip = "sm_120".parse().expect("a chip");
    let _ = general_optimize::run(
        function,
        &PassContext { chip, form: Form::Ssa, options, decisions: None, allowance: None },
    );
}

/// A pass on a function in SSA, as text.
fn check(pass: impl Fn(&mut Function), before: &str, after: Expect) {
    let mut function = parse(before).unwrap_or_else(|error| panic!("{error:?}\n{before}"));
    assert_verified(&function, Form::Ssa, "before");
    pass(&mut function);
    assert_verified(&function, Form::Ssa, "after");
    after.assert_eq(&body(&function));
}

/// The text without the declarations of values.
fn body(function: &Function) -> String {
    function.to_string().lines().filter(|line| !line.starts_with("  value")).collect::<Vec<_>>().join("\n")
        + "\n"
}

fn general(function: &mut Function) {
    let _ = general_in(function, Form::Ssa);
}

fn linear(function: &mut Function) {
    let _ = linear_replacement::run(function, Chip::SM_90, FUSED, None);
    live_dead::run(function);
}

fn hoist(function: &mut Function) {
    let _ = hoist_invariants::run(function, Chip::SM_90, Form::Ssa);
}

// Small functions.

#[test]
fn copies_and_constants_become_operands() {
    check(
        general,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDC c[0][0x210] ; 1
  r2 = Copy r1 ; 2
  r3 = MOV 0x10 ; 3
  r4 = IMAD r2, r0, r3 ; 4
  r5 = IADD3 r0, -r3, RZ ; 5
  r6 = MOV 0x3f800000 ; 6
  r7 = FADD r4, -r6 ; 7
  p8, PT = ISETP.AND.LT r3, r5, PT ; 8
  {r10 r11} = LDC.64 c[0][0x218] ; 9
  {r12 r13} = DADD {r10 r11}, {r10 r11} ; 10
  @p8 STG.E [{r10 r11}], r7 mem(global w) ; 11
  STG.E.64 [{r10 r11}], {r12 r13} mem(global w) ; 12
  EXIT ; 13
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r3 = MOV 0x10 ; 3
              r4 = IMAD r0, c[0][0x210], r3 ; 4
              r5 = IADD3 r0, 0xfffffff0, RZ ; 5
              r7 = FADD r4, 0xbf800000 ; 7
              p8, PT = ISETP.AND.GT r5, 0x10, PT ; 8
              {r10 r11} = LDC.64 c[0][0x218] ; 9
              {r12 r13} = DADD {r10 r11}, c[0][0x218] ; 10
              @p8 STG.E [{r10 r11}], r7 mem(global w) ; 11
              STG.64.E [{r10 r11}], {r12 r13} mem(global w) ; 12
              EXIT ; 13
        "#]],
    );
}

/// A 64-bit constant is an operand if it is a sign-extended word; unsigned ones are compared with positive words
/// only.
#[test]
fn words_are_operands_of_64_bits() {
    check(
        general_with_long_integers,
        "
kernel
b0:
  {r0 r1} = LDC.64 c[0][0x380] ; 0
  r2 = MOV 0xfffffff0 ; 0
  r3 = MOV 0xffffffff ; 0
  r4 = Copy RZ ; 0
  r5 = MOV 0x8 ; 0
  {r10 r11} = IADD.64 {r2 r3}, {r0 r1} ; 1
  {r12 r13} = IADD.64 {r10 r11}, -{r5 r4} ; 2
  {r14 r15} = IADD.64 {r12 r13}, {r2 r4} ; 3
  p16, PT = ISETP.LT.S64.AND {r2 r3}, {r0 r1}, PT ; 4
  p17, PT = ISETP.LT.U64.AND {r2 r3}, {r0 r1}, p16 ; 5
  p18, PT = ISETP.LT.U64.AND {r0 r1}, {r5 r4}, p17 ; 6
  {r19 r20} = SEL.64 {r14 r15}, {r2 r3}, p18 ; 7
  STG.64.E [{r0 r1}].64, {r19 r20} mem(global w) ; 8
  EXIT ; 9
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              {r0 r1} = LDC.64 c[0][0x380] ; 0
              r2 = MOV 0xfffffff0 ; 0
              r3 = MOV 0xffffffff ; 0
              r4 = Copy RZ ; 0
              {r10 r11} = IADD.64 {r0 r1}, 0xfffffff0 ; 1
              {r12 r13} = IADD.64 {r10 r11}, 0xfffffff8 ; 2
              {r14 r15} = IADD.64 {r12 r13}, {r2 r4} ; 3
              p16, PT = ISETP.AND.GT.S64 {r0 r1}, 0xfffffff0, PT ; 4
              p17, PT = ISETP.AND.LT.U64 {r2 r3}, {r0 r1}, p16 ; 5
              p18, PT = ISETP.AND.LT.U64 {r0 r1}, 0x8, p17 ; 6
              {r19 r20} = SEL.64 {r14 r15}, 0xfffffff0, p18 ; 7
              STG.64.E [{r0 r1}].64, {r19 r20} mem(global w) ; 8
              EXIT ; 9
        "#]],
    );
}

/// Zeros that fill tensor memory need no registers.
#[test]
fn zeros_go_to_tensor_memory_without_registers() {
    let on_tensor_memory = |function: &mut Function| {
        let options = &Options::default().passes();
        let chip = "sm_100a".parse().expect("a chip");
        let context = PassContext { chip, form: Form::Ssa, options, decisions: None, allowance: None };
        let _ = general_optimize::run(function, &context);
    };
    check(
        on_tensor_memory,
        "
kernel
b0:
  u0 = LDCU c[0][0x380] ; 0
  r1 = LDC c[0][0x384] ; 0
  r2 = Copy RZ ; 0
  STTM.x2 [^u0], {r2 r2} mem(global w) ; 1
  STTM.x2 [^u0+0x2], {r2 r1} mem(global w) ; 2
  EXIT ; 3
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              u0 = LDCU c[0][0x380] ; 0
              r1 = LDC c[0][0x384] ; 0
              r2 = Copy RZ ; 0
              STTM.x2 [^u0], RZ mem(global w) ; 1
              STTM.x2 [^u0+0x2], {r2 r1} mem(global w) ; 2
              EXIT ; 3
        "#]],
    );
}

#[test]
fn constants_move_into_addresses() {
    check(
        general,
        "
kernel
  symbol s0 shared \"tile\"
b0:
  {r0 r1} = LDC.64 c[0][0x210] ; 0
  r2 = MOV 0x20 ; 1
  r3 = Copy RZ ; 1
  {r4 r5} = Add64 {r0 r1}, {r2 r3} ; 2
  {r6 r7} = Add64 {r4 r5}, -{r2 r3} ; 3
  r8 = LDG.E [{r4 r5}+0x4] mem(global r) ; 4
  r9 = LDG.E [{r6 r7}+0x4] mem(global r) ; 5
  r10 = S2R %(SR_TID.X) ; 6
  r11 = MOV low(s0+0x8) ; 7
  r12 = IADD3 r10, r11, RZ ; 8
  r13 = IADD3 r12, 0xfffffffc, RZ ; 9
  STS [r13], r8 mem(shared w) ; 10
  STS [r13+0x7fffff], r9 mem(shared w) ; 11
  EXIT ; 12
",
        expect![[r#"
            kernel params=0 barriers=0
              symbol s0 shared "tile"
            b0:
              {r0 r1} = LDC.64 c[0][0x210] ; 0
              r8 = LDG.E [{r0 r1}+0x24] mem(global r) ; 4
              r9 = LDG.E [{r0 r1}+0x4] mem(global r) ; 5
              r10 = S2R %(SR_TID.X) ; 6
              r12 = IADD3 r10, low(s0+0x8), RZ ; 8
              STS [r10+s0+0x4], r8 mem(shared w) ; 10
              STS [r12+0x7ffffb], r9 mem(shared w) ; 11
              EXIT ; 12
        "#]],
    );
}

#[test]
fn chains_of_masks_extensions_and_permutations_shorten() {
    check(
        general,
        "
kernel
b0:
  {r0 r1} = LDC.64 c[0][0x210] ; 0
  r2 = LDG.E.U8 [{r0 r1}] mem(global r) ; 1
  r3 = PRMT r2, 0x7710, RZ ; 2
  r4 = LOP3.LUT r3, 0xff, RZ, #192, !PT ; 3
  r5 = LDG.E [{r0 r1}+0x4] mem(global r) ; 4
  r6 = PRMT r5, 0x7732, RZ ; 5
  r7 = PRMT r6, 0x5410, r5 ; 6
  r8 = LOP3.LUT r5, 0xff, RZ, #192, !PT ; 7
  r9 = LOP3.LUT r8, 0xf0, RZ, #192, !PT ; 8
  r10 = SHF.HI.R.S32 RZ, 0x1f, r8 ; 9
  r11 = IADD3 r5, 0x5, RZ ; 10
  r12 = IADD3 r11, 0xfffffffb, RZ ; 11
  r13 = IADD3 r11, 0x5, r4 ; 12
  STG.E.128 [{r0 r1}], {r4 r7 r9 r10} mem(global w) ; 13
  STG.E.64 [{r0 r1}+0x10], {r12 r13} mem(global w) ; 14
  EXIT ; 15
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              {r0 r1} = LDC.64 c[0][0x210] ; 0
              r2 = LDG.E.U8 [{r0 r1}] mem(global r) ; 1
              r5 = LDG.E [{r0 r1}+0x4] mem(global r) ; 4
              r7 = PRMT r5, 0x1032, RZ ; 6
              r8 = LOP3.LUT r5, 0xff, RZ, #192, !PT ; 7
              r9 = LOP3.LUT r5, 0xf0, RZ, #192, !PT ; 8
              r10 = SHF.HI.R.S32 RZ, 0x1f, r8 ; 9
              r13 = IADD3 r2, 0xa, r5 ; 12
              STG.128.E [{r0 r1}], {r2 r7 r9 r10} mem(global w) ; 13
              STG.64.E [{r0 r1}+0x10], {r5 r13} mem(global w) ; 14
              EXIT ; 15
        "#]],
    );
}

#[test]
fn predicates_are_joined_and_denied_in_place() {
    check(
        general,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_CTAID.X) ; 0
  p2, PT = ISETP.AND.LT.U32 r0, 0x5, PT ; 1
  p3, PT = PLOP3.LUT p2, PT, PT, #15, #0 ; 2
  p4, PT = ISETP.AND.EQ.U32 r1, 0x7, PT ; 3
  p5, PT = PLOP3.LUT p3, p4, PT, #192, #0 ; 4
  r6 = SEL RZ, 0x1, !p5 ; 5
  p7, PT = ISETP.AND.NE.U32 r6, RZ, PT ; 6
  r8 = SEL r0, r1, p7 ; 7
  @!p3 STG [0x0], r8 mem(global w) ; 8
  EXIT ; 9
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r1 = S2R %(SR_CTAID.X) ; 0
              p2, PT = ISETP.AND.LT.U32 r0, 0x5, PT ; 1
              p4, PT = ISETP.AND.EQ.U32 r1, 0x7, PT ; 3
              p5, PT = ISETP.AND.GE.U32 r0, 0x5, p4 ; 4
              r8 = SEL r0, r1, p5 ; 7
              @p2 STG [0x0], r8 mem(global w) ; 8
              EXIT ; 9
        "#]],
    );
}

#[test]
fn a_branch_that_is_decided_goes_one_way() {
    check(
        general,
        "
kernel
b0: -> b2 b1
  r0 = MOV 0x4 ; 0
  p1, PT = ISETP.AND.GT r0, 0x3, PT ; 1
  @p1 BRA b2 ; 2
b1: -> b2
  r2 = MOV 0x1 ; 3
b2:
  r3 = phi b0: r0, b1: r2
  STG [0x0], r3 mem(global w) ; 4
  EXIT ; 5
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b1
              BRA b1 ; 2
            b1:
              r3 = phi b0: 0x4
              STG [0x0], r3 mem(global w) ; 4
              EXIT ; 5
        "#]],
    );
}

#[test]
fn wide_operations_on_extended_words_become_narrow() {
    check(
        general,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = Copy RZ ; 1
  r2 = LDC c[0][0x210] ; 2
  r3 = SHF.HI.R.S32 RZ, 0x1f, r2 ; 3
  {r4 r5} = Shl64 {r0 r1}, 0x3 ; 4
  {r6 r7} = Mul64 {r2 r3}, {r0 r1} ; 5
  p8 = SetPredicate64.LT.S64 {r2 r3}, {r0 r1} ; 6
  {r10 r11} = Shr64.U64 {r6 r7}, 0x20 ; 7
  {r12 r13} = Select64 {r4 r5}, {r10 r11}, p8 ; 8
  STG.E.64 [{r2 r3}], {r12 r13} mem(global w) ; 9
  EXIT ; 10
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r2 = LDC c[0][0x210] ; 2
              r3 = SHF.HI.R.S32 RZ, 0x1f, r2 ; 3
              {r4 r5} = IMAD.WIDE r0, 0x8, RZ ; 4
              {r6 r7} = IMAD.WIDE r0, c[0][0x210], RZ ; 5
              p8, PT = ISETP.AND.GT r0, c[0][0x210], PT ; 6
              {r10 r11} = Shr64.U64 {r6 r7}, 0x20 ; 7
              {r12 r13} = Select64 {r4 r5}, {r7 r11}, p8 ; 8
              STG.64.E [{r2 r3}], {r12 r13} mem(global w) ; 9
              EXIT ; 10
        "#]],
    );
}

#[test]
fn signs_of_floats_are_operands() {
    check(
        general,
        "
kernel
b0:
  {r0 r1} = LDC.64 c[0][0x210] ; 0
  r2 = LDG.E [{r0 r1}] mem(global r) ; 1
  r3 = FADD -r2, -RZ ; 2
  r4 = FADD.FTZ |r2|, -RZ ; 3
  r5 = FFMA r3, r4, r2 ; 4
  r6 = FMUL.FTZ r4, -r3 ; 5
  {r8 r9} = LDG.E.64 [{r0 r1}+0x8] mem(global r) ; 6
  r10 = LOP3.LUT r9, 0x80000000, RZ, #60, !PT ; 7
  {r12 r13} = DADD {r8 r10}, {r8 r9} ; 8
  STG.E.64 [{r0 r1}], {r12 r13} mem(global w) ; 9
  STG.E.64 [{r0 r1}+0x8], {r5 r6} mem(global w) ; 9
  EXIT ; 10
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              {r0 r1} = LDC.64 c[0][0x210] ; 0
              r2 = LDG.E [{r0 r1}] mem(global r) ; 1
              r4 = FADD.FTZ |r2|, -RZ ; 3
              r5 = FFMA -r2, r4, r2 ; 4
              r6 = FMUL.FTZ |r2|, r2 ; 5
              {r8 r9} = LDG.64.E [{r0 r1}+0x8] mem(global r) ; 6
              {r12 r13} = DADD -{r8 r9}, {r8 r9} ; 8
              STG.64.E [{r0 r1}], {r12 r13} mem(global w) ; 9
              STG.64.E [{r0 r1}+0x8], {r5 r6} mem(global w) ; 9
              EXIT ; 10
        "#]],
    );
}

#[test]
fn outside_ssa_only_what_is_defined_once_is_replaced() {
    let mut function = parse(
        "
kernel
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = MOV 0x5 ; 1
  r2 = Copy r0 ; 2
b1: -> b1 b2
  r3 = Copy r2 ; 3
  r2 = IADD3 r2, r1, RZ ; 4
  r4 = IADD3 r3, r0, RZ ; 5
  STG [0x0], r4 mem(global w) ; 6
  p5, PT = ISETP.AND.LT r2, 0x64, PT ; 7
  @p5 BRA b1 ; 8
b2:
  STG [0x0], r2 mem(global w) ; 9
  EXIT ; 10
",
    )
    .expect("the text is Ori");
    let _ = general_in(&mut function, Form::Plain);
    assert_verified(&function, Form::Plain, "after");
    expect![[r#"
        kernel params=0 barriers=0
        b0: -> b1
          r0 = S2R %(SR_TID.X) ; 0
          r2 = Copy r0 ; 2
        b1: -> b1 b2
          r3 = Copy r2 ; 3
          r2 = IADD3 r2, 0x5, RZ ; 4
          r4 = IADD3 r3, r0, RZ ; 5
          STG [0x0], r4 mem(global w) ; 6
          p5, PT = ISETP.AND.LT r2, 0x64, PT ; 7
          @p5 BRA b1 ; 8
        b2:
          STG [0x0], r2 mem(global w) ; 9
          EXIT ; 10
    "#]]
    .assert_eq(&body(&function));
}

#[test]
fn equal_computations_are_shared_where_one_dominates() {
    check(
        |function| {
            let _ = gvn_cse::run(function);
        },
        "
kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_CTAID.X) ; 0
  r2 = IADD3 r0, r1, RZ ; 1
  r3 = LDS [r0] mem(shared r) ; 2
  r4 = LDS [r0] mem(shared r) ; 3
  STS [r1], r4 mem(shared w) ; 4
  r5 = LDS [r0] mem(shared r) ; 5
  p6, PT = ISETP.AND.LT r2, 0x64, PT ; 7
  @p6 BRA b2 ; 8
b1: -> b3
  r7 = IADD3 r1, r0, RZ ; 9
  r8 = FMUL r7, r3 ; 9
  r9 = FMUL r3, r2 contract ; 9
  r10 = FADD r8, r9 ; 9
b2: -> b3
  r11 = FMUL r2, r3 ; 10
b3:
  r12 = phi b1: r10, b2: r11
  r13 = phi b1: r10, b2: r11
  r14 = IADD3 r12, r13, r5 ; 11
  STS [r2], r14 mem(shared w) ; 12
  EXIT ; 13
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              r1 = S2R %(SR_CTAID.X) ; 0
              r2 = IADD3 r0, r1, RZ ; 1
              r3 = LDS [r0] mem(shared r) ; 2
              STS [r1], r3 mem(shared w) ; 4
              r5 = LDS [r0] mem(shared r) ; 5
              p6, PT = ISETP.AND.LT r2, 0x64, PT ; 7
              @p6 BRA b2 ; 8
            b1: -> b3
              r8 = FMUL r2, r3 ; 9
              r9 = FMUL r3, r2 contract ; 9
              r10 = FADD r8, r9 ; 9
            b2: -> b3
              r11 = FMUL r2, r3 ; 10
            b3:
              r12 = phi b1: r10, b2: r11
              r14 = IADD3 r12, r12, r5 ; 11
              STS [r2], r14 mem(shared w) ; 12
              EXIT ; 13
        "#]],
    );
}

#[test]
fn sums_products_and_tables_fuse() {
    check(
        linear,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_CTAID.X) ; 0
  r2 = LDC c[0][0x0] ; 1
  r3 = IMAD r1, r2, RZ ; 2
  r4 = IADD3 r3, r0, RZ ; 3
  r5 = SHF.L.U32 r4, 0x2, RZ ; 4
  r6 = IADD3 r5, r2, RZ ; 5
  r7 = IADD3 r6, r1, RZ ; 6
  r8 = LOP3.LUT r7, 0xff, RZ, #192, !PT ; 7
  r9 = LOP3.LUT r8, r0, RZ, #252, !PT ; 8
  {r10 r11} = LDC.64 c[0][0x210] ; 9
  {r12 r13} = IMAD.WIDE r9, 0x4, RZ ; 10
  {r14 r15} = Add64 {r10 r11}, {r12 r13} ; 11
  {r16 r17} = LDG.E.64 [{r14 r15}] mem(global r) ; 12
  {r18 r19} = Shl64 {r16 r17}, 0x3 ; 13
  {r20 r21} = Add64 {r18 r19}, {r10 r11} ; 14
  r22 = SHF.HI.R.S32 RZ, 0x1f, r4 ; 15
  {r24 r25} = Add64 {r20 r21}, {r4 r22} ; 16
  STG.E [{r24 r25}], r9 mem(global w) ; 17
  EXIT ; 18
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r1 = S2R %(SR_CTAID.X) ; 0
              r4 = IMAD r1, c[0][0x0], r0 ; 3
              r6 = LEA r4, c[0][0x0], #2 ; 5
              r7 = IADD3 r6, r1, RZ ; 6
              r9 = LOP3.LUT r0, 0xff, r7, #248, !PT ; 8
              {r10 r11} = LDC.64 c[0][0x210] ; 9
              {r14 r15} = IMAD.WIDE r9, 0x4, {r10 r11} ; 11
              {r16 r17} = LDG.64.E [{r14 r15}] mem(global r) ; 12
              r20, p26 = LEA r16, c[0][0x210], #3 ; 14
              r21 = LEA.HI.X r16, c[0][0x214], r17, #3, p26 ; 14
              {r24 r25} = IMAD.WIDE r4, 0x1, {r20 r21} ; 16
              STG.E [{r24 r25}], r9 mem(global w) ; 17
              EXIT ; 18
        "#]],
    );
}

#[test]
fn contraction_needs_leave_of_both() {
    check(
        linear,
        "
kernel
b0:
  {r0 r1} = LDC.64 c[0][0x210] ; 0
  {r2 r3} = LDG.E.64 [{r0 r1}] mem(global r) ; 1
  r4 = FMUL r2, r3 contract ; 2
  r5 = FADD r4, -r2 contract ; 3
  r6 = FMUL r2, r3 ; 4
  r7 = FADD r6, r2 contract ; 5
  r8 = FMUL r2, r5 contract ; 6
  r9 = FADD.FTZ r8, r2 contract ; 7
  r10 = FMUL r3, 0x40000000 contract ; 8
  r11 = FADD r9, -r10 contract ; 9
  r12 = FMUL.SAT r3, r11 contract ; 10
  r13 = FADD r12, r7 contract ; 11
  STG.E [{r0 r1}], r13 mem(global w) ; 12
  EXIT ; 13
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              {r0 r1} = LDC.64 c[0][0x210] ; 0
              {r2 r3} = LDG.64.E [{r0 r1}] mem(global r) ; 1
              r5 = FFMA r2, r3, -r2 ; 3
              r6 = FMUL r2, r3 ; 4
              r7 = FADD r6, r2 contract ; 5
              r8 = FMUL r2, r5 contract ; 6
              r9 = FADD.FTZ r8, r2 contract ; 7
              r11 = FFMA r3, 0xc0000000, r9 ; 9
              r12 = FMUL.SAT r3, r11 contract ; 10
              r13 = FADD r12, r7 contract ; 11
              STG.E [{r0 r1}], r13 mem(global w) ; 12
              EXIT ; 13
        "#]],
    );
}

#[test]
fn without_fmad_nothing_is_contracted() {
    let text = "
kernel
b0:
  {r0 r1} = LDC.64 c[0][0x210] ; 0
  {r2 r3} = LDG.E.64 [{r0 r1}] mem(global r) ; 1
  r4 = FMUL r2, r3 contract ; 2
  r5 = FADD r4, -r2 contract ; 3
  STG.E [{r0 r1}], r5 mem(global w) ; 12
  EXIT ; 13
";
    let mut function = parse(text).expect("the text is Ori");
    let _ = linear_replacement::run(
        &mut function,
        Chip::SM_90,
        linear_replacement::Wants { contraction: false, ..FUSED },
        None,
    );
    live_dead::run(&mut function);
    assert_eq!(count(&function, |i| i.opcode == Op::FFMA.into()), 0);
    assert_eq!(count(&function, |i| i.opcode == Op::FMUL.into()), 1);
}

#[test]
fn invariants_leave_loops_that_run_them_each_round() {
    check(
        hoist,
        "
kernel
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
b1: -> b3 b2
  r1 = phi b0: RZ, b4: r9
  r2 = LDC c[0][0x210] ; 1
  r3 = IADD3 r2, r0, RZ ; 2
  r4 = IADD3 r3, r1, RZ ; 3
  p5, PT = ISETP.AND.LT r4, 0x64, PT ; 4
  @p5 BRA b3 ; 5
b2: -> b4
  r6 = IMAD r0, r0, RZ ; 6
  STG [0x0], r6 mem(global w) ; 7
b3: -> b4
b4: -> b1 b5
  r9 = IADD3 r1, 0x1, RZ ; 8
  r10 = IMAD r3, r3, RZ ; 8
  p11, PT = ISETP.AND.LT r9, r10, PT ; 9
  @p11 BRA b1 ; 10
b5:
  EXIT ; 11
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b1
              r0 = S2R %(SR_TID.X) ; 0
              r2 = LDC c[0][0x210] ; 1
              r3 = IADD3 r2, r0, RZ ; 2
              r10 = IMAD r3, r3, RZ ; 8
            b1: -> b3 b2
              r1 = phi b0: RZ, b4: r9
              r4 = IADD3 r3, r1, RZ ; 3
              p5, PT = ISETP.AND.LT r4, 0x64, PT ; 4
              @p5 BRA b3 ; 5
            b2: -> b4
              r6 = IMAD r0, r0, RZ ; 6
              STG [0x0], r6 mem(global w) ; 7
            b3: -> b4
            b4: -> b1 b5
              r9 = IADD3 r1, 0x1, RZ ; 8
              p11, PT = ISETP.AND.LT r9, r10, PT ; 9
              @p11 BRA b1 ; 10
            b5:
              EXIT ; 11
        "#]],
    );
}

/// After SSA the copies at the end of a preheader write operands of its instructions: a multiply of one of these
/// stays.
#[test]
fn what_a_copy_before_the_loop_writes_is_not_there_before_it() {
    let text = "
kernel
b0: -> b1
  r0 = LDC c[0][0x210] ; 0
  r5 = LDC c[0][0x214] ; 0
  r1, r2 = ParallelCopy r0, RZ ; 0
b1: -> b1 b2
  r3 = IMAD r1, 0x4d, RZ ; 1
  r4 = IMAD r5, 0x4d, RZ ; 1
  r2 = IADD3 r2, r3, r4 ; 2
  p6, PT = ISETP.AND.LT r2, 0x64, PT ; 3
  @p6 BRA b1 ; 4
b2:
  STG [0x0], r2 mem(global w) ; 5
  EXIT ; 5
";
    let mut function = parse(text).expect("the text is Ori");
    assert_verified(&function, Form::Assigned, "before");
    let _ = hoist_invariants::run(&mut function, Chip::SM_90, Form::Assigned);
    assert_verified(&function, Form::Assigned, "after");
    expect![[r#"
        kernel params=0 barriers=0
        b0: -> b1
          r0 = LDC c[0][0x210] ; 0
          r5 = LDC c[0][0x214] ; 0
          r4 = IMAD r5, 0x4d, RZ ; 1
          r1, r2 = ParallelCopy r0, RZ ; 0
        b1: -> b1 b2
          r3 = IMAD r1, 0x4d, RZ ; 1
          r2 = IADD3 r2, r3, r4 ; 2
          p6, PT = ISETP.AND.LT r2, 0x64, PT ; 3
          @p6 BRA b1 ; 4
        b2:
          STG [0x0], r2 mem(global w) ; 5
          EXIT ; 5
    "#]]
    .assert_eq(&body(&function));
}

#[test]
fn a_loop_entered_from_two_blocks_gets_a_place_before_it() {
    check(
        hoist,
        "
kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT r0, 0x64, PT ; 1
  @p1 BRA b2 ; 2
b1: -> b3
  r2 = MOV 0x7 ; 3
b2: -> b3
b3: -> b3 b4
  r3 = phi b1: r2, b2: r0, b3: r5
  r4 = LDC c[0][0x210] ; 4
  r5 = IADD3 r3, r4, RZ ; 5
  p6, PT = ISETP.AND.LT r5, 0x64, PT ; 6
  @p6 BRA b3 ; 7
b4:
  EXIT ; 8
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.LT r0, 0x64, PT ; 1
              @p1 BRA b2 ; 2
            b1: -> b3
              r2 = MOV 0x7 ; 3
            b2: -> b3
            b3: -> b4
              r7 = phi b1: r2, b2: r0
              r4 = LDC c[0][0x210] ; 4
            b4: -> b4 b5
              r3 = phi b3: r7, b4: r5
              r5 = IADD3 r3, r4, RZ ; 5
              p6, PT = ISETP.AND.LT r5, 0x64, PT ; 6
              @p6 BRA b4 ; 7
            b5:
              EXIT ; 8
        "#]],
    );
}

#[test]
fn invariant_terms_come_together() {
    check(
        |function| {
            reassociate::run(function, Chip::SM_90);
            hoist(function);
        },
        "
kernel
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  {r2 r3} = LDC.64 c[0][0x210] ; 0
  {r4 r5} = LDC.64 c[0][0x218] ; 0
b1: -> b1 b2
  r1 = phi b0: RZ, b1: r12
  {r6 r7} = IMAD.WIDE r1, 0x4, {r2 r3} ; 1
  {r8 r9} = Add64 {r6 r7}, {r4 r5} ; 2
  STG.E [{r8 r9}], r1 mem(global w) ; 3
  r12 = IADD3 r1, 0x1, RZ ; 4
  p13, PT = ISETP.AND.LT r12, r0, PT ; 5
  @p13 BRA b1 ; 6
b2:
  EXIT ; 7
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b1
              r0 = S2R %(SR_TID.X) ; 0
              {r2 r3} = LDC.64 c[0][0x210] ; 0
              {r4 r5} = LDC.64 c[0][0x218] ; 0
              {r6 r7} = Add64 {r2 r3}, {r4 r5} ; 1
            b1: -> b1 b2
              r1 = phi b0: RZ, b1: r12
              {r8 r9} = IMAD.WIDE r1, 0x4, {r6 r7} ; 2
              STG.E [{r8 r9}], r1 mem(global w) ; 3
              r12 = IADD3 r1, 0x1, RZ ; 4
              p13, PT = ISETP.AND.LT r12, r0, PT ; 5
              @p13 BRA b1 ; 6
            b2:
              EXIT ; 7
        "#]],
    );
}

// Random functions.

/// Seeds of random functions; `OPTIMIZE_SEEDS` sets another count.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let asked = std::env::var("OPTIMIZE_SEEDS").ok().and_then(|text| text.parse().ok());
    0..asked.unwrap_or(count)
}

/// Values that a random function works on.
struct Pool {
    words: Vec<Value>,
    predicates: Vec<Value>,
    pairs: Vec<[Value; 2]>,
}

/// A raw function with all kinds of integer operations, mostly with constants among the operands.
fn random_arithmetic(seed: u64) -> Function {
    let mut dice = Dice::new(seed);
    let mut function = Function { is_entry: true, ..Function::default() };
    let pool = Pool {
        words: (0..8).map(|i| function.new_value(File::R, Some((i, 0)))).collect(),
        predicates: (0..4).map(|i| function.new_value(File::P, Some((8 + i, 0)))).collect(),
        pairs: (0..4).map(|i| [0, 1].map(|part| function.new_value(File::R, Some((20 + i, part))))).collect(),
    };
    let count = 1 + dice.roll(7);
    function.blocks = ti_vec![Default::default(); count];
    for id in function.block_ids() {
        let mut b = Builder::new(&mut function, id, Origin(id.0));
        if id.0 == 0 {
            b.s2r(pool.words[0], Symbol::SR_TID_X);
            b.s2r(pool.words[1], Symbol::SR_CTAID_X);
            for (index, &word) in pool.words.iter().enumerate().skip(2) {
                b.ldc(
                    [word],
                    SourceKind::Const {
                        bank: 0,
                        base: oriole_ori::ConstBase::Bank,
                        offset: 0x210 + 4 * index as i32,
                    },
                );
            }
            for (index, &predicate) in pool.predicates.iter().enumerate() {
                b.isetp(predicate, Mod::LT, true, pool.words[index], 2u32);
            }
            for (index, &pair) in pool.pairs.iter().enumerate() {
                b.ldc(
                    pair,
                    SourceKind::Const {
                        bank: 0,
                        base: oriole_ori::ConstBase::Bank,
                        offset: 0x240 + 8 * index as i32,
                    },
                );
            }
        }
        for _ in 0..dice.roll(14) {
            let guard = (dice.roll(6) == 0)
                .then(|| Guard { value: dice.pick(&pool.predicates), negated: dice.roll(2) == 0 });
            b.set_guard(guard);
            random_operation(&mut b, &mut dice, &pool);
        }
        b.set_guard(None);
        let here = usize::from(id);
        if here + 1 == count {
            for (index, &word) in pool.words.iter().enumerate() {
                store(&mut b, 0x100 + 4 * index as i32, word);
            }
            for (index, &predicate) in pool.predicates.iter().enumerate() {
                let d = b.r();
                b.sel(d, Source::rz(), 1u32, Source::value(predicate).inverted());
                store(&mut b, 0x180 + 4 * index as i32, d);
            }
            for (index, pair) in pool.pairs.iter().enumerate() {
                store(&mut b, 0x200 + 8 * index as i32, pair[0]);
                store(&mut b, 0x204 + 8 * index as i32, pair[1]);
            }
            b.exit();
        } else {
            let near = |dice: &mut Dice| {
                let back = dice.roll(4) == 0;
                BlockId(if back {
                    1 + dice.roll(here.max(1))
                } else {
                    here + 1 + dice.roll((count - here - 1).min(3))
                } as u32)
            };
            let guard = Guard { value: dice.pick(&pool.predicates), negated: dice.roll(2) == 0 };
            let (to, other) = (near(&mut dice), BlockId(here as u32 + 1));
            b.branch(guard, to, other);
        }
    }
    function
}

fn random_word(dice: &mut Dice, pool: &Pool) -> Source {
    const NUMBERS: [u32; 12] =
        [0, 1, 2, 3, 4, 31, 0xff, 0xffff, 0xffff_ffff, 0x8000_0000, 0x7fff_ffff, 0x1234_5678];
    match dice.roll(10) {
        0 => Source::imm(dice.pick(&NUMBERS)),
        1 => Source::rz(),
        _ => dice.pick(&pool.words).into(),
    }
}

fn random_pair(dice: &mut Dice, pool: &Pool) -> Source {
    match dice.roll(8) {
        0 => Source::rz(),
        1 => {
            let pair = dice.pick(&pool.pairs);
            Source::values([dice.pick(&pool.words), pair[1]])
        }
        _ => dice.pick(&pool.pairs).into(),
    }
}

fn random_operation(b: &mut Builder<'_>, dice: &mut Dice, pool: &Pool) {
    let d = dice.pick(&pool.words);
    let p = dice.pick(&pool.predicates);
    let pair = dice.pick(&pool.pairs);
    let register = |dice: &mut Dice| Source::value(dice.pick(&pool.words));
    let choice = |dice: &mut Dice| {
        let q = Source::value(dice.pick(&pool.predicates));
        match dice.roll(6) {
            0 => Source::pt(),
            1 => Source::not_pt(),
            2 => q.inverted(),
            _ => q,
        }
    };
    let sign = |dice: &mut Dice, source: Source| if dice.roll(4) == 0 { source.negated() } else { source };
    let small = |dice: &mut Dice| Source::imm(dice.roll(40) as u32);
    let compares = [Mod::LT, Mod::LE, Mod::GT, Mod::GE, Mod::EQ, Mod::NE];
    let signed = dice.pick(&[Mod::S64, Mod::U64]);
    match dice.roll(24) {
        0 | 1 => {
            let (x, y) = (register(dice), register(dice));
            let (x, y) = (sign(dice, x), sign(dice, y));
            b.iadd3(d, x, y, Source::rz());
        }
        2 => {
            let (x, y) = (register(dice), random_word(dice, pool));
            b.iadd3(d, x, y, Source::rz());
        }
        3 => {
            let (x, y, z) = (register(dice), random_word(dice, pool), register(dice));
            b.imad(d, x, y, z);
        }
        4 => {
            let (x, y) = (register(dice), random_word(dice, pool));
            b.imad(d, x, y, Source::rz());
        }
        5 | 6 => {
            let (x, y, z) = (register(dice), random_word(dice, pool), register(dice));
            let table = dice.roll(256) as u8;
            b.lop3(d, x, y, if dice.roll(2) == 0 { z } else { Source::rz() }, table);
        }
        7 => {
            let (x, n) = (register(dice), small(dice));
            b.shl(d, x, n);
        }
        8 => {
            let (x, n) = (register(dice), small(dice));
            if dice.roll(2) == 0 { b.shr(d, x, n) } else { b.sar(d, x, n) }
        }
        9 | 10 => {
            let selector = dice
                .pick(&[0x7710u32, 0x9910, 0x7770, 0x8880, 0x5410, 0x7632, 0x3210, 0x0123, 0x7654, 0x4441]);
            let (x, z) = (register(dice), if dice.roll(2) == 0 { register(dice) } else { Source::rz() });
            b.prmt(d, x, selector, z);
        }
        11 => {
            let (x, y, q) = (register(dice), random_word(dice, pool), choice(dice));
            b.sel(d, x, y, q);
        }
        12 => {
            let q = choice(dice);
            b.sel(d, Source::rz(), 1u32, q);
        }
        13 | 14 => {
            let (x, y, q) = (register(dice), random_word(dice, pool), choice(dice));
            let unsigned = dice.roll(2) == 0;
            b.isetp_and(p, dice.pick(&compares), unsigned, x, y, q);
        }
        15 => {
            let (x, y, z) = (choice(dice), choice(dice), choice(dice));
            b.plop3(p, x, y, z, dice.roll(256) as u8);
        }
        16 => {
            let (x, y) = (random_pair(dice, pool), random_pair(dice, pool));
            let y = sign(dice, y);
            b.op(Pseudo::Add64).to_tuple(pair).from(x).from(y).emit();
        }
        17 => {
            let (x, y) = (random_pair(dice, pool), random_pair(dice, pool));
            b.op(Pseudo::Mul64).to_tuple(pair).from(x).from(y).emit();
        }
        18 => {
            let (x, n) = (random_pair(dice, pool), Source::imm(dice.roll(70) as u32));
            if dice.roll(2) == 0 {
                b.op(Pseudo::Shl64).to_tuple(pair).from(x).from(n).emit();
            } else {
                b.op(Pseudo::Shr64).m(signed).to_tuple(pair).from(x).from(n).emit();
            }
        }
        19 => {
            let (x, y) = (random_pair(dice, pool), random_pair(dice, pool));
            b.op(Pseudo::SetPredicate64).mods(&[dice.pick(&compares), signed]).to(p).from(x).from(y).emit();
        }
        20 => {
            let (x, y, q) = (random_pair(dice, pool), random_pair(dice, pool), choice(dice));
            match dice.roll(2) {
                0 => b.op(Pseudo::Select64).to_tuple(pair).from(x).from(y).from(q).emit(),
                _ => {
                    let table = Source::literal(dice.roll(256) as i64);
                    b.op(Pseudo::Logic64).to_tuple(pair).from(x).from(y).from(Source::rz()).from(table).emit()
                }
            }
        }
        21 => {
            // An extended word, zero-extended or sign-extended.
            let x = dice.pick(&pool.words);
            b.mov(pair[0], x);
            if dice.roll(2) == 0 {
                b.mov(pair[1], Source::rz());
            } else {
                b.sar(pair[1], pair[0], 31u32);
            }
        }
        22 => {
            let (x, y) = (register(dice), random_word(dice, pool));
            let unsigned = dice.roll(2) == 0;
            let addend = if dice.roll(2) == 0 { Source::rz() } else { Source::from(dice.pick(&pool.pairs)) };
            b.imad_wide(pair, unsigned, x, y, addend);
        }
        _ => {
            let x = random_word(dice, pool);
            b.mov(d, x);
        }
    }
}

fn arithmetic_world(seed: u64) -> evaluator::World {
    let mut dice = Dice::new(seed ^ 0x55);
    let mut world = world(seed + 1);
    for word in 0..32 {
        let value = match dice.roll(4) {
            0 => dice.roll(5) as u32,
            1 => !(dice.roll(5) as u32),
            _ => (dice.roll(1 << 31) as u32) << 1 ^ dice.roll(2) as u32,
        };
        world.constants.insert(0x200 + 4 * word, value);
    }
    world
}

/// Runs the bundle. Its fixed point must be one: another run finds nothing.
fn fold(function: &mut Function, form: Form) {
    if general_in(function, form) == Outcome::FixedPoint {
        let before = function.clone();
        let _ = general_in(function, form);
        assert!(*function == before, "a second run at the fixed point changed the function");
    }
}

#[test]
fn random_arithmetic_keeps_its_meaning() {
    let mut sizes = [0usize; 2];
    for seed in seeds(150) {
        let original = random_arithmetic(seed);
        let world = arithmetic_world(seed);
        let before = evaluator::run(&original, &world);
        let mut function = original.clone();
        let step = |function: &Function, form: Form, name: &str| {
            let what = format!("seed {seed} after {name}");
            assert_verified(function, form, &what);
            assert_same(&before, &evaluator::run(function, &world), &what);
        };
        fold(&mut function, Form::Plain);
        step(&function, Form::Plain, "folding outside SSA");
        generate_mov_phi::run(&mut function);
        live_dead::run(&mut function);
        sizes[0] += function.blocks.iter().map(|block| block.instructions.len()).sum::<usize>();
        fold(&mut function, Form::Ssa);
        step(&function, Form::Ssa, "folding");
        let folded = function.clone();
        let _ = linear_replacement::run(&mut function, Chip::SM_90, FUSED, None);
        live_dead::run(&mut function);
        step(&function, Form::Ssa, "linear replacement");
        let _ = hoist_invariants::run(&mut function, Chip::SM_90, Form::Ssa);
        step(&function, Form::Ssa, "hoisting");
        let _ = gvn_cse::run(&mut function);
        step(&function, Form::Ssa, "value numbering");
        reassociate::run(&mut function, Chip::SM_90);
        step(&function, Form::Ssa, "reassociation");
        fold(&mut function, Form::Ssa);
        step(&function, Form::Ssa, "folding again");
        sizes[1] += function.blocks.iter().map(|block| block.instructions.len()).sum::<usize>();
        convert_mov_phi::run(&mut function);
        fold(&mut function, Form::Plain);
        step(&function, Form::Assigned, "folding after SSA");
        let _ = hoist_invariants::run(&mut function, Chip::SM_90, Form::Assigned);
        step(&function, Form::Assigned, "hoisting after SSA");
        // The order of passes does not matter.
        let mut other = folded;
        let _ = gvn_cse::run(&mut other);
        reassociate::run(&mut other, Chip::SM_90);
        step(&other, Form::Ssa, "numbering and reassociation first");
        let _ = linear_replacement::run(&mut other, Chip::SM_90, FUSED, None);
        live_dead::run(&mut other);
        step(&other, Form::Ssa, "linear replacement last");
    }
    assert!(sizes[1] < sizes[0], "{} instructions became {}", sizes[0], sizes[1]);
}

/// Passes that may keep the fixed point of the bundle, in pipeline order.
const KEEPERS: [&Pass; 5] = [
    &linear_replacement::PASS,
    &hoist_invariants::PASS,
    &gvn_cse::PASS,
    &expand_sync::PASS,
    &convert_mov_phi::PASS,
];

#[test]
fn what_keeps_a_fixed_point_leaves_nothing_to_the_bundle() {
    let options = &Options::default().passes();
    let mut kept = [0; KEEPERS.len()];
    let functions = (0..500).map(random_arithmetic).chain((0..500).map(random_function));
    for (number, mut function) in functions.enumerate() {
        generate_mov_phi::run(&mut function);
        let mut form = Form::Ssa;
        function.at_fixed_point = general_in(&mut function, form) == Outcome::FixedPoint;
        for (pass, kept) in KEEPERS.iter().zip(&mut kept) {
            let context = PassContext { chip: Chip::SM_90, form, options, decisions: None, allowance: None };
            let outcome = (pass.run)(&mut function, &context);
            form = pass.form.after(form).expect("the pass takes the form");
            if function.at_fixed_point && outcome == Outcome::Kept {
                let before = function.clone();
                let _ = general_in(&mut function, form);
                assert!(function == before, "function {number}, {pass:?}: {before}\n{function}");
                *kept += 1;
            }
            function.at_fixed_point = outcome.at_fixed_point(function.at_fixed_point);
        }
    }
    assert!(kept.iter().all(|&times| times > 10), "kept {kept:?} times");
}

#[test]
fn random_control_flow_keeps_its_meaning() {
    let mut sunk = 0;
    for seed in seeds(80) {
        let original = random_function(seed);
        let before = evaluator::run(&original, &world(seed));
        let mut function = original.clone();
        generate_mov_phi::run(&mut function);
        for round in 0..2 {
            fold(&mut function, Form::Ssa);
            let _ = linear_replacement::run(&mut function, Chip::SM_90, FUSED, None);
            live_dead::run(&mut function);
            let _ = hoist_invariants::run(&mut function, Chip::SM_90, Form::Ssa);
            let _ = gvn_cse::run(&mut function);
            reassociate::run(&mut function, Chip::SM_90);
            sunk += usize::from(sink::run(&mut function));
            let what = format!("seed {seed} round {round}");
            assert_verified(&function, Form::Ssa, &what);
            assert_same(&before, &evaluator::run(&function, &world(seed)), &what);
        }
    }
    assert!(sunk > 10, "something goes down in {sunk} of them");
}

/// An extracted half is read from its source, and two packed roundings are one.
#[test]
fn halves_are_read_where_they_are() {
    check(
        general,
        "
kernel
b0:
  r9 = S2R %(SR_TID.X) ; 0
  r0 = LDS [r9] mem(shared r) ; 0
  r1 = PRMT r0, 0x7732, RZ ; 1
  r2 = HADD2.F32 -RZ, r1.H0_H0 ; 2
  r3 = HADD2.F32 -RZ, r0.H0_H0 ; 3
  r4 = F2FP.F16.F32.PACK_AB RZ, r2 ; 4
  r5 = F2FP.F16.F32.PACK_AB RZ, r3 ; 5
  r6 = PRMT r4, 0x5410, r5 ; 6
  STS [r0], r6 mem(shared w) ; 7
  EXIT ; 8
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r9 = S2R %(SR_TID.X) ; 0
              r0 = LDS [r9] mem(shared r) ; 0
              r2 = HADD2.F32 -RZ, r0.H1_H1 ; 2
              r3 = HADD2.F32 -RZ, r0.H0_H0 ; 3
              r6 = F2FP.F16.F32.PACK_AB r3, r2 ; 6
              STS [r0], r6 mem(shared w) ; 7
              EXIT ; 8
        "#]],
    );
}

/// Halves of a multiply that are close to each other become one wide multiply. Others do not: one with an addend,
/// halves that are far apart, a second upper half.
#[test]
fn halves_of_a_product_are_made_at_once() {
    check(
        |function| {
            product_halves::join(function, Chip::SM_90);
        },
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_CTAID.X) ; 0
  r2 = IMAD.HI.U32 r0, r1, RZ ; 1
  r3 = IMAD r1, r0, RZ ; 1
  r4 = IMAD r0, 0x7, RZ ; 2
  r5 = IMAD.HI r0, 0x7, RZ ; 3
  r6 = IMAD.HI.U32 r0, 0x7, RZ ; 3
  r7 = IMAD r0, 0x9, r1 ; 4
  r8 = IMAD.HI.U32 r0, 0x9, RZ ; 5
  r9 = IMAD r1, 0xb, RZ ; 6
  r40 = IADD3 r4, 0x1, RZ ; 6
  r41 = IADD3 r4, 0x2, RZ ; 6
  r42 = IADD3 r4, 0x3, RZ ; 6
  r43 = IADD3 r4, 0x4, RZ ; 6
  r44 = IADD3 r4, 0x5, RZ ; 6
  r45 = IADD3 r4, 0x6, RZ ; 6
  r46 = IADD3 r4, 0x7, RZ ; 6
  r10 = IMAD.HI.U32 r1, 0xb, RZ ; 7
  r11 = IADD3 r2, r3, r4 ; 8
  r12 = IADD3 r5, r6, r7 ; 8
  r13 = IADD3 r8, r9, r10 ; 8
  STS [r0], r11 mem(shared w) ; 9
  STS [r0+0x4], r12 mem(shared w) ; 9
  STS [r0+0x8], r13 mem(shared w) ; 9
  EXIT ; 9
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r1 = S2R %(SR_CTAID.X) ; 0
              {r3 r2} = IMAD.U32.WIDE r0, r1, RZ ; 1
              {r4 r5} = IMAD.WIDE r0, 0x7, RZ ; 2
              r6 = IMAD.HI.U32 r0, 0x7, RZ ; 3
              r7 = IMAD r0, 0x9, r1 ; 4
              r8 = IMAD.HI.U32 r0, 0x9, RZ ; 5
              r9 = IMAD r1, 0xb, RZ ; 6
              r40 = IADD3 r4, 0x1, RZ ; 6
              r41 = IADD3 r4, 0x2, RZ ; 6
              r42 = IADD3 r4, 0x3, RZ ; 6
              r43 = IADD3 r4, 0x4, RZ ; 6
              r44 = IADD3 r4, 0x5, RZ ; 6
              r45 = IADD3 r4, 0x6, RZ ; 6
              r46 = IADD3 r4, 0x7, RZ ; 6
              r10 = IMAD.HI.U32 r1, 0xb, RZ ; 7
              r11 = IADD3 r2, r3, r4 ; 8
              r12 = IADD3 r5, r6, r7 ; 8
              r13 = IADD3 r8, r9, r10 ; 8
              STS [r0], r11 mem(shared w) ; 9
              STS [r0+0x4], r12 mem(shared w) ; 9
              STS [r0+0x8], r13 mem(shared w) ; 9
              EXIT ; 9
        "#]],
    );
}

/// A constant plus a carry that is then compared is the carry. An add of one word does not carry, and a known carry
/// is a constant.
#[test]
fn carries_are_read_where_they_are() {
    check(
        general,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_CTAID.X) ; 0
  r2, p3 = IADD3 r0, r1, RZ ; 1
  r4 = IADD3.X RZ, RZ, RZ, p3, !PT ; 2
  p5, PT = ISETP.AND.NE.U32 r4, RZ, PT ; 3
  r6 = IADD3.X RZ, ~RZ, RZ, p3, !PT ; 4
  p7, PT = ISETP.AND.EQ.U32 r6, 0xffffffff, PT ; 5
  r8 = SEL r0, r2, p5 ; 6
  r9 = SEL r1, r2, p7 ; 6
  r10, p11 = IADD3 r8, RZ, RZ ; 7
  r12 = IADD3.X r9, r0, RZ, p11, !PT ; 8
  r13 = IADD3.X r9, ~r0, RZ, PT, !PT ; 9
  r14 = IADD3.X r9, RZ, RZ, PT, !PT ; 10
  r15, p16 = IADD3.X r9, r8, RZ, PT, !PT ; 11
  r17 = IADD3.X RZ, RZ, RZ, p16, !PT ; 12
  r18, p19 = IADD3.X r9, r8, r0, !PT, !PT ; 12
  r20 = IADD3.X r17, r18, RZ, p19, !PT ; 12
  STS [r0+0x18], r20 mem(shared w) ; 13
  STS [r0], r10 mem(shared w) ; 13
  STS [r0+0x4], r12 mem(shared w) ; 13
  STS [r0+0x8], r13 mem(shared w) ; 13
  STS [r0+0xc], r14 mem(shared w) ; 13
  STS [r0+0x10], r15 mem(shared w) ; 13
  STS [r0+0x14], r17 mem(shared w) ; 13
  EXIT ; 14
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r1 = S2R %(SR_CTAID.X) ; 0
              r2, p3 = IADD3 r0, r1, RZ ; 1
              r8 = SEL r0, r2, p3 ; 6
              r9 = SEL r1, r2, !p3 ; 6
              r10, PT = IADD3 r8, RZ, RZ ; 7
              r12 = IADD3 r9, r0, RZ ; 8
              r13 = IADD3 r9, -r0, RZ ; 9
              r14 = IADD3 r9, 0x1, RZ ; 10
              r15, p16 = IADD3.X r9, r8, RZ, PT, !PT ; 11
              r17 = IADD3.X RZ, RZ, RZ, p16, !PT ; 12
              r18, p19 = IADD3.X r9, r8, r0, !PT, !PT ; 12
              r20 = IADD3.X r17, r18, RZ, p19, !PT ; 12
              STS [r0+0x18], r20 mem(shared w) ; 13
              STS [r0], r10 mem(shared w) ; 13
              STS [r0+0x4], r12 mem(shared w) ; 13
              STS [r0+0x8], r13 mem(shared w) ; 13
              STS [r0+0xc], r14 mem(shared w) ; 13
              STS [r0+0x10], r15 mem(shared w) ; 13
              STS [r0+0x14], r17 mem(shared w) ; 13
              EXIT ; 14
        "#]],
    );
}

/// Signs of f16x2 halves become operand modifiers. A sign of the half that is not read does not count; signs of both
/// halves do where both are read.
#[test]
fn signs_of_halves_are_written_on_operands() {
    check(
        general,
        "
kernel
b0:
  r9 = S2R %(SR_TID.X) ; 0
  r0 = LDS [r9] mem(shared r) ; 0
  r1 = LOP3.LUT r0, 0x7fff7fff, RZ, #192, !PT ; 1
  r2 = LOP3.LUT r0, 0x80008000, RZ, #60, !PT ; 2
  r3 = LOP3.LUT r0, 0x8000, RZ, #60, !PT ; 3
  r4 = HADD2 r1.H0_H0, -r1.H1_H1 ; 4
  r5 = HFMA2 r2, -r2, |r2| ; 5
  r6 = HMUL2 r3.H0_H0, r3.H1_H1 ; 6
  r7 = HADD2 r3, r4 ; 7
  r8 = HMUL2.BF16_V2 r1, r7 ; 7
  r10 = LOP3.LUT r0, 0xffff7fff, RZ, #192, !PT ; 7
  r11 = HADD2 r10.H0_H0, r10.H1_H1 ; 7
  STS [r9+0x10], r11 mem(shared w) ; 8
  STS [r9], r5 mem(shared w) ; 8
  STS [r9+0xc], r8 mem(shared w) ; 8
  STS [r9+0x4], r6 mem(shared w) ; 8
  STS [r9+0x8], r7 mem(shared w) ; 8
  EXIT ; 9
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r9 = S2R %(SR_TID.X) ; 0
              r0 = LDS [r9] mem(shared r) ; 0
              r1 = LOP3.LUT r0, 0x7fff7fff, RZ, #192, !PT ; 1
              r3 = LOP3.LUT r0, 0x8000, RZ, #60, !PT ; 3
              r4 = HADD2 |r0|.H0_H0, -|r0|.H1_H1 ; 4
              r5 = HFMA2 -r0, r0, |r0| ; 5
              r6 = HMUL2 -r0.H0_H0, r0.H1_H1 ; 6
              r7 = HADD2 r3, r4 ; 7
              r8 = HMUL2.BF16_V2 r1, r7 ; 7
              r11 = HADD2 |r0|.H0_H0, r0.H1_H1 ; 7
              STS [r9+0x10], r11 mem(shared w) ; 8
              STS [r9], r5 mem(shared w) ; 8
              STS [r9+0xc], r8 mem(shared w) ; 8
              STS [r9+0x4], r6 mem(shared w) ; 8
              STS [r9+0x8], r7 mem(shared w) ; 8
              EXIT ; 9
        "#]],
    );
}

/// A multiple of a power of two has zero bits below it, whichever value is selected.
#[test]
fn bits_below_a_power_of_two_are_zero() {
    check(
        general,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  p1, PT = ISETP.AND.LT r0, 0x8, PT ; 1
  r2 = SEL RZ, 0x10, p1 ; 2
  r3 = IADD3 -r2, 0x10, RZ ; 3
  r4 = LOP3.LUT r3, 0xf, RZ, #192, !PT ; 4
  r5 = IADD3 r0, r4, RZ ; 5
  r6 = LOP3.LUT r3, 0x1f, RZ, #192, !PT ; 6
  STS [r5], r6 mem(shared w) ; 7
  EXIT ; 8
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              p1, PT = ISETP.AND.LT r0, 0x8, PT ; 1
              r2 = SEL RZ, 0x10, p1 ; 2
              r3 = IADD3 -r2, 0x10, RZ ; 3
              r6 = LOP3.LUT r3, 0x1f, RZ, #192, !PT ; 6
              STS [r0], r6 mem(shared w) ; 7
              EXIT ; 8
        "#]],
    );
}

/// A guarded operation is redundant only where guard and old value are equal.
#[test]
fn guarded_operations_are_numbered_with_their_old_values() {
    check(
        |function| {
            let _ = gvn_cse::run(function);
        },
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_TID.Y) ; 0
  p2, PT = ISETP.AND.LT r0, 0x8, PT ; 1
  @p2 r3 = FMUL r0, r0 tied(r0) ; 2
  @p2 r4 = FMUL r0, r0 tied(r0) ; 3
  @!p2 r5 = FMUL r0, r0 tied(r0) ; 4
  @p2 r6 = FMUL r0, r0 tied(r1) ; 5
  STS [r0], r3 mem(shared w) ; 6
  STS [r0], r4 mem(shared w) ; 6
  STS [r0], r5 mem(shared w) ; 6
  STS [r0], r6 mem(shared w) ; 6
  EXIT ; 8
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r1 = S2R %(SR_TID.Y) ; 0
              p2, PT = ISETP.AND.LT r0, 0x8, PT ; 1
              @p2 r3 = FMUL r0, r0 tied(r0) ; 2
              @!p2 r5 = FMUL r0, r0 tied(r0) ; 4
              @p2 r6 = FMUL r0, r0 tied(r1) ; 5
              STS [r0], r3 mem(shared w) ; 6
              STS [r0], r3 mem(shared w) ; 6
              STS [r0], r5 mem(shared w) ; 6
              STS [r0], r6 mem(shared w) ; 6
              EXIT ; 8
        "#]],
    );
}

/// Halves that a loop carries and only packs are carried as one word.
#[test]
fn joined_phis_are_a_phi() {
    check(
        |function| {
            join_phis::run(function);
            general(function);
        },
        "
kernel
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
b1: -> b1 b2
  r1 = phi b0: RZ, b1: r6
  r2 = phi b0: RZ, b1: r7
  r3 = PRMT r1, 0x5410, r2 ; 2
  STS [r0], r3 mem(shared w) ; 3
  r5 = LDS [r0+0x4] mem(shared r) ; 4
  r6 = PRMT r5, 0x7710, RZ ; 5
  r7 = PRMT r5, 0x7732, RZ ; 5
  p8, PT = ISETP.AND.LT r5, 0x8, PT ; 6
  @p8 BRA b1 ; 7
b2:
  EXIT ; 8
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b1
              r0 = S2R %(SR_TID.X) ; 0
            b1: -> b1 b2
              r9 = phi b0: RZ, b1: r5
              STS [r0], r9 mem(shared w) ; 3
              r5 = LDS [r0+0x4] mem(shared r) ; 4
              p8, PT = ISETP.AND.LT r5, 0x8, PT ; 6
              @p8 BRA b1 ; 7
            b2:
              EXIT ; 8
        "#]],
    );
}

/// A multiply that is added to several pairs is duplicated into each add: one instruction instead of two.
#[test]
fn a_shared_product_is_added_where_it_is_made() {
    check(
        linear,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  {r2 r3} = LDC.64 c[0][0x210] ; 1
  {r4 r5} = LDC.64 c[0][0x218] ; 1
  {r6 r7} = IMAD.WIDE r0, 0x2, RZ ; 2
  {r8 r9} = Add64 {r2 r3}, {r6 r7} ; 3
  {r10 r11} = Add64 {r4 r5}, {r6 r7} ; 4
  STG.E [{r8 r9}], r0 mem(global w) ; 5
  STG.E [{r10 r11}], r0 mem(global w) ; 6
  EXIT ; 7
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              {r2 r3} = LDC.64 c[0][0x210] ; 1
              {r4 r5} = LDC.64 c[0][0x218] ; 1
              {r8 r9} = IMAD.WIDE r0, 0x2, {r2 r3} ; 3
              {r10 r11} = IMAD.WIDE r0, 0x2, {r4 r5} ; 4
              STG.E [{r8 r9}], r0 mem(global w) ; 5
              STG.E [{r10 r11}], r0 mem(global w) ; 6
              EXIT ; 7
        "#]],
    );
}

#[test]
fn lanes_of_shuffles_are_part_of_the_instruction() {
    check(
        general,
        "
kernel params=0 barriers=0
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = MOV 0x23 ; 0
  r2 = MOV 0x1f ; 0
  PT, r3 = SHFL.IDX r0, r1, r2 ; 1
  PT, r4 = SHFL.DOWN r3, r0, r2 ; 2
  STS [r0], r4 mem(shared w) ; 3
  EXIT ; 4
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              PT, r3 = SHFL.IDX r0, #3, #31 ; 1
              PT, r4 = SHFL.DOWN r3, r0, #31 ; 2
              STS [r0], r4 mem(shared w) ; 3
              EXIT ; 4
        "#]],
    );
}

/// A computation that only one path uses sinks there, along with operands without other readers. Long-latency
/// instructions stay, and nothing sinks into a loop.
#[test]
fn computations_go_down_to_the_branch_that_uses_them() {
    check(
        |function| assert!(sink::run(function)),
        "
kernel
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_CTAID.X) ; 1
  r2 = MOV 0x10 ; 2
  r3 = IMAD r2, r1, r0 ; 3
  r4 = IADD3 r0, r1, RZ ; 4
  r5 = I2F.U32 r0 ; 5
  r6 = MOV 0x3 ; 6
  p7, PT = ISETP.AND.LT r0, r1, PT ; 7
  @p7 BRA b2 ; 8
b1: -> b3
  STS [r0], r3 mem(shared w) ; 9
  STS [r1], r5 mem(shared w) ; 10
b2: -> b3
b3: -> b4
  r8 = phi b1: r4, b2: RZ
b4: -> b4 b5
  r9 = phi b3: r8, b4: r10
  r10 = IADD3 r9, r6, RZ ; 11
  p11, PT = ISETP.AND.LT r10, r1, PT ; 12
  @p11 BRA b4 ; 13
b5:
  STS [r10], r0 mem(shared w) ; 14
  EXIT ; 15
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b2 b1
              r0 = S2R %(SR_TID.X) ; 0
              r1 = S2R %(SR_CTAID.X) ; 1
              r5 = I2F.U32 r0 ; 5
              p7, PT = ISETP.AND.LT r0, r1, PT ; 7
              @p7 BRA b2 ; 8
            b1: -> b3
              r2 = MOV 0x10 ; 2
              r3 = IMAD r2, r1, r0 ; 3
              r4 = IADD3 r0, r1, RZ ; 4
              STS [r0], r3 mem(shared w) ; 9
              STS [r1], r5 mem(shared w) ; 10
            b2: -> b3
            b3: -> b4
              r8 = phi b1: r4, b2: RZ
              r6 = MOV 0x3 ; 6
            b4: -> b4 b5
              r9 = phi b3: r8, b4: r10
              r10 = IADD3 r9, r6, RZ ; 11
              p11, PT = ISETP.AND.LT r10, r1, PT ; 12
              @p11 BRA b4 ; 13
            b5:
              STS [r10], r0 mem(shared w) ; 14
              EXIT ; 15
        "#]],
    );
}

/// Reads of uniform registers stay where only a subset of the warp is: the other lanes write the register, too.
#[test]
fn reads_of_uniform_registers_stay_with_their_lanes() {
    check(
        |function| assert!(sink::run(function)),
        "
kernel
b0: -> b4 b1
  r0 = S2R %(SR_TID.X) ; 0
  u1 = LDCU c[0][0x210] ; 1
  r2 = Copy u1 ; 2
  p3, PT = ISETP.AND.LT r0, 0x5, PT ; 3
  @p3 BRA b4 ; 4
b1: -> b3 b2
  u4 = REDUX.OR r0 ; 5
  r5 = Copy u4 ; 6
  p6, PT = ISETP.AND.LT r0, 0x9, PT ; 7
  @p6 BRA b3 ; 8
b2: -> b3
  STS [r0], r5 mem(shared w) ; 9
  STS [r0], r2 mem(shared w) ; 10
b3: -> b4
  STS [r0], r0 mem(shared w) ; 11
b4:
  STS [r0], r0 mem(shared w) ; 12
  EXIT ; 13
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b4 b1
              r0 = S2R %(SR_TID.X) ; 0
              u1 = LDCU c[0][0x210] ; 1
              p3, PT = ISETP.AND.LT r0, 0x5, PT ; 3
              @p3 BRA b4 ; 4
            b1: -> b3 b2
              u4 = REDUX.OR r0 ; 5
              r5 = Copy u4 ; 6
              p6, PT = ISETP.AND.LT r0, 0x9, PT ; 7
              @p6 BRA b3 ; 8
            b2: -> b3
              r2 = Copy u1 ; 2
              STS [r0], r5 mem(shared w) ; 9
              STS [r0], r2 mem(shared w) ; 10
            b3: -> b4
              STS [r0], r0 mem(shared w) ; 11
            b4:
              STS [r0], r0 mem(shared w) ; 12
              EXIT ; 13
        "#]],
    );
}

/// A value used only in the next iteration of a loop is computed before the branch: the latch has nothing else in it.
#[test]
fn computations_for_the_next_round_stay_before_the_branch() {
    let text = "
kernel
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
b1: -> b3 b2
  r1 = phi b0: RZ, b2: r2
  r2 = IADD3 r1, 0x4, RZ ; 1
  r3 = LDS [r1] mem(shared r) ; 2
  p4, PT = ISETP.AND.LT r3, r0, PT ; 3
  @p4 BRA b3 ; 4
b2: -> b1
b3:
  EXIT ; 5
";
    let mut function = parse::parse(text).expect("Ori");
    let before = function.to_string();
    sink::run(&mut function);
    assert_eq!(before, function.to_string());
}

/// A pair from a constant bank that is only an addend of wide multiplies becomes their operand on chips that read it
/// there; an immediate factor takes one register for all of them. A pair with another reader stays.
#[test]
fn pairs_of_constants_are_addends_of_products() {
    let text = "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  {r2 r3} = LDC.64 c[0][0x160] ; 1
  r4 = MOV c[0][0x168] ; 2
  r5 = MOV c[0][0x16c] ; 2
  {r6 r7} = LDC.64 c[0][0x170] ; 3
  {r8 r9} = IMAD.WIDE r0, 0x4, {r2 r3} ; 4
  {r10 r11} = IMAD.WIDE r0, 0x4, {r4 r5} ; 5
  {r12 r13} = IMAD.WIDE r0, 0x8, {r6 r7} ; 6
  r14 = LDG.E [{r8 r9}] mem(global r) ; 7
  r15 = LDG.E [{r10 r11}] mem(global r) ; 8
  r16 = LDG.E [{r6 r7}] mem(global r) ; 9
  r17 = IADD3 r14, r15, r16 ; 10
  STG.E [{r12 r13}], r17 mem(global w) ; 11
  EXIT ; 12
";
    let run = |chip: &str| {
        let mut function = parse(text).expect("Ori");
        let changed = constant_addends::run(&mut function, chip.parse().expect("a chip"));
        assert_verified(&function, Form::Plain, "after");
        changed.then(|| body(&function))
    };
    assert_eq!(run("sm_90"), None);
    expect![[r#"
        kernel params=0 barriers=0
        b0:
          r0 = S2R %(SR_TID.X) ; 0
          r18 = MOV 0x4 ; 1
          r6 = MOV c[0][0x170] ; 3
          r7 = MOV c[0][0x174] ; 3
          {r8 r9} = IMAD.WIDE r0, r18, c[0][0x160] ; 4
          {r10 r11} = IMAD.WIDE r0, r18, c[0][0x168] ; 5
          {r12 r13} = IMAD.WIDE r0, 0x8, {r6 r7} ; 6
          r14 = LDG.E [{r8 r9}] mem(global r) ; 7
          r15 = LDG.E [{r10 r11}] mem(global r) ; 8
          r16 = LDG.E [{r6 r7}] mem(global r) ; 9
          r17 = IADD3 r14, r15, r16 ; 10
          STG.E [{r12 r13}], r17 mem(global w) ; 11
          EXIT ; 12
    "#]]
    .assert_eq(&run("sm_86").expect("something changes"));
}

/// A register that was never written may be taken for zero, and a mask that turns out to be all lanes becomes the
/// whole-warp form.
#[test]
fn undefined_operands_are_zero_and_whole_masks_are_told() {
    check(
        general,
        "
kernel
b0:
  r0 = Undefined ; 0
  r1 = S2R %(SR_TID.X) ; 0
  r2 = MOV 0xffffffff ; 1
  r3 = LDS [r1] mem(shared r) ; 2
  WARPSYNC r2 ; 3
  PT, r4 = SHFL.DOWN r3, #1, #31 ; 3
  r5 = PRMT r4, 0x5410, r0 ; 4
  STS [r1], r5 mem(shared w) ; 5
  EXIT ; 6
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r1 = S2R %(SR_TID.X) ; 0
              r3 = LDS [r1] mem(shared r) ; 2
              WARPSYNC.ALL ; 3
              PT, r4 = SHFL.DOWN r3, #1, #31 ; 3
              r5 = PRMT r4, 0x5410, RZ ; 4
              STS [r1], r5 mem(shared w) ; 5
              EXIT ; 6
        "#]],
    );
}

/// A loop keeps few enough predicates live throughout to leave some for its own conditions; the other comparisons
/// stay in it. In a long loop some constants stay, too.
#[test]
fn loops_keep_few_predicates_and_constants() {
    let comparisons: String =
        (0..6).map(|k| format!("  p{}, PT = ISETP.AND.GT r0, {:#x}, PT ; 3\n", 20 + k, 1 + k)).collect();
    let stores: String =
        (0..6).map(|k| format!("  @p{} STS [r0+{:#x}], r1 mem(shared w) ; 4\n", 20 + k, 4 * k)).collect();
    let filler: String =
        (0..40).map(|k| format!("  STS [r0+{:#x}], r2 mem(shared w) ; 4\n", 64 + 4 * k)).collect();
    let text = format!(
        "
kernel
b0: -> b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_CTAID.X) ; 1
b1: -> b1 b2
  r2 = phi b0: r1, b1: r5
{comparisons}  r3 = MOV 0x3f000000 ; 5
  r4 = MOV 0x3f800000 ; 5
  r6 = FFMA r2, 0.5, r3 ; 6
  r5 = FFMA r6, 0.25, r4 ; 6
{stores}{filler}  p7, PT = FSETP.AND.LT r5, r1, PT ; 7
  @p7 BRA b1 ; 8
b2:
  EXIT ; 9
"
    )
    .replace("0.5", "0x3f000000")
    .replace("0.25", "0x3e800000");
    check(
        |function| {
            hoist(function);
            // The filler of the loop is not shown.
            for block in &mut function.blocks {
                block.instructions.retain(|i| i.opcode != oriole_ori::Opcode::Sass(Op::STS));
            }
        },
        &text,
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b1
              r0 = S2R %(SR_TID.X) ; 0
              r1 = S2R %(SR_CTAID.X) ; 1
              p20, PT = ISETP.AND.GT r0, 0x1, PT ; 3
              p21, PT = ISETP.AND.GT r0, 0x2, PT ; 3
              p22, PT = ISETP.AND.GT r0, 0x3, PT ; 3
              p23, PT = ISETP.AND.GT r0, 0x4, PT ; 3
              r4 = MOV 0x3f800000 ; 5
            b1: -> b1 b2
              r2 = phi b0: r1, b1: r5
              p24, PT = ISETP.AND.GT r0, 0x5, PT ; 3
              p25, PT = ISETP.AND.GT r0, 0x6, PT ; 3
              r3 = MOV 0x3f000000 ; 5
              r6 = FFMA r2, 0x3f000000, r3 ; 6
              r5 = FFMA r6, 0x3e800000, r4 ; 6
              p7, PT = FSETP.AND.LT r5, r1, PT ; 7
              @p7 BRA b1 ; 8
            b2:
              EXIT ; 9
        "#]],
    );
}

/// Halves that are packed and unpacked again are shifted in their source.
#[test]
fn halves_are_shifted_where_they_were() {
    check(
        general,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_CTAID.X) ; 0
  r2 = PRMT r0, 0x5410, r1 ; 1
  r3 = PRMT r2, 0x7732, RZ ; 2
  r4 = SHF.L.U32 r3, 0x10, RZ ; 3
  r5 = SHF.L.U32 r2, 0x10, RZ ; 4
  r6 = LOP3.LUT r2, 0xffff0000, RZ, #192, !PT ; 5
  r7 = PRMT r1, 0x7732, RZ ; 6
  r8 = SHF.L.U32 r7, 0x10, RZ ; 7
  STS [r4], r5 mem(shared w) ; 8
  STS [r6], r8 mem(shared w) ; 9
  EXIT ; 10
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r1 = S2R %(SR_CTAID.X) ; 0
              r4 = SHF.L.U32 r1, 0x10, RZ ; 3
              r5 = SHF.L.U32 r0, 0x10, RZ ; 4
              r6 = SHF.L.U32 r1, 0x10, RZ ; 5
              r8 = LOP3.LUT r1, 0xffff0000, RZ, #192, !PT ; 7
              STS [r4], r5 mem(shared w) ; 8
              STS [r6], r8 mem(shared w) ; 9
              EXIT ; 10
        "#]],
    );
}

/// An add of zero that clamps its operand is fused into the operation that computes it, if nothing else reads that.
#[test]
fn results_are_clamped_where_they_are_made() {
    check(
        linear,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = FFMA.RM r0, r0, r0 ; 1
  r2 = FADD.SAT RZ, r1 ; 2
  r3 = FMUL.FTZ r0, r0 ; 3
  r4 = FADD.SAT r3, RZ ; 4
  r5 = FADD r0, r0 ; 5
  r6 = FADD.SAT r5, RZ ; 6
  STS.64 [r0], {r2 r4} mem(shared w) ; 7
  STS.64 [r0], {r5 r6} mem(shared w) ; 8
  EXIT ; 9
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r2 = FFMA.RM.SAT r0, r0, r0 ; 2
              r3 = FMUL.FTZ r0, r0 ; 3
              r4 = FADD.SAT r3, RZ ; 4
              r5 = FADD r0, r0 ; 5
              r6 = FADD.SAT r5, RZ ; 6
              STS.64 [r0], {r2 r4} mem(shared w) ; 7
              STS.64 [r0], {r5 r6} mem(shared w) ; 8
              EXIT ; 9
        "#]],
    );
}

/// On a chip whose operations read no constants, copies of a loaded constant are propagated too; a load that is used
/// only after a loop sinks to after it.
#[test]
fn loaded_constants_are_copied_and_kept_no_longer_than_needed() {
    check(
        |function| {
            general_with_long_integers(function);
            assert!(sink::run(function));
        },
        "
kernel
b0: -> b3 b1
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDC c[0][0x380] ; 1
  r2 = LDC c[0][0x384] ; 2
  r3 = Copy r1 ; 3
  p4, PT = ISETP.AND.LT r1, r0, PT ; 4
  @p4 BRA b3 ; 5
b1: -> b2
b2: -> b2 b3
  r5 = phi b1: r0, b2: r6
  r6 = IADD3 r5, r3, RZ ; 6
  p7, PT = ISETP.AND.LT r6, r1, PT ; 7
  @p7 BRA b2 ; 8
b3:
  r8 = phi b0: r0, b2: r6
  r9 = IADD3 r8, r2, RZ ; 9
  STS [r9], r0 mem(shared w) ; 10
  EXIT ; 11
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b3 b1
              r0 = S2R %(SR_TID.X) ; 0
              r1 = LDC c[0][0x380] ; 1
              p4, PT = ISETP.AND.LT r1, r0, PT ; 4
              @p4 BRA b3 ; 5
            b1: -> b2
            b2: -> b2 b3
              r5 = phi b1: r0, b2: r6
              r6 = IADD3 r5, r1, RZ ; 6
              p7, PT = ISETP.AND.LT r6, r1, PT ; 7
              @p7 BRA b2 ; 8
            b3:
              r8 = phi b0: r0, b2: r6
              r2 = LDC c[0][0x384] ; 2
              r9 = IADD3 r8, r2, RZ ; 9
              STS [r9], r0 mem(shared w) ; 10
              EXIT ; 11
        "#]],
    );
}

#[test]
fn a_sum_and_a_minimum_are_one_instruction() {
    check(
        linear,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = LDC c[0][0x210] ; 1
  r2 = IADD3 r0, 0x1, RZ ; 2
  r3 = VIMNMX r1, r2, PT ; 3
  r4 = IADD3 r3, r0, RZ ; 4
  r5 = VIMNMX.U32 r4, 0x9, !PT ; 5
  r6 = IADD3 r5, r0, r1 ; 6
  r7 = VIMNMX r6, r0, PT ; 7
  STG [r1], r7 mem(global w) ; 8
  EXIT ; 9
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r1 = LDC c[0][0x210] ; 1
              r3 = VIADDMNMX r0, 0x1, r1, PT ; 3
              r5 = VIADDMNMX.U32 r3, r0, 0x9, !PT ; 5
              r6 = IADD3 r5, r0, r1 ; 6
              r7 = VIMNMX r6, r0, PT ; 7
              STG [r1], r7 mem(global w) ; 8
              EXIT ; 9
        "#]],
    );
}

#[test]
fn steps_of_a_pointer_count_from_its_start() {
    check(
        linear,
        "
kernel
b0:
  {r0 r1} = LDC.64 c[0][0x210] ; 0
  r2 = MOV 0x4 ; 1
  r3 = Copy RZ ; 1
  {r4 r5} = Add64 {r0 r1}, {r2 r3} ; 1
  {r6 r7} = Add64 {r4 r5}, {r2 r3} ; 2
  {r8 r9} = Add64 {r2 r3}, {r6 r7} ; 3
  STG [{r8 r9}].64, r2 mem(global w) ; 8
  EXIT ; 9
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              {r0 r1} = LDC.64 c[0][0x210] ; 0
              r2 = MOV 0x4 ; 1
              r12 = MOV 0xc ; 3
              r13 = Copy RZ ; 3
              {r8 r9} = Add64 {r0 r1}, {r12 r13} ; 3
              STG [{r8 r9}].64, r2 mem(global w) ; 8
              EXIT ; 9
        "#]],
    );
    // After the loop both the old and the new pointer would be alive in it.
    check(
        linear,
        "
kernel
b0: -> b1
  {r0 r1} = LDC.64 c[0][0x210] ; 0
  r2 = MOV 0x4 ; 1
  r3 = Copy RZ ; 1
b1: -> b1 b2
  r4 = phi b0: r0, b1: r6
  r5 = phi b0: r1, b1: r7
  {r6 r7} = Add64 {r4 r5}, {r2 r3} ; 1
  p8, PT = ISETP.AND.LT r6, r2, PT ; 2
  @p8 BRA b1 ; 3
b2:
  {r9 r10} = Add64 {r6 r7}, {r2 r3} ; 3
  STG [{r9 r10}].64, r2 mem(global w) ; 8
  EXIT ; 9
",
        expect![[r#"
            kernel params=0 barriers=0
            b0: -> b1
              {r0 r1} = LDC.64 c[0][0x210] ; 0
              r2 = MOV 0x4 ; 1
              r3 = Copy RZ ; 1
            b1: -> b1 b2
              r4 = phi b0: r0, b1: r6
              r5 = phi b0: r1, b1: r7
              {r6 r7} = Add64 {r4 r5}, {r2 r3} ; 1
              p8, PT = ISETP.AND.LT r6, r2, PT ; 2
              @p8 BRA b1 ; 3
            b2:
              {r9 r10} = Add64 {r6 r7}, {r2 r3} ; 3
              STG [{r9 r10}].64, r2 mem(global w) ; 8
              EXIT ; 9
        "#]],
    );
}

/// A number that is chosen and added is a carry: of the sum, of its difference, of three, or next to another number.
#[test]
fn chosen_numbers_are_carries() {
    check(
        linear,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_CTAID.X) ; 0
  {r2 r3} = LDC.64 c[0][0x210] ; 0
  p20, PT = ISETP.AND.LT r0, 0x5, PT ; 1
  p21, PT = ISETP.AND.LT r1, r0, PT ; 1
  r4 = SEL 0x1, RZ, p20 ; 2
  r5 = IADD3 r0, r4, RZ ; 3
  r6 = SEL RZ, 0x1, p21 ; 2
  r7 = IADD3 r5, r6, RZ ; 3
  r8 = SEL 0x1, RZ, p21 ; 4
  r9 = IADD3 r0, -r8, r1 ; 4
  r10 = SEL 0x8, 0x9, !p21 ; 5
  r11 = IADD3 r10, r1, RZ ; 5
  r12 = SEL 0x1, RZ, p21 ; 6
  r13 = IADD3 r12, -r1, RZ ; 6
  r14 = SEL 0x2, RZ, p21 ; 7
  r15 = IADD3 r14, r1, RZ ; 7
  r16 = SEL 0x1, RZ, p21 ; 8
  r17 = IADD3 r16, r1, RZ ; 8
  STG.E [{r2 r3}].64, r7 mem(global w) ; 9
  STG.E [{r2 r3} + 4].64, r9 mem(global w) ; 9
  STG.E [{r2 r3} + 8].64, r11 mem(global w) ; 9
  STG.E [{r2 r3} + 12].64, r13 mem(global w) ; 9
  STG.E [{r2 r3} + 16].64, r15 mem(global w) ; 9
  STG.E [{r2 r3} + 20].64, r16 mem(global w) ; 9
  STG.E [{r2 r3} + 24].64, r17 mem(global w) ; 9
  EXIT ; 10
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r1 = S2R %(SR_CTAID.X) ; 0
              {r2 r3} = LDC.64 c[0][0x210] ; 0
              p20, PT = ISETP.AND.LT r0, 0x5, PT ; 1
              p21, PT = ISETP.AND.LT r1, r0, PT ; 1
              r7 = IADD3.X r0, RZ, RZ, p20, !p21 ; 3
              r9 = IADD3.X r0, 0xffffffff, r1, !p21, !PT ; 4
              r11 = IADD3.X r1, 0x8, RZ, p21, !PT ; 5
              r12 = SEL 0x1, RZ, p21 ; 6
              r13 = IADD3 r12, -r1, RZ ; 6
              r14 = SEL 0x2, RZ, p21 ; 7
              r15 = IADD3 r14, r1, RZ ; 7
              r16 = SEL 0x1, RZ, p21 ; 8
              r17 = IADD3 r16, r1, RZ ; 8
              STG.E [{r2 r3}].64, r7 mem(global w) ; 9
              STG.E [{r2 r3}+0x4].64, r9 mem(global w) ; 9
              STG.E [{r2 r3}+0x8].64, r11 mem(global w) ; 9
              STG.E [{r2 r3}+0xc].64, r13 mem(global w) ; 9
              STG.E [{r2 r3}+0x10].64, r15 mem(global w) ; 9
              STG.E [{r2 r3}+0x14].64, r16 mem(global w) ; 9
              STG.E [{r2 r3}+0x18].64, r17 mem(global w) ; 9
              EXIT ; 10
        "#]],
    );
}

/// Of halves as well: but the sign of three is not that of two and one.
#[test]
fn extremes_of_three_halves() {
    check(
        linear,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  r1 = S2R %(SR_CTAID.X) ; 0
  {r2 r3} = LDC.64 c[0][0x210] ; 0
  r4 = HMNMX2.BF16_V2 r0, r1, PT ; 1
  r5 = HMNMX2.BF16_V2 r4, r2, PT ; 1
  r6 = HMNMX2.XORSIGN r0, r1, PT ; 2
  r7 = HMNMX2.XORSIGN r6, r2, PT ; 2
  r8 = HMNMX2 r0, r1, PT ; 3
  r9 = HMNMX2 r8, r2, !PT ; 3
  STG.E [{r2 r3}].64, r5 mem(global w) ; 9
  STG.E [{r2 r3} + 4].64, r7 mem(global w) ; 9
  STG.E [{r2 r3} + 8].64, r9 mem(global w) ; 9
  EXIT ; 10
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              r1 = S2R %(SR_CTAID.X) ; 0
              {r2 r3} = LDC.64 c[0][0x210] ; 0
              r5 = VHMNMX.BF16_V2 r0, r1, r2, PT ; 1
              r6 = HMNMX2.XORSIGN r0, r1, PT ; 2
              r7 = HMNMX2.XORSIGN r6, r2, PT ; 2
              r8 = HMNMX2 r0, r1, PT ; 3
              r9 = HMNMX2 r8, r2, !PT ; 3
              STG.E [{r2 r3}].64, r5 mem(global w) ; 9
              STG.E [{r2 r3}+0x4].64, r7 mem(global w) ; 9
              STG.E [{r2 r3}+0x8].64, r9 mem(global w) ; 9
              EXIT ; 10
        "#]],
    );
}

/// A divisor of at least one is not compared with the smallest normal number; one that may be smaller, or negative, is.
#[test]
fn bounds_decide_comparisons() {
    check(
        general,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  {r2 r3} = LDC.64 c[0][0x210] ; 0
  r4 = MUFU.EX2 r0 ; 1
  r5 = FMUL r4, r4 ; 1
  r6 = FADD r5, 0x3f800000 ; 1
  p30, PT = FSETP.AND.GEU |r6|, 0x00800000, PT ; 2
  p31, PT = FSETP.AND.LT r6, 0x3f800000, PT ; 2
  p32, PT = FSETP.AND.GE r6, 0x3f800000, PT ; 3
  p33, PT = FSETP.AND.GEU |r5|, 0x00800000, PT ; 4
  r7 = FADD r5, 0xbf800000 ; 5
  p34, PT = FSETP.AND.GEU r7, 0xbf800000, PT ; 5
  r14 = SEL r0, r4, p30 ; 6
  r15 = SEL r0, r4, p31 ; 6
  r16 = SEL r0, r4, p32 ; 6
  r17 = SEL r0, r4, p33 ; 6
  r18 = SEL r0, r4, p34 ; 6
  STG.E [{r2 r3}].64, r14 mem(global w) ; 9
  STG.E [{r2 r3} + 4].64, r15 mem(global w) ; 9
  STG.E [{r2 r3} + 8].64, r16 mem(global w) ; 9
  STG.E [{r2 r3} + 12].64, r17 mem(global w) ; 9
  STG.E [{r2 r3} + 16].64, r18 mem(global w) ; 9
  EXIT ; 10
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              {r2 r3} = LDC.64 c[0][0x210] ; 0
              r4 = MUFU.EX2 r0 ; 1
              r5 = FMUL r4, r4 ; 1
              r6 = FADD r5, 0x3f800000 ; 1
              p32, PT = FSETP.AND.GE r6, 0x3f800000, PT ; 3
              p33, PT = FSETP.AND.GEU |r5|, 0x800000, PT ; 4
              r7 = FADD r5, 0xbf800000 ; 5
              p34, PT = FSETP.AND.GEU r7, 0xbf800000, PT ; 5
              r16 = SEL r0, r4, p32 ; 6
              r17 = SEL r0, r4, p33 ; 6
              r18 = SEL r0, r4, p34 ; 6
              STG.E [{r2 r3}].64, r0 mem(global w) ; 9
              STG.E [{r2 r3}+0x4].64, r4 mem(global w) ; 9
              STG.E [{r2 r3}+0x8].64, r16 mem(global w) ; 9
              STG.E [{r2 r3}+0xc].64, r17 mem(global w) ; 9
              STG.E [{r2 r3}+0x10].64, r18 mem(global w) ; 9
              EXIT ; 10
        "#]],
    );
}

/// A number that is scaled where a predicate holds is one of two numbers.
#[test]
fn scaled_numbers_are_chosen() {
    check(
        general,
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  {r2 r3} = LDC.64 c[0][0x210] ; 0
  r4 = MOV 0x3f800000 ; 1
  p10, PT = FSETP.AND.GT r0, 0x7e800000, PT ; 2
  @p10 r5 = FMUL r4, 0x3e800000 tied(r4) ; 2
  @!p10 r6 = FMUL.FTZ r4, 0x3e800000 tied(r4) ; 3
  STG.E [{r2 r3}].64, r5 mem(global w) ; 9
  STG.E [{r2 r3} + 4].64, r6 mem(global w) ; 9
  EXIT ; 10
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              {r2 r3} = LDC.64 c[0][0x210] ; 0
              r4 = MOV 0x3f800000 ; 1
              p10, PT = FSETP.AND.GT r0, 0x7e800000, PT ; 2
              r5 = SEL r4, 0x3e800000, !p10 ; 2
              @!p10 r6 = FMUL.FTZ r4, 0x3e800000 tied(r4) ; 3
              STG.E [{r2 r3}].64, r5 mem(global w) ; 9
              STG.E [{r2 r3}+0x4].64, r6 mem(global w) ; 9
              EXIT ; 10
        "#]],
    );
}

#[test]
fn texels_that_are_never_read_leave_the_mask() {
    let check_dead = |text: &str, expected: Expect| {
        check(
            |function| {
                live_dead::run(function);
            },
            text,
            expected,
        );
    };
    check_dead(
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  PT, {r1 r2}, {r3 r4} = TEX.B.LL {r0 r0}, {r0 r0}, %(2D) ; 1
  PT, {r5 r6}, {r7 r8} = TEX.B.LL {r0 r0}, {r0 r0}, %(2D) ; 2
  PT, RZ, {r9 r10} = TLD.B.LZ {r0 r0}, r0, %(2D), #10 ; 3
  p11, r12, {r13 r14} = TLD4.B_2.R {r0 r0}, r0, %(2D), #7 ; 4
  PT, {r15 r16}, {r17 r18} = TEX.B.LL {r0 r0}, {r0 r0}, %(2D) ; 5
  p19, {r20 r21}, {r22 r23} = TEX.B.LL {r0 r0}, {r0 r0}, %(2D) ; 6
  STG.E [0x0], r4 mem(global w) ; 7
  STG.E [0x0], r2 mem(global w) ; 8
  STG.E [0x0], r7 mem(global w) ; 9
  STG.E [0x0], r5 mem(global w) ; 10
  STG.E [0x0], r6 mem(global w) ; 11
  STG.E [0x0], r10 mem(global w) ; 12
  STG.E [0x0], r12 mem(global w) ; 13
  @p19 STG.E [0x0], r13 mem(global w) ; 14
  EXIT ; 15
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              PT, RZ, {r4 r2} = TEX.B.LL {r0 r0}, {r0 r0}, %(2D), #10 ; 1
              PT, r6, {r7 r5} = TEX.B.LL {r0 r0}, {r0 r0}, %(2D), #13 ; 2
              PT, RZ, r10 = TLD.B.LZ {r0 r0}, r0, %(2D), #8 ; 3
              PT, RZ, {r13 r12} = TLD4.B_2.R {r0 r0}, r0, %(2D), #5 ; 4
              p19, {r20 r21}, {r22 r23} = TEX.B.LL {r0 r0}, {r0 r0}, %(2D) ; 6
              STG.E [0x0], r4 mem(global w) ; 7
              STG.E [0x0], r2 mem(global w) ; 8
              STG.E [0x0], r7 mem(global w) ; 9
              STG.E [0x0], r5 mem(global w) ; 10
              STG.E [0x0], r6 mem(global w) ; 11
              STG.E [0x0], r10 mem(global w) ; 12
              STG.E [0x0], r12 mem(global w) ; 13
              @p19 STG.E [0x0], r13 mem(global w) ; 14
              EXIT ; 15
        "#]],
    );
}

#[test]
fn equal_texture_fetches_are_one_until_something_may_write_textures() {
    check(
        |function| {
            let _ = gvn_cse::run(function);
        },
        "
kernel
b0:
  r0 = S2R %(SR_TID.X) ; 0
  PT, {r1 r2}, {r3 r4} = TLD.B.LZ r0, r0, %(1D) ; 1
  STG.E [0x0], r4 mem(global w) ; 2
  PT, {r5 r6}, {r7 r8} = TLD.B.LZ r0, r0, %(1D) ; 3
  STG.E [0x0], r7 mem(global w) ; 4
  PT, {r9 r10}, {r11 r12} = TLD.B.LZ r4, r0, %(1D) ; 5
  STG.E [0x0], r9 mem(global w) ; 6
  SUST.BA.D.1D [r0], r0, r0 mem(global w) ; 7
  PT, {r13 r14}, {r15 r16} = TLD.B.LZ r0, r0, %(1D) ; 8
  STG.E [0x0], r13 mem(global w) ; 9
  BAR.SYNC #0 ; 10
  PT, {r17 r18}, {r19 r20} = TLD.B.LZ r0, r0, %(1D) ; 11
  STG.E [0x0], r20 mem(global w) ; 12
  EXIT ; 13
",
        expect![[r#"
            kernel params=0 barriers=0
            b0:
              r0 = S2R %(SR_TID.X) ; 0
              PT, {r1 r2}, {r3 r4} = TLD.B.LZ r0, r0, %(1D) ; 1
              STG.E [0x0], r4 mem(global w) ; 2
              STG.E [0x0], r3 mem(global w) ; 4
              PT, {r9 r10}, {r11 r12} = TLD.B.LZ r4, r0, %(1D) ; 5
              STG.E [0x0], r9 mem(global w) ; 6
              SUST.1D.BA.D [r0], r0, r0 mem(global w) ; 7
              PT, {r13 r14}, {r15 r16} = TLD.B.LZ r0, r0, %(1D) ; 8
              STG.E [0x0], r13 mem(global w) ; 9
              BAR.SYNC #0 ; 10
              PT, {r17 r18}, {r19 r20} = TLD.B.LZ r0, r0, %(1D) ; 11
              STG.E [0x0], r20 mem(global w) ; 12
              EXIT ; 13
        "#]],
    );
}
