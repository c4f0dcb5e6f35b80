//! A PTX text as a program, and the lines of its instructions.

use crate::report::Site;
use oriole_chip::Chip;
use oriole_diagnostics::Diagnostic;
use oriole_hir::resolve_module;
use oriole_interp::Program;
use oriole_syntax::{Unit, UnitKind, split_file};
use std::collections::HashMap;

/// A program with its text.
pub struct Source<'a> {
    text: &'a str,
    /// The program.
    pub program: Program,
    /// For each function, for each instruction: its first byte in the text.
    starts: HashMap<String, Vec<u32>>,
    /// For each function: the first instruction of each `.loc`, with its file and line.
    locations: HashMap<String, Vec<(u32, u32, u32)>>,
    /// Paths of the files that `.loc` names, by their numbers.
    files: HashMap<u32, &'a str>,
}

impl<'a> Source<'a> {
    /// Reads a text.
    ///
    /// # Errors
    /// The first error of the text.
    pub fn of(text: &'a str) -> Result<Source<'a>, Diagnostic> {
        let mut module = resolve_module(text);
        if let Some(first) = module.diagnostics.iter().position(Diagnostic::is_error) {
            return Err(module.diagnostics.swap_remove(first));
        }
        let units = split_file(text);
        let is_code = |unit: &&Unit| matches!(unit.kind, UnitKind::Entry | UnitKind::Function);
        // A declaration comes before the definition of its name.
        let places: HashMap<&str, u32> =
            units.iter().filter(is_code).map(|unit| (&*unit.name, unit.start)).collect();
        let starts = module.functions.iter().map(|(name, _, resolved)| {
            let unit = places.get(name.as_str()).copied().unwrap_or(0);
            let spans = resolved.source_map.instructions.iter();
            (name.clone(), spans.map(|span| unit + span.start).collect())
        });
        let starts = starts.collect();
        let locations = module.functions.iter().map(|(name, _, resolved)| {
            let lines = resolved.source_map.lines.iter();
            (name.clone(), lines.map(|entry| (entry.instruction, entry.file, entry.line)).collect())
        });
        let locations = locations.collect();
        Ok(Source { text, program: Program::from_module(&module), starts, locations, files: files(text) })
    }

    /// The source of a program on another chip.
    #[must_use]
    pub fn on(self, chip: Chip) -> Source<'a> {
        Source { program: self.program.on(chip), ..self }
    }

    /// The file and line of the source that the PTX was made from, if a `.loc` gives them for an instruction.
    pub fn location(&self, function: &str, ordinal: u32) -> Option<(&'a str, u32)> {
        let entries = self.locations.get(function)?;
        let after = entries.partition_point(|(first, ..)| *first <= ordinal);
        let (_, file, line) = *entries.get(after.checked_sub(1)?)?;
        Some((self.files.get(&file)?, line))
    }

    /// The line of an instruction, from 1, and its text.
    pub fn line(&self, site: &Site) -> Option<(usize, &'a str)> {
        let start = *self.starts.get(&site.function)?.get(site.ordinal as usize)? as usize;
        let before = self.text.get(..start)?;
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        let rest = &self.text[start..];
        let end = rest.find(';').map_or(rest.len(), |end| end + 1);
        let statement = rest[..end].lines().next().unwrap_or_default();
        Some((line, statement.trim()))
    }
}

/// The files of a text by their numbers: `.file 1 "path"`.
fn files(text: &str) -> HashMap<u32, &str> {
    let directives = text.lines().filter_map(|line| line.trim_start().strip_prefix(".file"));
    let parsed = directives.filter_map(|rest| {
        let (number, rest) = rest.trim_start().split_once(char::is_whitespace)?;
        let path = rest.trim_start().strip_prefix('"')?;
        Some((number.parse().ok()?, &path[..path.find('"')?]))
    });
    parsed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_lines() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n\n.visible .entry k(.param .u64 p)\n{\n\
                    .reg .b64 %rd<2>;\n.reg .b32 %r<2>;\nld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], 7;\nret;\n}\n";
        let source = Source::of(text).expect("it is right");
        let site = Site { function: "k".to_owned(), ordinal: 1, block: [0; 3], thread: [0; 3] };
        assert_eq!(source.line(&site), Some((10, "st.global.u32 [%rd1], 7;")));
    }
}
