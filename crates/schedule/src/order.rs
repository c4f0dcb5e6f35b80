//! List scheduling of Ori before allocation (phase 97): within each block instructions are ordered so that long
//! latencies overlap, as long as no more registers are live than the block may use; else fewer live registers come
//! first. Nothing moves between blocks.
//!
//! What is kept: reads after writes of each value, the order of conflicting memory accesses, of operations that
//! several lanes perform together, and of everything whose meaning is more than its result.

use crate::graph::{Graph, Node};
use oriole_latency::{Class, Model, ResultPart, Slot, class, estimate, is_variable};
use oriole_options::{ScheduleMode, ScheduleOptions};
use oriole_ori::{BlockId, Cfg, File, Function, Instruction, Liveness, Opcode, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Files whose pressure counts, and what must not be exceeded for a better order's sake: general registers have a
/// budget of their own.
const FILES: [File; 3] = [File::R, File::P, File::UR];
/// Predicates live at once that need no register of another file.
const PREDICATES: u32 = 6;
/// Uniform registers live at once.
const UNIFORM: u32 = 48;

/// Values live at once, by [`FILES`].
type Counts = [u32; 3];

fn index(file: File) -> Option<usize> {
    FILES.iter().position(|&f| f == file)
}

/// Registers that a block may use before latency gives way to pressure, whatever its own peak: so many leave full
/// occupancy.
const FREE_OF_CHARGE: u32 = 32;
/// The same when loads are gathered in batches.
const BATCH_BUDGET: u32 = 64;

/// Orders the instructions of every block.
pub fn order(function: &mut Function, model: &Model, options: &ScheduleOptions) {
    let cfg = Cfg::new(function);
    let liveness = Liveness::new(function, &cfg);
    for &block in cfg.order() {
        let old = std::mem::take(&mut function.block_mut(block).instructions);
        let new = order_block(function, &liveness, block, &old, model, options);
        function.block_mut(block).instructions = new.unwrap_or(old);
    }
}

/// The new order, or `None` if the old one stays.
fn order_block(
    function: &Function,
    liveness: &Liveness,
    block: BlockId,
    old: &[Instruction],
    model: &Model,
    options: &ScheduleOptions,
) -> Option<Vec<Instruction>> {
    if old.len() < 3 {
        return None;
    }
    let live_out = liveness.live_out(block);
    let peak = pressure(function, live_out, old.iter());
    let registers = match options.mode {
        ScheduleMode::Pressure => 0,
        ScheduleMode::Latency => peak[0].max(FREE_OF_CHARGE).next_multiple_of(8),
        ScheduleMode::Batches => peak[0].max(BATCH_BUDGET).next_multiple_of(8),
    };
    let budget = [registers, PREDICATES.max(peak[1]), UNIFORM.max(peak[2])];
    let graph = Graph::new(old, |from, to, node| latency(model, from, to, node));
    let places = List::new(function, live_out, old, &graph, budget).run();
    if places.iter().enumerate().all(|(at, &node)| at == node as usize) {
        return None;
    }
    let after = pressure(function, live_out, places.iter().map(|&node| &old[node as usize]));
    let fits = (0..FILES.len()).all(|k| after[k] <= budget[k].max(peak[k]));
    fits.then(|| places.iter().map(|&node| old[node as usize].clone()).collect())
}

/// Cycles between two instructions joined by an edge.
fn latency(model: &Model, from: &Instruction, to: &Instruction, node: Node) -> u32 {
    let (Opcode::Sass(op), Node::Read) = (from.opcode, node) else { return 1 };
    if is_variable(op, &from.mods) {
        return u32::from(estimate(op, &from.mods));
    }
    let producer = class(op, &from.mods);
    let consumer = match to.opcode {
        Opcode::Sass(op) => class(op, &to.mods),
        Opcode::Pseudo(_) => Class::Alu,
    };
    let file = from.destinations.first().map_or(File::R, |d| d.file);
    let (part, slot) = match file {
        File::R => (ResultPart::General, Slot::Operand),
        File::P
            if to.guard.is_some_and(|g| from.destinations.iter().any(|d| d.values.contains(&g.value))) =>
        {
            (ResultPart::Predicate, Slot::Guard)
        }
        File::P => (ResultPart::Predicate, Slot::Predicate),
        File::UR => (ResultPart::Uniform, Slot::Uniform),
        File::UP => (ResultPart::UniformPredicate, Slot::UniformPredicate),
        File::B => return 1,
    };
    model.raw(producer, part, consumer, slot).map_or(1, |d| u32::from(d.cycles))
}

/// Most values of each file live at once.
fn pressure<'a>(
    function: &Function,
    live_out: &[Value],
    instructions: impl DoubleEndedIterator<Item = &'a Instruction>,
) -> Counts {
    let file = |v: Value| index(function.file(v));
    let mut live: FxHashSet<Value> = FxHashSet::default();
    let mut count: Counts = [0; 3];
    for &v in live_out {
        if let Some(k) = file(v)
            && live.insert(v)
        {
            count[k] += 1;
        }
    }
    let mut peak = count;
    let mut raise = |count: &Counts| peak.iter_mut().zip(count).for_each(|(p, c)| *p = (*p).max(*c));
    for instruction in instructions.rev() {
        // A result nobody reads takes a register all the same.
        let mut with_dead = count;
        instruction.for_each_definition(|v| {
            if let Some(k) = file(v)
                && !live.contains(&v)
            {
                with_dead[k] += 1;
            }
        });
        raise(&with_dead);
        if instruction.guard.is_none() {
            instruction.for_each_definition(|v| {
                if let Some(k) = file(v)
                    && live.remove(&v)
                {
                    count[k] -= 1;
                }
            });
        }
        let mut enter = |v: Value| {
            if let Some(k) = file(v)
                && live.insert(v)
            {
                count[k] += 1;
            }
        };
        instruction.for_each_use(&mut enter);
        if instruction.guard.is_some() {
            instruction.for_each_definition(&mut enter);
        }
        raise(&count);
    }
    peak
}

