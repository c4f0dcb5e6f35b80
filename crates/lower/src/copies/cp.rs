//! `cp`: the choice among its forms. Nothing is emitted here.

use super::async_copy;
use super::groups::{self, COPIES};
use crate::context::{Lower, Lowered};
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ptx::Word;

/// `cp` in all its forms.
pub(crate) fn cp(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let has = |word| i.modifiers.has(word);
    if has(Word::CommitGroup) {
        groups::commit_copies(cx);
        return Ok(());
    }
    if has(Word::WaitAll) {
        groups::commit_copies(cx);
        groups::wait_for_groups(cx, COPIES, 0);
        return Ok(());
    }
    if has(Word::WaitGroup) {
        let Operand::Immediate(Immediate::Integer(left)) = *cx.operand(i, 0)? else {
            return Err(cx.unsupported_form(i));
        };
        groups::wait_for_groups(cx, COPIES, left);
        return Ok(());
    }
    async_copy::copy_asynchronously(cx, i)
}
