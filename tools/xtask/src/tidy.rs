//! Checks the house rules that a compiler cannot: allowed crate edges, purity, that files say what they are, that the
//! seed map and the invariants name real modules and tests, that pages name real files, that the how-tos name real
//! code and commands, that pages and comments use the words of the glossary, that the project refers to itself alone.
//! The allowed third-party crates are in `.cargo/deny.toml`.

use crate::source_files::files;
use std::collections::BTreeMap;
use std::path::Path;

/// Layers from left to right: a crate may depend only on crates of layers to its left. Stage crates of one layer never
/// depend on each other.
const LAYERS: &[&[&str]] = &[
    &[
        "query-macro",
        "chip",
        "diagnostics",
        "options",
        "store",
        "debug-info",
        "fatbin",
        "memory-functions",
        "resident",
    ],
    &["syntax", "sass", "machine-model", "shared-store"],
    &["ptx", "latency", "ori", "ptxas", "reduce", "cloud-store"],
    &["hir", "cubin"],
    &["lower", "legalize", "optimize", "schedule", "regalloc", "isel", "interp", "simulate", "assemble"],
    &["emit", "timing", "verify"],
    &["pipeline", "profile", "checks"],
    &["link"],
    &["inputs"],
    &["queries"],
    &["ide"],
    &["explore"],
    &["lsp", "facade"],
    &["cli", "python", "c-api"],
];

/// Edges inside a layer that the design has: latency refers to opcodes, Ori to register names.
const EXTRA_EDGES: &[(&str, &str)] = &[];

/// The crates that C calls: their lints are their own, since they allow what all others forbid.
const CALLED_FROM_C: &[&str] = &["c-api", "memory-functions"];

const IMPURE: &[&str] =
    &["inputs", "queries", "lsp", "cli", "c-api", "resident", "shared-store", "cloud-store"];
const IMPURE_WORDS: &[&str] =
    &["std::env::", "std::fs::", "std::process::", "std::time::", "std::net::", "println!", "eprintln!"];

/// Parts of the names of crates that implement a protocol, parse arguments, watch files or run tasks: not for `ide`.
const PROTOCOL: &[&str] = &["lsp", "json", "clap", "notify", "tokio", "async", "crossbeam", "rayon", "serde"];

/// Runs every check and reports all diagnostics.
pub fn run(_arguments: &[String]) -> Result<(), String> {
    let diagnostics = diagnostics(&crate::root());
    if diagnostics.is_empty() {
        println!("tidy: nothing to report");
        return Ok(());
    }
    Err(diagnostics.join("\n"))
}

fn diagnostics(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    check_edges(root, &mut found);
    found.extend(crate::crate_files::check(root, &manifests(root)));
    for file in files(&root.join("crates"), "rs").into_iter().chain(files(&root.join("tools"), "rs")) {
        check_file(root, &file, &mut found);
    }
    crate::seed_map::check(root, &mut found);
    check_invariants(root, &mut found);
    check_pages(root, &mut found);
    check_words(root, &mut found);
    crate::words::check(root, &mut found);
    crate::how_to::check(root, &mut found);
    crate::form_counts::check(root, &mut found);
    found
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

fn check_edges(root: &Path, found: &mut Vec<String>) {
    for (name, manifest) in manifests(root) {
        let Some(own) = layer(&name) else {
            found.push(format!("crates/{name}: the crate is in no layer"));
            continue;
        };
        let dependencies = section(&manifest, "[dependencies]");
        for line in &dependencies {
            let key = line.split(['=', '.', ' ']).next().unwrap_or("").trim();
            // The facade has the project's own name as a package.
            let own_crate = if key == "oriole" { Some("facade") } else { key.strip_prefix("oriole-") };
            if let Some(other) = own_crate {
                let allowed = layer(other).is_some_and(|other| other < own)
                    || EXTRA_EDGES.contains(&(name.as_str(), other));
                if !allowed {
                    found.push(format!("crates/{name}: may not depend on {other}"));
                }
            }
            if name == "ide" && PROTOCOL.iter().any(|word| key.contains(word)) {
                found.push(format!("crates/ide: `{key}` belongs to a program or a protocol"));
            }
            if key == "salsa" && !["inputs", "queries", "ide"].contains(&name.as_str()) {
                found.push(format!("crates/{name}: salsa behind the wall"));
            }
        }
        found.extend(
            own_versions(&manifest).map(|line| {
                format!("crates/{name}: `{line}`: versions belong in the workspace's Cargo.toml")
            }),
        );
        if !CALLED_FROM_C.contains(&name.as_str()) && !manifest.contains("[lints]\nworkspace = true") {
            found.push(format!("crates/{name}: does not take the lints of the workspace"));
        }
    }
}

/// Lines of a manifest that give a dependency a version of the crate's own.
fn own_versions(manifest: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    manifest.lines().filter(move |line| {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]");
            return false;
        }
        inside && (line.contains("version = ") || line.contains(" = \""))
    })
}

