//! `oriole images` and `oriole extract`: the device code in a file, as a list and as files. Of the images only names and chips
//! are read.

use crate::arguments::{Extract, Images};
use crate::files::DeviceError;
use crate::files::binary::{Binary, Outline};
use crate::files::device::{self, Amount, Asked};
use crate::files::input;
use crate::files::output::Output;
use crate::names;
use crate::outcome::{Outcome, failed, print};
use oriole_diagnostics::Code;
use oriole_fatbin::{Compression, Kind};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

/// An image of the list.
struct Row {
    /// From 0.
    number: usize,
    outline: Option<Outline>,
    /// Bytes when unpacked.
    size: u64,
    /// Why it cannot be unpacked.
    error: Option<String>,
}

impl Row {
    fn chip(&self, binary: &Binary) -> Option<String> {
        let stated = binary.image(self.number).chip_name();
        stated.or_else(|| self.outline.as_ref()?.chip.clone())
    }
}

/// Runs `oriole images`.
pub fn images(arguments: &Images) -> Outcome {
    let asked = Asked { kernels: &arguments.entries, strict: true, ..Asked::of(&arguments.arch, &None) };
    let binary = match Binary::open(&arguments.input) {
        Ok(binary) => binary,
        Err(error) => return error.report(),
    };
    let rows = device::numbers(&binary, None, Amount::Any, asked).and_then(|numbers| rows(&binary, &numbers));
    let rows = match rows {
        Ok(rows) => rows,
        Err(error) => {
            complain(&binary);
            return error.report();
        }
    };
    let written = if arguments.json {
        print(&format!("{}\n", document(&binary, &rows)))
    } else {
        print(&table(&binary, &rows, arguments.kernels))
    };
    let broken: Vec<Outcome> = rows.iter().filter_map(|row| row.error.as_ref()).map(failed).collect();
    if complain(&binary) || !broken.is_empty() { Outcome::Failed } else { written }
}

/// Says what is damaged, as errors: a list is to be complete.
fn complain(binary: &Binary) -> bool {
    let faults: Vec<Outcome> = binary
        .faults()
        .map(|(path, fault)| failed(format!("[{}] {}: {fault}", Code::DamagedFile, input::shown(path))))
        .collect();
    !faults.is_empty()
}

fn rows(binary: &Binary, numbers: &[usize]) -> Result<Vec<Row>, DeviceError> {
    let mut rows = Vec::with_capacity(numbers.len());
    binary.each_numbered(numbers, |number, chosen| {
        let mut row = Row { number, outline: None, size: binary.image(number).size(), error: None };
        match chosen {
            Ok(chosen) => {
                row.size = chosen.bytes.len() as u64;
                row.outline = Outline::of(binary.kind(number), &chosen.bytes);
            }
            Err(error) => row.error = Some(error.to_string()),
        }
        rows.push(row);
    })?;
    Ok(rows)
}

fn table(binary: &Binary, rows: &[Row], kernels: bool) -> String {
    let (one, many) = ("image", "images");
    let count = binary.count();
    let shown =
        if rows.len() == count { String::new() } else { format!(", {} of them asked for", rows.len()) };
    let mut text = format!(
        "{}: {} with {count} {}{shown}\n",
        binary.shown(),
        binary.described(),
        if count == 1 { one } else { many }
    );
    let _ = writeln!(
        text,
        "{:>5} {:<9} {:<8} {:>10} {:>16} {:>7}  name",
        "#", "kind", "chip", "bytes", "packed", "kernels"
    );
    for row in rows {
        let image = binary.image(row.number);
        let packed = match image.compression {
            Compression::None => String::new(),
            packing => format!("{packing} {}", image.stored),
        };
        let count = row.outline.as_ref().map_or(String::new(), |outline| outline.kernels.len().to_string());
        let mut names: Vec<&str> = binary.names(row.number).collect();
        names.extend(binary.is_unlinked(row.number).then_some("(to be linked)"));
        let line = format!(
            "{:>5} {:<9} {:<8} {:>10} {packed:>16} {count:>7}  {}",
            row.number + 1,
            image.kind,
            row.chip(binary).unwrap_or_default(),
            row.size,
            names.join(" ")
        );
        let _ = writeln!(text, "{}", line.trim_end());
        for kernel in row.outline.iter().flat_map(|outline| &outline.kernels).filter(|_| kernels) {
            let _ = writeln!(text, "        {}", names::shown(kernel));
        }
    }
    text
}

