//! Arithmetic of f16 and bf16, scalar and packed (f16x2, bf16x2). A scalar is the low half of its value; operations
//! read it with `.H0_H0`, so both halves of the result are equal.

use super::{float32, steps};
use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::source::{imm, is_register, magnitude, minus_float};
use oriole_hir::{Instruction, Operand};
use oriole_ori::{File, Source, SourceKind, Value};
use oriole_ptx::word::Rounding;
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::{Mod, Op};

/// Sign bits of both halves.
const SIGNS: u32 = 0x8000_8000;

/// The NaN that a bulk tensor copy writes for out-of-bounds elements, as the upper half of an f32.
const OUT_OF_BOUNDS: u32 = 0x7ff7_0000;

/// Selects f16 or bf16.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Half {
    /// bf16 in place of f16.
    pub bf16: bool,
    /// Two in a word.
    pub packed: bool,
}

impl Half {
    /// The modifier of the type.
    pub fn mods(self) -> &'static [Mod] {
        if self.bf16 { &[Mod::BF16_V2] } else { &[] }
    }
}

/// The selector for `ty`, if it is f16 or bf16.
pub(crate) fn half_of(ty: Type) -> Option<Half> {
    Some(match ty {
        Type::F16 => Half { bf16: false, packed: false },
        Type::F16x2 => Half { bf16: false, packed: true },
        Type::BF16 => Half { bf16: true, packed: false },
        Type::BF16x2 => Half { bf16: true, packed: true },
        _ => return None,
    })
}

/// A source of an f16 or bf16 operation.
pub(super) fn half_source(cx: &mut Lower<'_>, operand: &Operand, ty: Type) -> Result<Source, LowerError> {
    let packed = half_of(ty).is_some_and(|half| half.packed);
    let word = cx.word(operand, ty)?;
    Ok(match word.kind {
        _ if packed => word,
        SourceKind::Imm(bits) => imm(bits & 0xffff | bits << 16),
        SourceKind::Values(_) => word.suffixed(Mod::H0_H0),
        _ => word,
    })
}

fn half_mods(i: &Instruction, half: Half) -> Vec<Mod> {
    let mut mods = half.mods().to_vec();
    const FLAGS: [(Word, Mod); 5] = [
        (Word::Ftz, Mod::FTZ),
        (Word::Sat, Mod::SAT),
        (Word::Relu, Mod::RELU),
        (Word::NaN, Mod::NAN),
        (Word::Oob, Mod::OOB),
    ];
    for (word, token) in FLAGS {
        if i.modifiers.has(word) {
            mods.push(token);
        }
    }
    mods
}

/// `add`, `sub`, `mul`, `fma`, `min`, `max`, `abs`, `neg` of f16 and bf16.
pub(crate) fn half_arithmetic(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let Some(half) = half_of(ty) else { return Err(cx.unsupported_form(i)) };
    let mut mods = half_mods(i, half);
    let a = half_source(cx, cx.operand(i, 1)?, ty)?;
    if matches!(i.opcode, Opcode::Abs | Opcode::Neg) {
        let a = if i.opcode == Opcode::Abs { magnitude(a, SIGNS) } else { minus_float(a, SIGNS) };
        return half_sign(cx, i, ty, mods, a);
    }
    let b = half_source(cx, cx.operand(i, 2)?, ty)?;
    let (a, b) = if is_register(&a) || i.opcode == Opcode::Sub { (a, b) } else { (b, a) };
    let a = cx.in_register(a);
    let mut sources = vec![a, b];
    let op = match i.opcode {
        Opcode::Add => Op::HADD2,
        Opcode::Sub => {
            sources[1] = minus_float(sources[1].clone(), SIGNS);
            Op::HADD2
        }
        Opcode::Mul => Op::HMUL2,
        Opcode::Fma if !matches!(i.modifiers.at(), None | Some(Rounding::Rn)) => {
            return directed_fma(cx, i, half);
        }
        Opcode::Fma | Opcode::Mad => {
            let c = half_source(cx, cx.operand(i, 3)?, ty)?;
            let c = if is_register(&sources[1]) { c } else { cx.in_register(c) };
            sources.push(c);
            Op::HFMA2
        }
        Opcode::Min | Opcode::Max => {
            if i.modifiers.has(Word::XorsignAbs) {
                mods.push(Mod::XORSIGN);
                for source in &mut sources {
                    *source = magnitude(cx.in_register(source.clone()), SIGNS);
                }
            }
            sources.push(if i.opcode == Opcode::Min { Source::pt() } else { Source::not_pt() });
            Op::HMNMX2
        }
        _ => return Err(cx.unsupported_form(i)),
    };
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    let contract = float32::contractable(i);
    cx.b.op(op).mods(&mods).to(d).from_all(sources).contract_if(contract).emit();
    Ok(())
}

