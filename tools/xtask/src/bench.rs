//! Measures Oriole against the oracle, file by file: CPU time of the whole process, peak memory, instructions,
//! registers, spills; ours and the reference in one run.

use std::path::{Path, PathBuf};
use std::process::Command;

/// `cargo xtask bench FILE.ptx...`: prints one row a file and the geometric means of the ratios.
pub fn run(arguments: &[String]) -> Result<(), String> {
    if arguments.is_empty() {
        return Err("usage: cargo xtask bench FILE.ptx...".to_owned());
    }
    let root = crate::root();
    let oriole = root.join("target/release/oriole");
    let ptxas = crate::oracle::bin().join("ptxas");
    if !oriole.exists() {
        return Err("build it first: cargo build --release -p oriole".to_owned());
    }
    if !ptxas.exists() {
        return Err("the oracle is missing: cargo xtask oracle".to_owned());
    }
    let folder = root.join("target/bench");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    println!(
        "{:<44} {:>9} {:>9} {:>6} {:>9} {:>9} {:>8} {:>8} {:>6} {:>6}",
        "file", "cpu s", "ptxas s", "ratio", "MB", "ptxas MB", "instr", "ptxas", "regs", "ptxas"
    );
    let mut ratios: [Vec<f64>; 4] = Default::default();
    for argument in arguments {
        let input = Path::new(argument);
        let name = input.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let ours = folder.join(format!("{name}.oriole.cubin"));
        let theirs = folder.join(format!("{name}.ptxas.cubin"));
        let a = measure(&oriole, &["compile", argument, "-o", &text(&ours)]);
        let b = measure(&ptxas, &["-arch=sm_90", argument, "-o", &text(&theirs)]);
        match (a, b) {
            (Some(a), Some(b)) => {
                let (x, y) = (size(&oriole, &ours), size(&oriole, &theirs));
                println!(
                    "{name:<44} {:>9.3} {:>9.3} {:>6.2} {:>9.1} {:>9.1} {:>8} {:>8} {:>6} {:>6}",
                    a.cpu,
                    b.cpu,
                    a.cpu / b.cpu,
                    a.memory,
                    b.memory,
                    x.0,
                    y.0,
                    x.1,
                    y.1
                );
                ratios[0].push(a.cpu / b.cpu);
                ratios[1].push(a.memory / b.memory);
                ratios[2].push(x.0 as f64 / y.0.max(1) as f64);
                ratios[3].push(x.1 as f64 / y.1.max(1) as f64);
            }
            (a, b) => println!("{name:<44} oriole {} ptxas {}", verdict(&a), verdict(&b)),
        }
    }
    for (what, ratios) in ["CPU", "memory", "instructions", "registers"].iter().zip(&ratios) {
        if !ratios.is_empty() {
            let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
            println!("{what}: geometric mean of Oriole / ptxas over {} files: {mean:.3}", ratios.len());
        }
    }
    Ok(())
}

struct Cost {
    /// User and system time, seconds.
    cpu: f64,
    /// Peak resident memory, MB.
    memory: f64,
}

fn verdict(cost: &Option<Cost>) -> &'static str {
    if cost.is_some() { "ok" } else { "failed" }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Runs a command under `/usr/bin/time`; `None` if it fails.
fn measure(program: &PathBuf, arguments: &[&str]) -> Option<Cost> {
    let output = Command::new("/usr/bin/time")
        .args(["-f", "COST %U %S %M"])
        .arg(program)
        .args(arguments)
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = errors.lines().rev().find_map(|line| line.strip_prefix("COST "))?;
    let mut numbers = line.split(' ').filter_map(|word| word.parse::<f64>().ok());
    Some(Cost { cpu: numbers.next()? + numbers.next()?, memory: numbers.next()? / 1024.0 })
}

/// Instructions without padding, and the sum of registers over kernels, as our own reader counts them.
fn size(oriole: &Path, cubin: &Path) -> (u64, u64) {
    let Ok(output) = Command::new(oriole).args(["dis", "--summary"]).arg(cubin).output() else {
        return (0, 0);
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = |key: &str| {
        text.lines()
            .filter_map(|line| line.split_whitespace().skip_while(|word| *word != key).nth(1))
            .filter_map(|word| word.parse::<u64>().ok())
            .sum()
    };
    (number("instructions"), number("registers"))
}
