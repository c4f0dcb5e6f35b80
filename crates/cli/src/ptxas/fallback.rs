//! `--fallback PTXAS`: another ptxas compiles modules that Oriole does not support.

use super::status::FAILED;
use oriole_ptxas::{CommandLine, Log, Opt, Severity};
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

/// Runs the ptxas that the line names, if it names one, with the same words. `standard` is what was read from standard
/// input.
pub fn run(line: &CommandLine, standard: Option<&str>, log: &mut Log) -> Option<ExitCode> {
    let program = line.value(Opt::Fallback)?;
    let reasons: Vec<String> = log.entries().iter().map(|entry| entry.text.clone()).collect();
    let mut note = format!("oriole: {program} compiles this instead, since");
    let first = reasons.iter().find_map(|reason| reason.split_once(": "));
    note += &format!(" {}", first.map_or("it is not supported", |(_, text)| text.trim_end()));
    eprintln!("{note}");
    let mut command = Command::new(program);
    command.args(&line.words);
    if standard.is_some() {
        command.stdin(Stdio::piped());
    }
    let ended = command.spawn().and_then(|mut child| {
        if let (Some(text), Some(mut pipe)) = (standard, child.stdin.take()) {
            pipe.write_all(text.as_bytes())?;
        }
        child.wait()
    });
    match ended {
        Ok(status) => {
            log.forget();
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            Some(ExitCode::from(code.unwrap_or(FAILED)))
        }
        Err(error) => {
            log.say(Severity::Fatal, &format!("Fallback '{program}' could not be run: {error}"));
            None
        }
    }
}
