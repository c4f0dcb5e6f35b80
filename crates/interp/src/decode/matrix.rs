//! Instructions on matrices that a whole warp executes: `mma`, `wmma`, `ldmatrix`, `stmatrix`, `movmatrix`, `wgmma`.

use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ptx::word::{MatrixLayout, Position, Rounding, TensorNumbers};
use oriole_ptx::{MatrixShape, Opcode, Type, Word};
use rustc_apfloat::Round;

use super::{Decode, FunctionDecoder, Spellings, Unsupported, spelling};
use crate::matrix::{
    Element, GroupProduct, Move, Packed, Product, Quarters, Role, Scale, Scaling, Share, Sparsity, Sum, Tiled,
};
use crate::step::{Action, Destination, MatrixOperation, MatrixStep, SharePlace, Source};

/// An operation, the index of the operand that it writes, and the registers that it reads.
type Decoded = (MatrixOperation, Option<usize>, Vec<Vec<Source>>);

impl FunctionDecoder<'_> {
    /// One of them.
    pub(super) fn matrix(&self, instruction: &Instruction, spellings: &mut Spellings) -> Decode<Action> {
        let key = spellings.number(spelling(instruction));
        let (operation, destination, sources) = match instruction.opcode {
            Opcode::Mma => match quarters(instruction) {
                Some(quarters) => {
                    let sources = self.factors(instruction, Type::B32)?;
                    (MatrixOperation::Quarters(quarters), Some(0), sources)
                }
                None => self.product(instruction)?,
            },
            Opcode::Wmma => self.fragments(instruction)?,
            Opcode::Wgmma => return self.warp_group(instruction, key),
            Opcode::Ldmatrix => {
                let row = self.location(instruction, 1, instruction.space)?;
                let way = way_of_move(instruction);
                let packed = match instruction.modifiers.at() {
                    Some(TensorNumbers::B6x16P32) => Packed::Six,
                    Some(TensorNumbers::B4x16P64) => Packed::Four,
                    None => Packed::Whole,
                };
                (MatrixOperation::Load { row, way, packed }, Some(0), Vec::new())
            }
            Opcode::Stmatrix => {
                let row = self.location(instruction, 0, instruction.space)?;
                let values = self.registers(instruction, 1, Type::B32)?;
                (MatrixOperation::Store { row, way: way_of_move(instruction) }, None, vec![values])
            }
            _ => {
                let value = self.registers(instruction, 1, Type::B32)?;
                (MatrixOperation::Transpose, Some(0), vec![value])
            }
        };
        let destinations = match destination {
            Some(index) => self.written(instruction, index)?,
            None => Vec::new(),
        };
        Ok(Action::Matrix(Box::new(MatrixStep { operation, key, destinations, sources })))
    }

    /// `mma`.
    fn product(&self, instruction: &Instruction) -> Decode<Decoded> {
        let mut product = product(instruction)?;
        let sparse =
            instruction.modifiers.has(Word::Sp) || instruction.modifiers.has(Word::SpOrderedMetadata);
        if sparse {
            let Operand::Immediate(Immediate::Integer(selector)) = self.operand(instruction, 5)? else {
                return Err("its selector is no constant".into());
            };
            let selector = *selector as u32;
            let bits = if product.bytes { 8 } else { product.a.bits() };
            product.sparsity = Some(Sparsity { selector, bits, depth: product.depth });
        }
        let mut sources = self.factors(instruction, word_of(instruction))?;
        for (role, registers) in [Role::A, Role::B, Role::C].into_iter().zip(&sources) {
            if registers.len() as u32 != product.registers(role) {
                return Err("its operands are not those of its shape".into());
            }
        }
        if sparse {
            sources.push(self.registers(instruction, 4, Type::B32)?);
        }
        if product.scaling.is_some() {
            let first = if sparse { 6 } else { 4 };
            for (index, ty) in [Type::B32, Type::U16, Type::B32, Type::U16].into_iter().enumerate() {
                sources.push(self.registers(instruction, first + index, ty)?);
            }
        }
        Ok((MatrixOperation::Product(product), Some(0), sources))
    }

    /// `wmma`.
    fn fragments(&self, instruction: &Instruction) -> Decode<Decoded> {
        let has = |word| instruction.modifiers.has(word);
        let MatrixShape { rows, columns, depth } =
            instruction.modifiers.matrix_shape().ok_or("it names no shape")?;
        let shape = [rows, columns, depth];
        if has(Word::Mma) {
            let tiled = tiled(instruction, shape)?;
            let sources = self.factors(instruction, word_of(instruction))?;
            return Ok((MatrixOperation::Tiled(tiled), Some(0), sources));
        }
        let store = has(Word::Store);
        let role = match () {
            () if has(Word::A) => Role::A,
            () if has(Word::B) => Role::B,
            () => Role::C,
        };
        let [ty] = instruction.types[..] else { return Err("it does not have one type".into()) };
        // A `.tf32` is in memory as an f32.
        let share = Share { role, bits: if ty == Type::TF32 { 32 } else { ty.bits() }, shape };
        let start = self.location(instruction, usize::from(!store), instruction.space)?;
        let by_columns = layouts(instruction).first() == Some(&MatrixLayout::Col);
        let place = SharePlace { share, start, by_columns };
        let stride = match instruction.operands.get(2) {
            Some(stride) => vec![self.source(stride, Type::U32)?],
            None => Vec::new(),
        };
        if store {
            let values = self.registers(instruction, 1, word_of(instruction))?;
            return Ok((MatrixOperation::StoreShare(place), None, vec![values, stride]));
        }
        Ok((MatrixOperation::LoadShare(place), Some(0), vec![stride]))
    }

    /// An operation of a warp group on matrices.
    fn warp_group(&self, instruction: &Instruction, key: u32) -> Decode<Action> {
        let has = |word| instruction.modifiers.has(word);
        let (mut destinations, mut sources) = (Vec::new(), Vec::new());
        let operation = if has(Word::Fence) {
            MatrixOperation::GroupFence
        } else if has(Word::CommitGroup) {
            MatrixOperation::GroupCommit
        } else if has(Word::WaitGroup) {
            let Source::Immediate(left) = self.source_at(instruction, 0, Type::U64)? else {
                return Err("how many groups may be left is no constant".into());
            };
            MatrixOperation::GroupWait(left)
        } else {
            let product = group_product(instruction)?;
            let address =
                |index| -> Decode<Vec<Source>> { Ok(vec![self.source_at(instruction, index, Type::U64)?]) };
            destinations = self.written(instruction, 0)?;
            sources.push(self.registers(instruction, 0, Type::B32)?);
            sources.push(if product.left_in_registers {
                self.registers(instruction, 1, Type::B32)?
            } else {
                address(1)?
            });
            sources.push(address(2)?);
            let sparse = product.selector.is_some();
            sources.push(if sparse { vec![self.source_at(instruction, 3, Type::B32)?] } else { Vec::new() });
            sources.push(vec![self.source_at(instruction, if sparse { 5 } else { 3 }, Type::Pred)?]);
            MatrixOperation::GroupProduct(product)
        };
        Ok(Action::Matrix(Box::new(MatrixStep { operation, key, destinations, sources })))
    }

    /// The registers of `a`, `b` and `c`.
    fn factors(&self, instruction: &Instruction, word: Type) -> Decode<Vec<Vec<Source>>> {
        (1..4).map(|index| self.registers(instruction, index, word)).collect()
    }

    /// The registers of a fragment that is read.
    pub(super) fn registers(&self, instruction: &Instruction, index: usize, ty: Type) -> Decode<Vec<Source>> {
        let operand = self.operand(instruction, index)?;
        operand.components().iter().map(|component: &Operand| self.source(component, ty)).collect()
    }

    /// The registers of a fragment that is written.
    pub(super) fn written(&self, instruction: &Instruction, index: usize) -> Decode<Vec<Destination>> {
        let operand = self.operand(instruction, index)?;
        operand.components().iter().map(|component| self.destination(component)).collect()
    }
}

