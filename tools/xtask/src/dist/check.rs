//! Checks the output of `dist` as its receiver: checksums, unpacked programs that run, C programs that are linked with
//! the library, names and versions in the files, and that they contain no trace of the build machine.
//!
//! From the checkout it takes only inputs that users would have: a kernel, and programs that call the library.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::library::SHARED;
use super::{GLIBC, PLATFORMS, Platform, archive, elf, names, output, read, sum};
use crate::finished;

/// The packages, and the folder where they are unpacked.
struct Check<'a> {
    root: &'a Path,
    folder: &'a Path,
    scratch: PathBuf,
    names: Vec<String>,
    /// A debug build: dynamic, and with paths of the build machine in it.
    quick: bool,
}

/// Checks everything in a folder.
///
/// # Errors
/// The first failed check.
pub fn run(root: &Path, folder: &Path) -> Result<(), String> {
    let mut names = names(folder)?;
    names.retain(|name| name != "SHA256SUMS");
    let scratch = root.join("target/scratch/dist-check");
    let _ = std::fs::remove_dir_all(&scratch);
    std::fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let quick = text(&folder.join("CONTENTS.txt"))?.contains("A debug build");
    let check = Check { root, folder, scratch, names, quick };
    check.sums()?;
    check.programs()?;
    check.libraries()?;
    check.wheels()?;
    check.extensions()?;
    println!("{} files are what they should be", check.names.len());
    Ok(())
}

fn text(path: &Path) -> Result<String, String> {
    read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn hold(condition: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(message()) }
}

