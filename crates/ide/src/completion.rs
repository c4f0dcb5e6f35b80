//! Completion and signature help: what may be typed at a place, from the instruction table and the names in scope.

use oriole_chip::Chip;
use oriole_inputs::{Db, SourceFile};
use oriole_ptx::table::{
    Kind, OperandRow, OperandType, Presence, Row, Slot, next_modifiers, rows_of as rows,
};
use oriole_ptx::{Opcode, Space, Type};
use oriole_queries::graph;
use oriole_syntax::UnitKind;

use crate::analysis::Located;
use crate::cursor::{Place, Spot, Typing, spot, typing};
use crate::names::{Declaration, DeclarationKind, names};
use crate::{Analysis, Edit, FileId, Range, documentation};

/// What is offered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum CompletionKind {
    /// An opcode.
    Opcode,
    /// A modifier, type or state space of an opcode.
    Modifier,
    /// A directive.
    Directive,
    /// A register.
    Register,
    /// A variable or parameter.
    Variable,
    /// A function.
    Function,
    /// A label.
    Label,
    /// A special register, a chip, a version.
    Constant,
}

/// Something that may be typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    /// What is shown and typed.
    pub label: String,
    /// Type or form in short.
    pub detail: String,
    /// What it does.
    pub documentation: String,
    /// What it is.
    pub kind: CompletionKind,
    /// What is replaced, and by what.
    pub edit: Edit,
    /// What is more likely has the lower number; equal ones stand in the order of the label.
    pub rank: u8,
}

/// A form of an instruction, or the signature of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// All of it.
    pub label: String,
    /// What it does.
    pub documentation: String,
    /// Byte ranges of the operands in the label.
    pub parameters: Vec<(u32, u32)>,
}

/// Signatures that fit what stands before the cursor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignatureHelp {
    /// The signatures, the best one first.
    pub signatures: Vec<Signature>,
    /// The operand at the cursor, from 0.
    pub active: u32,
}

struct Context<'a> {
    located: Located<'a>,
    spot: Spot<'a>,
    typing: Typing,
}

fn context<'a>(analysis: &'a Analysis, file: FileId, at: u32) -> Option<Context<'a>> {
    let located = analysis.locate(file, at)?;
    let db: &dyn Db = &analysis.db;
    let spot = spot(db, located.source, located.at)?;
    let typing = typing(spot.unit.text(db), spot.at);
    Some(Context { located, spot, typing })
}

struct Collector<'a> {
    range: Range,
    located: Located<'a>,
    partial: &'a str,
    list: Vec<Completion>,
}

/// Whether what is typed may become the label: its letters stand in the label in their order.
fn fits(partial: &str, label: &str) -> bool {
    let mut letters = label.chars();
    partial.chars().all(|wanted| letters.any(|letter| letter.eq_ignore_ascii_case(&wanted)))
}

impl Collector<'_> {
    fn add(&mut self, label: &str, kind: CompletionKind, detail: &str, documentation: &str, rank: u8) {
        if !fits(self.partial, label.trim_start_matches('.')) && !fits(self.partial, label) {
            return;
        }
        let Some(range) = self.located.up(self.range) else { return };
        if self.list.iter().any(|known| known.label == label) {
            return;
        }
        self.list.push(Completion {
            label: label.to_owned(),
            detail: detail.to_owned(),
            documentation: documentation.to_owned(),
            kind,
            edit: Edit::new(range, label),
            rank,
        });
    }
}

pub(crate) fn completions(analysis: &Analysis, file: FileId, at: u32) -> Vec<Completion> {
    let Some(context) = context(analysis, file, at) else { return Vec::new() };
    let db: &dyn Db = &analysis.db;
    let typing = &context.typing;
    let mut range = typing.range.shifted(context.spot.start);
    // A directive is offered with its dot, a modifier without.
    let with_dot = typing.dotted && typing.place != Place::Modifier;
    if with_dot {
        range.start -= 1;
    }
    let mut out = Collector { range, located: context.located, partial: &typing.partial, list: Vec::new() };
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
            operands(analysis, &context, *index, *address, *argument, &mut out);
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
        // What the back end cannot compile is offered last.
        let supported = rows(opcode).any(|row| row.supported);
        out.add(opcode.name(), CompletionKind::Opcode, &row.spelling(), row.doc, u8::from(!supported));
    }
}

