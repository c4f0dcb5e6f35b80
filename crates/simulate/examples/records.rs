//! Runs launch records on cubins and prints the results as JSON lines: `records [--seed N] [--verbose] FILE`.
//!
//! A record is a JSON object {name, cubin (path relative to the file; `NAME.cubin` if absent), entry, grid, block,
//! shared_bytes, args: [{buffer: {bytes_hex}} | {buffer: {len, fill}} | {scalar: {type, value}}], expect: {argument
//! number: {bytes_hex}}}. A development aid for checking the simulator against large collections of cubins.

use oriole_simulate::{Argument, Launch, Options, Outcome, run};
use serde_json::{Value, json};
use std::path::Path;

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

fn three(value: &Value) -> [u32; 3] {
    std::array::from_fn(|axis| value[axis].as_u64().unwrap_or(1) as u32)
}

fn argument(value: &Value) -> Argument {
    if let Some(buffer) = value.get("buffer") {
        if let Some(text) = buffer["bytes_hex"].as_str() {
            return Argument::Buffer(hex(text));
        }
        let length = buffer["len"].as_u64().unwrap_or(0) as usize;
        return Argument::Buffer(vec![buffer["fill"].as_u64().unwrap_or(0) as u8; length]);
    }
    let scalar = &value["scalar"];
    let number = &scalar["value"];
    let bits = number.as_u64().or_else(|| number.as_i64().map(|x| x as u64)).unwrap_or(0);
    let bits = match scalar["type"].as_str() {
        Some("f32") => u64::from((number.as_f64().unwrap_or(0.0) as f32).to_bits()),
        Some("f64") => number.as_f64().unwrap_or(0.0).to_bits(),
        _ => bits,
    };
    let size = scalar["type"].as_str().and_then(|name| name[1..].parse::<usize>().ok()).unwrap_or(64) / 8;
    let mut bytes = bits.to_le_bytes().to_vec();
    bytes.resize(size, 0);
    Argument::Value(bytes)
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut seed = None;
    if let Some(at) = arguments.iter().position(|argument| argument == "--seed") {
        seed = arguments.get(at + 1).and_then(|text| text.parse().ok());
        arguments.drain(at..at + 2);
    }
    let verbose = arguments.iter().any(|argument| argument == "--verbose");
    arguments.retain(|argument| argument != "--verbose");
    let Some(path) = arguments.first() else {
        eprintln!("usage: records [--seed N] [--verbose] FILE");
        std::process::exit(2);
    };
    let folder = Path::new(path).parent().unwrap_or(Path::new("."));
    let text = std::fs::read_to_string(path).expect("the record file can be read");
    let (mut right, mut wrong, mut hazardous) = (0, 0, 0);
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).expect("a record is JSON");
        let name = record["name"].as_str().unwrap_or("?");
        let file = record["cubin"].as_str().map_or_else(|| format!("{name}.cubin"), str::to_string);
        let cubin = std::fs::read(folder.join(file)).map_err(|error| error.to_string());
        let cubin = cubin.and_then(|bytes| oriole_cubin::read(&bytes).map_err(|error| error.to_string()));
        let cubin = match cubin {
            Ok(cubin) => cubin,
            Err(error) => {
                eprintln!("{name}: {error}");
                wrong += 1;
                continue;
            }
        };
        let launch = launch(&record, seed);
        let outcome = run(&cubin, &launch);
        hazardous += usize::from(!outcome.hazards.is_empty());
        tell(name, &outcome, verbose);
        let (results, good) = compare(name, &record["expect"], &launch.arguments, &outcome);
        if good {
            right += 1
        } else {
            wrong += 1
        }
        println!("{}", json!({ "name": name, "args": results }));
    }
    eprintln!("{right} as expected, {wrong} not; {hazardous} with hazards");
}

fn launch(record: &Value, seed: Option<u64>) -> Launch {
    Launch {
        kernel: record["entry"].as_str().unwrap_or("").to_string(),
        grid: three(&record["grid"]),
        cluster: record["cluster"].is_array().then(|| three(&record["cluster"])),
        block: three(&record["block"]),
        dynamic_shared: record["shared_bytes"].as_u64().unwrap_or(0) as u32,
        bindings: Vec::new(),
        arguments: record["args"].as_array().into_iter().flatten().map(argument).collect(),
        options: Options { perturb: seed, ..Options::default() },
    }
}

/// Prints the outcome of a run: its error, and its length.
fn tell(name: &str, outcome: &Outcome, verbose: bool) {
    if let Some(error) = &outcome.error {
        eprintln!("{name}: {error}");
    }
    for hazard in &outcome.hazards {
        eprintln!("{name}: {hazard}");
    }
    if verbose {
        eprintln!("{name}: {} instructions, {} cycles", outcome.instructions, outcome.cycles);
    }
}

/// The contents of each buffer after the run, and whether they are as the record expects.
fn compare(name: &str, expect: &Value, arguments: &[Argument], outcome: &Outcome) -> (Vec<Value>, bool) {
    let mut buffers = outcome.buffers.iter();
    let mut results = Vec::new();
    let mut good = outcome.error.is_none();
    for (number, argument) in arguments.iter().enumerate() {
        if matches!(argument, Argument::Value(_)) {
            results.push(json!({}));
            continue;
        }
        let empty = Vec::new();
        let bytes = buffers.next().unwrap_or(&empty);
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        if let Some(expected) = expect[number.to_string()]["bytes_hex"].as_str()
            && expected != text
        {
            good = false;
            let mut pairs = expected.as_bytes().iter().zip(text.as_bytes());
            let at = pairs.position(|(a, b)| a != b).unwrap_or(0) / 8 * 8;
            let part = |text: &str| text.get(at..(at + 16).min(text.len())).unwrap_or("").to_string();
            let (want, got) = (part(expected), part(&text));
            eprintln!("{name}: argument {number} at byte {}: want {want} got {got}", at / 2);
        }
        results.push(json!({ "bytes_hex": text }));
    }
    (results, good)
}
