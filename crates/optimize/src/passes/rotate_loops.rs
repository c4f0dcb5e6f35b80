//! Phase 18, OriLoopSimplification: a loop that is tested at its top is tested at its end instead, and once before it.
//!
//! The block with the test is copied in front of the loop. An iteration then has one branch less, and the loop has
//! the form that unrolling takes. Each thread executes the same operations in the same order as before, so anything
//! but convergent instructions and calls may be in that block. Edges into the loop, and edges back, get one block
//! each. The pass runs outside SSA, where a copy needs no new names.
//!
//! ptxas 13.0 was seen to turn loops with headers of any size. Here the size is limited, because of the code.

use crate::passes::branch_opt;
use oriole_options::Optimization;
use oriole_ori::{
    Block, BlockId, FlowGraph, FormChange, Function, Instruction, Opcode, Outcome, Pass, Pseudo, branches,
    edges, effects,
};
use oriole_sass::Op;
use oriole_sass::info::Effect;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::OutsideSsa,
    optimization: Some(Optimization::Rotation),
    ..Pass::new(|function, _| Outcome::changed_if(run(function)))
};

/// Most instructions of a block that is copied, without copies and branches.
const MOST: usize = 32;

/// Turns loops. Returns true if there was one.
pub fn run(function: &mut Function) -> bool {
    let plans = plans(function);
    if plans.is_empty() {
        return false;
    }
    // First each loop gets its blocks before the header: no edge belongs to two loops there.
    let befores: Vec<BlockId> = plans.iter().map(|plan| collect(function, plan)).collect();
    for (plan, before) in plans.iter().zip(befores) {
        rotate(function, plan, before);
    }
    branch_opt::run(function);
    true
}

/// A loop to be turned.
struct Plan {
    /// The block with the test.
    header: BlockId,
    /// Which of its successors is in the loop.
    inside: usize,
    /// Blocks with an edge into the loop.
    entering: Vec<BlockId>,
    /// Blocks with an edge back.
    latches: Vec<BlockId>,
}

fn plans(function: &Function) -> Vec<Plan> {
    let graph = function.graph();
    let loops = graph.loops();
    if loops.loops.is_empty() || loops.is_irreducible() {
        return Vec::new();
    }
    (0..loops.loops.len()).filter_map(|index| plan(function, &graph, index)).collect()
}

/// The plan for a loop that is left in its header, but not where it goes back.
fn plan(function: &Function, graph: &FlowGraph, index: usize) -> Option<Plan> {
    let loops = graph.loops();
    let this = &loops.loops[index];
    let header = this.header;
    let inside = test(function, header, |block| loops.contains(index, block))?;
    let leaves = |latch: &BlockId| {
        let block = function.block(*latch);
        block.successors.iter().any(|&to| !loops.contains(index, to))
            || block.instructions.iter().any(effects::leaves_function)
    };
    let indirect =
        |from: &BlockId| function.block(*from).instructions.last().is_some_and(effects::is_indirect_branch);
    let before = graph.cfg().predecessors(header);
    if header == BlockId(0) || this.latches.iter().any(leaves) || before.iter().any(indirect) {
        return None;
    }
    let (latches, entering) = before.iter().copied().partition(|&from| loops.contains(index, from));
    Some(Plan { header, inside, entering, latches })
}

/// Which successor of a block that may be copied and ends in a test is in the loop.
fn test(function: &Function, header: BlockId, contains: impl Fn(BlockId) -> bool) -> Option<usize> {
    let block = function.block(header);
    let code = match block.successors[..] {
        [taken, other] if contains(taken) != contains(other) => branches::guarded_branch(function, header)?,
        [_] => {
            let rest = usize::from(block.instructions.last().is_some_and(branches::is_plain_branch));
            let exit = block.instructions.len().checked_sub(1 + rest)?;
            let test = &block.instructions[exit];
            let ends = test.opcode == Opcode::Sass(Op::EXIT) && test.guard.is_some();
            ends.then_some(exit)?
        }
        _ => return None,
    };
    let code = &block.instructions[..code];
    let counts =
        |it: &&Instruction| !matches!(it.opcode, Opcode::Pseudo(Pseudo::Copy) | Opcode::Sass(Op::MOV));
    let fits = code.iter().all(may_be_copied) && code.iter().filter(counts).count() <= MOST;
    fits.then(|| block.successors.iter().position(|&to| contains(to))).flatten()
}

/// True for operations without effect, loads, and exits: what happens once, happens once in the copy or in the loop.
fn may_be_copied(instruction: &Instruction) -> bool {
    let is_load = matches!(instruction.opcode, Opcode::Sass(op) if op.info().effect == Effect::Load);
    let loads = is_load && instruction.memory.is_some_and(|memory| memory.reads && !memory.writes);
    let plain = effects::is_removable(instruction) || loads;
    plain
        && !effects::is_convergent(instruction)
        && instruction.call.is_none()
        && !effects::is_transfer(instruction)
}

/// Gives the edges into the loop a block, which is returned, and the edges back another one.
fn collect(function: &mut Function, plan: &Plan) -> BlockId {
    let mut join = |blocks: &[BlockId]| {
        let joint = function.blocks.next_key();
        function.blocks.push(Block { successors: smallvec::smallvec![plan.header], ..Block::default() });
        for &from in blocks {
            edges::redirect(function, from, plan.header, joint);
        }
        joint
    };
    join(&plan.latches);
    join(&plan.entering)
}

/// Copies the test to the block before the loop. The loop begins after the header then, in a block of its own: what
/// follows may be the header of another loop.
fn rotate(function: &mut Function, plan: &Plan, before: BlockId) {
    let old = function.block(plan.header).successors[plan.inside];
    let first = function.blocks.next_key();
    function.blocks.push(Block { successors: smallvec::smallvec![old], ..Block::default() });
    edges::redirect(function, plan.header, old, first);
    let header = function.block_mut(plan.header);
    let nounroll = std::mem::take(&mut header.nounroll);
    let copy = Block {
        instructions: header.instructions.clone(),
        successors: header.successors.clone(),
        ..Block::default()
    };
    *function.block_mut(before) = copy;
    function.block_mut(first).nounroll = nounroll;
}
