//! From a keystroke to the fresh code of the changed kernel, where code is shown already.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Client;
use crate::edits::{KINDS, Random};
use crate::module::{Module, kernel};
use crate::times::Times;

const URI: &str = "file:///w/large.ptx";

/// The time of ptxas for a text, the best of three; `None` if it is not installed.
fn outside(text: &str) -> Option<Duration> {
    let program = Path::new(&std::env::var_os("ORIOLE_ORACLE")?).join("ptxas");
    let folder = std::env::temp_dir().join(format!("oriole-latency-{}", std::process::id()));
    std::fs::create_dir_all(&folder).ok()?;
    let (input, output) = (folder.join("in.ptx"), folder.join("out.cubin"));
    std::fs::write(&input, text).ok()?;
    let mut best = None;
    for _ in 0..3 {
        let since = Instant::now();
        let done = Command::new(&program)
            .args(["-arch", "sm_90", "-O3", "-o"])
            .arg(&output)
            .arg(&input)
            .output()
            .ok()?;
        if !done.status.success() {
            break;
        }
        best = best.into_iter().chain([since.elapsed()]).min();
    }
    let _ = std::fs::remove_dir_all(&folder);
    best
}

/// Edits a kernel and requests its code, `count` times. Returns the number of instructions.
fn rounds(
    client: &mut Client,
    module: &Module,
    name: &str,
    lines: &[usize],
    count: usize,
    times: &mut Times,
) -> usize {
    let mut random = Random::new(7);
    let mut instructions = 0;
    let asked = json!({ "textDocument": { "uri": URI }, "kernel": name });
    // The code is shown before the first keystroke: the cost of opening a file is not part of the latency.
    client.answer("ptx/viewSass", asked.clone());
    for number in 0..count {
        let line = lines[random.below(lines.len())];
        // An added statement, of a kind that compiles in every kernel; then it is removed.
        for edit in KINDS[1].make(module, line, number) {
            client.compile_all(URI);
            std::thread::sleep(Duration::from_millis(1 + random.below(20) as u64));
            let listing = client.code(URI, &edit, &asked, times);
            assert_ne!(listing["stale"], Value::Bool(true), "the code is fresh");
            instructions = listing["rows"].as_array().map_or(instructions, Vec::len);
        }
    }
    instructions
}

/// The curve over sizes: one kernel of each size among two hundred others that are compiled meanwhile.
pub fn curve() {
    println!("\n# keystroke to fresh SASS at -O3, 200 other kernels being compiled; ms");
    println!(
        "{:>8} {:>8}  {:>24}  {:>24} {:>12}",
        "lines", "SASS", "processor p50 p99 most", "wall p50 p99 most", "ptxas alone"
    );
    for size in [50, 100, 200, 400, 800, 1500, 3000, 6000] {
        let mut module = Module::generated(200, 200);
        module.lines.extend(kernel("measured", 5, size));
        let (name, lines) = module.kernels().pop().expect("a kernel was added");
        let mut client = Client::start();
        client.open(URI, &module.text());
        let mut times = Times::default();
        // Two times a round: a 99th percentile needs a hundred rounds or more.
        let count = match size {
            0..=400 => 100,
            401..=1500 => 50,
            _ => 10,
        };
        let instructions = rounds(&mut client, &module, &name, &lines, count, &mut times);
        client.end();
        let header = module.lines[..3].join("\n");
        let alone = format!("{header}\n{}\n", kernel("measured", 5, size).join("\n"));
        print(size, instructions, &times, &alone);
    }
}

fn print(lines: usize, instructions: usize, times: &Times, alone: &str) {
    let outside =
        outside(alone).map_or_else(|| "-".to_owned(), |time| format!("{:.1}", time.as_secs_f64() * 1e3));
    println!("{lines:>8} {instructions:>8}  {times} {outside:>12}");
}

/// The latency for the largest kernel of a file.
pub fn of_file(module: &Module) {
    let Some((name, lines)) = module.kernels().into_iter().max_by_key(|kernel| kernel.1.len()) else {
        return;
    };
    println!("\n# keystroke to fresh SASS of `{name}` in {}", module.name);
    let mut client = Client::start();
    client.open(URI, &module.text());
    let mut times = Times::default();
    let instructions = rounds(&mut client, module, &name, &lines, 10, &mut times);
    client.end();
    print(lines.len(), instructions, &times, &module.text());
}

/// Half a minute of typing, eight keys a second. The code is requested after each key, as a view next to the text does.
pub fn typing(module: &Module) {
    const KEYS: usize = 240;
    const BETWEEN: Duration = Duration::from_millis(125);
    let kernels = module.kernels();
    let (name, lines) = &kernels[kernels.len() / 2];
    let mut client = Client::start();
    client.open(URI, &module.text());
    client.compile_all(URI);
    let asked = json!({ "textDocument": { "uri": URI }, "kernel": name });
    let (mut fresh, mut stale, mut none) = (Times::default(), 0, 0);
    let statement = "    add.u32 %r3, %r3, 1;\n";
    let line = lines[lines.len() / 2];
    for key in 0..KEYS {
        let at = key % (statement.len() + 1);
        let since = Instant::now();
        // Letter by letter; then the whole line is deleted, and again.
        let edit = match statement[at.min(statement.len())..].chars().next() {
            Some('\n') | None if at == statement.len() => crate::module::Edit {
                changes: vec![crate::module::Change {
                    start: (line, 0),
                    end: (line + 1, 0),
                    text: String::new(),
                }],
            },
            letter => crate::module::Edit {
                changes: vec![crate::module::Change {
                    start: (line, at),
                    end: (line, at),
                    text: letter.unwrap_or(' ').to_string(),
                }],
            },
        };
        client.send(URI, &edit);
        let id = client.ask("ptx/viewSass", asked.clone());
        match client.response_within(&id, BETWEEN.saturating_sub(since.elapsed())) {
            Some(response)
                if response.response_result.as_ref().is_ok_and(|listing| listing["stale"] != true) =>
            {
                fresh.add(since.elapsed(), None);
            }
            Some(_) => stale += 1,
            None => none += 1,
        }
        std::thread::sleep(BETWEEN.saturating_sub(since.elapsed()));
    }
    Times::head("30 s of typing, 8 keys a second");
    fresh.print("fresh SASS before the next key");
    println!(
        "the last good SASS, marked stale, since the text has an error: {stale}; no answer in time: {none}"
    );
    client.end();
}
