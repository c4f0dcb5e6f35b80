//! Allocation of tensor memory columns: `tcgen05.alloc`, `dealloc` and `relinquish_alloc_permit`.
//!
//! The hardware allocates units of columns. Allocations are also recorded in a part of shared memory reserved for the
//! system, so that a program that frees columns that it does not have is stopped; the driver initializes that part
//! before the kernel starts. Two blocks that allocate together synchronize through an mbarrier there: the one with
//! the even rank allocates and sends the result to the other one.

use crate::context::{Lower, Lowered};
use crate::memory::{self, Place};
use crate::source::imm;
use crate::{LowerError, threads};
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{
    Address as OriAddress, BlockId, Destination, File, Guard, MemoryInfo, Source, SourceKind, Value,
};
use oriole_ptx::{Space, Type, Word};
use oriole_sass::{Mod, Op, Symbol};

/// Offsets in the system's part of shared memory.
const OBJECT: i32 = 0x08;
const PHASE: i32 = 0x10;
const TAKEN: i32 = 0x14;
const STARTS: i32 = 0x18;
const CLOSED: i32 = 0x1c;

/// Columns of a unit, as a shift.
const UNIT: u32 = 5;

/// All units, which an exclusive allocation takes whatever it requests.
const ALL_UNITS: u32 = 512 >> UNIT;

/// State of a block that allocates no more columns, and of one that has all of them.
const NO_MORE: u32 = 1;
const HAS_ALL: u32 = 2;

/// The bits of an address in tensor memory that name the column.
const COLUMN: u32 = 0xffff;

/// Nanoseconds between attempts.
const PAUSE: u32 = 0x64;

/// Most accesses that may be in flight when columns are requested.
const UNDER_WAY: i64 = 0x36;

/// Returned to the pool when a kernel allocates no more columns.
const POOL: u32 = 0x80;

/// Replaces the upper byte of the second operand, which is the block in the cluster, by the lowest byte of the first.
const OTHER_BLOCK: u32 = 0x654;
const ORDERED: MemoryInfo =
    MemoryInfo { space: oriole_ori::Space::Shared, reads: true, writes: true, ordered: true, object: None };

/// Alignment of the first unit to the count of units. An allocation of all of them starts at the first.
fn alignment(i: &Instruction) -> &'static [Mod] {
    if i.modifiers.has(Word::Exclusive) { &[] } else { &[Mod::ALIGN] }
}

/// `tcgen05.alloc`.
pub(super) fn allocate_columns(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let to = memory::shared_address(cx, cx.operand(i, 0)?)?;
    let to = cx.value_of(to);
    let units = units(cx, i)?;
    gather_warp(cx)?;
    let [refused, open, done] = [cx.b.new_block(), cx.b.new_block(), cx.b.new_block()];
    let [closed, refuses] = [cx.b.r(), cx.b.p()];
    let place = partition(cx, CLOSED);
    cx.b.op(Op::LDS).m(Mod::U8).to(closed).from(place).memory(ORDERED).emit();
    cx.b.isetp(refuses, Mod::EQ, true, closed, NO_MORE);
    cx.b.branch(Guard { value: refuses, negated: false }, refused, open);
    cx.open(open);
    if i.modifiers.has(Word::CtaGroup2) {
        allocate_in_both(cx, i, to, &units, done)?;
    } else {
        elect_one(cx, done);
        let unit = take_units(cx, &units, alignment(i));
        write_down(cx, to, unit, &units);
        note_exclusive(cx, i);
    }
    cx.b.jump(done);
    cx.open(refused);
    let nothing = cx.value_of(imm(u32::MAX));
    store_word(cx, to, nothing);
    cx.b.op(Op::BPT).m(Mod::TRAP).from(Source::literal(1)).emit();
    cx.run_into(done);
    gather_warp(cx)
}

