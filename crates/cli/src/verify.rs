//! `oriole verify`: does machine code do what its PTX says? Both are run, on launches that are given or made.
//!
//! The exit status is 0 if every kernel was compared and is right, 1 if one differs, 3 if none differs and some could not
//! be compared.

mod message;

use crate::arguments::{Machine, Verify};
use crate::checks;
use crate::code;
use crate::files::device::{self, Asked};
use crate::files::input;
use crate::files::output::Output;
use crate::launch::{self, Launch, encode};
use crate::messages::{self, MessageFormat};
use crate::names;
use crate::outcome::{Outcome, failed, misused, print};
use crate::session;
use oriole_cubin::Cubin;
use oriole_verify::{Coverage, Difference, Element, Report, Source, Subject, Verdict, What};
use std::fmt::Write as _;
use std::path::Path;

/// Most arguments of a launch that are shown.
const SHOWN: usize = 8;

/// Runs the command.
pub fn verify(arguments: &Verify) -> Outcome {
    let (chip, options) = match session::options(&arguments.target) {
        Ok(read) => read,
        Err(message) => return misused(message),
    };
    let checked = match checks::asked(arguments.check.as_deref(), Machine::Interp) {
        Ok(asked) => asked,
        Err(message) => return misused(message),
    };
    if arguments.json && messages::format() != MessageFormat::Human {
        return misused("--json and --message-format are two formats of the same");
    }
    let output = arguments.save.as_deref().map(|path| Output::new(path, &arguments.input)).transpose();
    let launches = arguments.launch.as_deref().map(launch::read).transpose();
    let (output, launches) = match (output, launches) {
        (Ok(output), Ok(launches)) => (output, launches),
        (Err(message), _) => return failed(message),
        (_, Err(message)) => return misused(message),
    };
    let asked =
        Asked { kernels: &arguments.entries, ..Asked::of(&arguments.target.arch, &arguments.which.image) };
    let text = match device::text(&arguments.input, asked) {
        Ok(text) => text,
        Err(error) => return error.report(),
    };
    let shown = input::shown(&arguments.input);
    let source = match Source::of(&text) {
        Ok(source) => source,
        Err(error) => return failed(format!("{shown}: {error}")),
    };
    let entries = match chosen(&source, arguments) {
        Ok(entries) => entries,
        Err(message) => return misused(message),
    };
    let made = match &arguments.cubin {
        Some(path) => {
            let asked = Asked { image: arguments.cubin_image.as_deref(), ..asked };
            crate::dis::read_cubin(path, asked).map(|(cubin, _)| cubin).map_err(|error| error.to_string())
        }
        None => compiled(Path::new(&*shown), &text, chip, &options),
    };
    let cubin = match made {
        Ok(cubin) => cubin,
        Err(message) => return failed(message),
    };
    let source = on_chip(source, &cubin);
    let reports = reports(&source, &cubin, &entries, launches.as_deref(), arguments);
    let mut saved = String::new();
    let mut outcome = Outcome::Right;
    for report in &reports {
        match &report.verdict {
            Verdict::Same => {}
            Verdict::Undecided(_) if outcome == Outcome::Right => outcome = Outcome::Undecided,
            Verdict::Undecided(_) => {}
            Verdict::Different(difference) => {
                outcome = Outcome::Failed;
                if output.is_some() {
                    match record(&source, &text, report, difference) {
                        Ok(record) => saved.push_str(&record),
                        Err(message) => drop(failed(message)),
                    }
                }
            }
        }
        let mut found = checked.map(|asked| {
            checks::of_launches(
                &source,
                &launches_of(&source, report, launches.as_deref(), arguments),
                asked,
                arguments.limit,
            )
        });
        if found.as_ref().is_some_and(|found| found.faults > 0) {
            outcome = Outcome::Failed;
        }
        if messages::format() != MessageFormat::Human {
            let code = arguments.cubin.as_deref().map(input::shown);
            message::give(&source, report, (&shown, code.as_deref()));
            if let Some(found) = &mut found {
                found.give(&shown);
                found.text.clear();
            }
        }
        show(arguments.json, &source, (report, found.as_ref()));
    }
    if let Some(output) = output
        && let Err(message) = output.write(saved.as_bytes())
    {
        return failed(message);
    }
    outcome
}

fn compiled(
    path: &Path,
    text: &str,
    chip: Option<oriole_chip::Chip>,
    options: &oriole_options::Options,
) -> Result<Cubin, String> {
    let bytes = code::cubin_of(path, text, chip, options).map_err(|error| error.to_string())?;
    oriole_cubin::read(&bytes).map_err(|error| error.to_string())
}

