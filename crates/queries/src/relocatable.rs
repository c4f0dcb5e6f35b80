//! Code in sections of its own, a section for each kernel and function: relocatable output, which a linker joins with other files, and
//! debug builds, which are linked here.
//!
//! It is apart from other whole programs because no code is laid out here: a section depends on its own function, its routines and what
//! aliases mean, so that an edit of one function makes no other section again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oriole_cubin::{Binding, CodeKind, KernelImage, Module, Undefined, UndefinedKind};
use oriole_diagnostics::Code;
use oriole_hir::{Body, Linkage, ModuleVariable, Signature};
use oriole_inputs::{Config, Db, FunctionUnit, SourceFile};
use oriole_link::debug_info::DebugParts;
use oriole_link::{ModuleSymbols, container, debug_program, source};
use oriole_pipeline::{LibraryFunction, LinkedFunction, Routine};
use oriole_ptx::Space;
use oriole_syntax::UnitKind;

use crate::failure::{Failed, Staged, guarded};
use crate::module::function_unit;
use crate::{debug, graph, stage};

/// The section of a kernel or function.
pub(crate) fn section_image<'db>(
    db: &'db dyn Db,
    unit: FunctionUnit<'db>,
    config: Config,
    body: &Body,
) -> Staged<KernelImage> {
    let target = stage::target_of(db, config)?;
    let name: &str = unit.name(db);
    let linked = &**graph::encoded(db, unit, config).as_ref().map_err(Clone::clone)?;
    let functions = with_routines(db, name, linked, config)?;
    let mut symbols = ModuleSymbols::default();
    for named in linked.called().chain(linked.addressed()) {
        let Some(meant) = function_unit(db, unit.file(db), named) else { continue };
        if &**meant.name(db) != named {
            symbols.aliases.insert(named.to_owned(), meant.name(db).to_string());
        }
        if meant.kind(db) == UnitKind::Entry {
            symbols.kernels.insert(named.to_owned());
        }
    }
    let linkage = graph::linkage(db, unit);
    guarded("kernel_image", || {
        let kind = if body.is_entry { CodeKind::Kernel } else { CodeKind::Function };
        let find = |name: &str| functions.get(name).copied();
        let mut image = oriole_link::image::section_image(target, (name, kind), &symbols, &find)
            .map_err(|error| error.of(name))?;
        image.binding = match (linkage, kind) {
            (Some(Linkage::Weak), _) => Binding::Weak,
            (None, CodeKind::Function) => Binding::Local,
            _ => Binding::Global,
        };
        if kind == CodeKind::Kernel {
            source::describe(body, target.chip, &mut image);
        } else {
            image.prototype = source::prototype(&body.results, &body.parameters);
        }
        image.pointed_prototypes = source::pointed_prototypes(body);
        Ok(image)
    })
}

/// A function and the routines that it calls, by name.
fn with_routines<'db>(
    db: &'db dyn Db,
    name: &str,
    linked: &'db LinkedFunction,
    config: Config,
) -> Result<BTreeMap<String, &'db LinkedFunction>, Failed> {
    let mut functions = BTreeMap::from([(name.to_owned(), linked)]);
    for routine in linked.called_routines().filter_map(Routine::named) {
        let linked = graph::routine(db, routine, config).as_ref().map_err(Clone::clone)?;
        functions.insert(routine.name().to_owned(), linked);
    }
    Ok(functions)
}

/// The section of a function of the library: weak, so that of several files' one is left.
pub(crate) fn library_image(db: &dyn Db, which: LibraryFunction, config: Config) -> Staged<KernelImage> {
    let target = stage::target_of(db, config)?;
    let linked = &**graph::library(db, which, config).as_ref().map_err(Clone::clone)?;
    let functions = with_routines(db, which.name(), linked, config)?;
    guarded("library_image", || {
        let find = |name: &str| functions.get(name).copied();
        let named = (which.name(), CodeKind::Function);
        let image = oriole_link::image::section_image(target, named, &ModuleSymbols::default(), &find)
            .map_err(|error| error.of(which.name()))?;
        Ok(KernelImage { binding: Binding::Weak, ..image })
    })
}