/// How far the words have filled a row.
struct Progress {
    row: &'static Row,
    /// For each slot whether it has its word.
    filled: Vec<bool>,
    /// One more than the last slot that is filled.
    next: usize,
    types: Vec<Type>,
    vector: u8,
}

fn takes(slot: &Slot, word: &str) -> bool {
    match slot {
        Slot::Head(words) | Slot::Must(words) | Slot::May(words) | Slot::Sequence(words) => {
            words.contains(&word)
        }
        Slot::Type(types) | Slot::MayType(types) => {
            Type::from_name(word).is_some_and(|ty| types.contains(&ty))
        }
        Slot::Space(spaces) | Slot::MaySpace(spaces) => {
            Space::from_name(word).is_some_and(|space| spaces.contains(&space))
        }
        Slot::Vector(widths) | Slot::MayVector(widths) => word
            .strip_prefix('v')
            .and_then(|width| width.parse().ok())
            .is_some_and(|width| widths.contains(&width)),
    }
}

fn progress(row: &'static Row, words: &[String]) -> Option<Progress> {
    let mut progress =
        Progress { row, filled: vec![false; row.slots.len()], next: 0, types: Vec::new(), vector: 1 };
    for (at, word) in words.iter().enumerate() {
        let open = |&slot: &usize| {
            let kind = &row.slots[slot];
            let again = matches!(kind, Slot::Sequence(_));
            (again || !progress.filled[slot])
                && (!matches!(kind, Slot::Head(_)) || at == 0)
                && takes(kind, word)
        };
        let slot = (0..row.slots.len()).find(open)?;
        progress.filled[slot] = true;
        progress.next = progress.next.max(slot + 1);
        progress.types.extend(Type::from_name(word));
        if let Some(width) = word.strip_prefix('v').and_then(|width| width.parse().ok()) {
            progress.vector = width;
        }
    }
    Some(progress)
}

fn is_optional(slot: &Slot) -> bool {
    matches!(slot, Slot::May(_) | Slot::MayType(_) | Slot::MaySpace(_) | Slot::MayVector(_))
}

fn words_of(slot: &Slot) -> Vec<&'static str> {
    match slot {
        Slot::Head(words) | Slot::Must(words) | Slot::May(words) | Slot::Sequence(words) => words.to_vec(),
        Slot::Type(types) | Slot::MayType(types) => types.iter().map(|ty| ty.name()).collect(),
        Slot::Space(spaces) | Slot::MaySpace(spaces) => {
            spaces.iter().map(|space| space.name()).filter(|name| !name.is_empty()).collect()
        }
        Slot::Vector(widths) | Slot::MayVector(widths) => widths
            .iter()
            .map(|width| match width {
                2 => "v2",
                4 => "v4",
                _ => "v8",
            })
            .collect(),
    }
}

/// The modifiers that may stand next in the order of the reference: those of the slots behind the last word, up to the
/// first that must be filled; then, for who writes in another order, all others that some form takes.
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

