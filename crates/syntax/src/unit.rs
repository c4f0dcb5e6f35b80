//! The units of a file: what each holds, and where it is.

/// The kind of item that a unit holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum UnitKind {
    /// `.version`, `.target`, `.address_size`, module-level `.pragma`.
    Header,
    /// A module-level variable declaration, all names up to its semicolon.
    Variable,
    /// A function or kernel without a body, or an `.alias`.
    Declaration,
    /// A `.func` with a body.
    Function,
    /// An `.entry` with a body.
    Entry,
    /// `.section { … }`, or a run of `.file` and `.loc` lines.
    DebugSection,
    /// White space and comments after the last item.
    Trailer,
    /// Text that belongs to no item.
    Broken,
}

/// One unit of a file.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Unit {
    /// The kind of the unit.
    pub kind: UnitKind,
    /// The (first) name that it declares; a section's name; else empty.
    pub name: Box<str>,
    /// First byte in the file, leading white space and comments included.
    pub start: u32,
    /// Length in bytes.
    pub len: u32,
    /// Line of the first byte, from 1.
    pub line: u32,
}

impl Unit {
    /// The unit's text, given the file's.
    pub fn text<'a>(&self, file: &'a str) -> &'a str {
        &file[self.start as usize..(self.start + self.len) as usize]
    }
}
