//! Data computed from the tables, compared with their rows: masks of constraints, shapes, stanzas of
//! opcodes, names on other chips; and sets of modifiers and words as bytes.

use oriole_chip::Chip;
use oriole_sass::form::{FormId, SELF, Table, Token, table as table_of};
use oriole_sass::info::SourceType;
use oriole_sass::tested::{Constraints, SAME, Word, mask_len};
use oriole_sass::{
    Class, Effect, Mod, Mods, Op, append_words, has, has_long_integers, on_chip, words_of_bytes,
};
use std::collections::BTreeSet;

/// All forms of a table.
fn ids(table: &'static Table) -> impl Iterator<Item = FormId> {
    Op::all().iter().flat_map(|&op| table.ids_of(op))
}

/// The words of a mask.
fn words(constraints: &Constraints, mask: &[u64]) -> BTreeSet<Word> {
    let said = |bit: &usize| mask[bit / 64] >> (bit % 64) & 1 == 1;
    (0..mask.len() * 64).filter(said).map(|bit| constraints.vocabulary[bit]).collect()
}

fn words_of(tokens: &[Token], slot: u8) -> BTreeSet<Word> {
    tokens.iter().map(|&token| Word::of(token, slot)).collect()
}

#[test]
fn masks_are_what_the_rows_of_the_table_say() {
    let tables = Chip::all().into_iter().filter_map(table_of);
    for (own, form) in tables.flat_map(|table| ids(table).map(|id| (table.constraints(id), table.form(id)))) {
        let len = mask_len(own.vocabulary.len());
        assert!(own.vocabulary.is_sorted_by(|a, b| a < b), "{form:?}");
        let always =
            own.always.iter().map(|always| (own.vocabulary[usize::from(always.bit)], always.suffixed));
        let expected = form.always.iter().map(|&token| match token {
            Token::Suffix(slot, ..) => (Word::of(token, SELF), Some(slot)),
            _ => (Word::of(token, SELF), None),
        });
        assert!(always.eq(expected), "{form:?}");
        let mut masks = own.masks.chunks_exact(len).map(|mask| words(&own, mask));
        let mut vocabulary = words_of(form.always, SELF);
        assert_eq!(own.rows.len(), form.sets.len());
        for (set, &rows) in form.sets.iter().zip(own.rows) {
            let mut expected: Vec<&[Token]> = set.rows.iter().map(|row| row.tokens).collect();
            expected.sort_by_key(|tokens| std::cmp::Reverse(tokens.len()));
            let expected: Vec<_> = expected.into_iter().map(|tokens| words_of(tokens, set.slot)).collect();
            let said: BTreeSet<Word> = expected.iter().flatten().copied().collect();
            assert_eq!(masks.next().as_ref(), Some(&said), "{form:?}");
            assert!(masks.by_ref().take(usize::from(rows)).eq(expected), "{form:?}");
            vocabulary.extend(said);
        }
        assert!(masks.next().is_none() && own.vocabulary.iter().eq(&vocabulary), "{form:?}");
    }
}

#[test]
fn operands_share_fields_where_their_bits_meet() {
    let tables = Chip::all().into_iter().filter_map(table_of);
    for (shape, form) in tables.flat_map(|table| ids(table).map(|id| (table.shape(id), table.form(id)))) {
        let fields: Vec<u128> = form
            .slots
            .iter()
            .map(|slot| slot.fields.iter().fold(0, |all, field| all | field.mask()))
            .collect();
        let shared = (0..fields.len()).any(|b| (0..b).any(|a| fields[a] & fields[b] != 0));
        assert_eq!(shape.shares_fields, shared, "{form:?}");
    }
}

