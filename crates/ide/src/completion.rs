//! Completion at a position, from the instruction table and the names in scope.

use oriole_chip::Chip;
use oriole_inputs::{Db, SourceFile};
use oriole_ptx::table::{next_modifiers, rows_of as rows};
use oriole_ptx::{Opcode, Type};
use oriole_queries::files;
use rustc_hash::FxHashSet;

use crate::cursor::{Place, Typing};
use crate::snapshot::Snapshot;
use crate::{FileId, documentation};

mod collector;
mod context;
mod operands;
mod progress;
mod signature;

use collector::Collector;
pub use collector::{Completion, CompletionKind};
use context::context;
use operands::operands;
use progress::{is_optional, progress, words_of};
pub(crate) use signature::signature_help;
pub use signature::{Signature, SignatureHelp};

pub(crate) fn completions(snapshot: &Snapshot, file: FileId, at: u32) -> Vec<Completion> {
    let Some(context) = context(snapshot, file, at) else { return Vec::new() };
    let db: &dyn Db = &snapshot.db;
    let typing = &context.typing;
    let mut range = typing.range.shifted(context.spot.start);
    // A directive is offered with its dot, a modifier without.
    let with_dot = typing.dotted && typing.place != Place::Modifier;
    if with_dot {
        range.start -= 1;
    }
    let mut out = Collector {
        range,
        located: context.located,
        partial: &typing.partial,
        list: Vec::new(),
        seen: FxHashSet::default(),
    };
    match &typing.place {
        Place::Nothing => {}
        Place::Module => directives(&mut out, documentation::MODULE_DIRECTIVES),
        Place::Statement => {
            if !typing.dotted {
                opcodes(&mut out);
            }
            directives(&mut out, documentation::BODY_DIRECTIVES);
        }
        Place::Modifier => modifiers(typing, &mut out),
        Place::Directive(words) => {
            directive(db, context.located.source, words, typing.dotted, &mut out);
        }
        Place::Operand { index, address, argument } => {
            operands(snapshot, &context, *index, *address, *argument, &mut out);
        }
    }
    out.list.sort_by(|left, right| (left.rank, &left.label).cmp(&(right.rank, &right.label)));
    out.list
}

fn directives(out: &mut Collector<'_>, list: &[documentation::Directive]) {
    for (word, shape, meaning) in list {
        out.add(word, CompletionKind::Directive, shape, meaning, 2);
    }
}

fn opcodes(out: &mut Collector<'_>) {
    for opcode in Opcode::all() {
        let Some(row) = rows(opcode).next() else { continue };
        // Opcodes that the back end cannot compile are offered last.
        let supported = rows(opcode).any(|row| row.supported);
        out.add(opcode.name(), CompletionKind::Opcode, &row.spelling(), row.doc, u8::from(!supported));
    }
}

/// The modifiers that may follow, in the order of the reference: those of the slots after the last word, up to the
/// first required slot; then, for other orders, all others that some form takes.
fn modifiers(typing: &Typing, out: &mut Collector<'_>) {
    let Some(opcode) = Opcode::from_name(&typing.opcode) else { return };
    for progress in rows(opcode).filter_map(|row| progress(row, &typing.words)) {
        let unsupported = if progress.row.supported { 0 } else { 50 };
        for (distance, slot) in (progress.next..progress.row.slots.len()).enumerate() {
            let kind = &progress.row.slots[slot];
            for word in words_of(kind) {
                let rank = (distance as u8).min(100) + unsupported;
                out.add(word, CompletionKind::Modifier, &progress.row.spelling(), progress.row.doc, rank);
            }
            if !is_optional(kind) {
                break;
            }
        }
    }
    if typing.partial.is_empty() {
        return;
    }
    let prefix = std::iter::once(typing.opcode.as_str()).chain(typing.words.iter().map(String::as_str));
    let prefix = prefix.collect::<Vec<_>>().join(".");
    for next in next_modifiers(&prefix) {
        out.add(next.word, CompletionKind::Modifier, &next.row.spelling(), next.row.doc, 200);
    }
}

/// Types of variables and registers.
const TYPES: [Type; 20] = [
    Type::Pred,
    Type::B8,
    Type::B16,
    Type::B32,
    Type::B64,
    Type::B128,
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::S8,
    Type::S16,
    Type::S32,
    Type::S64,
    Type::F16,
    Type::F16x2,
    Type::F32,
    Type::F64,
    Type::BF16,
    Type::BF16x2,
];

fn directive(db: &dyn Db, source: SourceFile, words: &[String], dotted: bool, out: &mut Collector<'_>) {
    let opened = words.iter().rposition(|word| word == "(");
    let closed = words.iter().rposition(|word| word == ")");
    let in_list = opened.is_some() && opened > closed;
    let words = match words.iter().rposition(|word| word == "(" || word == ",") {
        Some(at) if in_list => &words[at + 1..],
        _ => words,
    };
    let first = words.first().map_or("", String::as_str);
    match first {
        // A list of parameters or results.
        "" if in_list && dotted => {
            let known = documentation::BODY_DIRECTIVES.iter().copied();
            let may_begin: Vec<_> = known.filter(|row| matches!(row.0, ".param" | ".reg")).collect();
            directives(out, &may_begin);
        }
        ".target" => {
            for chip in Chip::all() {
                let rank = u8::from(!chip.is_supported());
                let detail = if chip.is_supported() { "Oriole makes code for it" } else { "" };
                out.add(&chip.to_string(), CompletionKind::Constant, detail, "", rank);
            }
        }
        ".version" => {
            // The latest first; those that know the chips of today before older ones.
            for (at, (major, minor)) in oriole_hir::versions().rev().enumerate() {
                let rank = u8::from((major, minor) < (7, 8)) + u8::from(at > 0);
                out.add(&format!("{major}.{minor}"), CompletionKind::Constant, "PTX version", "", rank);
            }
        }
        ".address_size" => out.add("64", CompletionKind::Constant, "bits", "", 0),
        ".visible" | ".weak" | ".extern" | ".common" if dotted && words.len() == 1 => {
            directives(out, documentation::MODULE_DIRECTIVES);
        }
        ".reg" | ".shared" | ".local" | ".param" | ".global" | ".const" if dotted => {
            for ty in TYPES.into_iter().filter(|ty| ty.is_fundamental()) {
                if first == ".reg" || ty != Type::Pred {
                    out.add(&ty.to_string(), CompletionKind::Modifier, &format!("{} bits", ty.bits()), "", 0);
                }
            }
            out.add(".align", CompletionKind::Directive, ".align n", "The alignment in bytes.", 1);
            for width in [".v2", ".v4"] {
                out.add(width, CompletionKind::Modifier, "vector", "", 2);
            }
            if in_list && first == ".param" {
                let known = documentation::BODY_DIRECTIVES.iter().copied();
                let pointer: Vec<_> = known.filter(|row| row.0 == ".ptr").collect();
                directives(out, &pointer);
            }
        }
        ".entry" | ".func" if dotted => directives(out, documentation::HEAD_DIRECTIVES),
        ".alias" if words.iter().any(|word| word == ",") => {
            for &unit in &files::index(db, source).functions {
                out.add(unit.name(db), CompletionKind::Function, "", "", 0);
            }
        }
        _ => {}
    }
}
