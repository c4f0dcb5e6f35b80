//! Whether a launch is right with some options: compiled, simulated, and compared.

use crate::arguments::Bisect;
use crate::code;
use crate::files::device::Asked;
use crate::launch::{Expectation, Launch};
use crate::run::{Result as Ran, interpret};
use oriole_chip::Chip;
use oriole_cubin::Cubin;
use oriole_options::Options;
use std::path::{Path, PathBuf};

/// A launch, and the results that count.
pub struct Judge<'a> {
    pub launch: Launch,
    chip: Option<Chip>,
    arguments: &'a Bisect,
}

impl Judge<'_> {
    /// A judge of a launch. Where the record expects nothing, or another cubin is given, its results are expected from there.
    ///
    /// # Errors
    /// There is nothing to compare with.
    pub fn new(mut launch: Launch, chip: Option<Chip>, arguments: &Bisect) -> Result<Judge<'_>, String> {
        let reference = match &arguments.cubin {
            Some(path) => {
                let cubin =
                    crate::dis::read_cubin(path, Asked::default()).map_err(|error| error.to_string())?.0;
                let ran = simulate(&cubin, &launch, arguments.step_limit);
                launch.expect.clear();
                Some(("the other cubin", ran))
            }
            None if launch.expect.is_empty() => {
                Some(("the interpreter", interpret(&launch, arguments.step_limit)))
            }
            None => None,
        };
        if let Some((name, ran)) = reference {
            if let Some(complaint) = ran.complaint(&launch) {
                return Err(format!("{}: {name} gives no result: {complaint}", launch.name));
            }
            for (argument, bytes) in ran.buffers.into_iter().enumerate() {
                let element = launch.elements.get(&argument).copied();
                let expected = bytes.map(|bytes| Expectation::same_bits(bytes, element));
                launch.expect.extend(expected.map(|expected| (argument, expected)));
            }
        }
        if launch.expect.is_empty() {
            return Err(format!("{}: the launch has no buffer to compare", launch.name));
        }
        Ok(Judge { launch, chip, arguments })
    }

    /// The text of the launch, and its name.
    pub fn text(&self) -> Option<(&str, PathBuf)> {
        let ptx = self.launch.ptx.as_ref()?;
        let path = ptx.path.clone().unwrap_or_else(|| Path::new(&self.launch.name).to_owned());
        Some((&ptx.text, path))
    }

    /// The chip of the command line.
    pub fn chip(&self) -> Option<Chip> {
        self.chip
    }

    /// The first thing that is wrong with the launch; a text that does not compile with the options is wrong, too.
    pub fn complaint(&self, options: &Options) -> Option<String> {
        let Some((text, path)) = self.text() else { return Some("the launch gives no PTX".to_owned()) };
        let code = code::cubin_of(&path, text, self.chip, options);
        let read = code.map_err(|error| error.to_string());
        match read.and_then(|bytes| oriole_cubin::read(&bytes).map_err(|error| error.to_string())) {
            Ok(cubin) => simulate(&cubin, &self.launch, self.arguments.step_limit).complaint(&self.launch),
            Err(error) => Some(error),
        }
    }

    /// The verdict on the interpreter.
    pub fn interpreter(&self) -> &'static str {
        let ran = interpret(&self.launch, self.arguments.step_limit);
        if ran.complaint(&self.launch).is_none() { "right" } else { "wrong" }
    }
}

/// A launch of some code in the simulator.
fn simulate(cubin: &Cubin, launch: &Launch, step_limit: Option<u64>) -> Ran {
    let defaults = oriole_simulate::Options::default();
    let options =
        oriole_simulate::Options { step_limit: step_limit.unwrap_or(defaults.step_limit), ..defaults };
    Ran::simulated(launch, oriole_simulate::run(cubin, &launch.for_simulator(options)))
}
