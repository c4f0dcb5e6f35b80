//! Results of loads that are in flight while a tuple needs room: another value makes way, because a move of theirs
//! would wait for memory.
//!
//! It is here because it shows in the time only, and no checker finds it.

use super::written::show;
use expect_test::expect;

/// A pair needs room where each pair of registers holds one value. `LOAD` is written by what may take long.
const FULL: &str = "kernel params=24 barriers=0
b0:
  {r0 r1} = LDC.64 c[0][0x210] ; 0
  r2 = LDC c[0][0x218] ; 0
  r10 LOAD ; 1
  r11 = IADD3 r2, 0x2, RZ ; 2
  r12 LOAD ; 1
  r13 = IADD3 r2, 0x2, RZ ; 2
  r14 LOAD ; 1
  r15 = IADD3 r2, 0x2, RZ ; 2
  r16 LOAD ; 1
  r17 = IADD3 r2, 0x2, RZ ; 2
  r18 LOAD ; 1
  r19 = IADD3 r2, 0x2, RZ ; 2
  r20 LOAD ; 1
  r21 = IADD3 r2, 0x2, RZ ; 2
  r22 LOAD ; 1
  r23 = IADD3 r2, 0x2, RZ ; 2
  r24 LOAD ; 1
  r25 = IADD3 r2, 0x2, RZ ; 2
  r26 = IADD3 r2, 0x1, RZ ; 1
  r27 = IADD3 r2, 0x2, RZ ; 2
  STS [0x0], r11 mem(shared w) ; 3
  STS [0x0], r13 mem(shared w) ; 3
  STS [0x0], r15 mem(shared w) ; 3
  STS [0x0], r17 mem(shared w) ; 3
  STS [0x0], r19 mem(shared w) ; 3
  STS [0x0], r21 mem(shared w) ; 3
  STS [0x0], r23 mem(shared w) ; 3
  STS [0x0], r25 mem(shared w) ; 3
  STS [0x0], r27 mem(shared w) ; 3
  {r60 r61} = IMAD.WIDE r2, 0x4, {r0 r1} ; 4
  r62 = LDG.E [{r60 r61}] mem(global r) ; 5
  STS [0x0], r10 mem(shared w) ; 6
  STS [0x0], r12 mem(shared w) ; 6
  STS [0x0], r14 mem(shared w) ; 6
  STS [0x0], r16 mem(shared w) ; 6
  STS [0x0], r18 mem(shared w) ; 6
  STS [0x0], r20 mem(shared w) ; 6
  STS [0x0], r22 mem(shared w) ; 6
  STS [0x0], r24 mem(shared w) ; 6
  STS [0x0], r26 mem(shared w) ; 6
  STS [0x0], r62 mem(shared w) ; 6
  {r63 r64} = IMAD.WIDE r2, 0x4, {r0 r1} ; 7
  STG.E [{r63 r64}], r2 mem(global w) ; 8
  EXIT ; 9
";

