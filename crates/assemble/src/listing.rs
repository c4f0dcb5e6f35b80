//! A listing as lines of functions: headers, labels, addresses in comments, instructions.
//!
//! The address in the comment of a line says which line of the old code it was, not where it is: lines without one are
//! new. A number as a target is an old address, too, and follows its line.

use crate::labels::{LINE_LABEL, distance};
use oriole_chip::Chip;
use oriole_sass::{InstructionWord, Op, OperandKind};
use rustc_hash::FxHashMap;

/// How a word is written that has no text.
pub const RAW_WORD: &str = ".word 0x";

/// The text of a kernel or function as words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionText {
    /// Its symbol; empty for lines before any header.
    pub name: String,
    /// The line of its header, from 1; 0 without one.
    pub line: u32,
    /// The registers and the bytes of stack frame that the header states.
    pub stated: Option<(u32, u32)>,
    /// The words.
    pub words: Vec<InstructionWord>,
    /// The address of each in the old code in bytes, as its comment says.
    pub old: Vec<Option<u64>>,
    /// The line of each, from 1.
    pub lines: Vec<u32>,
    /// Which of them end threads.
    pub exits: Vec<bool>,
}

/// Why a line is not a part of a listing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{line}: {text}")]
pub struct TextError {
    /// The line, from 1.
    pub line: u32,
    /// The reason.
    pub text: String,
}

/// A line with an instruction.
struct Line<'a> {
    number: u32,
    old: Option<u64>,
    text: &'a str,
}

/// The lines of a function before they are read.
#[derive(Default)]
struct Part<'a> {
    name: String,
    line: u32,
    stated: Option<(u32, u32)>,
    lines: Vec<Line<'a>>,
    /// Indices of the lines that labels stand before.
    labels: FxHashMap<&'a str, usize>,
    /// Indices of lines by their old addresses.
    places: FxHashMap<u64, usize>,
}

/// The functions of a listing.
///
/// # Errors
/// All lines that cannot be read.
pub fn assemble(chip: Chip, text: &str) -> Result<Vec<FunctionText>, Vec<TextError>> {
    let mut errors = Vec::new();
    let parts = parts(text, &mut errors);
    let functions = parts.iter().map(|part| part.read(chip, &mut errors)).collect();
    errors.sort_by_key(|error| error.line);
    if errors.is_empty() { Ok(functions) } else { Err(errors) }
}

/// Splits a text at the headers of functions.
fn parts<'a>(text: &'a str, errors: &mut Vec<TextError>) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = vec![Part::default()];
    let mut names: FxHashMap<&str, u32> = FxHashMap::default();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix("//") {
            let Some((name, stated)) = header(comment) else { continue };
            if let Some(first) = names.insert(name, number) {
                errors.push(TextError { line: number, text: format!("`{name}` is also in line {first}") });
            }
            parts.push(Part { name: name.to_owned(), line: number, stated: Some(stated), ..Part::default() });
            continue;
        }
        let part = parts.last_mut().expect("there is one from the start");
        if let Err(text) = part.add(number, line) {
            errors.push(TextError { line: number, text });
        }
    }
    if parts[0].lines.is_empty() && parts[0].labels.is_empty() && parts.len() > 1 {
        parts.remove(0);
    }
    parts
}

/// The name, registers and frame of a header's comment: `NAME (source name) registers N frame N`.
fn header(comment: &str) -> Option<(&str, (u32, u32))> {
    let (name, figures) = comment.rsplit_once(" registers ")?;
    let (registers, frame) = figures.split_once(" frame ")?;
    let name = name.split_whitespace().next()?;
    Some((name, (registers.trim().parse().ok()?, frame.trim().parse().ok()?)))
}

impl<'a> Part<'a> {
    /// Takes a line: nothing, a label, or an instruction.
    fn add(&mut self, number: u32, line: &'a str) -> Result<(), String> {
        if line.is_empty() {
            return Ok(());
        }
        if let Some(label) = line.strip_suffix(':').filter(|label| label.starts_with(LINE_LABEL)) {
            return match self.labels.insert(label, self.lines.len()) {
                None => Ok(()),
                Some(_) => Err(format!("the label `{label}` is there twice")),
            };
        }
        let (old, text) = address(line);
        let index = self.lines.len();
        self.lines.push(Line { number, old, text });
        match old.and_then(|old| Some((old, self.places.insert(old, index)?))) {
            None => Ok(()),
            Some((old, first)) => Err(format!(
                "the address {old:#x} is also in line {}; a line that is new has none",
                self.lines[first].number
            )),
        }
    }

