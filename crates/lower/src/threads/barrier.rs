//! Barriers of the block, the cluster and the warp. Fences are in `memory_barrier`.

use super::fence;
use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::names;
use crate::source::is_register;
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{File, Guard, MemoryInfo, Source, SourceKind};
use oriole_ptx::word::{BarrierReduction, Semantics};
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op};

/// The bits of a count of threads that an instruction word has.
const THREAD_COUNT: i64 = 0xfff;

/// `bar` and `barrier`.
pub(crate) fn barrier(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if i.modifiers.has(Word::Cluster) {
        return cluster_barrier(cx, i);
    }
    if i.modifiers.has(Word::Warp) {
        let mask = cx.operand(i, 0)?.clone();
        return warp_sync(cx, &mask, true);
    }
    let reduces = i.modifiers.has(Word::Red);
    let arrives = i.modifiers.has(Word::Arrive);
    let first = usize::from(reduces);
    let id = cx.operand(i, first)?;
    match id {
        Operand::Immediate(Immediate::Integer(n)) if (0..16).contains(n) => {
            let function = cx.b.function_mut();
            function.barriers = function.barriers.max(*n as u8 + 1);
        }
        Operand::Immediate(_) => return Err(cx.unsupported("a barrier number that is not 0 to 15")),
        _ => cx.b.function_mut().barriers = 16,
    }
    let has_count = i.operands.len() > first + 1 + usize::from(reduces);
    let mut id = barrier_number(cx, id)?;
    let mut count = if has_count { Some(barrier_number(cx, cx.operand(i, first + 1)?)?) } else { None };
    if let Some(Source { kind: SourceKind::Literal(threads), .. }) = &mut count {
        // No block has that many threads; like ptxas, keep the low bits of the field.
        *threads &= THREAD_COUNT;
    }
    if let Some(threads) = &count
        && is_register(threads)
        && is_register(&id)
    {
        // With both in registers the hardware takes them from one: the barrier in the low bits, the count in the
        // upper half.
        let [shifted, packed] = [cx.b.r(), cx.b.r()];
        cx.b.shl(shifted, threads.clone(), 16u32);
        cx.b.lop3(packed, shifted, 0xfu32, id, 0xf8);
        id = packed.into();
        count = Some(packed.into());
    }
    let memory = MemoryInfo::EVERYTHING;
    if !reduces {
        let kind: &[Mod] = if arrives { &[Mod::ARV] } else { &[Mod::SYNC, Mod::DEFER_BLOCKING] };
        cx.b.op(Op::BAR).mods(kind).from(id).from_all(count).memory(memory).emit();
        return Ok(());
    }
    let last = cx.operand(i, i.operands.len() - 1)?;
    let p = cx.predicate(last)?;
    let d = cx.operand(i, 0)?;
    let operation = match i.modifiers.at() {
        Some(BarrierReduction::Popc) => Mod::POPC,
        Some(BarrierReduction::And) => Mod::AND,
        Some(BarrierReduction::Or) => Mod::OR,
        None => return Err(cx.unsupported_form(i)),
    };
    cx.b.op(Op::BAR)
        .mods(&[Mod::RED, operation, Mod::DEFER_BLOCKING])
        .from(id)
        .from_all(count)
        .from(p)
        .memory(memory)
        .emit();
    if operation == Mod::POPC {
        let d = cx.result_word(d, Type::U32)?;
        cx.b.op(Op::B2R).m(Mod::RESULT).to(d).memory(memory).emit();
    } else {
        let d = cx.result_predicate(d)?;
        cx.b.op(Op::B2R).m(Mod::RESULT).drop_result(File::R).to_or_drop(d, File::P).memory(memory).emit();
    }
    Ok(())
}

fn barrier_number(cx: &mut Lower<'_>, operand: &Operand) -> Result<Source, crate::LowerError> {
    let word = cx.word(operand, Type::U32)?;
    Ok(match word.kind {
        SourceKind::Imm(bits) => Source::literal(bits.into()),
        SourceKind::Zero(_) => Source::literal(0),
        _ => word,
    })
}

