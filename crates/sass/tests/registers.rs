//! Registers in words: fields have the width of the chip, and the neutral register of a file has one index in
//! operands whatever the width of its field.

use oriole_chip::Chip;
use oriole_sass::form::{Slot, SlotKind, table};
use oriole_sass::register::{RZ, URZ};
use oriole_sass::{EncodeError, OperandKind, RegisterFile, Style, decode, encode, parse, text};

/// The register file of each field of a slot, `None` for a plain value.
fn files(slot: &Slot) -> Vec<Option<RegisterFile>> {
    use RegisterFile::{Barrier, General, Predicate, Uniform, UniformPredicate};
    let parts = |parts: &[(bool, RegisterFile)]| {
        parts.iter().filter(|part| part.0).map(|part| Some(part.1)).collect::<Vec<_>>()
    };
    let mut files = match slot.kind {
        SlotKind::Reg => vec![Some(General)],
        SlotKind::UReg
        | SlotKind::MatrixDescriptor
        | SlotKind::InstructionDescriptor
        | SlotKind::TensorMemory { .. }
        | SlotKind::ConstBindless => vec![Some(Uniform)],
        SlotKind::Pred => vec![Some(Predicate)],
        SlotKind::UPred => vec![Some(UniformPredicate)],
        SlotKind::Barrier => vec![Some(Barrier)],
        SlotKind::ConstIndexed => vec![None, Some(General)],
        SlotKind::ConstUniformIndexed => vec![None, Some(Uniform)],
        SlotKind::ConstBindlessIndexed => vec![Some(Uniform), Some(General)],
        SlotKind::Memory { descriptor, base, uniform, .. } => {
            parts(&[(descriptor, Uniform), (base, General), (uniform, Uniform)])
        }
        SlotKind::Attribute { base, uniform, .. } => parts(&[(base, General), (uniform, Uniform)]),
        _ => Vec::new(),
    };
    files.resize(slot.fields.len(), None);
    files
}

#[test]
fn register_fields_are_those_of_the_chip() {
    let mut seen = 0;
    for chip in Chip::all() {
        let Some(table) = table(chip) else { continue };
        assert_eq!(table.registers(), chip.register_files(), "{chip}");
        for form in table.forms() {
            for (field, file) in form.slots.iter().flat_map(|slot| slot.fields.iter().zip(files(slot))) {
                let Some(file) = file else { continue };
                let row = file.of(chip.register_files());
                let name = format!("{chip} {} {file:?}", form.op.name());
                assert_eq!(field.width(), u32::from(row.field_bits), "{name}");
                assert_eq!(file.neutral().is_some(), row.neutral, "{name}");
                seen += 1;
                let numbers = field.extract(u128::MAX);
                for bits in 0..numbers {
                    let named = field.named(file, bits);
                    assert_eq!(field.named_bits(file, named), Some(bits), "{name}: {bits}");
                }
            }
        }
    }
    assert!(seen > 1_000, "{seen} fields");
}

#[test]
fn the_zero_register_has_one_number() {
    let chip = Chip::SM_90;
    let add = parse(chip, "UIADD3 UR4, UR8, URZ, URZ", None).expect("it is an instruction");
    assert_eq!(add.operands[2].kind, OperandKind::UReg(URZ));
    assert_eq!(URZ, RZ);
    let word = encode(chip, &add).expect("it has a word");
    let read = decode(chip, word).expect("it is an instruction");
    assert!(read.operands.iter().any(|operand| operand.kind == OperandKind::UReg(URZ)));
    assert_eq!(text(chip, &add, None, Style::Plain).expect("a text"), "UIADD3 UR4, UR8, URZ, URZ");
    let mut beyond = add;
    beyond.operands[1].kind = OperandKind::UReg(63);
    assert!(
        matches!(encode(chip, &beyond), Err(EncodeError::Range(_, 1))),
        "no field of six bits names UR63"
    );
}

/// The index of a neutral register is not its name: it would silently become the neutral one.
#[test]
fn neutral_registers_have_no_number_in_texts() {
    let refused =
        ["UIADD3 UR4, UR63, 0x1, URZ", "IADD3 R0, R255, R1, RZ", "UIADD3 UR4, UR255, 0x1, URZ", "@P7 NOP"];
    for text in refused {
        assert!(parse(Chip::SM_90, text, None).is_err(), "{text}");
    }
}