    fn read(&self, chip: Chip, errors: &mut Vec<TextError>) -> FunctionText {
        let mut function = FunctionText {
            name: self.name.clone(),
            line: self.line,
            stated: self.stated,
            ..FunctionText::default()
        };
        for (index, line) in self.lines.iter().enumerate() {
            match self.word(chip, index, line) {
                Ok((word, exits)) => {
                    function.words.push(word);
                    function.exits.push(exits);
                    function.old.push(line.old);
                    function.lines.push(line.number);
                }
                Err(text) => errors.push(TextError { line: line.number, text }),
            }
        }
        function
    }

    /// The word of a line, and whether it ends threads.
    fn word(&self, chip: Chip, index: usize, line: &Line<'a>) -> Result<(InstructionWord, bool), String> {
        if let Some(digits) = line.text.strip_prefix(RAW_WORD) {
            let word = InstructionWord::from_str_radix(digits.trim(), 16);
            return word.map(|word| (word, false)).map_err(|error| error.to_string());
        }
        let shape = chip.words();
        let place = |index: usize| u64::from(shape.address(index as u32));
        let (text, label) = self.without_label(line.text, place)?;
        // Lines without any address are where they stand; so are those of a text with labels only.
        let here = place(index);
        let from = if label.is_some() { here } else { line.old.unwrap_or(here) };
        let read = oriole_sass::parse(chip, text.as_deref().unwrap_or(line.text), Some(from));
        let mut instruction = read.map_err(|error| error.to_string())?;
        if let Some(distance) = distance(&instruction).filter(|_| label.is_none() && !is_relative(line.text))
        {
            let target = (from as i64).wrapping_add(shape.end(0)).wrapping_add(distance);
            let moved = u64::try_from(target).ok().and_then(|target| self.places.get(&target));
            match moved {
                Some(&index_of_target) => {
                    let distance = place(index_of_target) as i64 - here as i64 - shape.end(0);
                    set_distance(&mut instruction, distance);
                }
                // A part of a listing names what it does not show.
                None if line.old.is_some() || self.places.is_empty() => {}
                None => {
                    return Err(format!("no line has the address {target:#x}; name the target by a label"));
                }
            }
        }
        let word = oriole_sass::encode(chip, &instruction).map_err(|error| error.to_string())?;
        Ok((word, instruction.op == Op::EXIT))
    }

    /// The text with the place of the label that it ends with as a number, and the label.
    fn without_label<'t>(
        &self,
        text: &'t str,
        place: impl Fn(usize) -> u64,
    ) -> Result<(Option<String>, Option<&'t str>), String> {
        let Some(label) = last_operand(text).filter(|operand| is_label(operand)) else {
            return Ok((None, None));
        };
        let Some(&index) = self.labels.get(label) else {
            return Err(format!("there is no label `{label}` in this function"));
        };
        let at = label.as_ptr() as usize - text.as_ptr() as usize;
        let number = format!("{}{:#x}{}", &text[..at], place(index), &text[at + label.len()..]);
        Ok((Some(number), Some(label)))
    }
}

/// The last operand of an instruction.
fn last_operand(text: &str) -> Option<&str> {
    let body = text.split_once(';').map_or(text, |(body, _)| body).trim_end();
    let start = body.rfind([',', ' ', '\t'])? + 1;
    Some(&body[start..])
}

/// True for `.L_1`, false for `.+0x10`.
fn is_label(operand: &str) -> bool {
    let name = operand.strip_prefix(LINE_LABEL);
    name.is_some_and(|name| name.starts_with(|first: char| first.is_alphabetic() || first == '_'))
}

/// True for an instruction whose target is written as a distance.
fn is_relative(text: &str) -> bool {
    last_operand(text).is_some_and(|operand| operand.starts_with(".+") || operand.starts_with(".-"))
}

fn set_distance(instruction: &mut oriole_sass::Instruction, new: i64) {
    for operand in &mut instruction.operands {
        if let OperandKind::Target(distance) = &mut operand.kind {
            *distance = new;
        }
    }
}

/// The address in the comment before an instruction, if there is one, and the instruction.
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
