//! Round trip over real machine code: every word of the `.text.` sections of the cubins in the folder that
//! `ORIOLE_ORACLE_CUBINS` names is decoded and encoded again, also by way of its text; and the text is compared with
//! that of the disassembler that `ORIOLE_ORACLE_NVDISASM` names. Skipped where a variable is not set.

use object::{Object, ObjectSection};
use oriole_chip::Chip;
use oriole_sass::{Style, decode, encode, parse, text};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The instruction words of all cubins in the folder, each once, or `None` where no folder is named.
fn words() -> Option<BTreeSet<u128>> {
    let Some(folder) = std::env::var_os("ORIOLE_ORACLE_CUBINS").map(PathBuf::from) else {
        println!("skipped: ORIOLE_ORACLE_CUBINS names no folder of cubins");
        return None;
    };
    let mut words = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "cubin") {
            continue;
        }
        let bytes = std::fs::read(&path).expect("the cubin can be read");
        let Ok(file) = object::File::parse(&*bytes) else { continue };
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
    Some(words)
}

#[test]
fn words_decode_and_encode_again() {
    let Some(words) = words() else { return };
    let mut failures = Vec::new();
    for &word in &words {
        match decode(Chip::SM_90A, word) {
            Ok(instruction) => match encode(Chip::SM_90A, &instruction) {
                Ok(back) if back == word => {}
                Ok(back) => failures.push(format!(
                    "{word:#034x} comes back with {:#x} flipped: {instruction:?}",
                    word ^ back
                )),
                Err(error) => failures.push(format!("{word:#034x} {error}: {instruction:?}")),
            },
            Err(error) => failures.push(format!("{word:#034x} {error}")),
        }
    }
    println!("{} distinct words, {} failures", words.len(), failures.len());
    assert!(!words.is_empty(), "the folder holds no code");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn words_survive_their_text() {
    let Some(words) = words() else { return };
    let mut failures = Vec::new();
    for &word in &words {
        let Ok(instruction) = decode(Chip::SM_90A, word) else { continue };
        let printed = match text(Chip::SM_90A, &instruction, Some(0x1230), Style::Exact) {
            Ok(printed) => printed,
            Err(error) => {
                failures.push(format!("{word:#034x} does not print: {error}"));
                continue;
            }
        };
        match parse(Chip::SM_90A, &printed, Some(0x1230)) {
            Ok(again) => match encode(Chip::SM_90A, &again) {
                Ok(back) if back == word => {}
                Ok(back) => failures.push(format!("{word:#034x} {printed}: flipped {:#x}", word ^ back)),
                Err(error) => failures.push(format!("{word:#034x} {printed}: {error}")),
            },
            Err(error) => failures.push(format!("{word:#034x} {printed}: {error}")),
        }
    }
    println!("{} distinct words by way of text, {} failures", words.len(), failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The disassembler's text of each word, the words standing one after the other from address 0.
fn disassemble(words: &[u128]) -> Option<Vec<String>> {
    let Some(tool) = std::env::var_os("ORIOLE_ORACLE_NVDISASM") else {
        println!("skipped: ORIOLE_ORACLE_NVDISASM names no disassembler");
        return None;
    };
    let path = std::env::temp_dir().join(format!("oriole-sass-{}.bin", std::process::id()));
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(&path, bytes).expect("a temporary file can be written");
    let output = std::process::Command::new(tool).args(["-b", "SM90", "-ndf"]).arg(&path).output();
    let _ = std::fs::remove_file(&path);
    let output = output.expect("the disassembler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter_map(|line| {
        let (address, rest) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
        u64::from_str_radix(address, 16).ok()?;
        let body = rest.split("/*").next().unwrap_or(rest).trim().trim_end_matches(';').trim();
        (!body.is_empty()).then(|| body.to_owned())
    });
    Some(lines.collect())
}

/// Differences that are only a matter of taste: blanks within an operand.
fn normal(text: &str) -> String {
    text.replace("] [", "][").replace(" ,", ",").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn text_is_the_disassemblers() {
    let Some(words) = words() else { return };
    let words: Vec<u128> = words.into_iter().collect();
    let Some(theirs) = disassemble(&words) else { return };
    assert_eq!(words.len(), theirs.len(), "one line for each word");
    let mut failures = Vec::new();
    for (index, (&word, theirs)) in words.iter().zip(&theirs).enumerate() {
        let Ok(instruction) = decode(Chip::SM_90A, word) else { continue };
        let ours =
            text(Chip::SM_90A, &instruction, Some(16 * index as u64), Style::Plain).unwrap_or_default();
        if normal(&ours) != normal(theirs) {
            failures.push(format!("{word:#034x}\n  ours   {ours}\n  theirs {theirs}"));
        }
    }
    println!("{} texts compared, {} differ", words.len(), failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
