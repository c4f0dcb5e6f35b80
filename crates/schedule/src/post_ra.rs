//! List scheduling of machine instructions after allocation and form selection (phase 106): each block is scheduled
//! again, with fixed registers and the final instruction distances.
//!
//! It is here because allocation adds copies and reloads, and form selection decides the execution units: both come
//! after the first schedule. Nothing moves between blocks and no register changes. The schedule affects only time,
//! never correctness: stalls and scoreboards are computed after it.

use crate::arrange::arrange;
use crate::effects::{Effects, Finishing, REGISTERS, Registers};
use crate::graph::{Accesses, Edges, Graph, Kind, as_ordered};
use crate::matrix_blocks::machine_units;
use crate::units::{Progress, Units};
use oriole_latency::{Class, Model, ResultPart};
use oriole_ori::effects::{
    is_convergent_operation, is_exchange_operation, is_fixed_register, is_product_step_of,
};
use oriole_ori::{BlockId, MachineBlock, MachineInstruction};
use oriole_sass::{Effect, Instruction, Op, OperandKind};
use smallvec::SmallVec;
use typed_index_collections::{TiVec, ti_vec};

/// Cycles after which a source that is read late may be overwritten; an estimate, since a scoreboard reports it.
const LATE_READ: u32 = 12;

/// Schedules the instructions of every block. With `between_products`, instructions between MMAs in blocks that
/// multiply matrices stay there.
pub fn order(finishing: &mut Finishing, model: &Model, between_products: bool) {
    let Finishing { function, effects, order } = finishing;
    // Cycles until the results in flight at the end of a block arrive, by register. Later blocks, over back edges,
    // are unknown and count as having nothing in flight.
    let mut left: TiVec<BlockId, Vec<(u16, u32)>> = ti_vec![Vec::new(); function.blocks.len()];
    let mut pending: Vec<(u16, u32)> = Vec::new();
    let mut arrival = vec![0u32; REGISTERS];
    let mut uses: Vec<Uses> = vec![Uses::default(); REGISTERS];
    for &id in &*order {
        arrival.fill(0);
        for (register, cycles) in std::mem::take(&mut left[id]) {
            let known = &mut arrival[usize::from(register)];
            *known = (*known).max(cycles);
        }
        pending.clear();
        let block = &mut function.blocks[id];
        let units = between_products.then(|| machine_units(model, block)).flatten();
        order_block(block, &mut effects[id], model, units.as_ref(), &mut arrival, &mut uses);
        let late = (0u16..).zip(&arrival).filter(|&(_, &cycles)| cycles > 0);
        pending.extend(late.map(|(r, &cycles)| (r, cycles)));
        for &successor in &function.blocks[id].successors {
            left[successor].extend_from_slice(&pending);
        }
    }
}

/// Ordering class of an instruction.
fn kind(machine: &MachineInstruction) -> Kind {
    let Instruction { op, mods, operands, .. } = &machine.instruction;
    match (op.info().class(mods), *op) {
        // Lanes are only gathered later; only the branches that follow depend on it.
        (_, Op::BSSY) => return Kind::Together,
        // Synchronization: instructions without memory access may move across.
        (_, Op::BAR) => return Kind::Meeting,
        (Class::Fence | Class::Control | Class::Bulk | Class::Sync | Class::Group, _) | (_, Op::LEPC) => {
            return Kind::Wall;
        }
        _ => {}
    }
    if let Some(memory) = machine.memory {
        return if is_convergent_operation(*op) && !op.info().aligned {
            Kind::Wall
        } else {
            Kind::Memory(as_ordered(*op, mods, memory))
        };
    }
    if op.info().effect == Effect::Register {
        let fixed = operands
            .iter()
            .any(|o| matches!(o.kind, OperandKind::Symbol(symbol) if is_fixed_register(symbol)));
        return if fixed { Kind::Free } else { Kind::Wall };
    }
    if op.info().aligned && !is_product_step_of(*op, mods) {
        return Kind::Free;
    }
    if is_exchange_operation(*op) && !is_product_step_of(*op, mods) {
        return Kind::Exchange;
    }
    if is_convergent_operation(*op) {
        return Kind::Together;
    }
    match op.info().effect {
        Effect::Pure | Effect::PureUniform | Effect::Predicates => Kind::Free,
        _ => Kind::Wall,
    }
}

