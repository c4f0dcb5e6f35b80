//! Whether output is coloured: `--color`, and the variables of the environment that all programs read.
//!
//! It is here so that every command decides in one way. No colour is made here.

use clap::{ColorChoice, ValueEnum};
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::sync::OnceLock;

/// `--color`
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set; everywhere if CLICOLOR_FORCE is set.
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

/// The choice of the command line, once for the process.
static CHOSEN: OnceLock<When> = OnceLock::new();

/// From now on this is the choice.
pub fn choose(when: When) {
    let _ = CHOSEN.set(when);
}

/// Whether standard error is coloured.
pub fn on_error() -> bool {
    is_coloured(std::io::stderr().is_terminal())
}

/// Whether standard output is coloured.
pub fn on_output() -> bool {
    is_coloured(std::io::stdout().is_terminal())
}

fn is_coloured(terminal: bool) -> bool {
    let when = CHOSEN.get().copied().unwrap_or_default();
    decided(when, terminal, |name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

/// Whether standard error is a terminal on which a line can be written again and again. No colour is needed for that.
pub fn is_live() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb")
}

/// The decision: the command line first, then `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR` and the terminal. A variable that is empty is
/// not set.
fn decided(when: When, terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    match when {
        When::Always => return true,
        When::Never => return false,
        When::Auto => {}
    }
    let is_on = |name: &str| variable(name).is_some_and(|value| value != "0");
    if variable("NO_COLOR").is_some() {
        return false;
    }
    if is_on("CLICOLOR_FORCE") {
        return true;
    }
    let off = variable("CLICOLOR").is_some_and(|value| value == "0");
    terminal && !off && variable("TERM").is_none_or(|kind| kind != "dumb")
}

/// The choice as the parser of arguments needs it, for help and errors: before the words are parsed.
pub fn in_words<'a>(words: impl Iterator<Item = &'a OsStr>) -> ColorChoice {
    let mut words = words.map_while(OsStr::to_str).take_while(|word| *word != "--");
    let mut choice = ColorChoice::Auto;
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next().unwrap_or_default(),
            Some(value) => value.strip_prefix('=').unwrap_or_default(),
            None => continue,
        };
        choice = match value {
            "always" => ColorChoice::Always,
            "never" => ColorChoice::Never,
            _ => choice,
        };
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_only_where_they_are_wanted() {
        let decided = |when, terminal, set: &[(&str, &str)]| {
            let find = |name: &str| set.iter().find(|(known, _)| *known == name);
            decided(when, terminal, |name| find(name).map(|(_, value)| OsString::from(value)))
        };
        use When::{Always, Auto, Never};
        assert!(decided(Auto, true, &[("TERM", "xterm")]) && decided(Auto, true, &[]));
        assert!(!decided(Auto, true, &[("NO_COLOR", "1")]) && !decided(Auto, true, &[("TERM", "dumb")]));
        assert!(!decided(Auto, false, &[]) && !decided(Auto, true, &[("CLICOLOR", "0")]));
        assert!(decided(Auto, false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!decided(Auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!decided(Auto, true, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(decided(Always, false, &[("NO_COLOR", "1")]));
        assert!(!decided(Never, true, &[("CLICOLOR_FORCE", "1")]));
    }

    #[test]
    fn help_is_coloured_as_the_words_say() {
        let choice = |words: &str| in_words(words.split(' ').map(OsStr::new));
        assert_eq!(choice("check --color never a.ptx"), ColorChoice::Never);
        assert_eq!(choice("check --color=always"), ColorChoice::Always);
        assert_eq!(choice("diff a -- --color=always"), ColorChoice::Auto);
        assert_eq!(choice("check --color"), ColorChoice::Auto);
    }
}
