//! The words of a command line: options and inputs, in every spelling that ptxas knows.
//!
//! `--long=value`, `--long value`, `-short=value`, `-short value`, and `-O3` and `-m64` without anything between.
//! Options and inputs come in any order. The first wrong word gives ptxas's message, and ends the parse.

use crate::options::{Here, Kind, OPTIONS, Opt, Row};
use crate::{Log, Severity};

/// Maximum nesting of files of options, which may name further ones.
const NESTING: usize = 64;

/// A parsed command line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CommandLine {
    values: Vec<(Opt, String)>,
    /// The inputs, in order.
    pub inputs: Vec<String>,
    /// The words themselves, without Oriole's own options: for a call of another ptxas.
    pub words: Vec<String>,
}

impl CommandLine {
    /// Whether an option was given.
    pub fn has(&self, option: Opt) -> bool {
        self.values.iter().any(|(given, _)| *given == option)
    }

    /// The last value of an option.
    pub fn value(&self, option: Opt) -> Option<&str> {
        self.values(option).last()
    }

    /// Every value of an option, in order.
    pub fn values(&self, option: Opt) -> impl Iterator<Item = &str> {
        self.values.iter().filter(move |(given, _)| *given == option).map(|(_, value)| value.as_str())
    }

    /// The last value of a numeric option.
    pub fn number(&self, option: Opt) -> Option<i64> {
        number(self.value(option)?)
    }

    /// Every option that was given, once, in order.
    pub fn given(&self) -> Vec<Opt> {
        let mut seen = Vec::new();
        for (option, _) in &self.values {
            if !seen.contains(option) {
                seen.push(*option);
            }
        }
        seen
    }
}

/// Reads the words after the program's name. `read` gives the text of a file of options. `None` if a word is wrong; the
/// log says which.
pub fn parse(
    words: &[String],
    log: &mut Log,
    read: &mut dyn FnMut(&str) -> Option<String>,
) -> Option<CommandLine> {
    let mut line = CommandLine::default();
    Reader { line: &mut line, log, read }.words(words, 0)?;
    Some(line)
}

struct Reader<'a> {
    line: &'a mut CommandLine,
    log: &'a mut Log,
    read: &'a mut dyn FnMut(&str) -> Option<String>,
}

impl Reader<'_> {
    fn words(&mut self, words: &[String], depth: usize) -> Option<()> {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "-" || !word.starts_with('-') {
                self.line.inputs.push(word.clone());
                self.line.words.push(word.clone());
                continue;
            }
            let (row, joined) = self.option(word)?;
            let mut taken = vec![word.clone()];
            let value = match (row.kind, joined) {
                (Kind::Flag, None) => String::new(),
                (Kind::Flag, Some(_)) => {
                    let name = word.split('=').next().unwrap_or(word);
                    return self.fatal(&format!("no argument expected after '{name}'"));
                }
                // Alone it has no effect, and the next word is an input.
                (Kind::JoinedNumber, None) if !word.starts_with("--") => continue,
                (_, Some(value)) => value,
                (_, None) => match words.next() {
                    Some(next) => {
                        taken.push(next.clone());
                        next.clone()
                    }
                    None => return self.fatal(&format!("argument expected after '{word}'")),
                },
            };
            if row.option == Opt::OptionsFile {
                self.files(&value, depth)?;
                continue;
            }
            // Another ptxas does not know options of our own.
            if row.here != Here::Own {
                self.line.words.extend(taken);
            }
            self.enter(row, value)?;
        }
        Some(())
    }

    /// The option of a word, and the value attached to it.
    fn option(&mut self, word: &str) -> Option<(&'static Row, Option<String>)> {
        let name = &word[1..];
        let (bare, value) = match name.split_once('=') {
            Some((bare, value)) => (bare, Some(value.to_owned())),
            None => (name, None),
        };
        let found = match bare.strip_prefix('-') {
            Some(long) => OPTIONS.iter().find(|row| row.long == long),
            None => OPTIONS.iter().find(|row| !row.short.is_empty() && row.short == bare),
        };
        if let Some(row) = found {
            return Some((row, value));
        }
        let joins = |row: &Row| matches!(row.kind, Kind::JoinedNumber | Kind::Bits(_));
        let mut joined = OPTIONS.iter().filter(|row| joins(row));
        if let Some((row, value)) = joined.find_map(|row| Some((row, name.strip_prefix(row.short)?))) {
            return Some((row, Some(value.to_owned())));
        }
        self.fatal(&format!("Unknown option '{bare}'"))
    }

    fn files(&mut self, names: &str, depth: usize) -> Option<()> {
        for name in names.split(',') {
            let text = if depth < NESTING { (self.read)(name) } else { None };
            let Some(text) = text else {
                return self.fatal(&format!("Could not open options file '{name}'"));
            };
            let Some(words) = split(&text) else { return self.fatal("Stray '\"' character") };
            self.words(&words, depth + 1)?;
        }
        Some(())
    }

    /// Enters a value, if the option takes it.
    fn enter(&mut self, row: &Row, value: String) -> Option<()> {
        match row.kind {
            Kind::Bool if !matches!(value.as_str(), "true" | "false") => {
                return self.fatal(&format!("'{value}': expected true or false"));
            }
            Kind::Number | Kind::JoinedNumber | Kind::Bits(_) if number(&value).is_none() => {
                return self.fatal(&format!("'{value}': expected a number"));
            }
            Kind::OneOf(values) | Kind::Bits(values) if !values.contains(&value.as_str()) => {
                return self.undefined(row, &value);
            }
            Kind::Chip if value.parse::<crate::Architecture>().is_err() => {
                return self.undefined(row, &value);
            }
            Kind::List => {
                let parts = value.split(',').filter(|part| !part.is_empty());
                self.line.values.extend(parts.map(|part| (row.option, part.trim().to_owned())));
                return Some(());
            }
            _ => {}
        }
        let same = |before: &str| match (row.kind, number(before), number(&value)) {
            (Kind::Number | Kind::JoinedNumber, Some(before), Some(now)) => before == now,
            _ => before == value,
        };
        if row.option != Opt::InputAsString && self.line.value(row.option).is_some_and(|before| !same(before))
        {
            let text = format!(
                "incompatible redefinition for option '{}', the last value of this option was used",
                row.long
            );
            self.log.say(Severity::Warning, &text);
        }
        self.line.values.push((row.option, value));
        Some(())
    }

    fn undefined(&mut self, row: &Row, value: &str) -> Option<()> {
        self.fatal(&format!("Value '{value}' is not defined for option '{}'", row.long))
    }

    fn fatal<T>(&mut self, text: &str) -> Option<T> {
        self.log.say(Severity::Fatal, text);
        None
    }
}

