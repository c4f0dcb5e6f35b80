//! The code that is profiled, with all that is known of it: compiled from a text, or read from a cubin; and its profile on a
//! launch. It is here so that program, editor and library profile alike.
//!
//! No fault is judged here, which is `oriole-profile`'s, and no file is read: the caller gives the sources.

use std::collections::BTreeMap;

use oriole_chip::Chip;
use oriole_cubin::Cubin;
use oriole_ide::{Analysis, Cancellable, FileId};
use oriole_profile::{By, Code, CodeRow, Profile};
use oriole_sass::Op;
use oriole_simulate::{Fault, Launch};
use oriole_timing::Recording;

use crate::code::Row;
use crate::lines::SourceLines;

/// Warp instructions that are replayed, at most.
const ROOM: u64 = 300_000;

/// Why there is no profile.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProfileError {
    /// The text does not compile, for this reason.
    #[error("{0}")]
    Compile(String),
    /// The bytes cannot be read as a cubin.
    #[error("{0}")]
    Cubin(String),
    /// There is no such kernel.
    #[error("there is no kernel `{0}`; there are {1}")]
    Kernel(String, String),
    /// Places were asked for by a text that is not known.
    #[error("{0}")]
    By(&'static str),
    /// The launch fails.
    #[error(transparent)]
    Run(#[from] oriole_timing::Error),
    /// It was given up.
    #[error("the profile was given up")]
    Stopped,
}

/// The effort of a profile, and how it names places.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProfileOptions {
    /// Blocks of the grid whose time is wanted, if not those of the launch.
    pub blocks: Option<u64>,
    /// No data is in L2 at the beginning.
    pub cold: bool,
    /// Run only the blocks that are replayed.
    pub sample: bool,
    /// By which text places are named; the first that is known of source, PTX and instructions if not given.
    pub by: Option<By>,
}

/// Code that was read or compiled.
pub struct ProfiledImage {
    /// The container.
    pub cubin: Cubin,
    kernels: BTreeMap<String, Code>,
}

impl ProfiledImage {
    /// The code of a cubin.
    ///
    /// # Errors
    /// It is no cubin, or its code or its line table cannot be read.
    pub fn read(bytes: &[u8]) -> Result<ProfiledImage, ProfileError> {
        let of = |error: &dyn std::fmt::Display| ProfileError::Cubin(error.to_string());
        let cubin = oriole_cubin::read(bytes).map_err(|error| of(&error))?;
        let listing = crate::Code::read(bytes).map_err(|error| of(&error))?;
        let places = SourceLines::of(&cubin).map_err(|error| of(&error))?;
        let mut kernels = BTreeMap::new();
        for (number, kernel) in listing.kernels.into_iter().enumerate() {
            let lines = places.of_kernel(number);
            let row = |(at, row): (usize, &Row)| {
                let function = kernel.functions.iter().rev().find(|function| function.0 <= at);
                let source = lines.range(..=u64::from(row.address)).next_back();
                CodeRow {
                    text: row.text.clone(),
                    source: source.and_then(|(_, place)| split(place)),
                    live: Some(row.pressure.general),
                    spill: is_slot(row),
                    function: function.map(|function| function.1.clone()),
                    ..CodeRow::default()
                }
            };
            let rows: Vec<CodeRow> = kernel.rows.iter().enumerate().map(row).collect();
            kernels.insert(kernel.name, Code { rows, ..Code::default() });
        }
        Ok(ProfiledImage { cubin, kernels })
    }

    /// The code of a text, with its lines and spills.
    ///
    /// # Errors
    /// A change cancelled it; inside, the text does not compile.
    pub fn compiled(
        analysis: &Analysis,
        file: FileId,
        chip: Chip,
    ) -> Cancellable<Result<ProfiledImage, ProfileError>> {
        let none = || ProfileError::Compile("it does not compile".to_owned());
        let Some((compiled, _)) = analysis.compile(file, chip, 1)? else { return Ok(Err(none())) };
        let Some(bytes) = compiled.cubin else {
            let first = compiled.diagnostics.iter().find(|diagnostic| diagnostic.is_error());
            let reason = first.map(|first| ProfileError::Compile(first.to_string()));
            return Ok(Err(reason.unwrap_or_else(none)));
        };
        let mut image = match ProfiledImage::read(&bytes) {
            Ok(image) => image,
            Err(error) => return Ok(Err(error)),
        };
        let (text, lines) = (analysis.text(file), analysis.lines(file));
        for (name, code) in &mut image.kernels {
            let text = text.iter().flat_map(|text| text.lines());
            code.ptx = text.map(str::to_owned).collect();
            let statistics = analysis.kernel_statistics(file, name, chip)?;
            code.spilled = statistics.map(|statistics| statistics.spilled).unwrap_or_default();
            let Some(listing) = analysis.sass(file, name, chip)? else { continue };
            let facts = listing.rows.into_iter().map(|row| {
                let ptx = row.source.zip(lines.as_ref()).map(|(range, lines)| lines.line(range.start) + 1);
                let function = (row.function != *name).then_some(row.function);
                (row.address, CodeRow { ptx, spill: row.spill, function, ..CodeRow::default() })
            });
            add(code, &facts.collect());
        }
        Ok(Ok(image))
    }

