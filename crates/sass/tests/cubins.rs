//! Round trip over real machine code: every word of the `.text.` sections of the cubins from `cargo xtask guard-data`
//! (`ORIOLE_GUARD_DATA` names the folder) is decoded and encoded again, also through its text; and the text is
//! compared with that of the disassembler in the folder that `ORIOLE_ORACLE` names.

use object::{FileFlags, Object, ObjectSection};
use oriole_chip::Chip;
use oriole_sass::decode::decode_with_form;
use oriole_sass::{Op, Style, decode, encode, parse, text};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The instruction words of all cubins in the folder, each once, by chip.
fn words() -> BTreeMap<Chip, BTreeSet<u128>> {
    let folder = std::env::var_os("ORIOLE_GUARD_DATA").expect("ORIOLE_GUARD_DATA names a folder");
    let folder = PathBuf::from(folder).join("cubins");
    let mut chips = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "cubin") {
            continue;
        }
        let bytes = std::fs::read(&path).expect("the cubin can be read");
        let Ok(file) = object::File::parse(&*bytes) else { continue };
        let FileFlags::Elf { e_flags, .. } = file.flags() else { continue };
        let words: &mut BTreeSet<u128> = chips.entry(chip((e_flags.0 >> 8) as u8)).or_default();
        for section in file.sections() {
            if !section.name().is_ok_and(|name| name.starts_with(".text.")) {
                continue;
            }
            let data = section.data().expect("a text section has bytes");
            words.extend(
                data.chunks_exact(16).map(|word| u128::from_le_bytes(word.try_into().expect("16 bytes"))),
            );
        }
    }
    let count: usize = chips.values().map(BTreeSet::len).sum();
    assert!(count > 5_000, "the folder holds only {count} words");
    chips
}

/// The chip of an SM number; sm_90 with its accelerated features.
fn chip(number: u8) -> Chip {
    let name = format!("sm_{number}{}", if number == 90 { "a" } else { "" });
    name.parse().expect("the cubin is of a chip that has a name")
}

#[test]
#[ignore = "needs ORIOLE_GUARD_DATA"]
fn words_decode_and_encode_again() {
    let chips = words();
    let mut failures = Vec::new();
    for (chip, &word) in chips.iter().flat_map(|(&chip, words)| words.iter().map(move |word| (chip, word))) {
        match decode(chip, word) {
            Ok(instruction) => match encode(chip, &instruction) {
                Ok(back) if back == word => {}
                Ok(back) => failures.push(format!(
                    "{word:#034x} comes back with {:#x} flipped: {instruction:?}",
                    word ^ back
                )),
                Err(error) => failures.push(format!("{chip} {word:#034x} {error}: {instruction:?}")),
            },
            Err(error) => failures.push(format!("{chip} {word:#034x} {error}")),
        }
    }
    let count: usize = chips.values().map(BTreeSet::len).sum();
    println!("{count} distinct words of {} chips, {} failures", chips.len(), failures.len());
    assert!(count > 0, "the folder holds no code");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
#[ignore = "needs ORIOLE_GUARD_DATA"]
fn words_survive_their_text() {
    let chips = words();
    let mut failures = Vec::new();
    for (chip, &word) in chips.iter().flat_map(|(&chip, words)| words.iter().map(move |word| (chip, word))) {
        let Ok(instruction) = decode(chip, word) else { continue };
        let printed = match text(chip, &instruction, Some(0x1230), Style::Exact) {
            Ok(printed) => printed,
            Err(error) => {
                failures.push(format!("{chip} {word:#034x} does not print: {error}"));
                continue;
            }
        };
        match parse(chip, &printed, Some(0x1230)) {
            Ok(again) => match encode(chip, &again) {
                Ok(back) if back == word => {}
                Ok(back) => {
                    failures.push(format!("{chip} {word:#034x} {printed}: flipped {:#x}", word ^ back))
                }
                Err(error) => failures.push(format!("{chip} {word:#034x} {printed}: {error}")),
            },
            Err(error) => failures.push(format!("{chip} {word:#034x} {printed}: {error}")),
        }
    }
    println!("{} failures through the text", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The disassembler's text of each word, for consecutive words from address 0; `None` for a word that it rejects.
fn disassemble(chip: Chip, words: &[u128]) -> Vec<Option<String>> {
    // The last release that knows the oldest chips is another one.
    let variable = if chip.number() < 75 { "ORIOLE_ORACLE_VOLTA" } else { "ORIOLE_ORACLE" };
    let tools =
        std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} names a folder with nvdisasm"));
    let tool = PathBuf::from(tools).join("nvdisasm");
    const NOP: u128 = 0x000fc000000000000000000000007918;
    let mut live = words.to_vec();
    let path =
        std::env::temp_dir().join(format!("oriole-sass-{}-{chip}-{}.bin", std::process::id(), words.len()));
    let mut texts = vec![None; words.len()];
    // It stops at unknown words, and names some of them: those are removed and it runs again.
    for _ in 0..200 {
        let bytes: Vec<u8> = live.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::write(&path, bytes).expect("a temporary file can be written");
        let output = std::process::Command::new(&tool)
            .args(["-b", &format!("SM{}", chip.number()), "-ndf"])
            .arg(&path)
            .output();
        let output = output.expect("the disassembler runs");
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            let mut removed = 0;
            for (at, _) in errors.match_indices("0x") {
                let digits: String = errors[at + 2..].chars().take_while(char::is_ascii_hexdigit).collect();
                let index = usize::from_str_radix(&digits, 16).unwrap_or(usize::MAX) / 16;
                if index < live.len() && live[index] != NOP {
                    live[index] = NOP;
                    removed += 1;
                }
            }
            assert!(removed > 0, "{errors}");
            continue;
        }
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some((address, rest)) =
                line.trim_start().strip_prefix("/*").and_then(|line| line.split_once("*/"))
            else {
                continue;
            };
            let Ok(address) = usize::from_str_radix(address, 16) else { continue };
            let body = rest.split("/*").next().unwrap_or(rest).trim().trim_end_matches(';').trim();
            if live[address / 16] == words[address / 16] {
                texts[address / 16] = Some(body.to_owned());
            }
        }
        let _ = std::fs::remove_file(&path);
        return texts;
    }
    panic!("the disassembler does not come to an end");
}

