//! `ptx/compare`: a kernel compiled by Oriole and by an installed `ptxas`: verdict, figures, machine code.

use oriole_chip::Chip;
use oriole_diagnostics::{Family, Severity};
use oriole_ide::{FileDiagnostic, FileId};
use serde_json::{Value, json};

use crate::asked::Asked;
use crate::environment::Ptxas;
use crate::outcome::{Answer, Failure};
use crate::snapshot::Snapshot;
use crate::values::statistics_value;

/// The compiler accepts the program.
const ACCEPTED: &str = "accepted";
/// The compiler rejects it.
const REFUSED: &str = "refused";
/// It is valid as far as we know, and we cannot compile it yet.
const NOT_SUPPORTED: &str = "not supported";

pub(crate) fn compare(snapshot: Snapshot, asked: Asked) -> Answer {
    let uri = asked.uri()?.to_owned();
    let (file, text) = snapshot.open(&uri)?;
    let chip = snapshot.chip(file, asked.chip()?)?;
    let kernel = asked.kernel()?.to_owned();
    if !snapshot.analysis.kernels(file)?.contains(&kernel) {
        return Err(Failure::Failed(format!("there is no kernel `{kernel}`")));
    }
    let mut own = verdict(&snapshot, file, chip)?;
    own["kernel"] = json!(kernel);
    own["chip"] = json!(chip.to_string());
    if own["verdict"] == ACCEPTED {
        let found = snapshot.analysis.kernel_statistics(file, &kernel, chip)?;
        own["statistics"] = json!(found.map(|found| statistics_value(&text, &found)));
        own["sass"] = json!(snapshot.analysis.sass(file, &kernel, chip)?.map(|listing| listing.text()));
    }
    let environment = snapshot.environment.clone();
    // ptxas takes its time: no change waits for it.
    drop(snapshot);
    let other = match environment.ptxas(&text.text, &chip.to_string()).map_err(failed)? {
        Ptxas::Refused(report) => json!({ "verdict": REFUSED, "report": report }),
        Ptxas::Made { cubin, report } => theirs(&cubin, &report, &kernel)?,
    };
    let same = (own["verdict"] == REFUSED) == (other["verdict"] == REFUSED);
    Ok(json!({ "agree": same, "oriole": own, "ptxas": other }))
}

fn failed(error: impl std::error::Error) -> Failure {
    Failure::Failed(error.to_string())
}

/// The verdict of Oriole on the file, for a chip.
fn verdict(snapshot: &Snapshot, file: FileId, chip: Chip) -> Result<Value, Failure> {
    let mut errors: Vec<FileDiagnostic> = snapshot.analysis.diagnostics(file)?;
    if !errors.iter().any(|found| found.severity == Severity::Error) {
        errors.extend(snapshot.analysis.code_diagnostics(file, chip)?);
    }
    errors.retain(|found| found.severity == Severity::Error);
    let ours = |found: &FileDiagnostic| matches!(found.code.family(), Family::Support | Family::Internal);
    let verdict = match errors.as_slice() {
        [] => ACCEPTED,
        list if list.iter().all(ours) => NOT_SUPPORTED,
        _ => REFUSED,
    };
    let messages: Vec<String> =
        errors.iter().take(16).map(|found| format!("{}: {}", found.code, found.message)).collect();
    Ok(json!({ "verdict": verdict, "diagnostics": messages }))
}

/// Figures and code of ptxas's cubin.
fn theirs(cubin: &[u8], report: &str, kernel: &str) -> Result<Value, Failure> {
    let read = oriole_ide::annotate(cubin).map_err(failed)?;
    let from = read.lines.iter().position(|line| line.begins.as_deref() == Some(kernel));
    let Some(from) = from else {
        return Err(Failure::Failed(format!("the cubin of `ptxas` does not hold `{kernel}`")));
    };
    let lines: Vec<&str> = read.text.lines().collect();
    let section: Vec<&str> =
        lines[from + 1..].iter().copied().take_while(|line| !line.is_empty()).map(str::trim_start).collect();
    let instructions = section.iter().filter(|line| line.starts_with("/*") && !line.contains(" NOP")).count();
    let figure = |words: &str| figure(report, kernel, words);
    Ok(json!({
        "verdict": ACCEPTED,
        "summary": lines[from],
        "instructions": instructions,
        "registers": figure("registers"),
        "stack": figure("bytes stack frame"),
        "spills": { "stores": figure("bytes spill stores"), "loads": figure("bytes spill loads") },
        "shared": figure("bytes smem").unwrap_or(0),
        "sass": section.join("\n"),
        "report": report
    }))
}

/// The number before some words, in ptxas's report about a kernel.
fn figure(report: &str, kernel: &str, words: &str) -> Option<u64> {
    let begin = report.find(&format!("Compiling entry function '{kernel}'"))?;
    let about = &report[begin..];
    let end = about[1..].find("Compiling entry function").map_or(about.len(), |at| at + 1);
    let before = about[..end].split(words).next().filter(|before| before.len() < end)?;
    before.trim_end().rsplit(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_report() {
        let report = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 528 bytes smem
ptxas info    : Compiling entry function 'b' for 'sm_90'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers
";
        let of = |kernel: &str, words: &str| figure(report, kernel, words);
        assert_eq!(of("a", "registers"), Some(24));
        assert_eq!(of("a", "bytes spill loads"), Some(12));
        assert_eq!(of("a", "bytes smem"), Some(528));
        assert_eq!(of("b", "registers"), Some(10));
        assert_eq!(of("b", "bytes smem"), None);
        assert_eq!(of("c", "registers"), None);
    }
}
