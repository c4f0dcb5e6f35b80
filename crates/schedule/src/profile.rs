//! The profile of a function in Ori, as printed in the reports of phases 9, 96 and 102.
//!
//! Times are estimates, to compare one state of a function with another: within a block instructions issue in order,
//! each when its operands are available; values from other blocks are available at once; a loop runs once.

use crate::distance::latency;
use crate::graph::Node;
use crate::tables::Tables;
use oriole_chip::{Occupancy, Usage};
use oriole_latency::{Class, Model, UNITS, Unit};
use oriole_ori::{BlockId, Cfg, Function, Opcode, Statistics, Value};
use oriole_sass::{Mod, Op};
use std::fmt;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// Launch parameters that the function does not contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaunchBounds {
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of static shared memory of a block.
    pub shared: u32,
    /// Result of allocation: general registers, and bytes of the frame that hold spills.
    pub allocated: Option<(u32, u32)>,
}

/// Figures of a function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Profile {
    /// Counts over the IR.
    pub counts: Statistics,
    /// General registers: as allocated, or the maximum pressure.
    pub registers: u32,
    /// Bytes of the frame that hold spills.
    pub spill_bytes: u32,
    /// Occupancy of an SM.
    pub occupancy: Occupancy,
    /// Occupancy: the share of all warps.
    pub occupied: f64,
    /// Instructions per cycle for which a warp keeps its busiest unit, or the issue port, busy.
    pub issue_throughput: f64,
    /// Of these, floating-point instructions.
    pub float_throughput: f64,
    /// The share of those cycles for which shared memory is busy.
    pub shared_throughput: f64,
    /// Cycles along the longest path.
    pub worst_latency: f64,
    /// Cycles, if all successors of a branch are equally likely.
    pub average_latency: f64,
    /// Instructions with a hint to the caches.
    pub hinted: u32,
    /// Instructions whose result is a register pair.
    pub pairs: u32,
}

/// The profile of a function.
pub fn profile(function: &Function, tables: &Tables, bounds: LaunchBounds) -> Profile {
    let &Tables { ref limits, forms, latency: model, .. } = tables;
    let counts = Statistics::new(function);
    let (registers, spill_bytes) = bounds.allocated.unwrap_or((counts.general_registers, 0));
    let usage = Usage { registers, shared: bounds.shared, threads: bounds.threads };
    let occupancy = limits.occupancy(forms.registers(), usage);
    let occupied = f64::from(occupancy.warps) / f64::from(limits.warps_per_sm);
    let graph = function.graph();
    let cfg = graph.cfg();
    let mut work = Work::default();
    for &block in cfg.order() {
        work.add(model, function, block);
    }
    let (worst_latency, average_latency) = latencies(function, cfg, model);
    let cycles = f64::from(work.cycles).max(1.0);
    Profile {
        counts,
        registers,
        spill_bytes,
        occupancy,
        occupied,
        issue_throughput: f64::from(work.issued) / cycles,
        float_throughput: f64::from(work.floats) / cycles,
        shared_throughput: f64::from(work.shared) / cycles,
        worst_latency,
        average_latency,
        hinted: work.hinted,
        pairs: work.pairs,
    }
}

/// Work of the instructions of a function on the units.
#[derive(Default)]
struct Work {
    /// For each block the cycles of its busiest unit or of the issue port, summed.
    cycles: u32,
    /// Instructions that issue: pseudo-instructions do not yet.
    issued: u32,
    floats: u32,
    shared: u32,
    hinted: u32,
    pairs: u32,
}

impl Work {
    fn add(&mut self, model: &Model, function: &Function, block: BlockId) {
        let mut busy = [0u32; UNITS];
        let mut issued = 0u32;
        for instruction in &function.block(block).instructions {
            let Opcode::Sass(op) = instruction.opcode else { continue };
            let mods = &instruction.mods;
            issued += 1;
            busy.iter_mut().zip(model.resources(op, mods)).for_each(|(busy, cost)| *busy += u32::from(cost));
            self.floats += u32::from(is_float(op, model.class(op, mods)));
            self.hinted += u32::from(HINTS.iter().any(|&hint| mods.has(hint)));
            self.pairs += u32::from(instruction.destinations.iter().any(|d| d.values.len() == 2));
        }
        self.issued += issued;
        self.shared += busy[Unit::Shared as usize];
        self.cycles += busy.into_iter().fold(issued, u32::max);
    }
}

/// Cache eviction hints.
const HINTS: [Mod; 5] = [Mod::EF, Mod::EL, Mod::LU, Mod::EU, Mod::NA];

fn is_float(op: Op, class: Class) -> bool {
    match class {
        Class::Fma => !matches!(op, Op::IMAD | Op::IDP),
        Class::Half | Class::HalfAlu | Class::HalfMma | Class::Double => true,
        _ => op == Op::MUFU,
    }
}

