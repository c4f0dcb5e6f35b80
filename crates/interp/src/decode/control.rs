//! Branches, calls, barriers, and the instructions that lanes of a warp execute together.

use oriole_hir::{Instruction, Operand, Parameter, Signature, Table, VariableKind};
use oriole_ptx::{Opcode, Type, Word, word};

use super::modifiers::last_type;
use super::operand::SINK;
use super::{Decode, FunctionDecoder, NONE, Spellings, Unsupported, spelling};
use crate::step::{
    Action, Argument, BarrierOperation, CallResult, CallTarget, CollectiveOperation, Reduction, Shuffle,
    Source,
};

/// Number of parts of a parameter in registers: see [`FunctionDecoder::passed_parts`].
fn parts(parameter: &Parameter) -> usize {
    let halves = if parameter.ty == Type::B128 { 2 } else { 1 };
    usize::from(parameter.components()) * halves
}

impl FunctionDecoder<'_> {
    pub(super) fn control(&self, instruction: &Instruction, spellings: &mut Spellings) -> Decode<Action> {
        use Opcode::*;
        Ok(match instruction.opcode {
            Ret => Action::Return,
            Exit => Action::Exit,
            Trap => Action::Trap,
            Activemask => Action::ActiveMask(self.destination_at(instruction, 0)?),
            Bra => Action::Branch(self.label(self.operand(instruction, 0)?)?),
            Brx => {
                let Operand::Table(table) = self.operand(instruction, 1)? else {
                    return Err("its targets are no table".into());
                };
                let Table::Labels(labels) = &self.body.tables[*table] else {
                    return Err("its targets are no labels".into());
                };
                Action::BranchTable {
                    index: self.source_at(instruction, 0, Type::U32)?,
                    targets: labels.iter().map(|label| self.labels[*label]).collect(),
                }
            }
            Call => self.call(instruction)?,
            Alloca => {
                let align = match instruction.operands.get(2) {
                    Some(operand) => match self.source(operand, Type::U32)? {
                        Source::Immediate(align) => align,
                        _ => return Err("its alignment is no constant".into()),
                    },
                    None => 16,
                };
                Action::Allocate {
                    destination: self.destination_at(instruction, 0)?,
                    size: self.source_at(instruction, 1, Type::U64)?,
                    align: align.clamp(1, 1 << 12),
                }
            }
            Stacksave => Action::StackSave(self.destination_at(instruction, 0)?),
            Stackrestore => Action::StackRestore(self.source_at(instruction, 0, Type::U64)?),
            _ => return self.barrier(instruction, spellings),
        })
    }

    fn label(&self, operand: &Operand) -> Decode<u32> {
        match operand {
            Operand::Label(label) => Ok(self.labels[*label]),
            other => Err(Unsupported::operand(other, "is no label")),
        }
    }

    fn call(&self, instruction: &Instruction) -> Decode<Action> {
        let signature = self.signature(instruction).ok_or("it says nothing about what is called")?;
        let mut target = None;
        let mut arguments = Vec::new();
        let mut results = Vec::new();
        for operand in &instruction.operands {
            match operand {
                Operand::List(elements) if target.is_none() => {
                    for (element, parameter) in elements.iter().zip(&signature.results) {
                        match element {
                            Operand::Variable(variable) | Operand::VariableAddress(variable, 0) => {
                                let (offset, size) = self.frame_variable(*variable)?;
                                results.push(CallResult::Frame(offset, size));
                            }
                            Operand::Sink => {
                                results.extend(vec![CallResult::Register(SINK); parts(parameter)])
                            }
                            element => {
                                for component in element.components() {
                                    let Operand::Register(register) = component else {
                                        return Err(Unsupported::operand(component, "cannot be written"));
                                    };
                                    let parts = self.passed_parts(*register).into_iter();
                                    results.extend(parts.map(CallResult::Register));
                                }
                            }
                        }
                    }
                }
                Operand::List(elements) => {
                    for element in elements.iter().flat_map(Operand::components) {
                        match element {
                            Operand::Variable(variable) | Operand::VariableAddress(variable, 0) => {
                                arguments.push(self.argument(*variable)?);
                            }
                            Operand::Register(register) => {
                                let parts = self.passed_parts(*register).into_iter();
                                arguments
                                    .extend(parts.map(|part| Argument::Value(Source::Register(part.slot))));
                            }
                            element => arguments.push(Argument::Value(self.source(element, Type::B64)?)),
                        }
                    }
                }
                Operand::Function(function) | Operand::FunctionAddress(function) => {
                    target = Some(CallTarget::Function(self.functions[*function]));
                }
                Operand::Register(register) => {
                    target = Some(CallTarget::Address(Source::Register(self.slot(*register))));
                }
                Operand::Table(_) | Operand::Prototype(_) => {}
                other => return Err(Unsupported::operand(other, "has no place in a call")),
            }
        }
        Ok(Action::Call { target: target.ok_or("it names no function")?, arguments, results })
    }

    /// The signature that a call states for its callee.
    fn signature(&self, instruction: &Instruction) -> Option<&Signature> {
        instruction.operands.iter().find_map(|operand| match operand {
            Operand::Function(function) => Some(&self.body.functions[*function].signature),
            Operand::Prototype(prototype) => Some(&self.body.prototypes[*prototype]),
            Operand::Table(table) => match &self.body.tables[*table] {
                Table::Functions(list) => list.first().map(|first| &self.body.functions[*first].signature),
                Table::Labels(_) => None,
            },
            _ => None,
        })
    }

    /// A `.param` variable that is passed: one of the call, or a parameter of the kernel itself.
    fn argument(&self, variable: oriole_hir::VariableId) -> Decode<Argument> {
        if self.frame.offsets.get(variable).is_some() {
            let (offset, size) = self.frame_variable(variable)?;
            return Ok(Argument::Frame(offset, size));
        }
        match self.body.variables[variable].kind {
            VariableKind::Parameter(index) => {
                let parameter = &self.body.parameters[index as usize];
                Ok(Argument::Parameter(parameter.offset, parameter.size() as u32))
            }
            _ => Err("an argument of the call is no parameter".into()),
        }
    }

    fn frame_variable(&self, variable: oriole_hir::VariableId) -> Decode<(u32, u32)> {
        let offset =
            self.frame.offsets.get(variable).copied().ok_or("an operand of the call is not in the frame")?;
        Ok((offset, self.body.variables[variable].size as u32))
    }

    fn barrier(&self, instruction: &Instruction, spellings: &mut Spellings) -> Decode<Action> {
        let has = |word| instruction.modifiers.has(word);
        if has(Word::Warp) {
            return Ok(Action::Collective {
                operation: CollectiveOperation::Synchronize,
                key: spellings.number("bar.warp.sync".into()),
                members: Some(self.source_at(instruction, 0, Type::B32)?),
                destinations: [SINK; 2],
                sources: [NONE; 3],
            });
        }
        if has(Word::Cluster) {
            return Ok(if has(Word::Wait) { Action::ClusterWait } else { Action::ClusterArrive });
        }
        let count = |index: usize| match instruction.operands.get(index) {
            Some(operand) => self.source(operand, Type::U32).map(Some),
            None => Ok(None),
        };
        if has(Word::Red) {
            let operation = match instruction.modifiers.at() {
                Some(word::BarrierReduction::Popc) => BarrierOperation::CountOnes,
                Some(word::BarrierReduction::And) => BarrierOperation::And,
                Some(word::BarrierReduction::Or) => BarrierOperation::Or,
                None => return Err("it names no reduction".into()),
            };
            // d, a {, b}, c
            let last = instruction.operands.len().saturating_sub(1);
            return Ok(Action::Barrier {
                operation,
                id: self.source_at(instruction, 1, Type::U32)?,
                count: if last == 3 { count(2)? } else { None },
                destination: self.destination_at(instruction, 0)?,
                source: self.source_at(instruction, last, Type::Pred)?,
            });
        }
        let operation =
            if has(Word::Arrive) { BarrierOperation::Arrive } else { BarrierOperation::Synchronize };
        let id = match instruction.operands.first() {
            Some(operand) => self.source(operand, Type::U32)?,
            None => NONE,
        };
        Ok(Action::Barrier { operation, id, count: count(1)?, destination: SINK, source: NONE })
    }

    pub(super) fn collective(&self, instruction: &Instruction, spellings: &mut Spellings) -> Decode<Action> {
        use Opcode::*;
        let has = |word| instruction.modifiers.has(word);
        let key = spellings.number(spelling(instruction));
        let destinations = self.destination_pair(instruction, 0)?;
        let mut sources = [NONE; 3];
        let (operation, values) = match instruction.opcode {
            Shfl => {
                let shuffle = match instruction.modifiers.at() {
                    Some(word::Shuffle::Up) => Shuffle::Up,
                    Some(word::Shuffle::Down) => Shuffle::Down,
                    Some(word::Shuffle::Bfly) => Shuffle::Butterfly,
                    Some(word::Shuffle::Idx) => Shuffle::Index,
                    None => return Err("it names no direction".into()),
                };
                (CollectiveOperation::Shuffle(shuffle), 3)
            }
            Vote => {
                let operation = match instruction.modifiers.at() {
                    Some(word::Vote::All) => CollectiveOperation::VoteAll,
                    Some(word::Vote::Any) => CollectiveOperation::VoteAny,
                    Some(word::Vote::Uni) => CollectiveOperation::VoteUniform,
                    Some(word::Vote::Ballot) => CollectiveOperation::Ballot,
                    None => return Err("it names no vote".into()),
                };
                (operation, 1)
            }
            Match => {
                let bits = last_type(instruction)?.bits();
                let all = has(Word::All);
                (
                    if all {
                        CollectiveOperation::MatchAll(bits)
                    } else {
                        CollectiveOperation::MatchAny(bits)
                    },
                    1,
                )
            }
            Redux => (CollectiveOperation::Reduce(reduction(instruction)?), 1),
            _ => (CollectiveOperation::Elect, 0),
        };
        let value_type = if instruction.opcode == Vote {
            Type::Pred
        } else {
            instruction.types.last().copied().unwrap_or(Type::B32)
        };
        for (index, source) in sources.iter_mut().enumerate().take(values) {
            let ty = if index == 0 { value_type } else { Type::B32 };
            *source = self.source_at(instruction, index + 1, ty)?;
        }
        let members =
            if has(Word::Sync) { Some(self.source_at(instruction, values + 1, Type::B32)?) } else { None };
        Ok(Action::Collective { operation, key, members, destinations, sources })
    }
}

