//! A matrix multiply by the types of its factors, and in halves where the chip lacks its shape.

use super::floats::{self, narrow_factor};
use super::fragment::{Fragment, Product, Remainder};
use super::{bits, integers};
use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::source::Words;
use oriole_hir::Instruction;
use oriole_ori::Source;
use oriole_ptx::word::Rounding;
use oriole_ptx::{MatrixShape, Type, Word};
use oriole_sass::Mod;

/// A PTX matrix multiply, by the types of its factors.
pub(super) fn product(cx: &mut Lower<'_>, i: &Instruction, p: Product) -> Lowered {
    match by_type(cx, i, p)? {
        Remainder::Nothing => Ok(()),
        Remainder::Depth(p) => product_in_halves(cx, i, p),
        Remainder::Rows(p) => product_of_few_rows(cx, i, p),
    }
}

fn by_type(cx: &mut Lower<'_>, i: &Instruction, p: Product) -> Result<Remainder, LowerError> {
    let has = |word| i.modifiers.has(word);
    match p.types {
        [Type::F64, ..] => {
            let rounding = match i.modifiers.at() {
                None | Some(Rounding::Rn) => None,
                Some(Rounding::Rz) => Some(Mod::RZ),
                Some(Rounding::Rm) => Some(Mod::RM),
                Some(Rounding::Rp) => Some(Mod::RP),
                Some(Rounding::Rna) => return Err(cx.unsupported_form(i)),
            };
            floats::double_product(cx, i, p, rounding)
        }
        [_, left, _] if narrow_factor(left).is_some() => floats::narrow_float_product(cx, i, p),
        [_, Type::F16 | Type::BF16 | Type::TF32, _] => floats::float_product(cx, i, p),
        [_, Type::S8 | Type::U8, _] => integers::byte_product(cx, i, p, has(Word::Satfinite)),
        [_, Type::S4 | Type::U4, _] => integers::nibble_product(cx, i, p, has(Word::Satfinite)),
        [_, Type::B1, _] => bits::bit_product(cx, i, p, has(Word::Xor)),
        _ => Err(cx.unsupported_form(i)),
    }
}

/// An MMA of the first half of the depth, and one that accumulates the second half.
pub(super) fn product_in_halves(cx: &mut Lower<'_>, i: &Instruction, p: Product) -> Lowered {
    let shape = MatrixShape { depth: p.shape.depth / 2, ..p.shape };
    let Product { types, metadata, .. } = p.clone();
    let middle: Words = p.d.iter().map(|_| cx.b.r()).collect();
    let half = |words: &Fragment, upper: bool| -> Fragment {
        let count = words.len() / 2;
        words[if upper { count } else { 0 }..][..count].iter().cloned().collect()
    };
    let sum = middle.iter().map(|&v| Source::value(v)).collect();
    let [a, b] = [half(&p.a, false), half(&p.b, false)];
    product(cx, i, Product { shape, types, a, b, c: p.c, d: middle, metadata: metadata.clone() })?;
    let [a, b] = [half(&p.a, true), half(&p.b, true)];
    product(cx, i, Product { shape, types, a, b, c: sum, d: p.d, metadata })
}

/// An MMA for the upper half of the rows, and one for the lower half.
pub(super) fn product_of_few_rows(cx: &mut Lower<'_>, i: &Instruction, p: Product) -> Lowered {
    let shape = MatrixShape { rows: p.shape.rows / 2, ..p.shape };
    for lower in [false, true] {
        let half = |words: &Fragment| -> Fragment {
            let count = words.len() / 2;
            words[if lower { count } else { 0 }..][..count].iter().cloned().collect()
        };
        let count = p.d.len() / 2;
        let d = p.d[if lower { count } else { 0 }..][..count].iter().copied().collect();
        let (a, c) = (half(&p.a), half(&p.c));
        product(cx, i, Product { shape, a, c, d, ..p.clone() })?;
    }
    Ok(())
}
