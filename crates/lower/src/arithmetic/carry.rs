//! The condition code: adds and subtracts with a carry, and chains of them over several words.

use crate::context::{Lower, Lowered};
use crate::source::{complement, is_register, minus};
use oriole_hir::Instruction;
use oriole_ori::{Source, SourceKind, Value};
use oriole_ptx::{Opcode, Word};
use oriole_sass::{Mod, Op};

/// `add.cc`, `addc`, `sub.cc`, `subc` of 32 and 64 bits.
pub(crate) fn add_carry(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let ty = cx.ty(i, 0)?;
    let subtract = matches!(i.opcode, Opcode::Sub | Opcode::Subc);
    let takes = matches!(i.opcode, Opcode::Addc | Opcode::Subc);
    let gives = i.modifiers.has(Word::Cc);
    let a = cx.words(cx.operand(i, 1)?, ty)?;
    let b = cx.words(cx.operand(i, 2)?, ty)?;
    let d = cx.result(cx.operand(i, 0)?, ty)?;
    add_chain(cx, &d, &a, &b, subtract, takes, gives);
    Ok(())
}

/// A chain of adds with carry, one for each word. The first uses the carry flag if `takes`, the last sets it if
/// `gives`.
pub(super) fn add_chain(
    cx: &mut Lower<'_>,
    d: &[Value],
    a: &[Source],
    b: &[Source],
    subtract: bool,
    takes: bool,
    gives: bool,
) {
    let carry = carry_flag(cx);
    // Between the words of one value the carry is a temporary; only the last word may leave it in the carry flag.
    let inner = if d.len() > 1 { cx.b.p() } else { carry };
    let last = d.len() - 1;
    let mut sums = Vec::new();
    for (index, (a, b)) in a.iter().zip(b).enumerate().take(d.len()) {
        let (a, b) = if is_register(a) || subtract { (a.clone(), b.clone()) } else { (b.clone(), a.clone()) };
        let a = cx.in_register(a);
        let sum = if index == last { d[index] } else { cx.b.r() };
        let out = if index < last { Some(inner) } else { gives.then_some(carry) };
        let taken: Option<Source> = if index > 0 {
            Some(inner.into())
        } else if takes {
            Some(carry.into())
        } else if subtract && !matches!(b.kind, SourceKind::Values(_)) {
            // The carry of `a - b` is that of `a + ~b + 1`, for `b` of zero as well.
            Some(Source::pt())
        } else {
            None
        };
        let b = match (subtract, taken.is_some()) {
            (true, true) => complement(b),
            (true, false) => minus(b),
            (false, _) => b,
        };
        let mut draft = cx.b.op(Op::IADD3).m_if(taken.is_some(), Mod::X).to(sum);
        if let Some(out) = out {
            draft = draft.to(out);
        }
        draft = draft.from(a).from(b).from(Source::rz());
        if let Some(taken) = taken {
            draft = draft.from(taken).from(Source::not_pt());
        }
        draft.emit();
        sums.push(sum);
    }
    for (&d, sum) in d.iter().zip(sums) {
        if d != sum {
            cx.b.mov(d, sum);
        }
    }
}

/// The carry value.
fn carry_flag(cx: &mut Lower<'_>) -> Value {
    if let Some(carry) = cx.carry {
        return carry;
    }
    let carry = cx.b.p();
    cx.name(carry);
    cx.carry = Some(carry);
    carry
}
