//! Invariants of the tables.

use crate::{Class, Model, Origin, ResultPart, Slot};
use oriole_chip::Chip;
use oriole_sass::{Mod, Mods, Op};

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
        let class = model().class(op, &Mods::none());
        assert_eq!(raw(Class::Alu, ResultPart::Predicate, class, Slot::Guard), 13, "{}", op.name());
        assert_eq!(raw(Class::Double, ResultPart::Predicate, class, Slot::Guard), 14, "{}", op.name());
    }
}

#[test]
fn no_fixed_distance_is_zero_or_beyond_the_longest() {
    for pair in model().listed() {
        assert!(pair.distance.cycles > 0, "{pair:?}");
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
        let _ = model().class(op, &Mods::none());
        if crate::is_branch_like(op) && !matches!(op, Op::BSSY | Op::BPT) {
            assert!(model().minimum_stall(op, &Mods::none()) >= 5, "{}", op.name());
        }
        if crate::is_branch_like(op) {
            assert!(!model().is_variable(op, &Mods::none()), "{}", op.name());
        }
    }
}

/// Differences between the chips: classes, scoreboards, minimum stalls, intervals.
#[test]
fn facts_of_timing_are_the_chips() {
    let of = |name: &str| Model::of(name.parse().unwrap()).unwrap();
    let (ampere, ada, hopper) = (of("sm_80"), of("sm_89"), of("sm_90"));
    let none = Mods::none();
    for op in [Op::DADD, Op::DMUL, Op::DFMA, Op::DSETP, Op::R2UR] {
        assert!(ampere.is_variable(op, &none) && ada.is_variable(op, &none), "{}", op.name());
        assert!(ampere.needs_write_barrier(op, &none) && !hopper.is_variable(op, &none), "{}", op.name());
    }
    let double = |model: &Model| model.raw(Class::Double, ResultPart::General, Class::Alu, Slot::Operand);
    assert_eq!((double(ampere), double(hopper).map(|d| d.cycles)), (None, Some(10)));
    assert_eq!(
        (ampere.minimum_stall(Op::WARPSYNC, &none), hopper.minimum_stall(Op::WARPSYNC, &none)),
        (1, 5)
    );
    let product = Mods::of(&[Mod::_1688, Mod::F32]);
    assert!(of("sm_75").needs_write_barrier(Op::HMMA, &product) && !ampere.is_variable(Op::HMMA, &product));
    let step = Mods::of(&[Mod::_884, Mod::F32, Mod::F32_2, Mod::STEP0]);
    assert!(["sm_70", "sm_75"].iter().all(|name| of(name).needs_write_barrier(Op::HMMA, &step)));
    let again =
        |name: &str| of(name).waw(Class::Alu, ResultPart::Predicate, Class::Fma, ResultPart::Predicate);
    assert_ne!(again("sm_70"), again("sm_75"));
    let guard = |model: &Model| model.raw(Class::Alu, ResultPart::Predicate, Class::Alu, Slot::Guard);
    assert_eq!([of("sm_75"), ampere].map(|model| guard(model).map(|d| d.cycles)), [Some(12), Some(13)]);
    let small = Mods::of(&[Mod::_16832, Mod::S4]);
    assert_eq!(ampere.class(Op::IMMA, &small), Class::MatrixOneInteger);
    assert_eq!(hopper.class(Op::IMMA, &small), Class::MatrixTwo);
    let multiply = |model: &Model| model.resources(Op::FFMA, &none)[crate::Unit::Fma as usize];
    assert_eq!([ampere, ada, hopper].map(multiply), [2, 1, 1]);
    assert_eq!(["sm_86", "sm_87", "sm_88"].map(|name| multiply(of(name))), [1, 1, 1]);
    let packed = |name: &str| of(name).raw(Class::HalfMma, ResultPart::General, Class::Alu, Slot::Operand);
    assert_eq!(packed("sm_87"), packed("sm_80"));
    assert_eq!(packed("sm_86"), packed("sm_89"));
    assert_ne!(packed("sm_87"), packed("sm_86"));
    // Before sm_90 the high half of a wide addend is read as early as the low one.
    let high = |model: &Model| {
        model.raw(Class::Alu, ResultPart::General, Class::Wide, Slot::AddendHigh).unwrap().cycles
    };
    assert_eq!([ampere, ada, hopper].map(high), [5, 5, 3]);
    // Of the later chips only sm_100 has fixed-latency f64; constants come from a load that sets a scoreboard on all
    // of them.
    let fixed = |op| ["sm_100", "sm_103", "sm_120"].map(|name| !of(name).is_variable(op, &none));
    assert_eq!(fixed(Op::DFMA), [true, false, false]);
    assert_eq!(fixed(Op::LDCU), [false, false, false]);
}

/// 64-bit integers in one instruction: the issue takes two cycles, readers other than 64-bit ones wait for the second
/// word, and comparison results arrive later.
#[test]
fn integers_of_64_bits_have_a_class_of_their_own() {
    let small = Model::of("sm_120".parse().unwrap()).unwrap();
    let long = Mods::of(&[Mod::_64]);
    for op in [Op::MOV, Op::SEL, Op::IADD] {
        assert_eq!(
            (small.class(op, &long), small.minimum_stall(op, &long)),
            (Class::Long, 2),
            "{}",
            op.name()
        );
    }
    for mods in [&[Mod::GE, Mod::S64, Mod::AND], &[Mod::GE, Mod::U64, Mod::AND]] {
        assert_eq!(small.class(Op::ISETP, &Mods::of(mods)), Class::Long);
    }
    assert_eq!(small.minimum_stall(Op::MOV, &Mods::none()), 1);
    let after = |class: Class, reader: Class| {
        small.raw(class, ResultPart::General, reader, Slot::Operand).unwrap().cycles
    };
    assert_eq!((after(Class::Long, Class::Long), after(Class::Long, Class::Alu)), (4, 5));
    assert!(after(Class::Alu, Class::Long) > after(Class::Alu, Class::Alu));
    let guard =
        |class: Class| small.raw(class, ResultPart::Predicate, Class::Alu, Slot::Guard).unwrap().cycles;
    assert_eq!((guard(Class::Alu), guard(Class::Long)), (13, 14));
}

/// The distances of the stand-in chip, all guessed.
#[test]
fn every_distance_of_an_unknown_chip_is_a_guess() {
    for (unknown, known) in [("sm_82", "sm_80"), ("sm_123a", "sm_121"), ("sm_130", "sm_121")] {
        let chip = Chip::or_stand_in(unknown).unwrap();
        let (model, base) = (Model::of(chip).unwrap(), Model::of(known.parse().unwrap()).unwrap());
        let (guessed, known) = (model.listed(), base.listed());
        assert_eq!(guessed.len(), known.len());
        for (guess, pair) in guessed.iter().zip(&known) {
            assert_eq!(
                (guess.distance.cycles, guess.distance.origin),
                (pair.distance.cycles, Origin::Guessed)
            );
            assert_eq!((&guess.first, &guess.second), (&pair.first, &pair.second));
        }
        assert!(known.iter().any(|pair| pair.distance.origin != Origin::Guessed));
    }
}

#[test]
fn pairs_are_listed_with_their_origin_on_every_chip() {
    for chip in Chip::all() {
        let listed = Model::of(chip).unwrap().listed();
        assert!(listed.iter().all(|pair| pair.distance.cycles > 0), "{chip}");
        let count = |origin: Origin| listed.iter().filter(|pair| pair.distance.origin == origin).count();
        assert!(count(Origin::Observed) > 200 && count(Origin::Guessed) > 0, "{chip}");
    }
}
