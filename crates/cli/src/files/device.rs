//! Files with device code: from a path that a user named to the cubin or the PTX that a command works on. Every command that
//! reads such a file does so here.
//!
//! A file that is itself a cubin or PTX is one image. One that holds several is asked by chip, by number or name, and by kernel. A
//! folder, such as Triton's cache, holds the images of its files.

use super::binary::Binary;
use super::chosen::{Chosen, DeviceError};
use super::input;
use oriole_fatbin::{ARCHIVE_MAGICS, ELF_MAGIC, FATBIN_MAGIC};
use std::path::Path;

/// Rows of images in a message, at most.
const MOST_ROWS: usize = 20;

/// The image as a command line describes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// The chip, exactly.
    pub chip: Option<&'a str>,
    /// Its number, or a part of its name.
    pub image: Option<&'a str>,
    /// Kernels that it has one of.
    pub kernels: &'a [String],
    /// Whether the chip of a file that is one image must be that chip too; else it may be the chip to compile for.
    pub strict: bool,
}

impl<'a> Asked<'a> {
    /// Of a command with a chip and an image.
    pub fn of(chip: &'a Option<String>, image: &'a Option<String>) -> Asked<'a> {
        Asked { chip: chip.as_deref(), image: image.as_deref(), ..Asked::default() }
    }
}

/// The kind of image that a command needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// Machine code.
    Cubin,
    /// PTX.
    Ptx,
}

impl Wanted {
    fn described(self) -> &'static str {
        match self {
            Wanted::Cubin => "cubin",
            Wanted::Ptx => "PTX",
        }
    }
}

/// How many images a command takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// One.
    One,
    /// All that are for one chip.
    OfOneChip,
    /// Any.
    Any,
}

/// Gives the images of a file that fit what was asked for, one after the other: only one of them is in memory. One that cannot be
/// unpacked is an error in its place.
///
/// # Errors
/// There is none, or there are more than the command takes.
pub fn each(
    path: &Path,
    wanted: Wanted,
    amount: Amount,
    asked: Asked<'_>,
    give: impl FnMut(Result<Chosen, DeviceError>),
) -> Result<(), DeviceError> {
    let binary = Binary::open(path)?;
    binary.warn();
    let numbers = numbers(&binary, Some(wanted), amount, asked)?;
    binary.each(&numbers, give)
}

/// The one image of a file that fits what was asked for.
///
/// # Errors
/// There is not one, or it cannot be unpacked.
pub fn image(path: &Path, wanted: Wanted, asked: Asked<'_>) -> Result<Chosen, DeviceError> {
    let binary = Binary::open(path)?;
    binary.warn();
    chosen(&binary, wanted, asked)
}

/// The contents of a file for a command that takes both kinds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Given {
    /// Machine code.
    Cubin(Chosen),
    /// PTX, or other text.
    Text(String),
}

/// The PTX of a file: its text, or that of the image in it that fits.
///
/// # Errors
/// As [`image`]; and if it is not text.
pub fn text(path: &Path, asked: Asked<'_>) -> Result<String, DeviceError> {
    match opened(path)? {
        Opened::Text(text) => Ok(text),
        Opened::Binary(binary) => text_of(&binary, path, asked),
    }
}

/// The machine code of a file, or its text; of a file with both the machine code.
///
/// # Errors
/// As [`text`].
pub fn either(path: &Path, asked: Asked<'_>) -> Result<Given, DeviceError> {
    let binary = match opened(path)? {
        Opened::Text(text) => return Ok(Given::Text(text)),
        Opened::Binary(binary) => binary,
    };
    let has_cubins = (0..binary.count()).any(|number| binary.kind(number) == oriole_fatbin::Kind::Cubin);
    let has_ptx = (0..binary.count()).any(|number| binary.kind(number).is_ptx());
    if has_ptx && !has_cubins {
        return text_of(&binary, path, asked).map(Given::Text);
    }
    chosen(&binary, Wanted::Cubin, asked).map(Given::Cubin)
}

fn text_of(binary: &Binary, path: &Path, asked: Asked<'_>) -> Result<String, DeviceError> {
    Ok(input::as_text(path, chosen(binary, Wanted::Ptx, asked)?.bytes)?)
}

/// A file whose kind is known.
enum Opened {
    Text(String),
    Binary(Binary),
}

fn opened(path: &Path) -> Result<Opened, DeviceError> {
    let binary = match input::bytes(path) {
        Ok(bytes) if may_hold_images(&bytes) => Binary::of_bytes(path, bytes)?,
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => return Ok(Opened::Text(text)),
            Err(error) => {
                let binary = Binary::of_bytes(path, error.into_bytes())?;
                if binary.count() == 0 {
                    // It was to be text.
                    return Ok(Opened::Text(input::as_text(path, binary.into_bytes())?));
                }
                binary
            }
        },
        // A folder is not a file, and may be a cache.
        Err(_) if input::is_too_large(path) || path.is_dir() => Binary::open(path)?,
        Err(error) => return Err(error.into()),
    };
    binary.warn();
    Ok(Opened::Binary(binary))
}

/// Whether a file that begins like this may hold images, and is not text.
fn may_hold_images(bytes: &[u8]) -> bool {
    [&ELF_MAGIC[..], &FATBIN_MAGIC].into_iter().chain(ARCHIVE_MAGICS).any(|magic| bytes.starts_with(magic))
}

