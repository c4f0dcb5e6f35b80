//! `cvt`, and the conversions of addresses.

use oriole_hir::Instruction;
use oriole_ptx::word::IntegralRounding;
use oriole_ptx::{Opcode, Space, Type, Word};
use rustc_apfloat::Round;

use super::modifiers::{mode, rounding};
use super::operand::{kind, scalar_format};
use super::{Decode, FunctionDecoder, NONE};
use crate::memory::Place;
use crate::step::{Action, RandomStep, Source};
use crate::value::Operation;
use crate::value::convert::{Conversion, Few};
use crate::value::float::Mode;
use crate::value::integer::{IntegerOperation, Kind};
use crate::value::narrow::Narrow;
use crate::value::random::{self, Target};
use crate::value::soft::{Eighth, Format};

fn eighth(ty: Type) -> Option<Eighth> {
    match ty {
        Type::E4M3x2 => Some(Eighth::E4M3),
        Type::E5M2x2 => Some(Eighth::E5M2),
        _ => None,
    }
}

fn narrow(ty: Type) -> Option<Narrow> {
    match ty {
        Type::E2M1x2 => Some(Narrow::E2M1),
        Type::E2M3x2 => Some(Narrow::E2M3),
        Type::E3M2x2 => Some(Narrow::E3M2),
        _ => None,
    }
}

/// The format of packed values, two or four.
pub(super) fn few(ty: Type) -> Option<Few> {
    Some(match ty {
        Type::E4M3x2 | Type::E4M3x4 => Few::Eighth(Eighth::E4M3),
        Type::E5M2x2 | Type::E5M2x4 => Few::Eighth(Eighth::E5M2),
        Type::E2M1x2 | Type::E2M1x4 => Few::Narrow(Narrow::E2M1),
        Type::E2M3x2 | Type::E2M3x4 => Few::Narrow(Narrow::E2M3),
        Type::E3M2x2 | Type::E3M2x4 => Few::Narrow(Narrow::E3M2),
        Type::S2F6x2 => Few::Fixed,
        _ => return None,
    })
}