/// `barrier.cluster`: the barrier of the cluster where there is one, that of the block where there is not.
fn cluster_barrier(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let directives = &cx.body.directives;
    if directives.explicitcluster || directives.reqnctapercluster.is_some() {
        meet_cluster(cx, i);
        return Ok(());
    }
    let behind = cx.begin_region();
    let arrives = i.modifiers.has(Word::Arrive);
    let place = cx.bank.explicit_cluster.ok_or_else(|| cx.unsupported_form(i))?;
    let word = names::bank_word(cx, place);
    let alone = cx.b.p();
    cx.b.isetp(alone, Mod::NE, true, word, 1u32);
    let [cluster, block, join] = [cx.b.new_block(), cx.b.new_block(), cx.b.new_block()];
    cx.b.branch(Guard { value: alone, negated: false }, block, cluster);
    cx.open(cluster);
    meet_cluster(cx, i);
    cx.b.jump(join);
    cx.terminated = true;
    cx.open(block);
    if !arrives {
        let kind = [Mod::SYNC, Mod::DEFER_BLOCKING];
        cx.b.op(Op::BAR).mods(&kind).from(Source::literal(0)).memory(MemoryInfo::EVERYTHING).emit();
    }
    cx.run_into(join);
    cx.end_region(behind);
    Ok(())
}

/// Arrives at the barrier of the cluster, or waits there.
fn meet_cluster(cx: &mut Lower<'_>, i: &Instruction) {
    let function = cx.b.function_mut();
    function.barriers = function.barriers.max(1);
    if i.modifiers.has(Word::Arrive) {
        if i.modifiers.at() != Some(Semantics::Relaxed) {
            fence::fence(cx, Mod::GPU, false, false);
        }
        cx.b.op(Op::UCGABAR_ARV).memory(MemoryInfo::EVERYTHING).emit();
    } else {
        cx.b.op(Op::UCGABAR_WAIT).memory(MemoryInfo::EVERYTHING).emit();
        fence::invalidate(cx);
    }
}

/// The lanes that an instruction names by its mask, which is read once however often they are waited for.
pub(crate) struct Lanes {
    /// The mask.
    pub(crate) mask: Source,
    /// The mask is the immediate of all lanes.
    are_all: bool,
}

impl Lanes {
    /// Reads a mask.
    pub(crate) fn of(cx: &mut Lower<'_>, mask: &Operand) -> Result<Lanes, LowerError> {
        let are_all = is_integer(mask, -1) || is_integer(mask, 0xffff_ffff);
        Ok(Lanes { mask: cx.word(mask, Type::B32)?, are_all })
    }

    /// Waits until these lanes arrive; if `orders`, their writes are visible afterwards.
    pub(crate) fn wait(&self, cx: &mut Lower<'_>, orders: bool) {
        let mut wait = oriole_ori::Instruction::new(Op::WARPSYNC, cx.b.origin());
        wait.memory = orders.then_some(MemoryInfo::EVERYTHING);
        if !self.are_all {
            let mask = cx.in_register(self.mask.clone());
            wait.sources.push(mask);
        } else if names_all_lanes(cx) {
            wait.mods.insert(Mod::ALL);
        } else {
            wait.sources.push(Source::literal(0xffff_ffff));
        }
        cx.b.push(wait);
    }
}

/// Waits until the lanes of the mask arrive; if `orders`, their writes are visible afterwards.
pub(crate) fn warp_sync(cx: &mut Lower<'_>, mask: &Operand, orders: bool) -> Lowered {
    Lanes::of(cx, mask)?.wait(cx, orders);
    Ok(())
}

/// True if `WARPSYNC` has a modifier for all lanes.
fn names_all_lanes(cx: &Lower<'_>) -> bool {
    cx.takes(Op::WARPSYNC, &[Mod::ALL], 0)
}

/// True if the operand is the integer immediate `value`.
fn is_integer(operand: &Operand, value: i64) -> bool {
    matches!(operand, Operand::Immediate(Immediate::Integer(v)) if *v == value)
}
