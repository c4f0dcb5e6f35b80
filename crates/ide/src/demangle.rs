//! Names of C++ and Rust as in their sources, from mangled names.
//!
//! Each place shows one spelling. A name that is not mangled, or whose source name would be too long to read, has none.
//! Names in PTX text stay mangled: only displayed annotations use this.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// Longest mangled name, in bytes, that is demangled, and longest result.
const LONGEST: usize = 4096;

/// A text with a length bound; a short name can stand for an endless text.
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

/// The name, followed by its source name if it has one.
pub fn with_source(name: &str) -> String {
    match readable(name) {
        Some(source) => format!("{name} ({source})"),
        None => name.to_owned(),
    }
}

/// A text for people. Each symbol name in it is followed by its source name, after the quote if one closes there.
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

/// The reason why a written name does not name exactly one function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unclear<'n> {
    /// No function has this name.
    Unknown,
    /// Several match equally well: their names.
    Several(Vec<&'n str>),
}

/// The function that `asked` means: by its name or by that of its source, in full or without parameters, result,
/// template arguments and namespaces. A fuller match wins.
///
/// # Errors
/// No function has this name, or several match equally well.
pub fn meant<'n>(names: &[&'n str], asked: &str) -> Result<&'n str, Unclear<'n>> {
    if let Some(&name) = names.iter().find(|&&name| name == asked) {
        return Ok(name);
    }
    let asked = without_blanks(asked);
    let ways: Vec<(&'n str, Vec<Vec<String>>)> =
        names.iter().filter_map(|&name| Some((name, ways_to_say(&readable(name)?)))).collect();
    for level in 0..WAYS {
        let says = |(_, ways): &&(&str, Vec<Vec<String>>)| ways[level].contains(&asked);
        let found: Vec<&'n str> = ways.iter().filter(says).map(|(name, _)| *name).collect();
        match found.as_slice() {
            [] => {}
            &[name] => return Ok(name),
            _ => return Err(Unclear::Several(found)),
        }
    }
    Err(Unclear::Unknown)
}

/// Number of spellings of a source name.
const WAYS: usize = 4;

/// The spellings of a source name, fullest first: all of it; without parameters, and without the result too; without
/// template arguments; without namespaces.
fn ways_to_say(source: &str) -> Vec<Vec<String>> {
    let head = without_parameters(source);
    let path = head[last_at_top(head, |rest| rest.starts_with(' ')).map_or(0, |at| at + 1)..].to_owned();
    let base = without_arguments(&path);
    let mut inner = Vec::new();
    for whole in [&path, &base] {
        let mut rest = whole.as_str();
        while let Some(at) = first_at_top(rest, |rest| rest.starts_with("::")) {
            rest = &rest[at + 2..];
            inner.push(rest.to_owned());
        }
    }
    let ways = [vec![source.to_owned()], vec![head.to_owned(), path], vec![base], inner];
    ways.into_iter().map(|says| says.iter().map(|name| without_blanks(name)).collect()).collect()
}

/// Blanks after commas are optional.
fn without_blanks(name: &str) -> String {
    name.replace(", ", ",")
}

/// Positions outside of brackets at which a test of the following text holds.
fn places_at_top<'s>(name: &'s str, wanted: impl Fn(&str) -> bool + 's) -> impl Iterator<Item = usize> + 's {
    let mut depth = 0_i32;
    name.char_indices().filter_map(move |(at, letter)| {
        let closes = matches!(letter, ')' | '>' | ']' | '}');
        depth -= i32::from(closes);
        let found = depth == 0 && !closes && wanted(&name[at..]);
        depth += i32::from(matches!(letter, '(' | '<' | '[' | '{'));
        found.then_some(at)
    })
}

fn first_at_top(name: &str, wanted: impl Fn(&str) -> bool) -> Option<usize> {
    places_at_top(name, wanted).next()
}

fn last_at_top(name: &str, wanted: impl Fn(&str) -> bool) -> Option<usize> {
    places_at_top(name, wanted).last()
}

/// The name without the parameter list at its end. An anonymous namespace is in parentheses, too.
fn without_parameters(source: &str) -> &str {
    match last_at_top(source, |rest| rest.starts_with('(')) {
        Some(at) if source.ends_with(')') => &source[..at],
        _ => source,
    }
}

/// The name without the template arguments at its end.
fn without_arguments(path: &str) -> String {
    match last_at_top(path, |rest| rest.starts_with('<')) {
        Some(at) if path.ends_with('>') => path[..at].trim_end_matches("::").to_owned(),
        _ => path.to_owned(),
    }
}

/// The name in its source, cut to `most` letters; of a name that is not mangled the name itself.
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
    }

    #[test]
    fn functions_are_found_by_what_they_are_called() {
        // square(int), square(float), void scale<int>(int*), void scale<float>(float*), void foo::bar<float, 4>(float*),
        // foo::sum(int), sum(int), void (anonymous namespace)::hidden<int>(int*), kernel::add, saxpy
        let names = [
            "_Z6squarei",
            "_Z6squaref",
            "_Z5scaleIiEvPT_",
            "_Z5scaleIfEvPT_",
            "_ZN3foo3barIfLi4EEEvPT_",
            "_ZN3foo3sumEi",
            "_Z3sumi",
            "_ZN12_GLOBAL__N_16hiddenIiEEvPT_",
            "_RNvC6kernel3add",
            "saxpy",
        ];
        for (asked, wanted) in [
            ("_Z6squarei", Ok("_Z6squarei")),
            ("saxpy", Ok("saxpy")),
            ("square(int)", Ok("_Z6squarei")),
            ("square", Err(Unclear::Several(vec!["_Z6squarei", "_Z6squaref"]))),
            ("square(double)", Err(Unclear::Unknown)),
            ("void scale<int>(int*)", Ok("_Z5scaleIiEvPT_")),
            ("void scale<int>", Ok("_Z5scaleIiEvPT_")),
            ("scale<float>", Ok("_Z5scaleIfEvPT_")),
            ("scale", Err(Unclear::Several(vec!["_Z5scaleIiEvPT_", "_Z5scaleIfEvPT_"]))),
            ("foo::bar<float,4>", Ok("_ZN3foo3barIfLi4EEEvPT_")),
            ("foo::bar", Ok("_ZN3foo3barIfLi4EEEvPT_")),
            ("bar<float, 4>", Ok("_ZN3foo3barIfLi4EEEvPT_")),
            ("bar", Ok("_ZN3foo3barIfLi4EEEvPT_")),
            // The one in no namespace has the name as a whole.
            ("sum", Ok("_Z3sumi")),
            ("foo::sum", Ok("_ZN3foo3sumEi")),
            ("hidden", Ok("_ZN12_GLOBAL__N_16hiddenIiEEvPT_")),
            ("hidden<int>", Ok("_ZN12_GLOBAL__N_16hiddenIiEEvPT_")),
            ("kernel::add", Ok("_RNvC6kernel3add")),
            ("add", Ok("_RNvC6kernel3add")),
            ("ar", Err(Unclear::Unknown)),
            ("", Err(Unclear::Unknown)),
        ] {
            assert_eq!(meant(&names, asked), wanted, "{asked}");
        }
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
        // Each substitution makes the text twice as long.
        let mut growing = String::from("_Z1fIJ1aEE");
        (0..40).for_each(|_| growing.push_str("S_IS_S_E"));
        let _ = readable(&growing);
        let _ = readable(&"_ZP".repeat(1300));
    }
}
