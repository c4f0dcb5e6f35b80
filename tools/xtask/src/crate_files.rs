//! The rules of `tidy` about the files of a crate: all its tests are one program, which names every one of their files;
//! a library that is not tested itself has no tests in it; and compiled code includes no file outside of the crate,
//! which its package would lack.

use std::collections::BTreeMap;
use std::path::Path;

/// The violations in the crates of the checkout.
pub fn check(root: &Path, manifests: &BTreeMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    for (name, manifest) in manifests {
        let folder = root.join("crates").join(name);
        let sources = crate::source_files::files(&folder.join("src"), "rs");
        let texts: Vec<String> = sources.iter().flat_map(std::fs::read_to_string).collect();
        found.extend(wrong_library(manifest, &texts).map(|why| format!("crates/{name}: {why}")));
        let Ok(entries) = std::fs::read_dir(folder.join("tests")) else { continue };
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "rs"))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        let program = program(manifest);
        let text = program.and_then(|path| std::fs::read_to_string(folder.join(path)).ok());
        found
            .extend(wrong_tests(&names, program, text.as_deref()).map(|why| format!("crates/{name}: {why}")));
    }
    found
}

/// The file of the one test program in a manifest, if cargo is not to find programs by itself.
fn program(manifest: &str) -> Option<&str> {
    manifest.lines().find(|line| *line == "autotests = false")?;
    let (_, section) = manifest.split_once("[[test]]\n")?;
    let path = section.lines().find_map(|line| line.strip_prefix("path = "))?;
    Some(path.trim_matches('"'))
}

/// The violations in test files with these names, of which one program has this path and text.
fn wrong_tests<'a>(
    names: &'a [String],
    program: Option<&'a str>,
    text: Option<&'a str>,
) -> Box<dyn Iterator<Item = String> + 'a> {
    let Some(text) = text else {
        let many =
            (names.len() > 1).then(|| format!("{} test programs; make them modules of one", names.len()));
        return Box::new(many.into_iter());
    };
    let is_program = move |name: &str| program == Some(format!("tests/{name}.rs").as_str());
    let missing = names
        .iter()
        .filter(move |name| !is_program(name) && !text.lines().any(|line| line == format!("mod {name};")));
    Box::new(missing.map(|name| format!("tests/{name}.rs belongs to no test program, so that it never runs")))
}

/// The violations by tests in a library with this manifest and these files: without the flags of its manifest each
/// library is linked once more, and its text is searched for examples once more.
fn wrong_library<'a>(manifest: &str, texts: &'a [String]) -> impl Iterator<Item = String> + 'a {
    let says = |flag: &str| {
        let library = manifest.split_once("[lib]\n").map_or("", |(_, rest)| rest);
        library.lines().take_while(|line| !line.starts_with('[')).any(|line| line == flag)
    };
    let has = |test: fn(&str) -> bool| texts.iter().flat_map(|text| text.lines()).any(test);
    let has_tests = has(|line| line.trim() == "#[test]");
    let has_examples =
        has(|line| line.trim_start().strip_prefix("//").is_some_and(|rest| rest.ends_with("```")));
    [
        (says("test = false") && has_tests, "tests in `src` do not run: `test = false` in its manifest"),
        (
            says("doctest = false") && has_examples,
            "examples in comments do not run: `doctest = false` in its manifest",
        ),
    ]
    .into_iter()
    .filter(|(wrong, _)| *wrong)
    .map(|(_, why)| why.to_owned())
}

/// The files outside of its crate that a file of code includes.
pub fn foreign_files(shown: &str, text: &str) -> Vec<String> {
    let parts: Vec<&str> = shown.split('/').collect();
    if parts.len() < 4 || parts[0] != "crates" || parts[2] != "src" || shown.ends_with("/tests.rs") {
        return Vec::new();
    }
    // From the file's own folder to that of its crate.
    let depth = parts.len() - 3;
    let code = text.split("#[cfg(test)]").next().unwrap_or("");
    let leaves = |line: &&str| {
        let line = line.split("//").next().unwrap_or("");
        let includes = ["include!(\"", "include_str!(\"", "include_bytes!(\"", "#[path = \""];
        let path = includes.iter().find_map(|word| Some(line.split_once(word)?.1));
        path.is_some_and(|path| path.starts_with('/') || path.matches("../").count() > depth)
            || line.contains("CARGO_MANIFEST_DIR") && line.contains("..")
    };
    code.lines()
        .filter(leaves)
        .map(|line| format!("{shown}: a file that the package of the crate has not: `{}`", line.trim()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{foreign_files, program, wrong_library, wrong_tests};

    #[test]
    fn tests_that_a_manifest_turns_off_are_found() {
        let wrong = |manifest, text: &str| wrong_library(manifest, &[text.to_owned()]).count();
        let (test, example) = ("    #[test]\n    fn x() {}\n", "/// ```\n/// x();\n/// ```\nfn x() {}\n");
        let off = "[lib]\ntest = false\ndoctest = false\n\n[lints]\n";
        assert_eq!((wrong(off, test), wrong(off, example), wrong(off, "fn x() {}\n")), (1, 1, 0));
        assert_eq!((wrong("[package]\n", test), wrong("[package]\n", example)), (0, 0));
        assert_eq!(wrong("[[bin]]\ntest = false\n", test), 0);
    }

    #[test]
    fn tests_outside_of_the_program_are_found() {
        let one = "[package]\nautotests = false\n\n[[test]]\nname = \"whole\"\npath = \"tests/main.rs\"\n";
        assert_eq!(program(one), Some("tests/main.rs"));
        assert_eq!(program("[package]\n"), None);
        let wrong = |names: &[&str], program, text| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            wrong_tests(&names, program, text).count()
        };
        assert_eq!(wrong(&["alone"], None, None), 0);
        assert_eq!(wrong(&["first", "second"], None, None), 1);
        let text = Some("//! Tests.\n\nmod first;\nmod second;\n");
        assert_eq!(wrong(&["first", "main", "second"], Some("tests/main.rs"), text), 0);
        assert_eq!(wrong(&["first", "main", "third"], Some("tests/main.rs"), text), 1);
    }

    #[test]
    fn files_outside_of_the_crate_are_found() {
        let found = |place: &str, line: &str| foreign_files(place, &format!("//! A file.\n\n{line}\n")).len();
        let (file, deeper) = ("crates/explore/src/page.rs", "crates/explore/src/page/style.rs");
        assert_eq!(found(file, "const STYLE: &str = include_str!(\"page.css\");"), 0);
        assert_eq!(found(file, "const STYLE: &str = include_str!(\"../style/page.css\");"), 0);
        assert_eq!(found(file, "const STYLE: &str = include_str!(\"../../page.css\");"), 1);
        assert_eq!(found(deeper, "const STYLE: &str = include_str!(\"../../page.css\");"), 0);
        assert_eq!(found(file, "include!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../x.rs\"));"), 1);
        assert_eq!(found(file, "#[cfg(test)]\ninclude_str!(\"../../../docs/x.md\");"), 0);
    }
}
