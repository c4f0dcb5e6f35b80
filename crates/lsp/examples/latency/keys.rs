//! From a keystroke to its diagnostics, over the mix of edits, while all kernels are compiled.

use std::time::Duration;

use serde_json::json;

use crate::client::Client;
use crate::edits::{KINDS, Random};
use crate::module::Module;
use crate::times::Times;

const URI: &str = "file:///w/large.ptx";
const EDITS: usize = 400;

pub fn measure(module: &Module) {
    let text = module.text();
    let kernels = module.kernels();
    println!(
        "\n# {}: {} kernels, {} lines, {} bytes",
        module.name,
        kernels.len(),
        module.lines.len(),
        text.len()
    );
    if kernels.is_empty() {
        return println!("it has no kernel to type into");
    }
    for busy in [false, true] {
        let mut client = Client::start();
        println!("open to diagnostics: {:.0} ms", client.open(URI, &text).as_secs_f64() * 1e3);
        client.answer("ptx/kernelStats", json!({ "textDocument": { "uri": URI } }));
        let mut random = Random::new(1);
        let mut kinds: Vec<Times> = KINDS.iter().map(|_| Times::default()).collect();
        let (mut completion, mut hover) = (Times::default(), Times::default());
        for number in 0..EDITS {
            let (_, lines) = &kernels[random.below(kernels.len())];
            let line = lines[random.below(lines.len())];
            let kind = random.kind();
            if busy {
                // All code is requested, and the edit comes some time into that. The level changes before the compile
                // is done, so that there is always work.
                if number % 20 == 0 {
                    let level = 1 + number / 20 % 3;
                    client
                        .tell("workspace/didChangeConfiguration", json!({ "settings": { "level": level } }));
                }
                client.compile_all(URI);
                std::thread::sleep(Duration::from_millis(1 + random.below(30) as u64));
            }
            for edit in KINDS[kind].make(module, line, number) {
                client.edit(URI, &edit, &mut kinds[kind]);
            }
            let place =
                json!({ "textDocument": { "uri": URI }, "position": { "line": line, "character": 8 } });
            client.timed("textDocument/completion", place.clone(), &mut completion);
            client.timed("textDocument/hover", place, &mut hover);
        }
        Times::head(if busy {
            "keystroke to diagnostics, all being compiled"
        } else {
            "keystroke to diagnostics, quiet"
        });
        let mut all = Times::default();
        for (kind, times) in KINDS.iter().zip(&kinds) {
            all.join(times);
            times.print(kind.name);
        }
        all.print("all");
        completion.print("completion");
        hover.print("hover");
        let waits = client.answer("ptx/writeWaits", json!({}));
        println!("a change waits for running work, in microseconds: {waits}");
        client.end();
    }
}
