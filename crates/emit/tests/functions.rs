//! Whole functions: branch distances, relocations, and the words that layout completes.

use expect_test::{Expect, expect};
use oriole_chip::Chip;
use oriole_emit::{EncodeReason, EncodedFunction, encode_function, patch};
use oriole_ori::{
    AddressPart, BlockId, ConstBase, Fixup, MachineBlock, MachineFunction, MachineInstruction, Origin,
    SymbolId,
};
use oriole_sass::form::Table;
use oriole_sass::{Style, decode, parse, text};
use typed_index_collections::ti_vec;

const CHIP: Chip = Chip::SM_90A;

fn forms() -> &'static Table {
    oriole_sass::form::table(CHIP).expect("forms")
}

/// A function from blocks of instruction texts, each with an optional fixup.
fn function(blocks: &[&[(&str, Option<Fixup>)]]) -> MachineFunction {
    let instruction = |&(line, fixup): &(&str, Option<Fixup>)| {
        let parsed = parse(CHIP, line, Some(0)).unwrap_or_else(|error| panic!("{line}: {error}"));
        let plain = MachineInstruction::new(forms(), parsed, Origin(0)).expect("what was parsed has a form");
        MachineInstruction { fixup, ..plain }
    };
    MachineFunction {
        blocks: blocks
            .iter()
            .map(|lines| MachineBlock {
                instructions: lines.iter().map(instruction).collect(),
                successors: Default::default(),
                loop_depth: 0,
            })
            .collect(),
        general_registers: 8,
        frame_bytes: 0,
    }
}

fn listing(encoded: &EncodedFunction) -> String {
    let mut out = String::new();
    for (index, &word) in encoded.words.iter().enumerate() {
        out += &line(word, index as u64);
    }
    for relocation in &encoded.relocations {
        out += &format!("at {} anchor {}: {:?}\n", relocation.at, relocation.anchor, relocation.fixup);
    }
    out
}

fn line(word: u128, index: u64) -> String {
    let instruction = decode(CHIP, word).expect("what was encoded decodes");
    let text = text(CHIP, &instruction, Some(16 * index), Style::Plain).expect("and prints");
    format!("{:04x} {text}\n", 16 * index)
}

fn check(found: &str, expected: Expect) {
    expected.assert_eq(found);
}

