//! The code that is profiled, with all that is known of it: compiled here, or read from a cubin. No time is known here.

use crate::files::DeviceError;
use crate::files::device::{self, Asked, Given, Wanted};
use crate::files::input;
use oriole_chip::Chip;
use oriole_cubin::Cubin;
use oriole_explore::SourceLines;
use oriole_ide::{AnalysisHost, Language, Settings, SettingsId};
use oriole_options::Options;
use oriole_profile::{Code, CodeRow};
use oriole_sass::Op;
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of a source that is read for its lines, at most.
const LARGEST_SOURCE: u64 = 16 << 20;

/// The first file of the command line.
pub enum Source {
    /// A cubin.
    Cubin(Vec<u8>),
    /// Launch records.
    Records,
    /// PTX.
    Text(String),
}

impl Source {
    /// A file, or the image in it that was asked for, by how it begins.
    ///
    /// # Errors
    /// It cannot be read, is none of these, or has not one such image.
    pub fn of(path: &Path, asked: Asked<'_>) -> Result<Source, DeviceError> {
        Ok(match device::either(path, asked)? {
            Given::Cubin(image) => Source::Cubin(image.bytes),
            Given::Text(text) => match text.trim_ascii_start().starts_with('{') {
                true if path.extension().is_none_or(|extension| extension != "ptx") => Source::Records,
                _ => Source::Text(text),
            },
        })
    }
}

/// How a text is compiled.
pub struct Compile {
    /// The chip; that of the text if there is none.
    pub chip: Option<Chip>,
    /// The options.
    pub options: Options,
    /// The chip as it was asked for, which chooses among the images of a file.
    pub arch: Option<String>,
}

/// Code that was read or compiled.
pub struct Image {
    /// The container.
    pub cubin: Cubin,
    kernels: BTreeMap<String, Code>,
}

/// Facts of instructions that only a compile knows, by kernel and offset.
type Facts = BTreeMap<String, BTreeMap<u32, CodeRow>>;

impl Image {
    /// The code of a kernel.
    ///
    /// # Errors
    /// There is no such kernel.
    pub fn code(&self, kernel: &str) -> Result<&Code, String> {
        self.kernels.get(kernel).ok_or_else(|| {
            let known: Vec<&str> = self.kernels.keys().map(String::as_str).collect();
            format!("there is no kernel `{kernel}`; there are {}", known.join(", "))
        })
    }
}

