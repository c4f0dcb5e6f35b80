//! The crates in a build, as reported by cargo: those that are in a program and those that only help to build it, their
//! licences, and their sources.
//!
//! The SBOM and the texts of licences cover the same crates. No file is written here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A crate, the project's own ones included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// An SPDX expression; older crates write `MIT/Apache-2.0`.
    pub license: Option<String>,
    /// The folder of its sources.
    pub folder: PathBuf,
    /// Its source; `None` for those of the project.
    pub source: Option<String>,
    /// SHA-256 of the crate as the registry has it.
    pub checksum: Option<String>,
    /// Whether it runs in the compiler.
    pub is_macro: bool,
}

impl Package {
    /// Name and version, by which the components of an SBOM refer to each other.
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

/// Crates and their dependencies.
#[derive(Default)]
pub struct Graph {
    /// By cargo's own name of each.
    packages: BTreeMap<String, Package>,
    /// Needed when it runs.
    needs: BTreeMap<String, BTreeSet<String>>,
    /// Needed by its build script.
    builds_with: BTreeMap<String, BTreeSet<String>>,
}

/// The components of a set of programs and libraries.
pub struct Parts<'a> {
    /// Crates that are in them, each with its dependencies among them.
    pub shipped: BTreeMap<&'a str, (&'a Package, BTreeSet<&'a str>)>,
    /// Macros, build scripts and their dependencies: they run at build time.
    pub helpers: Vec<&'a Package>,
}

impl Graph {
    /// Queries cargo for the dependencies of the workspace on these targets, all of them together.
    ///
    /// # Errors
    /// cargo cannot be run, or its answer cannot be read.
    pub fn of_workspace(root: &Path, targets: &[&str]) -> Result<Graph, String> {
        let lock = std::fs::read_to_string(root.join("Cargo.lock"))
            .map_err(|error| format!("Cargo.lock: {error}"))?;
        let checksums = checksums(&lock);
        let mut graph = Graph::default();
        for target in targets {
            let mut cargo = Command::new("cargo");
            cargo.current_dir(root).args(["metadata", "--format-version", "1", "--locked"]);
            let output = cargo
                .args(["--filter-platform", target])
                .output()
                .map_err(|error| format!("cargo: {error}"))?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).into_owned());
            }
            let told =
                serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))?;
            graph.add(&told, &checksums);
        }
        Ok(graph)
    }

    fn add(&mut self, told: &Value, checksums: &BTreeMap<(String, String), String>) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for package in told["packages"].as_array().into_iter().flatten() {
            let (name, version) = (text(&package["name"]), text(&package["version"]));
            let checksum = checksums.get(&(name.clone(), version.clone())).cloned();
            let mut targets = package["targets"].as_array().into_iter().flatten();
            let is_macro = targets.any(|target| target["kind"][0] == "proc-macro");
            let folder = Path::new(&text(&package["manifest_path"])).parent().map(Path::to_owned);
            let package_value = Package {
                name,
                version,
                license: package["license"].as_str().map(str::to_owned),
                folder: folder.unwrap_or_default(),
                source: package["source"].as_str().map(str::to_owned),
                checksum,
                is_macro,
            };
            self.packages.insert(text(&package["id"]), package_value);
        }
        for node in told["resolve"]["nodes"].as_array().into_iter().flatten() {
            for need in node["deps"].as_array().into_iter().flatten() {
                for kind in need["dep_kinds"].as_array().into_iter().flatten() {
                    let table = match kind["kind"].as_str() {
                        None => &mut self.needs,
                        Some("build") => &mut self.builds_with,
                        Some(_) => continue,
                    };
                    table.entry(text(&node["id"])).or_default().insert(text(&need["pkg"]));
                }
            }
        }
    }

    /// The components of these crates of the project.
    pub fn parts(&self, roots: &[&str]) -> Parts<'_> {
        let is_root = |package: &Package| package.source.is_none() && roots.contains(&package.name.as_str());
        let needs = |id: &str| self.needs.get(id).into_iter().flatten();
        let builds_with = |id: &str| self.builds_with.get(id).into_iter().flatten();
        let mut waiting: Vec<&String> =
            self.packages.iter().filter(|(_, package)| is_root(package)).map(|(id, _)| id).collect();
        let mut shipped = BTreeMap::new();
        let mut helpers: Vec<&String> = Vec::new();
        while let Some(id) = waiting.pop() {
            if shipped.contains_key(id.as_str()) {
                continue;
            }
            let (macros, inside): (Vec<&String>, Vec<&String>) =
                needs(id).partition(|need| self.packages[*need].is_macro);
            helpers.extend(macros);
            helpers.extend(builds_with(id));
            waiting.extend(&inside);
            shipped
                .insert(id.as_str(), (&self.packages[id], inside.iter().map(|need| need.as_str()).collect()));
        }
        let mut seen = BTreeSet::new();
        while let Some(id) = helpers.pop() {
            if !shipped.contains_key(id.as_str()) && seen.insert(id) {
                helpers.extend(needs(id).chain(builds_with(id)));
            }
        }
        Parts { shipped, helpers: seen.into_iter().map(|id| &self.packages[id]).collect() }
    }
}

/// The checksums of a lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |entry: &str, key: &str| {
        let line = entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    lock.split("[[package]]")
        .filter_map(|entry| {
            Some(((value(entry, "name")?, value(entry, "version")?), value(entry, "checksum")?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Graph;
    use serde_json::json;

    #[test]
    fn what_only_helps_to_build_is_no_part() {
        let package = |name: &str, kind: &str, source: Option<&str>| {
            json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT", "source": source,
                "manifest_path": format!("/x/{name}/Cargo.toml"), "targets": [{"kind": [kind]}]})
        };
        let need = |name: &str, kind: Option<&str>| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let told = json!({
            "packages": [
                package("program", "bin", None), package("inside", "lib", Some("r")), package("derive", "proc-macro", Some("r")),
                package("parser", "lib", Some("r")), package("compiler", "lib", Some("r")), package("tester", "lib", Some("r")),
            ],
            "resolve": {"nodes": [
                {"id": "program", "deps": [need("inside", None), need("derive", None), need("tester", Some("dev"))]},
                {"id": "inside", "deps": [need("compiler", Some("build"))]},
                {"id": "derive", "deps": [need("parser", None)]},
            ]},
        });
        let mut graph = Graph::default();
        graph.add(
            &told,
            &super::checksums("[[package]]\nname = \"inside\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n"),
        );
        let parts = graph.parts(&["program"]);
        assert_eq!(parts.shipped.keys().collect::<Vec<_>>(), [&"inside", &"program"]);
        assert_eq!(parts.shipped["inside"].0.checksum.as_deref(), Some("ab"));
        let helpers: Vec<&str> = parts.helpers.iter().map(|package| package.name.as_str()).collect();
        assert_eq!(helpers, ["compiler", "derive", "parser"]);
    }
}
