//! The stack pointer: `alloca`, `stacksave`, `stackrestore`. Slots of fixed size are in `functions`.

use crate::context::{Lower, Lowered};
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{MemoryInfo, Pseudo, Source, SourceKind, Value};

/// The least that memory from the stack is aligned to.
const STACK_ALIGN: i64 = 8;

/// Moves of the stack pointer keep program order among each other and with memory accesses.
const STACK: MemoryInfo = MemoryInfo::EVERYTHING;

/// `alloca`.
pub(crate) fn allocate_stack(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let align = match i.operands.get(2) {
        None => STACK_ALIGN,
        Some(&Operand::Immediate(Immediate::Integer(align))) => align.max(STACK_ALIGN),
        Some(_) => return Err(cx.unsupported_form(i)),
    };
    let Some(align) = u32::try_from(align).ok().filter(|align| align.is_power_of_two()) else {
        return Err(cx.unsupported("an alignment that is no power of two"));
    };
    let ty = cx.ty(i, 0)?;
    let size = cx.words(cx.operand(i, 1)?, ty)?.swap_remove(0);
    let size = if matches!(size.kind, SourceKind::Imm(_)) { size } else { cx.in_register(size) };
    let d = cx.b.r();
    let taken = cx.b.op(Pseudo::StackAllocate).to(d).from(size).from(Source::literal(align.into()));
    taken.memory(STACK).emit();
    write_stack_address(cx, i, d)
}

/// `stacksave`.
pub(crate) fn save_stack(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let d = cx.b.r();
    cx.b.op(Pseudo::StackSave).to(d).memory(STACK).emit();
    write_stack_address(cx, i, d)
}

/// `stackrestore`.
pub(crate) fn restore_stack(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let to = cx.words(cx.operand(i, 0)?, ty)?.swap_remove(0);
    let to = cx.in_register(to);
    cx.b.op(Pseudo::StackRestore).from(to).memory(STACK).emit();
    Ok(())
}

/// A local address, whose upper word is zero if there is one.
fn write_stack_address(cx: &mut Lower<'_>, i: &Instruction, address: Value) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let words = [address.into(), Source::rz()];
    cx.write(cx.operand(i, 0)?, ty, &words[..ty.bits() as usize / 32])
}
