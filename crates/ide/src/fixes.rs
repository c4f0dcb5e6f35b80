//! Fixes: edits that remove the cause of a diagnostic, each with a title.

use oriole_chip::{Chip, PtxTarget};
use oriole_diagnostics::Code;
use oriole_inputs::Db;
use oriole_ptx::table::{COMMON_NEEDS, FormProblem, Slot, match_form, rows_of};
use oriole_ptx::{Opcode, Type};
use oriole_queries::files;
use oriole_syntax::ast::{self, AstNode};
use oriole_syntax::{Path, SyntaxKind, TokenRef, UnitKind};

use crate::cursor::{Spot, above, spot, token_range};
use crate::names::{DeclarationKind, names};
use crate::snapshot::Snapshot;
use crate::{Edit, FileDiagnostic, FileId, Range};

mod mender;
mod spaces;

pub use mender::Fix;
use mender::Mender;

pub(crate) fn fixes(snapshot: &Snapshot, file: FileId, range: Range) -> Vec<Fix> {
    let mut all = Vec::new();
    let mut effort = EFFORT;
    for diagnostic in crate::diagnostics::diagnostics(snapshot, file) {
        if diagnostic.range.meets(range) {
            mend(snapshot, file, &diagnostic, &mut effort, &mut all);
        }
    }
    all
}

/// Bytes of functions that are looked through for fixes: a text of thousands of mistakes has no more of those that need it.
const EFFORT: usize = 64 << 20;

fn mend(
    snapshot: &Snapshot,
    file: FileId,
    diagnostic: &FileDiagnostic,
    effort: &mut usize,
    all: &mut Vec<Fix>,
) {
    let Some(located) = snapshot.locate(file, diagnostic.range.start) else { return };
    let db: &dyn Db = &snapshot.db;
    let mut out = Mender { located, diagnostic, all };
    match diagnostic.code {
        Code::MissingVersion => {
            let chip = Chip::DEFAULT;
            let text = format!(".version 8.0\n.target {chip}\n.address_size 64\n");
            out.offer(format!("Add a header for {chip}"), vec![Edit::insert(0, text)], true);
            return;
        }
        Code::MissingTarget => {
            missing_target(db, &mut out);
            return;
        }
        Code::UnterminatedBody => {
            unterminated_body(db, &mut out);
            return;
        }
        _ => {}
    }
    // The word of the diagnostic, not the one before it.
    let inside = located.at + u32::from(!diagnostic.range.is_empty());
    let Some(spot) = spot(db, located.source, inside) else { return };
    if diagnostic.code == Code::UnknownDirective {
        unknown_directive(db, &spot, &mut out);
        return;
    }
    let Some(path) = spot.path(db) else {
        if diagnostic.code == Code::Syntax {
            syntax(db, &spot, &mut out);
        }
        return;
    };
    if matches!(diagnostic.code, Code::UnknownName | Code::AddressOfOtherSpace) {
        let Some(left) = effort.checked_sub(spot.unit.text(db).len()) else { return };
        *effort = left;
    }
    match diagnostic.code {
        Code::Syntax => syntax(db, &spot, &mut out),
        Code::UnknownName => unknown_name(db, &spot, &path, &mut out),
        Code::UnknownInstruction => unknown_instruction(&spot, &path, &mut out),
        Code::UnknownModifier | Code::InvalidType | Code::ConflictingModifiers | Code::InvalidCombination => {
            wrong_word(&spot, &path, &mut out);
            missing_word(&spot, &path, &mut out);
        }
        Code::MissingModifier => missing_word(&spot, &path, &mut out),
        Code::NeedsVersion | Code::NeedsChip => raise(db, &path, &mut out),
        Code::UnusedDeclaration => remove(&spot, &path, &mut out),
        Code::AddressOfOtherSpace => spaces::mend(db, &spot, &path, &mut out),
        _ => {}
    }
}

