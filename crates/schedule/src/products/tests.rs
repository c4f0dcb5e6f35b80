//! Fences and waits of `wgmma`, as text before and after.

use crate::tests::{options, words_on};
use expect_test::{Expect, expect};
use oriole_chip::Chip;

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
