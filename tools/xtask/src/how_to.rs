//! Checks the pages that say which places a change touches: each path, name and command in `docs/how-to` exists, each debug
//! switch is on the page about miscompiles, and each command of the program is on the page of commands.

use std::collections::BTreeSet;
use std::path::Path;

const PAGES: &str = "docs/how-to";
const SWITCHES: &str = "docs/how-to/debug-a-miscompile.md";
const COMMANDS: &str = "docs/commands.md";
const REGISTRY: &str = "crates/options/src/registry.rs";

/// Folders of the checkout with which a path begins; that such a path exists is checked on every page.
const FOLDERS: &[&str] = &["crates/", "tools/", "docs/", "test-data/"];
/// Extensions of files in the checkout.
const EXTENSIONS: &[&str] = &[".rs", ".md", ".py", ".forms", ".table", ".words", ".toml"];
/// Extensions of the files in which names are looked up.
const NAMED_IN: &[&str] =
    &["rs", "forms", "table", "words", "py", "mjs", "ts", "sh", "toml", "ptx", "txt", "json"];
/// The command that the drop-in mode takes before the parser of arguments runs, and the parser's own.
const OTHER_COMMANDS: &[&str] = &["ptxas", "help"];

/// Names that the pages may use.
struct Tree<'a> {
    root: &'a Path,
    /// Names of files, without folders.
    files: BTreeSet<String>,
    /// Words of the sources: runs of letters, digits and `_`, and the same with `-`.
    words: BTreeSet<String>,
    /// Commands of the program.
    commands: BTreeSet<String>,
    /// Commands of `cargo xtask`.
    developer_commands: BTreeSet<String>,
}

/// Reports names that the pages have and the tree does not, and names that they should have and do not.
pub fn check(root: &Path, found: &mut Vec<String>) {
    let tree = Tree::read(root);
    for page in crate::source_files::files(&root.join(PAGES), "md") {
        let shown = page.strip_prefix(root).unwrap_or(&page).display().to_string();
        found.extend(in_page(&shown, &read(&page), &tree));
    }
    let page = read(&root.join(SWITCHES));
    found.extend(missing(SWITCHES, &page, "the switch", switches(&read(&root.join(REGISTRY)))));
    let page = read(&root.join(COMMANDS));
    let commands = tree.commands.iter().map(|command| format!("oriole {command}"));
    found.extend(missing(COMMANDS, &page, "the command", commands.collect()));
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

impl Tree<'_> {
    fn read(root: &Path) -> Tree<'_> {
        let mut tree = Tree {
            root,
            files: BTreeSet::new(),
            words: BTreeSet::new(),
            commands: variants(&read(&root.join("crates/cli/src/arguments.rs")), "pub enum Command {"),
            developer_commands: arms(&read(&root.join("tools/xtask/src/main.rs"))),
        };
        for extension in NAMED_IN {
            for folder in ["crates", "tools"] {
                for file in crate::source_files::files(&root.join(folder), extension) {
                    tree.files.extend(file.file_name().map(|name| name.to_string_lossy().into_owned()));
                    // The names in the tests of this check are made up.
                    if !file.ends_with("xtask/src/how_to.rs") {
                        tree.take_words(&read(&file));
                    }
                }
            }
        }
        tree
    }

    fn take_words(&mut self, text: &str) {
        for word in text.split(|c: char| !is_word(c) && c != '-').filter(|word| !word.is_empty()) {
            if !self.words.contains(word) {
                self.words.insert(word.to_owned());
            }
            for part in word.split('-').filter(|part| *part != word && !part.is_empty()) {
                if !self.words.contains(part) {
                    self.words.insert(part.to_owned());
                }
            }
        }
    }

    /// The error in a piece of code on a page, if any.
    fn judge(&self, code: &str) -> Option<String> {
        if let Some(rest) = code.strip_prefix("oriole ") {
            return unknown_command(rest, &self.commands, "oriole");
        }
        if let Some(rest) = code.strip_prefix("cargo xtask ") {
            return unknown_command(rest, &self.developer_commands, "cargo xtask");
        }
        if FOLDERS.iter().any(|folder| code.starts_with(folder)) {
            return None;
        }
        if is_path(code) {
            let exists = self.root.join(code).exists() || self.files.contains(code);
            return (!exists).then(|| format!("there is no {code}"));
        }
        if code.contains(' ') && !code.contains("::") {
            return None;
        }
        let unknown = names(code).find(|name| !self.words.contains(*name))?;
        Some(format!("nothing in the sources is called `{unknown}`"))
    }
}

fn unknown_command(rest: &str, known: &BTreeSet<String>, program: &str) -> Option<String> {
    let command = rest.split_whitespace().next()?;
    let is_command = command.starts_with(|c: char| c.is_ascii_lowercase());
    let exists = known.contains(command) || program == "oriole" && OTHER_COMMANDS.contains(&command);
    (is_command && !exists).then(|| format!("`{program}` has no command `{command}`"))
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_path(code: &str) -> bool {
    let plain = !code.contains([' ', '{', '*', '<', '|']);
    let ends = EXTENSIONS.iter().any(|extension| code.ends_with(extension)) || code.ends_with('/');
    plain && (ends && !code.starts_with('.') || code.starts_with(".ci/"))
}

/// The names in a piece of code: words that only code has (`a_name`, `Name`, `NAME`), and switches (`no-name`).
fn names(code: &str) -> impl Iterator<Item = &str> {
    let switch = code.starts_with(|c: char| c.is_ascii_lowercase())
        && code.contains('-')
        && code.split('-').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric()));
    let words = code.split(|c: char| !is_word(c)).filter(move |_| !switch);
    words.filter(|word| is_name(word)).chain(switch.then_some(code))
}

