//! Facts of the code beyond the run: text, lines of the source, live registers, spills. It comes from the
//! compile or from a cubin; nothing is looked up here.

use std::collections::BTreeMap;

/// By which text a place is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Lines of the PTX.
    Ptx,
    /// Lines of the source that the PTX or the cubin names.
    Source,
    /// Instructions.
    Sass,
}

impl By {
    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            By::Ptx => "ptx",
            By::Source => "source",
            By::Sass => "sass",
        }
    }
}

/// An instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CodeRow {
    /// As the disassembler writes it.
    pub text: String,
    /// Its line of the PTX, from 1.
    pub ptx: Option<u32>,
    /// Its file and line of the source.
    pub source: Option<(String, u32)>,
    /// General registers that are live.
    pub live: Option<u16>,
    /// It stores or reloads a spilled register.
    pub spill: bool,
    /// The function that it belongs to, if that is not the kernel.
    pub function: Option<String>,
}

/// The code of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Code {
    /// Its instructions.
    pub rows: Vec<CodeRow>,
    /// Lines of the PTX.
    pub ptx: Vec<String>,
    /// Lines of the sources that could be read, by the name of the file.
    pub sources: BTreeMap<String, Vec<String>>,
    /// Names of the registers that are spilled.
    pub spilled: Vec<String>,
}

/// A place that several instructions can have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A line of the PTX.
    Line(u32),
    /// A line of a source.
    Source(String, u32),
    /// An offset in bytes.
    Offset(u32),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Source(file, line) => {
                let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
                write!(f, "{name}:{line}")
            }
            Place::Offset(offset) => write!(f, "{offset:#06x}"),
        }
    }
}

impl Code {
    /// The place of an instruction: an instruction without a line has its offset.
    pub fn place(&self, index: usize, address: u32, by: By) -> Place {
        let row = self.rows.get(index);
        let line = row.and_then(|row| row.ptx).map(Place::Line);
        let source = || row.and_then(|row| row.source.clone()).map(|(file, line)| Place::Source(file, line));
        let found = match by {
            By::Ptx => line,
            By::Source => source(),
            By::Sass => None,
        };
        found.unwrap_or(Place::Offset(address))
    }

    /// The text of a place, if it is known.
    pub fn text(&self, place: &Place, index: usize) -> Option<&str> {
        let number = |line: u32| (line as usize).checked_sub(1);
        match place {
            Place::Line(line) => self.ptx.get(number(*line)?).map(|text| text.trim()),
            Place::Source(file, line) => self.sources.get(file)?.get(number(*line)?).map(|text| text.trim()),
            Place::Offset(_) => self.rows.get(index).map(|row| row.text.as_str()),
        }
    }

    /// The statement of the PTX that an instruction comes from.
    pub(crate) fn statement(&self, index: usize) -> Option<&str> {
        let line = self.rows.get(index)?.ptx?;
        self.ptx.get((line as usize).checked_sub(1)?).map(|text| text.trim())
    }

    /// The operation of an instruction: that of the PTX, else its own.
    pub(crate) fn operation<'a>(&'a self, index: usize, mnemonic: &'a str) -> &'a str {
        let statement = self.statement(index).unwrap_or("");
        let mut words =
            statement.split_whitespace().skip_while(|word| word.starts_with('@') || word.ends_with(':'));
        let word = words.next().unwrap_or("").trim_end_matches(';');
        if word.contains('.') && !word.starts_with('.') { word } else { mnemonic }
    }
}
