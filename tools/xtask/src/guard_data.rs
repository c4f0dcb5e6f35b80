//! Generates test data that the repository cannot hold: ptxas's code for our own kernels, and the functions of these
//! kernels as they are before allocation. Everything is in `.oracle/guards/`; the tests find it by `ORIOLE_GUARD_DATA`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The phase after which functions are written: the last one before allocation.
const BEFORE_ALLOCATION: &str = "96";

/// Further chips for which the kernels are compiled, if possible.
const OTHERS: [&str; 6] = ["sm_80", "sm_86", "sm_87", "sm_89", "sm_100", "sm_120"];
/// Each kernel is for every third of them by turns, if not all are asked for: most of its words are the same on the others.
const TURNS: usize = 3;

/// The folder of the generated data.
fn folder() -> PathBuf {
    crate::root().join(".oracle/guards")
}

/// Regenerates the folder, with `all` for all chips, and prints its path. The program is a debug build; the assembler must have been
/// fetched.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let turns = match arguments {
        [] => TURNS,
        [all] if all == "all" => 1,
        _ => return Err("usage: cargo xtask guard-data [all]".to_owned()),
    };
    // The latencies were measured on code of this release.
    let assembler = crate::oracle::recorded_bin().join("ptxas");
    if !assembler.exists() {
        return Err("there is no ptxas: run `cargo xtask oracle recorded` before".to_owned());
    }
    let program = crate::wheel::debug_program(&crate::root())?;
    let folder = folder();
    let _ = std::fs::remove_dir_all(&folder);
    let (cubins, functions) = (folder.join("cubins"), folder.join("ori"));
    for each in [&cubins, &functions] {
        std::fs::create_dir_all(each).map_err(|error| format!("{}: {error}", each.display()))?;
    }
    let kernels = kernels()?;
    let next = AtomicUsize::new(0);
    let work = || -> Result<usize, String> {
        let mut made = 0;
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(kernel) = kernels.get(at) else { break };
            let others = OTHERS.into_iter().skip(at % turns).step_by(turns);
            made += cubins_of(kernel, others, &assembler, &folder, &cubins)?;
            let text =
                finish(Command::new(&program).args(["ori", "--after", BEFORE_ALLOCATION]).arg(kernel))?;
            let path = functions.join(format!("{}.ori", stem(kernel)));
            std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(made)
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let made: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let made = workers.into_iter().map(|worker| worker.join().expect("a worker does not panic"));
        made.sum::<Result<usize, String>>()
    })?;
    eprintln!("{made} cubins, {} files of functions", kernels.len());
    println!("{}", folder.display());
    Ok(())
}

/// Compiles one kernel for its chip and those of the others that know its instructions; how many cubins that were.
fn cubins_of(
    kernel: &Path,
    others: impl Iterator<Item = &'static str>,
    assembler: &Path,
    folder: &Path,
    cubins: &Path,
) -> Result<usize, String> {
    let name = stem(kernel);
    let source = std::fs::read_to_string(kernel).map_err(|error| format!("{}: {error}", kernel.display()))?;
    let chip = if source.contains(".target sm_90a") { "sm_90a" } else { "sm_90" };
    // ptxas does not optimize debug builds.
    let for_debuggers = source.lines().any(|line| line.starts_with(".target") && line.contains("debug"));
    let levels = if for_debuggers { &["-O0"][..] } else { &["-O0", "-O3"] };
    let compile = |chip: &str, level: &str, source: &Path, cubin: String| {
        let mut command = Command::new(assembler);
        finish(command.args(["-arch", chip, level]).arg(source).arg("-o").arg(cubins.join(cubin)))
    };
    let mut made = 0;
    for &level in levels {
        compile(chip, level, kernel, format!("{name}{level}.cubin"))?;
        made += 1;
    }
    for chip in others {
        let older = folder.join(format!("{name}.{chip}.ptx"));
        std::fs::write(&older, retargeted(&source, chip))
            .map_err(|error| format!("{}: {error}", older.display()))?;
        for &level in levels {
            match compile(chip, level, &older, format!("{name}.{chip}{level}.cubin")) {
                Ok(_) => made += 1,
                // It has instructions that the chip does not know; the first error is sufficient.
                Err(error) => {
                    let first = error.lines().next().unwrap_or_default();
                    eprintln!("{chip} {level} without {name}: {first}");
                }
            }
        }
    }
    Ok(made)
}

/// The name of a kernel's file.
fn stem(kernel: &Path) -> String {
    kernel.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The text for another chip, in a version of the language that knows it.
fn retargeted(source: &str, chip: &str) -> String {
    let text = source.replace(".target sm_90", &format!(".target {chip}"));
    let later = chip.len() > "sm_90".len();
    let line = |line: &str| match line.strip_prefix(".version ") {
        Some(_) if later => ".version 9.0\n".to_owned(),
        _ => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}

/// The PTX of the repository's kernels, in order.
fn kernels() -> Result<Vec<PathBuf>, String> {
    let folder = crate::root().join("test-data/kernels");
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    // ptxas's code for sparse 4-bit MMAs sets bit 125, for which no name is known.
    paths.retain(|path| path.file_stem().is_none_or(|name| name != "fragments"));
    paths.sort();
    Ok(paths)
}

/// Runs a command and returns its output.
fn finish(command: &mut Command) -> Result<Vec<u8>, String> {
    let program = Path::new(command.get_program()).display().to_string();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(output.stdout)
}
