//! mbarriers in shared memory: `mbarrier`, and the signal of asynchronous copies to one.
//!
//! Later chips have a unit for them. On earlier ones, ordinary instructions count in the mbarrier. Its low word holds
//! `2^30 - count` for the following phases. The high word counts from `2^31 - count` up to its top bit, which is the
//! parity of the phase; when that is reached, an atomic operation begins the next phase.

use super::fence;
use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::memory::{self, Place};
use crate::source::imm;
use oriole_hir::{Instruction, Operand};
use oriole_ori::{Destination, File, Guard, MemoryInfo, ObjectOperation, Source, SourceKind, Value};
use oriole_ptx::word::{BarrierObject, ObjectLayout, Scope, Semantics};
use oriole_ptx::{Space, Type, Word};
use oriole_sass::{Mod, Op, Symbol};

/// An mbarrier operation orders the accesses around it.
pub(crate) const ORDERED: MemoryInfo = MemoryInfo::EVERYTHING;

/// Positions of the counts in an mbarrier, and the limits that they are subtracted from. Without the mbarrier unit:
/// of both words.
const COUNT_LIMIT: u32 = 1 << 20;
const EXPECTED_SHIFT: u32 = 1;
const PENDING_SHIFT: u32 = 11;

/// Marks the second layout of an mbarrier.
const LAYOUT: u32 = 1;
const LOW_LIMIT: u32 = 1 << 30;
const HIGH_LIMIT: u32 = 1 << 31;

/// Offset of the word that holds the phase.
const HIGH_WORD: i32 = 4;

/// [`ORDERED`] for an operation that the cubin records.
fn told(operation: ObjectOperation) -> MemoryInfo {
    MemoryInfo { object: Some(operation), ..ORDERED }
}

/// The operation that the cubin records for an arrival.
fn arrival(i: &Instruction, drop: bool) -> ObjectOperation {
    match (drop, i.modifiers.has(Word::NoComplete)) {
        (false, false) => ObjectOperation::Arrive,
        (false, true) => ObjectOperation::ArriveIncomplete,
        (true, false) => ObjectOperation::Drop,
        (true, true) => ObjectOperation::DropIncomplete,
    }
}

/// `mbarrier` in all its forms.
pub(crate) fn mbarrier(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let form = i.modifiers.at().ok_or_else(|| cx.unsupported_form(i))?;
    match form {
        BarrierObject::Init => initialize_object(cx, i),
        BarrierObject::Inval => invalidate_object(cx, i),
        BarrierObject::ExpectTx => change_bytes(cx, i, Mod::A0TR, ObjectOperation::ExpectBytes),
        BarrierObject::CompleteTx => change_bytes(cx, i, Mod::A0TX, ObjectOperation::CompleteBytes),
        BarrierObject::Arrive => arrive(cx, i, false),
        BarrierObject::ArriveDrop => arrive(cx, i, true),
        BarrierObject::TestWait => test_phase(cx, i, false),
        BarrierObject::TryWait => test_phase(cx, i, true),
        BarrierObject::PendingCount => pending_count(cx, i),
        BarrierObject::CheckLayout => check_layout(cx, i),
    }
}

/// True if the chip has the unit.
fn has_object_unit(cx: &Lower<'_>) -> bool {
    cx.has(Op::SYNCS)
}

/// The mbarrier that an operand names, in shared memory. The low word of a generic address is a shared address
/// where the shared window covers one high word.
fn mbarrier_at(cx: &mut Lower<'_>, i: &Instruction, index: usize) -> Result<Place, LowerError> {
    let operand = cx.operand(i, index)?;
    let generic = matches!(i.space, None | Some(Space::Generic));
    if !generic || cx.bank.shared_window.is_none() {
        return memory::place_of(cx, operand, Space::Shared);
    }
    let place = memory::place_of(cx, operand, Space::Generic)?;
    if place.space != Space::Generic {
        return Ok(place);
    }
    let offset = memory::through_shared_window(cx, Source::values(place.base), true);
    Ok(Place { space: Space::Shared, base: [offset[0]].into_iter().collect(), ..place })
}

