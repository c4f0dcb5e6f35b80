//! Makes all packages for users: archives of the static program, the C library, the Python package, the VS Code
//! extension with the server in it, and with them checksums, an SBOM and third-party licences.
//!
//! One command makes a release, and it is reproducible: the output contains no trace of the build machine,
//! neither its paths nor its clock. Packages that cannot be built are listed with the reason. Nothing is
//! uploaded from here.

mod archive;
mod check;
mod elf;
mod extension;
mod library;
mod notices;
mod program;
mod sbom;
mod tools;

use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use sha2::{Digest, Sha256};

use crate::packages::Graph;
pub use tools::{GLIBC, Tools};

const USAGE: &str = "usage: cargo xtask dist [--out DIR] [--quick] [--profile DIR] | --check DIR";

/// The crates of the project that are distributed as programs and libraries.
pub const ROOTS: [&str; 3] = ["oriole-cli", "oriole-c-api", "oriole-python"];

/// A target platform.
#[derive(Debug)]
pub struct Platform {
    /// Its name in file names.
    name: &'static str,
    /// The target of the program.
    program: &'static str,
    /// The target of libraries.
    library: &'static str,
    /// The target for the linker of libraries.
    zig: &'static str,
    /// Its name for VS Code.
    code: &'static str,
}

/// The first one is the build machine.
const PLATFORMS: [Platform; 2] = [
    Platform {
        name: "x86_64-linux",
        program: "x86_64-unknown-linux-musl",
        library: "x86_64-unknown-linux-gnu",
        zig: "x86_64-linux-gnu",
        code: "linux-x64",
    },
    Platform {
        name: "aarch64-linux",
        program: "aarch64-unknown-linux-musl",
        library: "aarch64-unknown-linux-gnu",
        zig: "aarch64-linux-gnu",
        code: "linux-arm64",
    },
];

/// The parameters of a build of packages.
pub struct Plan {
    root: PathBuf,
    out: PathBuf,
    /// A debug build for this machine, with which CI tests the packaging.
    quick: bool,
    /// An earlier profile, with the order of functions.
    profile: Option<PathBuf>,
    /// The time of everything in archives, in seconds since 1970.
    epoch: u64,
    version: String,
}

impl Plan {
    /// A plan with this output folder.
    ///
    /// # Errors
    /// The time for entries of archives is unknown.
    pub fn new(out: PathBuf, quick: bool) -> Result<Plan, String> {
        let root = crate::root();
        let (epoch, version) = (epoch(&root)?, env!("CARGO_PKG_VERSION").to_owned());
        Ok(Plan { root, out, quick, profile: None, epoch, version })
    }

    fn effort(&self) -> Compression {
        if self.quick { Compression::fast() } else { Compression::best() }
    }

    /// The name of an archive without its ending, which is that of the folder in it.
    fn name(&self, what: &str, platform: &Platform) -> String {
        let quick = if self.quick { "-debug" } else { "" };
        format!("{what}-{}{quick}-{}", self.version, platform.name)
    }

    /// Passes the time for packages to a command.
    fn dated<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("SOURCE_DATE_EPOCH", self.epoch.to_string())
    }

    /// Flags of cargo for a build without paths of the build machine, with these additional flags of rustc.
    fn settings(&self, target: &str, flags: &[&str]) -> Result<Vec<String>, String> {
        let mut quoted = unnamed_folders(&self.root)?;
        quoted.extend(flags.iter().map(|flag| format!("'{flag}'")));
        Ok(vec!["--config".to_owned(), format!("target.{target}.rustflags=[{}]", quoted.join(","))])
    }

    /// The folder for builds of packages only.
    fn target_folder(&self) -> PathBuf {
        self.root.join("target/dist-build")
    }
}

/// Flags of rustc, quoted for cargo, that remove the paths of checkout and registry from its output.
///
/// # Errors
/// The folder of cargo's registry is unknown.
pub fn unnamed_folders(root: &Path) -> Result<Vec<String>, String> {
    let remap = |from: &Path, to: &str| format!("'--remap-path-prefix={}={to}'", from.display());
    Ok(vec![remap(root, "/oriole"), remap(&cargo_home()?, "/cargo")])
}

fn cargo_home() -> Result<PathBuf, String> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    let told = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    told.or_else(home).ok_or_else(|| "neither CARGO_HOME nor HOME is set".to_owned())
}

/// The results of a build.
#[derive(Default)]
struct Made {
    /// Remarks about files, in order.
    notes: Vec<String>,
    skipped: Vec<String>,
}

impl Made {
    fn note(&mut self, place: &Path, text: &str) {
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        self.notes.push(format!("{name}: {text}"));
    }

    fn skip(&mut self, what: &str, why: &str) {
        let line = format!("SKIPPED {what}: {why}");
        eprintln!("{line}");
        self.skipped.push(line);
    }
}

/// Makes or checks it.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut plan = Plan::new(crate::root().join("target/dist"), false)?;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut folder = || {
            let given = rest.next().ok_or_else(|| USAGE.to_owned())?;
            std::path::absolute(given).map_err(|error| format!("{given}: {error}"))
        };
        match argument.as_str() {
            "--quick" => plan.quick = true,
            "--out" => plan.out = folder()?,
            "--profile" => plan.profile = Some(folder()?),
            "--check" => return check::run(&plan.root, &folder()?),
            _ => return Err(USAGE.to_owned()),
        }
    }
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Err("packages are made on Linux on x86_64 only".to_owned());
    }
    make(&plan)
}

