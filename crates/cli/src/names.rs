//! Names of functions as people read them: the name of the file's symbol, and after it the name in C++ or Rust that it was
//! made from, unless `--no-demangle` wants symbols alone.

use oriole_ide::demangle::{self, Unclear};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

/// The setting of the command line, once for the process.
static SYMBOLS_ALONE: AtomicBool = AtomicBool::new(false);

/// From now on names are shown as symbols alone.
pub fn show_symbols_alone() {
    SYMBOLS_ALONE.store(true, Ordering::Relaxed);
}

/// Whether names of sources are shown in addition to those of symbols.
pub fn are_demangled() -> bool {
    !SYMBOLS_ALONE.load(Ordering::Relaxed)
}

/// A text for people, with the names of sources after those of symbols.
pub fn explained(text: &str) -> Cow<'_, str> {
    if are_demangled() { demangle::in_text(text) } else { Cow::Borrowed(text) }
}

/// The name, with that of its source after it if it has one.
pub fn shown(name: &str) -> String {
    if are_demangled() { demangle::with_source(name) } else { name.to_owned() }
}

/// Whether a name on the command line means one of these functions, or several.
pub fn is_any(names: &[&str], asked: &str) -> bool {
    !matches!(demangle::meant(names, asked), Err(Unclear::Unknown))
}

/// Which of these functions, or kernels, a name on the command line means.
///
/// # Errors
/// There is none, or there are several.
pub fn one_of<'n>(what: &'static str, names: &[&'n str], asked: &str) -> Result<&'n str, UnclearName> {
    demangle::meant(names, asked).map_err(|unclear| match unclear {
        Unclear::Unknown => UnclearName::Unknown { what, asked: asked.to_owned() },
        Unclear::Several(found) => {
            let found: Vec<String> = found.iter().map(|name| demangle::with_source(name)).collect();
            UnclearName::Several { what, asked: asked.to_owned(), found: found.join(", ") }
        }
    })
}

/// A name that does not mean one function or kernel.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnclearName {
    /// None has it.
    #[error("there is no {what} `{asked}`")]
    Unknown {
        /// Functions, or kernels.
        what: &'static str,
        /// The name.
        asked: String,
    },
    /// Several have it.
    #[error("`{asked}` names several {what}s: {found}")]
    Several {
        /// Functions, or kernels.
        what: &'static str,
        /// The name.
        asked: String,
        /// Their names.
        found: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_that_are_meant_are_listed() {
        let names = ["_Z5scaleIiEvPT_", "_Z5scaleIfEvPT_"];
        assert_eq!(one_of("kernel", &names, "scale<int>"), Ok(names[0]));
        assert_eq!(
            one_of("kernel", &names, "scaled").unwrap_err().to_string(),
            "there is no kernel `scaled`"
        );
        assert_eq!(
            one_of("kernel", &names, "scale").unwrap_err().to_string(),
            "`scale` names several kernels: _Z5scaleIiEvPT_ (void scale<int>(int*)), _Z5scaleIfEvPT_ (void scale<float>(float*))"
        );
    }

    #[test]
    fn names_of_sources() {
        assert_eq!(shown("_Z6squarei"), "_Z6squarei (square(int))");
        assert_eq!(shown("saxpy"), "saxpy");
    }
}
