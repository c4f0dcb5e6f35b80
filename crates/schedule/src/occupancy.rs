//! Occupancy: register counts at which an SM holds one more block, and whether that is worth it.
//!
//! A function with a known block size is scheduled again for a higher occupancy once its registers are known: the
//! registers that allocation adds to those of the first schedule, which weighs occupancy against time as well, decide
//! where the steps are. For kernels that multiply matrices the first schedule ignores occupancy: accumulators fill
//! the registers, so that few blocks fit, and the other registers decide how many.

use crate::dense_ids::DenseIds;
use crate::distance::latency;
use crate::graph::{Graph, Sides};
use crate::region::Region;
use crate::tables::Tables;
use oriole_chip::Usage;
use oriole_ori::{BlockId, Function, Instruction, Liveness, Opcode, changes_registers};
use oriole_sass::{Class, Op};

/// A step is tried if it takes at most 1/SHARE of the registers.
const SHARE: u32 = 3;
/// [`SHARE`] for kernels that multiply matrices.
const SHARE_OF_PRODUCTS: u32 = 5;

/// For kernels without matrix multiplies, a step is tried if it gives at least this many percent more blocks:
/// allocating again takes time, and with many warps a few more gain little.
const GAIN: u32 = 33;

/// Percent of time beyond the gain of one more block that is not a loss: scheduling after allocation wins it back.
const WON_BACK: u64 = 15;

/// Warps of an SM that issue an instruction in each cycle.
const SCHEDULERS: u64 = 4;

/// True if, as far as known, only the registers of a function decide the occupancy: it multiplies matrices, and
/// [`counts_blocks`].
pub fn registers_decide(function: &Function) -> bool {
    counts_blocks(function) && multiplies_matrices(function)
}

/// True if the block size is known, and with it the occupancy. Where parts of the function have register counts of
/// their own, these decide, and where the accumulators are in tensor memory, that does.
pub fn counts_blocks(function: &Function) -> bool {
    function.block_threads.is_some() && !changes_registers(function) && !is_in_tensor_memory(function)
}

/// True if matrices that it multiplies decide its registers or its occupancy.
pub fn fills_with_accumulators(function: &Function) -> bool {
    multiplies_matrices(function) || is_in_tensor_memory(function)
}

/// True if it has accumulators in tensor memory.
fn is_in_tensor_memory(function: &Function) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.any(|i| i.opcode == Opcode::Sass(Op::UTCATOMSWS))
}

/// True if a function has an instruction that multiplies matrices.
fn multiplies_matrices(function: &Function) -> bool {
    function.blocks.iter().flat_map(|block| &block.instructions).any(multiplies)
}

/// The largest register count below `registers` with which an SM holds enough more blocks, if there is one nearby; for
/// a function that [`counts_blocks`].
pub fn step_below(function: &Function, tables: &Tables, registers: u16) -> Option<u16> {
    let now = blocks(function, tables, registers)?;
    let (share, gain) = if multiplies_matrices(function) { (SHARE_OF_PRODUCTS, 0) } else { (SHARE, GAIN) };
    let enough = |&fewer: &u16| {
        blocks(function, tables, fewer)
            .is_some_and(|blocks| blocks > now && 100 * blocks >= (100 + gain) * now)
    };
    let farthest = registers - registers / share as u16;
    (farthest..registers).rev().find(enough)
}

/// Blocks that an SM holds, as far as registers and the known part of shared memory say, if the block size is known.
pub fn blocks(function: &Function, tables: &Tables, registers: u16) -> Option<u32> {
    let Function { block_threads, shared_bytes, .. } = *function;
    let usage = Usage { registers: registers.into(), shared: shared_bytes, threads: block_threads? };
    Some(tables.limits.occupancy(tables.forms.registers(), usage).blocks)
}

/// Throughput of a function on an SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Throughput {
    /// Cycles of the schedule.
    time: u64,
    /// Instructions, as often as they are executed.
    issued: u64,
    /// Blocks of threads at once.
    blocks: u64,
    /// Warps of each of them.
    warps: u64,
    /// Matrices are multiplied.
    multiplies: bool,
    /// The warps of a block wait for each other.
    meets: bool,
}

impl Throughput {
    /// The throughput of a function as scheduled, with this many registers. `cycles` is the time of the schedule, if
    /// known.
    pub fn new(tables: &Tables, function: &Function, registers: u16, cycles: Option<u64>) -> Throughput {
        let time = cycles.unwrap_or_else(|| time(tables, function));
        let graph = function.graph();
        let (cfg, loops) = (graph.cfg(), graph.loops());
        let issued = |&block: &BlockId| loops.weight(block) * function.block(block).instructions.len() as u64;
        let threads = function.block_threads.unwrap_or(0).max(1);
        Throughput {
            time,
            issued: cfg.order().iter().map(issued).sum(),
            blocks: blocks(function, tables, registers).map_or(0, u64::from),
            warps: u64::from(threads.div_ceil(tables.limits.warp_threads)),
            multiplies: multiplies_matrices(function),
            meets: has_barrier(function),
        }
    }

