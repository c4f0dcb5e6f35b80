//! Round trip over real machine code: every word of the `.text.` sections of the cubins in the folder that
//! `ORIOLE_ORACLE_CUBINS` names is decoded and encoded again. Skipped where the variable is not set.

use object::{Object, ObjectSection};
use oriole_chip::Chip;
use oriole_sass::{decode, encode};
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