fn directive(db: &dyn Db, source: SourceFile, words: &[String], dotted: bool, out: &mut Collector<'_>) {
    let first = words.first().map_or("", String::as_str);
    match first {
        ".target" => {
            for chip in Chip::all() {
                let rank = u8::from(!chip.is_supported());
                let detail = if chip.is_supported() { "Oriole makes code for it" } else { "" };
                out.add(&chip.to_string(), CompletionKind::Constant, detail, "", rank);
            }
        }
        ".version" => {
            for version in ["8.0", "8.3", "8.5", "8.6", "8.7", "8.8", "9.0", "7.8"] {
                out.add(version, CompletionKind::Constant, "PTX version", "", 0);
            }
        }
        ".address_size" => out.add("64", CompletionKind::Constant, "bits", "", 0),
        ".visible" | ".weak" | ".extern" | ".common" if dotted && words.len() == 1 => {
            directives(out, documentation::MODULE_DIRECTIVES);
        }
        ".reg" | ".shared" | ".local" | ".param" | ".global" | ".const" if dotted => {
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
            for ty in TYPES.into_iter().filter(|ty| ty.is_fundamental()) {
                if first == ".reg" || ty != Type::Pred {
                    out.add(&ty.to_string(), CompletionKind::Modifier, &format!("{} bits", ty.bits()), "", 0);
                }
            }
            out.add(".align", CompletionKind::Directive, ".align n", "The alignment in bytes.", 1);
            for width in [".v2", ".v4"] {
                out.add(width, CompletionKind::Modifier, "vector", "", 2);
            }
        }
        ".entry" | ".func" if dotted => directives(out, documentation::HEAD_DIRECTIVES),
        ".alias" if words.iter().any(|word| word == ",") => {
            for &unit in &graph::index(db, source).functions {
                out.add(unit.name(db), CompletionKind::Function, "", "", 0);
            }
        }
        _ => {}
    }
}

/// The type that an operand wants, as far as the words before it tell.
fn wanted_type(operand: &OperandRow, progress: &Progress) -> Option<Type> {
    match operand.ty {
        OperandType::Of(at)
        | OperandType::Widening(at)
        | OperandType::Loose(at)
        | OperandType::Bits(at)
        | OperandType::Double(at) => progress.types.get(usize::from(at)).copied(),
        OperandType::Fixed(ty) | OperandType::Exact(ty) => Some(ty),
        OperandType::LooseFloat => Some(Type::F32),
        OperandType::Word | OperandType::WideWord => Some(Type::B32),
        OperandType::AnyInteger
        | OperandType::AddressIn(_)
        | OperandType::AddressInShared
        | OperandType::None => None,
    }
}

/// Whether a register of this type may stand where that one is wanted.
fn register_fits(own: Type, operand: &OperandRow, progress: &Progress) -> bool {
    let Some(wanted) = wanted_type(operand, progress) else { return own != Type::Pred };
    if (own == Type::Pred) != (wanted == Type::Pred) {
        return false;
    }
    match operand.ty {
        OperandType::Double(_) => own.bits() == 2 * wanted.bits(),
        OperandType::Widening(_) => own.bits() >= wanted.bits(),
        _ => {
            let kinds = own.is_bits()
                || wanted.is_bits()
                || own.is_float() == wanted.is_float()
                || own.is_integer() && wanted.is_integer();
            own.bits() == wanted.bits() && kinds
        }
    }
}

/// The rows that the words before the cursor allow, with the operand at an index.
fn operand_rows(typing: &Typing, index: usize) -> Vec<(Progress, OperandRow)> {
    let Some(opcode) = Opcode::from_name(&typing.opcode) else { return Vec::new() };
    rows(opcode)
        .filter_map(|row| progress(row, &typing.words))
        .filter(|progress| {
            progress.row.slots.iter().zip(&progress.filled).all(|(slot, filled)| *filled || is_optional(slot))
        })
        .filter_map(|progress| {
            let present = |operand: &&OperandRow| match operand.presence {
                Presence::With(token) => typing.words.iter().any(|word| word == token),
                _ => true,
            };
            let operand = *progress.row.operands.iter().filter(present).nth(index)?;
            Some((progress, operand))
        })
        .collect()
}

