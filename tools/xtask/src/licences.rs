//! Which crates of others may be in Oriole: by their licences, by where they come from, and each in one version.
//!
//! It is one of the rules of the house, and here because only cargo knows all crates. Texts of licences are no concern of it.

use std::collections::BTreeMap;
use std::path::Path;

use spdx::{Expression, ParseMode, exception_id, license_id};

use crate::packages::{Graph, Package};

/// Licences under which a program that is MIT or Apache-2.0 may have parts.
const LICENCES: [&str; 9] = [
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "CC0-1.0",
    "Unlicense",
    "Unicode-3.0",
];

/// The one addition to a licence that allows more, not less.
const EXCEPTION: &str = "LLVM-exception";

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Crates of which programs have two versions, with the reason.
const TWICE: [(&str, &str); 3] = [
    ("embedded-io", "postcard has features for both"),
    ("hashbrown", "salsa and its tables are not of one age"),
    ("rustc-hash", "rowan has the older one"),
];

/// The program that everybody gets; further targets only add crates of the system.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What is wrong with the crates of the workspace.
pub fn check(root: &Path) -> Vec<String> {
    match Graph::of_workspace(root, &[TARGET]) {
        Err(error) => vec![error],
        Ok(graph) => {
            let mut found: Vec<String> = graph.foreign().filter_map(refused).collect();
            let parts = graph.parts(&crate::dist::ROOTS);
            found.extend(versions(parts.shipped.values().map(|(package, _)| *package)));
            found
        }
    }
}

/// Why a crate may not be used.
fn refused(package: &Package) -> Option<String> {
    let source = package.source.as_deref().unwrap_or_default();
    if source != REGISTRY {
        return Some(format!("{} comes from {source}, not from crates.io", package.id()));
    }
    let Some(license) = &package.license else { return Some(format!("{} has no licence", package.id())) };
    let allowed = |requirement: &spdx::LicenseReq| {
        LICENCES.iter().any(|name| requirement.license.id() == license_id(name))
            && requirement.exception.is_none_or(|exception| Some(exception) == exception_id(EXCEPTION))
    };
    match Expression::parse_mode(license, ParseMode::LAX) {
        Ok(expression) if expression.evaluate(allowed) => None,
        Ok(_) => Some(format!("{} is under {license}, which is not allowed", package.id())),
        Err(error) => Some(format!("{}: `{license}`: {}", package.id(), error.reason)),
    }
}

/// Crates that are in programs in two versions.
fn versions<'a>(packages: impl Iterator<Item = &'a Package>) -> Vec<String> {
    let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        by_name.entry(&package.name).or_default().push(&package.version);
    }
    let excused = |name: &str| TWICE.iter().any(|(excused, _)| *excused == name);
    let mut found: Vec<String> = by_name
        .iter()
        .filter(|(name, versions)| versions.len() > 1 && !excused(name))
        .map(|(name, versions)| format!("{name} is in programs in versions {}", versions.join(" and ")))
        .collect();
    let idle = TWICE.iter().filter(|(name, _)| by_name.get(name).is_none_or(|versions| versions.len() < 2));
    found.extend(idle.map(|(name, _)| format!("{name} is excused and need not be")));
    found
}

#[cfg(test)]
mod tests {
    use super::{REGISTRY, refused, versions};
    use crate::packages::Package;

    fn package(license: Option<&str>, source: &str, version: &str) -> Package {
        Package {
            name: "other".to_owned(),
            version: version.to_owned(),
            license: license.map(str::to_owned),
            folder: "other".into(),
            source: Some(source.to_owned()),
            checksum: None,
            is_macro: false,
        }
    }

    #[test]
    fn licences_that_are_not_allowed_are_found() {
        let verdict = |license| refused(&package(Some(license), REGISTRY, "1.0.0"));
        for license in [
            "MIT/Apache-2.0",
            "GPL-3.0-only OR MIT",
            "Apache-2.0 WITH LLVM-exception",
            "(MIT OR Zlib) AND Unicode-3.0",
        ] {
            assert_eq!(verdict(license), None);
        }
        for license in
            ["GPL-3.0-only", "MIT AND MPL-2.0", "Apache-2.0 WITH Classpath-exception-2.0", "who knows"]
        {
            assert!(verdict(license).is_some(), "{license}");
        }
        assert!(refused(&package(None, REGISTRY, "1.0.0")).is_some());
        assert!(refused(&package(Some("MIT"), "git+https://example.org/other", "1.0.0")).is_some());
    }

    #[test]
    fn two_versions_of_a_crate_are_found() {
        let both = [package(Some("MIT"), REGISTRY, "1.0.0"), package(Some("MIT"), REGISTRY, "2.0.0")];
        let told = versions(both.iter());
        assert!(
            told.iter().any(|line| line == "other is in programs in versions 1.0.0 and 2.0.0"),
            "{told:?}"
        );
    }
}
