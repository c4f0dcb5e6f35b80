//! Figures of a finished function: how long it takes to issue, and how much of the long latencies other work hides.

use oriole_ori::MachineFunction;
use oriole_sass::Op;

/// How many cycles pass between operations of one kind and the first wait for them, within a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Hiding {
    /// Operations that somebody in the same block waits for.
    pub count: u32,
    /// Fewest cycles.
    pub least: u32,
    /// Most cycles.
    pub most: u32,
    /// Sum of the cycles; the mean is this over `count`.
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
    /// The same with each loop counted ten times.
    pub weighted_cycles: u64,
    /// Loads from shared memory.
    pub shared: Hiding,
    /// Loads from global and generic memory.
    pub global: Hiding,
    /// Special functions and conversions.
    pub special: Hiding,
    /// Sources that are read late and overwritten.
    pub antidependences: Hiding,
}

/// What an open scoreboard stands for.
#[derive(Clone, Copy)]
enum Kind {
    Shared,
    Global,
    Special,
    Source,
}

/// Computes the figures of a function whose control words are in place.
pub fn statistics(function: &MachineFunction) -> Statistics {
    let mut figures = Statistics::default();
    for block in &function.blocks {
        let weight = 10u64.saturating_pow(u32::from(block.loop_depth.min(6)));
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
                        Kind::Source => figures.antidependences.add(passed),
                    }
                }
                !waits
            });
            let kind = match instruction.op {
                Op::LDS | Op::LDSM | Op::ATOMS => Some(Kind::Shared),
                Op::LDG | Op::LD | Op::ATOM | Op::ATOMG => Some(Kind::Global),
                Op::MUFU | Op::F2F | Op::F2I | Op::I2F | Op::FRND | Op::POPC | Op::FLO | Op::BREV => {
                    Some(Kind::Special)
                }
                _ => None,
            };
            if let (Some(number), Some(kind)) = (control.write_barrier, kind) {
                open.push((number, kind, cycle));
            }
            if let Some(number) = control.read_barrier {
                open.push((number, Kind::Source, cycle));
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
