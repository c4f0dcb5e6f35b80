//! Measures Oriole against the oracle in one run. For PTX files: CPU time and peak memory of the whole process,
//! instructions, registers, local loads and stores, static issue cycles weighted by ten to the power of the loop depth.
//! For launch records: the cycles of both cubins in the same simulator. With `--query-layer`, Oriole against itself:
//! the stages by way of the queries against the same stages called straight.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is measured of a file, in the order of the table.
const COLUMNS: [&str; 6] = ["CPU s", "MB", "instr", "regs", "local", "weighted"];

/// The column of the local loads and stores: their ratio counts one more than there are, as there are often none.
const LOCAL: usize = 4;

/// `cargo xtask bench [--arch CHIP] [--query-layer] FILE.ptx... LAUNCH.json...`: one row a file, and the geometric means
/// of the ratios.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (arch, inputs) = match arguments {
        [flag, arch, rest @ ..] if flag == "--arch" => (arch.as_str(), rest),
        rest => ("sm_90", rest),
    };
    let (layer, inputs) = match inputs {
        [flag, rest @ ..] if flag == "--query-layer" => (true, rest),
        rest => (false, rest),
    };
    if inputs.is_empty() {
        let usage = "usage: cargo xtask bench [--arch CHIP] [--query-layer] FILE.ptx... LAUNCH.json...";
        return Err(usage.to_owned());
    }
    let root = crate::root();
    if layer {
        return query_layer(&root.join("target/release/examples/layer"), arch, inputs);
    }
    let folder = root.join("target/bench");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let bench = Bench {
        oriole: root.join("target/release/oriole"),
        ptxas: crate::oracle::bin().join("ptxas"),
        folder,
        arch,
    };
    if !bench.oriole.exists() {
        return Err("build it first: cargo build --release -p oriole".to_owned());
    }
    if !bench.ptxas.exists() {
        return Err("the oracle is missing: cargo xtask oracle".to_owned());
    }
    let (launches, files): (Vec<&String>, Vec<&String>) =
        inputs.iter().partition(|input| input.ends_with(".json") || input.ends_with(".jsonl"));
    if !files.is_empty() {
        bench.files(&files);
    }
    if !launches.is_empty() {
        bench.launches(&launches);
    }
    Ok(())
}

/// CPU time and peak memory of the stages by way of the queries against those of the same stages called straight.
fn query_layer(program: &Path, arch: &str, files: &[String]) -> Result<(), String> {
    if !program.exists() {
        return Err("build it first: cargo build --release -p oriole-queries --example layer".to_owned());
    }
    let mut ratios: [[Vec<(f64, String)>; 2]; 2] = Default::default();
    for file in files {
        let all = ["queries", "session", "straight"].map(|way| cost(program, &[way, file, arch]));
        let [Some(queries), Some(session), Some(straight)] = all else {
            println!("{file}: not compiled");
            continue;
        };
        for (way, ratios) in [queries, session].iter().zip(&mut ratios) {
            for (column, ratios) in ratios.iter_mut().enumerate() {
                ratios.push((way[column] / straight[column], stem(Path::new(file))));
            }
        }
    }
    for (way, ratios) in ["one compile", "a session"].iter().zip(ratios) {
        for (column, ratios) in ["CPU time", "peak memory"].iter().zip(ratios) {
            means(&format!("{column}, by the queries of {way} / straight"), ratios);
        }
    }
    Ok(())
}

struct Bench<'a> {
    oriole: PathBuf,
    ptxas: PathBuf,
    /// Where cubins go.
    folder: PathBuf,
    arch: &'a str,
}