fn missing_target(db: &dyn Db, out: &mut Mender<'_>) {
    let header = files::split_file(db, out.located.source)
        .iter()
        .copied()
        .find(|unit| unit.kind(db) == UnitKind::Header);
    let root = header.map(|unit| (files::function_tree(db, unit).syntax(), unit.start(db)));
    let version = root.and_then(|(root, start)| {
        let node = root.descendants().find(|node| node.kind() == SyntaxKind::VERSION_DIRECTIVE)?;
        Some(crate::cursor::trimmed(node).end + start)
    });
    let chip = Chip::DEFAULT;
    let directive = format!("\n.target {chip}");
    out.offer(format!("Add `.target {chip}`"), vec![Edit::insert(version.unwrap_or(0), directive)], true);
}

/// A missing brace may be reported where the file ends, after its last word.
fn unterminated_body(db: &dyn Db, out: &mut Mender<'_>) {
    let Some(spot) = spot(db, out.located.source, out.located.at) else { return };
    let end = spot.start + spot.unit.text(db).trim_end().len() as u32;
    out.offer("Close the body", vec![Edit::insert(end, "\n}")], true);
}

/// "`;` expected before …": the place is where it is missing.
fn syntax(db: &dyn Db, spot: &Spot<'_>, out: &mut Mender<'_>) {
    // One of several words may be expected: "`,` or `]` expected, found …".
    let expected = out.diagnostic.message.split_once(" expected").map_or("", |(words, _)| words).to_owned();
    for missing in [";", ")", "]", "}"] {
        if expected.split(" or ").any(|word| word.trim_matches('`') == missing) {
            // After the last word before the place.
            let text = spot.unit.text(db);
            let before = Range::new(0, out.located.at.saturating_sub(spot.start)).slice(text);
            let end = before.trim_end().len();
            let at = spot.start + end as u32;
            let (title, edits) = (format!("Insert `{missing}`"), vec![Edit::insert(at, missing)]);
            // Within a line a word may be wrong or missing as well.
            let is_last = match missing {
                ";" => ends_line(text.get(end..).unwrap_or_default()),
                _ => text.get(end..).unwrap_or_default().trim_start().starts_with(';'),
            };
            if is_last {
                out.offer_safe(title, edits);
            } else {
                out.offer(title, edits, true);
            }
        }
    }
}

/// Whether nothing but blanks and a comment stands before the end of the line.
fn ends_line(rest: &str) -> bool {
    let line = rest.lines().next().unwrap_or_default().trim_start();
    line.is_empty() || line.starts_with("//")
}

/// The type that a name needs at its place, for a declaration.
fn type_wanted(path: &Path<'_>) -> String {
    if above(path, SyntaxKind::GUARD).is_some() {
        return ".pred".to_owned();
    }
    let node = above(path, SyntaxKind::INSTRUCTION);
    let instruction = node.and_then(ast::Instruction::cast);
    let words = instruction.and_then(|instruction| instruction.opcode()).map(|opcode| {
        let mnemonic = opcode.mnemonic().map_or(String::new(), |token| token.text().to_owned());
        let types: Vec<Type> = opcode
            .modifiers()
            .filter_map(|token| Type::from_name(token.text().trim_start_matches('.')))
            .collect();
        (mnemonic, types)
    });
    let in_address = above(path, SyntaxKind::ADDRESS).is_some();
    let in_list = |list: ast::OperandList<'_>| {
        list.operands().next().is_some_and(|first| Range::from(first.span()).holds(token_range(path.token)))
    };
    let first = above(path, SyntaxKind::OPERAND_LIST).and_then(ast::OperandList::cast).is_some_and(in_list);
    match words {
        _ if in_address => ".b64".to_owned(),
        Some((mnemonic, _)) if mnemonic == "setp" && first => ".pred".to_owned(),
        Some((mnemonic, types)) if mnemonic == "cvt" && types.len() == 2 => {
            types[usize::from(!first)].to_string()
        }
        Some((_, types)) => types.first().map_or(".b32".to_owned(), |ty| {
            // Small integers live in registers of 16 bits.
            if ty.bits() == 8 { ".b16".to_owned() } else { ty.to_string() }
        }),
        None => ".b32".to_owned(),
    }
}