#[test]
fn branches_go_both_ways() {
    let encoded = encode_function(
        CHIP,
        &function(&[
            &[("MOV R0, RZ", None), ("BSSY B0, 0x10", Some(Fixup::Block(BlockId(2))))],
            &[
                ("IADD3 R0, R0, 0x1, RZ", None),
                ("ISETP.LT.AND P0, PT, R0, R1, PT", None),
                ("@P0 BRA 0x10", Some(Fixup::Block(BlockId(1)))),
            ],
            &[("BSYNC B0", None), ("EXIT", None)],
        ]),
    )
    .expect("every instruction has a form");
    assert_eq!(encoded.block_starts.raw, [0, 2, 5]);
    assert_eq!(encoded.exits, [6]);
    assert!(encoded.needs_call_stack);
    check(
        &listing(&encoded),
        expect![[r#"
            0000 MOV R0, RZ
            0010 BSSY B0, 0x60
            0020 IADD3 R0, R0, 0x1, RZ
            0030 ISETP.LT.AND P0, PT, R0, R1, PT
            0040 @P0 BRA 0x20
            0050 BSYNC B0
            0060 EXIT
        "#]],
    );
}

#[test]
fn a_branch_to_no_block_is_an_error() {
    let error = encode_function(CHIP, &function(&[&[("BRA 0x10", Some(Fixup::Block(BlockId(7))))]]))
        .expect_err("there is no such block");
    assert_eq!((error.at, error.reason), (0, EncodeReason::NoBlock));
}

#[test]
fn layout_completes_words() {
    let symbol = SymbolId(0);
    let lines: &[(&str, Option<Fixup>)] = &[
        ("MOV R20, 0x0", Some(Fixup::ReturnAddress(AddressPart::Low))),
        ("MOV R21, 0x0", Some(Fixup::ReturnAddress(AddressPart::High))),
        ("CALL.REL.NOINC 0x0", Some(Fixup::Call(symbol))),
        ("MOV R4, 0x0", Some(Fixup::Address { symbol, part: AddressPart::Low, offset: 4 })),
        ("LDS R5, [R4]", Some(Fixup::SharedOffset { symbol, offset: 8 })),
        ("LDC.64 R6, c[0x4][RZ]", Some(Fixup::Const { base: ConstBase::AddressSlot(symbol), offset: 0 })),
        ("FADD R5, R5, c[0x3][0x0]", Some(Fixup::Const { base: ConstBase::Variable(symbol), offset: 0 })),
        ("RET.REL.NODEC R20 0x10", Some(Fixup::KernelStart)),
    ];
    let encoded = encode_function(CHIP, &function(&[lines])).expect("every instruction has a form");
    let mut out = listing(&encoded);
    for (relocation, value) in
        encoded.relocations.iter().zip([0x30, 0, 0x1000, 0x404, 0x408, 0x18, 0x20, -0x80])
    {
        let word = patch(CHIP, relocation, value).expect("the value fits");
        out += &line(word, relocation.at as u64);
    }
    check(
        &out,
        expect![[r#"
        0000 MOV R20, 0x0
        0010 MOV R21, 0x0
        0020 CALL.REL.NOINC 0x20
        0030 MOV R4, 0x0
        0040 LDS R5, [R4]
        0050 LDC.64 R6, c[0x4][RZ]
        0060 FADD R5, R5, c[0x3][0x0]
        0070 RET.REL.NODEC R20 0x80
        at 0 anchor 3: ReturnAddress(Low)
        at 1 anchor 3: ReturnAddress(High)
        at 2 anchor 2: Call(SymbolId(0))
        at 3 anchor 3: Address { symbol: SymbolId(0), part: Low, offset: 4 }
        at 4 anchor 4: SharedOffset { symbol: SymbolId(0), offset: 8 }
        at 5 anchor 5: Const { base: AddressSlot(SymbolId(0)), offset: 0 }
        at 6 anchor 6: Const { base: Variable(SymbolId(0)), offset: 0 }
        at 7 anchor 7: KernelStart
        0000 MOV R20, 0x30
        0010 MOV R21, 0x0
        0020 CALL.REL.NOINC 0x1030
        0030 MOV R4, 0x404
        0040 LDS R5, [R4+0x408]
        0050 LDC.64 R6, c[0x4][0x18]
        0060 FADD R5, R5, c[0x3][0x20]
        0070 RET.REL.NODEC R20 0x0
    "#]],
    );
    let call = &encoded.relocations[2];
    assert!(patch(CHIP, call, 2).is_err(), "instructions are at multiples of four");
    let shared = &encoded.relocations[4];
    assert!(patch(CHIP, shared, 1 << 24).is_err(), "the offset has 24 bits");
}

#[test]
fn the_form_that_was_chosen_is_the_one_that_is_written() {
    let of = |line: &str| {
        let parsed = parse(CHIP, line, Some(0)).expect("an instruction");
        MachineInstruction::new(forms(), parsed, Origin(0)).expect("what was parsed has a form")
    };
    let encoded = |machine: MachineInstruction| {
        let block = MachineBlock { instructions: vec![machine], ..MachineBlock::default() };
        encode_function(CHIP, &MachineFunction { blocks: ti_vec![block], ..MachineFunction::default() })
    };
    let (register, immediate) = (of("MOV R0, R1"), of("MOV R0, 0x1"));
    assert_ne!(register.form, immediate.form);
    assert!(encoded(immediate.clone()).is_ok());
    // No other form is searched.
    let wrong = MachineInstruction { form: register.form, ..immediate };
    let error = encoded(wrong).expect_err("the form takes no immediate").reason;
    assert_eq!(error.to_string(), "no form of MOV takes these operands");
}
