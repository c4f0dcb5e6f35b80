//! Writes that may come before an earlier result is written or an earlier operand is read.

use super::Tracker;
use crate::condition::Condition;
use crate::conflict::{Conflict, Register};
use crate::launch::HazardKind;
use crate::program::Step;
use crate::tracker_rules::{
    LONGEST_OVERWRITE, SHORT_OVERWRITE, UNIFORM_OVERWRITE, is_matrix, is_short, writes_late_enough,
};
use oriole_latency::{Class, Model, ResultPart, Slot};
use oriole_sass::{Access, RegisterFile};

impl<C: Condition> Tracker<C> {
    pub(super) fn write(
        &self,
        model: &Model,
        step: &Step,
        register: Register,
        part: ResultPart,
        condition: C,
        report: &mut impl FnMut(Conflict),
    ) {
        self.overwrite_without_wait(step, register, condition, report);
        self.overwrite_fixed_result(model, step, register, part, condition, report);
        self.overwrite_recent_operand(model, step, register, part, condition, report);
    }

    /// A write of a register whose result or reading is still covered by a scoreboard.
    fn overwrite_without_wait(
        &self,
        step: &Step,
        register: Register,
        condition: C,
        report: &mut impl FnMut(Conflict),
    ) {
        for entry in &self.results {
            if entry.register == register
                && !entry.condition.excludes(&condition)
                && entry.queue != step.queue
            {
                report(Conflict {
                    other: entry.pc,
                    kind: HazardKind::WriteWithoutWait,
                    register,
                    distance: 0,
                    needed: 0,
                });
            }
        }
        for entry in &self.operands {
            if entry.register == register
                && !entry.condition.excludes(&condition)
                && entry.read_queue != step.read_queue
            {
                report(Conflict {
                    other: entry.pc,
                    kind: HazardKind::OverwriteUnread,
                    register,
                    distance: 0,
                    needed: 0,
                });
            }
        }
    }

    /// A write that may come before that of an earlier instruction of fixed latency.
    fn overwrite_fixed_result(
        &self,
        model: &Model,
        step: &Step,
        register: Register,
        part: ResultPart,
        condition: C,
        report: &mut impl FnMut(Conflict),
    ) {
        // An instruction that reads the register as well has been checked already.
        let reads = step.accesses.iter().any(
            |access| matches!(*access, Access::Read { file, register: number, .. } if (file, number) == register),
        );
        for entry in self.fixed.iter().filter(|_| !reads) {
            if entry.register != register || entry.condition.excludes(&condition) {
                continue;
            }
            if let Some(needed) = model.waw(entry.class, entry.part, step.class, part) {
                let distance = self.time - entry.time;
                // An instruction that may already read the first result writes later than the first one did. Except for
                // matrix results, no write has been seen to need more than the longest of the short pipes.
                let readable = model.raw(entry.class, entry.part, step.class, Slot::Operand);
                let needed = readable.map_or(needed.cycles, |readable| readable.cycles.min(needed.cycles));
                let needed = if is_matrix(entry.class) {
                    needed
                } else if is_short(entry.class) && writes_late_enough(step.class) {
                    // A result with a scoreboard is later than any of the short pipes, and so is the f64 unit.
                    let later = step.variable || step.class == Class::Double;
                    needed.min(if later { 1 } else { SHORT_OVERWRITE })
                } else if entry.class == step.class {
                    // One pipe delivers its results in order.
                    needed.min(SHORT_OVERWRITE)
                } else if register.0 == RegisterFile::Uniform && step.variable {
                    needed.min(UNIFORM_OVERWRITE)
                } else {
                    needed.min(LONGEST_OVERWRITE)
                };
                if distance < i64::from(needed) {
                    let needed = u32::from(needed);
                    report(Conflict {
                        other: entry.pc,
                        kind: HazardKind::WriteTooEarly,
                        register,
                        distance: distance as u32,
                        needed,
                    });
                }
            }
        }
    }

    /// A write that may come before an earlier instruction has read the register.
    fn overwrite_recent_operand(
        &self,
        model: &Model,
        step: &Step,
        register: Register,
        part: ResultPart,
        condition: C,
        report: &mut impl FnMut(Conflict),
    ) {
        // Operands of fixed-latency instructions are read in time for a later writer of fixed latency; a load may write
        // from another unit and needs a distance.
        for entry in &self.recent {
            if !step.variable || entry.register != register || entry.condition.excludes(&condition) {
                continue;
            }
            let needed = u32::from(model.war(entry.class, entry.slot, step.class, part));
            // The f64 unit, where it uses a scoreboard, is slower than any reader.
            let needed = if step.class == Class::Double { needed.min(1) } else { needed };
            let distance = self.time - entry.time;
            if distance < i64::from(needed) {
                report(Conflict {
                    other: entry.pc,
                    kind: HazardKind::OverwriteUnread,
                    register,
                    distance: distance as u32,
                    needed,
                });
            }
        }
    }
}
