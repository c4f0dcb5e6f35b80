//! `oriole dis`: machine code as text with control words.

use crate::arguments::Dis;
use crate::files::device::{self, Amount, Asked, Wanted};
use crate::files::{Chosen, DeviceError};
use crate::names;
use crate::outcome::{Outcome, failed, misused, print};
use oriole_assemble::Labels;
use oriole_chip::Chip;
use oriole_cubin::Cubin;
use oriole_explore::{
    Code, CodeError, CodeLine, KernelCode, LinesError, PtxLine, PtxLines, SourceLines, code_lines, dot,
};
use oriole_ide::{CubinError, chip_of};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Why a file cannot be shown as code.
#[derive(Debug, thiserror::Error)]
pub enum DisError {
    /// It cannot be read.
    #[error(transparent)]
    Device(#[from] DeviceError),
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
    /// The error of the code of an image.
    fn of<E: Into<CodeError>>(image: &Chosen) -> impl Fn(E) -> DisError {
        move |error| DisError::Code { file: image.label.clone(), error: error.into() }
    }
}

/// Reads the cubin of a file that fits what was asked for, with the chip its code is for.
///
/// # Errors
/// The file cannot be read, or has not one such cubin for a known chip.
pub fn read_cubin(path: &Path, asked: Asked<'_>) -> Result<(Cubin, Chip), DisError> {
    cubin_of(&device::image(path, Wanted::Cubin, asked)?)
}

/// Reads the cubin of an image, with the chip its code is for.
///
/// # Errors
/// It is not a cubin for a known chip.
pub fn cubin_of(image: &Chosen) -> Result<(Cubin, Chip), DisError> {
    let cubin = oriole_cubin::read(&image.bytes).map_err(CubinError::from).map_err(DisError::of(image))?;
    let chip = chip_of(&cubin).map_err(DisError::of(image))?;
    Ok((cubin, chip))
}

/// Runs `oriole dis`.
pub fn dis(arguments: &Dis) -> Outcome {
    let asked = Asked {
        kernels: &arguments.entries,
        strict: true,
        ..Asked::of(&arguments.arch, &arguments.which.image)
    };
    let mut outcome = Outcome::Right;
    let given = device::each(&arguments.cubin, Wanted::Cubin, Amount::OfOneChip, asked, |image| {
        let shown = match image {
            Ok(image) if arguments.dot => graphs(arguments, &image),
            Ok(image) => listings(arguments, &image),
            Err(error) => error.report(),
        };
        if shown != Outcome::Right {
            outcome = shown;
        }
    });
    given.map_or_else(DeviceError::report, |()| outcome)
}

/// Which kernels and functions of a cubin were asked for: all, or those with these names.
///
/// # Errors
/// The name that means none, or several.
fn only<'n>(arguments: &Dis, known: &[&'n str], chosen: &Chosen) -> Result<Option<Vec<&'n str>>, String> {
    if arguments.entries.is_empty() {
        return Ok(None);
    }
    // Of several images each has some of the kernels.
    let missing = |name: &String| chosen.number.is_some() && !names::is_any(known, name);
    let asked = arguments.entries.iter().filter(|name| !missing(name));
    let found = asked.map(|name| names::one_of("kernel or function", known, name));
    found.collect::<Result<_, _>>().map(Some).map_err(|error| format!("{}: {error}", chosen.label))
}

/// Where code comes from, as the line tables of a cubin say.
#[derive(Default)]
struct Places {
    source: SourceLines,
    ptx: PtxLines,
}

/// The same for a kernel or function.
struct KernelPlaces<'a> {
    source: &'a BTreeMap<u64, String>,
    ptx: &'a BTreeMap<u64, PtxLine>,
}

impl Places {
    fn of(cubin: &Cubin) -> Result<Places, LinesError> {
        Ok(Places { source: SourceLines::of(cubin)?, ptx: PtxLines::of(cubin)? })
    }

    fn of_kernel(&self, index: usize) -> KernelPlaces<'_> {
        KernelPlaces { source: self.source.of_kernel(index), ptx: self.ptx.of_kernel(index) }
    }
}