/// The operation over the values of several lanes, or of several registers.
pub(super) fn reduction(instruction: &Instruction) -> Decode<Reduction> {
    let has = |word| instruction.modifiers.has(word);
    let ty = last_type(instruction)?;
    let signed = ty.is_signed();
    let of_singles = |minimum: bool| Reduction::Singles {
        minimum,
        magnitudes: has(Word::Abs),
        propagate_nan: has(Word::NaN),
    };
    Ok(match instruction.modifiers.at() {
        Some(word::Operation::Min) if ty == Type::F32 => of_singles(true),
        Some(word::Operation::Max) if ty == Type::F32 => of_singles(false),
        _ if ty.is_float() => return Err("its type is not supported".into()),
        Some(word::Operation::Add) => Reduction::Add,
        Some(word::Operation::Min) if signed => Reduction::MinimumSigned,
        Some(word::Operation::Min) => Reduction::MinimumUnsigned,
        Some(word::Operation::Max) if signed => Reduction::MaximumSigned,
        Some(word::Operation::Max) => Reduction::MaximumUnsigned,
        Some(word::Operation::And) => Reduction::And,
        Some(word::Operation::Or) => Reduction::Or,
        Some(word::Operation::Xor) => Reduction::Xor,
        Some(word::Operation::Inc | word::Operation::Dec | word::Operation::Exch | word::Operation::Cas)
        | None => return Err("it names no reduction".into()),
    })
}