/// Last writer of a register in the block, and readers since.
#[derive(Clone, Default)]
struct Uses {
    writer: Option<(u32, ResultPart)>,
    readers: SmallVec<[(u32, oriole_latency::Slot); 4]>,
}

/// Time from the issue of an instruction until its result is there.
fn result_time(model: &Model, from: &MachineInstruction, effects: &Effects, part: ResultPart) -> u32 {
    if effects.variable {
        u32::from(model.estimate(from.instruction.op))
    } else {
        model.longest(effects.class, part).map_or(1, u32::from)
    }
}

/// The dependency graph of a block. `registers` is empty before and after.
fn graph(block: &MachineBlock, effects: &[Effects], model: &Model, registers: &mut [Uses]) -> Graph {
    let mut graph = Edges::with_capacity(block.instructions.len());
    let mut order = ProgramOrder::default();
    let mut edges: Vec<(u32, u32)> = Vec::new();
    for (index, (machine, e)) in block.instructions.iter().zip(effects).enumerate() {
        let node = index as u32;
        graph.next_node();
        edges.clear();
        register_edges(block, effects, model, registers, index, &mut edges);
        order.add(kind(machine), node, &mut edges);
        // Of several dependencies the longest counts.
        edges.sort_unstable_by_key(|&(from, distance)| (from, std::cmp::Reverse(distance)));
        edges.dedup_by_key(|(from, _)| *from);
        for &(from, distance) in &edges {
            if from != node {
                graph.add(from, distance);
            }
        }
        for &(register, slot) in &e.reads {
            registers[usize::from(register)].readers.push((node, slot));
        }
        for &(register, part) in &e.writes {
            let uses = &mut registers[usize::from(register)];
            uses.writer = Some((node, part));
            uses.readers.clear();
        }
    }
    for e in effects {
        let touched = e.reads.iter().map(|&(r, _)| r).chain(e.writes.iter().map(|&(r, _)| r));
        touched.for_each(|register| registers[usize::from(register)] = Uses::default());
    }
    graph.into_graph()
}

/// The edges of an instruction to those before it that read or write its registers.
fn register_edges(
    block: &MachineBlock,
    effects: &[Effects],
    model: &Model,
    registers: &[Uses],
    index: usize,
    edges: &mut Vec<(u32, u32)>,
) {
    let e = &effects[index];
    for &(register, slot) in &e.reads {
        if let Some((from, part)) = registers[usize::from(register)].writer {
            let writer = &effects[from as usize];
            let distance = match model.raw(writer.class, part, e.class, slot) {
                Some(distance) => u32::from(distance.cycles),
                None => result_time(model, &block.instructions[from as usize], writer, part),
            };
            edges.push((from, distance));
        }
    }
    for &(register, part) in &e.writes {
        let uses = &registers[usize::from(register)];
        if let Some((from, first)) = uses.writer {
            let writer = &effects[from as usize];
            let distance = match model.waw(writer.class, first, e.class, part) {
                Some(distance) => u32::from(distance.cycles),
                None => result_time(model, &block.instructions[from as usize], writer, first),
            };
            edges.push((from, distance));
        }
        for &(from, slot) in &uses.readers {
            let reader = &effects[from as usize];
            let distance = if reader.reads_in_order && e.reads_in_order {
                1
            } else if reader.reported_read(register) {
                LATE_READ
            } else {
                u32::from(model.war(reader.class, slot, e.class, part))
            };
            edges.push((from, distance));
        }
    }
}

/// Order of instructions apart from registers: memory, collective operations, barriers.
#[derive(Default)]
struct ProgramOrder {
    memory: Accesses,
    together: Option<u32>,
    wall: Option<u32>,
    since_wall: Vec<u32>,
    meeting: Option<u32>,
    since_meeting: Vec<u32>,
}

