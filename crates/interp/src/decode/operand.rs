//! Operands: sources and destinations of values, memory operands, and their types.

use oriole_hir::{AddressBase, Immediate, Instruction, Operand, RegisterId, VariableId, VariableKind};
use oriole_ptx::{Space, Type};
use rustc_apfloat::Round;
use smallvec::SmallVec;

use super::{Decode, FunctionDecoder, Unsupported};
use crate::memory::{Place, function_address};
use crate::step::{Destination, Formal, Location, Source};
use crate::value::integer::Kind;
use crate::value::soft::{self, Format};

/// The destination of results that are dropped.
pub const SINK: Destination = Destination { slot: 0, mask: u64::MAX };

impl FunctionDecoder<'_> {
    /// The operand at `index`.
    pub fn operand<'i>(&self, instruction: &'i Instruction, index: usize) -> Decode<&'i Operand> {
        instruction.operands.get(index).ok_or(Unsupported::NoOperand(index + 1))
    }

    /// The operand at `index` as a value of a type.
    pub fn source_at(&self, instruction: &Instruction, index: usize, ty: Type) -> Decode<Source> {
        self.source(self.operand(instruction, index)?, ty)
    }

    /// An operand as a value of a type, which determines the value of a literal.
    pub fn source(&self, operand: &Operand, ty: Type) -> Decode<Source> {
        Ok(match operand {
            Operand::Register(register) => Source::Register(self.slot(*register)),
            Operand::NotRegister(register) => Source::NotPredicate(self.slot(*register)),
            Operand::Immediate(immediate) => Source::Immediate(literal(*immediate, ty)),
            Operand::VariableAddress(variable, offset) => self.variable_address(*variable, *offset)?,
            Operand::Variable(variable) => self.variable_address(*variable, 0)?,
            Operand::FunctionAddress(function) | Operand::Function(function) => {
                Source::Immediate(function_address(self.functions[*function] as usize))
            }
            Operand::Special(register) => Source::Special(*register),
            Operand::Sink => Source::Immediate(0),
            other => return Err(Unsupported::operand(other, "is no value")),
        })
    }

    /// The operand at `index` as a register to write.
    pub fn destination_at(&self, instruction: &Instruction, index: usize) -> Decode<Destination> {
        self.destination(self.operand(instruction, index)?)
    }

    /// An operand as a register to write.
    pub fn destination(&self, operand: &Operand) -> Decode<Destination> {
        Ok(match operand {
            Operand::Register(register) => self.register_destination(*register),
            Operand::Sink => SINK,
            other => return Err(Unsupported::operand(other, "cannot be written")),
        })
    }

    /// The operand at `index` as one or two destinations (`d|p`).
    pub fn destination_pair(&self, instruction: &Instruction, index: usize) -> Decode<[Destination; 2]> {
        Ok(match self.operand(instruction, index)? {
            Operand::Pair(first, second) => [self.destination(first)?, self.destination(second)?],
            single => [self.destination(single)?, SINK],
        })
    }

    /// A register as a destination.
    pub fn register_destination(&self, register: RegisterId) -> Destination {
        let bits = self.body.registers[register].ty.bits().min(64);
        Destination { slot: self.slot(register), mask: u64::MAX >> (64 - bits) }
    }

    /// Declared type of a register operand.
    pub fn register_type(&self, operand: &Operand) -> Option<Type> {
        match operand {
            Operand::Register(register) => Some(self.body.registers[*register].ty),
            _ => None,
        }
    }

    /// The two 64-bit halves of a 128-bit register as destinations.
    pub fn wide_destination(&self, register: RegisterId) -> [Destination; 2] {
        let slot = self.slot(register);
        [Destination { slot, mask: u64::MAX }, Destination { slot: slot + 1, mask: u64::MAX }]
    }

    /// First slot of a register.
    pub fn slot(&self, register: RegisterId) -> u32 {
        self.slots[register]
    }

    /// Address of a variable in its own space.
    pub fn variable_address(&self, variable: VariableId, offset: i64) -> Decode<Source> {
        if let Some(&start) = self.frame.offsets.get(variable) {
            return u32::try_from(i64::from(start) + offset)
                .map(Source::Frame)
                .map_err(|_| Unsupported::Form("an address before its frame"));
        }
        let description = &self.body.variables[variable];
        let base = match description.kind {
            VariableKind::Parameter(index) => u64::from(self.body.parameters[index as usize].offset),
            _ => {
                self.layout
                    .variable(self.function, variable, description.module_name())
                    .ok_or_else(|| Unsupported::NoAddress(description.name.clone()))?
                    .1
            }
        };
        Ok(Source::Immediate(base.wrapping_add(offset as u64)))
    }

    /// The operand at `index` as a memory operand of an instruction in a space.
    pub fn location(
        &self,
        instruction: &Instruction,
        index: usize,
        space: Option<Space>,
    ) -> Decode<Location> {
        let Operand::Address(address) = self.operand(instruction, index)? else {
            return Err("an operand is no address".into());
        };
        let mut place = match space {
            Some(Space::Global) => Place::Global,
            Some(Space::Shared | Space::SharedCluster) => Place::Shared,
            Some(Space::Local) => Place::Local,
            Some(Space::Constant) => Place::Constant,
            Some(Space::KernelParameter) if self.body.is_entry => Place::Parameter,
            Some(Space::KernelParameter | Space::FunctionParameter) => Place::Local,
            Some(Space::Generic) | None => Place::Generic,
            Some(Space::Register) => return Err("registers have no addresses".into()),
        };
        let (base, offset) = match &address.base {
            AddressBase::Register(register) => (Source::Register(self.slot(*register)), address.offset),
            AddressBase::Absolute => (Source::Immediate(0), address.offset),
            AddressBase::Variable(variable) => {
                // Variables of calls are in the frame, also in a kernel.
                if self.frame.offsets.contains_idx(*variable) && place == Place::Parameter {
                    place = Place::Local;
                }
                (self.variable_address(*variable, address.offset)?, 0)
            }
        };
        Ok(Location { place, base, offset })
    }

    /// The places of the parameters or return parameters of this function: for one in registers, a place for each of
    /// them.
    pub fn formals(&self, parameters: &[oriole_hir::Parameter], results: bool) -> Decode<Vec<Formal>> {
        let mut formals = Vec::with_capacity(parameters.len());
        for (index, parameter) in parameters.iter().enumerate() {
            let kind = if results {
                VariableKind::Result(index as u32)
            } else {
                VariableKind::Parameter(index as u32)
            };
            let number = self.body.variable_of(kind).ok_or(Unsupported::NoVariable(index + 1))?;
            if let Some(&offset) = self.frame.offsets.get(number) {
                formals.push(if parameter.is_open() {
                    Formal::Open(offset)
                } else {
                    Formal::Frame(offset, parameter.size() as u32)
                });
                continue;
            }
            let before = formals.len();
            for register in self.body.registers_of(number) {
                let parts = self.passed_parts(register);
                formals.extend(parts.into_iter().map(|part| Formal::Register(part, parameter.ty.bytes())));
            }
            if formals.len() == before {
                return Err(Unsupported::NoPlace(index + 1));
            }
        }
        Ok(formals)
    }

    /// The parts in which a register is passed: itself, or its halves of 64 bits.
    pub fn passed_parts(&self, register: RegisterId) -> SmallVec<[Destination; 2]> {
        match self.body.registers[register].ty {
            Type::B128 => SmallVec::from_iter(self.wide_destination(register)),
            _ => SmallVec::from_iter([self.register_destination(register)]),
        }
    }
}