    /// The code of a kernel.
    ///
    /// # Errors
    /// There is no such kernel.
    pub fn code(&self, kernel: &str) -> Result<&Code, ProfileError> {
        self.kernels.get(kernel).ok_or_else(|| {
            let known: Vec<&str> = self.kernels.keys().map(String::as_str).collect();
            ProfileError::Kernel(kernel.to_owned(), known.join(", "))
        })
    }

    /// Gives the lines of the sources that the code names: `text` has the text of a file, or an empty one.
    pub fn give_sources(&mut self, text: impl Fn(&str) -> String) {
        for code in self.kernels.values_mut() {
            let files = code.rows.iter().filter_map(|row| row.source.as_ref());
            let files: std::collections::BTreeSet<String> = files.map(|(file, _)| file.clone()).collect();
            let lines = |file: &String| text(file).lines().map(str::to_owned).collect();
            code.sources = files.into_iter().map(|file| (file.clone(), lines(&file))).collect();
        }
    }

    /// The profile of a launch, unless `stop` becomes true before it is done.
    ///
    /// # Errors
    /// There is no such kernel, the launch fails, places are not known, or it was stopped.
    pub fn profile(
        &self,
        launch: &Launch,
        options: ProfileOptions,
        stop: &dyn Fn() -> bool,
    ) -> Result<Profile, ProfileError> {
        let code = self.code(&launch.kernel)?;
        let by = by(code, options.by)?;
        let asked = oriole_timing::Options {
            blocks: options.blocks,
            cold: options.cold,
            sample: options.sample,
            // There are many replays. The others SMs do the same.
            room: ROOM,
            sms: 1,
        };
        let recording = match Recording::until(&self.cubin, launch, &asked, stop) {
            Ok(recording) => recording,
            Err(oriole_timing::Error::Run(error)) if error.fault == Fault::Stopped => {
                return Err(ProfileError::Stopped);
            }
            Err(error) => return Err(error.into()),
        };
        oriole_profile::profile_until(&recording, code, by, stop).ok_or(ProfileError::Stopped)
    }
}

/// By which text places are named.
fn by(code: &Code, asked: Option<By>) -> Result<By, ProfileError> {
    let has_source = code.rows.iter().any(|row| row.source.is_some());
    match asked {
        Some(By::Ptx) if code.ptx.is_empty() => {
            Err(ProfileError::By("the lines of the PTX are known only if the code is compiled here"))
        }
        Some(By::Source) if !has_source => {
            Err(ProfileError::By("the code names no lines of a source (`.loc`, -lineinfo)"))
        }
        Some(by) => Ok(by),
        None if has_source => Ok(By::Source),
        None if !code.ptx.is_empty() => Ok(By::Ptx),
        None => Ok(By::Sass),
    }
}

/// Adds what only a compile knows of instructions, by their offsets.
fn add(code: &mut Code, known: &BTreeMap<u32, CodeRow>) {
    for (at, row) in code.rows.iter_mut().enumerate() {
        // Words of all chips have 16 bytes here.
        let Some(fact) = known.get(&(at as u32 * 16)) else { continue };
        row.ptx = fact.ptx;
        // A slot that is none of the allocator's: a register that a call saves, or a variable of the source.
        let statement = fact.ptx.and_then(|line| code.ptx.get((line as usize).checked_sub(1)?));
        let variable = statement.is_some_and(|statement| statement.contains("local"));
        row.spill = fact.spill || row.spill && !variable;
        row.function.clone_from(&fact.function);
    }
}

/// True for an access at a fixed place of the frame, which in optimized code is a spill: arrays that are indexed by constants
/// are registers.
fn is_slot(row: &Row) -> bool {
    let local = matches!(row.instruction.op, Op::LDL | Op::STL);
    local && (row.text.contains("[R1]") || row.text.contains("[R1+"))
}

/// `FILE:LINE` as its parts.
fn split(place: &str) -> Option<(String, u32)> {
    let (file, line) = place.rsplit_once(':')?;
    Some((file.to_owned(), line.parse().ok().filter(|&line| line > 0)?))
}
