//! Checks PTX files and prints one line for each diagnostic: file, line, severity, code, message.
//!
//! It judges thousands of small files in one process; `oriole check` is the program for people.

use oriole_diagnostics::LineIndex;
use oriole_hir::resolve_module;

fn main() {
    for path in std::env::args().skip(1) {
        let Ok(text) = std::fs::read_to_string(&path) else {
            println!("{path}:0: error [io] cannot be read");
            continue;
        };
        let index = LineIndex::new(&text);
        let module = resolve_module(&text);
        for found in &module.diagnostics {
            let line = index.line_column(found.span.start).line;
            println!("{path}:{line}: {} [{}] {}", found.severity.as_str(), found.code, found.message);
        }
    }
}
