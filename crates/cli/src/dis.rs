//! `oriole dis` and `oriole asm`: cubins as text with control words, and that text back to words.

use crate::arguments::{Asm, Dis};
use crate::files::output::Output;
use crate::files::{FileError, input};
use crate::names;
use crate::outcome::{Outcome, failed, print};
use oriole_chip::Chip;
use oriole_cubin::Cubin;
use oriole_explore::{Code, CodeError, KernelCode, SourceLines, dot};
use oriole_ide::{CubinError, chip_of};
use oriole_sass::{InstructionWord, append_words};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Why a file cannot be shown as code.
#[derive(Debug, thiserror::Error)]
pub enum DisError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is not a cubin whose code can be read.
    #[error("{file}: {error}")]
    Code {
        /// The name of the file.
        file: String,
        /// The reason.
        error: CodeError,
    },
}

impl DisError {
    /// The error of the code of a file.
    pub fn of<E: Into<CodeError>>(path: &Path) -> impl Fn(E) -> DisError {
        move |error| DisError::Code { file: path.display().to_string(), error: error.into() }
    }
}

/// Reads a cubin, with the chip its code is for.
///
/// # Errors
/// The file cannot be read, or is not a cubin for a known chip.
pub fn read_cubin(path: &Path) -> Result<(Cubin, Chip), DisError> {
    let bytes = input::bytes(path)?;
    let cubin = oriole_cubin::read(&bytes).map_err(CubinError::from).map_err(DisError::of(path))?;
    let chip = chip_of(&cubin).map_err(DisError::of(path))?;
    Ok((cubin, chip))
}

/// Runs `oriole dis`.
pub fn dis(arguments: &Dis) -> Outcome {
    if arguments.dot {
        return graphs(&arguments.cubin);
    }
    let (cubin, chip) = match read_cubin(&arguments.cubin) {
        Ok(read) => read,
        Err(message) => return failed(message),
    };
    let mut text = String::new();
    let mut failures = Vec::new();
    let places = match arguments.lines.then(|| SourceLines::of(&cubin)).transpose() {
        Ok(places) => places.unwrap_or_default(),
        Err(message) => return failed(format!("{}: {message}", arguments.cubin.display())),
    };
    for (index, kernel) in cubin.codes().enumerate() {
        if arguments.summary {
            if let Err(message) = summary(chip, kernel, &mut text) {
                failures.push(message.to_string());
            }
        } else {
            let write = if arguments.json { json } else { listing };
            write(chip, kernel, places.of_kernel(index), &mut text, &mut failures);
        }
    }
    let outcome = print(&text);
    for message in &failures {
        failed(format!("{}: {message}", arguments.cubin.display()));
    }
    if failures.is_empty() { outcome } else { Outcome::Failed }
}

/// Prints the control-flow graph of each kernel and function.
fn graphs(path: &Path) -> Outcome {
    let code = || -> Result<Code, DisError> { Code::read(&input::bytes(path)?).map_err(DisError::of(path)) };
    match code() {
        Ok(code) => {
            let graph = |kernel: &KernelCode| dot(kernel, &names::shown(&kernel.name));
            print(&code.kernels.iter().map(graph).collect::<String>())
        }
        Err(message) => failed(message),
    }
}

fn summary(chip: Chip, kernel: &oriole_cubin::read::Kernel, text: &mut String) -> Result<(), CodeError> {
    let (figures, local) = oriole_explore::figures(chip, kernel)?;
    let _ = writeln!(
        text,
        "{} instructions {} registers {} frame {} cycles {} weighted {} local {local}",
        kernel.name,
        figures.instructions,
        kernel.registers,
        kernel.frame_size,
        figures.issue_cycles,
        figures.weighted_cycles
    );
    Ok(())
}

/// How a word is written that no form takes, in listings and for `asm`.
const RAW_WORD: &str = ".word 0x";