impl ProgramOrder {
    /// Adds an instruction; `edges` get those before it that it must follow.
    fn add(&mut self, kind: Kind, node: u32, edges: &mut Vec<(u32, u32)>) {
        // Single-lane value computations move across synchronization.
        let meets = !matches!(kind, Kind::Free);
        match kind {
            Kind::Free | Kind::Exchange => {}
            Kind::Memory(info) => edges.extend(self.memory.add(info, node).into_iter().map(|from| (from, 1))),
            Kind::Together => {
                edges.extend(self.together.map(|from| (from, 1)));
                self.together = Some(node);
            }
            Kind::Meeting => {
                edges.extend(self.since_meeting.drain(..).map(|from| (from, 1)));
                self.memory = Accesses::default();
                self.together = None;
            }
            Kind::Wall => {
                edges.extend(self.since_wall.drain(..).map(|from| (from, 1)));
                self.since_meeting.clear();
                self.memory = Accesses::default();
                self.together = None;
                self.meeting = None;
            }
        }
        edges.extend(self.wall.map(|from| (from, 1)));
        if meets {
            edges.extend(self.meeting.map(|from| (from, 1)));
        }
        match kind {
            Kind::Wall => self.wall = Some(node),
            Kind::Meeting => {
                self.meeting = Some(node);
                self.since_wall.push(node);
            }
            _ => self.since_wall.push(node),
        }
        if meets && kind != Kind::Wall {
            self.since_meeting.push(node);
        }
    }
}

/// Issue time of each instruction in a schedule, and the time after the last one. `arrival` gives the arrival times
/// of registers that the block does not write itself.
#[derive(Clone)]
struct Clock<'a> {
    model: &'a Model,
    block: &'a MachineBlock,
    graph: &'a Graph,
    units: Option<&'a Units>,
    ready_at: Vec<u32>,
    progress: Option<Progress>,
    cycle: u32,
}

impl<'a> Clock<'a> {
    fn new(
        model: &'a Model,
        block: &'a MachineBlock,
        effects: &[Effects],
        graph: &'a Graph,
        units: Option<&'a Units>,
        arrival: &[u32],
    ) -> Clock<'a> {
        let mut written = Registers::default();
        let mut ready_at = Vec::with_capacity(effects.len());
        for e in effects {
            let outside = e.reads.iter().map(|&(r, _)| r).chain(e.writes.iter().map(|&(r, _)| r));
            let outside = outside.filter(|&r| !written.contains(r));
            ready_at.push(outside.map(|r| arrival[usize::from(r)]).max().unwrap_or(0));
            e.writes.iter().for_each(|&(r, _)| written.insert(r));
        }
        Clock { model, block, graph, units, ready_at, progress: units.map(Units::start), cycle: 0 }
    }

    /// Issues an instruction; returns the issue time.
    fn issue(&mut self, node: u32) -> u32 {
        let at = node as usize;
        let time = self.cycle.max(self.ready_at[at]).max(self.free_at(node));
        if let (Some(units), Some(progress)) = (self.units, &mut self.progress) {
            units.issue(node, time, progress);
        }
        for &(to, distance) in self.graph.after(node) {
            let ready = &mut self.ready_at[to as usize];
            *ready = (*ready).max(time + distance);
        }
        self.cycle = time + self.stall(node);
        time
    }

    /// When the units of an instruction are free.
    fn free_at(&self, node: u32) -> u32 {
        self.units.zip(self.progress.as_ref()).map_or(0, |(units, progress)| units.free_at(node, progress))
    }

    fn stall(&self, node: u32) -> u32 {
        let instruction = &self.block.instructions[node as usize].instruction;
        u32::from(self.model.minimum_stall(instruction.op, &instruction.mods))
    }

    /// Lower bound of the time of a schedule: one instruction issues after the other, and each after its operands.
    fn least_end(&self) -> u32 {
        let mut ready_at = self.ready_at.clone();
        let (mut busy, mut end) = (0, 0);
        for node in 0..ready_at.len() as u32 {
            let time = ready_at[node as usize];
            for &(to, distance) in self.graph.after(node) {
                let ready = &mut ready_at[to as usize];
                *ready = (*ready).max(time + distance);
            }
            busy += self.stall(node);
            end = end.max(time + self.stall(node));
        }
        end.max(busy)
    }
}

