//! Stalls: cycles that each instruction holds back the next one, so that fixed-latency results are available in time.
//! A dataflow analysis carries, for each register, its recent writers and readers with their age in cycles. Where the
//! first instruction of a block comes too early after a predecessor, the instruction that leads there stalls longer.
//! That is the last one, or a guarded branch before it: a block may be left in the middle, and each exit has its own
//! ages.

use crate::effects::{Effects, Finishing, REGISTERS, UNIFORM, early_target};
use crate::words::{LONGEST_STALL, Nop, accepts_wait, yields};
use oriole_latency::{Class, FENCE_TO_PRODUCT, LONGEST_SPACING, Milestone, Model, ResultPart, Slot, spacing};
use oriole_ori::{BlockId, MachineFunction, MachineInstruction};
use oriole_sass::{Control, Effect, Op};
use smallvec::SmallVec;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// Kinds of recent register events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    Written(Class, ResultPart),
    Read(Class, Slot),
}

/// A recent register event.
#[derive(Clone, Copy)]
struct Past {
    register: u16,
    event: Event,
    /// Cycles since.
    age: u8,
    /// Cycles after which no instruction needs to wait for it.
    span: u8,
}

/// Recent register events, each once; events that no instruction needs to wait for are dropped. The list is short,
/// since every instruction takes a cycle.
#[derive(Clone)]
struct Recent {
    past: Vec<Past>,
    /// Cycles since each milestone, at most the longest distance that one asks for.
    since: [u8; Milestone::COUNT],
}

impl Default for Recent {
    fn default() -> Recent {
        Recent { past: Vec::new(), since: [LONGEST_SPACING; Milestone::COUNT] }
    }
}

/// The longest that a read must be remembered, cycles.
const LONGEST_READ: u8 = 16;

impl Recent {
    fn pass(&mut self, cycles: u8) {
        self.past.retain_mut(|past| {
            past.age = past.age.saturating_add(cycles);
            past.age < past.span
        });
        for since in &mut self.since {
            *since = since.saturating_add(cycles).min(LONGEST_SPACING);
        }
    }

    fn find(&mut self, register: u16, event: Event) -> Option<&mut Past> {
        self.past.iter_mut().find(|past| past.register == register && past.event == event)
    }

    fn note(&mut self, register: u16, event: Event, model: &Model) {
        match self.find(register, event) {
            Some(known) => known.age = 0,
            None => self.past.push(Past { register, event, age: 0, span: span(event, model) }),
        }
    }

    /// Keeps of both the younger; true if something is younger now.
    fn join(&mut self, other: &Recent) -> bool {
        let mut changed = false;
        for (mine, other) in self.since.iter_mut().zip(other.since) {
            changed |= other < *mine;
            *mine = other.min(*mine);
        }
        for past in &other.past {
            match self.find(past.register, past.event) {
                Some(known) => {
                    changed |= past.age < known.age;
                    known.age = known.age.min(past.age);
                }
                None => {
                    self.past.push(*past);
                    changed = true;
                }
            }
        }
        changed
    }

    /// Cycles missing before a fence: registers that the MMAs after it read must be written before it. `rest` is the
    /// rest of the block after the fence.
    fn missing_before_fence(&self, rest: &[Effects], model: &Model) -> u8 {
        let behind = rest.iter().take_while(|effects| effects.milestone != Some(Milestone::Fence));
        let products = behind.filter(|effects| effects.milestone == Some(Milestone::Product));
        let of_products = products.map(|product| self.missing_registers(product, UNIFORM, model)).max();
        let missing = of_products.unwrap_or_else(|| {
            // The MMAs are in another block, and may read anything.
            let general = self.past.iter().filter(|past| past.register < UNIFORM);
            let missing = general.filter_map(|past| match past.event {
                Event::Written(class, part) => {
                    let needed = model.raw(class, part, Class::Group, Slot::Accumulator)?;
                    Some(needed.cycles.saturating_sub(past.age))
                }
                Event::Read(..) => None,
            });
            missing.max().unwrap_or(0)
        });
        missing.saturating_sub(FENCE_TO_PRODUCT)
    }

    /// Cycles that are missing before an instruction may issue.
    fn missing(&self, effects: &Effects, model: &Model) -> u8 {
        let milestones = || Milestone::ALL.into_iter().zip(self.since);
        let spaced = effects.milestone.and_then(|second| {
            milestones().map(|(first, since)| spacing(first, second).saturating_sub(since)).max()
        });
        self.missing_registers(effects, REGISTERS as u16, model).max(spaced.unwrap_or(0))
    }

