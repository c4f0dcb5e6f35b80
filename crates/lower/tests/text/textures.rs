//! Textures and surfaces.

use crate::{check, lowered};
use expect_test::expect;

/// A variable or parameter of an opaque type has no memory.
#[test]
fn textures_have_no_address() {
    for (parameter, value, name) in [("", "g+4", "g"), (".param .texref t", "t+4", "t")] {
        let text = format!(
            ".version 8.6\n.target sm_90, texmode_unified\n.address_size 64\n.global .texref g;\n\
             .entry k({parameter}) {{ .reg .b64 h; mov.u64 h, {value}; st.global.u64 [h], h; ret; }}"
        );
        let found = lowered(&text);
        assert!(found.contains("oriole::not-supported") && found.contains(&format!("`{name}`")), "{found}");
    }
}

/// The handle of a variable: the index of its header, and a bit for its kind.
#[test]
fn handles_of_variables_are_values() {
    let text = ".version 8.6\n.target sm_90, texmode_independent\n.address_size 64\n.global .texref t;\n\
                .global .samplerref s;\n.global .surfref f;\n.entry k() { .reg .b64 a, b; .reg .pred p;\n\
                mov.u64 a, t; mov.u64 b, s; @p mov.u64 a, f; st.global.u64 [a], b; ret; }";
    expect![[r#"
        kernel params=0 barriers=0
          symbol s0 opaque "t"
          symbol s1 opaque "s"
          symbol s2 opaque "f"
          value r5 = %0.0
          value r6 = %0.1
          value r7 = %1.0
          value r8 = %1.1
          value p9 = %2.0
        b0:
          r0 = LDC c[0][header s0] ; 0
          r1 = LDC c[0][header s1] ; 1
          r2 = LDC c[0][header s2] ; 2
          {u3 u4} = ULDC.64 c[0][0x208] ; 3
          r5 = Copy r0 ; 0
          r6 = MOV 0x20000000 ; 0
          r7 = Copy r1 ; 1
          r8 = MOV 0x40000000 ; 1
          @p9 r5 = Copy r2 ; 2
          @p9 r6 = MOV 0x80000000 ; 2
          STG.64.E desc{u3 u4}[{r5 r6}].64, {r7 r8} mem(global w) ; 3
          EXIT ; 4
    "#]]
    .assert_eq(&lowered(text));
}

/// A parameter of an opaque type has no bytes among the parameters, but a slot like that of a variable.
#[test]
fn opaque_parameters_have_headers() {
    let text = ".version 8.6\n.target sm_90\n.address_size 64\n\
                .entry k(.param .u32 a, .param .texref t, .param .u32 b, .param .surfref f) {\n\
                .reg .b64 d; .reg .b32 r; .reg .b32 x, y;\n\
                mov.u64 d, t; suq.width.b32 r, [f]; ld.param.u32 x, [a]; ld.param.u32 y, [b]; st.global.u64 [d], d; ret; }";
    expect![[r#"
        kernel params=8 barriers=0
          symbol s0 opaque_parameter(1) "t"
          symbol s1 opaque_parameter(3) "f"
          value r5 = %0.0
          value r6 = %0.1
          value r8 = %1.0
          value r9 = %2.0
          value r10 = %3.0
        b0:
          r0 = LDC c[0][header s0] ; 0
          r1 = LDC c[0][header s1] ; 1
          u2 = ULDC c[0][header s1] ; 1
          {u3 u4} = ULDC.64 c[0][0x208] ; 4
          r5 = Copy r0 ; 0
          r6 = MOV 0x20000000 ; 0
          r7 = Copy RZ ; 1
          RZ, r8 = TXQ r7, %(TEX_HEADER_DIMENSION), u2, #0, #1 ; 1
          r9 = LDC c[0][0x210] ; 2
          r10 = LDC c[0][0x214] ; 3
          STG.64.E desc{u3 u4}[{r5 r6}].64, {r5 r6} mem(global w) ; 4
          EXIT ; 5
    "#]]
    .assert_eq(&lowered(text));
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
              value r43 = %5.0
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
              r37 = Copy RZ ; 1
              RZ, r38 = TXQ.B {r3 r37}, %(TEX_HEADER_DIMENSION), #8 ; 1
              r39 = IADD3 r38, 0xffffffff, RZ ; 1
              r40 = FADD r36, 0x3f000000 ; 1
              r41 = F2I.NTZ.TRUNC.U32 r40 ; 1
              r42 = VIMNMX.U32 r41, r39, PT ; 1
              PT, RZ, r44 = TLD.B.CL.LL r43, {r3 r42}, %(1D), #1 ; 1
              r12 = Copy r44 ; 1
              r45 = MOV low(s0) ; 2
              {r46 r47} = LDC.64 c[0][0xf0] ; 2
              {r48 r49} = IMAD.U32.WIDE r3, r45, {r46 r47} ; 2
              r43 = LDG.CONSTANT.E desc{u0 u1}[{r48 r49}+0x2c].64 mem(global r) ; 2
              r50 = MOV low(s1) ; 3
              {r51 r52} = LDC.64 c[0][0x100] ; 3
              {r53 r54} = IMAD.U32.WIDE r3, r50, {r51 r52} ; 3
              r43 = LDG.CONSTANT.E desc{u0 u1}[{r53 r54}+0x14].64 mem(global r) ; 3
              EXIT ; 4
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
