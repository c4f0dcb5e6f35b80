//! `oriole compile -O4 --tune-for LAUNCHES`: the choices of code generation for each kernel that launch records launch, judged by
//! the model of its time.
//!
//! It is here, and not in a query, because a launch is not a part of a program: the choices that are found become options of the
//! compile that follows. A code whose launch fails is refused.

use crate::arguments::Compile;
use crate::launch;
use oriole::program::Opened;
use oriole::program::search::{self, Found, describe};
use oriole_chip::Chip;
use oriole_cubin::Cubin;
use oriole_options::{Choices, Options, Scope};
use oriole_simulate::Launch;
use std::collections::BTreeMap;

/// Codes of a kernel that are judged, if `--search-trials` does not say it: each choice alone, and half as many sets.
const TRIALS: u32 = 36;

/// The options with the choices for the kernels that are tuned, and a line about each of these.
///
/// # Errors
/// The records cannot be read, no kernel of theirs is in the text, the text does not compile, or a launch fails.
pub fn tuned(
    arguments: &Compile,
    text: &str,
    chip: Option<Chip>,
    options: &Options,
) -> Result<(Options, Vec<String>), String> {
    let mut options = options.clone();
    let mut notes = Vec::new();
    let Some(path) = &arguments.tune_for else { return Ok((options, notes)) };
    let kernels = recorded(path)?;
    let mut quick = options.clone();
    // While one kernel is tuned, the others are compiled once.
    quick.set("search-trials", "0").map_err(|error| error.to_string())?;
    let blocks = arguments.tune_blocks;
    let mut session = Opened::once(text, chip, &quick);
    for (kernel, launches) in &kernels {
        let mut tuning = Tuning { session: &mut session, options: quick.clone(), kernel, launches, blocks };
        let trials = arguments.search_trials.unwrap_or(TRIALS);
        let found = tuning.search(trials)?;
        notes.push(format!("{kernel}: {}", describe(&found)));
        options.known.push((kernel.clone(), found.choices));
    }
    Ok((options, notes))
}

/// The launches of records, by kernel.
fn recorded(path: &std::path::Path) -> Result<BTreeMap<String, Vec<Launch>>, String> {
    let mut by_kernel: BTreeMap<String, Vec<Launch>> = BTreeMap::new();
    for launch in launch::read(path).map_err(|error| error.to_string())? {
        let options =
            oriole_simulate::Options { check_hazards: false, ..oriole_simulate::Options::default() };
        by_kernel.entry(launch.entry.clone()).or_default().push(launch.for_simulator(options));
    }
    Ok(by_kernel)
}

/// A kernel that is tuned.
struct Tuning<'a> {
    session: &'a mut Opened,
    options: Options,
    kernel: &'a str,
    launches: &'a [Launch],
    blocks: Option<u64>,
}

/// The outcome of a code.
struct Judged {
    /// The cycles of all launches.
    cycles: f64,
    registers: u32,
}

impl Tuning<'_> {
    fn search(&mut self, trials: u32) -> Result<Found, String> {
        let first = self.judge(Choices::NONE)?;
        let registers = u16::try_from(first.registers).unwrap_or(u16::MAX);
        let rows = search::rows(registers, Scope::Operations);
        let judge = |choices| self.judge(choices).ok().map(|judged| judged.cycles);
        Ok(search::search(&rows, trials, first.cycles, judge))
    }

    /// Compiles with choices, and estimates the time of each launch.
    fn judge(&mut self, choices: Choices) -> Result<Judged, String> {
        self.options.known = vec![(self.kernel.to_owned(), choices)];
        self.session.set_options(&self.options);
        let compiled = self.session.compile(1);
        let Some(bytes) = compiled.cubin else {
            let first = compiled.diagnostics.iter().find(|diagnostic| diagnostic.is_error());
            return Err(first.map_or_else(|| "no code".to_owned(), ToString::to_string));
        };
        let cubin = oriole_cubin::read(&bytes).map_err(|error| error.to_string())?;
        let missing = || format!("--tune-for: the text has no kernel `{}`", self.kernel);
        let registers = cubin.kernel(self.kernel).ok_or_else(missing)?.registers;
        let cycles = self.launches.iter().map(|launch| self.cycles(&cubin, launch));
        Ok(Judged { cycles: cycles.sum::<Result<f64, String>>()?, registers })
    }

    fn cycles(&self, cubin: &Cubin, launch: &Launch) -> Result<f64, String> {
        let asked = oriole_timing::Options {
            blocks: self.blocks,
            // Blocks of a record may talk to each other.
            sample: self.blocks.is_some(),
            ..oriole_timing::Options::default()
        };
        let estimate = oriole_timing::estimate(cubin, launch, &asked);
        estimate.map(|estimate| estimate.cycles).map_err(|error| format!("{}: {error}", self.kernel))
    }
}
