//! `oriole time`: an estimate of the time that launches take on a GPU, for our code, for a cubin, or for both.

use crate::arguments::Time;
use crate::code;
use crate::files::device::Asked;
use crate::launch::{self, Launch};
use crate::names;
use crate::outcome::{Outcome, failed, misused};
use crate::session;
use oriole_cubin::Cubin;
use oriole_timing::{Bound, Estimate, Line, Reason};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Parts that are named as busy from this share of the time on.
const SHOWN_SHARE: f64 = 0.05;

/// Reads or compiles the code of launches, each file once.
struct Codes<'a> {
    arguments: &'a Time,
    chip: Option<oriole_chip::Chip>,
    options: oriole_options::Options,
    known: BTreeMap<PathBuf, Result<Rc<Cubin>, String>>,
}

impl Codes<'_> {
    /// The code of a launch: that of the given cubin, else its PTX compiled.
    fn of(&mut self, launch: &Launch) -> Result<Rc<Cubin>, String> {
        if let Some(path) = &self.arguments.cubin {
            return self.read(&path.clone());
        }
        let ptx = launch.ptx.as_ref().ok_or("the launch gives no PTX and there is no --cubin")?;
        let path = ptx.path.clone().unwrap_or_else(|| PathBuf::from(&launch.name));
        if let Some(known) = self.known.get(&path) {
            return known.clone();
        }
        let made = code::cubin_of(&path, &ptx.text, self.chip, &self.options);
        let made = made.map_err(|error| error.to_string());
        let read = made.and_then(|bytes| oriole_cubin::read(&bytes).map_err(|error| error.to_string()));
        let read = read.map(Rc::new);
        if ptx.path.is_some() {
            self.known.insert(path, read.clone());
        }
        read
    }

    fn read(&mut self, path: &Path) -> Result<Rc<Cubin>, String> {
        let read = || {
            let asked = Asked::of(&self.arguments.target.arch, &self.arguments.which.image);
            crate::dis::read_cubin(path, asked)
                .map(|(cubin, _)| Rc::new(cubin))
                .map_err(|error| error.to_string())
        };
        self.known.entry(path.to_owned()).or_insert_with(read).clone()
    }
}

/// Runs the command.
pub fn time(arguments: &Time) -> Outcome {
    let (chip, options) = match session::options(&arguments.target) {
        Ok(read) => read,
        Err(message) => return misused(message),
    };
    let launches = match launch::read(&arguments.launches) {
        Ok(launches) => launches,
        Err(message) => return misused(message),
    };
    let mut codes = Codes { arguments, chip, options, known: BTreeMap::new() };
    let mut outcome = Outcome::Right;
    for launch in &launches {
        let own = codes.of(launch).and_then(|cubin| estimate(&cubin, launch, arguments));
        let other = arguments.against.as_ref().map(|path| {
            let cubin = codes.read(&path.clone());
            cubin.and_then(|cubin| estimate(&cubin, launch, arguments))
        });
        match (own, other.transpose()) {
            (Ok(own), Ok(other)) => show(launch, &own, other.as_ref(), arguments),
            (Err(message), _) | (_, Err(message)) => {
                outcome = failed(format!("{}: {message}", launch.name));
            }
        }
    }
    outcome
}

fn estimate(cubin: &Cubin, launch: &Launch, arguments: &Time) -> Result<Estimate, String> {
    let defaults = oriole_simulate::Options::default();
    let options = oriole_simulate::Options {
        step_limit: arguments.step_limit.unwrap_or(defaults.step_limit),
        check_hazards: false,
        ..defaults
    };
    let asked = oriole_timing::Options {
        blocks: arguments.blocks,
        cold: arguments.cold,
        sample: arguments.sample,
        ..oriole_timing::Options::default()
    };
    let estimate = oriole_timing::estimate(cubin, &launch.for_simulator(options), &asked);
    estimate.map_err(|error| error.to_string())
}

fn show(launch: &Launch, own: &Estimate, other: Option<&Estimate>, arguments: &Time) {
    if arguments.json {
        let mut value = serde_json::json!({ "name": launch.name, "estimate": json(own) });
        if let Some(other) = other {
            value["against"] = json(other);
            value["ratio"] = (own.cycles / other.cycles).into();
        }
        crate::outcome::print(&format!("{value}\n"));
        return;
    }
    let mut text = format!("{}: ", launch.name);
    describe(&mut text, own, arguments.lines);
    if let Some(other) = other {
        let path = arguments.against.as_ref().map_or(String::new(), |path| path.display().to_string());
        let _ = write!(text, "  {path}: ");
        describe(&mut text, other, arguments.lines);
        let _ = writeln!(text, "  ratio {:.3}", own.cycles / other.cycles);
    }
    crate::outcome::print(&names::explained(&text));
}