/// Makes the Python package alone, for this machine.
///
/// # Errors
/// A step that failed.
pub fn wheel(plan: &Plan) -> Result<PathBuf, String> {
    std::fs::create_dir_all(&plan.out).map_err(|error| format!("{}: {error}", plan.out.display()))?;
    let tools = Tools::installed(&plan.root, plan.quick)?;
    let [platform, ..] = &PLATFORMS;
    let graph = Graph::of_workspace(&plan.root, &[platform.program, platform.library])?;
    let notices = notices::text(&graph.parts(&ROOTS), &[]);
    tools.wheel(plan, platform, &program::build(plan, &tools, platform)?, &notices)
}

fn make(plan: &Plan) -> Result<(), String> {
    // Remove the output of earlier builds.
    let _ = std::fs::remove_dir_all(&plan.out);
    std::fs::create_dir_all(&plan.out).map_err(|error| format!("{}: {error}", plan.out.display()))?;
    let mut made = Made::default();
    let tools = Tools::installed(&plan.root, plan.quick)?;
    let extension = extension::Builder::new(plan);
    let bundled = extension.as_ref().map_or_else(|_| Ok(Vec::new()), |builder| builder.bundled())?;
    let targets: Vec<&str> =
        PLATFORMS.iter().flat_map(|platform| [platform.program, platform.library]).collect();
    let graph = Graph::of_workspace(&plan.root, &targets)?;
    let parts = graph.parts(&ROOTS);
    let notices = notices::text(&parts, &bundled);
    write(&plan.out.join("THIRD-PARTY.txt"), &notices)?;
    let list = sbom::text(&plan.version, &parts, &bundled, &toolchain()?);
    write(&plan.out.join(format!("oriole-{}.cdx.json", plan.version)), &list)?;
    match &extension {
        Ok(builder) => drop(builder.make(plan, None, &notices)?),
        Err(why) => made.skip("the extension for Visual Studio Code", why),
    }
    let mut pages = None;
    for platform in &PLATFORMS {
        if plan.quick && platform.name != PLATFORMS[0].name {
            made.skip(platform.name, "a quick build is for this machine alone");
            continue;
        }
        // A quick build is for the local machine, with its C library.
        if !plan.quick && !is_installed(platform.program)? {
            made.skip(platform.name, &format!("rustup target add {}", platform.program));
            continue;
        }
        let program = program::build(plan, &tools, platform)?;
        // This machine comes first, and its program generates the pages for all.
        let pages = match &pages {
            Some(pages) => pages,
            None => pages.insert(program::Pages::of(&program)?),
        };
        made.note(&program::pack(plan, platform, &program, pages, &notices)?, program::how(plan, platform));
        if let Ok(builder) = &extension {
            builder.make(plan, Some((platform, &program)), &notices)?;
        }
        if !is_installed(platform.library)? {
            let why = format!("rustup target add {}", platform.library);
            made.skip(&format!("libraries for {}", platform.name), &why);
            continue;
        }
        let (archive, oldest) = library::make(plan, &tools, platform, &notices)?;
        made.note(&archive, &format!("needs glibc {}.{} or later", oldest.0, oldest.1));
        tools.wheel(plan, platform, &program, &notices)?;
    }
    finish(plan, &made)
}

/// Writes the list of the results, and the checksums.
fn finish(plan: &Plan, made: &Made) -> Result<(), String> {
    let mut contents = format!("Oriole {}\n", plan.version);
    if plan.quick {
        contents.push_str("A debug build, not to be handed out.\n");
    }
    contents.extend(made.notes.iter().chain(&made.skipped).map(|line| format!("{line}\n")));
    write(&plan.out.join("CONTENTS.txt"), &contents)?;
    let mut sums = String::new();
    for name in names(&plan.out)? {
        sums.push_str(&format!("{}  {name}\n", sum(&plan.out.join(&name))?));
    }
    write(&plan.out.join("SHA256SUMS"), &sums)?;
    print!("{contents}{sums}");
    Ok(())
}

/// The files below a folder, by name; the profile has a folder of its own.
fn names(folder: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(at) = waiting.pop() {
        let entries = std::fs::read_dir(&at).map_err(|error| format!("{}: {error}", at.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                waiting.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn sum(path: &Path) -> Result<String, String> {
    Ok(Sha256::digest(read(path)?).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The time of the last commit, or the one that the caller sets.
pub fn epoch(root: &Path) -> Result<u64, String> {
    let told = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(told) => told,
        Err(_) => output(Command::new("git").current_dir(root).args(["log", "-1", "--format=%ct"]))
            .map_err(|error| format!("{error}: set SOURCE_DATE_EPOCH where there is no git"))?,
    };
    told.parse().map_err(|_| format!("`{told}` is no time in seconds since 1970"))
}

fn toolchain() -> Result<sbom::Toolchain, String> {
    let rustc = output(Command::new("rustc").arg("--version"))?;
    let zig = tools::BUILDERS[2].trim_start_matches("ziglang==").to_owned();
    Ok(sbom::Toolchain { rustc, zig })
}

/// Whether Rust's standard library is installed for a target.
fn is_installed(target: &str) -> Result<bool, String> {
    let folder = output(Command::new("rustc").args(["--print", "target-libdir", "--target", target]))?;
    Ok(Path::new(&folder).exists())
}

/// The output of a command, without its last line end.
///
/// # Errors
/// A command that cannot be started, or fails.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
