//! Listings to words: labels, lines that move, and what is not a listing.

use expect_test::{Expect, expect};
use oriole_assemble::{FunctionText, Labels, assemble};
use oriole_chip::Chip;
use std::fmt::Write as _;

/// The functions of a listing as text, each instruction with its place and, in parentheses, where it was; or the errors.
fn read(text: &str) -> String {
    let functions = match assemble(Chip::SM_90, text) {
        Ok(functions) => functions,
        Err(errors) => return errors.iter().map(|error| format!("{error}\n")).collect(),
    };
    functions.iter().map(shown).collect()
}

fn shown(function: &FunctionText) -> String {
    let mut out = format!("{} {:?}\n", function.name, function.stated);
    for (index, (&word, old)) in function.words.iter().zip(&function.old).enumerate() {
        let address = index as u64 * 16;
        let instruction = oriole_sass::decode(Chip::SM_90, word).expect("a word that was just made");
        let text = oriole_sass::text(Chip::SM_90, &instruction, Some(address), oriole_sass::Style::Exact);
        let old = old.map_or(String::new(), |old| format!(" (was {old:#x})"));
        let _ = writeln!(out, "{address:#06x}{old} {}", text.expect("a form"));
    }
    out
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&read(text));
}

#[test]
fn numbers_follow_the_lines_that_move() {
    check(
        "
// k registers 8 frame 0
/*0000*/ S2R R0, SR_TID.X ; stall=1 write=0
IADD3 R1, R0, 0x1, RZ ; stall=5 wait=0
/*0010*/ @P0 BRA 0x30 ; stall=5
/*0020*/ BRA 0x0 ; stall=5
/*0030*/ EXIT ; stall=5
/*0040*/ BRA 0x40 ; stall=0 yield
",
        expect![[r#"
            k Some((8, 0))
            0x0000 (was 0x0) S2R R0, SR_TID.X ; stall=1 write=0
            0x0010 IADD3 R1, R0, 0x1, RZ ; stall=5 wait=0
            0x0020 (was 0x10) @P0 BRA 0x40 ; stall=5
            0x0030 (was 0x20) BRA 0x0 ; stall=5
            0x0040 (was 0x30) EXIT ; stall=5
            0x0050 (was 0x40) BRA 0x50 ; stall=0 yield
        "#]],
    );
}

#[test]
fn labels_are_places() {
    check(
        "
// first registers 8 frame 0
.L_back:
S2R R0, SR_TID.X ; stall=1 write=0
@P0 BRA .L_end ; stall=5
BSSY B0, .L_end ; stall=5
BRA .L_back ; stall=5
.L_end:
EXIT ; stall=5
// second (int f<int>()) registers 16 frame 8
.L_end:
BRA .L_end ; stall=0 yield
BRA .+0x10
",
        expect![[r#"
            first Some((8, 0))
            0x0000 S2R R0, SR_TID.X ; stall=1 write=0
            0x0010 @P0 BRA 0x40 ; stall=5
            0x0020 BSSY B0, 0x40 ; stall=5
            0x0030 BRA 0x0 ; stall=5
            0x0040 EXIT ; stall=5
            second Some((16, 8))
            0x0000 BRA 0x0 ; stall=0 yield
            0x0010 BRA 0x30 ; stall=1
        "#]],
    );
}

#[test]
fn errors_have_lines() {
    check(
        "
// k registers 8 frame 0
/*0000*/ FROB R0, R1 ; stall=1
/*0010*/ BRA .L_nowhere ; stall=5
.L_a:
.L_a:
/*0010*/ EXIT ; stall=5
BRA 0x70 ; stall=5
.word 0xz
// k registers 8 frame 0
EXIT ; stall=99
",
        expect![[r#"
            3: column 0: unknown opcode
            4: there is no label `.L_nowhere` in this function
            6: the label `.L_a` is there twice
            7: the address 0x10 is also in line 4; a line that is new has none
            8: no line has the address 0x70; name the target by a label
            9: invalid digit found in string
            10: `k` is also in line 2
            11: EXIT: the stall count is at most 15
        "#]],
    );
}

/// Text with labels is read back as the same words.
#[test]
fn labels_that_are_printed_are_read() {
    let text = "\
/*0000*/ S2R R0, SR_TID.X ; stall=1 write=0
/*0010*/ @P0 BRA 0x30 ; stall=5
/*0020*/ BRA 0x0 ; stall=5
/*0030*/ EXIT ; stall=5
";
    let function = &assemble(Chip::SM_90, text).expect("a listing")[0];
    let shape = Chip::SM_90.words();
    let code: Vec<_> = (0u64..)
        .zip(&function.words)
        .map(|(index, &word)| (index * 16, oriole_sass::decode(Chip::SM_90, word).expect("a word")))
        .collect();
    let labels = Labels::of(shape, code.iter().map(|(address, instruction)| (*address, instruction)), 64);
    let mut out = String::new();
    for (address, instruction) in &code {
        if let Some(label) = labels.at(*address) {
            let _ = writeln!(out, "{label}:");
        }
        let line = oriole_sass::text(Chip::SM_90, instruction, Some(*address), oriole_sass::Style::Exact);
        let _ = writeln!(out, "{}", labels.text(shape, *address, instruction, &line.expect("a form")));
    }
    expect![[r#"
        .L_0000:
        S2R R0, SR_TID.X ; stall=1 write=0
        @P0 BRA .L_0030 ; stall=5
        BRA .L_0000 ; stall=5
        .L_0030:
        EXIT ; stall=5
    "#]]
    .assert_eq(&out);
    assert_eq!(assemble(Chip::SM_90, &out).expect("a listing")[0].words, function.words);
}
