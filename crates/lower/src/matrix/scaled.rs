//! MMAs whose factors have a scale factor for each block of elements.

use super::floats::narrow_factor;
use super::fragment::{self, Metadata};
use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::source::imm;
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{File, Source, SourceKind};
use oriole_ptx::{Type, Word};
use oriole_sass::{Mod, Op};

/// Factors of eight bits and less, each block of which has a scale factor.
pub(super) fn scaled_product(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let (Some(shape), &[_, left, right, _, scale]) = (i.modifiers.matrix_shape(), &i.types[..]) else {
        return Err(cx.unsupported_form(i));
    };
    let sparse = i.modifiers.has(Word::SpOrderedMetadata);
    let (Some([left, _]), Some([_, right])) = (narrow_factor(left), narrow_factor(right)) else {
        return Err(cx.unsupported_form(i));
    };
    let (op, size) = match (i.modifiers.has(Word::KindMxf8f6f4), shape.depth, sparse) {
        (true, 32, false) => (Op::QMMA, Mod::_16832),
        (true, 64, true) => (Op::QMMA, Mod::_16864),
        (false, 64, false) => (Op::OMMA, Mod::_16864),
        (false, 128, true) => (Op::OMMA, Mod::_168128),
        _ => return Err(cx.unsupported_form(i)),
    };
    let kinds = match (op, i.modifiers.has(Word::ScaleVec4X)) {
        (Op::QMMA, _) => 1,
        (_, false) => 2,
        (_, true) => 4,
    };
    if !cx.has(op) {
        return Err(cx.unsupported_form(i));
    }
    let word = Type::B32;
    let [a, b, c] = [1, 2, 3].map(|index| fragment::fragment(cx, i, index, word));
    let (a, b, c) = (cx.tuple(a?), cx.tuple(b?), cx.tuple(c?));
    let metadata = if sparse { Some(fragment::metadata(cx, i)?) } else { None };
    // Metadata and selector come before the scale factors of both factors, each followed by its positions.
    let first = if sparse { 6 } else { 4 };
    let [scale_a, scale_b] = [first, first + 2].map(|index| cx.operand(i, index).cloned());
    let [scale_a, scale_b] = [cx.word(&scale_a?, word)?, cx.word(&scale_b?, word)?];
    // Metadata have the register before the scale factors of the left factor.
    let scale_a = match &metadata {
        None => cx.in_register(scale_a),
        Some(metadata) => cx.tuple([metadata.word.clone(), scale_a]),
    };
    let scales = [scale_a, cx.in_register(scale_b)];
    let places = places_of_scales(cx, i, [first + 1, first + 3], kinds)?;
    let elements = cx.elements(cx.operand(i, 0)?);
    let direct = cx.direct_words(&elements, word);
    let d = direct.clone().unwrap_or_else(|| elements.iter().map(|_| cx.b.r()).collect());
    let kind = if scale == Type::UE8M0 { Mod::E8 } else { Mod::UE4M3 };
    let draft = cx.b.op(op).mods(&[Mod::SF, size, Mod::F32, left, right, kind]);
    let draft = draft.m_if(kinds == 4, Mod::_4X).to_tuple(d.iter().copied()).from_all([a, b, c]);
    match metadata {
        None => draft.from_all(scales).from(places).emit(),
        Some(Metadata { selector, .. }) => {
            let [scales_a, scales_b] = scales;
            let draft = draft.m(Mod::SP).from(scales_a).from(scales_b).from(places);
            draft.from(Source::literal(selector.into())).emit();
        }
    }
    if direct.is_none() {
        let parts = d.iter().map(|&v| std::iter::once(Source::value(v)).collect()).collect();
        cx.write_all(&elements, word, parts)?;
    }
    Ok(())
}

/// Positions of the scale factors of an MMA, in a uniform register. For `a`: the byte in two bits, and the pair
/// of lanes in one. For `b`: the byte and the lane, in two bits each.
fn places_of_scales(
    cx: &mut Lower<'_>,
    i: &Instruction,
    [of_a, of_b]: [usize; 2],
    factors: u32,
) -> Result<Source, LowerError> {
    // Mask of the byte position, which is aligned to the count of factors.
    let bytes = 4 - factors;
    let mut known = 0;
    let mut others = Vec::new();
    for (operand, fields) in [(of_a, [(bytes, 0), (1, 2)]), (of_b, [(bytes, 3), (3, 5)])] {
        let components = cx.operand(i, operand)?.components().to_vec();
        for (component, (mask, shift)) in components.iter().zip(fields) {
            match component {
                Operand::Immediate(Immediate::Integer(number)) => known |= (*number as u32 & mask) << shift,
                _ => others.push((cx.word(component, Type::U16)?, mask, shift)),
            }
        }
    }
    if others.is_empty() && known == 0 {
        return Ok(Source::plain(SourceKind::Zero(File::UR)));
    }
    let places = cx.b.temporary(File::UR);
    if others.is_empty() {
        cx.b.mov(places, known);
        return Ok(places.into());
    }
    let mut total: Source = imm(known);
    for (word, mask, shift) in others {
        let [field, moved, both] = [cx.b.r(), cx.b.r(), cx.b.r()];
        let word = cx.in_register(word);
        cx.b.and(field, word, imm(mask));
        cx.b.shl(moved, field, shift);
        cx.b.or(both, moved, total);
        total = both.into();
    }
    let total = cx.value_of(total);
    cx.b.mov(places, total);
    Ok(places.into())
}
