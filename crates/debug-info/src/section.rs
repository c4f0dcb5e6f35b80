//! Debug sections that the PTX brings along.

use crate::SourceFile;

/// What a part of a module says for debuggers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DebugData {
    /// Files of the source.
    pub files: Vec<SourceFile>,
    /// Sections, in the order of the text.
    pub sections: Vec<Section>,
}

/// A debug section of the PTX.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Section {
    /// Its name, with the dot.
    pub name: String,
    /// Its bytes; what refers to something else is zero.
    pub bytes: Vec<u8>,
    /// Labels and their offsets.
    pub labels: Vec<(String, u64)>,
}