impl Check<'_> {
    fn sums(&self) -> Result<(), String> {
        let mut expected = String::new();
        for name in &self.names {
            expected.push_str(&format!("{}  {name}\n", sum(&self.folder.join(name))?));
        }
        let found = text(&self.folder.join("SHA256SUMS"))?;
        hold(found == expected, || format!("SHA256SUMS says\n{found}and the files have\n{expected}"))
    }

    /// The names that begin and end like this, at least one.
    fn named<'n>(&'n self, start: &'n str, end: &'n str) -> Result<impl Iterator<Item = &'n String>, String> {
        let matching = move |name: &&String| name.starts_with(start) && name.ends_with(end);
        hold(self.names.iter().any(|name| matching(&name)), || format!("there is no {start}*{end}"))?;
        Ok(self.names.iter().filter(matching))
    }

    /// Unpacks an archive, and returns its one folder. The archive for this machine must exist.
    fn unpacked(&self, what: &str, platform: &Platform) -> Result<Option<PathBuf>, String> {
        let start = format!("{what}-{}", env!("CARGO_PKG_VERSION"));
        let end = format!("-{}.tar.gz", platform.name);
        let name = match self.named(&start, &end) {
            Ok(mut names) => names.next().cloned().unwrap_or_default(),
            Err(_) if platform.name != PLATFORMS[0].name => return Ok(None),
            Err(missing) => return Err(missing),
        };
        archive::unpack(&self.folder.join(&name), &self.scratch)?;
        Ok(Some(self.scratch.join(name.trim_end_matches(".tar.gz"))))
    }

    /// Checks that a file has no trace of the build machine; a debug build has it in compiled code, and nowhere else.
    fn says_nothing_of_here(&self, path: &Path) -> Result<Vec<u8>, String> {
        let bytes = read(path)?;
        let is_compiled = bytes.starts_with(b"\x7fELF") || bytes.starts_with(b"!<arch>");
        for folder in [self.root, &super::cargo_home()?] {
            let word = folder.to_string_lossy();
            let found = memchr::memmem::find(&bytes, word.as_bytes()).is_some();
            hold(!found || self.quick && is_compiled, || format!("{} speaks of {word}", path.display()))?;
        }
        Ok(bytes)
    }

    /// Checks all files of a folder, of which one must have the texts of licences.
    fn all_say_nothing_of_here(&self, folder: &Path) -> Result<(), String> {
        let files = names(folder)?;
        for name in &files {
            self.says_nothing_of_here(&folder.join(name))?;
        }
        let has_licences = files.iter().any(|name| name.ends_with("THIRD-PARTY.txt"));
        hold(has_licences, || format!("{} has no licences of others", folder.display()))
    }

    /// The facts that a program or library states about itself.
    fn facts(&self, path: &Path) -> Result<elf::Facts, String> {
        elf::facts(&read(path)?).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn programs(&self) -> Result<(), String> {
        for platform in &PLATFORMS {
            let Some(folder) = self.unpacked("oriole", platform)? else { continue };
            self.all_say_nothing_of_here(&folder)?;
            let program = folder.join("bin/oriole");
            let facts = self.facts(&program)?;
            let is_static = !facts.is_interpreted && facts.needed.is_empty();
            hold(self.quick || is_static, || format!("{} is not static: {facts:?}", program.display()))?;
            for name in ["share/man/man1/oriole-compile.1", "share/zsh/site-functions/_oriole"] {
                hold(text(&folder.join(name))?.contains("oriole"), || format!("{name} is empty"))?;
            }
            let Some(start) = starter(platform) else {
                println!(
                    "{}: read, not started: it is for another processor, and there is no qemu",
                    platform.name
                );
                continue;
            };
            let version = output(start(&program).arg("--version"))?;
            let own = env!("CARGO_PKG_VERSION");
            hold(version.contains(own), || format!("{} is {version}, not {own}", program.display()))?;
            let kernel = self.root.join("test-data/kernels/reduce.ptx");
            let cubins = [self.scratch.join("a.cubin"), self.scratch.join("b.cubin")];
            finished(start(&program).arg("compile").arg(&kernel).arg("-o").arg(&cubins[0]))?;
            let mut other = start(&folder.join("libexec/oriole/ptxas"));
            finished(other.args(["-arch=sm_90", "-o"]).arg(&cubins[1]).arg(&kernel))?;
            hold(!read(&cubins[1])?.is_empty(), || "ptxas has written nothing".to_owned())?;
            finished(start(&program).arg("lint").arg(&cubins[0]).stdout(std::process::Stdio::null()))?;
        }
        Ok(())
    }

    fn libraries(&self) -> Result<(), String> {
        for platform in &PLATFORMS {
            let Some(folder) = self.unpacked("oriole-c", platform)? else { continue };
            self.all_say_nothing_of_here(&folder)?;
            for shared in &SHARED {
                let place = folder.join("lib").join(shared.file);
                let facts = self.facts(&place)?;
                let soname = facts.soname.as_deref();
                hold(soname == Some(shared.soname), || {
                    format!("{} calls itself {soname:?}", place.display())
                })?;
                let asked = facts.glibc.unwrap_or_default();
                hold(self.quick || asked <= GLIBC, || {
                    format!("{} asks for glibc {asked:?}", place.display())
                })?;
                let expected = self.exports(shared.soname == SHARED[0].soname)?;
                let found: BTreeSet<(String, String)> = facts.exports.into_iter().collect();
                hold(found == expected, || {
                    let differing: Vec<_> = found.symmetric_difference(&expected).collect();
                    format!("{} gives other functions than its headers have: {differing:?}", place.display())
                })?;
            }
            if platform.name == PLATFORMS[0].name {
                self.calls(&folder)?;
            }
        }
        Ok(())
    }

    /// The functions of the headers, with their expected version nodes.
    fn exports(&self, with_compiler: bool) -> Result<BTreeSet<(String, String)>, String> {
        let headers = self.root.join("crates/c-api/include");
        let functions = |header: &str, start: &str| -> Result<Vec<String>, String> {
            let text = text(&headers.join(header))?;
            let mut found = Vec::new();
            for (at, _) in text.match_indices('(') {
                let name =
                    text[..at].rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next();
                found.extend(name.filter(|name| name.starts_with(start)).map(str::to_owned));
            }
            Ok(found)
        };
        let mut all = BTreeSet::new();
        if with_compiler {
            for name in functions("nvPTXCompiler.h", "nvPTXCompiler")? {
                all.insert((name, "ORIOLE_C_0".to_owned()));
            }
        }
        for name in functions("nvJitLink.h", "nvJitLink")? {
            // The version of the library has no second name.
            if name != "nvJitLinkVersion" {
                all.insert((format!("__{name}_13_0"), "libnvJitLink.so.13".to_owned()));
            }
            all.insert((name, "libnvJitLink.so.13".to_owned()));
        }
        Ok(all)
    }

    /// C programs that are linked with each of the libraries print what they print with the one of the tests.
    fn calls(&self, folder: &Path) -> Result<(), String> {
        let tests = self.root.join("crates/c-api/tests");
        let library = folder.join("lib");
        let own = library.join("oriole");
        let cases = [
            ("calls", vec!["-loriole_c"], &library),
            ("link", vec!["-loriole_c"], &library),
            ("link", vec!["-lnvJitLink"], &own),
            ("calls", vec!["-lnvptxcompiler_static", "-lpthread", "-ldl", "-lm"], &own),
        ];
        for (name, libraries, place) in cases {
            let program = self.scratch.join(name);
            let mut cc = Command::new("cc");
            cc.arg("-I").arg(folder.join("include")).arg("-o").arg(&program);
            cc.arg(tests.join(format!("{name}.c"))).arg("-L").arg(place).args(&libraries);
            finished(&mut cc)?;
            let printed = output(Command::new(&program).env("LD_LIBRARY_PATH", place))?;
            let expected = text(&tests.join(format!("{name}.txt")))?;
            hold(printed == expected.trim_end(), || {
                format!("{name}.c with {} prints\n{printed}", libraries[0])
            })?;
        }
        Ok(())
    }

    fn wheels(&self) -> Result<(), String> {
        for (at, name) in self.named("oriole_ptx-", ".whl")?.enumerate() {
            let folder = self.scratch.join(format!("wheel-{at}"));
            unzip(&self.folder.join(name), &folder)?;
            self.all_say_nothing_of_here(&folder)?;
            let facts = self.facts(&folder.join("oriole/_native.abi3.so"))?;
            let asked = facts.glibc.unwrap_or_default();
            let promised =
                promised(name).ok_or_else(|| format!("{name} does not say which glibc it needs"))?;
            hold(asked <= promised, || format!("{name} asks for glibc {asked:?}"))?;
            if name.contains("x86_64") {
                let scripts = names(&folder)?.into_iter().find(|name| name.ends_with("scripts/oriole"));
                hold(scripts.is_some(), || format!("{name} has no program"))?;
                let script = "import oriole, sys; oriole.compile(open(sys.argv[1]).read(), 'sm_90').cubin[0]";
                let mut python = Command::new("python3");
                python.args(["-c", script]).arg(self.root.join("test-data/kernels/reduce.ptx"));
                finished(python.env("PYTHONPATH", &folder))?;
            }
        }
        Ok(())
    }

    fn extensions(&self) -> Result<(), String> {
        let Ok(packages) = self.named("oriole-ptx-", ".vsix") else {
            println!("there is no extension for Visual Studio Code");
            return Ok(());
        };
        for (at, name) in packages.enumerate() {
            let folder = self.scratch.join(format!("extension-{at}"));
            unzip(&self.folder.join(name), &folder)?;
            self.all_say_nothing_of_here(&folder)?;
            let server = folder.join("extension/server/oriole");
            let platform =
                PLATFORMS.iter().find(|platform| name.ends_with(&format!("-{}.vsix", platform.code)));
            hold(server.exists() == platform.is_some(), || {
                format!("{name}: a server where none is said, or none")
            })?;
            if platform.is_some() {
                let mode =
                    std::fs::metadata(&server).map_err(|error| format!("{name}: {error}"))?.permissions();
                let mode = std::os::unix::fs::PermissionsExt::mode(&mode);
                hold(mode & 0o111 == 0o111, || format!("{name}: its server cannot be started: {mode:o}"))?;
            }
        }
        Ok(())
    }
}