fn chosen(binary: &Binary, wanted: Wanted, asked: Asked<'_>) -> Result<Chosen, DeviceError> {
    // One is what was asked for.
    let numbers = numbers(binary, Some(wanted), Amount::One, asked)?;
    binary.unpacked(numbers[0])
}

/// The numbers, from 0, of the images that fit: of a kind, or of any if none is wanted.
///
/// # Errors
/// There is none, or there are more than the command takes.
pub fn numbers(
    binary: &Binary,
    wanted: Option<Wanted>,
    amount: Amount,
    asked: Asked<'_>,
) -> Result<Vec<usize>, DeviceError> {
    let mut numbers = of_kind(binary, wanted)?;
    if let Some(image) = asked.image {
        numbers = named(binary, &numbers, image)?;
    } else if wanted.is_some() && amount != Amount::Any {
        // Code that a linker has yet to link is in the linked code again.
        let linked = numbers.iter().copied().filter(|&number| !binary.is_unlinked(number));
        let linked: Vec<usize> = linked.collect();
        if !linked.is_empty() {
            numbers = linked;
        }
    }
    let several = numbers.len() > 1;
    if let Some(chip) = asked.chip.filter(|_| asked.strict || !binary.is_one_image()) {
        let name = chip_name(chip);
        let of_chip = |&number: &usize| binary.chip(number).as_deref() == Some(name.as_str());
        let fitting: Vec<usize> = numbers.iter().copied().filter(of_chip).collect();
        // PTX is for its chip and all later ones: one text alone is taken as it is.
        if !fitting.is_empty() || wanted != Some(Wanted::Ptx) || several {
            numbers = unless_empty(binary, &numbers, fitting, || {
                format!("{} for {name}", wanted.map_or("image", Wanted::described))
            })?;
        }
    }
    if !asked.kernels.is_empty() && numbers.len() > 1 {
        let fitting = binary.with_kernels(&numbers, asked.kernels)?;
        numbers = unless_empty(binary, &numbers, fitting, || {
            format!("image with a kernel `{}`", asked.kernels.join("` or `"))
        })?;
    }
    let one_chip = || {
        let mut chips = numbers.iter().map(|&number| binary.chip(number));
        let first = chips.next();
        chips.all(|chip| Some(chip) == first)
    };
    let fits = match amount {
        Amount::One => numbers.len() == 1,
        Amount::OfOneChip => numbers.len() == 1 || one_chip(),
        Amount::Any => true,
    };
    if !fits {
        let (file, count) = (binary.shown().to_owned(), numbers.len());
        return Err(DeviceError::Several { file, count, rows: rows(binary, &numbers) });
    }
    Ok(numbers)
}

/// The images of a kind.
fn of_kind(binary: &Binary, wanted: Option<Wanted>) -> Result<Vec<usize>, DeviceError> {
    let is_wanted = |&number: &usize| match wanted {
        Some(Wanted::Cubin) => binary.kind(number) == oriole_fatbin::Kind::Cubin,
        Some(Wanted::Ptx) => binary.kind(number).is_ptx(),
        None => true,
    };
    let numbers: Vec<usize> = (0..binary.count()).filter(is_wanted).collect();
    if !numbers.is_empty() {
        return Ok(numbers);
    }
    let described = binary.described();
    let wanted = wanted.map_or("image", Wanted::described);
    let there = match binary.count() {
        0 => format!("{described} without device code"),
        _ if binary.is_one_image() => format!("{described}, and no {wanted}"),
        _ => {
            let all: Vec<usize> = (0..binary.count()).collect();
            format!("{described} without {wanted}; it holds:{}", rows(binary, &all))
        }
    };
    Err(DeviceError::None { file: binary.shown().to_owned(), there })
}

/// Those with this number or this part of a name.
fn named(binary: &Binary, numbers: &[usize], image: &str) -> Result<Vec<usize>, DeviceError> {
    let number = image.trim_start_matches('#').parse::<usize>().ok();
    let fits = |&index: &usize| match number {
        Some(number) => index + 1 == number,
        None => binary.names(index).any(|name| name.contains(image)),
    };
    let fitting = numbers.iter().copied().filter(fits).collect();
    unless_empty(binary, numbers, fitting, || format!("image `{image}` of this kind"))
}

fn unless_empty(
    binary: &Binary,
    before: &[usize],
    fitting: Vec<usize>,
    what: impl FnOnce() -> String,
) -> Result<Vec<usize>, DeviceError> {
    if !fitting.is_empty() {
        return Ok(fitting);
    }
    let file = binary.shown().to_owned();
    Err(DeviceError::NoSuch { file, what: what(), rows: rows(binary, before) })
}

/// The images of a message, a line each.
fn rows(binary: &Binary, numbers: &[usize]) -> String {
    let row = |&number: &usize| format!("\n  {}", binary.row(number));
    let mut rows: String = numbers.iter().take(MOST_ROWS).map(row).collect();
    if numbers.len() > MOST_ROWS {
        rows.push_str(&format!("\n  and {} more: `oriole images` lists them", numbers.len() - MOST_ROWS));
    }
    rows
}

/// The name of a chip as images have it.
fn chip_name(asked: &str) -> String {
    let number = asked.strip_prefix("sm_").or_else(|| asked.strip_prefix("compute_")).unwrap_or(asked);
    format!("sm_{number}")
}
