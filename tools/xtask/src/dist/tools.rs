//! The builders from PyPI, each in the pinned version for packages: maturin for the Python package, zig as a linker for
//! C libraries that are older than this machine's, cargo-zigbuild for other processors.
//!
//! They are installed into a folder of their own, as a release shall depend on no program of the machine but Rust,
//! Python and git.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Plan, Platform, elf};
use crate::finished;

/// maturin, cargo-zigbuild, zig.
pub const BUILDERS: [&str; 3] = ["maturin==1.16.0", "cargo-zigbuild==0.24.0", "ziglang==0.17.1"];

/// The oldest GNU C library that libraries for users work with: that of manylinux_2_17, which is the oldest that Rust
/// supports.
pub const GLIBC: elf::Glibc = (2, 17);

/// The installed builders.
pub struct Tools {
    folder: PathBuf,
}

impl Tools {
    /// Installs missing builders; a debug build needs the first one only.
    ///
    /// # Errors
    /// Python is missing, or its registry cannot be reached.
    pub fn installed(root: &Path, quick: bool) -> Result<Tools, String> {
        let folder = root.join("target/wheel/builder");
        let stamp = folder.join("builders.txt");
        let wanted = if quick { &BUILDERS[..1] } else { &BUILDERS };
        let listed = wanted.join("\n");
        if !std::fs::read_to_string(&stamp).is_ok_and(|there| there.starts_with(&listed)) {
            finished(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
            finished(Command::new(folder.join("bin/python")).args(pip).args(wanted))?;
            super::write(&stamp, &listed)?;
        }
        Ok(Tools { folder })
    }

    fn bin(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// maturin.
    pub fn maturin(&self) -> Command {
        self.beside(self.bin("maturin"))
    }

    /// zig as a C compiler and linker for a platform, with the oldest C library.
    pub fn zig(&self, platform: &Platform) -> Command {
        let mut zig = Command::new(self.bin("python"));
        zig.args(["-m", "ziglang", "cc", "-target"]);
        zig.arg(format!("{}.{}.{}", platform.zig, GLIBC.0, GLIBC.1));
        zig
    }

    /// cargo with zig as C compiler and linker, for a command of its own (`zigbuild`) or of cargo's.
    pub fn cargo(&self, command: &str) -> Command {
        let mut cargo = self.beside(self.bin("cargo-zigbuild"));
        cargo.arg(command);
        cargo
    }

    /// A builder that finds the others.
    fn beside(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        let rest = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{rest}", self.folder.join("bin").display()));
        command
    }

    /// Builds the Python package with this program in it.
    pub fn wheel(
        &self,
        plan: &Plan,
        platform: &Platform,
        program: &Path,
        notices: &str,
    ) -> Result<PathBuf, String> {
        crate::wheel::with_programs(&plan.root, program, notices)?;
        let mut build = self.maturin();
        plan.dated(&mut build).current_dir(plan.root.join("crates/python"));
        build.args(["build", "--quiet", "--out"]).arg(&plan.out);
        if plan.quick {
            build.args(["--profile", "dev"]);
        } else {
            let compatibility = format!("manylinux_{}_{}", GLIBC.0, GLIBC.1);
            build.args(["--profile", "dist", "--zig", "--compatibility", &compatibility]);
            build.args(["--target", platform.library, "--target-dir"]).arg(plan.target_folder());
            build.args(plan.settings(platform.library, &[])?);
        }
        let before = super::names(&plan.out)?;
        finished(&mut build)?;
        let new = super::names(&plan.out)?
            .into_iter()
            .find(|name| name.ends_with(".whl") && !before.contains(name));
        Ok(plan.out.join(new.ok_or("maturin has built no package")?))
    }
}