fn manifests(root: &Path) -> BTreeMap<String, String> {
    let mut manifests = BTreeMap::new();
    let Ok(entries) = std::fs::read_dir(root.join("crates")) else { return manifests };
    for entry in entries.flatten() {
        if let Ok(text) = std::fs::read_to_string(entry.path().join("Cargo.toml")) {
            manifests.insert(entry.file_name().to_string_lossy().into_owned(), text);
        }
    }
    manifests
}

fn section(manifest: &str, header: &str) -> Vec<String> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != header)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.trim().is_empty())
        .map(str::to_owned)
        .collect()
}

fn check_file(root: &Path, file: &Path, found: &mut Vec<String>) {
    let Ok(text) = std::fs::read_to_string(file) else { return };
    let shown = file.strip_prefix(root).unwrap_or(file).display().to_string();
    if !text.starts_with("//!") {
        found.push(format!("{shown}: does not say what it is"));
    }
    check_early_returns(&shown, &text, found);
    found.extend(crate::machine_numbers::check(&shown, &text));
    found.extend(crate::typed_ids::check(&shown, &text));
    found.extend(crate::crate_files::foreign_files(&shown, &text));
    let name = shown.split('/').nth(1).unwrap_or("");
    let pure = shown.starts_with("crates/")
        && !IMPURE.contains(&name)
        && !shown.contains("/tests/")
        && !shown.contains("/examples/")
        && !shown.contains("/benches/")
        && !shown.ends_with("/tests.rs");
    if pure {
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        for word in IMPURE_WORDS {
            if code.lines().any(|line| line.contains(word) && !line.trim_start().starts_with("//")) {
                found.push(format!("{shown}: a pure crate may not use `{word}`"));
            }
        }
    }
}

/// The tests in a file of a crate: a test file is all test, another one from its module of tests on.
fn tests_of<'a>(shown: &str, text: &'a str) -> Option<&'a str> {
    if !shown.starts_with("crates/") {
        return None;
    }
    if shown.contains("/tests/") || shown.ends_with("/tests.rs") {
        return Some(text);
    }
    text.split_once("#[cfg(test)]").map(|(_, tests)| tests)
}

/// Lines after a read of the environment in which a test may not return.
const TURNING_BACK: usize = 6;

/// A test without its prerequisites is `#[ignore]`d with a reason, and fails if it is run all the same; it never
/// returns early as if it had passed. So there may be no `return` after a variable that is not set, and no test prints
/// that it skipped something.
fn check_early_returns(shown: &str, text: &str, found: &mut Vec<String>) {
    let Some(tests) = tests_of(shown, text) else { return };
    let lines: Vec<&str> = tests.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        if code.contains("\"skipped") {
            found.push(format!("{shown}: a test that skips itself; ignore it with a reason"));
        }
        let asks = ["env::var(", "env::var_os("].iter().any(|word| code.contains(word));
        let returns = |line: &&str| line.split("//").next().is_some_and(|code| code.contains("return"));
        if asks && lines[at..].iter().take(TURNING_BACK).any(returns) {
            found.push(format!("{shown}: a test that returns without its data: `{}`", line.trim()));
        }
    }
}

