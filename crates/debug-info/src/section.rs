//! Debug sections that the PTX brings along.

use crate::SourceFile;

/// Debug info of a part of a module.
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
    /// Its bytes; references are zero.
    pub bytes: Vec<u8>,
    /// Labels and their offsets.
    pub labels: Vec<(String, u64)>,
    /// Values that name something, by ascending offset.
    pub references: Vec<Reference>,
}

/// A value of a debug section that references a label, a section, a function or a variable.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reference {
    /// Offset in the section.
    pub at: u64,
    /// Bytes of the value.
    pub bytes: u8,
    /// The symbol that it references; a section begins with a dot.
    pub name: String,
    /// The label that is subtracted, if one is.
    pub minus: Option<String>,
    /// Bytes that are added.
    pub addend: i64,
    /// Its field: byte offset from the start of its unit, and size.
    pub written: (u32, u32),
}