fn initialize_object(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let count = cx.word(cx.operand(i, 1)?, Type::U32)?;
    if !has_object_unit(cx) {
        let place = mbarrier_at(cx, i, 0)?;
        let words = [LOW_LIMIT, HIGH_LIMIT].map(|limit| less(cx, limit, &count));
        let words = cx.tuple(words);
        let address = memory::memory_operand(cx, &place, false);
        let store = cx.b.op(Op::STS).m(Mod::_64).from(address).from(words);
        store.memory(told(ObjectOperation::Initialize)).emit();
        return Ok(());
    }
    // Its operands are uniform, so that it cannot go by the predicate of a thread.
    let behind = cx.begin_region();
    let place = mbarrier_at(cx, i, 0)?;
    let missing = less(cx, COUNT_LIMIT, &count);
    let mark = if i.modifiers.at() == Some(ObjectLayout::LayoutV1) { LAYOUT } else { 0 };
    let words = [(EXPECTED_SHIFT, mark), (PENDING_SHIFT, 0)].map(|(shift, mark)| match missing.kind {
        SourceKind::Imm(bits) => imm(bits << shift | mark),
        _ => {
            let word = cx.b.r();
            cx.b.shl(word, missing.clone(), shift);
            marked(cx, word, mark)
        }
    });
    let words = cx.tuple(words);
    let address = memory::memory_operand(cx, &place, false);
    cx.b.op(Op::SYNCS)
        .mods(&[Mod::EXCH, Mod::_64])
        .destination(Destination::dropped(File::UR, 2))
        .from(address)
        .from(words)
        .memory(told(ObjectOperation::Initialize))
        .emit();
    cx.end_region(behind);
    Ok(())
}

fn marked(cx: &mut Lower<'_>, word: Value, mark: u32) -> Source {
    if mark == 0 {
        return word.into();
    }
    let marked = cx.b.r();
    cx.b.or(marked, word, mark);
    marked.into()
}

/// `mbarrier.check_layout`: which layout the object was made in.
fn check_layout(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let place = mbarrier_at(cx, i, 1)?;
    let Some(d) = cx.result_predicate(cx.operand(i, 0)?)? else { return Ok(()) };
    let (object, mark) = (cx.b.pair(), cx.b.r());
    let address = memory::memory_operand(cx, &place, false);
    let load = cx.b.op(Op::SYNCS).mods(&[Mod::LD, Mod::_64]).to_tuple(object);
    load.from(address).memory(ORDERED).emit();
    cx.b.and(mark, object[0], LAYOUT);
    let asked = if i.modifiers.at() == Some(ObjectLayout::LayoutV1) { Mod::NE } else { Mod::EQ };
    cx.b.isetp(d, asked, true, mark, Source::rz());
    Ok(())
}

/// `limit - count`.
fn less(cx: &mut Lower<'_>, limit: u32, count: &Source) -> Source {
    match count.kind {
        SourceKind::Imm(count) => imm(limit.wrapping_sub(count)),
        SourceKind::Zero(_) => imm(limit),
        _ => {
            let left = cx.b.r();
            cx.b.iadd3(left, count.clone().negated(), imm(limit), Source::rz());
            left.into()
        }
    }
}

fn invalidate_object(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if !has_object_unit(cx) {
        return Ok(());
    }
    let place = mbarrier_at(cx, i, 0)?;
    let address = memory::memory_operand(cx, &place, false);
    let invalidate = cx.b.op(Op::SYNCS).mods(&[Mod::CCTL, Mod::IV]).from(address);
    invalidate.memory(told(ObjectOperation::Invalidate)).emit();
    Ok(())
}

fn change_bytes(cx: &mut Lower<'_>, i: &Instruction, change: Mod, operation: ObjectOperation) -> Lowered {
    let place = mbarrier_at(cx, i, 0)?;
    let bytes = cx.word(cx.operand(i, 1)?, Type::U32)?;
    signal(cx, &place, &[Mod::RED, change], None, bytes, told(operation));
    Ok(())
}

