//! The outline of a file as its units give it, written unit by unit: that of an unchanged unit is written once, with places for the numbers of lines.
//!
//! Lines in a written unit count from its start, so that a change above leaves it as it is. How a symbol looks in the protocol is in `convert`;
//! no request is known here.

use std::collections::HashMap;
use std::sync::Arc;

use gen_lsp_types as lsp;
use oriole_ide::{Encoding, LineIndex, Symbol, UnitSymbols};

use crate::convert::{self, Text};
use crate::outcome::Failure;
use crate::tokens::write_numbers;

/// The member of a position in JSON text that is the number of its line. Quotes in strings have a backslash before them, and no other member has this name.
const LINE: &str = "\"line\":";

/// The symbols of a unit, written. There is at least one.
struct WrittenUnit {
    symbols: Arc<[Symbol]>,
    /// The elements of the array, without the numbers of lines.
    text: String,
    /// Where each number goes in the text, and the line in the unit.
    lines: Vec<(usize, u32)>,
}

impl WrittenUnit {
    fn new(of: &UnitSymbols, encoding: Encoding) -> Result<WrittenUnit, Failure> {
        let lines = Arc::new(LineIndex::of_document(&of.text));
        let text = Text { text: Arc::new(of.text.to_string()), lines, encoding };
        let written = elements(&text, &of.symbols)?;
        let mut left = written.as_str();
        let mut text = String::with_capacity(written.len());
        let mut lines = Vec::new();
        while let Some(at) = left.find(LINE) {
            let (before, rest) = left.split_at(at + LINE.len());
            text.push_str(before);
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            lines.extend(rest[..digits].parse().ok().map(|line| (text.len(), line)));
            left = &rest[digits..];
        }
        text.push_str(left);
        text.shrink_to_fit();
        Ok(WrittenUnit { symbols: of.symbols.clone(), text, lines })
    }

    /// Writes the elements for a unit that begins on this line.
    fn write(&self, start: u32, out: &mut String) {
        let mut from = 0;
        for &(at, line) in &self.lines {
            out.push_str(&self.text[from..at]);
            write_numbers(out, &[start + line]);
            from = at;
        }
        out.push_str(&self.text[from..]);
    }
}

/// Symbols as elements of an array, with commas between them.
fn elements(text: &Text, symbols: &[Symbol]) -> Result<String, Failure> {
    let symbols: Vec<lsp::DocumentSymbol> =
        symbols.iter().map(|symbol| convert::symbol(text, symbol)).collect();
    let array = serde_json::to_string(&symbols).map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(array[1..array.len() - 1].to_owned())
}

/// The written units of a file, by the symbols that they hold.
#[derive(Default)]
pub(crate) struct FileSymbols {
    units: HashMap<usize, Arc<WrittenUnit>>,
    encoding: Encoding,
}

impl FileSymbols {
    /// Writes the outline of a file as JSON text; what `before` holds of it is not written again.
    pub fn new(
        text: &Text,
        units: Vec<UnitSymbols>,
        before: Option<&FileSymbols>,
    ) -> Result<(FileSymbols, String), Failure> {
        let encoding = text.encoding;
        let before = before.filter(|before| before.encoding == encoding);
        let mut written = FileSymbols { units: HashMap::with_capacity(units.len()), encoding };
        let mut out = String::from("[");
        for of in units.into_iter().filter(|of| !of.symbols.is_empty()) {
            if out.len() > 1 {
                out.push(',');
            }
            let start = text.position(of.start);
            // On its first line columns of a unit are those of the file only if it begins that line.
            if start.character > 0 && of.symbols.iter().any(|symbol| !is_below(&of.text, symbol)) {
                let placed: Vec<Symbol> = of.symbols.iter().map(|symbol| symbol.shifted(of.start)).collect();
                out.push_str(&elements(text, &placed)?);
                continue;
            }
            let key = of.symbols.as_ptr() as usize;
            let known = before.and_then(|before| before.units.get(&key));
            let unit = match known.filter(|known| Arc::ptr_eq(&known.symbols, &of.symbols)) {
                Some(known) => known.clone(),
                None => Arc::new(WrittenUnit::new(&of, encoding)?),
            };
            unit.write(start.line, &mut out);
            written.units.insert(key, unit);
        }
        out.push(']');
        Ok((written, out))
    }
}

/// Whether a symbol, with all inside of it, begins below the first line of the text.
fn is_below(text: &str, symbol: &Symbol) -> bool {
    let first = text.find(['\n', '\r']).unwrap_or(text.len()) as u32;
    let inside = symbol.full.start.min(symbol.range.start);
    inside > first && symbol.children.iter().all(|child| is_below(text, child))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_ide::{AnalysisHost, Change, Language, Range, Settings, SettingsId};
    use serde_json::{Value, json};

    const TEXT: &str = ".version 8.0 .target sm_90\n.address_size 64 /* \u{1f600} */ .global .b32 x;\n.entry a(.param .u32 \"line\") { ret; }
.entry b() { .reg .b32 r; L: ret;\n}\n\n.entry c(.param .u64 p) { .reg .b64 %d<2>;\n ret; } .entry d() { ret; }\n";

    #[test]
    fn units_are_joined_to_the_outline_of_the_whole_file() {
        let mut host = AnalysisHost::new();
        host.set_settings(SettingsId(0), Settings::default());
        let file = host.open(Language::Ptx, TEXT, SettingsId(0));
        let mut before: Option<FileSymbols> = None;
        for (at, new) in [(0, ""), (TEXT.find("ret;\n}").unwrap(), "\n .reg .f32 f; "), (0, "// \u{e9}\n\n")]
        {
            let range = Some(Range::new(at as u32, at as u32));
            host.change(file, &[Change { range, text: new.to_owned() }]);
            let analysis = host.analysis();
            let text = Text::of(&analysis, file, Encoding::Utf16).unwrap();
            let whole = analysis.symbols(file).unwrap();
            let whole: Vec<_> = whole.iter().map(|symbol| convert::symbol(&text, symbol)).collect();
            let whole = json!(whole);
            let units = analysis.unit_symbols(file).unwrap().unwrap();
            let (written, answer) = FileSymbols::new(&text, units, before.as_ref()).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&answer).unwrap(), whole);
            if let Some(before) = &before {
                let kept = written
                    .units
                    .iter()
                    .filter(|(key, unit)| before.units.get(key).is_some_and(|old| Arc::ptr_eq(old, unit)));
                assert!(kept.count() + 1 >= written.units.len() && written.units.len() > 2);
            }
            before = Some(written);
        }
    }
}
