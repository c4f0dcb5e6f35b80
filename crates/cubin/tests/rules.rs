//! The first and last words of code for a chip.

use oriole_chip::Chip;
use oriole_cubin::rules;

#[test]
fn the_words_behind_the_code_are_those_of_the_chip() {
    let words = |sm| rules(sm).map(|rules| (rules.self_branch, rules.padding));
    let padding = 0x000fc000000000000000000000007918;
    assert_eq!(words(80), Some((0x000fc0000383fffffffffff000007947, padding)));
    for sm in [70, 72, 75, 86, 87, 88, 89] {
        assert_eq!(words(sm), words(80));
    }
    assert_eq!(words(90), Some((0x000fc0000383fffffffffffc00fc7947, padding)));
    assert!(rules(60).is_none());
}

#[test]
fn kernels_on_one_chip_write_their_barriers_first() {
    let chip: Chip = "sm_87".parse().unwrap();
    let rules = rules(87).unwrap();
    let texts = rules.entry.iter().zip(0u64..).map(|(&word, index)| {
        let instruction = oriole_sass::decode(chip, word).unwrap();
        let text =
            oriole_sass::text(chip, &instruction, Some(16 * index), oriole_sass::Style::Plain).unwrap();
        (text, instruction.control.stall)
    });
    let mut expected = vec![
        ("ISETP.NE.U32.AND P0, PT, RZ, UR2, PT".to_owned(), 13),
        ("@P0 BRA 0x140".to_owned(), 5),
        ("BMOV.32 B0, 0xffffffff".to_owned(), 4),
    ];
    expected.extend((1..16).map(|to| (format!("BMOV.32.CLEAR B{to}, B{}", to - 1), 4)));
    expected.push(("BMOV.32 B15, 0x0".to_owned(), 4));
    expected.push(("UMOV UR2, 0x1".to_owned(), 2));
    assert_eq!(texts.collect::<Vec<_>>(), expected);
    assert_eq!(chip.words().size(rules.entry.len()), 0x140);
    assert!([80, 86, 88, 89, 90].iter().all(|&sm| self::rules(sm).unwrap().entry.is_empty()));
}
