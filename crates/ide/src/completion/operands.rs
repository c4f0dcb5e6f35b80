//! Completion of operands: names in scope whose type fits the place.

use oriole_inputs::Db;
use oriole_ptx::table::Kind;
use oriole_ptx::{Space, Type};
use oriole_queries::files;
use oriole_syntax::UnitKind;

use super::collector::{Collector, CompletionKind};
use super::context::Context;
use super::progress::{operand_rows, register_fits};
use super::subject::Subject;
use crate::documentation;
use crate::names::{Declaration, DeclarationKind, names};
use crate::snapshot::Snapshot;

/// Special registers that programs read often.
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

/// Completions of operand `index`; `usize::MAX` is a guard.
pub(super) fn operands(
    snapshot: &Snapshot,
    context: &Context<'_>,
    index: usize,
    address: bool,
    argument: Option<usize>,
    out: &mut Collector<'_>,
) {
    let db: &dyn Db = &snapshot.db;
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
        let bits = files::module_header(db, source).address_bits();
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
    // The callee comes first, or after the results.
    let results = context.typing.operands.first().is_some_and(|first| first.starts_with('('));
    if has(&|kind| kind == Kind::Call) || context.typing.opcode == "call" && index == 1 && results {
        for &unit in &files::index(db, source).functions {
            if unit.kind(db) != UnitKind::Entry && argument.is_none() {
                let detail = crate::symbols::signature(db, unit);
                out.add(unit.name(db), CompletionKind::Function, &detail, None, 0);
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
        for name in SPECIAL {
            let (ty, _) = documentation::special(name).unwrap_or_default();
            out.add(name, CompletionKind::Constant, ty, Some(Subject::Special(name)), 3);
        }
    }
}

/// Registers that fit, ranked; of a range those that the function names, and the first.
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
            out.add(&declaration.name, CompletionKind::Register, &declaration.detail, None, rank);
            continue;
        };
        let mut numbers: Vec<u64> = occurrences
            .iter()
            .filter_map(|found| found.name.strip_prefix(&*declaration.name)?.parse().ok())
            .filter(|&number: &u64| number < count)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        // The first unused one is the best choice for a new value.
        let free = (0..count).find(|number| numbers.binary_search(number).is_err());
        numbers.extend(free);
        for number in numbers.into_iter().take(512) {
            let name = format!("{}{number}", declaration.name);
            let detail = if Some(number) == free {
                format!("{}, not used yet", declaration.detail)
            } else {
                declaration.detail.clone()
            };
            out.add(&name, CompletionKind::Register, &detail, None, rank + u8::from(Some(number) == free));
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
            out.add(&declaration.name, CompletionKind::Variable, &declaration.detail, None, 1);
        }
    }
    for &unit in &files::index(db, context.located.source).variables {
        for (name, _) in files::globals(db, unit) {
            let detail = crate::symbols::variable_detail(db, unit, name);
            if matches(&detail) {
                out.add(name, CompletionKind::Variable, &detail, None, 2);
            }
        }
    }
}

fn labels(visible: &[&Declaration], kind: DeclarationKind, out: &mut Collector<'_>) {
    for declaration in visible.iter().filter(|declaration| declaration.kind == kind) {
        out.add(&declaration.name, CompletionKind::Label, "label", None, 0);
    }
}
