//! A static estimate of the time of finished code, to compare codes of one function that differ in order and registers.
//!
//! A compile has no launch. So loops go round a fixed number of times, branches go one way, accesses of a warp are to adjacent
//! addresses, and data is in L2. The warps of a quarter of an SM issue against each other: control words, units, banks of registers,
//! latencies and bandwidths decide. Times have no meaning but their ratio; how well they agree with the model of `oriole time` is in
//! `docs/levels.md`. No addresses and no values may enter.

mod path;
mod quarter;

use crate::{Allocated, Target};
use oriole_chip::Usage;
use oriole_latency::{CACHE_SLOTS, CachedRead, Model, Unit, completes_before_next, operand_cache, waits};
use oriole_ori::{MachineFunction, MachineInstruction};
use oriole_sass::info::{Effect, Queue, Space};
use oriole_sass::register::RZ;
use oriole_sass::{Instruction, Mod, Op, OperandKind};
use oriole_timing::Parameters;
use quarter::{Scenario, Step};

/// Threads of a block, if the function does not state them.
const ASSUMED_THREADS: u32 = 256;
/// Quarters of an SM.
const QUARTERS: u32 = 4;
/// Bytes of a wavefront, and lanes of a warp.
const WAVEFRONT: u32 = 128;
const LANES: u32 = 32;
/// Cycles of a call: the code that it goes to is not known here.
const CALL: u32 = 60;

/// The scenarios: a full SM, one that is half full, and one warp in each quarter. A code must be better in all of them: how many
/// warps there are, a compile does not know.
const SCENARIOS: [Scenario; 3] =
    [Scenario { waves: 1, share: 1 }, Scenario { waves: 1, share: 2 }, Scenario { waves: 1, share: 64 }];

/// Instructions of a way more or fewer, in percent, than those of another code for the ways to be the same.
const SAME_WAY: usize = 15;

/// The time of a code.
#[derive(Clone, PartialEq, Debug)]
pub struct Estimate {
    /// Cycles of an SM for a block, by scenario.
    cycles: [f64; SCENARIOS.len()],
    /// Instructions of the way.
    length: usize,
}

impl Estimate {
    /// This time as a share of another one, in the scenario that is worst for it. `None` if the two cannot be compared: warps
    /// go other ways through other blocks.
    pub fn ratio(&self, before: &Estimate) -> Option<f64> {
        let apart = self.length.abs_diff(before.length);
        if 100 * apart > SAME_WAY * before.length {
            return None;
        }
        let ratios = self.cycles.iter().zip(before.cycles).map(|(cycles, before)| cycles / before);
        ratios.reduce(f64::max)
    }
}

/// The judge for a chip.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    target: &'a Target,
    parameters: &'static Parameters,
}

