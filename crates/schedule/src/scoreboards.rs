//! Scoreboards: assigns one of the six to each variable-latency result and late read, and the waits to every
//! instruction.
//!
//! First the scoreboards are assigned, block by block, only to results and reads that some instruction waits for.
//! Then a dataflow analysis finds for each register the scoreboards that guard it, and from that the waits. A
//! scoreboard is a counter: two instructions may share one, and a wait means that all of them are complete. The waits
//! are correct for any assignment; a good one only makes them short.

use crate::effects::{ALL_UNIFORM, Effects, Finishing, REGISTERS, Registers, early_target};
use crate::in_order::{Covered, Rules};
use crate::matrix_blocks::is_matrix_code;
use crate::pending::{Entry, Pending};
use oriole_latency::{SCOREBOARDS, counted_scoreboard};
use oriole_ori::csr::Csr;
use oriole_ori::{BlockId, MachineFunction, MachineInstruction};
use oriole_sass::Op;
use std::cmp::Reverse;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// Scoreboards that are free of counted groups.
fn usable(function: &MachineFunction) -> u8 {
    let mut mask = (1 << SCOREBOARDS) - 1;
    for machine in function.blocks.iter().flat_map(|b| &b.instructions) {
        if let Some(n) = counted_scoreboard(machine.instruction.op) {
            mask &= !(1 << n);
        }
        // A wait for a scoreboard that the program counts itself.
        if machine.instruction.op == Op::DEPBAR
            && let Some(oriole_sass::OperandKind::Scoreboard(n)) =
                machine.instruction.operands.first().map(|o| o.kind)
        {
            mask &= !(1 << n);
        }
    }
    mask
}

/// Fills in scoreboards and waits of all instructions.
pub fn assign(finishing: &mut Finishing, rules: Rules) {
    let Finishing { function, effects, order } = finishing;
    join_halves(function, effects);
    let usable = usable(function);
    let (touched, written) = later(function, effects);
    let mut entry: TiVec<BlockId, Entry> = ti_vec![Entry::Unknown; function.blocks.len()];
    if let Some(first) = entry.first_mut() {
        *first = Entry::Quiet;
    }
    let mut state = Pending::nothing();
    let mut covered: TiVec<BlockId, Covered> = ti_vec![Covered::default(); function.blocks.len()];
    // Assignment, with the waits known so far: back edges come later and cannot change it.
    for &block in &*order {
        entry[block].load(&mut state);
        let ends = (&touched[block], &written[block]);
        covered[block] = choose(function, block, &effects[block], &mut state, usable, ends, rules);
        for &successor in &function.blocks[block].successors {
            entry[successor].join(&state);
        }
    }
    // Waits, until a fixed point. The state at the top of a block only grows.
    let mut position: TiVec<BlockId, u32> = ti_vec![u32::MAX; function.blocks.len()];
    for (place, &block) in order.iter().enumerate() {
        position[block] = place as u32;
    }
    let mut work: std::collections::BTreeSet<u32> = (0..order.len() as u32).collect();
    while let Some(place) = work.pop_first() {
        let at = order[place as usize];
        entry[at].load(&mut state);
        let mut join = |successor: BlockId, state: &Pending| {
            if entry[successor].join(state) && position[successor] != u32::MAX {
                work.insert(position[successor]);
            }
        };
        let instructions = &mut function.blocks[at].instructions;
        for (index, own) in effects[at].iter().enumerate() {
            let control = &mut instructions[index].instruction.control;
            control.wait_mask = state.wanted(own);
            state.clear(control.wait_mask);
            state.issue(own, control.write_barrier, control.read_barrier, rules);
            for before in covered[at].by(index) {
                state.issue(&effects[at][before], control.write_barrier, None, rules);
            }
            if let Some(target) = early_target(instructions, index) {
                join(target, &state);
            }
        }
        function.blocks[at].successors.iter().for_each(|&successor| join(successor, &state));
    }
}

