//! Arithmetic, logic, comparison and selection instructions.

mod video;

use super::conversion::few;
use super::modifiers::{first_type, last_type, mode};
use super::operand::{SINK, format, half_kind, kind};
use super::{Decode, FunctionDecoder, NONE};
use crate::step::{Action, CarryOperation, Destination, Source};
use crate::value::approximate::Function;
use crate::value::compare::{Combine, Comparison};
use crate::value::convert::Few;
use crate::value::float::{FloatOperation, Property};
use crate::value::integer::{IntegerOperation as I, Kind, Part, PermuteMode};
use crate::value::soft::{Eighth, Format};
use crate::value::{FourNarrow, Operation};
use oriole_hir::{Instruction, Operand};
use oriole_ptx::{Opcode, Type, Word, word};

impl FunctionDecoder<'_> {
    /// A pure operation whose operands after the first have these types.
    fn compute(&self, instruction: &Instruction, operation: Operation, types: &[Type]) -> Decode<Action> {
        let mut sources = [NONE; 4];
        for (index, ty) in types.iter().enumerate() {
            sources[index] = self.source_at(instruction, index + 1, *ty)?;
        }
        Ok(Action::Compute { operation, destination: self.destination_at(instruction, 0)?, sources })
    }

    pub(super) fn arithmetic(&self, instruction: &Instruction) -> Decode<Action> {
        use Opcode::*;
        match instruction.opcode {
            Setp => self.set_predicate(instruction),
            Set => self.set(instruction),
            Lop3 => self.logic3(instruction),
            Selp => {
                let ty = last_type(instruction)?;
                self.compute(instruction, Operation::Select, &[ty, ty, Type::Pred])
            }
            Slct => {
                let (ty, selector) = (first_type(instruction)?, last_type(instruction)?);
                let operation = if selector == Type::F32 {
                    Operation::SelectFloat(instruction.modifiers.has(Word::Ftz))
                } else {
                    Operation::SelectSign
                };
                self.compute(instruction, operation, &[ty, ty, selector])
            }
            Testp => {
                let ty = last_type(instruction)?;
                let property = instruction.modifiers.at().map(Property::of).ok_or("it names no property")?;
                let (format, _) = format(ty).ok_or("its type is not a float")?;
                self.compute(instruction, Operation::Test(property, format), &[ty])
            }
            And | Or | Xor | Not if last_type(instruction)? == Type::Pred => {
                self.predicate_logic(instruction)
            }
            Vadd | Vadd2 | Vadd4 | Vsub | Vsub2 | Vsub4 | Vabsdiff | Vabsdiff2 | Vabsdiff4 | Vmin | Vmin2
            | Vmin4 | Vmax | Vmax2 | Vmax4 | Vavrg2 | Vavrg4 | Vshl | Vshr | Vset | Vset2 | Vset4 | Vmad => {
                self.video(instruction)
            }
            Add | Sub | Mul | Fma if matches!(first_type(instruction)?, Type::E4M3x4 | Type::E5M2x4) => {
                self.four_narrow(instruction)
            }
            Addc | Subc | Madc => self.carry(instruction),
            Add | Sub | Mad if instruction.modifiers.has(Word::Cc) => self.carry(instruction),
            _ => {
                let ty = last_type(instruction)?;
                match format(ty) {
                    Some((format, false)) if first_type(instruction)? == Type::F32 && ty != Type::F32 => {
                        self.mixed_singles(instruction, ty, format)
                    }
                    Some((format, packed)) => self.float(instruction, ty, format, packed),
                    None if matches!(ty, Type::U16x2 | Type::S16x2) => {
                        let operation = integer_operation(instruction)?;
                        let types = [ty; 3];
                        self.compute(
                            instruction,
                            Operation::IntegerHalves(operation, half_kind(ty)),
                            &types[..instruction.operands.len().saturating_sub(1).min(3)],
                        )
                    }
                    None if matches!(ty, Type::U8x4 | Type::S8x4) => {
                        let operation = integer_operation(instruction)?;
                        let kind = Kind { bits: 8, signed: ty.is_signed() };
                        let operands = instruction.operands.len().saturating_sub(1).min(2);
                        self.compute(
                            instruction,
                            Operation::IntegerBytes(operation, kind),
                            &[ty; 2][..operands],
                        )
                    }
                    None if ty == Type::F32x2 => self.single_pairs(instruction),
                    None if ty.is_float() => Err("this type is not supported".into()),
                    None => self.integer(instruction, ty),
                }
            }
        }
    }

    fn integer(&self, instruction: &Instruction, ty: Type) -> Decode<Action> {
        use Opcode::*;
        let operation = integer_operation(instruction)?;
        let wide = match ty.bits() {
            8 => Type::B16,
            16 => Type::B32,
            _ => Type::B64,
        };
        // Amounts, positions and lengths are 32 bits whatever the type of the instruction.
        let types: &[Type] = match (instruction.opcode, operation) {
            (Shl | Shr, _) => &[ty, Type::B32],
            (Bfe, _) => &[ty, Type::B32, Type::B32],
            (Bfi, _) => &[ty, ty, Type::B32, Type::B32],
            (Mad, I::MultiplyAdd(Part::Wide)) => &[ty, ty, wide],
            (Bmsk | Szext, _) => &[ty, Type::B32],
            (Fns, _) => &[Type::B32; 3],
            (Dp2a | Dp4a, _) => &[Type::B32; 3],
            (Abs | Neg | Not | Cnot | Clz | Popc | Brev | Bfind, _) => &[ty],
            (Mad | Mad24 | Sad | Shf | Prmt | Clmad, _) => &[ty, ty, ty],
            _ => &[ty, ty],
        };
        self.compute(instruction, Operation::Integer(operation, kind(ty)), types)
    }

    fn float(&self, instruction: &Instruction, ty: Type, format: Format, packed: bool) -> Decode<Action> {
        use Opcode::*;
        let mode = mode(instruction);
        let has = |word| instruction.modifiers.has(word);
        let approximate = has(Word::Approx) || has(Word::Full);
        let (operation, operands) = match instruction.opcode {
            Add => (FloatOperation::Add, 2),
            Sub => (FloatOperation::Subtract, 2),
            Mul => (FloatOperation::Multiply, 2),
            Fma | Mad => (FloatOperation::MultiplyAdd, 3),
            // The exact quotient satisfies every error bound of the approximate forms.
            Div => (FloatOperation::Divide, 2),
            Min => (FloatOperation::Minimum, 2),
            Max => (FloatOperation::Maximum, 2),
            Abs => (FloatOperation::Absolute, 1),
            Neg => (FloatOperation::Negate, 1),
            Copysign => (FloatOperation::CopySign, 2),
            Rcp if !approximate => (FloatOperation::Reciprocal, 1),
            Sqrt if !approximate => (FloatOperation::SquareRoot, 1),
            Rcp | Sqrt | Rsqrt | Sin | Cos | Lg2 | Ex2 | Tanh => {
                let rough = format == Format::F64 && mode.flush;
                let function = match instruction.opcode {
                    Rcp if rough => Function::ReciprocalRough,
                    Rcp => Function::Reciprocal,
                    Sqrt => Function::SquareRoot,
                    Rsqrt if rough => Function::ReciprocalSquareRootRough,
                    Rsqrt => Function::ReciprocalSquareRoot,
                    Sin if has(Word::_2pi) => Function::SineOfTurns,
                    Cos if has(Word::_2pi) => Function::CosineOfTurns,
                    Sin => Function::Sine,
                    Cos => Function::Cosine,
                    Lg2 => Function::Logarithm2,
                    Ex2 => Function::Exponential2,
                    _ => Function::HyperbolicTangent,
                };
                let operation = Operation::Approximate(function, format, mode.flush, packed);
                return self.compute(instruction, operation, &[ty]);
            }
            _ => return Err("it is not supported".into()),
        };
        let of_three = matches!(operation, FloatOperation::Minimum | FloatOperation::Maximum)
            && instruction.operands.len() == 4;
        if of_three {
            return self.compute(
                instruction,
                Operation::FloatOfThree(operation, mode, has(Word::Abs)),
                &[ty; 3],
            );
        }
        if instruction.operands.len() != operands + 1 {
            return Err("this count of operands is not supported".into());
        }
        self.compute(instruction, Operation::Float(operation, format, mode, packed), &[ty; 3][..operands])
    }

    /// `add`, `sub`, `fma` of f32 whose first operands are f16 or bf16.
    fn mixed_singles(&self, instruction: &Instruction, ty: Type, format: Format) -> Decode<Action> {
        let (operation, types): (_, &[Type]) = match instruction.opcode {
            Opcode::Add => (FloatOperation::Add, &[ty, Type::F32]),
            Opcode::Sub => (FloatOperation::Subtract, &[ty, Type::F32]),
            Opcode::Fma => (FloatOperation::MultiplyAdd, &[ty, ty, Type::F32]),
            _ => return Err("it is not supported".into()),
        };
        self.compute(instruction, Operation::FloatMixed(operation, format, mode(instruction)), types)
    }

    /// Four FP8 or narrower values in one operand.
    fn four_narrow(&self, instruction: &Instruction) -> Decode<Action> {
        let to = first_type(instruction)?;
        let factor = |index: usize| -> Decode<(Type, Few)> {
            let ty = *instruction.types.get(index).ok_or("it lacks a type")?;
            Ok((ty, few(ty).ok_or("its type is not supported")?))
        };
        let first = factor(1)?;
        let (operation, second, types) = match instruction.opcode {
            Opcode::Add => (FloatOperation::Add, first, vec![first.0, to]),
            Opcode::Sub => (FloatOperation::Subtract, first, vec![first.0, to]),
            Opcode::Mul => (FloatOperation::Multiply, factor(2)?, vec![first.0, factor(2)?.0]),
            _ => (FloatOperation::MultiplyAdd, factor(2)?, vec![first.0, factor(2)?.0, to]),
        };
        let to = if to == Type::E4M3x4 { Eighth::E4M3 } else { Eighth::E5M2 };
        let finite = instruction.modifiers.has(Word::Satfinite);
        let four = FourNarrow { operation, to, factors: [first.1, second.1], finite };
        self.compute(instruction, Operation::FourNarrow(four), &types)
    }

    /// Two f32 values in one operand.
    fn single_pairs(&self, instruction: &Instruction) -> Decode<Action> {
        let (operation, operands) = match instruction.opcode {
            Opcode::Add => (FloatOperation::Add, 2),
            Opcode::Sub => (FloatOperation::Subtract, 2),
            Opcode::Mul => (FloatOperation::Multiply, 2),
            Opcode::Fma => (FloatOperation::MultiplyAdd, 3),
            _ => return Err("it is not supported".into()),
        };
        let types = [Type::F32x2; 3];
        self.compute(instruction, Operation::FloatPair(operation, mode(instruction)), &types[..operands])
    }

    fn predicate_logic(&self, instruction: &Instruction) -> Decode<Action> {
        let operation = match instruction.opcode {
            Opcode::And => I::And,
            Opcode::Or => I::Or,
            Opcode::Xor => I::Xor,
            _ => I::IsZero,
        };
        let operands = if operation == I::IsZero { 1 } else { 2 };
        let kind = Kind { bits: 1, signed: false };
        self.compute(instruction, Operation::Integer(operation, kind), &[Type::Pred; 2][..operands])
    }

    fn carry(&self, instruction: &Instruction) -> Decode<Action> {
        use Opcode::*;
        let ty = last_type(instruction)?;
        let operation = match instruction.opcode {
            Add | Addc => CarryOperation::Add,
            Sub | Subc => CarryOperation::Subtract,
            _ => CarryOperation::MultiplyAdd(part(instruction)?, instruction.modifiers.has(Word::Sat)),
        };
        let mut sources = [NONE; 3];
        let count = if matches!(operation, CarryOperation::MultiplyAdd(..)) { 3 } else { 2 };
        for (index, source) in sources.iter_mut().enumerate().take(count) {
            *source = self.source_at(instruction, index + 1, ty)?;
        }
        Ok(Action::Carry {
            operation,
            kind: kind(ty),
            read: matches!(instruction.opcode, Addc | Subc | Madc),
            write: instruction.modifiers.has(Word::Cc),
            destination: self.destination_at(instruction, 0)?,
            sources,
        })
    }

    fn comparison(&self, instruction: &Instruction) -> Decode<(Comparison, Combine, bool)> {
        let ty = last_type(instruction)?;
        let (order, unordered) =
            instruction.modifiers.at().map(Comparison::of).ok_or("it names no comparison")?;
        let combine = match instruction.modifiers.at() {
            Some(word::Combine::And) => Combine::And,
            Some(word::Combine::Or) => Combine::Or,
            Some(word::Combine::Xor) => Combine::Xor,
            None => Combine::None,
        };
        let flush = instruction.modifiers.has(Word::Ftz);
        let (comparison, halves) = match format(ty) {
            Some((format, packed)) => {
                // For NaN operands every ordered relation is false; `ne` is ordered too.
                (Comparison::Float(order, format, unordered, flush), packed)
            }
            None => (Comparison::Integer(order, kind(ty)), false),
        };
        Ok((comparison, combine, halves))
    }

    fn set_predicate(&self, instruction: &Instruction) -> Decode<Action> {
        let ty = last_type(instruction)?;
        let (comparison, combine, halves) = self.comparison(instruction)?;
        let further = match combine {
            Combine::None => NONE,
            _ => self.source_at(instruction, 3, Type::Pred)?,
        };
        Ok(Action::Compare {
            comparison,
            combine,
            halves,
            destinations: self.destination_pair(instruction, 0)?,
            sources: [self.source_at(instruction, 1, ty)?, self.source_at(instruction, 2, ty)?, further],
        })
    }

    fn set(&self, instruction: &Instruction) -> Decode<Action> {
        let (result, ty) = (first_type(instruction)?, last_type(instruction)?);
        let (comparison, combine, halves) = self.comparison(instruction)?;
        let types = [ty, ty, Type::Pred];
        let types = if combine == Combine::None { &types[..2] } else { &types[..] };
        let operation = match format(result) {
            Some((format, true)) => Operation::SetHalves { comparison, combine, truth: format.one() },
            Some((format, false)) => Operation::Set { comparison, combine, truth: format.one() },
            None if halves => Operation::SetHalves { comparison, combine, truth: 0xffff },
            None => Operation::Set { comparison, combine, truth: u64::MAX },
        };
        self.compute(instruction, operation, types)
    }

    fn logic3(&self, instruction: &Instruction) -> Decode<Action> {
        let Some(Source::Immediate(table)) = self.source_at(instruction, 4, Type::B32).ok() else {
            return Err("its truth table is no constant".into());
        };
        let table = table as u8;
        let combine = match instruction.modifiers.at() {
            Some(word::Combine::And) => Combine::And,
            Some(word::Combine::Or) => Combine::Or,
            Some(word::Combine::Xor) => Combine::Xor,
            None => {
                let kind = Kind { bits: 32, signed: false };
                return self.compute(
                    instruction,
                    Operation::Integer(I::Logic3(table), kind),
                    &[Type::B32; 3],
                );
            }
        };
        let [a, b, c] = [1, 2, 3].map(|index| self.source_at(instruction, index, Type::B32));
        Ok(Action::LogicPredicate {
            table,
            combine,
            destinations: self.destination_pair(instruction, 0)?,
            sources: [a?, b?, c?, self.source_at(instruction, 5, Type::Pred)?],
        })
    }

    pub(super) fn move_value(&self, instruction: &Instruction) -> Decode<Action> {
        let ty = last_type(instruction)?;
        let (target, value) = (self.operand(instruction, 0)?, self.operand(instruction, 1)?);
        if ty == Type::B128 {
            return self.move_wide(target, value);
        }
        match (target, value) {
            (Operand::Vector(parts), Operand::Vector(values)) => {
                let pairs = parts
                    .iter()
                    .zip(values)
                    .map(|(part, value)| Ok((self.destination(part)?, self.source(value, ty)?)));
                Ok(Action::Moves(pairs.collect::<Decode<_>>()?))
            }
            (Operand::Vector(parts), value) => Ok(Action::Split {
                bits: ty.bits() / parts.len().max(1) as u32,
                destinations: parts.iter().map(|part| self.destination(part)).collect::<Decode<_>>()?,
                source: self.source(value, ty)?,
            }),
            (target, Operand::Vector(values)) => {
                if values.len() > 4 {
                    return Err("more than four parts".into());
                }
                let bits = ty.bits() / values.len().max(1) as u32;
                let mut sources = [NONE; 4];
                for (source, value) in sources.iter_mut().zip(values) {
                    *source = self.source(value, part_type(bits))?;
                }
                Ok(Action::Compute {
                    operation: Operation::Pack(bits),
                    destination: self.destination(target)?,
                    sources,
                })
            }
            _ => self.compute(instruction, Operation::Copy, &[ty]),
        }
    }

    fn move_wide(&self, target: &Operand, value: &Operand) -> Decode<Action> {
        let sources: Vec<Source> = match value {
            Operand::Register(register) => {
                self.wide_destination(*register).iter().map(|half| Source::Register(half.slot)).collect()
            }
            Operand::Vector(values) if values.len() == 2 => {
                values.iter().map(|value| self.source(value, Type::B64)).collect::<Decode<_>>()?
            }
            Operand::Immediate(_) => vec![self.source(value, Type::B64)?, Source::Immediate(0)],
            _ => return Err("this form of a 128-bit move is not supported".into()),
        };
        let destinations: Vec<Destination> = match target {
            Operand::Register(register) => self.wide_destination(*register).to_vec(),
            Operand::Vector(parts) if parts.len() == 2 => {
                parts.iter().map(|part| self.destination(part)).collect::<Decode<_>>()?
            }
            Operand::Sink => vec![SINK; 2],
            _ => return Err("this form of a 128-bit move is not supported".into()),
        };
        Ok(Action::Moves(destinations.into_iter().zip(sources).collect()))
    }
}

