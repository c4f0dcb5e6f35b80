//! The rule of `tidy` that keeps ids typed: where tables are typed vectors, no code unwraps an id to index with its
//! number. `table[id]` checks the id's type against the table; `table[id.0 as usize]` accepts any.

/// The crates whose ids are still plain integers.
const NUMBERS: &[&str] = &["ide"];

/// The violations in a file of code.
pub fn check(shown: &str, text: &str) -> Vec<String> {
    let mut path = shown.split('/');
    if path.next() != Some("crates") || path.next().is_none_or(|name| NUMBERS.contains(&name)) {
        return Vec::new();
    }
    text.lines()
        .filter(|line| line.split("//").next().is_some_and(|code| code.contains(".0 as usize")))
        .map(|line| format!("{shown}: an id taken apart; index a `TiVec` with it: `{}`", line.trim()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn ids_taken_apart_are_found() {
        let diagnostics = |place: &str, line: &str| check(place, &format!("//! A file.\n\n{line}\n")).len();
        let pass = "crates/optimize/src/x.rs";
        assert_eq!(diagnostics(pass, "let known = values[value.0 as usize];"), 1);
        assert_eq!(diagnostics(pass, "let at = block.0 as usize;"), 1);
        assert_eq!(diagnostics("crates/regalloc/tests/x.rs", "let at = block.0 as usize;"), 1);
        assert_eq!(diagnostics(pass, "let known = values[value];"), 0);
        assert_eq!(diagnostics(pass, "// Not `value.0 as usize`."), 0);
        assert_eq!(diagnostics("tools/xtask/src/x.rs", "let at = pair.0 as usize;"), 0);
    }
}
