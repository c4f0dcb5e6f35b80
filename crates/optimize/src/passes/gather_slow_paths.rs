//! Phase 56, SpeculativeHoistComInsts: divisions and roots that follow each other share one branch to their slow paths.
//!
//! Each of them ends a block: a branch skips the call of its routine. So the fast paths of eight independent divisions run
//! one after the other, each with all its latencies. Here the code between them goes above the first branch if it needs no
//! result of the divisions before it, and else below the last one. The branches that are left without code between them
//! become one branch: it skips all calls where no lane needs any. Otherwise each call has a branch of its own as before,
//! in code that is rarely run.
//!
//! The code that moves runs in the same threads as before: only calls of routines, which read and write registers alone,
//! are passed. So it may load from memory, as long as it stays in order with what writes there. Nothing is computed
//! more often, but for the conditions of the calls, in the code that is rarely run.

use oriole_chip::Chip;
use oriole_options::Optimization;
use oriole_ori::{
    Block, BlockId, Cfg, Destination, File, FormChange, Function, Guard, Instruction, Liveness, Opcode,
    Outcome, Pass, Phi, PhiSource, Pseudo, Source, SourceKind, Value, edges, effects,
};
use oriole_sass::{Mod, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    optimization: Some(Optimization::GatheredSlowPaths),
    ..Pass::new(|function, context| Outcome::changed_if(run(function, context.chip)))
};

/// Registers that code around the divisions takes, beyond the values that live past it.
const WORKING_REGISTERS: usize = 8;

/// Registers for operands and results that a group may take on any chip.
const ALWAYS: usize = 12;

/// Conditions of a group that stay in predicates until the calls.
const KEPT_CONDITIONS: usize = 2;

/// Instructions that compute a condition again.
const CONDITION: usize = 8;

/// Gathers slow paths, in SSA. True if some were.
pub fn run(function: &mut Function, chip: Chip) -> bool {
    let calls = |block: &Block| block.instructions.iter().any(is_routine_call);
    if function.blocks.iter().filter(|block| calls(block)).nth(1).is_none() {
        return false;
    }
    let graph = function.graph();
    let cfg = graph.cfg();
    let mut heads: FxHashMap<BlockId, SlowPath> = FxHashMap::default();
    for &id in cfg.order() {
        if let Some(path) = SlowPath::at(function, cfg, id) {
            heads.insert(id, path);
        }
    }
    if heads.len() < 2 {
        return false;
    }
    let liveness = Liveness::of(function, cfg, |value| function.file(value) == File::R);
    let room = Room { registers: full_occupancy(chip), liveness };
    let mut changed = false;
    let mut taken = FxHashSet::default();
    for &id in cfg.order() {
        if taken.contains(&id) {
            continue;
        }
        let mut start = id;
        while let Some(group) =
            heads.get(&start).and_then(|&first| Group::from(function, first, &heads, &room))
        {
            taken.extend(group.paths.iter().map(|path| path.head));
            let last = group.paths.len() - 1;
            // The block after the last join takes over what the join was: it may be the head of another group.
            let join = group.paths[last].join;
            let after = gather(function, group);
            changed = true;
            match heads.remove(&join) {
                Some(next) => {
                    let next = SlowPath { head: after, ..next };
                    heads.insert(after, next);
                    taken.insert(join);
                    start = after;
                }
                None => break,
            }
        }
    }
    changed
}

/// Registers of a thread where as many threads are on an SM as it holds.
fn full_occupancy(chip: Chip) -> usize {
    let Some(limits) = chip.limits() else { return 0 };
    (limits.registers_per_sm / (limits.warps_per_sm * limits.warp_threads) / 8 * 8) as usize
}

/// A call of a routine that computes lane by lane.
fn is_routine_call(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Pseudo(Pseudo::CallHelper)
        && instruction.call.as_ref().is_some_and(|call| !call.exchanges)
}

/// A branch that skips the call of a routine.
#[derive(Clone, Copy, Debug)]
struct SlowPath {
    /// The block that ends with the branch.
    head: BlockId,
    /// The block of the call.
    call: BlockId,
    /// Where both ways meet; nothing else leads there.
    join: BlockId,
    /// True where the call is skipped.
    skips: Guard,
}