fn part_type(bits: u32) -> Type {
    match bits {
        8 => Type::B8,
        16 => Type::B16,
        32 => Type::B32,
        _ => Type::B64,
    }
}

/// The selected part of a product.
fn part(instruction: &Instruction) -> Decode<Part> {
    match instruction.modifiers.at() {
        Some(word::Part::Lo) => Ok(Part::Low),
        Some(word::Part::Hi) => Ok(Part::High),
        Some(word::Part::Wide) => Ok(Part::Wide),
        None => Err("it selects no half of the result".into()),
    }
}

fn integer_operation(instruction: &Instruction) -> Decode<I> {
    use Opcode::*;
    let has = |word| instruction.modifiers.has(word);
    let saturate = has(Word::Sat);
    let clamp = has(Word::Clamp);
    Ok(match instruction.opcode {
        Add if saturate => I::AddSaturate,
        Add => I::Add,
        Sub if saturate => I::SubtractSaturate,
        Sub => I::Subtract,
        Mul => I::Multiply(part(instruction)?),
        Mad if saturate => I::MultiplyAddSaturate,
        Mad => I::MultiplyAdd(part(instruction)?),
        Mul24 => I::Multiply24(part(instruction)?),
        Clmad => I::CarrylessMultiplyAdd(has(Word::Hi)),
        Mad24 if saturate => I::MultiplyAdd24Saturate,
        Mad24 => I::MultiplyAdd24(part(instruction)?),
        Div => I::Divide,
        Rem => I::Remainder,
        Abs => I::Absolute,
        Neg => I::Negate,
        Min if has(Word::Relu) => I::MinimumRelu,
        Min => I::Minimum,
        Max if has(Word::Relu) => I::MaximumRelu,
        Max => I::Maximum,
        Sad => I::AbsoluteDifferenceAdd,
        And => I::And,
        Or => I::Or,
        Xor => I::Xor,
        Not => I::Not,
        Cnot => I::IsZero,
        Shl => I::ShiftLeft,
        Shr => I::ShiftRight,
        Bfe => I::ExtractField,
        Bfi => I::InsertField,
        Bfind if has(Word::Shiftamt) => I::FindLeadingShift,
        Bfind => I::FindLeading,
        Bmsk => I::Mask(clamp),
        Brev => I::Reverse,
        Clz => I::CountLeadingZeros,
        Popc => I::CountOnes,
        Fns => I::FindNthSet,
        Szext => I::ExtendFrom(clamp),
        Shf if has(Word::L) => I::FunnelLeft(clamp),
        Shf => I::FunnelRight(clamp),
        Prmt => I::Permute(match instruction.modifiers.at() {
            None => PermuteMode::Index,
            Some(word::PermuteMode::F4e) => PermuteMode::ForwardFour,
            Some(word::PermuteMode::B4e) => PermuteMode::BackwardFour,
            Some(word::PermuteMode::Rc8) => PermuteMode::ReplicateByte,
            Some(word::PermuteMode::Ecl) => PermuteMode::EdgeClampLeft,
            Some(word::PermuteMode::Ecr) => PermuteMode::EdgeClampRight,
            Some(word::PermuteMode::Rc16) => PermuteMode::ReplicateHalf,
        }),
        Dp4a => I::Dot4(first_type(instruction)?.is_signed(), last_type(instruction)?.is_signed()),
        Dp2a => {
            I::Dot2(first_type(instruction)?.is_signed(), last_type(instruction)?.is_signed(), has(Word::Hi))
        }
        _ => return Err("it is not supported".into()),
    })
}
