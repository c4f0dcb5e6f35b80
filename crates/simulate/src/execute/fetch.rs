//! Texture fetches and queries: TEX, TLD, TLD4, TXD, TXQ.

use super::context::{Context, each_active};
use crate::launch::Fault;
use crate::number::{F16, Round};
use crate::sampling::{Point, face, gather, load, sample};
use crate::warp::Lanes;
use oriole_machine_model::texture::{Layout, Opaque, Sampler, Texture};
use oriole_sass::register::RZ;
use oriole_sass::{Mod, Op, OperandKind, Symbol};

/// The operands of a fetch by role.
struct Fetch {
    absent: Option<u8>,
    high: u8,
    low: u8,
    coordinates: u8,
    extras: u8,
    handle: Handle,
    shape: Symbol,
    mask: u32,
}

/// The place of the handle.
#[derive(Clone, Copy)]
enum Handle {
    /// In a uniform register, with that of a sampler after it.
    Uniform(u8),
    /// In constant bank 0, in words.
    Bank(u32),
    /// The first of the general registers after the coordinates, or of the coordinates themselves.
    General,
}

pub(super) fn execute(context: &mut Context) -> Result<(), Fault> {
    let fetch = operands(context)?;
    let mut results = [[0; 32]; 4];
    each_active(context, |context, lane| {
        let words = match context.instruction.op {
            Op::TXQ => query(context, &fetch, lane)?,
            _ => fetched(context, &fetch, lane)?,
        };
        results.iter_mut().zip(words).for_each(|(result, word)| result[lane] = word);
        Ok(())
    })?;
    let active = context.active;
    let kept = results.iter().enumerate().filter(|(channel, _)| fetch.mask >> channel & 1 == 1);
    let kept: Vec<Lanes> = kept.map(|(_, values)| *values).collect();
    let halves = context.has(Mod::F16);
    for (register, part) in [fetch.low, fetch.high].into_iter().zip(kept.chunks(2)) {
        let words = if halves { vec![packed(part)] } else { part.to_vec() };
        for (at, values) in words.iter().enumerate().filter(|_| register != RZ) {
            context.warp_mut().write(register.saturating_add(at as u8), active, values);
        }
    }
    if let Some(absent) = fetch.absent {
        // It reports missing parts, and all of a texture is resident.
        context.warp_mut().write_predicate(absent, active, 0);
    }
    Ok(())
}

/// f32 values as f16, two in a register.
fn packed(part: &[Lanes]) -> Lanes {
    std::array::from_fn(|lane| {
        part.iter().rev().fold(0, |word, values| {
            let single = f64::from(f32::from_bits(values[lane]));
            word << 16 | F16.of_f64(single, Round::Nearest) as u32
        })
    })
}

fn operands(context: &Context) -> Result<Fetch, Fault> {
    let all = &context.instruction.operands;
    let mut general = Vec::new();
    let mut numbers = Vec::new();
    let (mut absent, mut uniform, mut shape) = (None, None, None);
    let mut behind_shape = 0;
    for operand in all {
        match operand.kind {
            OperandKind::Pred(register) => absent = Some(register),
            OperandKind::Reg(register) => general.push(register),
            OperandKind::UReg(register) => uniform = Some(register),
            OperandKind::Symbol(symbol) => {
                shape = Some(symbol);
                behind_shape = numbers.len();
            }
            OperandKind::Imm(number) => numbers.push(number as u32),
            _ => return Err(context.refuse()),
        }
    }
    let query = context.instruction.op == Op::TXQ;
    let bindless = context.has(if context.instruction.op == Op::TLD4 { Mod::B_2 } else { Mod::B });
    let before = if query { numbers.len().saturating_sub(1) } else { behind_shape };
    let handle = match (uniform, bindless, before) {
        (Some(register), ..) => Handle::Uniform(register),
        (None, true, 0) => Handle::General,
        (None, false, 2) => Handle::Bank(numbers[1]),
        _ => return Err(context.refuse()),
    };
    let mask = if query || numbers.len() > behind_shape { numbers.last().copied() } else { None };
    let &[high, low, coordinates, ref rest @ ..] = general.as_slice() else { return Err(context.refuse()) };
    Ok(Fetch {
        absent,
        high,
        low,
        coordinates,
        extras: rest.first().copied().unwrap_or(RZ),
        handle,
        shape: shape.ok_or_else(|| context.refuse())?,
        mask: mask.unwrap_or(0xf),
    })
}

