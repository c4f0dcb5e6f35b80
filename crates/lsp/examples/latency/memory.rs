//! The memory of the server after all kernels are compiled, and after thousands of edits.

use serde_json::{Value, json};

use crate::client::Client;
use crate::edits::{KINDS, Random};
use crate::module::Module;
use crate::processor;
use crate::times::Times;

const URI: &str = "file:///w/large.ptx";
const OTHER: &str = "file:///w/other.ptx";

/// Compiles everything, prints the memory, returns the bytes: of the process, and as counted by the database.
fn held(client: &mut Client, what: &str, rows: usize) -> (u64, u64) {
    client.answer("ptx/kernelStats", json!({ "textDocument": { "uri": URI } }));
    let usage = client.answer("ptx/memoryUsage", json!({}));
    let resident = processor::resident().unwrap_or(0);
    let counted = usage["bytes"].as_u64().unwrap_or(0);
    let mebibytes = |bytes: u64| bytes as f64 / (1 << 20) as f64;
    println!("{what:<24} resident {:>8.1} MiB, counted {:>8.1} MiB", mebibytes(resident), mebibytes(counted));
    for row in usage["rows"].as_array().into_iter().flatten().take(rows) {
        let bytes = row["bytes"].as_u64().unwrap_or(0);
        println!(
            "    {:>9.2} MiB {:>8} {}",
            mebibytes(bytes),
            row["count"],
            row["name"].as_str().unwrap_or("")
        );
    }
    (resident, counted)
}

pub fn measure(module: &Module) {
    println!("\n# memory, {}", module.name);
    let kernels = module.kernels();
    let mut client = Client::start();
    client.open(URI, &module.text());
    held(&mut client, "all kernels compiled", 24);
    let small = Module::generated(3, 60);
    let mut random = Random::new(3);
    let mut done = 0;
    let mut times = Times::default();
    // Memory that edits fill once, as bounded caches and free memory between allocations, is not growth.
    for (goal, rows) in [(200, 0), (2_000, 0), (10_000, 24)] {
        while done < goal {
            let (_, lines) = &kernels[random.below(kernels.len())];
            let line = lines[random.below(lines.len())];
            for edit in KINDS[random.kind()].make(module, line, done) {
                client.edit(URI, &edit, &mut times);
                done += 1;
            }
            if done % 50 < 3 {
                client.open(OTHER, &small.text());
                client.close(OTHER);
                let target = |chip: Value| {
                    let asked = json!({ "uri": URI, "chip": chip });
                    json!({ "command": "oriole.setTarget", "arguments": [asked] })
                };
                client.answer("workspace/executeCommand", target(json!("sm_90a")));
                client.answer("workspace/executeCommand", target(Value::Null));
            }
        }
        held(&mut client, &format!("after {done} edits"), rows);
    }
    client.end();
}
