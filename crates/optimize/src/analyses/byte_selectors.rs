//! Selectors of `PRMT` that take bytes out of a word or put them into one. Here, because they are numbers that can be checked
//! without a function; instructions never enter.

use super::accesses::WORD;

/// Bytes `byte` and on of the first operand, extended; bytes 4 and up are of a zero.
pub fn extraction(byte: u32, bytes: u32, signed: bool) -> u32 {
    let above = if signed { (byte + bytes - 1) | 8 } else { WORD };
    (0..WORD).fold(0, |selector, at| selector | if at < bytes { byte + at } else { above } << (4 * at))
}

/// The first operand with the low bytes of the second one from `byte` on.
pub fn insertion(byte: u32, bytes: u32) -> u32 {
    (0..WORD).fold(0, |selector, at| {
        let inserted = (byte..byte + bytes).contains(&at);
        selector | if inserted { WORD + at - byte } else { at } << (4 * at)
    })
}