/// The block with the even rank allocates for both and sends the first unit to the other block.
fn allocate_in_both(
    cx: &mut Lower<'_>,
    i: &Instruction,
    to: Value,
    units: &Source,
    done: BlockId,
) -> Lowered {
    let [even, odd] = [cx.b.new_block(), cx.b.new_block()];
    let [rank, parity, peer, is_odd] = [cx.b.r(), cx.b.r(), cx.b.r(), cx.b.p()];
    cx.b.s2r(rank, Symbol::SR_CgaCtaId);
    cx.b.and(parity, rank, 1u32);
    cx.b.xor(peer, rank, 1u32);
    cx.b.isetp(is_odd, Mod::NE, false, parity, Source::rz());
    let object = partition_address(cx, OBJECT);
    let [peers_object, peers_to] = [cx.b.r(), cx.b.r()];
    cx.b.prmt(peers_object, peer, OTHER_BLOCK, object);
    cx.b.prmt(peers_to, peer, OTHER_BLOCK, to);
    cx.b.branch(Guard { value: is_odd, negated: false }, odd, even);
    cx.open(even);
    elect_one(cx, done);
    let group: Vec<Mod> = alignment(i).iter().copied().chain([Mod::_2CTA]).collect();
    let unit = take_units(cx, units, &group);
    wait_for_peer(cx);
    let bytes = cx.value_of(imm(4));
    arrive_at(cx, peers_object, &[], bytes.into());
    write_down(cx, to, unit, units);
    let target = at(Source::values([peers_to, peers_object])).suffixed(Mod::_64);
    cx.b.op(Op::STAS).from(target).from(unit).memory(ORDERED).emit();
    change_word(cx, PHASE, Mod::XOR, imm(1));
    note_exclusive(cx, i);
    cx.b.jump(done);
    cx.open(odd);
    gather_warp(cx)?;
    elect_one(cx, done);
    wait_for_peer(cx);
    let unit = cx.b.r();
    let place = at(to.into());
    cx.b.op(Op::LDS).to(unit).from(place).memory(ORDERED).emit();
    write_down(cx, to, unit, units);
    arrive_at(cx, peers_object, &[Mod::A1T0], Source::rz());
    change_word(cx, PHASE, Mod::XOR, imm(1));
    Ok(())
}

/// Retries until the hardware allocates the units; returns the first one.
fn take_units(cx: &mut Lower<'_>, units: &Source, mods: &[Mod]) -> Value {
    let [again, pause, taken] = [cx.b.new_block(), cx.b.new_block(), cx.b.new_block()];
    cx.run_into(again);
    let [wanted, first] = [cx.b.temporary(File::UR), cx.b.temporary(File::UR)];
    let [granted, holds, unit] = [cx.b.temporary(File::UP), cx.b.p(), cx.b.r()];
    cx.b.mov(wanted, units.clone());
    let sources = [Source::plain(SourceKind::Scoreboard(0)), Source::literal(UNDER_WAY)];
    cx.b.op(Op::DEPBAR).m(Mod::LE).from_all(sources).memory(MemoryInfo::EVERYTHING).emit();
    cx.b.op(Op::UTCATOMSWS)
        .m(Mod::FIND_AND_SET)
        .mods(mods)
        .to(granted)
        .to(first)
        .from(wanted)
        .memory(MemoryInfo::EVERYTHING)
        .emit();
    cx.b.mov(unit, first);
    cx.b.plop3(holds, Source::pt(), Source::pt(), granted, 0x80);
    cx.b.branch(Guard { value: holds, negated: true }, pause, taken);
    cx.open(pause);
    cx.b.op(Op::NANOSLEEP).from(imm(PAUSE)).memory(MemoryInfo::EVERYTHING).emit();
    cx.b.jump(again);
    cx.open(taken);
    unit
}

/// Records the allocated units, and writes their address where the program wants it.
fn write_down(cx: &mut Lower<'_>, to: Value, unit: Value, units: &Source) {
    let (taken, start) = masks(cx, unit, units);
    change_word(cx, TAKEN, Mod::OR, taken);
    change_word(cx, STARTS, Mod::OR, start);
    let address = cx.b.r();
    cx.b.shl(address, unit, UNIT);
    store_word(cx, to, address);
}

