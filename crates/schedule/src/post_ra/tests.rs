//! Schedules of blocks of machine instructions, written and random.

use crate::tests::{machine, options, tables};
use crate::{Finishing, after_allocation};
use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_ori::{BlockId, MachineBlock, MachineFunction, MachineInstruction, MemoryInfo, Origin};
use oriole_sass::{Op, Style, parse, text};

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
