//! `mma.m8n8k4` of f16: four multiplies, one in each quarter of a warp.
//!
//! Chips up to sm_75 have an instruction for it, in steps (`f16_steps.rs`). On others, lanes fetch the rows and
//! columns of their elements from the other lanes of their quarter and multiply them in f32. They accumulate in the
//! order of ptxas, since the order affects the result.

use super::fragment::{self, Fragment};
use super::{f16_steps, lanes};
use crate::arithmetic;
use crate::context::{Lower, Lowered};
use crate::source::{LOWER_HALVES, UPPER_HALVES, Words};
use oriole_hir::Instruction;
use oriole_ori::{Source, Value};
use oriole_ptx::Type;
use oriole_ptx::word::{MatrixLayout, Position};
use oriole_sass::{Mod, Op};

/// Distance between the lanes of a quarter that have lines 0 to 3 and those that have lines 4 to 7.
const UPPER_LINES: u32 = 16;

/// `mma.m8n8k4` of f16.
pub(super) fn multiply_quarters(cx: &mut Lower<'_>, i: &Instruction, to: Type, from: Type) -> Lowered {
    let layout = |word| MatrixLayout::WORDS.iter().find(|row| row.0 == word).map(|row| row.1);
    let layouts: Vec<MatrixLayout> = i.modifiers.iter().filter_map(layout).collect();
    let [of_a, of_b] = layouts[..] else { return Err(cx.unsupported_form(i)) };
    let [mut a, mut b] = [fragment::fragment(cx, i, 1, Type::B32)?, fragment::fragment(cx, i, 2, Type::B32)?];
    let c = fragment::fragment(cx, i, 3, Type::B32)?;
    if f16_steps::multiplies_in_steps(cx) {
        let factors = [cx.tuple(a), cx.tuple(b)];
        let d = f16_steps::product_in_steps(cx, [to, from], [of_a, of_b], factors, &c);
        return fragment::write_words(cx, i, &d);
    }
    if of_a == MatrixLayout::Col {
        a = transpose_fours(cx, a);
    }
    if of_b == MatrixLayout::Row {
        b = transpose_fours(cx, b);
    }
    let [a, b] =
        [a, b].map(|words| -> Fragment { words.into_iter().map(|word| cx.in_register(word)).collect() });
    let d = match (to, from) {
        (Type::F16, Type::F16) => {
            let c = fragment::singles(cx, c);
            let d = own_rows(cx, &a, &b, c);
            fragment::packed_halves(cx, &d)
        }
        (Type::F32, Type::F16) => {
            let c = spread_sums(cx, c);
            spread_products(cx, &a, &b, c)
        }
        (Type::F32, Type::F32) => spread_products(cx, &a, &b, c),
        _ => return Err(cx.unsupported_form(i)),
    };
    fragment::write_words(cx, i, &d)
}

/// Transposes four 16-bit elements of each of four lanes: lane `l` gets element `l` of all four. First lanes two
/// apart exchange words, then neighbours exchange halves.
fn transpose_fours(cx: &mut Lower<'_>, words: Fragment) -> Fragment {
    let lane = lanes::lane_number(cx);
    let [a, b] = [words[0].clone(), words[1].clone()].map(|word| cx.value_of(word));
    let second_pair = lanes::lane_has(cx, lane, 2);
    let sent = cx.b.r();
    cx.b.sel(sent, a, b, second_pair);
    let got = lanes::of_lane(cx, Mod::BFLY, sent.into(), Source::literal(2));
    let [even, odd] = [cx.b.r(), cx.b.r()];
    cx.b.sel(even, got, a, second_pair);
    cx.b.sel(odd, b, got, second_pair);
    let is_odd = lanes::lane_has(cx, lane, 1);
    let [own_half, other_half] = [(UPPER_HALVES, LOWER_HALVES), (LOWER_HALVES, UPPER_HALVES)]
        .map(|(yes, no)| arithmetic::constant_by(cx, is_odd, yes, no));
    let [own, sent] = [cx.b.r(), cx.b.r()];
    cx.b.prmt(own, even, own_half, odd);
    cx.b.prmt(sent, even, other_half, odd);
    let got = lanes::of_lane(cx, Mod::BFLY, sent.into(), Source::literal(1));
    // The lane with the even id comes first.
    let mut transposed = Fragment::new();
    for (swapped, straight) in [(0x1054, LOWER_HALVES), (0x3276, UPPER_HALVES)] {
        let selector = arithmetic::constant_by(cx, is_odd, swapped, straight);
        let d = cx.b.r();
        cx.b.prmt(d, own, selector, got);
        transposed.push(d.into());
    }
    transposed
}