    /// Permille more blocks with fewer registers.
    pub fn gain(&self, fewer: &Throughput) -> u64 {
        1000 * fewer.blocks.saturating_sub(self.blocks) / self.blocks.max(1)
    }

    /// True if the blocks with fewer registers are together no slower than these.
    pub fn is_kept_by(&self, fewer: &Throughput) -> bool {
        100 * fewer.time * self.blocks <= (100 + WON_BACK) * self.time * fewer.blocks
    }

    /// Permille more executed instructions with fewer registers.
    pub fn growth(&self, fewer: &Throughput) -> u64 {
        1000 * fewer.issued.saturating_sub(self.issued) / self.issued.max(1)
    }

    /// True if the warps of a block wait for each other.
    pub fn meets(&self) -> bool {
        self.meets
    }

    /// True if the function multiplies matrices.
    pub fn multiplies(&self) -> bool {
        self.multiplies
    }

    /// True if the schedulers issue an instruction in each cycle: then more warps hide nothing, and each additional
    /// instruction costs its time. Next to MMAs other instructions are issued for free, and where all warps of a block
    /// wait for its last one, those of other blocks issue.
    pub fn issues_always(&self) -> bool {
        !self.multiplies && !self.meets && self.time * SCHEDULERS <= self.issued * self.blocks * self.warps
    }
}

/// True if a function has a barrier of the block.
fn has_barrier(function: &Function) -> bool {
    let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    instructions.any(|i| i.opcode == Opcode::Sass(Op::BAR))
}

/// True if an instruction multiplies matrices.
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

/// Cycles of a function as scheduled, loops weighted.
fn time(tables: &Tables, function: &Function) -> u64 {
    let model = tables.latency;
    let graph = function.graph();
    let cfg = graph.cfg();
    let liveness = Liveness::new(function, cfg);
    let loops = graph.loops();
    let mut ids = DenseIds::new(function.values.len());
    let times = cfg.order().iter().map(|&block| {
        let instructions = &function.block(block).instructions;
        let cycles = |from: &Instruction, to: &Instruction, node| latency(model, from, to, node);
        let graph = Graph::new(instructions, Sides::Kept, &mut ids, cycles);
        let region = Region::new(model, function, instructions, liveness.live_out(block), graph, &mut ids);
        let order: Vec<u32> = (0..region.len() as u32).collect();
        loops.weight(block) * u64::from(region.time(&order))
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

    fn step(header: &str, body: &str, registers: u16) -> Option<u16> {
        let tables = Tables::of(Chip::SM_90).expect("tables");
        let function = function(header, body);
        counts_blocks(&function).then(|| step_below(&function, &tables, registers)).flatten()
    }

    #[test]
    fn a_step_is_near() {
        // Four warps: 2, 3, 4 and 5 blocks.
        assert_eq!(step(" threads=128", PRODUCT, 200), Some(168));
        assert_eq!(step(" threads=128", PRODUCT, 168), None, "that is far");
        assert_eq!(step(" threads=128", PRODUCT, 146), Some(128));
        assert_eq!(step(" threads=128", PRODUCT, 120), Some(96));
        assert_eq!(step(" threads=256", PRODUCT, 146), Some(128));
        assert_eq!(step(" threads=256", PRODUCT, 200), None, "one block with 168 as well");
        assert_eq!(step("", PRODUCT, 146), None, "who knows");
        assert_eq!(step(" threads=128", &format!("{GRANT}{PRODUCT}"), 146), None, "the parts say it");
    }

    #[test]
    fn a_step_without_products_is_large() {
        // Sixteen warps: 2 and 3 blocks; four warps: 12 and 16, 8 and 9.
        assert_eq!(step(" threads=512", "", 56), Some(40));
        assert_eq!(step(" threads=512", "", 64), None, "that is far");
        assert_eq!(step(" threads=128", "", 36), Some(32));
        assert_eq!(step(" threads=128", "", 64), None, "an eighth more");
        assert_eq!(step(" threads=128", "", 32), None, "the SM is full");
        assert_eq!(step(" threads=512 shared=100000", "", 56), None, "shared memory suffices for two");
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
            let before = Throughput::new(&tables, &before, 200, None);
            before.is_kept_by(&Throughput::new(&tables, fewer, registers, None))
        };
        assert!(pays(&slower, 168), "3 blocks for 2");
        assert!(!pays(&slow, 168));
        assert!(!pays(&slower, 192), "no block more");
    }

    #[test]
    fn warps_that_issue_always_gain_nothing() {
        let tables = Tables::of(Chip::SM_90).expect("tables");
        let always = |threads: u32, registers, cycles| {
            let function = function(&format!(" threads={threads}"), &"  r0 = FADD r1, r1 ; 1\n".repeat(99));
            Throughput::new(&tables, &function, registers, Some(cycles)).issues_always()
        };
        // A hundred instructions of eight warps for each scheduler.
        assert!(always(512, 64, 800));
        assert!(!always(512, 64, 801));
        assert!(!always(128, 128, 800), "four warps");
    }
}
