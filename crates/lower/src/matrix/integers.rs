//! MMAs of bytes and of four-bit integers.
//!
//! The order of the terms of an integer dot product is free, and so is the assignment of register bits to terms, as long
//! as both factors agree.

use super::fragment::{self, Fragment, Product, Remainder, factors};
use crate::LowerError;
use crate::arithmetic;
use crate::context::Lower;
use crate::source::Words;
use oriole_hir::Instruction;
use oriole_ori::Source;
use oriole_ptx::MatrixShape;
use oriole_sass::{Mod, Mods, Op, Operand as MachineOperand, OperandKind};
use smallvec::SmallVec;

/// True if the chip has such an integer MMA, whose factors name their layouts.
fn multiplies_integers(cx: &Lower<'_>, mods: &[Mod], sparse: bool) -> bool {
    let mut mods = Mods::of(mods);
    let mut operands = vec![MachineOperand::plain(OperandKind::Reg(0)); 4];
    operands[1].suffixes = Mods::of(&[Mod::ROW]);
    operands[2].suffixes = Mods::of(&[Mod::COL]);
    if sparse {
        mods.insert(Mod::SP);
        operands.push(MachineOperand::plain(OperandKind::Reg(0)));
        operands.push(MachineOperand::plain(OperandKind::Imm(0)));
    }
    cx.is_legal(Op::IMMA, &mods, &operands)
}

/// Bytes.
pub(super) fn byte_product(
    cx: &mut Lower<'_>,
    i: &Instruction,
    p: Product,
    saturates: bool,
) -> Result<Remainder, LowerError> {
    let [_, left, right] = p.types;
    let signs = [left.is_signed(), right.is_signed()];
    let mods =
        byte_mods(p.shape, p.metadata.is_some(), signs, saturates).ok_or_else(|| cx.unsupported_form(i))?;
    if p.metadata.is_none() && p.shape.rows > 8 && !multiplies_integers(cx, &mods, false) {
        return Ok(Remainder::Rows(p));
    }
    if p.metadata.is_none() && p.shape.rows == 8 && !multiplies_integers(cx, &mods, false) {
        let p = with_more_rows(cx, p);
        return byte_product(cx, i, p, saturates);
    }
    let operands = factors(cx.tuple(p.a), cx.tuple(p.b), cx.tuple(p.c));
    fragment::emit_product(cx, Op::IMMA, &mods, &p.d, operands, p.metadata);
    Ok(Remainder::Nothing)
}

/// The multiply with twice the rows; the added ones are zero.
pub(super) fn with_more_rows(cx: &mut Lower<'_>, p: Product) -> Product {
    let shape = MatrixShape { rows: 2 * p.shape.rows, ..p.shape };
    let zeros = |words: &Fragment| -> Fragment {
        words.iter().cloned().chain(words.iter().map(|_| Source::rz())).collect()
    };
    let (a, c) = (zeros(&p.a), zeros(&p.c));
    let d = p.d.iter().copied().chain(p.d.iter().map(|_| cx.b.r())).collect();
    Product { shape, a, c, d, ..p }
}

