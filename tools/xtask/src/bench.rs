//! Measures Oriole against ptxas in one run. For PTX files: CPU time and peak memory of the whole process,
//! instructions, registers, local loads and stores, static issue cycles weighted by ten to the power of the loop depth.
//! For launch records: the cycles of both cubins in the same simulator. With `--query-layer`, Oriole against itself:
//! the stages by way of the queries against direct calls of the stages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The metrics of a file, in the order of the table.
const COLUMNS: [&str; 6] = ["CPU s", "MB", "instr", "regs", "local", "weighted"];

/// The column of the local loads and stores: their ratio adds one to both counts, as these are often 0.
const LOCAL: usize = 4;

const USAGE: &str =
    "cargo xtask bench [--arch CHIP] [--program PATH] [--runs N] [--query-layer] FILE.ptx... LAUNCH.json...";

/// Runs `bench`: one row a file, and the geometric means of the ratios. For CPU times the minimum of `--runs` counts;
/// the two compilers alternate.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let (mut arch, mut program, mut runs, mut layer) = ("sm_90", None, 5, false);
    let mut inputs = arguments;
    while let [flag, rest @ ..] = inputs {
        inputs = match (flag.as_str(), rest) {
            ("--query-layer", rest) => {
                layer = true;
                rest
            }
            ("--arch", [value, rest @ ..]) => {
                arch = value;
                rest
            }
            ("--program", [value, rest @ ..]) => {
                program = Some(PathBuf::from(value));
                rest
            }
            ("--runs", [value, rest @ ..]) => {
                runs = value.parse().map_err(|_| format!("`{value}` is no number\nusage: {USAGE}"))?;
                rest
            }
            _ => break,
        };
    }
    if inputs.is_empty() {
        return Err(format!("usage: {USAGE}"));
    }
    let root = crate::root();
    if layer {
        return query_layer(&root.join("target/release/examples/layer"), arch, inputs);
    }
    let folder = root.join("target/bench");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let bench = Bench {
        oriole: program.unwrap_or_else(|| root.join("target/release/oriole")),
        runs,
        ptxas: crate::oracle::bin().join("ptxas"),
        folder,
        arch,
    };
    if !bench.oriole.exists() {
        return Err("build it first: cargo build --release -p oriole-cli".to_owned());
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

/// CPU time and peak memory of the stages by way of the queries against those of direct calls of the stages.
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
    /// Number of runs of each compiler on a file.
    runs: usize,
    ptxas: PathBuf,
    /// The folder of cubins.
    folder: PathBuf,
    arch: &'a str,
}

impl Bench<'_> {
    /// Both cubins of a PTX file, with the cost of the compile; `None` for a compiler that fails.
    fn compile(&self, input: &Path) -> [(PathBuf, Option<[f64; 2]>); 2] {
        let name = stem(input);
        let ours = self.folder.join(format!("{name}.oriole.cubin"));
        let theirs = self.folder.join(format!("{name}.ptxas.cubin"));
        let (input, arch) = (text(input), format!("-arch={}", self.arch));
        let (out, reference_out) = (text(&ours), text(&theirs));
        let own = ["compile", "--arch", self.arch, &input, "-o", &out];
        let reference = [arch.as_str(), &input, "-o", &reference_out];
        let (mut a, mut b) = (cost(&self.oriole, &own), cost(&self.ptxas, &reference));
        if a.is_some() && b.is_some() {
            for _ in 1..self.runs {
                for (best, program, arguments) in
                    [(&mut a, &self.oriole, &own[..]), (&mut b, &self.ptxas, &reference[..])]
                {
                    if let (Some(best), Some(again)) = (best, cpu_seconds(program, arguments)) {
                        best[0] = best[0].min(again);
                    }
                }
            }
        }
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
                    print!(" {ours:>10.4}/{theirs:<10.4}");
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

/// The value of the first key of this name in simple JSON: a text without escapes or a number.
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

/// User and system time of a command in seconds, and its peak memory in MB, of one run each; `None` if it fails.
fn cost(program: &Path, arguments: &[&str]) -> Option<[f64; 2]> {
    let mut measured = Command::new("/usr/bin/time");
    let output = measured.args(["-f", "COST %M"]).arg(program).args(arguments).output().ok()?;
    if !output.status.success() {
        return None;
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let kilobytes = errors.lines().rev().find_map(|line| line.strip_prefix("COST "))?;
    Some([cpu_seconds(program, arguments)?, kilobytes.parse::<f64>().ok()? / 1024.0])
}

/// User and system time of a command in seconds; `None` if it fails. The shell reports milliseconds, `/usr/bin/time`
/// only hundredths of a second.
fn cpu_seconds(program: &Path, arguments: &[&str]) -> Option<f64> {
    let script = "TIMEFORMAT='%3U %3S'; time \"$@\" > /dev/null 2> /dev/null; exit $?";
    let mut command = Command::new("bash");
    let output = command.args(["-c", script, "bench"]).arg(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut numbers = text.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
    let (user, system) = (numbers.next()?, numbers.next()?);
    // Less than one millisecond is counted as half of one.
    output.status.success().then_some((user + system).max(0.0005))
}