impl<'a> Judge<'a> {
    /// The judge, if times of the chip are known.
    pub fn new(target: &'a Target) -> Option<Judge<'a>> {
        Some(Judge { target, parameters: Parameters::of(target.chip)? })
    }

    /// The time of finished code. `None` if no block fits.
    pub fn estimate(&self, allocated: &Allocated, machine: &MachineFunction) -> Option<Estimate> {
        let function = &allocated.function;
        let threads = function.block_threads.unwrap_or(ASSUMED_THREADS).max(1);
        let usage =
            Usage { registers: machine.general_registers.into(), shared: function.shared_bytes, threads };
        let blocks = self.target.limits.occupancy(self.target.registers, usage).blocks;
        let warps = threads.div_ceil(LANES);
        let steps = self.steps(machine);
        let path = path::path(machine);
        let costs = quarter::Costs {
            barrier: self.parameters.barrier.value as u32,
            branch: self.parameters.branch.value as u32,
            fetch: self.parameters.fetch.value as u32,
            launch: self.parameters.launch.value as u32,
        };
        let mut cycles = [0.0; SCENARIOS.len()];
        for (cycles, scenario) in cycles.iter_mut().zip(SCENARIOS) {
            let held = quarter::Held::new(blocks, warps, scenario)?;
            *cycles = quarter::replay(&steps, &path, held, costs) as f64 / held.blocks();
        }
        Some(Estimate { cycles, length: path.len() })
    }

    fn steps(&self, machine: &MachineFunction) -> Vec<Step> {
        let instructions = machine.blocks.iter().flat_map(|block| &block.instructions);
        let model = self.target.latency;
        let step = |machine: &MachineInstruction| Step {
            sources: self.sources(model, machine),
            ..self.step(model, &machine.instruction)
        };
        instructions.map(step).collect()
    }

    fn step(&self, model: &Model, instruction: &Instruction) -> Step {
        let Instruction { op, mods, control, .. } = instruction;
        let info = op.info();
        let mut units = model.resources(*op, mods);
        let accesses = matches!(info.effect, Effect::Load | Effect::Store | Effect::Atomic)
            && info.queue != Queue::Constant;
        let goes_through = units[Unit::LoadStore as usize] > 0 || units[Unit::Shared as usize] > 0;
        let (latency, bandwidth, passes) = if accesses || *op == Op::LDGSTS {
            self.access(instruction)
        } else {
            let exchanges = goes_through && info.queue == Queue::Shared;
            (model.estimate(*op).into(), 0, if exchanges { QUARTERS } else { 0 })
        };
        if goes_through && info.queue != Queue::Constant {
            // A quarter hands over an instruction a cycle; how fast they pass is in `passes`.
            units[Unit::LoadStore as usize] = 1;
            units[Unit::Shared as usize] = 1;
        }
        let double = self.parameters.double.value as u32 * QUARTERS;
        if units[Unit::Double as usize] > 0 && double > 0 {
            // One unit for the whole SM.
            units[Unit::Double as usize] = double.min(255) as u8;
        }
        let special = &mut units[Unit::Special as usize];
        if *special > 0 {
            *special = (*special).max(self.parameters.special.value as u8);
        }
        let stall = u32::from(control.stall.max(1));
        Step {
            stall: if info.effect == Effect::Call { stall + CALL } else { stall },
            units,
            latency,
            bandwidth,
            passes,
            write_barrier: control.write_barrier,
            read_barrier: control.read_barrier,
            waits: if *op == Op::DEPBAR { control.wait_mask } else { waits(instruction) },
            meets: *op == Op::BAR && !mods.has(Mod::ARV),
            completes: completes_before_next(control),
            yields: control.yields,
            sources: Default::default(),
        }
    }

    fn sources(&self, model: &Model, machine: &MachineInstruction) -> [Option<CachedRead>; CACHE_SLOTS] {
        let instruction = &machine.instruction;
        let class = model.class(instruction.op, &instruction.mods);
        let source = |slot: usize| {
            let form = self.target.forms.get(machine.form)?;
            let operand = instruction.operands.get(usize::from(*form.reuse.get(slot)?))?;
            let OperandKind::Reg(first) = operand.kind else { return None };
            let cached = operand_cache(class, slot).filter(|_| first != RZ)?;
            Some(CachedRead {
                slot,
                double: cached.double,
                first,
                registers: cached.registers,
                keep: operand.reuse,
            })
        };
        std::array::from_fn(source)
    }

    /// Latency, cycles of bandwidth and of passes of an access whose lanes have adjacent addresses.
    fn access(&self, instruction: &Instruction) -> (u32, u32, u32) {
        let parameters = self.parameters;
        let info = instruction.op.info();
        let bytes = LANES * bytes(instruction);
        let passes = bytes.div_ceil(WAVEFRONT) * QUARTERS;
        let share = (parameters.l2_rate.value / parameters.sms.value).min(parameters.port.value);
        let bandwidth = (f64::from(bytes * QUARTERS) / share) as u32;
        match (info.space, info.effect) {
            (Some(Space::Shared), Effect::Atomic) => {
                (3 * parameters.shared_latency.value as u32, 0, LANES * QUARTERS)
            }
            (Some(Space::Shared), _) => (parameters.shared_latency.value as u32, 0, passes),
            (Some(Space::Local), _) => (parameters.l1_latency.value as u32, 0, passes),
            (_, Effect::Atomic) => {
                let latency = parameters.l2_latency.value + parameters.atomic_latency.value;
                (latency as u32, bandwidth, passes)
            }
            _ => (parameters.l2_latency.value as u32, bandwidth, passes),
        }
    }
}

/// Bytes that a lane accesses.
fn bytes(instruction: &Instruction) -> u32 {
    const WIDTHS: [(Mod, u32); 8] = [
        (Mod::_128, 16),
        (Mod::F32x4, 16),
        (Mod::_64, 8),
        (Mod::F64, 8),
        (Mod::U8, 1),
        (Mod::S8, 1),
        (Mod::U16, 2),
        (Mod::S16, 2),
    ];
    let width = WIDTHS.iter().find(|(modifier, _)| instruction.mods.has(*modifier));
    width.map_or(4, |width| width.1)
}
