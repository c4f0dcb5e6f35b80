//! Mip level of a texture by derivatives of the coordinates, where no fetch instruction takes them: the logarithm of
//! the larger distance, in texels, between neighbouring points.

use super::coordinates::Place;
use super::properties;
use crate::arithmetic;
use crate::context::Lower;
use crate::source::{imm, magnitude};
use oriole_ori::{Source, Value};
use oriole_ptx::word::{Geometry, OpaqueProperty};
use oriole_sass::{Mod, Op};

const SIGN: u32 = 1 << 31;
const HALF: f32 = 0.5;

/// The level at which points this far apart are a texel apart; an integer for coordinates in texels.
pub(super) fn level_of(
    cx: &mut Lower<'_>,
    texture: &Source,
    place: &Place,
    count: usize,
    derivatives: &[Vec<Source>; 2],
) -> Source {
    let factors: Option<Vec<Source>> = match (place.is_float, &place.factor) {
        (false, _) => None,
        // Faces are squares from -1 to 1.
        (true, Some(factor)) => {
            let [half, scale] = [cx.b.r(), cx.b.r()];
            let size = size_along(cx, texture, OpaqueProperty::Width);
            cx.op(Op::FMUL, &[], half, [size, imm(HALF.to_bits())]);
            cx.op(Op::FMUL, &[], scale, [half.into(), factor.clone()]);
            Some(vec![scale.into(); count])
        }
        (true, None) => {
            let axes = [OpaqueProperty::Width, OpaqueProperty::Height, OpaqueProperty::Depth];
            Some(axes.into_iter().take(count).map(|axis| size_along(cx, texture, axis)).collect())
        }
    };
    let [x, y] = [0, 1].map(|direction: usize| {
        let list: Vec<Source> = derivatives[direction].iter().take(count).cloned().collect();
        let list = match place.geometry {
            Geometry::Cube | Geometry::Acube => along_the_face(cx, &place.coordinates, list),
            _ => list,
        };
        squared_distance(cx, list, factors.as_deref())
    });
    let [larger, logarithm, level] = [cx.b.r(), cx.b.r(), cx.b.r()];
    cx.op(Op::FMNMX, &[], larger, [x.into(), y.into(), Source::not_pt()]);
    cx.op(Op::MUFU, &[Mod::LG2], logarithm, [larger.into()]);
    cx.op(Op::FMUL, &[], level, [logarithm.into(), imm(HALF.to_bits())]);
    if place.is_float { level.into() } else { nearest_level(cx, texture, level) }
}

/// The nearest level that the texture has: others read as zeros.
fn nearest_level(cx: &mut Lower<'_>, texture: &Source, level: Value) -> Source {
    let [above, whole, level_number] = [cx.b.r(), cx.b.r(), cx.b.r()];
    let [levels, last] = [cx.b.r(), cx.b.r()];
    properties::levels_of(cx, texture.clone(), levels);
    cx.add(last, levels.into(), imm(u32::MAX));
    cx.op(Op::FADD, &[], above, [level.into(), imm(HALF.to_bits())]);
    // Unsigned conversion clamps at zero.
    cx.op(Op::F2I, &[Mod::U32, Mod::TRUNC, Mod::NTZ], whole, [above.into()]);
    arithmetic::min_max(cx, &[Mod::U32], level_number, whole.into(), last.into(), Source::pt());
    level_number.into()
}

/// The size of a texture in one direction.
fn size_along(cx: &mut Lower<'_>, texture: &Source, axis: OpaqueProperty) -> Source {
    let [size, number] = [cx.b.r(), cx.b.r()];
    properties::size_of(cx, texture.clone(), axis, Source::rz(), size);
    arithmetic::integer_to_single(cx, number, false, size.into());
    number.into()
}

/// The squared length of the derivatives, each multiplied by its factor.
fn squared_distance(cx: &mut Lower<'_>, derivatives: Vec<Source>, factors: Option<&[Source]>) -> Value {
    let mut sum: Option<Value> = None;
    for (index, part) in derivatives.into_iter().enumerate() {
        let part = cx.in_register(part);
        let scaled: Source = match factors.and_then(|factors| factors.get(index)) {
            Some(factor) => {
                let d = cx.b.r();
                cx.op(Op::FMUL, &[], d, [part, factor.clone()]);
                d.into()
            }
            None => part,
        };
        let d = cx.b.r();
        match sum {
            None => cx.op(Op::FMUL, &[], d, [scaled.clone(), scaled]),
            Some(sum) => cx.op(Op::FFMA, &[], d, [scaled.clone(), scaled, sum.into()]),
        }
        sum = Some(d);
    }
    sum.unwrap_or_else(|| cx.b.r())
}

/// Derivatives of a direction as those of the point on a cube face, times the largest coordinate. The largest
/// coordinate itself cancels, so the face does not matter.
fn along_the_face(cx: &mut Lower<'_>, on_cube: &[Source], derivatives: Vec<Source>) -> Vec<Source> {
    let sizes: Vec<Source> = on_cube.iter().map(|c| magnitude(c.clone(), SIGN)).collect();
    let [two, all] = [cx.b.r(), cx.b.r()];
    cx.op(Op::FMNMX, &[], two, [sizes[0].clone(), sizes[1].clone(), Source::not_pt()]);
    cx.op(Op::FMNMX, &[], all, [sizes[2].clone(), two.into(), Source::not_pt()]);
    let derivatives: Vec<Source> = derivatives.into_iter().map(|part| cx.in_register(part)).collect();
    let outward: Vec<Value> = on_cube
        .iter()
        .zip(&derivatives)
        .map(|(c, part)| {
            let d = cx.b.r();
            cx.op(Op::FMUL, &[], d, [c.clone(), part.clone()]);
            d
        })
        .collect();
    let mut chosen = outward[2];
    for axis in [1, 0] {
        let (largest, d) = (cx.b.p(), cx.b.r());
        let draft = cx.b.op(Op::FSETP).m(Mod::EQ).m(Mod::AND).to(largest);
        draft.drop_result(oriole_ori::File::P).from(sizes[axis].clone()).from(all).from(Source::pt()).emit();
        cx.op(Op::FSEL, &[], d, [outward[axis].into(), chosen.into(), Source::value(largest)]);
        chosen = d;
    }
    let along = on_cube.iter().zip(derivatives).map(|(c, part)| {
        let d = cx.b.r();
        let back = Source { negate: true, ..c.clone() };
        cx.op(Op::FFMA, &[], d, [back, chosen.into(), part]);
        Source::from(d)
    });
    along.collect()
}