/// The bits of these units, and that of the first one.
fn masks(cx: &mut Lower<'_>, unit: Value, units: &Source) -> (Source, Source) {
    let ones = match units.kind {
        SourceKind::Imm(units) => imm(!u32::MAX.checked_shl(units).unwrap_or(0)),
        _ => {
            let [above, ones] = [cx.b.r(), cx.b.r()];
            let all = cx.value_of(imm(u32::MAX));
            cx.b.shl(above, all, units.clone());
            cx.b.not(ones, above);
            ones.into()
        }
    };
    let [ones, one] = [ones, imm(1)].map(|bits| cx.value_of(bits));
    let [taken, start] = [cx.b.r(), cx.b.r()];
    cx.b.shl(taken, ones, unit);
    cx.b.shl(start, one, unit);
    (taken.into(), start.into())
}

/// `tcgen05.dealloc`: the freed columns must have been allocated, starting at the first column.
pub(super) fn free_columns(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let address = cx.word(cx.operand(i, 0)?, Type::U32)?;
    let units = units(cx, i)?;
    let [column, unit] = [cx.b.r(), cx.b.r()];
    cx.b.and(column, address, COLUMN);
    cx.b.shr(unit, column, UNIT);
    let (taken, start) = masks(cx, unit, &units);
    gather_warp(cx)?;
    let [wrong, right, done] = [cx.b.new_block(), cx.b.new_block(), cx.b.new_block()];
    for (place, wanted, right) in [(TAKEN, &taken, None), (STARTS, &start, Some(right))] {
        let right = right.unwrap_or_else(|| cx.b.new_block());
        let [now, both, differs] = [cx.b.r(), cx.b.r(), cx.b.p()];
        let place = partition(cx, place);
        cx.b.op(Op::LDS).to(now).from(place).memory(ORDERED).emit();
        cx.b.and(both, now, wanted.clone());
        cx.b.isetp(differs, Mod::NE, false, both, wanted.clone());
        cx.b.branch(Guard { value: differs, negated: false }, wrong, right);
        cx.open(right);
    }
    elect_one(cx, done);
    let [others, other_starts] = [cx.b.r(), cx.b.r()];
    cx.b.not(others, taken);
    cx.b.not(other_starts, start);
    let kept = cx.b.temporary(File::UR);
    cx.b.mov(kept, others);
    cx.b.op(Op::UTCATOMSWS)
        .m(Mod::AND)
        .drop_result(File::UR)
        .from(kept)
        .memory(MemoryInfo::EVERYTHING)
        .emit();
    change_word(cx, TAKEN, Mod::AND, others.into());
    change_word(cx, STARTS, Mod::AND, other_starts.into());
    cx.b.jump(done);
    cx.open(wrong);
    cx.b.op(Op::BPT).m(Mod::TRAP).from(Source::literal(1)).emit();
    cx.run_into(done);
    gather_warp(cx)
}

/// `tcgen05.relinquish_alloc_permit`: the block takes no more.
pub(super) fn close_allocation(cx: &mut Lower<'_>) -> Lowered {
    gather_warp(cx)?;
    let done = cx.b.new_block();
    elect_one(cx, done);
    cx.b.op(Op::UVIRTCOUNT)
        .mods(&[Mod::DEALLOC, Mod::SMPOOL])
        .from(imm(POOL))
        .memory(MemoryInfo::EVERYTHING)
        .emit();
    note(cx, NO_MORE);
    cx.run_into(done);
    Ok(())
}

fn note_exclusive(cx: &mut Lower<'_>, i: &Instruction) {
    if i.modifiers.has(Word::Exclusive) {
        note(cx, HAS_ALL);
    }
}

fn note(cx: &mut Lower<'_>, what: u32) {
    let what = cx.value_of(imm(what));
    let place = partition(cx, CLOSED);
    cx.b.op(Op::STS).m(Mod::U8).from(place).from(what).memory(ORDERED).emit();
}

