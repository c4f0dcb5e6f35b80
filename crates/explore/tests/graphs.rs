//! Graphs for Graphviz: of machine code and of the intermediate representation, with the same marks.

use crate::support::code;
use expect_test::expect;
use oriole_explore::{dot, ori_dot};

const LOOP: &str = "\
.version 8.0
.target sm_90
.address_size 64
.func (.param .b32 r) half(.param .b32 a)
{
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [a];
  shr.u32 %r2, %r1, 1;
  st.param.b32 [r], %r2;
  ret;
}
.visible .entry count(.param .u64 p, .param .u32 n)
{
  .reg .pred %q;
  .reg .b32 %r<5>;
  .reg .b64 %a;
  ld.param.u64 %a, [p];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, 0;
LOOP:
  call (%r1), half, (%r1);
  add.u32 %r2, %r2, 1;
  setp.ne.u32 %q, %r1, 0;
  @%q bra LOOP;
  st.global.u32 [%a], %r2;
  ret;
}
";

#[test]
fn graph_of_machine_code() {
    let code = code(LOOP);
    let graphs: String =
        code.kernels.iter().map(|kernel| dot(kernel, &format!("\"{}\"", kernel.name))).collect();
    expect![[r#"
        digraph "\"count\"" {
          node [shape=box fontname="monospace" fontsize=10]
          b0 [label="B0\l/*0000*/ LDC R1, c[0x0][0x28]\l/*0010*/ LDC R0, c[0x0][0x218]\l/*0020*/ BSSY B6, 0xd0\l/*0030*/ MOV R2, RZ\l"]
          b1 [label="B1  in 1 loop\l/*0040*/ IMAD.MOV.U32 R20, RZ, RZ, 0x80\l/*0050*/ IMAD.MOV.U32 R21, RZ, RZ, 0x0\l/*0060*/ MOV R4, R0\l/*0070*/ CALL.REL.NOINC 0x100\l"]
          b2 [label="B2  in 1 loop\l/*0080*/ ISETP.NE.U32.AND P0, PT, R4, RZ, PT\l/*0090*/ IADD3 R2, R2, 0x1, RZ\l/*00a0*/ MOV R0, R4\l/*00b0*/ @P0 BRA 0x40\l"]
          b3 [label="B3\l/*00c0*/ BSYNC B6\l/*00d0*/ LDC.64 R4, c[0x0][0x210]\l/*00e0*/ STG.E [R4], R2\l/*00f0*/ EXIT\l"]
          b4 [label="B4  half\l/*0100*/ SHF.R.U32.HI R4, RZ, 0x1, R4\l/*0110*/ RET.REL.NODEC R20 0x0\l"]
          b0 -> b1
          b1 -> b2
          b1 -> b4 [style=dashed]
          b2 -> b1 [style=bold]
          b2 -> b3
        }
    "#]].assert_eq(&graphs);
}

#[test]
fn graph_of_the_representation() {
    let function = oriole_ori::parse(
        "
kernel
b0: -> b1
b1: -> b1 b3
  r0 = IADD3 r0, -0x1, RZ ; 0
  p1, PT = ISETP.NE.AND r0, RZ, PT ; 1
  @p1 BRA b1 ; 2
b2: -> b3
  BRA b3 ; 3
b3:
  EXIT ; 4
",
    );
    expect![[r#"
        digraph "k" {
          node [shape=box fontname="monospace" fontsize=10]
          b0 [label="b0\l"]
          b1 [label="b1  in 1 loop\lr0 = IADD3 r0, -0x1, RZ ; 0\lp1, PT = ISETP.AND.NE r0, RZ, PT ; 1\l@p1 BRA b1 ; 2\l"]
          b2 [label="b2\lBRA b3 ; 3\l" style=dashed]
          b3 [label="b3\lEXIT ; 4\l"]
          b0 -> b1
          b1 -> b1 [style=bold]
          b1 -> b3
          b2 -> b3
        }
    "#]].assert_eq(&ori_dot("k", &function.expect("Ori")));
}
