//! Registers against blocks: where a few registers fewer let an SM hold one block more, and whether that is worth it.
//!
//! Only functions that multiply matrices are ordered again for that: their accumulators fill the registers, so that few blocks fit, and
//! what stands beside the accumulators decides how many. For others the first order weighs blocks against time.

use crate::Tables;
use crate::dense_ids::DenseIds;
use crate::graph::{Graph, Sides};
use crate::pre_ra::{KnownBlocks, latency, weight};
use crate::region::Region;
use oriole_chip::Usage;
use oriole_ori::{Cfg, Dominators, Function, Instruction, Liveness, Loops, Opcode, changes_registers};
use oriole_sass::Class;

/// A step is tried if it takes no more than one register out of so many.
const SHARE: u32 = 5;

/// So many percent more time than a block more makes up for are no loss: the order after allocation wins that back.
const WON_BACK: u64 = 15;

/// Whether the registers of a function decide how many blocks there are, as far as is known: it multiplies matrices, and the
/// threads of a block are named. Where parts of the function have counts of registers of their own, these decide.
pub fn registers_decide(function: &Function) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    function.block_threads.is_some() && instructions.any(multiplies) && !changes_registers(function)
}

/// The most registers with which an SM holds one block more than with so many, if there is such a number and it is near; for a
/// function whose registers decide.
pub fn step_below(function: &Function, tables: &Tables, registers: u16) -> Option<u16> {
    let now = blocks(function, tables, registers)?;
    let near = |&fewer: &u16| u32::from(registers - fewer) * SHARE <= u32::from(registers);
    let more = |&fewer: &u16| blocks(function, tables, fewer) > Some(now);
    (1..registers).rev().take_while(near).find(more)
}

/// How many blocks an SM holds, as far as registers say, if the threads of a block are known.
pub fn blocks(function: &Function, tables: &Tables, registers: u16) -> Option<u32> {
    let usage = Usage { registers: registers.into(), shared: 0, threads: function.block_threads? };
    Some(tables.limits.occupancy(tables.forms.registers(), usage).blocks)
}

/// What an SM gets done of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Throughput {
    /// Cycles of the order.
    time: u64,
    /// Blocks of threads at once.
    blocks: u64,
}

impl Throughput {
    /// That of a function in the order of its instructions, with so many registers.
    pub fn new(tables: &Tables, function: &Function, registers: u16) -> Throughput {
        let blocks = blocks(function, tables, registers).map_or(0, u64::from);
        Throughput { time: time(tables, function), blocks }
    }

    /// The same for a function that is to be ordered: what is found out about its blocks serves for that, too.
    pub fn before_order(
        tables: &Tables,
        function: &Function,
        registers: u16,
        known: &mut KnownBlocks,
    ) -> Throughput {
        let blocks = blocks(function, tables, registers).map_or(0, u64::from);
        Throughput { time: known.time(function, tables.latency), blocks }
    }

    /// How many permille more blocks there are with fewer registers.
    pub fn gain(&self, fewer: &Throughput) -> u64 {
        1000 * fewer.blocks.saturating_sub(self.blocks) / self.blocks.max(1)
    }

    /// Whether the blocks that there are with fewer registers are together no slower than these.
    pub fn is_kept_by(&self, fewer: &Throughput) -> bool {
        100 * fewer.time * self.blocks <= (100 + WON_BACK) * self.time * fewer.blocks
    }
}

/// Whether an instruction multiplies matrices.
fn multiplies(instruction: &Instruction) -> bool {
    let Opcode::Sass(op) = instruction.opcode else { return false };
    matches!(
        op.info().class(&instruction.mods),
        Class::Group
            | Class::Matrix88
            | Class::MatrixDouble
            | Class::MatrixOne
            | Class::MatrixOneInteger
            | Class::MatrixTwo
    )
}

/// Cycles that a function takes in the order of its instructions, loops weighted.
fn time(tables: &Tables, function: &Function) -> u64 {
    let model = tables.latency;
    let cfg = Cfg::new(function);
    let liveness = Liveness::new(function, &cfg);
    let loops = Loops::new(function, &cfg, &Dominators::new(function, &cfg));
    let mut ids = DenseIds::new(function.values.len());
    let times = cfg.order().iter().map(|&block| {
        let instructions = &function.block(block).instructions;
        let cycles = |from: &Instruction, to: &Instruction, node| latency(model, from, to, node);
        let graph = Graph::new(instructions, Sides::Kept, &mut ids, cycles);
        let region = Region::new(model, function, instructions, liveness.live_out(block), graph, &mut ids);
        let order: Vec<u32> = (0..region.len() as u32).collect();
        weight(&loops, block) * u64::from(region.time(&order))
    });
    times.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriole_chip::Chip;
    use oriole_ori::parse::parse;

    const PRODUCT: &str = "  {r6 r7} = HMMA.1688.F16 {r0 r1}, r2, {r6 r7} ; 0\n";
    const GRANT: &str = "  USETMAXREG.CTAPOOL.DEALLOC #40 ; 0\n";

    fn function(header: &str, body: &str) -> Function {
        parse(&format!("kernel params=0 barriers=0{header}\nb0:\n{body}  EXIT ; 9\n")).expect("Ori")
    }

    #[test]
    fn a_step_is_near_and_for_products() {
        let tables = Tables::of(Chip::SM_90).expect("tables");
        let step = |header: &str, body: &str, registers| {
            let function = function(header, body);
            registers_decide(&function).then(|| step_below(&function, &tables, registers)).flatten()
        };
        // Four warps: 2, 3, 4 and 5 blocks.
        assert_eq!(step(" threads=128", PRODUCT, 200), Some(168));
        assert_eq!(step(" threads=128", PRODUCT, 168), None, "that is far");
        assert_eq!(step(" threads=128", PRODUCT, 146), Some(128));
        assert_eq!(step(" threads=128", PRODUCT, 120), Some(96));
        assert_eq!(step(" threads=256", PRODUCT, 146), Some(128));
        assert_eq!(step(" threads=256", PRODUCT, 200), None, "one block with 168 as well");
        assert_eq!(step("", PRODUCT, 146), None, "who knows");
        assert_eq!(step(" threads=128", "", 146), None, "nothing is multiplied");
        assert_eq!(step(" threads=128", &format!("{GRANT}{PRODUCT}"), 146), None, "the parts say it");
    }

    #[test]
    fn blocks_make_up_for_time() {
        let tables = Tables::of(Chip::SM_90).expect("tables");
        let chain = |length: usize| {
            let links: String = (0..length).map(|_| "  r0 = FADD r0, r0 ; 1\n").collect();
            function(" threads=128", &links)
        };
        let (before, slower, slow) = (chain(100), chain(150), chain(180));
        let pays = |fewer, registers| {
            let known = &mut KnownBlocks::default();
            let known = Throughput::before_order(&tables, &before, 200, known);
            let before = Throughput::new(&tables, &before, 200);
            assert_eq!(known, before);
            before.is_kept_by(&Throughput::new(&tables, fewer, registers))
        };
        assert!(pays(&slower, 168), "3 blocks for 2");
        assert!(!pays(&slow, 168));
        assert!(!pays(&slower, 192), "no block more");
    }
}