/// The program with the matrix unit of the code's chip.
fn on_chip<'a>(source: Source<'a>, cubin: &Cubin) -> Source<'a> {
    match oriole_verify::chip_of(cubin) {
        Some(chip) => source.on(chip),
        None => source,
    }
}

/// The kernels that are asked for.
fn chosen(source: &Source, arguments: &Verify) -> Result<Vec<String>, names::UnclearName> {
    let all: Vec<&str> = oriole_verify::entries(&source.program).collect();
    if arguments.entries.is_empty() {
        return Ok(all.iter().map(|&name| name.to_owned()).collect());
    }
    let asked = arguments.entries.iter();
    asked.map(|asked| names::one_of("kernel", &all, asked).map(str::to_owned)).collect()
}

fn reports(
    source: &Source,
    cubin: &Cubin,
    entries: &[String],
    launches: Option<&[Launch]>,
    arguments: &Verify,
) -> Vec<Report> {
    let options = options(arguments);
    let subject = Subject { program: &source.program, cubin };
    let reports = entries.iter().filter_map(|entry| {
        let Some(launches) = launches else {
            return Some(oriole_verify::verify(subject, entry, &options));
        };
        let own = launches.iter().filter(|launch| launch.entry == *entry);
        let own: Vec<oriole_interp::Launch> =
            own.map(|launch| launch.for_interpreter(arguments.step_limit)).collect();
        let wanted = !own.is_empty() || !arguments.entries.is_empty();
        wanted.then(|| oriole_verify::verify_on(subject, entry, &own, &options))
    });
    reports.collect()
}

/// The launches of a kernel, as the interpreter takes them: those that are given, or else those that are made.
fn launches_of(
    source: &Source,
    report: &Report,
    given: Option<&[Launch]>,
    arguments: &Verify,
) -> Vec<oriole_interp::Launch> {
    match given {
        Some(given) => {
            let own = given.iter().filter(|launch| launch.entry == report.entry);
            own.map(|launch| launch.for_interpreter(arguments.step_limit)).collect()
        }
        // Why there are none is the report's verdict.
        None => {
            oriole_verify::launches(&source.program, &report.entry, &options(arguments)).unwrap_or_default()
        }
    }
}

fn options(arguments: &Verify) -> oriole_verify::Options {
    let defaults = oriole_verify::Options::default();
    oriole_verify::Options {
        seeds: arguments.seeds,
        budget: arguments.step_limit.unwrap_or(defaults.budget),
        ..defaults
    }
}

fn show(json: bool, source: &Source, (report, found): (&Report, Option<&checks::Found>)) {
    if json {
        let mut value = document(source, report);
        if let Some(found) = found {
            value["findings"] = found.document.clone();
        }
        print(&format!("{value}\n"));
        return;
    }
    let mut text = format!("{}: ", report.entry);
    match &report.verdict {
        Verdict::Same => {
            let _ = write!(text, "same in {}", launches(report.launches));
            if report.loose > 0 {
                let _ = write!(text, ", in {} of them as far as PTX defines the result", report.loose);
            }
            let _ = writeln!(text, "; {}", covered(&report.coverage));
        }
        Verdict::Undecided(reason) => {
            let _ = writeln!(text, "undecided: {reason}");
        }
        Verdict::Different(difference) => describe(&mut text, source, difference),
    }
    text.extend(found.map(|found| found.text.as_str()));
    messages::result(&names::explained(&text));
}

fn launches(count: u32) -> String {
    if count == 1 { "1 launch".to_owned() } else { format!("{count} launches") }
}

fn covered(coverage: &Coverage) -> String {
    let ((instructions, all), (ways, of)) = (coverage.instructions(), coverage.ways());
    let mut text = format!("{instructions} of {all} instructions executed");
    if of > 0 {
        let _ = write!(text, ", {ways} of {of} ways of branches taken");
    }
    text
}

fn describe(text: &mut String, source: &Source, difference: &Difference) {
    match &difference.what {
        What::Memory(Element { buffer, offset, expected, found }) => {
            let _ = writeln!(text, "different: {buffer}, byte {offset}");
            let _ = writeln!(text, "  PTX gives {}, the code {}", value(expected), value(found));
        }
        What::Fault(fault) => {
            let _ = writeln!(text, "different: the code ends with a fault, the PTX does not: {fault}");
        }
        What::Hazard(hazard) => {
            let _ = writeln!(text, "different: the code depends on the speed of the hardware: {hazard}");
        }
    }
    if let Some(site) = &difference.ptx {
        let (line, statement) = source.line(site).unwrap_or((0, ""));
        let ([x, y, z], [a, b, c]) = (site.block, site.thread);
        let _ = writeln!(text, "  PTX line {line}: {statement}");
        let _ = writeln!(text, "  block {x},{y},{z}, thread {a},{b},{c}");
    }
    if let Some((address, instruction)) = &difference.code {
        let _ = writeln!(text, "  code at {address:#06x}: {instruction}");
    }
    let launch = &difference.launch;
    let shape = |[x, y, z]: [u32; 3]| format!("{x},{y},{z}");
    let _ = write!(text, "  grid {}, block {}", shape(launch.grid), shape(launch.block));
    for (number, argument) in launch.args.iter().enumerate().take(SHOWN) {
        match argument {
            oriole_interp::Arg::Buffer(bytes) => {
                let _ = write!(text, ", argument {number}: {} bytes", bytes.len());
            }
            oriole_interp::Arg::Scalar(bytes) if bytes.len() <= 8 => {
                let _ = write!(text, ", argument {number}: {}", value(bytes));
            }
            _ => {}
        }
    }
    text.push('\n');
}

