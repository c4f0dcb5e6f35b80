//! Arithmetic whose function depends on the type of its operands. One arm is one fact; no instruction is emitted here.

use super::approximate::{float_divide, float_function};
use super::carry::add_carry;
use super::float32::{float_arithmetic, float_type, four_narrow, mixed_singles, single_pairs};
use super::float64::{double_arithmetic, double_function};
use super::half::{half_arithmetic, half_function, half_of};
use super::integer::{abs_integer, add_integer, divide_integer, min_max_integer, multiply, neg_integer};
use super::integer64::add_64;
use crate::context::{Lower, Lowered};
use oriole_hir::Instruction;
use oriole_ptx::{Opcode, Type, Word};
use oriole_sass::Mod;

fn first_type(i: &Instruction) -> Type {
    i.types.first().copied().unwrap_or(Type::B32)
}

/// `add`, `sub`, `mul`, `mad`, `fma`, `min`, `max`, `abs`, `neg`.
pub(crate) fn by_type(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    use Opcode::*;
    let ty = first_type(i);
    match ty {
        Type::F32 if i.types.len() > 1 => return mixed_singles(cx, i, i.types[1]),
        Type::F32 => return float_arithmetic(cx, i),
        Type::F32x2 => return single_pairs(cx, i),
        Type::E4M3x4 | Type::E5M2x4 => return four_narrow(cx, i),
        Type::F64 => return double_arithmetic(cx, i),
        _ if half_of(ty).is_some() => return half_arithmetic(cx, i),
        _ if ty.is_float() => return Err(cx.unsupported_form(i)),
        _ => {}
    }
    match i.opcode {
        Add | Sub if i.modifiers.has(Word::Cc) => add_carry(cx, i),
        Add | Sub if ty.bits() == 64 => add_64(cx, i),
        Add | Sub => add_integer(cx, i),
        Mul | Mad => multiply(cx, i),
        Min | Max => min_max_integer(cx, i),
        Abs => abs_integer(cx, i),
        Neg => neg_integer(cx, i),
        _ => Err(cx.unsupported_form(i)),
    }
}

/// `div`.
pub(crate) fn divide(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    match float_type(cx, i)? {
        Type::F32 => float_divide(cx, i),
        Type::F64 => double_function(cx, i),
        ty if ty.is_float() => Err(cx.unsupported_form(i)),
        _ => divide_integer(cx, i),
    }
}

/// `rcp`, `sqrt`, `rsqrt`.
pub(crate) fn reciprocal_or_root(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    match first_type(i) {
        Type::F64 => double_function(cx, i),
        Type::F32 => float_function(cx, i),
        _ => Err(cx.unsupported_form(i)),
    }
}

/// `ex2`.
pub(crate) fn exponential(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if first_type(i) == Type::F32 { float_function(cx, i) } else { half_function(cx, i, Mod::EX2) }
}

/// `tanh`.
pub(crate) fn hyperbolic_tangent(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    if first_type(i) == Type::F32 { float_function(cx, i) } else { half_function(cx, i, Mod::TANH) }
}
