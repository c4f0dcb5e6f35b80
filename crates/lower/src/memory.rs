//! Loads, stores, prefetches and cache hints of every space.

use crate::LowerError;
use crate::context::{Lower, Lowered, Words};
use crate::operand::imm;
use oriole_hir::{Address, AddressBase, Instruction, Operand, VariableKind};
use oriole_ori::{
    Address as OriAddress, ConstBase, IndexedConst, MemoryInfo, Pseudo, Source, SourceKind, Value, Values,
};
use oriole_ptx::word::{CacheLevel, CacheOperator, FetchSize, L1Priority, L2Priority, Scope, Semantics};
use oriole_ptx::{Opcode, Space, Type, Word};
use oriole_sass::{Mod, Op};
use smallvec::SmallVec;

/// Offsets that fit into a memory operand.
const OFFSET: std::ops::RangeInclusive<i64> = -0x80_0000..=0x7f_ffff;

/// Memory ordering of an access, as SASS modifiers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strength {
    /// Modifiers of the access.
    pub mods: Vec<Mod>,
    /// Scope of the fence before a release.
    pub release: Option<Mod>,
    /// Invalidation of the cache after an acquire.
    pub acquire: bool,
    /// Never removed or reordered.
    pub ordered: bool,
}

/// An address with its space.
pub(crate) struct Place {
    /// Space of the access.
    pub space: Space,
    /// Base registers: one in 32-bit spaces, two in 64-bit ones, none for an absolute address.
    pub base: Values,
    /// Shared variable that the offset counts from.
    pub symbol: Option<oriole_ori::SymbolId>,
    /// Offset in bytes.
    pub offset: i32,
}

/// Size modifiers of loads and stores of `bytes`.
fn size_mods(bytes: u32, signed: bool) -> Option<&'static [Mod]> {
    Some(match (bytes, signed) {
        (1, false) => &[Mod::U8],
        (1, true) => &[Mod::S8],
        (2, false) => &[Mod::U16],
        (2, true) => &[Mod::S16],
        (4, _) => &[],
        (8, _) => &[Mod::_64],
        (16, _) => &[Mod::_128],
        _ => return None,
    })
}

/// The space as the alias classes name it.
pub(crate) fn alias_space(space: Space) -> oriole_ori::Space {
    match space {
        Space::Global => oriole_ori::Space::Global,
        Space::Shared => oriole_ori::Space::Shared,
        Space::Local | Space::FunctionParameter => oriole_ori::Space::Local,
        Space::Constant | Space::KernelParameter => oriole_ori::Space::Constant,
        Space::Generic | Space::SharedCluster | Space::Register => oriole_ori::Space::Generic,
    }
}

/// The SASS modifier of a scope, and of the fence that belongs to it.
pub(crate) fn scope_mod(i: &Instruction) -> Option<(Mod, Mod)> {
    Some(match i.modifiers.at()? {
        Scope::Cta => (Mod::SM, Mod::CTA),
        Scope::Cluster | Scope::Gpu => (Mod::GPU, Mod::GPU),
        Scope::Sys => (Mod::SYS, Mod::SYS),
    })
}

/// A 64-bit location whose base is the address itself.
pub(crate) fn whole_address(l: &mut Lower, place: Place) -> Place {
    if place.offset == 0 {
        return place;
    }
    let base = Source::values(place.base.clone());
    let offset = i64::from(place.offset);
    let add = l.tuple([imm(offset as u32), imm((offset >> 32) as u32)]);
    let sum = l.b.pair();
    l.pseudo(Pseudo::Add64, &[], sum, [base, add]);
    Place { base: Values::from_slice(&sum), offset: 0, ..place }
}

/// Bytes of the widest access, whose words are two operands of four registers each.
const WIDEST: u32 = 32;
const GROUP: usize = 4;

