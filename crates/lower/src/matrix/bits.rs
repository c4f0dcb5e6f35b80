//! 1-bit MMAs, which count the bits of an AND or an XOR.

use super::fragment::{self, Fragment, Product, Remainder, factors};
use super::integers::{self, byte_mods};
use crate::LowerError;
use crate::context::Lower;
use crate::source::Words;
use oriole_hir::Instruction;
use oriole_ori::{Source, SourceKind};
use oriole_ptx::MatrixShape;
use oriole_sass::{Mod, Mods, Op, Operand as MachineOperand, OperandKind};

/// 1-bit MMA: the hardware counts the bits of an AND. An XOR is each factor ANDed with the complement of the
/// other.
pub(super) fn bit_product(
    cx: &mut Lower<'_>,
    i: &Instruction,
    p: Product,
    differ: bool,
) -> Result<Remainder, LowerError> {
    let shape = match (p.shape.rows, p.shape.depth) {
        (8, 128) => Mod::_88128,
        (16, 128) => Mod::_168128,
        (16, 256) => Mod::_168256,
        _ => return Err(cx.unsupported_form(i)),
    };
    let direct = [shape, if differ { Mod::XOR } else { Mod::AND }, Mod::POPC];
    let mods = [shape, Mod::AND, Mod::POPC];
    if !cx.has(Op::BMMA) {
        return bit_product_of_bytes(cx, i, p, differ);
    }
    let c = cx.tuple(p.c);
    let sum = || MachineOperand::plain(OperandKind::Reg(0));
    let factor = |order| MachineOperand { suffixes: Mods::of(&[order]), ..sum() };
    let shown = [sum(), factor(Mod::ROW), factor(Mod::COL), sum()];
    if !differ || cx.is_legal(Op::BMMA, &Mods::of(&direct), &shown) {
        let operands = factors(cx.tuple(p.a), cx.tuple(p.b), c);
        fragment::emit_product(cx, Op::BMMA, &direct, &p.d, operands, None);
        return Ok(Remainder::Nothing);
    }
    let middle: Words = p.d.iter().map(|_| cx.b.r()).collect();
    let [not_a, not_b] = [complements(cx, &p.a), complements(cx, &p.b)];
    let operands = factors(cx.tuple(p.a), not_b, c);
    fragment::emit_product(cx, Op::BMMA, &mods, &middle, operands, None);
    let operands = factors(not_a, cx.tuple(p.b), Source::values(middle));
    fragment::emit_product(cx, Op::BMMA, &mods, &p.d, operands, None);
    Ok(Remainder::Nothing)
}

/// 1-bit multiply where no MMA exists: each bit becomes a byte of an 8-bit MMA. Two of the eight bits of a byte
/// are the two halves of an MMA's depth.
fn bit_product_of_bytes(
    cx: &mut Lower<'_>,
    i: &Instruction,
    p: Product,
    differ: bool,
) -> Result<Remainder, LowerError> {
    if p.shape.rows == 8 {
        let p = integers::with_more_rows(cx, p);
        return bit_product(cx, i, p, differ);
    }
    if p.shape.depth > 128 {
        return Ok(Remainder::Depth(p));
    }
    let shape = MatrixShape { depth: 32, ..p.shape };
    let mods = byte_mods(shape, false, [false; 2], false).ok_or_else(|| cx.unsupported_form(i))?;
    let mut factors_of = vec![(p.a.clone(), p.b.clone())];
    if differ {
        let not_a = inverted(cx, &p.a);
        let not_b = inverted(cx, &p.b);
        factors_of = vec![(p.a, not_b), (not_a, p.b)];
    }
    let count = factors_of.len() * 4;
    let mut c = cx.tuple(p.c);
    for (number, (left, right)) in
        factors_of.into_iter().flat_map(|pair| std::iter::repeat_n(pair, 4)).enumerate()
    {
        let bit = 2 * (number as u32 % 4);
        let mut both = |words: &Fragment| -> Fragment {
            let places = [bit, bit + 1].into_iter();
            places
                .flat_map(|at| words.iter().map(move |word| (word.clone(), at)))
                .map(|(w, at)| bit_of_bytes(cx, w, at))
                .collect()
        };
        let (a, b) = (both(&left), both(&right));
        let d: Words = if number + 1 == count { p.d.clone() } else { p.d.iter().map(|_| cx.b.r()).collect() };
        let operands = factors(cx.tuple(a), cx.tuple(b), c);
        fragment::emit_product(cx, Op::IMMA, &mods, &d, operands, None);
        c = Source::values(d);
    }
    Ok(Remainder::Nothing)
}

/// One bit of each byte of a word, as an integer.
fn bit_of_bytes(cx: &mut Lower<'_>, word: Source, bit: u32) -> Source {
    if matches!(word.kind, SourceKind::Zero(_)) {
        return word;
    }
    let mut word = cx.in_register(word);
    if bit > 0 {
        let d = cx.b.r();
        cx.b.shr(d, word, bit);
        word = d.into();
    }
    let d = cx.b.r();
    cx.b.and(d, word, 0x0101_0101u32);
    d.into()
}

fn inverted(cx: &mut Lower<'_>, words: &Fragment) -> Fragment {
    let invert = |word: &Source| {
        let d = cx.b.r();
        cx.b.not(d, word.clone());
        d.into()
    };
    words.iter().map(invert).collect()
}

fn complements(cx: &mut Lower<'_>, words: &Fragment) -> Source {
    let inverted = inverted(cx, words);
    cx.tuple(inverted)
}
