//! Time of a running warp: when results and scoreboards are there, and how an instruction advances the clock.

use crate::conflict::Register;
use crate::late::Late;
use crate::program::Step;
use crate::tracker::Tracker;
use crate::warp::Warp;
use oriole_latency::completes_before_next;
use oriole_sass::register::{PT, URZ};
use oriole_sass::{Access, Op, RegisterFile};

/// Time of a running warp: results in flight, and the times when scoreboards clear.
pub(crate) struct Timing {
    pub tracker: Tracker<u32>,
    /// Delayed results, if they are to come late.
    pub late: Option<Late>,
    pub clears: [u64; 6],
    /// Lanes that took part in the last write of each uniform register, and of each uniform predicate.
    pub writers: [u32; URZ as usize],
    pub predicate_writers: [u32; PT as usize],
}

impl Timing {
    /// Nothing is in flight; with `late_results` results are delayed.
    pub(crate) fn new(late_results: bool) -> Timing {
        Timing {
            tracker: Tracker::new(),
            late: late_results.then(Late::default),
            clears: [0; 6],
            writers: [u32::MAX; URZ as usize],
            predicate_writers: [u32::MAX; PT as usize],
        }
    }

    /// A uniform register belongs to the warp, not to a lane: a group that reads one must have taken part in writing
    /// it, or it sees the value from another path.
    pub(crate) fn follow_uniform(&mut self, step: &Step, lanes: u32, mut report: impl FnMut(Register)) {
        for access in &step.accesses {
            if let Access::Read { file, register, .. } = *access {
                let writers = match file {
                    RegisterFile::Uniform => self.writers[usize::from(register)],
                    RegisterFile::UniformPredicate => self.predicate_writers[usize::from(register)],
                    _ => continue,
                };
                if lanes & !writers != 0 {
                    report((file, register));
                }
            }
        }
        for access in &step.accesses {
            if let Access::Write { file, register, .. } = *access {
                match file {
                    RegisterFile::Uniform => self.writers[usize::from(register)] = lanes,
                    RegisterFile::UniformPredicate => self.predicate_writers[usize::from(register)] = lanes,
                    _ => {}
                }
            }
        }
    }
}

/// Advances the warp's clock: waits for scoreboards, then the stall; records when this instruction's scoreboards clear.
pub(crate) fn advance(warp: &mut Warp, timing: &mut Timing, step: &Step) {
    let control = &step.instruction.control;
    for (scoreboard, &clear) in timing.clears.iter().enumerate() {
        if control.wait_mask >> scoreboard & 1 == 1 {
            warp.cycle = warp.cycle.max(clear);
        }
    }
    if step.instruction.op == Op::NANOSLEEP {
        warp.cycle += 32;
    }
    let done = warp.cycle + u64::from(step.estimate);
    if let Some(scoreboard) = control.write_barrier {
        let clear = &mut timing.clears[scoreboard as usize];
        *clear = (*clear).max(done);
    }
    if let Some(scoreboard) = control.read_barrier {
        // Operands are read a few cycles after issue.
        let clear = &mut timing.clears[scoreboard as usize];
        *clear = (*clear).max(warp.cycle + 12);
    }
    if completes_before_next(control) {
        warp.cycle = done;
    }
    warp.cycle += u64::from(control.stall.max(1));
}
