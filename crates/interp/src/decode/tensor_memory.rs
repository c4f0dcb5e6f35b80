//! `tcgen05`: tensor memory.

use oriole_hir::{Immediate, Instruction, Operand};
use oriole_machine_model::tensor_memory::{Copy, CopyShape, Form, Kind, Movement, Shape, Spread};
use oriole_ptx::{Type, Word};

use super::control::reduction;
use super::{Decode, FunctionDecoder, Spellings, spelling};
use crate::step::{
    Action, Location, MatrixOperation, MatrixStep, Signal, Source, TensorOperation, TensorProduct,
    TensorStep, TensorWarp,
};

/// The columns of tensor memory.
const ALL_COLUMNS: u64 = 512;

/// Participating blocks.
fn blocks(instruction: &Instruction) -> u32 {
    if instruction.modifiers.has(Word::CtaGroup2) { 2 } else { 1 }
}

/// The meaning of the first of some words that an instruction has.
fn named<T: std::marker::Copy>(instruction: &Instruction, rows: &[(Word, T)]) -> Option<T> {
    rows.iter().find(|row| instruction.modifiers.has(row.0)).map(|row| row.1)
}

const COUNTS: [(Word, u32); 8] = [
    (Word::X1, 1),
    (Word::X2, 2),
    (Word::X4, 4),
    (Word::X8, 8),
    (Word::X16, 16),
    (Word::X32, 32),
    (Word::X64, 64),
    (Word::X128, 128),
];

const KINDS: [(Word, Kind); 7] = [
    (Word::KindF16, Kind::F16),
    (Word::KindTf32, Kind::Tf32),
    (Word::KindF8f6f4, Kind::F8F6F4),
    (Word::KindI8, Kind::I8),
    (Word::KindMxf8f6f4, Kind::Mxf8f6f4),
    (Word::KindMxf4, Kind::Mxf4),
    (Word::KindMxf4nvf4, Kind::Mxf4Nvf4),
];

const COPIES: [(Word, CopyShape); 6] = [
    (Word::_128x256b, CopyShape::Lanes128Bits256),
    (Word::_128x128b, CopyShape::Lanes128Bits128),
    (Word::_4x256b, CopyShape::Lanes4Bits256),
    (Word::Warpx20213, CopyShape::Lanes64Warps02And13),
    (Word::Warpx20123, CopyShape::Lanes64Warps01And23),
    (Word::Warpx4, CopyShape::Lanes32EachWarp),
];

