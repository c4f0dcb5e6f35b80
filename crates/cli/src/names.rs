//! Names of functions as people read them: the name of the file's symbol, and behind it what a C++ or Rust compiler made
//! it from, unless `--no-demangle` wants symbols alone.

use oriole_ide::demangle::{self, Unclear};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the command line says of names, once for the process.
static SYMBOLS_ALONE: AtomicBool = AtomicBool::new(false);

/// From now on names are shown as symbols alone.
pub fn show_symbols_alone() {
    SYMBOLS_ALONE.store(true, Ordering::Relaxed);
}

/// Whether names of sources are shown beside those of symbols.
pub fn are_demangled() -> bool {
    !SYMBOLS_ALONE.load(Ordering::Relaxed)
}

/// A text for people, with the names of sources behind those of symbols.
pub fn explained(text: &str) -> Cow<'_, str> {
    if are_demangled() { demangle::in_text(text) } else { Cow::Borrowed(text) }
}

/// The name, with that of its source behind it if it has one.
pub fn shown(name: &str) -> String {
    if are_demangled() { demangle::with_source(name) } else { name.to_owned() }
}

/// Which of these functions, or kernels, a name on the command line means.
///
/// # Errors
/// What there is to say: there is none, or there are several.
pub fn one_of<'n>(what: &str, names: &[&'n str], asked: &str) -> Result<&'n str, String> {
    demangle::meant(names, asked).map_err(|unclear| match unclear {
        Unclear::Unknown => format!("there is no {what} `{asked}`"),
        Unclear::Several(found) => {
            let found: Vec<String> = found.iter().map(|name| demangle::with_source(name)).collect();
            format!("`{asked}` names several {what}s: {}", found.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_that_are_meant_are_told() {
        let names = ["_Z5scaleIiEvPT_", "_Z5scaleIfEvPT_"];
        assert_eq!(one_of("kernel", &names, "scale<int>"), Ok(names[0]));
        assert_eq!(one_of("kernel", &names, "scaled").unwrap_err(), "there is no kernel `scaled`");
        assert_eq!(
            one_of("kernel", &names, "scale").unwrap_err(),
            "`scale` names several kernels: _Z5scaleIiEvPT_ (void scale<int>(int*)), _Z5scaleIfEvPT_ (void scale<float>(float*))"
        );
    }

    #[test]
    fn names_of_sources() {
        assert_eq!(shown("_Z6squarei"), "_Z6squarei (square(int))");
        assert_eq!(shown("saxpy"), "saxpy");
    }
}
