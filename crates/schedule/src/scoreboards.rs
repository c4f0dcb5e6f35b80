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

/// Scoreboards left free for shared-memory fragments if there are loads from global memory.
const LEFT_FOR_FRAGMENTS: usize = 2;

/// The first scoreboard for global loads where others have short latencies; ptxas does the same.
const FIRST_FOR_LOADS: u8 = 2;

/// Assigned scoreboards: position and purpose of the last set.
#[derive(Default)]
struct Numbering {
    usable: u8,
    set_at: [u32; SCOREBOARDS as usize],
    for_reads: [bool; SCOREBOARDS as usize],
    /// Its results come from global memory.
    slow: [bool; SCOREBOARDS as usize],
    /// Global loads are limited to few scoreboards: a wait for a shared-memory fragment would otherwise wait for
    /// them.
    keeps_apart: bool,
    /// Results leave one scoreboard to reads: a register read completes soon, and a wait for it would otherwise wait
    /// for a result.
    leaves_one: bool,
    /// Global loads that one instruction waits for share a scoreboard.
    joins_loads: bool,
    /// Global loads leave the first scoreboards to operations of short latency.
    leaves_first: bool,
    /// The first instruction that waits for the last result.
    waiter: [u32; SCOREBOARDS as usize],
}

impl Numbering {
    /// The scoreboard for the result of a global load that `waiter` waits for first, if such loads have their own.
    fn take_for_load(&mut self, index: usize, state: &Pending, waiter: u32) -> Option<u8> {
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
        (self.set_at[at], self.for_reads[at], self.slow[at]) = (index as u32 + 1, false, true);
        Some(number)
    }

    /// The scoreboard for an instruction: the lowest free one; with none free, the one set last for the same purpose,
    /// because operations issued together mostly complete together.
    fn take(&mut self, index: usize, state: &Pending, reads: bool, slow: bool, other: Option<u8>) -> u8 {
        let slow = slow && !reads && self.keeps_apart;
        let busy = state.all | other.map_or(0, |n| 1 << n);
        let usable = |n: &u8| self.usable >> n & 1 != 0;
        let left = (0..SCOREBOARDS).filter(usable).filter(|&n| busy >> n & 1 == 0).count();
        let gathered = (0..SCOREBOARDS)
            .filter(usable)
            .filter(|&n| {
                slow && left <= LEFT_FOR_FRAGMENTS && self.slow[usize::from(n)] && state.all >> n & 1 != 0
            })
            .max_by_key(|&n| self.set_at[usize::from(n)]);
        // Reads of stores share one scoreboard as long as results need the others.
        let shared = (0..SCOREBOARDS)
            .filter(usable)
            .filter(|&n| reads && self.for_reads[usize::from(n)] && state.all >> n & 1 != 0)
            .max_by_key(|&n| self.set_at[usize::from(n)]);
        let reading = |n: u8| self.for_reads[usize::from(n)] && state.all >> n & 1 != 0;
        let kept = !reads && self.leaves_one && left == 1 && !(0..SCOREBOARDS).filter(usable).any(reading);
        let free = (0..SCOREBOARDS).filter(usable).find(|&n| busy >> n & 1 == 0).filter(|_| !kept);
        let last = (0..SCOREBOARDS).filter(usable).filter(|&n| other != Some(n)).max_by_key(|&n| {
            let n = usize::from(n);
            // A reserved one was set for nothing, or is complete.
            (busy >> n & 1 != 0, self.for_reads[n] == reads, self.slow[n] == slow, self.set_at[n])
        });
        let number = shared.or(gathered).or(free).or(last).unwrap_or(SCOREBOARDS - 1);
        self.set_at[usize::from(number)] = index as u32 + 1;
        self.for_reads[usize::from(number)] = reads;
        self.slow[usize::from(number)] = slow || self.slow[usize::from(number)] && busy >> number & 1 != 0;
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
    let keeps_apart = is_matrix_code(instructions);
    let leaves_one = waiters.iter().any(|&(_, read)| read != NEVER);
    let is_slow = |machine: &MachineInstruction| machine.instruction.op.info().estimate >= SLOW;
    let is_short = |(machine, &(write, read)): (&MachineInstruction, &(u32, u32))| {
        read < NEVER || write < NEVER && !is_slow(machine)
    };
    let leaves_first = rules.silent && !keeps_apart && instructions.iter().zip(&waiters).any(is_short);
    let mut numbers = Numbering {
        usable,
        keeps_apart,
        leaves_one,
        leaves_first,
        joins_loads: rules.silent && !keeps_apart,
        ..Numbering::default()
    };
    for (index, (machine, e)) in instructions.iter_mut().zip(effects).enumerate() {
        let slow = is_slow(machine);
        let control = &mut machine.instruction.control;
        control.write_barrier = None;
        control.read_barrier = None;
        state.clear(state.wanted(e));
        match machine.instruction.op {
            Op::LDGDEPBAR => control.write_barrier = counted_scoreboard(Op::LDGDEPBAR),
            Op::UTMACMDFLUSH => control.read_barrier = counted_scoreboard(Op::UTMACMDFLUSH),
            _ => {
                let (write, read) = waiters[index];
                if write != NEVER {
                    let own = if slow { numbers.take_for_load(index, state, write) } else { None };
                    let number = own.unwrap_or_else(|| numbers.take(index, state, false, slow, None));
                    numbers.waiter[usize::from(number)] = write;
                    control.write_barrier = Some(number);
                }
                if read != NEVER {
                    control.read_barrier =
                        Some(numbers.take(index, state, true, slow, control.write_barrier));
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
