//! Fixes for an address of another state space: convert it with `cvta`, name its space, or drop a redundant conversion.

use oriole_hir::AddressSpaceMismatch;
use oriole_inputs::Db;
use oriole_ptx::Space;
use oriole_queries::files;
use oriole_syntax::ast::{self, AstNode};
use oriole_syntax::{Path, SyntaxKind};

use super::mender::Mender;
use crate::cursor::{Spot, above, token_range, trimmed};
use crate::names::names;
use crate::{Edit, Range};

pub(super) fn mend(db: &dyn Db, spot: &Spot<'_>, path: &Path<'_>, out: &mut Mender<'_>) {
    let Some(node) = above(path, SyntaxKind::INSTRUCTION) else { return };
    let place = trimmed(node);
    let (Some(body), map) = (files::body(db, spot.unit), files::source_map(db, spot.unit)) else { return };
    let mismatch = oriole_hir::address_space_mismatches(body).into_iter().find(|mismatch| {
        map.instructions.get(mismatch.instruction as usize).is_some_and(|&span| place.meets(span.into()))
    });
    let (Some(mismatch), Some(instruction)) = (mismatch, ast::Instruction::cast(node)) else { return };
    let Some((name, _)) = map.registers.get(mismatch.register) else { return };
    if mismatch.converts {
        drop_conversion(spot, &instruction, place, out);
        return;
    }
    convert(db, spot, &instruction, place, name, mismatch, out);
    name_space(spot, &instruction, mismatch, out);
}

/// A redundant `cvta` becomes a copy.
fn drop_conversion(spot: &Spot<'_>, instruction: &ast::Instruction, place: Range, out: &mut Mender<'_>) {
    let operands: Vec<ast::Operand> = instruction.operands().collect();
    let (Some(opcode), [to, _]) = (instruction.opcode(), operands.as_slice()) else { return };
    let head = Range::from(opcode.span());
    if !place.holds(head) {
        return;
    }
    let bits = opcode
        .modifiers()
        .last()
        .map_or(".b64", |ty| if ty.text().ends_with("32") { ".b32" } else { ".b64" });
    // Up to the first operand, so that the space between stays.
    let end = head.end.min(Range::from(to.span()).start);
    let edit = Edit::new(Range::new(head.start, end).shifted(spot.start), format!("mov{bits}"));
    out.offer("Copy the address: it is converted already", vec![edit], true);
}

/// Converts into a new register before the instruction, and uses that.
fn convert(
    db: &dyn Db,
    spot: &Spot<'_>,
    instruction: &ast::Instruction,
    place: Range,
    name: &str,
    mismatch: AddressSpaceMismatch,
    out: &mut Mender<'_>,
) {
    let conversion = match (mismatch.held, mismatch.used) {
        (Space::Generic, used) => format!("cvta.to.{}", used.name()),
        (held, Space::Generic) => format!("cvta.{}", held.name()),
        // No instruction converts from one space to another.
        _ => return,
    };
    let Some(node) = above_address(instruction, name) else { return };
    let names = names(db, spot.unit);
    let taken = |candidate: &str| names.occurrences.iter().any(|found| *found.name == *candidate);
    let stem = if mismatch.used == Space::Generic { "%generic" } else { "%address" };
    let Some(fresh) = (0..1000).map(|number| format!("{stem}{number}")).find(|name| !taken(name)) else {
        return;
    };
    let bits = files::module_header(db, out.located.source).address_bits();
    let text = spot.unit.text(db);
    let before = Range::new(0, place.start).slice(text);
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let indent: String = before[line..].chars().take_while(|letter| letter.is_whitespace()).collect();
    let new = format!(".reg .b{bits} {fresh};\n{indent}{conversion}.u{bits} {fresh}, {name};\n{indent}");
    let edits = vec![
        Edit::insert(place.start + spot.start, new),
        Edit::new(node.shifted(spot.start), fresh.as_str()),
    ];
    out.offer(format!("Convert `{name}` with `{conversion}`"), edits, true);
}

/// The place of the register inside of the brackets.
fn above_address(instruction: &ast::Instruction, name: &str) -> Option<Range> {
    let addresses = instruction.syntax().descendants().filter_map(ast::Address::cast);
    let mut tokens = addresses.flat_map(|address| address.syntax().descendant_tokens());
    let found = tokens.find(|token| token.text() == name)?;
    Some(token_range(found))
}

/// Names the space of the address; a generic one gets no word.
fn name_space(
    spot: &Spot<'_>,
    instruction: &ast::Instruction,
    mismatch: AddressSpaceMismatch,
    out: &mut Mender<'_>,
) {
    let Some(opcode) = instruction.opcode() else { return };
    let written =
        opcode.modifiers().find(|token| Space::from_name(token.text().trim_start_matches('.')).is_some());
    let (edit, title) = match (written, mismatch.held) {
        (Some(token), Space::Generic) => {
            (Edit::new(token_range(token), ""), format!("Leave `{}` out", token.text()))
        }
        (Some(token), held) => {
            (Edit::new(token_range(token), format!(".{}", held.name())), format!("Write `.{}`", held.name()))
        }
        (None, held) => {
            // The space follows the words of memory ordering, before the operation of an atomic and the type.
            let early = |text: &str| {
                let words = ["weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "relaxed"];
                words.contains(&text) || ["cta", "cluster", "gpu", "sys"].contains(&text)
            };
            let mnemonic = opcode.mnemonic().map(|token| token_range(token).end);
            let behind = opcode
                .modifiers()
                .take_while(|token| early(token.text().trim_start_matches('.')))
                .last()
                .map(|token| token_range(token).end)
                .or(mnemonic);
            let Some(at) = behind else { return };
            (Edit::insert(at, format!(".{}", held.name())), format!("Write `.{}`", held.name()))
        }
    };
    out.offer(title, vec![Edit::new(edit.range.shifted(spot.start), edit.text)], false);
}