fn unknown_name(db: &dyn Db, spot: &Spot<'_>, path: &Path<'_>, out: &mut Mender<'_>) {
    let name = path.token.text();
    let names = names(db, spot.unit);
    // A register beyond the end of its range: make the range longer.
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (prefix, number) = name.split_at(name.len() - digits);
    let mut is_member = false;
    if let Ok(number) = number.parse::<u64>() {
        let range = names.declarations.iter().find(|declared| {
            matches!(declared.kind, DeclarationKind::Registers(count) if count <= number)
                && *declared.name == *prefix
        });
        if let Some(declared) = range {
            let text = spot.unit.text(db);
            let behind = declared.range.end;
            let rest = Range::new(behind, declared.full.end).slice(text);
            if let (Some(open), Some(close)) = (rest.find('<'), rest.find('>')) {
                let place = Range::new(behind + open as u32 + 1, behind + close as u32).shifted(spot.start);
                let edit = Edit::new(place, (number + 1).to_string());
                is_member = true;
                out.offer(format!("Make it `{prefix}<{}>`", number + 1), vec![edit], true);
            }
        }
    }
    let Some(instruction) = above(path, SyntaxKind::INSTRUCTION) else { return };
    let is_label = ast::Instruction::cast(instruction)
        .and_then(|instruction| instruction.opcode())
        .and_then(|opcode| opcode.mnemonic())
        .is_some_and(|mnemonic| matches!(mnemonic.text(), "bra" | "call" | "brx"));
    // The nearest name of the same kind.
    let near = names
        .visible(spot.at)
        .into_iter()
        .filter(|declared| (declared.kind == DeclarationKind::Label) == is_label)
        .filter(|declared| !matches!(declared.kind, DeclarationKind::Registers(_)))
        // Names that differ more in length need not be compared.
        .filter(|declared| declared.name.len().abs_diff(name.len()) <= 2)
        .map(|declared| (strsim::levenshtein(name, &declared.name), declared))
        .filter(|(distance, declared)| *distance <= 2 && 2 * distance <= declared.name.len())
        .min_by_key(|(distance, declared)| (*distance, declared.name.clone()));
    if let Some((_, declared)) = near {
        let edit = Edit::new(token_range(path.token).shifted(spot.start), declared.name.to_string());
        out.offer(format!("Change to `{}`", declared.name), vec![edit], !is_member);
    }
    // A misspelled special register; `%tid` and its `.x` are two words.
    if let Some(special) = oriole_ptx::nearest_special(name) {
        let edit = Edit::new(token_range(path.token).shifted(spot.start), special);
        out.offer(format!("Change to `{special}`"), vec![edit], true);
    }
    if is_label && above(path, SyntaxKind::GUARD).is_none() {
        return;
    }
    let Some(body) = path.ancestors().filter(|node| node.kind() == SyntaxKind::BLOCK).last() else {
        return;
    };
    let ty = type_wanted(path);
    let at = crate::cursor::trimmed(body).start + 1 + spot.start;
    let text = format!("\n    .reg {ty} {name};");
    out.offer(format!("Declare `.reg {ty} {name};`"), vec![Edit::insert(at, text)], false);
}

/// The message names the directive that may be meant.
fn unknown_directive(db: &dyn Db, spot: &Spot<'_>, out: &mut Mender<'_>) {
    let start = out.located.at.saturating_sub(spot.start);
    let range = Range::new(start, start + out.diagnostic.range.len());
    let word = range.slice(spot.unit.text(db));
    let in_body = out.diagnostic.message.contains("function body");
    if let Some(near) = oriole_syntax::nearest_directive(word, in_body) {
        out.offer(format!("Change to `{near}`"), vec![Edit::new(range.shifted(spot.start), near)], true);
    }
}

fn unknown_instruction(spot: &Spot<'_>, path: &Path<'_>, out: &mut Mender<'_>) {
    let Some(node) = above(path, SyntaxKind::OPCODE).and_then(ast::Opcode::cast) else { return };
    let Some(mnemonic) = node.mnemonic() else { return };
    for (at, opcode) in oriole_ptx::nearest(mnemonic.text()).into_iter().take(3).enumerate() {
        let name = opcode.name();
        let edit = Edit::new(token_range(mnemonic).shifted(spot.start), name);
        out.offer(format!("Change to `{name}`"), vec![edit], at == 0);
    }
}

