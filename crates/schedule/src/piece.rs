//! A block of Ori as its order sees it: the dependency graph, the values by small numbers, how many of them are live
//! at once in an order, and how long an order takes.

use crate::graph::Graph;
use crate::numbers::Numbers;
use oriole_latency::Model;
use oriole_ori::{File, Function, Instruction, Opcode, Value};
use smallvec::SmallVec;

/// Files whose pressure counts.
pub const FILES: [File; 3] = [File::R, File::P, File::UR];

/// Values live at once, by [`FILES`].
pub type Counts = [u32; 3];

/// What an instruction reads and writes, by the numbers of values in the piece; each value once.
#[derive(Default)]
pub struct Touches {
    /// Values read. What a guarded instruction writes counts as read, too: the old value may stay.
    pub uses: SmallVec<[u32; 6]>,
    /// Values written.
    pub definitions: SmallVec<[u32; 4]>,
    /// The old values of `definitions` may stay.
    pub guarded: bool,
}

/// A block to be ordered.
pub struct Piece {
    /// Order and distances.
    pub graph: Graph,
    /// For each instruction the values.
    pub touches: Vec<Touches>,
    /// For each value the index into [`FILES`].
    pub file: Vec<u8>,
    /// Values that are live after the block.
    pub live_out: Vec<bool>,
    /// Values that live through the block and are not touched in it.
    pub through: Counts,
    /// For each instruction the cycles until a result of it that is used behind the block arrives.
    pub leaving: Vec<u32>,
}

impl Piece {
    /// Prepares a block. `live_out` are the values live behind it; `numbers` are empty before and after.
    pub fn new(
        model: &Model,
        function: &Function,
        instructions: &[Instruction],
        live_out: &[Value],
        graph: Graph,
        numbers: &mut Numbers,
    ) -> Piece {
        let mut file = Vec::new();
        let mut touches = Vec::with_capacity(instructions.len());
        let index = |v: Value| FILES.iter().position(|&f| f == function.file(v));
        for instruction in instructions {
            let mut number = |v: Value| {
                let at = index(v)?;
                let number = numbers.number(v);
                if number as usize == file.len() {
                    file.push(at as u8);
                }
                Some(number)
            };
            let mut touched = Touches { guarded: instruction.guard.is_some(), ..Touches::default() };
            instruction.for_each_use(|v| touched.uses.extend(number(v)));
            instruction.for_each_definition(|v| touched.definitions.extend(number(v)));
            if touched.guarded {
                touched.uses.extend_from_slice(&touched.definitions);
            }
            for list in [&mut touched.uses[..], &mut touched.definitions[..]] {
                list.sort_unstable();
            }
            touched.uses.dedup();
            touched.definitions.dedup();
            touches.push(touched);
        }
        let mut through = Counts::default();
        let mut out = vec![false; file.len()];
        for &v in live_out {
            match (numbers.known(v), index(v)) {
                (Some(number), _) => out[number as usize] = true,
                (None, Some(at)) => through[at] += 1,
                (None, None) => {}
            }
        }
        numbers.clear();
        let leaving = instructions.iter().zip(&touches).map(|(instruction, touched)| {
            let leaves = touched.definitions.iter().any(|&v| out[v as usize]);
            match instruction.opcode {
                Opcode::Sass(op) if leaves && model.is_variable(op, &instruction.mods) => {
                    u32::from(model.estimate(op))
                }
                _ => 1,
            }
        });
        let leaving = leaving.collect();
        Piece { graph, touches, file, live_out: out, through, leaving }
    }

    /// How many instructions there are.
    pub fn len(&self) -> usize {
        self.touches.len()
    }

    /// Values live at once behind the block, and which of those that the piece knows.
    pub fn end(&self) -> (Counts, Vec<bool>) {
        let mut count = self.through;
        for (v, _) in self.live_out.iter().enumerate().filter(|(_, live)| **live) {
            count[usize::from(self.file[v])] += 1;
        }
        (count, self.live_out.clone())
    }

    /// Moves a state of liveness upwards across an instruction. Gives the most values live while it executes: a
    /// result that nobody reads takes a register all the same.
    pub fn rise(&self, node: u32, count: &mut Counts, live: &mut [bool]) -> Counts {
        let touched = &self.touches[node as usize];
        let mut with_dead = *count;
        for &v in &touched.definitions {
            let at = usize::from(self.file[v as usize]);
            if !live[v as usize] {
                with_dead[at] += 1;
            } else if !touched.guarded {
                live[v as usize] = false;
                count[at] -= 1;
            }
        }
        for &v in &touched.uses {
            if !std::mem::replace(&mut live[v as usize], true) {
                count[usize::from(self.file[v as usize])] += 1;
            }
        }
        std::array::from_fn(|k| with_dead[k].max(count[k]))
    }

    /// Most values of each file live at once in an order.
    pub fn pressure(&self, order: &[u32]) -> Counts {
        let (mut count, mut live) = self.end();
        let mut peak = count;
        for &node in order.iter().rev() {
            let here = self.rise(node, &mut count, &mut live);
            peak.iter_mut().zip(here).for_each(|(p, c)| *p = (*p).max(c));
        }
        peak
    }

    /// Cycles that an order takes, until the last result that leaves the block is there.
    pub fn time(&self, order: &[u32]) -> u32 {
        let mut ready = vec![0u32; self.len()];
        let (mut cycle, mut end) = (0, 0);
        for &node in order {
            let at = node as usize;
            let issue = ready[at].max(cycle);
            for &(to, distance) in self.graph.after(node) {
                ready[to as usize] = ready[to as usize].max(issue + distance);
            }
            end = end.max(issue + self.leaving[at]);
            cycle = issue + 1;
        }
        end
    }
}