    /// Cycles that are missing before an instruction may use its registers, of those below `end`.
    fn missing_registers(&self, effects: &Effects, end: u16, model: &Model) -> u8 {
        let mut missing = 0;
        // Most past accesses are of other registers.
        let touched = effects.touched();
        let concerns =
            |past: &&Past| past.register < end && (effects.drains || touched.contains(past.register));
        for past in self.past.iter().filter(concerns) {
            let mut need = |distance: u8| missing = missing.max(distance.saturating_sub(past.age));
            if let Event::Written(class, part) = past.event {
                for &(_, slot) in effects.reads.iter().filter(|(register, _)| *register == past.register) {
                    if let Some(distance) = model.raw(class, part, effects.class, slot) {
                        need(distance.cycles);
                    }
                }
            }
            for &(_, part) in effects.writes.iter().filter(|(register, _)| *register == past.register) {
                match past.event {
                    Event::Written(class, first) => {
                        if let Some(distance) = model.waw(class, first, effects.class, part) {
                            need(distance.cycles);
                        }
                    }
                    Event::Read(class, slot) => need(model.war(class, slot, effects.class, part)),
                }
            }
            if effects.drains && matches!(past.event, Event::Written(..)) {
                // The transfer itself takes five cycles.
                need(past.span.saturating_sub(5));
            }
        }
        missing
    }
}

fn span(event: Event, model: &Model) -> u8 {
    match event {
        Event::Written(class, part) => {
            // Writes after it count too; none is longer than the longest read except that of clock reads.
            model.longest(class, part).unwrap_or(0).max(if class == Class::Dispatch64 { 18 } else { 0 })
        }
        Event::Read(..) => LONGEST_READ,
    }
}

/// Results of one walk over a block.
struct Walk {
    /// Stall of each instruction; may exceed the field of a control word.
    stalls: Vec<u16>,
    /// State after the last instruction, its stall passed.
    end: Recent,
    /// The blocks that branches before the last instruction lead to, with the state after the branch.
    early: SmallVec<[(BlockId, Recent); 1]>,
    /// Cycles missing before the first instruction.
    lead: u8,
}

fn walk(
    function: &MachineFunction,
    block: BlockId,
    all: &TiSlice<BlockId, Vec<Effects>>,
    entry: &Recent,
    model: &Model,
) -> Walk {
    let instructions = &function.blocks[block].instructions;
    let effects = all[block].as_slice();
    let mut early = SmallVec::new();
    let mut state = entry.clone();
    let mut stalls: Vec<u16> = Vec::with_capacity(instructions.len());
    let mut lead = 0;
    for (index, (machine, e)) in instructions.iter().zip(effects).enumerate() {
        let mut missing = state.missing(e, model);
        if e.milestone == Some(Milestone::Fence) {
            missing = missing.max(state.missing_before_fence(&effects[index + 1..], model));
        }
        // A scoreboard can be waited for two cycles after it was set.
        let sets =
            |c: &Control| c.write_barrier.map_or(0, |n| 1 << n) | c.read_barrier.map_or(0, |n| 1u8 << n);
        if index > 0 {
            let before = &instructions[index - 1].instruction.control;
            if stalls[index - 1] + u16::from(missing) < 2
                && sets(before) & oriole_latency::waits(&machine.instruction) != 0
            {
                missing += 1;
            }
            stalls[index - 1] += u16::from(missing);
        } else {
            lead = missing;
        }
        if missing > 0 {
            state.pass(missing);
        }
        for &(register, slot) in &e.reads {
            if !e.variable || slot == Slot::Guard {
                state.note(register, Event::Read(e.class, slot), model);
            }
        }
        if !e.reports.write {
            for &(register, part) in &e.writes {
                if model.longest(e.class, part).is_some() {
                    state.note(register, Event::Written(e.class, part), model);
                }
            }
        }
        if let Some(milestone) = e.milestone {
            state.since[milestone as usize] = 0;
        }
        let op = machine.instruction.op;
        let mut stall = u16::from(model.minimum_stall(op, &machine.instruction.mods));
        if op == Op::ERRBAR {
            // The special pause: at least as long as the longest plain one.
            stall = u16::from(LONGEST_STALL);
        }
        // A scoreboard set by the last instruction may be waited for by the first of the next block.
        if index + 1 == instructions.len() && sets(&machine.instruction.control) != 0 {
            stall = stall.max(2);
        }
        state.pass(stall as u8);
        if let Some(target) = early_target(instructions, index) {
            let extra = missing_at(&all[target], &state, model);
            state.pass(extra);
            stall += u16::from(extra);
            early.push((target, state.clone()));
        }
        stalls.push(stall);
    }
    Walk { stalls, end: state, early, lead }
}