/// For two consecutive loads that fill different lanes of the same registers: the second one completes after the
/// first. It does not wait for the first, and its scoreboard reports both, as in ptxas code.
fn join_halves(function: &MachineFunction, effects: &mut TiSlice<BlockId, Vec<Effects>>) {
    for (block, effects) in function.blocks.iter().zip(effects) {
        for (at, pair) in block.instructions.windows(2).enumerate() {
            let [first, second] = [&pair[0].instruction, &pair[1].instruction];
            if first.op != second.op
                || !second.op.info().is_partial(&second.mods)
                || first.guard != second.guard
                || effects[at].writes != effects[at + 1].writes
            {
                continue;
            }
            effects[at].reports.write = false;
            let Effects { reads, writes, .. } = &mut effects[at + 1];
            reads.retain(|(register, _)| writes.iter().all(|(written, _)| written != register));
        }
    }
}

/// For each block the registers that may be touched, and those that may be written, after its end.
fn later(
    function: &MachineFunction,
    effects: &TiSlice<BlockId, Vec<Effects>>,
) -> (TiVec<BlockId, Registers>, TiVec<BlockId, Registers>) {
    let count = function.blocks.len();
    let mut own: TiVec<BlockId, _> = ti_vec![(Registers::default(), Registers::default()); count];
    for (sets, block) in own.iter_mut().zip(effects) {
        for e in block {
            e.reads.iter().for_each(|&(r, _)| sets.0.insert(r));
            for &(r, _) in &e.writes {
                sets.0.insert(r);
                sets.1.insert(r);
            }
            if e.ends {
                ALL_UNIFORM.for_each(|r| sets.1.insert(r));
            }
            if e.drains {
                (0..REGISTERS as u16).for_each(|r| {
                    sets.0.insert(r);
                    sets.1.insert(r);
                });
            }
        }
    }
    let mut out: TiVec<BlockId, _> = ti_vec![(Registers::default(), Registers::default()); count];
    let mut before: Vec<(BlockId, BlockId)> = Vec::new();
    for (block, from) in function.blocks.iter_enumerated() {
        before.extend(from.successors.iter().map(|&successor| (successor, block)));
    }
    let before = Csr::new(count, &before);
    // Blocks whose predecessors must be updated, in rounds from the last to the first.
    let mut fresh: TiVec<BlockId, bool> = ti_vec![true; count];
    let mut round: Vec<BlockId> = function.blocks.keys().collect();
    while !round.is_empty() {
        let mut next: Vec<BlockId> = Vec::new();
        for &block in round.iter().rev() {
            if !std::mem::replace(&mut fresh[block], false) {
                continue;
            }
            let mut through = out[block];
            through.0.extend(&own[block].0);
            through.1.extend(&own[block].1);
            for &predecessor in before.of(block) {
                let known = &mut out[predecessor];
                let more = known.0.extend(&through.0) | known.1.extend(&through.1);
                // Blocks that are visited in this round anyway are not recorded again.
                if more && !std::mem::replace(&mut fresh[predecessor], true) {
                    next.push(predecessor);
                }
            }
        }
        next.sort_unstable();
        round = next;
    }
    out.into_iter().unzip()
}

/// Instead of an instruction index: after the end of the block.
const BEHIND: u32 = u32::MAX - 1;
/// Instead of an instruction index: none.
const NEVER: u32 = u32::MAX;