/// Cycles along the longest path, and along a path taken at random.
fn latencies(function: &Function, cfg: &Cfg, model: &Model) -> (f64, f64) {
    let count = function.blocks.len();
    let mut reached: TiVec<BlockId, u64> = ti_vec![0; count];
    let mut likely: TiVec<BlockId, f64> = ti_vec![0.0; count];
    let (mut worst, mut average) = (0, 0.0);
    let mut producers: TiVec<Value, Option<(usize, u64)>> = ti_vec![None; function.values.len()];
    if let Some(&entry) = cfg.order().first() {
        likely[entry] = 1.0;
    }
    for &block in cfg.order() {
        let cycles = length(function, block, model, &mut producers);
        let end = reached[block] + cycles;
        worst = worst.max(end);
        average += likely[block] * cycles as f64;
        let ahead =
            function.block(block).successors.iter().filter(|&&next| cfg.position(next) > cfg.position(block));
        let share = likely[block] / ahead.clone().count().max(1) as f64;
        for &next in ahead {
            reached[next] = reached[next].max(end);
            likely[next] += share;
        }
    }
    (worst as f64, average)
}

/// Cycles until the last instruction of a block has issued. `producers` is all `None` before and after.
fn length(
    function: &Function,
    block: BlockId,
    model: &Model,
    producers: &mut TiSlice<Value, Option<(usize, u64)>>,
) -> u64 {
    let instructions = &function.block(block).instructions;
    let mut clock = 0u64;
    for (at, instruction) in instructions.iter().enumerate() {
        instruction.for_each_use(|value| {
            if let Some((producer, issued)) = producers[value] {
                let distance = latency(model, &instructions[producer], instruction, Node::Read);
                clock = clock.max(issued + u64::from(distance));
            }
        });
        instruction.for_each_definition(|value| producers[value] = Some((at, clock)));
        clock += u64::from(matches!(instruction.opcode, Opcode::Sass(_)));
    }
    for instruction in instructions {
        instruction.for_each_definition(|value| producers[value] = None);
    }
    clock
}

/// The lines of the report, and one more.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.counts;
        writeln!(f, "# {} instructions, {} R-regs", counts.instructions, self.registers)?;
        writeln!(
            f,
            "# [inst={}] [texInst={}] [tepid={}] [rregs={}]",
            counts.instructions, counts.texture_instructions, counts.tepid, self.registers
        )?;
        writeln!(f, "# [est latency = {:.0}] [LSpillB={}]", self.worst_latency, self.spill_bytes)?;
        writeln!(f, "# [Occupancy = {:.6}]", self.occupied)?;
        writeln!(f, "# [issue thru={:.6}] [fp thru={:.6}]", self.issue_throughput, self.float_throughput)?;
        writeln!(f, "# [worstcaseLat={:.6}]", self.worst_latency)?;
        writeln!(f, "# [avgcaseLat={:.6}]", self.average_latency)?;
        writeln!(f, "# [SharedMem Alloc thru={:.6}]", self.shared_throughput)?;
        writeln!(f, "# [instHint={}] [instPairs={}]", self.hinted, self.pairs)?;
        writeln!(
            f,
            "# [urregs={}] [pregs={}] [blocks={}] [loads={}] [stores={}]",
            counts.uniform_registers, counts.predicates, counts.blocks, counts.loads, counts.stores
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A branch over a load and its consumer: the longest path goes through both, half of all runs do.
    #[test]
    fn a_profile_in_lines() {
        let text = "kernel params=0 barriers=0
b0: -> b2 b1
  r0 = S2R %(SR_TID.X) ; 1
  p1, PT = ISETP.EQ.U32.AND r0, 0x4, PT ; 2
  @p1 BRA b2 ; 3
b1: -> b2
  r2 = LDS [r0] mem(shared r) ; 4
  r3 = FADD r2, r2 ; 5
  STS [r0], r3 mem(shared w) ; 6
b2:
  EXIT ; 7
";
        let function = oriole_ori::parse::parse(text).expect("Ori");
        let tables = Tables::of(oriole_chip::Chip::SM_90).expect("tables");
        let bounds = LaunchBounds { threads: 128, shared: 114 * 1024 - 1024, allocated: None };
        expect_test::expect![[r#"
            # 7 instructions, 2 R-regs
            # [inst=7] [texInst=0] [tepid=2] [rregs=2]
            # [est latency = 75] [LSpillB=0]
            # [Occupancy = 0.125000]
            # [issue thru=0.777778] [fp thru=0.111111]
            # [worstcaseLat=75.000000]
            # [avgcaseLat=57.000000]
            # [SharedMem Alloc thru=0.555556]
            # [instHint=0] [instPairs=0]
            # [urregs=0] [pregs=1] [blocks=3] [loads=1] [stores=1]
        "#]]
        .assert_eq(&profile(&function, &tables, bounds).to_string());
        let bounds = LaunchBounds { allocated: Some((255, 24)), threads: 1024, ..bounds };
        let allocated = profile(&function, &tables, bounds);
        assert_eq!((allocated.registers, allocated.spill_bytes, allocated.occupied), (255, 24, 0.0));
    }
}
