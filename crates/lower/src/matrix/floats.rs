//! MMAs of f64, tf32, bf16, f16, and of FP8 and narrower factors without scales.

use super::fragment::{self, Fragment, Product, Remainder, factors};
use super::sparse;
use crate::LowerError;
use crate::context::Lower;
use crate::source::Words;
use oriole_hir::Instruction;
use oriole_ori::Source;
use oriole_ptx::{MatrixShape, Type};
use oriole_sass::{Mod, Mods, Op, Operand as MachineOperand, OperandKind};
use smallvec::SmallVec;

/// f64.
pub(super) fn double_product(
    cx: &mut Lower<'_>,
    i: &Instruction,
    p: Product,
    rounding: Option<Mod>,
) -> Result<Remainder, LowerError> {
    let shape = match (p.shape.rows, p.shape.depth) {
        (8, 4) if cx.takes(Op::DMMA, &[Mod::_884], 4) => Mod::_884,
        (8, 4) => Mod::_8x8x4,
        (16, 4) => Mod::_16x8x4,
        (16, 8) => Mod::_16x8x8,
        (16, 16) => Mod::_16x8x16,
        _ => return Err(cx.unsupported_form(i)),
    };
    let mods: SmallVec<[Mod; 2]> = [Some(shape), rounding].into_iter().flatten().collect();
    if !cx.takes(Op::DMMA, &mods, 4) {
        return match (p.shape.rows, p.shape.depth) {
            (_, 8..) => Ok(Remainder::Depth(p)),
            (16, _) => Ok(Remainder::Rows(p)),
            _ => Err(cx.unsupported_form(i)),
        };
    }
    let operands = [cx.tuple(p.a), cx.tuple(p.b), cx.tuple(p.c)];
    fragment::emit_product(cx, Op::DMMA, &mods, &p.d, operands, None);
    Ok(Remainder::Nothing)
}

/// f16, bf16 and tf32.
pub(super) fn float_product(
    cx: &mut Lower<'_>,
    i: &Instruction,
    p: Product,
) -> Result<Remainder, LowerError> {
    let mods = float_mods(&p).ok_or_else(|| cx.unsupported_form(i))?;
    if p.metadata.is_none() && p.shape.depth > 8 && !cx.takes(Op::HMMA, &mods, 4) {
        return Ok(Remainder::Depth(p));
    }
    let operands = [cx.tuple(p.a), cx.tuple(p.b), cx.tuple(p.c)];
    fragment::emit_product(cx, Op::HMMA, &mods, &p.d, operands, p.metadata);
    Ok(Remainder::Nothing)
}

/// FP8 where the chip has no such MMA: the elements are converted to f16, the two lower ones of each register and
/// the two upper ones. Two MMAs follow one another, and `c` is added last.
pub(super) fn narrow_float_product(
    cx: &mut Lower<'_>,
    i: &Instruction,
    p: Product,
) -> Result<Remainder, LowerError> {
    if cx.has(Op::QMMA) {
        return byte_float_product(cx, i, p);
    }
    let eighths = |ty: Type| matches!(ty, Type::E4M3 | Type::E5M2);
    if !(eighths(p.types[1]) && eighths(p.types[2])) {
        return Err(cx.unsupported_form(i));
    }
    let shape = MatrixShape { depth: p.shape.depth / 2, ..p.shape };
    let halved = Product { shape, types: [p.types[0], Type::F16, Type::F16], ..p.clone() };
    let mods = float_mods(&halved).ok_or_else(|| cx.unsupported_form(i))?;
    let mut metadata = match p.metadata {
        Some(metadata) => sparse::metadata_of_halves(cx, metadata).map(Some),
        None => [None, None],
    };
    let mut sum = Words::new();
    for (upper, metadata) in [false, true].into_iter().zip(&mut metadata) {
        let a = unpacked(cx, &p.a, p.types[1], upper);
        let b = match metadata {
            // The other factor follows its groups of four, which lanes share.
            Some(_) => {
                let b = sparse::shared_groups(cx, &p.b, upper);
                unpacked(cx, &b, p.types[2], false)
            }
            None => unpacked(cx, &p.b, p.types[2], upper),
        };
        let d: Words = p.d.iter().map(|_| cx.b.r()).collect();
        let c = cx.tuple(sum.iter().map(|&v| Source::value(v)));
        fragment::emit_product(cx, Op::HMMA, &mods, &d, [a, b, c], metadata.take());
        sum = d;
    }
    let add = if p.types[0] == Type::F16 { Op::HADD2 } else { Op::FADD };
    for ((&d, c), word) in p.d.iter().zip(p.c).zip(sum) {
        let c = cx.in_register(c);
        cx.op(add, &[], d, [c, word.into()]);
    }
    Ok(Remainder::Nothing)
}

