//! Stall counts, as text before and after.

use crate::tests::{options, words};
use expect_test::expect;

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

/// A block that ends with a branch and a jump has two exits: stalls for the loop are complete when the branch goes
/// back, and the loop exit waits only for the results that are needed there.
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
