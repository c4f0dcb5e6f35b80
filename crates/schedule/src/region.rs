//! A scheduling region, which is a block of Ori: its dependency graph, its values by dense ids, and the register
//! pressure and time of a schedule.

use crate::dense_ids::DenseIds;
use crate::graph::Graph;
use oriole_latency::Model;
use oriole_ori::csr::Csr;
use oriole_ori::{File, Function, Instruction, Opcode, Value};
use smallvec::SmallVec;

/// Files whose pressure counts.
pub const FILES: [File; 3] = [File::R, File::P, File::UR];

/// Values live at once, by [`FILES`].
pub type Counts = [u32; 3];

/// Operands of an instruction, by the dense ids of the region; each value once.
#[derive(Default)]
pub struct Operands {
    /// Values read, including those that a partial definition writes: the old value may stay.
    pub uses: SmallVec<[u32; 6]>,
    /// Values written.
    pub definitions: SmallVec<[u32; 4]>,
    /// The old values of `definitions` may stay.
    pub partial: bool,
}

/// A region with no more instructions than this is short.
const SHORT: usize = 16;

/// Results that take this many cycles come from global memory.
const SLOW: u32 = 200;

/// A block to be scheduled.
pub struct Region {
    /// Dependencies and distances.
    pub graph: Graph,
    /// For each instruction the values.
    pub operands: Vec<Operands>,
    /// For each value the instructions that read or write it; `None` in a short region.
    touching: Option<Csr<usize, u32>>,
    /// For each value the index into [`FILES`].
    pub file: Vec<u8>,
    /// Values that are live after the block.
    pub live_out: Vec<bool>,
    /// Values live through the block without being read or written in it.
    pub through: Counts,
    /// For each instruction the cycles until a live-out result of it arrives.
    pub live_out_latency: Vec<u32>,
}

impl Region {
    /// Prepares a block. `live_out` are the values live after it; `ids` are empty before and after.
    pub fn new(
        model: &Model,
        function: &Function,
        instructions: &[Instruction],
        live_out: &[Value],
        graph: Graph,
        ids: &mut DenseIds,
    ) -> Region {
        let mut file = Vec::new();
        let mut operands = Vec::with_capacity(instructions.len());
        let index = |v: Value| FILES.iter().position(|&f| f == function.file(v));
        for instruction in instructions {
            let mut number = |v: Value| {
                let at = index(v)?;
                let number = ids.id(v);
                if number as usize == file.len() {
                    file.push(at as u8);
                }
                Some(number)
            };
            let mut own = Operands { partial: instruction.is_partial(), ..Operands::default() };
            instruction.for_each_use(|v| own.uses.extend(number(v)));
            instruction.for_each_definition(|v| own.definitions.extend(number(v)));
            if own.partial {
                own.uses.extend_from_slice(&own.definitions);
            }
            for list in [&mut own.uses[..], &mut own.definitions[..]] {
                list.sort_unstable();
            }
            own.uses.dedup();
            own.definitions.dedup();
            operands.push(own);
        }
        let mut through = Counts::default();
        let mut out = vec![false; file.len()];
        for &v in live_out {
            match (ids.known(v), index(v)) {
                (Some(number), _) => out[number as usize] = true,
                (None, Some(at)) => through[at] += 1,
                (None, None) => {}
            }
        }
        ids.clear();
        let live_out_latency = instructions.iter().zip(&operands).map(|(instruction, own)| {
            let leaves = own.definitions.iter().any(|&v| out[v as usize]);
            match instruction.opcode {
                Opcode::Sass(op) if leaves && model.is_variable(op, &instruction.mods) => {
                    u32::from(model.estimate(op))
                }
                _ => 1,
            }
        });
        let live_out_latency = live_out_latency.collect();
        let touching = (operands.len() > SHORT).then(|| touching(file.len(), &operands));
        Region { graph, operands, touching, file, live_out: out, through, live_out_latency }
    }

    /// Count of instructions.
    pub fn len(&self) -> usize {
        self.operands.len()
    }

    /// Live-out counts, and which live-out values occur in the region.
    pub fn end(&self) -> (Counts, Vec<bool>) {
        let mut count = self.through;
        for (v, _) in self.live_out.iter().enumerate().filter(|(_, live)| **live) {
            count[usize::from(self.file[v])] += 1;
        }
        (count, self.live_out.clone())
    }