/// The sum moves, none of the eight loads.
#[test]
fn a_load_in_flight_stays_where_it_is() {
    show(
        &FULL.replace(" LOAD", " = LDG.E [{r0 r1}] mem(global r)"),
        Some(24),
        expect![[r#"
            registers=24 frame=0
            kernel params=24 barriers=0
            b0:
              {r2 r3} = LDC.64 c[0][0x210] ; 0
              r0 = LDC c[0][0x218] ; 0
              r4 = LDG.E [{r2 r3}] mem(global r) ; 1
              r5 = IADD3 r0, 0x2, RZ ; 2
              r6 = LDG.E [{r2 r3}] mem(global r) ; 1
              r7 = IADD3 r0, 0x2, RZ ; 2
              r8 = LDG.E [{r2 r3}] mem(global r) ; 1
              r9 = IADD3 r0, 0x2, RZ ; 2
              r10 = LDG.E [{r2 r3}] mem(global r) ; 1
              r11 = IADD3 r0, 0x2, RZ ; 2
              r12 = LDG.E [{r2 r3}] mem(global r) ; 1
              r13 = IADD3 r0, 0x2, RZ ; 2
              r14 = LDG.E [{r2 r3}] mem(global r) ; 1
              r15 = IADD3 r0, 0x2, RZ ; 2
              r16 = LDG.E [{r2 r3}] mem(global r) ; 1
              r17 = IADD3 r0, 0x2, RZ ; 2
              r18 = LDG.E [{r2 r3}] mem(global r) ; 1
              r19 = IADD3 r0, 0x2, RZ ; 2
              r20 = IADD3 r0, 0x1, RZ ; 1
              r21 = IADD3 r0, 0x2, RZ ; 2
              STS [0x0], r5 mem(shared w) ; 3
              STS [0x0], r7 mem(shared w) ; 3
              STS [0x0], r9 mem(shared w) ; 3
              STS [0x0], r11 mem(shared w) ; 3
              STS [0x0], r13 mem(shared w) ; 3
              STS [0x0], r15 mem(shared w) ; 3
              STS [0x0], r17 mem(shared w) ; 3
              STS [0x0], r19 mem(shared w) ; 3
              STS [0x0], r21 mem(shared w) ; 3
              r5 = Copy r20 ; 4
              {r20 r21} = IMAD.WIDE r0, 0x4, {r2 r3} ; 4
              r7 = LDG.E [{r20 r21}] mem(global r) ; 5
              STS [0x0], r4 mem(shared w) ; 6
              STS [0x0], r6 mem(shared w) ; 6
              STS [0x0], r8 mem(shared w) ; 6
              STS [0x0], r10 mem(shared w) ; 6
              STS [0x0], r12 mem(shared w) ; 6
              STS [0x0], r14 mem(shared w) ; 6
              STS [0x0], r16 mem(shared w) ; 6
              STS [0x0], r18 mem(shared w) ; 6
              STS [0x0], r5 mem(shared w) ; 6
              STS [0x0], r7 mem(shared w) ; 6
              {r2 r3} = IMAD.WIDE r0, 0x4, {r2 r3} ; 7
              STG.E [{r2 r3}], r0 mem(global w) ; 8
              EXIT ; 9
        "#]],
    );
}

/// The same of fetches from textures.
#[test]
fn a_texel_in_flight_stays_where_it_is() {
    let fetches: String = FULL
        .lines()
        .map(|line| match line.strip_suffix(" LOAD ; 1") {
            Some(texel) => format!("  PT, RZ, {} = TLD.B.LZ r2, r2, %(1D), #1 ; 1\n", texel.trim()),
            None => format!("{line}\n"),
        })
        .collect();
    show(
        &fetches,
        Some(24),
        expect![[r#"
        registers=24 frame=0
        kernel params=24 barriers=0
        b0:
          {r2 r3} = LDC.64 c[0][0x210] ; 0
          r0 = LDC c[0][0x218] ; 0
          u260 = Copy r0 ; 1
          u261 = Copy URZ ; 1
          PT, RZ, r4 = TLD.LZ r0, RZ, {u260 u261}, #0, %(1D), #1 ; 1
          r5 = IADD3 r0, 0x2, RZ ; 2
          u260 = Copy r0 ; 1
          u261 = Copy URZ ; 1
          PT, RZ, r6 = TLD.LZ r0, RZ, {u260 u261}, #0, %(1D), #1 ; 1
          r7 = IADD3 r0, 0x2, RZ ; 2
          u260 = Copy r0 ; 1
          u261 = Copy URZ ; 1
          PT, RZ, r8 = TLD.LZ r0, RZ, {u260 u261}, #0, %(1D), #1 ; 1
          r9 = IADD3 r0, 0x2, RZ ; 2
          u260 = Copy r0 ; 1
          u261 = Copy URZ ; 1
          PT, RZ, r10 = TLD.LZ r0, RZ, {u260 u261}, #0, %(1D), #1 ; 1
          r11 = IADD3 r0, 0x2, RZ ; 2
          u260 = Copy r0 ; 1
          u261 = Copy URZ ; 1
          PT, RZ, r12 = TLD.LZ r0, RZ, {u260 u261}, #0, %(1D), #1 ; 1
          r13 = IADD3 r0, 0x2, RZ ; 2
          u260 = Copy r0 ; 1
          u261 = Copy URZ ; 1
          PT, RZ, r14 = TLD.LZ r0, RZ, {u260 u261}, #0, %(1D), #1 ; 1
          r15 = IADD3 r0, 0x2, RZ ; 2
          u260 = Copy r0 ; 1
          u261 = Copy URZ ; 1
          PT, RZ, r16 = TLD.LZ r0, RZ, {u260 u261}, #0, %(1D), #1 ; 1
          r17 = IADD3 r0, 0x2, RZ ; 2
          u260 = Copy r0 ; 1
          u261 = Copy URZ ; 1
          PT, RZ, r18 = TLD.LZ r0, RZ, {u260 u261}, #0, %(1D), #1 ; 1
          r19 = IADD3 r0, 0x2, RZ ; 2
          r20 = IADD3 r0, 0x1, RZ ; 1
          r21 = IADD3 r0, 0x2, RZ ; 2
          STS [0x0], r5 mem(shared w) ; 3
          STS [0x0], r7 mem(shared w) ; 3
          STS [0x0], r9 mem(shared w) ; 3
          STS [0x0], r11 mem(shared w) ; 3
          STS [0x0], r13 mem(shared w) ; 3
          STS [0x0], r15 mem(shared w) ; 3
          STS [0x0], r17 mem(shared w) ; 3
          STS [0x0], r19 mem(shared w) ; 3
          STS [0x0], r21 mem(shared w) ; 3
          r5 = Copy r20 ; 4
          {r20 r21} = IMAD.WIDE r0, 0x4, {r2 r3} ; 4
          r7 = LDG.E [{r20 r21}] mem(global r) ; 5
          STS [0x0], r4 mem(shared w) ; 6
          STS [0x0], r6 mem(shared w) ; 6
          STS [0x0], r8 mem(shared w) ; 6
          STS [0x0], r10 mem(shared w) ; 6
          STS [0x0], r12 mem(shared w) ; 6
          STS [0x0], r14 mem(shared w) ; 6
          STS [0x0], r16 mem(shared w) ; 6
          STS [0x0], r18 mem(shared w) ; 6
          STS [0x0], r5 mem(shared w) ; 6
          STS [0x0], r7 mem(shared w) ; 6
          {r2 r3} = IMAD.WIDE r0, 0x4, {r2 r3} ; 7
          STG.E [{r2 r3}], r0 mem(global w) ; 8
          EXIT ; 9
    "#]],
    );
}
