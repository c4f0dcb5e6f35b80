//! Control words of small pieces of code, as text before and after; orders of small blocks.

use crate::{before_allocation, control_words};
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_options::{Options, ScheduleOptions};
use oriole_ori::{BlockId, MachineBlock, MachineFunction, MachineInstruction, Origin};
use oriole_sass::{Style, parse, text};

fn options() -> ScheduleOptions {
    Options::default().schedule()
}

/// Blocks stand one after the other, `-> n ...` at the head of each names its successors. Printed are wait mask, read
/// and write scoreboard, yield, stall.
fn words(input: &str, options: ScheduleOptions, expected: Expect) {
    let mut function = MachineFunction::default();
    for line in input.lines().map(str::trim).filter(|l| !l.is_empty()) {
        if let Some(list) = line.strip_prefix("->") {
            let successors = list.split_whitespace().map(|n| BlockId(n.parse().expect("a number"))).collect();
            function.blocks.push(MachineBlock { instructions: Vec::new(), successors, loop_depth: 0 });
        } else {
            let instruction = parse(Chip::SM_90, line, Some(0)).expect("an instruction");
            function.blocks.last_mut().expect("a block").instructions.push(MachineInstruction {
                instruction,
                fixup: None,
                memory: None,
                origin: Origin(0),
            });
        }
    }
    control_words(&mut function, Chip::SM_90, &options).expect("control words");
    let mut out = String::new();
    for block in &function.blocks {
        out += "--\n";
        for machine in &block.instructions {
            let c = machine.instruction.control;
            let waits: String =
                (0..6u8).map(|n| if c.wait_mask >> n & 1 != 0 { (b'0' + n) as char } else { '-' }).collect();
            let number = |n: Option<u8>| n.map_or("-".to_owned(), |n| n.to_string());
            let plain = text(Chip::SM_90, &machine.instruction, Some(0), Style::Plain).expect("text");
            out += &format!(
                "{waits}:{}:{}:{}:{:02} {plain}\n",
                number(c.read_barrier),
                number(c.write_barrier),
                if c.yields { 'Y' } else { '-' },
                c.stall
            );
        }
    }
    expected.assert_eq(&out);
}

#[test]
fn distances_of_fixed_latency() {
    words(
        "-> 
         IADD3 R0, R1, R2, RZ
         IADD3 R3, R0, R2, RZ
         FFMA R4, R3, R3, R3
         ISETP.GE.AND P0, PT, R4, RZ, PT
         @P0 FADD R5, R5, R5
         EXIT",
        options(),
        expect![[r#"
            --
            ------:-:-:Y:04 IADD3 R0, R1, R2, RZ
            ------:-:-:Y:05 IADD3 R3, R0, R2, RZ
            ------:-:-:Y:05 FFMA R4, R3, R3, R3
            ------:-:-:Y:13 ISETP.GE.AND P0, PT, R4, RZ, PT
            ------:-:-:-:01 @P0 FADD R5, R5, R5
            ------:-:-:-:05 EXIT
        "#]],
    );
}

#[test]
fn a_load_and_its_user() {
    words(
        "-> 
         LDG.E R0, desc[UR4][R2.64]
         IADD3 R2, P0, R2, 0x4, RZ
         IADD3 R0, R0, 0x1, RZ
         STG.E desc[UR4][R6.64], R0
         MOV R0, R1
         EXIT",
        options(),
        expect![[r#"
            --
            ------:1:0:-:02 LDG.E R0, desc[UR4][R2.64]
            -1----:-:-:-:01 IADD3 R2, P0, R2, 0x4, RZ
            0-----:-:-:Y:05 IADD3 R0, R0, 0x1, RZ
            ------:0:-:-:02 STG.E desc[UR4][R6.64], R0
            0-----:-:-:-:01 MOV R0, R1
            ------:-:-:-:05 EXIT
        "#]],
    );
}

#[test]
fn a_result_needed_round_the_loop() {
    words(
        "-> 1
         MOV R0, R1
         -> 1 2
         LDS R4, [R0]
         FADD R5, R5, R4
         ISETP.NE.AND P0, PT, R0, RZ, PT
         @P0 BRA 0x10
         -> 
         STS [R0], R5
         EXIT",
        options(),
        expect![[r#"
            --
            ------:-:-:Y:05 MOV R0, R1
            --
            ------:-:0:-:02 LDS R4, [R0]
            0-----:-:-:-:01 FADD R5, R5, R4
            ------:-:-:Y:13 ISETP.NE.AND P0, PT, R0, RZ, PT
            ------:-:-:-:05 @P0 BRA 0x10
            --
            ------:-:-:-:01 STS [R0], R5
            ------:-:-:-:05 EXIT
        "#]],
    );
}

#[test]
fn counted_groups_keep_their_scoreboard() {
    words(
        "-> 
         LDGSTS.E [R0], desc[UR4][R2.64]
         LDGDEPBAR
         LDS R8, [R9]
         DEPBAR.LE SB0, 0x0
         IADD3 R8, R8, 0x1, RZ
         EXIT",
        options(),
        expect![[r#"
            --
            ------:-:-:-:01 LDGSTS.E [R0], desc[UR4][R2.64]
            ------:-:0:-:01 LDGDEPBAR
            ------:-:1:-:01 LDS R8, [R9]
            ------:-:-:Y:04 DEPBAR.LE SB0, 0x0
            -1----:-:-:-:01 IADD3 R8, R8, 0x1, RZ
            ------:-:-:-:05 EXIT
        "#]],
    );
}

#[test]
fn serial_mode() {
    words(
        "-> 
         LDG.E R0, desc[UR4][R2.64]
         IADD3 R0, R0, 0x1, RZ
         HMMA.16816.F32 R4, R8, R12, R4
         EXIT",
        ScheduleOptions { serial: true, ..options() },
        expect![[r#"
            --
            -12---:2:1:-:02 LDG.E R0, desc[UR4][R2.64]
            -12---:-:-:Y:15 IADD3 R0, R0, 0x1, RZ
            -12---:-:-:Y:15 HMMA.16816.F32 R4, R8, R12, R4
            -12---:-:-:Y:15 NOP
            -12---:-:-:Y:15 NOP
            -12---:-:-:-:05 EXIT
        "#]],
    );
}

#[test]
fn loads_come_early() {
    let mut function = oriole_ori::parse::parse(
        "kernel params=0 barriers=0
b0:
  r2 = MOV 0x1 ; 1
  r3 = FADD r2, r2 ; 2
  r4 = FADD r3, r2 ; 3
  r5 = LDS [r2] mem(shared r) ; 4
  STS [r2+0x4], r4 mem(shared w) ; 5
  r6 = LDS [r2+0x8] mem(shared r) ; 6
  r7 = FADD r6, r5 ; 7
  STS [r2+0x8], r7 mem(shared w) ; 8
  EXIT ; 9
",
    )
    .expect("Ori");
    before_allocation(&mut function, Chip::SM_90, &options()).expect("an order");
    expect![[r#"
        kernel params=0 barriers=0
          value r0
          value r1
        b0:
          r2 = MOV 0x1 ; 1
          r3 = FADD r2, r2 ; 2
          r5 = LDS [r2] mem(shared r) ; 4
          r4 = FADD r3, r2 ; 3
          STS [r2+0x4], r4 mem(shared w) ; 5
          r6 = LDS [r2+0x8] mem(shared r) ; 6
          r7 = FADD r6, r5 ; 7
          STS [r2+0x8], r7 mem(shared w) ; 8
          EXIT ; 9
    "#]]
    .assert_eq(&function.to_string());
}