fn operands(
    analysis: &Analysis,
    context: &Context<'_>,
    index: usize,
    address: bool,
    argument: Option<usize>,
    out: &mut Collector<'_>,
) {
    let db: &dyn Db = &analysis.db;
    let source = context.located.source;
    let names = names(db, context.spot.unit);
    let visible = names.visible(context.spot.at);
    if index == usize::MAX {
        // A guard.
        registers(&visible, &names.occurrences, |ty| (ty == Type::Pred).then_some(0), out);
        return;
    }
    let rows = operand_rows(&context.typing, index);
    let has = |kinds: &dyn Fn(Kind) -> bool| rows.iter().any(|(_, operand)| kinds(operand.kind));
    if address || has(&|kind| kind == Kind::Address) && context.typing.partial.is_empty() {
        let bits = graph::module_header(db, source).address_bits();
        let rank =
            |ty: Type| (ty.is_integer() || ty.is_bits()).then(|| u8::from(ty.bits() != u32::from(bits)));
        registers(&visible, &names.occurrences, rank, out);
        variables(db, context, &visible, out);
        return;
    }
    if has(&|kind| kind == Kind::Label) {
        labels(&visible, DeclarationKind::Label, out);
        return;
    }
    if has(&|kind| kind == Kind::Call) {
        for &unit in &graph::index(db, source).functions {
            if unit.kind(db) != UnitKind::Entry && argument.is_none() {
                let detail = crate::symbols::signature(db, unit);
                out.add(unit.name(db), CompletionKind::Function, &detail, "", 0);
            }
        }
        registers(&visible, &names.occurrences, |_| Some(2), out);
        variables(db, context, &visible, out);
        labels(&visible, DeclarationKind::Prototype, out);
        labels(&visible, DeclarationKind::Targets, out);
        return;
    }
    if has(&|kind| kind == Kind::BranchTargets) {
        labels(&visible, DeclarationKind::Targets, out);
    }
    let predicate = |kind| matches!(kind, Kind::Predicate | Kind::PredicateRegister);
    let rank = |ty: Type| {
        let fits = rows.iter().any(|(progress, operand)| {
            predicate(operand.kind) && ty == Type::Pred
                || !predicate(operand.kind) && register_fits(ty, operand, progress)
        });
        (fits || rows.is_empty()).then_some(0)
    };
    registers(&visible, &names.occurrences, rank, out);
    if has(&|kind| matches!(kind, Kind::MoveSource | Kind::AddressSource)) {
        variables(db, context, &visible, out);
    }
    if has(&|kind| kind == Kind::MoveSource) && context.typing.operands.len() == 1 {
        const SPECIAL: [&str; 24] = [
            "%tid.x",
            "%tid.y",
            "%tid.z",
            "%ntid.x",
            "%ntid.y",
            "%ntid.z",
            "%ctaid.x",
            "%ctaid.y",
            "%ctaid.z",
            "%nctaid.x",
            "%nctaid.y",
            "%nctaid.z",
            "%laneid",
            "%warpid",
            "%smid",
            "%clock",
            "%clock64",
            "%globaltimer",
            "%lanemask_lt",
            "%lanemask_eq",
            "%cluster_ctaid.x",
            "%cluster_ctarank",
            "%cluster_nctarank",
            "%dynamic_smem_size",
        ];
        for name in SPECIAL {
            let (ty, meaning) = documentation::special(name).unwrap_or_default();
            out.add(name, CompletionKind::Constant, ty, meaning, 3);
        }
    }
}

/// Registers that may stand, ranked; of a range those that the function names, and the first.
fn registers(
    visible: &[&Declaration],
    occurrences: &[crate::names::Occurrence],
    rank: impl Fn(Type) -> Option<u8>,
    out: &mut Collector<'_>,
) {
    for declaration in visible {
        let count = match declaration.kind {
            DeclarationKind::Register => None,
            DeclarationKind::Registers(count) => Some(count),
            _ => continue,
        };
        let Some(ty) = Type::from_name(&declaration.ty) else { continue };
        let Some(rank) = rank(ty) else { continue };
        let Some(count) = count else {
            out.add(&declaration.name, CompletionKind::Register, &declaration.detail, "", rank);
            continue;
        };
        let mut numbers: Vec<u64> = occurrences
            .iter()
            .filter_map(|found| found.name.strip_prefix(&*declaration.name)?.parse().ok())
            .filter(|&number: &u64| number < count)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        // The first one that nobody uses is what a new value wants.
        let free = (0..count).find(|number| numbers.binary_search(number).is_err());
        numbers.extend(free);
        for number in numbers.into_iter().take(512) {
            let name = format!("{}{number}", declaration.name);
            let detail = if Some(number) == free {
                format!("{}, not used yet", declaration.detail)
            } else {
                declaration.detail.clone()
            };
            out.add(&name, CompletionKind::Register, &detail, "", rank + u8::from(Some(number) == free));
        }
    }
}

