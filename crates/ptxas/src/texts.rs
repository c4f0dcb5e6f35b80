//! Help and version.

use crate::options::{Here, Kind, OPTIONS, Row};
use oriole_chip::{Chip, Variant};
use std::fmt::Write as _;

/// The CUDA release whose language and options are supported, major and minor number. Callers derive from it the newest
/// version of the language that they may write.
pub const TOOLKIT: (u32, u32) = (13, 5);
/// Its last number.
const UPDATE: u32 = 37;

/// The versions of the language of that release, major and minor number, ascending.
pub const ISA_VERSIONS: &[(u8, u8)] = &[
    (1, 0),
    (1, 1),
    (1, 2),
    (1, 3),
    (1, 4),
    (1, 5),
    (2, 0),
    (2, 1),
    (2, 2),
    (2, 3),
    (3, 0),
    (3, 1),
    (3, 2),
    (4, 0),
    (4, 1),
    (4, 2),
    (4, 3),
    (5, 0),
    (5, 1),
    (6, 0),
    (6, 1),
    (6, 2),
    (6, 3),
    (6, 4),
    (6, 5),
    (7, 0),
    (7, 1),
    (7, 2),
    (7, 3),
    (7, 4),
    (7, 5),
    (7, 6),
    (7, 7),
    (7, 8),
    (8, 0),
    (8, 1),
    (8, 2),
    (8, 3),
    (8, 4),
    (8, 5),
    (8, 6),
    (8, 7),
    (8, 8),
    (9, 0),
    (9, 1),
    (9, 2),
    (9, 3),
    (9, 4),
    (9, 5),
];

/// The output of `--version`. Callers parse line 4; the last line is part of the keys of their caches, so it identifies
/// the build.
pub fn version(program: &str, build: &str) -> String {
    let (major, minor) = TOOLKIT;
    format!(
        "{program}: Oriole, an open PTX to SASS compiler, as a drop-in replacement of ptxas\n\
         MIT or Apache-2.0\n\
         Options and messages are those of ptxas\n\
         Compatible with Cuda compilation tools, release {major}.{minor}, V{major}.{minor}.{UPDATE}\n\
         Build oriole_{build}\n"
    )
}

/// The newest version of the language.
pub(crate) fn newest_version() -> String {
    ISA_VERSIONS.last().map(shown).unwrap_or_default()
}

/// The output of `--list-version`.
pub fn isa_versions() -> String {
    ISA_VERSIONS.iter().map(|version| shown(version) + "\n").collect()
}

/// The output of `--list-arch`: the numbers of the supported chips.
pub fn architectures() -> String {
    let chips = Chip::all().into_iter().filter(|chip| chip.variant() == Variant::Base && chip.is_supported());
    chips.map(|chip| format!("{}\n", chip.number())).collect()
}

fn shown((major, minor): &(u8, u8)) -> String {
    format!("{major}.{minor}")
}

/// The output of `--help`.
pub fn help(program: &str) -> String {
    let mut text = format!("\nUsage  : {program} [options] <ptx file>,...\n\nOptions\n=======\n\n");
    for row in OPTIONS {
        let long = format!("--{}{}", row.long, value(row));
        let short = if row.short.is_empty() { String::new() } else { format!("(-{})", row.short) };
        let _ = writeln!(text, "{long:<50}  {short}\n        {}", row.help);
        let here = match row.here {
            Here::Same | Here::Own => String::new(),
            Here::Differs(how) => format!("        Here {how}.\n"),
            Here::NoEffect(why) => format!("        No effect here: {why}.\n"),
            Here::Refused(why) => format!("        Refused here: {why}.\n"),
        };
        let _ = writeln!(text, "{here}");
    }
    text
}

fn value(row: &Row) -> String {
    match row.kind {
        Kind::Flag => String::new(),
        Kind::Text => " <text>".to_owned(),
        Kind::List => " <text>,...".to_owned(),
        Kind::OneOf(values) | Kind::Bits(values) => format!(" <{}>", values.join("|")),
        Kind::Chip => " <chip>".to_owned(),
        Kind::Bool => " <true|false>".to_owned(),
        Kind::Number | Kind::JoinedNumber => " <N>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digits, a dot, digits ... after a mark, as the regular expressions of callers find them.
    fn numbers_behind(text: &str, mark: &str) -> Vec<String> {
        let Some((_, behind)) = text.split_once(mark) else { return Vec::new() };
        let end = behind.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(behind.len());
        behind[..end].split('.').map(str::to_owned).collect()
    }

    #[test]
    fn callers_find_the_release() {
        let text = version("ptxas", "0.1.0");
        // Triton: `.*release (\d+\.\d+).*`; CUDA.jl: `release (\d+)\.(\d+),\s*V(\d+)\.(\d+)\.(\d+)`.
        assert_eq!(numbers_behind(&text, "release "), ["13", "5"]);
        assert!(text.lines().nth(3).is_some_and(|line| line.contains("release 13.5, V13.5.37")));
        // XLA: `\bV(\d+)\.(\d+)\.(\d+)\b`, and the first match counts.
        assert_eq!(numbers_behind(&text, " V"), ["13", "5", "37"]);
        assert_eq!(text.matches("V1").count(), 1);
        assert!(!text.contains("NVIDIA"), "it is no product of NVIDIA");
    }

    /// The page of options.
    fn page() -> String {
        let mut page = String::from(
            "# Options in ptxas's place\n\nWhat [the mode](ptxas-mode.md) makes of every option. A test writes this page from the table of \
             `crates/ptxas/src/options.rs` (`UPDATE_EXPECT=1`).\n\n| option | short | what it is for | here |\n|---|---|---|---|\n",
        );
        for row in OPTIONS {
            let here = match row.here {
                Here::Same => "as in ptxas".to_owned(),
                Here::Own => "ptxas has no such option".to_owned(),
                Here::Differs(how) => how.to_owned(),
                Here::NoEffect(why) => format!("no effect: {why}"),
                Here::Refused(why) => format!("refused: {why}"),
            };
            let short = if row.short.is_empty() { String::new() } else { format!("`-{}`", row.short) };
            let long = format!("--{}{}", row.long, value(row)).replace('|', "\\|");
            let _ = writeln!(page, "| `{long}` | {short} | {} | {here} |", row.help.trim_end_matches('.'));
        }
        page
    }

    #[test]
    fn the_page_of_options_is_that_of_the_table() {
        expect_test::expect_file!["../../../docs/ptxas-options.md"].assert_eq(&page());
    }

    #[test]
    fn help_names_every_option() {
        let text = help("ptxas");
        for row in OPTIONS {
            assert!(text.contains(&format!("--{}", row.long)), "{}", row.long);
        }
        assert!(isa_versions().ends_with("9.4\n9.5\n"));
        assert!(Chip::all().len() > 1);
    }
}