impl Bench<'_> {
    /// Both cubins of a PTX file, with what it cost to make them; `None` for a compiler that fails.
    fn compile(&self, input: &Path) -> [(PathBuf, Option<[f64; 2]>); 2] {
        let name = stem(input);
        let ours = self.folder.join(format!("{name}.oriole.cubin"));
        let theirs = self.folder.join(format!("{name}.ptxas.cubin"));
        let (input, arch) = (text(input), format!("-arch={}", self.arch));
        let a = cost(&self.oriole, &["compile", "--arch", self.arch, &input, "-o", &text(&ours)]);
        let b = cost(&self.ptxas, &[&arch, &input, "-o", &text(&theirs)]);
        [(ours, a), (theirs, b)]
    }

    fn files(&self, files: &[&String]) {
        print!("{:<40}", "file (Oriole / ptxas)");
        for column in COLUMNS {
            print!(" {column:>21}");
        }
        println!();
        let mut ratios: [Vec<(f64, String)>; 6] = Default::default();
        let mut failed = 0;
        for file in files {
            let name = stem(Path::new(file));
            let [(ours, a), (theirs, b)] = self.compile(Path::new(file));
            let (Some(a), Some(b)) = (a, b) else {
                let verdict = |cost: &Option<[f64; 2]>| if cost.is_some() { "ok" } else { "failed" };
                println!("{name:<40} Oriole {} ptxas {}", verdict(&a), verdict(&b));
                failed += 1;
                continue;
            };
            let (x, y) = (self.size(&ours), self.size(&theirs));
            print!("{name:<40}");
            for (column, ratios) in ratios.iter_mut().enumerate() {
                let (ours, theirs) =
                    if column < 2 { (a[column], b[column]) } else { (x[column - 2], y[column - 2]) };
                if column == 0 {
                    print!(" {ours:>10.3}/{theirs:<10.3}");
                } else {
                    print!(" {ours:>10.0}/{theirs:<10.0}");
                }
                let ratio =
                    if column == LOCAL { (ours + 1.0) / (theirs + 1.0) } else { ours / theirs.max(1e-9) };
                if ratio > 0.0 {
                    ratios.push((ratio, name.clone()));
                }
            }
            println!();
        }
        println!();
        for (column, ratios) in COLUMNS.iter().zip(ratios) {
            means(column, ratios);
        }
        println!("{failed} files failed");
    }

    /// Instructions without padding, registers, local instructions and weighted cycles, summed over kernels.
    fn size(&self, cubin: &Path) -> [f64; 4] {
        let output = Command::new(&self.oriole).args(["dis", "--summary"]).arg(cubin).output();
        let text =
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let number = |key: &str| {
            text.lines()
                .filter_map(|line| line.split_whitespace().skip_while(|word| *word != key).nth(1))
                .filter_map(|word| word.parse::<f64>().ok())
                .sum()
        };
        ["instructions", "registers", "local", "weighted"].map(number)
    }

    fn launches(&self, launches: &[&String]) {
        println!("\n{:<40} {:>12} {:>12} {:>8}", "launch (simulated cycles)", "Oriole", "ptxas", "ratio");
        // Kernel files by name, each compiled once.
        let mut known: BTreeMap<String, Option<[PathBuf; 2]>> = BTreeMap::new();
        let mut ratios = Vec::new();
        for launch in launches {
            let path = Path::new(launch);
            let name = stem(path);
            let record = std::fs::read_to_string(path).unwrap_or_default();
            let Some(ptx) = value(&record, "ptx") else {
                println!("{name:<40} names no kernel file");
                continue;
            };
            let input = path.parent().unwrap_or(Path::new(".")).join(ptx);
            let cubins = known.entry(text(&input)).or_insert_with(|| match self.compile(&input) {
                [(ours, Some(_)), (theirs, Some(_))] => Some([ours, theirs]),
                _ => None,
            });
            let Some(cubins) = cubins else {
                println!("{name:<40} is not compiled");
                continue;
            };
            match (self.cycles(launch, &cubins[0]), self.cycles(launch, &cubins[1])) {
                (Ok(ours), Ok(theirs)) => {
                    println!("{name:<40} {ours:>12.0} {theirs:>12.0} {:>8.3}", ours / theirs);
                    ratios.push((ours / theirs, name));
                }
                (ours, theirs) => {
                    for (who, result) in [("Oriole", ours), ("ptxas", theirs)] {
                        if let Err(message) = result {
                            println!("{name:<40} {who}: {message}");
                        }
                    }
                }
            }
        }
        println!();
        means("simulated cycles", ratios);
    }

    /// The simulated cycles of a launch with this cubin.
    fn cycles(&self, launch: &str, cubin: &Path) -> Result<f64, String> {
        let output = Command::new(&self.oriole)
            .args(["run", launch, "--on", "sim", "--json", "--cubin"])
            .arg(cubin)
            .output()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            return Err(value(&text, "error").unwrap_or_else(|| "fails".to_owned()));
        }
        value(&text, "cycles").and_then(|cycles| cycles.parse().ok()).ok_or("gives no cycles".to_owned())
    }
}

/// The geometric mean of ratios and the worst of them.
fn means(what: &str, mut ratios: Vec<(f64, String)>) {
    if ratios.is_empty() {
        return;
    }
    let mean = (ratios.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    println!("{what}: geometric mean of the ratios of {}: {mean:.3}", ratios.len());
    ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
    let worst: Vec<String> =
        ratios.iter().take(5).map(|(ratio, name)| format!("{name} {ratio:.2}")).collect();
    println!("    worst: {}", worst.join(", "));
}

/// The value of the first key of this name in JSON that needs no more than this to be read: a text without escapes or
/// a number.
fn value(json: &str, key: &str) -> Option<String> {
    let rest = json.split_once(&format!("\"{key}\":"))?.1.trim_start();
    match rest.strip_prefix('"') {
        Some(text) => text.split('"').next().map(str::to_owned),
        None => rest.split([',', '}', '\n']).next().map(|number| number.trim().to_owned()),
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Runs a command under `/usr/bin/time`: user and system time in seconds, and peak memory in MB; `None` if it fails.
fn cost(program: &Path, arguments: &[&str]) -> Option<[f64; 2]> {
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
    let (user, system, kilobytes) = (numbers.next()?, numbers.next()?, numbers.next()?);
    // The clock ticks in hundredths of a second: less than one tick is counted as half of one.
    Some([(user + system).max(0.005), kilobytes / 1024.0])
}