/// The four terms of a line in a lane, as f32.
fn terms_of(cx: &mut Lower<'_>, words: &Fragment, lane: Value) -> Fragment {
    let words: Fragment =
        words.iter().map(|word| lanes::of_lane(cx, Mod::IDX, word.clone(), lane.into()).into()).collect();
    fragment::singles(cx, words)
}

/// A row of the result in each lane: the last two terms are added before the first two.
fn own_rows(cx: &mut Lower<'_>, a: &Fragment, b: &Fragment, c: Fragment) -> Words {
    let lane = lanes::lane_number(cx);
    let a = fragment::singles(cx, a.clone());
    let mut d = Words::new();
    for (column, c) in (0..8u32).zip(c) {
        let from = lanes::lane_of(cx, lane, 0xc, column % 4 + column / 4 * UPPER_LINES);
        let b = terms_of(cx, b, from);
        let mut sum = c;
        for first in [2, 0] {
            let [product, pair, next] = [cx.b.r(), cx.b.r(), cx.b.r()];
            cx.op(Op::FMUL, &[], product, [a[first].clone(), b[first].clone()]);
            cx.op(Op::FFMA, &[], pair, [a[first + 1].clone(), b[first + 1].clone(), product.into()]);
            cx.op(Op::FADD, &[], next, [sum, pair.into()]);
            sum = next.into();
        }
        d.push(cx.value_of(sum));
    }
    d
}

/// Rows and columns of a lane's elements of an f32 accumulator: element `n` is in row `(n & 2) + (lane & 1)` and
/// column `(n & 4) + (lane & 2) + (n & 1)`, four rows further down in the upper half of the warp.
fn spread_products(cx: &mut Lower<'_>, a: &Fragment, b: &Fragment, c: Fragment) -> Words {
    let lane = lanes::lane_number(cx);
    let rows = [0, 2].map(|more| {
        let from = lanes::lane_of(cx, lane, 0x1d, more);
        terms_of(cx, a, from)
    });
    let columns = [0, 1, UPPER_LINES, UPPER_LINES + 1].map(|more| {
        let from = lanes::lane_of(cx, lane, 0xe, more);
        terms_of(cx, b, from)
    });
    let mut d = Words::new();
    for (number, c) in c.into_iter().enumerate() {
        let (row, column) = (&rows[number / 2 % 2], &columns[number / 4 * 2 + number % 2]);
        let mut sum = Source::rz();
        for (a, b) in row.iter().zip(column) {
            let next = cx.b.r();
            cx.op(Op::FFMA, &[], next, [a.clone(), b.clone(), sum]);
            sum = next.into();
        }
        let (c, whole) = (cx.in_register(c), cx.b.r());
        cx.op(Op::FADD, &[], whole, [c, sum]);
        d.push(whole);
    }
    d
}

/// Converts an f16 accumulator, of which a lane has a row, to the layout of an f32 one.
fn spread_sums(cx: &mut Lower<'_>, c: Fragment) -> Fragment {
    let lane = lanes::lane_number(cx);
    let c: Fragment = c.into_iter().map(|word| cx.in_register(word)).collect();
    let upper = lanes::lane_has(cx, lane, 2);
    let rows = [0, 2].map(|more| lanes::lane_of(cx, lane, 0x1d, more));
    let mut words = Fragment::new();
    for number in [0usize, 2, 4, 6] {
        let row = rows[number / 2 % 2];
        let [near, far] =
            [0, 1].map(|beside| lanes::of_lane(cx, Mod::IDX, c[number / 4 * 2 + beside].clone(), row.into()));
        let word = cx.b.r();
        cx.b.sel(word, far, near, upper);
        words.push(word.into());
    }
    fragment::singles(cx, words)
}