#[test]
fn every_opcode_has_a_complete_stanza() {
    for &op in Op::all() {
        let info = op.info();
        let name = op.name();
        assert!(info.class.last().is_some_and(|(when, _)| when.holds(&Mods::none())), "{name}: class");
        assert!(!info.units.is_empty(), "{name}: unit");
        let memory = matches!(info.effect, Effect::Load | Effect::Store | Effect::Atomic);
        assert_eq!(memory, info.space.is_some(), "{name}: memory space");
        // The active lanes affect what other lanes see.
        let collective = info.effect == Effect::Collective && op != Op::B2R;
        assert!(!collective || info.convergent, "{name}: convergent");
        if let Some(uniform) = info.uniform {
            let source = if info.effect == Effect::Register { Effect::Register } else { Effect::PureUniform };
            assert_eq!(uniform.info().effect, source, "{name}: uniform");
        }
        for index in 0..info.commutes(&Mods::none()) {
            let first = info.source(&Mods::none(), 0);
            assert_eq!(info.source(&Mods::none(), index), first, "{name}: exchanged sources");
        }
    }
}

#[test]
fn the_first_row_that_holds_counts() {
    let class = |op: Op, mods: &[Mod]| op.info().class(&Mods::of(mods));
    assert_eq!(class(Op::IMAD, &[]), Class::Fma);
    assert_eq!(class(Op::IMAD, &[Mod::HI]), Class::Wide);
    assert_eq!(class(Op::HMMA, &[Mod::_1688]), Class::MatrixOne);
    assert_eq!(class(Op::HMMA, &[Mod::_1688, Mod::TF32]), Class::MatrixTwo);
    assert_eq!(class(Op::HMMA, &[Mod::_1684, Mod::TF32]), Class::MatrixOne);
    let iadd = Op::IADD3.info();
    assert_eq!(iadd.source(&Mods::none(), 2), SourceType::Word);
    assert_eq!(iadd.source(&Mods::none(), 9), SourceType::Predicate);
    assert_eq!(Op::IMAD.info().source(&Mods::of(&[Mod::WIDE]), 2), SourceType::Other);
}

#[test]
fn other_chips_have_other_names_for_it() {
    let (older, newer): (Chip, Chip) = ("sm_80".parse().unwrap(), "sm_100".parse().unwrap());
    for (here, there) in SAME {
        let other = if there == Op::LDCU { newer } else { older };
        assert_eq!((on_chip(Chip::SM_90, here), on_chip(other, here)), (here, there));
    }
    let small = "sm_120".parse().unwrap();
    assert_eq!([older, newer, small].map(has_long_integers), [false, false, true]);
    assert_eq!(on_chip(older, Op::ELECT), Op::ELECT);
    assert!(!has(older, Op::ELECT) && has(Chip::SM_90, Op::ELECT));
}

#[test]
fn a_set_is_sorted_and_without_doubles_whatever_its_size() {
    let tokens = [Mod::X, Mod::E, Mod::FTZ, Mod::U32, Mod::_64, Mod::GT, Mod::AND, Mod::SAT, Mod::RM];
    let mut set = Mods::none();
    for (count, &token) in tokens.iter().enumerate() {
        assert_eq!(set.len(), count);
        assert!(!set.has(token));
        set.insert(token);
        set.insert(token);
        assert!(set.has(token));
        assert!(set.iter().is_sorted());
    }
    for (gone, &token) in tokens.iter().enumerate() {
        assert_eq!(set, Mods::of(&tokens[gone..]));
        assert!(set.remove(token) && !set.remove(token));
    }
    assert!(set.is_empty());
}

#[test]
fn a_set_is_small() {
    assert_eq!(size_of::<Mods>(), 16);
}

#[test]
fn words_become_bytes_and_words_again() {
    let shape = Chip::SM_90.words();
    let words = [1, u128::MAX - 1, 0x0123_4567_89ab_cdef << 64];
    let mut bytes = Vec::new();
    append_words(shape, &words, &mut bytes);
    assert_eq!(bytes.len() as u64, shape.size(words.len()));
    assert_eq!((bytes[0], bytes[47]), (1, 0x01));
    assert_eq!(words_of_bytes(shape, &bytes).as_deref(), Some(&words[..]));
    assert_eq!(words_of_bytes(shape, &bytes[1..]), None);
}