fn describe(text: &mut String, of: &Estimate, lines: usize) {
    let _ = writeln!(
        text,
        "{:.0} cycles, {:.2} us on {}, bound by {}",
        of.cycles,
        of.microseconds,
        of.product,
        of.bound.name()
    );
    let _ = writeln!(
        text,
        "    {} blocks on {} SMs, {} at a time on each; {} replayed; data {} at the start",
        of.blocks,
        of.sms,
        of.resident,
        of.replayed,
        if of.warm { "in L2" } else { "in device memory" }
    );
    let part = |&(bound, share): &(Bound, f64)| format!("{} {:.0} %", bound.name(), 100.0 * share);
    let busy = of.busy.iter().filter(|part| part.1 >= SHOWN_SHARE).map(part).collect::<Vec<_>>();
    let _ =
        writeln!(text, "    busy: {}", if busy.is_empty() { "nothing".to_owned() } else { busy.join(", ") });
    let total: u64 = of.waited.iter().sum();
    let share = |cycles: u64| 100.0 * cycles as f64 / total.max(1) as f64;
    let mut waits: Vec<(u64, &str)> =
        Reason::ALL.into_iter().map(|reason| (of.waited[reason as usize], reason.name())).collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.0));
    let waits = waits.iter().filter(|wait| share(wait.0) >= 1.0);
    let waits = waits.map(|wait| format!("{} {:.0} %", wait.1, share(wait.0))).collect::<Vec<_>>();
    let _ =
        writeln!(text, "    waits: {}", if waits.is_empty() { "none".to_owned() } else { waits.join(", ") });
    for (line, cycles) in longest(&of.lines, lines) {
        let most = Reason::ALL.into_iter().max_by_key(|&reason| line.waited[reason as usize]);
        let reason = most.map_or("", Reason::name);
        let _ = writeln!(
            text,
            "    {:#06x} {:<28} issued {:>8}, {:>5.1} % of the waits, most for {reason}",
            line.address,
            line.text,
            line.issued,
            share(cycles)
        );
    }
}

/// The instructions before which warps waited longest, with their cycles.
fn longest(lines: &[Line], count: usize) -> Vec<(&Line, u64)> {
    let mut found: Vec<(&Line, u64)> =
        lines.iter().map(|line| (line, line.waited.iter().sum())).filter(|line| line.1 > 0).collect();
    found.sort_by_key(|line| (std::cmp::Reverse(line.1), line.0.address));
    found.truncate(count);
    found
}

fn json(of: &Estimate) -> serde_json::Value {
    let reasons = |waited: &[u64]| -> serde_json::Map<String, serde_json::Value> {
        let named = Reason::ALL.into_iter().zip(waited).filter(|(_, cycles)| **cycles > 0);
        named.map(|(reason, &cycles)| (reason.name().to_owned(), cycles.into())).collect()
    };
    let busy: serde_json::Map<String, serde_json::Value> =
        of.busy.iter().map(|(bound, share)| (bound.name().to_owned(), (*share).into())).collect();
    let lines = of.lines.iter().filter(|line| line.issued > 0).map(|line| {
        serde_json::json!({
            "address": line.address, "text": line.text, "issued": line.issued, "waited": reasons(&line.waited),
        })
    });
    serde_json::json!({
        "cycles": of.cycles, "microseconds": of.microseconds, "product": of.product, "bound": of.bound.name(),
        "busy": busy, "blocks": of.blocks, "replayed": of.replayed, "resident": of.resident, "sms": of.sms,
        "warm": of.warm, "instructions": of.instructions, "wavefronts": of.traffic.wavefronts,
        "l1_hits": of.traffic.l1_hits, "l2_sectors": of.traffic.l2_sectors,
        "dram_sectors": of.traffic.dram_sectors, "atomics": of.traffic.atomics, "forced": of.forced,
        "waited": reasons(&of.waited), "lines": lines.collect::<Vec<_>>(),
    })
}
