//! The features that are switched off for large files, with the sizes from which on they are off.

/// A feature that may be switched off for a file because of its size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Feature {
    /// Diagnostics of code generation for the whole file.
    CodeDiagnostics,
    /// Semantic tokens of the whole file; those of a range are always available.
    FullTokens,
    /// Formatting of the whole file; a range can always be formatted.
    Formatting,
    /// Folding ranges.
    Folding,
    /// The outline.
    Symbols,
    /// Code lenses.
    Lenses,
    /// Links to sources.
    Links,
    /// Inlay hints of kernels larger than the bound.
    Hints,
}

impl Feature {
    /// Every feature with the file size in bytes from which on it is off.
    pub const LIMITS: [(Feature, u32); 8] = [
        (Feature::CodeDiagnostics, 32 << 20),
        (Feature::FullTokens, 32 << 20),
        (Feature::Formatting, 64 << 20),
        (Feature::Folding, 128 << 20),
        (Feature::Symbols, 256 << 20),
        (Feature::Lenses, 128 << 20),
        (Feature::Links, 128 << 20),
        (Feature::Hints, 512 << 20),
    ];

    /// A description of the feature.
    pub const fn name(self) -> &'static str {
        match self {
            Feature::CodeDiagnostics => "diagnostics of code generation",
            Feature::FullTokens => "semantic tokens of the whole file",
            Feature::Formatting => "formatting of the whole file",
            Feature::Folding => "folding",
            Feature::Symbols => "the outline",
            Feature::Lenses => "code lenses",
            Feature::Links => "links to sources",
            Feature::Hints => "inlay hints",
        }
    }
}
