//! Analyses and tables that passes share.

use oriole_optimize::analyses::byte_selectors::{extraction, insertion};
use oriole_optimize::analyses::definitions::Definitions;
use oriole_optimize::analyses::slots::{REVERSED, exchange_inputs, opposite};
use oriole_ori::{BlockId, File, Value, parse};

/// A pass may make values after a query.
#[test]
fn values_made_later_are_counted() {
    let text =
        "kernel\nb0:\n  r0 = MOV 0x1 ; 0\n  r1 = IADD3 r0, r0, RZ ; 1\n  r2 = MOV 0x2 ; 2\n  EXIT ; 3\n";
    let mut function = parse(text).expect("the text is Ori");
    let definitions = Definitions::in_ssa(&function);
    assert!(!definitions.is_read_once(Value(0)));
    let made = function.new_value(File::R, None);
    function.blocks[BlockId(0)].instructions[1].sources[0] = made.into();
    assert!(definitions.doubted(&function));
}

#[test]
fn tables_follow_their_inputs() {
    // `a & !b` becomes `b & !a`; the table of `a` becomes that of `c`.
    assert_eq!(exchange_inputs(0x30, 0, 1), 0x0c);
    assert_eq!(exchange_inputs(0xf0, 0, 2), 0xaa);
}

#[test]
fn opposites_and_reverses_undo_themselves() {
    for (from, to) in REVERSED {
        assert!(REVERSED.contains(&(to, from)));
        let twice = opposite(from, true).and_then(|other| opposite(other, true));
        assert_eq!(twice, Some(from));
    }
}

#[test]
fn selectors_name_the_bytes() {
    assert_eq!(extraction(1, 1, false), 0x4441);
    assert_eq!(extraction(3, 1, true), 0xbbb3);
    assert_eq!(extraction(2, 2, false), 0x4432);
    assert_eq!(extraction(0, 2, true), 0x9910);
    assert_eq!(insertion(2, 1), 0x3410);
    assert_eq!(insertion(2, 2), 0x5410);
    assert_eq!(insertion(0, 2), 0x3254);
}