/// Prints the code of an image.
fn listings(arguments: &Dis, image: &Chosen) -> Outcome {
    let (cubin, chip) = match cubin_of(image) {
        Ok(read) => read,
        Err(message) => return failed(message),
    };
    let known: Vec<&str> = cubin.codes().map(|kernel| kernel.name.as_str()).collect();
    let only = match only(arguments, &known, image) {
        Ok(only) => only,
        Err(message) => return misused(message),
    };
    let mut text = String::new();
    let mut failures = Vec::new();
    let places = match arguments.lines.then(|| Places::of(&cubin)).transpose() {
        Ok(places) => places.unwrap_or_default(),
        Err(message) => return failed(format!("{}: {message}", image.label)),
    };
    if image.number.is_some() && !arguments.json {
        let _ = writeln!(text, "// {} {chip}", image.label);
    }
    for (index, kernel) in cubin.codes().enumerate() {
        if only.as_ref().is_some_and(|only| !only.contains(&kernel.name.as_str())) {
            continue;
        }
        if arguments.summary {
            if let Err(message) = summary(chip, kernel, &mut text) {
                failures.push(message.to_string());
            }
        } else if arguments.json {
            json(chip, kernel, image.number, &places.of_kernel(index), &mut text, &mut failures);
        } else {
            listing(chip, kernel, &places.of_kernel(index), &mut text, &mut failures, arguments.labels);
        }
    }
    let outcome = print(&text);
    for message in &failures {
        failed(format!("{}: {message}", image.label));
    }
    if failures.is_empty() { outcome } else { Outcome::Failed }
}

/// Prints the control-flow graph of each kernel and function of an image.
fn graphs(arguments: &Dis, image: &Chosen) -> Outcome {
    let code = match Code::read(&image.bytes).map_err(DisError::of(image)) {
        Ok(code) => code,
        Err(message) => return failed(message),
    };
    let known: Vec<&str> = code.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    match only(arguments, &known, image) {
        Ok(only) => {
            let is_asked =
                |kernel: &&KernelCode| only.as_ref().is_none_or(|only| only.contains(&kernel.name.as_str()));
            let graph = |kernel: &KernelCode| dot(kernel, &names::shown(&kernel.name));
            print(&code.kernels.iter().filter(is_asked).map(graph).collect::<String>())
        }
        Err(message) => misused(message),
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

fn listing(
    chip: Chip,
    kernel: &oriole_cubin::read::Kernel,
    places: &KernelPlaces<'_>,
    text: &mut String,
    failures: &mut Vec<String>,
    has_labels: bool,
) {
    let _ = writeln!(
        text,
        "// {} registers {} frame {}",
        names::shown(&kernel.name),
        kernel.registers,
        kernel.frame_size
    );
    let lines: Vec<CodeLine> = code_lines(chip, kernel, oriole_sass::Style::Exact).collect();
    let shape = chip.words();
    let read = lines.iter().filter_map(|line| Some((line.address, line.instruction.as_ref().ok()?)));
    let labels = has_labels.then(|| Labels::of(shape, read, shape.size(lines.len())));
    for CodeLine { address, text: line, instruction, .. } in lines {
        if let Some(place) = places.source.get(&address) {
            let _ = writeln!(text, "// {place}");
        }
        if let Some(PtxLine { line, text: statement }) = places.ptx.get(&address) {
            let _ = writeln!(text, "// ptx {line}: {statement}");
        }
        if let Some(label) = labels.as_ref().and_then(|labels| labels.at(address)) {
            let _ = writeln!(text, "{label}:");
        }
        let line = match (&labels, &instruction) {
            (Some(labels), Ok(instruction)) => labels.text(shape, address, instruction, &line),
            _ => line,
        };
        let _ = writeln!(text, "/*{address:04x}*/ {line}");
        failures.extend(instruction.err());
    }
}

fn json(
    chip: Chip,
    kernel: &oriole_cubin::read::Kernel,
    image: Option<usize>,
    places: &KernelPlaces<'_>,
    text: &mut String,
    failures: &mut Vec<String>,
) {
    for CodeLine { address, word, text: line, instruction } in
        code_lines(chip, kernel, oriole_sass::Style::Plain)
    {
        let mut value = serde_json::json!({
            "kernel": kernel.name, "address": address, "word": format!("{word:032x}"), "text": line,
        });
        if let Some(number) = image {
            value["image"] = number.into();
        }
        if let Some((_, place)) = places.source.range(..=address).next_back() {
            value["place"] = place.as_str().into();
        }
        if let Some((_, PtxLine { line, text })) = places.ptx.range(..=address).next_back() {
            value["ptx"] = serde_json::json!({ "line": line, "text": text });
        }
        match instruction {
            Ok(oriole_sass::Instruction { op, control, .. }) => {
                value["opcode"] = op.name().into();
                value["stall"] = control.stall.into();
                value["yield"] = control.yields.into();
                value["write_barrier"] = control.write_barrier.into();
                value["read_barrier"] = control.read_barrier.into();
                value["wait"] = control.wait_mask.into();
                value["batch"] = control.batch.into();
            }
            Err(error) => failures.push(error),
        }
        let _ = writeln!(text, "{value}");
    }
}
