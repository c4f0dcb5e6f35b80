//! The archive of the program: one static file, with its completions, man pages, modules for editors and licences in
//! the standard places of a Unix system.
//!
//! Its build for this machine is in `release`. Nothing of a library or an editor's package may enter.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::Tree;
use super::{Plan, Platform, Tools, output, read};
use crate::finished;

/// Shells, and the place of the completions of each; completions without a standard place are next to the modules for
/// editors.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "share/bash-completion/completions/oriole"),
    ("zsh", "share/zsh/site-functions/_oriole"),
    ("fish", "share/fish/vendor_completions.d/oriole.fish"),
    ("elvish", "share/oriole/completions/oriole.elv"),
    ("powershell", "share/oriole/completions/oriole.ps1"),
];

/// Files of the checkout that are included.
const FILES: [(&str, &str); 8] = [
    ("README.md", "share/doc/oriole/README.md"),
    ("CHANGELOG.md", "share/doc/oriole/CHANGELOG.md"),
    ("LICENSE-MIT", "share/doc/oriole/LICENSE-MIT"),
    ("LICENSE-APACHE", "share/doc/oriole/LICENSE-APACHE"),
    ("docs/editors/neovim.md", "share/doc/oriole/neovim.md"),
    ("docs/editors/helix.md", "share/doc/oriole/helix.md"),
    ("docs/editors/oriole.lua", "share/oriole/editors/oriole.lua"),
    ("docs/editors/languages.toml", "share/oriole/editors/languages.toml"),
];

/// The pages that the program generates.
pub struct Pages {
    files: Vec<(String, Vec<u8>)>,
}

impl Pages {
    /// Runs the program to get them.
    ///
    /// # Errors
    /// The program does not run on this machine.
    pub fn of(program: &Path) -> Result<Pages, String> {
        let mut files = Vec::new();
        for (shell, place) in SHELLS {
            let text = output(Command::new(program).args(["completions", shell]))?;
            files.push((place.to_owned(), format!("{text}\n").into_bytes()));
        }
        let folder = crate::root().join("target/scratch/manual");
        let _ = std::fs::remove_dir_all(&folder);
        finished(Command::new(program).arg("man").arg(&folder))?;
        for name in super::names(&folder)? {
            files.push((format!("share/man/man1/{name}"), read(&folder.join(name))?));
        }
        Ok(Pages { files })
    }
}

/// A description of the build, for the list.
pub fn how(plan: &Plan, platform: &Platform) -> &'static str {
    if plan.quick {
        "not static: a debug build"
    } else if is_profiled(platform) {
        "static, compiled by a profile of itself"
    } else {
        "static, compiled without a profile: it cannot be taken on this machine"
    }
}

/// Whether the program can run here before it is compiled for users.
fn is_profiled(platform: &Platform) -> bool {
    platform.name == super::PLATFORMS[0].name
}

/// Builds the program.
pub fn build(plan: &Plan, tools: &Tools, platform: &Platform) -> Result<PathBuf, String> {
    if plan.quick {
        return crate::wheel::debug_program(&plan.root);
    }
    if is_profiled(platform) {
        let built = crate::release::program(&super::unnamed_folders(&plan.root)?, plan.profile.as_deref())?;
        let kept = plan.out.join("profile");
        std::fs::create_dir_all(&kept).map_err(|error| format!("{}: {error}", kept.display()))?;
        for name in crate::release::PROFILE {
            let from = built.profile.join(name);
            std::fs::copy(&from, kept.join(name)).map_err(|error| format!("{}: {error}", from.display()))?;
        }
        return Ok(built.program);
    }
    let mut cargo = tools.cargo("zigbuild");
    plan.dated(&mut cargo).current_dir(&plan.root);
    cargo.args(["--quiet", "--profile", "dist", "--package", "oriole-cli", "--target", platform.program]);
    cargo.arg("--target-dir").arg(plan.target_folder());
    cargo.args(plan.settings(platform.program, &["-Crelocation-model=static"])?);
    finished(cargo.args(["--config", "profile.dist.strip='symbols'"]))?;
    Ok(plan.target_folder().join(platform.program).join("dist/oriole"))
}

/// Packs the program with its files.
pub fn pack(
    plan: &Plan,
    platform: &Platform,
    program: &Path,
    pages: &Pages,
    notices: &str,
) -> Result<PathBuf, String> {
    let mut tree = Tree::default();
    tree.program("bin/oriole", read(program)?);
    // Not next to it: with `bin` on the path, a user does not expect another ptxas.
    tree.link("libexec/oriole/ptxas", "../../bin/oriole");
    for (name, bytes) in &pages.files {
        tree.text(name, bytes.clone());
    }
    for (from, name) in FILES {
        tree.file(name, &plan.root.join(from))?;
    }
    tree.text("share/doc/oriole/THIRD-PARTY.txt", notices);
    let name = plan.name("oriole", platform);
    let place = plan.out.join(format!("{name}.tar.gz"));
    tree.write(&name, &place, plan.epoch, plan.effort())?;
    Ok(place)
}
