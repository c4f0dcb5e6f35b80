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
        Ok(Source { text, program: Program::from_module(&module), starts })
    }

    /// The source of a program on another chip.
    #[must_use]
    pub fn on(self, chip: Chip) -> Source<'a> {
        Source { program: self.program.on(chip), ..self }
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
