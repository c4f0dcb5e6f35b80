//! The report of a schedule.

use crate::tests::{machine, model};
use expect_test::expect;
use oriole_chip::Chip;
use oriole_ori::{MachineBlock, MachineFunction, Origin};
use oriole_sass::parse;

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
