//! Fetches NVIDIA's assembler and disassemblers from PyPI into `.oracle/`, as oracles for tests only: those of the
//! newest toolkit, and on request (`cargo xtask oracle recorded`) those of earlier measurements.

use std::path::Path;
use std::process::Command;

/// The tools of a toolkit: their folder below `.oracle/`, and the packages. The first two need headers of their own
/// release, and would take the newest ones.
struct Toolkit {
    folder: &'static str,
    packages: [&'static str; 6],
}

/// The tools of the tests.
const NEWEST: Toolkit = Toolkit {
    folder: "",
    packages: [
        "nvidia-cuda-nvcc==13.5.37",
        "nvidia-nvvm==13.5.37",
        "nvidia-cuda-crt==13.5.37",
        "nvidia-cuda-runtime==13.5.37",
        "nvidia-cuda-nvdisasm==13.5.37",
        "nvidia-cuda-cuobjdump==13.5.37",
    ],
};

/// The tools of the figures on the pages and of the records that name 13.0.88.
const RECORDED: Toolkit = Toolkit {
    folder: "recorded",
    packages: [
        "nvidia-cuda-nvcc==13.0.88",
        "nvidia-nvvm==13.0.88",
        "nvidia-cuda-crt==13.0.88",
        "nvidia-cuda-runtime==13.0.88",
        "nvidia-cuda-nvdisasm==13.2.86",
        "nvidia-cuda-cuobjdump==13.2.86",
    ],
};

impl Toolkit {
    fn root(&self) -> std::path::PathBuf {
        crate::root().join(".oracle").join(self.folder)
    }

    fn bin(&self) -> std::path::PathBuf {
        self.root().join("nvidia/cu13/bin")
    }

    /// Whether its tools are present, and those of no other release in their place.
    fn is_there(&self) -> bool {
        let installed = |package: &str| {
            let name =
                package.replace("==", "-").replacen("-cuda-", "_cuda_", 1).replacen("nvidia-", "nvidia_", 1);
            self.root().join(format!("{name}.dist-info")).is_dir()
        };
        self.packages.iter().all(|package| installed(package))
            && TOOLS.iter().all(|tool| self.bin().join(tool).exists())
    }

    fn fetch(&self) -> Result<(), String> {
        if self.is_there() {
            return Ok(());
        }
        // Packages of another release would stay next to these.
        for entry in std::fs::read_dir(self.root()).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("nvidia") {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        install(&self.root(), &self.packages)
    }
}

/// The programs that tests call.
const TOOLS: [&str; 3] = ["ptxas", "nvdisasm", "cuobjdump"];

/// The package with the last tools that know the chips before sm_75, those of CUDA 12.4.
const OLDER: &str = "triton==3.1.0";

/// The folder of these once fetched; the rest of the package is not used.
fn older_bin() -> std::path::PathBuf {
    crate::root().join(".oracle/older/triton/backends/nvidia/bin")
}

/// The folder of the tools once fetched.
pub fn bin() -> std::path::PathBuf {
    NEWEST.bin()
}

/// The folder of the recorded tools once fetched.
pub fn recorded_bin() -> std::path::PathBuf {
    RECORDED.bin()
}

/// Installs the packages; does nothing if they are installed. Without the tools for the oldest chips all other tests
/// can be run, so that it continues and reports what is missing.
pub fn run(arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => {}
        [word] if word == "recorded" => {
            RECORDED.fetch()?;
            println!("{}", RECORDED.bin().display());
            return Ok(());
        }
        _ => return Err("usage: cargo xtask oracle [recorded]".to_owned()),
    }
    NEWEST.fetch()?;
    let has = |folder: std::path::PathBuf| TOOLS.iter().all(|tool| folder.join(tool).exists());
    if !has(older_bin())
        && let Err(error) = install_older()
    {
        eprintln!("the tools for chips before sm_75 ({OLDER}) are missing: {error}");
    }
    println!("{}", bin().display());
    Ok(())
}

fn install_older() -> Result<(), String> {
    let folder = crate::root().join(".oracle/older");
    // Its programs depend on no release of Python, but the package requires some.
    let any =
        ["--no-deps", "--only-binary=:all:", "--python-version=3.11", "--platform=manylinux2014_x86_64"];
    install(&folder, &[&any[..], &[OLDER]].concat())?;
    TOOLS.iter().try_for_each(|tool| make_executable(&older_bin().join(tool)))
}

fn install(folder: &Path, arguments: &[&str]) -> Result<(), String> {
    let status = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"])
        .arg(folder)
        .args(arguments)
        .status()
        .map_err(|error| format!("python3 could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err("pip could not install the oracle packages".to_owned()) }
}

/// A Python archive does not keep the permission to execute a file.
fn make_executable(path: &Path) -> Result<(), String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let all = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path, all).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}
