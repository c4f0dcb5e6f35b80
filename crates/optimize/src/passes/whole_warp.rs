//! Phase 133, MergeEquivalentConditionalFlow: the whole warp executes what one elected lane would.
//!
//! A warp executes bulk copies and matrix multiplies in tensor memory once, however many of its lanes are active. Where a
//! branch lets only an elected lane pass to such an instruction, and the whole warp reaches the branch, all lanes may
//! execute it together: the branch goes, and with it the convergence barrier, and descriptors of consecutive
//! multiplies are computed in one block. Where the condition asks for more than the election, the lanes vote on it first,
//! and the branch is uniform.
//!
//! The instructions of the region must be computed from values that all lanes have, because a uniform register takes them from
//! any lane, and nothing but the region may read what is written there. A region that does anything else for its lane
//! stays: an arrival at an mbarrier counts each lane.

use oriole_options::Optimization;
use oriole_ori::branches::guarded_branch;
use oriole_ori::effects::is_pure;
use oriole_ori::elections::{Elections, Times, times};
use oriole_ori::{
    Allowance, BlockId, Chains, Destination, Divergence, File, FlowGraph, FormChange, Function, Guard,
    Instruction, Opcode, Outcome, Pass, Source, Value,
};
use oriole_sass::{Mod, Op};

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::OutsideSsa,
    optimization: Some(Optimization::WholeWarp),
    ..Pass::new(|function, context| Outcome::changed_if(run(function, context.allowance)))
};

/// A branch to go, or to become uniform.
struct Plan {
    block: BlockId,
    /// Place of the branch in the block.
    branch: usize,
    /// First block of the region.
    region: BlockId,
    /// It is certain that one lane would take the region.
    is_certain: bool,
}

/// Rewrites the branches. True if there were any. Outside SSA.
pub fn run(function: &mut Function, allowance: Option<&Allowance>) -> bool {
    let once = |it: &Instruction| meaning(it).is_some();
    if !function.is_entry || !function.blocks.iter().any(|block| block.instructions.iter().any(once)) {
        return false;
    }
    let graph = function.graph();
    let plans = plans(function, &graph);
    let mut changed = false;
    for plan in plans.into_iter().take_while(|_| Allowance::allows(allowance)) {
        apply(function, &plan);
        changed = true;
    }
    changed
}

fn plans(function: &Function, graph: &FlowGraph) -> Vec<Plan> {
    let (cfg, dominators) = (graph.cfg(), graph.dominators());
    let divergence = Divergence::new(function, graph);
    let elections = Elections::new(function, cfg, dominators, &divergence);
    let uses = Chains::of_uses(function, cfg.order());
    let facts = Facts { function, divergence: &divergence, elections: &elections, uses: &uses };
    let mut plans = Vec::new();
    for &block in cfg.order() {
        let Some(branch) = guarded_branch(function, block) else { continue };
        let &[taken, other] = function.block(block).successors.as_slice() else { continue };
        let Some(guard) = function.block(block).instructions[branch].guard else { continue };
        if taken == other || !divergence.is_uniform_block(block) || !divergence.is_divergent(guard.value) {
            continue;
        }
        for (first, join) in [(taken, other), (other, taken)] {
            let Some(region) = region(function, graph, first, join) else { continue };
            if facts.allows(block, first, &region) {
                let wanted = (first == taken) != guard.negated;
                let is_certain = elections.is_of_one_lane(block, guard.value, wanted);
                plans.push(Plan { block, branch, region: first, is_certain });
                break;
            }
        }
    }
    plans
}

/// The blocks from the first one to the join, if each has one way in and one out.
fn region(function: &Function, graph: &FlowGraph, first: BlockId, join: BlockId) -> Option<Vec<BlockId>> {
    let mut region = Vec::new();
    let mut at = first;
    while at != join {
        let &[next] = function.block(at).successors.as_slice() else { return None };
        if graph.cfg().predecessors(at).len() != 1 || region.len() == function.blocks.len() {
            return None;
        }
        region.push(at);
        at = next;
    }
    Some(region)
}

/// Facts about the function before the pass.
struct Facts<'a> {
    function: &'a Function,
    divergence: &'a Divergence,
    elections: &'a Elections<'a>,
    uses: &'a Chains,
}

