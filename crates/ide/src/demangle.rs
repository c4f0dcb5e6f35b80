//! Names of C++ and Rust as they are in their sources, of the names that compilers make of them.
//!
//! It is here so that each place shows one spelling. What is no such name, or would be longer than a person reads, has
//! none. Names stay what they are wherever the text is meant: only what is shown beside them is from here.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// Longest name, in bytes, that is looked at, and longest result.
const LONGEST: usize = 4096;

/// Text up to a bound; a name of a few letters can stand for a text without end.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

/// Whether an Itanium name ends in the hash that Rust's older scheme adds.
fn has_rust_hash(name: &str) -> bool {
    let hash =
        name.strip_suffix('E').and_then(|name| name.len().checked_sub(19).and_then(|at| name.get(at..)));
    hash.and_then(|hash| hash.strip_prefix("17h"))
        .is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The name in its source.
pub fn readable(name: &str) -> Option<String> {
    if name.len() > LONGEST {
        return None;
    }
    let mut out = Bounded(String::new());
    if name.starts_with("_R") || name.starts_with("_ZN") && has_rust_hash(name) {
        let found = rustc_demangle::try_demangle(name).ok()?;
        // Without the hash.
        write!(out, "{found:#}").ok()?;
    } else if name.starts_with("_Z") {
        let options = cpp_demangle::DemangleOptions::new().recursion_limit(96);
        let parse = cpp_demangle::ParseOptions::default().recursion_limit(96);
        let symbol = cpp_demangle::BorrowedSymbol::new_with_options(name.as_bytes(), &parse).ok()?;
        symbol.structured_demangle(&mut out, &options).ok()?;
    } else {
        return None;
    }
    (out.0 != name && !out.0.is_empty()).then_some(out.0)
}

/// The name, with that of its source behind it if it has one.
pub fn with_source(name: &str) -> String {
    match readable(name) {
        Some(source) => format!("{name} ({source})"),
        None => name.to_owned(),
    }
}

/// A text for people, each name of a symbol in it with that of its source behind it; behind the quote, where one closes there.
pub fn in_text(text: &str) -> Cow<'_, str> {
    if !text.contains("_Z") && !text.contains("_R") {
        return Cow::Borrowed(text);
    }
    let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '.');
    let mut out = String::with_capacity(2 * text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_name) {
        let length = rest[start..].find(|letter| !is_name(letter)).unwrap_or(rest.len() - start);
        let (before, name) = (&rest[..start], rest[start..start + length].trim_end_matches('.'));
        rest = &rest[start + name.len().max(1)..];
        out.push_str(before);
        out.push_str(if name.is_empty() { "." } else { name });
        if let Some(source) = readable(name) {
            if let Some(behind) = rest.strip_prefix('`') {
                out.push('`');
                rest = behind;
            }
            out.push_str(&format!(" ({source})"));
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Whether who writes `asked` means this function: by its name, or by that of its source, parameters left out or not.
pub fn is_meant(name: &str, asked: &str) -> bool {
    let source = || readable(name);
    name == asked || source().is_some_and(|source| source == asked || source.split('(').next() == Some(asked))
}

/// The name in its source, cut to so many letters; of a name that is none of these the name itself.
pub fn short(name: &str, most: usize) -> String {
    let full = readable(name).unwrap_or_else(|| name.to_owned());
    match full.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &full[..at]),
        None => full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_languages() {
        for (name, wanted) in [
            ("_Z6squarei", Some("square(int)")),
            ("_ZN3foo3barIfLi4EEEvPT_", Some("void foo::bar<float, 4>(float*)")),
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", Some("core::fmt::Formatter::pad")),
            ("_RNvC6kernel3add", Some("kernel::add")),
            ("_Z", None),
            ("_Znonsense", None),
            ("saxpy", None),
            ("", None),
        ] {
            assert_eq!(readable(name).as_deref(), wanted, "{name}");
        }
        assert_eq!(short("_ZN3foo3barIfLi4EEEvPT_", 12), "void foo::ba…");
        assert_eq!(short("saxpy", 12), "saxpy");
        assert!(["square", "square(int)", "_Z6squarei"].iter().all(|asked| is_meant("_Z6squarei", asked)));
        assert!(!is_meant("_Z6squarei", "square(float)") && !is_meant("saxpy", "square"));
    }

    #[test]
    fn names_in_texts() {
        for (text, wanted) in [
            (
                "`_Z6squarei` and _Z6squarei+0x10.",
                "`_Z6squarei` (square(int)) and _Z6squarei (square(int))+0x10.",
            ),
            ("...calls _Z6squarei.", "...calls _Z6squarei (square(int))."),
            ("nothing of _Znonsense, a_Z6squarei or `_R`", "nothing of _Znonsense, a_Z6squarei or `_R`"),
            ("größer als _RNvC6kernel3add", "größer als _RNvC6kernel3add (kernel::add)"),
            ("_Z6squarei", "_Z6squarei (square(int))"),
            ("", ""),
        ] {
            assert_eq!(in_text(text), wanted);
        }
    }

    #[test]
    fn hostile_names_end() {
        let nested = format!("_Z{}", "N1a".repeat(1000));
        assert_eq!(readable(&nested), None);
        // Each substitution doubles the text.
        let mut growing = String::from("_Z1fIJ1aEE");
        (0..40).for_each(|_| growing.push_str("S_IS_S_E"));
        let _ = readable(&growing);
        let _ = readable(&"_ZP".repeat(1300));
    }
}
