//! Control words of serial code, as text before and after.

use crate::tests::{options, words};
use expect_test::expect;
use oriole_options::FinishOptions;

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