impl Facts<'_> {
    /// True if the whole warp may execute the region in place of the lanes that pass from the block.
    fn allows(&self, before: BlockId, first: BlockId, region: &[BlockId]) -> bool {
        let instructions = || region.iter().flat_map(|&id| &self.function.block(id).instructions);
        let mut each_lane = false;
        let mut once = 0;
        for instruction in instructions() {
            match meaning(instruction).filter(|_| instruction.guard.is_none()) {
                Some(times) => {
                    each_lane |= times == Times::EachLane;
                    once += 1;
                }
                None if may_be_executed_by_all(instruction) => {}
                None => return false,
            }
        }
        once > 0
            && (!each_lane || self.elections.is_taken_by_one(before, first))
            && instructions().all(|it| self.stays_inside(it, region) && self.is_same(it, region))
    }

    /// True if only the region writes and reads the results.
    fn stays_inside(&self, instruction: &Instruction, region: &[BlockId]) -> bool {
        let mut inside = true;
        instruction.for_each_definition(|value| {
            let places = [self.elections.definitions(), self.uses].map(|chains| chains.of(value));
            inside &= places.iter().all(|places| places.iter().all(|(block, _)| region.contains(block)));
        });
        inside
    }

    /// True if all lanes have each value that the instruction reads, and have it from the same place: it is written in
    /// the region, or wherever it is written the whole warp writes it.
    fn is_same(&self, instruction: &Instruction, region: &[BlockId]) -> bool {
        let mut same = true;
        instruction.for_each_use(|value| same &= self.is_same_value(value, region));
        same
    }

    fn is_same_value(&self, value: Value, region: &[BlockId]) -> bool {
        let writers = self.elections.definitions().of(value);
        self.divergence.is_uniform(value)
            && writers.iter().all(|&(block, index)| {
                let block_writes = self.function.block(block);
                let at = (index as usize).checked_sub(block_writes.phis.len());
                let guard = at.and_then(|at| block_writes.instructions[at].guard);
                let whole = self.divergence.is_uniform_block(block)
                    && guard.is_none_or(|guard| self.divergence.is_uniform(guard.value));
                region.contains(&block) || whole
            })
    }
}

/// True if it does no harm in lanes that the branch would have kept from it, and computes the same for the lane that it
/// would have let pass, if all its operands are the same in all lanes.
fn may_be_executed_by_all(instruction: &Instruction) -> bool {
    let votes = instruction.opcode == Opcode::Sass(Op::VOTEU)
        && instruction.mods.has(Mod::ANY)
        && instruction.destinations.len() == 1;
    let falls = instruction.opcode == Opcode::Sass(Op::BRA);
    instruction.guard.is_none() && (is_pure(instruction) || votes || falls)
}

/// How often it must be executed, if the whole warp executes it once.
fn meaning(instruction: &Instruction) -> Option<Times> {
    // An mbarrier is initialized: all lanes write the same words.
    let initializes = instruction.opcode == Opcode::Sass(Op::SYNCS) && instruction.mods.has(Mod::EXCH);
    if initializes { Some(Times::Once) } else { times(instruction) }
}

fn apply(function: &mut Function, plan: &Plan) {
    let block = function.block(plan.block);
    let branch = &block.instructions[plan.branch];
    let (origin, Some(guard)) = (branch.origin, branch.guard) else { return };
    let taken = block.successors[0];
    if plan.is_certain {
        let block = function.block_mut(plan.block);
        if plan.region == taken {
            // The branch stays, without a condition.
            block.instructions[plan.branch].guard = None;
            block.instructions.truncate(plan.branch + 1);
        } else {
            block.instructions.remove(plan.branch);
        }
        block.successors = smallvec::smallvec![plan.region];
        return;
    }
    // The branch goes to the region if any lane has the condition, or past it if none has.
    let any = function.new_value(File::P, None);
    let mut vote = Instruction::new(Op::VOTE, origin);
    vote.mods.insert(Mod::ANY);
    vote.destinations.push(Destination::dropped(File::R, 1));
    vote.destinations.push(Destination::new(File::P, [any]));
    let condition = Source::value(guard.value);
    let passes = (plan.region == taken) != guard.negated;
    vote.sources.push(if passes { condition } else { condition.inverted() });
    let block = function.block_mut(plan.block);
    block.instructions[plan.branch].guard = Some(Guard { value: any, negated: plan.region != taken });
    block.instructions.insert(plan.branch, vote);
}
