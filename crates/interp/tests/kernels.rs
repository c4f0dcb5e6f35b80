//! Every kernel of `test-data/kernels` and its sibling folders gives the expected result.

use std::path::Path;

use crate::record::{self, Record};
use oriole_interp::Program;

/// The error in the result of a record, if any.
fn verdict(record: &Record) -> Option<String> {
    let module = oriole_hir::resolve_module(&record.ptx);
    if module.has_errors() {
        return Some(format!("the module has errors: {:?}", module.diagnostics.first()));
    }
    let outcome = oriole_interp::run(&Program::from_module(&module), &record.launch);
    if let Some(fault) = outcome.error {
        return Some(fault.to_string());
    }
    for (index, want) in &record.expect {
        let found = outcome.buffers[*index].as_deref().unwrap_or_default();
        if found.len() != want.len() {
            return Some(format!("argument {index} has {} bytes", found.len()));
        }
        let tolerance = record.compare.iter().find(|compare| compare.0 == *index);
        let width = tolerance.map_or(1, |(_, ty, _, _)| match ty.as_str() {
            "f64" => 8,
            "f32" => 4,
            _ => 2,
        });
        let near = |want: &[u8], found: &[u8]| match tolerance {
            None => want == found,
            Some((_, ty, kind, bound)) => is_near(ty, kind, *bound, want, found),
        };
        let pairs = want.chunks(width).zip(found.chunks(width));
        if let Some((place, (want, found))) = pairs.enumerate().find(|(_, (want, found))| !near(want, found))
        {
            return Some(format!(
                "argument {index}, element {place} of {width} bytes: {want:02x?} wanted, {found:02x?} found"
            ));
        }
    }
    None
}

fn is_near(ty: &str, kind: &str, bound: f64, want: &[u8], found: &[u8]) -> bool {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let number = |bytes: &[u8]| match ty {
        "f64" => f64::from_bits(word(bytes)),
        "f32" => f64::from(f32::from_bits(word(bytes) as u32)),
        "f16" => half(word(bytes) as u16),
        other => panic!("no tolerance for `{other}`"),
    };
    // Equal values pass, infinities too, and so do two NaNs.
    if want == found || number(want).is_nan() && number(found).is_nan() {
        return true;
    }
    let difference = (number(want) - number(found)).abs();
    match kind {
        "abs" => difference <= bound,
        "rel" => difference <= bound * number(want).abs(),
        // Neighbours of one sign are neighbours as integers.
        _ => word(want).abs_diff(word(found)) as f64 <= bound,
    }
}

/// The value of an f16.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (mantissa + 1024.0) * 2f64.powi(exponent - 25),
    }
}

#[test]
fn all_kernels_give_the_expected_results() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../test-data");
    let mut files: Vec<_> = ["kernels", "tensor-memory", "blackwell", "newest"]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(data.join(folder)).expect("the kernels are there"))
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    let mut wrong = Vec::new();
    let mut count = 0;
    for record in files.iter().flat_map(|file| record::read(file)) {
        count += 1;
        if let Some(reason) = verdict(&record) {
            wrong.push(format!("{}: {reason}", record.name));
        }
    }
    assert!(count >= 40, "only {count} records");
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
