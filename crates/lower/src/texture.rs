//! Textures: `tex`, `tld4`, `istypep`.
//!
//! A fetch reads its coordinates in one operand, and its other arguments in the next one, after the handle.

use crate::LowerError;
use crate::context::{Lower, Lowered, Words};
use crate::operand::{imm, magnitude};
use oriole_chip::texture::OpaqueKind;
use oriole_hir::{Instruction, Operand, VariableId};
use oriole_ori::{Destination, File, Source, Value};
use oriole_ptx::word::{Geometry, TexelComponent};
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op, Symbol};

/// The level of a fetch without one: below the finest one.
const FINEST: f32 = -32.0;
/// The largest layer index; higher ones mean the last layer, whatever their upper bits.
const LAST_LAYER: u32 = 0xffff;

/// A fetch under construction.
struct Fetch {
    op: Op,
    mods: Vec<Mod>,
    shape: Symbol,
    handle: Handle,
    coordinates: Vec<Source>,
    extras: Vec<Source>,
}

/// A texture and, where it is separate, its sampler.
struct Handle {
    texture: Source,
    sampler: Option<Source>,
}

/// The coordinates of a fetch, as in PTX.
pub(crate) struct Place {
    pub geometry: Geometry,
    /// The coordinates are floating-point values.
    pub is_float: bool,
    /// For a cube: the factor that scaled the coordinates so that the largest is one.
    pub factor: Option<Source>,
    layer: Option<Source>,
    sample: Option<Source>,
    pub coordinates: Vec<Source>,
}

/// The arguments after the brackets.
#[derive(Default)]
struct Arguments {
    level: Option<Source>,
    gradients: Option<[Vec<Source>; 2]>,
    offsets: Option<Vec<Source>>,
    compared: Option<Source>,
}

