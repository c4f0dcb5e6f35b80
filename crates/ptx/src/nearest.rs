//! Opcodes and special registers that a misspelled word may have meant.
//!
//! A diagnostic and its fix offer the same opcodes. Only spelling is compared.

use crate::{Opcode, SpecialRegister};

/// Longer words cannot be opcodes: the longest has half as many bytes.
const LONGEST: usize = 48;

/// The opcodes that are spelled most like a word, the nearest first; none if none is close.
pub fn nearest(word: &str) -> Vec<Opcode> {
    if word.len() > LONGEST {
        return Vec::new();
    }
    let mut near: Vec<(usize, &str, Opcode)> = Opcode::all()
        .map(|opcode| (strsim::levenshtein(word, opcode.name()), opcode.name(), opcode))
        .filter(|&(distance, name, _)| distance * 3 <= name.len().max(3))
        .collect();
    near.sort_unstable_by_key(|&(distance, name, _)| (distance, name));
    near.into_iter().map(|(.., opcode)| opcode).collect()
}

/// The word of `words` that is spelled most like `word`, the first of equal ones; `None` if none is close. Two
/// transposed letters count as one edit.
pub fn nearest_of<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let distances = words.into_iter().map(|known| (strsim::damerau_levenshtein(word, known), known));
    let near = distances.filter(|&(distance, known)| distance * 3 <= known.len().max(3));
    near.min_by_key(|&(distance, _)| distance).map(|(_, known)| known)
}

/// The special register with the most similar name, without its component; `None` if none is close.
pub fn nearest_special(name: &str) -> Option<&'static str> {
    if !name.starts_with('%') || name.len() > LONGEST {
        return None;
    }
    SpecialRegister::names()
        .map(|known| known.split_once('.').map_or(known, |known| known.0))
        .map(|known| (strsim::levenshtein(name, known), known))
        .filter(|(distance, known)| *distance <= 2 && 3 * distance < known.len())
        .min()
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_opcode() {
        let names = |word: &str| nearest(word).into_iter().map(Opcode::name).collect::<Vec<_>>();
        assert_eq!(names("ad"), ["add", "and", "ld", "mad", "sad"]);
        assert_eq!(names("setmaxnregs"), ["setmaxnreg"]);
        assert!(names("frobnicate").is_empty() && nearest(&"a".repeat(1 << 20)).is_empty());
    }
}