fn document(binary: &Binary, rows: &[Row]) -> serde_json::Value {
    let image = |row: &Row| {
        let image = binary.image(row.number);
        let packing = (image.compression != Compression::None).then(|| image.compression.to_string());
        let outline = row.outline.clone().unwrap_or_default();
        json!({
            "number": row.number + 1,
            "kind": image.kind.to_string(),
            "chip": row.chip(binary),
            "bytes": row.size,
            "compression": packing,
            "packed": image.stored,
            "offset": image.offset,
            "name": image.name,
            "member": image.origin.member,
            "section": image.origin.section,
            "file": binary.file_of(row.number).map(|file| file.display().to_string()),
            "options": image.options,
            "debug": image.debug,
            "kernels": outline.kernels,
            "functions": outline.functions,
            "error": row.error,
        })
    };
    let fault = |(path, fault): (&Path, &oriole_fatbin::Fault)| json!({ "file": input::shown(path), "offset": fault.offset, "message": fault.kind.to_string() });
    json!({
        "file": binary.shown(),
        "format": binary.described(),
        "images": rows.iter().map(image).collect::<Vec<_>>(),
        "faults": binary.faults().map(fault).collect::<Vec<_>>(),
    })
}

/// Runs `oriole extract`.
pub fn extract(arguments: &Extract) -> Outcome {
    let asked = Asked {
        kernels: &arguments.entries,
        strict: true,
        ..Asked::of(&arguments.arch, &arguments.which.image)
    };
    let binary = match Binary::open(&arguments.input) {
        Ok(binary) => binary,
        Err(error) => return error.report(),
    };
    binary.warn();
    let wanted = match (arguments.ptx, arguments.cubin) {
        (true, _) => Some(device::Wanted::Ptx),
        (_, true) => Some(device::Wanted::Cubin),
        _ => None,
    };
    let to_standard = arguments.output.as_deref().is_some_and(input::is_standard);
    let amount = if to_standard { Amount::One } else { Amount::Any };
    let numbers = match device::numbers(&binary, wanted, amount, asked) {
        Ok(numbers) => numbers,
        Err(error) => return error.report(),
    };
    let folder = arguments.output.as_deref().unwrap_or(Path::new("."));
    if !to_standard && let Err(error) = std::fs::create_dir_all(folder) {
        return failed(format!("{}: {error}", folder.display()));
    }
    let mut outcome = Outcome::Right;
    let given = binary.each_numbered(&numbers, |number, chosen| {
        let path = if to_standard { folder.to_owned() } else { folder.join(file_name(&binary, number)) };
        let written = match chosen {
            Ok(chosen) => Output::new(&path, &arguments.input).and_then(|output| output.write(&chosen.bytes)),
            Err(error) => {
                outcome = failed(error);
                return;
            }
        };
        if let Err(message) = written {
            outcome = failed(message);
        } else if !to_standard && print(&format!("{}\n", path.display())) != Outcome::Right {
            outcome = Outcome::Failed;
        }
    });
    given.map_or_else(DeviceError::report, |()| outcome)
}

/// The name of the file that an image becomes. Nothing of it is from the image but the number of the chip.
fn file_name(binary: &Binary, number: usize) -> String {
    let path = binary.file_of(number).unwrap_or(Path::new(binary.shown()));
    let stem = path.file_stem().map_or("image".into(), |stem| stem.to_string_lossy());
    let chip = binary.chip(number).map_or(String::new(), |chip| format!(".{chip}"));
    let end = match binary.kind(number) {
        Kind::Cubin => "cubin",
        kind if kind.is_ptx() => "ptx",
        Kind::Nvvm => "nvvm",
        _ => "bin",
    };
    format!("{stem}.{}{chip}.{end}", number + 1)
}
