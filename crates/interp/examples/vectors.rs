//! Runs files of launch records on the interpreter. For each record one line of JSON with the final contents of its
//! arguments goes to standard output. An error goes to standard error: a fault, or the first argument with unexpected
//! bytes.
//!
//!     cargo run --release -p oriole-interp --example vectors -- FILE...

#[path = "../tests/record/mod.rs"]
mod record;

use std::io::Write;
use std::path::Path;

use oriole_interp::Program;

fn main() {
    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
    let mut wrong = 0;
    let mut last = (String::new(), Program::default());
    for file in std::env::args().skip(1) {
        for record in record::read(Path::new(&file)) {
            if last.0 != record.ptx {
                let module = oriole_hir::resolve_module(&record.ptx);
                if let Some(error) = module.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
                    eprintln!("{}: {error:?}", record.name);
                }
                last = (record.ptx.clone(), Program::from_module(&module));
            }
            let outcome = oriole_interp::run(&last.1, &record.launch);
            for text in &outcome.output {
                eprint!("{text}");
            }
            let reason = match &outcome.error {
                Some(fault) => Some(fault.to_string()),
                None => record
                    .expect
                    .iter()
                    .find(|(index, want)| {
                        record.compare.iter().all(|compare| compare.0 != *index)
                            && outcome.buffers[*index].as_ref() != Some(want)
                    })
                    .map(|(index, _)| format!("argument {index} is not as expected")),
            };
            if let Some(reason) = reason {
                wrong += 1;
                eprintln!("{}: {reason}", record.name);
                continue;
            }
            let args: Vec<_> = outcome
                .buffers
                .iter()
                .map(|buffer| {
                    let bytes = buffer.iter().flatten();
                    serde_json::json!({ "bytes_hex": bytes.map(|byte| format!("{byte:02x}")).collect::<String>() })
                })
                .collect();
            let line = serde_json::json!({ "name": record.name, "args": args });
            if writeln!(output, "{line}").is_err() {
                return;
            }
        }
    }
    if wrong > 0 {
        eprintln!("{wrong} wrong");
    }
}
