//! Scoreboards and waits, as text before and after.

use crate::tests::{options, with_control_words, words};
use crate::{Finishing, Tables, control_words};
use expect_test::expect;
use oriole_chip::Chip;
use oriole_latency::SCOREBOARDS;
use oriole_ori::{BlockId, MachineBlock, MachineFunction, MachineInstruction, MemoryInfo, Origin};
use oriole_sass::{Op, parse};
use std::fmt::Write as _;

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

/// The branch back does not wait for the scoreboards that the end of the thread waits for.
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

/// With more in flight than there are scoreboards, results that arrive soon share none with those that arrive late.
#[test]
fn functions_wait_for_no_loads() {
    let (function, load) = (|k: i32| 40 + k, |k: i32| 60 + k);
    let mut text = String::new();
    for k in 0..16 {
        let _ = writeln!(text, "MUFU.EX2 R{}, R{}", function(k), 20 + k);
        let _ = writeln!(text, "LDL R{}, [R1+{:#x}]", load(k), 4 * k);
        let users = [k - 4, k - 8].into_iter().filter(|from| *from >= 0).zip([function(k - 4), load(k - 8)]);
        users.for_each(|(_, register)| _ = writeln!(text, "FADD R{register}, R{register}, R0"));
    }
    let function = with_control_words(&format!("{text}EXIT"));
    // Each instruction takes four cycles. A function is waited for ten to fifteen instructions later, by then it is
    // there; a load that was issued in between is not.
    let (mut now, mut complete, mut waited) = (0, [0; SCOREBOARDS as usize], 0);
    for instruction in function.blocks[BlockId(0)].instructions.iter().map(|it| &it.instruction) {
        let control = &instruction.control;
        let awaited = complete.iter().enumerate().filter(|(at, _)| control.wait_mask >> at & 1 == 1);
        let ready = awaited.map(|(_, &complete)| complete).max().unwrap_or(0).max(now);
        waited += ready - now;
        now = ready + 4;
        if let Some(number) = control.write_barrier {
            let at = &mut complete[usize::from(number)];
            *at = now + instruction.op.info().estimate;
        }
    }
    expect!["0"].assert_eq(&waited.to_string());
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
