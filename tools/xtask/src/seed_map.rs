//! Checks the seed map: a row that Oriole claims to have names a file that a command of the program reaches, tests that
//! exist, and a command that shows it; a row that it has in part, in another way or not at all has a note that says why.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const PAGE: &str = "docs/dev/seed-map.md";

/// The header of a table of rows.
const HEADER: [&str; 4] = ["system", "state", "module", "test"];

/// The longest line of a table.
const LINE: usize = 150;

/// Facts about the project that the page is checked against.
struct Project<'a> {
    /// True if a path of the repository exists.
    exists: &'a dyn Fn(&str) -> bool,
    /// True if a command of the program reaches a file, or need not.
    is_reached: &'a dyn Fn(&str) -> bool,
    /// The names of all tests.
    tests: BTreeSet<String>,
}

/// Reports the errors of the page.
pub fn check(root: &Path, found: &mut Vec<String>) {
    let Ok(page) = std::fs::read_to_string(root.join(PAGE)) else {
        found.push(format!("{PAGE} is missing"));
        return;
    };
    let sources: BTreeMap<String, String> = crate::source_files::files(&root.join("crates"), "rs")
        .into_iter()
        .filter_map(|file| {
            let text = std::fs::read_to_string(&file).ok()?;
            Some((file.strip_prefix(root).unwrap_or(&file).display().to_string(), text))
        })
        .collect();
    let tests = sources.values().flat_map(|text| tests(text)).map(str::to_owned).collect();
    let shipped: BTreeMap<String, String> = sources
        .into_iter()
        .filter(|(name, _)| {
            name.contains("/src/") && !name.contains("/tests/") && !name.ends_with("/tests.rs")
        })
        .collect();
    let reached = crate::reach::reached(&shipped, |name| name.starts_with("crates/cli/src/"));
    // The root of a crate hands out names of others, and what makes nothing is reached with what it belongs to.
    let is_reached = |module: &str| {
        module.ends_with("/lib.rs")
            || reached.contains(module)
            || shipped.get(module).is_none_or(|text| crate::reach::makes_nothing(text))
    };
    let exists = |path: &str| root.join(path).exists();
    found.extend(in_page(&page, &Project { exists: &exists, is_reached: &is_reached, tests }));
}

/// The functions of a source file that are tests: the name after each `#[test]`.
fn tests(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[test]").skip(1).filter_map(|rest| rest.split("fn ").nth(1)?.split('(').next())
}

/// The errors in each table of the page. A table and its notes are the lines between two headings.
fn in_page(page: &str, project: &Project) -> Vec<String> {
    let lines: Vec<&str> = page.lines().collect();
    let mut headings: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].starts_with('#')).collect();
    headings.push(lines.len());
    let mut found: Vec<String> =
        headings.windows(2).flat_map(|pair| in_group(&lines[pair[0]..pair[1]], pair[0], project)).collect();
    if !lines.iter().any(|line| cells(line) == HEADER) {
        found.push(format!("{PAGE}: no table `| {} |`", HEADER.join(" | ")));
    }
    found
}

fn in_group(lines: &[&str], first: usize, project: &Project) -> Vec<String> {
    let mut found = Vec::new();
    let Some(header) = lines.iter().position(|line| cells(line) == HEADER) else { return found };
    let notes = lines.iter().filter(|line| !line.starts_with('|')).copied().collect::<Vec<_>>().join("\n");
    let mut is_shown = true;
    for (at, line) in lines.iter().enumerate().skip(header + 2) {
        if !line.starts_with('|') {
            break;
        }
        let mut report = |what: String| found.push(format!("{PAGE}:{}: {what}", first + at + 1));
        let &[system, state, module, tests] = cells(line).as_slice() else {
            report("a row without four cells".to_owned());
            continue;
        };
        if line.chars().count() > LINE {
            report(format!("the row is longer than {LINE} characters"));
        }
        let (has_module, is_real) = match state {
            "done" | "partial" => (true, true),
            "replaced" => (true, false),
            "open" | "not planned" => (false, false),
            _ => {
                report(format!("there is no state `{state}`"));
                continue;
            }
        };
        is_shown &= !is_real || !commands(&notes).is_empty();
        if state != "done" && !notes.contains(&format!("**{system}**")) {
            report(format!("`{state}`, but no note below the table says why: **{system}**"));
        }
        let module = module.trim_matches('`');
        if has_module == module.is_empty() {
            report(format!("`{state}` {} a file", if has_module { "without" } else { "with" }));
        } else if has_module && !(project.exists)(module) {
            report(format!("there is no {module}"));
        } else if has_module && !(project.is_reached)(module) {
            report(format!("no command of the program reaches {module}"));
        }
        for test in tests.split(',').map(|test| test.trim().trim_matches('`')).filter(|test| !test.is_empty())
        {
            if !project.tests.contains(test) {
                report(format!("there is no test {test}"));
            }
        }
    }
    let heading = first + 1;
    if !is_shown {
        found.push(format!("{PAGE}:{heading}: rows that are done, but no line `Shown by `oriole ...``"));
    }
    for word in commands(&notes).iter().flat_map(|command| command.split_whitespace()) {
        if word.starts_with("test-data/") && !(project.exists)(word) {
            found.push(format!("{PAGE}:{heading}: there is no {word}"));
        }
    }
    found
}

