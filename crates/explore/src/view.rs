//! The contents of a page about a file: for each kernel its text, its intermediate representation through the phases,
//! its code, and its resources on the chip.
//!
//! A kernel is asked for by its number, so that a page that is served gathers what is looked at and no more. The contents
//! can be tested without a browser. It queries the database and renders nothing.

use std::collections::BTreeMap;

use oriole_chip::{Chip, Usage, occupancy};
use oriole_ide::{Analysis, Cancellable, FileId, KernelStatistics, OriError, OriSnapshot, SassRow, demangle};

use crate::alignment::{Alignment, aligned};
use crate::code::{Code, CodeError, KernelCode};
use crate::lines::{LinesError, SourceLines};
use crate::sources::{Place, Source};
use crate::text_part::{TextPart, part};

/// Threads of a block where a kernel of a cubin does not bound them.
const THREADS: u32 = 256;

/// A file whose kernels are shown.
#[derive(Clone, PartialEq, Debug)]
pub struct FileView {
    /// The name of the file.
    pub file: String,
    /// The chip.
    pub chip: Chip,
    /// The options, as text.
    pub options: String,
    /// Diagnostics of the compile.
    pub diagnostics: Vec<Remark>,
    /// Files of the source by their numbers.
    pub sources: BTreeMap<u32, Source>,
    /// The label of the other cubin.
    pub other: Option<String>,
    /// The launch that the heat is from.
    pub launch: Option<String>,
    /// Its kernels in the order of the file.
    pub kernels: Vec<Entry>,
    /// The text that it was compiled from; none for a cubin.
    id: Option<FileId>,
}

/// A diagnostic as text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// The message with its code.
    pub text: String,
    /// The line of the file, from 1.
    pub line: u32,
    /// Whether it is an error.
    pub is_error: bool,
}

/// A kernel before anything but its code is known.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Its symbol.
    pub name: String,
    /// Its source name, if that is requested and exists.
    pub source_name: Option<String>,
    code: KernelCode,
    /// For each row its line of the source, if the cubin has a table of them.
    table: Vec<Option<Place>>,
    other: Option<KernelCode>,
    heat: Option<Vec<Heat>>,
}

/// The figures of a row from a run of the timing model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Heat {
    /// Warp instructions that issued.
    pub issued: u64,
    /// Cycles that warps waited at it.
    pub waited: u64,
    /// The waits by reason, in words.
    pub why: String,
}

/// A kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelView<'a> {
    /// Its names.
    pub entry: &'a Entry,
    /// The chip.
    pub chip: Chip,
    /// Its resources, if it was compiled here.
    pub needs: Option<KernelStatistics>,
    /// Its text and that of the functions that it calls.
    pub text: Vec<TextPart>,
    /// The code.
    pub code: &'a KernelCode,
    /// For each row of the code its facts beyond the word.
    pub notes: Vec<Note>,
    /// Registers, shared memory and threads that the occupancy is for.
    pub usage: Usage,
    /// Warps of an SM for 1, 2, 3 ... registers of a thread, all else unchanged.
    pub curve: Vec<u32>,
    /// The other code, and which rows are next to each other.
    pub other: Option<(&'a KernelCode, Vec<Alignment>)>,
    /// The figures of the timing model for each row.
    pub heat: Option<&'a [Heat]>,
}

/// Facts of a row of code beyond the word.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Note {
    /// Line of the file that it comes from, from 1.
    pub line: Option<u32>,
    /// Line of the source that it comes from.
    pub place: Option<Place>,
    /// It stores or reloads a spilled register.
    pub spill: bool,
    /// The reason why it stalls or waits.
    pub why: Vec<String>,
}