/// The opcode node at a token, its words, and its number of operands.
fn words<'t>(path: &Path<'t>) -> Option<(Opcode, ast::Opcode<'t>, Vec<TokenRef<'t>>, usize)> {
    let node = above(path, SyntaxKind::INSTRUCTION).and_then(ast::Instruction::cast)?;
    let opcode_node = node.opcode()?;
    let opcode = Opcode::from_name(opcode_node.mnemonic()?.text())?;
    let modifiers = opcode_node.modifiers().collect();
    Some((opcode, opcode_node, modifiers, node.operands().count()))
}

fn spellings<'t>(modifiers: &[TokenRef<'t>]) -> Vec<&'t str> {
    modifiers.iter().map(|token| token.text().trim_start_matches('.')).collect()
}

/// Whether some form has these words and operands.
fn exists(opcode: Opcode, words: &[&str], operands: usize) -> bool {
    match_form(opcode, words, operands).is_ok()
}

fn wrong_word(spot: &Spot<'_>, path: &Path<'_>, out: &mut Mender<'_>) {
    let Some((opcode, _, modifiers, operands)) = words(path) else { return };
    let written = spellings(&modifiers);
    let Err(error) = match_form(opcode, &written, operands) else { return };
    let Some(at) = error.word else { return };
    let place = token_range(modifiers[at]).shifted(spot.start);
    let expected = match &error.problem {
        FormProblem::UnknownModifier { expected, .. } | FormProblem::WrongType { expected, .. } => {
            expected.clone()
        }
        _ => Vec::new(),
    };
    let mut offered = 0;
    // The nearest word comes first.
    let near = oriole_ptx::nearest_of(written[at], expected.iter().copied());
    let others = expected.iter().copied().filter(|word| Some(*word) != near);
    for word in near.into_iter().chain(others) {
        let mut changed = written.clone();
        changed[at] = word;
        if exists(opcode, &changed, operands) && offered < 6 {
            offered += 1;
            let edit = Edit::new(place, format!(".{word}"));
            out.offer(format!("Change to `.{word}`"), vec![edit], Some(word) == near);
        }
    }
    let mut without = written.clone();
    without.remove(at);
    if exists(opcode, &without, operands) {
        let title = format!("Remove `.{}`", written[at]);
        out.offer(title, vec![Edit::new(place, "")], offered == 0);
    }
}

/// Words that would complete a form, each at its place.
fn missing_word(spot: &Spot<'_>, path: &Path<'_>, out: &mut Mender<'_>) {
    let Some((opcode, node, modifiers, operands)) = words(path) else { return };
    let written = spellings(&modifiers);
    if exists(opcode, &written, operands) {
        return;
    }
    let mut candidates: Vec<&'static str> = Vec::new();
    for slot in rows_of(opcode).flat_map(|row| row.slots) {
        let words: Vec<&'static str> = match slot {
            Slot::Head(words) | Slot::Must(words) => words.iter().map(|word| word.name()).collect(),
            Slot::Type(types) => types.iter().map(|ty| ty.name()).collect(),
            Slot::Space(spaces) => spaces.iter().map(|space| space.name()).collect(),
            _ => Vec::new(),
        };
        for word in words {
            if !word.is_empty() && !candidates.contains(&word) {
                candidates.push(word);
            }
        }
    }
    let mut offered = 0;
    for word in candidates {
        // A type fits best after everything, another word as early as possible.
        let last = written.len();
        let places: Vec<usize> =
            if Type::from_name(word).is_some() { (0..=last).rev().collect() } else { (0..=last).collect() };
        let fits = |&at: &usize| {
            let mut changed = written.clone();
            changed.insert(at, word);
            exists(opcode, &changed, operands)
        };
        let Some(at) = places.into_iter().find(fits) else { continue };
        if offered == 8 {
            break;
        }
        offered += 1;
        let place = match at.checked_sub(1) {
            Some(before) => token_range(modifiers[before]).end,
            None => node.mnemonic().map_or(0, |mnemonic| token_range(mnemonic).end),
        };
        let edit = Edit::insert(place + spot.start, format!(".{word}"));
        out.offer(format!("Add `.{word}`"), vec![edit], false);
    }
}

