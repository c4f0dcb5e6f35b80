//! Relocatable output: a section for each kernel and function, and a container that a linker joins with others.
//!
//! It is apart from whole programs because nothing is laid out here: a section depends on its own function, its routines and
//! what aliases mean, so that an edit of one function makes no other section again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oriole_cubin::{
    Binding, CodeKind, DebugAddress, DebugTarget, KernelImage, Module, Undefined, UndefinedKind,
};
use oriole_diagnostics::Code;
use oriole_hir::{Body, Linkage, ModuleVariable, Operand, Parameter, Signature, Statement, Table};
use oriole_inputs::{Config, Db, FunctionUnit, SourceFile};
use oriole_pipeline::image::{LinkedFunction, ModuleSymbols};
use oriole_pipeline::{LibraryFunction, Routine};
use oriole_ptx::{Opcode, Space, Type};
use oriole_syntax::UnitKind;

use crate::debugger::{self, DebugParts, OpenReference};
use crate::failure::{Failed, Staged, guarded};
use crate::link::{KnownAddresses, describe, image_failure, place_variables, write_failure};
use crate::module::function_unit;
use crate::{graph, stage};

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
        let mut image = oriole_pipeline::image::section_image(target, (name, kind), &symbols, &find)
            .map_err(|error| image_failure(name, &error))?;
        image.binding = match (linkage, kind) {
            (Some(Linkage::Weak), _) => Binding::Weak,
            (None, CodeKind::Function) => Binding::Local,
            _ => Binding::Global,
        };
        if kind == CodeKind::Kernel {
            describe(body, target.chip, &mut image);
        } else {
            image.prototype = prototype(&body.results, &body.parameters);
        }
        image.pointed_prototypes = pointed_prototypes(body);
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
        let image = oriole_pipeline::image::section_image(target, named, &ModuleSymbols::default(), &find)
            .map_err(|error| image_failure(which.name(), &error))?;
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

/// What a function gives and takes, as linkers compare it.
fn prototype(results: &[Parameter], parameters: &[Parameter]) -> String {
    let mut text = String::from(if results.is_empty() { "#v" } else { "#" });
    for parameter in results.iter().chain(parameters) {
        match (parameter.length, parameter.ty) {
            (Some(_), _) => text.push_str(&format!("b{}", parameter.size())),
            (None, Type::F32) => text.push('f'),
            (None, Type::F64) => text.push('d'),
            (None, ty) => text.push(if ty.bits() > 32 { 'l' } else { 'i' }),
        }
    }
    text
}

/// What a body calls through pointers gives and takes, one for each call.
fn pointed_prototypes(body: &Body) -> Vec<String> {
    let calls = body.statements.iter().filter_map(|statement| match statement {
        Statement::Instruction(i) if i.opcode == Opcode::Call => {
            i.operands.iter().find_map(|operand| match operand {
                Operand::Prototype(id) => Some(&body.prototypes[*id]),
                Operand::Table(id) => match &body.tables[*id] {
                    Table::Functions(list) => list.first().map(|&first| &body.functions[first].signature),
                    _ => None,
                },
                _ => None,
            })
        }
        _ => None,
    });
    calls.map(|signature| prototype(&signature.results, &signature.parameters)).collect()
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
    module.callee_saved =
        debugger::is_for_debuggers(db, file, config).then(oriole_pipeline::image::callee_saved);
    Ok(parts)
}

/// Writes the container. The module has its header, and nothing else yet.
pub(crate) fn cubin(db: &dyn Db, file: SourceFile, config: Config, mut module: Module) -> Staged<Vec<u8>> {
    let parts = add_code(db, file, config, &mut module)?;
    let data = graph::module_data(db, file);
    module.undefined = undefined(db, file, &module, data);
    let target = stage::target_of(db, config)?;
    guarded("cubin", || {
        let known = KnownAddresses { functions: &BTreeMap::new(), constants: BTreeMap::new() };
        place_variables(&graph::module_layout(db, file).symbols, data, known, &mut module)?;
        close(&parts.open, target.limits.static_shared_start, &mut module);
        oriole_cubin::write(&module).map_err(|error| write_failure(&error))
    })
}

