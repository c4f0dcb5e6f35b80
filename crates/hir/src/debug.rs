//! Debug info of a module: the files of its source, and sections of data.
//!
//! Stages after this one read no syntax tree for debug info.

use oriole_debug_info::{DebugData, Reference, Section, SourceFile};
use oriole_syntax::ast::{self, Item};
use oriole_syntax::{NumberValue, SyntaxKind, TokenRef, parse_number};

/// The files and debug sections of a unit.
pub fn debug_data(unit: &ast::Unit<'_>) -> DebugData {
    let mut data = DebugData::default();
    for item in unit.items() {
        match item {
            Item::FileDirective(file) => data.files.extend(source_file(file)),
            Item::Section(section) => data.sections.push(self::section(section)),
            _ => {}
        }
    }
    data
}

fn source_file(file: ast::FileDirective<'_>) -> Option<SourceFile> {
    let (time, size) = file.stamp_and_size();
    Some(SourceFile {
        number: file.index()?,
        path: file.name()?,
        time: time.unwrap_or_default(),
        size: size.unwrap_or_default(),
    })
}

fn section(section: ast::Section<'_>) -> Section {
    let mut out = Section { name: section.name(), ..Section::default() };
    for data in section.data() {
        if let Some(label) = data.label() {
            out.labels.push((label.text().to_owned(), out.bytes.len() as u64));
            continue;
        }
        let bytes = match data.element().map(|element| element.text()) {
            Some(".b8") => 1,
            Some(".b16") => 2,
            Some(".b32") => 4,
            _ => 8,
        };
        for value in data.values() {
            let at = out.bytes.len() as u64;
            out.references.extend(reference(&value, at, bytes as u8));
            out.bytes.extend_from_slice(&number(&value).to_le_bytes()[..bytes]);
        }
    }
    out
}

/// The value of a number; zero for a reference.
fn number(tokens: &[TokenRef<'_>]) -> u64 {
    let value = tokens.iter().find(|token| token.kind() == SyntaxKind::INT_NUMBER);
    let value = match value.map(|token| parse_number(token.text())) {
        Some(Ok(NumberValue::Integer { bits, .. })) => bits,
        _ => 0,
    };
    match tokens.first().map(|token| token.kind()) {
        Some(SyntaxKind::INT_NUMBER) => value,
        Some(SyntaxKind::MINUS) => value.wrapping_neg(),
        _ => 0,
    }
}

/// The reference of a value: `label`, `label+4`, `label-label`, `.section`, `.section+4`.
fn reference(tokens: &[TokenRef<'_>], at: u64, bytes: u8) -> Option<Reference> {
    let named = |token: &&TokenRef<'_>| matches!(token.kind(), SyntaxKind::IDENT | SyntaxKind::DOTTED);
    let name = tokens.first().filter(named)?;
    let minus = tokens.iter().skip(1).find(named).map(|token| token.text().to_owned());
    let addend = number(&tokens[tokens.len() - 1..]) as i64;
    let (start, end) = (name.span().start, tokens.last()?.span().end());
    Some(Reference { at, bytes, name: name.text().to_owned(), minus, addend, written: (start, end - start) })
}
