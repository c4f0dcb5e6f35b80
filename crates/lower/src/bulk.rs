//! Bulk copies and reductions: byte blocks and TMA tiles that a separate engine moves asynchronously.
//!
//! The operands of the engine are in consecutive uniform registers. Each copy is in a block of its own, so that
//! [`crate::leaders`] can build a waterfall loop where more than one lane may execute it.

use crate::context::{Lower, Lowered};
use crate::memory::{Place, scope_mod, whole_address};
use crate::operand::imm;
use crate::{LowerError, async_copy};
use oriole_hir::{Address, AddressBase, Immediate, Instruction, Operand};
use oriole_ori::{Address as OriAddress, File, MemoryInfo, Source, SourceKind, Value, Values};
use oriole_ptx::word::{Operation, Semantics, TakenCluster, TensorDimensions};
use oriole_ptx::{Opcode, Space, Type, Word};
use oriole_sass::{Mod, Op};

/// Sizes are in units of 2^SIZE_UNIT bytes, in a 16-bit field.
const SIZE_UNIT: u32 = 4;
const LOW_HALF: u32 = 0xffff;
/// Bits of the pixel count past a part of a line; the offset is above them.
const HALO_BITS: u32 = 11;
/// Zeros are in units of 2^ZEROS_UNIT bytes.
const ZEROS_UNIT: u32 = 3;

/// An instruction of the engine, before its operands are in uniform registers.
pub(crate) struct Bulk {
    /// Opcode and modifiers.
    pub op: Op,
    pub mods: Vec<Mod>,
    /// Operands in brackets: an address, and the operands that must follow it.
    pub brackets: Vec<Vec<Source>>,
    /// Size and mask, or offsets and mask.
    pub count: Option<Source>,
    /// The cache policy.
    pub policy: Option<[Source; 2]>,
}

/// Traversal of a TMA tile, if it is not dimension by dimension.
fn box_walk(i: &Instruction) -> Option<Mod> {
    let ways = [
        (Word::Im2col, Mod::IM2COL),
        (Word::Im2colNoOffs, Mod::IM2COL),
        (Word::Im2colW, Mod::W),
        (Word::Im2colW128, Mod::W128),
        (Word::TileGather4, Mod::GATHER4),
        (Word::TileScatter4, Mod::SCATTER4),
    ];
    ways.into_iter().find(|(word, _)| i.modifiers.has(*word)).map(|(_, walk)| walk)
}

/// True if several blocks get a copy, as a mask says.
fn several_blocks(i: &Instruction) -> bool {
    i.modifiers.has(Word::MulticastCluster) || i.modifiers.has(Word::MulticastCluster16b)
}

