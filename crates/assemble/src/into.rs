//! The functions of a listing in place of those of a cubin: which old instruction is where, and what speaks against it.

use crate::listing::{FunctionText, TextError};
use crate::returns::Returns;
use oriole_chip::{Chip, WordShape};
use oriole_cubin::edit::{Edit, EditError, edit};
use oriole_cubin::read::Kernel;
use oriole_cubin::{Cubin, ReadError};
use oriole_sass::{InstructionWord, Op, append_words};

/// A cubin with other code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edited {
    /// The file.
    pub bytes: Vec<u8>,
    /// Functions whose code is not what it was, in the order of the listing.
    pub changed: Vec<String>,
    /// Parts of the file that no longer fit the code.
    pub warnings: Vec<Warning>,
}

/// Something in the file that the new code does not agree with.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Warning {
    /// Line tables and frames for debuggers.
    #[error(
        "instructions of `{0}` have moved: line tables and frames for debuggers are those of the old code"
    )]
    Lines(String),
    /// The second form of the code, from which tools make code for other chips.
    #[error("the file also has `{0}` in the form for finalizers, which stays as it was")]
    Capsule(String),
}

/// Why a listing cannot take the place of code.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IntoError {
    /// A line of the listing.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The cubin that was made cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Puts the functions of a listing in place of those of the same names. `cubin` is what `data` holds.
