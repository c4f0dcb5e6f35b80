//! Loads, stores, atomics and copies.

use oriole_hir::{Instruction, Operand};
use oriole_ptx::{Opcode, Space, Type, Word, word};
use smallvec::SmallVec;

use super::modifiers::last_type;
use super::operand::{format, kind};
use super::{Decode, FunctionDecoder, Unsupported};
use crate::step::{Action, AtomicOperation, Destination, Order, Source};
use crate::value::float::{FloatOperation, Mode};

impl FunctionDecoder<'_> {
    pub(super) fn load(&self, instruction: &Instruction) -> Decode<Action> {
        let ty = last_type(instruction)?;
        let destinations = self.destinations(self.operand(instruction, 0)?, ty)?;
        Ok(Action::Load {
            location: self.location(instruction, 1, instruction.space)?,
            bytes: ty.bytes().min(8),
            signed: ty.is_signed(),
            destinations,
        })
    }

    pub(super) fn store(&self, instruction: &Instruction) -> Decode<Action> {
        let ty = last_type(instruction)?;
        let store = Action::Store {
            location: self.location(instruction, 0, instruction.space)?,
            bytes: ty.bytes().min(8),
            sources: self.sources(self.operand(instruction, 1)?, ty)?,
        };
        self.told(instruction, store, ty.bytes() * u32::from(instruction.vector.max(1)))
    }

    /// The registers of a vector, or of a single element; an element of 128 bits counts as two.
    fn destinations(&self, operand: &Operand, ty: Type) -> Decode<SmallVec<[Destination; 4]>> {
        let elements = match operand {
            Operand::Vector(elements) => elements.as_slice(),
            single => std::slice::from_ref(single),
        };
        let mut all = SmallVec::new();
        for element in elements {
            match element {
                Operand::Register(register) if ty == Type::B128 => {
                    all.extend(self.wide_destination(*register))
                }
                Operand::Sink if ty == Type::B128 => all.extend([super::operand::SINK; 2]),
                element => all.push(self.destination(element)?),
            }
        }
        Ok(all)
    }

    /// The values of a vector, or of a single element.
    fn sources(&self, operand: &Operand, ty: Type) -> Decode<SmallVec<[Source; 4]>> {
        let elements = match operand {
            Operand::Vector(elements) => elements.as_slice(),
            single => std::slice::from_ref(single),
        };
        let mut all = SmallVec::new();
        for element in elements {
            match element {
                Operand::Sink => return Err("a store that leaves elements out is not supported".into()),
                Operand::Register(register) if ty == Type::B128 => {
                    all.extend(self.wide_destination(*register).map(|half| Source::Register(half.slot)));
                }
                Operand::Immediate(_) if ty == Type::B128 => {
                    all.extend([self.source(element, Type::B64)?, Source::Immediate(0)]);
                }
                element => all.push(self.source(element, ty)?),
            }
        }
        Ok(all)
    }

    pub(super) fn atomic(&self, instruction: &Instruction) -> Decode<Action> {
        let ty = last_type(instruction)?;
        let float = |operation| {
            let (format, packed) = format(ty).ok_or("its type is not supported")?;
            // Atomics on global memory flush subnormal `f32` values; those on shared memory keep them. Generic addresses
            // are looked at when they are known.
            let flush = format == crate::value::soft::Format::F32
                && !matches!(instruction.space, Some(Space::Shared | Space::SharedCluster))
                && !instruction.modifiers.has(Word::Noftz);
            Ok::<_, Unsupported>(AtomicOperation::Float(
                operation,
                format,
                Mode { flush, ..Mode::default() },
                packed,
            ))
        };
        let operation = instruction.modifiers.at().ok_or("it names no operation")?;
        let operation = match operation {
            word::Operation::Add if ty.is_float() => float(FloatOperation::Add)?,
            word::Operation::Min if ty.is_float() => float(FloatOperation::Minimum)?,
            word::Operation::Max if ty.is_float() => float(FloatOperation::Maximum)?,
            word::Operation::Add => AtomicOperation::Add(kind(ty)),
            word::Operation::Min => AtomicOperation::Minimum(kind(ty)),
            word::Operation::Max => AtomicOperation::Maximum(kind(ty)),
            word::Operation::And => AtomicOperation::And,
            word::Operation::Or => AtomicOperation::Or,
            word::Operation::Xor => AtomicOperation::Xor,
            word::Operation::Inc => AtomicOperation::Increment,
            word::Operation::Dec => AtomicOperation::Decrement,
            word::Operation::Exch => AtomicOperation::Exchange,
            word::Operation::Cas => AtomicOperation::CompareAndSwap,
        };
        let first = usize::from(instruction.opcode == Opcode::Atom);
        let destinations =
            if first == 1 { self.destinations(self.operand(instruction, 0)?, ty)? } else { SmallVec::new() };
        let sources = self.sources(self.operand(instruction, first + 1)?, ty)?;
        let replacements = if operation == AtomicOperation::CompareAndSwap {
            self.sources(self.operand(instruction, first + 2)?, ty)?.into_iter().collect()
        } else {
            SmallVec::new()
        };
        if ty == Type::B128
            && !matches!(operation, AtomicOperation::CompareAndSwap | AtomicOperation::Exchange)
        {
            return Err("its type is not supported".into());
        }
        let atomic = Action::Atomic {
            location: self.location(instruction, first, instruction.space)?,
            operation,
            bytes: ty.bytes().min(8),
            destinations,
            sources,
            replacements,
        };
        self.told(instruction, atomic, ty.bytes())
    }

    /// An instruction that closes a group of copies, or waits for groups.
    pub(super) fn order_of_copies(&self, instruction: &Instruction) -> Decode<Option<Order>> {
        let has = |word| instruction.modifiers.has(word);
        if has(Word::WaitGroup) {
            let Source::Immediate(left) = self.source_at(instruction, 0, Type::B32)? else {
                return Err("its number of groups is no constant".into());
            };
            return Ok(Some(Order::WaitForGroups(left as u32)));
        }
        let found = [(Word::CommitGroup, Order::CloseGroup), (Word::WaitAll, Order::WaitForAll)];
        Ok(found.into_iter().find(|(word, _)| has(*word)).map(|(_, order)| order))
    }

    /// `cp.async` of 4, 8 or 16 bytes: the copy is complete at once, so that waiting for it only matters for the
    /// checks.
    pub(super) fn copy(&self, instruction: &Instruction) -> Decode<Action> {
        let has = |word| instruction.modifiers.has(word);
        if has(Word::Mbarrier) {
            return self.copies_arrive(instruction);
        }
        if !has(Word::Async) {
            return Err("it is not supported".into());
        }
        if let Some(order) = self.order_of_copies(instruction)? {
            return Ok(Action::Order(order));
        }
        let Source::Immediate(bytes @ (4 | 8 | 16)) = self.source_at(instruction, 2, Type::B32)? else {
            return Err("its size is no constant of 4, 8 or 16".into());
        };
        // The last operand of a form with a policy is the policy.
        let policy = usize::from(has(Word::L2CacheHint));
        let extent = instruction.operands.get(3).filter(|_| instruction.operands.len() > 3 + policy);
        let (read, ignored) = match extent {
            None => (Source::Immediate(bytes), None),
            Some(operand @ Operand::NotRegister(_)) => {
                (Source::Immediate(bytes), Some(self.source(operand, Type::Pred)?))
            }
            Some(operand) if self.register_type(operand) == Some(Type::Pred) => {
                (Source::Immediate(bytes), Some(self.source(operand, Type::Pred)?))
            }
            Some(operand) => (self.source(operand, Type::B32)?, None),
        };
        Ok(Action::Copy {
            to: self.location(instruction, 0, Some(Space::Shared))?,
            from: self.location(instruction, 1, Some(Space::Global))?,
            bytes: bytes as u32,
            read,
            ignored,
        })
    }
}
