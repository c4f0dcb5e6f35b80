//! Systems without a resident compiler: a process says so, and does its work itself.

use super::call::Call;
use crate::arguments::Resident;
use crate::compile::question::{Answer, Question};
use crate::outcome::{Outcome, failed};
use crate::ptxas::compile::Assembled;
use oriole_diagnostics::Code;
use oriole_ptxas::{Input, Log, Severity};

const TEXT: &str = "there is no resident compiler on this system";

/// Says that there is none.
pub fn resident(_: &Resident) -> Outcome {
    failed(format!("[{}] {TEXT}", Code::NoResident))
}

/// Says that there is none.
pub fn ask_to_compile(_: &Question<'_>) -> Option<Answer> {
    eprintln!("warning[{}]: {TEXT}", Code::NoResident);
    None
}

/// Says that there is none.
pub fn ask_to_assemble(_: &Call<'_>, _: &[Input], log: &mut Log) -> Option<Assembled> {
    log.say(Severity::Info, &format!("{TEXT} [{}]", Code::NoResident));
    None
}