/// Completes what debug sections name. Linkers count shared memory from the end of the system's part.
fn close(open: &[OpenReference], start: u32, module: &mut Module) {
    if open.is_empty() {
        return;
    }
    let code = module.kernels.iter().enumerate();
    let mut targets: BTreeMap<String, (DebugTarget, i64)> = BTreeMap::new();
    for (code, image) in code.rev() {
        let prefix = format!("${}$", image.name);
        for (index, variable) in image.own_shared.iter().enumerate() {
            let name = variable.name.strip_prefix(&prefix).unwrap_or(&variable.name).to_owned();
            targets.insert(name, (DebugTarget::OwnShared { code, index }, start.into()));
        }
    }
    let shared = module.shared.iter().enumerate();
    targets.extend(shared.map(|(at, one)| (one.name.clone(), (DebugTarget::Shared(at), start.into()))));
    let loaded = debugger::loaded_variables(module).into_iter();
    targets.extend(loaded.map(|(name, target)| (name, (DebugTarget::Memory(target), 0))));
    let sections = triomphe::Arc::make_mut(&mut module.debug);
    for OpenReference { section, at, name, addend } in open {
        if let Some(&(target, more)) = targets.get(name) {
            let address = DebugAddress { offset: *at, target, addend: addend + more };
            sections[*section].addresses.push(address);
        }
    }
}

/// What the code and the initial values of the module name and the module does not define.
fn undefined(db: &dyn Db, file: SourceFile, module: &Module, data: &[ModuleVariable]) -> Vec<Undefined> {
    let defined: BTreeSet<&str> = module.kernels.iter().map(|code| code.name.as_str()).collect();
    let in_code = module.kernels.iter().flat_map(|code| &code.names);
    let initial = data.iter().filter_map(|variable| variable.initial.as_ref());
    let in_data = initial.flat_map(|initial| &initial.relocations).map(|relocation| &relocation.symbol);
    let names: BTreeSet<&str> =
        in_code.chain(in_data).map(String::as_str).filter(|name| !defined.contains(name)).collect();
    names.into_iter().filter_map(|name| declared_elsewhere(db, file, name)).collect()
}

/// The same of a program whose own functions and shared memory are laid out: arrays whose size the launch gives are declared as
/// what other files define is, and have places; and no linker compares prototypes.
pub(crate) fn undefined_in_programs(
    db: &dyn Db,
    file: SourceFile,
    module: &Module,
    data: &[ModuleVariable],
) -> Vec<Undefined> {
    let mut found = undefined(db, file, module, data);
    found.retain(|other| other.kind != UndefinedKind::Shared);
    found.iter_mut().for_each(|other| other.prototype.clear());
    found
}

/// What a name stands for that is declared here and defined in another file.
fn declared_elsewhere(db: &dyn Db, file: SourceFile, name: &str) -> Option<Undefined> {
    let found = |kind, size, prototype| Some(Undefined { name: name.to_owned(), kind, size, prototype });
    if let Some(unit) = function_unit(db, file, name) {
        let signature = graph::signature(db, unit).as_ref().map(|info| &info.signature);
        let Signature { results, parameters, .. } = signature?;
        return (unit.kind(db) == UnitKind::Declaration)
            .then(|| found(UndefinedKind::Function, 0, prototype(results, parameters)))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prototypes_tell_types_of_results_first() {
        let one =
            |ty, length| Parameter { ty, length, align: 4, offset: 0, pointer: None, in_register: false };
        let list = [one(Type::F32, None), one(Type::B64, None), one(Type::B8, Some(6)), one(Type::F64, None)];
        assert_eq!(prototype(&[one(Type::F32, None)], &list), "#fflb6d");
        assert_eq!(prototype(&[], &[one(Type::U32, None)]), "#vi");
        assert_eq!(prototype(&[], &[]), "#v");
    }
}
