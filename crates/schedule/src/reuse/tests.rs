//! Reuse flags, as text before and after.

use crate::tests::{options, words};
use expect_test::expect;
use oriole_options::FinishOptions;

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