/// The register layout of the matrices of a move.
fn way_of_move(instruction: &Instruction) -> Move {
    let has = |word| instruction.modifiers.has(word);
    match () {
        () if has(Word::M16n16) => Move::Bytes,
        () if has(Word::M16n8) => Move::BytesInPairs,
        () if has(Word::M8n16) => Move::Words,
        () if has(Word::Trans) => Move::HalvesTransposed,
        () => Move::Halves,
    }
}

/// The type of a fragment's register.
fn word_of(instruction: &Instruction) -> Type {
    if instruction.types.last() == Some(&Type::F64) { Type::F64 } else { Type::B32 }
}

/// Layouts in the order written.
fn layouts(instruction: &Instruction) -> Vec<MatrixLayout> {
    let layout = |word| MatrixLayout::WORDS.iter().find(|row| row.0 == word).map(|row| row.1);
    instruction.modifiers.iter().filter_map(layout).collect()
}

/// The MMA of quarters of a warp, if it is one.
fn quarters(instruction: &Instruction) -> Option<Quarters> {
    let [d, Type::F16, Type::F16, c] = instruction.types[..] else { return None };
    let shape = instruction.modifiers.matrix_shape()?;
    let [a, b] = layouts(instruction)[..] else { return None };
    (shape.depth == 4 && shape.rows == 8).then_some(Quarters {
        a_columns: a == MatrixLayout::Col,
        b_columns: b == MatrixLayout::Col,
        half_in: c == Type::F16,
        half_out: d == Type::F16,
    })
}

/// The types of a form of `wmma.mma`. f16 factors are implicit.
fn tiled(instruction: &Instruction, shape: [u32; 3]) -> Decode<Tiled> {
    let (d, factor, c) = match instruction.types[..] {
        [d, c] => (d, Type::F16, c),
        [d, a, b, c] if a == b => (d, a, c),
        _ => return Err("its types are not those of a matrix multiply".into()),
    };
    let sum = |ty| sum(instruction, ty, factor);
    Ok(Tiled { shape, element: element(factor)?, old: sum(c)?, sum: sum(d)? })
}

