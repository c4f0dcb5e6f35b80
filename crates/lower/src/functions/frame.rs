//! Slots of the frame: their symbols, their addresses, and moves of a word between a register and local memory.

use crate::context::Lower;
use crate::source::{address_of, address_word};
use oriole_hir::VariableId;
use oriole_ori::{AddressPart, LocalVariable, MemoryInfo, Pseudo, SymbolId, SymbolKind, Value};
use oriole_sass::Op;

/// The frame slot of a `.local` variable.
pub(crate) fn frame_symbol(cx: &mut Lower<'_>, variable: VariableId) -> SymbolId {
    if let Some(&symbol) = cx.places.frame.get(&variable) {
        return symbol;
    }
    let declared = &cx.body.variables[variable];
    let locals = &mut cx.b.function_mut().locals;
    let index = locals.len() as u32;
    locals.push(LocalVariable { size: declared.size.next_multiple_of(4), align: declared.align.max(4) });
    let symbol = cx.symbol(SymbolKind::Local(index), &declared.name);
    cx.places.frame.insert(variable, symbol);
    symbol
}

/// True if the variable has a frame slot already.
pub(crate) fn has_frame_slot(cx: &Lower<'_>, variable: VariableId) -> bool {
    cx.places.frame.contains_key(&variable)
}

/// The local address of a frame slot.
pub(crate) fn frame_address(cx: &mut Lower<'_>, d: Value, symbol: SymbolId, offset: i32) {
    let place = address_word(symbol, AddressPart::Low, offset);
    cx.b.op(Pseudo::FrameAddress).to(d).from(place).emit();
}

/// Moves a word between a value and local memory.
pub(super) fn local_word(cx: &mut Lower<'_>, value: Value, base: Value, offset: i32, store: bool) {
    let address = address_of(base.into(), offset);
    let memory = MemoryInfo {
        space: oriole_ori::Space::Local,
        reads: !store,
        writes: store,
        ordered: false,
        object: None,
    };
    if store {
        cx.b.op(Op::STL).from(address).from(value).memory(memory).emit();
    } else {
        cx.b.op(Op::LDL).to(value).from(address).memory(memory).emit();
    }
}