/// An arrival, or an operation that counts like one; without a state where it is unused.
fn signal(
    cx: &mut Lower<'_>,
    place: &Place,
    mods: &[Mod],
    state: Option<[Value; 2]>,
    operand: Source,
    memory: MemoryInfo,
) {
    let operand = cx.in_register(operand);
    let address = memory::memory_operand(cx, place, false);
    let state = match state {
        Some(words) => Destination::new(File::R, words),
        None => Destination::dropped(File::R, 2),
    };
    cx.b.op(Op::SYNCS)
        .mods(&[Mod::ARRIVE, Mod::TRANS64])
        .mods(mods)
        .destination(state)
        .from(address)
        .from(operand)
        .memory(memory)
        .emit();
}

/// Destination of the state, if it is used.
fn state_of(cx: &mut Lower<'_>, i: &Instruction) -> Result<Option<[Value; 2]>, LowerError> {
    match cx.operand(i, 0)? {
        Operand::Sink => Ok(None),
        operand => cx.result_pair(operand, Type::B64).map(Some),
    }
}

/// Fences for a release beyond the block.
fn release_object(cx: &mut Lower<'_>, i: &Instruction) {
    let relaxed = i.modifiers.at() == Some(Semantics::Relaxed);
    if i.modifiers.at() == Some(Scope::Cluster) && !relaxed {
        fence::fence(cx, Mod::CTA, false, false);
        fence::fence(cx, Mod::GPU, false, false);
    }
}

fn arrive(cx: &mut Lower<'_>, i: &Instruction, drop: bool) -> Lowered {
    if !has_object_unit(cx) {
        return count_arrival(cx, i, drop);
    }
    release_object(cx, i);
    let place = mbarrier_at(cx, i, 1)?;
    let amount = match i.operands.get(2) {
        Some(operand) => Some(cx.word(operand, Type::U32)?),
        None => None,
    };
    let mut mods = Vec::new();
    if i.space == Some(Space::SharedCluster) {
        mods.push(Mod::RED);
    }
    if drop {
        mods.push(Mod::OPTOUT);
    }
    // With an expected byte count the operand is that count, and the cubin does not record the operation. Not
    // completing a phase is a promise of the program.
    let expects = i.modifiers.has(Word::ExpectTx);
    let memory = if expects { ORDERED } else { told(arrival(i, drop)) };
    match amount {
        _ if expects => {}
        Some(_) => mods.push(Mod::ART0),
        None => mods.push(Mod::A1T0),
    }
    if i.modifiers.has(Word::NoComplete)
        && let (Some(state), Some(amount)) = (state_of(cx, i)?, &amount)
    {
        arrive_and_count(cx, &place, &mods, state, amount, memory);
        return Ok(());
    }
    let state = state_of(cx, i)?;
    signal(cx, &place, &mods, state, amount.unwrap_or(Source::rz()), memory);
    Ok(())
}

/// An arrival that gives each lane its own state. Lanes that arrive at one mbarrier together all get the state
/// before the first of them and their lane mask, and subtract the counts of the lanes before them. That amount
/// must be equal for all, so lanes with different amounts need a waterfall loop.
fn arrive_and_count(
    cx: &mut Lower<'_>,
    place: &Place,
    mods: &[Mod],
    state: [Value; 2],
    amount: &Source,
    memory: MemoryInfo,
) {
    let behind = cx.begin_region();
    let together: Vec<Mod> = [Mod::TMASK].iter().chain(mods).copied().collect();
    let (found, own) = (cx.b.pair(), cx.b.r());
    // A block of its own, as `take_turns` requires: the values copied there determine whether lanes agree.
    let inside = cx.b.new_block();
    cx.run_into(inside);
    cx.b.mov(own, amount.clone());
    signal(cx, place, &together, Some(found), own.into(), memory);
    let out = cx.b.new_block();
    cx.run_into(out);
    let [below, before, count, pending] = [cx.b.r(), cx.b.r(), cx.b.r(), cx.b.r()];
    cx.b.s2r(below, Symbol::SR_LTMASK);
    cx.b.and(before, found[0], below);
    cx.b.op(Op::POPC).to(count).from(before).emit();
    cx.b.shl(pending, count, PENDING_SHIFT);
    cx.b.imad(state[1], pending, own, found[1]);
    cx.b.mov(state[0], found[0]);
    cx.end_region(behind);
}