/// The accumulation of factors of a type into another one.
fn sum(instruction: &Instruction, ty: Type, factor: Type) -> Decode<Sum> {
    let has = |word| instruction.modifiers.has(word);
    Ok(match ty {
        Type::F16 => Sum::Float(true),
        Type::F32 => Sum::Float(false),
        Type::F64 => Sum::Double(match instruction.modifiers.at() {
            None | Some(Rounding::Rn) => Round::NearestTiesToEven,
            Some(Rounding::Rz) => Round::TowardZero,
            Some(Rounding::Rm) => Round::TowardNegative,
            Some(Rounding::Rp) => Round::TowardPositive,
            Some(Rounding::Rna) => return Err("its rounding mode is not one of `f64`".into()),
        }),
        Type::S32 if factor == Type::B1 => Sum::Bits(has(Word::Xor)),
        Type::S32 => Sum::Integer(has(Word::Satfinite)),
        _ => return Err("its accumulator has another type".into()),
    })
}

/// The element type of a factor.
fn element(ty: Type) -> Decode<Element> {
    Ok(match ty {
        Type::F16 => Element::F16,
        Type::BF16 => Element::BF16,
        Type::TF32 => Element::TF32,
        Type::F64 => Element::F64,
        Type::E4M3 => Element::E4M3,
        Type::E5M2 => Element::E5M2,
        Type::E2M3 => Element::E2M3,
        Type::E3M2 => Element::E3M2,
        Type::E2M1 => Element::E2M1,
        Type::S8 | Type::U8 | Type::S4 | Type::U4 => Element::Integer(ty.bits(), ty.is_signed()),
        Type::B1 => Element::Bit,
        _ => return Err(Unsupported::Factors(ty.name())),
    })
}

/// The MMA of a form of `mma`.
fn product(instruction: &Instruction) -> Decode<Product> {
    let shape = instruction.modifiers.matrix_shape().ok_or("it names no shape")?;
    let [d, a, b, c, ref scale @ ..] = instruction.types[..] else {
        return Err("it does not have four types".into());
    };
    if d != c {
        return Err("its accumulators have two types".into());
    }
    let scaling = match scale {
        [] => None,
        [scale] => Some(scaling(instruction, *scale)?),
        _ => return Err("it has too many types".into()),
    };
    let sum = sum(instruction, d, a)?;
    // Where the other factor may have eight bits every element has a byte.
    let bytes =
        [Word::KindF8f6f4, Word::KindMxf8f6f4].into_iter().any(|kind| instruction.modifiers.has(kind));
    let (a, b) = (element(a)?, element(b)?);
    let MatrixShape { rows, columns, depth } = shape;
    Ok(Product { rows, columns, depth, a, b, sum, sparsity: None, bytes, scaling })
}

/// Number and type of the scale factors of a row.
fn scaling(instruction: &Instruction, scale: Type) -> Decode<Scaling> {
    let has = |word| instruction.modifiers.has(word);
    let factors = match () {
        () if has(Word::ScaleVec4X) => 4,
        () if has(Word::KindMxf8f6f4) => 1,
        () => 2,
    };
    let scale = match scale {
        Type::UE8M0 => Scale::UE8M0,
        Type::UE4M3 => Scale::UE4M3,
        _ => return Err("its scale factors have another type".into()),
    };
    Ok(Scaling { factors, scale })
}

/// The MMA of a form of `wgmma.mma_async`.
fn group_product(instruction: &Instruction) -> Decode<GroupProduct> {
    let has = |word| instruction.modifiers.has(word);
    let shape = instruction.modifiers.matrix_shape().ok_or("it names no shape")?;
    let [d, a, b] = instruction.types[..] else { return Err("it does not have three types".into()) };
    let sum = match d {
        Type::F16 => Sum::Float(true),
        Type::F32 => Sum::Float(false),
        Type::S32 if a == Type::B1 => Sum::Bits(false),
        Type::S32 => Sum::Integer(has(Word::Satfinite)),
        _ => return Err("its accumulator has another type".into()),
    };
    let number = |index: usize| match instruction.operands.get(index) {
        Some(Operand::Immediate(Immediate::Integer(number))) => Some(*number),
        _ => None,
    };
    let left_in_registers = matches!(instruction.operands.get(1), Some(Operand::Vector(_)));
    let sparse = has(Word::Sp);
    // After the predicate: both signs, then which factors are transposed.
    let signs = if sparse { 6 } else { 4 };
    let ways = signs + 2;
    let right_way = if left_in_registers { ways } else { ways + 1 };
    Ok(GroupProduct {
        columns: shape.columns,
        depth: shape.depth,
        a: element(a)?,
        b: element(b)?,
        sum,
        negated: (number(signs) == Some(-1)) != (number(signs + 1) == Some(-1)),
        transposed: [!left_in_registers && number(ways) == Some(1), number(right_way) == Some(1)],
        selector: if sparse { number(4).map(|selector| selector as u32) } else { None },
        left_in_registers,
    })
}
