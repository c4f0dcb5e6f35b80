//! Requests to the scheduler and the driver: `nanosleep`, `griddepcontrol`, `setmaxnreg`, `pmevent`.

use super::barrier;
use crate::context::{Lower, Lowered};
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{File, Guard, MemoryInfo, Source};
use oriole_ptx::word::{GridDependency, RegisterChange};
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op};

/// `nanosleep`.
pub(crate) fn nanosleep(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let time = cx.word(cx.operand(i, 0)?, Type::U32)?;
    cx.b.op(Op::NANOSLEEP).from(time).memory(MemoryInfo::EVERYTHING).emit();
    Ok(())
}

/// `griddepcontrol`.
pub(crate) fn grid_dependency(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let op = match i.modifiers.at() {
        Some(GridDependency::Wait) => Op::ACQBULK,
        Some(GridDependency::LaunchDependents) => Op::PREEXIT,
        None => return Err(cx.unsupported_form(i)),
    };
    cx.b.op(op).memory(MemoryInfo::EVERYTHING).emit();
    Ok(())
}

/// `setmaxnreg`, in a kernel where it has an effect; threads of others keep their registers.
pub(crate) fn change_registers(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let Operand::Immediate(Immediate::Integer(count)) = *cx.operand(i, 0)? else {
        return Err(cx.unsupported_form(i));
    };
    if !cx.body.changes_registers {
        return Ok(());
    }
    let behind = cx.begin_region();
    let count = Source::literal(count);
    let all = Operand::Immediate(Immediate::Integer(-1));
    if i.modifiers.at() == Some(RegisterChange::Dec) {
        barrier::warp_sync(cx, &all, true)?;
        cx.b.op(Op::USETMAXREG).mods(&[Mod::DEALLOC, Mod::CTAPOOL]).from(count).emit();
        cx.end_region(behind);
        return Ok(());
    }
    // Other warps may not have released theirs yet.
    let again = cx.b.new_block();
    let granted_all = cx.b.new_block();
    cx.run_into(again);
    barrier::warp_sync(cx, &all, true)?;
    let [granted, holds] = [cx.b.temporary(File::UP), cx.b.p()];
    cx.b.op(Op::USETMAXREG).mods(&[Mod::TRY_ALLOC, Mod::CTAPOOL]).to(granted).from(count).emit();
    cx.b.plop3(holds, Source::pt(), Source::pt(), granted, 0x80);
    cx.b.branch(Guard { value: holds, negated: true }, again, granted_all);
    cx.open(granted_all);
    cx.end_region(behind);
    Ok(())
}

/// `pmevent`.
pub(crate) fn trigger(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let Operand::Immediate(Immediate::Integer(n)) = *cx.operand(i, 0)? else {
        return Err(cx.unsupported_form(i));
    };
    let mask = if i.modifiers.has(Word::Mask) { n } else { 1 << n.clamp(0, 15) };
    cx.b.op(Op::PMTRIG).from(Source::literal(mask)).emit();
    Ok(())
}
