//! The contents of a page about a file: for each kernel its text, its intermediate representation through the phases,
//! its code, and its resources on the chip.
//!
//! The contents can be tested without a browser. It queries the database and renders nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use oriole_chip::{Chip, Usage, occupancy};
use oriole_ide::{
    Analysis, Cancellable, FileId, KernelStatistics, OriError, OriSnapshot, Range, RegisterMarks, SassRow,
    TokenKind, demangle,
};

use crate::code::{Code, CodeError, KernelCode};

/// A file that was compiled for a chip.
#[derive(Clone, PartialEq, Debug)]
pub struct FileView {
    /// The name of the file.
    pub file: String,
    /// The chip.
    pub chip: Chip,
    /// The options, as text.
    pub options: String,
    /// Its kernels in the order of the file.
    pub kernels: Vec<KernelView>,
}

/// A kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelView {
    /// Its name, and its source name if that is requested and exists.
    pub name: String,
    /// See `name`.
    pub source_name: Option<String>,
    /// Its resources.
    pub needs: KernelStatistics,
    /// Its text and that of the functions that it calls.
    pub text: Vec<TextPart>,
    /// The intermediate representation, raw and after each phase that changed it.
    pub history: Vec<OriSnapshot>,
    /// The code.
    pub code: KernelCode,
    /// For each row of the code its facts beyond the word.
    pub notes: Vec<Note>,
    /// Warps of an SM for 1, 2, 3 ... registers of a thread, all else unchanged.
    pub curve: Vec<u32>,
}

/// A stretch of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextPart {
    /// Number of its first line, from 1.
    pub first_line: u32,
    /// Its lines.
    pub lines: Vec<TextLine>,
}

/// A line as stretches of one kind each.
pub type TextLine = Vec<(Option<TokenKind>, String)>;

/// Facts of a row of code beyond the word.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Note {
    /// Line of the file that it comes from, from 1.
    pub line: Option<u32>,
    /// It stores or reloads a spilled register.
    pub spill: bool,
    /// The reason why it stalls or waits.
    pub why: Vec<String>,
}

/// The parameters of a view.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The name of the file.
    pub file: &'a str,
    /// The chip.
    pub chip: Chip,
    /// The options as text.
    pub options: &'a str,
    /// Only these kernels, by their symbols; all if empty.
    pub only: &'a [String],
    /// Whether source names are shown next to symbol names.
    pub demangle: bool,
}

/// Why there is nothing to show.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ViewError {
    /// The file has errors.
    #[error("it does not compile")]
    NoCubin,
    /// The code cannot be read.
    #[error(transparent)]
    Code(#[from] CodeError),
    /// A kernel has no code.
    #[error("`{0}` has no code")]
    NoCode(String),
    /// A kernel has no intermediate representation.
    #[error(transparent)]
    Ori(#[from] OriError),
}

/// Gathers the facts about a file.
///
/// # Errors
/// The outer one for cancellation, the inner one if a part of the file does not compile.
pub fn gather(
    analysis: &Analysis,
    id: FileId,
    question: &Question<'_>,
) -> Cancellable<Result<FileView, ViewError>> {
    let &Question { file, chip, options, .. } = question;
    let Some(bytes) = analysis.cubin(id, chip)? else {
        return Ok(Err(ViewError::NoCubin));
    };
    let code = match Code::read(&bytes) {
        Ok(code) => code,
        Err(error) => return Ok(Err(error.into())),
    };
    let mut codes: BTreeMap<String, KernelCode> =
        code.kernels.into_iter().map(|kernel| (kernel.name.clone(), kernel)).collect();
    let mut kernels = Vec::new();
    for name in analysis.kernels(id)? {
        let source_name = demangle::readable(&name);
        if !question.only.is_empty() && !question.only.contains(&name) {
            continue;
        }
        let Some(mut code) = codes.remove(&name) else { continue };
        if question.demangle {
            for (_, inner) in &mut code.functions {
                *inner = demangle::readable(inner).unwrap_or_else(|| inner.clone());
            }
        }
        let (Some(needs), Some(listing)) =
            (analysis.kernel_statistics(id, &name, chip)?, analysis.sass(id, &name, chip)?)
        else {
            return Ok(Err(ViewError::NoCode(name)));
        };
        let history = match analysis.history(id, &name, chip)? {
            Ok(history) => history,
            Err(error) => return Ok(Err(error.into())),
        };
        let mut text = Vec::new();
        for (_, range) in analysis.parts(id, &name, chip)? {
            text.push(part(analysis, id, range)?);
        }
        kernels.push(KernelView {
            source_name: source_name.filter(|_| question.demangle),
            curve: curve(chip, &needs),
            notes: notes(analysis, id, &code, listing.rows),
            needs,
            text,
            history,
            code,
            name,
        });
    }
    Ok(Ok(FileView { file: file.to_owned(), chip, options: options.to_owned(), kernels }))
}

/// Joins the facts of words with the rows at their addresses.
fn notes(analysis: &Analysis, id: FileId, code: &KernelCode, rows: Vec<SassRow>) -> Vec<Note> {
    let lines = analysis.lines(id);
    let mut known: BTreeMap<u32, SassRow> = rows.into_iter().map(|row| (row.address, row)).collect();
    let mut note = |address: u32| {
        let Some(row) = known.remove(&address) else { return Note::default() };
        let line = row.source.zip(lines.as_ref()).map(|(range, lines)| lines.line(range.start) + 1);
        Note { line, spill: row.spill, why: row.why }
    };
    code.rows.iter().map(|row| note(row.address)).collect()
}

fn part(analysis: &Analysis, id: FileId, range: Range) -> Cancellable<TextPart> {
    let (Some(text), Some(lines)) = (analysis.text(id), analysis.lines(id)) else {
        return Ok(TextPart { first_line: 1, lines: Vec::new() });
    };
    let text: Arc<String> = text;
    let mut part = TextPart { first_line: lines.line(range.start) + 1, lines: vec![Vec::new()] };
    let mut add = |kind: Option<TokenKind>, stretch: &str| {
        for (at, line) in stretch.split('\n').enumerate() {
            if at > 0 {
                part.lines.push(Vec::new());
            }
            let line = line.strip_suffix('\r').unwrap_or(line);
            if let (false, Some(last)) = (line.is_empty(), part.lines.last_mut()) {
                last.push((kind, line.to_owned()));
            }
        }
    };
    let mut at = range.start as usize;
    for token in analysis.tokens(id, Some(range), &RegisterMarks::default())? {
        let (start, end) = (token.range.start as usize, token.range.end.min(range.end) as usize);
        if start < at || end <= start {
            continue;
        }
        add(None, &text[at..start]);
        add(Some(token.kind), &text[start..end]);
        at = end;
    }
    add(None, &text[at..range.end as usize]);
    Ok(part)
}

fn curve(chip: Chip, needs: &KernelStatistics) -> Vec<u32> {
    let most = u32::from(chip.register_files().general.count);
    let warps = |registers| {
        let usage = Usage { registers, shared: needs.shared, threads: needs.threads.0 };
        occupancy(chip, usage).map_or(0, |found| found.warps)
    };
    (1..=most).map(warps).collect()
}
