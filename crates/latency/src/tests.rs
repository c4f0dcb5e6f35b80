//! What the tables must obey.

use crate::{Class, Model, Origin, ResultPart, Slot, class, is_variable, minimum_stall};
use expect_test::expect;
use oriole_chip::Chip;
use oriole_sass::{Guard, Instruction, Mod, Mods, Op, Operand, OperandKind};

fn model() -> &'static Model {
    Model::of(Chip::SM_90).unwrap()
}

fn raw(producer: Class, part: ResultPart, consumer: Class, slot: Slot) -> u8 {
    model().raw(producer, part, consumer, slot).unwrap().cycles
}

#[test]
fn well_known_pairs() {
    use ResultPart::*;
    assert_eq!(raw(Class::Alu, General, Class::Alu, Slot::Operand), 4);
    assert_eq!(raw(Class::Alu, General, Class::Fma, Slot::Operand), 5);
    assert_eq!(raw(Class::Wide, High, Class::Memory, Slot::Address), 5);
    assert_eq!(raw(Class::Alu, Predicate, Class::Control, Slot::Guard), 13);
    assert_eq!(raw(Class::Double, Predicate, Class::Alu, Slot::Guard), 14);
    assert_eq!(raw(Class::Uniform, Uniform, Class::Memory, Slot::UniformAddress), 9);
    assert!(model().raw(Class::Memory, General, Class::Alu, Slot::Operand).is_none());
}

#[test]
fn a_guard_needs_the_same_in_every_unit() {
    for &op in Op::all() {
        let class = class(op, &Mods::none());
        assert_eq!(raw(Class::Alu, ResultPart::Predicate, class, Slot::Guard), 13, "{}", op.name());
        assert_eq!(raw(Class::Double, ResultPart::Predicate, class, Slot::Guard), 14, "{}", op.name());
    }
}

#[test]
fn no_fixed_distance_is_zero_or_beyond_the_longest() {
    for guess in model().guesses() {
        assert!(guess.cycles > 0, "{guess:?}");
    }
    for producer in [Class::Alu, Class::Fma, Class::Wide, Class::Double, Class::Other] {
        let longest = model().longest(producer, ResultPart::General).unwrap();
        let worst = model().raw(producer, ResultPart::General, Class::Other, Slot::Operand).unwrap();
        assert_eq!((worst.cycles <= longest, worst.origin), (true, Origin::Guessed));
    }
}

#[test]
fn every_opcode_has_a_class_and_branches_stall() {
    for &op in Op::all() {
        let _ = class(op, &Mods::none());
        if crate::is_branch_like(op) && !matches!(op, Op::BSSY | Op::BPT) {
            assert!(minimum_stall(op) >= 5, "{}", op.name());
        }
        if crate::is_branch_like(op) {
            assert!(!is_variable(op, &Mods::none()), "{}", op.name());
        }
    }
}

fn show(op: Op, mods: &[Mod], operands: &[OperandKind]) -> String {
    let instruction = Instruction {
        guard: Guard { uniform: false, register: 3, negated: true },
        op,
        mods: Mods::of(mods),
        operands: operands.iter().map(|&kind| Operand::plain(kind)).collect(),
        control: oriole_sass::Control::NEUTRAL,
    };
    let mut text = String::new();
    crate::accesses(&instruction, |access| {
        use std::fmt::Write;
        let _ = match access {
            crate::Access::Read { file, register, slot } => {
                writeln!(text, "read {file:?} {register} {slot:?}")
            }
            crate::Access::Write { file, register, part } => {
                writeln!(text, "write {file:?} {register} {part:?}")
            }
        };
    });
    text
}