/// Registers of the sources of one lane, coordinates and extras in a row, read one by one.
struct Words {
    first: Vec<u32>,
    second: Vec<u32>,
}

impl Fetch {
    fn words(&self, context: &Context, lane: usize) -> Words {
        let read = |register: u8| -> Vec<u32> {
            let values = (0..4).map(|at| {
                let word: Lanes = match register {
                    RZ => [0; 32],
                    first => context.warp().read(first.saturating_add(at)),
                };
                word[lane]
            });
            values.collect()
        };
        Words { first: read(self.coordinates), second: read(self.extras) }
    }

    /// Coordinates and extras, in the order of a fetch without `.SCR`.
    fn sources(&self, context: &Context, lane: usize, coordinates: usize, extras: usize) -> Vec<u32> {
        let words = self.words(context, lane);
        let first = if context.has(Mod::SCR) { (coordinates + extras).div_ceil(2) } else { coordinates };
        let second = words.second.into_iter().take(coordinates + extras - first);
        words.first.into_iter().take(first).chain(second).collect()
    }

    fn objects<'c>(&self, context: &'c Context, general: u32) -> Result<(&'c Texture, Sampler), Fault> {
        let (word, sampler) = match self.handle {
            Handle::Uniform(register) => {
                let [texture, sampler] = context.warp().read_uniform_pair(register);
                (texture, sampler)
            }
            Handle::Bank(word) => (context.constant(0, 4 * i64::from(word), 4)?[0], 0),
            Handle::General => (general, 0),
        };
        // Where both are in one word the sampler is above the texture.
        let sampler = if sampler == 0 { word >> 20 } else { sampler };
        let texture = match object(context, word & 0xf_ffff)? {
            Opaque::Texture(texture) | Opaque::Surface(texture) => texture,
            Opaque::Sampler(_) => {
                return Err(Fault::Launch("the handle of a sampler names no texture".into()));
            }
        };
        match sampler {
            0 => Ok((texture, texture.sampler)),
            number => match object(context, number)? {
                Opaque::Sampler(sampler) => Ok((texture, *sampler)),
                _ => Err(Fault::Launch(format!("handle {number} names no sampler"))),
            },
        }
    }
}

/// The object of the index in a handle.
pub(super) fn object<'c>(context: &'c Context, number: u32) -> Result<&'c Opaque, Fault> {
    let found = (number as usize).checked_sub(1).and_then(|at| context.global.objects.get(at));
    found.ok_or_else(|| Fault::Launch(format!("handle {number:#x} names no texture or surface")))
}

fn query(context: &Context, fetch: &Fetch, lane: usize) -> Result<[u32; 4], Fault> {
    if fetch.shape != Symbol::TEX_HEADER_DIMENSION {
        return Err(context.refuse());
    }
    let words = fetch.words(context, lane).first;
    let (handle, level) = match fetch.handle {
        Handle::General => (words[0], words[1]),
        _ => (0, words[0]),
    };
    let (texture, _) = fetch.objects(context, handle)?;
    let [width, height, depth] = texture.size_of(level.min(texture.levels.saturating_sub(1)));
    Ok([width, height, depth, texture.levels])
}

