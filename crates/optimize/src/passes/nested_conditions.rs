//! Phase 38, OptimizeNestedCondBranches: two branches to one place become one.
//!
//! `if (a) { if (b) { ... } }` branches to its end twice. Where the code between the branches is short and has no
//! effects, it is executed always, and one branch tests both conditions: phase 46 makes that a part of the second
//! comparison. The guarded code then has one branch before it, and phase 63 can predicate it. The same for exits with
//! conditions, between which nothing has an effect.
//!
//! Not joined: branches whose ways to the common place bring it different values, and code that is rarely executed.
//! SSA in, SSA out.

use crate::analyses::guarding::is_cheap_anywhere;
use oriole_options::Optimization;
use oriole_ori::branches::guarded_branch;
use oriole_ori::{
    Allowance, BlockId, Destination, File, FormChange, Function, Guard, Instruction, Opcode, Outcome, Pass,
    Source, SourceKind, canonical, edges,
};
use oriole_sass::{Mod, Op};
use typed_index_collections::{TiVec, ti_vec};

/// Most instructions that lanes execute which a branch would have led past them: about the cost of a branch.
const LIMIT: usize = 6;

/// Most ways into the common place: each joined branch looks through the values that they bring.
const WAYS: u32 = 64;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    optimization: Some(Optimization::NestedConditions),
    ..Pass::new(|function, context| Outcome::changed_if(run(function, context.allowance)))
};

/// Joins branches and exits until none is left. True if there was one.
pub fn run(function: &mut Function, allowance: Option<&Allowance>) -> bool {
    let mut changed = false;
    for id in function.block_ids() {
        changed |= join_exits(function, id, allowance);
    }
    let mut entering: TiVec<BlockId, u32> = ti_vec![0; function.blocks.len()];
    entering[BlockId(0)] = 1;
    for block in &function.blocks {
        block.successors.iter().for_each(|&next| entering[next] += 1);
    }
    let mut joined = false;
    for id in function.block_ids() {
        let mut room = LIMIT;
        while let Some(nest) = find(function, &entering, id, room)
            && Allowance::allows(allowance)
        {
            room -= nest.length;
            join(function, &mut entering, id, &nest);
            joined = true;
        }
    }
    if joined {
        canonical::order_blocks(function);
    }
    changed | joined
}

/// A block that leads to a common place, or to another block that leads there or elsewhere.
struct Nest {
    inner: BlockId,
    /// Where the first and the second block go on the way to the common place: there, or to an empty block before it.
    ways: [BlockId; 2],
    elsewhere: BlockId,
    /// Places of both branches.
    branches: [usize; 2],
    /// The condition on which each of the blocks leads to the common place.
    leads: [Guard; 2],
    /// Instructions of the inner block before its branch.
    length: usize,
}

fn find(function: &Function, entering: &TiVec<BlockId, u32>, outer: BlockId, room: usize) -> Option<Nest> {
    let &[taken, other] = function.block(outer).successors.as_slice() else { return None };
    let first = guarded_branch(function, outer)?;
    [(taken, other), (other, taken)].into_iter().find_map(|(way, inner)| {
        let block = function.block(inner);
        if entering[inner] != 1 || inner == outer || inner == way || block.cold || !block.phis.is_empty() {
            return None;
        }
        let second = guarded_branch(function, inner)?;
        if second > room || !block.instructions[..second].iter().all(is_cheap_anywhere) {
            return None;
        }
        let &[a, b] = block.successors.as_slice() else { return None };
        let meets =
            |(to, _): &(BlockId, BlockId)| is_one_place(function, entering, [outer, inner], [way, *to]);
        let (inner_way, elsewhere) = [(a, b), (b, a)].into_iter().find(meets)?;
        let parts = a != b && elsewhere != inner && elsewhere != way && inner_way != inner;
        let leads =
            [leads(function, outer, first, way == taken)?, leads(function, inner, second, inner_way == a)?];
        let ways = [way, inner_way];
        parts.then_some(Nest { inner, ways, elsewhere, branches: [first, second], leads, length: second })
    })
}