    /// Steps the liveness state backwards over an instruction; calls `changed` for values that become live or dead.
    /// Returns the most values live while it executes: a dead result takes a register all the same.
    pub fn step_backwards(
        &self,
        node: u32,
        count: &mut Counts,
        live: &mut [bool],
        mut changed: impl FnMut(u32),
    ) -> Counts {
        let own = &self.operands[node as usize];
        let mut with_dead = *count;
        for &v in &own.definitions {
            let at = usize::from(self.file[v as usize]);
            if !live[v as usize] {
                with_dead[at] += 1;
            } else if !own.partial {
                live[v as usize] = false;
                count[at] -= 1;
                changed(v);
            }
        }
        for &v in &own.uses {
            if !std::mem::replace(&mut live[v as usize], true) {
                count[usize::from(self.file[v as usize])] += 1;
                changed(v);
            }
        }
        std::array::from_fn(|k| with_dead[k].max(count[k]))
    }

    /// Maximum pressure of each file in a schedule.
    pub fn pressure(&self, order: &[u32]) -> Counts {
        let (mut count, mut live) = self.end();
        let mut peak = count;
        for &node in order.iter().rev() {
            let here = self.step_backwards(node, &mut count, &mut live, |_| {});
            peak.iter_mut().zip(here).for_each(|(p, c)| *p = (*p).max(c));
        }
        peak
    }

    /// The most loads from global memory whose results are awaited at once in a schedule.
    pub fn flight(&self, order: &[u32]) -> u32 {
        let is_slow = |&&(_, cycles): &&(u32, u32)| cycles >= SLOW;
        // The loads that each instruction is the first to wait for.
        let mut ends: Vec<u32> = vec![0; self.len()];
        let mut place = vec![0; self.len()];
        (0..).zip(order).for_each(|(at, &node)| place[node as usize] = at);
        for &node in order {
            let readers = self.graph.after(node).iter().filter(is_slow);
            if let Some(&(first, _)) = readers.min_by_key(|&&(to, _)| place[to as usize]) {
                ends[first as usize] += 1;
            }
        }
        let (mut now, mut most) = (0u32, 0);
        for &node in order {
            now -= ends[node as usize];
            let leaves = self.live_out_latency[node as usize] >= SLOW;
            let is_read = self.graph.after(node).iter().any(|edge| is_slow(&edge));
            now += u32::from(is_read);
            most = most.max(now + u32::from(leaves && !is_read));
        }
        most
    }

    /// Lower bound of the cycles of a schedule: one for each instruction, and those of the longest path.
    pub fn least_time(&self) -> u32 {
        let mut ready = vec![0u32; self.len()];
        let mut end = self.len() as u32;
        for at in 0..self.len() {
            let issue = ready[at];
            for &(to, distance) in self.graph.after(at as u32) {
                ready[to as usize] = ready[to as usize].max(issue + distance);
            }
            end = end.max(issue + self.live_out_latency[at]);
        }
        end
    }

    /// Cycles of a schedule, until the last live-out result is available.
    pub fn time(&self, order: &[u32]) -> u32 {
        let mut ready = vec![0u32; self.len()];
        let (mut cycle, mut end) = (0, 0);
        for &node in order {
            let at = node as usize;
            let issue = ready[at].max(cycle);
            for &(to, distance) in self.graph.after(node) {
                ready[to as usize] = ready[to as usize].max(issue + distance);
            }
            end = end.max(issue + self.live_out_latency[at]);
            cycle = issue + 1;
        }
        end
    }
}

/// Cache of facts about the instructions of a region, each valid until something changes for one of its values.
pub struct Known<'a, T> {
    region: &'a Region,
    of: Vec<Option<T>>,
    /// Something is known.
    any: bool,
}

impl<T: Copy> Known<'_, T> {
    /// Nothing is known yet.
    pub fn nothing(region: &Region) -> Known<'_, T> {
        Known { region, of: vec![None; region.len()], any: false }
    }

    /// The cached fact about an instruction.
    pub fn get(&self, node: u32) -> Option<T> {
        self.of[node as usize]
    }

    /// Learns something.
    pub fn set(&mut self, node: u32, known: T) {
        self.of[node as usize] = Some(known);
        self.any = true;
    }

    /// Invalidates the facts about instructions that read or write a value; in a short region all facts, which is
    /// faster than finding them.
    pub fn forget(&mut self, v: u32) {
        match &self.region.touching {
            _ if !self.any => {}
            Some(touching) => touching.of(v as usize).iter().for_each(|&node| self.of[node as usize] = None),
            None => {
                self.of.fill(None);
                self.any = false;
            }
        }
    }
}

/// For each value the instructions that have it among their operands.
fn touching(values: usize, operands: &[Operands]) -> Csr<usize, u32> {
    Csr::of_visits(values, 0, |give| {
        for (node, own) in (0..).zip(operands) {
            own.uses.iter().chain(&own.definitions).for_each(|&v| give(v as usize, node));
        }
    })
}

#[cfg(test)]
mod tests;
