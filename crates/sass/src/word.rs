//! The word of an instruction, as an integer and as the bytes of a file.
//!
//! It is here so that only encoder and decoder know the width of a word: other code carries words, and converts them
//! to bytes and back by the chip's word shape.

use oriole_chip::WordShape;

/// An encoded instruction with its scheduling control. A chip with shorter words uses the low bits.
pub type InstructionWord = u128;

/// The words of code; `None` if the last one is truncated.
pub fn words_of_bytes(shape: WordShape, code: &[u8]) -> Option<Vec<InstructionWord>> {
    let words = code.chunks_exact(shape.bytes());
    if !words.remainder().is_empty() {
        return None;
    }
    Some(words.map(word_of_bytes).collect())
}

/// Lowest byte first.
fn word_of_bytes(bytes: &[u8]) -> InstructionWord {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | InstructionWord::from(byte))
}

/// Appends the bytes of words to a file.
pub fn append_words<'a>(
    shape: WordShape,
    words: impl IntoIterator<Item = &'a InstructionWord>,
    file: &mut Vec<u8>,
) {
    for word in words {
        file.extend_from_slice(&word.to_le_bytes()[..shape.bytes()]);
    }
}