impl SlowPath {
    /// That of a block, if it ends with one.
    fn at(function: &Function, cfg: &Cfg, head: BlockId) -> Option<SlowPath> {
        let block = function.block(head);
        let [join, call] = block.successors[..] else { return None };
        let end = edges::end_of_code(block);
        let [branch] = &block.instructions[end..] else { return None };
        let skips = branch.guard.filter(|_| branch.opcode == Opcode::Sass(Op::BRA))?;
        let called = function.block(call);
        // Operands and the result may be prepared there.
        let code = &called.instructions[..edges::end_of_code(called)];
        let prepares =
            |instruction: &Instruction| instruction.memory.is_none() && may_go_up(instruction, false);
        let only_calls = code.iter().filter(|it| is_routine_call(it)).count() == 1
            && code.iter().all(|it| is_routine_call(it) || prepares(it));
        let meets = called.successors.as_slice() == [join]
            && called.phis.is_empty()
            && cfg.predecessors(call) == [head]
            && cfg.predecessors(join).len() == 2
            && join != head
            && only_calls;
        meets.then_some(SlowPath { head, call, join, skips })
    }
}

/// Registers that a group may take.
struct Room {
    registers: usize,
    liveness: Liveness,
}

impl Room {
    /// Those for operands and results of calls, where a group begins with this call.
    fn of(&self, first: SlowPath) -> usize {
        let live = self.liveness.live_in(first.call).len().max(self.liveness.live_in(first.join).len());
        let used = live + WORKING_REGISTERS;
        let step = used.next_multiple_of(8).max(self.registers);
        (step - used).max(ALWAYS)
    }
}

/// Slow paths that can share a branch.
struct Group {
    paths: Vec<SlowPath>,
    /// Code that goes above the branch, in order.
    above: Vec<Instruction>,
    /// Code that goes below the last call, in order. The code of the last join is not in it.
    below: Vec<Instruction>,
    /// For each path the instructions that compute its condition again, and the condition then.
    conditions: Vec<(Vec<Instruction>, Guard)>,
}

impl Group {
    /// As many paths from the first one on as can share a branch, if that is more than one.
    fn from(
        function: &mut Function,
        first: SlowPath,
        heads: &FxHashMap<BlockId, SlowPath>,
        room: &Room,
    ) -> Option<Group> {
        let mut code: Vec<Instruction> = function.block(first.head).instructions.clone();
        code.truncate(edges::end_of_code(function.block(first.head)));
        let begin = code.len();
        let mut paths = vec![first];
        let (mut below, mut waits, mut ordered) = (Vec::new(), FxHashSet::default(), false);
        let mut counted = FxHashSet::default();
        let mut left = room.of(first).checked_sub(words(function, first, &mut counted))?;
        let mut kept = 0;
        let mut lengths = vec![(begin, 0)];
        loop {
            let path = *paths.last()?;
            let Some(&next) = heads.get(&path.join) else { break };
            waits.extend(function.block(path.join).phis.iter().map(|phi| phi.destination));
            let end = edges::end_of_code(function.block(path.join));
            for instruction in &function.block(path.join).instructions[..end] {
                if effects::is_transfer(instruction) {
                    // A thread may end here, or go elsewhere.
                    return Group::whole(function, paths, code, begin, below, &lengths);
                }
                let mut needs = false;
                instruction.for_each_use(|value| needs |= waits.contains(&value));
                if needs || !may_go_up(instruction, ordered) {
                    ordered |= orders_memory(instruction);
                    instruction.for_each_definition(|value| _ = waits.insert(value));
                    below.push(instruction.clone());
                } else {
                    code.push(instruction.clone());
                }
            }
            let mut needs = waits.contains(&next.skips.value);
            operands(function, next, |value| needs |= waits.contains(&value));
            // The results of its fast path.
            let fast = function.block(next.join).phis.iter().flat_map(Phi::values);
            needs |= fast.into_iter().any(|value| waits.contains(&value));
            let more = words(function, next, &mut counted);
            kept += usize::from(again(function, &code, next).is_none());
            if needs || more > left || kept > KEPT_CONDITIONS {
                break;
            }
            left -= more;
            paths.push(next);
            lengths.push((code.len(), below.len()));
        }
        Group::whole(function, paths, code, begin, below, &lengths)
    }