/// Raises `.version` and `.target` to those that the instruction needs.
fn raise(db: &dyn Db, path: &Path<'_>, out: &mut Mender<'_>) {
    let Some((opcode, _, modifiers, operands)) = words(path) else {
        raise_for_chip(db, path, out);
        return;
    };
    let written = spellings(&modifiers);
    let Ok(form) = match_form(opcode, &written, operands) else { return };
    let mut version = form.row.ptx;
    let mut wanted = vec![form.row.chips];
    let needs = form.row.needs.iter().chain(COMMON_NEEDS);
    for need in needs.filter(|need| need.token.split('&').all(|word| written.contains(&word))) {
        version = version.max(need.ptx);
        wanted.push(need.chips);
    }
    // The first chip with all features; chips that code can be generated for come first.
    let mut chips = Chip::all();
    chips.sort_by_key(|chip| !chip.is_supported());
    let chip = chips.into_iter().find(|chip| wanted.iter().all(|wanted| wanted.has(chip.as_target())));
    let header = files::module_header(db, out.located.source);
    let units = files::split_file(db, out.located.source);
    // The `.version` directive of the file.
    let mut stated = None;
    // The effective `.target` directive: the last one.
    let mut named = None;
    for &unit in units.iter().filter(|unit| unit.kind(db) == UnitKind::Header) {
        let root = files::function_tree(db, unit).syntax();
        for node in root.descendants() {
            let start = unit.start(db);
            if let Some(number) = ast::VersionDirective::cast(node).and_then(|it| it.number()) {
                let place = token_range(number).shifted(start);
                stated = Some(place);
                if out.diagnostic.code == Code::NeedsVersion && header.version < version {
                    let edit = Edit::new(place, format!("{}.{}", version.0, version.1));
                    // Versions only add to the language.
                    out.offer_safe(format!("Raise `.version` to {}", edit.text), vec![edit]);
                }
            }
            let names = ast::TargetDirective::cast(node).into_iter().flat_map(|it| it.names());
            let last = names.filter(|name| name.text().parse::<PtxTarget>().is_ok()).last();
            named = last.map(|name| token_range(name).shifted(start)).or(named);
        }
    }
    if out.diagnostic.code == Code::NeedsChip
        && let (Some(chip), Some(name)) = (chip, named)
    {
        let first = chip.as_target().first_version();
        let older = stated.filter(|_| header.version < first);
        let mut edits: Vec<Edit> =
            older.map(|place| Edit::new(place, format!("{}.{}", first.0, first.1))).into_iter().collect();
        edits.push(Edit::new(name, chip.to_string()));
        out.offer(format!("Change `.target` to {chip}"), edits, true);
    }
}

/// Raises `.version` to the first one that has the chip of `.target`.
fn raise_for_chip(db: &dyn Db, path: &Path<'_>, out: &mut Mender<'_>) {
    let Ok(target) = path.token.text().parse::<PtxTarget>() else { return };
    let version = target.first_version();
    if out.diagnostic.code != Code::NeedsVersion
        || files::module_header(db, out.located.source).version >= version
    {
        return;
    }
    let units = files::split_file(db, out.located.source);
    for &unit in units.iter().filter(|unit| unit.kind(db) == UnitKind::Header) {
        let nodes = files::function_tree(db, unit).syntax().descendants();
        for number in nodes.filter_map(ast::VersionDirective::cast).filter_map(|directive| directive.number())
        {
            let edit = Edit::new(
                token_range(number).shifted(unit.start(db)),
                format!("{}.{}", version.0, version.1),
            );
            out.offer_safe(format!("Raise `.version` to {}", edit.text), vec![edit]);
        }
    }
}

/// Removes the statement that declares an unused name.
fn remove(spot: &Spot<'_>, path: &Path<'_>, out: &mut Mender<'_>) {
    let Some(node) = above(path, SyntaxKind::VARIABLE) else { return };
    let declarators = node.children().filter(|child| child.kind() == SyntaxKind::DECLARATOR).count();
    if declarators == 1 {
        let place = crate::cursor::trimmed(node).shifted(spot.start);
        out.offer("Remove the declaration", vec![Edit::new(place, "")], true);
    }
}