/// For each instruction the first that waits for its results, and the first that waits for its sources to be read, each
/// only where it must report that by a scoreboard.
fn waiters(
    effects: &[Effects],
    (touched, written): (&Registers, &Registers),
    rules: Rules,
) -> Vec<(u32, u32)> {
    let at_end = |set: &Registers| -> Vec<u32> {
        (0..REGISTERS as u16).map(|r| if set.contains(r) { BEHIND } else { NEVER }).collect()
    };
    let mut next_touch = at_end(touched);
    let mut next_write = at_end(written);
    // The same for the addresses of loads, which later loads may overwrite.
    let mut next_other = if rules.loads_read { next_write.clone() } else { Vec::new() };
    let mut waiters = vec![(NEVER, NEVER); effects.len()];
    for (index, e) in effects.iter().enumerate().rev() {
        let position = index as u32;
        if e.ends {
            ALL_UNIFORM.for_each(|r| next_write[usize::from(r)] = position);
        }
        if e.drains {
            next_touch.fill(position);
            next_write.fill(position);
            next_other.fill(position);
        }
        let first_touch = e.writes.iter().map(|&(r, _)| next_touch[usize::from(r)]).min().unwrap_or(NEVER);
        let own = |r: u16| e.writes.iter().any(|&(w, _)| w == r);
        let is_load = e.loads_global && rules.loads_read;
        let overwriters = if is_load { &next_other } else { &next_write };
        let first_write = e
            .reads
            .iter()
            .filter(|&&(r, _)| e.reported_read(r) && !own(r))
            .map(|&(r, _)| overwriters[usize::from(r)])
            .min()
            .unwrap_or(NEVER);
        let write = if e.reports.write { first_touch } else { NEVER };
        // A wait for the result comes first and covers the sources. So does a result in a source register.
        let read =
            if e.reports.read && (write == NEVER || first_write < write) { first_write } else { NEVER };
        waiters[index] = (write, read);
        if e.reports.fence {
            waiters[index] = (
                if e.reports.write { position } else { NEVER },
                if e.reports.read { position } else { NEVER },
            );
        }
        for &(r, _) in &e.writes {
            next_touch[usize::from(r)] = position;
            next_write[usize::from(r)] = position;
            // The result of a load that is certainly executed is waited for, and covers addresses read before it.
            if rules.loads_read && (!is_load || e.is_always) {
                next_other[usize::from(r)] = if is_load { NEVER } else { position };
            }
        }
        for &(r, _) in &e.reads {
            next_touch[usize::from(r)] = position;
        }
    }
    waiters
}

/// Results with at least this estimated latency come from global memory.
const SLOW: u16 = 200;

/// With no more than this many free, a busy one is taken where that costs little.
const SPARE: usize = 2;

/// Cycles that cost little: results that arrive shortly after each other are waited for together.
const LITTLE: u32 = 8;

/// Cycles between two instructions of a warp, while others are issued as well.
const PACE: u32 = 4;

/// Cycles until the sources of an instruction are read.
const READ: u16 = 20;

/// A result, or reads of sources, that takes a scoreboard. Both times are in cycles from the start of the block.
#[derive(Clone, Copy, Default)]
struct Report {
    /// When it is complete.
    complete: u32,
    /// When the first instruction waits for it.
    awaited: u32,
}

impl Report {
    /// Of a scoreboard that reports both.
    fn with(self, other: Report) -> Report {
        Report { complete: self.complete.max(other.complete), awaited: self.awaited.min(other.awaited) }
    }

    /// Cycles that instructions wait longer if one scoreboard reports both.
    fn cost_of_sharing(self, other: Report) -> u32 {
        // An instruction that waits for one waits for the other as well.
        let longer =
            |first: Report, second: Report| second.complete.saturating_sub(first.awaited.max(first.complete));
        longer(self, other) + longer(other, self)
    }
}

/// The first scoreboard for global loads where others have short latencies; ptxas does the same.
const FIRST_FOR_LOADS: u8 = 2;

/// Assigned scoreboards: position and purpose of the last set.
#[derive(Default)]
struct Numbering {
    usable: u8,
    /// Cycles from the start of the block, all waits known so far included.
    now: u32,
    /// All that it reports.
    reports: [Report; SCOREBOARDS as usize],
    set_at: [u32; SCOREBOARDS as usize],
    for_reads: [bool; SCOREBOARDS as usize],
    /// Its results come from global memory.
    slow: [bool; SCOREBOARDS as usize],
    /// Global loads have no scoreboards of their own.
    is_matrix_code: bool,
    /// Global loads that one instruction waits for share a scoreboard.
    joins_loads: bool,
    /// Global loads leave the first scoreboards to operations of short latency.
    leaves_first: bool,
    /// The first instruction that waits for the last result.
    waiter: [u32; SCOREBOARDS as usize],
}

