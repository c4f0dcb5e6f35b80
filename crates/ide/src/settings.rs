//! Settings of compilation that files share, and their configurations in the database.

use oriole_chip::Chip;
use oriole_inputs::Config;
use oriole_options::{Linking, Options};

/// Settings that files share, for example those of a folder.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SettingsId(pub u32);

/// Targets and options of compilation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// Chips to compile for, the first one as the default. Empty: the file's `.target`.
    pub targets: Vec<Chip>,
    /// Level and knobs.
    pub options: Options,
}

/// Settings with their configurations in the database.
pub(crate) struct SettingsData {
    pub settings: Settings,
    /// For each chip the configuration of whole-program output, and that of relocatable output.
    pub configs: Vec<(Chip, [Config; 2])>,
}

/// The options unchanged, and the options for a file that leaves functions to a linker.
pub(crate) fn linked_or_not(options: &Options) -> [Options; 2] {
    let mut linked = options.clone();
    if linked.linking == Linking::Whole {
        linked.linking = Linking::Relocatable;
    }
    [options.clone(), linked]
}
