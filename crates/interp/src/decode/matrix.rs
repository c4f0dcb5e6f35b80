//! Instructions on matrices that a whole warp executes: `mma`, `ldmatrix`, `stmatrix`, `movmatrix`, `wgmma`.

use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ptx::word::Rounding;
use oriole_ptx::{Opcode, Type, Word};
use rustc_apfloat::Round;

use super::{Decode, FunctionDecoder, Spellings, spelling};
use crate::matrix::{Element, GroupProduct, Product, Role, Sum};
use crate::step::{Action, Destination, MatrixOperation, MatrixStep, Source};

impl FunctionDecoder<'_> {
    /// One of them.
    pub(super) fn matrix(&self, instruction: &Instruction, spellings: &mut Spellings) -> Decode<Action> {
        let key = spellings.number(spelling(instruction));
        let transposed = instruction.modifiers.has(Word::Trans);
        let (operation, destination, sources) = match instruction.opcode {
            Opcode::Mma => {
                let product = product(instruction)?;
                let mut sources = Vec::new();
                for (role, index) in [(Role::A, 1), (Role::B, 2), (Role::C, 3)] {
                    let registers = self.registers(instruction, index)?;
                    if registers.len() as u32 != product.registers(role) {
                        return Err("its operands are not those of its shape".into());
                    }
                    sources.push(registers);
                }
                (MatrixOperation::Product(product), Some(0), sources)
            }
            Opcode::Wgmma => return self.warp_group(instruction, key),
            Opcode::Ldmatrix => {
                let row = self.location(instruction, 1, instruction.space)?;
                (MatrixOperation::Load { row, transposed }, Some(0), Vec::new())
            }
            Opcode::Stmatrix => {
                let row = self.location(instruction, 0, instruction.space)?;
                (MatrixOperation::Store { row, transposed }, None, vec![self.registers(instruction, 1)?])
            }
            _ => (MatrixOperation::Transpose, Some(0), vec![self.registers(instruction, 1)?]),
        };
        let destinations = match destination {
            Some(index) => self.written(instruction, index)?,
            None => Vec::new(),
        };
        Ok(Action::Matrix(Box::new(MatrixStep { operation, key, destinations, sources })))
    }

    /// What a warp group does with matrices.
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
            sources.push(self.registers(instruction, 0)?);
            sources.push(if product.left_in_registers {
                self.registers(instruction, 1)?
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

    /// The registers of a fragment that is read.
    fn registers(&self, instruction: &Instruction, index: usize) -> Decode<Vec<Source>> {
        let ty = instruction.types.last().copied().unwrap_or(Type::B32);
        let ty = if ty == Type::F64 { Type::F64 } else { Type::B32 };
        let operand = self.operand(instruction, index)?;
        operand.components().iter().map(|component: &Operand| self.source(component, ty)).collect()
    }

    /// The registers of a fragment that is written.
    fn written(&self, instruction: &Instruction, index: usize) -> Decode<Vec<Destination>> {
        let operand = self.operand(instruction, index)?;
        operand.components().iter().map(|component| self.destination(component)).collect()
    }
}

/// What a form of `mma` multiplies, and how.
fn product(instruction: &Instruction) -> Decode<Product> {
    let has = |word| instruction.modifiers.has(word);
    let shape = instruction.modifiers.matrix_shape().ok_or("it names no shape")?;
    let [d, a, b, c] = instruction.types[..] else { return Err("it does not have four types".into()) };
    if d != c {
        return Err("its sums have two types".into());
    }
    let saturates = has(Word::Satfinite);
    let sum = match d {
        Type::F16 => Sum::Float(true),
        Type::F32 => Sum::Float(false),
        Type::F64 => Sum::Double(match instruction.modifiers.at() {
            None | Some(Rounding::Rn) => Round::NearestTiesToEven,
            Some(Rounding::Rz) => Round::TowardZero,
            Some(Rounding::Rm) => Round::TowardNegative,
            Some(Rounding::Rp) => Round::TowardPositive,
            Some(Rounding::Rna) => return Err("its rounding is none of a double".into()),
        }),
        Type::S32 if a == Type::B1 => Sum::Bits(has(Word::Xor)),
        Type::S32 => Sum::Integer(saturates),
        _ => return Err("its sum has another type".into()),
    };
    let (a, b) = (element(a)?, element(b)?);
    Ok(Product { rows: shape.rows, columns: shape.columns, depth: shape.depth, a, b, sum })
}

/// What the elements of a factor are.
fn element(ty: Type) -> Decode<Element> {
    Ok(match ty {
        Type::F16 => Element::F16,
        Type::BF16 => Element::BF16,
        Type::TF32 => Element::TF32,
        Type::F64 => Element::F64,
        Type::E4M3 => Element::E4M3,
        Type::E5M2 => Element::E5M2,
        Type::S8 | Type::U8 | Type::S4 | Type::U4 => Element::Integer(ty.bits(), ty.is_signed()),
        Type::B1 => Element::Bit,
        _ => return Err(format!("its factors have the type {}", ty.name())),
    })
}

/// What a form of `wgmma.mma_async` multiplies, and how.
fn group_product(instruction: &Instruction) -> Decode<GroupProduct> {
    let has = |word| instruction.modifiers.has(word);
    let shape = instruction.modifiers.matrix_shape().ok_or("it names no shape")?;
    let [d, a, b] = instruction.types[..] else { return Err("it does not have three types".into()) };
    let sum = match d {
        Type::F16 => Sum::Float(true),
        Type::F32 => Sum::Float(false),
        Type::S32 if a == Type::B1 => Sum::Bits(false),
        Type::S32 => Sum::Integer(has(Word::Satfinite)),
        _ => return Err("its sum has another type".into()),
    };
    let number = |index: usize| match instruction.operands.get(index) {
        Some(Operand::Immediate(Immediate::Integer(number))) => Some(*number),
        _ => None,
    };
    let left_in_registers = matches!(instruction.operands.get(1), Some(Operand::Vector(_)));
    let sparse = has(Word::Sp);
    // Behind the predicate: both signs, then which factors lie the other way round.
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