impl Lower<'_> {
    /// `cp.async.bulk` and `cp.reduce.async.bulk` in all their forms.
    pub fn bulk(&mut self, i: &Instruction) -> Lowered {
        let has = |word| i.modifiers.has(word);
        let behind = self.begin_region();
        if has(Word::CommitGroup) {
            self.b.op(Op::UTMACMDFLUSH).memory(MemoryInfo::EVERYTHING).emit();
        } else if has(Word::WaitGroup) {
            let Operand::Immediate(Immediate::Integer(left)) = *self.operand(i, 0)? else {
                return Err(self.unsupported_form(i));
            };
            self.wait_for_groups(async_copy::COPIES, left);
            // Data that only the engine reads again is not in the L1 cache either.
            if !has(Word::Read) && !has(Word::SyncRestrictProxyAsync) {
                // Data that the engine wrote is not in the L1 cache.
                self.invalidate();
            }
        } else if has(Word::Tensor) {
            self.copy_box(i)?;
        } else {
            self.copy_bytes(i)?;
        }
        self.end_region(behind);
        Ok(())
    }

    /// A byte block: copied, reduced into memory, or prefetched into L2.
    fn copy_bytes(&mut self, i: &Instruction) -> Lowered {
        let has = |word| i.modifiers.has(word);
        let masked = has(Word::CpMask);
        let policy = self.policy(i)?;
        if has(Word::Prefetch) {
            let source = self.global_address(self.operand(i, 0)?)?;
            let count = self.size(self.operand(i, 1)?, None)?;
            let (op, mods) = (Op::UBLKPF, vec![Mod::L2]);
            self.emit_bulk(Bulk { op, mods, brackets: vec![source], count: Some(count), policy });
            return Ok(());
        }
        let to_global = i.space == Some(Space::Global);
        let from_global = i.second_space == Some(Space::Global);
        let mut target = self.address_in(self.operand(i, 0)?, to_global)?;
        let source = self.address_in(self.operand(i, 1)?, from_global)?;
        if !to_global {
            // The operands before the mbarrier say how much of both ends may be out of bounds; the engine does not
            // get them.
            let object = if has(Word::IgnoreOob) { 5 } else { 3 };
            target.push(self.shared_address(self.operand(i, object)?)?);
        }
        let multicast = several_blocks(i);
        // Mask of blocks that get a copy, or of bytes of sixteen that are written.
        let mask = match (multicast, masked) {
            (true, _) => Some(self.operand(i, 4)?),
            (_, true) => Some(self.operand(i, i.operands.len().saturating_sub(1))?),
            _ => None,
        };
        let mask = mask.map(|mask| self.extended(mask, Type::U16)).transpose()?;
        let count = self.size(self.operand(i, 2)?, mask)?;
        let mut mods = vec![if to_global { Mod::G } else { Mod::S }];
        let op = if has(Word::Reduce) {
            mods.push(Mod::S_2);
            mods.extend(self.reduction_mods(i)?);
            Op::UBLKRED
        } else {
            mods.push(if from_global { Mod::G_2 } else { Mod::S_2 });
            mods.extend(multicast.then_some(Mod::MULTICAST));
            mods.extend(masked.then_some(Mod::DST_G_BYTE_MASK));
            Op::UBLKCP
        };
        mods.extend(self.strength_of_copy(i)?);
        self.emit_bulk(Bulk { op, mods, brackets: vec![target, source], count: Some(count), policy });
        Ok(())
    }

    /// Memory ordering of a copy. Reductions on multicast memory are visible to all devices.
    fn strength_of_copy(&self, i: &Instruction) -> Result<Vec<Mod>, LowerError> {
        if i.modifiers.at() == Some(Semantics::Relaxed) {
            let (scope, _) = scope_mod(i).ok_or_else(|| self.unsupported_form(i))?;
            return Ok(vec![Mod::STRONG, scope]);
        }
        let shared_by_devices = i.opcode == Opcode::Multimem && i.modifiers.has(Word::Reduce);
        Ok(if shared_by_devices { vec![Mod::STRONG, Mod::SYS] } else { Vec::new() })
    }

    /// Operation and type of a reduction.
    fn reduction_mods(&self, i: &Instruction) -> Result<Vec<Mod>, LowerError> {
        let mut mods = vec![self.reduction_operation(i)?];
        mods.extend_from_slice(match self.ty(i, 0)? {
            Type::B32 | Type::U32 => &[],
            Type::S32 => &[Mod::S32],
            Type::B64 | Type::U64 => &[Mod::U64],
            Type::S64 => &[Mod::S64],
            Type::F16 => &[Mod::F16, Mod::RN],
            Type::BF16 => &[Mod::BF16, Mod::RN],
            Type::F32 => &[Mod::F32, Mod::RN],
            Type::F64 => &[Mod::F64, Mod::RN],
            _ => return Err(self.unsupported_form(i)),
        });
        Ok(mods)
    }

    fn reduction_operation(&self, i: &Instruction) -> Result<Mod, LowerError> {
        Ok(match i.modifiers.at() {
            Some(Operation::Add) => Mod::ADD,
            Some(Operation::Min) => Mod::MIN,
            Some(Operation::Max) => Mod::MAX,
            Some(Operation::Inc) => Mod::INC,
            Some(Operation::Dec) => Mod::DEC,
            Some(Operation::And) => Mod::AND,
            Some(Operation::Or) => Mod::OR,
            Some(Operation::Xor) => Mod::XOR,
            Some(Operation::Exch | Operation::Cas) | None => return Err(self.unsupported_form(i)),
        })
    }

    /// A TMA tile: copied to or from shared memory, reduced into the tensor, or prefetched into L2.
    fn copy_box(&mut self, i: &Instruction) -> Lowered {
        let has = |word| i.modifiers.has(word);
        let dimensions = match i.modifiers.at() {
            Some(TensorDimensions::_1d) => Mod::_1D,
            Some(TensorDimensions::_2d) => Mod::_2D,
            Some(TensorDimensions::_3d) => Mod::_3D,
            Some(TensorDimensions::_4d) => Mod::_4D,
            Some(TensorDimensions::_5d) => Mod::_5D,
            None => return Err(self.unsupported_form(i)),
        };
        let policy = self.policy(i)?;
        let walk = box_walk(i);
        // Offsets in an image, or the halo of a line and the offset in it.
        let offsets = has(Word::Im2col) || matches!(walk, Some(Mod::W | Mod::W128));
        let prefetches = has(Word::Prefetch);
        let stores = i.space == Some(Space::Global) && !prefetches;
        // A load names its target first; the others name the tensor first.
        let (tensor, shared) = match (prefetches, stores) {
            (true, _) => (0, None),
            (_, true) => (0, Some(1)),
            _ => (1, Some(0)),
        };
        let Operand::List(parts) = self.operand(i, tensor)? else { return Err(self.unsupported_form(i)) };
        let [map, coordinates] = parts.as_slice() else { return Err(self.unsupported_form(i)) };
        let map = self.words(map, Type::B64)?.to_vec();
        let mut first: Vec<Source> = Vec::new();
        if let Some(at) = shared {
            first.push(self.shared_address(self.operand(i, at)?)?);
        }
        let mut next = tensor + 1;
        if !prefetches && !stores {
            first.push(self.shared_address(self.operand(i, 2)?)?);
            next = 3;
        }
        for coordinate in self.elements(coordinates) {
            first.push(self.word(&coordinate, Type::S32)?);
        }
        let window = match (offsets, walk) {
            (false, _) => None,
            (true, Some(Mod::IM2COL)) => Some(self.window_offsets(self.operand(i, next)?)?),
            (true, _) => Some(self.halo(self.operand(i, next)?)?),
        };
        let multicast = several_blocks(i);
        let mask = if multicast {
            Some(self.extended(self.operand(i, next + usize::from(offsets))?, Type::U16)?)
        } else {
            None
        };
        let count = match (window, mask) {
            (None, None) => None,
            (window, mask) => Some(self.halves(window.unwrap_or_else(Source::rz), mask)),
        };
        let mut mods: Vec<Mod> = vec![dimensions];
        mods.extend(walk);
        let op = if has(Word::Reduce) {
            mods.push(self.reduction_operation(i)?);
            Op::UTMAREDG
        } else if prefetches {
            mods.insert(0, Mod::L2);
            Op::UTMAPF
        } else if stores {
            Op::UTMASTG
        } else {
            mods.extend(multicast.then_some(Mod::MULTICAST));
            mods.extend(has(Word::CtaGroup2).then_some(Mod::_2CTA));
            Op::UTMALDG
        };
        self.emit_bulk(Bulk { op, mods, brackets: vec![first, map], count, policy });
        Ok(())
    }

    /// Offsets in an image, packed: one fills the 16 bits, two take a byte each, three take five bits each.
    fn window_offsets(&mut self, operand: &Operand) -> Result<Source, LowerError> {
        let elements = self.elements(operand);
        let (bits, mask) = match elements.len() {
            1 => (16, LOW_HALF),
            2 => (8, 0xff),
            _ => (5, 0x1f),
        };
        let mut packed = Source::rz();
        for (at, element) in (0..).zip(&elements) {
            let offset = self.extended(element, Type::U16)?;
            let field = self.field(offset, 0, mask, at * bits);
            packed = self.either(packed, field);
        }
        Ok(packed)
    }

    /// Pixel count past a part of a line, with the offset in it above.
    fn halo(&mut self, operand: &Operand) -> Result<Source, LowerError> {
        let elements = self.elements(operand);
        let [halo, offset] = elements.as_slice() else {
            return Err(self.unsupported("a window without halo and offset"));
        };
        let halo = self.extended(halo, Type::U16)?;
        let offset = self.extended(offset, Type::U16)?;
        let offset = self.field(offset, 0, LOW_HALF, HALO_BITS);
        Ok(self.either(halo, offset))
    }

    /// `st.bulk`: zeros in shared memory, counted in units of eight bytes.
    pub fn fill_shared(&mut self, i: &Instruction) -> Lowered {
        let behind = self.begin_region();
        let target = self.shared_address(self.operand(i, 0)?)?;
        let bytes = self.words(self.operand(i, 1)?, Type::U64)?;
        let units = match (&bytes[0].kind, &bytes[1].kind) {
            (SourceKind::Imm(bytes), _) => imm(bytes >> ZEROS_UNIT),
            (SourceKind::Zero(_), _) => Source::rz(),
            _ => {
                let [low, high] = [self.in_register(bytes[0].clone()), self.in_register(bytes[1].clone())];
                let units = self.b.r();
                self.b.shf(units, &[Mod::R, Mod::U64], low, imm(ZEROS_UNIT), high);
                units.into()
            }
        };
        let inside = self.b.new_block();
        self.run_into(inside);
        let uniform = self.uniform_words(&[target]);
        let address = OriAddress { uniform, ..OriAddress::default() };
        let address = Source::plain(SourceKind::Address(Box::new(address)));
        let zeros = Source::plain(SourceKind::Zero(File::UR));
        let count = Source::values(self.uniform_words(&[units]));
        let draft = self.b.op(Op::UMEMSETS).mods(&[Mod::_64]).from(address).from(zeros).from(count);
        draft.memory(MemoryInfo::EVERYTHING).emit();
        let out = self.b.new_block();
        self.run_into(out);
        self.end_region(behind);
        Ok(())
    }

    /// `clusterlaunchcontrol.try_cancel`: requests a cluster that has not started. The response goes to shared
    /// memory, of all blocks with `.multicast`, and completes on the mbarrier there.
    pub fn take_cluster(&mut self, i: &Instruction) -> Lowered {
        let behind = self.begin_region();
        let answer = self.shared_address(self.operand(i, 0)?)?;
        let object = self.shared_address(self.operand(i, 1)?)?;
        let everybody = i.modifiers.has(Word::MulticastClusterAll);
        let mods = vec![if everybody { Mod::BROADCAST } else { Mod::SELFCAST }];
        let brackets = vec![vec![answer, object]];
        self.emit_bulk(Bulk { op: Op::UGETNEXTWORKID, mods, brackets, count: None, policy: None });
        self.end_region(behind);
        Ok(())
    }

    /// `clusterlaunchcontrol.query_cancel`: decodes the response. Its third word says whether there is a cluster; the
    /// first is its position along x, the halves of the second those along y and z.
    pub fn taken_cluster(&mut self, i: &Instruction) -> Lowered {
        let words = self.words(self.operand(i, 1)?, Type::B128)?;
        let place = |l: &mut Self, axis: u32| match axis {
            0 => words[0].clone(),
            1 => l.field(words[1].clone(), 0, LOW_HALF, 0),
            _ => {
                let high = l.in_register(words[1].clone());
                let z = l.b.r();
                l.b.shr(z, high, LOW_HALF.count_ones());
                z.into()
            }
        };
        let axes: &[u32] = match i.modifiers.at() {
            Some(TakenCluster::IsCanceled) => {
                let Some(d) = self.result_predicate(self.operand(i, 0)?)? else { return Ok(()) };
                let bit = self.field(words[2].clone(), 0, 1, 0);
                self.b.isetp(d, Mod::NE, true, bit, Source::rz());
                return Ok(());
            }
            Some(TakenCluster::GetFirstCtaid) => &[0, 1, 2],
            Some(TakenCluster::GetFirstCtaidX) => &[0],
            Some(TakenCluster::GetFirstCtaidY) => &[1],
            Some(TakenCluster::GetFirstCtaidZ) => &[2],
            None => return Err(self.unsupported_form(i)),
        };
        let elements = self.elements(self.operand(i, 0)?);
        let mut parts: Vec<Source> = axes.iter().map(|&axis| place(self, axis)).collect();
        // The fourth element of a vector is zero.
        parts.resize(elements.len(), Source::rz());
        let parts = parts.into_iter().map(|part| std::iter::once(part).collect()).collect();
        self.write_all(&elements, Type::B32, parts)
    }

    /// The cache policy of an instruction that has one: its last operand apart from a byte mask.
    pub fn policy(&mut self, i: &Instruction) -> Result<Option<[Source; 2]>, LowerError> {
        if !i.modifiers.has(Word::L2CacheHint) {
            return Ok(None);
        }
        let behind = if i.modifiers.has(Word::CpMask) { 2 } else { 1 };
        let last = self.operand(i, i.operands.len().saturating_sub(behind))?;
        let words = self.words(last, Type::B64)?;
        Ok(Some([words[0].clone(), words[1].clone()]))
    }

    fn address_in(&mut self, operand: &Operand, global: bool) -> Result<Vec<Source>, LowerError> {
        if global { self.global_address(operand) } else { Ok(vec![self.shared_address(operand)?]) }
    }

    /// A global address as two words.
    fn global_address(&mut self, operand: &Operand) -> Result<Vec<Source>, LowerError> {
        let place = self.place(operand, Space::Global)?;
        let place = whole_address(self, place);
        Ok(place.base.iter().map(|&word| word.into()).collect())
    }

    /// A shared address as one word, with the rank of the block in its cluster.
    pub fn shared_address(&mut self, operand: &Operand) -> Result<Source, LowerError> {
        let Operand::Address(Address { base, offset }) = operand else {
            return Err(self.unsupported("a memory operand without brackets"));
        };
        match base {
            AddressBase::Variable(variable) => Ok(self.variable_address(*variable, *offset)?[0].into()),
            AddressBase::Absolute => Ok(imm(*offset as u32)),
            AddressBase::Register(id) => {
                let base = Source::value(self.register(*id)[0]);
                if *offset == 0 {
                    return Ok(base);
                }
                let sum = self.b.r();
                self.add(sum, base, imm(*offset as u32));
                Ok(sum.into())
            }
        }
    }

    /// The size in the units of the engine, with a mask above it.
    fn size(&mut self, operand: &Operand, mask: Option<Source>) -> Result<Source, LowerError> {
        let bytes = self.word(operand, Type::U32)?;
        let units = self.field(bytes, SIZE_UNIT, LOW_HALF, 0);
        Ok(self.halves(units, mask))
    }

    /// Packs two 16-bit halves into a word; a missing upper one is zero.
    fn halves(&mut self, low: Source, high: Option<Source>) -> Source {
        let Some(high) = high else { return low };
        let high = self.field(high, 0, LOW_HALF, 16);
        self.either(low, high)
    }

    /// `(word >> right & mask) << left`.
    fn field(&mut self, word: Source, right: u32, mask: u32, left: u32) -> Source {
        match word.kind {
            SourceKind::Imm(bits) => return imm((bits >> right & mask) << left),
            SourceKind::Zero(_) => return word,
            _ => {}
        }
        let mut word = word;
        if right != 0 {
            let shifted = self.b.r();
            self.b.shr(shifted, word, right);
            word = shifted.into();
        }
        let cut = self.b.r();
        self.b.and(cut, word, mask);
        if left == 0 {
            return cut.into();
        }
        let shifted = self.b.r();
        self.b.shl(shifted, cut, left);
        shifted.into()
    }

    fn either(&mut self, a: Source, b: Source) -> Source {
        match (&a.kind, &b.kind) {
            (SourceKind::Zero(_), _) => b,
            (_, SourceKind::Zero(_)) => a,
            (SourceKind::Imm(a), SourceKind::Imm(b)) => imm(a | b),
            _ => {
                let both = self.b.r();
                let (a, b) = if matches!(a.kind, SourceKind::Imm(_)) { (b, a) } else { (a, b) };
                self.b.or(both, a, b);
                both.into()
            }
        }
    }

    /// Uniform registers with these words, to be side by side.
    pub fn uniform_words(&mut self, words: &[Source]) -> Values {
        let copy = |l: &mut Self, word: &Source| -> Value {
            let uniform = l.b.temporary(File::UR);
            let zero = matches!(word.kind, SourceKind::Zero(_) | SourceKind::Imm(0));
            l.b.mov(uniform, if zero { Source::plain(SourceKind::Zero(File::UR)) } else { word.clone() });
            uniform
        };
        words.iter().map(|word| copy(self, word)).collect()
    }

    /// Emits the instruction in a block of its own.
    pub fn emit_bulk(&mut self, bulk: Bulk) {
        let inside = self.b.new_block();
        self.run_into(inside);
        let bracketed = |address: OriAddress| Source::plain(SourceKind::Address(Box::new(address)));
        let mut sources: Vec<Source> = Vec::new();
        for words in &bulk.brackets {
            let uniform = self.uniform_words(words);
            sources.push(bracketed(OriAddress { uniform, ..OriAddress::default() }));
        }
        if let Some(count) = bulk.count {
            sources.push(Source::values(self.uniform_words(&[count])));
        }
        if let Some(policy) = &bulk.policy {
            let descriptor = Some(self.uniform_words(policy).into_iter().collect());
            sources.push(bracketed(OriAddress { descriptor, ..OriAddress::default() }));
        }
        self.b.op(bulk.op).mods(&bulk.mods).from_all(sources).memory(MemoryInfo::EVERYTHING).emit();
        let behind = self.b.new_block();
        self.run_into(behind);
    }

    /// The address with a cache policy in place of the descriptor of global memory.
    pub fn with_policy(&mut self, mut address: Source, policy: Option<[Source; 2]>) -> Source {
        let Some(policy) = policy else { return address };
        let pair = self.uniform_words(&policy);
        if let SourceKind::Address(parts) = &mut address.kind {
            parts.descriptor = Some(pair.into_iter().collect());
            address.suffixes.insert(Mod::_64);
        }
        address
    }

    /// `prefetch.tensormap`: a tensor map into its cache.
    pub fn prefetch_map(&mut self, i: &Instruction) -> Lowered {
        let behind = self.begin_region();
        let space = i.space.unwrap_or(Space::Generic);
        let operand = self.operand(i, 0)?;
        let words: Vec<Source> = match space {
            Space::Constant | Space::KernelParameter => {
                let start = match space {
                    Space::Constant => self.window(self.bank.constant_window),
                    _ => self.parameter_bounds(i)?.start,
                };
                let offset = self.offset_in_bank(operand)?;
                let sum = self.b.pair();
                self.pseudo(oriole_ori::Pseudo::Add64, &[], sum, [start, offset]);
                sum.iter().map(|&word| word.into()).collect()
            }
            Space::Generic | Space::Global => {
                let place: Place = self.place(operand, space)?;
                whole_address(self, place).base.iter().map(|&word| word.into()).collect()
            }
            _ => return Err(self.unsupported_form(i)),
        };
        let (op, mods) = (Op::UTMACCTL, vec![Mod::PF]);
        self.emit_bulk(Bulk { op, mods, brackets: vec![words], count: None, policy: None });
        self.end_region(behind);
        Ok(())
    }

    /// `fence.proxy.tensormap` that acquires: the map is read again, after everything in flight.
    pub fn acquire_map(&mut self, i: &Instruction) -> Lowered {
        let behind = self.begin_region();
        let place = self.place(self.operand(i, 0)?, Space::Generic)?;
        let words = whole_address(self, place).base.iter().map(|&word| word.into()).collect();
        let (op, mods) = (Op::UTMACCTL, vec![Mod::IV]);
        self.emit_bulk(Bulk { op, mods, brackets: vec![words], count: None, policy: None });
        self.end_region(behind);
        Ok(())
    }

    /// An address in a constant bank as a pair: the offset of a variable in it, or the content of a register.
    fn offset_in_bank(&mut self, operand: &Operand) -> Result<Source, LowerError> {
        let Operand::Address(Address { base, offset }) = operand else {
            return Err(self.unsupported("a memory operand without brackets"));
        };
        match base {
            AddressBase::Variable(variable) => Ok(self.variable_address(*variable, *offset)?.into()),
            AddressBase::Absolute => Ok(self.tuple([imm(*offset as u32), Source::rz()])),
            AddressBase::Register(_) => {
                let place = self.place(operand, Space::Generic)?;
                Ok(Source::values(whole_address(self, place).base))
            }
        }
    }
}