/// The way to start a program for a platform here: directly, or by an emulator, if there is one.
fn starter(platform: &Platform) -> Option<impl Fn(&Path) -> Command> {
    let processor = platform.name.split('-').next().unwrap_or_default();
    let emulator = (platform.name != PLATFORMS[0].name).then(|| format!("qemu-{processor}"));
    let is_there = emulator.as_ref().is_none_or(|name| output(Command::new(name).arg("--version")).is_ok());
    is_there.then_some(move |program: &Path| match &emulator {
        None => Command::new(program),
        Some(emulator) => {
            let mut command = Command::new(emulator);
            command.arg(program);
            command
        }
    })
}

/// The C library that the name of a package promises to be sufficient.
fn promised(name: &str) -> Option<elf::Glibc> {
    let mut numbers = name.split("manylinux_").nth(1)?.split('_').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Unpacks a zip archive, with the modes of its files.
fn unzip(package: &Path, folder: &Path) -> Result<(), String> {
    const SCRIPT: &str = "
import os, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as package:
    for entry in package.infolist():
        place = package.extract(entry, sys.argv[2])
        mode = entry.external_attr >> 16 & 0o777
        if mode and not entry.is_dir():
            os.chmod(place, mode)
";
    finished(Command::new("python3").args(["-c", SCRIPT]).arg(package).arg(folder))
}