/// The two lower or the two upper FP8 elements of each word as f16.
fn unpacked(cx: &mut Lower<'_>, words: &Fragment, ty: Type, upper: bool) -> Source {
    let kind = if ty == Type::E4M3 { Mod::E4M3_2 } else { Mod::E5M2_2 };
    let mut halves = Fragment::new();
    for word in words {
        let word = cx.in_register(word.clone());
        let word = if upper { word.suffixed(Mod::H1) } else { word };
        let d = cx.b.r();
        cx.op(Op::F2FP, &[Mod::F16, kind, Mod::UNPACK_B], d, [word]);
        halves.push(d.into());
    }
    cx.tuple(halves)
}

/// FP8 on a chip with an MMA for it.
fn byte_float_product(cx: &mut Lower<'_>, i: &Instruction, p: Product) -> Result<Remainder, LowerError> {
    let size = match (p.shape.depth, p.metadata.is_some()) {
        (16, false) => Mod::_16816,
        (32, false) => Mod::_16832,
        (64, true) => Mod::_16864,
        _ => return Err(cx.unsupported_form(i)),
    };
    let sum = if p.types[0] == Type::F16 { Mod::F16 } else { Mod::F32 };
    let (Some([left, _]), Some([_, right])) = (narrow_factor(p.types[1]), narrow_factor(p.types[2])) else {
        return Err(cx.unsupported_form(i));
    };
    let mods = [size, sum, left, right];
    let [a, b, c] = [cx.tuple(p.a), cx.tuple(p.b), cx.tuple(p.c)];
    // Some chips name the layouts of the factors.
    let bare = match p.metadata {
        None => cx.takes(Op::QMMA, &mods, 4),
        Some(_) => takes_sparse(cx, Op::QMMA, &mods),
    };
    let operands = if bare { [a, b, c] } else { factors(a, b, c) };
    fragment::emit_product(cx, Op::QMMA, &mods, &p.d, operands, p.metadata);
    Ok(Remainder::Nothing)
}

/// [`Lower::takes`] for a sparse MMA, whose last operands are a word and a literal.
fn takes_sparse(cx: &Lower<'_>, op: Op, mods: &[Mod]) -> bool {
    let mut operands = vec![MachineOperand::plain(OperandKind::Reg(0)); 5];
    operands.push(MachineOperand::plain(OperandKind::Imm(0)));
    let mut mods = Mods::of(mods);
    mods.insert(Mod::SP);
    cx.is_legal(op, &mods, &operands)
}

/// Modifiers of an f16, bf16 or tf32 MMA; `None` if there is no such instruction.
pub(super) fn float_mods(p: &Product) -> Option<SmallVec<[Mod; 3]>> {
    let [to, left, _] = p.types;
    let size = match (left, p.shape.depth, p.metadata.is_some()) {
        (Type::TF32, 4, false) => Mod::_1684,
        (Type::TF32, 8, _) | (Type::F16 | Type::BF16, 8, false) => Mod::_1688,
        (Type::TF32, 16, true) | (Type::F16 | Type::BF16, 16, _) => Mod::_16816,
        (Type::F16 | Type::BF16, 32, true) => Mod::_16832,
        _ => return None,
    };
    let sum = match to {
        Type::F16 => Mod::F16,
        Type::F32 => Mod::F32,
        _ => return None,
    };
    let factors = match left {
        Type::BF16 => Some(Mod::BF16),
        Type::TF32 => Some(Mod::TF32),
        _ => None,
    };
    (p.shape.rows == 16).then(|| [Some(size), Some(sum), factors].into_iter().flatten().collect())
}

/// The SASS modifiers of an FP8 or narrower factor, on the left and on the right.
pub(super) fn narrow_factor(ty: Type) -> Option<[Mod; 2]> {
    Some(match ty {
        Type::E4M3 => [Mod::E4M3, Mod::E4M3_2],
        Type::E5M2 => [Mod::E5M2, Mod::E5M2_2],
        Type::E3M2 => [Mod::E3M2, Mod::E3M2_2],
        Type::E2M3 => [Mod::E2M3, Mod::E2M3_2],
        Type::E2M1 => [Mod::E2M1, Mod::E2M1_2],
        _ => return None,
    })
}