/// A little-endian value in hexadecimal.
fn value(bytes: &[u8]) -> String {
    let digits: Vec<u8> = bytes.iter().rev().copied().collect();
    format!("0x{}", encode(&digits))
}

fn document(source: &Source, report: &Report) -> serde_json::Value {
    let ((executed, instructions), (ways, of)) = (report.coverage.instructions(), report.coverage.ways());
    let mut value = serde_json::json!({
        "entry": report.entry,
        "verdict": match &report.verdict {
            Verdict::Same => "same",
            Verdict::Different(_) => "different",
            Verdict::Undecided(_) => "undecided",
        },
        "launches": report.launches, "loose": report.loose, "bytes": report.bytes,
        "executed": executed, "instructions": instructions, "ways": ways, "all_ways": of,
        "reasons": report.reasons,
    });
    match &report.verdict {
        Verdict::Undecided(reason) => value["reason"] = reason.as_str().into(),
        Verdict::Different(difference) => value["difference"] = place(source, difference),
        Verdict::Same => {}
    }
    value
}

fn place(source: &Source, difference: &Difference) -> serde_json::Value {
    let mut value = match &difference.what {
        What::Memory(Element { buffer, offset, expected, found }) => serde_json::json!({
            "kind": "memory", "buffer": buffer, "offset": offset,
            "expected": encode(expected), "found": encode(found),
        }),
        What::Fault(text) => serde_json::json!({ "kind": "fault", "message": text }),
        What::Hazard(text) => serde_json::json!({ "kind": "hazard", "message": text }),
    };
    if let Some(site) = &difference.ptx {
        let line = source.line(site);
        value["ptx"] = serde_json::json!({
            "function": site.function, "line": line.map(|line| line.0), "text": line.map(|line| line.1),
            "block": site.block, "thread": site.thread,
        });
    }
    if let Some((address, text)) = &difference.code {
        value["code"] = serde_json::json!({ "address": address, "text": text });
    }
    value["grid"] = serde_json::json!(difference.launch.grid);
    value["block"] = serde_json::json!(difference.launch.block);
    value
}

/// The launch of a difference as a record, with the results of the PTX as its expectations.
fn record(source: &Source, text: &str, report: &Report, difference: &Difference) -> Result<String, String> {
    let launch = &difference.launch;
    if !launch.extra.is_empty() {
        return Err(format!("{}: a launch record cannot hold buffers behind pointers", report.entry));
    }
    let after = oriole_interp::run(&source.program, launch).buffers;
    let mut expect = serde_json::Map::new();
    let mut args = Vec::new();
    for (number, argument) in launch.args.iter().enumerate() {
        args.push(match argument {
            oriole_interp::Arg::Buffer(bytes) => {
                if let Some(Some(after)) = after.get(number) {
                    expect.insert(number.to_string(), serde_json::json!({ "bytes_hex": encode(after) }));
                }
                serde_json::json!({ "buffer": { "bytes_hex": encode(bytes) } })
            }
            oriole_interp::Arg::Scalar(bytes) if matches!(bytes.len(), 1 | 2 | 4 | 8) => {
                let ty = format!("b{}", 8 * bytes.len());
                serde_json::json!({ "scalar": { "type": ty, "value": value(bytes) } })
            }
            oriole_interp::Arg::Alias(of) => serde_json::json!({ "alias": of }),
            _ => return Err(format!("{}: argument {number} cannot be saved", report.entry)),
        });
    }
    let mut record = serde_json::json!({
        "name": report.entry, "ptx_text": text, "entry": launch.entry,
        "grid": launch.grid, "block": launch.block, "shared_bytes": launch.shared_bytes,
        "args": args, "expect": expect,
    });
    if let Some(cluster) = launch.cluster {
        record["cluster"] = serde_json::json!(cluster);
    }
    Ok(format!("{record}\n"))
}
