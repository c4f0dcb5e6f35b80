//! Hover texts: instructions, registers, variables, functions, numbers, directives; and the page of a diagnostic at the
//! position.

mod descriptor;
mod lines;

use oriole_inputs::{Db, FunctionUnit};
use oriole_ori::File;
use oriole_ptx::Opcode;
use oriole_ptx::table::{Row, match_form, rows_of as rows};
use oriole_queries::files;
use oriole_syntax::ast::{self, AstNode};
use oriole_syntax::{NumberValue, SyntaxKind, TokenRef, UnitKind, parse_number};

use crate::cursor::{Spot, above, spot, token_range, trimmed};
use crate::names::{Access, DeclarationKind, Meaning};
use crate::navigation::{Named, Target, definitions_elsewhere, named};
use crate::snapshot::{Located, Snapshot};
use crate::{FileId, Range, documentation};
use lines::lines;

/// A hover.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hover {
    /// The range it is about.
    pub range: Range,
    /// Markdown.
    pub text: String,
    /// The definitions in other files of the name that it is about. Only the caller knows what these files are called.
    pub definitions: Vec<Target>,
}

/// Largest unit, in bytes, that a hover compiles to show the code of an instruction.
const LARGEST_UNIT: usize = 1 << 20;

pub(crate) fn hover(snapshot: &Snapshot, file: FileId, at: u32) -> Option<Hover> {
    let found = subject(snapshot, file, at);
    let mut pages = Vec::new();
    let mut place = None;
    for diagnostic in crate::diagnostics::diagnostics(snapshot, file) {
        if diagnostic.range.touches(at) {
            pages.push(format!("**{}**: {}", diagnostic.code, diagnostic.code.page()));
            place = place.or(Some(diagnostic.range));
        }
    }
    if found.is_none() && pages.is_empty() {
        return None;
    }
    let range = found.as_ref().map(|found| found.range).or(place)?;
    let definitions = found.as_ref().map_or_else(Vec::new, |found| found.definitions.clone());
    let parts: Vec<String> = found.map(|found| found.text).into_iter().chain(pages).collect();
    Some(Hover { range, text: parts.join("\n\n---\n\n"), definitions })
}

fn subject(snapshot: &Snapshot, file: FileId, at: u32) -> Option<Hover> {
    if let Some(named) = named(snapshot, file, at) {
        let range = named.located.up(named.occurrence.range.shifted(named.spot.start))?;
        let text = name(snapshot, file, &named)?;
        return Some(Hover { range, text, definitions: definitions_elsewhere(snapshot, &named, file) });
    }
    let located = snapshot.locate(file, at)?;
    let db: &dyn Db = &snapshot.db;
    let spot = spot(db, located.source, located.at)?;
    let path = spot.path(db)?;
    let token = path.token;
    let up = |range: Range| located.up(range.shifted(spot.start));
    if let Some(node) = above(&path, SyntaxKind::OPCODE) {
        let range = up(trimmed(node))?;
        let instruction = above(&path, SyntaxKind::INSTRUCTION).and_then(ast::Instruction::cast)?;
        let text = opcode(snapshot, file, located, &spot, &instruction)?;
        return Some(Hover { range, text, definitions: Vec::new() });
    }
    let text = match token.kind() {
        SyntaxKind::INT_NUMBER | SyntaxKind::FLOAT_NUMBER => number(token.text())?,
        SyntaxKind::NUMBERS => {
            let here = spot.number(&path)?;
            return Some(Hover {
                range: up(here.span().into())?,
                text: number(here.text())?,
                definitions: Vec::new(),
            });
        }
        SyntaxKind::DOTTED => {
            let (_, shape, meaning) = documentation::directive(token.text())?;
            format!("```ptx\n{shape}\n```\n{meaning}")
        }
        _ => return None,
    };
    Some(Hover { range: up(token_range(token))?, text, definitions: Vec::new() })
}

// ---- names

