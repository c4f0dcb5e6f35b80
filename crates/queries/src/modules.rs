//! The container of a module: whole-program output, relocatable output, which a linker joins with other files, and debug builds, which
//! have a section for each function and are linked here.
//!
//! It comes last and reads what all units gave. How a container is made is in `oriole-link` and `oriole-cubin`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oriole_cubin::{Module, Undefined, UndefinedKind};
use oriole_diagnostics::Code;
use oriole_hir::{Linkage, ModuleVariable, Signature};
use oriole_inputs::{Config, Db, SourceFile};
use oriole_link::debug_info::DebugParts;
use oriole_link::{container, debug_program, function_value, image, source};
use oriole_options::Linking;
use oriole_pipeline::LibraryFunction;
use oriole_ptx::Space;
use oriole_query_macro::query;
use oriole_syntax::UnitKind;

use crate::checks::Output;
use crate::failure::{Failed, Staged, guarded};
use crate::{calls, checks, configuration, debug, files, images, weight};

/// The file's container for a chip.
#[query(returns(ref), heap_size = weight::bytes)]
pub fn cubin(db: &dyn Db, file: SourceFile, config: Config) -> Staged<Vec<u8>> {
    let linking = configuration::lower_options(db, config).linking;
    if checks::has_errors(db, file, Output::of(db, file, config)) {
        return Err(Failed::Diagnosed);
    }
    let chip = configuration::chip_info(db, config);
    let mut module = container::with_header(chip, files::module_header(db, file), linking);
    match linking {
        Linking::Relocatable => return relocatable(db, file, config, module),
        Linking::Extensible => has_known_pointers(db, file)?,
        Linking::Whole => {}
    }
    if configuration::lowering(db, file, config).separate() {
        return debug_build(db, file, config, module);
    }
    if linking == Linking::Whole {
        module.externs.clone_from(&images::module_layout(db, file).symbols.externs);
    }
    for &unit in files::index(db, file).functions.iter().filter(|unit| unit.kind(db) == UnitKind::Entry) {
        module.kernels.push(images::kernel_image(db, unit, config).clone()?);
    }
    module.debug = debug::debug_sections(db, file, config).as_ref().map_err(Clone::clone)?.sections.clone();
    let layout = &images::module_layout(db, file).symbols;
    let data = images::module_data(db, file);
    let functions = function_values(db, file, data);
    if linking == Linking::Extensible {
        module.undefined = undefined_in_program(db, file, &module, data);
    }
    let launches = module.kernels.iter().any(|kernel| !kernel.launched.is_empty());
    let launched = if launches { &calls::launched_kernels(db, file)[..] } else { &[] };
    guarded("cubin", || {
        container::Program { layout, data, functions: &functions, launched }.complete(&mut module)?;
        Ok(container::write(&module)?)
    })
}

/// Writes relocatable output. The module has its header, and nothing else yet.
fn relocatable(db: &dyn Db, file: SourceFile, config: Config, mut module: Module) -> Staged<Vec<u8>> {
    let parts = add_code(db, file, config, &mut module)?;
    let data = images::module_data(db, file);
    module.undefined = undefined(db, file, &module, data);
    let start = configuration::target_of(db, config)?.limits.static_shared_start;
    guarded("cubin", || {
        let layout = &images::module_layout(db, file).symbols;
        container::complete_relocatable(layout, data, &parts.open, start, &mut module)?;
        Ok(container::write(&module)?)
    })
}

/// Writes a debug build that is a whole program. The module has its header, and nothing else yet.
fn debug_build(db: &dyn Db, file: SourceFile, config: Config, mut module: Module) -> Staged<Vec<u8>> {
    let parts = add_code(db, file, config, &mut module)?;
    let data = images::module_data(db, file);
    module.undefined = undefined_in_program(db, file, &module, data);
    let target = configuration::target_of(db, config)?;
    let layout = &images::module_layout(db, file).symbols;
    let calls = calls::call_graph(db, file);
    guarded("cubin", || {
        debug_program::Program { target, calls, layout, data, open: &parts.open }.link(&mut module)?;
        Ok(container::write(&module)?)
    })
}

