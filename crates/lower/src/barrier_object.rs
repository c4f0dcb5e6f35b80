//! mbarriers in shared memory: `mbarrier`, and the signal of asynchronous copies to one.
//!
//! Later chips have a unit for them. On earlier ones, ordinary instructions count in the mbarrier. Its low word holds
//! `2^30 - count` for the following phases. The high word counts from `2^31 - count` up to its top bit, which is the
//! parity of the phase; when that is reached, an atomic operation begins the next phase.

use crate::LowerError;
use crate::atomics::operation_mod;
use crate::context::{Lower, Lowered};
use crate::memory::Place;
use crate::operand::imm;
use crate::space::address_of;
use oriole_hir::{Instruction, Operand};
use oriole_ori::{Destination, File, Guard, MemoryInfo, ObjectOperation, Source, SourceKind, Value};
use oriole_ptx::word::{BarrierObject, ObjectLayout, Scope, Semantics};
use oriole_ptx::{Opcode, Space, Type, Word};
use oriole_sass::{Mod, Op, Symbol};

/// An mbarrier operation orders the accesses around it.
const ORDERED: MemoryInfo = MemoryInfo::EVERYTHING;

/// [`ORDERED`] for an operation that the cubin records.
fn told(operation: ObjectOperation) -> MemoryInfo {
    MemoryInfo { object: Some(operation), ..ORDERED }
}

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

/// The operation that the cubin records for an arrival.
fn arrival(i: &Instruction, drop: bool) -> ObjectOperation {
    match (drop, i.modifiers.has(Word::NoComplete)) {
        (false, false) => ObjectOperation::Arrive,
        (false, true) => ObjectOperation::ArriveIncomplete,
        (true, false) => ObjectOperation::Drop,
        (true, true) => ObjectOperation::DropIncomplete,
    }
}