impl Compile {
    /// Which image of a file with a cubin.
    pub fn asked(&self) -> Asked<'_> {
        Asked { chip: self.arch.as_deref(), ..Asked::default() }
    }

    /// The code of a cubin.
    ///
    /// # Errors
    /// It is no cubin, or its code or its line table cannot be read.
    pub fn read(&self, path: &Path, bytes: &[u8]) -> Result<Image, String> {
        let of = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let cubin = oriole_cubin::read(bytes).map_err(|error| of(&error))?;
        let listing = oriole_explore::Code::read(bytes).map_err(|error| of(&error))?;
        let places = SourceLines::of(&cubin).map_err(|error| of(&error))?;
        let mut kernels = BTreeMap::new();
        for (number, kernel) in listing.kernels.into_iter().enumerate() {
            let lines = places.of_kernel(number);
            let row = |(at, row): (usize, &oriole_explore::Row)| {
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
            let sources = sources(&rows, path);
            kernels.insert(kernel.name, Code { rows, sources, ..Code::default() });
        }
        Ok(Image { cubin, kernels })
    }

    /// The code of a text: that of a cubin if there is one, else compiled.
    ///
    /// # Errors
    /// As [`Compile::read`] and [`Compile::compiled`].
    pub fn compiled_or(&self, path: &Path, text: &str, cubin: Option<&Path>) -> Result<Image, String> {
        match cubin {
            Some(cubin) => {
                let image = device::image(cubin, Wanted::Cubin, self.asked());
                self.read(cubin, &image.map_err(|error| error.to_string())?.bytes)
            }
            None => self.compiled(path, text),
        }
    }

    /// The code of a text, with its lines and spills.
    ///
    /// # Errors
    /// The text does not compile.
    pub fn compiled(&self, path: &Path, text: &str) -> Result<Image, String> {
        const SHARED: SettingsId = SettingsId(0);
        let mut options = self.options.clone();
        options.debug.lines |= text.contains(".loc") && !options.debug.full;
        let mut host = AnalysisHost::new();
        host.set_settings(SHARED, Settings { targets: self.chip.into_iter().collect(), options });
        let file = host.open(Language::Ptx, text, SHARED);
        let analysis = host.analysis();
        let failed = |first: String| format!("{}: {first}", path.display());
        // Nothing changes and nothing cancels here: each answer is there.
        let cancelled = |_| failed("the compile was cancelled".to_owned());
        let chip = *analysis.targets(file).map_err(cancelled)?.first().ok_or("the file names no chip")?;
        let compiled = analysis.compile(file, chip, 1).map_err(cancelled)?;
        let Some((compiled, _)) = compiled else { return Err(failed("it does not compile".to_owned())) };
        let Some(bytes) = compiled.cubin else {
            let first = compiled.diagnostics.iter().find(|diagnostic| diagnostic.is_error());
            return Err(failed(first.map_or("no result".to_owned(), ToString::to_string)));
        };
        let mut image = self.read(path, &bytes)?;
        let lines = analysis.lines(file);
        let mut facts = Facts::new();
        for (name, code) in &mut image.kernels {
            code.ptx = text.lines().map(str::to_owned).collect();
            let statistics = analysis.kernel_statistics(file, name, chip).map_err(cancelled)?;
            code.spilled = statistics.map(|statistics| statistics.spilled).unwrap_or_default();
            let Some(listing) = analysis.sass(file, name, chip).map_err(cancelled)? else { continue };
            let of = facts.entry(name.clone()).or_default();
            for row in listing.rows {
                let ptx = row.source.zip(lines.as_ref()).map(|(range, lines)| lines.line(range.start) + 1);
                let function = (row.function != *name).then_some(row.function);
                of.insert(row.address, CodeRow { ptx, spill: row.spill, function, ..CodeRow::default() });
            }
        }
        image.add(&facts);
        Ok(image)
    }
}

impl Image {
    fn add(&mut self, facts: &Facts) {
        for (name, code) in &mut self.kernels {
            let Some(known) = facts.get(name) else { continue };
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
    }
}

/// True for an access at a fixed place of the frame, which in optimized code is a spill: arrays that are indexed by constants
/// are registers.
fn is_slot(row: &oriole_explore::Row) -> bool {
    let local = matches!(row.instruction.op, Op::LDL | Op::STL);
    local && (row.text.contains("[R1]") || row.text.contains("[R1+"))
}

/// `FILE:LINE` as its parts.
fn split(place: &str) -> Option<(String, u32)> {
    let (file, line) = place.rsplit_once(':')?;
    Some((file.to_owned(), line.parse().ok().filter(|&line| line > 0)?))
}

/// The lines of the sources, where those can be read: as they are named, or in the folder of the code.
fn sources(rows: &[CodeRow], path: &Path) -> BTreeMap<String, Vec<String>> {
    let mut sources = BTreeMap::new();
    for (file, _) in rows.iter().filter_map(|row| row.source.as_ref()) {
        if sources.contains_key(file) {
            continue;
        }
        let named = Path::new(file);
        let beside = path.parent().zip(named.file_name()).map(|(folder, name)| folder.join(name));
        let known = [Some(named.to_owned()), beside]
            .into_iter()
            .flatten()
            .find(|path| path.metadata().is_ok_and(|facts| facts.is_file() && facts.len() <= LARGEST_SOURCE));
        let text = known.and_then(|path| input::text(&path).ok()).unwrap_or_default();
        sources.insert(file.clone(), text.lines().map(str::to_owned).collect());
    }
    sources
}
