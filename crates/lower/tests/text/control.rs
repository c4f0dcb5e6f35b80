//! Branches, calls, barriers, operations of a warp.

use crate::{check, lowered};
use expect_test::expect;

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
              value p5 = %3.0
              value r6 = %4.0
              value r7 = %4.1
            b0:
              WARPSYNC.ALL ; 0
              p1, r2 = SHFL.BFLY r0, #16, #31 ; 0
              WARPSYNC r0 ; 1
              r3, PT = VOTE.ANY p1 ; 1
              r4 = LOP3.LUT r3, r0, RZ, #192, !PT ; 1
              r2 = Copy r4 ; 1
              WARPSYNC.ALL ; 2
              RZ, p1 = VOTE.ANY !p5 ; 2
              WARPSYNC.ALL ; 3
              p1, r2 = MATCH.ALL.U64 {r6 r7} ; 3
              WARPSYNC.ALL ; 4
              u8 = REDUX.MIN.S32 r0 ; 4
              r2 = Copy u8 ; 4
              WARPSYNC.ALL ; 5
              p1, URZ = ELECT PT ; 5
              WARPSYNC.ALL ; 5
              r9, PT = VOTE.ANY p1 ; 5
              r2 = FLO.U32 r9 ; 5
              r10 = MOV 0xf ; 6
              WARPSYNC r10 mem(generic rw ordered) ; 6
              EXIT ; 7
        "#]],
    );
}

#[test]
fn exchanges_under_opposite_guards_are_on_two_ways() {
    check(
        "@%p1 shfl.sync.bfly.b32 %r1, %r2, 16, 31, -1;
         add.u32 %r3, %r2, 1;
         @!%p1 shfl.sync.bfly.b32 %r1, %r3, 16, 31, -1;
         @%p1 vote.sync.ballot.b32 %r4, %p2, 15;
         @!%p1 vote.sync.ballot.b32 %r4, %p2, 240;",
        expect![[r#"
            kernel params=20 barriers=0
              value p0 = %0.0
              value r1 = %2.0
              value r2 = %3.0
              value r3 = %1.0
              value p5 = %5.0
              value r6 = %4.0
            b0: -> b2 b1
              @p0 BRA b2 ; 0
            b1: -> b3
              r2 = IADD3 r1, 0x1, RZ ; 1
              WARPSYNC.ALL ; 2
              PT, r3 = SHFL.BFLY r2, #16, #31 ; 2
              BRA b3 ; 2
            b2: -> b3
              WARPSYNC.ALL ; 0
              PT, r3 = SHFL.BFLY r1, #16, #31 ; 0
              r2 = IADD3 r1, 0x1, RZ ; 1
            b3:
              r4 = MOV 0xf ; 3
              @p0 WARPSYNC r4 ; 3
              @p0 r6, PT = VOTE.ANY p5 ; 3
              r7 = MOV 0xf0 ; 4
              @!p0 WARPSYNC r7 ; 4
              @!p0 r6, PT = VOTE.ANY p5 ; 4
              EXIT ; 5
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
fn what_is_not_supported() {
    check(
        "add.s32 %r1, %r2, %r3;
         alloca.u64 %d1, 16, 24;",
        expect![[r#"
            oriole::not-supported: an alignment that is no power of two (statement Some(1))
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
              symbol s0 shared "sv" align=16
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
fn register_counts_that_change() {
    let kernel = |bounds: &str| {
        format!(
            ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k() {bounds} {{\n\
             setmaxnreg.dec.sync.aligned.u32 40;\nsetmaxnreg.inc.sync.aligned.u32 232;\nret;\n}}"
        )
    };
    let text = lowered(&kernel(".maxntid 384, 1, 1 .minnctapersm 1"));
    expect![[r#"
        kernel params=0 barriers=0 registers=168 stated threads=384
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
    // The initial register count is unknown: the thread count alone does not determine it.
    for bounds in ["", ".maxntid 384, 1, 1", ".reqntid 256, 1, 1", ".minnctapersm 1"] {
        let text = lowered(&kernel(bounds));
        assert!(!text.contains("USETMAXREG") && text.contains("EXIT"), "{bounds}: {text}");
    }
    // No thread starts with more than the largest request, nor with more than fit.
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
