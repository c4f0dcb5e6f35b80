//! Oriole embedded in another program: one host, edits in one thread, queries in others, cancellation.
//!
//! `cargo run -p oriole-ide --example embed` prints what it found. `docs/embedding.md` walks through it, and a test runs
//! it.

use std::collections::BTreeMap;
use std::sync::mpsc;

use oriole_chip::Chip;
use oriole_ide::{AnalysisHost, Cancellable, Change, FileId, Language, Range, Settings, SettingsId};

/// A kernel that adds a constant `times` times.
pub fn kernel(name: &str, times: usize) -> String {
    let body = "    add.u32 %r1, %r1, 3;\n    mul.lo.u32 %r1, %r1, %r1;\n".repeat(times);
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry {name}(.param .u64 p)\n{{\n    \
         .reg .b32 %r<2>;\n    .reg .b64 %d<3>;\n    ld.param.u64 %d1, [p];\n    cvta.to.global.u64 %d2, %d1;\n    \
         ld.global.u32 %r1, [%d2];\n{body}    st.global.u32 [%d2], %r1;\n    ret;\n}}\n"
    )
}

/// A report of the threads.
#[derive(Debug)]
pub enum Report {
    /// Number of diagnostics of a revision.
    Diagnostics(usize, usize),
    /// Number of machine instructions of a revision; `Cancelled` if a change came first.
    Code(usize, Cancellable<usize>),
}

/// Keeps a host, edits, and queries from two threads after each change.
pub fn session(edits: usize) -> Vec<Report> {
    let mut host = AnalysisHost::new();
    let file: FileId = host.open(Language::Ptx, &kernel("k", 20), SettingsId(0));
    let (sender, reports) = mpsc::channel();
    for revision in 0..edits {
        // A change cancels running queries of snapshots and waits until the snapshots are dropped.
        let at = host.analysis().text(file).map_or(0, |text| text.find("    add").unwrap_or(0)) as u32;
        let new = format!("    add.u32 %r1, %r1, {revision};\n");
        host.change(file, &[Change { range: Some(Range::point(at)), text: new }]);
        for code in [false, true] {
            // A snapshot goes to a thread and is dropped there.
            let (analysis, sender) = (host.analysis(), sender.clone());
            std::thread::spawn(move || {
                let report = if code {
                    let listing = analysis.sass(file, "k", Chip::SM_90);
                    Report::Code(revision, listing.map(|found| found.map_or(0, |found| found.rows.len())))
                } else {
                    match analysis.diagnostics(file) {
                        Ok(found) => Report::Diagnostics(revision, found.len()),
                        // The next change was quicker: its own query follows.
                        Err(cancelled) => Report::Code(revision, Err(cancelled)),
                    }
                };
                let _ = sender.send(report);
            });
        }
    }
    drop(sender);
    reports.into_iter().collect()
}

/// The containers of some kernels under some settings, compiled by eight threads over two hosts in one process.
pub fn two_hosts() -> BTreeMap<String, Vec<u8>> {
    let mut quick = Settings { targets: vec![Chip::SM_90], ..Settings::default() };
    quick.options.level = 0;
    let mut tight = Settings { targets: vec![Chip::SM_90A], ..Settings::default() };
    tight.options.set("maxrregcount", "32").expect("the knob exists");
    let hosts = [("quick", quick), ("tight", tight)].map(|(name, settings)| {
        let chip = settings.targets[0];
        let mut host = AnalysisHost::new();
        let id = host.add_settings(settings);
        let files: Vec<FileId> =
            (1..5).map(|times| host.open(Language::Ptx, &kernel("k", times * 10), id)).collect();
        (name, host, chip, files)
    });
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        for (name, host, chip, files) in &hosts {
            for &file in files {
                let analysis = host.analysis();
                workers.push(scope.spawn(move || {
                    let bytes = analysis.cubin(file, *chip).expect("nothing cancels").expect("it compiles");
                    (format!("{name} {}", file.0), bytes.to_vec())
                }));
            }
        }
        workers.into_iter().map(|worker| worker.join().expect("no thread panics")).collect()
    })
}

/// Prints the results of both.
pub fn main() {
    for report in session(10) {
        println!("{report:?}");
    }
    for (name, bytes) in two_hosts() {
        println!("{name}: {} bytes", bytes.len());
    }
}