impl FunctionDecoder<'_> {
    /// `cvt.rs`.
    fn convert_at_random(&self, instruction: &Instruction) -> Decode<Action> {
        let has = |word| instruction.modifiers.has(word);
        let to = match instruction.types.first() {
            Some(Type::F16x2) => Target::Half(Format::F16),
            Some(Type::BF16x2) => Target::Half(Format::BF16),
            Some(Type::E4M3x4) => Target::Eighth(Eighth::E4M3),
            Some(Type::E5M2x4) => Target::Eighth(Eighth::E5M2),
            Some(Type::E2M1x4) => Target::Narrow(Narrow::E2M1),
            Some(Type::E2M3x4) => Target::Narrow(Narrow::E2M3),
            Some(Type::E3M2x4) => Target::Narrow(Narrow::E3M2),
            _ => return Err("its type is not supported".into()),
        };
        let last = instruction.operands.len() - 1;
        let numbers = instruction.operands[1..last].iter().flat_map(|operand| operand.components());
        Ok(Action::RandomConversion(Box::new(RandomStep {
            conversion: random::Conversion { to, relu: has(Word::Relu), finite: has(Word::Satfinite) },
            destination: self.destination_at(instruction, 0)?,
            numbers: numbers.map(|number| self.source(number, Type::F32)).collect::<Decode<_>>()?,
            random: self.source_at(instruction, last, Type::B32)?,
        })))
    }

    pub(super) fn convert(&self, instruction: &Instruction) -> Decode<Action> {
        if instruction.modifiers.has(Word::Rs) {
            return self.convert_at_random(instruction);
        }
        let [to, from, ..] = instruction.types[..] else { return Err("it needs two types".into()) };
        let has = |word| instruction.modifiers.has(word);
        let mode = Mode { relu: has(Word::Relu), ..mode(instruction) };
        let finite = has(Word::Satfinite);
        let integral = instruction.modifiers.at::<IntegralRounding>().is_some();
        let round = rounding(instruction).unwrap_or(Round::NearestTiesToEven);
        let conversion = if has(Word::Pack) {
            Conversion::Pack { to: kind(to) }
        } else if let Some(to) = eighth(to) {
            match from {
                Type::F32 => Conversion::PackEighths { to, relu: mode.relu },
                Type::F16x2 => Conversion::HalvesToEighths { from: Format::F16, to, relu: mode.relu },
                Type::BF16x2 => Conversion::HalvesToEighths { from: Format::BF16, to, relu: mode.relu },
                _ => return Err("this source type is not supported".into()),
            }
        } else if let Some(to) = narrow(to) {
            match from {
                Type::F32 => Conversion::PackNarrow { to, relu: mode.relu },
                Type::F16x2 => Conversion::HalvesToNarrow { from: Format::F16, to, relu: mode.relu },
                Type::BF16x2 => Conversion::HalvesToNarrow { from: Format::BF16, to, relu: mode.relu },
                _ => return Err("this source type is not supported".into()),
            }
        } else if to == Type::BF16x2
            && let Some(from) = few(from)
        {
            Conversion::ScaledToHalves { from, relu: mode.relu, finite }
        } else if let Some(from) = narrow(from) {
            if to != Type::F16x2 {
                return Err("this type is not supported".into());
            }
            Conversion::NarrowToHalves { from, relu: mode.relu }
        } else {
            let up = round == Round::TowardPositive;
            match (to, from) {
                (Type::UE8M0x2, Type::F32) => Conversion::PackScales { up, finite },
                (Type::UE8M0x2, Type::BF16x2) => Conversion::HalvesToScales { up, finite },
                (Type::BF16x2, Type::UE8M0x2) => Conversion::ScalesToHalves,
                (Type::F16x2, Type::F32) => Conversion::PackHalves { to: Format::F16, mode, finite },
                (Type::BF16x2, Type::F32) => Conversion::PackHalves { to: Format::BF16, mode, finite },
                (Type::F16x2, from) => {
                    let from = eighth(from).ok_or("this source type is not supported")?;
                    Conversion::EighthsToHalves { from, relu: mode.relu }
                }
                (Type::TF32, Type::F32) => Conversion::Tf32 { round, relu: mode.relu, finite },
                _ => match (scalar_format(to), scalar_format(from)) {
                    (Some(to), Some(from)) => Conversion::Floats { from, to, integral, mode, finite },
                    (Some(to), None) if from.is_integer() => {
                        Conversion::ToFloat { from: kind(from), to, mode }
                    }
                    (None, Some(from)) if to.is_integer() => Conversion::ToInteger {
                        from,
                        to: kind(to),
                        round,
                        flush: mode.flush && from == Format::F32,
                    },
                    (None, None) if !to.is_float() && !from.is_float() => {
                        Conversion::Integers { from: kind(from), to: kind(to), saturate: mode.saturate }
                    }
                    _ => return Err("these types are not supported".into()),
                },
            }
        };
        let mut sources = [NONE; 4];
        for index in 1..instruction.operands.len().min(4) {
            let ty = if index == 3 { Type::B32 } else { from };
            sources[index - 1] = self.source_at(instruction, index, ty)?;
        }
        if matches!(conversion, Conversion::ScaledToHalves { .. }) {
            // Without scale factors they are one.
            sources[1] = match instruction.operands.len() {
                3.. => self.source_at(instruction, 2, Type::B16)?,
                _ => Source::Immediate(0x7f7f),
            };
        }
        Ok(Action::Compute {
            operation: Operation::Convert(conversion),
            destination: self.destination_at(instruction, 0)?,
            sources,
        })
    }

    pub(super) fn convert_address(&self, instruction: &Instruction) -> Decode<Action> {
        let space = [instruction.space, instruction.second_space]
            .into_iter()
            .flatten()
            .find(|space| *space != Space::Generic)
            .ok_or("it names no space")?;
        let window = self.place(space)?.window();
        let ty = instruction.types.last().copied().unwrap_or(Type::U64);
        let operation = if instruction.modifiers.has(Word::To) {
            IntegerOperation::Subtract
        } else {
            IntegerOperation::Add
        };
        let source = self.source_at(instruction, 1, ty)?;
        Ok(Action::Compute {
            operation: Operation::Integer(operation, Kind { bits: ty.bits(), signed: false }),
            destination: self.destination_at(instruction, 0)?,
            sources: [source, Source::Immediate(window), NONE, NONE],
        })
    }

    pub(super) fn is_space(&self, instruction: &Instruction) -> Decode<Action> {
        let space = instruction.space.ok_or("it names no space")?;
        if matches!(space, Space::Shared | Space::SharedCluster) {
            return Ok(Action::IsShared {
                own: space == Space::Shared,
                destination: self.destination_at(instruction, 0)?,
                source: self.source_at(instruction, 1, Type::U64)?,
            });
        }
        Ok(Action::IsPlace {
            place: self.place(space)?,
            destination: self.destination_at(instruction, 0)?,
            source: self.source_at(instruction, 1, Type::U64)?,
        })
    }

    /// `mapa` and `getctarank`.
    pub(super) fn cluster_address(&self, instruction: &Instruction) -> Decode<Action> {
        let ty = instruction.types.last().copied().unwrap_or(Type::U64);
        let destination = self.destination_at(instruction, 0)?;
        let source = self.source_at(instruction, 1, ty)?;
        Ok(match instruction.opcode {
            Opcode::Mapa => {
                Action::MapRank { destination, sources: [source, self.source_at(instruction, 2, Type::U32)?] }
            }
            _ => Action::RankOf { destination, source },
        })
    }

    fn place(&self, space: Space) -> Decode<Place> {
        Ok(match space {
            Space::Global => Place::Global,
            Space::Shared | Space::SharedCluster => Place::Shared,
            Space::Local => Place::Local,
            Space::Constant => Place::Constant,
            Space::KernelParameter if self.body.is_entry => Place::Parameter,
            Space::KernelParameter | Space::FunctionParameter => Place::Local,
            Space::Generic | Space::Register => return Err("it names no space of memory".into()),
        })
    }
}