#[test]
fn wide_product() {
    use OperandKind::*;
    expect![[r#"
        read Predicate 3 Guard
        write General 4 Low
        write General 5 High
        read General 3 Operand
        read General 8 AddendLow
        read General 9 AddendHigh
    "#]]
    .assert_eq(&show(Op::IMAD, &[Mod::WIDE], &[Reg(4), Pred(7), Reg(3), Imm(4), Reg(8)]));
}

#[test]
fn carries_stand_behind_the_result_and_at_the_end() {
    use OperandKind::*;
    expect![[r#"
        read Predicate 3 Guard
        write General 4 General
        write Predicate 0 Predicate
        read General 5 Operand
        read General 6 Operand
        read Predicate 1 Predicate
    "#]]
    .assert_eq(&show(
        Op::IADD3,
        &[Mod::X],
        &[Reg(4), Pred(0), Pred(7), Reg(5), Reg(6), Reg(255), Pred(1), Pred(7)],
    ));
}

#[test]
fn store_of_four_words() {
    use OperandKind::*;
    let address = Memory { descriptor: Some(4), base: Some(2), uniform: None, offset: 16 };
    expect![[r#"
        read Predicate 3 Guard
        read General 2 Address
        read General 3 Address
        read Uniform 4 UniformAddress
        read Uniform 5 UniformAddress
        read General 8 Data
        read General 9 Data
        read General 10 Data
        read General 11 Data
    "#]]
    .assert_eq(&show(Op::STG, &[Mod::E, Mod::_128], &[address, Reg(8)]));
}

#[test]
fn vote_reads_its_last_predicate() {
    use OperandKind::*;
    expect![[r#"
        read Predicate 3 Guard
        write Predicate 0 Predicate
        read Predicate 1 SlowPredicate
    "#]]
    .assert_eq(&show(Op::VOTE, &[Mod::ANY], &[Pred(0), Pred(1)]));
}

/// Every register that the form table says is touched must be visited here. A file of words, 32 hexadecimal digits a
/// line, is named by `ORIOLE_WORDS`.
#[test]
fn accesses_cover_what_the_form_table_says() {
    let Ok(path) = std::env::var("ORIOLE_WORDS") else {
        println!("skipped: ORIOLE_WORDS names no file of words");
        return;
    };
    let text = std::fs::read_to_string(path).expect("a file of words");
    let mut mistakes = std::collections::BTreeMap::<String, (u32, String)>::new();
    for line in text.lines() {
        let word = u128::from_str_radix(line, 16).expect("hexadecimal");
        let Ok(instruction) = oriole_sass::decode(Chip::SM_90A, word) else { continue };
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let known = oriole_sass::reads(Chip::SM_90A, &instruction, |r| reads.push(r)).is_ok()
            && oriole_sass::writes(Chip::SM_90A, &instruction, |r| writes.push(r)).is_ok();
        if !known {
            continue;
        }
        let (mut here_reads, mut here_writes) = (Vec::new(), Vec::new());
        crate::accesses(&instruction, |access| {
            let resource = |file: crate::RegisterFile, n: u8| match file {
                crate::RegisterFile::General => oriole_sass::Resource::Reg(n),
                crate::RegisterFile::Uniform => oriole_sass::Resource::UReg(n),
                crate::RegisterFile::Predicate => oriole_sass::Resource::Pred(n),
                crate::RegisterFile::UniformPredicate => oriole_sass::Resource::UPred(n),
                crate::RegisterFile::Barrier => oriole_sass::Resource::Barrier(n),
            };
            match access {
                crate::Access::Read { file, register, .. } => here_reads.push(resource(file, register)),
                crate::Access::Write { file, register, .. } => here_writes.push(resource(file, register)),
            }
        });
        let missing: Vec<_> = reads.iter().filter(|r| !here_reads.contains(r)).collect();
        let missing_writes: Vec<_> = writes.iter().filter(|r| !here_writes.contains(r)).collect();
        let extra: Vec<_> = here_writes.iter().filter(|r| !writes.contains(r)).collect();
        if !(missing.is_empty() && missing_writes.is_empty() && extra.is_empty()) {
            let name = format!("{} {:?}", instruction.op.name(), instruction.mods);
            let entry = mistakes.entry(name).or_default();
            entry.0 += 1;
            entry.1 = format!(
                "reads {missing:?} writes {missing_writes:?} extra {extra:?} in {:?}",
                instruction.operands
            );
        }
    }
    for (name, (count, example)) in &mistakes {
        println!("{count} {name}: {example}");
    }
    assert!(mistakes.is_empty());
}
