//! Small PTX to Ori text, family by family. One helper; `UPDATE_EXPECT=1` rewrites what is expected.

use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_hir::resolve_module;
use oriole_lower::{Environment, lower};
use oriole_options::LowerOptions;

/// Lowers the statements inside a kernel that has a few registers of each type, and checks the text.
fn check(statements: &str, expected: Expect) {
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n\
         .global .align 4 .b32 gv[4];\n.const .align 4 .b32 cv[4];\n\
         .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
         .func (.param .b32 r) callee(.param .b32 x, .param .b64 y) {{ ret; }}\n\
         .visible .entry k(.param .u64 p0, .param .u32 p1, .param .align 4 .b8 p2[8]) {{\n\
         .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<9>; .reg .f32 %f<9>; .reg .f64 %e<9>;\n\
         .shared .align 4 .b8 sv[64]; .local .align 8 .b8 lv[16];\n{statements}\nret;\n}}"
    );
    expected.assert_eq(&lowered(&text));
}

/// The text of the last function of a module.
fn lowered(text: &str) -> String {
    lowered_for(Chip::SM_90A, text)
}

/// The same for another chip.
fn lowered_for(chip: Chip, text: &str) -> String {
    let module = resolve_module(text);
    if module.has_errors() {
        return format!("{:#?}\n", module.diagnostics);
    }
    let Some((_, _, resolved)) = module.functions.last() else { return "no function\n".to_string() };
    let environment = Environment { chip, options: LowerOptions::default() };
    match lower(&resolved.body, &environment) {
        Ok(function) => function.to_string(),
        Err(errors) => {
            errors.iter().map(|error| format!("{error} (statement {:?})\n", error.statement)).collect()
        }
    }
}