/// The list scheduler: forwards, one instruction at a time.
struct List<'a> {
    function: &'a Function,
    instructions: &'a [Instruction],
    graph: &'a Graph,
    budget: Counts,
    /// Longest path from each instruction to the end, cycles.
    height: Vec<u32>,
    waiting: Vec<u32>,
    ready_at: Vec<u32>,
    ready: Vec<u32>,
    /// Reads of each value still to come in this block.
    uses: FxHashMap<Value, u32>,
    live_out: FxHashSet<Value>,
    live: FxHashSet<Value>,
    count: Counts,
}

/// So many ready instructions are compared; more would cost time without much gain.
const WINDOW: usize = 48;

impl<'a> List<'a> {
    fn new(
        function: &'a Function,
        live_out: &[Value],
        instructions: &'a [Instruction],
        graph: &'a Graph,
        budget: Counts,
    ) -> List<'a> {
        let count = instructions.len();
        let mut height = vec![0u32; count];
        for node in (0..count).rev() {
            let below = graph.successors[node].iter().map(|&(to, cycles)| height[to as usize] + cycles).max();
            height[node] = below.unwrap_or(1);
        }
        let mut uses: FxHashMap<Value, u32> = FxHashMap::default();
        let mut defined: FxHashSet<Value> = FxHashSet::default();
        let mut live: FxHashSet<Value> = FxHashSet::default();
        let general = |v: Value| index(function.file(v)).is_some();
        for instruction in instructions {
            instruction.for_each_use(|v| {
                if general(v) {
                    *uses.entry(v).or_default() += 1;
                    if !defined.contains(&v) {
                        live.insert(v);
                    }
                }
            });
            instruction.for_each_definition(|v| {
                defined.insert(v);
            });
        }
        let live_out: FxHashSet<Value> = live_out.iter().copied().filter(|&v| general(v)).collect();
        live.extend(live_out.iter().filter(|v| !defined.contains(v)));
        let mut counts: Counts = [0; 3];
        for &v in &live {
            if let Some(k) = index(function.file(v)) {
                counts[k] += 1;
            }
        }
        let ready = (0..count as u32).filter(|&n| graph.predecessors[n as usize] == 0).collect();
        List {
            function,
            instructions,
            graph,
            budget,
            height,
            waiting: graph.predecessors.clone(),
            ready_at: vec![0; count],
            ready,
            uses,
            live_out,
            live,
            count: counts,
        }
    }

    /// How many values more of each file are live after the instruction.
    fn change(&self, node: u32) -> [i32; 3] {
        let instruction = &self.instructions[node as usize];
        let mut change = [0; 3];
        instruction.for_each_definition(|v| {
            if let Some(k) = index(self.function.file(v))
                && !self.live.contains(&v)
            {
                change[k] += 1;
            }
        });
        let mut last: SmallVec<[(Value, u32); 8]> = SmallVec::new();
        instruction.for_each_use(|v| match last.iter_mut().find(|(u, _)| *u == v) {
            Some((_, n)) => *n += 1,
            None => last.push((v, 1)),
        });
        for (v, n) in last {
            let ends = self.uses.get(&v) == Some(&n) && !self.live_out.contains(&v) && self.live.contains(&v);
            if let (Some(k), true) = (index(self.function.file(v)), ends) {
                change[k] -= 1;
            }
        }
        change
    }

    fn issue(&mut self, node: u32) {
        let instruction = &self.instructions[node as usize];
        instruction.for_each_use(|v| {
            if let Some(left) = self.uses.get_mut(&v) {
                *left -= 1;
                if *left == 0
                    && !self.live_out.contains(&v)
                    && self.live.remove(&v)
                    && let Some(k) = index(self.function.file(v))
                {
                    self.count[k] -= 1;
                }
            }
        });
        instruction.for_each_definition(|v| {
            let wanted = self.uses.get(&v).is_some_and(|n| *n > 0) || self.live_out.contains(&v);
            if let Some(k) = index(self.function.file(v))
                && wanted
                && self.live.insert(v)
            {
                self.count[k] += 1;
            }
        });
    }

    fn run(mut self) -> Vec<u32> {
        let mut places = Vec::with_capacity(self.instructions.len());
        let mut cycle = 0u32;
        while !self.ready.is_empty() {
            // A little room is left for results that come several at once.
            const ROOM: Counts = [4, 1, 2];
            let tight = (0..FILES.len()).find(|&k| self.count[k] + ROOM[k] > self.budget[k]);
            let mut best: Option<(usize, (i64, i64, i64))> = None;
            // The earliest in program order stand first, so that the window follows the program.
            for (slot, &node) in self.ready.iter().enumerate().take(WINDOW) {
                let wait = i64::from(self.ready_at[node as usize].saturating_sub(cycle));
                let height = i64::from(self.height[node as usize]);
                let key = match tight {
                    Some(k) => (i64::from(-self.change(node)[k]), height - wait, -i64::from(node)),
                    None => (-wait, height, -i64::from(node)),
                };
                if best.is_none_or(|(_, k)| key > k) {
                    best = Some((slot, key));
                }
            }
            let Some((slot, _)) = best else { break };
            let node = self.ready.remove(slot);
            cycle = cycle.max(self.ready_at[node as usize]) + 1;
            self.issue(node);
            places.push(node);
            for &(to, cycles) in &self.graph.successors[node as usize] {
                let at = to as usize;
                self.ready_at[at] = self.ready_at[at].max(cycle - 1 + cycles);
                self.waiting[at] -= 1;
                if self.waiting[at] == 0 {
                    let place = self.ready.partition_point(|&n| n < to);
                    self.ready.insert(place, to);
                }
            }
        }
        places
    }
}
