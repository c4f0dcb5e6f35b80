//! Bit operations on whole words: logic and shifts. Fields within a word are in `fields`.

use super::integer64::signedness_64;
use crate::LowerError;
use crate::context::{Lower, Lowered};
use crate::source::{imm, is_register};
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ori::{Pseudo, Source, Value};
use oriole_ptx::word::{Bounds, Combine, Direction};
use oriole_ptx::{Opcode, Type};
use oriole_sass::{Mod, Op};

/// Table of LOP3 for `a ? b : c`, bit by bit.
pub(super) const SELECT: u8 = 0xca;

/// Table of LOP3 for `a & b`, `a | b`, `a ^ b`, with `c` left out.
fn logic_table(opcode: Opcode) -> u8 {
    match opcode {
        Opcode::And => 0xc0,
        Opcode::Or => 0xfc,
        _ => 0x3c,
    }
}

/// `and`, `or`, `xor`.
pub(crate) fn logic(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let table = logic_table(i.opcode);
    let (a, b) = (cx.operand(i, 1)?, cx.operand(i, 2)?);
    match ty.bits() {
        1 => {
            let Some(d) = cx.result_predicate(cx.operand(i, 0)?)? else { return Ok(()) };
            let (a, b) = (cx.predicate(a)?, cx.predicate(b)?);
            cx.b.plop3(d, a, b, Source::pt(), table);
        }
        64 => {
            let (a, b) = (cx.pair(a, ty)?, cx.pair(b, ty)?);
            let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
            logic_64(cx, d, a, b, Source::rz(), table);
        }
        _ => {
            let (a, b) = (cx.word(a, ty)?, cx.word(b, ty)?);
            let (a, b) = if is_register(&a) { (a, b) } else { (b, a) };
            let a = cx.in_register(a);
            let d = cx.result_word(cx.operand(i, 0)?, ty)?;
            cx.b.lop3(d, a, b, Source::rz(), table);
        }
    }
    Ok(())
}

pub(super) fn logic_64(cx: &mut Lower<'_>, d: [Value; 2], a: Source, b: Source, c: Source, table: u8) {
    cx.pseudo(Pseudo::Logic64, &[], d, [a, b, c, Source::literal(table.into())]);
}

/// `not`.
pub(crate) fn not(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let a = cx.operand(i, 1)?;
    match ty.bits() {
        1 => {
            let Some(d) = cx.result_predicate(cx.operand(i, 0)?)? else { return Ok(()) };
            let a = cx.predicate(a)?;
            cx.b.plop3(d, a, Source::pt(), Source::pt(), 0x0f);
        }
        64 => {
            let a = cx.pair(a, ty)?;
            let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
            logic_64(cx, d, Source::rz(), a, Source::rz(), 0x33);
        }
        _ => {
            let a = cx.word(a, ty)?;
            let d = cx.result_word(cx.operand(i, 0)?, ty)?;
            cx.b.not(d, a);
        }
    }
    Ok(())
}

/// `cnot`: 1 for zero, else 0.
pub(crate) fn cnot(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let p = cx.b.p();
    if ty.bits() == 64 {
        let a = cx.pair(cx.operand(i, 1)?, ty)?;
        cx.pseudo(Pseudo::SetPredicate64, &[Mod::EQ, Mod::U64], [p], [a, Source::rz()]);
    } else {
        let unsigned = if ty.bits() == 16 { Type::U16 } else { Type::U32 };
        let a = cx.extended(cx.operand(i, 1)?, unsigned)?;
        let a = cx.in_register(a);
        cx.b.isetp(p, Mod::EQ, true, a, Source::rz());
    }
    let d = cx.result(cx.operand(i, 0)?, ty)?;
    cx.b.sel(d[0], Source::rz(), 1u32, Source::value(p).inverted());
    if let Some(&high) = d.get(1) {
        cx.b.mov(high, Source::rz());
    }
    Ok(())
}

