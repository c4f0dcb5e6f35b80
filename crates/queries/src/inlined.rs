//! Bodies with calls inlined, and the calls that are left: what code is made of.
//!
//! It is apart from files because a body with inlined calls depends on other units, and apart from calls because those are the
//! calls of the text. An edit of a function makes the code of its callers again if it is inlined there, and only then.
//! Which calls are worth it is decided in `oriole-hir`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oriole_hir::{Body, Operand, Statement, Table};
use oriole_inputs::{Config, Db, FunctionUnit, SourceFile};
use oriole_link::CallGraph;
use oriole_ptx::Opcode;
use oriole_query_macro::query;
use oriole_syntax::UnitKind;

use crate::{calls, configuration, files};

/// The body that the code of a unit is made of; `None` if the unit has errors.
pub fn code<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>, config: Config) -> Option<&'db Arc<Body>> {
    let own = files::body(db, unit).as_ref()?;
    if own.functions.is_empty() || !inlines(db, unit.file(db), config) {
        return Some(own);
    }
    Some(inlined(db, unit).as_ref().unwrap_or(own))
}

/// Whether calls are inlined.
fn inlines(db: &dyn Db, file: SourceFile, config: Config) -> bool {
    configuration::lowering(db, file, config).inlines
}

/// The body of a unit with calls inlined; `None` if it has none that should be.
#[query(returns(ref))]
pub fn inlined<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Option<Arc<Body>> {
    let body = files::body(db, unit).as_deref()?;
    let file = unit.file(db);
    let callee = |name: &str| {
        let callee = files::function_unit(db, file, name)?;
        if callee.kind(db) != UnitKind::Function || !is_inlinable(db, callee) {
            return None;
        }
        let own = files::body(db, callee).as_deref()?;
        let merged = if own.functions.is_empty() { None } else { inlined(db, callee).as_deref() };
        Some(merged.unwrap_or(own))
    };
    oriole_hir::inline(body, callee).map(Arc::new)
}

/// The most functions that an inlined function reaches: a chain of calls is followed no further, so that neither the stack nor
/// the time of a compile depends on its length.
const MOST_REACHED: usize = 64;

/// Whether a function may be inlined: by calls that name the callee it reaches a few others, and not itself. Nothing is read of
/// functions that it does not reach.
#[query(returns(copy))]
pub fn is_inlinable<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> bool {
    let mut open = vec![unit];
    let mut known = BTreeSet::new();
    while let Some(next) = open.pop() {
        for callee in called(db, next).iter().filter_map(|name| files::function_unit(db, unit.file(db), name))
        {
            if callee == unit || known.len() == MOST_REACHED {
                return false;
            }
            if callee.kind(db) == UnitKind::Function && known.insert(callee.name(db).clone()) {
                open.push(callee);
            }
        }
    }
    true
}

/// The functions that a function calls by name.
#[query(returns(ref))]
pub fn called<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<Arc<str>> {
    let body = files::body(db, unit).as_deref();
    body.map_or_else(Vec::new, |body| Calls::of(body).direct.into_iter().map(Arc::from).collect())
}

/// The calls that code makes where calls are inlined.
#[query(returns(ref))]
pub fn code_graph(db: &dyn Db, file: SourceFile) -> CallGraph {
    let mut callees = BTreeMap::new();
    let mut entries = BTreeSet::new();
    for &unit in files::index(db, file).functions.iter().filter(|unit| unit.has_code(db)) {
        if unit.kind(db) == UnitKind::Entry {
            entries.insert(unit.name(db).clone());
        }
        let calls = !files::uses(db, unit).called.is_empty();
        let Some(body) = calls.then(|| inlined(db, unit).as_deref()).flatten() else {
            let known = calls::call_graph(db, file).callees.get(&**unit.name(db));
            callees.insert(unit.name(db).clone(), known.cloned().unwrap_or_default());
            continue;
        };
        let left = Calls::of(body);
        let called = left.direct.iter().filter_map(|name| files::function_unit(db, file, name));
        let mut names: Vec<Arc<str>> = called.map(|unit| unit.name(db).clone()).collect();
        if left.through_pointers {
            names.extend_from_slice(calls::addressed_functions(db, file));
        }
        callees.insert(unit.name(db).clone(), names);
    }
    CallGraph::new(callees, &entries)
}

/// The calls of a body.
#[derive(Default)]
struct Calls<'b> {
    direct: BTreeSet<&'b str>,
    through_pointers: bool,
}

impl<'b> Calls<'b> {
    fn of(body: &'b Body) -> Calls<'b> {
        let mut calls = Calls::default();
        for statement in &body.statements {
            let Statement::Instruction(instruction) = statement else { continue };
            if instruction.opcode != Opcode::Call {
                continue;
            }
            let mut direct = false;
            for operand in &instruction.operands {
                match operand {
                    Operand::Function(function) => {
                        calls.direct.insert(&body.functions[*function].name);
                        direct = true;
                    }
                    Operand::Table(table) => {
                        if let Table::Functions(list) = &body.tables[*table] {
                            calls.direct.extend(list.iter().map(|&it| body.functions[it].name.as_str()));
                        }
                    }
                    _ => {}
                }
            }
            calls.through_pointers |= !direct;
        }
        calls
    }
}

/// The kernels whose code reaches that of a function, in the order of their names.
pub(crate) fn reaching_kernels<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
) -> &'db [FunctionUnit<'db>] {
    match inlines(db, unit.file(db), config) {
        true => reaching_code(db, unit),
        false => calls::reaching_kernels(db, unit),
    }
}

/// The kernels whose code reaches that of a function where calls are inlined.
#[query(returns(ref))]
pub fn reaching_code<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<FunctionUnit<'db>> {
    calls::kernels_in(db, unit, code_graph(db, unit.file(db)))
}

/// Whether the code of a kernel reaches that of a function: the container has the code of no other.
pub(crate) fn is_reached<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    config: Config,
    unit: FunctionUnit<'db>,
) -> bool {
    let graph = if inlines(db, file, config) { code_graph(db, file) } else { calls::call_graph(db, file) };
    graph.kernels.get(&**unit.name(db)).is_some_and(|kernels| !kernels.is_empty())
}
