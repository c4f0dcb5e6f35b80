//! Integers, floating-point arithmetic, conversions, selection.

use crate::{check, lowered_for};
use expect_test::expect;

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
            b2: -> b2 b3
              r12 = LDS [r3] mem(shared r ordered) ; 3
              r14 = FADD r12, r13 ; 3
              r15 = ATOMS.CAST.SPIN [r3], r12, r14 mem(shared rw ordered) ; 3
              p16, PT = ISETP.AND.EQ.U32 r15, 0x1, PT ; 3
              @!p16 BRA b2 ; 3
            b3: -> b4
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
              symbol s0 global "gv" align=4
              symbol s1 constant "cv" align=4
              symbol s2 shared "sv" align=16
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
              p16, PT = ISETP.AND.EQ.U32 r5, 0x7ff70000, PT ; 1
              r17 = SEL RZ, r15, p16 ; 1
              p18, PT = ISETP.AND.EQ.U32 r7, 0x7ff70000, PT ; 1
              r19 = SEL RZ, r17, p18 ; 1
              r20 = Copy r19 ; 1
              EXIT ; 2
        "#]],
    );
}

/// Packed 16-bit add, min and max where the chip has neither `VIADD` nor `VIMNMX`.
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
