//! The operand cache of a warp, modelled as strictly as the flags allow: an entry lives until an instruction reads the
//! same slot and bank, whether another warp issues in between or not. Where a register was overwritten in between, the
//! reader gets the old value.

use crate::cached_source::Source;
use crate::program::Step;
use oriole_latency::{CACHE_SLOTS, banks, is_branch_like};
use oriole_sass::{Access, Op, RegisterFile};

/// A cached register.
#[derive(Clone, Copy, PartialEq)]
struct Kept {
    first: u8,
    registers: u8,
    pc: u32,
    overwritten: bool,
}

/// The entries: by unit (64-bit floating-point or not), slot and bank.
#[derive(Clone, PartialEq, Default)]
pub(crate) struct OperandCache {
    entries: [[[Option<Kept>; 2]; CACHE_SLOTS]; 2],
}

impl OperandCache {
    /// Issues an instruction; reports each stale read of the cache, with the place that filled the entry.
    pub(crate) fn issue(&mut self, step: &Step, pc: u32, mut report: impl FnMut(u8, u32)) {
        for source in &step.cached {
            let entries = &mut self.entries[usize::from(source.double)][source.slot];
            for (bank, entry) in entries.iter_mut().enumerate() {
                if banks(source.first, source.registers) >> bank & 1 == 0 {
                    continue;
                }
                if let Some(kept) = entry.take()
                    && (kept.first, kept.registers) == (source.first, source.registers)
                    && kept.overwritten
                {
                    report(kept.first, kept.pc);
                }
                if source.keep {
                    let Source { first, registers, .. } = *source;
                    *entry = Some(Kept { first, registers, pc, overwritten: false });
                }
            }
        }
        for access in &step.accesses {
            if let Access::Write { file: RegisterFile::General, register, .. } = *access {
                for kept in self.entries.iter_mut().flatten().flatten().flatten() {
                    let behind = register.wrapping_sub(kept.first);
                    kept.overwritten |= behind < kept.registers;
                }
            }
        }
        let op = step.instruction.op;
        if is_branch_like(op) && !matches!(op, Op::BSSY | Op::WARPSYNC) {
            *self = OperandCache::default();
        }
    }
}
