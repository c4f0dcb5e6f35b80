//! Registers of MMAs of a warp group in flight: results that are invalid before the wait for their group, and left
//! factors that are still read. No scoreboard covers them; `WARPGROUP.DEPBAR` waits for groups.

use crate::conflict::Conflict;
use crate::launch::HazardKind;
use crate::program::Step;
use oriole_latency::{Class, Slot};
use oriole_sass::{Access, Mod, Op, OperandKind, RegisterFile, Symbol};

/// More groups than a wait can name.
const MANY: u8 = 8;

/// A general register of an MMA.
#[derive(Clone, Copy, PartialEq)]
struct Entry {
    register: u8,
    /// The place of the MMA.
    pc: u32,
    /// It is a result; else it is read.
    result: bool,
    /// Number of groups closed since, the MMA's own included; 0 while that is open.
    closed: u8,
}

/// The registers of all MMAs in flight.
#[derive(Clone, PartialEq, Default)]
pub(crate) struct Products {
    entries: Vec<Entry>,
    /// Registers that instructions other than MMAs wrote since the last `WARPGROUP.ARRIVE`, each with the place; `None`
    /// before the first one.
    since_fence: Option<Vec<(u8, u32)>>,
}

impl Products {
    /// An instruction: reports conflicting accesses, and records MMAs and waits.
    pub(crate) fn issue(&mut self, step: &Step, pc: u32, report: &mut impl FnMut(Conflict)) {
        let product = step.class == Class::Group;
        self.follow_fence(step, pc, product, report);
        if !product && self.entries.is_empty() {
            return;
        }
        for access in &step.accesses {
            self.check(*access, product, report);
        }
        if product {
            self.begin(step, pc);
        }
        let operands = &step.instruction.operands;
        if step.instruction.op == Op::WARPGROUP && step.instruction.mods.has(Mod::DEPBAR) {
            let left = operands.iter().find_map(|operand| match operand.kind {
                OperandKind::Imm(left) => u8::try_from(left).ok(),
                _ => None,
            });
            let left = left.unwrap_or(0);
            self.entries.retain(|entry| entry.closed <= left);
        } else if product && operands.iter().any(|o| o.kind == OperandKind::Symbol(Symbol::gsb0)) {
            self.entries.iter_mut().for_each(|entry| entry.closed = (entry.closed + 1).min(MANY));
        }
    }

    /// An MMA sees registers that were written before the last fence.
    fn follow_fence(&mut self, step: &Step, pc: u32, product: bool, report: &mut impl FnMut(Conflict)) {
        if step.instruction.op == Op::WARPGROUP && step.instruction.mods.has(Mod::ARRIVE) {
            self.since_fence = Some(Vec::new());
        }
        let Some(written) = &mut self.since_fence else { return };
        for access in &step.accesses {
            let (Access::Read { file, register, .. } | Access::Write { file, register, .. }) = *access;
            if file != RegisterFile::General {
                continue;
            }
            let known = written.iter().find(|(known, _)| *known == register);
            match (known, access) {
                (Some(&(_, other)), _) if product => {
                    let kind = HazardKind::WithoutFence;
                    report(Conflict { other, kind, register: (file, register), distance: 0, needed: 0 });
                }
                (None, Access::Write { .. }) if !product => written.push((register, pc)),
                _ => {}
            }
        }
    }

    fn check(&self, access: Access, product: bool, report: &mut impl FnMut(Conflict)) {
        let (file, register) = match access {
            Access::Read { file, register, .. } | Access::Write { file, register, .. } => (file, register),
        };
        if file != RegisterFile::General {
            return;
        }
        for entry in self.entries.iter().filter(|entry| entry.register == register) {
            // MMAs accumulate to the results of earlier ones, in order.
            let kind = match access {
                Access::Read { slot: Slot::Accumulator, .. } | Access::Write { .. } if product => continue,
                Access::Read { .. } if entry.result => HazardKind::ReadWithoutWait,
                Access::Read { .. } => continue,
                Access::Write { .. } if entry.result => HazardKind::WriteWithoutWait,
                Access::Write { .. } => HazardKind::OverwriteUnread,
            };
            report(Conflict { other: entry.pc, kind, register: (file, register), distance: 0, needed: 0 });
        }
    }

    fn begin(&mut self, step: &Step, pc: u32) {
        for access in &step.accesses {
            let (register, result) = match *access {
                Access::Write { file: RegisterFile::General, register, .. } => (register, true),
                Access::Read { file: RegisterFile::General, register, slot } if slot != Slot::Accumulator => {
                    (register, false)
                }
                _ => continue,
            };
            self.entries.retain(|entry| !(entry.register == register && entry.result == result));
            self.entries.push(Entry { register, pc, result, closed: 0 });
        }
    }

    /// Merges the state of another path to the same place. True if it changed.
    pub(crate) fn merge(&mut self, other: &Products) -> bool {
        let mut changed = false;
        for &(register, pc) in other.since_fence.iter().flatten() {
            let mine = self.since_fence.get_or_insert_default();
            if !mine.iter().any(|(known, _)| *known == register) {
                mine.push((register, pc));
                changed = true;
            }
        }
        for entry in &other.entries {
            let same = |mine: &&mut Entry| {
                (mine.register, mine.pc, mine.result) == (entry.register, entry.pc, entry.result)
            };
            match self.entries.iter_mut().find(same) {
                Some(mine) if mine.closed <= entry.closed => {}
                Some(mine) => {
                    mine.closed = entry.closed;
                    changed = true;
                }
                None => {
                    self.entries.push(*entry);
                    changed = true;
                }
            }
        }
        changed
    }
}