/// Each row `| invariant | guarded by |` of `docs/architecture.md` names tests that exist.
fn check_invariants(root: &Path, found: &mut Vec<String>) {
    let Ok(text) = std::fs::read_to_string(root.join("docs/architecture.md")) else {
        found.push("docs/architecture.md is missing".to_owned());
        return;
    };
    let sources: Vec<String> = files(&root.join("crates"), "rs")
        .into_iter()
        .chain(files(&root.join("tools"), "rs"))
        .filter_map(|file| std::fs::read_to_string(file).ok())
        .collect();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        if line.starts_with("## ") {
            inside = line == "## Invariants";
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if !inside || cells.len() != 4 || cells[2] == "guarded by" || cells[1].starts_with('-') {
            continue;
        }
        for name in cells[2].split(',').map(|name| name.trim().trim_matches('`')) {
            if name.is_empty() || !sources.iter().any(|text| text.contains(&format!("fn {name}("))) {
                found.push(format!("docs/architecture.md:{}: there is no test `{name}`", number + 1));
            }
        }
    }
}

/// Files and links that pages and the README name exist.
fn check_pages(root: &Path, found: &mut Vec<String>) {
    let mut pages = files(&root.join("docs"), "md");
    pages.push(root.join("README.md"));
    for page in pages {
        let Ok(text) = std::fs::read_to_string(&page) else { continue };
        let shown = page.strip_prefix(root).unwrap_or(&page).display().to_string();
        let folder = page.parent().unwrap_or(root);
        for (number, line) in text.lines().enumerate() {
            let quoted = line.split('`').skip(1).step_by(2).filter(|text| {
                ["crates/", "tools/", "docs/", "test-data/"].iter().any(|start| text.starts_with(start))
                    && !text.contains(['{', '*', ' '])
            });
            let links = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
            let missing = quoted.filter(|path| !root.join(path).exists()).chain(links.filter(|link| {
                !link.starts_with("http") && !folder.join(link.split('#').next().unwrap_or("")).exists()
            }));
            for path in missing {
                found.push(format!("{shown}:{}: there is no {path}", number + 1));
            }
        }
    }
}

/// Names of the places where the project is developed never enter it.
fn check_words(root: &Path, found: &mut Vec<String>) {
    let foreign: Vec<String> = ["/wo rk/", "/t mp/", "sha red/corpus", "farm -", "before -stop"]
        .iter()
        .map(|word| word.replace(' ', ""))
        .collect();
    let mut all = files(&root.join("crates"), "rs");
    all.extend(files(&root.join("crates"), "md"));
    all.extend(files(&root.join("docs"), "md"));
    all.extend(files(&root.join("tools"), "rs"));
    all.extend(files(&root.join("tools"), "py"));
    all.push(root.join("README.md"));
    for file in all {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        for word in &foreign {
            if text.contains(word.as_str()) {
                let shown = file.strip_prefix(root).unwrap_or(&file).display();
                found.push(format!("{shown}: speaks of `{word}`, which is no part of the project"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn tests_that_turn_back_are_found() {
        let diagnostics = |text: &str| {
            let mut found = Vec::new();
            super::check_early_returns("crates/x/tests/y.rs", text, &mut found);
            found.len()
        };
        let variable = "std::env::var_os(\"X\")";
        assert_eq!(diagnostics(&format!("let Some(x) = {variable} else {{\n    return;\n}};")), 1);
        assert_eq!(
            diagnostics(&format!(
                "let Some(x) = {variable} else {{\n    println!(\"{}: X\");\n    return;\n}};",
                "skipped"
            )),
            2
        );
        assert_eq!(diagnostics(&format!("let x = {variable}.expect(\"X is set\");")), 0);
    }

    #[test]
    fn the_house_is_tidy() {
        let diagnostics = super::diagnostics(&crate::root());
        assert!(diagnostics.is_empty(), "{}", diagnostics.join("\n"));
    }
}