impl Lower<'_> {
    /// The size modifiers of an access; the widest one also has an L2 eviction modifier.
    fn size_of_access(&self, i: &Instruction, bytes: u32, signed: bool) -> Result<Vec<Mod>, LowerError> {
        if bytes != WIDEST {
            let mods = size_mods(bytes, signed).ok_or_else(|| self.unsupported_form(i))?;
            return Ok(mods.to_vec());
        }
        if !self.has_widest_accesses() {
            return Err(self.unsupported_form(i));
        }
        let kept = match i.modifiers.at() {
            Some(L2Priority::L2EvictFirst) => Mod::EFL2,
            Some(L2Priority::L2EvictLast) => Mod::ELL2,
            Some(L2Priority::L2EvictNormal) | None => Mod::ENL2,
        };
        Ok(vec![Mod::_256, kept])
    }

    /// The space of an access: the widest ones are of global memory, whether the text says so or not.
    fn accessed_space(i: &Instruction, bytes: u32) -> Space {
        let space = i.space.unwrap_or(Space::Generic);
        if bytes == WIDEST && space == Space::Generic { Space::Global } else { space }
    }

    /// Memory ordering and caching of an access.
    pub fn strength(&self, i: &Instruction) -> Strength {
        let mut s = Strength::default();
        let has = |word| i.modifiers.has(word);
        let semantics = i.modifiers.at();
        match semantics {
            Some(Semantics::Volatile) => {
                s.mods = vec![Mod::STRONG, Mod::SYS];
                s.ordered = true;
            }
            Some(Semantics::Relaxed | Semantics::Acquire | Semantics::Release) => {
                let (scope, fence) = scope_mod(i).unwrap_or((Mod::GPU, Mod::GPU));
                s.mods = vec![if has(Word::Mmio) { Mod::MMIO } else { Mod::STRONG }, scope];
                s.ordered = true;
                s.release = (semantics == Some(Semantics::Release)).then_some(fence);
                s.acquire = semantics == Some(Semantics::Acquire) && fence != Mod::CTA;
            }
            Some(Semantics::Weak | Semantics::AcqRel | Semantics::Sc) | None => {}
        }
        let operator = i.modifiers.at();
        let cache: &[Mod] = match operator {
            // Loads of constant data are kept in the L1 cache anyway.
            Some(CacheOperator::Ca | CacheOperator::Cg) if has(Word::Nc) => &[],
            Some(CacheOperator::Ca | CacheOperator::Wb) => &[Mod::STRONG, Mod::SM],
            Some(CacheOperator::Cg) => &[Mod::STRONG, Mod::GPU],
            Some(CacheOperator::Cv | CacheOperator::Wt) => &[Mod::STRONG, Mod::SYS],
            Some(CacheOperator::Cs) => &[Mod::EF],
            Some(CacheOperator::Lu) => &[Mod::LU],
            None => &[],
        };
        s.mods.extend_from_slice(cache);
        s.ordered |= matches!(operator, Some(CacheOperator::Cv | CacheOperator::Wt));
        if has(Word::Nc) {
            s.mods.push(Mod::CONSTANT);
        }
        s.mods.extend(i.modifiers.at().and_then(|priority| match priority {
            L1Priority::L1NoAllocate => Some(Mod::NA),
            L1Priority::L1EvictLast => Some(Mod::EL),
            L1Priority::L1EvictFirst => Some(Mod::EF),
            L1Priority::L1EvictUnchanged => Some(Mod::EU),
            L1Priority::L1EvictNormal => None,
        }));
        s.mods.extend(i.modifiers.at().map(|size| match size {
            FetchSize::L264B => Mod::LTC64B,
            FetchSize::L2128B => Mod::LTC128B,
            FetchSize::L2256B => Mod::LTC256B,
        }));
        s
    }

    /// Resolves an address operand.
    pub fn place(&mut self, operand: &Operand, space: Space) -> Result<Place, LowerError> {
        let Operand::Address(address) = operand else {
            return Err(self.unsupported("a memory operand without brackets"));
        };
        let mut extra = 0;
        let (space, mut base, symbol): (Space, SmallVec<[Source; 4]>, _) = match &address.base {
            AddressBase::Register(id) => {
                let words = self.register(*id);
                (space, words.iter().map(|&v| Source::value(v)).collect(), None)
            }
            AddressBase::Variable(variable) => {
                let own = self.body.variables[*variable].space;
                match own {
                    Space::Shared | Space::SharedCluster => {
                        let symbol = self.variable_symbol(*variable)?;
                        let base = self.cluster_base();
                        (Space::Shared, base.into_iter().map(Source::value).collect(), Some(symbol))
                    }
                    _ if self.in_registers(*variable) => {
                        let memory = self
                            .parameter_memory(*variable)
                            .ok_or_else(|| self.unsupported("an address of a parameter in registers"))?;
                        let (base, start) = self.parameter_base(memory);
                        extra = i64::from(start);
                        (Space::Local, SmallVec::from_iter([Source::value(base)]), None)
                    }
                    _ => {
                        let pair = self.variable_address(*variable, 0)?;
                        (own, pair.iter().map(|&v| Source::value(v)).collect(), None)
                    }
                }
            }
            AddressBase::Absolute => (space, SmallVec::new(), None),
        };
        let mut offset = address.offset + extra;
        let wide = matches!(space, Space::Global | Space::Generic);
        if base.is_empty() && (wide || !OFFSET.contains(&offset)) {
            // An absolute address: in registers if the address has 64 bits.
            base = SmallVec::from_iter([imm(offset as u32), imm((offset >> 32) as u32)]);
            offset = 0;
        }
        if !OFFSET.contains(&offset) {
            if wide {
                let words = base.clone();
                let base_pair = self.tuple_of(words);
                let add = self.tuple([imm(offset as u32), imm((offset >> 32) as u32)]);
                let sum = self.b.pair();
                self.pseudo(Pseudo::Add64, &[], sum, [base_pair, add]);
                base = sum.iter().map(|&v| Source::value(v)).collect();
            } else {
                let sum = self.b.r();
                self.add(sum, base[0].clone(), imm(offset as u32));
                base = SmallVec::from_iter([Source::value(sum)]);
            }
            offset = 0;
        }
        let count = if base.is_empty() {
            0
        } else if wide {
            2
        } else {
            1
        };
        base.truncate(count);
        while base.len() < count {
            base.push(Source::rz());
        }
        let base: Values = base.into_iter().map(|s| self.value_of(s)).collect();
        Ok(Place { space, base, symbol, offset: offset as i32 })
    }

    fn tuple_of(&mut self, mut words: SmallVec<[Source; 4]>) -> Source {
        while words.len() < 2 {
            words.push(Source::rz());
        }
        self.tuple(words)
    }

    /// The memory operand of an instruction at a place, with its cache policy in place of the descriptor.
    pub fn cached_operand(&mut self, i: &Instruction, place: &Place) -> Result<Source, LowerError> {
        let address = self.memory_operand(place, true);
        let wide = matches!(place.space, Space::Global | Space::Generic);
        let policy = if wide { self.policy(i)? } else { None };
        Ok(self.with_policy(address, policy))
    }

    /// The memory operand of a place. With `descriptor`, global and generic accesses name the descriptor.
    pub fn memory_operand(&mut self, place: &Place, descriptor: bool) -> Source {
        let wide = matches!(place.space, Space::Global | Space::Generic);
        let descriptor = if wide && descriptor { self.descriptor() } else { None };
        let mut source = Source::plain(SourceKind::Address(Box::new(OriAddress {
            descriptor: descriptor.map(|pair| pair.into_iter().collect()),
            base: place.base.clone(),
            uniform: Values::new(),
            symbol: place.symbol,
            offset: place.offset,
        })));
        if descriptor.is_some() {
            source.suffixes.insert(Mod::_64);
        }
        source
    }

    /// Memory facts of an access.
    pub fn memory_info(space: Space, reads: bool, writes: bool, ordered: bool) -> MemoryInfo {
        MemoryInfo { space: alias_space(space), reads, writes, ordered, object: None }
    }

    /// The instructions that access the space: for loads, for stores, and whether they take `.E`.
    pub fn access_ops(&self, space: Space) -> Result<(Op, Op, bool), LowerError> {
        Ok(match space {
            Space::Global => (Op::LDG, Op::STG, true),
            Space::Generic => (Op::LD, Op::ST, true),
            Space::Shared => (Op::LDS, Op::STS, false),
            Space::Local | Space::FunctionParameter => (Op::LDL, Op::STL, false),
            other => return Err(self.unsupported(format!("an access of `.{}` memory", other.name()))),
        })
    }

    /// A shared variable of the cluster is accessed by its generic address.
    pub fn cluster_to_generic(&mut self, place: Place) -> Place {
        if place.space != Space::SharedCluster {
            return place;
        }
        let low = match place.base.first() {
            Some(&value) => Source::value(value),
            None => Source::rz(),
        };
        let high = self.b.r();
        self.b.s2r(high, oriole_sass::Symbol::SR_SWINHI);
        let low = self.value_of(low);
        Place {
            space: Space::Generic,
            base: Values::from_slice(&[low, high]),
            symbol: None,
            offset: place.offset,
        }
    }

    /// `ld` and `ldu`.
    pub fn load(&mut self, i: &Instruction) -> Lowered {
        let ty = self.ty(i, 0)?;
        let operand = self.operand(i, 1)?;
        let count = u32::from(i.vector.max(1));
        let bytes = ty.bytes() * count;
        let mut space = Self::accessed_space(i, bytes);
        let Operand::Address(address) = operand else { return Err(self.unsupported_form(i)) };
        if let AddressBase::Variable(variable) = address.base {
            space = self.body.variables[variable].space;
            if self.in_registers(variable) && self.parameter_memory(variable).is_none() {
                return self.load_parameter_words(i, variable, address.offset);
            }
        }
        if let AddressBase::Variable(variable) = address.base
            && self.in_registers(variable)
        {
            if self.reaches_beyond(variable, address.offset, bytes) {
                return match count {
                    1 => self.load_beyond(i),
                    _ => self.element_accesses(i, 0)?.iter().try_for_each(|single| self.load(single)),
                };
            }
            space = Space::Local;
        }
        match space {
            Space::Constant | Space::KernelParameter => return self.load_bank(i, address, space),
            // A pointer to a function parameter points into its frame.
            Space::FunctionParameter => space = Space::Local,
            _ => {}
        }
        let place = self.place(operand, space)?;
        let place = self.cluster_to_generic(place);
        let (op, _, extended) = self.access_ops(place.space)?;
        let narrow = ty.bits() < 32;
        let signed = ty.is_signed() && count == 1;
        let size = self.size_of_access(i, bytes, signed)?;
        let mut strength = self.strength(i);
        match place.space {
            Space::Global | Space::Generic => {}
            // Other spaces have no memory ordering; only the last-use hint applies to local memory.
            Space::Local => strength.mods.retain(|&m| m == Mod::LU),
            _ => strength.mods.clear(),
        }
        let elements = self.elements(self.operand(i, 0)?);
        if elements.len() != count as usize {
            return Err(self.unsupported_form(i));
        }
        let words = bytes.div_ceil(4) as usize;
        let whole = if narrow { if ty.is_signed() { Type::S32 } else { Type::U32 } } else { ty };
        // The loaded words are the results themselves where each is a register of just that size, once.
        let direct = (!narrow || count == 1).then(|| self.direct_words(&elements, whole)).flatten();
        let d: Words = match &direct {
            Some(words) => words.clone(),
            None => (0..words).map(|_| self.b.r()).collect(),
        };
        let memory = Self::memory_info(place.space, true, false, strength.ordered);
        let address = self.cached_operand(i, &place)?;
        let mut draft = self.b.op(op).m_if(extended, Mod::E).mods(&size).mods(&strength.mods);
        // Of two groups of registers the upper one comes first.
        let groups = if bytes == WIDEST { GROUP } else { words };
        for group in d.chunks(groups).rev() {
            draft = draft.to_tuple(group.to_vec());
        }
        draft.from(address).memory(memory).emit();
        if strength.acquire && matches!(place.space, Space::Global | Space::Generic) {
            self.invalidate();
        }
        if direct.is_some() {
            return Ok(());
        }
        let mut parts = Vec::new();
        for index in 0..u64::from(count) {
            if narrow && count > 1 {
                parts.push(self.extract(&d, index * u64::from(ty.bytes()), ty)?.into_iter().collect());
            } else {
                let each = ty.bits().div_ceil(32) as usize;
                let start = index as usize * each;
                parts.push(d[start..start + each].iter().map(|&v| Source::value(v)).collect());
            }
        }
        self.write_all(&elements, whole, parts)
    }

    /// The words of the elements, if each is a register of exactly this size and no word is repeated.
    pub fn direct_words(&mut self, elements: &[Operand], ty: Type) -> Option<Words> {
        let mut words = Words::new();
        for element in elements {
            let Operand::Register(id) = element else { return None };
            let declared = self.body.registers[*id].ty;
            let own = self.register(*id);
            if declared.bits() > ty.bits() || own.len() != ty.bits().div_ceil(32) as usize {
                return None;
            }
            if own.iter().any(|v| words.contains(v)) {
                return None;
            }
            words.extend(own);
        }
        Some(words)
    }

    /// A load of a constant bank: of a `.const` variable, or of a kernel parameter.
    fn load_bank(&mut self, i: &Instruction, address: &Address, space: Space) -> Lowered {
        let ty = self.ty(i, 0)?;
        let count = usize::from(i.vector.max(1));
        let elements = self.elements(self.operand(i, 0)?);
        if elements.len() != count {
            return Err(self.unsupported_form(i));
        }
        let (bank, start) = match space {
            Space::Constant => (3, 0),
            _ => (0, i64::from(self.bank.parameters_start(self.b.function().parameter_bytes))),
        };
        let mut index: Option<Value> = None;
        let mut base = ConstBase::Bank;
        let mut offset = address.offset + start;
        match address.base {
            AddressBase::Register(id) => index = Some(self.register(id)[0]),
            AddressBase::Variable(variable) => match self.body.variables[variable].kind {
                VariableKind::Parameter(number) if space == Space::KernelParameter => {
                    offset += i64::from(self.body.parameters[number as usize].offset);
                }
                _ => base = ConstBase::Variable(self.variable_symbol(variable)?),
            },
            AddressBase::Absolute => {}
        }
        if !(-0x8000..=0x7fff).contains(&offset) {
            let sum = self.b.r();
            let low = index.map_or_else(Source::rz, Source::value);
            self.add(sum, low, imm(offset as u32));
            index = Some(sum);
            offset = 0;
        }
        let at = |extra: i64| {
            let offset = (offset + extra) as i32;
            match index {
                Some(index) => SourceKind::ConstIndexed(Box::new(IndexedConst { bank, base, index, offset })),
                None => SourceKind::Const { bank, base, offset },
            }
        };
        let mut parts: Vec<SmallVec<[Source; 4]>> = Vec::new();
        let whole = if ty.bits() < 32 { if ty.is_signed() { Type::S32 } else { Type::U32 } } else { ty };
        if ty.bits() < 32 {
            for number in 0..count as i64 {
                let d = self.b.r();
                let size: &[Mod] = if ty.bits() == 8 { &[Mod::U8] } else { &[Mod::U16] };
                self.load_constant([d], size, at(number * i64::from(ty.bytes())));
                let extended = if ty.is_signed() { self.extend(d.into(), ty) } else { d.into() };
                parts.push(SmallVec::from_iter([extended]));
            }
            return self.write_all(&elements, whole, parts);
        }
        let each = ty.bits().div_ceil(32) as usize;
        let words = each * count;
        if let (1, Some(direct)) = (count, self.direct_words(&elements, ty))
            && each <= 2
        {
            let size: &[Mod] = if each == 2 { &[Mod::_64] } else { &[] };
            self.load_constant(direct, size, at(0));
            return Ok(());
        }
        let mut loaded = Vec::new();
        for number in (0..words).step_by(2) {
            // Vectors and wide elements are aligned to their size.
            let group = (words - number).min(2);
            let d: Words = (0..group).map(|_| self.b.r()).collect();
            let size: &[Mod] = if group == 2 { &[Mod::_64] } else { &[] };
            self.load_constant(d.clone(), size, at(4 * number as i64));
            loaded.extend(d);
        }
        for chunk in loaded.chunks(each) {
            parts.push(chunk.iter().map(|&v| Source::value(v)).collect());
        }
        self.write_all(&elements, whole, parts)
    }

    /// `st`.
    pub fn store(&mut self, i: &Instruction) -> Lowered {
        if i.modifiers.has(Word::MbarrierCompleteTxBytes) {
            return self.write_and_tell(i);
        }
        let ty = self.ty(i, 0)?;
        let operand = self.operand(i, 0)?;
        let count = u32::from(i.vector.max(1));
        let bytes = ty.bytes() * count;
        let mut space = Self::accessed_space(i, bytes);
        if let Operand::Address(Address { base: AddressBase::Variable(variable), offset }) = operand {
            space = self.body.variables[*variable].space;
            if self.in_registers(*variable) && self.parameter_memory(*variable).is_none() {
                return self.store_parameter_words(i, *variable, *offset);
            }
            if self.in_registers(*variable) && self.reaches_beyond(*variable, *offset, bytes) {
                return match count {
                    1 => Ok(()),
                    _ => self.element_accesses(i, 1)?.iter().try_for_each(|single| self.store(single)),
                };
            }
        }
        if space == Space::FunctionParameter {
            space = Space::Local;
        }
        let place = self.place(operand, space)?;
        let place = self.cluster_to_generic(place);
        let (_, op, extended) = self.access_ops(place.space)?;
        let size = self.size_of_access(i, bytes, false)?;
        let elements = self.elements(self.operand(i, 1)?);
        if elements.len() != count as usize {
            return Err(self.unsupported_form(i));
        }
        let mut words: Vec<Source> = Vec::new();
        if ty.bits() < 32 && count > 1 {
            let per_word = (32 / ty.bits()) as usize;
            for group in elements.chunks(per_word) {
                let parts = group.iter().map(|e| self.word(e, ty)).collect::<Result<Vec<_>, _>>()?;
                words.push(self.join(parts, ty.bits()));
            }
        } else {
            for element in &elements {
                words.extend(self.words(element, ty)?);
            }
        }
        let groups = if bytes == WIDEST { GROUP } else { words.len() };
        let values: Vec<Source> = words.chunks(groups).map(|group| self.tuple(group.to_vec())).collect();
        let mut strength = self.strength(i);
        let wide = matches!(place.space, Space::Global | Space::Generic);
        if !wide {
            strength.mods.clear();
        }
        if let Some(scope) = strength.release {
            self.fence(scope, false, false);
        }
        let memory = Self::memory_info(place.space, false, true, strength.ordered);
        let address = self.cached_operand(i, &place)?;
        self.b
            .op(op)
            .m_if(extended, Mod::E)
            .mods(&size)
            .mods(&strength.mods)
            .from(address)
            .from_all(values)
            .memory(memory)
            .emit();
        Ok(())
    }

    /// `prefetch`, `prefetchu`, `discard`, `applypriority`: operations on cache lines.
    pub fn cache_line(&mut self, i: &Instruction) -> Lowered {
        if i.modifiers.has(Word::Tensormap) {
            return self.prefetch_map(i);
        }
        let operation = match i.opcode {
            Opcode::Discard => Mod::RML2,
            Opcode::Applypriority => Mod::DML2,
            // The L1 cache is filled by the sector anyway.
            _ if i.modifiers.has(Word::L132B) => Mod::PF1,
            _ => match (i.modifiers.at(), i.modifiers.at()) {
                (Some(L2Priority::L2EvictLast), _) => Mod::PML2,
                (_, Some(CacheLevel::L1)) => Mod::PF1,
                (_, Some(CacheLevel::L2) | None) => Mod::PF2,
            },
        };
        let space = i.space.unwrap_or(Space::Generic);
        if space == Space::Local {
            // Local memory is cached on use; a prefetch does nothing.
            return Ok(());
        }
        if !matches!(space, Space::Global | Space::Generic) {
            return Err(self.unsupported_form(i));
        }
        let place = self.place(self.operand(i, 0)?, space)?;
        let place = whole_address(self, place);
        let address = self.memory_operand(&place, false);
        self.b
            .op(Op::CCTL)
            .m(Mod::E)
            .m(operation)
            .from(address)
            .memory(Self::memory_info(space, true, i.opcode == Opcode::Discard, true))
            .emit();
        Ok(())
    }
}