impl FunctionDecoder<'_> {
    /// One of them.
    pub(super) fn tensor_memory(
        &self,
        instruction: &Instruction,
        spellings: &mut Spellings,
    ) -> Decode<Action> {
        let has = |word| instruction.modifiers.has(word);
        let operation = if has(Word::Mma) {
            TensorOperation::Product(Box::new(self.tensor_product(instruction)?))
        } else if has(Word::Cp) {
            TensorOperation::Copy {
                copy: Copy {
                    shape: named(instruction, &COPIES).ok_or("it names no shape")?,
                    spread: named(
                        instruction,
                        &[(Word::B4x16P64, Spread::Four), (Word::B6x16P32, Spread::Six)],
                    ),
                },
                to: self.location(instruction, 0, None)?,
                from: self.source_at(instruction, 1, Type::U64)?,
            }
        } else if has(Word::Shift) {
            TensorOperation::Shift(self.location(instruction, 0, None)?)
        } else if has(Word::Commit) {
            TensorOperation::Commit(Signal {
                object: Some(self.location(instruction, 0, instruction.space)?),
                blocks: if has(Word::MulticastCluster) || has(Word::MulticastCluster16b) {
                    Some(self.source_at(instruction, 1, Type::U16)?)
                } else {
                    None
                },
                in_pairs: false,
            })
        } else if has(Word::FenceBeforeThreadSync) || has(Word::FenceAfterThreadSync) {
            return Ok(Action::Nothing);
        } else {
            return self.tensor_warp(instruction, spellings);
        };
        Ok(Action::Tensor(Box::new(TensorStep { blocks: blocks(instruction), operation })))
    }

    /// An operation of a warp.
    fn tensor_warp(&self, instruction: &Instruction, spellings: &mut Spellings) -> Decode<Action> {
        let has = |word| instruction.modifiers.has(word);
        let word =
            |index| -> Decode<Vec<Source>> { Ok(vec![self.source_at(instruction, index, Type::U32)?]) };
        // An exclusive allocation is one of all columns, whatever its operand.
        let columns =
            |index| if has(Word::Exclusive) { Ok(vec![Source::Immediate(ALL_COLUMNS)]) } else { word(index) };
        let (mut destinations, mut sources) = (Vec::new(), Vec::new());
        let operation = if has(Word::Alloc) {
            sources.push(columns(1)?);
            TensorWarp::Allocate(self.location(instruction, 0, instruction.space)?)
        } else if has(Word::Dealloc) {
            sources.extend([word(0)?, columns(1)?]);
            TensorWarp::Release
        } else if has(Word::RelinquishAllocPermit) {
            TensorWarp::GiveUp
        } else if has(Word::WaitLd) || has(Word::WaitSt) {
            TensorWarp::Wait { stores: has(Word::WaitSt) }
        } else if has(Word::Ld) {
            destinations = self.written(instruction, 0)?;
            let reduces = has(Word::Red);
            let address = if reduces { 2 } else { 1 };
            if reduces {
                destinations.push(self.destination_at(instruction, 1)?);
            }
            TensorWarp::Load(
                movement(instruction, address + 1)?,
                self.location(instruction, address, None)?,
                if reduces { Some(reduction(instruction)?) } else { None },
            )
        } else {
            let last = instruction.operands.len() - 1;
            sources.push(self.registers(instruction, last, Type::B32)?);
            TensorWarp::Store(movement(instruction, 1)?, self.location(instruction, 0, None)?)
        };
        let key = spellings.number(spelling(instruction));
        let operation = MatrixOperation::Tensor(operation);
        Ok(Action::Matrix(Box::new(MatrixStep { operation, key, destinations, sources })))
    }

    /// `tcgen05.mma`.
    fn tensor_product(&self, instruction: &Instruction) -> Decode<TensorProduct> {
        let has = |word| instruction.modifiers.has(word);
        let kind = named(instruction, &KINDS).ok_or("it names no kind")?;
        let form = Form {
            kind,
            blocks: blocks(instruction),
            weights_stay: has(Word::Ws),
            sparse: has(Word::Sp),
            shifted: has(Word::Ashift),
            scales: scales(instruction, kind),
        };
        let place = |index| -> Decode<Location> { self.location(instruction, index, None) };
        // After both factors: metadata, instruction descriptor, disabled lanes or scales, and whether to accumulate.
        let mut next = 3;
        let mut take = || {
            next += 1;
            next - 1
        };
        let metadata = if form.sparse { Some(place(take())?) } else { None };
        let description = self.source_at(instruction, take(), Type::U32)?;
        let scales = if kind.is_scaled() { Some([place(take())?, place(take())?]) } else { None };
        let at = take();
        let (kept_lanes, at) = match instruction.operands.get(at) {
            Some(Operand::Vector(_)) => (self.registers(instruction, at, Type::B32)?, take()),
            _ => (Vec::new(), at),
        };
        let adds = self.source_at(instruction, at, Type::Pred)?;
        let last = instruction.operands.get(at + 1);
        let (down, zero_columns) = match last {
            Some(operand) if form.weights_stay => (0, Some(self.source(operand, Type::U64)?)),
            Some(Operand::Immediate(Immediate::Integer(down))) => (*down as u32, None),
            Some(_) => return Err("the scale of the accumulators is not a constant".into()),
            None => (0, None),
        };
        Ok(TensorProduct {
            form,
            result: place(0)?,
            left: match self.operand(instruction, 1)? {
                Operand::Address(_) => Ok(place(1)?),
                descriptor => Err(self.source(descriptor, Type::U64)?),
            },
            right: self.source_at(instruction, 2, Type::U64)?,
            metadata,
            description,
            scales,
            kept_lanes,
            adds,
            down,
            zero_columns,
        })
    }
}

/// Scales of a row of a factor.
fn scales(instruction: &Instruction, kind: Kind) -> u32 {
    let named = named(instruction, &[(Word::ScaleVec4X, 4), (Word::Block16, 4)]);
    match kind {
        Kind::Mxf8f6f4 => 1,
        Kind::Mxf4 => 2,
        Kind::Mxf4Nvf4 => named.unwrap_or(2),
        _ => 0,
    }
}

/// The shape of a load or a store; a distance between halves is operand `distance`.
fn movement(instruction: &Instruction, distance: usize) -> Decode<Movement> {
    const SHAPES: [(Word, Shape); 4] = [
        (Word::_32x32b, Shape::Lanes32),
        (Word::_16x64b, Shape::Bits64),
        (Word::_16x128b, Shape::Bits128),
        (Word::_16x256b, Shape::Bits256),
    ];
    let shape = match (named(instruction, &SHAPES), instruction.operands.get(distance)) {
        (Some(shape), _) => shape,
        (None, Some(Operand::Immediate(Immediate::Integer(distance)))) => Shape::Split(*distance as u32),
        (None, _) => return Err("the distance between its halves is not a constant".into()),
    };
    Ok(Movement {
        shape,
        count: named(instruction, &COUNTS).ok_or("it names no count")?,
        packed: instruction.modifiers.has(Word::Pack16b) || instruction.modifiers.has(Word::Unpack16b),
    })
}
