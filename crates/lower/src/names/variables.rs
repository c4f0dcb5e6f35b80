//! Addresses of variables and functions, and their symbols. Accesses to variables are in `memory`.

use crate::context::Lower;
use crate::source::{address_word, imm};
use crate::{LowerError, functions};
use oriole_diagnostics::Code;
use oriole_hir::{FunctionId, VariableId, VariableKind};
use oriole_options::Linking;
use oriole_ori::{
    AddressPart, ConstBase, Pseudo, Source, SourceKind, SymbolId, SymbolKind, Value, shared_alignment,
};
use oriole_ptx::Space;

/// The address of a variable in its own space, as a pair.
pub(crate) fn variable_address(
    cx: &mut Lower<'_>,
    variable: VariableId,
    offset: i64,
) -> Result<[Value; 2], LowerError> {
    let declared = &cx.body.variables[variable];
    let Ok(small) = i32::try_from(offset) else {
        return Err(cx.unsupported(format!("an offset of {offset} bytes from `{}`", declared.name)));
    };
    let d = cx.b.pair();
    match (declared.space, declared.kind) {
        (Space::Global, _) => return global_address(cx, d, variable, small),
        (Space::Shared | Space::SharedCluster, _) => {
            let symbol = variable_symbol(cx, variable)?;
            let own = address_word(symbol, AddressPart::Low, small);
            match cx.cluster_base() {
                Some(base) => {
                    let place = cx.b.r();
                    cx.b.mov(place, own);
                    cx.b.iadd3(d[0], base, place, Source::rz());
                }
                None => cx.b.mov(d[0], own),
            }
        }
        // A linker fills in sixteen bits of an address in constant memory.
        (Space::Constant, _) if (cx.separate || cx.options.linking.leaves_open()) && small < 0 => {
            let symbol = variable_symbol(cx, variable)?;
            let start = cx.b.r();
            cx.b.mov(start, address_word(symbol, AddressPart::Low, 0));
            cx.add(d[0], start.into(), imm(small as u32));
        }
        (Space::Constant, _) => {
            let symbol = variable_symbol(cx, variable)?;
            cx.b.mov(d[0], address_word(symbol, AddressPart::Low, small));
        }
        (Space::Local, _) => {
            let symbol = functions::frame_symbol(cx, variable);
            functions::frame_address(cx, d[0], symbol, small);
        }
        (Space::KernelParameter, VariableKind::Parameter(index)) => {
            has_address(cx, variable)?;
            let place = i64::from(cx.body.parameters[index as usize].offset) + offset;
            cx.b.mov(d[0], imm(place as u32));
        }
        (_, VariableKind::Parameter(_) | VariableKind::Body)
            if functions::in_registers(cx, variable)
                && functions::parameter_memory(cx, variable).is_some() =>
        {
            if let Some(memory) = functions::parameter_memory(cx, variable) {
                let (base, start) = functions::parameter_base(cx, memory);
                cx.add(d[0], base.into(), imm((small + start) as u32));
            }
        }
        (Space::FunctionParameter, VariableKind::Parameter(_)) if functions::has_frame_slot(cx, variable) => {
            let symbol = functions::frame_symbol(cx, variable);
            functions::frame_address(cx, d[0], symbol, small);
        }
        _ => return Err(cx.unsupported(format!("the address of `{}`", declared.name))),
    }
    cx.b.mov(d[1], Source::rz());
    Ok(d)
}

/// The address of a global variable: in the code where a linker lays out everything, else in a slot of constant bank 4.
fn global_address(
    cx: &mut Lower<'_>,
    d: [Value; 2],
    variable: VariableId,
    offset: i32,
) -> Result<[Value; 2], LowerError> {
    let symbol = variable_symbol(cx, variable)?;
    if cx.separate || cx.options.linking.leaves_open() {
        cx.b.mov(d[0], address_word(symbol, AddressPart::Low, offset));
        cx.b.mov(d[1], address_word(symbol, AddressPart::High, offset));
        return Ok(d);
    }
    let slot = SourceKind::Const { bank: 4, base: ConstBase::AddressSlot(symbol), offset: 0 };
    cx.b.ldc(d, slot);
    if offset == 0 {
        return Ok(d);
    }
    let sum = cx.b.pair();
    let low = imm(offset as u32);
    let high = imm(if offset < 0 { !0 } else { 0 });
    let offset = cx.tuple([low, high]);
    cx.pseudo(Pseudo::Add64, &[], sum, [d.into(), offset]);
    Ok(sum)
}

/// The symbol of a module-level variable, or of a shared one of the body.
pub(crate) fn variable_symbol(cx: &mut Lower<'_>, variable: VariableId) -> Result<SymbolId, LowerError> {
    let declared = &cx.body.variables[variable];
    let kind = match declared.space {
        Space::Global => SymbolKind::Global,
        Space::Constant => SymbolKind::Constant,
        Space::Shared | Space::SharedCluster => SymbolKind::Shared,
        Space::Local => return Ok(functions::frame_symbol(cx, variable)),
        _ => return Err(cx.unsupported(format!("the address of `{}`", declared.name))),
    };
    has_address(cx, variable)?;
    let mut align = u64::from(declared.align.max(1));
    // A linker has its own layout.
    if kind == SymbolKind::Shared && !cx.options.linking.leaves_open() {
        align = shared_alignment(declared.size, align);
    }
    let symbol = cx.symbol(kind, declared.module_name());
    cx.b.function_mut().symbols[symbol].align = align as u32;
    Ok(symbol)
}

/// Rejects objects without an address: textures, samplers and surfaces.
fn has_address(cx: &Lower<'_>, variable: VariableId) -> Result<(), LowerError> {
    let declared = &cx.body.variables[variable];
    if !declared.ty.is_opaque() {
        return Ok(());
    }
    let what = if declared.kind == VariableKind::Module { "variable" } else { "parameter" };
    Err(cx.unsupported(format!("`{}`, a {what} of the type `{}`", declared.name, declared.ty)))
}

/// The address of a function, as a pair: an index that only a call through a pointer understands, or the address
/// that a linker assigns. That of a kernel is one of a descriptor, which the loader puts into a slot of constant
/// bank 4 where no linker does.
pub(crate) fn function_address(cx: &mut Lower<'_>, function: FunctionId) -> Result<[Value; 2], LowerError> {
    let named = &cx.body.functions[function];
    if named.external && !cx.separate && cx.options.linking == Linking::Extensible {
        let message = format!("the address of `{}`, which another file defines, is not known", named.name);
        return Err(LowerError::new(Code::OpenAddress, Some(cx.place()), message));
    }
    if named.external && !cx.separate {
        return Err(cx.unsupported(format!("the address of the external function `{}`", named.name)));
    }
    let symbol = cx.symbol(SymbolKind::Function, &named.name);
    let d = cx.b.pair();
    if named.is_entry && !cx.separate && cx.options.linking == Linking::Whole {
        let slot = SourceKind::Const { bank: 4, base: ConstBase::AddressSlot(symbol), offset: 0 };
        cx.b.ldc(d, slot);
        return Ok(d);
    }
    cx.b.mov(d[0], address_word(symbol, AddressPart::Low, 0));
    cx.b.mov(d[1], address_word(symbol, AddressPart::High, 0));
    Ok(d)
}