/// The functions of the library that sections of code call, by name.
///
/// # Errors
/// The module has a function of the same name.
pub(crate) fn add_library(db: &dyn Db, config: Config, module: &mut Module) -> Result<(), Failed> {
    let called = module.kernels.iter().flat_map(|code| &code.names);
    let called: BTreeSet<LibraryFunction> = called.filter_map(|name| LibraryFunction::named(name)).collect();
    for function in called {
        let name = function.name();
        if module.kernels.iter().any(|code| code.name == name) {
            return Err(Failed::Stage {
                code: Code::NotSupported,
                statement: None,
                message: format!(
                    "`{name}`: divisions without optimization need the compiler's function of this name"
                ),
            });
        }
        module.kernels.push(graph::library_image(db, function, config).clone()?);
    }
    Ok(())
}

/// The kernels and functions with sections of their own, in file order.
pub(crate) fn sections(db: &dyn Db, file: SourceFile) -> impl Iterator<Item = FunctionUnit<'_>> {
    let index = graph::index(db, file);
    let functions = index.functions.iter().copied().filter(|unit| unit.has_code(db));
    functions.filter(|&unit| index.definition(unit.name(db)) == Some(unit))
}

/// Puts the sections of code into a module that has none, and what debuggers are told of them; which it is, the module's own
/// functions and those of the library, and what of debug information is still open.
pub(crate) fn add_code<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    config: Config,
    module: &mut Module,
) -> Result<&'db DebugParts, Failed> {
    for unit in sections(db, file) {
        module.kernels.push(graph::kernel_image(db, unit, config).clone()?);
    }
    add_library(db, config, module)?;
    let parts = graph::debug_sections(db, file, config).as_ref().map_err(Clone::clone)?;
    module.debug = parts.sections.clone();
    module.callee_saved = debug::is_for_debuggers(db, file, config).then(oriole_link::image::callee_saved);
    Ok(parts)
}

/// Writes relocatable output. The module has its header, and nothing else yet.
pub(crate) fn cubin(db: &dyn Db, file: SourceFile, config: Config, mut module: Module) -> Staged<Vec<u8>> {
    let parts = add_code(db, file, config, &mut module)?;
    let data = graph::module_data(db, file);
    module.undefined = undefined(db, file, &module, data);
    let start = stage::target_of(db, config)?.limits.static_shared_start;
    guarded("cubin", || {
        let layout = &graph::module_layout(db, file).symbols;
        container::complete_relocatable(layout, data, &parts.open, start, &mut module)?;
        Ok(container::write(&module)?)
    })
}

/// Writes a debug build that is a whole program. The module has its header, and nothing else yet.
pub(crate) fn debug_program(
    db: &dyn Db,
    file: SourceFile,
    config: Config,
    mut module: Module,
) -> Staged<Vec<u8>> {
    let parts = add_code(db, file, config, &mut module)?;
    let data = graph::module_data(db, file);
    module.undefined = undefined_in_program(db, file, &module, data);
    let target = stage::target_of(db, config)?;
    let layout = &graph::module_layout(db, file).symbols;
    let calls = graph::call_graph(db, file);
    guarded("cubin", || {
        debug_program::Program { target, calls, layout, data, open: &parts.open }.link(&mut module)?;
        Ok(container::write(&module)?)
    })
}

/// What the module names and does not define.
fn undefined(db: &dyn Db, file: SourceFile, module: &Module, data: &[ModuleVariable]) -> Vec<Undefined> {
    container::undefined(module, data, |name| declared_elsewhere(db, file, name))
}

/// What a program whose own functions and shared memory are laid out names and does not define.
pub(crate) fn undefined_in_program(
    db: &dyn Db,
    file: SourceFile,
    module: &Module,
    data: &[ModuleVariable],
) -> Vec<Undefined> {
    container::undefined_in_program(undefined(db, file, module, data))
}

/// What a name stands for that is declared here and defined in another file.
fn declared_elsewhere(db: &dyn Db, file: SourceFile, name: &str) -> Option<Undefined> {
    let found = |kind, size, prototype| Some(Undefined { name: name.to_owned(), kind, size, prototype });
    if let Some(unit) = function_unit(db, file, name) {
        let signature = graph::signature(db, unit).as_ref().map(|info| &info.signature);
        let Signature { results, parameters, .. } = signature?;
        return (unit.kind(db) == UnitKind::Declaration)
            .then(|| found(UndefinedKind::Function, 0, source::prototype(results, parameters)))?;
    }
    let info = graph::global(db, file, Arc::from(name)).as_ref()?;
    if info.linkage != Some(Linkage::Extern) || info.ty.is_opaque() {
        return None;
    }
    let kind = match info.space {
        Space::Constant => UndefinedKind::Constant,
        Space::Shared => UndefinedKind::Shared,
        _ => UndefinedKind::Global,
    };
    found(kind, info.size, String::new())
}
