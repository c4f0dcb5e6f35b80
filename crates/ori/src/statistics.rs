//! Counts over a function: the part of the report phases' profile that the IR itself shows.

use crate::{File, Function, Liveness, Opcode, Pseudo, Space, Value, classify};
use typed_index_collections::{TiVec, ti_vec};

/// Counts over one function.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Statistics {
    /// Instructions in reachable blocks, pseudo-operations without code left out.
    pub instructions: u32,
    /// Texture instructions.
    pub texture_instructions: u32,
    /// Most general registers live at once: a lower bound for the function.
    pub general_registers: u32,
    /// Most uniform registers live at once.
    pub uniform_registers: u32,
    /// Most predicates live at once.
    pub predicates: u32,
    /// Reachable blocks.
    pub blocks: u32,
    /// Loads from memory other than constant.
    pub loads: u32,
    /// Stores, without atomics.
    pub stores: u32,
    /// Accesses of short latency: shared and constant memory.
    pub tepid: u32,
}

impl Statistics {
    /// Counts a function.
    pub fn new(function: &Function) -> Statistics {
        let graph = function.graph();
        let cfg = graph.cfg();
        let liveness = Liveness::new(function, cfg);
        let mut statistics = Statistics { blocks: cfg.order().len() as u32, ..Statistics::default() };
        let mut live: TiVec<Value, bool> = ti_vec![false; function.values.len()];
        for &id in cfg.order() {
            let block = function.block(id);
            for instruction in &block.instructions {
                if !matches!(
                    instruction.opcode,
                    Opcode::Pseudo(Pseudo::Undefined | Pseudo::Parameters | Pseudo::Keep)
                ) {
                    statistics.instructions += 1;
                }
                statistics.texture_instructions += u32::from(classify::is_texture(instruction));
                statistics.tepid += u32::from(classify::is_short_latency_access(instruction));
                if let Some(memory) = instruction.memory
                    && memory.space != Space::Constant
                {
                    statistics.loads += u32::from(memory.reads && !memory.writes);
                    statistics.stores += u32::from(memory.writes && !memory.reads);
                }
            }
            // Pressure: walk the block backwards from its live-out set.
            let mut count = [0u32; 5];
            let mut set: Vec<Value> = liveness.live_out(id).to_vec();
            for &value in &set {
                live[value] = true;
                count[function.file(value) as usize] += 1;
            }
            statistics.raise(&count);
            for instruction in block.instructions.iter().rev() {
                let mut at_definition = count;
                instruction.for_each_definition(|value| {
                    at_definition[function.file(value) as usize] += u32::from(!live[value]);
                });
                statistics.raise(&at_definition);
                if !instruction.keeps_its_results() {
                    instruction.for_each_definition(|value| {
                        if std::mem::replace(&mut live[value], false) {
                            count[function.file(value) as usize] -= 1;
                        }
                    });
                }
                instruction.for_each_use(|value| {
                    if !std::mem::replace(&mut live[value], true) {
                        count[function.file(value) as usize] += 1;
                        set.push(value);
                    }
                });
                statistics.raise(&count);
            }
            for phi in &block.phis {
                let destination = phi.destination;
                if !std::mem::replace(&mut live[destination], true) {
                    count[function.file(destination) as usize] += 1;
                    set.push(destination);
                }
            }
            statistics.raise(&count);
            set.iter().for_each(|&value| live[value] = false);
        }
        statistics
    }

    fn raise(&mut self, count: &[u32; 5]) {
        self.general_registers = self.general_registers.max(count[File::R as usize]);
        self.uniform_registers = self.uniform_registers.max(count[File::UR as usize]);
        self.predicates = self.predicates.max(count[File::P as usize]);
    }
}
