//! The queries of the call graph: callees, functions whose addresses are taken, the kernels that reach a function.
//!
//! It is apart from files because these questions concern several units, and from modules because they concern no configuration. They read
//! what functions use, and no code.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oriole_inputs::{Db, FunctionUnit, SourceFile};
use oriole_link::CallGraph;
use oriole_query_macro::query;
use oriole_syntax::UnitKind;

use crate::files;

/// The call graph of a module, with which functions are recursive.
#[query(returns(ref))]
pub fn call_graph(db: &dyn Db, file: SourceFile) -> CallGraph {
    let mut callees = BTreeMap::new();
    let mut entries = BTreeSet::new();
    for &unit in files::index(db, file).functions.iter().filter(|unit| unit.has_code(db)) {
        if unit.kind(db) == UnitKind::Entry {
            entries.insert(unit.name(db).clone());
        }
        let uses = files::uses(db, unit);
        let called = uses.called.iter().filter_map(|name| files::function_unit(db, file, name));
        let mut names: Vec<Arc<str>> = called.map(|unit| unit.name(db).clone()).collect();
        if uses.calls_through_pointers {
            names.extend_from_slice(addressed_functions(db, file));
        }
        callees.insert(unit.name(db).clone(), names);
    }
    CallGraph::new(callees, &entries)
}

/// The functions with code whose address the module takes, by code or by an initial value, in file order. The place in
/// the list makes the function's address as a value.
#[query(returns(ref))]
pub fn addressed_functions(db: &dyn Db, file: SourceFile) -> Vec<Arc<str>> {
    let index = files::index(db, file);
    let mut named = BTreeSet::new();
    let mut add = |name: &str| {
        // An alias is another name of the same address.
        named.extend(files::function_unit(db, file, name).map(|unit| unit.name(db).clone()));
    };
    for &unit in index.functions.iter().filter(|unit| unit.has_code(db)) {
        files::uses(db, unit).addressed.iter().for_each(|name| add(name));
    }
    for &unit in &index.variables {
        files::initial_functions(db, unit).iter().for_each(|name| add(name));
    }
    let functions = index.functions.iter().filter(|unit| unit.kind(db) == UnitKind::Function);
    functions.map(|unit| unit.name(db)).filter(|name| named.contains(*name)).cloned().collect()
}

/// The kernels whose addresses code of the module takes, in file order. The place in the list makes the place of the kernel's
/// descriptor.
#[query(returns(ref))]
pub fn launched_kernels(db: &dyn Db, file: SourceFile) -> Vec<Arc<str>> {
    let functions = &files::index(db, file).functions;
    let mut named = BTreeSet::new();
    for &unit in functions.iter().filter(|unit| unit.has_code(db)) {
        let addressed = files::uses(db, unit).addressed.iter();
        named.extend(
            addressed.filter_map(|name| Some(files::function_unit(db, file, name)?.name(db).clone())),
        );
    }
    let kernels = functions.iter().filter(|unit| unit.kind(db) == UnitKind::Entry);
    kernels.map(|unit| unit.name(db)).filter(|name| named.contains(*name)).cloned().collect()
}

/// The kernels that reach a function, in the order of their names.
#[query(returns(ref))]
pub fn reaching_kernels<'db>(db: &'db dyn Db, unit: FunctionUnit<'db>) -> Vec<FunctionUnit<'db>> {
    kernels_in(db, unit, call_graph(db, unit.file(db)))
}

/// The kernels that reach a function in a graph, in the order of their names.
pub(crate) fn kernels_in<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    graph: &CallGraph,
) -> Vec<FunctionUnit<'db>> {
    let index = files::index(db, unit.file(db));
    let kernels = graph.kernels.get(&**unit.name(db));
    let units = kernels.into_iter().flat_map(|names| names.iter()).filter_map(|name| index.definition(name));
    units.filter(|unit| unit.kind(db) == UnitKind::Entry).collect()
}