/// Differences that are only a matter of taste: blanks within an operand.
fn normal(text: &str) -> String {
    // There is a blank between a NaN and the half suffix.
    let text = text.replace("NAN .", "NAN.");
    text.replace("] [", "][").replace(" ,", ",").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
#[ignore = "needs ORIOLE_GUARD_DATA and ORIOLE_ORACLE"]
fn text_is_the_disassemblers() {
    let chips = words();
    let (mut count, mut failures) = (0, Vec::new());
    for (chip, words) in chips {
        let words: Vec<u128> = words.into_iter().collect();
        let theirs = disassemble(chip, &words);
        count += words.len();
        for (index, (&word, theirs)) in words.iter().zip(&theirs).enumerate() {
            let Ok(instruction) = decode(chip, word) else { continue };
            let theirs = theirs.as_deref().unwrap_or("refused");
            let ours = text(chip, &instruction, Some(16 * index as u64), Style::Plain).unwrap_or_default();
            if normal(&ours) != normal(theirs) {
                failures.push(format!("{chip} {word:#034x}\n  ours   {ours}\n  theirs {theirs}"));
            }
        }
    }
    println!("{count} texts compared, {} differ", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The chips whose tables are tested with random words.
fn chips() -> impl Iterator<Item = Chip> {
    [75, 80, 86, 89, 90, 100, 120].into_iter().map(chip)
}

/// A small random number generator with a fixed seed, so that every run tests the same words.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545f4914f6cdd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end
    }
}

/// Words of every form with values drawn at random for every field and every set.
fn random_words(chip: Chip, per_form: usize) -> Vec<u128> {
    let mut random = Random(0x9e3779b97f4a7c15);
    let mut words = Vec::new();
    for form in oriole_sass::form::table(chip).expect("there is a table").forms() {
        for _ in 0..per_form {
            let mut word = form.value | form.unused_value | 0x7000 | 0x7f1 << 105;
            for set in form.sets {
                word |= set.place(set.rows[random.below(set.rows.len())].value);
            }
            for slot in form.slots {
                for field in slot.fields {
                    let bits = match random.below(8) {
                        // One more than the largest value would be no register.
                        0 if field.bias == 0 => u64::MAX,
                        1 => 0,
                        _ => random.next(),
                    };
                    let bits = if field.bias == 0 || field.place(bits) != field.mask() { bits } else { 0 };
                    word = word & !field.mask() | field.place(bits);
                }
                for bit in [slot.negate, slot.absolute, slot.invert] {
                    if bit != oriole_sass::form::NO_BIT && random.below(3) == 0 {
                        word |= 1 << bit;
                    }
                }
            }
            words.push(word);
        }
    }
    words
}

#[test]
#[ignore = "needs ORIOLE_ORACLE"]
fn random_words_read_as_the_disassembler_reads_them() {
    compare_random_words(chips());
}

#[test]
#[ignore = "needs ORIOLE_ORACLE_VOLTA, a folder with tools that know these chips"]
fn random_words_of_volta_read_as_the_disassembler_reads_them() {
    compare_random_words([70, 72].into_iter().map(chip));
}

fn compare_random_words(chips: impl Iterator<Item = Chip>) {
    let (mut known, mut refused, mut failures) = (0, 0, Vec::new());
    for chip in chips {
        let words = random_words(chip, 40);
        let theirs = disassemble(chip, &words);
        for (index, (&word, theirs)) in words.iter().zip(&theirs).enumerate() {
            let Some(theirs) = theirs else {
                refused += 1;
                continue;
            };
            // No value of its own; and a graphics instruction whose offset has two readings.
            if theirs.contains("INVALID") || theirs.contains("???") || theirs.contains("AL2P") {
                continue;
            }
            // Before sm_90 the base `RZ` next to a uniform register is omitted together with its type.
            if chip.number() < 90 && theirs.contains("[UR") {
                continue;
            }
            // sm_75 prints an offset without a register as unsigned, for this opcode only.
            if chip.number() == 75 && theirs.contains("LDSM") && theirs.contains("[0x") {
                continue;
            }
            // The release for the oldest chips does not distinguish signalling f16 NaNs.
            if chip.number() < 75 && theirs.contains("QNAN") {
                continue;
            }
            known += 1;
            let ours = match oriole_sass::decode::decode_lenient(chip, word) {
                Ok(instruction) => text(chip, &instruction, Some(16 * index as u64), Style::Plain)
                    .unwrap_or_else(|e| e.to_string()),
                Err(error) => error.to_string(),
            };
            if normal(&ours) != normal(theirs) {
                failures.push(format!("{chip} {word:#034x}\n  ours   {ours}\n  theirs {theirs}"));
            }
        }
    }
    println!("{known} random words compared, {} differ, {refused} refused by the oracle", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Opcodes with one more operand or suffix on these chips than in the table: a uniform predicate of matrix
/// instructions, `.H0_NH1`, the result of a prefetch fault. No code was seen to use these, and decoding rejects them.
const WITH_UNSEEN_OPERANDS: ([u8; 2], [Op; 6]) =
    ([86, 89], [Op::BMMA, Op::DMMA, Op::HMMA, Op::IMMA, Op::HFMA2, Op::CCTL]);

/// A bit that a table considers meaningless must not change the instruction: an overlooked bit that selects half a
/// register changes the value.
#[test]
#[ignore = "needs ORIOLE_ORACLE"]
fn bits_without_a_meaning_change_no_text() {
    let (mut known, mut failures) = (0, Vec::new());
    for chip in chips() {
        let mut random = Random(0x2545f4914f6cdd1d);
        let flip = |word: u128| {
            let form = decode_with_form(chip, word).ok()?.0;
            if WITH_UNSEEN_OPERANDS.0.contains(&chip.number()) && WITH_UNSEEN_OPERANDS.1.contains(&form.op) {
                return None;
            }
            let bits: Vec<u32> = (0..u128::BITS).filter(|bit| form.unused >> bit & 1 == 1).collect();
            let bit = *bits.get(random.below(bits.len().max(1)))?;
            Some((word, word ^ 1 << bit))
        };
        let (words, flipped): (Vec<_>, Vec<_>) = random_words(chip, 40).into_iter().filter_map(flip).unzip();
        let (before, after) = (disassemble(chip, &words), disassemble(chip, &flipped));
        for at in 0..words.len() {
            let (Some(before), Some(after)) = (&before[at], &after[at]) else { continue };
            // Strict decoding rejects an invalid value.
            if after.contains("INVALID") || after.contains("???") {
                continue;
            }
            known += 1;
            if before != after {
                let bits = words[at] ^ flipped[at];
                failures.push(format!("{chip} {:#034x} ^ {bits:#x}\n  {before}\n  {after}", words[at]));
            }
        }
    }
    println!("{known} words compared, {} change", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn random_words_come_back() {
    let mut failures = Vec::new();
    for (chip, word) in
        chips().flat_map(|chip| random_words(chip, 40).into_iter().map(move |word| (chip, word)))
    {
        let Ok(instruction) = decode(chip, word) else { continue };
        let ours = text(chip, &instruction, None, Style::Exact).unwrap_or_default();
        match encode(chip, &instruction) {
            Ok(back) => {
                let again = decode(chip, back);
                if again.as_ref() != Ok(&instruction) {
                    failures.push(format!("{chip} {word:#034x} reads otherwise after encoding: {ours}"));
                }
            }
            Err(error) => failures.push(format!("{chip} {word:#034x} {ours}: {error}")),
        }
    }
    println!("{} random words do not come back", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
