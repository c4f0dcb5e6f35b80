//! Checks PTX files and prints what is wrong with them, one line a finding.
//!
//! It is here to run the checker over a corpus before and besides the command line tool. `--quiet` prints counts
//! only, `--bodies` the resolved bodies, `--support` also what the back end cannot compile yet.

use std::time::Instant;

use oriole_diagnostics::{Diagnostic, LineIndex};
use oriole_hir::{resolve_module, unsupported};

fn main() {
    let mut quiet = false;
    let mut bodies = false;
    let mut support = false;
    let (mut files, mut clean, mut broken) = (0, 0, 0);
    let start = Instant::now();
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--quiet" => quiet = true,
            "--bodies" => bodies = true,
            "--support" => support = true,
            path => {
                files += 1;
                let bytes = match std::fs::read(path) {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        println!("{path}: {error}");
                        broken += 1;
                        continue;
                    }
                };
                let text = String::from_utf8_lossy(&bytes);
                let module = resolve_module(&text);
                let index = LineIndex::new(&text);
                let mut errors = module.diagnostics.iter().filter(|found| found.is_error()).count();
                let print = |found: &Diagnostic| {
                    let place = index.line_column(found.span.start);
                    println!(
                        "{path}:{}:{}: {} [{}] {}",
                        place.line,
                        place.column,
                        found.severity.as_str(),
                        found.code,
                        found.message
                    );
                };
                if !quiet {
                    for found in &module.diagnostics {
                        print(found);
                    }
                }
                if support {
                    for (_, _, resolved) in &module.functions {
                        for found in unsupported(&resolved.body, &resolved.source_map) {
                            errors += 1;
                            println!("{path}: {} {}", resolved.name, found.message);
                        }
                    }
                }
                if bodies {
                    for (name, kind, resolved) in &module.functions {
                        println!("{kind:?} {name}: {:#?}", resolved.body);
                    }
                }
                if errors == 0 {
                    clean += 1;
                } else {
                    broken += 1;
                }
            }
        }
    }
    println!("{files} files, {clean} without errors, {broken} with errors, {:.1?}", start.elapsed());
}
