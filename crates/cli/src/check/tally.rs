//! The counts of a check, and its last line.

use oriole_diagnostics::{Severity, counted};

/// Counts over all files.
#[derive(Default)]
pub struct Tally {
    /// Files that were checked.
    pub files: usize,
    /// Files with errors or warnings.
    pub faulty: usize,
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Errors that were shown.
    pub shown: usize,
    /// Diagnostics that were fixed, or would be.
    pub fixed: usize,
    /// Files in which they were.
    pub changed: usize,
    /// Diagnostics that a fix is offered for that cannot be wrong.
    pub fixable: usize,
    /// Arguments that could not be read.
    pub unread: usize,
}

impl Tally {
    /// Counts a diagnostic.
    pub fn add(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Note => {}
        }
    }

    /// Whether there is anything to say in the end: of one right file there is not.
    pub fn is_told(&self) -> bool {
        self.files + self.unread > 1 || self.errors + self.warnings + self.fixed > 0
    }

    /// The last line. `writes` says whether fixes were made, and not only shown; `None` if none were asked for.
    pub fn summary(&self, writes: Option<bool>) -> String {
        let kinds = [(self.errors, "error"), (self.warnings, "warning")];
        let kinds: Vec<String> =
            kinds.iter().filter(|kind| kind.0 > 0).map(|kind| counted(kind.0, kind.1)).collect();
        let what = if kinds.is_empty() { "no errors or warnings".to_owned() } else { kinds.join(", ") };
        let place = match (self.files, kinds.is_empty()) {
            (0 | 1, _) => String::new(),
            (files, true) => format!(" in {}", counted(files, "file")),
            (files, false) => format!(" in {} of {}", self.faulty, counted(files, "file")),
        };
        let left = if self.fixed > 0 && writes == Some(true) { " left" } else { "" };
        let mut parts = vec![format!("{what}{left}{place}")];
        let changed =
            if self.files > 1 { format!(" in {}", counted(self.changed, "file")) } else { String::new() };
        match writes {
            Some(true) if self.fixed > 0 => parts.insert(0, format!("{} fixed{changed}", self.fixed)),
            Some(false) if self.fixed > 0 => parts.push(format!("{} would be fixed{changed}", self.fixed)),
            None if self.fixable > 0 => parts.push(format!("{} can be fixed with --fix", self.fixable)),
            _ => {}
        }
        if self.shown < self.errors {
            parts.push(format!("{} not shown", counted(self.errors - self.shown, "error")));
        }
        if self.unread > 0 {
            parts.push(format!("{} could not be read", counted(self.unread, "input")));
        }
        parts.join("; ")
    }
}