    /// The group of the paths, with the code that was looked at up to the last one.
    fn whole(
        function: &mut Function,
        paths: Vec<SlowPath>,
        mut code: Vec<Instruction>,
        begin: usize,
        mut below: Vec<Instruction>,
        lengths: &[(usize, usize)],
    ) -> Option<Group> {
        if paths.len() < 2 {
            return None;
        }
        let &(above, rest) = lengths.last()?;
        code.truncate(above);
        below.truncate(rest);
        let conditions = paths
            .iter()
            .map(|&path| match again(function, &code, path) {
                Some(places) => renamed(function, &code, &places, path.skips),
                None => (Vec::new(), path.skips),
            })
            .collect();
        let above = code.split_off(begin);
        Some(Group { paths, above, below, conditions })
    }
}

/// The values that the block of a call reads from others.
fn operands(function: &Function, path: SlowPath, mut visit: impl FnMut(Value)) {
    let mut own: Vec<Value> = Vec::new();
    for instruction in &function.block(path.call).instructions {
        instruction.for_each_use(|value| {
            if !own.contains(&value) {
                visit(value);
            }
        });
        instruction.for_each_definition(|value| own.push(value));
    }
}

/// Words of operands and results of a call that were not counted yet.
fn words(function: &Function, path: SlowPath, counted: &mut FxHashSet<Value>) -> usize {
    let before = counted.len();
    operands(function, path, |value| _ = counted.insert(value));
    counted.len() - before + function.block(path.join).phis.len()
}

/// True if an instruction orders accesses of memory around it.
fn orders_memory(instruction: &Instruction) -> bool {
    match instruction.memory {
        Some(memory) => memory.writes || memory.ordered,
        None => !effects::is_pure(instruction) && !effects::is_removable(instruction),
    }
}

/// True if an instruction may pass calls of routines, and whatever stays below the first of them.
fn may_go_up(instruction: &Instruction, ordered: bool) -> bool {
    let free = instruction.call.is_none()
        && !instruction.destinations.is_empty()
        && instruction.destinations.iter().all(|destination| destination.fixed.is_none())
        && instruction.sources.iter().all(|source| source.fixed.is_none())
        && !effects::is_convergent(instruction);
    let loads = instruction.memory.is_some_and(|memory| memory.reads && !memory.writes && !memory.ordered)
        && effects::is_removable(instruction);
    free && (effects::is_pure(instruction) || loads && !ordered)
}

/// The instructions of the code that compute the condition of a call, if they need only operands of the call.
fn again(function: &Function, code: &[Instruction], path: SlowPath) -> Option<Vec<usize>> {
    let mut known = FxHashSet::default();
    operands(function, path, |value| _ = known.insert(value));
    let mut wanted: FxHashSet<Value> = FxHashSet::default();
    wanted.insert(path.skips.value);
    let mut places = Vec::new();
    for (place, instruction) in code.iter().enumerate().rev() {
        if wanted.is_empty() {
            break;
        }
        let mut defines = false;
        instruction.for_each_definition(|value| defines |= wanted.remove(&value));
        if !defines {
            continue;
        }
        let computes =
            effects::is_pure(instruction) && instruction.tied.is_empty() && instruction.guard.is_none();
        if !computes || places.len() == CONDITION {
            return None;
        }
        places.push(place);
        instruction.for_each_use(|value| {
            if !known.contains(&value) {
                wanted.insert(value);
            }
        });
    }
    places.reverse();
    wanted.is_empty().then_some(places)
}

/// Copies of instructions with results of their own, and the condition among these.
fn renamed(
    function: &mut Function,
    code: &[Instruction],
    places: &[usize],
    skips: Guard,
) -> (Vec<Instruction>, Guard) {
    let mut names: FxHashMap<Value, Value> = FxHashMap::default();
    let mut copies = Vec::new();
    for &place in places {
        let mut copy = code[place].clone();
        copy.for_each_use_mut(|value| *value = names.get(value).copied().unwrap_or(*value));
        copy.for_each_definition_mut(|value| {
            let own = function.new_value(function.file(*value), None);
            names.insert(*value, own);
            *value = own;
        });
        copies.push(copy);
    }
    let value = names.get(&skips.value).copied().unwrap_or(skips.value);
    (copies, Guard { value, ..skips })
}

