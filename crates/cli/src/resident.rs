//! The resident compiler: which compiles are asked of it, what is asked, and the command `oriole resident`. How a process
//! finds another one and waits for it is in `oriole_resident`.
//!
//! Files, streams and exit statuses are those of the process that was asked: the resident compiler gets texts and gives
//! bytes. Whatever it does not answer, the process answers itself, so that nothing depends on it.

mod call;
#[cfg(target_os = "linux")]
mod command;
#[cfg(target_os = "linux")]
mod messages;
#[cfg(target_os = "linux")]
mod work;

#[cfg(target_os = "linux")]
pub use command::resident;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::resident;

pub use call::Call;

use crate::arguments::Compile;
use crate::compile::question::{Answer, Question};
use crate::ptxas::compile::Assembled;
use crate::{names, progress};
use oriole::program::Mode;
use oriole_ptxas::{Input, Log};

/// The variable that turns it on, where the command line does not.
const VARIABLE: &str = "ORIOLE_RESIDENT";

/// Whether it is to be asked: by the command line, or by the variable with anything but nothing and `0`.
fn is_on(asked: bool) -> bool {
    asked || std::env::var_os(VARIABLE).is_some_and(|value| !value.is_empty() && value != "0")
}

/// The answer of the resident compiler to `oriole compile`. None if it is not to be asked, or has none.
///
/// A compile that needs this process is not asked for: spans that something listens to, a line on the terminal about progress, a folder with
/// results, launch records, diagnostics in another form.
pub fn compiled(arguments: &Compile, question: &Question<'_>) -> Option<Answer> {
    let is_free = arguments.cache.cache == Mode::Off
        && arguments.tune_for.is_none()
        && names::are_demangled()
        && !tracing::dispatcher::has_been_set();
    if !is_on(arguments.resident) || !is_free || question.is_for_programs() {
        return None;
    }
    if !question.json && progress::is_shown(question.text.len()) {
        return None;
    }
    ask_to_compile(question)
}

#[cfg(target_os = "linux")]
fn ask_to_compile(question: &Question<'_>) -> Option<Answer> {
    messages::compiled(&command::ask(&messages::compile(question)?)?)
}

/// The answer of the resident compiler to `oriole ptxas`, whose messages take the place of those in the log. None if it is not to
/// be asked, or has none.
pub fn assembled(call: &Call<'_>, inputs: &[Input], log: &mut Log) -> Option<Assembled> {
    if !is_on(call.is_asked) {
        return None;
    }
    ask_to_assemble(call, inputs, log)
}

#[cfg(target_os = "linux")]
fn ask_to_assemble(call: &Call<'_>, inputs: &[Input], log: &mut Log) -> Option<Assembled> {
    let (assembled, entries) = messages::assembled(&command::ask(&messages::assemble(call, inputs)?)?)?;
    log.take_over(entries);
    Some(assembled)
}

#[cfg(not(target_os = "linux"))]
use elsewhere::{ask_to_assemble, ask_to_compile};
