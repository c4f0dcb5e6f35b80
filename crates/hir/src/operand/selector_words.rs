//! Spelling of selectors, which name bytes and halves of words.

/// Parts of a word that scalar video instructions select: a byte or a half.
pub(super) fn scalar_selector(text: &str) -> bool {
    matches!(text, "b0" | "b1" | "b2" | "b3" | "h0" | "h1")
}

/// Parts of two words that packed video instructions pick: two halves of four, or four bytes of eight.
pub(super) fn lane_selector(text: &str, count: u8) -> bool {
    let (letter, limit) = if count == 2 { ('h', '3') } else { ('b', '7') };
    let Some(digits) = text.strip_prefix(letter) else { return false };
    digits.len() == usize::from(count) && digits.chars().all(|digit| ('0'..=limit).contains(&digit))
}

/// The halves or bytes of the destination that are written: descending digits.
pub(super) fn lane_mask(text: &str, count: u8) -> bool {
    let (letter, limit) = if count == 2 { ('h', b'1') } else { ('b', b'3') };
    let Some(digits) = text.strip_prefix(letter).map(str::as_bytes) else { return false };
    !digits.is_empty()
        && digits.iter().all(|digit| (b'0'..=limit).contains(digit))
        && digits.windows(2).all(|pair| pair[0] > pair[1])
}

/// Whether a component of a register looks like a selector.
pub(super) fn is_selector(component: &str) -> bool {
    matches!(component, ".b0" | ".b1" | ".b2" | ".b3" | ".h0" | ".h1")
        || (component.len() > 2 && (component.starts_with(".b") || component.starts_with(".h")))
}
