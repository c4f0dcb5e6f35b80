//! Operations in flight in a warp: results not yet visible, operands not yet read, scoreboards just set. The same
//! bookkeeping serves the simulator, which knows the lanes of each access, and the static checker, which knows only
//! guards.

mod entries;
mod overwrites;
mod paths;

use crate::condition::{Condition, Conditions};
use crate::conflict::{Conflict, Register};
use crate::launch::HazardKind;
use crate::operand_cache::OperandCache;
use crate::products::Products;
use crate::program::{ReadQueue, Step, is_always};
use crate::tracker_rules::{explicit_waits, is_matrix, is_read_late, read_scoreboard_tells_result};
use entries::{Fixed, Pending, Recent};
use oriole_latency::{
    Class, FENCE_TO_PRODUCT, Milestone, Model, SPECIAL_STALL, Slot, accepted_spacing, completes_before_next,
    is_branch_like,
};
use oriole_sass::{Access, Op, RegisterFile};

/// Longest distance of any rule, in cycles; older results need no tracking.
const HORIZON: i64 = 40;

/// Scoreboards may be waited for this many cycles after the instruction that sets them. A `DEPBAR` checks them later
/// than a control word does: ptxas leaves no cycle between.
const SET_TO_WAIT: i64 = 2;

/// The state of a warp's registers in time.
#[derive(Clone, PartialEq)]
pub(crate) struct Tracker<C> {
    time: i64,
    fixed: Vec<Fixed<C>>,
    results: Vec<Pending<C>>,
    operands: Vec<Pending<C>>,
    recent: Vec<Recent<C>>,
    /// Time and place of the last set of each scoreboard, if that was just before.
    set: [Option<(i64, u32)>; 6],
    /// Operands kept for the next instruction.
    kept: OperandCache,
    /// MMAs of warp groups in flight.
    products: Products,
    /// Time and place of each milestone's last occurrence.
    milestones: [Option<(i64, u32)>; Milestone::COUNT],
}

impl<C: Condition> Tracker<C> {
    pub(crate) fn new() -> Tracker<C> {
        Tracker {
            time: 0,
            fixed: Vec::new(),
            results: Vec::new(),
            operands: Vec::new(),
            recent: Vec::new(),
            set: [None; 6],
            kept: OperandCache::default(),
            products: Products::default(),
            milestones: [None; Milestone::COUNT],
        }
    }

    /// Waits for scoreboards.
    fn wait(&mut self, scoreboards: u8) {
        if scoreboards != 0 {
            self.results.retain(|entry| entry.scoreboards & scoreboards == 0);
            self.operands.retain(|entry| entry.scoreboards & scoreboards == 0);
        }
    }

    /// Drops all state, as after a call whose callee is not followed.
    pub(crate) fn clear(&mut self) {
        *self = Tracker::new();
    }

    /// Control goes to code outside the file, which may use any register and takes time: every operation with a
    /// scoreboard must have been waited for.
    pub(crate) fn leave(&mut self, condition: C, mut report: impl FnMut(Conflict)) {
        let under_way =
            [(&self.results, HazardKind::ReadWithoutWait), (&self.operands, HazardKind::OverwriteUnread)];
        for (entries, kind) in under_way {
            for entry in entries.iter().filter(|entry| !entry.condition.excludes(&condition)) {
                let register = entry.register;
                // The unit of convergence barriers keeps them in order.
                if register.0 == RegisterFile::Barrier {
                    continue;
                }
                report(Conflict { other: entry.pc, kind, register, distance: 0, needed: 0 });
            }
        }
        self.time += HORIZON;
        self.kept = OperandCache::default();
    }