fn name(snapshot: &Snapshot, file: FileId, named: &Named<'_>) -> Option<String> {
    let db = &snapshot.db;
    let occurrence = &named.occurrence;
    match occurrence.meaning {
        Meaning::Special => {
            let (ty, meaning) = documentation::special(&occurrence.name)?;
            Some(format!("```ptx\n{ty} {}\n```\nSpecial register. {meaning}", occurrence.name))
        }
        Meaning::Local(_) => {
            let declared = named.names.declaration(occurrence)?;
            match declared.kind {
                DeclarationKind::Register | DeclarationKind::Registers(_) => {
                    Some(register(snapshot, file, named))
                }
                DeclarationKind::Label => Some(format!(
                    "```ptx\n{}:\n```\nLabel, {}.",
                    declared.name,
                    counted(named, Access::Read, "jumped to", "times")
                )),
                DeclarationKind::Targets => Some(format!("`{}`: a list of targets.", declared.name)),
                DeclarationKind::Prototype => {
                    Some(format!("`{}`: the prototype of a call through a pointer.", declared.name))
                }
                kind => {
                    let what = match kind {
                        DeclarationKind::Parameter => "Parameter",
                        DeclarationKind::Result => "Result",
                        _ => "Variable of this function",
                    };
                    let place = parameter_place(db, named.spot.unit, &declared.name);
                    Some(format!(
                        "```ptx\n{} {}\n```\n{what}{}, {}.",
                        declared.detail,
                        declared.name,
                        place,
                        counted(named, Access::Read, "used", "times")
                    ))
                }
            }
        }
        Meaning::Module => {
            let unit = files::definition(db, named.located.source, occurrence.name.clone())?;
            let readable = crate::demangle::readable(&occurrence.name);
            let readable = readable.map_or(String::new(), |name| format!("\n\n`{}`", name.replace('`', "'")));
            Some(match unit.kind(db) {
                UnitKind::Variable => format!(
                    "```ptx\n{}\n```\nVariable of the module: {}.{readable}",
                    occurrence.name,
                    crate::symbols::variable_detail(db, unit, &occurrence.name)
                ),
                kind => {
                    let word = if kind == UnitKind::Entry { ".entry" } else { ".func" };
                    let what = match kind {
                        UnitKind::Entry => "Kernel",
                        UnitKind::Declaration => "Function, declared only",
                        _ => "Function",
                    };
                    let signature = crate::symbols::signature(db, unit);
                    let mut text =
                        format!("```ptx\n{word} {}{signature}\n```\n{what}.{readable}", occurrence.name);
                    if kind == UnitKind::Entry
                        && unit.text(db).len() <= LARGEST_UNIT
                        && named.located.snippet.is_none()
                        && let Some(&chip) = snapshot.chips(file).first()
                        && let Some(found) = crate::kernel::statistics(snapshot, file, &occurrence.name, chip)
                    {
                        text.push_str(&format!(
                            "\n\n**{chip}**{}",
                            if found.stale { " (stale)" } else { "" }
                        ));
                        found.why.iter().for_each(|why| text.push_str(&format!("\n* {why}")));
                    }
                    text
                }
            })
        }
    }
}

/// The place of a kernel parameter.
fn parameter_place(db: &dyn Db, unit: FunctionUnit<'_>, name: &str) -> String {
    let Some(body) = files::body(db, unit).as_deref().filter(|body| body.is_entry) else {
        return String::new();
    };
    let index = body.variables.values().find_map(|variable| match variable.kind {
        oriole_hir::VariableKind::Parameter(index) if variable.name == name => Some(index),
        _ => None,
    });
    let parameter = index.and_then(|index| body.parameters.get(index as usize));
    parameter.map_or_else(String::new, |parameter| {
        format!(" at byte {} of the parameters, {} bytes", parameter.offset, parameter.size())
    })
}

fn counted(named: &Named<'_>, access: Access, verb: &str, unit: &str) -> String {
    let count = named.names.same(&named.occurrence).filter(|found| found.access == access).count();
    match count {
        0 => format!("never {verb}"),
        1 => format!("{verb} once"),
        count => format!("{verb} {count} {unit}"),
    }
}

