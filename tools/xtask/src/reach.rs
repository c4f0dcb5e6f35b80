//! Reachability of source files from a command of the program. A file is reached if the program's own files, or a file
//! that is reached, name one of its public items; imports, declarations of modules, comments and tests do not count as
//! naming. Names are compared as words, so two items of one name count for each other: a file that is reached here may
//! still be dead, one that is not reached certainly is.

use std::collections::{BTreeMap, BTreeSet};

/// The reached files, of those given with their texts. `is_root` selects the program's own files.
pub fn reached(files: &BTreeMap<String, String>, is_root: impl Fn(&str) -> bool) -> BTreeSet<&str> {
    let parts: BTreeMap<&str, (BTreeSet<&str>, BTreeSet<&str>)> =
        files.iter().map(|(name, text)| (name.as_str(), names(text))).collect();
    let mut reached: BTreeSet<&str> = parts.keys().copied().filter(|name| is_root(name)).collect();
    let mut work: Vec<&str> = reached.iter().copied().collect();
    while let Some(from) = work.pop() {
        let used = &parts[from].1;
        for (name, (made, _)) in &parts {
            if !reached.contains(name) && !made.is_disjoint(used) {
                reached.insert(name);
                work.push(name);
            }
        }
    }
    reached
}

/// True if a file makes nothing public by a name of its own, as one does that only adds methods or is generated data.
pub fn makes_nothing(text: &str) -> bool {
    names(text).0.is_empty()
}

/// The public names of a file, and all words in it outside of imports, declarations of modules, comments and tests.
fn names(text: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let (mut made, mut said) = (BTreeSet::new(), BTreeSet::new());
    let mut import = false;
    for line in text.split("#[cfg(test)]").next().unwrap_or("").lines() {
        let code = line.split("//").next().unwrap_or("");
        let words: Vec<&str> =
            code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
        let is_public = words.first() == Some(&"pub");
        // `pub(crate)` gives the words `pub` and `crate`.
        let rest: Vec<&str> = words
            .iter()
            .copied()
            .filter(|word| !matches!(*word, "pub" | "crate" | "super" | "const" | "unsafe" | "async"))
            .collect();
        if import || matches!(rest.first(), Some(&"use" | &"mod")) {
            import =
                !code.contains(';') && !code.trim_end().ends_with('{') || (import && !code.contains(';'));
            continue;
        }
        if is_public {
            match (rest.first(), rest.get(1)) {
                (Some(&"fn" | &"struct" | &"enum" | &"trait" | &"static" | &"type"), Some(name)) => {
                    made.insert(*name);
                }
                // Only the name of a constant counts.
                (Some(name), _) if words.contains(&"const") => {
                    made.insert(*name);
                }
                _ => {}
            }
        }
        said.extend(words);
    }
    (made, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_used_is_reached() {
        let files: BTreeMap<String, String> = [
            ("main.rs", "use x::{dead, live};\nfn main() { live(); }\n"),
            ("live.rs", "mod inner;\n/// Like dead().\npub fn live() -> u32 { LIMIT }\n"),
            ("limit.rs", "pub(crate) const LIMIT: u32 = 1;\n"),
            ("dead.rs", "pub fn dead() { own(); }\npub fn own() {}\n"),
            ("tested.rs", "pub fn tested() {}\n"),
            ("user.rs", "pub fn other() {}\n#[cfg(test)]\nmod tests { fn t() { tested(); } }\n"),
        ]
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into();
        let reached = reached(&files, |name| name == "main.rs");
        assert_eq!(reached.into_iter().collect::<Vec<_>>(), ["limit.rs", "live.rs", "main.rs"]);
        assert!(makes_nothing("impl X { fn y() {} }"));
    }
}