fn variables(db: &dyn Db, context: &Context<'_>, visible: &[&Declaration], out: &mut Collector<'_>) {
    let space = context.typing.words.iter().find_map(|word| Space::from_name(word));
    let matches = |detail: &str| space.is_none_or(|space| detail.starts_with(&format!(".{}", space.name())));
    for declaration in visible {
        let is = matches!(
            declaration.kind,
            DeclarationKind::Variable | DeclarationKind::Parameter | DeclarationKind::Result
        );
        if is && matches(&declaration.detail) {
            out.add(&declaration.name, CompletionKind::Variable, &declaration.detail, "", 1);
        }
    }
    for &unit in &graph::index(db, context.located.source).variables {
        for (name, _) in graph::globals(db, unit) {
            let detail = crate::symbols::variable_detail(db, unit, name);
            if matches(&detail) {
                out.add(name, CompletionKind::Variable, &detail, "", 2);
            }
        }
    }
}

fn labels(visible: &[&Declaration], kind: DeclarationKind, out: &mut Collector<'_>) {
    for declaration in visible.iter().filter(|declaration| declaration.kind == kind) {
        out.add(&declaration.name, CompletionKind::Label, "label", "", 0);
    }
}

pub(crate) fn signature_help(analysis: &Analysis, file: FileId, at: u32) -> Option<SignatureHelp> {
    let context = context(analysis, file, at)?;
    let db: &dyn Db = &analysis.db;
    let Place::Operand { index, argument, .. } = context.typing.place else { return None };
    let opcode = Opcode::from_name(&context.typing.opcode)?;
    if opcode == Opcode::Call {
        let position = argument?;
        let callee = context.typing.operands.iter().find(|operand| !operand.starts_with('('))?;
        let unit = graph::definition(db, context.located.source, callee.as_str().into())?;
        let info = graph::signature(db, unit).as_ref()?;
        let mut label = format!("{callee}(");
        let mut parameters = Vec::new();
        for (at, parameter) in info.signature.parameters.iter().enumerate() {
            if at > 0 {
                label.push_str(", ");
            }
            let start = label.len() as u32;
            label.push_str(&match parameter.length {
                Some(length) => format!("{}[{length}]", parameter.ty),
                None => parameter.ty.to_string(),
            });
            parameters.push((start, label.len() as u32));
        }
        label.push(')');
        let signature = Signature { label, documentation: String::new(), parameters };
        return Some(SignatureHelp { signatures: vec![signature], active: position as u32 });
    }
    let mut fitting: Vec<Progress> =
        rows(opcode).filter_map(|row| progress(row, &context.typing.words)).collect();
    // The rows that need the fewest more words first, and of these the ones with room for the operand.
    fitting.sort_by_key(|progress| {
        let missing = progress
            .row
            .slots
            .iter()
            .zip(&progress.filled)
            .filter(|(slot, filled)| !**filled && !is_optional(slot))
            .count();
        (missing, progress.row.operands.len() <= index)
    });
    let signatures: Vec<Signature> =
        fitting.iter().take(12).map(|progress| signature(progress.row)).collect();
    (!signatures.is_empty()).then_some(SignatureHelp { signatures, active: index as u32 })
}

fn signature(row: &Row) -> Signature {
    let label = row.spelling();
    // Operands stand behind the first blank, separated by commas.
    let mut parameters = Vec::new();
    if let Some(space) = label.find(' ') {
        let mut start = space + 1;
        for part in label[space + 1..].split(", ") {
            parameters.push((start as u32, (start + part.len()) as u32));
            start += part.len() + 2;
        }
    }
    Signature { documentation: format!("{} {}", row.doc, crate::hover::needs(row)), label, parameters }
}