    /// Issues an instruction and advances the time by its stall; conflicts are reported.
    pub(crate) fn issue(
        &mut self,
        model: &Model,
        step: &Step,
        pc: u32,
        conditions: Conditions<C>,
        mut report: impl FnMut(Conflict),
    ) {
        let condition = conditions.acts;
        let control = &step.instruction.control;
        let (full, partial) = explicit_waits(step);
        let waits = control.wait_mask | full;
        for scoreboard in 0..6u8 {
            if control.wait_mask >> scoreboard & 1 == 1
                && let Some((time, other)) = self.set[scoreboard as usize]
                && self.time - time < SET_TO_WAIT
            {
                report(Conflict {
                    other,
                    kind: HazardKind::WaitTooEarly,
                    register: (RegisterFile::Barrier, scoreboard),
                    distance: (self.time - time) as u32,
                    needed: SET_TO_WAIT as u32,
                });
            }
        }
        self.wait(waits);
        self.results.retain(|entry| entry.scoreboards & partial == 0);
        self.operands.retain(|entry| entry.scoreboards & partial == 0);
        let now = self.time;
        self.fixed.retain(|entry| now - entry.time < HORIZON);
        self.recent.retain(|entry| now - entry.time < 8);
        for access in &step.accesses {
            match *access {
                // The unit of convergence barriers keeps them in order.
                Access::Read { file: RegisterFile::Barrier, .. }
                | Access::Write { file: RegisterFile::Barrier, .. } => {}
                Access::Read { file, register, slot } => {
                    self.read(model, step, (file, register), slot, conditions.of(slot), &mut report)
                }
                Access::Write { file, register, part } => {
                    self.write(model, step, (file, register), part, condition, &mut report)
                }
            }
        }
        self.products.issue(step, pc, &mut report);
        self.keep_spaced(step, pc, &mut report);
        if step.instruction.op == Op::BAR && model.barrier_reads_memory() {
            self.operands.retain(|entry| entry.read_queue != ReadQueue::Memory);
        }
        let guarded = !is_always(step.instruction.guard);
        let least = model.accepted_stall(step.instruction.op, &step.instruction.mods, guarded);
        if is_branch_like(step.instruction.op) && control.stall != 0 && control.stall < least {
            report(Conflict {
                other: pc,
                kind: HazardKind::StallTooShort,
                register: (RegisterFile::Barrier, 0),
                distance: u32::from(control.stall),
                needed: u32::from(least),
            });
        }
        self.kept.issue(step, pc, |register, other| {
            let register = (RegisterFile::General, register);
            report(Conflict { other, kind: HazardKind::KeptTooLong, register, distance: 0, needed: 0 });
        });
        self.cover(step);
        self.record(step, pc, condition);
        let stall = if control.stall == 0 { SPECIAL_STALL } else { control.stall };
        self.time += i64::from(stall);
    }

    /// A taken jump with this stall.
    pub(crate) fn jump(&mut self, model: &Model, stall: u8) {
        let more = i64::from(model.accepted_jump(stall) - stall);
        self.fixed.iter_mut().filter(|entry| is_matrix(entry.class)).for_each(|entry| entry.time -= more);
    }

    /// Distances that hold whatever the registers.
    fn keep_spaced(&mut self, step: &Step, pc: u32, report: &mut impl FnMut(Conflict)) {
        let Some(second) = Milestone::of(&step.instruction, step.class) else { return };
        for (first, last) in Milestone::ALL.into_iter().zip(self.milestones) {
            let Some((time, other)) = last else { continue };
            let (distance, needed) = (self.time - time, accepted_spacing(first, second));
            if distance < i64::from(needed) {
                report(Conflict {
                    other,
                    kind: HazardKind::TooClose,
                    register: (RegisterFile::Barrier, 0),
                    distance: distance as u32,
                    needed: u32::from(needed),
                });
            }
        }
        self.milestones[second as usize] = Some((self.time, pc));
    }