fn is_name(word: &str) -> bool {
    let has = |test: fn(char) -> bool| word.contains(test);
    let letters = word.chars().filter(char::is_ascii_alphabetic).count();
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic());
    begins && letters > 1 && (word.contains('_') || has(|c| c.is_ascii_uppercase()))
}

/// Everything that a page names and the tree does not have.
fn in_page(shown: &str, text: &str, tree: &Tree<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let block = fenced || line.starts_with("    ");
        let commands = [line.trim_start()]
            .into_iter()
            .filter(|line| block && (line.starts_with("oriole ") || line.starts_with("cargo xtask ")));
        let spans = line.split('`').skip(1).step_by(2).filter(|_| !fenced);
        let wrong = commands.chain(spans).filter_map(|code| tree.judge(code.trim()));
        found.extend(wrong.map(|message| format!("{shown}:{}: {message}", number + 1)));
    }
    found
}

/// Names that a page should have in a span of code, alone or before a space, and does not.
fn missing(shown: &str, page: &str, what: &str, names: Vec<String>) -> Vec<String> {
    let spans: Vec<&str> = page.split('`').skip(1).step_by(2).collect();
    let has = |name: &String| {
        spans.iter().any(|span| {
            span.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    };
    let missing = names.into_iter().filter(|name| !has(name));
    missing.map(|name| format!("{shown}: {what} `{name}` is missing")).collect()
}

/// The switches of the registry: knobs of yes or no that are off unless they are asked for.
fn switches(registry: &str) -> Vec<String> {
    let rows = registry.lines().filter_map(|line| line.split_once(" = "));
    let calls = rows
        .filter_map(|(_, row)| ["switch(\"", "without(\""].iter().find_map(|call| row.strip_prefix(call)));
    calls.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

/// The variants of an enum, as the parser of arguments spells them: `InitShadow` is `init-shadow`.
fn variants(text: &str, head: &str) -> BTreeSet<String> {
    let body = text.split_once(head).map_or("", |(_, rest)| rest.split("\n}").next().unwrap_or(""));
    let rows = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = rows.filter(|row| row.starts_with(|c: char| c.is_ascii_uppercase()));
    names.map(|row| kebab(row.split(|c: char| !is_word(c)).next().unwrap_or(""))).collect()
}

fn kebab(name: &str) -> String {
    let mut out = String::new();
    for (at, c) in name.chars().enumerate() {
        if at > 0 && c.is_ascii_uppercase() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// The strings that begin the arms of a `match`.
fn arms(text: &str) -> BTreeSet<String> {
    let rows = text.lines().filter_map(|line| line.trim_start().strip_prefix('"'));
    rows.filter_map(|row| row.split_once("\" => ")).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(page: &str) -> Vec<String> {
        let root = crate::root();
        let mut tree = Tree {
            root: &root,
            files: ["known.rs".to_owned()].into(),
            words: BTreeSet::new(),
            commands: variants(
                "pub enum Command {\n    /// One.\n    Run(Run),\n    InitShadow {\n        x: u8,\n    },\n}\n",
                "pub enum Command {",
            ),
            developer_commands: arms("match x {\n        \"tidy\" => y,\n        _ => z,\n}"),
        };
        tree.take_words("fn a_known_name() { Known::VALUE; \"no-known\" }");
        in_page("page", page, &tree)
    }

    #[test]
    fn what_exists_may_be_named() {
        for page in [
            "`a_known_name`, `Known::VALUE` and `no-known` in `known.rs`, `crates/chip/src/` or `docs/how-to`",
            "`oriole run x`, `oriole init-shadow`, `oriole ptxas`, `oriole --help`, `cargo xtask tidy`",
            "```\nUnknown of_code\n```\n    oriole run case.json",
            "`cvt.pack`, `6.5/72`, `[a@0]`, `w0`, `not a_name in a sentence`",
        ] {
            assert_eq!(wrong(page), Vec::<String>::new(), "{page}");
        }
    }

    #[test]
    fn what_does_not_exist_is_found() {
        for (page, message) in [
            ("`an_unknown_name`", "page:1: nothing in the sources is called `an_unknown_name`"),
            ("\n`Known::Value`", "page:2: nothing in the sources is called `Value`"),
            ("`no-unknown`", "page:1: nothing in the sources is called `no-unknown`"),
            ("`Known(&un::KNOWN_TO_NONE)`", "page:1: nothing in the sources is called `KNOWN_TO_NONE`"),
            ("`.ci/unknown`", "page:1: there is no .ci/unknown"),
            ("`unknown.rs`", "page:1: there is no unknown.rs"),
            ("`chip/src/chips.rs`", "page:1: there is no chip/src/chips.rs"),
            ("`oriole walk`", "page:1: `oriole` has no command `walk`"),
            ("```\noriole walk x\n```", "page:2: `oriole` has no command `walk`"),
            ("    oriole walk x", "page:1: `oriole` has no command `walk`"),
            ("`cargo xtask untidy`", "page:1: `cargo xtask` has no command `untidy`"),
        ] {
            assert_eq!(wrong(page), [message]);
        }
    }

    #[test]
    fn what_a_page_leaves_out_is_found() {
        let registry = "knobs! {\n    A = without(\"no-a\", B, \"\");\n    C = switch(\"c\",\n    \"\");\n    D = yes(\"d\", E);\n}";
        assert_eq!(switches(registry), ["no-a", "c"]);
        let page = "`no-a` and `no-c`, `oriole run X`";
        assert_eq!(
            missing("page", page, "the switch", switches(registry)),
            ["page: the switch `c` is missing"]
        );
        let commands = ["oriole run".to_owned(), "oriole r".to_owned()].to_vec();
        assert_eq!(
            missing("page", page, "the command", commands),
            ["page: the command `oriole r` is missing"]
        );
    }
}
