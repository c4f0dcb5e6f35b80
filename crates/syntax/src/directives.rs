//! The words of directives, and the one that a misspelled word may have meant.
//!
//! It is here so that the diagnostic and its fix offer the same word. The parser reads the rest of a directive.

/// Directives of a module.
const OF_MODULE: &[&str] = &[
    ".version",
    ".target",
    ".address_size",
    ".entry",
    ".func",
    ".visible",
    ".extern",
    ".weak",
    ".common",
    ".global",
    ".const",
    ".shared",
    ".file",
    ".loc",
    ".section",
    ".pragma",
    ".alias",
    ".align",
    ".attribute",
];

/// Directives of the body of a function.
const OF_BODY: &[&str] = &[
    ".reg",
    ".param",
    ".shared",
    ".local",
    ".global",
    ".const",
    ".loc",
    ".pragma",
    ".branchtargets",
    ".calltargets",
    ".callprototype",
    ".align",
    ".attribute",
];

/// The directive that is spelled most like a word, in a body or outside of one; `None` if none is close. Of equally close ones it is
/// the first in the order above.
pub fn nearest_directive(word: &str, in_body: bool) -> Option<&'static str> {
    let known = if in_body { OF_BODY } else { OF_MODULE };
    if word.len() > 24 {
        return None;
    }
    let distances = known.iter().map(|known| (strsim::damerau_levenshtein(word, known), *known));
    // The dot is none of the letters.
    let near = distances.filter(|(distance, known)| distance * 3 < known.len());
    near.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::nearest_directive;

    #[test]
    fn slips_find_their_directive() {
        assert_eq!(nearest_directive(".visble", false), Some(".visible"));
        assert_eq!(nearest_directive(".versoin", false), Some(".version"));
        assert_eq!(nearest_directive(".rge", true), Some(".reg"));
        assert_eq!(nearest_directive(".rge", false), None);
        assert_eq!(nearest_directive(".frobnicate", true), None);
    }
}
