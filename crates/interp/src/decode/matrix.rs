//! Instructions on matrices that a whole warp executes: `mma`, `ldmatrix`, `stmatrix`, `movmatrix`.

use oriole_hir::{Instruction, Operand};
use oriole_ptx::word::Rounding;
use oriole_ptx::{Opcode, Type, Word};
use rustc_apfloat::Round;

use super::{Decode, FunctionDecoder, Spellings, spelling};
use crate::matrix::{Element, Product, Role, Sum};
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
    let element = |ty: Type| {
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
    };
    let (a, b) = (element(a)?, element(b)?);
    Ok(Product { rows: shape.rows, columns: shape.columns, depth: shape.depth, a, b, sum })
}
