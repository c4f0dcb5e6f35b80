//! The serial mode: every instruction waits for everything before it. It is correct by construction, so it separates
//! wrong code from wrong dependencies.

use crate::effects::Finishing;
use crate::words::{LONGEST_STALL, Nop, accepts_wait, yields};
use oriole_latency::{Model, counted_scoreboard, is_branch_like, longest_spacing};
use oriole_sass::{Control, Op};

/// The scoreboard that every result sets. Scoreboard 0 stays free for counted groups.
const RESULT: u8 = 1;
/// The scoreboard that every late read sets.
const SOURCE: u8 = 2;
const ALL: u8 = 1 << RESULT | 1 << SOURCE;

/// Fills in all control words.
pub fn assign(finishing: &mut Finishing, model: &Model, nop: &Nop) {
    for (block, effects) in finishing.function.blocks.iter_mut().zip(&finishing.effects) {
        let mut out = Vec::with_capacity(block.instructions.len());
        for (mut machine, effects) in std::mem::take(&mut block.instructions).into_iter().zip(effects) {
            if !accepts_wait(&machine.instruction) {
                out.push(nop.beside(&machine, Control { wait_mask: ALL, stall: 2, ..Control::NEUTRAL }));
            }
            let instruction = &mut machine.instruction;
            let op = instruction.op;
            let results = effects.writes.iter().filter_map(|&(_, part)| model.longest(effects.class, part));
            let longest = results.max().unwrap_or(0);
            let stall = match op {
                // The special long pause of an error barrier.
                Op::ERRBAR => 0,
                _ if is_branch_like(op) => model.minimum_stall(op, &instruction.mods).max(5),
                _ if effects.variable => model.minimum_stall(op, &instruction.mods).max(2),
                _ => LONGEST_STALL,
            };
            let stall = stall.max(effects.milestone.map_or(0, longest_spacing));
            let counted = counted_scoreboard(op);
            let reported = effects.reports;
            let (write, read) = match op {
                Op::LDGDEPBAR => (counted, None),
                Op::UTMACMDFLUSH => (None, counted),
                _ => (reported.write.then_some(RESULT), reported.read.then_some(SOURCE)),
            };
            instruction.control = Control {
                stall,
                yields: op == Op::ERRBAR || yields(op, effects, stall),
                write_barrier: write,
                read_barrier: read,
                wait_mask: if accepts_wait(instruction) { ALL } else { 0 },
                ..Control::NEUTRAL
            };
            let waiting = Control { stall: LONGEST_STALL, yields: true, wait_mask: ALL, ..Control::NEUTRAL };
            let pauses = usize::from(longest.saturating_sub(1) / LONGEST_STALL);
            out.push(machine);
            for _ in 0..pauses {
                out.push(nop.beside(&out[out.len() - 1], waiting));
            }
        }
        block.instructions = out;
    }
}

#[cfg(test)]
mod tests;