/// Whether two edges lead to the same block, directly or through an empty one, and bring it the same values.
fn is_one_place(
    function: &Function,
    entering: &TiVec<BlockId, u32>,
    from: [BlockId; 2],
    to: [BlockId; 2],
) -> bool {
    let end = |at: usize| {
        let block = function.block(to[at]);
        match block.successors[..] {
            [next] if block.instructions.is_empty() && block.phis.is_empty() => (to[at], next),
            _ => (from[at], to[at]),
        }
    };
    let direct = to[0] == to[1];
    let ((a, first), (b, second)) =
        if direct { ((from[0], to[0]), (from[1], to[1])) } else { (end(0), end(1)) };
    first == second
        && entering[first] <= WAYS
        && function.block(first).phis.iter().all(|phi| phi.source_from(a) == phi.source_from(b))
}

/// The condition on which a block goes one of its ways.
fn leads(function: &Function, id: BlockId, branch: usize, taken: bool) -> Option<Guard> {
    let guard = function.block(id).instructions[branch].guard?;
    let negated = guard.negated == taken;
    (function.file(guard.value) == File::P).then_some(Guard { negated, ..guard })
}

fn join(function: &mut Function, entering: &mut TiVec<BlockId, u32>, outer: BlockId, nest: &Nest) {
    let [way, inner_way] = nest.ways;
    let inner = std::mem::take(function.block_mut(nest.inner));
    let mut code = inner.instructions;
    let mut branch = code.remove(nest.branches[1]);
    code.truncate(nest.branches[1]);
    let either = either(function, nest.leads, &branch);
    code.push(either.0);
    branch.guard = Some(either.1);
    branch.sources = [Source::plain(SourceKind::Block(way))].into_iter().collect();
    code.push(branch);
    let block = function.block_mut(outer);
    block.instructions.truncate(nest.branches[0]);
    block.instructions.extend(code);
    block.nounroll |= inner.nounroll;
    block.successors = smallvec::smallvec![way, nest.elsewhere];
    entering[inner_way] -= 1;
    if inner_way == way {
        edges::forget_predecessor(function, way, nest.inner);
    } else if entering[inner_way] == 0 {
        let empty = std::mem::take(function.block_mut(inner_way));
        for next in empty.successors {
            edges::forget_predecessor(function, next, inner_way);
            entering[next] -= 1;
        }
    } else {
        edges::forget_predecessor(function, inner_way, nest.inner);
    }
    edges::rename_predecessor(function, nest.elsewhere, nest.inner, outer);
}

/// An instruction that computes whether one of two conditions holds, and its result.
fn either(function: &mut Function, conditions: [Guard; 2], place: &Instruction) -> (Instruction, Guard) {
    let result = function.new_value(File::P, None);
    let mut or = Instruction::new(Op::PLOP3, place.origin);
    or.mods.insert(Mod::LUT);
    or.destinations.extend([Destination::new(File::P, [result]), Destination::dropped(File::P, 1)]);
    or.sources.extend(conditions.map(Source::from));
    // The table of `a | b`, whatever the third input is.
    or.sources.extend([Source::pt(), Source::literal(0xfc), Source::literal(0)]);
    (or, Guard { value: result, negated: false })
}

/// Joins exits with conditions of a block, two at a time, between which nothing has an effect.
fn join_exits(function: &mut Function, id: BlockId, allowance: Option<&Allowance>) -> bool {
    let exits = function.block(id).instructions.iter().filter(|it| is_exit(function, it)).count();
    if exits < 2 {
        return false;
    }
    let old = std::mem::take(&mut function.block_mut(id).instructions);
    let mut instructions: Vec<Instruction> = Vec::with_capacity(old.len());
    // The exit that the next one may join.
    let mut first: Option<usize> = None;
    let mut changed = false;
    for mut instruction in old {
        if !is_exit(function, &instruction) {
            first = first.filter(|_| is_cheap_anywhere(&instruction));
            instructions.push(instruction);
            continue;
        }
        let near = first.take().filter(|first| instructions.len() - first <= LIMIT);
        if let Some(first) = near
            && let (Some(one), Some(other)) = (instructions[first].guard, instruction.guard)
            && Allowance::allows(allowance)
        {
            instructions.remove(first);
            let (or, guard) = either(function, [one, other], &instruction);
            instructions.push(or);
            instruction.guard = Some(guard);
            changed = true;
        } else {
            first = Some(instructions.len());
        }
        instructions.push(instruction);
    }
    function.block_mut(id).instructions = instructions;
    changed
}

fn is_exit(function: &Function, instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::EXIT)
        && instruction.guard.is_some_and(|guard| function.file(guard.value) == File::P)
}
