//! Atomic operations and reductions on global, shared and generic memory.
//!
//! Operations that the hardware lacks become a compare-and-swap loop. Where shared and global memory need different
//! code, a generic address is tested for shared memory.

use crate::LowerError;
use crate::context::{Lower, Lowered, Words};
use crate::half::half_of;
use crate::memory::{Place, scope_mod};
use crate::operand::imm;
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{File, Guard, Pseudo, Source, Values};
use oriole_ptx::word::{Operation, Semantics};
use oriole_ptx::{Opcode, Space, Type, Word};
use oriole_sass::{Mod, Op};

/// The SASS modifier of an operation.
pub(crate) fn operation_mod(operation: Operation) -> Mod {
    match operation {
        Operation::Add => Mod::ADD,
        Operation::Min => Mod::MIN,
        Operation::Max => Mod::MAX,
        Operation::Inc => Mod::INC,
        Operation::Dec => Mod::DEC,
        Operation::And => Mod::AND,
        Operation::Or => Mod::OR,
        Operation::Xor => Mod::XOR,
        Operation::Exch => Mod::EXCH,
        Operation::Cas => Mod::CAS,
    }
}

/// An atomic operation with its operands.
struct Atomic {
    operation: Mod,
    ty: Type,
    vector: u32,
    scope: Mod,
    /// First operand, in words.
    b: Words,
    /// New value of a compare-and-swap, in words.
    c: Words,
    /// The old value is dead.
    reduction: bool,
    /// Increments a word, where the chip has an instruction for that.
    counts: bool,
    /// L2 policy for the line.
    policy: Option<[Source; 2]>,
    /// Subnormal f32 values are kept if the operation is on global memory.
    keeps_subnormals: bool,
}

impl Atomic {
    /// Bytes that are touched.
    fn bytes(&self) -> u32 {
        self.ty.bytes() * self.vector
    }

    /// True for the narrow types that are done on the word around them.
    fn narrow(&self) -> bool {
        self.bytes() < 4
    }

    /// The type modifiers of an operation on global or generic memory.
    fn type_mods(&self) -> Vec<Mod> {
        let signed = self.ty.is_signed() && matches!(self.operation, Mod::MIN | Mod::MAX);
        let singles = |name: Mod| {
            let flushes = (!self.keeps_subnormals).then_some(Mod::FTZ);
            [Some(name), flushes, Some(Mod::RN)].into_iter().flatten().collect()
        };
        match (self.ty, self.vector) {
            (Type::F32, 1) => singles(Mod::F32),
            (Type::F32, 2) => singles(Mod::F32x2),
            (Type::F32, _) => singles(Mod::F32x4),
            (Type::F64, _) => vec![Mod::F64, Mod::RN],
            (Type::F16x2, 1) => vec![Mod::F16x2, Mod::RN],
            (Type::F16x2, 2) => vec![Mod::F16x4, Mod::RN],
            (Type::F16x2, _) => vec![Mod::F16x8, Mod::RN],
            (Type::BF16x2, 1) => vec![Mod::BF16x2, Mod::RN],
            (Type::BF16x2, 2) => vec![Mod::BF16x4, Mod::RN],
            (Type::BF16x2, _) => vec![Mod::BF16x8, Mod::RN],
            _ => match (self.bytes(), signed) {
                (8, true) => vec![Mod::S64],
                (8, false) => vec![Mod::_64],
                (16, _) => vec![Mod::_128],
                (_, true) => vec![Mod::S32],
                _ => vec![],
            },
        }
    }

    /// True if shared memory has the operation.
    fn in_shared(&self) -> bool {
        let integer = !self.ty.is_float();
        match self.bytes() {
            4 => integer,
            8 | 16 => matches!(self.operation, Mod::EXCH | Mod::CAS),
            _ => false,
        }
    }
}