/// The bits of a literal in a type.
pub fn literal(immediate: Immediate, ty: Type) -> u64 {
    let bits = ty.bits().min(64);
    let mask = u64::MAX >> (64 - bits);
    match immediate {
        Immediate::Integer(value) => value as u64 & mask,
        Immediate::F32(value) if bits == 64 && ty.is_float() => f64::from(f32::from_bits(value)).to_bits(),
        Immediate::F32(value) => u64::from(value),
        Immediate::F64(value) => match scalar_format(ty) {
            // Exact: a NaN keeps its bits.
            Some(Format::F64) => value,
            Some(format) => soft::from_f64(format, f64::from_bits(value), Round::NearestTiesToEven),
            None if bits == 32 => {
                soft::from_f64(Format::F32, f64::from_bits(value), Round::NearestTiesToEven)
            }
            None => value,
        },
    }
}

/// The integer kind of a type.
pub fn kind(ty: Type) -> Kind {
    Kind { bits: ty.bits().min(64), signed: ty.is_signed() }
}

/// The kind of the halves of a packed type.
pub fn half_kind(ty: Type) -> Kind {
    Kind { bits: 16, signed: ty.is_signed() }
}

/// The arithmetic format of a scalar type.
pub fn scalar_format(ty: Type) -> Option<Format> {
    Some(match ty {
        Type::F16 => Format::F16,
        Type::BF16 => Format::BF16,
        Type::F32 => Format::F32,
        Type::F64 => Format::F64,
        _ => return None,
    })
}

/// The arithmetic format of a scalar or packed type, and whether it is packed.
pub fn format(ty: Type) -> Option<(Format, bool)> {
    match ty {
        Type::F16x2 => Some((Format::F16, true)),
        Type::BF16x2 => Some((Format::BF16, true)),
        _ => scalar_format(ty).map(|format| (format, false)),
    }
}
