//! Names of functions as people read them: the name of the file's symbol, and behind it what a C++ or Rust compiler made
//! it from, unless `--no-demangle` wants symbols alone.

use oriole_ide::demangle;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sources() {
        assert_eq!(shown("_Z6squarei"), "_Z6squarei (square(int))");
        assert_eq!(shown("saxpy"), "saxpy");
    }
}
