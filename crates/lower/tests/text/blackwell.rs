//! Additions of Blackwell besides tensor memory.

use crate::lowered_for;
use expect_test::{Expect, expect};

/// Lowers the statements inside a kernel of a chip of that generation.
fn check_for(chip: &str, statements: &str, expected: Expect) {
    let text = format!(
        ".version 9.0\n.target {chip}\n.address_size 64\n.visible .entry k(.param .u64 p0) {{\n\
         .reg .b8 %y<5>; .reg .b16 %h<5>; .reg .b32 %r<17>; .reg .b64 %d<5>; .reg .b128 %q<2>; .reg .pred %p<3>;\n\
         .reg .f32 %f<9>; .shared .align 16 .b8 sv[64];\n{statements}\nret;\n}}"
    );
    expected.assert_eq(&lowered_for(chip.parse().expect("a chip"), &text));
}

#[test]
fn sparse_products_of_scaled_blocks() {
    check_for(
        "sm_120a",
        "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 \
         {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, {%f4, %f5, %f6, %f7}, %r8, 0, %r9, {0, 1}, %r10, {0, 3};",
        expect![[r#"
            kernel params=8 barriers=0
              value r1 = %4.0
              value r2 = %5.0
              value r3 = %6.0
              value r4 = %7.0
              value r5 = %8.0
              value r6 = %9.0
              value r7 = %10.0
              value r8 = %11.0
              value r9 = %12.0
              value r10 = %13.0
              value r11 = %14.0
              value r12 = %15.0
              value r13 = %16.0
              value r14 = %17.0
              value r15 = %18.0
              value r16 = %0.0
              value r17 = %1.0
              value r18 = %2.0
              value r19 = %3.0
            b0:
              u0 = UMOV 0x64 ; 0
              {r16 r17 r18 r19} = OMMA.168128.4X.E2M1.E2M1_2.F32.SF.SP.UE4M3 {r1 r2 r3 r4}, {r5 r6 r7 r8}, {r9 r10 r11 r12}, {r13 r14}, r15, u0, #0 ; 0
              EXIT ; 1
        "#]],
    );
}

#[test]
fn clusters_that_take_over_others() {
    check_for(
        "sm_100",
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r0], [%r1+8];
         ld.shared.b128 %q0, [%r0];
         clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p0, %q0;
         clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r2, %r3, %r4, %r5}, %q0;",
        expect![[r#"
            kernel params=8 barriers=0
              value r0 = %1.0
              value r4 = %0.0
              value r9 = %2.0
              value r10 = %2.1
              value r11 = %2.2
              value r12 = %2.3
              value p14 = %3.0
              value r17 = %4.0
              value r18 = %5.0
              value r19 = %6.0
              value r20 = %7.0
            b0: -> b1
              r1 = IADD3 r0, 0x8, RZ ; 0
              p2 = Copy PT ; 0
            b1: -> b3 b2
              p3 = Copy !PT ; 0
              @p2 p3, URZ = ELECT PT ; 0
              @!p3 BRA b3 ; 0
            b2: -> b3
              u5 = Copy r4 ; 0
              u6 = Copy r1 ; 0
              UGETNEXTWORKID.SELFCAST [^{u5 u6}] mem(generic rw ordered) ; 0
            b3: -> b1 b4
              p7, PT = PLOP3.LUT p2, !p3, PT, #128, #0 ; 0
              p2 = Copy p7 ; 0
              RZ, p8 = VOTE.ANY p7 ; 0
              @p8 BRA b1 ; 0
            b4:
              {r9 r10 r11 r12} = LDS.128 [r4] mem(shared r) ; 1
              r13 = LOP3.LUT r11, 0x1, RZ, #192, !PT ; 2
              p14, PT = ISETP.AND.NE.U32 r13, RZ, PT ; 2
              r15 = LOP3.LUT r10, 0xffff, RZ, #192, !PT ; 3
              r16 = SHF.HI.R.U32 RZ, 0x10, r10 ; 3
              r17 = Copy r9 ; 3
              r18 = Copy r15 ; 3
              r19 = Copy r16 ; 3
              r20 = Copy RZ ; 3
              EXIT ; 4
        "#]],
    );
}

#[test]
fn zeros_and_stores_beside_the_program() {
    check_for(
        "sm_100a",
        "st.bulk.weak.shared::cta [%r0], 128, 0;
         st.async.release.gpu.global.b16 [%d0+2], %h0;
         red.async.release.sys.add.u64 [%d0], %d1;
         cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d0], [%r0], 64, %h0;",
        expect![[r#"
            kernel params=8 barriers=0
              value r2 = %0.0
              value r5 = %1.0
              value r6 = %1.1
              value r7 = %2.0
              value r8 = %3.0
              value r9 = %3.1
            b0: -> b1
              {u0 u1} = LDCU.64 c[0][0x358] ; 1
            b1: -> b2
              u3 = Copy r2 ; 0
              u4 = UMOV 0x10 ; 0
              UMEMSETS.64 [^u3], URZ, u4 mem(generic rw ordered) ; 0
            b2: -> b3
              MEMBAR.ALL.GPU mem(generic rw ordered) ; 1
              ERRBAR mem(generic rw ordered) ; 1
              CGAERRBAR mem(generic rw ordered) ; 1
              STG.E.GPU.STRONG.U16 desc{u0 u1}[{r5 r6}+0x2].64, r7 mem(global w ordered) ; 1
              MEMBAR.ALL.SYS mem(generic rw ordered) ; 2
              ERRBAR mem(generic rw ordered) ; 2
              CGAERRBAR mem(generic rw ordered) ; 2
              REDG.64.ADD.E.STRONG.SYS desc{u0 u1}[{r5 r6}].64, {r8 r9} mem(global rw ordered) ; 2
              r10 = PRMT r7, 0x7710, RZ ; 3
              r11 = LOP3.LUT r10, 0xffff, RZ, #192, !PT ; 3
              r12 = SHF.L.U32 r11, 0x10, RZ ; 3
              r13 = LOP3.LUT r12, 0x4, RZ, #252, !PT ; 3
            b3: -> b4
              u14 = Copy r5 ; 3
              u15 = Copy r6 ; 3
              u16 = Copy r2 ; 3
              u17 = Copy r13 ; 3
              UBLKCP.DST_G_BYTE_MASK.G.S_2 [^{u14 u15}], [^u16], u17 mem(generic rw ordered) ; 3
            b4:
              EXIT ; 4
        "#]],
    );
}

#[test]
fn rows_of_tensors_and_lines_of_images() {
    check_for(
        "sm_100a",
        "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%r0], [%d0, {%r1, 2, 3, 4, 5}], [%r6];
         cp.async.bulk.prefetch.tensor.3d.L2.global.im2col::w [%d0, {0, 1, 2}], {%h0, 3};
         tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%d0], 3;",
        expect![[r#"
            kernel params=8 barriers=0
              value r4 = %0.0
              value r6 = %3.0
              value r8 = %2.0
              value r14 = %1.0
              value r16 = %1.1
              value r20 = %4.0
            b0: -> b1
              {u0 u1} = LDCU.64 c[0][0x358] ; 2
              p2 = Copy PT ; 0
            b1: -> b3 b2
              p3 = Copy !PT ; 0
              @p2 p3, URZ = ELECT PT ; 0
              @!p3 BRA b3 ; 0
            b2: -> b3
              u5 = Copy r4 ; 0
              u7 = Copy r6 ; 0
              u9 = Copy r8 ; 0
              u10 = UMOV 0x2 ; 0
              u11 = UMOV 0x3 ; 0
              u12 = UMOV 0x4 ; 0
              u13 = UMOV 0x5 ; 0
              u15 = Copy r14 ; 0
              u17 = Copy r16 ; 0
              UTMALDG.2D.GATHER4 [^{u5 u7 u9 u10 u11 u12 u13}], [^{u15 u17}] mem(generic rw ordered) ; 0
            b3: -> b1 b4
              p18, PT = PLOP3.LUT p2, !p3, PT, #128, #0 ; 0
              p2 = Copy p18 ; 0
              RZ, p19 = VOTE.ANY p18 ; 0
              @p19 BRA b1 ; 0
            b4: -> b5
              r21 = PRMT r20, 0x7710, RZ ; 1
              r22 = LOP3.LUT r21, 0x1800, RZ, #252, !PT ; 1
            b5: -> b6
              u23 = Copy URZ ; 1
              u24 = UMOV 0x1 ; 1
              u25 = UMOV 0x2 ; 1
              u26 = Copy r14 ; 1
              u27 = Copy r16 ; 1
              u28 = Copy r22 ; 1
              UTMAPF.3D.L2.W [^{u23 u24 u25}], [^{u26 u27}], u28 mem(generic rw ordered) ; 1
            b6:
              r29 = MOV 0x3 ; 2
              r30 = SHF.L.U32 r29, 0x13, RZ ; 2
              r31 = LDG.E desc{u0 u1}[{r14 r16}+0x8].64 mem(global r) ; 2
              r32 = LOP3.LUT r31, 0x380000, r30, #184, !PT ; 2
              STG.E desc{u0 u1}[{r14 r16}+0x8].64, r32 mem(global w) ; 2
              EXIT ; 3
        "#]],
    );
}

#[test]
fn small_matrices_of_bytes() {
    check_for(
        "sm_120a",
        "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b6x16_p32 {%r0, %r1, %r2, %r3}, [%r8];
         ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%r4}, [%r8+16];
         stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%r8], {%r4, %r5};",
        expect![[r#"
            kernel params=8 barriers=0
              value r0 = %4.0
              value r1 = %0.0
              value r2 = %1.0
              value r3 = %2.0
              value r4 = %3.0
              value r5 = %5.0
              value r6 = %6.0
            b0:
              {r1 r2 r3 r4} = LDSM.2.MT1616.U6x16P32TO8 [r0] mem(shared r) ; 0
              r5 = LDSM.M816.U4x16P64TO8 [r0+0x10] mem(shared r) ; 1
              STSM.2.8.MT168 [r0], {r5 r6} mem(shared w) ; 2
              EXIT ; 3
        "#]],
    );
}

#[test]
fn rounding_by_random_bits_and_copies_of_bytes() {
    check_for(
        "sm_100a",
        "cvt.rs.relu.bf16x2.f32 %r0, %f0, %f1, %r1;
         cvt.rs.satfinite.e2m1x4.f32 %h0, {%f0, %f1, %f2, %f3}, %r1;
         multimem.ld_reduce.global.add.acc::f16.v2.e4m3x2 {%h1, %h2}, [%d0];
         multimem.ld_reduce.global.max.v4.e5m2 {%y0, %y1, %y2, %y3}, [%d0];",
        expect![[r#"
            kernel params=8 barriers=0
              value r0 = %1.0
              value r1 = %2.0
              value r2 = %3.0
              value r3 = %0.0
              value r5 = %5.0
              value r6 = %6.0
              value r7 = %4.0
              value r8 = %9.0
              value r9 = %9.1
              value r13 = %7.0
              value r14 = %8.0
              value r20 = %10.0
              value r21 = %11.0
              value r22 = %12.0
              value r23 = %13.0
            b0:
              r3 = F2FP.BF16.F32.PACK_AB.RELU.RS r0, r1, r2 ; 0
              r4 = F2FP.E2M1.F32.PACK_AB_MERGE_C.RS.SATFINITE r0, r1, r2 ; 1
              r7 = F2FP.E2M1.F32.PACK_AB_MERGE_C.RS.SATFINITE r5, r6, r4 ; 1
              r10 = LDGMC.E.E4M3x4.HPADD.RN.STRONG.SYS [{r8 r9}].64 mem(global r ordered) ; 2
              r11 = PRMT r10, 0x7710, RZ ; 2
              r12 = PRMT r10, 0x7732, RZ ; 2
              r13 = Copy r11 ; 2
              r14 = Copy r12 ; 2
              r15 = LDGMC.E.E5M2x4.MAX.RN.STRONG.SYS [{r8 r9}].64 mem(global r ordered) ; 3
              r16 = PRMT r15, 0x7770, RZ ; 3
              r17 = PRMT r15, 0x7771, RZ ; 3
              r18 = PRMT r15, 0x7772, RZ ; 3
              r19 = PRMT r15, 0x7773, RZ ; 3
              r20 = Copy r16 ; 3
              r21 = Copy r17 ; 3
              r22 = Copy r18 ; 3
              r23 = Copy r19 ; 3
              EXIT ; 4
        "#]],
    );
}
