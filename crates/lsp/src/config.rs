//! Configuration: the settings of `oriole.toml` and of the client, in one format.
//!
//! `settings_reader.rs` reads them, `ruling.rs` says which of them apply to a file, and `schema.rs` describes the format.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::Value;

/// Name of the file.
pub(crate) const FILE: &str = "oriole.toml";

/// Milliseconds that profiles may be given.
pub(crate) const PROFILE_BUDGET: RangeInclusive<u32> = 100..=600_000;

/// The enabled inlay hints. A missing one is inherited, finally `true`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HintConfig {
    /// Live registers.
    pub live: Option<bool>,
    /// Machine instructions.
    pub instructions: Option<bool>,
    /// Stall cycles.
    pub stalls: Option<bool>,
    /// Spills.
    pub spills: Option<bool>,
}

/// The settings of profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileConfig {
    /// Whether kernels are profiled whenever the text is at rest.
    pub enable: Option<bool>,
    /// Milliseconds that the profiles of a document may take.
    pub budget: Option<u32>,
}

/// The settings of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryConfig {
    /// The folder, relative to that of the file.
    pub path: String,
    /// Chips; the first one is the default for display.
    pub targets: Option<Vec<String>>,
    /// Optimization level.
    pub level: Option<u8>,
    /// Whether files are parts of programs, as `compile -c` takes them.
    pub relocatable: Option<bool>,
    /// Knobs by name.
    pub knobs: BTreeMap<String, Value>,
    /// Hints.
    pub hints: HintConfig,
}

/// The configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Chips to compile for, the first one is the default for display; empty or left out: the file's `.target`.
    pub targets: Option<Vec<String>>,
    /// Optimization level 0 to 4.
    pub level: Option<u8>,
    /// Whether files are parts of programs, as `compile -c` takes them: `.extern` functions are for a linker to find.
    pub relocatable: Option<bool>,
    /// Knobs by name.
    pub knobs: BTreeMap<String, Value>,
    /// Hints.
    pub hints: HintConfig,
    /// Whether code is compiled in the background to report diagnostics of code generation.
    pub background: Option<bool>,
    /// Profiles.
    pub profile: ProfileConfig,
    /// Folders with other settings.
    pub directory: Vec<DirectoryConfig>,
}
