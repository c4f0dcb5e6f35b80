//! The serial mode: every instruction waits for everything before it. It is right by construction, so that it
//! tells wrong code from wrong dependencies.

use crate::effects::Effects;
use crate::words::{LONGEST_STALL, Nop, accepts_wait, yields};
use oriole_latency::{Model, counted_scoreboard, is_branch_like};
use oriole_ori::MachineFunction;
use oriole_sass::form::Table;
use oriole_sass::{Control, Op};

/// The scoreboard that every result sets. Number 0 stays free for counted groups.
const RESULT: u8 = 1;
/// The scoreboard that every late read sets.
const SOURCE: u8 = 2;
const ALL: u8 = 1 << RESULT | 1 << SOURCE;

/// Fills in all control words.
pub fn assign(function: &mut MachineFunction, model: &Model, forms: &'static Table, nop: &Nop) {
    for block in &mut function.blocks {
        let mut out = Vec::with_capacity(block.instructions.len());
        for mut machine in std::mem::take(&mut block.instructions) {
            if !accepts_wait(&machine.instruction) {
                out.push(nop.beside(&machine, Control { wait_mask: ALL, stall: 2, ..Control::NEUTRAL }));
            }
            let effects = Effects::new(model, forms, &machine);
            let instruction = &mut machine.instruction;
            let (op, mods) = (instruction.op, &instruction.mods);
            let results = effects.writes.iter().filter_map(|&(_, part)| model.longest(effects.class, part));
            let longest = results.max().unwrap_or(0);
            let stall = match op {
                // The special long pause of an error barrier.
                Op::ERRBAR => 0,
                _ if is_branch_like(op) => model.minimum_stall(op).max(5),
                _ if model.is_variable(op, mods) => model.minimum_stall(op).max(2),
                _ => LONGEST_STALL,
            };
            let counted = counted_scoreboard(op);
            let reported = effects.reports;
            let (write, read) = match op {
                Op::LDGDEPBAR => (counted, None),
                Op::UTMACMDFLUSH => (None, counted),
                _ => (reported.write.then_some(RESULT), reported.read.then_some(SOURCE)),
            };
            instruction.control = Control {
                stall,
                yields: op == Op::ERRBAR || yields(model, op, mods, stall),
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
