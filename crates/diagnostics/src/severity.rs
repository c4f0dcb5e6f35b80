//! The severity of a diagnostic. No code is here: `code.rs` has the default severity of each.

/// The severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Information that belongs to a result, for example what was inlined.
    Note,
    /// Suspicious, but a result is produced.
    Warning,
    /// No result is produced for the module.
    Error,
}

impl Severity {
    /// Lower-case English name, as printed and as written in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}