/// The second operand, in units of columns.
fn units(cx: &mut Lower<'_>, i: &Instruction) -> Result<Source, LowerError> {
    if i.modifiers.has(Word::Exclusive) {
        return Ok(imm(ALL_UNITS));
    }
    let columns = cx.word(cx.operand(i, 1)?, Type::U32)?;
    if let SourceKind::Imm(columns) = columns.kind {
        return Ok(imm(columns >> UNIT));
    }
    let units = cx.b.r();
    cx.b.shr(units, columns, UNIT);
    Ok(units.into())
}

/// Waits until the other block has seen the result of the last allocation.
fn wait_for_peer(cx: &mut Lower<'_>) {
    let [phase, top, over] = [cx.b.r(), cx.b.r(), cx.b.p()];
    let place = partition(cx, PHASE);
    cx.b.op(Op::LDS).to(phase).from(place).memory(ORDERED).emit();
    cx.b.shl(top, phase, 31u32);
    let [again, behind] = [cx.b.new_block(), cx.b.new_block()];
    cx.run_into(again);
    let object = partition(cx, OBJECT);
    let test = [Mod::PHASECHK, Mod::TRANS64, Mod::TRYWAIT];
    cx.b.op(Op::SYNCS).mods(&test).to(over).from(object).from(top).memory(ORDERED).emit();
    cx.b.branch(Guard { value: over, negated: true }, again, behind);
    cx.open(behind);
}

/// An arrival at an mbarrier of another block.
fn arrive_at(cx: &mut Lower<'_>, object: Value, counts: &[Mod], bytes: Source) {
    let place = at(object.into());
    cx.b.op(Op::SYNCS)
        .mods(&[Mod::ARRIVE, Mod::TRANS64, Mod::RED])
        .mods(counts)
        .destination(Destination::dropped(File::R, 1))
        .from(place)
        .from(bytes)
        .memory(ORDERED)
        .emit();
}

/// Continues with one lane of the warp; the others go to `others`.
fn elect_one(cx: &mut Lower<'_>, others: BlockId) {
    let (leads, one) = (cx.b.p(), cx.b.new_block());
    cx.b.op(Op::ELECT).to(leads).drop_result(File::UR).from(Source::pt()).emit();
    cx.b.branch(Guard { value: leads, negated: true }, others, one);
    cx.open(one);
}

fn gather_warp(cx: &mut Lower<'_>) -> Lowered {
    threads::warp_sync(cx, &Operand::Immediate(Immediate::Integer(-1)), true)
}

fn change_word(cx: &mut Lower<'_>, place: i32, operation: Mod, bits: Source) {
    let bits = cx.value_of(bits);
    let place = partition(cx, place);
    cx.b.op(Op::ATOMS)
        .m(operation)
        .destination(Destination::dropped(File::R, 1))
        .from(place)
        .from(bits)
        .memory(ORDERED)
        .emit();
}

fn store_word(cx: &mut Lower<'_>, to: Value, word: Value) {
    let place = at(to.into());
    cx.b.op(Op::STS).from(place).from(word).memory(ORDERED).emit();
}

fn at(address: Source) -> Source {
    let base = match address.kind {
        SourceKind::Values(values) => values,
        _ => Default::default(),
    };
    Source::plain(SourceKind::Address(Box::new(OriAddress { base, ..OriAddress::default() })))
}

/// An address in the system's part of shared memory.
fn partition(cx: &mut Lower<'_>, offset: i32) -> Source {
    let base = cx.cluster_base().into_iter().collect();
    let offset = offset + partition_start(cx);
    let place = Place { space: Space::Shared, base, symbol: None, offset };
    memory::memory_operand(cx, &place, false)
}

/// [`partition`] as a word.
fn partition_address(cx: &mut Lower<'_>, offset: i32) -> Value {
    let place = cx.b.r();
    let base = cx.cluster_base().map_or(Source::rz(), Source::value);
    cx.add(place, base, imm((offset + partition_start(cx)) as u32));
    place
}

fn partition_start(cx: &Lower<'_>) -> i32 {
    cx.chip.tensor_partition().unwrap_or_default() as i32
}