/// The text of each word of a kernel with its address and instruction. A word that cannot be read is written as a
/// number and named among the failures; the words after it are read all the same.
fn lines<'a>(
    chip: Chip,
    kernel: &'a oriole_cubin::read::Kernel,
    style: oriole_sass::Style,
    failures: &'a mut Vec<String>,
) -> impl Iterator<Item = (u64, InstructionWord, String, Option<oriole_sass::Instruction>)> + 'a {
    kernel.code.iter().enumerate().map(move |(index, &word)| {
        let address = u64::from(chip.words().address(index as u32));
        let read =
            oriole_sass::decode(chip, word).map_err(|error| error.to_string()).and_then(|instruction| {
                let line = oriole_sass::text(chip, &instruction, Some(address), style);
                Ok((line.map_err(|error| error.to_string())?, instruction))
            });
        match read {
            Ok((line, instruction)) => (address, word, line, Some(instruction)),
            Err(error) => {
                failures.push(format!("{} at {address:#x}: {error}", kernel.name));
                (address, word, format!("{RAW_WORD}{word:032x}"), None)
            }
        }
    })
}

fn listing(
    chip: Chip,
    kernel: &oriole_cubin::read::Kernel,
    places: &BTreeMap<u64, String>,
    text: &mut String,
    failures: &mut Vec<String>,
) {
    let _ = writeln!(
        text,
        "// {} registers {} frame {}",
        names::shown(&kernel.name),
        kernel.registers,
        kernel.frame_size
    );
    for (address, _, line, _) in lines(chip, kernel, oriole_sass::Style::Exact, failures) {
        if let Some(place) = places.get(&address) {
            let _ = writeln!(text, "// {place}");
        }
        let _ = writeln!(text, "/*{address:04x}*/ {line}");
    }
}

fn json(
    chip: Chip,
    kernel: &oriole_cubin::read::Kernel,
    places: &BTreeMap<u64, String>,
    text: &mut String,
    failures: &mut Vec<String>,
) {
    for (address, word, line, instruction) in lines(chip, kernel, oriole_sass::Style::Plain, failures) {
        let mut value = serde_json::json!({
            "kernel": kernel.name, "address": address, "word": format!("{word:032x}"), "text": line,
        });
        if let Some((_, place)) = places.range(..=address).next_back() {
            value["place"] = place.as_str().into();
        }
        if let Some(oriole_sass::Instruction { op, control, .. }) = instruction {
            value["opcode"] = op.name().into();
            value["stall"] = control.stall.into();
            value["yield"] = control.yields.into();
            value["write_barrier"] = control.write_barrier.into();
            value["read_barrier"] = control.read_barrier.into();
            value["wait"] = control.wait_mask.into();
            value["batch"] = control.batch.into();
        }
        let _ = writeln!(text, "{value}");
    }
}

/// Runs `oriole asm`.
pub fn asm(arguments: &Asm) -> Outcome {
    let output = arguments.output.as_ref().map(|path| Output::new(path, &arguments.input)).transpose();
    let (output, text) = match output.and_then(|output| Ok((output, input::text(&arguments.input)?))) {
        Ok(opened) => opened,
        Err(message) => return failed(message),
    };
    let chip = match arguments.arch.parse::<Chip>() {
        Ok(chip) => chip,
        Err(error) => return crate::outcome::misused(error),
    };
    let mut words = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        let (address, line) = address(line);
        if let Some(digits) = line.strip_prefix(RAW_WORD) {
            match InstructionWord::from_str_radix(digits, 16) {
                Ok(word) => words.push(word),
                Err(error) => {
                    return failed(format!("{}:{}: {error}", arguments.input.display(), number + 1));
                }
            }
            continue;
        }
        let word = oriole_sass::parse(chip, line, address).map_err(|error| error.to_string()).and_then(
            |instruction| oriole_sass::encode(chip, &instruction).map_err(|error| error.to_string()),
        );
        match word {
            Ok(word) => words.push(word),
            Err(message) => {
                return failed(format!("{}:{}: {message}", arguments.input.display(), number + 1));
            }
        }
    }
    match output {
        Some(output) => {
            let mut bytes = Vec::new();
            append_words(chip.words(), &words, &mut bytes);
            match output.write(&bytes) {
                Ok(()) => Outcome::Right,
                Err(message) => failed(message),
            }
        }
        None => {
            let text: String = words.iter().map(|word| format!("{word:032x}\n")).collect();
            print(&text)
        }
    }
}

/// The address comment before an instruction, if there is one.
fn address(line: &str) -> (Option<u64>, &str) {
    let parsed = line.strip_prefix("/*").and_then(|rest| rest.split_once("*/"));
    match parsed {
        Some((digits, rest)) => match u64::from_str_radix(digits.trim(), 16) {
            Ok(address) => (Some(address), rest.trim()),
            Err(_) => (None, line),
        },
        None => (None, line),
    }
}