impl Lower<'_> {
    /// `mbarrier` in all its forms.
    pub fn barrier_object(&mut self, i: &Instruction) -> Lowered {
        let form = i.modifiers.at().ok_or_else(|| self.unsupported_form(i))?;
        match form {
            BarrierObject::Init => self.initialize_object(i),
            BarrierObject::Inval => self.invalidate_object(i),
            BarrierObject::ExpectTx => self.change_bytes(i, Mod::A0TR, ObjectOperation::ExpectBytes),
            BarrierObject::CompleteTx => self.change_bytes(i, Mod::A0TX, ObjectOperation::CompleteBytes),
            BarrierObject::Arrive => self.arrive(i, false),
            BarrierObject::ArriveDrop => self.arrive(i, true),
            BarrierObject::TestWait => self.test_phase(i, false),
            BarrierObject::TryWait => self.test_phase(i, true),
            BarrierObject::PendingCount => self.pending_count(i),
            BarrierObject::CheckLayout => self.check_layout(i),
        }
    }

    /// True if the chip has the unit.
    fn has_object_unit(&self) -> bool {
        self.has(Op::SYNCS)
    }

    /// The mbarrier that an operand names, in shared memory. The low word of a generic address is a shared address
    /// where the shared window covers one high word.
    pub fn object(&mut self, i: &Instruction, index: usize) -> Result<Place, LowerError> {
        let operand = self.operand(i, index)?;
        let generic = matches!(i.space, None | Some(Space::Generic));
        if !generic || self.bank.shared_window.is_none() {
            return self.place(operand, Space::Shared);
        }
        let place = self.place(operand, Space::Generic)?;
        if place.space != Space::Generic {
            return Ok(place);
        }
        let offset = self.through_shared_window(Source::values(place.base), true);
        Ok(Place { space: Space::Shared, base: [offset[0]].into_iter().collect(), ..place })
    }

    fn initialize_object(&mut self, i: &Instruction) -> Lowered {
        let count = self.word(self.operand(i, 1)?, Type::U32)?;
        if !self.has_object_unit() {
            let place = self.object(i, 0)?;
            let words = [LOW_LIMIT, HIGH_LIMIT].map(|limit| self.less(limit, &count));
            let words = self.tuple(words);
            let address = self.memory_operand(&place, false);
            let store = self.b.op(Op::STS).m(Mod::_64).from(address).from(words);
            store.memory(told(ObjectOperation::Initialize)).emit();
            return Ok(());
        }
        // Its operands are uniform, so that it cannot go by the predicate of a thread.
        let behind = self.begin_region();
        let place = self.object(i, 0)?;
        let missing = self.less(COUNT_LIMIT, &count);
        let mark = if i.modifiers.at() == Some(ObjectLayout::LayoutV1) { LAYOUT } else { 0 };
        let words = [(EXPECTED_SHIFT, mark), (PENDING_SHIFT, 0)].map(|(shift, mark)| match missing.kind {
            SourceKind::Imm(bits) => imm(bits << shift | mark),
            _ => {
                let word = self.b.r();
                self.b.shl(word, missing.clone(), shift);
                self.marked(word, mark)
            }
        });
        let words = self.tuple(words);
        let address = self.memory_operand(&place, false);
        self.b
            .op(Op::SYNCS)
            .mods(&[Mod::EXCH, Mod::_64])
            .destination(Destination::dropped(File::UR, 2))
            .from(address)
            .from(words)
            .memory(told(ObjectOperation::Initialize))
            .emit();
        self.end_region(behind);
        Ok(())
    }

    fn marked(&mut self, word: Value, mark: u32) -> Source {
        if mark == 0 {
            return word.into();
        }
        let marked = self.b.r();
        self.b.or(marked, word, mark);
        marked.into()
    }

    /// `mbarrier.check_layout`: which layout the object was made in.
    fn check_layout(&mut self, i: &Instruction) -> Lowered {
        let place = self.object(i, 1)?;
        let Some(d) = self.result_predicate(self.operand(i, 0)?)? else { return Ok(()) };
        let (object, mark) = (self.b.pair(), self.b.r());
        let address = self.memory_operand(&place, false);
        let load = self.b.op(Op::SYNCS).mods(&[Mod::LD, Mod::_64]).to_tuple(object);
        load.from(address).memory(ORDERED).emit();
        self.b.and(mark, object[0], LAYOUT);
        let asked = if i.modifiers.at() == Some(ObjectLayout::LayoutV1) { Mod::NE } else { Mod::EQ };
        self.b.isetp(d, asked, true, mark, Source::rz());
        Ok(())
    }

    /// `limit - count`.
    fn less(&mut self, limit: u32, count: &Source) -> Source {
        match count.kind {
            SourceKind::Imm(count) => imm(limit.wrapping_sub(count)),
            SourceKind::Zero(_) => imm(limit),
            _ => {
                let left = self.b.r();
                self.b.iadd3(left, count.clone().negated(), imm(limit), Source::rz());
                left.into()
            }
        }
    }

    fn invalidate_object(&mut self, i: &Instruction) -> Lowered {
        if !self.has_object_unit() {
            return Ok(());
        }
        let place = self.object(i, 0)?;
        let address = self.memory_operand(&place, false);
        let invalidate = self.b.op(Op::SYNCS).mods(&[Mod::CCTL, Mod::IV]).from(address);
        invalidate.memory(told(ObjectOperation::Invalidate)).emit();
        Ok(())
    }

    fn change_bytes(&mut self, i: &Instruction, change: Mod, operation: ObjectOperation) -> Lowered {
        let place = self.object(i, 0)?;
        let bytes = self.word(self.operand(i, 1)?, Type::U32)?;
        self.signal(&place, &[Mod::RED, change], None, bytes, told(operation));
        Ok(())
    }

    /// An arrival, or an operation that counts like one; without a state where it is unused.
    fn signal(
        &mut self,
        place: &Place,
        mods: &[Mod],
        state: Option<[Value; 2]>,
        operand: Source,
        memory: MemoryInfo,
    ) {
        let operand = self.in_register(operand);
        let address = self.memory_operand(place, false);
        let state = match state {
            Some(words) => Destination::new(File::R, words),
            None => Destination::dropped(File::R, 2),
        };
        self.b
            .op(Op::SYNCS)
            .mods(&[Mod::ARRIVE, Mod::TRANS64])
            .mods(mods)
            .destination(state)
            .from(address)
            .from(operand)
            .memory(memory)
            .emit();
    }

    /// Destination of the state, if it is used.
    fn state(&mut self, i: &Instruction) -> Result<Option<[Value; 2]>, LowerError> {
        match self.operand(i, 0)? {
            Operand::Sink => Ok(None),
            operand => self.result_pair(operand, Type::B64).map(Some),
        }
    }

    /// Fences for a release beyond the block.
    fn release_object(&mut self, i: &Instruction) {
        let relaxed = i.modifiers.at() == Some(Semantics::Relaxed);
        if i.modifiers.at() == Some(Scope::Cluster) && !relaxed {
            self.fence(Mod::CTA, false, false);
            self.fence(Mod::GPU, false, false);
        }
    }

    fn arrive(&mut self, i: &Instruction, drop: bool) -> Lowered {
        if !self.has_object_unit() {
            return self.count_arrival(i, drop);
        }
        self.release_object(i);
        let place = self.object(i, 1)?;
        let amount = match i.operands.get(2) {
            Some(operand) => Some(self.word(operand, Type::U32)?),
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
            && let (Some(state), Some(amount)) = (self.state(i)?, &amount)
        {
            self.arrive_and_count(&place, &mods, state, amount, memory);
            return Ok(());
        }
        let state = self.state(i)?;
        self.signal(&place, &mods, state, amount.unwrap_or(Source::rz()), memory);
        Ok(())
    }

    /// An arrival that gives each lane its own state. Lanes that arrive at one mbarrier together all get the state
    /// before the first of them and their lane mask, and subtract the counts of the lanes before them. That amount
    /// must be equal for all, so lanes with different amounts need a waterfall loop.
    fn arrive_and_count(
        &mut self,
        place: &Place,
        mods: &[Mod],
        state: [Value; 2],
        amount: &Source,
        memory: MemoryInfo,
    ) {
        let behind = self.begin_region();
        let together: Vec<Mod> = [Mod::TMASK].iter().chain(mods).copied().collect();
        let (found, own) = (self.b.pair(), self.b.r());
        // A block of its own, as `take_turns` requires: the values copied there determine whether lanes agree.
        let inside = self.b.new_block();
        self.run_into(inside);
        self.b.mov(own, amount.clone());
        self.signal(place, &together, Some(found), own.into(), memory);
        let out = self.b.new_block();
        self.run_into(out);
        let [below, before, count, pending] = [self.b.r(), self.b.r(), self.b.r(), self.b.r()];
        self.b.s2r(below, Symbol::SR_LTMASK);
        self.b.and(before, found[0], below);
        self.b.op(Op::POPC).to(count).from(before).emit();
        self.b.shl(pending, count, PENDING_SHIFT);
        self.b.imad(state[1], pending, own, found[1]);
        self.b.mov(state[0], found[0]);
        self.end_region(behind);
    }

    /// Without the unit: an arrival counts the high word up, one for good the low word before.
    fn count_arrival(&mut self, i: &Instruction, drop: bool) -> Lowered {
        if i.modifiers.at() != Some(Semantics::Relaxed) {
            self.fence(Mod::CTA, false, false);
        }
        let place = self.object(i, 1)?;
        let high = Place { base: place.base.clone(), offset: place.offset + HIGH_WORD, ..place };
        if i.modifiers.has(Word::NoComplete) {
            let amount = self.word(self.operand(i, 2)?, Type::U32)?;
            let amount = self.in_register(amount);
            if drop {
                self.atomic_on_object(&place, &[Mod::ADD], &[], Some(amount.clone()), ORDERED);
            }
            let old = self.b.r();
            self.atomic_on_object(&high, &[Mod::ADD], &[old], Some(amount), told(arrival(i, drop)));
            if let Some(state) = self.state(i)? {
                state.into_iter().for_each(|word| self.b.mov(word, old));
            }
            return Ok(());
        }
        if i.operands.len() > 2 {
            return Err(self.unsupported(format!("on {} an arrival counts one", self.chip)));
        }
        if drop {
            self.atomic_on_object(&place, &[Mod::POPC, Mod::INC, Mod::_32], &[], None, ORDERED);
        }
        let state = self.state(i)?;
        let words = state.as_ref().map_or(&[][..], |state| &state[..]);
        self.atomic_on_object(&place, &[Mod::ARRIVE, Mod::_64], words, None, told(arrival(i, drop)));
        Ok(())
    }

    fn atomic_on_object(
        &mut self,
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
        let address = self.memory_operand(place, false);
        self.b
            .op(Op::ATOMS)
            .mods(mods)
            .destination(result)
            .from(address)
            .from_all(operand)
            .memory(memory)
            .emit();
    }

    /// `test_wait`, and `try_wait`, which waits a while.
    fn test_phase(&mut self, i: &Instruction, tries: bool) -> Lowered {
        // If the wait can also return a reported value, its predicate is in a pair with that of the phase, and the
        // value follows. No reports are made to an mbarrier on these chips.
        let reports = i.modifiers.has(Word::PhaseTypePrimary) || i.modifiers.has(Word::PhaseTypeConditional);
        let [object, phase] = if reports { [i.operands.len() - 2, i.operands.len() - 1] } else { [1, 2] };
        let place = self.object(i, object)?;
        let operand = self.operand(i, phase)?;
        // The phase is the top bit of a state.
        let phase: Source = if i.modifiers.has(Word::Parity) {
            match self.word(operand, Type::U32)? {
                Source { kind: SourceKind::Imm(parity), .. } => self.in_register(imm(parity << 31)),
                Source { kind: SourceKind::Zero(_), .. } => Source::rz(),
                parity => {
                    let top = self.b.r();
                    self.b.shl(top, parity, 31u32);
                    top.into()
                }
            }
        } else {
            let state = self.words(operand, Type::B64)?[1].clone();
            self.in_register(state)
        };
        let (over, reported) = match self.operand(i, 0)? {
            Operand::Pair(over, reported) => (&**over, Some(&**reported)),
            over => (over, None),
        };
        let reported = reported.map(|it| self.result_predicate(it)).transpose()?.flatten();
        let over = self.result_predicate(over)?.unwrap_or_else(|| self.b.p());
        let memory = told(match (tries, i.modifiers.has(Word::Parity)) {
            (false, false) => ObjectOperation::TestState,
            (false, true) => ObjectOperation::TestParity,
            (true, false) => ObjectOperation::TryState,
            (true, true) => ObjectOperation::TryParity,
        });
        if !self.has_object_unit() {
            return self.compare_phase(place, phase, over, memory);
        }
        let address = self.memory_operand(&place, false);
        let missing = Guard { value: over, negated: true };
        let test = [Mod::PHASECHK, Mod::TRANS64];
        let first = self.b.op(Op::SYNCS).mods(&test).m_if(tries, Mod::TRYWAIT).to(over);
        first.from(address.clone()).from(phase.clone()).memory(memory).emit();
        if let Some(hint) = i.operands.get(3).filter(|_| !reports) {
            let time = self.word(hint, Type::U32)?;
            self.b.op(Op::NANOSLEEP).m(Mod::SYNCS).guarded(missing).from(time).memory(ORDERED).emit();
            let again = self.b.op(Op::SYNCS).mods(&test).guarded(missing).to(over);
            again.from(address).from(phase).memory(ORDERED).emit();
        }
        let relaxed = i.modifiers.at() == Some(Semantics::Relaxed);
        if i.modifiers.at() == Some(Scope::Cluster) && !relaxed {
            let over = Guard { value: over, negated: false };
            self.b.op(Op::CCTL).m(Mod::IVALL).guarded(over).memory(ORDERED).emit();
        }
        if let Some(reported) = reported {
            self.b.mov(reported, Source::not_pt());
        }
        if object == 2 {
            let value = self.operand(i, 1)?;
            self.write(value, Type::B8, &[Source::rz()])?;
        }
        Ok(())
    }

    /// Without the unit: whether the top bit of the high word is another one now.
    fn compare_phase(&mut self, mut place: Place, phase: Source, over: Value, memory: MemoryInfo) -> Lowered {
        place.offset += HIGH_WORD;
        let address = self.memory_operand(&place, false);
        let [now, differs] = [self.b.r(), self.b.r()];
        self.b.op(Op::LDS).to(now).from(address).memory(memory).emit();
        // (now ^ phase) & 2^31
        self.b.lop3(differs, now, HIGH_LIMIT, phase, 0x48);
        self.b.isetp(over, Mod::NE, true, differs, Source::rz());
        Ok(())
    }

    fn pending_count(&mut self, i: &Instruction) -> Lowered {
        let state = self.words(self.operand(i, 1)?, Type::B64)?[1].clone();
        let state = self.in_register(state);
        let field = self.b.r();
        let limit = if self.has_object_unit() {
            let shifted = self.b.r();
            self.b.shr(shifted, state, PENDING_SHIFT);
            self.b.and(field, shifted, COUNT_LIMIT - 1);
            COUNT_LIMIT
        } else {
            self.b.and(field, state, HIGH_LIMIT - 1);
            HIGH_LIMIT
        };
        let d = self.result_word(self.operand(i, 0)?, Type::U32)?;
        self.b.iadd3(d, Source::value(field).negated(), imm(limit), Source::rz());
        Ok(())
    }

    /// `st.async` and `red.async`: a write to shared memory of the cluster, and the mbarrier that counts its bytes.
    /// Both addresses are in one register pair.
    pub fn write_and_tell(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let place = self.shared_address(self.operand(i, 0)?)?;
        let object = self.shared_address(self.operand(i, 2)?)?;
        let pair = [self.value_of(place), self.value_of(object)];
        let mut words: Vec<Source> = Vec::new();
        for element in self.elements(self.operand(i, 1)?) {
            words.extend(self.words(&element, ty)?);
        }
        let width = match words.len() {
            1 => None,
            2 => Some(Mod::_64),
            4 => Some(Mod::_128),
            _ => return Err(self.unsupported_form(i)),
        };
        let data = self.tuple(words);
        let operation = match i.modifiers.at().map(operation_mod) {
            Some(operation) if i.opcode == Opcode::Red => Some(operation),
            None if i.opcode == Opcode::St => None,
            _ => return Err(self.unsupported_form(i)),
        };
        let signed = operation.is_some() && ty.is_signed() && width.is_none();
        let op = if operation.is_some() { Op::REDAS } else { Op::STAS };
        let mods: Vec<Mod> = operation.into_iter().chain(width).chain(signed.then_some(Mod::S32)).collect();
        let address = address_of(Source::values(pair), 0).suffixed(Mod::_64);
        let data = self.in_register(data);
        self.b.op(op).mods(&mods).from(address).from(data).memory(ORDERED).emit();
        Ok(())
    }

    /// `cp.async.mbarrier.arrive`: an arrival when the copies of the thread are complete. Without `.noinc` it is not
    /// part of the expected count: its decrement is added first.
    pub fn signal_copies(&mut self, i: &Instruction) -> Lowered {
        // The address is a uniform one, so that it cannot go by the predicate of a thread.
        let behind = self.begin_region();
        let place = self.object(i, 0)?;
        let counted = i.modifiers.has(Word::Noinc);
        let signal: &[Mod] = if !self.has_object_unit() {
            if !counted {
                let high = Place { base: place.base.clone(), offset: place.offset + HIGH_WORD, ..place };
                let less = self.in_register(imm(u32::MAX));
                self.atomic_on_object(&high, &[Mod::ADD], &[], Some(less), ORDERED);
            }
            &[]
        } else if counted {
            &[Mod::ARVCNT]
        } else {
            self.signal(&place, &[Mod::RED, Mod::A0T1], None, Source::rz(), ORDERED);
            &[Mod::TRANSCNT]
        };
        let address = self.memory_operand(&place, false);
        self.b
            .op(Op::ARRIVES)
            .mods(&[Mod::LDGSTSBAR, Mod::_64])
            .mods(signal)
            .from(address)
            .memory(told(ObjectOperation::CopiesArrive))
            .emit();
        self.end_region(behind);
        Ok(())
    }
}