/// Without the unit: an arrival counts the high word up, one for good the low word before.
fn count_arrival(cx: &mut Lower<'_>, i: &Instruction, drop: bool) -> Lowered {
    if i.modifiers.at() != Some(Semantics::Relaxed) {
        fence::fence(cx, Mod::CTA, false, false);
    }
    let place = mbarrier_at(cx, i, 1)?;
    let high = Place { base: place.base.clone(), offset: place.offset + HIGH_WORD, ..place };
    if i.modifiers.has(Word::NoComplete) {
        let amount = cx.word(cx.operand(i, 2)?, Type::U32)?;
        let amount = cx.in_register(amount);
        if drop {
            atomic_on_object(cx, &place, &[Mod::ADD], &[], Some(amount.clone()), ORDERED);
        }
        let old = cx.b.r();
        atomic_on_object(cx, &high, &[Mod::ADD], &[old], Some(amount), told(arrival(i, drop)));
        if let Some(state) = state_of(cx, i)? {
            state.into_iter().for_each(|word| cx.b.mov(word, old));
        }
        return Ok(());
    }
    if i.operands.len() > 2 {
        return Err(cx.unsupported(format!("on {} an arrival counts one", cx.chip)));
    }
    if drop {
        atomic_on_object(cx, &place, &[Mod::POPC, Mod::INC, Mod::_32], &[], None, ORDERED);
    }
    let state = state_of(cx, i)?;
    let words = state.as_ref().map_or(&[][..], |state| &state[..]);
    atomic_on_object(cx, &place, &[Mod::ARRIVE, Mod::_64], words, None, told(arrival(i, drop)));
    Ok(())
}

fn atomic_on_object(
    cx: &mut Lower<'_>,
    place: &Place,
    mods: &[Mod],
    result: &[Value],
    operand: Option<Source>,
    memory: MemoryInfo,
) {
    let width = if mods.contains(&Mod::_64) { 2 } else { 1 };
    let result = match result {
        [] => Destination::dropped(File::R, width),
        words => Destination::new(File::R, words.iter().copied()),
    };
    let address = memory::memory_operand(cx, place, false);
    cx.b.op(Op::ATOMS).mods(mods).destination(result).from(address).from_all(operand).memory(memory).emit();
}

/// `test_wait`, and `try_wait`, which waits a while.
fn test_phase(cx: &mut Lower<'_>, i: &Instruction, tries: bool) -> Lowered {
    // If the wait can also return a reported value, its predicate is in a pair with that of the phase, and the
    // value follows. No reports are made to an mbarrier on these chips.
    let reports = i.modifiers.has(Word::PhaseTypePrimary) || i.modifiers.has(Word::PhaseTypeConditional);
    let [object, phase] = if reports { [i.operands.len() - 2, i.operands.len() - 1] } else { [1, 2] };
    let place = mbarrier_at(cx, i, object)?;
    let operand = cx.operand(i, phase)?;
    // The phase is the top bit of a state.
    let phase: Source = if i.modifiers.has(Word::Parity) {
        match cx.word(operand, Type::U32)? {
            Source { kind: SourceKind::Imm(parity), .. } => cx.in_register(imm(parity << 31)),
            Source { kind: SourceKind::Zero(_), .. } => Source::rz(),
            parity => {
                let top = cx.b.r();
                cx.b.shl(top, parity, 31u32);
                top.into()
            }
        }
    } else {
        let state = cx.words(operand, Type::B64)?[1].clone();
        cx.in_register(state)
    };
    let (over, reported) = match cx.operand(i, 0)? {
        Operand::Pair(over, reported) => (&**over, Some(&**reported)),
        over => (over, None),
    };
    let reported = reported.map(|it| cx.result_predicate(it)).transpose()?.flatten();
    let over = cx.result_predicate(over)?.unwrap_or_else(|| cx.b.p());
    let memory = told(match (tries, i.modifiers.has(Word::Parity)) {
        (false, false) => ObjectOperation::TestState,
        (false, true) => ObjectOperation::TestParity,
        (true, false) => ObjectOperation::TryState,
        (true, true) => ObjectOperation::TryParity,
    });
    if !has_object_unit(cx) {
        return compare_phase(cx, place, phase, over, memory);
    }
    let address = memory::memory_operand(cx, &place, false);
    let missing = Guard { value: over, negated: true };
    let test = [Mod::PHASECHK, Mod::TRANS64];
    let first = cx.b.op(Op::SYNCS).mods(&test).m_if(tries, Mod::TRYWAIT).to(over);
    first.from(address.clone()).from(phase.clone()).memory(memory).emit();
    if let Some(hint) = i.operands.get(3).filter(|_| !reports) {
        let time = cx.word(hint, Type::U32)?;
        cx.b.op(Op::NANOSLEEP).m(Mod::SYNCS).guarded(missing).from(time).memory(ORDERED).emit();
        let again = cx.b.op(Op::SYNCS).mods(&test).guarded(missing).to(over);
        again.from(address).from(phase).memory(ORDERED).emit();
    }
    let relaxed = i.modifiers.at() == Some(Semantics::Relaxed);
    if i.modifiers.at() == Some(Scope::Cluster) && !relaxed {
        let over = Guard { value: over, negated: false };
        cx.b.op(Op::CCTL).m(Mod::IVALL).guarded(over).memory(ORDERED).emit();
    }
    if let Some(reported) = reported {
        cx.b.mov(reported, Source::not_pt());
    }
    if object == 2 {
        let value = cx.operand(i, 1)?;
        cx.write(value, Type::B8, &[Source::rz()])?;
    }
    Ok(())
}

