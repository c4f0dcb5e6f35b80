//! Allocation of tensor memory columns: `tcgen05.alloc`, `dealloc` and `relinquish_alloc_permit`.
//!
//! The hardware allocates units of columns. Allocations are also recorded in a part of shared memory reserved for the
//! system, so that a program that frees columns that it does not have is stopped; the driver initializes that part
//! before the kernel starts. Two blocks that allocate together synchronize through an mbarrier there: the one with
//! the even rank allocates and sends the result to the other one.

use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::memory::Place;
use crate::operand::imm;
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

impl Lower<'_> {
    /// `tcgen05.alloc`.
    pub fn allocate_columns(&mut self, i: &Instruction) -> Lowered {
        let to = self.shared_address(self.operand(i, 0)?)?;
        let to = self.value_of(to);
        let units = self.units(i)?;
        self.gather_warp()?;
        let [refused, open, done] = [self.b.new_block(), self.b.new_block(), self.b.new_block()];
        let [closed, refuses] = [self.b.r(), self.b.p()];
        let place = self.partition(CLOSED);
        self.b.op(Op::LDS).m(Mod::U8).to(closed).from(place).memory(ORDERED).emit();
        self.b.isetp(refuses, Mod::EQ, true, closed, NO_MORE);
        self.b.branch(Guard { value: refuses, negated: false }, refused, open);
        self.open(open);
        if i.modifiers.has(Word::CtaGroup2) {
            self.allocate_in_both(i, to, &units, done)?;
        } else {
            self.elect_one(done);
            let unit = self.take_units(&units, alignment(i));
            self.write_down(to, unit, &units);
            self.note_exclusive(i);
        }
        self.b.jump(done);
        self.open(refused);
        let nothing = self.value_of(imm(u32::MAX));
        self.store_word(to, nothing);
        self.b.op(Op::BPT).m(Mod::TRAP).from(Source::literal(1)).emit();
        self.run_into(done);
        self.gather_warp()
    }

    /// The block with the even rank allocates for both and sends the first unit to the other block.
    fn allocate_in_both(&mut self, i: &Instruction, to: Value, units: &Source, done: BlockId) -> Lowered {
        let [even, odd] = [self.b.new_block(), self.b.new_block()];
        let [rank, parity, peer, is_odd] = [self.b.r(), self.b.r(), self.b.r(), self.b.p()];
        self.b.s2r(rank, Symbol::SR_CgaCtaId);
        self.b.and(parity, rank, 1u32);
        self.b.xor(peer, rank, 1u32);
        self.b.isetp(is_odd, Mod::NE, false, parity, Source::rz());
        let object = self.partition_address(OBJECT);
        let [peers_object, peers_to] = [self.b.r(), self.b.r()];
        self.b.prmt(peers_object, peer, OTHER_BLOCK, object);
        self.b.prmt(peers_to, peer, OTHER_BLOCK, to);
        self.b.branch(Guard { value: is_odd, negated: false }, odd, even);
        self.open(even);
        self.elect_one(done);
        let group: Vec<Mod> = alignment(i).iter().copied().chain([Mod::_2CTA]).collect();
        let unit = self.take_units(units, &group);
        self.wait_for_peer();
        let bytes = self.value_of(imm(4));
        self.arrive_at(peers_object, &[], bytes.into());
        self.write_down(to, unit, units);
        let target = self.at(Source::values([peers_to, peers_object])).suffixed(Mod::_64);
        self.b.op(Op::STAS).from(target).from(unit).memory(ORDERED).emit();
        self.change_word(PHASE, Mod::XOR, imm(1));
        self.note_exclusive(i);
        self.b.jump(done);
        self.open(odd);
        self.gather_warp()?;
        self.elect_one(done);
        self.wait_for_peer();
        let unit = self.b.r();
        let place = self.at(to.into());
        self.b.op(Op::LDS).to(unit).from(place).memory(ORDERED).emit();
        self.write_down(to, unit, units);
        self.arrive_at(peers_object, &[Mod::A1T0], Source::rz());
        self.change_word(PHASE, Mod::XOR, imm(1));
        Ok(())
    }

    /// Retries until the hardware allocates the units; returns the first one.
    fn take_units(&mut self, units: &Source, mods: &[Mod]) -> Value {
        let [again, pause, taken] = [self.b.new_block(), self.b.new_block(), self.b.new_block()];
        self.run_into(again);
        let [wanted, first] = [self.b.temporary(File::UR), self.b.temporary(File::UR)];
        let [granted, holds, unit] = [self.b.temporary(File::UP), self.b.p(), self.b.r()];
        self.b.mov(wanted, units.clone());
        let sources = [Source::plain(SourceKind::Scoreboard(0)), Source::literal(UNDER_WAY)];
        self.b.op(Op::DEPBAR).m(Mod::LE).from_all(sources).memory(MemoryInfo::EVERYTHING).emit();
        self.b
            .op(Op::UTCATOMSWS)
            .m(Mod::FIND_AND_SET)
            .mods(mods)
            .to(granted)
            .to(first)
            .from(wanted)
            .memory(MemoryInfo::EVERYTHING)
            .emit();
        self.b.mov(unit, first);
        self.b.plop3(holds, Source::pt(), Source::pt(), granted, 0x80);
        self.b.branch(Guard { value: holds, negated: true }, pause, taken);
        self.open(pause);
        self.b.op(Op::NANOSLEEP).from(imm(PAUSE)).memory(MemoryInfo::EVERYTHING).emit();
        self.b.jump(again);
        self.open(taken);
        unit
    }

    /// Records the allocated units, and writes their address where the program wants it.
    fn write_down(&mut self, to: Value, unit: Value, units: &Source) {
        let (taken, start) = self.masks(unit, units);
        self.change_word(TAKEN, Mod::OR, taken);
        self.change_word(STARTS, Mod::OR, start);
        let address = self.b.r();
        self.b.shl(address, unit, UNIT);
        self.store_word(to, address);
    }

    /// The bits of these units, and that of the first one.
    fn masks(&mut self, unit: Value, units: &Source) -> (Source, Source) {
        let ones = match units.kind {
            SourceKind::Imm(units) => imm(!u32::MAX.checked_shl(units).unwrap_or(0)),
            _ => {
                let [above, ones] = [self.b.r(), self.b.r()];
                let all = self.value_of(imm(u32::MAX));
                self.b.shl(above, all, units.clone());
                self.b.not(ones, above);
                ones.into()
            }
        };
        let [ones, one] = [ones, imm(1)].map(|bits| self.value_of(bits));
        let [taken, start] = [self.b.r(), self.b.r()];
        self.b.shl(taken, ones, unit);
        self.b.shl(start, one, unit);
        (taken.into(), start.into())
    }

    /// `tcgen05.dealloc`: the freed columns must have been allocated, starting at the first column.
    pub fn free_columns(&mut self, i: &Instruction) -> Lowered {
        let address = self.word(self.operand(i, 0)?, Type::U32)?;
        let units = self.units(i)?;
        let [column, unit] = [self.b.r(), self.b.r()];
        self.b.and(column, address, COLUMN);
        self.b.shr(unit, column, UNIT);
        let (taken, start) = self.masks(unit, &units);
        self.gather_warp()?;
        let [wrong, right, done] = [self.b.new_block(), self.b.new_block(), self.b.new_block()];
        for (place, wanted, right) in [(TAKEN, &taken, None), (STARTS, &start, Some(right))] {
            let right = right.unwrap_or_else(|| self.b.new_block());
            let [now, both, differs] = [self.b.r(), self.b.r(), self.b.p()];
            let place = self.partition(place);
            self.b.op(Op::LDS).to(now).from(place).memory(ORDERED).emit();
            self.b.and(both, now, wanted.clone());
            self.b.isetp(differs, Mod::NE, false, both, wanted.clone());
            self.b.branch(Guard { value: differs, negated: false }, wrong, right);
            self.open(right);
        }
        self.elect_one(done);
        let [others, other_starts] = [self.b.r(), self.b.r()];
        self.b.not(others, taken);
        self.b.not(other_starts, start);
        let kept = self.b.temporary(File::UR);
        self.b.mov(kept, others);
        self.b
            .op(Op::UTCATOMSWS)
            .m(Mod::AND)
            .drop_result(File::UR)
            .from(kept)
            .memory(MemoryInfo::EVERYTHING)
            .emit();
        self.change_word(TAKEN, Mod::AND, others.into());
        self.change_word(STARTS, Mod::AND, other_starts.into());
        self.b.jump(done);
        self.open(wrong);
        self.b.op(Op::BPT).m(Mod::TRAP).from(Source::literal(1)).emit();
        self.run_into(done);
        self.gather_warp()
    }

    /// `tcgen05.relinquish_alloc_permit`: the block takes no more.
    pub fn close_allocation(&mut self) -> Lowered {
        self.gather_warp()?;
        let done = self.b.new_block();
        self.elect_one(done);
        self.b
            .op(Op::UVIRTCOUNT)
            .mods(&[Mod::DEALLOC, Mod::SMPOOL])
            .from(imm(POOL))
            .memory(MemoryInfo::EVERYTHING)
            .emit();
        self.note(NO_MORE);
        self.run_into(done);
        Ok(())
    }

    fn note_exclusive(&mut self, i: &Instruction) {
        if i.modifiers.has(Word::Exclusive) {
            self.note(HAS_ALL);
        }
    }

    fn note(&mut self, what: u32) {
        let what = self.value_of(imm(what));
        let place = self.partition(CLOSED);
        self.b.op(Op::STS).m(Mod::U8).from(place).from(what).memory(ORDERED).emit();
    }

    /// The second operand, in units of columns.
    fn units(&mut self, i: &Instruction) -> Result<Source, LowerError> {
        if i.modifiers.has(Word::Exclusive) {
            return Ok(imm(ALL_UNITS));
        }
        let columns = self.word(self.operand(i, 1)?, Type::U32)?;
        if let SourceKind::Imm(columns) = columns.kind {
            return Ok(imm(columns >> UNIT));
        }
        let units = self.b.r();
        self.b.shr(units, columns, UNIT);
        Ok(units.into())
    }

    /// Waits until the other block has seen the result of the last allocation.
    fn wait_for_peer(&mut self) {
        let [phase, top, over] = [self.b.r(), self.b.r(), self.b.p()];
        let place = self.partition(PHASE);
        self.b.op(Op::LDS).to(phase).from(place).memory(ORDERED).emit();
        self.b.shl(top, phase, 31u32);
        let [again, behind] = [self.b.new_block(), self.b.new_block()];
        self.run_into(again);
        let object = self.partition(OBJECT);
        let test = [Mod::PHASECHK, Mod::TRANS64, Mod::TRYWAIT];
        self.b.op(Op::SYNCS).mods(&test).to(over).from(object).from(top).memory(ORDERED).emit();
        self.b.branch(Guard { value: over, negated: true }, again, behind);
        self.open(behind);
    }

    /// An arrival at an mbarrier of another block.
    fn arrive_at(&mut self, object: Value, counts: &[Mod], bytes: Source) {
        let place = self.at(object.into());
        self.b
            .op(Op::SYNCS)
            .mods(&[Mod::ARRIVE, Mod::TRANS64, Mod::RED])
            .mods(counts)
            .destination(Destination::dropped(File::R, 1))
            .from(place)
            .from(bytes)
            .memory(ORDERED)
            .emit();
    }

    /// Continues with one lane of the warp; the others go to `others`.
    fn elect_one(&mut self, others: BlockId) {
        let (leads, one) = (self.b.p(), self.b.new_block());
        self.b.op(Op::ELECT).to(leads).drop_result(File::UR).from(Source::pt()).emit();
        self.b.branch(Guard { value: leads, negated: true }, others, one);
        self.open(one);
    }

    fn gather_warp(&mut self) -> Lowered {
        self.warp_sync(&Operand::Immediate(Immediate::Integer(-1)), true)
    }

    fn change_word(&mut self, place: i32, operation: Mod, bits: Source) {
        let bits = self.value_of(bits);
        let place = self.partition(place);
        self.b
            .op(Op::ATOMS)
            .m(operation)
            .destination(Destination::dropped(File::R, 1))
            .from(place)
            .from(bits)
            .memory(ORDERED)
            .emit();
    }

    fn store_word(&mut self, to: Value, word: Value) {
        let place = self.at(to.into());
        self.b.op(Op::STS).from(place).from(word).memory(ORDERED).emit();
    }

    fn at(&self, address: Source) -> Source {
        let base = match address.kind {
            SourceKind::Values(values) => values,
            _ => Default::default(),
        };
        Source::plain(SourceKind::Address(Box::new(OriAddress { base, ..OriAddress::default() })))
    }

    /// An address in the system's part of shared memory.
    fn partition(&mut self, offset: i32) -> Source {
        let base = self.cluster_base().into_iter().collect();
        let offset = offset + self.partition_start();
        let place = Place { space: Space::Shared, base, symbol: None, offset };
        self.memory_operand(&place, false)
    }

    /// [`Self::partition`] as a word.
    fn partition_address(&mut self, offset: i32) -> Value {
        let place = self.b.r();
        let base = self.cluster_base().map_or(Source::rz(), Source::value);
        self.add(place, base, imm((offset + self.partition_start()) as u32));
        place
    }

    fn partition_start(&self) -> i32 {
        self.chip.tensor_partition().unwrap_or_default() as i32
    }
}
