//! Bulk copies, bulk tensor copies, tensor maps and cache policies.

use oriole_hir::{Instruction, Operand};
use oriole_ptx::word::{AllocationClass, CachePriority, Operation, TensorMapField};
use oriole_ptx::{Space, Type, Word};
use smallvec::{SmallVec, smallvec};

use super::operand::{format, kind};
use super::{Decode, FunctionDecoder};
use crate::step::{
    Action, AtomicOperation, BoxStep, BulkStep, FieldPart, FieldStep, PolicyStep, Signal, Source, Walk,
};
use crate::value::float::{FloatOperation, Mode};

impl FunctionDecoder<'_> {
    /// `cp.async.bulk` and `cp.reduce.async.bulk`. They are complete at once, so that a wait for a group only matters
    /// for the checks.
    pub(super) fn bulk(&self, instruction: &Instruction) -> Decode<Action> {
        let has = |word| instruction.modifiers.has(word);
        if let Some(order) = self.order_of_copies(instruction)? {
            return Ok(Action::Order(order));
        }
        if has(Word::Tensor) {
            return self.tensor_box(instruction);
        }
        if has(Word::Prefetch) {
            return Ok(Action::Nothing);
        }
        let combine = if has(Word::Reduce) {
            let ty = *instruction.types.first().ok_or("it has no type")?;
            Some((self.combination(instruction, ty)?, ty.bytes() as usize))
        } else {
            None
        };
        Ok(Action::Bulk(Box::new(BulkStep {
            to: self.location(instruction, 0, instruction.space)?,
            from: self.location(instruction, 1, instruction.second_space)?,
            size: self.source_at(instruction, 2, Type::U32)?,
            combine,
            mask: if has(Word::CpMask) {
                Some(self.source_at(instruction, instruction.operands.len() - 1, Type::U16)?)
            } else {
                None
            },
            signal: self.signal(instruction, if has(Word::IgnoreOob) { 5 } else { 3 }, 4)?,
        })))
    }

    /// `clusterlaunchcontrol`.
    pub(super) fn cluster_control(&self, instruction: &Instruction) -> Decode<Action> {
        let has = |word| instruction.modifiers.has(word);
        if has(Word::TryCancel) {
            return Ok(Action::TakeCluster {
                answer: self.location(instruction, 0, instruction.space)?,
                object: self.location(instruction, 1, Some(Space::Shared))?,
                everybody: has(Word::MulticastClusterAll),
            });
        }
        let Operand::Register(answer) = self.operand(instruction, 1)? else {
            return Err("its answer is in no register".into());
        };
        Ok(Action::TakenCluster {
            asked: instruction.modifiers.at().ok_or("it asks nothing")?,
            destinations: self.written(instruction, 0)?.into_iter().collect(),
            answer: self.wide_destination(*answer).map(|half| Source::Register(half.slot)),
        })
    }

    /// The operation of a reduction on elements of a type.
    fn combination(&self, instruction: &Instruction, ty: Type) -> Decode<AtomicOperation> {
        let operation = instruction.modifiers.at().ok_or("it names no operation")?;
        if let Some((format, packed)) = format(ty).filter(|_| ty.is_float()) {
            let operation = match operation {
                Operation::Add => FloatOperation::Add,
                Operation::Min => FloatOperation::Minimum,
                Operation::Max => FloatOperation::Maximum,
                _ => return Err("its type is not supported".into()),
            };
            return Ok(AtomicOperation::Float(operation, format, Mode::default(), packed));
        }
        Ok(match operation {
            Operation::Add => AtomicOperation::Add(kind(ty)),
            Operation::Min => AtomicOperation::Minimum(kind(ty)),
            Operation::Max => AtomicOperation::Maximum(kind(ty)),
            Operation::Inc => AtomicOperation::Increment,
            Operation::Dec => AtomicOperation::Decrement,
            Operation::And => AtomicOperation::And,
            Operation::Or => AtomicOperation::Or,
            Operation::Xor => AtomicOperation::Xor,
            Operation::Exch | Operation::Cas => return Err("it is no reduction".into()),
        })
    }

    /// The mbarrier of a copy, and the blocks that get one, if these operands are there.
    fn signal(&self, instruction: &Instruction, object: usize, blocks: usize) -> Decode<Signal> {
        let has = |word| instruction.modifiers.has(word);
        let mut signal = Signal::default();
        if has(Word::MbarrierCompleteTxBytes) {
            signal.object = Some(self.location(instruction, object, Some(Space::Shared))?);
        }
        if has(Word::MulticastCluster) || has(Word::MulticastCluster16b) {
            signal.blocks = Some(self.source_at(instruction, blocks, Type::U16)?);
        }
        signal.in_pairs = has(Word::CtaGroup2);
        Ok(signal)
    }

    fn tensor_box(&self, instruction: &Instruction) -> Decode<Action> {
        let has = |word| instruction.modifiers.has(word);
        let walk = match () {
            () if has(Word::Im2col) || has(Word::Im2colNoOffs) => Walk::Image,
            () if has(Word::Im2colW) => Walk::Line,
            () if has(Word::Im2colW128) => Walk::Parts,
            () if has(Word::TileGather4) || has(Word::TileScatter4) => Walk::Rows,
            () => Walk::Tile,
        };
        let window = has(Word::Im2col) || matches!(walk, Walk::Line | Walk::Parts);
        let prefetches = has(Word::Prefetch);
        let loads = !prefetches && instruction.space != Some(Space::Global);
        let (tensor, shared) = if loads { (1, 0) } else { (0, 1) };
        let Operand::List(parts) = self.operand(instruction, tensor)? else {
            return Err("it names no tensor".into());
        };
        let [map, coordinates] = parts.as_slice() else { return Err("it names no coordinates".into()) };
        let offsets = match (window, loads) {
            (false, _) => SmallVec::new(),
            (true, true) => self.each(self.operand(instruction, 3)?, Type::U16)?,
            (true, false) => self.each(self.operand(instruction, 1)?, Type::U16)?,
        };
        let shared =
            if prefetches { None } else { Some(self.location(instruction, shared, Some(Space::Shared))?) };
        let combine = if has(Word::Reduce) { Some(self.combination(instruction, Type::U32)?) } else { None };
        Ok(Action::Box(Box::new(BoxStep {
            map: self.source(map, Type::B64)?,
            coordinates: self.each(coordinates, Type::S32)?,
            offsets,
            walk,
            shared,
            loads,
            combine,
            signal: self.signal(instruction, 2, if window { 4 } else { 3 })?,
        })))
    }

    /// The elements of a vector, or a single one.
    fn each<A: smallvec::Array<Item = Source>>(&self, operand: &Operand, ty: Type) -> Decode<SmallVec<A>> {
        match operand {
            Operand::Vector(elements) => elements.iter().map(|element| self.source(element, ty)).collect(),
            single => self.source(single, ty).map(|source| std::iter::once(source).collect()),
        }
    }

    /// `tensormap.replace` and `tensormap.cp_fenceproxy`.
    pub(super) fn tensor_map(&self, instruction: &Instruction) -> Decode<Action> {
        if instruction.modifiers.has(Word::Query) {
            return Ok(Action::QueryMap {
                map: self.location(instruction, 1, instruction.space)?,
                bit: (0x08, LARGE),
                destination: self.destination_at(instruction, 0)?,
            });
        }
        let class = match instruction.modifiers.at() {
            Some(AllocationClass::AllocLarge) => Some(FieldPart { set: LARGE, ..word_of_map(0x08, LARGE) }),
            Some(AllocationClass::AllocSmall) => Some(word_of_map(0x08, LARGE)),
            Some(AllocationClass::AllocSame) | None => None,
        };
        if let (1, Some(part)) = (instruction.operands.len(), class.clone()) {
            let map = self.location(instruction, 0, instruction.space)?;
            let (parts, value) = (smallvec![part], Source::Immediate(0));
            return Ok(Action::ReplaceField(Box::new(FieldStep { map, parts, value })));
        }
        let Some(field) = instruction.modifiers.at::<TensorMapField>() else {
            let publish = |index, space| self.location(instruction, index, Some(space));
            return Ok(Action::PublishMap {
                to: publish(0, Space::Global)?,
                from: publish(1, Space::Shared)?,
            });
        };
        let last = instruction.operands.len() - 1;
        let ordinal = match last {
            1 => 0,
            _ => match self.source_at(instruction, 1, Type::U32)? {
                Source::Immediate(ordinal @ 0..=4) => ordinal,
                _ => return Err("its ordinal is no constant".into()),
            },
        };
        let ty = if matches!(field, TensorMapField::GlobalAddress | TensorMapField::GlobalStride) {
            Type::B64
        } else {
            Type::B32
        };
        let value = self.source_at(instruction, last, ty)?;
        let mut parts = parts_of_field(field, ordinal, value)?;
        parts.extend(class);
        let map = self.location(instruction, 0, instruction.space)?;
        Ok(Action::ReplaceField(Box::new(FieldStep { map, parts, value })))
    }

    /// `createpolicy`.
    pub(super) fn cache_policy(&self, instruction: &Instruction) -> Decode<Action> {
        let destination = self.destination_at(instruction, 0)?;
        if instruction.modifiers.has(Word::Cvt) {
            return Ok(Action::Moves(vec![(destination, self.source_at(instruction, 1, Type::B64)?)]));
        }
        let mut priorities = instruction.modifiers.iter().filter_map(|word| match word {
            Word::L2EvictLast => Some(CachePriority::L2EvictLast),
            Word::L2EvictNormal => Some(CachePriority::L2EvictNormal),
            Word::L2EvictFirst => Some(CachePriority::L2EvictFirst),
            Word::L2EvictUnchanged => Some(CachePriority::L2EvictUnchanged),
            _ => None,
        });
        let kind = match priorities.next().ok_or("it names no priority")? {
            CachePriority::L2EvictUnchanged => 0,
            CachePriority::L2EvictFirst => 0x20,
            CachePriority::L2EvictLast => 0x40,
            CachePriority::L2EvictNormal => 0x60,
        };
        let beside = if priorities.next() == Some(CachePriority::L2EvictFirst) { 0x10 } else { 0 };
        Ok(Action::Policy(Box::new(if instruction.modifiers.has(Word::Fractional) {
            PolicyStep::Fraction {
                destination,
                kind: 0x100 + kind + beside,
                fraction: match instruction.operands.len() {
                    1 => Source::Immediate(u64::from(1f32.to_bits())),
                    _ => self.source_at(instruction, 1, Type::F32)?,
                },
            }
        } else {
            PolicyStep::Range {
                destination,
                kind: 0x180 + kind + beside,
                start: self.location(instruction, 1, instruction.space)?,
                first: self.source_at(instruction, 2, Type::U32)?,
                total: self.source_at(instruction, 3, Type::U32)?,
            }
        })))
    }
}