/// `lop3`, also with the predicate result (`lop3.and d|p, a, b, c, lut, q`).
pub(crate) fn lop3(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = Type::B32;
    let Operand::Immediate(Immediate::Integer(table)) = *cx.operand(i, 4)? else {
        return Err(cx.unsupported_form(i));
    };
    let mut table = table as u8;
    let mut abc =
        [cx.word(cx.operand(i, 1)?, ty)?, cx.word(cx.operand(i, 2)?, ty)?, cx.word(cx.operand(i, 3)?, ty)?];
    // Only the middle slot takes an immediate.
    if is_register(&abc[1]) {
        if !is_register(&abc[0]) {
            abc.swap(0, 1);
            table = swap_inputs(table, 0, 1);
        } else if !is_register(&abc[2]) {
            abc.swap(1, 2);
            table = swap_inputs(table, 1, 2);
        }
    }
    let [a, b, c] = abc;
    let (a, c) = (cx.in_register(a), cx.in_register(c));
    let (d, p) = match cx.operand(i, 0)? {
        Operand::Pair(d, p) => (&**d, Some(&**p)),
        d => (d, None),
    };
    let d = cx.result_word(d, ty)?;
    let Some(p) = p else {
        cx.b.lop3(d, a, b, c, table);
        return Ok(());
    };
    cx.b.lop3(d, a, b, c, table);
    // The predicate is true if any bit is set, combined with the last operand.
    let q = cx.predicate(cx.operand(i, 5)?)?;
    if let Some(p) = cx.result_predicate(p)? {
        let op = match i.modifiers.at() {
            Some(Combine::And) => Mod::AND,
            Some(Combine::Or) => Mod::OR,
            Some(Combine::Xor) | None => return Err(cx.unsupported_form(i)),
        };
        cx.b.op(Op::ISETP)
            .mods(&[Mod::NE, Mod::U32, op])
            .to(p)
            .drop_result(oriole_ori::File::P)
            .from(d)
            .from(Source::rz())
            .from(q)
            .emit();
    }
    Ok(())
}

/// `shl` and `shr`: amounts beyond the width act like the width.
pub(crate) fn shift(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let left = i.opcode == Opcode::Shl;
    let amount = cx.word(cx.operand(i, 2)?, Type::U32)?;
    if ty.bits() == 64 {
        let a = cx.pair(cx.operand(i, 1)?, ty)?;
        let d = cx.result_pair(cx.operand(i, 0)?, ty)?;
        if left {
            cx.pseudo(Pseudo::Shl64, &[], d, [a, amount]);
        } else {
            cx.pseudo(Pseudo::Shr64, &[signedness_64(ty)], d, [a, amount]);
        }
        return Ok(());
    }
    let a = cx.operand(i, 1)?;
    let a = if left { cx.word(a, ty)? } else { cx.extended(a, ty)? };
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    let a = if is_register(&amount) && !left { a } else { cx.in_register(a) };
    match (left, ty.is_signed()) {
        (true, _) => cx.b.shl(d, a, amount),
        (false, true) => cx.b.sar(d, a, amount),
        (false, false) => cx.b.shr(d, a, amount),
    }
    Ok(())
}

/// `shf`.
pub(crate) fn funnel_shift(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = Type::B32;
    let low = cx.word(cx.operand(i, 1)?, ty)?;
    let low = cx.in_register(low);
    let high = cx.word(cx.operand(i, 2)?, ty)?;
    let amount = cx.word(cx.operand(i, 3)?, Type::U32)?;
    let high = if is_register(&amount) { high } else { cx.in_register(high) };
    let d = cx.result_word(cx.operand(i, 0)?, ty)?;
    let mut mods = vec![Mod::U32];
    if i.modifiers.at() == Some(Bounds::Wrap) {
        mods.push(Mod::W);
    }
    match i.modifiers.at() {
        Some(Direction::L) => mods.extend([Mod::L, Mod::HI]),
        Some(Direction::R) => mods.push(Mod::R),
        None => return Err(cx.unsupported_form(i)),
    }
    cx.b.shf(d, &mods, low, amount, high);
    Ok(())
}

/// A byte amount in a register or immediate, as for `bfe` and `bfi`.
pub(super) fn byte_amount(cx: &mut Lower<'_>, operand: &Operand) -> Result<Source, LowerError> {
    if let Operand::Immediate(Immediate::Integer(value)) = operand {
        return Ok(imm(*value as u32 & 0xff));
    }
    let word = cx.word(operand, Type::U32)?;
    Ok(cx.extend(word, Type::U8))
}

/// The table with two of its inputs exchanged; input 0 is the most significant.
fn swap_inputs(table: u8, first: u32, second: u32) -> u8 {
    let mut swapped = 0;
    for row in 0..8u8 {
        let bit = |index: u32| row >> (2 - index) & 1;
        let (x, y) = (bit(first), bit(second));
        let other = row & !(1 << (2 - first)) & !(1 << (2 - second)) | y << (2 - first) | x << (2 - second);
        swapped |= (table >> other & 1) << row;
    }
    swapped
}

#[cfg(test)]
mod tests {
    use super::swap_inputs;

    #[test]
    fn tables_follow_their_inputs() {
        // a & ~b and b & ~a.
        assert_eq!(swap_inputs(0x30, 0, 1), 0x0c);
        // a is 0xf0, b 0xcc, c 0xaa.
        assert_eq!(swap_inputs(0xf0, 0, 1), 0xcc);
        assert_eq!(swap_inputs(0xcc, 1, 2), 0xaa);
    }
}
