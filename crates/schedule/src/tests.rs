//! Control words of small pieces of code, as text before and after; schedules of small blocks.

use crate::bounded::Preference;
use crate::{Finishing, Tables, after_allocation, before_allocation, control_words};
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_options::{FinishOptions, Options, OrderOptions, ScheduleMode};
use oriole_ori::{
    BlockId, Fixup, Instruction, MachineBlock, MachineFunction, MachineInstruction, MemoryInfo, Origin,
};
use oriole_sass::{Op, Style, parse, text};

fn tables() -> Tables {
    Tables::of(Chip::SM_90).expect("tables")
}

fn model() -> &'static oriole_latency::Model {
    oriole_latency::Model::of(Chip::SM_90).expect("latencies")
}

fn machine(instruction: oriole_sass::Instruction, origin: Origin) -> MachineInstruction {
    MachineInstruction::new(tables().forms, instruction, origin).expect("what was parsed has a form")
}

fn options() -> FinishOptions {
    Options::default().finish()
}

/// Blocks are in order, `-> n ...` at the head of each names its successors. A branch that does not end its block
/// names its target as `BRA 0x0 => n`. Printed are wait mask, read and write scoreboard, yield, stall.
fn words(input: &str, options: FinishOptions, expected: Expect) {
    words_on(Chip::SM_90, input, options, expected);
}

