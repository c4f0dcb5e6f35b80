//! The matrix of a `wmma` load or store in memory, as a lane sees it: its start, its stride, and places in it.

use super::wmma_layout::Layout;
use crate::LowerError;
use crate::context::Lower;
use crate::memory::{self, Place};
use crate::source::imm;
use oriole_hir::{Instruction, Operand};
use oriole_ori::{Pseudo, Source, SourceKind, Value, Values};
use oriole_ptx::{Space, Type};
use oriole_sass::Mod;
use smallvec::SmallVec;

/// The matrix in memory as a lane sees it.
pub(super) struct Matrix {
    pub place: Place,
    /// Bytes of an element; of a smaller one, eighths of a byte do not matter, since lines are whole bytes.
    pub bytes: u32,
    pub stride: Stride,
    /// Addresses of strided steps, as they are needed.
    pub starts: SmallVec<[(u32, Values); 4]>,
}

/// Bytes from a line to the next.
#[derive(Clone)]
pub(super) enum Stride {
    Known(u32),
    /// This register times a factor.
    Times(Source, u32),
}

/// Largest stride that is folded into offsets.
const OFFSET_STRIDE: u32 = 1 << 12;

/// Offsets that leave room for such strides.
const NEAR: std::ops::Range<i32> = -0x40_0000..0x40_0000;

/// The address and the stride of a fragment's matrix.
pub(super) fn matrix(
    cx: &mut Lower<'_>,
    i: &Instruction,
    index: usize,
    layout: &Layout,
) -> Result<Matrix, LowerError> {
    let operand: &Operand = cx.operand(i, index)?;
    let place = memory::place_of(cx, operand, i.space.unwrap_or(Space::Generic))?;
    let mut place = memory::cluster_to_generic(cx, place);
    if !NEAR.contains(&place.offset) {
        let offset = std::mem::take(&mut place.offset);
        place.base = moved_base(cx, &place.base, offset);
    }
    let stride = match i.operands.get(2) {
        Some(stride) => cx.word(stride, Type::U32)?,
        None => imm(layout.stride),
    };
    let bytes = (layout.bits / 8).max(1);
    let stride = match stride.kind {
        SourceKind::Imm(elements) if elements <= OFFSET_STRIDE => {
            Stride::Known((u64::from(elements) * u64::from(layout.bits) / 8) as u32)
        }
        SourceKind::Zero(_) => Stride::Known(0),
        _ if layout.bits < 8 => {
            let (elements, bytes) = (cx.in_register(stride), cx.b.r());
            cx.b.shr(bytes, elements, (8 / layout.bits).trailing_zeros());
            Stride::Times(bytes.into(), 1)
        }
        _ => Stride::Times(cx.in_register(stride), bytes),
    };
    Ok(Matrix { place, bytes, stride, starts: SmallVec::new() })
}

/// A base plus a constant.
fn moved_base(cx: &mut Lower<'_>, base: &Values, offset: i32) -> Values {
    match base[..] {
        [low, high] => {
            let add = cx.tuple([imm(offset as u32), imm((offset >> 31) as u32)]);
            let sum = cx.b.pair();
            cx.pseudo(Pseudo::Add64, &[], sum, [Source::values([low, high]), add]);
            sum.into_iter().collect()
        }
        _ => {
            let sum = cx.b.r();
            let base = base.first().map_or(Source::rz(), |&base| Source::value(base));
            cx.add(sum, base, imm(offset as u32));
            Values::from_slice(&[sum])
        }
    }
}

/// `base + a * b`, where `b` may be an immediate.
fn ahead(cx: &mut Lower<'_>, base: &Values, a: Source, b: Source) -> Values {
    if let [low, high] = base[..] {
        let sum = cx.b.pair();
        cx.b.imad_wide(sum, true, a, b, Source::values([low, high]));
        return sum.into_iter().collect();
    }
    let sum = cx.b.r();
    let base = base.first().map_or(Source::rz(), |&base| Source::value(base));
    cx.b.imad(sum, a, b, base);
    Values::from_slice(&[sum])
}

/// Moves the start of a matrix to where a lane's part begins: `lines` strides and `bytes` bytes further.
pub(super) fn enter(cx: &mut Lower<'_>, matrix: &mut Matrix, lines: Value, bytes: Option<Value>) {
    let base = match bytes {
        Some(bytes) => ahead(cx, &matrix.place.base, bytes.into(), imm(1)),
        None => matrix.place.base.clone(),
    };
    matrix.place.base = match matrix.stride.clone() {
        Stride::Known(0) => base,
        Stride::Known(stride) => ahead(cx, &base, lines.into(), imm(stride)),
        Stride::Times(stride, 1) => ahead(cx, &base, stride, lines.into()),
        Stride::Times(stride, scale) => {
            let scaled = cx.b.r();
            cx.b.shl(scaled, lines, scale.trailing_zeros());
            ahead(cx, &base, stride, scaled.into())
        }
    };
}

/// The location this many strides and bytes after the start.
pub(super) fn behind(cx: &mut Lower<'_>, matrix: &mut Matrix, lines: u32, bytes: u32) -> Place {
    let Place { space, symbol, offset, .. } = matrix.place;
    let mut place = Place { space, base: matrix.place.base.clone(), symbol, offset: offset + bytes as i32 };
    match (&matrix.stride, lines) {
        (_, 0) => {}
        (Stride::Known(stride), _) => place.offset += (stride * lines) as i32,
        (Stride::Times(stride, scale), _) => {
            let known = matrix.starts.iter().find(|start| start.0 == lines);
            place.base = match known {
                Some((_, base)) => base.clone(),
                None => {
                    let (stride, step) = (stride.clone(), imm(lines * scale));
                    let base = ahead(cx, &matrix.place.base, stride, step);
                    matrix.starts.push((lines, base.clone()));
                    base
                }
            };
        }
    }
    place
}

/// The size modifier of an access of this many bytes.
pub(super) fn size(bytes: u32) -> &'static [Mod] {
    match bytes {
        1 => &[Mod::U8],
        2 => &[Mod::U16],
        8 => &[Mod::_64],
        16 => &[Mod::_128],
        _ => &[],
    }
}