fn fetched(context: &Context, fetch: &Fetch, lane: usize) -> Result<[u32; 4], Fault> {
    let (op, has) = (context.instruction.op, |name| context.has(name));
    let (dimensions, layered) = match fetch.shape {
        Symbol::_1D => (1, false),
        Symbol::_2D => (2, false),
        Symbol::_3D | Symbol::CUBE => (3, false),
        Symbol::ARRAY_1D => (1, true),
        Symbol::ARRAY_2D => (2, true),
        Symbol::ARRAY_CUBE => (3, true),
        _ => return Err(context.refuse()),
    };
    if [Mod::LB, Mod::LC, Mod::FDV, Mod::PTP].into_iter().any(has) {
        return Err(context.refuse());
    }
    let general = usize::from(matches!(fetch.handle, Handle::General));
    if op == Op::TXD {
        return by_derivatives(context, fetch, lane, dimensions, layered);
    }
    let wanted = [Mod::LL, Mod::AOFFI, Mod::DC, Mod::MS].map(has);
    let extras = general + wanted.iter().filter(|wanted| **wanted).count();
    let coordinates = dimensions + usize::from(layered);
    let mut words = fetch.sources(context, lane, coordinates, extras).into_iter();
    let mut next = || words.next().unwrap_or(0);
    let layer = if layered { next() } else { 0 };
    let at: Vec<u32> = (0..dimensions).map(|_| next()).collect();
    let handle = if general == 1 { next() } else { 0 };
    // Neither CUDA nor PTX has comparing samplers, so the reference value (`.DC`) has no effect.
    let [level, offsets, _, sample_number] = wanted.map(|wanted| if wanted { next() } else { 0 });
    let (texture, sampler) = fetch.objects(context, handle)?;
    if !readable(texture, op, fetch.shape) {
        return Ok([0; 4]);
    }
    // Distance of the fields, and their width.
    let (apart, bits) = if op == Op::TLD4 { (8, 6) } else { (4, 4) };
    let offset =
        [0, 1, 2].map(|axis| if axis < dimensions { signed(offsets, apart * axis as u32, bits) } else { 0 });
    if op == Op::TLD {
        let mut place = [0; 3];
        for (axis, &word) in at.iter().enumerate() {
            place[axis] = i64::from(word as i32) + i64::from(offset[axis]);
        }
        return Ok(load(texture, place, layer, level, sample_number, has(Mod::CL)));
    }
    let mut point = Point { dimensions, layer, offset, level: f32::from_bits(level), ..Point::default() };
    at.iter().enumerate().for_each(|(axis, &word)| point.at[axis] = f32::from_bits(word));
    let mut sampler = sampler;
    if matches!(fetch.shape, Symbol::CUBE | Symbol::ARRAY_CUBE) {
        let (face, at) = face(point.at);
        // The last cube stands for all beyond it.
        point.layer = 6 * layer.min((texture.layers / 6).max(1) - 1) + face;
        point.at = [at[0], at[1], 0.0];
        point.dimensions = 2;
        sampler.normalized = true;
        sampler.address = Default::default();
    }
    if op == Op::TLD4 {
        let rows = [(Mod::R, 0), (Mod::G, 1), (Mod::B, 2), (Mod::A, 3)];
        let channel = rows.iter().find(|row| has(row.0)).ok_or_else(|| context.refuse())?.1;
        return Ok(gather(texture, &sampler, &point, channel));
    }
    Ok(sample(texture, &sampler, &point))
}

/// Whether the layout of the texels fits this instruction; otherwise it reads zeros.
fn readable(texture: &Texture, op: Op, shape: Symbol) -> bool {
    match shape {
        Symbol::_1D if op == Op::TLD => texture.layout == Layout::Linear,
        Symbol::CUBE | Symbol::ARRAY_CUBE => texture.layout == Layout::Cube,
        _ => true,
    }
}

/// A sign-extended field of a word.
fn signed(word: u32, shift: u32, bits: u32) -> i32 {
    ((word >> shift) << (32 - bits)) as i32 >> (32 - bits)
}

/// The level at which neighbouring points are as far apart as texels.
fn by_derivatives(
    context: &Context,
    fetch: &Fetch,
    lane: usize,
    dimensions: usize,
    layered: bool,
) -> Result<[u32; 4], Fault> {
    let words = fetch.words(context, lane);
    let mut first = words.first.into_iter();
    let mut next = || first.next().unwrap_or(0);
    let handle = if matches!(fetch.handle, Handle::General) { next() } else { 0 };
    let at: Vec<u32> = (0..dimensions).map(|_| next()).collect();
    let last = if layered || context.has(Mod::AOFFI) { next() } else { 0 };
    let (texture, sampler) = fetch.objects(context, handle)?;
    let mut point = Point { dimensions, layer: if layered { last & 0xffff } else { 0 }, ..Point::default() };
    at.iter().enumerate().for_each(|(axis, &word)| point.at[axis] = f32::from_bits(word));
    if context.has(Mod::AOFFI) {
        (0..dimensions).for_each(|axis| point.offset[axis] = signed(last, 16 + 4 * axis as u32, 4));
    }
    let mut squares = [0.0f64; 2];
    for axis in 0..dimensions {
        let scale = if sampler.normalized { f64::from(texture.size[axis]) } else { 1.0 };
        for (square, word) in squares.iter_mut().zip(&words.second[2 * axis..]) {
            *square += (f64::from(f32::from_bits(*word)) * scale).powi(2);
        }
    }
    let [x, y] = squares;
    point.level = (libm::log2(x.max(y)) / 2.0) as f32;
    Ok(sample(texture, &sampler, &point))
}