    fn read(
        &mut self,
        model: &Model,
        step: &Step,
        register: Register,
        slot: Slot,
        condition: C,
        report: &mut impl FnMut(Conflict),
    ) {
        for entry in &self.results {
            if entry.register == register && !entry.condition.excludes(&condition) {
                report(Conflict {
                    other: entry.pc,
                    kind: HazardKind::ReadWithoutWait,
                    register,
                    distance: 0,
                    needed: 0,
                });
            }
        }
        for entry in &self.fixed {
            if entry.register != register || entry.condition.excludes(&condition) {
                continue;
            }
            if let Some(needed) = model.raw(entry.class, entry.part, step.class, slot) {
                let (mut distance, mut needed) = (self.time - entry.time, needed.cycles);
                // A register that an MMA reads has to be ready at the fence before it.
                let product = step.class == Class::Group && register.0 == RegisterFile::General;
                let fence = self.milestones[Milestone::Fence as usize].filter(|_| product);
                if let Some((fence, _)) =
                    fence.filter(|&(fence, _)| entry.class != Class::Group && fence > entry.time)
                {
                    let ahead = needed.saturating_sub(FENCE_TO_PRODUCT);
                    if fence - entry.time < i64::from(ahead) {
                        (distance, needed) = (fence - entry.time, ahead);
                    }
                }
                if distance < i64::from(needed) {
                    let needed = u32::from(needed);
                    report(Conflict {
                        other: entry.pc,
                        kind: HazardKind::ReadTooEarly,
                        register,
                        distance: distance as u32,
                        needed,
                    });
                }
            }
        }
    }

    /// An instruction that sets a scoreboard covers earlier ones of its unit, which finish before it.
    fn cover(&mut self, step: &Step) {
        let control = &step.instruction.control;
        let set = [control.write_barrier, control.read_barrier]
            .into_iter()
            .flatten()
            .fold(0, |mask, n| mask | 1u8 << n);
        if set != 0 {
            for entry in self.results.iter_mut().filter(|entry| step.queue.vouches_for(entry.queue)) {
                entry.scoreboards |= set;
            }
        }
        if set != 0 {
            for entry in self.operands.iter_mut().filter(|entry| entry.read_queue == step.read_queue) {
                entry.scoreboards |= set;
            }
        }
    }

    fn record(&mut self, step: &Step, pc: u32, condition: C) {
        let control = &step.instruction.control;
        let (time, class) = (self.time, step.class);
        let variable = step.variable || control.write_barrier.is_some();
        let mask = |scoreboard: Option<u8>| scoreboard.map_or(0, |number| 1u8 << number);
        for access in &step.accesses {
            if let Access::Write { file, register, .. } = *access {
                let register = (file, register);
                // A new value makes the old one irrelevant where it certainly replaces it.
                self.results
                    .retain(|entry| entry.register != register || !condition.covers(&entry.condition));
                self.operands
                    .retain(|entry| entry.register != register || !condition.covers(&entry.condition));
                self.fixed.retain(|entry| entry.register != register || !condition.covers(&entry.condition));
            }
        }
        if completes_before_next(control) {
            return;
        }
        for access in &step.accesses {
            match *access {
                Access::Write { file, register, part } => {
                    let register = (file, register);
                    if variable {
                        let mut scoreboards = mask(control.write_barrier);
                        if read_scoreboard_tells_result(step.instruction.op) {
                            scoreboards |= mask(control.read_barrier);
                        }
                        let (queue, read_queue) = (step.queue, step.read_queue);
                        self.results.push(Pending {
                            register,
                            pc,
                            scoreboards,
                            queue,
                            read_queue,
                            condition,
                        });
                    } else {
                        self.fixed.push(Fixed { register, pc, time, class, part, condition });
                    }
                }
                Access::Read { file, register, slot } => {
                    let register = (file, register);
                    if is_read_late(step, file, slot) {
                        let scoreboards = mask(control.write_barrier) | mask(control.read_barrier);
                        let (queue, read_queue) = (step.queue, step.read_queue);
                        self.operands.push(Pending {
                            register,
                            pc,
                            scoreboards,
                            queue,
                            read_queue,
                            condition,
                        });
                    } else if !step.variable && file == RegisterFile::General && step.class != Class::Double {
                        self.recent.push(Recent { register, pc, time, class, slot, condition });
                    }
                }
            }
        }
        for scoreboard in [control.write_barrier, control.read_barrier].into_iter().flatten() {
            self.set[scoreboard as usize] = Some((time, pc));
        }
    }
}
