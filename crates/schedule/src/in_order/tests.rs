//! Results of units that complete in order, as text before and after.

use crate::tests::{options, words};
use expect_test::expect;
use oriole_options::FinishOptions;

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