impl Numbering {
    /// The report of an instruction that is issued now and arrives after some cycles, for one `distance` later.
    fn report(&self, latency: u16, distance: u32) -> Report {
        Report {
            complete: self.now + u32::from(latency),
            awaited: self.now.saturating_add(distance.saturating_mul(PACE)),
        }
    }

    /// The next instruction is issued when these scoreboards are at zero.
    fn wait(&mut self, mask: u8) {
        let complete =
            (0..SCOREBOARDS).filter(|n| mask >> n & 1 != 0).map(|n| self.reports[usize::from(n)].complete);
        self.now = complete.max().map_or(self.now, |complete| self.now.max(complete)) + PACE;
    }

    /// Sets a scoreboard. Busy: it reports other things as well.
    fn set(&mut self, number: u8, index: usize, report: Report, is_busy: bool) {
        let at = usize::from(number);
        self.set_at[at] = index as u32 + 1;
        self.reports[at] = if is_busy { self.reports[at].with(report) } else { report };
    }

    /// The scoreboard for the result of a global load that `waiter` waits for first, if such loads have their own.
    fn take_for_load(&mut self, index: usize, state: &Pending, waiter: u32, report: Report) -> Option<u8> {
        let usable = |n: &u8| self.usable >> n & 1 != 0;
        let pending = |n: &u8| state.all >> n & 1 != 0 && self.slow[usize::from(*n)];
        let is_joined = |n: &u8| pending(n) && self.waiter[usize::from(*n)] == waiter;
        let joined =
            (0..SCOREBOARDS).filter(usable).find(|n| self.joins_loads && waiter < BEHIND && is_joined(n));
        let own = || (FIRST_FOR_LOADS..SCOREBOARDS).filter(usable).filter(|_| self.leaves_first);
        let free = own().find(|n| state.all >> n & 1 == 0);
        let last = own().filter(pending).max_by_key(|&n| self.set_at[usize::from(n)]);
        let number = joined.or(free).or(last)?;
        let at = usize::from(number);
        (self.for_reads[at], self.slow[at]) = (false, true);
        self.set(number, index, report, state.all >> number & 1 != 0);
        Some(number)
    }

    /// The scoreboard for an instruction: the lowest free one; with few free, a busy one where that costs little;
    /// with none free, the one where it costs least, of those the one set last for the same purpose: operations issued
    /// together mostly complete together.
    fn take(
        &mut self,
        index: usize,
        state: &Pending,
        report: Report,
        (reads, slow): (bool, bool),
        other: Option<u8>,
    ) -> u8 {
        let slow = slow && !reads && self.is_matrix_code;
        // A reserved one was set for nothing, or is complete.
        let reserved = other.map_or(0, |n| 1 << n);
        let is_busy = |n: u8| state.all >> n & 1 != 0;
        let usable = || (0..SCOREBOARDS).filter(|n| self.usable >> n & 1 != 0);
        let mut free = usable().filter(|&n| !is_busy(n) && reserved >> n & 1 == 0);
        let purpose = |n: u8| {
            let at = usize::from(n);
            (self.for_reads[at] == reads, self.slow[at] == slow, self.set_at[at])
        };
        let cost = |n: u8| self.reports[usize::from(n)].cost_of_sharing(report);
        let busy = || usable().filter(|&n| is_busy(n) && reserved >> n & 1 == 0);
        // Reads of stores share one scoreboard as long as results need the others.
        let shared = busy().filter(|&n| reads && self.for_reads[usize::from(n)]).max_by_key(|&n| purpose(n));
        let is_short = free.clone().count() <= SPARE;
        let cheapest = busy().filter(|_| is_short).max_by_key(|&n| (Reverse(cost(n)), purpose(n)));
        let cheap = cheapest.filter(|&n| cost(n) <= LITTLE && self.for_reads[usize::from(n)] == reads);
        let chosen = shared.or(cheap).or(free.next()).or(cheapest).or(other);
        let number = chosen.unwrap_or(SCOREBOARDS - 1);
        let at = usize::from(number);
        let is_busy = is_busy(number) || reserved >> number & 1 != 0;
        self.for_reads[at] = reads;
        self.slow[at] = slow || self.slow[at] && is_busy;
        self.set(number, index, report, is_busy);
        number
    }
}

