//! Matrix multiplies in registers, by warps and warp groups.

use crate::{check, lowered_for};
use expect_test::expect;
use oriole_chip::Chip;

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

/// Four-bit integer multiplies are one instruction each where the chip has it.
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
