//! Statistics of a finished function: issue time, hidden share of the long latencies, and utilization of each unit in
//! each block.

use oriole_latency::{Class, Model, Resources, UNITS, Unit};
use oriole_ori::{MachineBlock, MachineFunction};
use oriole_sass::info::Space;
use oriole_sass::{Effect, Instruction, Mod};

/// Cycles between operations of one kind and the first wait for them, within a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Hiding {
    /// Operations that an instruction of the same block waits for.
    pub count: u32,
    /// Fewest cycles.
    pub least: u32,
    /// Most cycles.
    pub most: u32,
    /// Total of the cycles; the mean is this over `count`.
    pub sum: u64,
}

impl Hiding {
    fn add(&mut self, cycles: u32) {
        self.least = if self.count == 0 { cycles } else { self.least.min(cycles) };
        self.most = self.most.max(cycles);
        self.count += 1;
        self.sum += u64::from(cycles);
    }
}

/// Static figures.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Statistics {
    /// Instructions.
    pub instructions: u32,
    /// Cycles to issue each instruction once, without waits for scoreboards.
    pub issue_cycles: u64,
    /// The cycles with each loop counted ten times.
    pub weighted_cycles: u64,
    /// Loads from shared memory.
    pub shared: Hiding,
    /// Loads from global and generic memory.
    pub global: Hiding,
    /// Special functions and conversions of at most 32 bits.
    pub special: Hiding,
    /// Special functions and conversions of 64 bits.
    pub wide: Hiding,
    /// Sources that are read late and overwritten.
    pub antidependences: Hiding,
    /// Multiply-adds: f32, f16, f64 and integer ones.
    pub multiply_adds: u32,
    /// Sources of multiply-adds that are kept in the operand cache.
    pub multiply_add_reuses: u32,
}

/// Unit utilization of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Usage {
    /// Index of its first instruction in the function.
    pub first: u32,
    /// Instructions.
    pub instructions: u32,
    /// Loop depth.
    pub loop_depth: u8,
    /// Cycles to issue it once.
    pub issue_cycles: u32,
    /// For each unit ([`Unit`]) the issue cycles that the instructions occupy it.
    pub busy: [u32; UNITS],
}

impl Usage {
    /// The unit that is busy longest, with the cycles; of equals the first.
    pub fn busiest(&self) -> Option<(Unit, u32)> {
        let units = Unit::ALL.into_iter().zip(self.busy).filter(|&(_, cycles)| cycles > 0);
        units.reduce(|best, next| if next.1 > best.1 { next } else { best })
    }

    /// Cycles that the block takes at least: to issue, or for its busiest unit.
    pub fn bound(&self) -> u32 {
        self.issue_cycles.max(self.busiest().map_or(0, |(_, cycles)| cycles))
    }
}

/// Operations that a pending scoreboard reports.
#[derive(Clone, Copy)]
enum Kind {
    Shared,
    Global,
    Special,
    Wide,
    Source,
}

/// Kind of an operation for the statistics.
fn kind(instruction: &Instruction) -> Option<Kind> {
    let mods = &instruction.mods;
    let wide =
        [Mod::F64, Mod::F64_2, Mod::S64, Mod::U64, Mod::RCP64H, Mod::RSQ64H].iter().any(|&m| mods.has(m));
    let op = instruction.op;
    match (op.info().effect, op.info().space) {
        (Effect::Load | Effect::Atomic, Some(Space::Shared)) => Some(Kind::Shared),
        (Effect::Load | Effect::Atomic, Some(Space::Global | Space::Generic)) => Some(Kind::Global),
        _ if op.info().class(mods) == Class::Special => Some(if wide { Kind::Wide } else { Kind::Special }),
        _ => None,
    }
}

fn is_multiply_add(instruction: &Instruction) -> bool {
    instruction.op.info().multiply_add
}

/// The weight of cycles at a loop depth, in figures for readers.
pub(crate) fn weight_at(depth: u8) -> u64 {
    10u64.pow(u32::from(depth.min(6)))
}

/// Computes the statistics of a function with control words.
pub fn statistics(function: &MachineFunction) -> Statistics {
    let mut figures = Statistics::default();
    for block in &function.blocks {
        let weight = weight_at(block.loop_depth);
        let mut cycle = 0u32;
        let mut open: Vec<(u8, Kind, u32)> = Vec::new();
        for machine in &block.instructions {
            let instruction = &machine.instruction;
            let control = instruction.control;
            open.retain(|&(number, kind, since)| {
                let waits = control.wait_mask >> number & 1 != 0;
                if waits {
                    let passed = cycle - since;
                    match kind {
                        Kind::Shared => figures.shared.add(passed),
                        Kind::Global => figures.global.add(passed),
                        Kind::Special => figures.special.add(passed),
                        Kind::Wide => figures.wide.add(passed),
                        Kind::Source => figures.antidependences.add(passed),
                    }
                }
                !waits
            });
            if let (Some(number), Some(kind)) = (control.write_barrier, kind(instruction)) {
                open.push((number, kind, cycle));
            }
            if let Some(number) = control.read_barrier {
                open.push((number, Kind::Source, cycle));
            }
            if is_multiply_add(instruction) {
                figures.multiply_adds += 1;
                figures.multiply_add_reuses += instruction.operands.iter().filter(|o| o.reuse).count() as u32;
            }
            let stall = u32::from(control.stall.max(1));
            cycle += stall;
            figures.instructions += 1;
            figures.issue_cycles += u64::from(stall);
            figures.weighted_cycles += u64::from(stall) * weight;
        }
    }
    figures
}

/// Unit utilization of each nonempty block.
pub fn usage(function: &MachineFunction, model: &Model) -> Vec<Usage> {
    let mut first = 0;
    let mut list = Vec::with_capacity(function.blocks.len());
    for block in function.blocks.iter().filter(|block| !block.instructions.is_empty()) {
        list.push(block_usage(model, block, first));
        first += block.instructions.len() as u32;
    }
    list
}

fn block_usage(model: &Model, block: &MachineBlock, first: u32) -> Usage {
    let mut usage = Usage { first, loop_depth: block.loop_depth, ..Usage::default() };
    for machine in &block.instructions {
        let Instruction { op, mods, control, .. } = &machine.instruction;
        let cost: Resources = model.resources(*op, mods);
        usage.instructions += 1;
        usage.issue_cycles += u32::from(control.stall.max(1));
        usage.busy.iter_mut().zip(cost).for_each(|(busy, cycles)| *busy += u32::from(cycles));
    }
    usage
}
