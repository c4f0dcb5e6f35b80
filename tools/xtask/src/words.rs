//! Checks the words of the documentation against the glossary: the third column of the table in `docs/glossary.md` lists words
//! that pages do not use. Code spans, code blocks and the targets of links are not checked.

use std::path::{Path, PathBuf};

const GLOSSARY: &str = "docs/glossary.md";

/// The page that lists the words, and pages that are written from the texts of crates.
const UNCHECKED: &[&str] = &[GLOSSARY, "docs/ptx/", "docs/ptxas-options.md"];

/// The longest subject of a commit.
const SUBJECT: usize = 72;

/// A word or phrase that pages do not use, in lower case, and what they say instead.
struct Denied {
    words: Vec<String>,
    say: String,
}

/// Reports each denied word in the pages, and each subject on this branch that is too long.
pub fn check(root: &Path, found: &mut Vec<String>) {
    let Ok(glossary) = std::fs::read_to_string(root.join(GLOSSARY)) else {
        found.push(format!("{GLOSSARY} is missing"));
        return;
    };
    let denied = denied(&glossary);
    for page in pages(root) {
        let shown = page.strip_prefix(root).unwrap_or(&page).display().to_string();
        if UNCHECKED.iter().any(|start| shown.starts_with(start)) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(&page) else { continue };
        found.extend(in_page(&shown, &text, &denied));
    }
    found.extend(subjects(root));
}

fn pages(root: &Path) -> Vec<PathBuf> {
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    pages.extend(crate::tidy::files(&root.join("docs"), "md"));
    pages
}

/// The rows `| say | meaning | not |` of the glossary. Entries of the last cell in parentheses are not checked.
fn denied(glossary: &str) -> Vec<Denied> {
    let mut denied = Vec::new();
    for line in glossary.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if cells.len() != 5 || cells[1] == "say" || cells[1].starts_with('-') {
            continue;
        }
        for entry in cells[3].split(',').map(str::trim) {
            if !entry.is_empty() && !entry.starts_with('(') {
                let words = entry.split_whitespace().map(str::to_lowercase).collect();
                denied.push(Denied { words, say: cells[1].to_owned() });
            }
        }
    }
    denied
}

/// The denied words of one page, in order of place.
fn in_page(shown: &str, text: &str, denied: &[Denied]) -> Vec<String> {
    let prose = prose(text);
    let words = words(&prose);
    let mut found = Vec::new();
    for at in 0..words.len() {
        for entry in denied {
            if let Some(phrase) = words.get(at..at + entry.words.len())
                && phrase.iter().zip(&entry.words).all(|((_, word), denied)| word == denied)
                && phrase.windows(2).all(|pair| adjoin(&prose, &pair[0], &pair[1]))
            {
                let line = prose[..words[at].0].matches('\n').count() + 1;
                found.push(format!("{shown}:{line}: `{}`: say {}", entry.words.join(" "), entry.say));
            }
        }
    }
    found
}

/// Whether only space is between two words, so that a phrase may continue on the next line.
fn adjoin(prose: &str, first: &(usize, String), second: &(usize, String)) -> bool {
    prose.get(first.0 + first.1.len()..second.0).is_some_and(|between| between.trim().is_empty())
}

/// The words of a text in lower case, each with its place. Hyphens and apostrophes belong to words.
fn words(prose: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, byte) in prose.bytes().chain([b' ']).enumerate() {
        let inside = byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'\'' || !byte.is_ascii();
        match (inside, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push((from, prose[from..at].to_ascii_lowercase()));
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// The text with code, link targets and HTML comments replaced by `|`, which ends a phrase. Each byte keeps its place.
fn prose(text: &str) -> String {
    let mut prose = String::with_capacity(text.len());
    let (mut fence, mut indented, mut blank) = (None, false, true);
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let deep = line.starts_with("    ") && !content.is_empty();
        indented = if content.is_empty() { indented } else { deep && (indented || blank) };
        blank = content.is_empty();
        let marker = content.get(..3).filter(|marker| ["```", "~~~"].contains(marker));
        let code = fence.is_some() || marker.is_some() || (indented && deep);
        fence = match (fence, marker) {
            (None, marker) => marker,
            (Some(open), Some(marker)) if open == marker => None,
            (open, _) => open,
        };
        match code {
            true => blank_out(line, &mut prose),
            false => spans(line, &mut prose),
        }
    }
    prose
}

fn blank_out(text: &str, prose: &mut String) {
    prose.extend(text.bytes().map(|byte| if byte == b'\n' { '\n' } else { '|' }));
}

/// One line of prose without its code spans, link targets and comments.
fn spans(line: &str, prose: &mut String) {
    let mut rest = line;
    while let Some((at, open, close)) = [("`", "`"), ("](", ")"), ("<!--", "-->")]
        .into_iter()
        .filter_map(|(open, close)| rest.find(open).map(|at| (at, open, close)))
        .min()
    {
        let inside = at + open.len();
        let Some(end) = rest[inside..].find(close).map(|end| inside + end + close.len()) else { break };
        prose.push_str(&rest[..at]);
        blank_out(&rest[at..end], prose);
        rest = &rest[end..];
    }
    prose.push_str(rest);
}

/// Subjects of commits that are on this branch and not on `main`. A clone without `main` has none to check.
fn subjects(root: &Path) -> Vec<String> {
    let log = std::process::Command::new("git")
        .args(["log", "--no-merges", "--format=%s", "main..HEAD"])
        .current_dir(root)
        .stderr(std::process::Stdio::null())
        .output();
    let Ok(log) = log else { return Vec::new() };
    String::from_utf8_lossy(&log.stdout)
        .lines()
        .filter(|subject| subject.chars().count() > SUBJECT)
        .map(|subject| format!("commit `{subject}`: the subject is longer than {SUBJECT} characters"))
        .collect()
}

#[cfg(test)]
mod tests {
    const GLOSSARY: &str = "\
| say | meaning | not |
|---|---|---|
| after | later | behind |
| matrix multiply | the operation | products of matrices, (product) |
";

    fn found(text: &str) -> Vec<String> {
        super::in_page("page.md", text, &super::denied(GLOSSARY))
    }

    #[test]
    fn denied_words_are_found() {
        assert_eq!(found("One line.\nIt stands Behind it."), ["page.md:2: `behind`: say after"]);
        assert_eq!(
            found("- the products of\n  matrices"),
            ["page.md:1: `products of matrices`: say matrix multiply"]
        );
        assert_eq!(found("`code`, then behind `code`").len(), 1);
        assert_eq!(found("```\nbehind\n```\nbehind").len(), 1);
        assert_eq!(found("a list\n    that goes on behind").len(), 1);
    }

    #[test]
    fn code_links_and_right_uses_are_left_alone() {
        for text in [
            "a product of numbers",
            "behindhand",
            "say `behind` in code",
            "[a link](behind.md)",
            "<!-- behind -->",
            "Text.\n\n    oriole behind\n",
            "```text\nbehind\n```",
            "products. Of matrices",
        ] {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn the_glossary_denies_words() {
        let glossary = std::fs::read_to_string(crate::root().join(super::GLOSSARY)).expect("the glossary");
        assert!(super::denied(&glossary).len() > 50);
    }
}