/// Puts the sections of code of the module's own functions and of the library into a module that has none, with their debug sections;
/// gives what of these is still open.
fn add_code<'db>(
    db: &'db dyn Db,
    file: SourceFile,
    config: Config,
    module: &mut Module,
) -> Result<&'db DebugParts, Failed> {
    for unit in files::own_sections(db, file) {
        module.kernels.push(images::kernel_image(db, unit, config).clone()?);
    }
    add_library(db, config, module)?;
    let parts = debug::debug_sections(db, file, config).as_ref().map_err(Clone::clone)?;
    module.debug = parts.sections.clone();
    module.callee_saved = configuration::is_for_debuggers(db, file, config).then(image::callee_saved);
    Ok(parts)
}

/// The functions of the library that sections of code call, by name.
///
/// # Errors
/// The module has a function of the same name.
fn add_library(db: &dyn Db, config: Config, module: &mut Module) -> Result<(), Failed> {
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
        module.kernels.push(images::library_image(db, function, config).clone()?);
    }
    Ok(())
}

/// Refuses initial values that are addresses of functions which other files define: pointers are numbers of the module in
/// extensible programs, and those functions have none.
fn has_known_pointers(db: &dyn Db, file: SourceFile) -> Result<(), Failed> {
    let initial = images::module_data(db, file).iter().filter_map(|variable| variable.initial.as_ref());
    for relocation in initial.flat_map(|initial| &initial.relocations).filter(|it| it.function) {
        let name = &relocation.symbol;
        if files::function_unit(db, file, name).is_some_and(|unit| !unit.has_code(db)) {
            return Err(Failed::Stage {
                code: Code::OpenAddress,
                statement: None,
                message: format!("the address of `{name}`, which another file defines, is not known"),
            });
        }
    }
    Ok(())
}

/// The addresses of the functions that initial values name. Kernels and what has no code are not among them.
fn function_values(
    db: &dyn Db,
    file: SourceFile,
    data: &[oriole_hir::ModuleVariable],
) -> BTreeMap<String, u64> {
    let initial = data.iter().filter_map(|variable| variable.initial.as_ref());
    let named = initial.flat_map(|initial| initial.relocations.iter().filter(|it| it.function));
    let names: BTreeSet<&str> = named.map(|relocation| relocation.symbol.as_str()).collect();
    if names.is_empty() {
        return BTreeMap::new();
    }
    let addressed = calls::addressed_functions(db, file).iter().enumerate();
    let values: BTreeMap<&str, u64> = addressed.map(|(at, name)| (&**name, function_value(at))).collect();
    let value = |name: &str| values.get(&**files::function_unit(db, file, name)?.name(db)).copied();
    names.into_iter().filter_map(|name| Some((name.to_owned(), value(name)?))).collect()
}

/// The names that the module uses and does not define.
fn undefined(db: &dyn Db, file: SourceFile, module: &Module, data: &[ModuleVariable]) -> Vec<Undefined> {
    container::undefined(module, data, |name| declared_elsewhere(db, file, name))
}

/// The names that a program, whose own functions and shared memory are laid out, uses and does not define.
fn undefined_in_program(
    db: &dyn Db,
    file: SourceFile,
    module: &Module,
    data: &[ModuleVariable],
) -> Vec<Undefined> {
    container::undefined_in_program(undefined(db, file, module, data))
}

/// The meaning of a name that is declared here and defined in another file.
fn declared_elsewhere(db: &dyn Db, file: SourceFile, name: &str) -> Option<Undefined> {
    let found = |kind, size, prototype| Some(Undefined { name: name.to_owned(), kind, size, prototype });
    if let Some(unit) = files::function_unit(db, file, name) {
        let signature = files::signature(db, unit).as_ref().map(|info| &info.signature);
        let Signature { results, parameters, .. } = signature?;
        return (unit.kind(db) == UnitKind::Declaration)
            .then(|| found(UndefinedKind::Function, 0, source::prototype(results, parameters)))?;
    }
    let info = files::global(db, file, Arc::from(name)).as_ref()?;
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
