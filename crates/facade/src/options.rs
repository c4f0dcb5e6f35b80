//! Target and options of a compile. Every value is checked when it is set, so that a compile has no options to refuse.

use oriole_chip::Chip;
use std::num::NonZeroUsize;

/// Target and options of a compile. The default is the chip that the text's `.target` names, optimization level 3, and
/// one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    pub(crate) chip: Option<Chip>,
    pub(crate) threads: NonZeroUsize,
    pub(crate) compiler: oriole_options::Options,
}

/// An unknown option, or an invalid value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionError(String);

impl std::fmt::Display for OptionError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for OptionError {}

impl Default for Options {
    fn default() -> Options {
        Options { chip: None, threads: NonZeroUsize::MIN, compiler: oriole_options::Options::default() }
    }
}

impl Options {
    /// The default options.
    pub fn new() -> Options {
        Options::default()
    }

    /// Compiles for a chip, such as `sm_90a`, whatever the text's `.target` says.
    ///
    /// # Errors
    /// There is no such chip, or it is not supported.
    pub fn for_chip(mut self, name: &str) -> Result<Options, OptionError> {
        self.chip = Some(Chip::choose_supported(name).map_err(|error| OptionError(error.to_string()))?);
        Ok(self)
    }

    /// Compiles at an optimization level from 0 to 4. At level 4 each function is compiled many times, and the best code is kept.
    ///
    /// # Errors
    /// There is no such level.
    pub fn at_level(mut self, level: u8) -> Result<Options, OptionError> {
        if level > oriole_options::Options::HIGHEST_LEVEL {
            return Err(OptionError(format!("optimization level {level}: 0 to 4 are known")));
        }
        self.compiler.level = level;
        Ok(self)
    }

    /// Sets a knob from its text, as `oriole compile --knob NAME=TEXT` does; `oriole compile --knob help` lists them.
    ///
    /// # Errors
    /// There is no such knob, or the text is not a value of it.
    pub fn with_knob(mut self, name: &str, text: &str) -> Result<Options, OptionError> {
        self.compiler.set(name, text).map_err(|error| OptionError(error.to_string()))?;
        Ok(self)
    }

    /// Turns a part of the compiler off, as `oriole compile --debug-switch NAME` does.
    ///
    /// # Errors
    /// There is no such switch.
    pub fn with_switch(mut self, name: &str) -> Result<Options, OptionError> {
        self.compiler.switch_on(name).map_err(|error| OptionError(error.to_string()))?;
        Ok(self)
    }

    /// Compiles functions on several threads. The bytes are the same.
    #[must_use]
    pub fn on_threads(mut self, threads: NonZeroUsize) -> Options {
        self.threads = threads;
        self
    }

    /// The chip, if one was named.
    pub fn chip(&self) -> Option<Chip> {
        self.chip
    }
}
