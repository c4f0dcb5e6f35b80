//! Completion at a position, from the instruction table and the names in scope.

use oriole_chip::Chip;
use oriole_inputs::{Db, SourceFile};
use oriole_ptx::table::{next_modifiers, rows_of as rows};
use oriole_ptx::{Opcode, SpecialRegister, Type};
use oriole_queries::files;
use rustc_hash::FxHashSet;

use crate::cursor::{Place, Typing};
use crate::snapshot::Snapshot;
use crate::{FileId, Range, documentation};

mod collector;
mod context;
mod operands;
mod progress;
mod signature;
mod subject;
mod templates;

use collector::Collector;
pub use collector::{Completion, CompletionKind};
use context::{Context, context};
use operands::operands;
use progress::{is_optional, progress, words_of};
pub(crate) use signature::signature_help;
pub use signature::{Signature, SignatureHelp};
pub use subject::Subject;
pub use templates::Part;
use templates::Template;

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
        word: Range::new(range.start, word_end(&context, range)),
        located: context.located,
        partial: &typing.partial,
        list: Vec::new(),
        seen: FxHashSet::default(),
    };
    match &typing.place {
        Place::Nothing => {}
        Place::Module => {
            directives(&mut out, documentation::MODULE_DIRECTIVES);
            templates(&mut out, templates::MODULE);
        }
        Place::Statement => {
            if !typing.dotted {
                opcodes(&mut out);
            }
            directives(&mut out, documentation::BODY_DIRECTIVES);
            templates(&mut out, templates::BODY);
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
    for (word, shape, _) in list {
        out.add(word, CompletionKind::Directive, shape, Some(Subject::Directive(word)), 2);
    }
}

fn templates(out: &mut Collector<'_>, list: &'static [Template]) {
    list.iter().for_each(|template| out.add_template(template));
}

/// The end of the word that the typed letters begin; the position itself if there are none.
fn word_end(context: &Context<'_>, typed: Range) -> u32 {
    let at = context.typing.range.end + context.spot.start;
    if typed.is_empty() || typed.end != at {
        return typed.end;
    }
    let rest = &context.text[context.typing.range.end as usize..];
    let letters = |text: &str| text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'));
    let mut length = letters(rest).unwrap_or(rest.len());
    // `L1::evict_last` is one word of an opcode.
    while context.typing.place == Place::Modifier
        && let Some(tail) = rest[length..].strip_prefix("::")
    {
        length += 2 + letters(tail).unwrap_or(tail.len());
    }
    // So is a special register with its component.
    let begin = context.typing.range.start as usize;
    let word = &context.text[begin..context.typing.range.end as usize + length];
    if let Some(tail) = rest[length..].strip_prefix('.') {
        let component = 1 + letters(tail).unwrap_or(tail.len());
        let whole = format!("{word}{}", &rest[length..length + component]);
        if SpecialRegister::from_name(&whole).is_some() {
            length += component;
        }
    }
    typed.end + length as u32
}

fn opcodes(out: &mut Collector<'_>) {
    for opcode in Opcode::all() {
        let Some(row) = rows(opcode).next() else { continue };
        // Opcodes that the back end cannot compile are offered last.
        let supported = rows(opcode).any(|row| row.supported);
        let subject = Some(Subject::Form(opcode, 0));
        out.add(opcode.name(), CompletionKind::Opcode, &row.spelling(), subject, u8::from(!supported));
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
                let subject = Subject::form(opcode, progress.row);
                out.add(word, CompletionKind::Modifier, &progress.row.spelling(), subject, rank);
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
        let subject = Subject::form(opcode, next.row);
        out.add(next.word, CompletionKind::Modifier, &next.row.spelling(), subject, 200);
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
                out.add(&chip.to_string(), CompletionKind::Constant, detail, None, rank);
            }
        }
        ".version" => {
            // The latest first; those that know the chips of today before older ones.
            for (at, (major, minor)) in oriole_hir::versions().rev().enumerate() {
                let rank = u8::from((major, minor) < (7, 8)) + u8::from(at > 0);
                out.add(&format!("{major}.{minor}"), CompletionKind::Constant, "PTX version", None, rank);
            }
        }
        ".address_size" => out.add("64", CompletionKind::Constant, "bits", None, 0),
        ".visible" | ".weak" | ".extern" | ".common" if dotted && words.len() == 1 => {
            directives(out, documentation::MODULE_DIRECTIVES);
        }
        ".reg" | ".shared" | ".local" | ".param" | ".global" | ".const" if dotted => {
            for ty in TYPES.into_iter().filter(|ty| ty.is_fundamental()) {
                if first == ".reg" || ty != Type::Pred {
                    out.add(
                        &ty.to_string(),
                        CompletionKind::Modifier,
                        &format!("{} bits", ty.bits()),
                        None,
                        0,
                    );
                }
            }
            out.add(".align", CompletionKind::Directive, ".align n", Some(Subject::Directive(".align")), 1);
            for width in [".v2", ".v4"] {
                out.add(width, CompletionKind::Modifier, "vector", None, 2);
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
                out.add(unit.name(db), CompletionKind::Function, "", None, 0);
            }
        }
        _ => {}
    }
}