/// The bit of a tensor map's third word that marks memory allocated in large pieces.
const LARGE: u64 = 1 << 21;

/// Bits of a word that are cleared.
fn word_of_map(offset: u64, mask: u64) -> FieldPart {
    FieldPart { offset, bytes: 4, mask, less: 0, from: 64, to: 0, set: 0 }
}

/// The bits of a tensor map that a field fills.
fn parts_of_field(field: TensorMapField, ordinal: u64, value: Source) -> Decode<SmallVec<[FieldPart; 2]>> {
    let word = |offset: u64, low: u64, bits: u64| FieldPart {
        offset,
        bytes: 4,
        mask: ((1 << bits) - 1) << low,
        less: 0,
        from: 0,
        to: low as u32,
        set: 0,
    };
    let less_one = |part: FieldPart| FieldPart { less: 1, ..part };
    Ok(match field {
        TensorMapField::GlobalAddress => {
            smallvec![FieldPart { bytes: 8, mask: u64::MAX, ..word(0, 0, 32) }]
        }
        TensorMapField::Rank => smallvec![word(0x08, 4, 3)],
        TensorMapField::InterleaveLayout => smallvec![word(0x08, 11, 2)],
        // A bit above belongs to the old mode and is cleared.
        TensorMapField::SwizzleMode if matches!(value, Source::Immediate(0..=3)) => {
            smallvec![FieldPart { mask: 0x40_6000, ..word(0x08, 13, 2) }]
        }
        TensorMapField::FillMode => smallvec![word(0x08, 15, 1)],
        TensorMapField::GlobalDim => smallvec![less_one(word(0x20 + 4 * ordinal, 0, 32))],
        TensorMapField::ElementStride => smallvec![less_one(word(0x34, 3 * ordinal, 3))],
        TensorMapField::BoxDim if ordinal == 0 => smallvec![less_one(word(0x34, 24, 8))],
        TensorMapField::BoxDim => smallvec![less_one(word(0x38, 8 * (ordinal - 1), 8))],
        TensorMapField::GlobalStride if ordinal < 4 => smallvec![
            FieldPart { from: 4, ..word(0x0c + 4 * ordinal, 0, 32) },
            FieldPart { from: 36, ..word(0x1c, 4 * ordinal, 4) },
        ],
        // No tensor has a fifth stride; ptxas's bits are written for it.
        TensorMapField::GlobalStride => {
            smallvec![FieldPart { from: 4, ..word(0x1c, 0, 32) }, FieldPart { from: 36, ..word(0x1c, 16, 4) },]
        }
        TensorMapField::Elemtype => match value {
            Source::Immediate(0..=10) => smallvec![word(0x08, 7, 4)],
            // The rounded types are f32 values with a mark.
            Source::Immediate(11 | 12) => {
                smallvec![FieldPart { mask: 0x780 | 1 << 16, less: 4, set: 1 << 16, ..word(0x08, 7, 4) }]
            }
            // Elements of fewer bits than a byte.
            Source::Immediate(13..=15) => smallvec![FieldPart { less: 2, ..word(0x08, 7, 4) }],
            _ => return Err("its element type is not supported".into()),
        },
        // The mode of 96 bytes is the bit above.
        TensorMapField::SwizzleMode if matches!(value, Source::Immediate(4)) => {
            smallvec![FieldPart { mask: 0x40_6000, ..word(0x08, 20, 2) }]
        }
        TensorMapField::SwizzleMode => return Err("its swizzle mode is no constant".into()),
        TensorMapField::SwizzleAtomicity => smallvec![word(0x08, 19, 3)],
    })
}