fn words_on(chip: Chip, input: &str, options: FinishOptions, expected: Expect) {
    let mut function = MachineFunction::default();
    for line in input.lines().map(str::trim).filter(|l| !l.is_empty()) {
        if let Some(list) = line.strip_prefix("->") {
            let successors = list.split_whitespace().map(|n| BlockId(n.parse().expect("a number"))).collect();
            function.blocks.push(MachineBlock { instructions: Vec::new(), successors, loop_depth: 0 });
        } else {
            let (line, target) = line.split_once(" => ").map_or((line, None), |(line, to)| (line, Some(to)));
            let instruction = parse(chip, line, Some(0)).expect("an instruction");
            let mut machine = machine(instruction, Origin(0));
            machine.fixup = target.map(|to| Fixup::Block(BlockId(to.parse().expect("a number"))));
            function.blocks.last_mut().expect("a block").instructions.push(machine);
        }
    }
    let finishing = Finishing::new(function, &tables());
    let function = control_words(finishing, &tables(), &options).expect("control words");
    let mut out = String::new();
    for block in &function.blocks {
        out += "--\n";
        for machine in &block.instructions {
            let c = machine.instruction.control;
            let waits: String =
                (0..6u8).map(|n| if c.wait_mask >> n & 1 != 0 { (b'0' + n) as char } else { '-' }).collect();
            let number = |n: Option<u8>| n.map_or("-".to_owned(), |n| n.to_string());
            let plain = text(chip, &machine.instruction, Some(0), Style::Plain).expect("text");
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
            ------:0:2:-:02 LDG.E R0, desc[UR4][R2.64]
            0-----:-:-:-:01 IADD3 R2, P0, R2, 0x4, RZ
            --2---:-:-:Y:05 IADD3 R0, R0, 0x1, RZ
            ------:0:-:-:02 STG.E desc[UR4][R6.64], R0
            0-----:-:-:-:01 MOV R0, R1
            ------:-:-:-:05 EXIT
        "#]],
    );
}

/// One scoreboard reports all results that one instruction waits for, if the unit completes them in order, and the last
/// one is certainly set.
#[test]
fn the_last_of_a_unit_reports_all() {
    let input = "->
         MUFU.EX2 R0, R1
         MUFU.EX2 R2, R3
         FADD R0, R0, R2
         MUFU.EX2 R4, R1
         @P0 MUFU.EX2 R5, R3
         FADD R4, R4, R5
         LDG.E R6, desc[UR4][R8.64]
         LDG.E R7, desc[UR4][R10.64]
         FADD R6, R6, R7
         MUFU.EX2 R12, R1
         MOV R1, R9
         MUFU.EX2 R13, R3
         FADD R12, R12, R13
         EXIT";
    words(
        input,
        options(),
        expect![[r#"
        --
        ------:-:-:-:01 MUFU.EX2 R0, R1
        ------:-:0:-:02 MUFU.EX2 R2, R3
        0-----:-:-:-:01 FADD R0, R0, R2
        ------:-:0:-:01 MUFU.EX2 R4, R1
        ------:-:1:-:02 @P0 MUFU.EX2 R5, R3
        01----:-:-:-:01 FADD R4, R4, R5
        ------:-:2:-:01 LDG.E R6, desc[UR4][R8.64]
        ------:-:2:-:02 LDG.E R7, desc[UR4][R10.64]
        --2---:-:-:-:01 FADD R6, R6, R7
        ------:0:-:-:02 MUFU.EX2 R12, R1
        0-----:-:-:-:01 MOV R1, R9
        ------:-:0:-:02 MUFU.EX2 R13, R3
        0-----:-:-:-:01 FADD R12, R12, R13
        ------:-:-:-:05 EXIT
    "#]],
    );
    words(
        input,
        FinishOptions { in_order: false, ..options() },
        expect![[r#"
        --
        ------:-:0:-:01 MUFU.EX2 R0, R1
        ------:-:1:-:02 MUFU.EX2 R2, R3
        01----:-:-:-:01 FADD R0, R0, R2
        ------:-:0:-:01 MUFU.EX2 R4, R1
        ------:-:1:-:02 @P0 MUFU.EX2 R5, R3
        01----:-:-:-:01 FADD R4, R4, R5
        ------:-:0:-:01 LDG.E R6, desc[UR4][R8.64]
        ------:-:1:-:02 LDG.E R7, desc[UR4][R10.64]
        01----:-:-:-:01 FADD R6, R6, R7
        ------:1:0:-:02 MUFU.EX2 R12, R1
        -1----:-:-:-:01 MOV R1, R9
        ------:-:1:-:02 MUFU.EX2 R13, R3
        01----:-:-:-:01 FADD R12, R12, R13
        ------:-:-:-:05 EXIT
    "#]],
    );
}

/// A jump out of the block leaves the last one of a unit out.
#[test]
fn a_jump_between_two_of_a_unit() {
    words(
        "-> 1 2
         LDS R0, [R8]
         @P0 BRA 0x0 => 2
         LDS R1, [R9]
         FADD R0, R0, R1
         -> 2
         FADD R0, R0, R0
         ->
         FADD R2, R0, R0
         EXIT",
        options(),
        expect![[r#"
            --
            ------:-:0:-:01 LDS R0, [R8]
            ------:-:-:-:05 @P0 BRA 0x0
            ------:-:1:-:02 LDS R1, [R9]
            01----:-:-:Y:04 FADD R0, R0, R1
            --
            ------:-:-:Y:04 FADD R0, R0, R0
            --
            0-----:-:-:-:01 FADD R2, R0, R0
            ------:-:-:-:05 EXIT
        "#]],
    );
}

/// A load writes the address of an earlier one without waiting for it; other instructions wait, after a guarded load,
/// too.
#[test]
fn a_load_over_an_address() {
    let input = "->
         LDG.E.64 R4, desc[UR4][R2.64]
         LDG.E.64 R2, desc[UR4][R6.64]
         @P0 LDG.E.64 R6, desc[UR4][R8.64]
         IADD3 R6, R10, R10, RZ
         LDS R8, [R10]
         IADD3 R2, R2, R4, R6
         IADD3 R3, R3, R5, R8
         EXIT";
    words(
        input,
        options(),
        expect![[r#"
        --
        ------:-:2:-:01 LDG.E.64 R4, desc[UR4][R2.64]
        ------:0:2:-:01 LDG.E.64 R2, desc[UR4][R6.64]
        ------:-:3:-:02 @P0 LDG.E.64 R6, desc[UR4][R8.64]
        0--3--:-:-:-:01 IADD3 R6, R10, R10, RZ
        ------:-:0:-:03 LDS R8, [R10]
        --2---:-:-:-:01 IADD3 R2, R2, R4, R6
        0-----:-:-:-:01 IADD3 R3, R3, R5, R8
        ------:-:-:-:05 EXIT
    "#]],
    );
    words(
        input,
        FinishOptions { in_order: false, ..options() },
        expect![[r#"
        --
        ------:1:0:-:02 LDG.E.64 R4, desc[UR4][R2.64]
        -1----:2:1:-:02 LDG.E.64 R2, desc[UR4][R6.64]
        --2---:-:2:-:02 @P0 LDG.E.64 R6, desc[UR4][R8.64]
        --2---:-:-:-:01 IADD3 R6, R10, R10, RZ
        ------:-:2:-:03 LDS R8, [R10]
        01----:-:-:-:01 IADD3 R2, R2, R4, R6
        --2---:-:-:-:01 IADD3 R3, R3, R5, R8
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

/// A block that ends with a branch and a jump has two exits: stalls for the loop are complete when the branch goes
/// back, and the loop exit waits only for what is needed there.
#[test]
fn a_branch_before_a_jump_waits_for_what_the_loop_reads() {
    words(
        "-> 1
         MOV R0, R1
         -> 1 2
         @P1 IADD3 R5, R5, 0x1, RZ
         ISETP.NE.AND P1, PT, R5, RZ, PT
         @P0 BRA 0x0 => 1
         BRA 0x0 => 2
         ->
         STS [R0], R5
         EXIT",
        options(),
        expect![[r#"
            --
            ------:-:-:-:01 MOV R0, R1
            --
            ------:-:-:Y:04 @P1 IADD3 R5, R5, 0x1, RZ
            ------:-:-:-:01 ISETP.NE.AND P1, PT, R5, RZ, PT
            ------:-:-:Y:12 @P0 BRA 0x0
            ------:-:-:-:05 BRA 0x0
            --
            ------:-:-:-:01 STS [R0], R5
            ------:-:-:-:05 EXIT
        "#]],
    );
    // The excess stall of the branch goes before it.
    words(
        "-> 1
         MOV R0, R1
         -> 1 2
         HMMA.16816.F32 R8, R4, R6, R8
         IADD3 R5, R5, 0x1, RZ
         @P0 BRA 0x0 => 1
         BRA 0x0 => 2
         ->
         EXIT",
        options(),
        expect![[r#"
            --
            ------:-:-:-:01 MOV R0, R1
            --
            ------:-:-:Y:07 HMMA.16816.F32 R8, R4, R6, R8
            ------:-:-:-:01 IADD3 R5, R5, 0x1, RZ
            ------:-:-:-:01 NOP
            ------:-:-:Y:15 @P0 BRA 0x0
            ------:-:-:-:05 BRA 0x0
            --
            ------:-:-:-:05 EXIT
        "#]],
    );
}

/// The branch back does not wait for what the end of the thread waits for.
#[test]
fn a_branch_before_the_end_waits_for_nothing_that_the_end_waits_for() {
    words(
        "-> 1
         MOV R0, R1
         -> 1
         R2UR UR12, R0
         R2UR UR13, R1
         UTMASTG.2D [UR16], [UR12], desc[UR10]
         @!P4 BRA 0x0 => 1
         EXIT",
        options(),
        expect![[r#"
            --
            ------:-:-:Y:04 MOV R0, R1
            --
            0-----:-:-:-:01 R2UR UR12, R0
            ------:-:-:Y:13 R2UR UR13, R1
            ------:0:-:-:01 UTMASTG.2D [UR16], [UR12], desc[UR10]
            ------:-:-:-:05 @!P4 BRA 0x0
            0-----:-:-:-:05 EXIT
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
            ------:-:-:-:01 @!PT LDS RZ, [RZ]
            ------:-:-:-:01 @!PT LDS RZ, [RZ]
            ------:-:-:-:01 @!PT LDS RZ, [RZ]
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
fn a_scoreboard_just_set_is_waited_for_two_cycles_later() {
    words(
        "-> 
         LDGSTS.E [R0], desc[UR4][R2.64]
         LDGDEPBAR
         DEPBAR.LE SB0, 0x0
         EXIT",
        options(),
        expect![[r#"
            --
            ------:-:-:-:01 @!PT LDS RZ, [RZ]
            ------:-:-:-:01 @!PT LDS RZ, [RZ]
            ------:-:-:-:01 @!PT LDS RZ, [RZ]
            ------:-:-:-:01 LDGSTS.E [R0], desc[UR4][R2.64]
            ------:-:0:-:02 LDGDEPBAR
            ------:-:-:Y:04 DEPBAR.LE SB0, 0x0
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
        FinishOptions { serial: true, ..options() },
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
    before_allocation(&mut function, &tables(), &Options::default().order(), None);
    expect![[r#"
        kernel params=0 barriers=0
          value r0
          value r1
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
    "#]]
    .assert_eq(&function.to_string());
}

/// Schedules a block of machine instructions after allocation.
fn late(input: &str, expected: Expect) {
    let mut function = MachineFunction::default();
    function.blocks.push(MachineBlock::default());
    for line in input.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let (line, memory) = match line.split_once(" mem ") {
            Some((line, "read")) => (line, Some((true, false))),
            Some((line, _)) => (line, Some((false, true))),
            None => (line, None),
        };
        let memory = memory.map(|(reads, writes)| MemoryInfo {
            space: oriole_ori::Space::Global,
            reads,
            writes,
            ordered: false,
            object: None,
        });
        let instruction = parse(Chip::SM_90, line, Some(0)).expect("an instruction");
        let plain = machine(instruction, Origin(0));
        function.blocks[BlockId(0)].instructions.push(MachineInstruction { memory, ..plain });
    }
    let mut finishing = Finishing::new(function, &tables());
    after_allocation(&mut finishing, &tables(), &options());
    let mut out = String::new();
    for machine in &finishing.function().blocks[BlockId(0)].instructions {
        out += &text(Chip::SM_90, &machine.instruction, Some(0), Style::Plain).expect("text");
        out += "\n";
    }
    expected.assert_eq(&out);
}

#[test]
fn other_work_fills_the_distance_of_a_result() {
    late(
        "IADD3 R0, R1, R2, RZ
         IADD3 R3, R0, R2, RZ
         IADD3 R4, R5, R6, RZ
         MOV R7, R8
         MOV R9, R10
         EXIT",
        expect![[r#"
            IADD3 R0, R1, R2, RZ
            IADD3 R4, R5, R6, RZ
            MOV R7, R8
            MOV R9, R10
            IADD3 R3, R0, R2, RZ
            EXIT
        "#]],
    );
}

#[test]
fn registers_and_memory_keep_their_order() {
    // The load stays after the store, the last `MOV R4` after the reader of the old value, and nothing moves across
    // the barrier that touches memory.
    late(
        "IADD3 R0, R1, R2, RZ
         STG.E desc[UR4][R2.64], R0 mem write
         LDG.E R4, desc[UR4][R6.64] mem read
         IADD3 R5, R4, R2, RZ
         MOV R4, R8
         BAR.SYNC.DEFER_BLOCKING 0x0
         LDG.E R9, desc[UR4][R6.64] mem read
         MOV R11, R12
         EXIT",
        expect![[r#"
            IADD3 R0, R1, R2, RZ
            MOV R11, R12
            STG.E desc[UR4][R2.64], R0
            LDG.E R4, desc[UR4][R6.64]
            BAR.SYNC.DEFER_BLOCKING 0x0
            LDG.E R9, desc[UR4][R6.64]
            IADD3 R5, R4, R2, RZ
            MOV R4, R8
            EXIT
        "#]],
    );
}

/// MMAs and matrix loads are executed by whole warps: a load need not wait for the MMAs before it. Nor need a shuffle
/// wait for other shuffles.
#[test]
fn loads_of_matrices_pass_products() {
    late(
        "HMMA.16816.F32 R4, R8, R12, R4
         HMMA.16816.F32 R4, R8, R14, R4
         LDSM.16.M88.4 R16, [R20] mem read
         SHFL.IDX PT, R21, R22, R23, 0x1f
         SHFL.IDX PT, R24, R21, R23, 0x1f
         HMMA.16816.F32 R4, R16, R14, R4
         EXIT",
        expect![[r#"
            HMMA.16816.F32 R4, R8, R12, R4
            LDSM.16.M88.4 R16, [R20]
            SHFL.IDX PT, R21, R22, R23, 0x1f
            HMMA.16816.F32 R4, R8, R14, R4
            SHFL.IDX PT, R24, R21, R23, 0x1f
            HMMA.16816.F32 R4, R16, R14, R4
            EXIT
        "#]],
    );
}

/// The lanes that execute a shuffle together do not depend on its position in the block: one with a ready operand
/// passes one that waits, but not a synchronization of the block.
#[test]
fn shuffles_pass_shuffles() {
    late(
        "LDG.E R0, desc[UR4][R2.64] mem read
         SHFL.BFLY PT, R4, R0, 0x1, 0x1f
         SHFL.BFLY PT, R5, R6, 0x1, 0x1f
         BAR.SYNC.DEFER_BLOCKING 0x0
         SHFL.BFLY PT, R7, R8, 0x1, 0x1f
         EXIT",
        expect![[r#"
            LDG.E R0, desc[UR4][R2.64]
            SHFL.BFLY PT, R5, R6, 0x1, 0x1f
            SHFL.BFLY PT, R4, R0, 0x1, 0x1f
            BAR.SYNC.DEFER_BLOCKING 0x0
            SHFL.BFLY PT, R7, R8, 0x1, 0x1f
            EXIT
        "#]],
    );
}

#[test]
fn guarded_writes_keep_their_order() {
    late(
        "ISETP.GE.AND P0, PT, R1, R2, PT
         @P0 MOV R0, R3
         @!P0 MOV R0, R4
         IADD3 R5, R0, R2, RZ
         MOV R6, R7
         EXIT",
        expect![[r#"
            ISETP.GE.AND P0, PT, R1, R2, PT
            MOV R6, R7
            @P0 MOV R0, R3
            @!P0 MOV R0, R4
            IADD3 R5, R0, R2, RZ
            EXIT
        "#]],
    );
}

/// A random instruction, over few registers so that dependencies occur.
fn instruction(choice: (u8, u8, u8, u8, u8)) -> (String, Option<(bool, bool)>) {
    let (which, guard, a, b, c) = choice;
    let guard = match guard {
        0 => format!("@P{} ", a % 2),
        1 => format!("@!P{} ", a % 2),
        _ => String::new(),
    };
    let (body, memory) = match which {
        0 => (format!("IADD3 R{a}, R{b}, R{c}, RZ"), None),
        1 => (format!("FFMA R{a}, R{b}, R{c}, R{a}"), None),
        2 => (format!("ISETP.GE.AND P{}, PT, R{b}, R{c}, PT", a % 3), None),
        3 => (format!("IMAD.WIDE R{}, R{b}, R{c}, R{}", a & 6, c & 6), None),
        4 => (format!("MUFU.RCP R{a}, R{b}"), None),
        5 => (format!("LDG.E R{a}, desc[UR4][R{}.64]", b & 6), Some((true, false))),
        6 => (format!("STG.E desc[UR4][R{}.64], R{c}", b & 6), Some((false, true))),
        7 => (format!("SHFL.BFLY PT, R{a}, R{b}, 0x1, 0x1f"), None),
        8 => (format!("SEL R{a}, R{b}, R{c}, P{}", c % 3), None),
        9 => (format!("R2UR UR{}, R{b}", 4 + a % 2), None),
        10 => ("BAR.SYNC.DEFER_BLOCKING 0x0".to_owned(), None),
        _ => (format!("DADD R{}, R{}, R{}", a & 6, b & 6, c & 6), None),
    };
    (guard + &body, memory)
}

/// True if two instructions must keep their order: one writes a register that the other touches, both touch memory
/// and one writes, or one synchronizes and the other touches memory or other lanes.
fn depend(a: &MachineInstruction, b: &MachineInstruction) -> bool {
    let touched = |m: &MachineInstruction| {
        let mut list = Vec::new();
        let forms = oriole_sass::form::table(Chip::SM_90).expect("forms of the chip");
        oriole_sass::accesses(forms, m.form, &m.instruction, |access| match access {
            oriole_sass::Access::Read { file, register, .. } => list.push((file, register, false)),
            oriole_sass::Access::Write { file, register, .. } => list.push((file, register, true)),
        });
        list
    };
    let (x, y) = (touched(a), touched(b));
    let registers = x.iter().any(|p| y.iter().any(|q| p.0 == q.0 && p.1 == q.1 && (p.2 || q.2)));
    let memory = matches!((a.memory, b.memory), (Some(p), Some(q)) if p.writes || q.writes);
    let meets = |m: &MachineInstruction| m.instruction.op == Op::BAR;
    let stays = |m: &MachineInstruction| {
        m.memory.is_some() || matches!(m.instruction.op, Op::SHFL | Op::R2UR | Op::BAR)
    };
    let meeting = (meets(a) && stays(b)) || (meets(b) && stays(a));
    registers || memory || meeting || b.instruction.op == Op::EXIT
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(300))]
    #[test]
    fn the_late_order_keeps_every_dependence(
        choices in proptest::collection::vec((0u8..12, 0u8..6, 0u8..8, 0u8..8, 0u8..8), 1..40),
    ) {
        let mut function = MachineFunction::default();
        function.blocks.push(MachineBlock::default());
        let lines = choices.into_iter().map(instruction).chain([("EXIT".to_owned(), None)]);
        for (place, (line, memory)) in lines.enumerate() {
            let memory = memory.map(|(reads, writes)| MemoryInfo {
                space: oriole_ori::Space::Global,
                reads,
                writes,
                ordered: false,
                object: None,
            });
            let instruction = parse(Chip::SM_90, &line, Some(0)).expect("an instruction");
            let origin = Origin(place as u32);
            let plain = machine(instruction, origin);
            function.blocks[BlockId(0)].instructions.push(MachineInstruction { memory, ..plain });
        }
        let before = function.blocks[BlockId(0)].instructions.clone();
        let mut finishing = Finishing::new(function, &tables());
        after_allocation(&mut finishing, &tables(), &options());
        let after = &finishing.function().blocks[BlockId(0)].instructions;
        proptest::prop_assert_eq!(before.len(), after.len());
        for (at, second) in after.iter().enumerate() {
            let Origin(place) = second.origin;
            proptest::prop_assert_eq!(second, &before[place as usize]);
            for first in &after[..at] {
                proptest::prop_assert_ne!(first.origin, second.origin);
                proptest::prop_assert!(first.origin.0 < second.origin.0 || !depend(second, first));
            }
        }
    }
}

#[test]
fn operands_are_kept_for_the_next_reader_of_their_slot_and_bank() {
    words(
        "-> 
         FFMA R20, R0, R3, R20
         FFMA R22, R1, R3, R22
         FFMA R24, R0, R5, R24
         FFMA R26, R2, R5, R26
         FADD R6, R0, R7
         IADD3 R0, R1, R2, RZ
         IADD3 R8, R0, R2, RZ
         IADD3 R9, R8, R2, RZ
         DADD R10, R12, R14
         IADD3 R16, R12, R2, RZ
         DADD R30, R12, R16
         IMAD.WIDE R32, R40, R41, R12
         IADD3 R43, R44, R45, R46
         IMAD.WIDE R34, R42, R47, R12
         IMAD.WIDE R36, R43, R48, R12
         EXIT",
        options(),
        expect![[r#"
            --
            ------:-:-:-:01 FFMA R20, R0.reuse, R3.reuse, R20
            ------:-:-:-:01 FFMA R22, R1.reuse, R3, R22
            ------:-:-:-:01 FFMA R24, R0, R5.reuse, R24
            ------:-:-:-:01 FFMA R26, R2, R5, R26
            ------:-:-:-:01 FADD R6, R0, R7
            ------:-:-:Y:04 IADD3 R0, R1, R2, RZ
            ------:-:-:Y:04 IADD3 R8, R0, R2, RZ
            ------:-:-:-:01 IADD3 R9, R8, R2.reuse, RZ
            ------:-:-:-:01 DADD R10, R12, R14
            ------:-:-:Y:06 IADD3 R16, R12, R2, RZ
            ------:-:-:-:01 DADD R30, R12, R16
            ------:-:-:-:01 IMAD.WIDE R32, R40, R41, R12
            ------:-:-:-:01 IADD3 R43, R44, R45, R46
            ------:-:-:Y:04 IMAD.WIDE R34, R42, R47, R12
            ------:-:-:-:01 IMAD.WIDE R36, R43, R48, R12
            ------:-:-:-:05 EXIT
        "#]],
    );
    words(
        "-> 
         FFMA R20, R0, R3, R20
         FFMA R22, R0, R3, R22
         EXIT",
        FinishOptions { reuse: false, ..options() },
        expect![[r#"
            --
            ------:-:-:-:01 FFMA R20, R0, R3, R20
            ------:-:-:-:01 FFMA R22, R0, R3, R22
            ------:-:-:-:05 EXIT
        "#]],
    );
}

/// Schedules a block of Ori before allocation.
fn early(input: &str, mode: ScheduleMode, expected: Expect) {
    let mut function = oriole_ori::parse::parse(input).expect("Ori");
    before_allocation(&mut function, &tables(), &OrderOptions { mode, ..Options::default().order() }, None);
    let text = function.to_string();
    let lines = text.lines().skip_while(|line| !line.starts_with("b0")).skip(1);
    let body: Vec<&str> = lines.map(str::trim_start).collect();
    expected.assert_eq(&(body.join("\n") + "\n"));
}

/// The old value of a guarded result dies where it is copied: its other readers come before, so that old and new
/// share a register.
#[test]
fn an_old_value_is_copied_behind_its_last_reader() {
    let values = 12;
    let mut input = String::from("kernel params=0 barriers=0\nb0:\n");
    for k in 0..values {
        input += &format!("  r{k} = LDS [{:#x}] mem(shared r) ; 1\n", 4 * k);
        input += &format!("  p{}, PT = ISETP.AND.LT r{k}, 0x3, PT ; 1\n", 20 + k);
    }
    for k in 0..values {
        // The reader waits for nothing, and many wait for the copy.
        let (old, holds, new) = (k, 20 + k, 40 + k);
        input += &format!("  r{} = FADD r{old}, 0x3f000000 ; 2\n", 60 + k);
        input += &format!("  r{new} = ParallelCopy r{old} ; 3\n");
        input += &format!("  @!p{holds} r{new} = FMUL r{new}, 0x3f000000 ; 3\n");
        input += &format!("  r{} = MUFU.RCP r{new} ; 4\n", 80 + k);
        input += &format!("  r{} = MUFU.RCP r{} ; 4\n", 100 + k, 80 + k);
    }
    for k in 0..values {
        input += &format!("  STS [{:#x}], r{} mem(shared w) ; 5\n", 4 * k, 100 + k);
        input += &format!("  STS [{:#x}], r{} mem(shared w) ; 5\n", 4 * k + 128, 60 + k);
    }
    input += "  EXIT ; 6\n";
    for mode in [ScheduleMode::Pressure, ScheduleMode::Latency, ScheduleMode::Batches] {
        let mut function = oriole_ori::parse::parse(&input).expect("Ori");
        before_allocation(
            &mut function,
            &tables(),
            &OrderOptions { mode, ..Options::default().order() },
            None,
        );
        let text = function.to_string();
        let place = |start: &str| {
            let found = text.lines().position(|line| line.trim_start().starts_with(start));
            found.unwrap_or_else(|| panic!("{start} in {text}"))
        };
        for k in 0..values {
            let (read, copy) = (place(&format!("r{} =", 60 + k)), place(&format!("r{} =", 40 + k)));
            assert!(read < copy, "{mode:?}: r{k} is read at {read} and copied at {copy}");
        }
    }
}

#[test]
fn few_registers_mean_one_chain_after_the_other() {
    let input = "kernel params=0 barriers=0
b0:
  r0 = MOV 0x1 ; 1
  r1 = MOV 0x2 ; 2
  r2 = MOV 0x3 ; 3
  r3 = FADD r0, r0 ; 4
  r4 = FADD r1, r1 ; 5
  r5 = FADD r2, r2 ; 6
  r6 = FMUL r3, r3 ; 7
  r7 = FMUL r4, r4 ; 8
  r8 = FMUL r5, r5 ; 9
  STS [r6], r6 mem(shared w) ; 10
  STS [r7], r7 mem(shared w) ; 11
  STS [r8], r8 mem(shared w) ; 12
  EXIT ; 13
";
    early(
        input,
        ScheduleMode::Pressure,
        expect![[r#"
              r0 = MOV 0x1 ; 1
              r3 = FADD r0, r0 ; 4
              r6 = FMUL r3, r3 ; 7
              STS [r6], r6 mem(shared w) ; 10
              r1 = MOV 0x2 ; 2
              r4 = FADD r1, r1 ; 5
              r7 = FMUL r4, r4 ; 8
              STS [r7], r7 mem(shared w) ; 11
              r2 = MOV 0x3 ; 3
              r5 = FADD r2, r2 ; 6
              r8 = FMUL r5, r5 ; 9
              STS [r8], r8 mem(shared w) ; 12
              EXIT ; 13
        "#]],
    );
    early(
        input,
        ScheduleMode::Batches,
        expect![[r#"
              r0 = MOV 0x1 ; 1
              r1 = MOV 0x2 ; 2
              r2 = MOV 0x3 ; 3
              r3 = FADD r0, r0 ; 4
              r4 = FADD r1, r1 ; 5
              r5 = FADD r2, r2 ; 6
              r6 = FMUL r3, r3 ; 7
              r7 = FMUL r4, r4 ; 8
              r8 = FMUL r5, r5 ; 9
              STS [r6], r6 mem(shared w) ; 10
              STS [r7], r7 mem(shared w) ; 11
              STS [r8], r8 mem(shared w) ; 12
              EXIT ; 13
        "#]],
    );
}

/// With a known block size, occupancy is weighed against the time of a block: chains overlap in as few registers as
/// allow one more block.
#[test]
fn blocks_are_weighed_against_time() {
    let chains = 64;
    let registers = |threads: &str, budgeted| {
        let mut input = format!("kernel params=0 barriers=0{threads}\nb0:\n");
        input += "  r0 = S2R %(SR_TID.X) ; 1\n";
        for k in 1..=chains {
            input += &format!("  r{k} = LDG [r0+{:#x}] mem(global r) ; 2\n", 4 * k);
            input += &format!("  STS [{:#x}], r{k} mem(shared w) ; 3\n", 4 * k);
        }
        input += "  EXIT ; 4\n";
        let mut function = oriole_ori::parse::parse(&input).expect("Ori");
        let options = OrderOptions { budgeted, ..Options::default().order() };
        before_allocation(&mut function, &tables(), &options, None);
        oriole_ori::Statistics::new(&function).general_registers
    };
    assert_eq!((registers("", false), registers(" threads=256", false)), (64, 22));
    // Registers are free up to the step of 32; the next one saves a third of the time for a fourth of the warps.
    assert_eq!((registers("", true), registers(" threads=256", true)), (36, 36));
    assert_eq!(registers(" threads=128 registers=255 stated", true), 64, "the author wants no more blocks");
    assert_eq!(registers(" registers=40 stated", true), 33, "allocation needs a few");
}

#[test]
fn the_copy_before_a_guarded_instruction_is_no_wall() {
    early(
        "kernel params=0 barriers=0
b0:
  r0 = MOV 0x1 ; 1
  p1, PT = ISETP.AND.LT r0, 0x4, PT ; 2
  r2 = FADD r0, r0 ; 3
  r3 = ParallelCopy r0 ; 4
  @p1 r3 = FADD r2, r2 ; 5
  r4 = LDS [r0] mem(shared r) ; 6
  r5 = FADD r3, r4 ; 7
  STS [r0+0x4], r5 mem(shared w) ; 8
  EXIT ; 9
",
        ScheduleMode::Batches,
        expect![[r#"
              r0 = MOV 0x1 ; 1
              p1, PT = ISETP.AND.LT r0, 0x4, PT ; 2
              r4 = LDS [r0] mem(shared r) ; 6
              r2 = FADD r0, r0 ; 3
              r3 = ParallelCopy r0 ; 4
              @p1 r3 = FADD r2, r2 ; 5
              r5 = FADD r3, r4 ; 7
              STS [r0+0x4], r5 mem(shared w) ; 8
              EXIT ; 9
        "#]],
    );
}

/// A schedule that finishes one sum after the other: with more registers more loads move ahead, and the time is that
/// of one of them.
#[test]
fn what_a_budget_allows_comes_ahead() {
    let mut text = "kernel params=0 barriers=0\nb0:\n  r0 = MOV 0x1 ; 1\n".to_owned();
    for sum in 0..6 {
        let (word, sum) = (1 + 2 * sum, 2 + 2 * sum);
        text += &format!("  r{word} = LDG [r0+{word}] mem(global r) ; 2\n  r{sum} = FADD r{word}, r0 ; 3\n");
        text += &format!("  STS [r0+{sum}], r{sum} mem(shared w) ; 4\n");
    }
    text += "  EXIT ; 5\n";
    let function = oriole_ori::parse::parse(&text).expect("Ori");
    let instructions = &function.block(BlockId(0)).instructions;
    let mut numbers = crate::dense_ids::DenseIds::new(function.values.len());
    let cycles = |from: &Instruction, to: &Instruction, node| crate::distance::latency(model(), from, to, node);
    let graph = crate::graph::Graph::new(instructions, crate::graph::Sides::Kept, &mut numbers, cycles);
    let region = crate::region::Region::new(model(), &function, instructions, &[], graph, &mut numbers);
    let low: Vec<u32> = (0..region.len() as u32).collect();
    let followed = crate::bounded::Followed::new(&region, &low);
    let figures = |registers: u32| {
        let (order, limited) = followed.schedule(&region, [registers, 6, 48], Preference::Longest);
        (region.pressure(&order)[0], region.time(&order), limited)
    };
    let loads = |count: u32| count * u32::from(model().estimate(Op::LDG));
    let [(peak, slow, _), (more, quicker, _), (most, quick, limited)] = [2, 4, 20].map(figures);
    assert_eq!([peak, more, most], [2, 4, 7]);
    assert!(
        slow > loads(6) && quicker > loads(2) && quicker < loads(3) && quick < loads(2),
        "{slow} {quicker} {quick}"
    );
    assert!(!limited && figures(6).2, "registers are short below seven");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]
    #[test]
    fn orders_keep_edges_and_count_live_values_exactly(
        choices in proptest::collection::vec((0u8..5, 0usize..12, 0usize..12), 1..50),
        budget in 0u32..20,
    ) {
        // Each instruction reads two of the last values; some store, some are guarded.
        let mut text = "kernel params=0 barriers=0\nb0:\n  r0 = MOV 0x1 ; 1\n  p1, PT = ISETP.AND.LT r0, 0x4, PT ; 2\n".to_owned();
        let mut values = vec![0u32];
        let mut next = 2;
        for (which, a, b) in choices {
            let pick = |k: usize| values[values.len() - 1 - k % values.len()];
            let (x, y) = (pick(a), pick(b));
            match which {
                0 => text += &format!("  STS [r{y}], r{x} mem(shared w) ; 3\n"),
                1 => text += &format!("  @p1 r{x} = FADD r{y}, r{y} ; 3\n"),
                2 => text += &format!("  r{next} = LDS [r{x}] mem(shared r) ; 3\n"),
                _ => text += &format!("  r{next} = FFMA r{x}, r{y}, r{x} ; 3\n"),
            }
            if which > 1 {
                values.push(next);
                next += 1;
            }
        }
        text += "  EXIT ; 4\n";
        let function = oriole_ori::parse::parse(&text).expect("Ori");
        let instructions = &function.block(BlockId(0)).instructions;
        let mut numbers = crate::dense_ids::DenseIds::new(function.values.len());
        let graph = crate::graph::Graph::new(instructions, crate::graph::Sides::Kept, &mut numbers, |_, _, _| 4);
        let edges: Vec<Vec<(u32, u32)>> =
            (0..instructions.len() as u32).map(|node| graph.after(node).to_vec()).collect();
        let region = crate::region::Region::new(model(), &function, instructions, &[], graph, &mut numbers);
        let budget = [budget, 6, 6];
        let known = crate::top_down::order(&region, budget);
        let mut orders = vec![crate::bottom_up::order(&region, budget)];
        let block = crate::between_products::MatrixBlock::new(model(), instructions, &region);
        let between = block.orders(&known, budget);
        for (at, (order, weighed)) in between.iter().enumerate() {
            if *weighed <= budget[0] {
                let [least, more] = [*weighed, budget[0] + 9].map(|general| block.orders(&known, [general, 6, 6]));
                proptest::prop_assert_eq!(&least[at].0, order, "no budget above {} matters", weighed);
                proptest::prop_assert_eq!(&more[at].0, order);
            }
        }
        orders.extend(between.map(|(order, _)| order));
        for low in [orders[0].clone(), known.clone()] {
            let followed = crate::bounded::Followed::new(&region, &low);
            let most = region.pressure(&low);
            for preference in [Preference::Longest, Preference::First] {
                let (order, _) = followed.schedule(&region, budget, preference);
                let peak = region.pressure(&order);
                proptest::prop_assert!((0..3).all(|k| peak[k] <= most[k].max(budget[k])), "{peak:?} {most:?}");
                orders.push(order);
            }
        }
        orders.push(known);
        for order in orders {
            let mut place = vec![usize::MAX; order.len()];
            for (at, &node) in order.iter().enumerate() {
                place[node as usize] = at;
            }
            proptest::prop_assert!(place.iter().all(|&at| at < order.len()));
            for (from, list) in edges.iter().enumerate() {
                for &(to, _) in list {
                    proptest::prop_assert!(place[from] < place[to as usize]);
                }
            }
            // Live between two instructions: touched before, and read after before anything overwrites it.
            let live = |gap: usize, v: u32| {
                let first = order[gap..].iter().find_map(|&node| {
                    let touched = &region.operands[node as usize];
                    let read = touched.uses.contains(&v);
                    (read || touched.definitions.contains(&v)).then_some(read)
                });
                first == Some(true)
            };
            let most = (0..=order.len())
                .map(|gap| (0..region.file.len() as u32).filter(|&v| region.file[v as usize] == 0 && live(gap, v)).count())
                .max();
            let peak = region.pressure(&order)[0];
            let most = most.unwrap_or(0) as u32;
            // While an instruction executes, dead results count, too.
            proptest::prop_assert!(peak >= most && peak <= most + 1, "{peak} {most}");
        }
    }
}

#[test]
fn a_report_in_figures() {
    let mut function = MachineFunction::default();
    for (depth, lines) in [
        (
            0u8,
            "LDG.E R0, desc[UR4][R2.64] ; stall=1 write=0 read=1\nMOV R2, R4 ; stall=4 wait=1\nMUFU.RCP64H R9, R8 ; stall=2 write=2\nIADD3 R0, R0, R2, RZ ; stall=2 wait=0,2",
        ),
        (
            1,
            "LDS R4, [R0] ; stall=10 write=0\nFFMA R5, R4.reuse, R4, R5 ; stall=4 wait=0\nMOV R1, R9 ; stall=1 wait=2\n@P0 BRA 0x50 ; stall=5",
        ),
        (
            0,
            "MUFU.RCP R9, R8 ; stall=1 write=2\nMUFU.RCP R10, R8 ; stall=1 write=2\nFADD R9, R9, R10 ; stall=4 wait=2\nEXIT ; stall=5",
        ),
    ] {
        let parsed = lines
            .lines()
            .map(|line| machine(parse(Chip::SM_90, line, Some(0x30)).expect("an instruction"), Origin(0)));
        let instructions = parsed.collect();
        function.blocks.push(MachineBlock {
            instructions,
            successors: Default::default(),
            loop_depth: depth,
        });
    }
    expect![[r#"
          schedule: 12 instructions, 40 cycles to issue, 220 with loops counted tenfold
          LDS latency hiding: Num 1, Min 10, Max 10, Avg 10.0
          LDG latency hiding: Num 1, Min 7, Max 7, Avg 7.0
          Xu latency hiding: Num 2, Min 1, Max 2, Avg 1.5
          Xu64 latency hiding: Num 1, Min 2, Max 2, Avg 2.0
          Antidep latency hiding: Num 1, Min 1, Max 1, Avg 1.0
          multiply-adds: 1, 1 of their sources kept in the operand cache, 2% of the issue cycles
          block 0x0040 in 1 loop: 4 instructions, 20 cycles; busy ALU 2 FMA 1 LSU 1 BRA 1 SMEM 1
          block 0x0080: 4 instructions, 11 cycles; busy FMA 1 BRA 1 SFU 16, bound by SFU
          block 0x0000: 4 instructions, 9 cycles; busy ALU 4 LSU 4 SFU 8
    "#]]
    .assert_eq(
        &crate::report(&function, model())
            .lines()
            .map(|line| line.trim_start().to_owned() + "\n")
            .collect::<String>(),
    );
}

/// Values that an allocation moves between a fence and an MMA, or overwrites before the wait, and results that are
/// used too early.
#[test]
fn products_are_fenced_and_waited_for() {
    let chip = Chip::SM_90A;
    let products = |input: &str, expected: Expect| words_on(chip, input, options(), expected);
    products(
        "->
         WARPGROUP.ARRIVE
         MOV R28, R1
         HGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24, gsb0
         MOV R28, R1
         WARPGROUP.DEPBAR.LE gsb0, 0x0
         MOV R2, R24
         EXIT",
        expect![[r#"
            --
            ------:-:-:-:02 WARPGROUP.ARRIVE
            ------:-:-:Y:05 MOV R28, R1
            ------:-:-:Y:06 WARPGROUP.ARRIVE
            ------:-:-:Y:03 HGMMA.64x8x16.F16 R24, R28, gdesc[UR4], R24, gsb0
            ------:-:-:-:02 WARPGROUP.DEPBAR.LE gsb0, 0x0
            ------:-:-:-:01 MOV R28, R1
            ------:-:-:-:02 WARPGROUP.DEPBAR.LE gsb0, 0x0
            ------:-:-:-:01 MOV R2, R24
            ------:-:-:-:05 EXIT
        "#]],
    );
    products(
        "-> 1
         LDG.E R24, desc[UR6][R2.64]
         WARPGROUP.ARRIVE
         HGMMA.64x8x16.F16 R24, gdesc[UR4], R24
         -> 1 2
         WARPGROUP.ARRIVE
         HGMMA.64x8x16.F16 R32, gdesc[UR4], R32, gsb0
         WARPGROUP.DEPBAR.LE gsb0, 0x1
         IADD3 R3, R25, R3, RZ
         ->
         CALL.REL.NOINC 0x0
         EXIT",
        expect![[r#"
            --
            ------:-:0:-:02 LDG.E R24, desc[UR6][R2.64]
            0-----:-:-:Y:06 WARPGROUP.ARRIVE
            ------:-:-:-:01 HGMMA.64x8x16.F16 R24, gdesc[UR4], R24
            --
            ------:-:-:Y:06 WARPGROUP.ARRIVE
            ------:-:-:Y:03 HGMMA.64x8x16.F16 R32, gdesc[UR4], R32, gsb0
            ------:-:-:-:02 WARPGROUP.DEPBAR.LE gsb0, 0x1
            ------:-:-:-:02 WARPGROUP.DEPBAR.LE gsb0, 0x0
            ------:-:-:Y:07 IADD3 R3, R25, R3, RZ
            --
            ------:-:-:-:05 CALL.REL.NOINC 0x0
            ------:-:-:-:05 EXIT
        "#]],
    );
}

#[test]
fn addresses_pass_barriers_where_registers_are_short() {
    let input = "kernel params=0 barriers=1
b0:
  r9 = S2R %(SR_TID.X) ; 0
  r0 = LDS [r9] mem(shared r) ; 1
  r1 = IADD3 r0, 0x10, RZ ; 2
  r2 = IADD3 r0, 0x20, RZ ; 3
  r3 = IADD3 r0, 0x30, RZ ; 4
  BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 5
  STS [r1], r0 mem(shared w) ; 6
  STS [r2], r0 mem(shared w) ; 7
  STS [r3], r0 mem(shared w) ; 8
  EXIT ; 9
";
    let places = |limit: u16, across_barriers: bool| -> (Vec<u32>, Option<u32>) {
        let mut function = oriole_ori::parse::parse(input).expect("Ori");
        let options = OrderOptions { limit: Some(limit), across_barriers, ..Options::default().order() };
        let short = before_allocation(&mut function, &tables(), &options, None)
            .map(|budget| budget.general[BlockId(0)]);
        (function.block(BlockId(0)).instructions.iter().map(|i| i.origin.0).collect(), short)
    };
    let kept = vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    assert_eq!(places(11, true), (kept.clone(), None), "they fit");
    assert_eq!(places(10, false), (kept, Some(3)), "each stays on its side");
    let (order, short) = places(10, true);
    assert_eq!(short, None, "{order:?}");
    let place = |origin: u32| order.iter().position(|&found| found == origin);
    assert!(place(1) < place(5) && place(5) < place(6) && place(5) < place(4), "{order:?}");
}

/// A block of machine instructions, an instruction on each line, with control words.
fn with_control_words(text: &str) -> MachineFunction {
    let mut block = MachineBlock { instructions: Vec::new(), successors: Default::default(), loop_depth: 0 };
    for line in text.lines() {
        block
            .instructions
            .push(machine(parse(Chip::SM_90, line, Some(0)).expect("an instruction"), Origin(0)));
    }
    let mut function = MachineFunction::default();
    function.blocks.push(block);
    control_words(Finishing::new(function, &tables()), &tables(), &options()).expect("words")
}

/// A wait for a register read waits for no load result: results leave a scoreboard to reads, however many loads are
/// in flight.
#[test]
fn reads_wait_for_no_global_memory() {
    let loads: String = (0..12)
        .map(|k| format!("IADD3 R2, R30, {k:#x}, RZ\nLDG.E R{}, desc[UR4][R2.64]\n", 40 + k))
        .collect();
    let sums: String = (0..12).map(|k| format!("IADD3 R{0}, R{0}, 0x1, RZ\n", 40 + k)).collect();
    let function = with_control_words(&format!("{loads}{sums}EXIT"));
    let loads: Vec<_> = function.blocks[BlockId(0)]
        .instructions
        .iter()
        .map(|it| &it.instruction)
        .filter(|it| it.op == Op::LDG)
        .map(|it| (it.control.write_barrier, it.control.read_barrier))
        .collect();
    assert_eq!(loads.len(), 12);
    let results: Vec<u8> = loads.iter().filter_map(|it| it.0).collect();
    let reads: Vec<u8> = loads.iter().filter_map(|it| it.1).collect();
    assert_eq!((results.len(), reads.len()), (12, 11), "the last address is not written again");
    // The results are all in flight until the adds.
    for (at, number) in reads.iter().enumerate() {
        assert!(!results[..=at].contains(number), "load {at}: {results:?} {reads:?}");
    }
}

/// Loads of kernel-constant memory move across stores: it is not written while the kernel runs.
#[test]
fn constant_loads_pass_stores() {
    let order = |load: &str| {
        let text = format!(
            "kernel params=0 barriers=0
b0:
  {{r2 r3}} = Parameters ; 0
  r4 = LDG.E [{{r2 r3}}] mem(global r) ; 1
  r5 = FADD r4, r4 ; 2
  STG.E [{{r2 r3}}+0x40], r5 mem(global w) ; 3
  r6 = {load} [{{r2 r3}}+0x80] mem(global r) ; 4
  r7 = FADD r6, r6 ; 5
  STG.E [{{r2 r3}}+0xc0], r7 mem(global w) ; 6
  EXIT ; 7
"
        );
        let mut function = oriole_ori::parse::parse(&text).expect("Ori");
        before_allocation(&mut function, &tables(), &Options::default().order(), None);
        function.block(BlockId(0)).instructions.iter().map(|i| i.origin.0).collect::<Vec<u32>>()
    };
    let before = |order: &[u32]| order.iter().position(|&it| it == 4) < order.iter().position(|&it| it == 3);
    let (plain, constant) = (order("LDG.E"), order("LDG.E.CONSTANT"));
    assert!(!before(&plain), "{plain:?}");
    assert!(before(&constant), "{constant:?}");
}

/// A load of a fragment has a scoreboard of its own, however many global loads are in flight.
#[test]
fn fragments_wait_for_no_global_memory() {
    let loads: String = (0..8).map(|k| format!("LDG.E R{}, desc[UR4][R2.64]\n", 40 + k)).collect();
    let sums: String = (0..8).map(|k| format!("IADD3 R{0}, R{0}, 0x1, RZ\n", 40 + k)).collect();
    let text = format!(
        "{loads}LDSM.16.M88.4 R8, [R6]\nLDSM.16.M88.4 R12, [R7]\nHMMA.16816.F16 R16, R8, R12, R16\n{sums}EXIT"
    );
    let function = with_control_words(&text);
    let all = function.blocks[BlockId(0)].instructions.iter().map(|it| &it.instruction);
    let set = |wanted: Op| -> Vec<u8> {
        all.clone().filter(|it| it.op == wanted).filter_map(|it| it.control.write_barrier).collect()
    };
    let (global, fragments) = (set(Op::LDG), set(Op::LDSM));
    assert_eq!((global.len(), fragments.len()), (8, 1), "the product waits for both fragments at once");
    assert!(fragments.iter().all(|number| !global.contains(number)), "{global:?} {fragments:?}");
}

/// Each part of a kernel has its own register count: a schedule of a block within the count of another part would not
/// do.
#[test]
fn each_part_is_ordered_within_its_own_registers() {
    let values = 24;
    let line = |k: u32, text: &str| text.replace('#', &k.to_string()).replace('@', &format!("{:#x}", 4 * k));
    let all = |text: &str| -> String { (0..values).map(|k| line(k, text)).collect() };
    let [loads, stores] = ["  r# = LDC c[0][@] ; 1\n", "  STS [@], r# mem(shared w) ; 2\n"].map(all);
    let ordered = |grant: &str, between: &str| {
        let text = format!(
            "kernel params=0 barriers=1 registers=64\nb0: -> b1\n  r99 = MOV 0x0 ; 0\nb1: -> b2\n{grant}\
             b2:\n{loads}{between}{stores}  EXIT ; 3\n"
        );
        let mut function = oriole_ori::parse::parse(&text).expect("Ori");
        let options = OrderOptions { across_barriers: false, ..Options::default().order() };
        let short = before_allocation(&mut function, &tables(), &options, None);
        let places = function.block(BlockId(2)).instructions.iter().map(|i| i.origin.0);
        let (mut live, mut most) = (0, 0);
        for place in places {
            live = if place == 1 {
                live + 1
            } else if place == 2 {
                live - 1
            } else {
                live
            };
            most = most.max(live);
        }
        (most, short.map(|budget| budget.general.into_iter().collect::<Vec<u32>>()))
    };
    let grant = "  USETMAXREG.CTAPOOL.DEALLOC #24 ; 0\n";
    let (most, short) = ordered("", "");
    assert!(most > 17 && short.is_none(), "there is room for more: {most} {short:?}");
    let (most, short) = ordered(grant, "");
    assert!(most <= 17 && short.is_none(), "{most} {short:?}");
    let meeting = "  BAR.DEFER_BLOCKING.SYNC #0 mem(generic rw ordered) ; 4\n";
    assert_eq!(ordered(grant, meeting), (values, Some(vec![57, 17, 17])), "no order is within them");
}

/// A distance to the next block longer than a stall: a pause follows the end of the block, but precedes a branch,
/// after which it would not be executed.
#[test]
fn a_long_distance_to_the_next_block_is_waited_for() {
    words(
        "-> 1
         HMMA.16816.F32 R4, R8, R10, R4
         -> 1
         FADD R4, R4, R5
         HMMA.16816.F32 R4, R8, R10, R4
         BRA 0x0 => 1",
        options(),
        expect![[r#"
            --
            ------:-:-:Y:15 HMMA.16816.F32 R4, R8, R10, R4
            ------:-:-:-:09 NOP
            --
            ------:-:-:Y:07 FADD R4, R4, R5
            ------:-:-:-:01 HMMA.16816.F32 R4, R8, R10, R4
            ------:-:-:-:08 NOP
            ------:-:-:Y:15 BRA 0x0
        "#]],
    );
}

/// Registers are released eight cycles after a pause, or nine after the warp reconverges, and the next instruction
/// waits for that.
#[test]
fn registers_are_given_back_behind_a_pause() {
    words(
        "-> 1
         MOV R0, R1
         USETMAXREG.DEALLOC.CTAPOOL 0x28
         MOV R2, R1
         ->
         WARPSYNC.ALL
         USETMAXREG.DEALLOC.CTAPOOL 0x28
         MOV R2, R1",
        options(),
        expect![[r#"
            --
            ------:-:-:-:01 MOV R0, R1
            ------:-:-:Y:08 NOP
            ------:-:0:-:02 USETMAXREG.DEALLOC.CTAPOOL 0x28
            0-----:-:-:-:01 MOV R2, R1
            --
            ------:-:-:-:09 WARPSYNC.ALL
            ------:-:0:-:02 USETMAXREG.DEALLOC.CTAPOOL 0x28
            0-----:-:-:-:01 MOV R2, R1
        "#]],
    );
}

/// Waits for tensor memory loads, and fences, leave a `NOP` that waits; padding does not, and other loads are not
/// waited for.
#[test]
fn loads_from_tensor_memory_are_over_behind_their_wait() {
    let chip: Chip = "sm_100a".parse().expect("the chip has a name");
    let tables = Tables::of(chip).expect("tables");
    let everything = MemoryInfo {
        space: oriole_ori::Space::Generic,
        reads: true,
        writes: true,
        ordered: true,
        object: None,
    };
    let waits = |loads: &str, memory: Option<MemoryInfo>| {
        let mut function = MachineFunction::default();
        let mut instructions = Vec::new();
        for line in loads.lines().chain(["NOP", "IADD3 R2, R4, R4, RZ", "EXIT"]) {
            let instruction = parse(chip, line, Some(0)).expect("an instruction");
            let mut machine =
                MachineInstruction::new(tables.forms, instruction, Origin(0)).expect("it has a form");
            machine.memory = if line == "NOP" { memory } else { None };
            instructions.push(machine);
        }
        function.blocks.push(MachineBlock { instructions, successors: Default::default(), loop_depth: 0 });
        let function = control_words(Finishing::new(function, &tables), &tables, &options());
        let block = &function.expect("control words").blocks[BlockId(0)].instructions;
        let masks: Vec<bool> = block.iter().map(|it| it.instruction.control.wait_mask != 0).collect();
        masks
    };
    assert_eq!(waits("LDTM.x2 R4, tmem[UR4]", Some(everything)), [false, true, false, false]);
    assert_eq!(waits("LDTM.x2 R4, tmem[UR4]", None), [false, false, true, false]);
    assert_eq!(waits("LDG.E.64 R4, desc[UR6][R2.64]", Some(everything)), [false, false, true, false]);
    // The lanes of one register: the second load is through after the first.
    let halves = |register: &str| {
        format!("LDTM.16dp32bit_t0_t15.x2 R4, tmem[UR4]\nLDTM.16dp32bit_t16_t31.x2 {register}, tmem[UR4+0x8]")
    };
    assert_eq!(waits(&halves("R4"), None), [false, false, false, true, false]);
    assert_eq!(waits(&halves("R4"), Some(everything)), [false, false, true, false, false]);
    // Others share a register with it, and do not preserve all of its result.
    let apart = "LDTM.16dp32bit_t0_t15.x2 R4, tmem[UR4]\nLDTM.16dp32bit_t16_t31 R5, tmem[UR4+0x8]";
    assert_eq!(waits(apart, None), [false, true, false, false, false]);
}
