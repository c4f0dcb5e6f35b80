//! The kernel image: what a kernel needs to run, laid out. Places the kernel and a clone of every function and routine
//! it reaches one after the other, lays out shared memory, jump tables and literals, fills in what was symbolic, and
//! aggregates registers, stack and barriers.
//!
//! It is here because an image is made of several functions. It reads encoded functions and module variables; it knows no Ori
//! instruction and no file format.

mod facts;
mod fields;
mod members;
mod place;
mod resolve;
mod shared;
mod tables;

use oriole_cubin::{Binding, CalleeSaved, CodeKind, KernelImage, Variable};
use oriole_emit::LinkedFunction;
use oriole_pipeline::Target;

use crate::error::ImageError;
use crate::symbols::ModuleSymbols;
use facts::LEAST_FOR_CALLS;
use members::{Member, closure};
use resolve::Linker;
use shared::{SharedLayout, Variables};
use tables::tables;

/// Lays out a kernel. `find` gives any function or routine by name, `None` if the module does not define it. The facts
/// that only the source knows (parameters, bounds, binding) are for the caller to fill in.
///
/// # Errors
/// See [`ImageError`].
pub fn kernel_image<'a>(
    target: &Target,
    entry: &str,
    symbols: &ModuleSymbols,
    find: &dyn Fn(&str) -> Option<&'a LinkedFunction>,
) -> Result<KernelImage, ImageError> {
    let members = closure(target.words, target.container.entry, entry, symbols, find)?;
    let named = symbols.variables.iter().rev();
    let variables: Variables = named.map(|variable| (variable.name.as_str(), variable)).collect();
    let shared = SharedLayout::new(&members, &variables, &target.limits, symbols.extensible)?;
    let (constant2, table_offsets) = tables(target.words, &members, symbols)?;
    let linker = Linker {
        target,
        members: &members,
        symbols,
        variables: &variables,
        shared: &shared,
        table_offsets: &table_offsets,
    };
    let mut image = KernelImage {
        name: entry.to_owned(),
        shared_size: shared.static_size,
        shared_alignment: shared.alignment,
        constant2,
        code: target.container.entry.to_vec(),
        own_start: members.first().map_or(0, |kernel| kernel.base),
        ..KernelImage::default()
    };
    for (index, member) in members.iter().enumerate() {
        linker.place(index, member, &mut image)?;
    }
    facts::finish(&members, &mut image);
    if symbols.extensible {
        // Nothing of the driver is called through the table of addresses, and the linker adds up stacks.
        image.syscalls.clear();
        let calls = |member: &Member| !member.function.encoded.absolute_calls.is_empty();
        if members.iter().any(calls) {
            image.registers = image.registers.max(LEAST_FOR_CALLS);
        }
    }
    Ok(image)
}

/// Lays out a section of code that a linker joins with others: one kernel or function, and the routines that it calls. All
/// other names are left to relocations, so that of the rest of the module only the aliases are read.
///
/// # Errors
/// See [`ImageError`].
pub fn section_image<'a>(
    target: &Target,
    (name, kind): (&str, CodeKind),
    symbols: &ModuleSymbols,
    find: &dyn Fn(&str) -> Option<&'a LinkedFunction>,
) -> Result<KernelImage, ImageError> {
    // The entry words of kernels are for those alone.
    let entry = if kind == CodeKind::Kernel { target.container.entry } else { &[] };
    let members = closure(target.words, entry, name, symbols, find)?;
    let (constant2, table_offsets) = tables(target.words, &members, symbols)?;
    let linker = Linker {
        target,
        members: &members,
        symbols,
        variables: &Variables::new(),
        shared: &SharedLayout::default(),
        table_offsets: &table_offsets,
    };
    let own = members.first().map(|member| member.function);
    let own_shared =
        own.iter().flat_map(|function| &function.shared).map(|(variable, size, align)| Variable {
            name: format!("${name}${variable}"),
            binding: Binding::Local,
            size: *size,
            alignment: *align,
            ..Variable::default()
        });
    let mut image = KernelImage {
        name: name.to_owned(),
        kind,
        constant2,
        code: entry.to_vec(),
        own_start: members.first().map_or(0, |member| member.base),
        own_shared: own_shared.collect(),
        ..KernelImage::default()
    };
    for (index, member) in members.iter().enumerate() {
        linker.place(index, member, &mut image)?;
    }
    facts::finish(&members, &mut image);
    let calls = own.is_some_and(|function| !function.encoded.absolute_calls.is_empty());
    if kind == CodeKind::Function || calls {
        image.registers = image.registers.max(LEAST_FOR_CALLS);
    }
    image.syscalls.clear();
    image.stack_size = None;
    Ok(image)
}

/// The section of a routine: its return address is where the convention of routines has it.
pub fn of_routine(image: KernelImage) -> KernelImage {
    KernelImage { return_register: Some(place::ROUTINE_RETURN), ..image }
}

/// The registers that the calling convention makes a function preserve.
pub fn callee_saved() -> CalleeSaved {
    let (general, first_uniform) =
        (oriole_regalloc::abi::saved().words(), oriole_regalloc::abi::FIRST_SAVED_UNIFORM);
    CalleeSaved { general, first_uniform }
}
