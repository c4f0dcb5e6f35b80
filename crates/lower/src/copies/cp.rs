//! `cp`: the choice among its forms. Nothing is emitted here.

use super::groups::{self, COPIES};
use super::{async_copy, bulk};
use crate::context::{Lower, Lowered};
use crate::threads;
use oriole_hir::{Immediate, Instruction, Operand};
use oriole_ptx::Word;

/// `cp` in all its forms.
pub(crate) fn cp(cx: &mut Lower<'_>, i: &Instruction) -> Lowered {
    let has = |word| i.modifiers.has(word);
    if has(Word::Bulk) {
        return bulk::bulk(cx, i);
    }
    if has(Word::Mbarrier) {
        return threads::signal_copies(cx, i);
    }
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