/// An element type and the count of elements: f16 and bf16 elements of a vector are packed in words, two in each.
pub(crate) fn packed_type(ty: Type, vector: u8) -> (Type, u32) {
    let vector = u32::from(vector.max(1));
    match ty {
        Type::F16 if vector > 1 => (Type::F16x2, vector / 2),
        Type::BF16 if vector > 1 => (Type::BF16x2, vector / 2),
        Type::E4M3 if vector > 1 => (Type::E4M3x4, vector / 4),
        Type::E5M2 if vector > 1 => (Type::E5M2x4, vector / 4),
        Type::E4M3x2 if vector > 1 => (Type::E4M3x4, vector / 2),
        Type::E5M2x2 if vector > 1 => (Type::E5M2x4, vector / 2),
        _ => (ty, vector),
    }
}

impl Lower<'_> {
    /// `atom`, `red`, and `multimem.red`, which differs by the address and by its default scope.
    pub fn atomic(&mut self, i: &Instruction) -> Lowered {
        if i.modifiers.has(Word::MbarrierCompleteTxBytes) {
            return self.write_and_tell(i);
        }
        let (ty, vector) = packed_type(self.ty(i, 0)?, i.vector);
        let Some(operation) = i.modifiers.at().map(operation_mod) else {
            return Err(self.unsupported_form(i));
        };
        let is_atom = i.opcode == Opcode::Atom;
        let first = usize::from(is_atom);
        let (release, acquire) = match i.modifiers.at() {
            Some(Semantics::AcqRel) => (true, true),
            Some(Semantics::Acquire) => (false, true),
            Some(Semantics::Release) => (true, false),
            Some(Semantics::Relaxed) | None => (false, false),
            Some(Semantics::Weak | Semantics::Sc | Semantics::Volatile) => {
                return Err(self.unsupported_form(i));
            }
        };
        let copies = i.opcode == Opcode::Multimem;
        let (scope, fence) =
            scope_mod(i).unwrap_or(if copies { (Mod::SYS, Mod::SYS) } else { (Mod::GPU, Mod::GPU) });
        let mut place = self.place(self.operand(i, first)?, i.space.unwrap_or(Space::Generic))?;
        place = self.cluster_to_generic(place);
        let is_global = copies || i.vector > 1 || i.modifiers.has(Word::Async);
        if is_global && place.space == Space::Generic {
            // Vectors, copies and asynchronous operations are in global memory only, where both addresses are equal.
            place.space = Space::Global;
        }
        let b = self.atomic_words(self.operand(i, first + 1)?, ty)?;
        let c = if operation == Mod::CAS {
            self.atomic_words(self.operand(i, first + 2)?, ty)?
        } else {
            Words::new()
        };
        let policy = self.policy(i)?;
        // An acquire waits for the old value, even if it is unread.
        let reduction = !is_atom || !acquire && operation != Mod::CAS && self.is_unread(i)?;
        let counts = self.chip.counts_in_shared_memory()
            && operation == Mod::ADD
            && matches!(ty, Type::U32 | Type::B32)
            && matches!(self.operand(i, first + 1)?, Operand::Immediate(Immediate::Integer(1)));
        let keeps_subnormals = i.modifiers.has(Word::Noftz);
        let atomic =
            Atomic { operation, ty, vector, scope, b, c, reduction, counts, policy, keeps_subnormals };
        let simple = match place.space {
            Space::Global => !atomic.narrow(),
            Space::Shared => atomic.in_shared(),
            Space::Generic => !atomic.narrow() && atomic.in_shared() && atomic.bytes() == 4,
            _ => false,
        };
        if simple {
            if release {
                self.fence(fence, false, false);
            }
            let old =
                self.single(&atomic, &place, |lower| match lower.atomic_destination(i, ty, vector)? {
                    Some(words) => Ok(words),
                    None => Ok((0..atomic.bytes() / 4).map(|_| lower.b.r()).collect()),
                })?;
            if acquire && fence != Mod::CTA && place.space != Space::Shared {
                self.invalidate();
            }
            return self.write_atomic(i, ty, vector, old);
        }
        let behind = self.begin_region();
        if release {
            self.fence(fence, false, false);
        }
        let old = match place.space {
            Space::Global | Space::Shared => self.looped(&atomic, &place)?,
            Space::Generic => self.by_space(&atomic, place)?,
            other => {
                return Err(self.unsupported(format!("an atomic operation on `.{}` memory", other.name())));
            }
        };
        if acquire && fence != Mod::CTA {
            self.invalidate();
        }
        self.write_atomic(i, ty, vector, (!atomic.reduction).then_some(old))?;
        self.end_region(behind);
        Ok(())
    }

    /// True if the old value is unread.
    fn is_unread(&mut self, i: &Instruction) -> Result<bool, LowerError> {
        Ok(match self.operand(i, 0)? {
            Operand::Sink => true,
            // Debuggers read registers as well.
            &Operand::Register(register) => !self.options.unoptimized && !self.is_read(register),
            _ => false,
        })
    }

    /// The words of an operand, vector elements concatenated.
    fn atomic_words(&mut self, operand: &Operand, ty: Type) -> Result<Words, LowerError> {
        let mut words = Words::new();
        let elements = self.elements(operand);
        if self.are_halves(&elements, ty) {
            for pair in elements.chunks(2) {
                let halves = pair.iter().map(|half| self.word(half, Type::B16)).collect::<Result<_, _>>()?;
                let word = self.join(halves, 16);
                words.push(self.value_of(word));
            }
            return Ok(words);
        }
        for element in elements {
            for word in self.words(&element, ty)? {
                words.push(self.value_of(word));
            }
        }
        Ok(words)
    }

    /// The destination registers, if the old value can be written straight there.
    fn atomic_destination(
        &mut self,
        i: &Instruction,
        ty: Type,
        vector: u32,
    ) -> Result<Option<Words>, LowerError> {
        let d = self.operand(i, 0)?;
        if vector != 1 || matches!(d, Operand::Sink | Operand::Vector(_)) {
            return Ok(None);
        }
        Ok(Some(self.result(d, ty)?))
    }

    /// Writes the old value, unless it is there already or it is dead.
    fn write_atomic(&mut self, i: &Instruction, ty: Type, vector: u32, old: Option<Words>) -> Lowered {
        let Some(old) = old.filter(|_| i.opcode == Opcode::Atom) else { return Ok(()) };
        let d = self.operand(i, 0)?;
        if matches!(d, Operand::Sink) {
            return Ok(());
        }
        let elements = self.elements(d);
        self.write_vector(&elements, ty, vector, &old)
    }

    /// Writes the elements of a vector, which are packed in these words.
    pub fn write_vector(&mut self, elements: &[Operand], ty: Type, vector: u32, old: &Words) -> Lowered {
        if self.are_halves(elements, ty) {
            let mut parts = Vec::new();
            for half in 0..elements.len() as u64 {
                parts.push(self.extract(old, 2 * half, Type::U16)?.into_iter().collect());
            }
            return self.write_all(elements, Type::U32, parts);
        }
        let each = (old.len() / vector as usize).max(1);
        let parts = old.chunks(each).map(|part| part.iter().map(|&v| Source::value(v)).collect()).collect();
        if let ([Operand::Register(id)], 1) = (elements, vector)
            && self.register(*id) == *old
        {
            return Ok(());
        }
        self.write_all(elements, ty, parts)
    }

    /// True for a vector of f16 or bf16 elements, two in each word.
    fn are_halves(&self, elements: &[Operand], ty: Type) -> bool {
        let half = |element: &Operand| match element {
            Operand::Register(id) => self.body.registers[*id].ty.bits() == 16,
            _ => true,
        };
        elements.len() > 1 && matches!(ty, Type::F16x2 | Type::BF16x2) && elements.iter().all(half)
    }

    /// The operation as one instruction. Returns the old value, or `None` for a reduction.
    fn single(
        &mut self,
        a: &Atomic,
        place: &Place,
        destination: impl FnOnce(&mut Self) -> Result<Words, LowerError>,
    ) -> Result<Option<Words>, LowerError> {
        let width = (a.bytes() / 4) as u8;
        let shared = place.space == Space::Shared;
        let memory = Self::memory_info(place.space, true, true, true);
        if shared && a.counts && a.reduction {
            // Lanes with the same word are counted by the hardware, without a waterfall loop.
            let address = self.memory_operand(place, false);
            let result = oriole_ori::Destination::dropped(File::R, 1);
            let draft = self.b.op(Op::ATOMS).mods(&[Mod::POPC, Mod::INC, Mod::_32]).destination(result);
            draft.from(address).memory(memory).emit();
            return Ok(None);
        }
        let compare = a.operation == Mod::CAS;
        let mut address = self.memory_operand(place, !compare);
        if !shared && !compare {
            address = self.with_policy(address, a.policy.clone());
        }
        let old = if a.reduction { None } else { Some(destination(self)?) };
        let mut mods = vec![a.operation];
        if shared {
            match (a.bytes(), a.ty.is_signed() && matches!(a.operation, Mod::MIN | Mod::MAX)) {
                (16, _) => mods.push(Mod::_128),
                (8, _) => mods.push(Mod::_64),
                (_, true) => mods.push(Mod::S32),
                _ => {}
            }
        } else {
            mods.push(Mod::E);
            mods.extend(a.type_mods());
            mods.extend([Mod::STRONG, a.scope]);
        }
        let op = match place.space {
            Space::Shared => Op::ATOMS,
            Space::Global if a.reduction && !compare && a.operation != Mod::EXCH => self.reduction(),
            Space::Global => Op::ATOMG,
            _ => Op::ATOM,
        };
        let mut draft = self.b.op(op).mods(&mods);
        if matches!(op, Op::ATOMG | Op::ATOM) {
            draft = draft.drop_result(File::P);
        }
        if !matches!(op, Op::REDG | Op::RED) {
            draft = match &old {
                Some(words) => draft.to_tuple(words.clone()),
                None => draft.destination(oriole_ori::Destination::dropped(File::R, width)),
            };
        }
        draft = draft.from(address).from(Source::values(a.b.clone()));
        if compare {
            draft = draft.from(Source::values(a.c.clone()));
        }
        draft.memory(memory).emit();
        Ok(old)
    }

    /// A generic address: branches on shared or global memory.
    fn by_space(&mut self, a: &Atomic, place: Place) -> Result<Words, LowerError> {
        let mut base = place.base.clone();
        if place.offset != 0 {
            let offset = i64::from(place.offset);
            let add = self.tuple([imm(offset as u32), imm((offset >> 32) as u32)]);
            let sum = self.b.pair();
            self.pseudo(Pseudo::Add64, &[], sum, [Source::values(base), add]);
            base = Values::from_slice(&sum);
        }
        let shared = self.b.p();
        self.query_space(shared, Mod::S, Source::values(base.clone()));
        let result: Words = (0..a.bytes().div_ceil(4)).map(|_| self.b.r()).collect();
        let [in_shared, in_global, join] = [self.b.new_block(), self.b.new_block(), self.b.new_block()];
        self.b.branch(Guard { value: shared, negated: false }, in_shared, in_global);
        for (block, place) in [
            (in_global, Place { space: Space::Global, base: base.clone(), symbol: None, offset: 0 }),
            (
                in_shared,
                Place { space: Space::Shared, base: Values::from_slice(&base[..1]), symbol: None, offset: 0 },
            ),
        ] {
            self.open(block);
            let mut place = place;
            if place.space == Space::Shared && self.bank.shared_window.is_some() {
                let own = self.through_shared_window(Source::values(base.clone()), true);
                place.base = Values::from_slice(&own[..1]);
            }
            let old = self.looped(a, &place)?;
            for (&d, &word) in result.iter().zip(&old) {
                self.b.mov(d, word);
            }
            if block == in_global {
                self.b.jump(join);
                self.terminated = true;
            }
        }
        self.run_into(join);
        Ok(result)
    }

    /// The operation on memory of a known space, as one instruction or as a loop.
    fn looped(&mut self, a: &Atomic, place: &Place) -> Result<Words, LowerError> {
        let native = match place.space {
            Space::Global => !a.narrow(),
            _ => a.in_shared(),
        };
        if native {
            let width = a.bytes() / 4;
            let old = self.single(a, place, |lower| Ok((0..width).map(|_| lower.b.r()).collect()))?;
            return Ok(match old {
                Some(words) => words,
                None => {
                    // The caller copies the result; return a defined value.
                    (0..width)
                        .map(|_| {
                            let d = self.b.r();
                            self.b.mov(d, Source::rz());
                            d
                        })
                        .collect()
                }
            });
        }
        if a.narrow() { self.narrow_loop(a, place) } else { self.wide_loop(a, place) }
    }

    /// A compare-and-swap loop on one or two words.
    fn wide_loop(&mut self, a: &Atomic, place: &Place) -> Result<Words, LowerError> {
        if a.vector != 1 || a.bytes() > 8 {
            return Err(self.unsupported("this atomic operation on shared memory"));
        }
        let count = (a.bytes() / 4) as usize;
        let old: Words = (0..count).map(|_| self.b.r()).collect();
        self.load_words(place, &old);
        let again = self.b.new_block();
        self.run_into(again);
        let new = self.combine(a, &old)?;
        let seen: Words = (0..count).map(|_| self.b.r()).collect();
        self.swap(place, a.scope, &seen, &old, &new);
        let changed = self.b.p();
        if count == 2 {
            let (seen, old) = (Source::values(seen.clone()), Source::values(old.clone()));
            self.pseudo(Pseudo::SetPredicate64, &[Mod::NE, Mod::U64], [changed], [seen, old]);
        } else {
            self.b.isetp(changed, Mod::NE, true, seen[0], old[0]);
        }
        for (&d, &word) in old.iter().zip(&seen) {
            self.b.mov(d, word);
        }
        let done = self.b.new_block();
        self.b.branch(Guard { value: changed, negated: false }, again, done);
        self.open(done);
        Ok(old)
    }

    /// A compare-and-swap loop on the word that contains 16 bits.
    fn narrow_loop(&mut self, a: &Atomic, place: &Place) -> Result<Words, LowerError> {
        let mut base = place.base.clone();
        let low = self.b.r();
        let start = base.first().map_or_else(Source::rz, |&v| Source::value(v));
        let whole = if place.offset != 0 || place.symbol.is_some() {
            let sum = self.b.r();
            if let Some(symbol) = place.symbol {
                let offset = self.b.r();
                self.b.mov(offset, Self::address_word(symbol, oriole_ori::AddressPart::Low, place.offset));
                self.b.iadd3(sum, start, offset, Source::rz());
                Source::value(sum)
            } else if base.len() == 2 {
                let offset = i64::from(place.offset);
                let add = self.tuple([imm(offset as u32), imm((offset >> 32) as u32)]);
                let pair = self.b.pair();
                self.pseudo(Pseudo::Add64, &[], pair, [Source::values(base.clone()), add]);
                base = Values::from_slice(&pair);
                Source::value(pair[0])
            } else {
                self.add(sum, start, imm(place.offset as u32));
                Source::value(sum)
            }
        } else {
            start
        };
        let whole = self.in_register(whole);
        self.b.and(low, whole.clone(), !3u32);
        let [half, upper] = [self.b.r(), self.b.p()];
        self.b.and(half, whole, 2u32);
        self.b.isetp(upper, Mod::NE, true, half, Source::rz());
        let [insert, extract] = [self.b.r(), self.b.r()];
        let (low_insert, low_extract) = (self.in_register(imm(0x3254)), self.in_register(imm(0x7710)));
        let not_upper = Source::value(upper).inverted();
        self.b.sel(insert, low_insert, 0x5410u32, not_upper.clone());
        self.b.sel(extract, low_extract, 0x7732u32, not_upper);
        let word_place = Place {
            space: place.space,
            base: if base.len() == 2 {
                Values::from_slice(&[low, base[1]])
            } else {
                Values::from_slice(&[low])
            },
            symbol: None,
            offset: 0,
        };
        let word: Words = Words::from_slice(&[self.b.r()]);
        self.load_words(&word_place, &word);
        let [again, swap, done] = [self.b.new_block(), self.b.new_block(), self.b.new_block()];
        self.run_into(again);
        let current = self.b.r();
        self.b.prmt(current, word[0], extract, Source::rz());
        let new = if a.operation == Mod::CAS {
            let expected = self.extend(a.b[0].into(), Type::U16);
            let differs = self.b.p();
            self.b.isetp(differs, Mod::NE, true, current, expected);
            self.b.branch(Guard { value: differs, negated: false }, done, swap);
            self.open(swap);
            a.c[0]
        } else {
            self.b.fall_through(swap);
            self.open(swap);
            self.combine(a, &Words::from_slice(&[current]))?[0]
        };
        let [joined, seen] = [self.b.r(), self.b.r()];
        self.b.prmt(joined, word[0], insert, new);
        let seen = Words::from_slice(&[seen]);
        self.swap(&word_place, a.scope, &seen, &word, &Words::from_slice(&[joined]));
        let changed = self.b.p();
        self.b.isetp(changed, Mod::NE, true, seen[0], word[0]);
        self.b.mov(word[0], seen[0]);
        self.b.branch(Guard { value: changed, negated: false }, again, done);
        self.open(done);
        Ok(Words::from_slice(&[current]))
    }

    fn load_words(&mut self, place: &Place, d: &Words) {
        let shared = place.space == Space::Shared;
        let address = self.memory_operand(place, true);
        self.b
            .op(if shared { Op::LDS } else { Op::LDG })
            .m_if(!shared, Mod::E)
            .m_if(d.len() == 2, Mod::_64)
            .to_tuple(d.clone())
            .from(address)
            .memory(Self::memory_info(place.space, true, false, true))
            .emit();
    }

    /// `seen <- memory; if it is old, memory <- new`.
    fn swap(&mut self, place: &Place, scope: Mod, seen: &Words, old: &Words, new: &Words) {
        let shared = place.space == Space::Shared;
        let address = self.memory_operand(place, false);
        let mut draft = self.b.op(if shared { Op::ATOMS } else { Op::ATOMG }).m(Mod::CAS);
        draft = draft.m_if(seen.len() == 2, Mod::_64);
        if !shared {
            draft = draft.mods(&[Mod::E, Mod::STRONG, scope]).drop_result(File::P);
        }
        draft
            .to_tuple(seen.clone())
            .from(address)
            .from(Source::values(old.clone()))
            .from(Source::values(new.clone()))
            .memory(Self::memory_info(place.space, true, true, true))
            .emit();
    }

    /// The value that the operation stores, computed from the old one.
    fn combine(&mut self, a: &Atomic, old: &Words) -> Result<Words, LowerError> {
        let d: Words = old.iter().map(|_| self.b.r()).collect();
        let (x, y) = (Source::values(old.clone()), Source::values(a.b.clone()));
        let signed = if a.ty.is_signed() { Mod::S64 } else { Mod::U64 };
        let logic = |operation: Mod| match operation {
            Mod::AND => 0xc0,
            Mod::OR => 0xfc,
            _ => 0x3c,
        };
        match (a.operation, a.ty) {
            (Mod::ADD, Type::F32) => self.op(Op::FADD, &[], d[0], [x, y]),
            (Mod::ADD, Type::F64) => self.b.op(Op::DADD).to_tuple(d.clone()).from(x).from(y).emit(),
            (Mod::ADD, ty) if half_of(ty).is_some() => {
                let half = half_of(ty).unwrap_or(crate::half::Half { bf16: false, packed: true });
                let (x, y) =
                    if half.packed { (x, y) } else { (x.suffixed(Mod::H0_H0), y.suffixed(Mod::H0_H0)) };
                self.op(Op::HADD2, half.mods(), d[0], [x, y]);
            }
            (Mod::ADD, _) if d.len() == 2 => self.pseudo(Pseudo::Add64, &[], d.clone(), [x, y]),
            (Mod::MIN, _) if d.len() == 2 => self.pseudo(Pseudo::Min64, &[signed], d.clone(), [x, y]),
            (Mod::MAX, _) if d.len() == 2 => self.pseudo(Pseudo::Max64, &[signed], d.clone(), [x, y]),
            (Mod::AND | Mod::OR | Mod::XOR, _) if d.len() == 2 => {
                let table = Source::literal(logic(a.operation));
                self.pseudo(Pseudo::Logic64, &[], d.clone(), [x, y, Source::rz(), table]);
            }
            (Mod::EXCH, _) => return Ok(a.b.clone()),
            _ => return Err(self.unsupported("this atomic operation")),
        }
        Ok(d)
    }
}