/// The parameters of a view.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The name of the file.
    pub file: String,
    /// The options as text.
    pub options: String,
    /// Only these kernels, by their symbols; all if empty.
    pub only: Vec<String>,
    /// Whether source names are shown next to symbol names.
    pub demangle: bool,
    /// Diagnostics of the compile.
    pub diagnostics: Vec<Remark>,
    /// Files of the source by their numbers in the text.
    pub sources: BTreeMap<u32, Source>,
    /// Another compiler's code, with its label.
    pub other: Option<(String, Code)>,
    /// A launch by its name, the kernel, and what the timing model says of its rows.
    pub launch: Option<(String, String, Vec<Heat>)>,
}

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The file has errors.
    #[error("it does not compile")]
    NoCubin,
    /// The code cannot be read.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// The line table cannot be read.
    #[error(transparent)]
    Lines(#[from] LinesError),
    /// A kernel has no code.
    #[error("`{0}` has no code")]
    NoCode(String),
    /// There is no kernel with this number.
    #[error("there is no kernel {0}")]
    NoKernel(usize),
    /// A kernel has no intermediate representation.
    #[error(transparent)]
    Ori(#[from] OriError),
    /// The other cubin is for another chip.
    #[error("{label} is for {theirs}, and the code is for {ours}")]
    OtherChip {
        /// The label of the other cubin.
        label: String,
        /// Its chip.
        theirs: Chip,
        /// The chip of the file.
        ours: Chip,
    },
}

impl FileView {
    /// The view of PTX that was compiled.
    ///
    /// # Errors
    /// The outer one for cancellation, the inner one if a part of the file does not compile.
    pub fn of_text(
        analysis: &Analysis,
        id: FileId,
        chip: Chip,
        question: Question,
    ) -> Cancellable<Result<FileView, ViewError>> {
        let Some(bytes) = analysis.cubin(id, chip)? else {
            return Ok(Err(ViewError::NoCubin));
        };
        let code = match Code::read(&bytes) {
            Ok(code) => code,
            Err(error) => return Ok(Err(error.into())),
        };
        let order = analysis.kernels(id)?;
        let mut codes: BTreeMap<String, KernelCode> =
            code.kernels.into_iter().map(|kernel| (kernel.name.clone(), kernel)).collect();
        let kernels = order.iter().filter_map(|name| Some((codes.remove(name)?, Vec::new()))).collect();
        Ok(FileView::of(chip, kernels, Some(id), question))
    }

    /// The view of a cubin. `read` gives the lines of a source that its line table names.
    ///
    /// # Errors
    /// Its code or its line table cannot be read.
    pub fn of_cubin(
        bytes: &[u8],
        mut question: Question,
        read: &mut dyn FnMut(&str) -> Vec<String>,
    ) -> Result<FileView, ViewError> {
        let code = Code::read(bytes)?;
        let cubin = oriole_cubin::read(bytes).map_err(|error| CodeError::Cubin(error.into()))?;
        let lines = SourceLines::of(&cubin)?;
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        let mut kernels = Vec::new();
        for (number, kernel) in code.kernels.into_iter().enumerate() {
            let known = lines.of_kernel(number);
            let mut place = |address: u32| -> Option<Place> {
                let (_, place) = known.range(..=u64::from(address)).next_back()?;
                let (name, line) = place.rsplit_once(':')?;
                let line = line.parse().ok().filter(|&line: &u32| line > 0)?;
                let next = numbers.len() as u32 + 1;
                let file = *numbers.entry(name.to_owned()).or_insert(next);
                Some((file, line))
            };
            let table = kernel.rows.iter().map(|row| place(row.address)).collect();
            kernels.push((kernel, table));
        }
        question.sources =
            numbers.into_iter().map(|(name, number)| (number, Source { lines: read(&name), name })).collect();
        FileView::of(code.chip, kernels, None, question)
    }

    fn of(
        chip: Chip,
        kernels: Vec<(KernelCode, Vec<Option<Place>>)>,
        id: Option<FileId>,
        question: Question,
    ) -> Result<FileView, ViewError> {
        let Question { file, options, only, demangle, diagnostics, sources, other, launch } = question;
        if let Some((label, code)) = &other
            && code.chip != chip
        {
            return Err(ViewError::OtherChip { label: label.clone(), theirs: code.chip, ours: chip });
        }
        let (other, theirs) = other.map(|(label, code)| (label, code.kernels)).unzip();
        // Single kernels are paired, whatever their names.
        let single = kernels.len() == 1 && theirs.as_ref().is_some_and(|kernels| kernels.len() == 1);
        let mut theirs: BTreeMap<String, KernelCode> = theirs
            .into_iter()
            .flatten()
            .map(
                |kernel| {
                    if single { (kernels[0].0.name.clone(), kernel) } else { (kernel.name.clone(), kernel) }
                },
            )
            .collect();
        let mut heat = launch.as_ref().map(|(_, kernel, rows)| (kernel.clone(), rows.clone()));
        let entry = |(mut code, table): (KernelCode, _)| {
            if demangle {
                for (_, inner) in &mut code.functions {
                    *inner = demangle::readable(inner).unwrap_or_else(|| inner.clone());
                }
            }
            Entry {
                source_name: demangle::readable(&code.name).filter(|_| demangle),
                other: theirs.remove(&code.name),
                heat: heat.take_if(|(kernel, _)| *kernel == code.name).map(|(_, rows)| rows),
                name: code.name.clone(),
                code,
                table,
            }
        };
        let wanted = kernels.into_iter().filter(|(code, _)| only.is_empty() || only.contains(&code.name));
        Ok(FileView {
            kernels: wanted.map(entry).collect(),
            launch: launch.map(|(name, ..)| name),
            file,
            chip,
            options,
            diagnostics,
            sources,
            other,
            id,
        })
    }

    /// Whether it has PTX and its intermediate representation.
    pub fn has_text(&self) -> bool {
        self.id.is_some()
    }

    /// A kernel by its number. `analysis` is of the state that the view was made from.
    ///
    /// # Errors
    /// The outer one for cancellation, the inner one if it has no code.
    pub fn kernel(
        &self,
        analysis: &Analysis,
        number: usize,
    ) -> Cancellable<Result<KernelView<'_>, ViewError>> {
        let Some(entry) = self.kernels.get(number) else { return Ok(Err(ViewError::NoKernel(number))) };
        let Entry { name, code, .. } = entry;
        let (mut text, mut needs) = (Vec::new(), None);
        let mut notes: Vec<Note> =
            entry.table.iter().map(|&place| Note { place, ..Note::default() }).collect();
        if let Some(id) = self.id {
            let (Some(statistics), Some(listing)) =
                (analysis.kernel_statistics(id, name, self.chip)?, analysis.sass(id, name, self.chip)?)
            else {
                return Ok(Err(ViewError::NoCode(name.clone())));
            };
            needs = Some(statistics);
            for (_, range) in analysis.parts(id, name, self.chip)? {
                text.push(part(analysis, id, range)?);
            }
            notes = joined(analysis, id, code, listing.rows, &text);
        }
        let usage = match &needs {
            Some(needs) => {
                Usage { registers: needs.registers, shared: needs.shared, threads: needs.threads.0 }
            }
            None => Usage {
                registers: code.registers,
                shared: u32::try_from(code.shared_bytes).unwrap_or(u32::MAX),
                threads: code.threads.unwrap_or(THREADS),
            },
        };
        let other = entry.other.as_ref().map(|other| (other, aligned([code, other])));
        let curve = curve(self.chip, usage);
        let heat = entry.heat.as_deref();
        Ok(Ok(KernelView { entry, chip: self.chip, needs, text, code, notes, usage, curve, other, heat }))
    }

    /// The intermediate representation of a kernel, raw and after each phase that changed it; none for a cubin.
    ///
    /// # Errors
    /// The outer one for cancellation, the inner one if it does not compile.
    pub fn history(
        &self,
        analysis: &Analysis,
        number: usize,
    ) -> Cancellable<Result<Vec<OriSnapshot>, ViewError>> {
        let Some(entry) = self.kernels.get(number) else { return Ok(Err(ViewError::NoKernel(number))) };
        let Some(id) = self.id else { return Ok(Ok(Vec::new())) };
        Ok(analysis.history(id, &entry.name, self.chip)?.map_err(ViewError::from))
    }
}

/// Joins the facts of words with the rows at their addresses.
fn joined(
    analysis: &Analysis,
    id: FileId,
    code: &KernelCode,
    rows: Vec<SassRow>,
    text: &[TextPart],
) -> Vec<Note> {
    let lines = analysis.lines(id);
    let mut known: BTreeMap<u32, SassRow> = rows.into_iter().map(|row| (row.address, row)).collect();
    let place = |line: u32| {
        // Called functions come after the kernel, wherever they are in the file.
        let at = |part: &TextPart| part.places.get(line.checked_sub(part.first_line)? as usize).copied();
        text.iter().find_map(at)?
    };
    let mut note = |address: u32| {
        let Some(row) = known.remove(&address) else { return Note::default() };
        let line = row.source.zip(lines.as_ref()).map(|(range, lines)| lines.line(range.start) + 1);
        Note { line, place: line.and_then(place), spill: row.spill, why: row.why }
    };
    code.rows.iter().map(|row| note(row.address)).collect()
}

fn curve(chip: Chip, usage: Usage) -> Vec<u32> {
    let most = u32::from(chip.register_files().general.count);
    let warps = |registers| occupancy(chip, Usage { registers, ..usage }).map_or(0, |found| found.warps);
    (1..=most).map(warps).collect()
}
