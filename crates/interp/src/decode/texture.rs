//! Instructions on textures, samplers and surfaces.

use oriole_hir::{Instruction, Operand, VariableKind};
use oriole_ptx::word::{Geometry, OpaqueProperty, Operation, SurfaceBounds, TexelComponent};
use oriole_ptx::{Opcode, Type, Word};

use super::{Decode, FunctionDecoder};
use crate::step::{
    Action, Bounds, Combination, Destination, Fetch, Handle, Level, Property, Results, Source, Space,
    SurfaceAccess, SurfaceOperation, TextureStep,
};

impl FunctionDecoder<'_> {
    /// One of them.
    pub(super) fn texture(&self, instruction: &Instruction) -> Decode<Action> {
        let step = match instruction.opcode {
            Opcode::Tex | Opcode::Tld4 => TextureStep::Fetch(self.fetch(instruction)?),
            Opcode::Txq | Opcode::Suq => self.size(instruction)?,
            Opcode::Istypep => self.is_kind(instruction)?,
            _ => TextureStep::Surface(self.surface_access(instruction)?),
        };
        Ok(Action::Texture(Box::new(step)))
    }

    fn fetch(&self, instruction: &Instruction) -> Decode<Fetch> {
        let geometry = instruction.modifiers.at().ok_or("it names no geometry")?;
        let space = space(geometry);
        let [result, coordinate] = instruction.types[..] else {
            return Err("it does not have two types".into());
        };
        let integers = coordinate != Type::F32;
        let Operand::List(parts) = self.operand(instruction, 1)? else {
            return Err("its texture is not in brackets".into());
        };
        let (texture, sampler, coordinates) = match parts.as_slice() {
            [texture, coordinates] => (texture, None, coordinates),
            [texture, sampler, coordinates] => (texture, Some(self.opaque(sampler)?), coordinates),
            _ => return Err("there are not two or three things in its brackets".into()),
        };
        let mut rest = instruction.operands[2..].iter();
        let level = match () {
            () if instruction.opcode == Opcode::Tld4 => Level::Base,
            () if instruction.modifiers.has(Word::Level) => {
                Level::Given(self.source(rest.next().ok_or("it has no level")?, coordinate)?)
            }
            () if instruction.modifiers.has(Word::Grad) => {
                let mut list = || {
                    let operand = rest.next().ok_or("it lacks gradients")?;
                    self.all(operand.components(), Type::F32)
                };
                let (mut x, mut y) = (list()?, list()?);
                x.truncate(space.dimensions);
                y.truncate(space.dimensions);
                Level::Gradients(x, y)
            }
            () => Level::Base,
        };
        let mut offsets = Vec::new();
        let can_compare = !integers && geometry != Geometry::_3d;
        for operand in rest {
            match operand {
                Operand::Vector(list) => offsets = self.all(list, Type::S32)?,
                // No sampler compares: the reference value is present and has no effect.
                number if can_compare => {
                    self.source(number, Type::F32)?;
                }
                _ => return Err("an offset is a number without braces".into()),
            }
        }
        let gathered = match instruction.modifiers.at() {
            Some(TexelComponent::R) => Some(0),
            Some(TexelComponent::G) => Some(1),
            Some(TexelComponent::B) => Some(2),
            Some(TexelComponent::A) => Some(3),
            None => None,
        };
        let (destinations, resident) = match self.operand(instruction, 0)? {
            Operand::Pair(texels, resident) => (self.targets(texels)?, Some(self.destination(resident)?)),
            texels => (self.targets(texels)?, None),
        };
        let results = match result {
            Type::F16 => Results::Halves,
            Type::F16x2 => Results::HalfPairs,
            _ => Results::Words,
        };
        let texture = self.opaque(texture)?;
        // With a sampler of its own, integer coordinates are sampled as others are, except in linear textures and
        // samples.
        let is_sampled = sampler.is_some() && geometry != Geometry::_1d && !space.sampled;
        let by_sampler = !integers || is_sampled && matches!(level, Level::Base);
        let ty = if integers { Type::S32 } else { Type::F32 };
        let coordinates = self.mixed(coordinates.components(), space, ty)?;
        Ok(Fetch {
            texture,
            sampler,
            space,
            integers,
            by_sampler,
            coordinates,
            level,
            offsets,
            gathered,
            results,
            destinations,
            resident,
        })
    }

    /// Coordinates after the indices of a sample and of a layer.
    fn mixed(&self, operands: &[Operand], space: Space, ty: Type) -> Decode<Vec<Source>> {
        let leading = usize::from(space.sampled) + usize::from(space.layered);
        let wanted = leading + space.dimensions;
        if operands.len() < wanted {
            return Err("it has too few coordinates".into());
        }
        let numbered = operands[..wanted].iter().enumerate();
        numbered
            .map(|(at, operand)| self.source(operand, if at < leading { Type::U32 } else { ty }))
            .collect()
    }

    fn all(&self, operands: &[Operand], ty: Type) -> Decode<Vec<Source>> {
        operands.iter().map(|operand| self.source(operand, ty)).collect()
    }

    fn targets(&self, operand: &Operand) -> Decode<Vec<Destination>> {
        operand.components().iter().map(|component| self.destination(component)).collect()
    }

    /// `mov` of the name of a texture, sampler or surface: its handle.
    pub(super) fn handle(&self, instruction: &Instruction) -> Decode<Option<Action>> {
        let Some(&Operand::VariableAddress(variable, 0)) = instruction.operands.get(1) else {
            return Ok(None);
        };
        let Some(kind) = self.body.variables[variable].ty.opaque_kind() else { return Ok(None) };
        let handle = self.opaque(self.operand(instruction, 1)?)?;
        let destination = self.destination_at(instruction, 0)?;
        Ok(Some(Action::Texture(Box::new(TextureStep::Handle { handle, kind, destination }))))
    }

    /// A texture, sampler or surface.
    fn opaque(&self, operand: &Operand) -> Decode<Handle> {
        match operand {
            &Operand::VariableAddress(variable, 0) => {
                let declared = &self.body.variables[variable];
                match declared.kind {
                    VariableKind::Parameter(number) => Ok(Handle::Parameter(number as usize)),
                    _ => Ok(Handle::Variable(declared.module_name().to_owned())),
                }
            }
            other => Ok(Handle::Value(self.source(other, Type::B64)?)),
        }
    }

    fn size(&self, instruction: &Instruction) -> Decode<TextureStep> {
        let axis = match instruction.modifiers.at() {
            Some(OpaqueProperty::Width) => 0,
            Some(OpaqueProperty::Height) => 1,
            Some(OpaqueProperty::Depth) => 2,
            Some(name) => return self.property(instruction, name),
            None => return Err("it names no property".into()),
        };
        let Operand::List(parts) = self.operand(instruction, 1)? else {
            return Err("its object is not in brackets".into());
        };
        let [object] = parts.as_slice() else { return Err("there is not one thing in its brackets".into()) };
        let level = instruction.operands.get(2).map(|level| self.source(level, Type::B32)).transpose()?;
        Ok(TextureStep::Size {
            object: self.opaque(object)?,
            surface: instruction.opcode == Opcode::Suq,
            axis,
            level,
            destination: self.destination_at(instruction, 0)?,
        })
    }

    fn property(&self, instruction: &Instruction, name: OpaqueProperty) -> Decode<TextureStep> {
        let Operand::List(parts) = self.operand(instruction, 1)? else {
            return Err("its object is not in brackets".into());
        };
        let [object] = parts.as_slice() else { return Err("there is not one thing in its brackets".into()) };
        Ok(TextureStep::Property {
            object: self.opaque(object)?,
            property: Property { name, surface: instruction.opcode == Opcode::Suq },
            destination: self.destination_at(instruction, 0)?,
        })
    }

    fn is_kind(&self, instruction: &Instruction) -> Decode<TextureStep> {
        let kind = instruction.types.first().and_then(|ty| ty.opaque_kind());
        Ok(TextureStep::IsKind {
            handle: self.source_at(instruction, 1, Type::B64)?,
            kind: kind.ok_or("it names no kind of handle")?,
            destination: self.destination_at(instruction, 0)?,
        })
    }

    fn surface_access(&self, instruction: &Instruction) -> Decode<SurfaceAccess> {
        let space = space(instruction.modifiers.at().ok_or("it names no geometry")?);
        let bounds = match instruction.modifiers.at().ok_or("it does not say what is outside")? {
            SurfaceBounds::Trap => Bounds::Trap,
            SurfaceBounds::Clamp => Bounds::Clamp,
            SurfaceBounds::Zero => Bounds::Zero,
        };
        let ty = *instruction.types.first().ok_or("it has no type")?;
        let brackets = usize::from(instruction.opcode == Opcode::Suld);
        let Operand::List(parts) = self.operand(instruction, brackets)? else {
            return Err("its surface is not in brackets".into());
        };
        let [surface, coordinates] = parts.as_slice() else {
            return Err("there are not two things in its brackets".into());
        };
        let operation = match instruction.opcode {
            Opcode::Suld => SurfaceOperation::Load(self.targets(self.operand(instruction, 0)?)?),
            Opcode::Sust => {
                SurfaceOperation::Store(self.all(self.operand(instruction, 1)?.components(), ty)?)
            }
            _ => {
                let combination = match instruction.modifiers.at() {
                    Some(Operation::Add) => Combination::Add,
                    Some(Operation::Min) => Combination::Min,
                    Some(Operation::Max) => Combination::Max,
                    Some(Operation::And) => Combination::And,
                    Some(Operation::Or) => Combination::Or,
                    _ => return Err("it names no operation".into()),
                };
                let signed = (!ty.is_bits()).then(|| ty.is_signed());
                SurfaceOperation::Reduce(combination, signed, self.source_at(instruction, 1, ty)?)
            }
        };
        Ok(SurfaceAccess {
            surface: self.opaque(surface)?,
            space,
            formatted: instruction.modifiers.has(Word::P),
            bounds,
            coordinates: self.mixed(coordinates.components(), space, Type::S32)?,
            bytes: ty.bytes() as usize,
            operation,
        })
    }
}

fn space(geometry: Geometry) -> Space {
    let flat = Space { dimensions: 2, cube: false, layered: false, sampled: false };
    match geometry {
        Geometry::_1d => Space { dimensions: 1, ..flat },
        Geometry::_2d => flat,
        Geometry::_3d => Space { dimensions: 3, ..flat },
        Geometry::A1d => Space { dimensions: 1, layered: true, ..flat },
        Geometry::A2d => Space { layered: true, ..flat },
        Geometry::Cube => Space { dimensions: 3, cube: true, ..flat },
        Geometry::Acube => Space { dimensions: 3, cube: true, layered: true, ..flat },
        Geometry::_2dms => Space { sampled: true, ..flat },
        Geometry::A2dms => Space { sampled: true, layered: true, ..flat },
    }
}
