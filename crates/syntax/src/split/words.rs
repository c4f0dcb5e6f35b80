//! Dotted words as far as splitting cares.

#[inline]
pub(super) fn is_linkage(word: &[u8]) -> bool {
    matches!(word, b".visible" | b".extern" | b".weak" | b".common")
}

/// Whether a dotted word may come before the state space of a variable.
#[inline]
pub(super) fn precedes_space(word: &[u8]) -> bool {
    matches!(word, b".align" | b".attribute")
}

#[inline]
pub(super) fn is_header(word: &[u8]) -> bool {
    matches!(word, b".version" | b".target" | b".address_size")
}

#[inline]
pub(super) fn is_space(word: &[u8]) -> bool {
    matches!(word, b".global" | b".const" | b".shared" | b".local" | b".param" | b".reg" | b".tex")
}
