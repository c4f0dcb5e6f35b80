//! Tensor memory and its MMAs.

use crate::lowered_for;
use expect_test::{Expect, expect};

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
         tcgen05.ld.sync.aligned.16x32bx2.x2.b32 {%r0, %r1}, [%r0+16], 4;
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
              u4 = Copy r0 ; 1
              u5 = Copy r0 ; 1
              {r0 r2} = LDTM.16dp32bit_t0_t15.x2 [^u4+0x10] mem(generic rw ordered) ; 1
              {r0 r2} = LDTM.16dp32bit_t16_t31.x2 [^u5+0x14] mem(generic rw ordered) ; 1
              NOP mem(generic rw ordered) ; 2
              u6 = Copy r0 ; 3
              STTM.16dp32bit_t0_t15.x2 [^u6], {r2 r3} mem(generic rw ordered) ; 3
              u7 = Copy r0 ; 3
              STTM.16dp32bit_t16_t31.x2 [^u7+0x4], {r2 r3} mem(generic rw ordered) ; 3
              u8 = Copy r0 ; 4
              STTM.EXPAND16BIT.x4 [^u8], RZ mem(generic rw ordered) ; 4
              FENCE.ASYNC.T.VIEW mem(generic rw ordered) ; 5
              NOP mem(generic rw ordered) ; 6
              EXIT ; 7
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
              symbol s0 shared "sv" align=16
              value r21 = %0.0
            b0: -> b6 b1
              r0 = S2R %(SR_CgaCtaId) ; 0
              r1 = SHF.L.U32 r0, 0x18, RZ ; 0
              r2 = MOV low(s0) ; 0
              r3 = IADD3 r1, r2, RZ ; 0
              r4 = Copy RZ ; 0
              WARPSYNC.ALL mem(generic rw ordered) ; 0
              r5 = LDS.U8 [r1+0x5c] mem(shared rw ordered) ; 0
              p6, PT = ISETP.AND.EQ.U32 r5, 0x1, PT ; 0
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
              p3, PT = ISETP.AND.EQ.U32 r2, 0x1, PT ; 0
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