/// Without the unit: whether the top bit of the high word is another one now.
fn compare_phase(
    cx: &mut Lower<'_>,
    mut place: Place,
    phase: Source,
    over: Value,
    memory: MemoryInfo,
) -> Lowered {
    place.offset += HIGH_WORD;
    let address = memory::memory_operand(cx, &place, false);
    let [now, differs] = [cx.b.r(), cx.b.r()];
    cx.b.op(Op::LDS).to(now).from(address).memory(memory).emit();
    // (now ^ phase) & 2^31
    cx.b.lop3(differs, now, HIGH_LIMIT, phase, 0x48);
    cx.b.isetp(over, Mod::NE, true, differs, Source::rz());
    Ok(())
}

fn pending_count(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let state = cx.words(cx.operand(i, 1)?, Type::B64)?[1].clone();
    let state = cx.in_register(state);
    let field = cx.b.r();
    let limit = if has_object_unit(cx) {
        let shifted = cx.b.r();
        cx.b.shr(shifted, state, PENDING_SHIFT);
        cx.b.and(field, shifted, COUNT_LIMIT - 1);
        COUNT_LIMIT
    } else {
        cx.b.and(field, state, HIGH_LIMIT - 1);
        HIGH_LIMIT
    };
    let d = cx.result_word(cx.operand(i, 0)?, Type::U32)?;
    cx.b.iadd3(d, Source::value(field).negated(), imm(limit), Source::rz());
    Ok(())
}

/// `cp.async.mbarrier.arrive`: an arrival when the copies of the thread are complete. Without `.noinc` it is not
/// part of the expected count: its decrement is added first.
pub(crate) fn signal_copies(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    // The address is a uniform one, so that it cannot go by the predicate of a thread.
    let behind = cx.begin_region();
    let place = mbarrier_at(cx, i, 0)?;
    let counted = i.modifiers.has(Word::Noinc);
    let signal: &[Mod] = if !has_object_unit(cx) {
        if !counted {
            let high = Place { base: place.base.clone(), offset: place.offset + HIGH_WORD, ..place };
            let less = cx.in_register(imm(u32::MAX));
            atomic_on_object(cx, &high, &[Mod::ADD], &[], Some(less), ORDERED);
        }
        &[]
    } else if counted {
        &[Mod::ARVCNT]
    } else {
        signal(cx, &place, &[Mod::RED, Mod::A0T1], None, Source::rz(), ORDERED);
        &[Mod::TRANSCNT]
    };
    let address = memory::memory_operand(cx, &place, false);
    cx.b.op(Op::ARRIVES)
        .mods(&[Mod::LDGSTSBAR, Mod::_64])
        .mods(signal)
        .from(address)
        .memory(told(ObjectOperation::CopiesArrive))
        .emit();
    cx.end_region(behind);
    Ok(())
}