/// The commands of the paragraph that begins with `Shown by`.
fn commands(text: &str) -> Vec<&str> {
    let Some(shown) = text.split("\n\n").find(|paragraph| paragraph.starts_with("Shown by")) else {
        return Vec::new();
    };
    shown.split('`').skip(1).step_by(2).filter(|code| code.starts_with("oriole ")).collect()
}

/// The cells of a line of a table.
fn cells(line: &str) -> Vec<&str> {
    let inside = line.strip_prefix('|').and_then(|line| line.strip_suffix('|'));
    inside.map_or(Vec::new(), |line| line.split('|').map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    /// The errors in a table with this row, under these commands and above this note.
    fn found(shown: &str, row: &str, note: &str) -> Vec<String> {
        let page = format!(
            "# Map\n\n### Group\n\n{shown}\n\n| system | state | module | test |\n|---|---|---|---|\n{row}\n\n{note}\n"
        );
        let project = super::Project {
            exists: &|path| ["a.rs", "dead.rs", "test-data/k.ptx"].contains(&path),
            is_reached: &|module| module != "dead.rs",
            tests: super::tests("#[test]\nfn t() {}\nfn helper() {}").map(str::to_owned).collect(),
        };
        super::in_page(&page, &project)
    }

    const SHOWN: &str = "Shown by `oriole list phases`,\n`oriole isel test-data/k.ptx --count`.";

    #[test]
    fn rows_with_file_test_and_command_are_right() {
        for (row, note) in [
            ("| x | done | `a.rs` | `t` |", ""),
            ("| x | done | `a.rs` | |", ""),
            ("| x | partial | `a.rs` | `t` |", "- **x**: half of it."),
            ("| x | replaced | `a.rs` | `t` |", "- **w**, **x**: by y."),
            ("| x | open | | |", "- **x**: nobody wrote it."),
            ("| x | not planned | | |", "- **x**: no chip has it."),
        ] {
            assert_eq!(found(SHOWN, row, note), Vec::<String>::new(), "{row}");
        }
        assert!(found("", "| x | not planned | | |", "- **x**: no chip has it.").is_empty());
    }

    #[test]
    fn wrong_rows_are_found() {
        for (row, what) in [
            ("| x | later | `a.rs` | `t` |", "there is no state `later`"),
            ("| x | done | `b.rs` | `t` |", "there is no b.rs"),
            ("| x | done | | `t` |", "`done` without a file"),
            ("| x | done | `dead.rs` | `t` |", "no command of the program reaches dead.rs"),
            ("| x | done | `a.rs` | `t`, `u` |", "there is no test u"),
            ("| x | done | `a.rs` | `helper` |", "there is no test helper"),
            ("| x | partial | `a.rs` | `t` |", "`partial`, but no note below the table says why: **x**"),
            ("| x | not planned | | |", "`not planned`, but no note below the table says why: **x**"),
            ("| x | done | `a.rs` |", "a row without four cells"),
        ] {
            assert_eq!(found(SHOWN, row, ""), [format!("{}:10: {what}", super::PAGE)], "{row}");
        }
        let row = format!("| {} | done | `a.rs` | |", "x".repeat(super::LINE));
        assert_eq!(found(SHOWN, &row, "").len(), 1);
        assert_eq!(found(SHOWN, "| x | open | `a.rs` | |", "- **x**: y.").len(), 1);
    }

    #[test]
    fn commands_are_asked_for() {
        let row = "| x | done | `a.rs` | `t` |";
        assert_eq!(found("", row, "").len(), 1);
        assert_eq!(found("Shown by nothing.", row, "").len(), 1);
        let missing = found("Shown by `oriole isel test-data/l.ptx`.", row, "");
        assert_eq!(missing, [format!("{}:3: there is no test-data/l.ptx", super::PAGE)]);
    }

    #[test]
    fn a_page_without_rows_is_wrong() {
        let project = super::Project {
            exists: &|_| true,
            is_reached: &|_| true,
            tests: std::collections::BTreeSet::new(),
        };
        assert_eq!(super::in_page("# Map\n", &project).len(), 1);
    }
}
