//! `oriole asm`: the text of `oriole dis` back to words, or into a cubin.

use crate::arguments::Asm;
use crate::dis::cubin_of;
use crate::files::device::{self, Asked, Wanted};
use crate::files::input;
use crate::files::output::Output;
use crate::names;
use crate::outcome::{Outcome, failed, misused, print};
use oriole_assemble::{FunctionText, IntoError, TextError, assemble, into_cubin};
use oriole_chip::Chip;
use oriole_cubin::Cubin;
use oriole_diagnostics::Code;
use oriole_sass::append_words;
use oriole_simulate::Hazard;
use std::path::Path;

/// Runs `oriole asm`.
pub fn asm(arguments: &Asm) -> Outcome {
    if let Some(cubin) = &arguments.into {
        return into(arguments, cubin);
    }
    if arguments.which.image.is_some() {
        return misused("--image chooses the image for --into");
    }
    let chip = match arguments.arch.as_deref().map_or(Ok(Chip::DEFAULT), str::parse::<Chip>) {
        Ok(chip) => chip,
        Err(error) => return misused(error),
    };
    let output = arguments.output.as_ref().map(|path| Output::new(path, &arguments.input)).transpose();
    let (output, text) = match output.and_then(|output| Ok((output, input::text(&arguments.input)?))) {
        Ok(opened) => opened,
        Err(message) => return failed(message),
    };
    let Some(functions) = read(chip, &arguments.input, &text) else { return Outcome::Failed };
    let words = functions.iter().flat_map(|function| &function.words);
    let Some(output) = output else {
        return print(&words.map(|word| format!("{word:032x}\n")).collect::<String>());
    };
    let mut bytes = Vec::new();
    append_words(chip.words(), words, &mut bytes);
    written(&output, &bytes)
}

/// The functions of a listing; says what is wrong with each line.
fn read(chip: Chip, path: &Path, text: &str) -> Option<Vec<FunctionText>> {
    match assemble(chip, text) {
        Ok(functions) => Some(functions),
        Err(errors) => {
            for error in errors {
                say(path, Code::AsmText, &error);
            }
            None
        }
    }
}

fn say(path: &Path, code: Code, TextError { line, text }: &TextError) {
    failed(format!("[{code}] {}:{line}: {text}", input::shown(path)));
}

fn written(output: &Output, bytes: &[u8]) -> Outcome {
    match output.write(bytes) {
        Ok(()) => Outcome::Right,
        Err(message) => failed(message),
    }
}

/// Puts the functions of a listing into a cubin.
fn into(arguments: &Asm, path: &Path) -> Outcome {
    let Some(output) = &arguments.output else { return misused("--into needs --output") };
    let opened =
        Output::new(output, &arguments.input).and_then(|output| Ok((output, input::text(&arguments.input)?)));
    let (output, text) = match opened {
        Ok(opened) => opened,
        Err(message) => return failed(message),
    };
    let asked = Asked { strict: true, ..Asked::of(&arguments.arch, &arguments.which.image) };
    let image = match device::image(path, Wanted::Cubin, asked) {
        Ok(image) => image,
        Err(error) => return error.report(),
    };
    let (cubin, chip) = match cubin_of(&image) {
        Ok(read) => read,
        Err(message) => return failed(message),
    };
    let Some(functions) = read(chip, &arguments.input, &text) else { return Outcome::Failed };
    let edited = match into_cubin(chip, &image.bytes, &cubin, &functions) {
        Ok(edited) => edited,
        Err(errors) => {
            for error in errors {
                match error {
                    IntoError::Text(error) => say(&arguments.input, Code::AsmPlace, &error),
                    error => {
                        failed(format!("[{}] {}: {error}", Code::AsmPlace, image.label));
                    }
                }
            }
            return Outcome::Failed;
        }
    };
    for warning in &edited.warnings {
        eprintln!("warning: [{}] {}", Code::AsmStale, names::explained(&warning.to_string()));
    }
    if !arguments.unchecked {
        let new = match oriole_cubin::read(&edited.bytes) {
            Ok(new) => new,
            Err(error) => return failed(format!("{}: {error}", image.label)),
        };
        let hazards = new_hazards(&cubin, &new, &edited.changed);
        for hazard in &hazards {
            failed(format!("[{}] {}: {hazard}", Code::AsmHazard, input::shown(&arguments.input)));
        }
        if !hazards.is_empty() {
            return Outcome::Failed;
        }
    }
    written(&output, &edited.bytes)
}

/// The hazards of changed functions that were not there before.
fn new_hazards(old: &Cubin, new: &Cubin, changed: &[String]) -> Vec<Hazard> {
    if changed.is_empty() {
        return Vec::new();
    }
    let known = oriole_simulate::lint(old);
    let mut hazards = oriole_simulate::lint(new);
    hazards.retain(|hazard| changed.contains(&hazard.kernel) && !known.contains(hazard));
    hazards
}
