//! Branches, indexed branches, leaving the function, traps.

use crate::context::{Lower, Lowered};
use crate::{LowerError, functions, threads};
use oriole_diagnostics::Code;
use oriole_hir::{Instruction, Operand, Table};
use oriole_ori::{BlockId, ConstBase, IndexedConst, Pseudo, Source, SourceKind};
use oriole_ptx::Type;
use oriole_sass::{Mod, Op};
use std::collections::BTreeSet;

/// Capacity of one cubin attribute: 64 KiB less three words that come first.
const MOST_TARGETS: usize = 16380;

/// `bra`.
pub(crate) fn bra(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let Operand::Label(label) = cx.operand(i, 0)? else { return Err(cx.unsupported_form(i)) };
    let target = cx.label(*label);
    match cx.guard.take() {
        None => {
            cx.b.jump(target);
            cx.terminated = true;
        }
        Some(guard) => {
            let next = cx.b.new_block();
            cx.b.branch(guard, target, next);
            cx.open(next);
        }
    }
    Ok(())
}

/// `brx.idx`: the index picks a text offset from a table in constant bank 2.
pub(crate) fn brx(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let Operand::Table(table) = cx.operand(i, 1)? else { return Err(cx.unsupported_form(i)) };
    let Table::Labels(labels) = &cx.body.tables[*table] else {
        return Err(cx.unsupported_form(i));
    };
    if labels.len() > MOST_TARGETS {
        let message = format!("{} targets of one indirect branch, {MOST_TARGETS} at most", labels.len());
        return Err(LowerError::new(Code::TooLarge, Some(cx.place()), message));
    }
    let behind = cx.begin_region();
    let index = cx.word(cx.operand(i, 0)?, Type::U32)?;
    let index = cx.in_register(index);
    let targets: Vec<BlockId> = labels.iter().map(|&label| cx.label(label)).collect();
    let tables = &mut cx.b.function_mut().tables;
    let number = tables.len() as u32;
    tables.push(oriole_ori::Table::Targets(targets.clone()));
    let scaled = cx.b.r();
    cx.b.shl(scaled, index, 2u32);
    let target = cx.b.pair();
    let place = IndexedConst { bank: 2, base: ConstBase::Table(number), index: scaled, offset: 0 };
    cx.load_constant([target[0]], &[], SourceKind::ConstIndexed(Box::new(place)));
    cx.b.sar(target[1], target[0], 31u32);
    // The table holds offsets from the start of the kernel's code.
    cx.b.op(Op::BRX).from(target).from(SourceKind::KernelStart).emit();
    let mut seen = BTreeSet::new();
    let successors = targets.into_iter().filter(|&block| seen.insert(block)).collect();
    let here = cx.b.block();
    cx.b.function_mut().block_mut(here).successors = successors;
    cx.terminated = true;
    cx.end_region(behind);
    Ok(())
}

/// `exit`, and `ret` of a kernel.
pub(crate) fn exit(cx: &mut Lower<'_>, _: &Instruction) -> Lowered {
    if cx.options.reports_errors() {
        threads::fence(cx, Mod::VC, true, false);
        // Threads that go on do not wait.
        cx.settle();
    }
    match cx.guard.take() {
        None => {
            cx.b.exit();
            cx.terminated = true;
        }
        Some(guard) => {
            let next = cx.b.new_block();
            cx.b.op(Op::EXIT).guarded(guard).emit();
            cx.b.fall_through(next);
            cx.open(next);
        }
    }
    Ok(())
}

/// `ret`.
pub(crate) fn ret(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if cx.body.is_entry {
        return exit(cx, i);
    }
    let behind = cx.begin_region();
    leave_function(cx)?;
    cx.end_region(behind);
    Ok(())
}

/// Leaves the function, unguarded.
pub(crate) fn leave_function(cx: &mut Lower<'_>) -> Lowered {
    if cx.body.is_entry {
        cx.b.exit();
    } else {
        let words = functions::return_words(cx)?;
        cx.b.op(Pseudo::Return).from_all(words).emit();
        let here = cx.b.block();
        cx.b.function_mut().block_mut(here).successors.clear();
    }
    cx.terminated = true;
    Ok(())
}

/// `brkpt`: the same SASS instruction as `trap`, but execution may continue.
pub(crate) fn breakpoint(cx: &mut Lower<'_>, _: &Instruction) -> Lowered {
    cx.b.op(Op::BPT).m(Mod::TRAP).from(Source::literal(1)).emit();
    Ok(())
}

/// `trap`: the kernel ends with an error.
pub(crate) fn trap(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    breakpoint(cx, i)?;
    if cx.guard.is_none() {
        cx.b.exit();
        cx.terminated = true;
    }
    Ok(())
}
