//! The profile of a kernel as the server keeps it, and the settings of profiles. How one is made is in `profiles.rs`.

use std::time::Duration;

use oriole_ide::FileDiagnostic;

use crate::basis::Basis;

/// The settings of profiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProfileSettings {
    /// Kernels are profiled whenever the text is at rest.
    pub enable: bool,
    /// The time that the profiles of a document may take.
    pub budget: Duration,
}

impl Default for ProfileSettings {
    fn default() -> ProfileSettings {
        ProfileSettings { enable: false, budget: Duration::from_millis(5000) }
    }
}

/// A line with many waits.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct HotLine {
    /// The end of its statement.
    pub at: u32,
    /// Its share of the waits of the kernel.
    pub share: f64,
    /// The reasons, and how often it was issued.
    pub why: String,
}

/// The profile of a kernel, for one text of its document, a chip and options.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct KernelProfile {
    pub kernel: String,
    pub basis: Basis,
    pub findings: Vec<FileDiagnostic>,
    pub hot: Vec<HotLine>,
    /// The report for a reader.
    pub text: String,
}
