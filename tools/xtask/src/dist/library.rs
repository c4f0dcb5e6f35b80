//! The archive of the C library: static and shared, with headers. It is compiled once, to the static library, from
//! which the shared ones are linked, because only that allows names and version nodes of our choice.
//!
//! `liboriole_c` has the functions of both libraries that it replaces. `libnvJitLink.so.13` has those of one, under the
//! name that linked programs look for; it is in a folder of its own, so that no program gets it in place of NVIDIA's by
//! accident.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::archive::Tree;
use super::{Plan, Platform, Tools, elf, read};
use crate::finished;

/// The libraries that Rust's static standard library requires.
const SYSTEM: [&str; 3] = ["-lpthread", "-ldl", "-lm"];

/// A shared library: its file name, its soname, and the list of its functions.
pub struct Shared {
    pub file: &'static str,
    pub soname: &'static str,
    pub exports: &'static str,
}

/// The first one changes its number when a program that is linked against it would not run any more.
pub const SHARED: [Shared; 2] = [
    Shared {
        file: "liboriole_c.so.0",
        soname: "liboriole_c.so.0",
        exports: "crates/c-api/exports/liboriole_c.map",
    },
    Shared {
        file: "oriole/libnvJitLink.so.13",
        soname: "libnvJitLink.so.13",
        exports: "crates/c-api/exports/libnvJitLink.map",
    },
];

/// Builds and packs it; returns the archive and the oldest C library that it works with.
pub fn make(
    plan: &Plan,
    tools: &Tools,
    platform: &Platform,
    notices: &str,
) -> Result<(PathBuf, elf::Glibc), String> {
    let archive = compiled(plan, tools, platform)?;
    let folder = archive.with_file_name("shared");
    std::fs::create_dir_all(folder.join("oriole"))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut tree = Tree::default();
    let mut oldest = (0, 0);
    for shared in &SHARED {
        let place = folder.join(shared.file);
        link(plan, tools, platform, &archive, shared, &place)?;
        let bytes = read(&place)?;
        oldest = elf::facts(&bytes)?.glibc.unwrap_or_default().max(oldest);
        tree.program(&format!("lib/{}", shared.file), bytes);
    }
    if !plan.quick && oldest > super::GLIBC {
        return Err(format!("the C library for {} needs glibc {}.{}", platform.name, oldest.0, oldest.1));
    }
    tree.link("lib/liboriole_c.so", SHARED[0].file);
    tree.file("lib/liboriole_c.a", &archive)?;
    // The names that `-lnvptxcompiler_static` and `-lnvJitLink` find, where they are to be Oriole.
    tree.link("lib/oriole/libnvptxcompiler_static.a", "../liboriole_c.a");
    tree.link("lib/oriole/libnvJitLink.so", "libnvJitLink.so.13");
    for header in ["nvPTXCompiler.h", "nvJitLink.h"] {
        tree.file(&format!("include/{header}"), &plan.root.join("crates/c-api/include").join(header))?;
    }
    tree.text("lib/pkgconfig/oriole_c.pc", described(&plan.version));
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        tree.file(&format!("share/doc/oriole-c/{name}"), &plan.root.join(name))?;
    }
    tree.file("share/doc/oriole-c/embedding.md", &plan.root.join("docs/embedding.md"))?;
    tree.text("share/doc/oriole-c/THIRD-PARTY.txt", notices);
    let name = plan.name("oriole-c", platform);
    let place = plan.out.join(format!("{name}.tar.gz"));
    tree.write(&name, &place, plan.epoch, plan.effort())?;
    Ok((place, oldest))
}

/// The file for `pkg-config`.
fn described(version: &str) -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\nName: oriole_c\nDescription: Oriole behind the functions of nvPTXCompiler and nvJitLink\n\
         Version: {version}\nCflags: -I${{prefix}}/include\nLibs: -L${{prefix}}/lib -loriole_c\nLibs.private: {}\n",
        SYSTEM.join(" ")
    )
}

/// The static library, without debug info.
fn compiled(plan: &Plan, tools: &Tools, platform: &Platform) -> Result<PathBuf, String> {
    let package = ["--quiet", "--package", "oriole-c-api", "--lib", "--crate-type", "staticlib"];
    let folder = if plan.quick {
        let mut cargo = Command::new("cargo");
        finished(cargo.current_dir(&plan.root).arg("rustc").args(package))?;
        plan.root.join("target/debug")
    } else {
        let mut cargo = tools.cargo("rustc");
        let settings = plan.settings(platform.library, &[])?;
        plan.dated(&mut cargo).current_dir(&plan.root).args(package);
        cargo
            .args(["--profile", "dist", "--target", platform.library, "--target-dir"])
            .arg(plan.target_folder());
        finished(cargo.args(settings))?;
        plan.target_folder().join(platform.library).join("dist")
    };
    let stripped = folder.join("dist/liboriole_c.a");
    std::fs::create_dir_all(folder.join("dist")).map_err(|error| format!("{}: {error}", folder.display()))?;
    // The system's own supports this machine only.
    let mut strip =
        Command::new(if plan.quick { "objcopy".into() } else { crate::llvm::tool("llvm-objcopy")? });
    strip.args(["--strip-debug", "--enable-deterministic-archives"]);
    finished(strip.arg(folder.join("liboriole_c.a")).arg(&stripped))?;
    Ok(stripped)
}

/// Links a shared library from the static one.
fn link(
    plan: &Plan,
    tools: &Tools,
    platform: &Platform,
    archive: &Path,
    shared: &Shared,
    place: &Path,
) -> Result<(), String> {
    let mut linker = if plan.quick { Command::new("cc") } else { tools.zig(platform) };
    linker.args(["-shared", "-s", "-o"]).arg(place);
    linker.arg(format!("-Wl,-soname,{}", shared.soname));
    linker.arg(format!("-Wl,--version-script,{}", plan.root.join(shared.exports).display()));
    // All of it is linked, and code that no function of the list reaches is removed again.
    linker.args(["-Wl,--gc-sections", "-Wl,--whole-archive"]).arg(archive).arg("-Wl,--no-whole-archive");
    linker.args(SYSTEM).arg(if plan.quick { "-lgcc_s" } else { "-lunwind" });
    finished(&mut linker)
}
