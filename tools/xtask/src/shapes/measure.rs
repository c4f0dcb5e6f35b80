//! Costs of compiling a shape, and their growth with the size: user time and peak memory of a process. The
//! shapes themselves do not belong here.

use std::path::Path;
use std::process::{Command, Stdio};

use super::Shape;

/// Number of compiles of a shape by each program.
const RUNS: usize = 3;

const SIZES: [usize; 3] = [3_000, 10_000, 30_000];

/// The cost of one run, and whether it succeeded.
struct Run {
    seconds: f64,
    /// Peak memory in MB.
    memory: f64,
    succeeded: bool,
}

/// Compiles once. `folder` takes the file of the peak memory.
fn compile(program: &Path, arguments: &[&str], folder: &Path) -> Result<Run, String> {
    let peak = folder.join("peak");
    let script = "TIMEFORMAT=%U; time timeout 60 /usr/bin/time -q -f %M -o \"$0\" \"$@\" > /dev/null 2>&1";
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{script}; exit $?")]).arg(&peak).arg(program).args(arguments);
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("bash: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let seconds = text.trim().parse().map_err(|_| format!("no time in `{}`", text.trim()))?;
    let succeeded = output.status.success();
    // A process that was stopped has no peak.
    let memory = match std::fs::read_to_string(&peak) {
        Ok(text) if succeeded => {
            text.trim().parse::<f64>().map_err(|_| format!("no peak memory in `{}`", text.trim()))? / 1024.0
        }
        Err(error) if succeeded => return Err(format!("/usr/bin/time wrote no peak memory: {error}")),
        _ => f64::NAN,
    };
    Ok(Run { seconds, memory, succeeded })
}

/// The least cost of several runs, `None` if one failed.
#[derive(Default)]
struct Least {
    best: Option<[f64; 2]>,
    failed: bool,
}

impl Least {
    fn take(&mut self, run: Run) {
        self.failed |= !run.succeeded;
        let best = self.best.get_or_insert([f64::INFINITY; 2]);
        *best = [best[0].min(run.seconds), best[1].min(run.memory)];
    }

    /// A run of many seconds is conclusive, and so is one that failed.
    fn wants_more(&self) -> bool {
        !self.failed && self.best.is_none_or(|best| best[0] < 3.0)
    }

    /// User seconds and MB.
    fn cost(&self) -> [f64; 2] {
        self.best.filter(|_| !self.failed).unwrap_or([f64::NAN; 2])
    }
}

/// The costs at each size and the exponents between them, time first.
fn row(costs: &[[f64; 2]]) -> String {
    let part = |kind: usize, digits: usize| {
        let costs: Vec<f64> = costs.iter().map(|cost| cost[kind]).collect();
        let exponents: Vec<String> = costs
            .windows(2)
            .zip(SIZES.windows(2))
            .map(|(costs, sizes)| (costs[1] / costs[0]).ln() / (sizes[1] as f64 / sizes[0] as f64).ln())
            .map(|exponent| format!("{:>5}", figure(exponent, 2)))
            .collect();
        let costs: Vec<String> = costs.iter().map(|&cost| format!("{:>8}", figure(cost, digits))).collect();
        format!("{} {}", costs.join(" "), exponents.join(" "))
    };
    format!("{}  {}", part(0, 3), part(1, 0))
}

/// A figure with this number of digits after the point; a dash for a missing one.
fn figure(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "-".to_owned() }
}

/// Prints a row for each of the shapes, with one for the other compiler.
pub(super) fn measure(shapes: &[&Shape], program: &str, against: Option<&str>) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("oriole-shapes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let (source, object) = (folder.join("shape.ptx"), folder.join("shape.cubin"));
    let (source, object) = (source.display().to_string(), object.display().to_string());
    let sizes = SIZES.map(|size| format!("{size:>8}")).join(" ");
    println!("{:<18} {sizes}   exponents  {sizes}   exponents", "shape: s, MB");
    for (name, write) in shapes {
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for size in SIZES {
            std::fs::write(&source, write(size)).map_err(|error| error.to_string())?;
            // Alternating, so that both have the same load.
            let (mut own, mut other) = (Least::default(), Least::default());
            // A shape that is superlinear and slow already would take minutes, without new information.
            let bearable = theirs.last().is_none_or(|&[seconds, _]: &[f64; 2]| seconds < 0.5);
            for _ in 0..RUNS {
                if own.wants_more() {
                    let arguments = ["compile", &source, "--arch", "sm_90", "--jobs", "1", "-o", &object];
                    own.take(compile(program.as_ref(), &arguments, &folder)?);
                }
                if let Some(ptxas) = against.filter(|_| bearable && other.wants_more()) {
                    other.take(compile(ptxas.as_ref(), &["-arch=sm_90", &source, "-o", &object], &folder)?);
                }
            }
            ours.push(own.cost());
            theirs.push(other.cost());
        }
        println!("{name:<18} {}", row(&ours));
        if against.is_some() {
            let ratios: Vec<String> =
                (0..SIZES.len()).map(|at| figure(theirs[at][0] / ours[at][0], 1)).collect();
            println!("{:<18} {}  {} times as long", "  ptxas", row(&theirs), ratios.join(" "));
        }
    }
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())
}
