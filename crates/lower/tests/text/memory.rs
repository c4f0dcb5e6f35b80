//! Loads, stores, atomic operations, the stack, hints to caches.

use crate::check;
use expect_test::expect;

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

/// An unread old value is not requested, unless an acquire waits for it; an unread increment of a shared-memory word
/// uses the counting form.
#[test]
fn old_values_that_nothing_reads() {
    check(
        "atom.global.add.u32 %r1, [%d1], 5;
         atom.global.acquire.gpu.add.u32 %r2, [%d1], 5;
         atom.shared.add.u32 %r3, [sv], 1;
         atom.shared.add.u32 %r4, [sv], 2;
         red.shared.add.u32 [sv+4], 1;
         red.shared.add.s32 [sv+8], 1;
         atom.shared.add.u32 %r5, [sv], 1;
         st.shared.u32 [sv], %r5;",
        expect![[r#"
            kernel params=20 barriers=0
              symbol s0 shared "sv" align=16
              value r5 = %1.0
              value r6 = %1.1
              value r8 = %2.0
              value r14 = %5.0
            b0:
              {u0 u1} = ULDC.64 c[0][0x208] ; 0
              r2 = S2R %(SR_CgaCtaId) ; 2
              r3 = SHF.L.U32 r2, 0x18, RZ ; 2
              r4 = MOV 0x5 ; 0
              REDG.ADD.E.GPU.STRONG desc{u0 u1}[{r5 r6}].64, r4 mem(global rw ordered) ; 0
              r7 = MOV 0x5 ; 1
              PT, r8 = ATOMG.ADD.E.GPU.STRONG desc{u0 u1}[{r5 r6}].64, r7 mem(global rw ordered) ; 1
              CCTL.IVALL mem(generic rw ordered) ; 1
              r9 = MOV 0x1 ; 2
              RZ = ATOMS.32.INC.POPC [r3+s0] mem(shared rw ordered) ; 2
              r10 = MOV 0x2 ; 3
              RZ = ATOMS.ADD [r3+s0], r10 mem(shared rw ordered) ; 3
              r11 = MOV 0x1 ; 4
              RZ = ATOMS.32.INC.POPC [r3+s0+0x4] mem(shared rw ordered) ; 4
              r12 = MOV 0x1 ; 5
              RZ = ATOMS.ADD [r3+s0+0x8], r12 mem(shared rw ordered) ; 5
              r13 = MOV 0x1 ; 6
              r14 = ATOMS.ADD [r3+s0], r13 mem(shared rw ordered) ; 6
              STS [r3+s0], r14 mem(shared w) ; 7
              EXIT ; 8
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
              symbol s0 shared "sv" align=16
              symbol s1 local(0) "lv"
              symbol s2 constant "cv" align=4
              symbol s3 global "gv" align=4
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
              value r5 = %2.0
              value r6 = %2.1
              value r7 = %3.0
              value r8 = %3.1
              value r9 = %4.0
              value r10 = %4.1
              value r11 = %5.0
              value r12 = %5.1
              value r13 = %6.0
              value r14 = %7.0
              value r15 = %0.0
            b0:
              {u0 u1} = ULDC.64 c[0][0x208] ; 0
              r2 = MOV 0x1 ; 0
              REDG.ADD.E.GPU.STRONG desc{u0 u1}[{r3 r4}+0x4].64, r2 mem(global rw ordered) ; 0
              REDG.ADD.E.F64.GPU.RN.STRONG desc{u0 u1}[{r3 r4}].64, {r5 r6} mem(global rw ordered) ; 1
              PT, {r3 r4} = ATOMG.64.CAS.E.GPU.STRONG [{r7 r8}], {r9 r10}, {r11 r12} mem(global rw ordered) ; 2
              RZ = ATOMS.MIN.S32 [r13], r14 mem(shared rw ordered) ; 3
              {r3 r4} = ATOMS.64.EXCH [r13], {r9 r10} mem(shared rw ordered) ; 4
              MEMBAR.ALL.GPU mem(generic rw ordered) ; 5
              ERRBAR mem(generic rw ordered) ; 5
              CGAERRBAR mem(generic rw ordered) ; 5
              PT, r15 = ATOMG.E.GPU.OR.STRONG desc{u0 u1}[{r3 r4}].64, r13 mem(global rw ordered) ; 5
              CCTL.IVALL mem(generic rw ordered) ; 5
              PT, RZ = ATOM.ADD.E.GPU.STRONG desc{u0 u1}[{r3 r4}].64, r13 mem(generic rw ordered) ; 6
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
              value r19 = %4.0
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
              p18, RZ = QSPC.E.S [{r2 r10}] ; 1
              @p18 BRA b5 ; 1
            b4: -> b8
              REDG.ADD.E.F32.FTZ.GPU.RN.STRONG desc{u0 u1}[{r2 r10}].64, r19 mem(global rw ordered) ; 1
              r20 = Copy RZ ; 1
              r21 = Copy r20 ; 1
              BRA b8 ; 1
            b5: -> b6
            b6: -> b6 b7
              r22 = LDS [r2] mem(shared r ordered) ; 1
              r23 = FADD r22, r19 ; 1
              r24 = ATOMS.CAST.SPIN [r2], r22, r23 mem(shared rw ordered) ; 1
              p25, PT = ISETP.AND.EQ.U32 r24, 0x1, PT ; 1
              @!p25 BRA b6 ; 1
            b7: -> b8
              r21 = Copy r22 ; 1
            b8:
              EXIT ; 2
        "#]],
    );
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