/// A number as ptxas accepts it: decimal or `0x`, with a sign or not; an empty text is 0.
fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16).ok()?,
        None if text.is_empty() => 0,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

/// The words of a file of options: blanks separate them, double quotes keep them together, a backslash escapes the next
/// character. `None` if a quote is not closed.
fn split(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' => word.get_or_insert_default().extend(characters.next()),
            blank if blank.is_whitespace() && !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    (!quoted).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Form;
    use expect_test::{Expect, expect};
    use std::fmt::Write as _;

    /// The result of a line: inputs, options with their values, messages.
    fn shown(line: &str) -> String {
        let mut log = Log::new("ptxas", Form::Program);
        let words = split(line).expect("quotes are closed");
        let mut read = |name: &str| match name {
            "first" => Some("-v -optf second\n \"a b.ptx\"".to_owned()),
            "second" => Some("--gpu-name=sm_90 -o\tx\\ y".to_owned()),
            "open" => Some("-o \"x".to_owned()),
            "itself" => Some("-optf itself".to_owned()),
            _ => None,
        };
        let read = parse(&words, &mut log, &mut read);
        let mut text = String::new();
        for entry in log.entries() {
            text.push_str(&entry.text);
        }
        if let Some(line) = read {
            let _ = writeln!(text, "inputs {:?}", line.inputs);
            for option in line.given() {
                let _ = writeln!(text, "{} {:?}", option.row().long, line.values(option).collect::<Vec<_>>());
            }
        }
        text
    }

    fn check(lines: &[&str], expected: Expect) {
        let mut text = String::new();
        for line in lines {
            let _ = writeln!(text, "> {line}\n{}", shown(line).trim_end());
        }
        expected.assert_eq(&text);
    }

    #[test]
    fn spellings_of_one_option() {
        let same = [
            "-arch=sm_90 -O2",
            "-arch sm_90 -O=2",
            "--gpu-name=sm_90 --opt-level=2",
            "--gpu-name sm_90 --opt-level 2",
        ];
        for line in same {
            assert_eq!(shown(line), shown(same[0]), "{line}");
        }
        for line in ["-m64", "-m=64", "-m 64", "--machine 64", "--machine=64"] {
            assert_eq!(shown(line), shown("-m64"), "{line}");
        }
    }

    #[test]
    fn words_that_are_wrong() {
        check(
            &[
                "-gpu-name sm_90",
                "--arch sm_90",
                "--nosuch=3",
                "-nosuch",
                "-archsm_90",
                "-oout",
                "-verbose",
                "--",
                "-arch",
                "-v=true",
                "--verbose=false",
                "-fmad=no",
                "-fmad k.ptx",
                "-Ox",
                "--opt-level k.ptx",
                "-m32",
                "-mx",
                "-arch=sm_1",
                "-arch=",
                "-sanitize=foo",
                "-split-compile=x",
                "-optf none",
                "-optf open",
                "-optf itself",
            ],
            expect![[r#"
                > -gpu-name sm_90
                ptxas fatal   : Unknown option 'gpu-name'
                > --arch sm_90
                ptxas fatal   : Unknown option '-arch'
                > --nosuch=3
                ptxas fatal   : Unknown option '-nosuch'
                > -nosuch
                ptxas fatal   : Unknown option 'nosuch'
                > -archsm_90
                ptxas fatal   : Unknown option 'archsm_90'
                > -oout
                ptxas fatal   : Unknown option 'oout'
                > -verbose
                ptxas fatal   : Unknown option 'verbose'
                > --
                ptxas fatal   : Unknown option '-'
                > -arch
                ptxas fatal   : argument expected after '-arch'
                > -v=true
                ptxas fatal   : no argument expected after '-v'
                > --verbose=false
                ptxas fatal   : no argument expected after '--verbose'
                > -fmad=no
                ptxas fatal   : 'no': expected true or false
                > -fmad k.ptx
                ptxas fatal   : 'k.ptx': expected true or false
                > -Ox
                ptxas fatal   : 'x': expected a number
                > --opt-level k.ptx
                ptxas fatal   : 'k.ptx': expected a number
                > -m32
                ptxas fatal   : Value '32' is not defined for option 'machine'
                > -mx
                ptxas fatal   : 'x': expected a number
                > -arch=sm_1
                ptxas fatal   : Value 'sm_1' is not defined for option 'gpu-name'
                > -arch=
                ptxas fatal   : Value '' is not defined for option 'gpu-name'
                > -sanitize=foo
                ptxas fatal   : Value 'foo' is not defined for option 'sanitize'
                > -split-compile=x
                ptxas fatal   : 'x': expected a number
                > -optf none
                ptxas fatal   : Could not open options file 'none'
                > -optf open
                ptxas fatal   : Stray '"' character
                > -optf itself
                ptxas fatal   : Could not open options file 'itself'
            "#]],
        );
    }

    #[test]
    fn words_that_are_right() {
        check(
            &[
                "k.ptx -O -",
                "-O 3",
                "-O-1 -O0x3",
                "-O3 -O=3 -O2",
                "-e k,f -e g a.ptx b.ptx",
                "-o -- -v",
                "-arch=sm_90 -arch sm_80",
                "-optf first z.ptx",
                "-maxntid 32,2",
                "-arch=compute_90 -arch=lto_90a",
                "--fallback /p/ptxas -h",
            ],
            expect![[r#"
                > k.ptx -O -
                inputs ["k.ptx", "-"]
                > -O 3
                inputs ["3"]
                > -O-1 -O0x3
                ptxas warning : incompatible redefinition for option 'opt-level', the last value of this option was used
                inputs []
                opt-level ["-1", "0x3"]
                > -O3 -O=3 -O2
                ptxas warning : incompatible redefinition for option 'opt-level', the last value of this option was used
                inputs []
                opt-level ["3", "3", "2"]
                > -e k,f -e g a.ptx b.ptx
                inputs ["a.ptx", "b.ptx"]
                entry ["k", "f", "g"]
                > -o -- -v
                inputs []
                output-file ["--"]
                verbose [""]
                > -arch=sm_90 -arch sm_80
                ptxas warning : incompatible redefinition for option 'gpu-name', the last value of this option was used
                inputs []
                gpu-name ["sm_90", "sm_80"]
                > -optf first z.ptx
                inputs ["a b.ptx", "z.ptx"]
                verbose [""]
                gpu-name ["sm_90"]
                output-file ["x y"]
                > -maxntid 32,2
                inputs []
                maxntid ["32", "2"]
                > -arch=compute_90 -arch=lto_90a
                ptxas warning : incompatible redefinition for option 'gpu-name', the last value of this option was used
                inputs []
                gpu-name ["compute_90", "lto_90a"]
                > --fallback /p/ptxas -h
                inputs []
                fallback ["/p/ptxas"]
                help [""]
            "#]],
        );
    }

    #[test]
    fn another_ptxas_gets_the_same_words() {
        let words =
            ["-v", "--fallback", "/p/ptxas", "-o", "x", "-optf", "second", "k.ptx"].map(str::to_owned);
        let mut log = Log::new("ptxas", Form::Program);
        let line = parse(&words, &mut log, &mut |_| Some("-arch=sm_90 -m 64".to_owned())).expect("right");
        assert_eq!(line.words, ["-v", "-o", "x", "-arch=sm_90", "-m", "64", "k.ptx"]);
    }
}