///
/// # Errors
/// Each function that cannot be replaced, with the line of its header or of an instruction.
pub fn into_cubin(
    chip: Chip,
    data: &[u8],
    cubin: &Cubin,
    functions: &[FunctionText],
) -> Result<Edited, Vec<IntoError>> {
    let mut errors = Vec::new();
    let mut edits = Vec::new();
    let mut edited = Edited { bytes: Vec::new(), changed: Vec::new(), warnings: Vec::new() };
    for function in functions {
        match replacement(chip, cubin, function) {
            Ok(new) if new.is_same => {}
            Ok(new) => {
                edited.changed.push(function.name.clone());
                edited.warnings.extend(new.warnings(cubin, &function.name));
                edits.push((function.line, new.edit));
            }
            Err(error) => errors.push(error.into()),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    // One by one, so that an error has the line of its function; the places of others do not depend on it.
    for (line, one) in &edits {
        if let Err(error) = edit(data, std::slice::from_ref(one)) {
            errors.push(match error {
                EditError::Read(error) => IntoError::Read(error),
                error => TextError { line: *line, text: error.to_string() }.into(),
            });
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let edits: Vec<Edit> = edits.into_iter().map(|(_, edit)| edit).collect();
    let bytes = edit(data, &edits).map_err(|error| match error {
        EditError::Read(error) => vec![IntoError::Read(error)],
        error => vec![TextError { line: 0, text: error.to_string() }.into()],
    })?;
    edited.bytes = bytes;
    Ok(edited)
}

/// New code for a function.
struct Replacement {
    edit: Edit,
    is_same: bool,
    has_moved: bool,
    has_frame: bool,
}

impl Replacement {
    fn warnings(&self, cubin: &Cubin, name: &str) -> Vec<Warning> {
        let has = |start: &str| cubin.sections.iter().any(|section| section.name.starts_with(start));
        let mut warnings = Vec::new();
        if self.has_moved && (has(".debug_line") || has(".nv_debug_line_sass") || self.has_frame) {
            warnings.push(Warning::Lines(name.to_owned()));
        }
        if has(&format!(".nv.capmerc.text.{name}")) {
            warnings.push(Warning::Capsule(name.to_owned()));
        }
        warnings
    }
}

fn replacement(chip: Chip, cubin: &Cubin, function: &FunctionText) -> Result<Replacement, TextError> {
    let error = |line: u32, text: String| Err(TextError { line, text });
    if function.name.is_empty() {
        let line = function.lines.first().copied().unwrap_or(1);
        let header = "// NAME registers N frame N";
        return error(line, format!("these lines belong to no function: `{header}` stands before its code"));
    }
    let Some(kernel) = cubin.codes().find(|kernel| kernel.name == function.name) else {
        return error(function.line, format!("the cubin has no kernel or function `{}`", function.name));
    };
    let (registers, frame) = function.stated.unwrap_or((kernel.registers, kernel.frame_size));
    if frame != kernel.frame_size {
        let old = kernel.frame_size;
        return error(
            function.line,
            format!("a frame of {frame} bytes instead of {old}: it cannot be changed"),
        );
    }
    if registers == 0 || registers > 255 {
        return error(function.line, format!("a thread cannot have {registers} registers"));
    }
    let shape = chip.words();
    let moved = moved(shape, kernel, function)?;
    let has_moved = (0..).zip(&moved).any(|(index, &place)| place != Some(shape.address(index)));
    let mut words = function.words.clone();
    if has_moved {
        let returned = fixed(chip, cubin, kernel).and_then(|returns| {
            let index = |place: &Option<u32>| place.and_then(|place| shape.beginning_at(place.into()));
            let moved: Vec<Option<usize>> = moved.iter().map(|it| index(it).map(|at| at as usize)).collect();
            returns.write(chip, &kernel.code, &moved, &mut words)
        });
        if let Err(reason) = returned {
            let text = format!(
                "instructions of `{}` have moved, and {reason}: let the old lines stay where they are, and put new ones after the last",
                function.name
            );
            return error(function.line, text);
        }
    }
    let exits =
        (0..).zip(&function.exits).filter(|(_, exits)| **exits).map(|(index, _)| shape.address(index));
    let words = padded(chip, cubin, kernel, &words);
    let mut code = Vec::new();
    append_words(shape, &words, &mut code);
    let edit = Edit {
        text: kernel.text,
        code,
        word: shape.bytes() as u32,
        moved,
        exits: exits.collect(),
        registers: (registers != kernel.registers).then_some(registers),
    };
    let is_same = words == kernel.code && registers == kernel.registers && !has_moved;
    Ok(Replacement { edit, is_same, has_moved, has_frame: kernel.frame_size != 0 })
}

/// Where each old instruction is now. A listing without any addresses has all of them, in their order.
fn moved(shape: WordShape, kernel: &Kernel, function: &FunctionText) -> Result<Vec<Option<u32>>, TextError> {
    let count = kernel.code.len();
    if function.old.iter().all(Option::is_none) {
        if function.words.len() == count {
            return Ok((0..count as u32).map(|index| Some(shape.address(index))).collect());
        }
        let text = format!(
            "{} instructions instead of {count}: which are new is not known without the addresses that `dis` prints",
            function.words.len()
        );
        return Err(TextError { line: function.line, text });
    }
    let mut moved = vec![None; count];
    for (index, (old, &line)) in (0..).zip(function.old.iter().zip(&function.lines)) {
        let Some(old) = *old else { continue };
        let place = i64::try_from(old).ok().and_then(|old| shape.beginning_at(old));
        match place.and_then(|place| moved.get_mut(place as usize)) {
            Some(place) => *place = Some(shape.address(index)),
            None => {
                let text =
                    format!("the old code has no instruction at {old:#x}; a line that is new has no address");
                return Err(TextError { line, text });
            }
        }
    }
    Ok(moved)
}

/// The return addresses of a function whose instructions move.
///
/// # Errors
/// Why they cannot: something in it or in the file knows places and does not say where.
fn fixed(chip: Chip, cubin: &Cubin, kernel: &Kernel) -> Result<Returns, String> {
    let inner = kernel.functions.iter().filter_map(|&symbol| {
        let start = i64::try_from(cubin.symbols[symbol].value).ok()?;
        chip.words().beginning_at(start).map(|at| at as usize)
    });
    let returns = Returns::of(chip, &kernel.code, inner)?;
    let inside = |symbol: usize, addend: i64| {
        let symbol = &cubin.symbols[symbol];
        symbol.section == kernel.text && (addend != 0 || symbol.value != 0)
    };
    let others = cubin.sections.iter().filter(|section| !section.name.contains("debug"));
    let mut rows = others.flat_map(|section| section.relocations.iter().map(move |row| (section, row)));
    match rows.find(|(_, row)| inside(row.symbol, row.addend)) {
        Some((section, _)) => Err(format!("`{}` holds addresses of them", section.name)),
        None => Ok(returns),
    }
}

/// The words, and those after them up to the alignment of the section: what the old code has there, if it has padding.
fn padded(chip: Chip, cubin: &Cubin, kernel: &Kernel, words: &[InstructionWord]) -> Vec<InstructionWord> {
    let alignment = cubin.sections[kernel.text].alignment.max(128) as usize;
    let step = (alignment / chip.words().bytes()).max(1);
    let nothing = oriole_sass::parse(chip, "NOP ; stall=0 yield", None);
    let nothing = nothing.ok().and_then(|nop| oriole_sass::encode(chip, &nop).ok());
    let last = kernel.code.last().copied();
    let is_nothing = |&word: &InstructionWord| {
        oriole_sass::decode(chip, word).is_ok_and(|instruction| instruction.op == Op::NOP)
    };
    let padding = last.filter(is_nothing).or(nothing).unwrap_or(0);
    let mut words = words.to_vec();
    words.resize(words.len().next_multiple_of(step), padding);
    words
}
