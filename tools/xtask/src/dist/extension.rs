//! The VS Code extension: one package for any machine, which looks for the program on the path, and one for each
//! platform with the program in it.
//!
//! It is built by its own scripts in `tools/vscode`, with packages of npm; without npm it is left out, and listed as
//! missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{Plan, Platform, read};
use crate::finished;

/// A package of npm that is in the extension.
pub struct Bundled {
    pub name: String,
    pub version: String,
    pub license: String,
    pub folder: PathBuf,
}

/// The extension with the packages that build it.
pub struct Builder {
    folder: PathBuf,
}

impl Builder {
    /// Fetches the packages that are missing.
    ///
    /// # Errors
    /// The reason why it cannot be built here.
    pub fn new(plan: &Plan) -> Result<Builder, String> {
        let folder = plan.root.join("tools/vscode");
        if !folder.join("node_modules").exists() {
            let mut npm = Command::new("npm");
            npm.current_dir(&folder).args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
            finished(&mut npm).map_err(|error| format!("npm or its registry is missing ({error})"))?;
        }
        Ok(Builder { folder })
    }

    /// The packages that are in the extension, by name.
    ///
    /// # Errors
    /// The lock file cannot be read.
    pub fn bundled(&self) -> Result<Vec<Bundled>, String> {
        let lock = read(&self.folder.join("package-lock.json"))?;
        let lock: Value =
            serde_json::from_slice(&lock).map_err(|error| format!("package-lock.json: {error}"))?;
        let packages = lock["packages"].as_object().into_iter().flatten();
        let bundled = packages.filter_map(|(place, package)| {
            let name = place.strip_prefix("node_modules/")?;
            (package["dev"] != true).then(|| Bundled {
                name: name.to_owned(),
                version: package["version"].as_str().unwrap_or_default().to_owned(),
                license: package["license"].as_str().unwrap_or_default().to_owned(),
                folder: self.folder.join(place),
            })
        });
        Ok(bundled.collect())
    }

    /// Packs it, with the server for a platform or without.
    pub fn make(
        &self,
        plan: &Plan,
        server: Option<(&Platform, &Path)>,
        notices: &str,
    ) -> Result<PathBuf, String> {
        let place = self.folder.join("server");
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        super::write(&place.join("THIRD-PARTY.txt"), notices)?;
        let mut name = format!("oriole-ptx-{}", plan.version);
        if plan.quick {
            name.push_str("-debug");
        }
        let mut vsce = Command::new("node");
        plan.dated(&mut vsce).current_dir(&self.folder).args(["node_modules/@vscode/vsce/vsce", "package"]);
        vsce.args(["--no-dependencies", "--skip-license", "--allow-missing-repository"]);
        if let Some((platform, program)) = server {
            let copy = place.join("oriole");
            std::fs::copy(program, &copy).map_err(|error| format!("{}: {error}", copy.display()))?;
            name.push_str(&format!("-{}", platform.code));
            vsce.args(["--target", platform.code]);
        }
        let package = plan.out.join(format!("{name}.vsix"));
        let packed = finished(vsce.arg("-o").arg(&package).stdout(std::process::Stdio::null()));
        // The next build of a package must choose its server itself.
        let _ = std::fs::remove_dir_all(&place);
        packed.map(|()| package)
    }
}
