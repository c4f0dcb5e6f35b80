//! Waterfall loops for instructions that a warp executes once, however many of its lanes are active.
//!
//! Each active lane of a bulk copy means a copy of its own. Where only one lane is known to be active, because it was
//! elected, the instruction stays as it is; so does one that can be executed once if all lanes mean the same. All
//! others get a loop: one of the remaining lanes is elected, executes the block of the instruction, and leaves.

use oriole_ori::elections::{Elections, Times, times};
use oriole_ori::{BlockId, Builder, Divergence, File, Function, Guard, Opcode, Pseudo, Source};
use oriole_sass::{Mod, Op};

/// Builds waterfall loops around the instructions that need them. Each is in a block of its own that one block falls
/// into.
pub(crate) fn take_turns(function: &mut Function) {
    let alone = |id: BlockId| {
        let block = function.block(id);
        block.instructions.iter().rev().find_map(times).map(|times| (id, times))
    };
    let found: Vec<(BlockId, Times)> = function.block_ids().filter_map(alone).collect();
    if found.is_empty() {
        return;
    }
    let graph = function.graph();
    let (cfg, dominators) = (graph.cfg(), graph.dominators());
    let divergence = Divergence::new(function, &graph);
    let elections = Elections::new(function, cfg, dominators, &divergence);
    let needs_turns = |&(id, times): &(BlockId, Times)| {
        let mut agree = true;
        for instruction in &function.block(id).instructions {
            let copies = instruction.opcode == Opcode::Pseudo(Pseudo::Copy);
            instruction.for_each_use(|value| agree &= !copies || divergence.is_uniform(value));
        }
        cfg.is_reachable(id) && !(times == Times::Once && agree) && !elections.one_lane_reaches(id)
    };
    let found: Vec<BlockId> = found.into_iter().filter(needs_turns).map(|(id, _)| id).collect();
    let before: Vec<(BlockId, BlockId)> =
        found.iter().filter_map(|&id| Some((*cfg.predecessors(id).first()?, id))).collect();
    for (before, id) in before {
        wrap(function, before, id);
    }
}

/// Builds a loop around the block `body`, into which `before` falls.
fn wrap(function: &mut Function, before: BlockId, body: BlockId) {
    let origin = function.block(body).instructions[0].origin;
    let behind = function.block(body).successors[0];
    let mut b = Builder::new(function, before, origin);
    let [head, next] = [b.new_block(), b.new_block()];
    let [waits, leads, rest, any] = [b.p(), b.p(), b.p(), b.p()];
    b.mov(waits, Source::pt());
    b.fall_through(head);
    b.set_block(head);
    b.mov(leads, Source::not_pt());
    let waiting = Guard { value: waits, negated: false };
    b.op(Op::ELECT).to(leads).drop_result(File::UR).from(Source::pt()).guarded(waiting).emit();
    b.branch(Guard { value: leads, negated: true }, next, body);
    b.set_block(body);
    b.fall_through(next);
    b.set_block(next);
    b.plop3(rest, waits, Source::value(leads).inverted(), Source::pt(), 0x80);
    b.mov(waits, rest);
    b.op(Op::VOTE).m(Mod::ANY).drop_result(File::R).to(any).from(rest).emit();
    b.branch(Guard { value: any, negated: false }, head, behind);
}
