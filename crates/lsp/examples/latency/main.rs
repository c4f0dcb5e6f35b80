//! Latencies of an editor, measured over the protocol on one generated file, or on given files.
//!
//!     cargo run --release -p oriole-lsp --example latency [keys] [sass] [typing] [memory] [FILE.ptx ...]
//!
//! `keys`: from the message of a change to the diagnostics of that version, over a mix of edits, with completion and
//! hover; all kernels are compiled meanwhile. `sass`: to the fresh code of the changed kernel, as a curve over its
//! size, compared with ptxas if `ORIOLE_ORACLE` names its folder. `typing`: half a minute of steady typing. `memory`:
//! the memory of the server after thousands of edits. Without a word all of them.
//!
//! Two times are printed. CPU time is that of the threads that a request runs on, which Linux reports thread by thread;
//! wall time includes all other work of the computer, above all the compile of all kernels.

mod client;
mod edits;
mod keys;
mod memory;
mod module;
mod processor;
mod sass;
mod times;

use module::Module;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    oriole_lsp::refuse_huge_pages();
    let mut parts: Vec<String> = Vec::new();
    let mut files: Vec<String> = Vec::new();
    for word in std::env::args().skip(1) {
        match word.as_str() {
            "keys" | "sass" | "typing" | "memory" => parts.push(word),
            _ => files.push(word),
        }
    }
    let wants = |part: &str| parts.is_empty() || parts.iter().any(|word| word == part);
    let generated = Module::generated(500, 200);
    if wants("keys") {
        if files.is_empty() {
            keys::measure(&generated);
        }
        for file in &files {
            keys::measure(&Module::read(file));
        }
    }
    if wants("sass") {
        if files.is_empty() {
            sass::curve();
        }
        for file in &files {
            sass::of_file(&Module::read(file));
        }
    }
    if wants("typing") {
        sass::typing(&generated);
    }
    if wants("memory") {
        memory::measure(&generated);
    }
}
