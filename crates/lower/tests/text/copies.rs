//! Asynchronous copies, and the mbarriers that signal their completion.

use crate::{check, lowered};
use expect_test::expect;

/// No uniform register holds a descriptor in a function with calls, and the copy has no form without the width of its
/// address.
#[test]
fn copies_to_shared_memory_beside_calls() {
    check(
        "cp.async.ca.shared.global [sv], [%d1], 8;
         call (%r1), callee, (%r2, %d2);",
        expect![[r#"
            kernel params=20 barriers=0
              symbol s0 shared "sv" align=16
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
              value r18 = %4.1
              value r19 = %4.0
              value r22 = %5.0
              value p23 = %6.0
              value r24 = %7.0
              value r26 = %8.0
              value r29 = %9.0
            b0: -> b2 b1
              r0 = MOV 0x1ffffa ; 0
              r1 = MOV 0x7fffe800 ; 0
              URZ:2 = SYNCS.64.EXCH [r2], {r0 r1} mem(generic rw ordered object initialize) ; 0
              @!p3 BRA b2 ; 1
            b1: -> b2
              r5 = IADD3 -r4, 0x100000, RZ ; 1
              r6 = SHF.L.U32 r5, 0x1, RZ ; 1
              r7 = SHF.L.U32 r5, 0xb, RZ ; 1
              URZ:2 = SYNCS.64.EXCH [r2+0x8], {r6 r7} mem(generic rw ordered object initialize) ; 1
            b2: -> b3
              {r8 r9} = SYNCS.A1T0.ARRIVE.TRANS64 [r2], RZ mem(generic rw ordered object arrive) ; 2
              MEMBAR.ALL.CTA mem(generic rw ordered) ; 3
              MEMBAR.ALL.GPU mem(generic rw ordered) ; 3
              ERRBAR mem(generic rw ordered) ; 3
              CGAERRBAR mem(generic rw ordered) ; 3
              r10 = MOV 0x2 ; 3
              RZ:2 = SYNCS.ARRIVE.ART0.TRANS64 [r2], r10 mem(generic rw ordered object arrive) ; 3
              RZ:2 = SYNCS.A1T0.ARRIVE.OPTOUT.RED.TRANS64 [r2], RZ mem(generic rw ordered object drop) ; 4
            b3: -> b4
              r11 = Copy r4 ; 5
              {r12 r13} = SYNCS.ARRIVE.ART0.TMASK.TRANS64 [r2], r11 mem(generic rw ordered object arrive_incomplete) ; 5
            b4:
              r14 = S2R %(SR_LTMASK) ; 5
              r15 = LOP3.LUT r12, r14, RZ, #192, !PT ; 5
              r16 = POPC r15 ; 5
              r17 = SHF.L.U32 r16, 0xb, RZ ; 5
              r18 = IMAD r17, r11, r13 ; 5
              r19 = Copy r12 ; 5
              RZ:2 = SYNCS.ARRIVE.TRANS64 [r2], r4 mem(generic rw ordered) ; 6
              r20 = MOV 0x10 ; 7
              RZ:2 = SYNCS.A0TR.ARRIVE.RED.TRANS64 [r2], r20 mem(generic rw ordered object expect_bytes) ; 7
              r21 = MOV 0x10 ; 8
              RZ:2 = SYNCS.A0TX.ARRIVE.RED.TRANS64 [r22+0x8], r21 mem(generic rw ordered object complete_bytes) ; 8
              p23 = SYNCS.PHASECHK.TRANS64 [r2], r9 mem(generic rw ordered object test_state) ; 9
              r25 = SHF.L.U32 r24, 0x1f, RZ ; 10
              p23 = SYNCS.PHASECHK.TRANS64.TRYWAIT [r2], r25 mem(generic rw ordered object try_parity) ; 10
              @!p23 NANOSLEEP.SYNCS r26 mem(generic rw ordered) ; 10
              @!p23 p23 = SYNCS.PHASECHK.TRANS64 [r2], r25 mem(generic rw ordered) ; 10
              @p23 CCTL.IVALL mem(generic rw ordered) ; 10
              r27 = SHF.HI.R.U32 RZ, 0xb, r9 ; 11
              r28 = LOP3.LUT r27, 0xfffff, RZ, #192, !PT ; 11
              r29 = IADD3 -r28, 0x100000, RZ ; 11
              RZ:2 = SYNCS.A0T1.ARRIVE.RED.TRANS64 [r2], RZ mem(generic rw ordered) ; 12
              ARRIVES.64.LDGSTSBAR.TRANSCNT [r2] mem(generic rw ordered object copies_arrive) ; 12
              ARRIVES.64.ARVCNT.LDGSTSBAR [r2] mem(generic rw ordered object copies_arrive) ; 13
              SYNCS.CCTL.IV [r2] mem(generic rw ordered object invalidate) ; 14
              EXIT ; 15
        "#]],
    );
}

/// Lanes with different amounts execute a waterfall loop; one amount for all needs none.
#[test]
fn shares_of_arrivals() {
    check(
        "mbarrier.arrive.noComplete.shared.b64 %d1, [%r1], 2;
         @%p1 mbarrier.arrive_drop.noComplete.shared.b64 %d2, [%r1], %r2;
         mbarrier.arrive.noComplete.shared.b64 _, [%r1], %r2;",
        expect![[r#"
            kernel params=20 barriers=0
              value r1 = %1.0
              value r8 = %0.1
              value r9 = %0.0
              value p10 = %2.0
              value r11 = %4.0
              value r19 = %3.1
              value r20 = %3.0
            b0: -> b1
            b1: -> b2
              r0 = MOV 0x2 ; 0
              {r2 r3} = SYNCS.ARRIVE.ART0.TMASK.TRANS64 [r1], r0 mem(generic rw ordered object arrive_incomplete) ; 0
            b2: -> b6 b3
              r4 = S2R %(SR_LTMASK) ; 0
              r5 = LOP3.LUT r2, r4, RZ, #192, !PT ; 0
              r6 = POPC r5 ; 0
              r7 = SHF.L.U32 r6, 0xb, RZ ; 0
              r8 = IMAD r7, r0, r3 ; 0
              r9 = Copy r2 ; 0
              @!p10 BRA b6 ; 1
            b3: -> b4
            b4: -> b5
              r12 = Copy r11 ; 1
              {r13 r14} = SYNCS.ARRIVE.ART0.OPTOUT.TMASK.TRANS64 [r1], r12 mem(generic rw ordered object drop_incomplete) ; 1
            b5: -> b6
              r15 = S2R %(SR_LTMASK) ; 1
              r16 = LOP3.LUT r13, r15, RZ, #192, !PT ; 1
              r17 = POPC r16 ; 1
              r18 = SHF.L.U32 r17, 0xb, RZ ; 1
              r19 = IMAD r18, r12, r14 ; 1
              r20 = Copy r13 ; 1
            b6:
              RZ:2 = SYNCS.ARRIVE.ART0.TRANS64 [r1], r11 mem(generic rw ordered object arrive_incomplete) ; 2
              EXIT ; 3
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
              symbol s0 shared "sv" align=16
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

/// The zero that an election starts from may be in a register that is overwritten later, and the lane mask too: a
/// library writes its election like that.
#[test]
fn an_election_starts_from_what_was_written_last() {
    let elections = |zero: &str, mask: &str| {
        let text = format!(
            ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u32 p1) {{\n\
             .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<9>;\n\
             ld.param.u32 %r1, [p1]; mov.u32 %r2, %tid.x; mov.u32 %r6, {mask};\n\
             again: add.u32 %r2, %r2, %r1; setp.lt.u32 %p4, %r2, 5; @%p4 bra done;\n\
             mov.u32 %r3, {zero}; mov.u32 %r4, %r3;\n\
             elect.sync %r5|%p1, %r6; @%p1 mov.u32 %r4, 1; mov.u32 %r3, %r5;\n\
             setp.ne.u32 %p2, %r4, 0; setp.eq.u32 %p3, %r1, 0; @%p3 bra over; add.u32 %r5, %r1, 1;\n\
             over: @!%p2 bra done;\n\
             cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%d1], [%r5], 64;\n\
             setp.lt.u32 %p6, %r2, 90; @%p6 bra again; done: ret;\n}}"
        );
        lowered(&text).matches("ELECT").count()
    };
    assert_eq!(elections("0", "-1"), 1);
    assert_eq!(elections("1", "-1"), 2, "all lanes have a one");
    assert_eq!(elections("0", "0xffff"), 2, "half of the lanes do not wait");
}

/// An election in another block counts if the whole warp executed it together: no lane has an outcome from another
/// time.
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
              symbol s0 shared "sv" align=16
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

/// The encodings of the last types are not their indices. As ptxas has them.
#[test]
fn element_types_of_tensor_maps() {
    check(
        "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r1], 10;
         tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r1], 12;
         tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r1], 13;
         tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r1], 15;",
        expect![[r#"
            kernel params=20 barriers=0
              value r1 = %0.0
            b0:
              r0 = MOV 0x500 ; 0
              r2 = LDS [r1+0x8] mem(shared r) ; 0
              r3 = LOP3.LUT r2, 0x780, r0, #184, !PT ; 0
              STS [r1+0x8], r3 mem(shared w) ; 0
              r4 = MOV 0x10400 ; 1
              r5 = LDS [r1+0x8] mem(shared r) ; 1
              r6 = LOP3.LUT r5, 0x10780, r4, #184, !PT ; 1
              STS [r1+0x8], r6 mem(shared w) ; 1
              r7 = MOV 0x580 ; 2
              r8 = LDS [r1+0x8] mem(shared r) ; 2
              r9 = LOP3.LUT r8, 0x780, r7, #184, !PT ; 2
              STS [r1+0x8], r9 mem(shared w) ; 2
              r10 = MOV 0x680 ; 3
              r11 = LDS [r1+0x8] mem(shared r) ; 3
              r12 = LOP3.LUT r11, 0x780, r10, #184, !PT ; 3
              STS [r1+0x8], r12 mem(shared w) ; 3
              EXIT ; 4
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
              symbol s0 shared "sv" align=16
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
