//! The SBOM, in the format of scanners: CycloneDX 1.5.
//!
//! Users of a package can look up its crates and their versions. It contains no time and no serial number, so that it
//! depends on the source alone.

use serde_json::{Value, json};

use super::extension::Bundled;
use crate::packages::{Package, Parts};

/// Components of a build other than crates.
pub struct Toolchain {
    /// The version from `rustc --version`.
    pub rustc: String,
    /// The release of zig, which provides the unwinder in shared libraries.
    pub zig: String,
}

/// The SBOM, as text.
pub fn text(version: &str, parts: &Parts, bundled: &[Bundled], toolchain: &Toolchain) -> String {
    let mut components: Vec<Value> =
        parts.shipped.values().map(|(package, _)| component(package, "required")).collect();
    components.extend(parts.helpers.iter().map(|package| component(package, "excluded")));
    components.extend(bundled.iter().map(|package| {
        let name = format!("pkg:npm/{}@{}", package.name.replace('@', "%40"), package.version);
        json!({"type": "library", "bom-ref": name, "name": package.name, "version": package.version, "purl": name,
            "scope": "required", "licenses": [{"expression": package.license}]})
    }));
    let rust = toolchain.rustc.split(' ').nth(1).unwrap_or_default();
    let others = [
        ("rust-std", rust, "in every program and library", "MIT OR Apache-2.0"),
        ("musl", rust, "in the static programs, as this release of Rust has it", "MIT"),
        (
            "libunwind",
            &toolchain.zig,
            "in shared libraries, as this release of zig has it",
            "Apache-2.0 WITH LLVM-exception",
        ),
    ];
    components.extend(others.map(|(name, version, place, license)| {
        json!({"type": "library", "bom-ref": name, "name": name, "version": version, "description": place,
            "scope": "required", "licenses": [{"expression": license}]})
    }));
    components.sort_by_key(|part| part["bom-ref"].to_string());
    let mut dependencies: Vec<Value> = parts
        .shipped
        .values()
        .map(|(package, needs)| {
            let needed: Vec<String> = needs.iter().map(|need| reference(parts.shipped[need].0)).collect();
            json!({"ref": reference(package), "dependsOn": needed})
        })
        .collect();
    dependencies.sort_by_key(|part| part["ref"].to_string());
    let list = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": format!("oriole-{version}"), "name": "oriole",
            "version": version, "licenses": [{"expression": "MIT OR Apache-2.0"}]}},
        "components": components,
        "dependencies": dependencies,
    });
    format!("{list:#}\n")
}

fn reference(package: &Package) -> String {
    if package.source.is_some() { format!("pkg:cargo/{}", package.id()) } else { package.id() }
}

fn component(package: &Package, scope: &str) -> Value {
    let mut part = json!({"type": "library", "bom-ref": reference(package), "name": package.name,
        "version": package.version, "scope": scope});
    if let Some(license) = &package.license {
        // Older crates write a slash where the expression has a word.
        let expression = license.replace(" / ", "/").replace('/', " OR ");
        part["licenses"] = json!([{"expression": expression}]);
    }
    if package.source.is_some() {
        part["purl"] = reference(package).into();
    }
    if let Some(checksum) = &package.checksum {
        part["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    part
}