/// `fma` of bf16 that is not rounded to nearest: computed in f32, of which the upper half is taken. Rounding
/// twice in one direction is rounding once.
fn directed_fma(cx: &mut Lower<'_>, i: &Instruction, half: Half) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let rounding = match i.modifiers.at() {
        Some(Rounding::Rz) => Mod::RZ,
        Some(Rounding::Rm) => Mod::RM,
        Some(Rounding::Rp) => Mod::RP,
        Some(Rounding::Rn | Rounding::Rna) | None => return Err(cx.unsupported_form(i)),
    };
    if !half.bf16 {
        return Err(cx.unsupported_form(i));
    }
    let mut words = Vec::new();
    for index in 1..4 {
        let word = cx.word(cx.operand(i, index)?, ty)?;
        words.push(cx.in_register(word));
    }
    let mut parts = Vec::new();
    for upper in if half.packed { &[false, true][..] } else { &[false] } {
        let [a, b, c] = [0, 1, 2].map(|index: usize| {
            let d = cx.b.r();
            if *upper {
                cx.b.and(d, words[index].clone(), 0xffff_0000u32)
            } else {
                cx.b.shl(d, words[index].clone(), 16u32)
            }
            Source::value(d)
        });
        let mut value = cx.b.r();
        cx.op(Op::FFMA, &[rounding], value, [a.clone(), b.clone(), c]);
        if i.modifiers.has(Word::Relu) {
            let positive = cx.b.r();
            let greatest = Source::not_pt();
            cx.op(Op::FMNMX, &[Mod::NAN], positive, [value.into(), Source::rz(), greatest]);
            value = positive;
        }
        let mut part = upper_half(cx, value, rounding);
        if i.modifiers.has(Word::Oob) {
            part = unless_out_of_bounds(cx, part, [a, b]);
        }
        parts.push(part);
    }
    let word = if half.packed { cx.join(parts, 16) } else { parts.swap_remove(0) };
    cx.write(cx.operand(i, 0)?, ty, &[word])
}

/// The upper half of a multiply result, or zero where a factor is the NaN that stands for out-of-bounds elements.
fn unless_out_of_bounds(cx: &mut Lower<'_>, half: Source, factors: [Source; 2]) -> Source {
    factors.into_iter().fold(half, |half, factor| {
        let (outside, kept) = (cx.b.p(), cx.b.r());
        cx.b.isetp(outside, Mod::EQ, true, factor, OUT_OF_BOUNDS);
        cx.b.sel(kept, Source::rz(), half, outside);
        kept.into()
    })
}

/// The upper half of an f32 value, incremented where the truncated part requires it for the rounding mode.
fn upper_half(cx: &mut Lower<'_>, value: Value, rounding: Mod) -> Source {
    let mut value = value;
    let away = match rounding {
        Mod::RP => Some(Mod::GT),
        Mod::RM => Some(Mod::LT),
        _ => None,
    };
    if let Some(side) = away {
        let (p, sum) = (cx.b.p(), cx.b.r());
        let draft = cx.b.op(Op::FSETP).m(side).m(Mod::AND).to(p).drop_result(File::P);
        draft.from(value).from(Source::rz()).from(Source::pt()).emit();
        let more = steps::constant_by(cx, p, 0xffff, 0);
        cx.b.iadd3(sum, value, more, Source::rz());
        value = sum;
    }
    let d = cx.b.r();
    cx.b.shr(d, value, 16u32);
    d.into()
}

/// `abs` and `neg`: changes of the sign bits, or an addition of minus zero where subnormals are flushed.
fn half_sign(cx: &mut Lower<'_>, i: &Instruction, ty: Type, mods: Vec<Mod>, a: Source) -> Lowered {
    let ftz = mods.contains(&Mod::FTZ);
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    if ftz && is_register(&a) {
        let zero = Source::rz().suffixed(Mod::H0_H0).negated();
        cx.op(Op::HADD2, &mods, d, [a, zero]);
        return Ok(());
    }
    match a.kind {
        SourceKind::Values(_) => {
            let absolute = a.absolute;
            let plain = Source::plain(a.kind);
            if absolute {
                cx.b.and(d, plain, !SIGNS);
            } else {
                cx.b.xor(d, plain, SIGNS);
            }
        }
        _ => cx.b.mov(d, a),
    }
    Ok(())
}

/// `ex2.approx` and `tanh.approx` of f16 and bf16; packed elements one after the other.
pub(crate) fn half_function(cx: &mut Lower<'_>, i: &Instruction, function: Mod) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let Some(half) = half_of(ty) else { return Err(cx.unsupported_form(i)) };
    let a = cx.word(cx.operand(i, 1)?, ty)?;
    let a = cx.in_register(a);
    let kind = if half.bf16 { Mod::BF16 } else { Mod::F16 };
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    if !half.packed {
        cx.op(Op::MUFU, &[function, kind], d, [a]);
        return Ok(());
    }
    let [low, high] = [cx.b.r(), cx.b.r()];
    cx.op(Op::MUFU, &[function, kind], low, [a.clone()]);
    cx.op(Op::MUFU, &[function, kind], high, [a.suffixed(Mod::H1)]);
    cx.b.prmt(d, low, 0x5410u32, high);
    Ok(())
}