/// Rewrites a group; the block that has the code after it.
fn gather(function: &mut Function, group: Group) -> BlockId {
    let Group { paths, above, below, conditions } = group;
    let (first, last) = (paths[0], paths[paths.len() - 1]);
    // The code after the last join, with its way out.
    let after = function.blocks.next_key();
    let end = std::mem::take(&mut function.block_mut(last.join).instructions);
    let successors = std::mem::take(&mut function.block_mut(last.join).successors);
    for &to in &successors {
        edges::rename_predecessor(function, to, last.join, after);
    }
    let mut code = below;
    code.extend(end);
    function.blocks.push(Block { instructions: code, successors, ..Block::default() });
    function.block_mut(last.join).successors.push(after);
    // The first of the calls, which were skipped one by one.
    let cold = function.blocks.next_key();
    function.blocks.push(Block { cold: true, ..Block::default() });
    edges::rename_predecessor(function, first.join, first.head, cold);
    for (index, (path, (mut again, skips))) in paths.iter().zip(conditions).enumerate() {
        let from = if index == 0 { cold } else { path.head };
        let origin = function.block(path.call).instructions[0].origin;
        let mut branch = Instruction::new(Op::BRA, origin);
        branch.guard = Some(skips);
        branch.sources.push(Source::plain(SourceKind::Block(path.join)));
        again.push(branch);
        let block = function.block_mut(from);
        block.successors = [path.join, path.call].into_iter().collect();
        if index > 0 {
            block.instructions = again;
        } else {
            block.instructions.extend(again);
        }
    }
    // Results: those of the fast paths where no call was made.
    let mut results = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let from = if index == 0 { cold } else { path.head };
        let merged: Vec<(Value, Option<PhiSource>)> = function
            .block(path.join)
            .phis
            .iter()
            .map(|phi| (phi.destination, phi.source_from(from)))
            .collect();
        for (at, (destination, fast)) in merged.into_iter().enumerate() {
            let own = function.new_value(function.file(destination), None);
            function.block_mut(path.join).phis[at].destination = own;
            let sources = fast.into_iter().map(|fast| (first.head, fast));
            let sources = sources.chain([(last.join, PhiSource::Value(own))]).collect();
            results.push(Phi { destination, sources });
        }
    }
    function.block_mut(after).phis = results;
    // One condition for all.
    let head = first.head;
    let start = edges::end_of_code(function.block(head));
    let mut branch = function.block_mut(head).instructions.split_off(start).pop();
    function.block_mut(head).instructions.extend(above);
    let skips = all(function, head, &paths);
    if let Some(branch) = &mut branch {
        branch.guard = Some(skips);
        branch.sources = [Source::plain(SourceKind::Block(after))].into_iter().collect();
    }
    let block = function.block_mut(head);
    block.instructions.extend(branch);
    block.successors = [after, cold].into_iter().collect();
    after
}

/// Computes at the end of a block whether all calls are skipped.
fn all(function: &mut Function, block: BlockId, paths: &[SlowPath]) -> Guard {
    let mut skips = paths[0].skips;
    for two in paths[1..].chunks(2) {
        let both = function.new_value(File::P, None);
        let mut and = Instruction::new(Op::PLOP3, function.block(two[0].call).instructions[0].origin);
        and.mods.insert(Mod::LUT);
        and.destinations.extend([Destination::new(File::P, [both]), Destination::dropped(File::P, 1)]);
        let third = two.get(1).map_or_else(Source::pt, |path| Source::from(path.skips));
        let sources = [Source::from(skips), Source::from(two[0].skips), third];
        and.sources.extend(sources);
        and.sources.extend([Source::literal(0x80), Source::literal(0)]);
        function.block_mut(block).instructions.push(and);
        skips = Guard { value: both, negated: false };
    }
    skips
}