impl Lower<'_> {
    /// The handle that an operand names, in a general register.
    pub fn opaque(&mut self, operand: &Operand) -> Result<Source, LowerError> {
        match operand {
            &Operand::VariableAddress(variable, 0) => Ok(self.header(variable)?.into()),
            register => self.word(register, Type::B64),
        }
    }

    /// The handle of a texture, sampler or surface of the module as a value: its header and its kind. `None` for
    /// other variables.
    pub fn handle(&mut self, variable: VariableId) -> Result<Option<[Source; 2]>, LowerError> {
        let Some(kind) = kind_bit(self.body.variables[variable].ty) else { return Ok(None) };
        Ok(Some([self.header(variable)?.into(), imm(kind)]))
    }

    /// `tex`.
    pub fn fetch(&mut self, i: &Instruction) -> Lowered {
        let Some(geometry) = i.modifiers.at() else { return Err(self.unsupported_form(i)) };
        let is_float = self.ty(i, 1)? == Type::F32;
        let (handle, place) = self.place_of_fetch(i, geometry, is_float)?;
        let arguments = self.arguments(i, &place)?;
        let place =
            if samples_integers(&handle, &place, &arguments) { self.as_numbers(place) } else { place };
        let widened = is_float && geometry == Geometry::_1d && handle.sampler.is_none();
        let mut fetch = Fetch {
            op: Op::TEX,
            mods: Vec::new(),
            shape: shape(geometry, widened),
            handle,
            coordinates: Vec::new(),
            extras: Vec::new(),
        };
        let place = if widened {
            Place { coordinates: vec![place.coordinates[0].clone(), Source::rz()], ..place }
        } else {
            place
        };
        match &arguments.gradients {
            Some(gradients) if reads_derivatives(&place, &arguments) => {
                self.by_derivatives(&mut fetch, &place, gradients, &arguments, widened)
            }
            Some(gradients) => {
                let count = place.coordinates.len() - usize::from(widened);
                let level = self.level_of(&fetch.handle.texture, &place, count, gradients);
                self.by_level(&mut fetch, &place, Arguments { level: Some(level), ..arguments });
            }
            None => self.by_level(&mut fetch, &place, arguments),
        }
        self.finish_fetch(i, fetch)
    }

    /// `tld4`.
    pub fn gather(&mut self, i: &Instruction) -> Lowered {
        let Some(geometry) = i.modifiers.at() else { return Err(self.unsupported_form(i)) };
        let component = match i.modifiers.at() {
            Some(TexelComponent::R) => Mod::R,
            Some(TexelComponent::G) => Mod::G,
            Some(TexelComponent::B) => Mod::B,
            Some(TexelComponent::A) => Mod::A,
            None => return Err(self.unsupported_form(i)),
        };
        let (handle, place) = self.place_of_fetch(i, geometry, true)?;
        let arguments = self.arguments(i, &place)?;
        let mut fetch = Fetch {
            op: Op::TLD4,
            mods: vec![component],
            shape: shape(geometry, false),
            handle,
            coordinates: place.layer.iter().cloned().chain(place.coordinates.iter().cloned()).collect(),
            extras: Vec::new(),
        };
        if let Some(offsets) = &arguments.offsets {
            fetch.mods.push(Mod::AOFFI);
            let packed = self.pack_offsets(offsets, 8, 0x3f);
            fetch.extras.push(packed);
        }
        if let Some(compared) = arguments.compared {
            fetch.mods.push(Mod::DC);
            fetch.extras.push(compared);
        }
        self.finish_fetch(i, fetch)
    }

    /// The operands in brackets: the handle and the coordinates.
    fn place_of_fetch(
        &mut self,
        i: &Instruction,
        geometry: Geometry,
        is_float: bool,
    ) -> Result<(Handle, Place), LowerError> {
        let Operand::List(parts) = self.operand(i, 1)? else { return Err(self.unsupported_form(i)) };
        let (texture, sampler, coordinates) = match parts.as_slice() {
            [texture, coordinates] => (texture, None, coordinates),
            [texture, sampler, coordinates] => (texture, Some(sampler), coordinates),
            _ => return Err(self.unsupported_form(i)),
        };
        let texture = self.opaque(texture)?;
        let sampler = sampler.map(|sampler| self.opaque(sampler)).transpose()?;
        let ty = if is_float { Type::F32 } else { Type::S32 };
        let (has_sample, has_layer, count) = dimensions(geometry);
        let mut components = coordinates.components().iter();
        let mut leading = |there: bool, lower: &mut Self| match components.next().filter(|_| there) {
            Some(component) => lower.word(component, Type::U32).map(Some),
            None => Ok(None),
        };
        let sample = if has_sample { leading(true, self)? } else { None };
        let layer = if has_layer { leading(true, self)? } else { None };
        let coordinates: Result<Vec<Source>, LowerError> =
            components.take(count).map(|component| self.word(component, ty)).collect();
        let coordinates = coordinates?;
        if coordinates.len() != count {
            return Err(self.unsupported_form(i));
        }
        let (coordinates, factor) = match geometry {
            Geometry::Cube | Geometry::Acube => {
                let (coordinates, factor) = self.on_the_cube(coordinates);
                (coordinates, Some(factor))
            }
            _ => (coordinates, None),
        };
        let layer = layer.map(|layer| self.clamp_layer(layer));
        Ok((Handle { texture, sampler }, Place { geometry, is_float, factor, layer, sample, coordinates }))
    }

    /// Converts integer coordinates to floating point, which a sampler reads.
    fn as_numbers(&mut self, place: Place) -> Place {
        let numbers = place.coordinates.into_iter().map(|coordinate| {
            let number = self.b.r();
            let coordinate = self.in_register(coordinate);
            self.integer_to_single(number, true, coordinate);
            Source::from(number)
        });
        let coordinates = numbers.collect();
        Place { is_float: true, coordinates, ..place }
    }

    fn clamp_layer(&mut self, layer: Source) -> Source {
        let layer = self.in_register(layer);
        let d = self.b.r();
        self.min_max(&[Mod::U32], d, layer, imm(LAST_LAYER), Source::pt());
        d.into()
    }

    /// Coordinates divided by the largest of them, so that they are on the cube, and that factor.
    fn on_the_cube(&mut self, coordinates: Vec<Source>) -> (Vec<Source>, Source) {
        let sign = 1 << 31;
        let coordinates: Vec<Source> = coordinates.into_iter().map(|c| self.in_register(c)).collect();
        let [two, all, factor] = [self.b.r(), self.b.r(), self.b.r()];
        let sizes: Vec<Source> = coordinates.iter().map(|c| magnitude(c.clone(), sign)).collect();
        self.op(Op::FMNMX, &[], two, [sizes[0].clone(), sizes[1].clone(), Source::not_pt()]);
        self.op(Op::FMNMX, &[], all, [sizes[2].clone(), two.into(), Source::not_pt()]);
        self.op(Op::MUFU, &[Mod::RCP], factor, [all.into()]);
        let scaled = coordinates.into_iter().map(|coordinate| {
            let d = self.b.r();
            self.op(Op::FMUL, &[], d, [coordinate, factor.into()]);
            Source::from(d)
        });
        (scaled.collect(), factor.into())
    }

    /// The arguments after the brackets. A vector there holds offsets; a scalar is the comparison value, where the
    /// form allows one.
    fn arguments(&mut self, i: &Instruction, place: &Place) -> Result<Arguments, LowerError> {
        let mut found = Arguments::default();
        let mut rest = i.operands.iter().skip(2);
        let ty = if place.is_float { Type::F32 } else { Type::S32 };
        if i.opcode == Opcode::Tex && i.modifiers.has(Word::Level) {
            let level = rest.next().ok_or_else(|| self.unsupported_form(i))?;
            found.level = Some(self.word(level, ty)?);
        }
        if i.opcode == Opcode::Tex && i.modifiers.has(Word::Grad) {
            let (Some(x), Some(y)) = (rest.next(), rest.next()) else {
                return Err(self.unsupported_form(i));
            };
            let mut words = |operand: &Operand| -> Result<Vec<Source>, LowerError> {
                operand.components().iter().map(|component| self.word(component, Type::F32)).collect()
            };
            found.gradients = Some([words(x)?, words(y)?]);
        }
        for argument in rest {
            let compares = place.is_float && place.geometry != Geometry::_3d;
            match argument {
                Operand::Vector(elements) if found.offsets.is_none() => {
                    let words: Result<Vec<Source>, LowerError> =
                        elements.iter().map(|element| self.word(element, Type::S32)).collect();
                    found.offsets = Some(words?);
                }
                number if compares => found.compared = Some(self.word(number, Type::F32)?),
                // ptxas ignores it.
                _ => return Err(self.unsupported("a number without braces as an offset")),
            }
        }
        let count = place.coordinates.len();
        if let Some(offsets) = &mut found.offsets {
            offsets.truncate(count);
        }
        Ok(found)
    }

    /// Packs offsets into one word, `bits` bits each. The upper bits of each but the last belong to the next one.
    fn pack_offsets(&mut self, offsets: &[Source], bits: u32, mask: u32) -> Source {
        let mut packed = offsets.first().cloned().unwrap_or_else(Source::rz);
        for (index, offset) in (1..).zip(&offsets[1..]) {
            let amount: u32 = bits * index;
            let [moved, both] = [self.b.r(), self.b.r()];
            let offset = self.in_register(offset.clone());
            let low = self.in_register(packed);
            self.b.shl(moved, offset, amount);
            // The field of the shifted one, the other bits of the packed word.
            self.b.lop3(both, moved, imm(mask << amount), low, 0xe2);
            packed = both.into();
        }
        packed
    }

    /// The level is known, or the finest.
    fn by_level(&mut self, fetch: &mut Fetch, place: &Place, arguments: Arguments) {
        fetch.coordinates.extend(place.layer.clone());
        fetch.coordinates.extend(place.coordinates.iter().cloned());
        match (place.is_float, arguments.level) {
            (true, level) => {
                fetch.mods.push(Mod::LL);
                fetch.extras.push(level.unwrap_or_else(|| imm(FINEST.to_bits())));
            }
            (false, Some(level)) => {
                fetch.op = Op::TLD;
                fetch.mods.extend([Mod::LL, Mod::CL]);
                fetch.extras.push(level);
            }
            (false, None) => {
                fetch.op = Op::TLD;
                fetch.mods.push(Mod::LZ);
            }
        }
        if let Some(offsets) = &arguments.offsets {
            fetch.mods.push(Mod::AOFFI);
            let packed = self.pack_offsets(offsets, 4, 0xf);
            fetch.extras.push(packed);
        }
        if let Some(compared) = arguments.compared {
            fetch.mods.push(Mod::DC);
            fetch.extras.push(compared);
        }
        if let Some(sample) = &place.sample {
            fetch.mods.push(Mod::MS);
            fetch.extras.push(sample.clone());
        }
    }

    /// The hardware computes the level from derivatives. The layer comes last here, and offsets are in its upper
    /// half.
    fn by_derivatives(
        &mut self,
        fetch: &mut Fetch,
        place: &Place,
        [x, y]: &[Vec<Source>; 2],
        arguments: &Arguments,
        widened: bool,
    ) {
        fetch.op = Op::TXD;
        fetch.coordinates.extend(place.coordinates.iter().cloned());
        let mut last = place.layer.clone();
        if let Some(offsets) = &arguments.offsets {
            fetch.mods.push(Mod::AOFFI);
            let packed = self.pack_offsets(offsets, 4, 0xf);
            let packed = self.in_register(packed);
            let [moved, both] = [self.b.r(), self.b.r()];
            self.b.shl(moved, packed, 16u32);
            let layer = last.take().unwrap_or_else(Source::rz);
            self.b.lop3(both, moved, imm(0x0fff_0000), layer, 0xe2);
            last = Some(both.into());
        }
        fetch.coordinates.extend(last);
        let count = place.coordinates.len() - usize::from(widened);
        for (dx, dy) in x.iter().zip(y).take(count) {
            fetch.extras.extend([dx.clone(), dy.clone()]);
        }
        if widened {
            fetch.extras.extend([Source::rz(), Source::rz()]);
        }
    }

    /// Emits the fetch and writes its results.
    fn finish_fetch(&mut self, i: &Instruction, fetch: Fetch) -> Lowered {
        let (texels, resident) = match self.operand(i, 0)? {
            Operand::Pair(texels, resident) => (&**texels, self.result_predicate(resident)?),
            texels => (texels, None),
        };
        let ty = self.ty(i, 0)?;
        let elements = self.elements(texels);
        // With f16x2 each element has two texels.
        let each = if ty == Type::F16x2 { 2 } else { 1 };
        let wanted: Vec<bool> =
            elements.iter().flat_map(|e| std::iter::repeat_n(*e != Operand::Sink, each)).collect();
        let is_word = ty.bits() == 32 && each == 1;
        let direct = if is_word { self.direct_words(&elements, Type::B32) } else { None };
        let results: Words = match &direct {
            Some(words) => words.clone(),
            None => wanted.iter().filter(|wanted| **wanted).map(|_| self.b.r()).collect(),
        };
        let absent = resident.map(|_| self.b.p());
        self.emit_fetch(fetch, &wanted, &results, absent)?;
        if let (Some(resident), Some(absent)) = (resident, absent) {
            let present = Source::value(absent).inverted();
            self.b.plop3(resident, present, Source::pt(), Source::pt(), 0x80);
        }
        if direct.is_some() {
            return Ok(());
        }
        if is_word {
            let kept: Vec<Operand> = elements.into_iter().filter(|e| *e != Operand::Sink).collect();
            let parts = results.iter().map(|&v| std::iter::once(Source::value(v)).collect()).collect();
            return self.write_all(&kept, Type::B32, parts);
        }
        let kept = elements.iter().filter(|e| **e != Operand::Sink);
        for (element, words) in kept.zip(results.chunks(each)) {
            let high = words.get(1).map_or_else(Source::rz, |&v| v.into());
            let d = self.halves_of(high, words[0].into());
            self.write(element, ty, &[d.into()])?;
        }
        Ok(())
    }

    fn emit_fetch(
        &mut self,
        fetch: Fetch,
        wanted: &[bool],
        results: &[Value],
        absent: Option<Value>,
    ) -> Lowered {
        let Fetch { op, mut mods, shape, handle, mut coordinates, mut extras } = fetch;
        let mut uniform = None;
        match handle.sampler {
            Some(sampler) if self.chip.uniform_handles() && self.names_whole_warp() => {
                uniform = Some(self.uniform_pair(handle.texture, sampler));
            }
            sampler => {
                mods.push(if op == Op::TLD4 { Mod::B_2 } else { Mod::B });
                let handle = match sampler {
                    Some(sampler) => self.one_handle(handle.texture, sampler),
                    None => handle.texture,
                };
                if op == Op::TXD { coordinates.insert(0, handle) } else { extras.insert(0, handle) }
            }
        }
        let coordinates = self.values(coordinates);
        let extras = self.values(extras);
        let mask = wanted.iter().rev().fold(0, |mask, &wanted| mask << 1 | i64::from(wanted));
        let (low, high) = results.split_at(results.len().min(2));
        let part = |values: &[Value]| match values {
            [] => Destination::dropped(File::R, 1),
            values => Destination::new(File::R, values.iter().copied()),
        };
        let mut draft = self
            .b
            .op(op)
            .mods(&mods)
            .to_or_drop(absent, File::P)
            .destination(part(high))
            .destination(part(low))
            .from(coordinates)
            .from(extras);
        if let Some(pair) = uniform {
            draft = draft.from(Source::values(pair));
            if oriole_ori::handle::names_header(self.chip, op) {
                draft = draft.from(Source::literal(0));
            }
        }
        draft = draft.from(Source::plain(oriole_ori::SourceKind::Symbol(shape)));
        // A mask of all four is omitted.
        if mask != 0xf {
            draft = draft.from(Source::literal(mask));
        }
        draft.emit();
        Ok(())
    }

    /// The sources as one operand; zeros among them are moved to registers.
    pub fn values(&mut self, sources: Vec<Source>) -> Source {
        if sources.is_empty() {
            return Source::rz();
        }
        let values: Words = sources.into_iter().map(|source| self.value_of(source)).collect();
        Source::values(values)
    }

    /// True where the handle operands are warp-uniform. Operands that may be divergent are in one word, such as a
    /// texture handle with its sampler, and are handled like those.
    fn names_whole_warp(&self) -> bool {
        self.uniform && !self.calls && self.body.is_entry
    }

    /// A texture and a sampler in one word, for chips with handles in general registers.
    fn one_handle(&mut self, texture: Source, sampler: Source) -> Source {
        let [moved, both] = [self.b.r(), self.b.r()];
        let (texture, sampler) = (self.in_register(texture), self.in_register(sampler));
        self.b.shl(moved, sampler, 20u32);
        self.b.lop3(both, texture, imm(0xf_ffff), moved, 0xe2);
        both.into()
    }

    /// A texture and a sampler in two uniform registers.
    fn uniform_pair(&mut self, texture: Source, sampler: Source) -> [Value; 2] {
        let pair = [self.b.temporary(File::UR), self.b.temporary(File::UR)];
        for (d, source) in pair.into_iter().zip([texture, sampler]) {
            let value = self.value_of(source);
            self.b.mov(d, value);
        }
        pair
    }

    /// `istypep`: tests a bit of the handle.
    pub fn is_type(&mut self, i: &Instruction) -> Lowered {
        let bit = kind_bit(self.ty(i, 0)?).ok_or_else(|| self.unsupported_form(i))?;
        let Some(d) = self.result_predicate(self.operand(i, 0)?)? else { return Ok(()) };
        let words = self.words(self.operand(i, 1)?, Type::B64)?;
        let high = self.in_register(words[1].clone());
        let tested = self.b.r();
        self.b.and(tested, high, imm(bit));
        self.b.isetp(d, Mod::NE, true, tested, Source::rz());
        Ok(())
    }
}