/// Four-bit integers: an 8-bit MMA for the even elements and another one for the odd ones.
pub(super) fn nibble_product(
    cx: &mut Lower<'_>,
    i: &Instruction,
    p: Product,
    saturates: bool,
) -> Result<Remainder, LowerError> {
    let [_, left, right] = p.types;
    let signs = [left.is_signed(), right.is_signed()];
    let sparse = p.metadata.is_some();
    if let Some(mods) = nibble_mods(cx, p.shape, sparse, signs, saturates) {
        let operands = factors(cx.tuple(p.a), cx.tuple(p.b), cx.tuple(p.c));
        fragment::emit_product(cx, Op::IMMA, &mods, &p.d, operands, p.metadata);
        return Ok(Remainder::Nothing);
    }
    // Each MMA has half of the depth; the registers of a fragment are those of one half.
    let shape = MatrixShape { depth: p.shape.depth / 2, ..p.shape };
    let mods = byte_mods(shape, sparse, signs, false).ok_or_else(|| cx.unsupported_form(i))?;
    if !sparse && shape.rows == 8 && !multiplies_integers(cx, &mods, false) {
        let p = with_more_rows(cx, p);
        return nibble_product(cx, i, p, saturates);
    }
    let mut c = if saturates { Source::rz() } else { cx.tuple(p.c.clone()) };
    let mut sum = Words::new();
    for odd in [false, true] {
        let [a, b] = [(&p.a, signs[0]), (&p.b, signs[1])].map(|(words, signed)| {
            let bytes: Fragment = words.iter().map(|word| nibbles(cx, word.clone(), odd, signed)).collect();
            cx.tuple(bytes)
        });
        let d: Words = if odd && !saturates { p.d.clone() } else { p.d.iter().map(|_| cx.b.r()).collect() };
        fragment::emit_product(cx, Op::IMMA, &mods, &d, factors(a, b, c), p.metadata.clone());
        c = Source::values(d.iter().copied());
        sum = d;
    }
    if saturates {
        // No dot product overflows the word; only the add of `c` can.
        for ((&d, c), word) in p.d.iter().zip(p.c).zip(sum) {
            arithmetic::add_saturating(cx, d, c, word.into(), false);
        }
    }
    Ok(Remainder::Nothing)
}

/// Modifiers of a four-bit integer MMA; `None` where the chip has none.
fn nibble_mods(
    cx: &Lower<'_>,
    shape: MatrixShape,
    sparse: bool,
    signed: [bool; 2],
    saturates: bool,
) -> Option<SmallVec<[Mod; 4]>> {
    let size = match (shape.rows, shape.depth, sparse) {
        (8, 32, false) => Mod::_8832,
        (16, 32, false) => Mod::_16832,
        (16, 64, _) => Mod::_16864,
        (16, 128, true) => Mod::_168128,
        _ => return None,
    };
    let left = if signed[0] { Mod::S4 } else { Mod::U4 };
    let right = if signed[1] { Mod::S4_2 } else { Mod::U4_2 };
    let mods = [Some(size), Some(left), Some(right), saturates.then_some(Mod::SAT)];
    let mods: SmallVec<[Mod; 4]> = mods.into_iter().flatten().collect();
    multiplies_integers(cx, &mods, sparse).then_some(mods)
}

/// The even or the odd four-bit integers of a word, each in a byte.
fn nibbles(cx: &mut Lower<'_>, word: Source, odd: bool, signed: bool) -> Source {
    let mut word = cx.in_register(word);
    if odd {
        let d = cx.b.r();
        cx.b.shr(d, word, 4u32);
        word = d.into();
    }
    let low = cx.b.r();
    cx.b.and(low, word.clone(), 0x0f0f_0f0fu32);
    if !signed {
        return low.into();
    }
    // The sign of each, times 0x1e, is the upper half of its byte.
    let [sign, d] = [cx.b.r(), cx.b.r()];
    cx.b.and(sign, word, 0x0808_0808u32);
    cx.b.imad(d, sign, 0x1eu32, low);
    d.into()
}

/// Modifiers of an 8-bit integer MMA; `None` if there is no such instruction.
pub(super) fn byte_mods(
    shape: MatrixShape,
    sparse: bool,
    signed: [bool; 2],
    saturates: bool,
) -> Option<SmallVec<[Mod; 4]>> {
    let size = match (shape.rows, shape.depth, sparse) {
        (8, 16, false) => Mod::_8816,
        (16, 16, false) => Mod::_16816,
        (16, 32, _) => Mod::_16832,
        (16, 64, true) => Mod::_16864,
        _ => return None,
    };
    let left = if signed[0] { Mod::S8 } else { Mod::U8 };
    let right = if signed[1] { Mod::S8_2 } else { Mod::U8_2 };
    Some([Some(size), Some(left), Some(right), saturates.then_some(Mod::SAT)].into_iter().flatten().collect())
}
