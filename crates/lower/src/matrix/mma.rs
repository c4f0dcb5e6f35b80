//! `mma`: its operands, its result, and the choice among its forms.

use super::fragment::{self, Product};
use super::{products, quarters, scaled};
use crate::context::{Lower, Lowered};
use oriole_hir::Instruction;
use oriole_ori::Source;
use oriole_ptx::{Type, Word};

/// `mma`.
pub(crate) fn mma(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if i.modifiers.has(Word::BlockScale) {
        return scaled::scaled_product(cx, i);
    }
    let (Some(shape), &[to, left, right, from]) = (i.modifiers.matrix_shape(), &i.types[..]) else {
        return Err(cx.unsupported_form(i));
    };
    if shape.depth == 4 && left == Type::F16 {
        return quarters::multiply_quarters(cx, i, to, from);
    }
    if to != from {
        return Err(cx.unsupported_form(i));
    }
    let word = if to == Type::F64 { Type::F64 } else { Type::B32 };
    let [a, b, c] = [
        fragment::fragment(cx, i, 1, word)?,
        fragment::fragment(cx, i, 2, word)?,
        fragment::fragment(cx, i, 3, word)?,
    ];
    let sparse = i.modifiers.has(Word::Sp) || i.modifiers.has(Word::SpOrderedMetadata);
    let metadata = if sparse { Some(fragment::metadata(cx, i)?) } else { None };
    let elements = cx.elements(cx.operand(i, 0)?);
    let direct = cx.direct_words(&elements, word);
    let d = direct.clone().unwrap_or_else(|| c.iter().map(|_| cx.b.r()).collect());
    let product = Product { shape, types: [to, left, right], a, b, c, d: d.clone(), metadata };
    products::product(cx, i, product)?;
    if direct.is_none() {
        let each = word.bits() as usize / 32;
        let parts = d.chunks(each).map(|part| part.iter().map(|&v| Source::value(v)).collect()).collect();
        cx.write_all(&elements, word, parts)?;
    }
    Ok(())
}