/// The bit of the upper word of a handle that marks an object of this type.
fn kind_bit(ty: Type) -> Option<u32> {
    ty.opaque_kind().map(OpaqueKind::handle_bit)
}

/// True if a separate sampler reads integer coordinates, so that its border mode applies: not 1D, not multisample,
/// and not where the form names a level.
fn samples_integers(handle: &Handle, place: &Place, arguments: &Arguments) -> bool {
    let has_sampler = handle.sampler.is_some() && place.geometry != Geometry::_1d && place.sample.is_none();
    has_sampler && !place.is_float && arguments.level.is_none() && arguments.gradients.is_none()
}

/// True if the hardware has a fetch that takes the derivatives: 1D and 2D, without a comparison.
fn reads_derivatives(place: &Place, arguments: &Arguments) -> bool {
    let flat = matches!(place.geometry, Geometry::_1d | Geometry::_2d | Geometry::A1d | Geometry::A2d);
    place.is_float && flat && arguments.compared.is_none()
}

/// The sample and layer coordinates of this geometry, and the count of others.
fn dimensions(geometry: Geometry) -> (bool, bool, usize) {
    match geometry {
        Geometry::_1d => (false, false, 1),
        Geometry::_2d => (false, false, 2),
        Geometry::_3d | Geometry::Cube => (false, false, 3),
        Geometry::A1d => (false, true, 1),
        Geometry::A2d => (false, true, 2),
        Geometry::Acube => (false, true, 3),
        Geometry::_2dms => (true, false, 2),
        Geometry::A2dms => (true, true, 2),
    }
}

/// The SASS modifier of a geometry. 1D with a floating-point coordinate is 2D where the sampler is that of the
/// texture.
fn shape(geometry: Geometry, widened: bool) -> Symbol {
    match geometry {
        Geometry::_1d if widened => Symbol::_2D,
        Geometry::_1d => Symbol::_1D,
        Geometry::_2d | Geometry::_2dms => Symbol::_2D,
        Geometry::_3d => Symbol::_3D,
        Geometry::A1d => Symbol::ARRAY_1D,
        Geometry::A2d | Geometry::A2dms => Symbol::ARRAY_2D,
        Geometry::Cube => Symbol::CUBE,
        Geometry::Acube => Symbol::ARRAY_CUBE,
    }
}
