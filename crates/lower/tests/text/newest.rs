//! Additions of PTX 9.1 to 9.5.

use crate::lowered_for;
use expect_test::{Expect, expect};

/// Lowers the statements inside a kernel of a chip.
fn check_for(chip: &str, statements: &str, expected: Expect) {
    let text = format!(
        ".version 9.5\n.target {chip}\n.address_size 64\n.visible .entry k(.param .u64 p0) {{\n\
         .reg .b8 %y<5>; .reg .b16 %h<5>; .reg .b32 %r<17>; .reg .b64 %d<5>; .reg .b128 %q<2>; .reg .pred %p<3>;\n\
         .reg .f32 %f<9>; .shared .align 16 .b8 sv[64];\n{statements}\nret;\n}}"
    );
    expected.assert_eq(&lowered_for(chip.parse().expect("a chip"), &text));
}

#[test]
fn layouts_of_objects() {
    check_for(
        "sm_90",
        "mbarrier.init.layout::v1.shared::cta.b64 [%r0], %r1;
         mbarrier.check_layout.layout::v0.shared::cta.b64 %p0, [%r0];
         mbarrier.test_wait.phase_type::primary.shared::cta.b64 %p1|%p2, %y0, [%r0], %d0;",
        expect![[r#"
            kernel params=8 barriers=0
              value r0 = %1.0
              value r5 = %0.0
              value p9 = %2.0
              value r10 = %6.1
              value p11 = %3.0
              value p12 = %4.0
              value r13 = %5.0
            b0:
              r1 = IADD3 -r0, 0x100000, RZ ; 0
              r2 = SHF.L.U32 r1, 0x1, RZ ; 0
              r3 = LOP3.LUT r2, 0x1, RZ, #252, !PT ; 0
              r4 = SHF.L.U32 r1, 0xb, RZ ; 0
              URZ:2 = SYNCS.64.EXCH [r5], {r3 r4} mem(generic rw ordered object initialize) ; 0
              {r6 r7} = SYNCS.64.LD [r5] mem(generic rw ordered) ; 1
              r8 = LOP3.LUT r6, 0x1, RZ, #192, !PT ; 1
              p9, PT = ISETP.AND.EQ.U32 r8, RZ, PT ; 1
              p11 = SYNCS.PHASECHK.TRANS64 [r5], r10 mem(generic rw ordered object test_state) ; 2
              p12 = Copy !PT ; 2
              r13 = Copy RZ ; 2
              EXIT ; 3
        "#]],
    );
}

#[test]
fn fences_of_one_direction() {
    check_for(
        "sm_100",
        "fence.proxy.alias.release.sys;
         fence.proxy.alias.acquire.sys;
         fence.proxy.fabric::generic.alias.acquire.sys;
         fence.alias.sync_restrict::read.release.sys;
         fence.proxy.async.shared::cluster.sync_restrict::shared::cluster::read;
         fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster;",
        expect![[r#"
            kernel params=8 barriers=0
            b0:
              MEMBAR.ALL.SYS mem(generic rw ordered) ; 0
              CCTL.IVALL mem(generic rw ordered) ; 1
              CCTL.IVALL mem(generic rw ordered) ; 2
              FENCE.ASYNC.G.VIEW mem(generic rw ordered) ; 2
              NOP mem(generic rw ordered) ; 3
              MEMBAR.ALL.GPU mem(generic rw ordered) ; 4
              FENCE.ASYNC.S.VIEW mem(generic rw ordered) ; 4
              NOP mem(generic rw ordered) ; 5
              EXIT ; 6
        "#]],
    );
}

#[test]
fn copies_with_an_order() {
    check_for(
        "sm_100",
        "cp.async.bulk.relaxed.gpu.shared::cta.global.mbarrier::complete_tx::bytes.b128 [%r0], [%d0], %r1, [%r2];
         cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%r0], [%d0], %r1, %r3, %r4, [%r2];
         multimem.cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d0], [%r0], %r1, %h0;
         multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s64 [%d0], [%r0], %r1;
         cp.async.bulk.wait_group.sync_restrict::proxy::async 1;",
        expect![[r#"
            kernel params=8 barriers=0
              value r0 = %2.0
              value r5 = %0.0
              value r7 = %3.0
              value r9 = %1.0
              value r11 = %1.1
              value r27 = %6.0
            b0: -> b1
              r1 = SHF.HI.R.U32 RZ, 0x4, r0 ; 0
              r2 = LOP3.LUT r1, 0xffff, RZ, #192, !PT ; 0
              p3 = Copy PT ; 0
            b1: -> b3 b2
              p4 = Copy !PT ; 0
              @p3 p4, URZ = ELECT PT ; 0
              @!p4 BRA b3 ; 0
            b2: -> b3
              u6 = Copy r5 ; 0
              u8 = Copy r7 ; 0
              u10 = Copy r9 ; 0
              u12 = Copy r11 ; 0
              u13 = Copy r2 ; 0
              UBLKCP.GPU.G_2.S.STRONG [^{u6 u8}], [^{u10 u12}], u13 mem(generic rw ordered) ; 0
            b3: -> b1 b4
              p14, PT = PLOP3.LUT p3, !p4, PT, #128, #0 ; 0
              p3 = Copy p14 ; 0
              RZ, p15 = VOTE.ANY p14 ; 0
              @p15 BRA b1 ; 0
            b4: -> b5
              r16 = SHF.HI.R.U32 RZ, 0x4, r0 ; 1
              r17 = LOP3.LUT r16, 0xffff, RZ, #192, !PT ; 1
              p18 = Copy PT ; 1
            b5: -> b7 b6
              p19 = Copy !PT ; 1
              @p18 p19, URZ = ELECT PT ; 1
              @!p19 BRA b7 ; 1
            b6: -> b7
              u20 = Copy r5 ; 1
              u21 = Copy r7 ; 1
              u22 = Copy r9 ; 1
              u23 = Copy r11 ; 1
              u24 = Copy r17 ; 1
              UBLKCP.G_2.S [^{u20 u21}], [^{u22 u23}], u24 mem(generic rw ordered) ; 1
            b7: -> b5 b8
              p25, PT = PLOP3.LUT p18, !p19, PT, #128, #0 ; 1
              p18 = Copy p25 ; 1
              RZ, p26 = VOTE.ANY p25 ; 1
              @p26 BRA b5 ; 1
            b8: -> b9
              r28 = PRMT r27, 0x7710, RZ ; 2
              r29 = SHF.HI.R.U32 RZ, 0x4, r0 ; 2
              r30 = LOP3.LUT r29, 0xffff, RZ, #192, !PT ; 2
              r31 = LOP3.LUT r28, 0xffff, RZ, #192, !PT ; 2
              r32 = SHF.L.U32 r31, 0x10, RZ ; 2
              r33 = LOP3.LUT r30, r32, RZ, #252, !PT ; 2
            b9: -> b10
              u34 = Copy r9 ; 2
              u35 = Copy r11 ; 2
              u36 = Copy r5 ; 2
              u37 = Copy r33 ; 2
              UBLKCP.DST_G_BYTE_MASK.G.S_2 [^{u34 u35}], [^u36], u37 mem(generic rw ordered) ; 2
            b10: -> b11
              r38 = SHF.HI.R.U32 RZ, 0x4, r0 ; 3
              r39 = LOP3.LUT r38, 0xffff, RZ, #192, !PT ; 3
              p40 = Copy PT ; 3
            b11: -> b13 b12
              p41 = Copy !PT ; 3
              @p40 p41, URZ = ELECT PT ; 3
              @!p41 BRA b13 ; 3
            b12: -> b13
              u42 = Copy r9 ; 3
              u43 = Copy r11 ; 3
              u44 = Copy r5 ; 3
              u45 = Copy r39 ; 3
              UBLKRED.G.MIN.S64.STRONG.SYS.S_2 [^{u42 u43}], [^u44], u45 mem(generic rw ordered) ; 3
            b13: -> b11 b14
              p46, PT = PLOP3.LUT p40, !p41, PT, #128, #0 ; 3
              p40 = Copy p46 ; 3
              RZ, p47 = VOTE.ANY p46 ; 3
              @p47 BRA b11 ; 3
            b14:
              DEPBAR.LE SB0, #1 mem(generic rw ordered) ; 4
              EXIT ; 5
        "#]],
    );
}

#[test]
fn bytes_of_a_word() {
    check_for(
        "sm_120a",
        "add.sat.u8x4 %r0, %r1, %r2;
         sub.s8x4 %r3, %r1, %r2;
         neg.s8x4 %r4, %r1;
         max.relu.s8x4 %r5, %r1, %r2;
         add.sat.u16x2 %r6, %r1, %r2;
         add.sat.u32 %r7, %r1, %r2;",
        expect![[r#"
            kernel params=8 barriers=0
              value r0 = %1.0
              value r1 = %2.0
              value r2 = %0.0
              value r3 = %3.0
              value r4 = %4.0
              value r5 = %5.0
              value r6 = %6.0
              value r7 = %7.0
            b0:
              r2 = VIADD.ISAT.U8x4 r0, r1 ; 0
              r3 = VIADD.S8x4 r0, -r1 ; 1
              r4 = VIADD.S8x4 -r0, RZ ; 2
              r5 = VIMNMX.RELU.S8x4 r0, r1, !PT ; 3
              r6 = VIADD.16x2.ISAT r0, r1 ; 4
              r7 = VIADD.32.ISAT r0, r1 ; 5
              EXIT ; 6
        "#]],
    );
}

#[test]
fn pairs_of_narrow_numbers() {
    check_for(
        "sm_100a",
        "cvt.rn.satfinite.relu.e2m3x2.bf16x2 %h0, %r0;
         cvt.rn.satfinite.e2m1x2.f16x2 %y0, %r0;
         cvt.rn.bf16x2.e4m3x2 %r1, %h1;
         cvt.rn.satfinite.scaled::n2::ue8m0.bf16x2.e3m2x2 %r2, %h1, %h2;",
        expect![[r#"
            kernel params=8 barriers=0
              value r0 = %1.0
              value r1 = %0.0
              value r2 = %2.0
              value r3 = %4.0
              value r4 = %3.0
              value r5 = %6.0
              value r6 = %5.0
            b0:
              r1 = F2FP.BF16_2.E2M3.RELU.SATFINITE.UNPACK_B_MERGE_C r0, RZ ; 0
              r2 = F2FP.E2M1.F16_2.SATFINITE.UNPACK_B_MERGE_C r0, RZ ; 1
              r4 = F2FP.BF16.E4M3_2.UNPACK_B r3, 0x7f7f.H0 ; 2
              r6 = F2FP.BF16.E3M2_2.SATFINITE.UNPACK_B r3, r5.H0 ; 3
              EXIT ; 4
        "#]],
    );
}

#[test]
fn products_without_carries() {
    check_for(
        "sm_80",
        "clmad.hi.u64 %d0, %d1, %d2, 0;",
        expect![[r#"
        kernel params=8 barriers=0
          value r0 = %1.0
          value r1 = %1.1
          value r2 = %2.0
          value r3 = %2.1
          value r4 = %0.0
          value r5 = %0.1
        b0:
          {r4 r5} = CLMAD.HI {r0 r1}, {r2 r3}, RZ ; 0
          EXIT ; 1
    "#]],
    );
}

#[test]
fn columns_for_one_block_alone() {
    check_for(
        "sm_100a",
        "tcgen05.alloc.cta_group::1.exclusive.sync.aligned.shared::cta.b32 [%r0], 96;",
        expect![[r#"
            kernel params=8 barriers=0
              value r15 = %0.0
            b0: -> b6 b1
              r0 = S2R %(SR_CgaCtaId) ; 0
              r1 = SHF.L.U32 r0, 0x18, RZ ; 0
              WARPSYNC.ALL mem(generic rw ordered) ; 0
              r2 = LDS.U8 [r1+0x5c] mem(shared rw ordered) ; 0
              p3, PT = ISETP.AND.EQ.U32 r2, 0x1, PT ; 0
              @p3 BRA b6 ; 0
            b1: -> b7 b2
              p4, URZ = ELECT PT ; 0
              @!p4 BRA b7 ; 0
            b2: -> b3
            b3: -> b5 b4
              u5 = UMOV 0x10 ; 0
              DEPBAR.LE SB0, #54 mem(generic rw ordered) ; 0
              q6, u7 = UTCATOMSWS.FIND_AND_SET u5 mem(generic rw ordered) ; 0
              r8 = Copy u7 ; 0
              p9, PT = PLOP3.LUT PT, PT, q6, #128, #0 ; 0
              @!p9 BRA b5 ; 0
            b4: -> b7
              r10 = MOV 0xffff ; 0
              r11 = MOV 0x1 ; 0
              r12 = SHF.L.U32 r10, r8, RZ ; 0
              r13 = SHF.L.U32 r11, r8, RZ ; 0
              RZ = ATOMS.OR [r1+0x54], r12 mem(shared rw ordered) ; 0
              RZ = ATOMS.OR [r1+0x58], r13 mem(shared rw ordered) ; 0
              r14 = SHF.L.U32 r8, 0x5, RZ ; 0
              STS [r15], r14 mem(shared rw ordered) ; 0
              r16 = MOV 0x2 ; 0
              STS.U8 [r1+0x5c], r16 mem(shared rw ordered) ; 0
              BRA b7 ; 0
            b5: -> b3
              NANOSLEEP 0x64 mem(generic rw ordered) ; 0
              BRA b3 ; 0
            b6: -> b7
              r17 = MOV 0xffffffff ; 0
              STS [r15], r17 mem(shared rw ordered) ; 0
              BPT.TRAP #1 ; 0
            b7:
              WARPSYNC.ALL mem(generic rw ordered) ; 0
              EXIT ; 1
        "#]],
    );
}

#[test]
fn classes_of_tensor_maps() {
    check_for(
        "sm_90a",
        "tensormap.replace.tile.global_address.alloc_large.global.b1024.b64 [%d0], %d1;
         tensormap.query.alloc_class_large.global.b1024 %p0, [%d0];",
        expect![[r#"
            kernel params=8 barriers=0
              value r2 = %0.0
              value r3 = %0.1
              value r4 = %1.0
              value r5 = %1.1
              value p12 = %2.0
            b0:
              {u0 u1} = ULDC.64 c[0][0x208] ; 0
              STG.64.E desc{u0 u1}[{r2 r3}].64, {r4 r5} mem(global w) ; 0
              r6 = MOV 0x1 ; 0
              r7 = SHF.L.U32 r6, 0x15, RZ ; 0
              r8 = LDG.E desc{u0 u1}[{r2 r3}+0x8].64 mem(global r) ; 0
              r9 = LOP3.LUT r8, 0x200000, r7, #184, !PT ; 0
              STG.E desc{u0 u1}[{r2 r3}+0x8].64, r9 mem(global w) ; 0
              r10 = LDG.E desc{u0 u1}[{r2 r3}+0x8].64 mem(global r) ; 1
              r11 = LOP3.LUT r10, 0x200000, RZ, #192, !PT ; 1
              p12, PT = ISETP.AND.NE.U32 r11, RZ, PT ; 1
              EXIT ; 2
        "#]],
    );
}

#[test]
fn four_narrow_numbers() {
    check_for(
        "sm_103a",
        "sub.satfinite.e4m3x4.e2m1x4 %r0, %h0, %r1;
         mul.e5m2x4.e4m3x4.e3m2x4 %r2, %r1, %r3;
         fma.rn.satfinite.e4m3x4.e4m3x4.e5m2x4 %r4, %r1, %r2, %r3;",
        expect![[r#"
            kernel params=8 barriers=0
              value r0 = %1.0
              value r1 = %2.0
              value r2 = %0.0
              value r3 = %4.0
              value r4 = %3.0
              value r5 = %5.0
            b0:
              r2 = QADD4.E2M1x4_2.E4M3x4.SATFINITE r0.N3210, -r1.B3210 ; 0
              r4 = QMUL4.E3M2x4_3.E4M3x4_2.E5M2x4 r1.B3210, r3.B3210 ; 1
              r5 = QFMA4.E4M3x4.E4M3x4_2.E5M2x4_3.SATFINITE r1.B3210, r4.B3210, r3.B3210 ; 2
              EXIT ; 3
        "#]],
    );
}

#[test]
fn fixed_point_numbers() {
    check_for(
        "sm_120a",
        "cvt.rn.bf16x2.s2f6x2 %r0, %h0;
         cvt.rn.satfinite.relu.scaled::n2::ue8m0.bf16x2.s2f6x2 %r1, %h0, %h1;",
        expect![[r#"
            kernel params=8 barriers=0
              value r0 = %1.0
              value r1 = %0.0
              value r2 = %3.0
              value r3 = %2.0
            b0:
              r1 = F2FP.BF16.S2_6.UNPACK_B r0, 0x7f7f.H0 ; 0
              r3 = F2FP.BF16.RELU.S2_6.SATFINITE.UNPACK_B r0, r2.H0 ; 1
              EXIT ; 2
        "#]],
    );
}
