//! What the tables must obey.

use crate::{Class, Model, Origin, ResultPart, Slot};
use oriole_chip::Chip;
use oriole_sass::{Mods, Op};

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
            assert!(model().minimum_stall(op) >= 5, "{}", op.name());
        }
        if crate::is_branch_like(op) {
            assert!(!model().is_variable(op, &Mods::none()), "{}", op.name());
        }
    }
}