/// Chooses the scoreboards of one block.
fn choose(
    function: &mut MachineFunction,
    block: BlockId,
    effects: &[Effects],
    state: &mut Pending,
    usable: u8,
    ends: (&Registers, &Registers),
    rules: Rules,
) -> Covered {
    let asks = |e: &Effects| e.reports.write || e.reports.read || e.reports.fence;
    let own = |op: Op| counted_scoreboard(op).is_some();
    let instructions = &mut function.blocks[block].instructions;
    if !effects.iter().any(asks) && !instructions.iter().any(|machine| own(machine.instruction.op)) {
        // Nothing here takes a scoreboard.
        for (machine, e) in instructions.iter_mut().zip(effects) {
            machine.instruction.control.write_barrier = None;
            machine.instruction.control.read_barrier = None;
            state.clear(state.wanted(e));
        }
        return Covered::default();
    }
    let mut waiters = waiters(effects, ends, rules);
    let covered = if rules.silent {
        Covered::find(instructions, effects, &mut waiters, BEHIND)
    } else {
        Covered::default()
    };
    let is_matrix_code = is_matrix_code(instructions);
    let is_slow = |machine: &MachineInstruction| machine.instruction.op.info().estimate >= SLOW;
    let is_short = |(machine, &(write, read)): (&MachineInstruction, &(u32, u32))| {
        read < NEVER || write < NEVER && !is_slow(machine)
    };
    let leaves_first = rules.silent && !is_matrix_code && instructions.iter().zip(&waiters).any(is_short);
    let mut numbers = Numbering {
        usable,
        is_matrix_code,
        leaves_first,
        joins_loads: rules.silent && !is_matrix_code,
        ..Numbering::default()
    };
    for (index, (machine, e)) in instructions.iter_mut().zip(effects).enumerate() {
        let slow = is_slow(machine);
        let control = &mut machine.instruction.control;
        control.write_barrier = None;
        control.read_barrier = None;
        let wanted = state.wanted(e);
        numbers.wait(wanted);
        state.clear(wanted);
        match machine.instruction.op {
            Op::LDGDEPBAR => control.write_barrier = counted_scoreboard(Op::LDGDEPBAR),
            Op::UTMACMDFLUSH => control.read_barrier = counted_scoreboard(Op::UTMACMDFLUSH),
            _ => {
                let (write, read) = waiters[index];
                let distance = |waiter: u32| waiter - index as u32;
                if write != NEVER {
                    let report = numbers.report(machine.instruction.op.info().estimate, distance(write));
                    let own = if slow { numbers.take_for_load(index, state, write, report) } else { None };
                    let number =
                        own.unwrap_or_else(|| numbers.take(index, state, report, (false, slow), None));
                    numbers.waiter[usize::from(number)] = write;
                    control.write_barrier = Some(number);
                }
                if read != NEVER {
                    let report = numbers.report(READ, distance(read));
                    let other = control.write_barrier;
                    control.read_barrier = Some(numbers.take(index, state, report, (true, slow), other));
                }
            }
        }
        state.issue(e, control.write_barrier, control.read_barrier, rules);
        for before in covered.by(index) {
            state.issue(&effects[before], control.write_barrier, None, rules);
        }
    }
    covered
}

#[cfg(test)]
mod tests;