#[test]
fn parameters_and_global_memory() {
    check(
        "ld.param.u64 %d1, [p0];
         ld.param.u32 %r1, [p1];
         ld.param.u8 %h1, [p2+3];
         cvta.to.global.u64 %d2, %d1;
         ld.global.u32 %r2, [%d2+4];
         add.s32 %r3, %r2, %r1;
         st.global.u32 [%d2], %r3;",
        expect![[r#"
            kernel params=20 barriers=0
              value r2 = %0.0
              value r3 = %0.1
              value r4 = %1.0
              value r6 = %2.0
              value r7 = %3.0
              value r8 = %3.1
              value r9 = %4.0
              value r10 = %5.0
            b0:
              {u0 u1} = ULDC.64 c[0][0x208] ; 4
              {r2 r3} = LDC.64 c[0][0x210] ; 0
              r4 = LDC c[0][0x218] ; 1
              r5 = LDC.U8 c[0][0x21f] ; 2
              r6 = Copy r5 ; 2
              r7 = Copy r2 ; 3
              r8 = Copy r3 ; 3
              r9 = LDG.E desc{u0 u1}[{r7 r8}+0x4].64 mem(global r) ; 4
              r10 = IADD3 r9, r4, RZ ; 5
              STG.E desc{u0 u1}[{r7 r8}].64, r10 mem(global w) ; 6
              EXIT ; 7
        "#]],
    );
}

#[test]
fn narrow_registers_are_extended_where_it_matters() {
    check(
        "add.s16 %h1, %h2, %h3;
         min.s16 %h1, %h2, -3;
         shr.u16 %h1, %h2, 3;
         setp.lt.u16 %p1, %h1, %h2;
         cvt.u32.s16 %r1, %h1;
         cvt.u8.u32 %h1, %r1;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %1.0
              value r1 = %2.0
              value r2 = %0.0
              value p7 = %3.0
              value r9 = %4.0
            b0:
              r2 = IADD3 r0, r1, RZ ; 0
              r3 = PRMT r0, 0x9910, RZ ; 1
              r2 = VIMNMX r3, 0xfffffffd, PT ; 1
              r4 = PRMT r0, 0x7710, RZ ; 2
              r2 = SHF.HI.R.U32 RZ, 0x3, r4 ; 2
              r5 = PRMT r2, 0x7710, RZ ; 3
              r6 = PRMT r0, 0x7710, RZ ; 3
              p7, PT = ISETP.AND.LT.U32 r5, r6, PT ; 3
              r8 = PRMT r2, 0x9910, RZ ; 4
              r9 = Copy r8 ; 4
              r10 = Copy r9 ; 5
              r11 = PRMT r10, 0x7770, RZ ; 5
              r2 = Copy r11 ; 5
              EXIT ; 6
        "#]],
    );
}

#[test]
fn carries() {
    check(
        "add.cc.u32 %r1, %r2, %r3;
         addc.cc.u32 %r4, %r5, 7;
         addc.u32 %r6, %r7, 0;
         sub.cc.u32 %r1, %r2, 5;
         subc.u32 %r4, %r5, %r6;
         mad.lo.cc.u32 %r1, %r2, %r3, %r4;
         madc.hi.u32 %r1, %r2, %r3, %r4;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %1.0
              value r1 = %2.0
              value r2 = %0.0
              value r4 = %4.0
              value r5 = %3.0
              value r6 = %6.0
              value r7 = %5.0
            b0:
              r2, p3 = IADD3 r0, r1, RZ ; 0
              r5, p3 = IADD3.X r4, 0x7, RZ, p3, !PT ; 1
              r7 = IADD3.X r6, RZ, RZ, p3, !PT ; 2
              r2, p3 = IADD3.X r0, 0xfffffffa, RZ, PT, !PT ; 3
              r5 = IADD3.X r4, !r7, RZ, p3, !PT ; 4
              r8 = IMAD r0, r1, RZ ; 5
              r2, p3 = IADD3 r8, r5, RZ ; 5
              r9 = IMAD.HI.U32 r0, r1, RZ ; 6
              r2 = IADD3.X r9, r5, RZ, p3, !PT ; 6
              EXIT ; 7
        "#]],
    );
}

#[test]
fn products() {
    check(
        "mul.lo.u32 %r1, %r2, 10;
         mul.hi.s32 %r1, %r2, %r3;
         mad.lo.s32 %r1, 3, %r2, 5;
         mul.wide.u32 %d1, %r1, 4;
         mul.wide.s16 %r1, %h1, %h2;
         mad.wide.s32 %d1, %r1, %r2, %d2;
         mul24.hi.u32 %r1, %r2, %r3;
         mad.hi.sat.s32 %r1, %r2, %r3, %r4;
         mul.lo.u64 %d1, %d2, %d3;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %1.0
              value r1 = %0.0
              value r2 = %2.0
              value r4 = %3.0
              value r5 = %3.1
              value r6 = %4.0
              value r8 = %5.0
              value r10 = %6.0
              value r11 = %6.1
              value r17 = %7.0
              value r23 = %8.0
              value r24 = %8.1
            b0:
              r1 = IMAD r0, 0xa, RZ ; 0
              r1 = IMAD.HI r0, r2, RZ ; 1
              r3 = MOV 0x5 ; 2
              r1 = IMAD r0, 0x3, r3 ; 2
              {r4 r5} = IMAD.U32.WIDE r1, 0x4, RZ ; 3
              r7 = PRMT r6, 0x9910, RZ ; 4
              r9 = PRMT r8, 0x9910, RZ ; 4
              r1 = IMAD r7, r9, RZ ; 4
              {r4 r5} = IMAD.WIDE r1, r0, {r10 r11} ; 5
              r12 = SGXT.U32 r0, 0x18 ; 6
              r13 = SGXT.U32 r2, 0x18 ; 6
              {r14 r15} = IMAD.U32.WIDE r12, r13, RZ ; 6
              r1 = SHF.R.U64 r14, 0x10, r15 ; 6
              r16 = IMAD.HI r0, r2, RZ ; 7
              r18 = IADD3 r16, r17, RZ ; 7
              r19 = LOP3.LUT r18, r16, r17, #24, !PT ; 7
              p20, PT = ISETP.AND.LT r19, RZ, PT ; 7
              r21 = SHF.HI.R.S32 RZ, 0x1f, r16 ; 7
              r22 = LOP3.LUT r21, 0x7fffffff, RZ, #60, !PT ; 7
              r1 = SEL r22, r18, p20 ; 7
              {r4 r5} = Mul64 {r10 r11}, {r23 r24} ; 8
              EXIT ; 9
        "#]],
    );
}

#[test]
fn guards_stay_on_what_acts() {
    check(
        "@%p1 add.s32 %r1, %r2, %r3;
         @!%p1 min.u16 %h1, %h2, %h3;
         @%p1 ld.shared.v2.u8 {%h1, %h2}, [%r1];
         @%p1 atom.shared.add.f32 %f1, [%r1], %f2;",
        expect![[r#"
            kernel params=20 barriers=0
              value p0 = %0.0
              value r1 = %2.0
              value r2 = %3.0
              value r3 = %1.0
              value r4 = %5.0
              value r6 = %6.0
              value r8 = %4.0
              value r13 = %8.0
              value r17 = %7.0
            b0: -> b4 b1
              @p0 r3 = IADD3 r1, r2, RZ ; 0
              r5 = PRMT r4, 0x7710, RZ ; 1
              r7 = PRMT r6, 0x7710, RZ ; 1
              @!p0 r8 = VIMNMX.U32 r5, r7, PT ; 1
              @p0 r9 = LDS.U16 [r3] mem(shared r) ; 2
              r10 = PRMT r9, 0x7770, RZ ; 2
              r11 = PRMT r9, 0x7771, RZ ; 2
              @p0 r8 = Copy r10 ; 2
              @p0 r4 = Copy r11 ; 2
              @!p0 BRA b4 ; 3
            b1: -> b2
              r12 = LDS [r3] mem(shared r ordered) ; 3
            b2: -> b2 b3
              r14 = FADD r12, r13 ; 3
              r15 = ATOMS.CAS [r3], r12, r14 mem(shared rw ordered) ; 3
              p16, PT = ISETP.AND.NE.U32 r15, r12, PT ; 3
              r12 = Copy r15 ; 3
              @p16 BRA b2 ; 3
            b3: -> b4
              r17 = Copy r12 ; 3
            b4:
              EXIT ; 4
        "#]],
    );
}

#[test]
fn bit_fields() {
    check(
        "bfe.u32 %r1, %r2, %r3, %r4;
         bfi.b32 %r1, %r2, %r3, 4, 8;
         shf.l.wrap.b32 %r1, %r2, %r3, %r4;
         shr.s64 %d1, %d2, %r1;
         lop3.b32 %r1, 7, %r2, %r3, 0x80;
         prmt.b32.f4e %r1, %r2, %r3, %r4;
         clz.b64 %r1, %d1;
         brev.b64 %d1, %d1;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %2.0
              value r2 = %3.0
              value r4 = %1.0
              value r6 = %0.0
              value r10 = %5.0
              value r11 = %5.1
              value r12 = %4.0
              value r13 = %4.1
            b0:
              r1 = PRMT r0, 0x7770, RZ ; 0
              r3 = PRMT r2, 0x7770, RZ ; 0
              r5 = SHF.HI.R.U32 RZ, r1, r4 ; 0
              r6 = SGXT.U32 r5, r3 ; 0
              r7 = MOV 0x4 ; 1
              r8 = BMSK r7, 0x8 ; 1
              r9 = SHF.L.U32 r4, 0x4, RZ ; 1
              r6 = LOP3.LUT r8, r9, r0, #202, !PT ; 1
              r6 = SHF.HI.L.U32.W r4, r2, r0 ; 2
              {r12 r13} = Shr64.S64 {r10 r11}, r6 ; 3
              r6 = LOP3.LUT r4, 0x7, r0, #128, !PT ; 4
              r6 = PRMT.F4E r4, r2, r0 ; 5
              p14, PT = ISETP.AND.NE.U32 r13, RZ, PT ; 6
              r15 = SEL r13, r12, p14 ; 6
              r16 = FLO.U32 r15 ; 6
              r17 = MOV 0x1f ; 6
              r18 = SEL r17, 0x3f, p14 ; 6
              r6 = IADD3 r18, -r16, RZ ; 6
              r19 = BREV r13 ; 7
              r20 = BREV r12 ; 7
              r12 = Copy r19 ; 7
              r13 = Copy r20 ; 7
              EXIT ; 8
        "#]],
    );
}

#[test]
fn comparisons_and_selection() {
    check(
        "setp.lt.s32 %p1|%p2, %r1, 5;
         setp.ge.and.f32 %p1, 0f00000000, %f1, !%p2;
         setp.lt.or.u64 %p1|%p2, %d1, %d2, %p1;
         setp.eq.f64 %p1, %e1, 0d3FF0000000000000;
         set.gt.f32.u32 %f1, %r1, %r2;
         selp.b32 %r1, 1, %r2, %p1;
         slct.b64.f32 %d1, %d2, %d3, %f1;
         testp.normal.f32 %p1, %f1;
         copysign.f32 %f1, %f2, %f3;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %2.0
              value p1 = %0.0
              value p2 = %1.0
              value r3 = %3.0
              value r4 = %4.0
              value r5 = %4.1
              value r6 = %5.0
              value r7 = %5.1
              value r10 = %6.0
              value r11 = %6.1
              value r12 = %7.0
              value r15 = %8.0
              value r16 = %8.1
              value r22 = %9.0
              value r23 = %10.0
            b0:
              p1, p2 = ISETP.AND.LT r0, 0x5, PT ; 0
              p1, PT = FSETP.AND.GE RZ, r3, !p2 ; 1
              p8 = SetPredicate64.LT.U64 {r4 r5}, {r6 r7} ; 2
              p9, PT = PLOP3.LUT p8, p1, PT, #252, #0 ; 2
              p2, PT = PLOP3.LUT p8, p1, PT, #207, #0 ; 2
              p1 = Copy p9 ; 2
              p1, PT = DSETP.AND.EQ {r10 r11}, 0x3ff00000, PT ; 3
              p13, PT = ISETP.AND.GT.U32 r0, r12, PT ; 4
              r3 = SEL RZ, 0x3f800000, !p13 ; 4
              r0 = SEL r12, 0x1, !p1 ; 5
              p14, PT = FSETP.AND.GE r3, RZ, PT ; 6
              {r4 r5} = Select64 {r6 r7}, {r15 r16}, p14 ; 6
              r17 = LOP3.LUT r3, 0x7fffffff, RZ, #192, !PT ; 7
              p18, PT = ISETP.AND.GE.U32 r17, 0x800000, PT ; 7
              p19, PT = ISETP.AND.LT.U32 r17, 0x7f800000, PT ; 7
              p20, PT = ISETP.AND.EQ.U32 r17, RZ, PT ; 7
              p1, PT = PLOP3.LUT p18, p19, p20, #234, #0 ; 7
              r21 = MOV 0x80000000 ; 8
              r24 = LOP3.LUT r21, r22, r23, #202, !PT ; 8
              r3 = Copy r24 ; 8
              EXIT ; 9
        "#]],
    );
}

#[test]
fn floating_point() {
    check(
        "sub.rz.ftz.f32 %f1, %f2, 0f3F800000;
         fma.rn.f32 %f1, %f2, 0f40000000, %f3;
         max.NaN.f32 %f1, %f2, %f3;
         sin.approx.f32 %f1, %f2;
         rcp.approx.ftz.f32 %f1, %f2;
         div.rn.f32 %f1, %f2, %f3;
         ex2.approx.f32 %f1, %f2;
         fma.rn.f64 %e1, %e2, %e3, 0d4000000000000000;
         min.f64 %e1, %e2, %e3;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %1.0
              value r1 = %0.0
              value r2 = %2.0
              value r8 = %4.0
              value r9 = %4.1
              value r10 = %5.0
              value r11 = %5.1
              value r12 = %3.0
              value r13 = %3.1
            b0:
              r1 = FADD.FTZ.RZ r0, 0xbf800000 ; 0
              r1 = FFMA r0, 0x40000000, r2 ; 1
              r1 = FMNMX.NAN r0, r2, !PT ; 2
              r3 = FMUL.RZ r0, 0x3e22f983 ; 3
              r1 = MUFU.SIN r3 ; 3
              r1 = MUFU.RCP r0 ; 4
              r1 = FDivide.F32.RN r0, r2 ; 5
              p4, PT = FSETP.AND.GEU r0, 0xc2fc0000, PT ; 6
              r5 = Copy r0 ; 6
              @!p4 r5 = FMUL r5, 0x3f000000 ; 6
              r6 = MUFU.EX2 r5 ; 6
              r7 = Copy r6 ; 6
              @!p4 r7 = FMUL r7, r6 ; 6
              r1 = Copy r7 ; 6
              {r12 r13} = DFMA {r8 r9}, {r10 r11}, 0x40000000 ; 7
              p14, p15 = DSETP.AND.MIN {r8 r9}, {r10 r11}, PT ; 8
              {r16 r17} = Select64 {r8 r9}, {r10 r11}, p14 ; 8
              r18 = LOP3.LUT r11, 0x80000, RZ, #252, !PT ; 8
              r12 = Copy r16 ; 8
              r13 = SEL r18, r17, p15 ; 8
              EXIT ; 9
        "#]],
    );
}

#[test]
fn halves() {
    check(
        "add.rn.f16 %h1, %h2, %h3;
         fma.rn.relu.bf16x2 %r1, %r2, %r3, %r4;
         neg.f16x2 %r1, %r2;
         max.xorsign.abs.f16 %h1, %h2, %h3;
         setp.lt.f16x2 %p1|%p2, %r1, %r2;
         ex2.approx.ftz.bf16x2 %r1, %r2;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %1.0
              value r1 = %2.0
              value r2 = %0.0
              value r3 = %4.0
              value r4 = %5.0
              value r5 = %6.0
              value r6 = %3.0
              value p7 = %7.0
              value p8 = %8.0
            b0:
              r2 = HADD2 r0.H0_H0, r1.H0_H0 ; 0
              r6 = HFMA2.BF16_V2.RELU r3, r4, r5 ; 1
              r6 = LOP3.LUT r3, 0x80008000, RZ, #60, !PT ; 2
              r2 = HMNMX2.XORSIGN |r0|.H0_H0, |r1|.H0_H0, !PT ; 3
              p7, p8 = HSETP2.AND.LT r6, r3, PT ; 4
              r9 = MUFU.BF16.EX2 r3 ; 5
              r10 = MUFU.BF16.EX2 r3.H1 ; 5
              r6 = PRMT r9, 0x5410, r10 ; 5
              EXIT ; 6
        "#]],
    );
}

#[test]
fn conversions() {
    check(
        "cvt.rni.s32.f32 %r1, %f1;
         cvt.rzi.u64.f64 %d1, %e1;
         cvt.rn.f32.u16 %f1, %h1;
         cvt.rn.f16x2.f32 %r1, %f1, %f2;
         cvt.f32.bf16 %f1, %h1;
         cvt.rm.ftz.f32.f64 %f1, %e1;
         cvt.sat.s8.s32 %r1, %r2;
         cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %1.0
              value r1 = %0.0
              value r2 = %3.0
              value r3 = %3.1
              value r4 = %2.0
              value r5 = %2.1
              value r6 = %4.0
              value r8 = %5.0
              value r19 = %6.0
            b0:
              r1 = F2I.NTZ r0 ; 0
              {r4 r5} = F2I.F64.TRUNC.U64 {r2 r3} ; 1
              r7 = PRMT r6, 0x7710, RZ ; 2
              r0 = I2FP.F32.U32 r7 ; 2
              r1 = F2FP.F16.F32.PACK_AB r0, r8 ; 3
              r0 = SHF.L.U32 r6, 0x10, RZ ; 4
              r9 = F2F.F32.F64_2.RM {r2 r3} ; 5
              p10, PT = ISETP.AND.LT r3, RZ, PT ; 5
              r11 = MOV 0xe0000001 ; 5
              r12 = MOV 0x380fffff ; 5
              r13 = Copy RZ ; 5
              r14 = MOV 0x38100000 ; 5
              {r15 r16} = Select64 {r11 r12}, {r13 r14}, p10 ; 5
              p17, PT = DSETP.AND.GEU |{r2 r3}|, {r15 r16}, PT ; 5
              r18 = LOP3.LUT r9, 0x80000000, RZ, #192, !PT ; 5
              r0 = SEL r9, r18, p17 ; 5
              r20 = VIMNMX r19, 0xffffff80, !PT ; 6
              r21 = VIMNMX r20, 0x7f, PT ; 6
              r22 = Copy r21 ; 6
              r23 = PRMT r22, 0x8880, RZ ; 6
              r1 = Copy r23 ; 6
              r6 = F2FP.E4M3.F32.PACK_AB_MERGE_C.SATFINITE r0, r8, RZ ; 7
              EXIT ; 8
        "#]],
    );
}

#[test]
fn moves() {
    check(
        "mov.u32 %r1, 0;
         mov.b64 {%r1, %r2}, %d1;
         mov.b32 %r1, {%h1, %h2};
         mov.b64 %d1, {%r2, %r1};
         mov.u64 %d1, gv;
         mov.u64 %d2, cv;
         mov.u32 %r1, sv;
         mov.u64 %d3, lv;
         mov.u32 %r1, %tid.x;
         mov.u32 %r2, %ntid.y;
         mov.u64 %d4, %clock64;
         mov.pred %p1, %p2;",
        expect![[r#"
            kernel params=20 barriers=0
              symbol s0 global "gv"
              symbol s1 constant "cv"
              symbol s2 shared "sv"
              symbol s3 local(0) "lv"
              local l0 size=16 align=8
              value r2 = %0.0
              value r3 = %2.0
              value r4 = %2.1
              value r5 = %1.0
              value r6 = %3.0
              value r7 = %4.0
              value r13 = %5.0
              value r14 = %5.1
              value r20 = %6.0
              value r21 = %6.1
              value r26 = %7.0
              value r27 = %7.1
              value p28 = %9.0
              value p29 = %8.0
            b0:
              r0 = S2R %(SR_CgaCtaId) ; 6
              r1 = SHF.L.U32 r0, 0x18, RZ ; 6
              r2 = Copy RZ ; 0
              r2 = Copy r3 ; 1
              r5 = Copy r4 ; 1
              r8 = PRMT r6, 0x5410, r7 ; 2
              r2 = Copy r8 ; 2
              r3 = Copy r5 ; 3
              r4 = Copy r2 ; 3
              {r9 r10} = LDC.64 c[4][slot s0] ; 4
              r3 = Copy r9 ; 4
              r4 = Copy r10 ; 4
              r11 = MOV low(s1) ; 5
              r12 = Copy RZ ; 5
              r13 = Copy r11 ; 5
              r14 = Copy r12 ; 5
              r15 = MOV low(s2) ; 6
              r16 = IADD3 r1, r15, RZ ; 6
              r17 = Copy RZ ; 6
              r2 = Copy r16 ; 6
              r18 = FrameAddress low(s3) ; 7
              r19 = Copy RZ ; 7
              r20 = Copy r18 ; 7
              r21 = Copy r19 ; 7
              r22 = S2R %(SR_TID.X) ; 8
              r2 = Copy r22 ; 8
              r23 = LDC c[0][0x4] ; 9
              r5 = Copy r23 ; 9
              {r24 r25} = CS2R %(SR_CLOCKLO) ; 10
              r26 = Copy r24 ; 10
              r27 = Copy r25 ; 10
              p29 = Copy p28 ; 11
              EXIT ; 12
        "#]],
    );
}

#[test]
fn spaces() {
    check(
        "ld.shared.u32 %r1, [sv+4];
         st.local.v2.u32 [lv+8], {%r1, %r2};
         ld.const.u32 %r3, [cv+8];
         ld.const.s16 %r4, [%d1];
         ld.global.u32 %r5, [gv+12];
         cvta.shared.u64 %d1, %d2;
         ld.acquire.gpu.u32 %r1, [%d1];
         isspacep.shared %p1, %d1;",
        expect![[r#"
            kernel params=20 barriers=0
              symbol s0 shared "sv"
              symbol s1 local(0) "lv"
              symbol s2 constant "cv"
              symbol s3 global "gv"
              local l0 size=16 align=8
              value r4 = %0.0
              value r7 = %1.0
              value r8 = %2.0
              value r9 = %4.0
              value r12 = %3.0
              value r15 = %5.0
              value r17 = %6.0
              value r18 = %4.1
              value p19 = %7.0
            b0:
              r0 = S2R %(SR_CgaCtaId) ; 0
              r1 = SHF.L.U32 r0, 0x18, RZ ; 0
              {u2 u3} = ULDC.64 c[0][0x208] ; 4
              r4 = LDS [r1+s0+0x4] mem(shared r) ; 0
              r5 = FrameAddress low(s1) ; 1
              r6 = Copy RZ ; 1
              STL.64 [r5+0x8], {r4 r7} mem(local w) ; 1
              r8 = LDC c[3][s2+0x8] ; 2
              r10 = LDC.U16 c[3][r9] ; 3
              r11 = PRMT r10, 0x9910, RZ ; 3
              r12 = Copy r11 ; 3
              {r13 r14} = LDC.64 c[4][slot s3] ; 4
              r15 = LDG.E desc{u2 u3}[{r13 r14}+0xc].64 mem(global r) ; 4
              r16 = S2R %(SR_SWINHI) ; 5
              r9 = Copy r17 ; 5
              r18 = Copy r16 ; 5
              r4 = LD.E.GPU.STRONG desc{u2 u3}[{r9 r18}].64 mem(generic r ordered) ; 6
              CCTL.IVALL mem(generic rw ordered) ; 6
              p19, RZ = QSPC.E.S [{r9 r18}] ; 7
              EXIT ; 8
        "#]],
    );
}

#[test]
fn atomics() {
    check(
        "atom.global.add.u32 %r1, [%d1+4], 1;
         red.global.add.f64 [%d1], %e1;
         atom.global.cas.b64 %d1, [%d2], %d3, %d4;
         atom.shared.min.s32 %r1, [%r2], %r3;
         atom.shared.exch.b64 %d1, [%r2], %d3;
         atom.global.acq_rel.gpu.or.b32 %r1, [%d1], %r2;
         atom.add.u32 %r1, [%d1], %r2;",
        expect![[r#"
            kernel params=20 barriers=0
              value r3 = %1.0
              value r4 = %1.1
              value r5 = %0.0
              value r6 = %2.0
              value r7 = %2.1
              value r8 = %3.0
              value r9 = %3.1
              value r10 = %4.0
              value r11 = %4.1
              value r12 = %5.0
              value r13 = %5.1
              value r14 = %6.0
              value r15 = %7.0
            b0:
              {u0 u1} = ULDC.64 c[0][0x208] ; 0
              r2 = MOV 0x1 ; 0
              PT, r5 = ATOMG.ADD.E.GPU.STRONG desc{u0 u1}[{r3 r4}+0x4].64, r2 mem(global rw ordered) ; 0
              REDG.ADD.E.F64.GPU.RN.STRONG desc{u0 u1}[{r3 r4}].64, {r6 r7} mem(global rw ordered) ; 1
              PT, {r3 r4} = ATOMG.64.CAS.E.GPU.STRONG [{r8 r9}], {r10 r11}, {r12 r13} mem(global rw ordered) ; 2
              r5 = ATOMS.MIN.S32 [r14], r15 mem(shared rw ordered) ; 3
              {r3 r4} = ATOMS.64.EXCH [r14], {r10 r11} mem(shared rw ordered) ; 4
              MEMBAR.ALL.GPU mem(generic rw ordered) ; 5
              ERRBAR mem(generic rw ordered) ; 5
              CGAERRBAR mem(generic rw ordered) ; 5
              PT, r5 = ATOMG.E.GPU.OR.STRONG desc{u0 u1}[{r3 r4}].64, r14 mem(global rw ordered) ; 5
              CCTL.IVALL mem(generic rw ordered) ; 5
              PT, r5 = ATOM.ADD.E.GPU.STRONG desc{u0 u1}[{r3 r4}].64, r14 mem(generic rw ordered) ; 6
              EXIT ; 7
        "#]],
    );
}

#[test]
fn atomic_loops() {
    check(
        "atom.global.add.noftz.f16 %h1, [%d1], %h2;
         atom.add.f32 %f1, [%d1], %f2;",
        expect![[r#"
            kernel params=20 barriers=0
              value r2 = %1.0
              value r10 = %1.1
              value r13 = %2.0
              value r18 = %0.0
              value r20 = %4.0
              value r27 = %3.0
            b0: -> b1
              {u0 u1} = ULDC.64 c[0][0x208] ; 0
              r3 = LOP3.LUT r2, 0xfffffffc, RZ, #192, !PT ; 0
              r4 = LOP3.LUT r2, 0x2, RZ, #192, !PT ; 0
              p5, PT = ISETP.AND.NE.U32 r4, RZ, PT ; 0
              r6 = MOV 0x3254 ; 0
              r7 = MOV 0x7710 ; 0
              r8 = SEL r6, 0x5410, !p5 ; 0
              r9 = SEL r7, 0x7732, !p5 ; 0
              r11 = LDG.E desc{u0 u1}[{r3 r10}].64 mem(global r ordered) ; 0
            b1: -> b2
              r12 = PRMT r11, r9, RZ ; 0
            b2: -> b1 b3
              r14 = HADD2 r12.H0_H0, r13.H0_H0 ; 0
              r15 = PRMT r11, r8, r14 ; 0
              PT, r16 = ATOMG.CAS.E.GPU.STRONG [{r3 r10}], r11, r15 mem(global rw ordered) ; 0
              p17, PT = ISETP.AND.NE.U32 r16, r11, PT ; 0
              r11 = Copy r16 ; 0
              @p17 BRA b1 ; 0
            b3: -> b5 b4
              r18 = Copy r12 ; 0
              p19, RZ = QSPC.E.S [{r2 r10}] ; 1
              @p19 BRA b5 ; 1
            b4: -> b8
              PT, r21 = ATOMG.ADD.E.F32.FTZ.GPU.RN.STRONG desc{u0 u1}[{r2 r10}].64, r20 mem(global rw ordered) ; 1
              r22 = Copy r21 ; 1
              BRA b8 ; 1
            b5: -> b6
              r23 = LDS [r2] mem(shared r ordered) ; 1
            b6: -> b6 b7
              r24 = FADD r23, r20 ; 1
              r25 = ATOMS.CAS [r2], r23, r24 mem(shared rw ordered) ; 1
              p26, PT = ISETP.AND.NE.U32 r25, r23, PT ; 1
              r23 = Copy r25 ; 1
              @p26 BRA b6 ; 1
            b7: -> b8
              r22 = Copy r23 ; 1
            b8:
              r27 = Copy r22 ; 1
              EXIT ; 2
        "#]],
    );
}

#[test]
fn warp() {
    check(
        "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;
         vote.sync.ballot.b32 %r1, %p1, %r2;
         vote.sync.any.pred %p1, !%p2, -1;
         match.all.sync.b64 %r1|%p1, %d1, -1;
         redux.sync.min.s32 %r1, %r2, -1;
         elect.sync %r1|%p1, -1;
         bar.warp.sync 15;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %2.0
              value p1 = %1.0
              value r2 = %0.0
              value p3 = %3.0
              value r4 = %4.0
              value r5 = %4.1
            b0:
              WARPSYNC.ALL ; 0
              p1, r2 = SHFL.BFLY r0, #16, #31 ; 0
              WARPSYNC r0 ; 1
              r2, PT = VOTE.ANY p1 ; 1
              WARPSYNC.ALL ; 2
              RZ, p1 = VOTE.ANY !p3 ; 2
              WARPSYNC.ALL ; 3
              p1, r2 = MATCH.ALL.U64 {r4 r5} ; 3
              WARPSYNC.ALL ; 4
              u6 = REDUX.MIN.S32 r0 ; 4
              r2 = Copy u6 ; 4
              WARPSYNC.ALL ; 5
              p1, URZ = ELECT PT ; 5
              r7, PT = VOTE.ANY p1 ; 5
              r2 = FLO.U32 r7 ; 5
              r8 = MOV 0xf ; 6
              WARPSYNC r8 mem(generic rw ordered) ; 6
              EXIT ; 7
        "#]],
    );
}

#[test]
fn barriers() {
    check(
        "bar.sync 0;
         bar.sync %r1, %r2;
         bar.red.popc.u32 %r1, 2, %p1;
         barrier.cta.red.or.pred %p1, 3, 64, !%p2;
         membar.gl;
         fence.acq_rel.cta;
         nanosleep.u32 %r1;",
        expect![[r#"
            kernel params=20 barriers=16
              value r0 = %1.0
              value r2 = %0.0
              value p4 = %2.0
              value p5 = %3.0
            b0:
              BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 0
              r1 = SHF.L.U32 r0, 0x10, RZ ; 1
              r3 = LOP3.LUT r1, 0xf, r2, #248, !PT ; 1
              BAR.DEFER_BLOCKING.SYNC r3, r3 mem(generic rw ordered) ; 1
              BAR.DEFER_BLOCKING.POPC.RED #2, p4 mem(generic rw ordered) ; 2
              r2 = B2R.RESULT mem(generic rw ordered) ; 2
              BAR.DEFER_BLOCKING.OR.RED #3, #64, !p5 mem(generic rw ordered) ; 3
              RZ, p4 = B2R.RESULT mem(generic rw ordered) ; 3
              MEMBAR.GPU.SC mem(generic rw ordered) ; 4
              ERRBAR mem(generic rw ordered) ; 4
              CGAERRBAR mem(generic rw ordered) ; 4
              CCTL.IVALL mem(generic rw ordered) ; 4
              MEMBAR.ALL.CTA mem(generic rw ordered) ; 5
              NANOSLEEP r2 mem(generic rw ordered) ; 6
              EXIT ; 7
        "#]],
    );
}

#[test]
fn control_flow() {
    check(
        "A: add.u32 %r1, %r1, 1;
         setp.lt.u32 %p1, %r1, 10;
         @%p1 bra A;
         T: .branchtargets B, C;
         brx.idx %r1, T;
         B: @%p1 exit;
         C: @%p2 trap;",
        expect![[r#"
            kernel params=20 barriers=0
              table t0 targets b3 b5
              value r0 = %0.0
              value p1 = %1.0
              value p5 = %2.0
            b0: -> b1
            b1: -> b1 b2
              r0 = IADD3 r0, 0x1, RZ ; 0
              p1, PT = ISETP.AND.LT.U32 r0, 0xa, PT ; 1
              @p1 BRA b1 ; 2
            b2: -> b3 b5
              r2 = SHF.L.U32 r0, 0x2, RZ ; 3
              r3 = LDC c[2][t0+r2] ; 3
              r4 = SHF.HI.R.S32 RZ, 0x1f, r3 ; 3
              BRX {r3 r4}, kernel_start ; 3
            b3: -> b4
              @p1 EXIT ; 4
            b4: -> b5
            b5:
              @p5 BPT.TRAP #1 ; 5
              EXIT ; 6
        "#]],
    );
}

#[test]
fn calls() {
    check(
        "{ .param .b32 a; .param .b64 b; .param .b32 q;
         st.param.b32 [a], %r1; st.param.b64 [b], %d1;
         call (q), callee, (a, b);
         ld.param.b32 %r2, [q]; }
         { .param .b64 a; .param .b64 b; .param .b32 q;
         st.param.b64 [a], %d1; st.param.b64 [b], %d2;
         @%p1 call (q), vprintf, (a, b); }",
        expect![[r#"
            kernel params=20 barriers=0
              symbol s0 function "callee"
              symbol s1 extern "vprintf"
              value r0 = %0.0
              value r2 = %1.0
              value r4 = %1.1
              value r7 = %2.0
              value r10 = %3.0
              value r12 = %3.1
              value p14 = %4.0
            b0: -> b2 b1
              r1 = Copy r0 ; 0
              r3 = Copy r2 ; 1
              r5 = Copy r4 ; 1
              r6$4 = Call r1$4, r3$6, r5$7 mem(generic rw ordered) call(s0 stack=0 clobbers=f0f0f0f0030fff9,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f predicates=7f uniform) ; 2
              r7 = Copy r6 ; 3
              r8 = Copy r2 ; 4
              r9 = Copy r4 ; 4
              r11 = Copy r10 ; 5
              r13 = Copy r12 ; 5
              @!p14 BRA b2 ; 6
            b1: -> b2
              r15$4 = Call r8$4, r9$5, r11$6, r13$7 mem(generic rw ordered) call(s1 stack=0 clobbers=f0f0f0f0030fff9,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f predicates=7f uniform) ; 6
            b2:
              EXIT ; 7
        "#]],
    );
}

#[test]
fn video() {
    check(
        "vadd.s32.u32.s32.sat %r1, %r2, %r3;
         vabsdiff4.u32.u32.u32.add %r1, %r2, %r3, %r4;
         vmax2.s32.s32.s32 %r1, %r2, %r3, %r4;",
        expect![[r#"
            kernel params=20 barriers=0
              value r1 = %2.0
              value r3 = %1.0
              value r14 = %0.0
              value r15 = %3.0
            b0:
              r0 = Copy RZ ; 0
              r2 = SHF.HI.R.S32 RZ, 0x1f, r1 ; 0
              {r4 r5} = Add64 {r3 r0}, {r1 r2} ; 0
              r6 = MOV 0x80000000 ; 0
              r7 = MOV 0xffffffff ; 0
              r8 = MOV 0x7fffffff ; 0
              r9 = Copy RZ ; 0
              {r10 r11} = Max64.S64 {r4 r5}, {r6 r7} ; 0
              {r12 r13} = Min64.S64 {r10 r11}, {r8 r9} ; 0
              r14 = Copy r12 ; 0
              r14 = VABSDIFF4.ACC.U8 r3, r1, r15 ; 1
              r16 = PRMT r3, 0x9910, RZ ; 2
              r17 = PRMT r1, 0x9910, RZ ; 2
              r18 = VIMNMX r16, r17, !PT ; 2
              r19 = PRMT r3, 0xbb32, RZ ; 2
              r20 = PRMT r1, 0xbb32, RZ ; 2
              r21 = VIMNMX r19, r20, !PT ; 2
              r22 = PRMT r18, 0x5410, r21 ; 2
              r14 = Copy r22 ; 2
              EXIT ; 3
        "#]],
    );
}

#[test]
fn what_is_not_supported() {
    check(
        "add.s32 %r1, %r2, %r3;
         alloca.u64 %d1, 16, 24;",
        expect![[r#"
            oriole::not-supported: an alignment that is no power of two (statement Some(1))
        "#]],
    );
}

/// What a texture is as a value is not known, be it a variable or a parameter.
#[test]
fn textures_have_no_address() {
    for (parameter, name) in [("", "g"), (".param .texref t", "t")] {
        let text = format!(
            ".version 8.6\n.target sm_90, texmode_unified\n.address_size 64\n.global .texref g;\n\
             .entry k({parameter}) {{ .reg .b64 h; mov.u64 h, {name}; st.global.u64 [h], h; ret; }}"
        );
        let found = lowered(&text);
        assert!(found.contains("oriole::not-supported") && found.contains(&format!("`{name}`")), "{found}");
    }
}

#[test]
fn stack() {
    check(
        "stacksave.u64 %d1;
         alloca.u64 %d2, %d3, 64;
         alloca.u32 %r1, 12;
         stackrestore.u64 %d1;
         stackrestore.u32 %r2;",
        expect![[r#"
            kernel params=20 barriers=0
              value r1 = %0.0
              value r2 = %0.1
              value r3 = %2.0
              value r5 = %1.0
              value r6 = %1.1
              value r8 = %3.0
              value r9 = %4.0
            b0:
              r0 = StackSave mem(generic rw ordered) ; 0
              r1 = Copy r0 ; 0
              r2 = Copy RZ ; 0
              r4 = StackAllocate r3, #64 mem(generic rw ordered) ; 1
              r5 = Copy r4 ; 1
              r6 = Copy RZ ; 1
              r7 = StackAllocate 0xc, #8 mem(generic rw ordered) ; 2
              r8 = Copy r7 ; 2
              StackRestore r1 mem(generic rw ordered) ; 3
              StackRestore r9 mem(generic rw ordered) ; 4
              EXIT ; 5
        "#]],
    );
}

#[test]
fn levels_by_derivatives_and_properties() {
    check(
        "tex.grad.3d.v4.f32.f32 {%f1, _, _, _}, [%d1, {%f2, %f3, %f4, %f4}], {%f1, %f2, %f3, %f4}, {%f4, %f3, %f2, %f1};
         tex.grad.1d.v4.f32.s32 {%f1, _, _, _}, [%d1, {%r1}], {%f2}, {%f3};
         txq.num_mipmap_levels.b32 %r1, [%d1];
         suq.memory_layout.b32 %r1, [%d1];",
        expect![[r#"
            kernel params=20 barriers=0
              symbol s0 descriptor_size ".nv.unified.texrefDescSize"
              symbol s1 descriptor_size ".nv.surfrefDescSize"
              value r3 = %1.0
              value r12 = %0.0
              value r15 = %2.0
              value r18 = %3.0
              value r21 = %4.0
              value r40 = %5.0
            b0:
              {u0 u1} = ULDC.64 c[0][0x208] ; 2
              r2 = Copy RZ ; 0
              RZ, r4 = TXQ.B {r3 r2}, %(TEX_HEADER_DIMENSION), #1 ; 0
              r5 = I2FP.F32.U32 r4 ; 0
              r6 = Copy RZ ; 0
              RZ, r7 = TXQ.B {r3 r6}, %(TEX_HEADER_DIMENSION), #2 ; 0
              r8 = I2FP.F32.U32 r7 ; 0
              r9 = Copy RZ ; 0
              RZ, r10 = TXQ.B {r3 r9}, %(TEX_HEADER_DIMENSION), #4 ; 0
              r11 = I2FP.F32.U32 r10 ; 0
              r13 = FMUL r12, r5 ; 0
              r14 = FMUL r13, r13 ; 0
              r16 = FMUL r15, r8 ; 0
              r17 = FFMA r16, r16, r14 ; 0
              r19 = FMUL r18, r11 ; 0
              r20 = FFMA r19, r19, r17 ; 0
              r22 = FMUL r21, r5 ; 0
              r23 = FMUL r22, r22 ; 0
              r24 = FMUL r18, r8 ; 0
              r25 = FFMA r24, r24, r23 ; 0
              r26 = FMUL r15, r11 ; 0
              r27 = FFMA r26, r26, r25 ; 0
              r28 = FMNMX r20, r27, !PT ; 0
              r29 = MUFU.LG2 r28 ; 0
              r30 = FMUL r29, 0x3f000000 ; 0
              PT, RZ, r31 = TEX.B.LL {r15 r18 r21}, {r3 r30}, %(3D), #1 ; 0
              r12 = Copy r31 ; 0
              r32 = FMUL r15, r15 ; 1
              r33 = FMUL r18, r18 ; 1
              r34 = FMNMX r32, r33, !PT ; 1
              r35 = MUFU.LG2 r34 ; 1
              r36 = FMUL r35, 0x3f000000 ; 1
              r37 = FADD r36, 0x3f000000 ; 1
              r38 = F2I.NTZ.TRUNC.U32 r37 ; 1
              r39 = VIMNMX.U32 r38, 0x1f, PT ; 1
              PT, RZ, r41 = TLD.B.CL.LL r40, {r3 r39}, %(1D), #1 ; 1
              r12 = Copy r41 ; 1
              r42 = MOV low(s0) ; 2
              {r43 r44} = LDC.64 c[0][0xf0] ; 2
              {r45 r46} = IMAD.U32.WIDE r3, r42, {r43 r44} ; 2
              r40 = LDG.CONSTANT.E desc{u0 u1}[{r45 r46}+0x2c].64 mem(global r) ; 2
              r47 = MOV low(s1) ; 3
              {r48 r49} = LDC.64 c[0][0x100] ; 3
              {r50 r51} = IMAD.U32.WIDE r3, r47, {r48 r49} ; 3
              r40 = LDG.CONSTANT.E desc{u0 u1}[{r50 r51}+0x14].64 mem(global r) ; 3
              EXIT ; 4
        "#]],
    );
}

/// No uniform register holds a descriptor beside calls, and the copy has no form without the width of its address.
#[test]
fn copies_to_shared_memory_beside_calls() {
    check(
        "cp.async.ca.shared.global [sv], [%d1], 8;
         call (%r1), callee, (%r2, %d2);",
        expect![[r#"
            kernel params=20 barriers=0
              symbol s0 shared "sv"
              symbol s1 function "callee"
              value r2 = %0.0
              value r3 = %0.1
              value r4 = %2.0
              value r5 = %3.0
              value r6 = %3.1
              value r7 = %1.0
            b0:
              r0 = S2R %(SR_CgaCtaId) ; 0
              r1 = SHF.L.U32 r0, 0x18, RZ ; 0
              LDGSTS.64.E [r1+s0], [{r2 r3}].64 mem(generic rw) ; 0
              r7$4 = Call r4$4, r5$6, r6$7 mem(generic rw ordered) call(s1 stack=0 clobbers=f0f0f0f0030fff9,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f,f0f0f0f0f0f0f0f predicates=7f uniform) ; 1
              EXIT ; 2
        "#]],
    );
}

#[test]
fn products_out_of_bounds() {
    check(
        "fma.rn.oob.relu.bf16x2 %r1, %r2, %r3, %r4;
         fma.rp.oob.bf16 %h1, %h2, %h3, %h4;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %1.0
              value r1 = %2.0
              value r2 = %3.0
              value r3 = %0.0
              value r4 = %5.0
              value r6 = %6.0
              value r8 = %7.0
              value r20 = %4.0
            b0:
              r3 = HFMA2.BF16_V2.OOB.RELU r0, r1, r2 ; 0
              r5 = SHF.L.U32 r4, 0x10, RZ ; 1
              r7 = SHF.L.U32 r6, 0x10, RZ ; 1
              r9 = SHF.L.U32 r8, 0x10, RZ ; 1
              r10 = FFMA.RP r5, r7, r9 ; 1
              p11, PT = FSETP.AND.GT r10, RZ, PT ; 1
              r12 = MOV 0xffff ; 1
              r13 = SEL r12, 0x0, p11 ; 1
              r14 = IADD3 r10, r13, RZ ; 1
              r15 = SHF.HI.R.U32 RZ, 0x10, r14 ; 1
              p16, PT = ISETP.AND.EQ.U32 r5, 0x7fff0000, PT ; 1
              r17 = SEL RZ, r15, p16 ; 1
              p18, PT = ISETP.AND.EQ.U32 r7, 0x7fff0000, PT ; 1
              r19 = SEL RZ, r17, p18 ; 1
              r20 = Copy r19 ; 1
              EXIT ; 2
        "#]],
    );
}

#[test]
fn functions_receive_and_return() {
    let text = ".version 8.8\n.target sm_90a\n.address_size 64\n\
        .func (.param .b32 r) f(.param .b32 x, .param .align 4 .b8 s[8], .param .align 8 .b8 big[64]) {\n\
        .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<2>;\n\
        ld.param.u32 %r1, [x]; ld.param.s8 %r2, [s+5]; ld.param.u32 %r3, [big+8];\n\
        setp.eq.u32 %p1, %r1, 0; @%p1 ret;\n\
        add.u32 %r3, %r3, %r2; st.param.b32 [r], %r3; ret; }";
    expect![[r#"
        function params=80 barriers=0
          value r4 = %0.0
          value r6 = %1.0
          value r7 = %2.0
          value p8 = %3.0
        b0: -> b2 b1
          r0$4, r1$5, r2$6, r3$7 = Parameters ; 0
          r4 = Copy r1 ; 0
          r5 = PRMT r3, 0x9991, RZ ; 1
          r6 = Copy r5 ; 1
          r7 = LDL [r0+0x8] mem(local r) ; 2
          p8, PT = ISETP.AND.EQ.U32 r4, RZ, PT ; 3
          @!p8 BRA b2 ; 4
        b1:
          Return r9$4 ; 4
        b2:
          r7 = IADD3 r7, r6, RZ ; 5
          r9 = Copy r7 ; 6
          Return r9$4 ; 7
    "#]]
    .assert_eq(&lowered(text));
}

#[test]
fn counts_of_threads_keep_the_bits_that_a_word_has() {
    check(
        "barrier.sync.aligned 1, 16777216;
         barrier.arrive.aligned 2, 4128;",
        expect![[r#"
            kernel params=20 barriers=3
            b0:
              BAR.DEFER_BLOCKING.SYNC #1, #0 mem(generic rw ordered) ; 0
              BAR.ARV #2, #32 mem(generic rw ordered) ; 1
              EXIT ; 2
        "#]],
    );
}

#[test]
fn matrices() {
    check(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f1, %f2, %f3, %f4};
         mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {0f00000000, 0f00000000, 0f00000000, 0f00000000};
         mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.u8.s32 {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};
         mma.sync.aligned.m8n8k4.row.col.rz.f64.f64.f64.f64 {%e1, %e2}, {%e3}, {%e4}, {%e1, %e2};
         mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};
         ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%r5+16];
         ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%d1];
         stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r5], {%r1, %r2};
         movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %4.0
              value r1 = %5.0
              value r2 = %6.0
              value r3 = %7.0
              value r4 = %8.0
              value r5 = %9.0
              value r6 = %0.0
              value r7 = %1.0
              value r8 = %2.0
              value r9 = %3.0
              value r10 = %12.0
              value r11 = %12.1
              value r12 = %13.0
              value r13 = %13.1
              value r14 = %10.0
              value r15 = %10.1
              value r16 = %11.0
              value r17 = %11.1
              value r18 = %14.0
            b0:
              {r6 r7 r8 r9} = HMMA.16816.BF16.F32 {r0 r1 r2 r3}, {r4 r5}, {r6 r7 r8 r9} ; 0
              {r6 r7 r8 r9} = HMMA.1688.F32.TF32 {r0 r1 r2 r3}, {r4 r5}, RZ ; 1
              {r0 r1} = IMMA.8816.S8.SAT.U8_2 r2.ROW, r3.COL, {r0 r1} ; 2
              {r14 r15 r16 r17} = DMMA.8x8x4.RZ {r10 r11}, {r12 r13}, {r14 r15 r16 r17} ; 3
              {r0 r1} = BMMA.88128.AND.POPC r2.ROW, r3.COL, {r0 r1} ; 4
              {r0 r1 r2 r3} = LDSM.16.4.MT88 [r4+0x10] mem(shared r) ; 5
              r0 = LDSM.16.M88 [r18] mem(shared r) ; 6
              STSM.16.2.M88 [r4], {r0 r1} mem(shared w) ; 7
              r0 = MOVM.16.MT88 r1 ; 8
              EXIT ; 9
        "#]],
    );
}

#[test]
fn products_that_the_machine_lacks() {
    check(
        "mma.sync.aligned.m8n8k32.row.col.s32.u4.s4.s32 {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};
         mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};
         mma.sync.aligned.m16n8k16.row.col.f16.e4m3.e5m2.f16 {%r1, %r2}, {%r3, %r4}, {%r5}, {%r1, %r2};",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %2.0
              value r2 = %3.0
              value r6 = %0.0
              value r7 = %1.0
              value r22 = %4.0
            b0:
              r1 = LOP3.LUT r0, 0xf0f0f0f, RZ, #192, !PT ; 0
              r3 = LOP3.LUT r2, 0xf0f0f0f, RZ, #192, !PT ; 0
              r4 = LOP3.LUT r2, 0x8080808, RZ, #192, !PT ; 0
              r5 = IMAD r4, 0x1e, r3 ; 0
              {r8 r9} = IMMA.8816.S8_2.U8 r1.ROW, r5.COL, {r6 r7} ; 0
              r10 = SHF.HI.R.U32 RZ, 0x4, r0 ; 0
              r11 = LOP3.LUT r10, 0xf0f0f0f, RZ, #192, !PT ; 0
              r12 = SHF.HI.R.U32 RZ, 0x4, r2 ; 0
              r13 = LOP3.LUT r12, 0xf0f0f0f, RZ, #192, !PT ; 0
              r14 = LOP3.LUT r12, 0x8080808, RZ, #192, !PT ; 0
              r15 = IMAD r14, 0x1e, r13 ; 0
              {r6 r7} = IMMA.8816.S8_2.U8 r11.ROW, r15.COL, {r8 r9} ; 0
              r16 = LOP3.LUT RZ, r0, RZ, #51, !PT ; 1
              r17 = LOP3.LUT RZ, r2, RZ, #51, !PT ; 1
              {r18 r19} = BMMA.88128.AND.POPC r0.ROW, r17.COL, {r6 r7} ; 1
              {r6 r7} = BMMA.88128.AND.POPC r16.ROW, r2.COL, {r18 r19} ; 1
              r20 = F2FP.E4M3_2.F16.UNPACK_B r0 ; 2
              r21 = F2FP.E4M3_2.F16.UNPACK_B r2 ; 2
              r23 = F2FP.E5M2_2.F16.UNPACK_B r22 ; 2
              {r24 r25} = HMMA.1688.F16 {r20 r21}, r23, RZ ; 2
              r26 = F2FP.E4M3_2.F16.UNPACK_B r0.H1 ; 2
              r27 = F2FP.E4M3_2.F16.UNPACK_B r2.H1 ; 2
              r28 = F2FP.E5M2_2.F16.UNPACK_B r22.H1 ; 2
              {r29 r30} = HMMA.1688.F16 {r26 r27}, r28, {r24 r25} ; 2
              r6 = HADD2 r6, r29 ; 2
              r7 = HADD2 r7, r30 ; 2
              EXIT ; 3
        "#]],
    );
}

/// Sums and extremes of packed 16-bit integers where the chip has neither `VIADD` nor `VIMNMX`.
#[test]
fn packed_integers_one_by_one() {
    let text = ".version 9.0\n.target sm_110\n.address_size 64\n\
        .func (.reg .b32 d) k(.reg .b32 a, .reg .b32 b)\n\
        { .reg .b32 s<3>; add.u16x2 s0, a, b; min.u16x2 s1, s0, a; max.relu.s16x2 d, s1, b; ret; }";
    expect![[r#"
        function params=8 barriers=0
          value r0 = %1.0
          value r1 = %2.0
          value r5 = %3.0
          value r12 = %4.0
          value r21 = %0.0
        b0:
          r0$4, r1$5 = Parameters ; 0
          r2 = LOP3.LUT r1, 0xffff0000, RZ, #192, !PT ; 0
          r3 = IADD3 r0, r1, RZ ; 0
          r4 = IADD3 r0, r2, RZ ; 0
          r5 = PRMT r3, 0x7610, r4 ; 0
          r6 = PRMT r5, 0x4410, RZ ; 1
          r7 = PRMT r0, 0x4410, RZ ; 1
          r8 = IMNMX.U32 r6, r7, PT ; 1
          r9 = PRMT r5, 0x4432, RZ ; 1
          r10 = PRMT r0, 0x4432, RZ ; 1
          r11 = IMNMX.U32 r9, r10, PT ; 1
          r12 = PRMT r8, 0x5410, r11 ; 1
          r13 = PRMT r12, 0x9910, RZ ; 2
          r14 = PRMT r1, 0x9910, RZ ; 2
          r15 = IMNMX r13, r14, !PT ; 2
          r16 = IMNMX r15, RZ, !PT ; 2
          r17 = PRMT r12, 0xbb32, RZ ; 2
          r18 = PRMT r1, 0xbb32, RZ ; 2
          r19 = IMNMX r17, r18, !PT ; 2
          r20 = IMNMX r19, RZ, !PT ; 2
          r21 = PRMT r16, 0x5410, r20 ; 2
          Return r21$4 ; 3
    "#]]
    .assert_eq(&lowered_for("sm_110".parse().unwrap(), text));
}

/// Products of four-bit numbers are one instruction each where the chip has them.
#[test]
fn products_of_nibbles() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .func (.reg .b32 out) k(.reg .b32 a0, .reg .b32 a1, .reg .b32 a2, .reg .b32 a3, .reg .b32 b0, .reg .b32 b1, .reg .b32 m)\n\
        { .reg .b32 c<4>; mov.b32 c1, 0; mov.b32 c2, 0; mov.b32 c3, 0; mov.b32 c0, 0;\n\
        mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {c0,c1,c2,c3}, {a0,a1,a2,a3}, {b0,b1}, {c0,c1,c2,c3};\n\
        mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u4.s4.s32 {c0,c1,c2,c3}, {a0,a1}, {b0}, {c0,c1,c2,c3};\n\
        mma.sp.sync.aligned.m16n8k64.row.col.s32.u4.s4.s32 {c0,c1,c2,c3}, {a0,a1}, {b0,b1}, {c0,c1,c2,c3}, m, 0x0;\n\
        ret; }";
    let products = |chip: Chip| {
        let found = lowered_for(chip, text);
        let names =
            found.lines().filter_map(|line| line.split(" = ").nth(1)?.split(' ').next().map(str::to_owned));
        names.filter(|name| name.starts_with("IMMA")).collect::<Vec<_>>()
    };
    for chip in ["sm_80", "sm_86", "sm_89"] {
        let chip: Chip = chip.parse().expect("a chip");
        assert_eq!(
            products(chip),
            ["IMMA.16864.S4.S4_2", "IMMA.16832.S4_2.SAT.U4", "IMMA.16864.S4_2.SP.U4"],
            "{chip}"
        );
    }
    // Bytes, twice each.
    assert_eq!(products(Chip::SM_90A).len(), 6);
}

#[test]
fn asynchronous_copies() {
    check(
        "cp.async.ca.shared.global [%r1+4], [%d1+8], 4;
         cp.async.cg.shared.global.L2::128B [%r1], [%d1], 16;
         cp.async.ca.shared.global [%r1], [%d1], 8, 3;
         cp.async.ca.shared.global [%r1], [%d1], 16, %r2;
         cp.async.ca.shared.global [%r1], [%d1], 16, %p1;
         cp.async.commit_group;
         cp.async.wait_group 2;
         cp.async.wait_all;",
        expect![[r#"
            kernel params=20 barriers=0
              value r2 = %0.0
              value r3 = %1.0
              value r4 = %1.1
              value r5 = %2.0
              value p12 = %3.0
            b0:
              {u0 u1} = ULDC.64 c[0][0x208] ; 0
              LDGSTS.E [r2+0x4], desc{u0 u1}[{r3 r4}+0x8].64 mem(generic rw) ; 0
              LDGSTS.128.BYPASS.E.LTC128B [r2], desc{u0 u1}[{r3 r4}].64 mem(generic rw) ; 1
              LDGSTS.64.E.ZFILL [r2], desc{u0 u1}[{r3 r4}+0x5].64 mem(generic rw) ; 2
              r6 = IADD3 -r5, 0x10, RZ ; 3
              r7 = LOP3.LUT r6, 0xf, RZ, #192, !PT ; 3
              r8 = Copy RZ ; 3
              {r9 r10} = Add64 {r3 r4}, {r7 r8} ; 3
              p11, PT = ISETP.AND.NE.U32 r5, RZ, PT ; 3
              LDGSTS.128.E.ZFILL [r2], desc{u0 u1}[{r9 r10}].64, p11 mem(generic rw) ; 3
              LDGSTS.128.E [r2], desc{u0 u1}[{r3 r4}].64, !p12 mem(generic rw) ; 4
              LDGDEPBAR mem(generic rw ordered) ; 5
              DEPBAR.LE SB0, #2 mem(generic rw ordered) ; 6
              LDGDEPBAR mem(generic rw ordered) ; 7
              DEPBAR.LE SB0, #0 mem(generic rw ordered) ; 7
              EXIT ; 8
        "#]],
    );
}

#[test]
fn hints_and_events() {
    check(
        "prefetchu.L1 [%d1];
         prefetch.global.L2::evict_last [%d1];
         applypriority.global.L2::evict_normal [%d1], 128;
         discard.global.L2 [%d1+128], 128;
         ldu.global.v2.u32 {%r1, %r2}, [%d1];
         griddepcontrol.wait;
         griddepcontrol.launch_dependents;
         pmevent 3;
         pmevent.mask 5;",
        expect![[r#"
            kernel params=20 barriers=0
              value r2 = %0.0
              value r3 = %0.1
              value r8 = %1.0
              value r9 = %2.0
            b0:
              {u0 u1} = ULDC.64 c[0][0x208] ; 4
              CCTL.E.PF1 [{r2 r3}] mem(generic r ordered) ; 0
              CCTL.E.PML2 [{r2 r3}] mem(global r ordered) ; 1
              CCTL.DML2.E [{r2 r3}] mem(global r ordered) ; 2
              r4 = MOV 0x80 ; 3
              r5 = Copy RZ ; 3
              {r6 r7} = Add64 {r2 r3}, {r4 r5} ; 3
              CCTL.E.RML2 [{r6 r7}] mem(global rw ordered) ; 3
              {r8 r9} = LDG.64.E desc{u0 u1}[{r2 r3}].64 mem(global r) ; 4
              ACQBULK mem(generic rw ordered) ; 5
              PREEXIT mem(generic rw ordered) ; 6
              PMTRIG #8 ; 7
              PMTRIG #5 ; 8
              EXIT ; 9
        "#]],
    );
}

#[test]
fn barrier_objects() {
    check(
        "mbarrier.init.shared.b64 [%r1], 3;
         @%p1 mbarrier.init.shared.b64 [%r1+8], %r2;
         mbarrier.arrive.shared.b64 %d1, [%r1];
         mbarrier.arrive.release.cluster.shared.b64 _, [%r1], 2;
         mbarrier.arrive_drop.shared::cluster.b64 _, [%r1];
         mbarrier.arrive.noComplete.shared.b64 %d2, [%r1], %r2;
         mbarrier.arrive.expect_tx.shared.b64 _, [%r1], %r2;
         mbarrier.expect_tx.relaxed.cta.shared.b64 [%r1], 16;
         mbarrier.complete_tx.b64 [%d3+8], 16;
         mbarrier.test_wait.shared.b64 %p2, [%r1], %d1;
         mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [%r1], %r3, %r4;
         mbarrier.pending_count.b64 %r5, %d1;
         cp.async.mbarrier.arrive.shared.b64 [%r1];
         cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];
         mbarrier.inval.shared.b64 [%r1];",
        expect![[r#"
            kernel params=20 barriers=0
              value r2 = %0.0
              value p3 = %1.0
              value r4 = %2.0
              value r8 = %3.0
              value r9 = %3.1
              value r11 = %4.0
              value r12 = %4.1
              value r15 = %5.0
              value p16 = %6.0
              value r17 = %7.0
              value r19 = %8.0
              value r22 = %9.0
            b0: -> b2 b1
              r0 = MOV 0x1ffffa ; 0
              r1 = MOV 0x7fffe800 ; 0
              URZ:2 = SYNCS.64.EXCH [r2], {r0 r1} mem(generic rw ordered) ; 0
              @!p3 BRA b2 ; 1
            b1: -> b2
              r5 = IADD3 -r4, 0x100000, RZ ; 1
              r6 = SHF.L.U32 r5, 0x1, RZ ; 1
              r7 = SHF.L.U32 r5, 0xb, RZ ; 1
              URZ:2 = SYNCS.64.EXCH [r2+0x8], {r6 r7} mem(generic rw ordered) ; 1
            b2:
              {r8 r9} = SYNCS.A1T0.ARRIVE.TRANS64 [r2], RZ mem(generic rw ordered) ; 2
              MEMBAR.ALL.CTA mem(generic rw ordered) ; 3
              MEMBAR.ALL.GPU mem(generic rw ordered) ; 3
              ERRBAR mem(generic rw ordered) ; 3
              CGAERRBAR mem(generic rw ordered) ; 3
              r10 = MOV 0x2 ; 3
              RZ:2 = SYNCS.ARRIVE.ART0.TRANS64 [r2], r10 mem(generic rw ordered) ; 3
              RZ:2 = SYNCS.A1T0.ARRIVE.OPTOUT.RED.TRANS64 [r2], RZ mem(generic rw ordered) ; 4
              {r11 r12} = SYNCS.ARRIVE.ART0.TRANS64 [r2], r4 mem(generic rw ordered) ; 5
              RZ:2 = SYNCS.ARRIVE.TRANS64 [r2], r4 mem(generic rw ordered) ; 6
              r13 = MOV 0x10 ; 7
              RZ:2 = SYNCS.A0TR.ARRIVE.RED.TRANS64 [r2], r13 mem(generic rw ordered) ; 7
              r14 = MOV 0x10 ; 8
              RZ:2 = SYNCS.A0TX.ARRIVE.RED.TRANS64 [r15+0x8], r14 mem(generic rw ordered) ; 8
              p16 = SYNCS.PHASECHK.TRANS64 [r2], r9 mem(generic rw ordered) ; 9
              r18 = SHF.L.U32 r17, 0x1f, RZ ; 10
              p16 = SYNCS.PHASECHK.TRANS64.TRYWAIT [r2], r18 mem(generic rw ordered) ; 10
              @!p16 NANOSLEEP.SYNCS r19 mem(generic rw ordered) ; 10
              @!p16 p16 = SYNCS.PHASECHK.TRANS64 [r2], r18 mem(generic rw ordered) ; 10
              @p16 CCTL.IVALL mem(generic rw ordered) ; 10
              r20 = SHF.HI.R.U32 RZ, 0xb, r9 ; 11
              r21 = LOP3.LUT r20, 0xfffff, RZ, #192, !PT ; 11
              r22 = IADD3 -r21, 0x100000, RZ ; 11
              RZ:2 = SYNCS.A0T1.ARRIVE.RED.TRANS64 [r2], RZ mem(generic rw ordered) ; 12
              ARRIVES.64.LDGSTSBAR.TRANSCNT [r2] mem(generic rw ordered) ; 12
              ARRIVES.64.ARVCNT.LDGSTSBAR [r2] mem(generic rw ordered) ; 13
              SYNCS.CCTL.IV [r2] mem(generic rw ordered) ; 14
              EXIT ; 15
        "#]],
    );
}

#[test]
fn barriers_of_a_cluster() {
    check(
        "barrier.cluster.arrive.relaxed.aligned;
         barrier.cluster.wait;
         fence.mbarrier_init.release.cluster;
         fence.proxy.tensormap::generic.release.cta;
         fence.release.sync_restrict::shared::cta.cluster;
         fence.acquire.sync_restrict::shared::cluster.cluster;
         membar.proxy.alias;
         mapa.shared::cluster.u32 %r1, sv, %r2;
         mapa.u64 %d1, %d2, 3;
         getctarank.shared::cluster.u32 %r3, %r1;",
        expect![[r#"
            kernel params=20 barriers=1
              symbol s0 shared "sv"
              value r12 = %1.0
              value r14 = %0.0
              value r16 = %3.0
              value r18 = %2.0
              value r19 = %3.1
              value r20 = %2.1
              value r21 = %4.0
            b0: -> b2 b1
              r0 = S2R %(SR_CgaCtaId) ; 7
              r1 = SHF.L.U32 r0, 0x18, RZ ; 7
              r2 = LDC c[0][0x140] ; 0
              p3, PT = ISETP.AND.NE.U32 r2, 0x1, PT ; 0
              @p3 BRA b2 ; 0
            b1: -> b3
              UCGABAR_ARV mem(generic rw ordered) ; 0
              BRA b3 ; 0
            b2: -> b3
            b3: -> b5 b4
              r4 = LDC c[0][0x140] ; 1
              p5, PT = ISETP.AND.NE.U32 r4, 0x1, PT ; 1
              @p5 BRA b5 ; 1
            b4: -> b6
              UCGABAR_WAIT mem(generic rw ordered) ; 1
              CCTL.IVALL mem(generic rw ordered) ; 1
              BRA b6 ; 1
            b5: -> b6
              BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 1
            b6:
              MEMBAR.ALL.GPU mem(generic rw ordered) ; 3
              ERRBAR mem(generic rw ordered) ; 3
              CGAERRBAR mem(generic rw ordered) ; 3
              MEMBAR.ALL.CTA mem(generic rw ordered) ; 4
              FENCE.ASYNC.S.VIEW mem(generic rw ordered) ; 4
              r6 = LDC c[0][0x18c] ; 6
              r7 = LOP3.LUT r6, 0x1, RZ, #192, !PT ; 6
              p8, PT = ISETP.AND.NE.U32 r7, RZ, PT ; 6
              @p8 MEMBAR.GPU.SC mem(generic rw ordered) ; 6
              @!p8 MEMBAR.SC.SYS mem(generic rw ordered) ; 6
              CCTL.IVALL mem(generic rw ordered) ; 6
              r9 = MOV low(s0) ; 7
              r10 = IADD3 r1, r9, RZ ; 7
              r11 = Copy RZ ; 7
              r13 = PRMT r12, 0x654, r10 ; 7
              r14 = Copy r13 ; 7
              r15 = MOV 0x3 ; 8
              r17 = PRMT r15, 0x654, r16 ; 8
              r18 = Copy r17 ; 8
              r20 = Copy r19 ; 8
              r21 = SHF.HI.R.U32 RZ, 0x18, r14 ; 9
              EXIT ; 10
        "#]],
    );
}

#[test]
fn bulk_copies() {
    check(
        "cp.async.bulk.global.shared::cta.bulk_group [%d1+16], [%r1], 64;
         @%p1 cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%d1], [sv], %r2, %d2;
         cp.async.bulk.prefetch.L2.global [%d1], 256;
         cp.async.bulk.commit_group;
         cp.async.bulk.wait_group.read 1;
         cp.async.bulk.wait_group 0;",
        expect![[r#"
            kernel params=20 barriers=0
              symbol s0 shared "sv"
              value r4 = %0.0
              value r5 = %0.1
              value r10 = %1.0
              value p13 = %2.0
              value r17 = %3.0
              value r24 = %4.0
              value r26 = %4.1
            b0: -> b1
              r0 = S2R %(SR_CgaCtaId) ; 1
              r1 = SHF.L.U32 r0, 0x18, RZ ; 1
              r2 = MOV 0x10 ; 0
              r3 = Copy RZ ; 0
              {r6 r7} = Add64 {r4 r5}, {r2 r3} ; 0
            b1: -> b2
              u8 = Copy r6 ; 0
              u9 = Copy r7 ; 0
              u11 = Copy r10 ; 0
              u12 = UMOV 0x4 ; 0
              UBLKCP.G.S_2 [^{u8 u9}], [^u11], u12 mem(generic rw ordered) ; 0
            b2: -> b6 b3
              @!p13 BRA b6 ; 1
            b3: -> b4
              r14 = MOV low(s0) ; 1
              r15 = IADD3 r1, r14, RZ ; 1
              r16 = Copy RZ ; 1
              r18 = SHF.HI.R.U32 RZ, 0x4, r17 ; 1
              r19 = LOP3.LUT r18, 0xffff, RZ, #192, !PT ; 1
            b4: -> b5
              u20 = Copy r4 ; 1
              u21 = Copy r5 ; 1
              u22 = Copy r15 ; 1
              u23 = Copy r19 ; 1
              u25 = Copy r24 ; 1
              u27 = Copy r26 ; 1
              UBLKCP.G.S_2 [^{u20 u21}], [^u22], u23, desc{u25 u27}[0x0] mem(generic rw ordered) ; 1
            b5: -> b6
            b6: -> b7
            b7: -> b8
              u28 = Copy r4 ; 2
              u29 = Copy r5 ; 2
              u30 = UMOV 0x10 ; 2
              UBLKPF.L2 [^{u28 u29}], u30 mem(generic rw ordered) ; 2
            b8:
              UTMACMDFLUSH mem(generic rw ordered) ; 3
              DEPBAR.LE SB0, #1 mem(generic rw ordered) ; 4
              DEPBAR.LE SB0, #0 mem(generic rw ordered) ; 5
              CCTL.IVALL mem(generic rw ordered) ; 5
              EXIT ; 6
        "#]],
    );
}

#[test]
fn lanes_take_turns_unless_one_is_elected() {
    check(
        "mov.u32 %r4, 0;
         elect.sync _|%p1, 0xffffffff;
         @%p1 mov.u32 %r4, 1;
         setp.ne.u32 %p2, %r4, 0;
         @!%p2 bra done;
         cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%d1], [%r1], 64;
         done:
         cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s64 [%d1], [%r1], 64;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %0.0
              value p1 = %1.0
              value p2 = %2.0
              value r3 = %3.0
              value r5 = %3.1
              value r7 = %4.0
            b0: -> b4 b1
              r0 = Copy RZ ; 0
              WARPSYNC.ALL ; 1
              p1, URZ = ELECT PT ; 1
              @p1 r0 = MOV 0x1 ; 2
              p2, PT = ISETP.AND.NE.U32 r0, RZ, PT ; 3
              @!p2 BRA b4 ; 4
            b1: -> b2
            b2: -> b3
              u4 = Copy r3 ; 5
              u6 = Copy r5 ; 5
              u8 = Copy r7 ; 5
              u9 = UMOV 0x4 ; 5
              UBLKRED.ADD.BF16.G.RN.S_2 [^{u4 u6}], [^u8], u9 mem(generic rw ordered) ; 5
            b3: -> b4
            b4: -> b5
              p10 = Copy PT ; 6
            b5: -> b7 b6
              p11 = Copy !PT ; 6
              @p10 p11, URZ = ELECT PT ; 6
              @!p11 BRA b7 ; 6
            b6: -> b7
              u12 = Copy r3 ; 6
              u13 = Copy r5 ; 6
              u14 = Copy r7 ; 6
              u15 = UMOV 0x4 ; 6
              UBLKRED.G.MIN.S64.S_2 [^{u12 u13}], [^u14], u15 mem(generic rw ordered) ; 6
            b7: -> b5 b8
              p16, PT = PLOP3.LUT p10, !p11, PT, #128, #0 ; 6
              p10 = Copy p16 ; 6
              RZ, p17 = VOTE.ANY p16 ; 6
              @p17 BRA b5 ; 6
            b8:
              EXIT ; 7
        "#]],
    );
}

/// An election in another block counts where the whole warp has held it together: no lane has its outcome from another time.
#[test]
fn an_election_counts_behind_its_block() {
    let looped = |before: &str, zero: &str, after: &str| {
        let text = format!(
            ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 p1) {{\n\
             .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<9>;\n\
             ld.param.u32 %r1, [p1]; mov.u32 %r2, %tid.x; mov.u32 %r3, {zero};\n{before}\n\
             mov.u32 %r4, %r3; elect.sync _|%p1, 0xffffffff; @%p1 mov.u32 %r4, 1;\n\
             setp.ne.u32 %p2, %r4, 0; setp.eq.u32 %p3, %r1, 0; @%p3 bra over; add.u32 %r5, %r1, 1;\n\
             over: @!%p2 bra done;\n\
             cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%d1], [%r5], 64;\n\
             {after} done: ret;\n}}"
        );
        lowered(&text).matches("ELECT").count()
    };
    let elections = |before: &str, zero: &str| looped(before, zero, "");
    assert_eq!(elections("", "0"), 1);
    assert_eq!(elections("", "1"), 2, "all lanes have a one");
    let part_of_the_warp = "setp.eq.u32 %p4, %r2, 5; @%p4 bra done;";
    assert_eq!(elections(part_of_the_warp, "0"), 1, "those that end are no part");
    let rounds = "again: setp.lt.u32 %p4, %r2, 5; @%p4 bra done; add.u32 %r2, %r2, %r1;";
    assert_eq!(elections(&format!("{rounds} setp.lt.u32 %p5, %r2, 9; @%p5 bra over;"), "0"), 2);
    let leaves = "again: add.u32 %r2, %r2, %r1; setp.lt.u32 %p4, %r2, 5; @%p4 bra done;";
    let again = "setp.lt.u32 %p6, %r2, 90; @%p6 bra again;";
    assert_eq!(
        looped(leaves, "0", again),
        1,
        "lanes leave at times of their own, but all that are left wait for each other"
    );
}

#[test]
fn boxes_of_tensors() {
    check(
        "elect.sync _|%p1, 0xffffffff;
         @!%p1 bra done;
         prefetch.tensormap [%d1];
         cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d1, {%r1, 7}], [sv];
         cp.reduce.async.bulk.tensor.3d.global.shared::cta.inc.im2col_no_offs.bulk_group [%d1, {%r1, %r2, 1}], [%r3];
         cp.async.bulk.prefetch.tensor.5d.L2.global.im2col [%d1, {%r1, %r2, 1, 2, 3}], {%h1, 2, 3};
         done:",
        expect![[r#"
            kernel params=20 barriers=0
              symbol s0 shared "sv"
              value p2 = %0.0
              value r3 = %1.0
              value r5 = %1.1
              value r11 = %2.0
              value r16 = %4.0
              value r19 = %3.0
              value r24 = %5.0
            b0: -> b10 b1
              r0 = S2R %(SR_CgaCtaId) ; 3
              r1 = SHF.L.U32 r0, 0x18, RZ ; 3
              WARPSYNC.ALL ; 0
              p2, URZ = ELECT PT ; 0
              @!p2 BRA b10 ; 1
            b1: -> b2
            b2: -> b3
              u4 = Copy r3 ; 2
              u6 = Copy r5 ; 2
              UTMACCTL.PF [^{u4 u6}] mem(generic rw ordered) ; 2
            b3: -> b4
              r7 = MOV low(s0) ; 3
              r8 = IADD3 r1, r7, RZ ; 3
              r9 = Copy RZ ; 3
            b4: -> b5
              u10 = Copy r8 ; 3
              u12 = Copy r11 ; 3
              u13 = UMOV 0x7 ; 3
              u14 = Copy r3 ; 3
              u15 = Copy r5 ; 3
              UTMASTG.2D [^{u10 u12 u13}], [^{u14 u15}] mem(generic rw ordered) ; 3
            b5: -> b6
            b6: -> b7
              u17 = Copy r16 ; 4
              u18 = Copy r11 ; 4
              u20 = Copy r19 ; 4
              u21 = UMOV 0x1 ; 4
              u22 = Copy r3 ; 4
              u23 = Copy r5 ; 4
              UTMAREDG.3D.IM2COL.INC [^{u17 u18 u20 u21}], [^{u22 u23}] mem(generic rw ordered) ; 4
            b7: -> b8
              r25 = PRMT r24, 0x7710, RZ ; 5
              r26 = LOP3.LUT r25, 0x1f, RZ, #192, !PT ; 5
              r27 = LOP3.LUT r26, 0x40, RZ, #252, !PT ; 5
              r28 = LOP3.LUT r27, 0xc00, RZ, #252, !PT ; 5
            b8: -> b9
              u29 = Copy r11 ; 5
              u30 = Copy r19 ; 5
              u31 = UMOV 0x1 ; 5
              u32 = UMOV 0x2 ; 5
              u33 = UMOV 0x3 ; 5
              u34 = Copy r3 ; 5
              u35 = Copy r5 ; 5
              u36 = Copy r28 ; 5
              UTMAPF.5D.IM2COL.L2 [^{u29 u30 u31 u32 u33}], [^{u34 u35}], u36 mem(generic rw ordered) ; 5
            b9: -> b10
            b10:
              EXIT ; 6
        "#]],
    );
}

#[test]
fn fields_of_tensor_maps() {
    check(
        "tensormap.replace.tile.global_address.global.b1024.b64 [%d1], %d2;
         tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r1], 2, %r2;
         tensormap.replace.tile.global_stride.b1024.b64 [%d1], 1, %d2;
         tensormap.replace.tile.elemtype.global.b1024.b32 [%d1], 11;
         tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.sys.sync.aligned [%d1], [%r1], 128;",
        expect![[r#"
            kernel params=20 barriers=0
              value r2 = %0.0
              value r3 = %0.1
              value r4 = %1.0
              value r5 = %1.1
              value r6 = %3.0
              value r9 = %2.0
            b0:
              {u0 u1} = ULDC.64 c[0][0x208] ; 0
              STG.64.E desc{u0 u1}[{r2 r3}].64, {r4 r5} mem(global w) ; 0
              r7 = IADD3 r6, 0xffffffff, RZ ; 1
              r8 = SHF.L.U32 r7, 0x8, RZ ; 1
              r10 = LDS [r9+0x38] mem(shared r) ; 1
              r11 = LOP3.LUT r10, 0xff00, r8, #184, !PT ; 1
              STS [r9+0x38], r11 mem(shared w) ; 1
              r12 = SHF.R.U64 r4, 0x4, r5 ; 2
              r13 = SHF.HI.R.U32 RZ, 0x4, r5 ; 2
              ST.E desc{u0 u1}[{r2 r3}+0x10].64, r12 mem(generic w) ; 2
              r14 = SHF.L.U32 r13, 0x4, RZ ; 2
              r15 = LD.E desc{u0 u1}[{r2 r3}+0x1c].64 mem(generic r) ; 2
              r16 = LOP3.LUT r15, 0xf0, r14, #184, !PT ; 2
              ST.E desc{u0 u1}[{r2 r3}+0x1c].64, r16 mem(generic w) ; 2
              r17 = MOV 0x10380 ; 3
              r18 = LDG.E desc{u0 u1}[{r2 r3}+0x8].64 mem(global r) ; 3
              r19 = LOP3.LUT r18, 0x10780, r17, #184, !PT ; 3
              STG.E desc{u0 u1}[{r2 r3}+0x8].64, r19 mem(global w) ; 3
              r20 = S2R %(SR_LANEID) ; 4
              r21 = SHF.L.U32 r20, 0x2, RZ ; 4
              r22 = IADD3 r9, r21, RZ ; 4
              r23 = Copy RZ ; 4
              {r24 r25} = Add64 {r2 r3}, {r21 r23} ; 4
              r26 = LDS [r22] mem(shared r ordered) ; 4
              PT, RZ = ATOMG.E.EXCH.STRONG.SYS desc{u0 u1}[{r24 r25}].64, r26 mem(global rw ordered) ; 4
              EXIT ; 5
        "#]],
    );
}

#[test]
fn policies_of_the_cache() {
    check(
        "createpolicy.fractional.L2::evict_last.L2::evict_first.b64 %d1, %f1;
         createpolicy.fractional.L2::evict_first.b64 %d2, 0.5;
         createpolicy.cvt.L2.b64 %d3, %d1;
         ld.global.L2::cache_hint.u32 %r1, [%d4], %d1;
         @%p1 st.L2::cache_hint.u32 [%d4], %r1, %d2;
         red.global.add.L2::cache_hint.u32 [%d4], %r1, %d2;
         createpolicy.range.L2::evict_unchanged.b64 %d1, [%d2], %r1, %r2;",
        expect![[r#"
            kernel params=20 barriers=0
              value r2 = %1.0
              value r8 = %0.0
              value r9 = %0.1
              value r10 = %2.0
              value r11 = %2.1
              value r12 = %3.0
              value r13 = %3.1
              value r16 = %5.0
              value r17 = %5.1
              value r18 = %4.0
              value p21 = %6.0
              value r24 = %7.0
            b0:
              {u0 u1} = ULDC.64 c[0][0x208] ; 3
              r3 = FMUL r2, 0x417fd70a ; 0
              r4 = F2I.NTZ.TRUNC.U32 r3 ; 0
              r5 = LOP3.LUT r4, 0xf, RZ, #192, !PT ; 0
              r6 = LOP3.LUT r5, 0x150, RZ, #252, !PT ; 0
              r7 = SHF.L.U32 r6, 0x14, RZ ; 0
              r8 = Copy RZ ; 0
              r9 = Copy r7 ; 0
              r10 = Copy RZ ; 1
              r11 = MOV 0x12700000 ; 1
              r12 = Copy r8 ; 2
              r13 = Copy r9 ; 2
              u14 = Copy r8 ; 3
              u15 = Copy r9 ; 3
              r18 = LDG.E desc{u14 u15}[{r16 r17}].64 mem(global r) ; 3
              u19 = Copy r10 ; 4
              u20 = Copy r11 ; 4
              @p21 ST.E desc{u19 u20}[{r16 r17}].64, r18 mem(generic w) ; 4
              u22 = Copy r10 ; 5
              u23 = Copy r11 ; 5
              REDG.ADD.E.GPU.STRONG desc{u22 u23}[{r16 r17}].64, r18 mem(global rw ordered) ; 5
              r25 = I2FP.F32.U32 r24 ; 6
              r26 = MUFU.LG2 r25 ; 6
              r27 = F2I.CEIL.NTZ.U32 r26 ; 6
              r28 = IADD3 r27, 0xfffffff9, RZ ; 6
              r29 = VIMNMX r28, 0xc, !PT ; 6
              r30 = MOV 0x1 ; 6
              r31 = SHF.L.U32 r30, r29, RZ ; 6
              r32 = IADD3 r18, 0xffffffff, r31 ; 6
              r33 = Copy RZ ; 6
              {r34 r35} = Add64 {r10 r11}, {r32 r33} ; 6
              r36 = SHF.R.U64 r10, r29, r11 ; 6
              r37 = SHF.HI.R.U32 RZ, r29, r11 ; 6
              r38 = SHF.R.U64 r34, r29, r35 ; 6
              r39 = SHF.HI.R.U32 RZ, r29, r35 ; 6
              {r40 r41} = Add64 {r38 r39}, -{r36 r37} ; 6
              r42 = MOV 0x7f ; 6
              r43 = Copy RZ ; 6
              p44 = SetPredicate64.LT.U64 {r40 r41}, {r42 r43} ; 6
              r45 = MOV 0x7f ; 6
              r46 = SEL r40, r45, p44 ; 6
              r47 = IADD3 r29, 0xfffffff4, RZ ; 6
              r48 = MOV 0x180 ; 6
              r49 = LOP3.LUT r48, 0xf, r47, #248, !PT ; 6
              r50 = SHF.L.U32 r49, 0x8, RZ ; 6
              r51 = LOP3.LUT r50, 0x7f, r36, #248, !PT ; 6
              r52 = SHF.L.U32 r51, 0x7, RZ ; 6
              r53 = LOP3.LUT r52, 0x7f, r46, #248, !PT ; 6
              r54 = SHF.L.U32 r53, 0x5, RZ ; 6
              p55, PT = ISETP.AND.EQ.U32 r24, RZ, PT ; 6
              r56 = MOV 0x18000000 ; 6
              r57 = SEL r56, r54, p55 ; 6
              r8 = Copy RZ ; 6
              r9 = Copy r57 ; 6
              EXIT ; 7
        "#]],
    );
}

#[test]
fn copies_that_signal_a_barrier_object() {
    check(
        "elect.sync _|%p1, 0xffffffff;
         @!%p1 bra done;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%d1], %r2, [%r3], %h1;
         cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r4+16], 64, [%r3];
         cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc.u32 [%r1], [%r4], 64, [%r3];
         cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%r1], [%d1, {%r2, 1, 0}], [%r3], {%h1}, %h2, %d2;
         cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2}], [%r3];
         done:",
        expect![[r#"
            kernel params=20 barriers=0
              value p0 = %0.0
              value r1 = %5.0
              value r3 = %3.0
              value r9 = %1.0
              value r11 = %4.0
              value r13 = %2.0
              value r15 = %2.1
              value r18 = %6.0
              value r30 = %7.0
              value r43 = %8.0
              value r45 = %8.1
            b0: -> b12 b1
              WARPSYNC.ALL ; 0
              p0, URZ = ELECT PT ; 0
              @!p0 BRA b12 ; 1
            b1: -> b2
              r2 = PRMT r1, 0x7710, RZ ; 2
              r4 = SHF.HI.R.U32 RZ, 0x4, r3 ; 2
              r5 = LOP3.LUT r4, 0xffff, RZ, #192, !PT ; 2
              r6 = LOP3.LUT r2, 0xffff, RZ, #192, !PT ; 2
              r7 = SHF.L.U32 r6, 0x10, RZ ; 2
              r8 = LOP3.LUT r5, r7, RZ, #252, !PT ; 2
            b2: -> b3
              u10 = Copy r9 ; 2
              u12 = Copy r11 ; 2
              u14 = Copy r13 ; 2
              u16 = Copy r15 ; 2
              u17 = Copy r8 ; 2
              UBLKCP.G_2.MULTICAST.S [^{u10 u12}], [^{u14 u16}], u17 mem(generic rw ordered) ; 2
            b3: -> b4
              r19 = IADD3 r18, 0x10, RZ ; 3
            b4: -> b5
              u20 = Copy r9 ; 3
              u21 = Copy r11 ; 3
              u22 = Copy r19 ; 3
              u23 = UMOV 0x4 ; 3
              UBLKCP.S.S_2 [^{u20 u21}], [^u22], u23 mem(generic rw ordered) ; 3
            b5: -> b6
            b6: -> b7
              u24 = Copy r9 ; 4
              u25 = Copy r11 ; 4
              u26 = Copy r18 ; 4
              u27 = UMOV 0x4 ; 4
              UBLKRED.INC.S.S_2 [^{u24 u25}], [^u26], u27 mem(generic rw ordered) ; 4
            b7: -> b8
              r28 = PRMT r1, 0x7710, RZ ; 5
              r29 = LOP3.LUT r28, 0xffff, RZ, #192, !PT ; 5
              r31 = PRMT r30, 0x7710, RZ ; 5
              r32 = LOP3.LUT r31, 0xffff, RZ, #192, !PT ; 5
              r33 = SHF.L.U32 r32, 0x10, RZ ; 5
              r34 = LOP3.LUT r29, r33, RZ, #252, !PT ; 5
            b8: -> b9
              u35 = Copy r9 ; 5
              u36 = Copy r11 ; 5
              u37 = Copy r3 ; 5
              u38 = UMOV 0x1 ; 5
              u39 = Copy URZ ; 5
              u40 = Copy r13 ; 5
              u41 = Copy r15 ; 5
              u42 = Copy r34 ; 5
              u44 = Copy r43 ; 5
              u46 = Copy r45 ; 5
              UTMALDG.3D.IM2COL.MULTICAST [^{u35 u36 u37 u38 u39}], [^{u40 u41}], u42, desc{u44 u46}[0x0] mem(generic rw ordered) ; 5
            b9: -> b10
            b10: -> b11
              u47 = Copy r9 ; 6
              u48 = Copy r11 ; 6
              u49 = Copy r3 ; 6
              u50 = Copy r13 ; 6
              u51 = Copy r15 ; 6
              UTMALDG.1D [^{u47 u48 u49}], [^{u50 u51}] mem(generic rw ordered) ; 6
            b11: -> b12
            b12:
              EXIT ; 7
        "#]],
    );
}

#[test]
fn products_of_warp_groups() {
    check(
        "wgmma.fence.sync.aligned;
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %d1, %d2, 0, 1, -1, 1, 0;
         wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, %d2, %p1, -1, 1, 1;
         wgmma.commit_group.sync.aligned;
         wgmma.mma_async.sp.sync.aligned.m64n8k64.satfinite.s32.s8.u8 {%r5, %r6, %r7, %r8}, %d1, %d2, %r1, 0, 1;
         wgmma.wait_group.sync.aligned 1;
         wgmma.commit_group.sync.aligned;
         wgmma.mma_async.sp.sync.aligned.m64n8k32.f16.f16.f16 {%r1, %r2}, {%r1, %r2, %r3, 0}, 5, %r4, 1, 1, 1, 1, 0;
         @%p2 wgmma.wait_group.sync.aligned 9;
         fence.proxy.async;
         fence.proxy.async.global;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %4.0
              value r2 = %4.1
              value r4 = %5.0
              value r6 = %5.1
              value r8 = %0.0
              value r9 = %1.0
              value r10 = %2.0
              value r11 = %3.0
              value p12 = %10.0
              value r18 = %6.0
              value r19 = %7.0
              value r20 = %8.0
              value r21 = %9.0
              value r26 = %11.0
              value r27 = %12.0
              value r28 = %13.0
              value r29 = %14.0
              value p35 = %15.0
            b0: -> b2 b1
              WARPGROUP.ARRIVE mem(generic rw ordered) ; 0
              u1 = Copy r0 ; 1
              u3 = Copy r2 ; 1
              u5 = Copy r4 ; 1
              u7 = Copy r6 ; 1
              {r8 r9 r10 r11} = HGMMA.64x8x16.F32 {u1 u3 u5 u7}.negB.tnspA, RZ, !UPT mem(shared r) ; 1
              q13 = VOTEU.ANY p12 ; 2
              u14 = Copy r4 ; 2
              u15 = Copy r6 ; 2
              u16 = Undefined ; 2
              u17 = Undefined ; 2
              {r8 r9 r10 r11} = HGMMA.64x8x16.BF16.F32 -{r18 r19 r20 r21}, {u16 u17 u14 u15}.tnspB, {r8 r9 r10 r11}, q13, %(gsb0) mem(shared r) ; 2
              u22 = Copy r0 ; 4
              u23 = Copy r2 ; 4
              u24 = Copy r4 ; 4
              u25 = Copy r6 ; 4
              {r26 r27 r28 r29} = IGMMA.64x8x64.S8.SAT.SP.U8_2 {u22 u23 u24 u25}, {r26 r27 r28 r29}, UPT, r18, #0 mem(shared r) ; 4
              WARPGROUP.DEPBAR.LE %(gsb0), #1 mem(generic rw ordered) ; 5
              RZ:2 = HGMMA.64x8x16.F16 URZ, RZ, !UPT, %(gsb0) mem(shared r) ; 6
              r30 = Copy RZ ; 7
              u31 = UMOV 0x5 ; 7
              u32 = Copy RZ ; 7
              u33 = Undefined ; 7
              u34 = Undefined ; 7
              {r18 r19} = HGMMA.64x8x32.F16.SP {r18 r19 r20 r30}, {u33 u34 u31 u32}, {r18 r19}, UPT, r21, #1 mem(shared r) ; 7
              @!p35 BRA b2 ; 8
            b1: -> b2
              WARPGROUP.DEPBAR.LE %(gsb0), #7 mem(generic rw ordered) ; 8
            b2:
              MEMBAR.ALL.GPU mem(generic rw ordered) ; 9
              FENCE.ASYNC.S.VIEW mem(generic rw ordered) ; 9
              FENCE.ASYNC.G.VIEW mem(generic rw ordered) ; 10
              EXIT ; 11
        "#]],
    );
}

#[test]
fn writes_that_tell_objects() {
    check(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r1], {%r2, %r3, %r4, %r5}, [%r6];
         st.async.mbarrier::complete_tx::bytes.b64 [%d1+8], %d2, [%r6+16];
         red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32 [%r1], %r2, [sv+8];
         red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u64 [%d1], %d2, [%r6];
         ld.shared::cluster.u32 %r7, [%r1+4];
         red.relaxed.cluster.shared::cluster.add.u32 [%r1], %r2;",
        expect![[r#"
            kernel params=20 barriers=0
              symbol s0 shared "sv"
              value r4 = %0.0
              value r5 = %5.0
              value r6 = %1.0
              value r7 = %2.0
              value r8 = %3.0
              value r9 = %4.0
              value r10 = %6.0
              value r13 = %7.0
              value r14 = %7.1
              value r19 = %8.0
            b0:
              r0 = S2R %(SR_CgaCtaId) ; 2
              r1 = SHF.L.U32 r0, 0x18, RZ ; 2
              {u2 u3} = ULDC.64 c[0][0x208] ; 4
              STAS.128 [{r4 r5}].64, {r6 r7 r8 r9} mem(generic rw ordered) ; 0
              r11 = IADD3 r10, 0x8, RZ ; 1
              r12 = IADD3 r5, 0x10, RZ ; 1
              STAS.64 [{r11 r12}].64, {r13 r14} mem(generic rw ordered) ; 1
              r15 = MOV low(s0+0x8) ; 2
              r16 = IADD3 r1, r15, RZ ; 2
              r17 = Copy RZ ; 2
              REDAS.MIN.S32 [{r4 r16}].64, r6 mem(generic rw ordered) ; 2
              REDAS.64.ADD [{r10 r5}].64, {r13 r14} mem(generic rw ordered) ; 3
              r18 = S2R %(SR_SWINHI) ; 4
              r19 = LD.E desc{u2 u3}[{r4 r18}+0x4].64 mem(generic r) ; 4
              r20 = S2R %(SR_SWINHI) ; 5
              PT, RZ = ATOM.ADD.E.GPU.STRONG desc{u2 u3}[{r4 r20}].64, r6 mem(generic rw ordered) ; 5
              EXIT ; 6
        "#]],
    );
}

#[test]
fn register_counts_that_change() {
    let kernel = |bounds: &str| {
        format!(
            ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k() {bounds} {{\n\
             setmaxnreg.dec.sync.aligned.u32 40;\nsetmaxnreg.inc.sync.aligned.u32 232;\nret;\n}}"
        )
    };
    let text = lowered(&kernel(".maxntid 384, 1, 1 .minnctapersm 1"));
    expect![[r#"
        kernel params=0 barriers=0 registers=168 threads=384
        b0: -> b1
          WARPSYNC.ALL mem(generic rw ordered) ; 0
          USETMAXREG.CTAPOOL.DEALLOC #40 ; 0
        b1: -> b1 b2
          WARPSYNC.ALL mem(generic rw ordered) ; 1
          q0 = USETMAXREG.CTAPOOL.TRY_ALLOC #232 ; 1
          p1, PT = PLOP3.LUT PT, PT, q0, #128, #0 ; 1
          @!p1 BRA b1 ; 1
        b2:
          EXIT ; 2
    "#]]
    .assert_eq(&text);
    // Nobody knows with how many it starts: the number of threads alone does not say it.
    for bounds in ["", ".maxntid 384, 1, 1", ".reqntid 256, 1, 1", ".minnctapersm 1"] {
        let text = lowered(&kernel(bounds));
        assert!(!text.contains("USETMAXREG") && text.contains("EXIT"), "{bounds}: {text}");
    }
    // Nobody starts with more than the most that a part asks for, nor with more than fit.
    for (bounds, registers) in [
        (".maxntid 128, 1, 1 .minnctapersm 1", 232),
        (".reqntid 256, 1, 1 .minnctapersm 2", 128),
        (".maxnreg 64", 64),
        (".maxnreg 240", 232),
    ] {
        let text = lowered(&kernel(bounds));
        let stated = format!("registers={registers}");
        assert!(text.split_whitespace().any(|word| word == stated), "{bounds}: {text}");
    }
}

#[test]
fn sparse_products() {
    check(
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r7, %r8}, {%r1, %r2, %r3, %r4}, %r0, 3;
         mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.satfinite.s32.u8.s8.s32 {%r1, %r2, %r3, %r4}, {%r5, %r6, %r5, %r6}, {%r7, %r8, %r7, %r8}, {%r1, %r2, %r3, %r4}, %r0, 0;
         mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, {%f1, %f2, %f3, %f4}, %r0, 0;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %4.0
              value r1 = %5.0
              value r2 = %6.0
              value r3 = %7.0
              value r4 = %0.0
              value r5 = %1.0
              value r6 = %2.0
              value r7 = %3.0
              value r8 = %8.0
              value r77 = %9.0
              value r78 = %10.0
              value r79 = %11.0
              value r80 = %12.0
            b0:
              {r4 r5 r6 r7} = HMMA.16816.BF16.F32.SP {r0 r1}, {r2 r3}, {r4 r5 r6 r7}, r8, #3 ; 0
              {r4 r5 r6 r7} = IMMA.16864.S8_2.SAT.SP.U8 {r0 r1 r0 r1}.ROW, {r2 r3 r2 r3}.COL, {r4 r5 r6 r7}, r8, #0 ; 1
              r9 = S2R %(SR_LANEID) ; 2
              r10 = SHF.HI.R.U32 RZ, 0x4, r8 ; 2
              r11 = LOP3.LUT r8, 0xf0f0f0f, RZ, #192, !PT ; 2
              r12 = SHF.HI.R.U32 RZ, 0x4, r11 ; 2
              r13 = LOP3.LUT r11, r12, RZ, #252, !PT ; 2
              r14 = LOP3.LUT r10, 0xf0f0f0f, RZ, #192, !PT ; 2
              r15 = SHF.HI.R.U32 RZ, 0x4, r14 ; 2
              r16 = LOP3.LUT r14, r15, RZ, #252, !PT ; 2
              r17 = PRMT r13, 0x6420, r16 ; 2
              r18 = LOP3.LUT r9, 0x1c, RZ, #192, !PT ; 2
              r19 = LOP3.LUT r9, 0x1, RZ, #192, !PT ; 2
              r20 = IMAD r19, 0x2, r18 ; 2
              r21 = IADD3 r20, 0x1, RZ ; 2
              PT, r22 = SHFL.IDX r17, r20, #31 ; 2
              PT, r23 = SHFL.IDX r17, r21, #31 ; 2
              r24 = LOP3.LUT r9, 0x2, RZ, #192, !PT ; 2
              p25, PT = ISETP.AND.NE.U32 r24, RZ, PT ; 2
              r26 = MOV 0x7632 ; 2
              r27 = SEL r26, 0x5410, p25 ; 2
              r28 = PRMT r22, r27, r23 ; 2
              r29 = F2FP.E4M3_2.F16.UNPACK_B r4 ; 2
              r30 = F2FP.E4M3_2.F16.UNPACK_B r5 ; 2
              r31 = F2FP.E4M3_2.F16.UNPACK_B r6 ; 2
              r32 = F2FP.E4M3_2.F16.UNPACK_B r7 ; 2
              r33 = S2R %(SR_LANEID) ; 2
              r34 = LOP3.LUT r33, 0x1, RZ, #192, !PT ; 2
              r35 = SHF.L.U32 r34, 0x4, RZ ; 2
              r36 = LOP3.LUT r33, 0x1e, RZ, #192, !PT ; 2
              PT, r37 = SHFL.IDX r0, r36, #31 ; 2
              r38 = SHF.HI.R.U32 RZ, r35, r37 ; 2
              PT, r39 = SHFL.IDX r1, r36, #31 ; 2
              r40 = SHF.HI.R.U32 RZ, r35, r39 ; 2
              PT, r41 = SHFL.IDX r2, r36, #31 ; 2
              r42 = SHF.HI.R.U32 RZ, r35, r41 ; 2
              PT, r43 = SHFL.IDX r3, r36, #31 ; 2
              r44 = SHF.HI.R.U32 RZ, r35, r43 ; 2
              r45 = F2FP.E5M2_2.F16.UNPACK_B r38 ; 2
              r46 = F2FP.E5M2_2.F16.UNPACK_B r40 ; 2
              r47 = F2FP.E5M2_2.F16.UNPACK_B r42 ; 2
              r48 = F2FP.E5M2_2.F16.UNPACK_B r44 ; 2
              {r49 r50 r51 r52} = HMMA.16832.F32.SP {r29 r30 r31 r32}, {r45 r46 r47 r48}, RZ, r28, #0 ; 2
              r53 = F2FP.E4M3_2.F16.UNPACK_B r4.H1 ; 2
              r54 = F2FP.E4M3_2.F16.UNPACK_B r5.H1 ; 2
              r55 = F2FP.E4M3_2.F16.UNPACK_B r6.H1 ; 2
              r56 = F2FP.E4M3_2.F16.UNPACK_B r7.H1 ; 2
              r57 = S2R %(SR_LANEID) ; 2
              r58 = LOP3.LUT r57, 0x1, RZ, #192, !PT ; 2
              r59 = SHF.L.U32 r58, 0x4, RZ ; 2
              r60 = LOP3.LUT r57, 0x1, RZ, #252, !PT ; 2
              PT, r61 = SHFL.IDX r0, r60, #31 ; 2
              r62 = SHF.HI.R.U32 RZ, r59, r61 ; 2
              PT, r63 = SHFL.IDX r1, r60, #31 ; 2
              r64 = SHF.HI.R.U32 RZ, r59, r63 ; 2
              PT, r65 = SHFL.IDX r2, r60, #31 ; 2
              r66 = SHF.HI.R.U32 RZ, r59, r65 ; 2
              PT, r67 = SHFL.IDX r3, r60, #31 ; 2
              r68 = SHF.HI.R.U32 RZ, r59, r67 ; 2
              r69 = F2FP.E5M2_2.F16.UNPACK_B r62 ; 2
              r70 = F2FP.E5M2_2.F16.UNPACK_B r64 ; 2
              r71 = F2FP.E5M2_2.F16.UNPACK_B r66 ; 2
              r72 = F2FP.E5M2_2.F16.UNPACK_B r68 ; 2
              {r73 r74 r75 r76} = HMMA.16832.F32.SP {r53 r54 r55 r56}, {r69 r70 r71 r72}, {r49 r50 r51 r52}, r28, #1 ; 2
              r77 = FADD r77, r73 ; 2
              r78 = FADD r78, r74 ; 2
              r79 = FADD r79, r75 ; 2
              r80 = FADD r80, r76 ; 2
              EXIT ; 3
        "#]],
    );
}

#[test]
fn fragments_in_memory() {
    check(
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%d1], %r0;
         wmma.load.b.sync.aligned.row.m16n16k16.shared.bf16 {%r5, %r6, %r7, %r8}, [%r0+64];
         wmma.load.a.sync.aligned.col.m8n32k16.shared.s8 {%r3}, [%r0], 16;
         wmma.store.d.sync.aligned.col.m16n16k16.global.f16 [%d1], {%r1, %r2, %r3, %r4};
         wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32 {%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4, %r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8, %r5, %r6, %r7, %r8}, {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8};",
        expect![[r#"
            kernel params=20 barriers=0
              value r6 = %8.0
              value r7 = %8.1
              value r11 = %9.0
              value r16 = %0.0
              value r17 = %1.0
              value r18 = %2.0
              value r19 = %3.0
              value r20 = %4.0
              value r21 = %5.0
              value r22 = %6.0
              value r23 = %7.0
              value r60 = %10.0
              value r61 = %11.0
              value r62 = %12.0
              value r63 = %13.0
              value r68 = %14.0
              value r69 = %15.0
              value r70 = %16.0
              value r71 = %17.0
            b0:
              {u0 u1} = ULDC.64 c[0][0x208] ; 0
              r2 = S2R %(SR_LANEID) ; 0
              r3 = SHF.HI.R.U32 RZ, 0x2, r2 ; 0
              r4 = LOP3.LUT r2, 0x3, RZ, #192, !PT ; 0
              r5 = IMAD r4, 0x4, RZ ; 0
              {r8 r9} = IMAD.U32.WIDE r5, 0x1, {r6 r7} ; 0
              r10 = SHF.L.U32 r3, 0x1, RZ ; 0
              {r12 r13} = IMAD.U32.WIDE r11, r10, {r8 r9} ; 0
              {r14 r15} = IMAD.U32.WIDE r11, 0x10, {r12 r13} ; 0
              r16 = LDG.E desc{u0 u1}[{r12 r13}].64 mem(global r) ; 0
              r17 = LDG.E desc{u0 u1}[{r14 r15}].64 mem(global r) ; 0
              r18 = LDG.E desc{u0 u1}[{r12 r13}+0x10].64 mem(global r) ; 0
              r19 = LDG.E desc{u0 u1}[{r14 r15}+0x10].64 mem(global r) ; 0
              r20 = Copy r16 ; 0
              r21 = Copy r17 ; 0
              r22 = Copy r18 ; 0
              r23 = Copy r19 ; 0
              r24 = S2R %(SR_LANEID) ; 1
              r25 = LOP3.LUT r24, 0x7, RZ, #192, !PT ; 1
              r26 = Copy RZ ; 1
              r27 = SHF.HI.R.U32 RZ, 0x3, r24 ; 1
              r28 = LOP3.LUT r27, 0x1, RZ, #192, !PT ; 1
              r29 = IMAD r28, 0x8, r25 ; 1
              r30 = SHF.HI.R.U32 RZ, 0x4, r24 ; 1
              r31 = LOP3.LUT r30, 0x1, RZ, #192, !PT ; 1
              r32 = IMAD r31, 0x10, r26 ; 1
              r33 = IMAD r32, 0x1, r11 ; 1
              r34 = IMAD r29, 0x20, r33 ; 1
              {r20 r21 r22 r23} = LDSM.16.4.MT88 [r34+0x40] mem(shared r) ; 1
              r35 = S2R %(SR_LANEID) ; 2
              r36 = SHF.HI.R.U32 RZ, 0x2, r35 ; 2
              r37 = LOP3.LUT r35, 0x3, RZ, #192, !PT ; 2
              r38 = IMAD r37, 0x4, RZ ; 2
              r39 = IMAD r36, 0x1, RZ ; 2
              r40 = IMAD r39, 0x1, r11 ; 2
              r41 = IMAD r38, 0x10, r40 ; 2
              r42 = LDS.U8 [r41] mem(shared r) ; 2
              r43 = LDS.U8 [r41+0x10] mem(shared r) ; 2
              r44 = LDS.U8 [r41+0x20] mem(shared r) ; 2
              r45 = LDS.U8 [r41+0x30] mem(shared r) ; 2
              r46 = IMAD r43, 0x100, r42 ; 2
              r47 = IMAD r45, 0x100, r44 ; 2
              r18 = PRMT r46, 0x5410, r47 ; 2
              r48 = MOVM.16.MT88 r16 ; 3
              r49 = MOVM.16.MT88 r17 ; 3
              r50 = MOVM.16.MT88 r18 ; 3
              r51 = MOVM.16.MT88 r19 ; 3
              r52 = S2R %(SR_LANEID) ; 3
              r53 = SHF.HI.R.U32 RZ, 0x2, r52 ; 3
              r54 = LOP3.LUT r52, 0x3, RZ, #192, !PT ; 3
              r55 = IMAD r54, 0x4, RZ ; 3
              {r56 r57} = IMAD.U32.WIDE r55, 0x1, {r6 r7} ; 3
              {r58 r59} = IMAD.U32.WIDE r53, 0x20, {r56 r57} ; 3
              STG.E desc{u0 u1}[{r58 r59}].64, r48 mem(global w) ; 3
              STG.E desc{u0 u1}[{r58 r59}+0x10].64, r49 mem(global w) ; 3
              STG.E desc{u0 u1}[{r58 r59}+0x100].64, r50 mem(global w) ; 3
              STG.E desc{u0 u1}[{r58 r59}+0x110].64, r51 mem(global w) ; 3
              {r64 r65 r66 r67} = HMMA.16816.F32 {r16 r17 r18 r19}, {r20 r21}, {r60 r61 r62 r63} ; 4
              {r72 r73 r74 r75} = HMMA.16816.F32 {r16 r17 r18 r19}, {r22 r23}, {r68 r69 r70 r71} ; 4
              r76 = F2FP.F16.F32.PACK_AB r65, r64 ; 4
              r77 = F2FP.F16.F32.PACK_AB r67, r66 ; 4
              r78 = F2FP.F16.F32.PACK_AB r73, r72 ; 4
              r79 = F2FP.F16.F32.PACK_AB r75, r74 ; 4
              r16 = Copy r76 ; 4
              r17 = Copy r77 ; 4
              r18 = Copy r78 ; 4
              r19 = Copy r79 ; 4
              EXIT ; 5
        "#]],
    );
}

#[test]
fn products_of_quarters_of_a_warp() {
    check(
        "mma.sync.aligned.m8n8k4.row.row.f16.f16.f16.f16 {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r7, %r8}, {%r1, %r2, %r3, %r4};",
        expect![[r#"
            kernel params=20 barriers=0
              value r3 = %6.0
              value r4 = %7.0
              value r24 = %0.0
              value r27 = %1.0
              value r30 = %2.0
              value r33 = %3.0
              value r37 = %4.0
              value r40 = %5.0
            b0:
              r0 = S2R %(SR_LANEID) ; 0
              r1 = LOP3.LUT r0, 0x2, RZ, #192, !PT ; 0
              p2, PT = ISETP.AND.NE.U32 r1, RZ, PT ; 0
              r5 = SEL r3, r4, p2 ; 0
              PT, r6 = SHFL.BFLY r5, #2, #31 ; 0
              r7 = SEL r6, r3, p2 ; 0
              r8 = SEL r4, r6, p2 ; 0
              r9 = LOP3.LUT r0, 0x1, RZ, #192, !PT ; 0
              p10, PT = ISETP.AND.NE.U32 r9, RZ, PT ; 0
              r11 = MOV 0x7632 ; 0
              r12 = SEL r11, 0x5410, p10 ; 0
              r13 = MOV 0x5410 ; 0
              r14 = SEL r13, 0x7632, p10 ; 0
              r15 = PRMT r7, r12, r8 ; 0
              r16 = PRMT r7, r14, r8 ; 0
              PT, r17 = SHFL.BFLY r16, #1, #31 ; 0
              r18 = MOV 0x1054 ; 0
              r19 = SEL r18, 0x5410, p10 ; 0
              r20 = PRMT r15, r19, r17 ; 0
              r21 = MOV 0x3276 ; 0
              r22 = SEL r21, 0x7632, p10 ; 0
              r23 = PRMT r15, r22, r17 ; 0
              r25 = HADD2.F32 -RZ, r24.H0_H0 ; 0
              r26 = HADD2.F32 -RZ, r24.H1_H1 ; 0
              r28 = HADD2.F32 -RZ, r27.H0_H0 ; 0
              r29 = HADD2.F32 -RZ, r27.H1_H1 ; 0
              r31 = HADD2.F32 -RZ, r30.H0_H0 ; 0
              r32 = HADD2.F32 -RZ, r30.H1_H1 ; 0
              r34 = HADD2.F32 -RZ, r33.H0_H0 ; 0
              r35 = HADD2.F32 -RZ, r33.H1_H1 ; 0
              r36 = S2R %(SR_LANEID) ; 0
              r38 = HADD2.F32 -RZ, r37.H0_H0 ; 0
              r39 = HADD2.F32 -RZ, r37.H1_H1 ; 0
              r41 = HADD2.F32 -RZ, r40.H0_H0 ; 0
              r42 = HADD2.F32 -RZ, r40.H1_H1 ; 0
              r43 = LOP3.LUT r36, 0xc, RZ, #192, !PT ; 0
              r44 = IADD3 r43, 0x0, RZ ; 0
              PT, r45 = SHFL.IDX r20, r44, #31 ; 0
              PT, r46 = SHFL.IDX r23, r44, #31 ; 0
              r47 = HADD2.F32 -RZ, r45.H0_H0 ; 0
              r48 = HADD2.F32 -RZ, r45.H1_H1 ; 0
              r49 = HADD2.F32 -RZ, r46.H0_H0 ; 0
              r50 = HADD2.F32 -RZ, r46.H1_H1 ; 0
              r51 = FMUL r41, r49 ; 0
              r52 = FFMA r42, r50, r51 ; 0
              r53 = FADD r25, r52 ; 0
              r54 = FMUL r38, r47 ; 0
              r55 = FFMA r39, r48, r54 ; 0
              r56 = FADD r53, r55 ; 0
              r57 = LOP3.LUT r36, 0xc, RZ, #192, !PT ; 0
              r58 = IADD3 r57, 0x1, RZ ; 0
              PT, r59 = SHFL.IDX r20, r58, #31 ; 0
              PT, r60 = SHFL.IDX r23, r58, #31 ; 0
              r61 = HADD2.F32 -RZ, r59.H0_H0 ; 0
              r62 = HADD2.F32 -RZ, r59.H1_H1 ; 0
              r63 = HADD2.F32 -RZ, r60.H0_H0 ; 0
              r64 = HADD2.F32 -RZ, r60.H1_H1 ; 0
              r65 = FMUL r41, r63 ; 0
              r66 = FFMA r42, r64, r65 ; 0
              r67 = FADD r26, r66 ; 0
              r68 = FMUL r38, r61 ; 0
              r69 = FFMA r39, r62, r68 ; 0
              r70 = FADD r67, r69 ; 0
              r71 = LOP3.LUT r36, 0xc, RZ, #192, !PT ; 0
              r72 = IADD3 r71, 0x2, RZ ; 0
              PT, r73 = SHFL.IDX r20, r72, #31 ; 0
              PT, r74 = SHFL.IDX r23, r72, #31 ; 0
              r75 = HADD2.F32 -RZ, r73.H0_H0 ; 0
              r76 = HADD2.F32 -RZ, r73.H1_H1 ; 0
              r77 = HADD2.F32 -RZ, r74.H0_H0 ; 0
              r78 = HADD2.F32 -RZ, r74.H1_H1 ; 0
              r79 = FMUL r41, r77 ; 0
              r80 = FFMA r42, r78, r79 ; 0
              r81 = FADD r28, r80 ; 0
              r82 = FMUL r38, r75 ; 0
              r83 = FFMA r39, r76, r82 ; 0
              r84 = FADD r81, r83 ; 0
              r85 = LOP3.LUT r36, 0xc, RZ, #192, !PT ; 0
              r86 = IADD3 r85, 0x3, RZ ; 0
              PT, r87 = SHFL.IDX r20, r86, #31 ; 0
              PT, r88 = SHFL.IDX r23, r86, #31 ; 0
              r89 = HADD2.F32 -RZ, r87.H0_H0 ; 0
              r90 = HADD2.F32 -RZ, r87.H1_H1 ; 0
              r91 = HADD2.F32 -RZ, r88.H0_H0 ; 0
              r92 = HADD2.F32 -RZ, r88.H1_H1 ; 0
              r93 = FMUL r41, r91 ; 0
              r94 = FFMA r42, r92, r93 ; 0
              r95 = FADD r29, r94 ; 0
              r96 = FMUL r38, r89 ; 0
              r97 = FFMA r39, r90, r96 ; 0
              r98 = FADD r95, r97 ; 0
              r99 = LOP3.LUT r36, 0xc, RZ, #192, !PT ; 0
              r100 = IADD3 r99, 0x10, RZ ; 0
              PT, r101 = SHFL.IDX r20, r100, #31 ; 0
              PT, r102 = SHFL.IDX r23, r100, #31 ; 0
              r103 = HADD2.F32 -RZ, r101.H0_H0 ; 0
              r104 = HADD2.F32 -RZ, r101.H1_H1 ; 0
              r105 = HADD2.F32 -RZ, r102.H0_H0 ; 0
              r106 = HADD2.F32 -RZ, r102.H1_H1 ; 0
              r107 = FMUL r41, r105 ; 0
              r108 = FFMA r42, r106, r107 ; 0
              r109 = FADD r31, r108 ; 0
              r110 = FMUL r38, r103 ; 0
              r111 = FFMA r39, r104, r110 ; 0
              r112 = FADD r109, r111 ; 0
              r113 = LOP3.LUT r36, 0xc, RZ, #192, !PT ; 0
              r114 = IADD3 r113, 0x11, RZ ; 0
              PT, r115 = SHFL.IDX r20, r114, #31 ; 0
              PT, r116 = SHFL.IDX r23, r114, #31 ; 0
              r117 = HADD2.F32 -RZ, r115.H0_H0 ; 0
              r118 = HADD2.F32 -RZ, r115.H1_H1 ; 0
              r119 = HADD2.F32 -RZ, r116.H0_H0 ; 0
              r120 = HADD2.F32 -RZ, r116.H1_H1 ; 0
              r121 = FMUL r41, r119 ; 0
              r122 = FFMA r42, r120, r121 ; 0
              r123 = FADD r32, r122 ; 0
              r124 = FMUL r38, r117 ; 0
              r125 = FFMA r39, r118, r124 ; 0
              r126 = FADD r123, r125 ; 0
              r127 = LOP3.LUT r36, 0xc, RZ, #192, !PT ; 0
              r128 = IADD3 r127, 0x12, RZ ; 0
              PT, r129 = SHFL.IDX r20, r128, #31 ; 0
              PT, r130 = SHFL.IDX r23, r128, #31 ; 0
              r131 = HADD2.F32 -RZ, r129.H0_H0 ; 0
              r132 = HADD2.F32 -RZ, r129.H1_H1 ; 0
              r133 = HADD2.F32 -RZ, r130.H0_H0 ; 0
              r134 = HADD2.F32 -RZ, r130.H1_H1 ; 0
              r135 = FMUL r41, r133 ; 0
              r136 = FFMA r42, r134, r135 ; 0
              r137 = FADD r34, r136 ; 0
              r138 = FMUL r38, r131 ; 0
              r139 = FFMA r39, r132, r138 ; 0
              r140 = FADD r137, r139 ; 0
              r141 = LOP3.LUT r36, 0xc, RZ, #192, !PT ; 0
              r142 = IADD3 r141, 0x13, RZ ; 0
              PT, r143 = SHFL.IDX r20, r142, #31 ; 0
              PT, r144 = SHFL.IDX r23, r142, #31 ; 0
              r145 = HADD2.F32 -RZ, r143.H0_H0 ; 0
              r146 = HADD2.F32 -RZ, r143.H1_H1 ; 0
              r147 = HADD2.F32 -RZ, r144.H0_H0 ; 0
              r148 = HADD2.F32 -RZ, r144.H1_H1 ; 0
              r149 = FMUL r41, r147 ; 0
              r150 = FFMA r42, r148, r149 ; 0
              r151 = FADD r35, r150 ; 0
              r152 = FMUL r38, r145 ; 0
              r153 = FFMA r39, r146, r152 ; 0
              r154 = FADD r151, r153 ; 0
              r155 = F2FP.F16.F32.PACK_AB r70, r56 ; 0
              r156 = F2FP.F16.F32.PACK_AB r98, r84 ; 0
              r157 = F2FP.F16.F32.PACK_AB r126, r112 ; 0
              r158 = F2FP.F16.F32.PACK_AB r154, r140 ; 0
              r24 = Copy r155 ; 0
              r27 = Copy r156 ; 0
              r30 = Copy r157 ; 0
              r33 = Copy r158 ; 0
              EXIT ; 1
        "#]],
    );
}

#[test]
fn vectors_in_one_step_and_copies() {
    check(
        "atom.global.add.noftz.v4.f16 {%h1, %h2, %h3, %h4}, [%d1], {%h5, %h6, %h7, %h8};
         red.release.gpu.global.max.noftz.v2.bf16x2 [%d1], {%r1, %r2};
         multimem.ld_reduce.acquire.sys.global.add.acc::f32.v2.f16x2 {%r1, %r2}, [%d1+8];
         multimem.red.relaxed.cta.add.f32 [%d1], %f1;
         multimem.st.weak.v2.f32 [%d1], {%f1, %f2};
         ld.mmio.relaxed.sys.global.u32 %r1, [%d1];",
        expect![[r#"
            kernel params=20 barriers=0
              value r2 = %5.0
              value r3 = %6.0
              value r5 = %7.0
              value r6 = %8.0
              value r8 = %4.0
              value r9 = %4.1
              value r16 = %0.0
              value r17 = %1.0
              value r18 = %2.0
              value r19 = %3.0
              value r20 = %9.0
              value r21 = %10.0
              value r22 = %11.0
              value r23 = %12.0
            b0:
              {u0 u1} = ULDC.64 c[0][0x208] ; 0
              r4 = PRMT r2, 0x5410, r3 ; 0
              r7 = PRMT r5, 0x5410, r6 ; 0
              PT, {r10 r11} = ATOMG.ADD.E.F16x4.GPU.RN.STRONG desc{u0 u1}[{r8 r9}].64, {r4 r7} mem(global rw ordered) ; 0
              r12 = PRMT r10, 0x7710, RZ ; 0
              r13 = PRMT r10, 0x7732, RZ ; 0
              r14 = PRMT r11, 0x7710, RZ ; 0
              r15 = PRMT r11, 0x7732, RZ ; 0
              r16 = Copy r12 ; 0
              r17 = Copy r13 ; 0
              r18 = Copy r14 ; 0
              r19 = Copy r15 ; 0
              MEMBAR.ALL.GPU mem(generic rw ordered) ; 1
              ERRBAR mem(generic rw ordered) ; 1
              CGAERRBAR mem(generic rw ordered) ; 1
              REDG.BF16x4.E.GPU.MAX.RN.STRONG desc{u0 u1}[{r8 r9}].64, {r20 r21} mem(global rw ordered) ; 1
              {r20 r21} = LDGMC.E.F16x4.F32ADD.RN.STRONG.SYS [{r8 r9}+0x8].64 mem(global r ordered) ; 2
              CCTL.IVALL mem(generic rw ordered) ; 2
              REDG.ADD.E.F32.FTZ.RN.SM.STRONG desc{u0 u1}[{r8 r9}].64, r22 mem(global rw ordered) ; 3
              ST.64.E desc{u0 u1}[{r8 r9}].64, {r22 r23} mem(generic w) ; 4
              r20 = LDG.E.MMIO.SYS desc{u0 u1}[{r8 r9}].64 mem(global r ordered) ; 5
              EXIT ; 6
        "#]],
    );
}

#[test]
fn rare_roundings_and_carries() {
    check(
        "fma.rm.relu.bf16 %h1, %h2, %h3, %h4;
         fma.rz.bf16x2 %r1, %r2, %r3, %r4;
         madc.hi.sat.s32 %r1, %r2, %r3, %r4;
         subc.u16 %h1, %h2, %h3;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %1.0
              value r2 = %2.0
              value r4 = %3.0
              value r13 = %0.0
              value r14 = %5.0
              value r16 = %6.0
              value r18 = %7.0
              value r28 = %4.0
            b0:
              r1 = SHF.L.U32 r0, 0x10, RZ ; 0
              r3 = SHF.L.U32 r2, 0x10, RZ ; 0
              r5 = SHF.L.U32 r4, 0x10, RZ ; 0
              r6 = FFMA.RM r1, r3, r5 ; 0
              r7 = FMNMX.NAN r6, RZ, !PT ; 0
              p8, PT = FSETP.AND.LT r7, RZ, PT ; 0
              r9 = MOV 0xffff ; 0
              r10 = SEL r9, 0x0, p8 ; 0
              r11 = IADD3 r7, r10, RZ ; 0
              r12 = SHF.HI.R.U32 RZ, 0x10, r11 ; 0
              r13 = Copy r12 ; 0
              r15 = SHF.L.U32 r14, 0x10, RZ ; 1
              r17 = SHF.L.U32 r16, 0x10, RZ ; 1
              r19 = SHF.L.U32 r18, 0x10, RZ ; 1
              r20 = FFMA.RZ r15, r17, r19 ; 1
              r21 = SHF.HI.R.U32 RZ, 0x10, r20 ; 1
              r22 = LOP3.LUT r14, 0xffff0000, RZ, #192, !PT ; 1
              r23 = LOP3.LUT r16, 0xffff0000, RZ, #192, !PT ; 1
              r24 = LOP3.LUT r18, 0xffff0000, RZ, #192, !PT ; 1
              r25 = FFMA.RZ r22, r23, r24 ; 1
              r26 = SHF.HI.R.U32 RZ, 0x10, r25 ; 1
              r27 = PRMT r21, 0x5410, r26 ; 1
              r28 = Copy r27 ; 1
              r29 = IMAD.HI r14, r16, RZ ; 2
              r31 = IADD3.X r29, r18, RZ, p30, !PT ; 2
              r32 = LOP3.LUT r31, r29, r18, #24, !PT ; 2
              p33, PT = ISETP.AND.LT r32, RZ, PT ; 2
              r34 = SHF.HI.R.S32 RZ, 0x1f, r29 ; 2
              r35 = LOP3.LUT r34, 0x7fffffff, RZ, #60, !PT ; 2
              r28 = SEL r35, r31, p33 ; 2
              r13 = IADD3.X r0, !r2, RZ, p30, !PT ; 3
              EXIT ; 4
        "#]],
    );
}

#[test]
fn parts_of_words() {
    check(
        "vadd.s32.u32.s32.sat %r1.h1, %r2.b3, %r3.h0, %r4;
         vmad.u32.s32.s32.shr7 %r1, -%r2.h1, %r3, %r4;
         vset4.u32.u32.lt %r1.b20, %r2.b7531, %r3, %r4;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %1.0
              value r3 = %2.0
              value r16 = %3.0
              value r17 = %0.0
            b0:
              r1 = PRMT r0, 0x7773, RZ ; 0
              r2 = Copy RZ ; 0
              r4 = PRMT r3, 0x9910, RZ ; 0
              r5 = SHF.HI.R.S32 RZ, 0x1f, r4 ; 0
              {r6 r7} = Add64 {r1 r2}, {r4 r5} ; 0
              r8 = MOV 0xffff8000 ; 0
              r9 = MOV 0xffffffff ; 0
              r10 = MOV 0x7fff ; 0
              r11 = Copy RZ ; 0
              {r12 r13} = Max64.S64 {r6 r7}, {r8 r9} ; 0
              {r14 r15} = Min64.S64 {r12 r13}, {r10 r11} ; 0
              r17 = PRMT r16, 0x5410, r14 ; 0
              r18 = PRMT r0, 0xbb32, RZ ; 1
              {r19 r20} = IMAD.WIDE r18, r3, RZ ; 1
              r21 = SHF.HI.R.S32 RZ, 0x1f, r16 ; 1
              {r22 r23} = Add64 -{r19 r20}, {r16 r21} ; 1
              {r24 r25} = Shr64.S64 {r22 r23}, 0x7 ; 1
              r17 = Copy r24 ; 1
              r26 = PRMT r0, 0x7771, RZ ; 2
              r27 = PRMT r3, 0x7770, RZ ; 2
              p28, PT = ISETP.AND.LT r26, r27, PT ; 2
              r29 = SEL RZ, 0x1, !p28 ; 2
              r30 = PRMT r0, 0x7773, RZ ; 2
              r31 = PRMT r3, 0x7771, RZ ; 2
              p32, PT = ISETP.AND.LT r30, r31, PT ; 2
              r33 = SEL RZ, 0x1, !p32 ; 2
              r34 = PRMT r3, 0x7771, RZ ; 2
              r35 = PRMT r3, 0x7772, RZ ; 2
              p36, PT = ISETP.AND.LT r34, r35, PT ; 2
              r37 = SEL RZ, 0x1, !p36 ; 2
              r38 = PRMT r3, 0x7773, RZ ; 2
              r39 = PRMT r3, 0x7773, RZ ; 2
              p40, PT = ISETP.AND.LT r38, r39, PT ; 2
              r41 = SEL RZ, 0x1, !p40 ; 2
              r42 = PRMT r29, 0x40, r33 ; 2
              r43 = PRMT r37, 0x40, r41 ; 2
              r44 = PRMT r42, 0x5410, r43 ; 2
              r17 = PRMT r16, 0x3614, r44 ; 2
              EXIT ; 3
        "#]],
    );
}

#[test]
fn textures() {
    check(
        "ld.param.u64 %d1, [p0];
         tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6}];
         tex.level.a1d.v4.f32.s32 {_, %f1, _, _}|%p1, [%d1, {%r1, %r2}], %r3, {%r4};
         tex.grad.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5}], {%f6}, {%f7};
         tex.2dms.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%d1, {%r5, %r6, %r7, %r7}];
         tld4.g.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6}], {%r1, %r2}, %f7;
         txq.height.b32 %r1, [%d1];
         istypep.surfref %p2, %d1;
         @%p2 tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d2, {%r1}];
         ld.global.b64 %d3, [%d4];
         tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d3, {%r1}];",
        expect![[r#"
            kernel params=20 barriers=0
              value r2 = %0.0
              value r3 = %0.1
              value r6 = %5.0
              value r7 = %6.0
              value r8 = %3.0
              value r9 = %4.0
              value r10 = %1.0
              value r11 = %2.0
              value r12 = %8.0
              value r14 = %9.0
              value r15 = %10.0
              value r16 = %11.0
              value p19 = %7.0
              value r23 = %12.0
              value r24 = %14.0
              value r25 = %15.0
              value r26 = %13.0
              value p31 = %16.0
              value r32 = %17.0
              value r33 = %19.0
              value r34 = %19.1
              value r35 = %18.0
              value r36 = %18.1
            b0:
              {u0 u1} = ULDC.64 c[0][0x208] ; 9
              {r2 r3} = LDC.64 c[0][0x210] ; 0
              u4 = ULDC c[0][0x210] ; 0
              r5 = MOV 0xc2000000 ; 1
              PT, {r8 r9}, {r10 r11} = TEX.LL {r6 r7}, r5, u4, #0, %(2D) ; 1
              r13 = VIMNMX.U32 r12, 0xffff, PT ; 2
              p17, RZ, r18 = TLD.AOFFI.CL.LL {r13 r14}, {r15 r16}, u4, #0, %(ARRAY_1D), #2 ; 2
              p19, PT = PLOP3.LUT !p17, PT, PT, #128, #0 ; 2
              r10 = Copy r18 ; 2
              r20 = Copy RZ ; 3
              r21 = Copy RZ ; 3
              r22 = Copy RZ ; 3
              PT, {r8 r9}, {r10 r11} = TXD {r6 r20}, {r7 r23 r21 r22}, u4, #0, %(2D) ; 3
              PT, {r15 r16}, {r12 r14} = TLD.LZ.MS {r24 r25}, r26, u4, #0, %(2D) ; 4
              r27 = SHF.L.U32 r14, 0x8, RZ ; 5
              r28 = LOP3.LUT r27, 0x3f00, r12, #226, !PT ; 5
              PT, {r8 r9}, {r10 r11} = TLD4.AOFFI.DC.G {r6 r7}, {r28 r23}, u4, #0, %(2D) ; 5
              r29 = Copy RZ ; 6
              RZ, r12 = TXQ r29, %(TEX_HEADER_DIMENSION), u4, #0, #2 ; 6
              r30 = LOP3.LUT r3, 0x80000000, RZ, #192, !PT ; 7
              p31, PT = ISETP.AND.NE.U32 r30, RZ, PT ; 7
              @p31 PT, {r8 r9}, {r10 r11} = TLD.B.LZ r12, r32, %(1D) ; 8
              {r35 r36} = LDG.64.E desc{u0 u1}[{r33 r34}].64 mem(global r) ; 9
              u37 = Copy r35 ; 9
              PT, {r8 r9}, {r10 r11} = TLD.LZ r12, RZ, u37, #0, %(1D) ; 10
              EXIT ; 11
        "#]],
    );
}

#[test]
fn surfaces() {
    check(
        "ld.param.u64 %d1, [p0];
         suld.b.2d.v2.b8.trap {%h1, %h2}, [%d1, {%r1, %r2}];
         suld.b.a1d.cg.v2.b64.zero {%d2, %d3}, [%d1, {%r1, %r2}];
         sust.b.3d.cs.b16.clamp [%d1, {%r1, %r2, %r3, %r3}], %h1;
         sust.p.1d.v2.b32.trap [%d1, {%r1}], {%r2, %r3};
         sured.b.add.1d.u64.zero [%d1, {%r1}], %d2;
         sured.p.min.2d.b32.trap [%d1, {%r1, %r2}], %r3;",
        expect![[r#"
            kernel params=20 barriers=0
              value r0 = %0.0
              value r1 = %0.1
              value r3 = %3.0
              value r4 = %4.0
              value r8 = %1.0
              value r9 = %2.0
              value r10 = %5.0
              value r11 = %5.1
              value r12 = %6.0
              value r13 = %6.1
              value r14 = %7.0
            b0:
              {r0 r1} = LDC.64 c[0][0x210] ; 0
              u2 = ULDC c[0][0x210] ; 0
              PT, r5 = SULD.2D.BA.D.SM.STRONG.TRAP.U16 [{r3 r4}], u2, #0 mem(global r) ; 1
              r6 = PRMT r5, 0x7770, RZ ; 1
              r7 = PRMT r5, 0x7771, RZ ; 1
              r8 = Copy r6 ; 1
              r9 = Copy r7 ; 1
              PT, {r10 r11 r12 r13} = SULD.128.1D_ARRAY.BA.D.IGN.STRONG.SYS [{r4 r3}], u2, #0 mem(global r) ; 2
              SUST.3D.BA.D.EF.SM.STRONG.U16 [{r3 r4 r14}], r8, u2, #0 mem(global w) ; 3
              SUST.1D.P.RG.SM.STRONG.TRAP [r3], {r4 r14}, u2, #0 mem(global w) ; 4
              SURED.1D.ADD.BA.D.IGN.STRONG.SYS.U64 [r3], {r10 r11}, u2, #0 mem(global rw) ; 5
              SURED.2D.D.MIN.SD32.STRONG.SYS.TRAP [{r3 r4}], r14, u2, #0 mem(global rw) ; 6
              EXIT ; 7
        "#]],
    );
}

/// Lowers the statements inside a kernel of a chip with tensor memory.
fn check_tensor_memory(statements: &str, expected: Expect) {
    let text = format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 p0) {{\n\
         .reg .b16 %h<3>; .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .pred %p<3>;\n\
         .shared .align 8 .b8 sv[64];\n{statements}\nret;\n}}"
    );
    expected.assert_eq(&lowered_for("sm_100a".parse().expect("a chip"), &text));
}

#[test]
fn loads_and_stores_of_tensor_memory() {
    check_tensor_memory(
        "tcgen05.ld.sync.aligned.16x128b.x1.pack::16b.b32 {%r1, %r2}, [%r0+16];
         tcgen05.wait::ld.sync.aligned;
         tcgen05.st.sync.aligned.16x32bx2.x2.b32 [%r0], 4, {%r1, %r2};
         tcgen05.st.sync.aligned.32x32b.x4.unpack::16b.b32 [%r0], {0, 0, 0, 0};
         tcgen05.wait::st.sync.aligned;
         tcgen05.fence::before_thread_sync;",
        expect![[r#"
            kernel params=8 barriers=0
              value r0 = %2.0
              value r2 = %0.0
              value r3 = %1.0
            b0:
              u1 = Copy r0 ; 0
              {r2 r3} = LDTM.16dp128bit.PACK16BIT [^u1+0x10] mem(generic rw ordered) ; 0
              NOP mem(generic rw ordered) ; 1
              u4 = Copy r0 ; 2
              STTM.16dp32bit_t0_t15.x2 [^u4], {r2 r3} mem(generic rw ordered) ; 2
              u5 = Copy r0 ; 2
              STTM.16dp32bit_t16_t31.x2 [^u5+0x4], {r2 r3} mem(generic rw ordered) ; 2
              u6 = Copy r0 ; 3
              STTM.EXPAND16BIT.x4 [^u6], RZ mem(generic rw ordered) ; 3
              FENCE.ASYNC.T.VIEW mem(generic rw ordered) ; 4
              NOP mem(generic rw ordered) ; 5
              EXIT ; 6
        "#]],
    );
}

#[test]
fn products_in_tensor_memory() {
    check_tensor_memory(
        "tcgen05.mma.cta_group::1.kind::f16.collector::a::use [%r0], %d0, %d1, %r1, %p1;
         tcgen05.mma.cta_group::2.kind::tf32.ashift [%r0], [%r2+8], %d1, %r1, {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, 1, 5;
         tcgen05.mma.sp.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%r0], %d0, %d1, [%r2], %r1, [%r3], [%r4], 0;
         tcgen05.mma.ws.cta_group::1.kind::i8.collector::b2::lastuse [%r0], %d0, %d1, %r1, %p1, %d2;",
        expect![[r#"
            kernel params=8 barriers=0
              value r2 = %1.0
              value r4 = %1.1
              value r6 = %2.0
              value r8 = %2.1
              value r10 = %0.0
              value r13 = %3.0
              value p15 = %4.0
              value r19 = %5.0
              value r31 = %6.0
              value r33 = %7.0
              value r35 = %8.0
              value r37 = %9.0
              value r39 = %10.0
              value r41 = %11.0
              value r67 = %12.0
              value r69 = %12.1
            b0: -> b1
              p0 = Copy PT ; 0
            b1: -> b3 b2
              p1 = Copy !PT ; 0
              @p0 p1, URZ = ELECT PT ; 0
              @!p1 BRA b3 ; 0
            b2: -> b3
              u3 = Copy r2 ; 0
              u5 = Copy r4 ; 0
              u7 = Copy r6 ; 0
              u9 = Copy r8 ; 0
              u11 = Copy r10 ; 0
              u12 = Copy URZ ; 0
              u14 = Copy r13 ; 0
              q16 = VOTEU.ANY p15 ; 0
              UTCHMMA {u3 u5}.A_KEEP.A_REUSE, {u7 u9}, [^u11], {u12 u14}, q16 mem(generic rw ordered) ; 0
            b3: -> b1 b4
              p17, PT = PLOP3.LUT p0, !p1, PT, #128, #0 ; 0
              p0 = Copy p17 ; 0
              RZ, p18 = VOTE.ANY p17 ; 0
              @p18 BRA b1 ; 0
            b4: -> b5
              r20 = IADD3 r19, 0x8, RZ ; 1
              p21 = Copy PT ; 1
            b5: -> b7 b6
              p22 = Copy !PT ; 1
              @p21 p22, URZ = ELECT PT ; 1
              @!p22 BRA b7 ; 1
            b6: -> b7
              u23 = Copy r20 ; 1
              u24 = Copy r6 ; 1
              u25 = Copy r8 ; 1
              u26 = Copy r10 ; 1
              u27 = Copy URZ ; 1
              u28 = Copy r13 ; 1
              u29 = Copy r13 ; 1
              u30 = Copy r19 ; 1
              u32 = Copy r31 ; 1
              u34 = Copy r33 ; 1
              u36 = Copy r35 ; 1
              u38 = Copy r37 ; 1
              u40 = Copy r39 ; 1
              u42 = Copy r41 ; 1
              UTCHMMA.2CTA.ASHIFT [^u23], {u24 u25}, [^u26], {u27 u28}, {u29 u30 u32 u34 u36 u38 u40 u42}, UPT, #5 mem(generic rw ordered) ; 1
            b7: -> b5 b8
              p43, PT = PLOP3.LUT p21, !p22, PT, #128, #0 ; 1
              p21 = Copy p43 ; 1
              RZ, p44 = VOTE.ANY p43 ; 1
              @p44 BRA b5 ; 1
            b8: -> b9
              p45 = Copy PT ; 2
            b9: -> b11 b10
              p46 = Copy !PT ; 2
              @p45 p46, URZ = ELECT PT ; 2
              @!p46 BRA b11 ; 2
            b10: -> b11
              u47 = Copy r2 ; 2
              u48 = Copy r4 ; 2
              u49 = Copy r6 ; 2
              u50 = Copy r8 ; 2
              u51 = Copy r10 ; 2
              u52 = Copy r19 ; 2
              u53 = Copy r13 ; 2
              u54 = Copy r31 ; 2
              u55 = Copy r33 ; 2
              UTCOMMA.4X {u47 u48}, {u49 u50}, [^u51], {u52 u53}, [^{u54 u55}], !UPT mem(generic rw ordered) ; 2
            b11: -> b9 b12
              p56, PT = PLOP3.LUT p45, !p46, PT, #128, #0 ; 2
              p45 = Copy p56 ; 2
              RZ, p57 = VOTE.ANY p56 ; 2
              @p57 BRA b9 ; 2
            b12: -> b13
              p58 = Copy PT ; 3
            b13: -> b15 b14
              p59 = Copy !PT ; 3
              @p58 p59, URZ = ELECT PT ; 3
              @!p59 BRA b15 ; 3
            b14: -> b15
              u60 = Copy r2 ; 3
              u61 = Copy r4 ; 3
              u62 = Copy r6 ; 3
              u63 = Copy r8 ; 3
              u64 = Copy r10 ; 3
              u65 = Copy URZ ; 3
              u66 = Copy r13 ; 3
              u68 = Copy r67 ; 3
              u70 = Copy r69 ; 3
              q71 = VOTEU.ANY p15 ; 3
              UTCIMMA.WS {u60 u61}, {u62 u63}.BUFFER2.B_REUSE, [^u64], {u65 u66}, {u68 u70}, q71 mem(generic rw ordered) ; 3
            b15: -> b13 b16
              p72, PT = PLOP3.LUT p58, !p59, PT, #128, #0 ; 3
              p58 = Copy p72 ; 3
              RZ, p73 = VOTE.ANY p72 ; 3
              @p73 BRA b13 ; 3
            b16:
              EXIT ; 4
        "#]],
    );
}

#[test]
fn copies_and_signals_of_tensor_memory() {
    check_tensor_memory(
        "elect.sync _|%p1, 0xffffffff;
         @!%p1 bra done;
         tcgen05.cp.cta_group::1.64x128b.warpx2::01_23.b8x16.b6x16_p32 [%r0+32], %d0;
         tcgen05.shift.cta_group::2.down [%r0];
         tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r1], %h1;
         done:",
        expect![[r#"
            kernel params=8 barriers=0
              value p0 = %0.0
              value r1 = %1.0
              value r3 = %2.0
              value r5 = %2.1
              value r8 = %4.0
              value r10 = %3.0
            b0: -> b8 b1
              WARPSYNC.ALL ; 0
              p0, URZ = ELECT PT ; 0
              @!p0 BRA b8 ; 1
            b1: -> b2
            b2: -> b3
              u2 = Copy r1 ; 2
              u4 = Copy r3 ; 2
              u6 = Copy r5 ; 2
              UTCCP.2x64dp128bit_lw01_lw23.S.T.U6x16P32 [^u2+0x20], {u4 u6} mem(generic rw ordered) ; 2
            b3: -> b4
            b4: -> b5
              u7 = Copy r1 ; 3
              UTCSHIFT.2CTA.DOWN [^u7] mem(generic rw ordered) ; 3
            b5: -> b6
              r9 = PRMT r8, 0x7710, RZ ; 4
            b6: -> b7
              u11 = Copy r10 ; 4
              u12 = Copy r9 ; 4
              UTCBAR.2CTA.MULTICAST [^u11], URZ, u12 mem(generic rw ordered) ; 4
            b7: -> b8
            b8:
              EXIT ; 5
        "#]],
    );
}

#[test]
fn columns_of_tensor_memory() {
    check_tensor_memory(
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [sv], 64;
         tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
         tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 64;",
        expect![[r#"
            kernel params=8 barriers=0
              symbol s0 shared "sv"
              value r21 = %0.0
            b0: -> b6 b1
              r0 = S2R %(SR_CgaCtaId) ; 0
              r1 = SHF.L.U32 r0, 0x18, RZ ; 0
              r2 = MOV low(s0) ; 0
              r3 = IADD3 r1, r2, RZ ; 0
              r4 = Copy RZ ; 0
              WARPSYNC.ALL mem(generic rw ordered) ; 0
              r5 = LDS.U8 [r1+0x5c] mem(shared rw ordered) ; 0
              p6, PT = ISETP.AND.NE.U32 r5, RZ, PT ; 0
              @p6 BRA b6 ; 0
            b1: -> b7 b2
              p7, URZ = ELECT PT ; 0
              @!p7 BRA b7 ; 0
            b2: -> b3
            b3: -> b5 b4
              u8 = UMOV 0x2 ; 0
              DEPBAR.LE SB0, #54 mem(generic rw ordered) ; 0
              q9, u10 = UTCATOMSWS.ALIGN.FIND_AND_SET u8 mem(generic rw ordered) ; 0
              r11 = Copy u10 ; 0
              p12, PT = PLOP3.LUT PT, PT, q9, #128, #0 ; 0
              @!p12 BRA b5 ; 0
            b4: -> b7
              r13 = MOV 0x3 ; 0
              r14 = MOV 0x1 ; 0
              r15 = SHF.L.U32 r13, r11, RZ ; 0
              r16 = SHF.L.U32 r14, r11, RZ ; 0
              RZ = ATOMS.OR [r1+0x54], r15 mem(shared rw ordered) ; 0
              RZ = ATOMS.OR [r1+0x58], r16 mem(shared rw ordered) ; 0
              r17 = SHF.L.U32 r11, 0x5, RZ ; 0
              STS [r3], r17 mem(shared rw ordered) ; 0
              BRA b7 ; 0
            b5: -> b3
              NANOSLEEP 0x64 mem(generic rw ordered) ; 0
              BRA b3 ; 0
            b6: -> b7
              r18 = MOV 0xffffffff ; 0
              STS [r3], r18 mem(shared rw ordered) ; 0
              BPT.TRAP #1 ; 0
            b7: -> b9 b8
              WARPSYNC.ALL mem(generic rw ordered) ; 0
              WARPSYNC.ALL mem(generic rw ordered) ; 1
              p19, URZ = ELECT PT ; 1
              @!p19 BRA b9 ; 1
            b8: -> b9
              UVIRTCOUNT.DEALLOC.SMPOOL 0x80 mem(generic rw ordered) ; 1
              r20 = MOV 0x1 ; 1
              STS.U8 [r1+0x5c], r20 mem(shared rw ordered) ; 1
            b9: -> b13 b10
              r22 = LOP3.LUT r21, 0xffff, RZ, #192, !PT ; 2
              r23 = SHF.HI.R.U32 RZ, 0x5, r22 ; 2
              r24 = MOV 0x3 ; 2
              r25 = MOV 0x1 ; 2
              r26 = SHF.L.U32 r24, r23, RZ ; 2
              r27 = SHF.L.U32 r25, r23, RZ ; 2
              WARPSYNC.ALL mem(generic rw ordered) ; 2
              r28 = LDS [r1+0x54] mem(shared rw ordered) ; 2
              r29 = LOP3.LUT r28, r26, RZ, #192, !PT ; 2
              p30, PT = ISETP.AND.NE r29, r26, PT ; 2
              @p30 BRA b13 ; 2
            b10: -> b13 b11
              r31 = LDS [r1+0x58] mem(shared rw ordered) ; 2
              r32 = LOP3.LUT r31, r27, RZ, #192, !PT ; 2
              p33, PT = ISETP.AND.NE r32, r27, PT ; 2
              @p33 BRA b13 ; 2
            b11: -> b14 b12
              p34, URZ = ELECT PT ; 2
              @!p34 BRA b14 ; 2
            b12: -> b14
              r35 = LOP3.LUT RZ, r26, RZ, #51, !PT ; 2
              r36 = LOP3.LUT RZ, r27, RZ, #51, !PT ; 2
              u37 = Copy r35 ; 2
              URZ = UTCATOMSWS.AND u37 mem(generic rw ordered) ; 2
              RZ = ATOMS.AND [r1+0x54], r35 mem(shared rw ordered) ; 2
              RZ = ATOMS.AND [r1+0x58], r36 mem(shared rw ordered) ; 2
              BRA b14 ; 2
            b13: -> b14
              BPT.TRAP #1 ; 2
            b14:
              WARPSYNC.ALL mem(generic rw ordered) ; 2
              EXIT ; 3
        "#]],
    );
    check_tensor_memory(
        "tcgen05.alloc.cta_group::2.sync.aligned.b32 [%d0], 32;",
        expect![[r#"
        kernel params=8 barriers=0
          value r10 = %0.0
        b0: -> b13 b1
          r0 = S2R %(SR_CgaCtaId) ; 0
          r1 = SHF.L.U32 r0, 0x18, RZ ; 0
          WARPSYNC.ALL mem(generic rw ordered) ; 0
          r2 = LDS.U8 [r1+0x5c] mem(shared rw ordered) ; 0
          p3, PT = ISETP.AND.NE.U32 r2, RZ, PT ; 0
          @p3 BRA b13 ; 0
        b1: -> b9 b2
          r4 = S2R %(SR_CgaCtaId) ; 0
          r5 = LOP3.LUT r4, 0x1, RZ, #192, !PT ; 0
          r6 = LOP3.LUT r4, 0x1, RZ, #60, !PT ; 0
          p7, PT = ISETP.AND.NE r5, RZ, PT ; 0
          r8 = IADD3 r1, 0x48, RZ ; 0
          r9 = PRMT r6, 0x654, r8 ; 0
          r11 = PRMT r6, 0x654, r10 ; 0
          @p7 BRA b9 ; 0
        b2: -> b14 b3
          p12, URZ = ELECT PT ; 0
          @!p12 BRA b14 ; 0
        b3: -> b4
        b4: -> b8 b5
          u13 = UMOV 0x1 ; 0
          DEPBAR.LE SB0, #54 mem(generic rw ordered) ; 0
          q14, u15 = UTCATOMSWS.2CTA.ALIGN.FIND_AND_SET u13 mem(generic rw ordered) ; 0
          r16 = Copy u15 ; 0
          p17, PT = PLOP3.LUT PT, PT, q14, #128, #0 ; 0
          @!p17 BRA b8 ; 0
        b5: -> b6
          r18 = LDS [r1+0x50] mem(shared rw ordered) ; 0
          r19 = SHF.L.U32 r18, 0x1f, RZ ; 0
        b6: -> b6 b7
          p20 = SYNCS.PHASECHK.TRANS64.TRYWAIT [r1+0x48], r19 mem(shared rw ordered) ; 0
          @!p20 BRA b6 ; 0
        b7: -> b14
          r21 = MOV 0x4 ; 0
          RZ = SYNCS.ARRIVE.RED.TRANS64 [r9], r21 mem(shared rw ordered) ; 0
          r22 = MOV 0x1 ; 0
          r23 = MOV 0x1 ; 0
          r24 = SHF.L.U32 r22, r16, RZ ; 0
          r25 = SHF.L.U32 r23, r16, RZ ; 0
          RZ = ATOMS.OR [r1+0x54], r24 mem(shared rw ordered) ; 0
          RZ = ATOMS.OR [r1+0x58], r25 mem(shared rw ordered) ; 0
          r26 = SHF.L.U32 r16, 0x5, RZ ; 0
          STS [r10], r26 mem(shared rw ordered) ; 0
          STAS [{r11 r9}].64, r16 mem(shared rw ordered) ; 0
          r27 = MOV 0x1 ; 0
          RZ = ATOMS.XOR [r1+0x50], r27 mem(shared rw ordered) ; 0
          BRA b14 ; 0
        b8: -> b4
          NANOSLEEP 0x64 mem(generic rw ordered) ; 0
          BRA b4 ; 0
        b9: -> b14 b10
          WARPSYNC.ALL mem(generic rw ordered) ; 0
          p28, URZ = ELECT PT ; 0
          @!p28 BRA b14 ; 0
        b10: -> b11
          r29 = LDS [r1+0x50] mem(shared rw ordered) ; 0
          r30 = SHF.L.U32 r29, 0x1f, RZ ; 0
        b11: -> b11 b12
          p31 = SYNCS.PHASECHK.TRANS64.TRYWAIT [r1+0x48], r30 mem(shared rw ordered) ; 0
          @!p31 BRA b11 ; 0
        b12: -> b14
          r32 = LDS [r10] mem(shared rw ordered) ; 0
          r33 = MOV 0x1 ; 0
          r34 = MOV 0x1 ; 0
          r35 = SHF.L.U32 r33, r32, RZ ; 0
          r36 = SHF.L.U32 r34, r32, RZ ; 0
          RZ = ATOMS.OR [r1+0x54], r35 mem(shared rw ordered) ; 0
          RZ = ATOMS.OR [r1+0x58], r36 mem(shared rw ordered) ; 0
          r37 = SHF.L.U32 r32, 0x5, RZ ; 0
          STS [r10], r37 mem(shared rw ordered) ; 0
          RZ = SYNCS.A1T0.ARRIVE.RED.TRANS64 [r9], RZ mem(shared rw ordered) ; 0
          r38 = MOV 0x1 ; 0
          RZ = ATOMS.XOR [r1+0x50], r38 mem(shared rw ordered) ; 0
          BRA b14 ; 0
        b13: -> b14
          r39 = MOV 0xffffffff ; 0
          STS [r10], r39 mem(shared rw ordered) ; 0
          BPT.TRAP #1 ; 0
        b14:
          WARPSYNC.ALL mem(generic rw ordered) ; 0
          EXIT ; 1
    "#]],
    );
}