fn register(snapshot: &Snapshot, file: FileId, named: &Named<'_>) -> String {
    let db: &dyn Db = &snapshot.db;
    let (unit, start) = (named.spot.unit, named.spot.start);
    let declared = named.names.declaration(&named.occurrence).expect("a register has a declaration");
    let mut text = format!("```ptx\n{} {}\n```\n", declared.detail, named.occurrence.name);
    let places = |access: Access| {
        let found = named.names.same(&named.occurrence).filter(move |found| found.access == access);
        found.filter_map(|found| named.located.up(found.range.shifted(start)))
    };
    let count = |access: Access| named.names.same(&named.occurrence).filter(|it| it.access == access).count();
    let mut row = |what: &str, list: String| {
        if !list.is_empty() {
            text.push_str(&format!("* {what} {list}\n"));
        }
    };
    let often = |access: Access| match count(access) {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    row(&format!("written {}: line", often(Access::Write)), lines(snapshot, file, places(Access::Write)));
    row(&format!("read {}: line", often(Access::Read)), lines(snapshot, file, places(Access::Read)));
    let live = crate::live_range::live_range(db, unit, &named.names, &named.occurrence);
    let live = live.into_iter().filter_map(|range| named.located.up(range.shifted(start)));
    row("live at the start of line", lines(snapshot, file, live));
    if named.located.snippet.is_none() && unit.text(db).len() <= LARGEST_UNIT {
        for chip in snapshot.chips(file) {
            let Some(shown) = snapshot.compiled(file, unit, chip) else { continue };
            let map = &shown.compiled.map.registers;
            let number = map.values().position(|(name, span)| {
                *name == *named.occurrence.name
                    && shown.now((*span).into()) == Some(declared.range.shifted(start))
            });
            let Some(number) = number else { continue };
            let homes = shown.compiled.facts.homes.iter().filter(|home| home.register as usize == number);
            let mut names: Vec<String> = Vec::new();
            for home in homes {
                let file = match home.file {
                    File::R => "R",
                    File::UR => "UR",
                    File::P => "P",
                    File::UP => "UP",
                    File::B => "B",
                };
                let part = if declared.ty.ends_with("64") || declared.ty.ends_with("128") {
                    format!(" (bits {}..{})", 32 * home.component, 32 * home.component + 31)
                } else {
                    String::new()
                };
                names.push(format!("`{file}{}`{part}", home.number));
            }
            names.dedup();
            let spilled = shown.compiled.facts.spills.iter().any(|spill| {
                matches!(spill.origin, oriole_pipeline::facts::Origin::Source(register, _) if register as usize == number)
            });
            let stale = if shown.stale { " (stale)" } else { "" };
            let spilled = if spilled { ", spilled in places" } else { "" };
            let list = if names.is_empty() {
                "none: its values became part of others".to_owned()
            } else {
                names.join(", ")
            };
            row(&format!("on {chip}{stale}:"), format!("{list}{spilled}"));
        }
    }
    let mut text = text.trim_end().to_owned();
    text.push_str(&descriptor::of_register(snapshot, file, named, declared));
    text
}

// ---- instructions

fn opcode(
    snapshot: &Snapshot,
    file: FileId,
    located: Located<'_>,
    spot: &Spot<'_>,
    instruction: &ast::Instruction,
) -> Option<String> {
    let node = instruction.opcode()?;
    let opcode = Opcode::from_name(node.mnemonic()?.text())?;
    let modifiers: Vec<TokenRef<'_>> = node.modifiers().collect();
    let words: Vec<&str> =
        modifiers.iter().flat_map(|token| token.text().trim_start_matches('.').split('.')).collect();
    let form = match_form(opcode, &words, instruction.operands().count());
    let mut text = String::new();
    if let Ok(form) = &form {
        text.push_str(&format!(
            "```ptx\n{}\n```\n{}\n\n{}",
            form.row.spelling(),
            form.row.doc,
            documentation::needs(form.row)
        ));
    }
    let own = form.as_ref().ok().map(|form| form.row);
    let others: Vec<&Row> = rows(opcode).filter(|row| own != Some(*row)).collect();
    if own.is_none() {
        text.push_str(&format!("`{}`: no form fits what is written.", opcode.name()));
    }
    if !others.is_empty() {
        text.push_str("\n\nOther forms:");
        for row in others.iter().take(8) {
            text.push_str(&format!("\n* `{}`: {}", row.spelling(), row.doc));
        }
        if others.len() > 8 {
            text.push_str(&format!("\n* and {} more", others.len() - 8));
        }
    }
    let db: &dyn Db = &snapshot.db;
    if located.snippet.is_none() && spot.unit.has_code(db) && spot.unit.text(db).len() <= LARGEST_UNIT {
        text.push_str(&descriptor::of_instruction(db, spot.unit, instruction.span().into()));
        let place = Range::from(instruction.span()).shifted(spot.start);
        for chip in snapshot.chips(file) {
            text.push_str(&machine_code(snapshot, file, spot.unit, chip, place).unwrap_or_default());
        }
    }
    Some(text)
}

/// The SASS of a statement.
fn machine_code(
    snapshot: &Snapshot,
    file: FileId,
    unit: FunctionUnit<'_>,
    chip: oriole_chip::Chip,
    place: Range,
) -> Option<String> {
    let shown = snapshot.compiled(file, unit, chip)?;
    let ordinal = shown.statements_in(place).into_iter().find(|(_, range)| range.meets(place))?.0;
    let stale = if shown.stale { " (stale)" } else { "" };
    let words: Vec<usize> = shown.compiled.facts.words_of(ordinal).collect();
    if words.is_empty() {
        return Some(format!(
            "\n\n**{chip}**{stale}: no instruction; its work is done by others, or it is dead."
        ));
    }
    let latencies = oriole_queries::view::latencies(&snapshot.db, snapshot.config(file, chip)?);
    let model = latencies.ok().map(|found| found.0);
    let mut text = format!("\n\n**{chip}**{stale}:");
    for &index in words.iter().take(16) {
        let Some(&word) = shown.compiled.code.encoded.words.get(index) else { continue };
        let Ok(instruction) = oriole_sass::decode(chip, word) else { continue };
        let line = oriole_sass::text(chip, &instruction, None, oriole_sass::Style::Plain).unwrap_or_default();
        let stall = instruction.control.stall;
        let timing = crate::sass::timing(chip, model, &instruction);
        text.push_str(&format!("\n* `{line}`: {timing}, stalls {stall}"));
    }
    if words.len() > 16 {
        text.push_str(&format!("\n* and {} more", words.len() - 16));
    }
    Some(text)
}

// ---- numbers

fn number(text: &str) -> Option<String> {
    let rows: Vec<(&str, String)> = match parse_number(text).ok()? {
        NumberValue::Integer { bits, .. } => {
            let mut rows = vec![("decimal", bits.to_string())];
            if bits > i64::MAX as u64 {
                rows.push(("signed", (bits as i64).to_string()));
            } else if let Ok(word) = u32::try_from(bits)
                && word > i32::MAX as u32
            {
                rows.push(("signed, 32 bits", (word as i32).to_string()));
            }
            rows.push(("hexadecimal", format!("{bits:#x}")));
            rows.push(("octal", format!("0{bits:o}")));
            rows.push(("binary", format!("{bits:#b}")));
            if let Ok(word) = u32::try_from(bits)
                && word > 0xffff
            {
                rows.push(("as .f32", format!("{:?}", f32::from_bits(word))));
            } else if bits > u64::from(u32::MAX) {
                rows.push(("as .f64", format!("{:?}", f64::from_bits(bits))));
            }
            rows
        }
        NumberValue::F32 { bits } => vec![
            ("value", format!("{:?}", f32::from_bits(bits))),
            ("bits", format!("{bits:#010x}")),
            ("decimal bits", bits.to_string()),
            ("as .f64", format!("0d{:016x}", f64::from(f32::from_bits(bits)).to_bits())),
        ],
        NumberValue::F64 { bits } => vec![
            ("value", format!("{:?}", f64::from_bits(bits))),
            ("bits", format!("{bits:#018x}")),
            ("decimal bits", bits.to_string()),
            ("as .f32", format!("0f{:08x}", (f64::from_bits(bits) as f32).to_bits())),
        ],
    };
    Some(rows.iter().map(|(what, value)| format!("* {what}: `{value}`")).collect::<Vec<_>>().join("\n"))
}
