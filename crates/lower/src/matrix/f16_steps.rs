//! The f16 MMA of chips that compute it in steps: `HMMA.884` computes four 8x4x8 MMAs, one in each quarter of a warp; each
//! of its two or four steps computes a register pair of the accumulator.

use super::fragment::{self, Fragment};
use crate::context::Lower;
use crate::source::Words;
use oriole_ori::Source;
use oriole_ptx::Type;
use oriole_ptx::word::MatrixLayout;
use oriole_sass::{Mod, Mods, Op, Operand, OperandKind};

const STEPS: [Mod; 4] = [Mod::STEP0, Mod::STEP1, Mod::STEP2, Mod::STEP3];

/// True if the chip multiplies f16 matrices in steps.
pub(super) fn multiplies_in_steps(cx: &Lower<'_>) -> bool {
    let mut operands = vec![Operand::plain(OperandKind::Reg(0)); 4];
    operands[1].suffixes = Mods::of(&[Mod::ROW]);
    operands[2].suffixes = Mods::of(&[Mod::COL]);
    cx.is_legal(Op::HMMA, &Mods::of(&[Mod::_884, Mod::F32, Mod::F32_2, Mod::STEP0]), &operands)
}

/// The accumulator of a multiply of two words of each factor.
pub(super) fn product_in_steps(
    cx: &mut Lower<'_>,
    [to, from]: [Type; 2],
    layouts: [MatrixLayout; 2],
    factors: [Source; 2],
    c: &Fragment,
) -> Words {
    let named = |is_single: bool, single: Mod, half: Mod| if is_single { single } else { half };
    let types =
        [named(to == Type::F32, Mod::F32, Mod::F16), named(from == Type::F32, Mod::F32_2, Mod::F16_2)];
    let mut at = 0;
    let [a, b] = factors.map(|factor| {
        let by_rows = layouts[at] == MatrixLayout::Row;
        at += 1;
        factor.suffixed(if by_rows { Mod::ROW } else { Mod::COL })
    });
    let pairs = if to == Type::F32 { 4 } else { 2 };
    let mut d = Words::new();
    for (step, name) in STEPS.into_iter().enumerate().take(pairs) {
        // The f32 results of two steps come from one pair of f16 words.
        let first = 2 * if to == from { step } else { step / 2 };
        let c = cx.tuple(c[first..][..2].iter().cloned());
        let sum = cx.b.pair();
        let mods = [Mod::_884, types[0], types[1], name];
        fragment::emit_product(cx, Op::HMMA, &mods, &sum, [a.clone(), b.clone(), c], None);
        d.extend(sum);
    }
    d
}