/// Fills in stalls and yield flags; inserts `NOP`s where a stall does not fit.
pub fn assign(finishing: &mut Finishing, model: &Model, nop: &Nop, cap: u8) {
    let Finishing { function, effects, order } = finishing;
    let count = function.blocks.len();
    let mut position: TiVec<BlockId, u32> = ti_vec![u32::MAX; count];
    for (place, &block) in order.iter().enumerate() {
        position[block] = place as u32;
    }
    let mut entry: TiVec<BlockId, Recent> = ti_vec![Recent::default(); count];
    let mut lead: TiVec<BlockId, u8> = ti_vec![0u8; count];
    // The stalls of the last visit are valid: a later change at the top of a block causes another visit.
    let mut stalls: TiVec<BlockId, Vec<u16>> = ti_vec![Vec::new(); count];
    let mut work: std::collections::BTreeSet<u32> = (0..order.len() as u32).collect();
    while let Some(place) = work.pop_first() {
        let at = order[place as usize];
        let mut result = walk(function, at, effects, &entry[at], model);
        lead[at] = lead[at].max(result.lead);
        let mut join = |successor: BlockId, state: &Recent| {
            if entry[successor].join(state) && position[successor] != u32::MAX {
                work.insert(position[successor]);
            }
        };
        // Successors of the block's end: all except those of the early branches.
        let mut rest = function.blocks[at].successors.clone();
        for (target, state) in &result.early {
            join(*target, state);
            if let Some(index) = rest.iter().position(|successor| successor == target) {
                rest.remove(index);
            }
        }
        if let Some(last) = result.stalls.last_mut() {
            let missing = rest.iter().map(|&successor| missing_at(&effects[successor], &result.end, model));
            let extra = missing.max().unwrap_or(0);
            result.end.pass(extra);
            *last += u16::from(extra);
        }
        stalls[at] = result.stalls;
        rest.iter().for_each(|&successor| join(successor, &result.end));
    }
    let cap = u16::from(cap.clamp(1, LONGEST_STALL));
    for &block in &*order {
        let instructions = &mut function.blocks[block].instructions;
        // Only after empty blocks is a stall left for the block itself.
        let added = write(instructions, &effects[block], &stalls[block], lead[block], model, nop, cap);
        if !added.is_empty() {
            let doing = added.iter().map(|&(before, _)| (before, nop.effects().clone())).collect();
            put_in(&mut effects[block], doing);
            put_in(instructions, added);
        }
    }
}

/// Cycles that are missing before the first instruction of a block.
fn missing_at(block: &[Effects], state: &Recent, model: &Model) -> u8 {
    let Some((first, rest)) = block.split_first() else { return 0 };
    let fence = first.milestone == Some(Milestone::Fence);
    let before = if fence { state.missing_before_fence(rest, model) } else { 0 };
    state.missing(first, model).max(before)
}

/// Writes the stalls of a block into its words; returns the instructions to insert with their positions, mostly none.
fn write(
    instructions: &mut [MachineInstruction],
    effects: &[Effects],
    stalls: &[u16],
    pause: u8,
    model: &Model,
    nop: &Nop,
    cap: u16,
) -> Vec<(usize, MachineInstruction)> {
    let mut added: Vec<(usize, MachineInstruction)> = Vec::new();
    let passing = |cycles: u16| Control { stall: cycles as u8, yields: cycles >= 12, ..Control::NEUTRAL };
    let mut pause = u16::from(pause);
    for (index, ((machine, e), &stall)) in instructions.iter_mut().zip(effects).zip(stalls).enumerate() {
        // A pause after an instruction that transfers control would not be executed: the excess of its stall goes
        // before it. After any other instruction, also the last of its block, there is a pause.
        let effect = machine.instruction.op.info().effect;
        let leads_on = matches!(effect, Effect::Branch | Effect::Call | Effect::Leave);
        if leads_on && machine.instruction.op != Op::ERRBAR {
            pause += stall.saturating_sub(cap);
        }
        while pause > 0 {
            let cycles = pause.min(cap);
            added.push((index, nop.beside(machine, passing(cycles))));
            pause -= cycles;
        }
        let instruction = &mut machine.instruction;
        if !accepts_wait(instruction) && instruction.control.wait_mask != 0 {
            let wait = Control { wait_mask: instruction.control.wait_mask, stall: 1, ..Control::NEUTRAL };
            instruction.control.wait_mask = 0;
            added.push((index, nop.beside(machine, wait)));
        }
        // A branch needs its own minimum, whatever the longest stall may be.
        let least = model.minimum_stall(machine.instruction.op, &machine.instruction.mods);
        let cap = cap.max(u16::from(least));
        let instruction = &mut machine.instruction;
        let mut left = if leads_on { stall.min(cap) } else { stall };
        if instruction.op == Op::ERRBAR {
            instruction.control.stall = 0;
            instruction.control.yields = true;
            left = 0;
        } else {
            let first = left.min(cap);
            instruction.control.stall = first as u8;
            instruction.control.yields = yields(instruction.op, e, first as u8);
            left -= first;
        }
        while left > 0 {
            let cycles = left.min(cap);
            added.push((index + 1, nop.beside(machine, passing(cycles))));
            left -= cycles;
        }
    }
    added
}

/// Inserts each item before its position in the list.
fn put_in<T>(list: &mut Vec<T>, added: Vec<(usize, T)>) {
    let mut all = Vec::with_capacity(list.len() + added.len());
    let mut added = added.into_iter().peekable();
    for (index, old) in std::mem::take(list).into_iter().enumerate() {
        while let Some((_, new)) = added.next_if(|&(before, _)| before == index) {
            all.push(new);
        }
        all.push(old);
    }
    all.extend(added.map(|(_, new)| new));
    *list = all;
}

#[cfg(test)]
mod tests;