/// Reorders the instructions of a block, unless the old order is as fast. `arrival` holds the cycles until the
/// results in flight at the start arrive, and after the call those at the end.
fn order_block(
    block: &mut MachineBlock,
    effects: &mut Vec<Effects>,
    model: &Model,
    units: Option<&Units>,
    arrival: &mut [u32],
    uses: &mut [Uses],
) {
    let graph = graph(block, effects, model, uses);
    let start = Clock::new(model, block, effects, &graph, units, arrival);
    let old: Vec<u32> = (0..effects.len() as u32).collect();
    let mut clock = start.clone();
    let old_times: Vec<u32> = old.iter().map(|&node| clock.issue(node)).collect();
    let old_end = clock.cycle;
    let mut better = old_end > start.least_end();
    let (mut places, mut times, mut end) = (old, old_times, old_end);
    if better {
        let (new, new_times, new_end) = list(start, &heights(block, effects, &graph, units, model));
        better = new_end < old_end;
        if better {
            (places, times, end) = (new, new_times, new_end);
        }
    }
    arrival.iter_mut().for_each(|cycles| *cycles = cycles.saturating_sub(end));
    for (&node, &time) in places.iter().zip(&times) {
        let e = &effects[node as usize];
        for &(register, part) in &e.writes {
            let there = time + result_time(model, &block.instructions[node as usize], e, part);
            arrival[usize::from(register)] = there.saturating_sub(end);
        }
    }
    if better {
        arrange(&mut block.instructions, &places);
        arrange(effects, &places);
    }
}

/// Cycles from the issue of each instruction to the end of the longest path that starts there. A result that leaves
/// the block counts with the time that it takes to arrive.
fn heights(
    block: &MachineBlock,
    effects: &[Effects],
    graph: &Graph,
    units: Option<&Units>,
    model: &Model,
) -> Vec<u32> {
    let mut later = 0;
    let mut height = vec![0u32; effects.len()];
    let mut overwritten = Registers::default();
    for node in (0..effects.len()).rev() {
        let e = &effects[node];
        let machine = &block.instructions[node];
        let live_out_latency = e
            .writes
            .iter()
            .filter(|&&(r, _)| !overwritten.contains(r))
            .map(|&(_, part)| result_time(model, machine, e, part))
            .max();
        let below = graph.after(node as u32).iter().map(|&(to, cycles)| height[to as usize] + cycles).max();
        height[node] = below.unwrap_or(1).max(live_out_latency.unwrap_or(1));
        if let Some(units) = units {
            height[node] = units.raise(node, height[node], &mut later);
        }
        e.writes.iter().for_each(|&(r, _)| overwritten.insert(r));
    }
    height
}

/// Most ready instructions that are compared; more would cost time without much gain.
const WINDOW: usize = 64;

/// The list scheduler: forwards, of the ready instructions the one that waits least, then the one on the longest
/// path. Returns the schedule, the issue times, and the time after the last one.
fn list(mut clock: Clock<'_>, height: &[u32]) -> (Vec<u32>, Vec<u32>, u32) {
    let count = height.len();
    let mut waiting = clock.graph.before_counts();
    let mut ready: Vec<u32> = (0..count as u32).filter(|&n| waiting[n as usize] == 0).collect();
    let mut places = Vec::with_capacity(count);
    let mut times = Vec::with_capacity(count);
    while !ready.is_empty() {
        let key = |node: u32| {
            let ready = clock.ready_at[node as usize].max(clock.free_at(node));
            let wait = ready.saturating_sub(clock.cycle);
            (std::cmp::Reverse(wait), height[node as usize])
        };
        // Ties go to the first.
        let best = (0..ready.len().min(WINDOW)).rev().max_by_key(|&slot| key(ready[slot]));
        let Some(slot) = best else { break };
        let node = ready.remove(slot);
        times.push(clock.issue(node));
        places.push(node);
        for &(to, _) in clock.graph.after(node) {
            waiting[to as usize] -= 1;
            if waiting[to as usize] == 0 {
                let place = ready.partition_point(|&n| n < to);
                ready.insert(place, to);
            }
        }
    }
    (places, times, clock.cycle)
}

#[cfg(test)]
mod tests;
