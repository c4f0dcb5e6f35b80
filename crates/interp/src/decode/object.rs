//! `mbarrier` and other instructions that signal mbarriers.

use oriole_hir::Instruction;
use oriole_ptx::word::{BarrierObject, ObjectLayout};
use oriole_ptx::{Type, Word};

use super::operand::SINK;
use super::{Decode, FunctionDecoder, NONE};
use crate::step::{Action, ObjectOperation, Source};

impl FunctionDecoder<'_> {
    /// `mbarrier`.
    pub(super) fn object(&self, instruction: &Instruction) -> Decode<Action> {
        let has = |word| instruction.modifiers.has(word);
        let form = instruction.modifiers.at().ok_or("it says nothing to do")?;
        let location = |index| self.location(instruction, index, instruction.space);
        let amount = |index: usize| self.source_at(instruction, index, Type::B32);
        let operation = match form {
            BarrierObject::Init => ObjectOperation::Initialize {
                second: instruction.modifiers.at() == Some(ObjectLayout::LayoutV1),
            },
            BarrierObject::Inval => ObjectOperation::Invalidate,
            BarrierObject::ExpectTx => ObjectOperation::Expect,
            BarrierObject::CompleteTx => ObjectOperation::Complete,
            BarrierObject::Arrive | BarrierObject::ArriveDrop => {
                return self.arrival(instruction, form == BarrierObject::ArriveDrop);
            }
            BarrierObject::TestWait | BarrierObject::TryWait => {
                let parity = has(Word::Parity);
                let [destination, reported] = self.destination_pair(instruction, 0)?;
                // Where reports are possible, the value goes to an operand before the mbarrier.
                let reports = has(Word::PhaseTypePrimary) && instruction.operands.len() == 4;
                let object = if reports { 2 } else { 1 };
                let value = if reports { self.destination_at(instruction, 1)? } else { SINK };
                let ty = if parity { Type::B32 } else { Type::B64 };
                return Ok(Action::ObjectTest {
                    location: location(object)?,
                    phase: self.source_at(instruction, object + 1, ty)?,
                    parity,
                    destination,
                    reported: [reported, value],
                });
            }
            BarrierObject::CheckLayout => {
                return Ok(Action::CheckLayout {
                    location: location(1)?,
                    second: instruction.modifiers.at() == Some(ObjectLayout::LayoutV1),
                    destination: self.destination_at(instruction, 0)?,
                });
            }
            BarrierObject::PendingCount => {
                return Ok(Action::PendingCount {
                    destination: self.destination_at(instruction, 0)?,
                    source: self.source_at(instruction, 1, Type::B64)?,
                });
            }
        };
        let amount = if operation == ObjectOperation::Invalidate { NONE } else { amount(1)? };
        Ok(Action::Object { operation, location: location(0)?, destination: SINK, amount })
    }

    fn arrival(&self, instruction: &Instruction, drop: bool) -> Decode<Action> {
        let has = |word| instruction.modifiers.has(word);
        let operation = if has(Word::ExpectTx) {
            ObjectOperation::ExpectAndArrive { drop }
        } else if has(Word::NoComplete) {
            ObjectOperation::ArriveWithin { drop }
        } else {
            ObjectOperation::Arrive { drop }
        };
        let amount = match instruction.operands.get(2) {
            Some(operand) => self.source(operand, Type::B32)?,
            None => Source::Immediate(1),
        };
        Ok(Action::Object {
            operation,
            location: self.location(instruction, 1, instruction.space)?,
            destination: self.destination_at(instruction, 0)?,
            amount,
        })
    }

    /// A write, which in the asynchronous forms signals its bytes to an mbarrier.
    pub(super) fn told(&self, instruction: &Instruction, write: Action, bytes: u32) -> Decode<Action> {
        let has = |word| instruction.modifiers.has(word);
        if !has(Word::MbarrierCompleteTxBytes) {
            return Ok(write);
        }
        let object = self.location(instruction, 2, instruction.space)?;
        Ok(Action::Told { write: Box::new(write), object, bytes })
    }

    /// `cp.async.mbarrier.arrive`: copies are done at once, so that the mbarrier is signalled at once.
    pub(super) fn copies_arrive(&self, instruction: &Instruction) -> Decode<Action> {
        let counted = instruction.modifiers.has(Word::Noinc);
        let operation = ObjectOperation::Copied { counted };
        Ok(Action::Object {
            operation,
            location: self.location(instruction, 0, instruction.space)?,
            destination: SINK,
            amount: Source::Immediate(1),
        })
    }
}
