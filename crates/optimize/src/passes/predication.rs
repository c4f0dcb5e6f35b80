//! Phase 63, OriDoPredication: if-conversion of short branches.
//!
//! A hammock is a block that branches over one small block, or to one of two small blocks, with a common successor.
//! Computations of the small blocks without effects are executed always; stores, loads and other effects are guarded
//! by the branch predicate. Phis become selects, or the last guarded definition keeps the other value as its old one. A
//! load does not if it would wait for another load then: both are in flight together, and a select follows them.
//! The branch is removed, and with it the divergence.
//!
//! Not converted: convergent operations, calls, already guarded instructions, and blocks longer than a limit, beyond
//! which skipping them is cheaper than issuing them. SSA in, SSA out.
//!
//! Blocks that form a straight line afterwards are merged: the schedulers work on one block at a time.

use crate::analyses::guarding::{fits, is_harmless};
use crate::{passes::branch_opt, rewriting::guarded_selections};
use oriole_options::Optimization;
use oriole_ori::pattern::{Alternative, Contest, Cost, Decisions};
use oriole_ori::{
    Allowance, Block, BlockId, Cfg, Destination, File, FormChange, Function, Guard, Instruction, Opcode,
    Origin, Outcome, Pass, Pseudo, Source, SourceKind, Value, canonical, edges, effects,
};
use oriole_sass::{Effect, Mod, Op};
use rustc_hash::FxHashMap;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// Most instructions in a side: about the cost of a branch and the reconvergence after it.
const LIMIT: usize = 7;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::InSsa,
    asks: &[Optimization::Predication, Optimization::JoinBlocks],
    ..Pass::new(|function, context| {
        let mut changed = context.wants(Optimization::Predication)
            && (run_within(function, context.decisions, context.allowance)
                | guarded_selections::run(function));
        if context.wants(Optimization::JoinBlocks) && branch_opt::join_chains(function) {
            canonical::order_blocks(function);
            changed = true;
        }
        Outcome::changed_if(changed)
    })
};

/// Converts hammocks until none is left. True if there was one.
pub fn run(function: &mut Function, decisions: Option<&Decisions>) -> bool {
    run_within(function, decisions, None)
}

fn run_within(function: &mut Function, decisions: Option<&Decisions>, allowance: Option<&Allowance>) -> bool {
    let mut changed = false;
    loop {
        let graph = function.graph();
        let cfg = graph.cfg();
        let mut uses = count_uses(function);
        let mut round = false;
        let mut touched: TiVec<BlockId, bool> = ti_vec![false; function.blocks.len()];
        // Inner hammocks come later in RPO; converting them first may make the outer ones small enough. The graph is
        // stale for blocks that a conversion touched: they wait for the next round.
        for &id in cfg.order().iter().rev() {
            let Some(hammock) = find(function, cfg, id) else { continue };
            let blocks = [Some(hammock.head), hammock.sides[0], hammock.sides[1], Some(hammock.join)];
            if blocks.iter().flatten().any(|&block| touched[block]) || !Allowance::allows(allowance) {
                continue;
            }
            blocks.iter().flatten().for_each(|&block| touched[block] = true);
            convert(function, &hammock, &mut uses, decisions);
            round = true;
        }
        if !round {
            break;
        }
        changed = true;
    }
    if changed {
        canonical::order_blocks(function);
    }
    changed
}

/// A branch and its two sides.
struct Hammock {
    head: BlockId,
    /// Place of the branch in the head.
    branch: usize,
    /// Side that is executed when the guard holds, and side that is executed when it does not; `None` for a bare
    /// edge.
    sides: [Option<BlockId>; 2],
    join: BlockId,
    guard: Guard,
}

fn count_uses(function: &Function) -> TiVec<Value, u32> {
    let mut uses: TiVec<Value, u32> = ti_vec![0; function.values.len()];
    for block in &function.blocks {
        for phi in &block.phis {
            phi.values().for_each(|v| uses[v] += 1);
        }
        for instruction in &block.instructions {
            instruction.for_each_use(|v| uses[v] += 1);
        }
    }
    uses
}

fn find(function: &Function, cfg: &Cfg, head: BlockId) -> Option<Hammock> {
    let block = function.block(head);
    let [taken, other] = block.successors[..] else { return None };
    let is_branch = |i: &Instruction| {
        i.opcode == Opcode::Sass(Op::BRA)
            && i.guard.is_some()
            && matches!(i.sources.as_slice(), [Source { kind: SourceKind::Block(_), .. }])
    };
    let branch = block.instructions.iter().position(is_branch)?;
    // At most a plain branch follows, which is removed too.
    if block.instructions.len() > branch + 2
        || block.instructions.get(branch + 1).is_some_and(|i| !effects::is_transfer(i) || i.guard.is_some())
    {
        return None;
    }
    let guard = block.instructions[branch].guard?;
    if function.file(guard.value) != File::P || taken == other {
        return None;
    }
    let side = |id: BlockId| small_side(function, cfg, head, id);
    let (sides, join) = match (side(taken), side(other)) {
        (Some(a), Some(b)) if a == b && a != taken && a != other => ([Some(taken), Some(other)], a),
        (Some(join), _) if join == other => ([Some(taken), None], join),
        (_, Some(join)) if join == taken => ([None, Some(other)], join),
        _ => return None,
    };
    let merges_words = function
        .block(join)
        .phis
        .iter()
        .all(|phi| matches!(function.file(phi.destination), File::R | File::P));
    if join == head || !merges_words {
        return None;
    }
    Some(Hammock { head, branch, sides, join, guard })
}

/// Successor of a side, if it can be converted.
fn small_side(function: &Function, cfg: &Cfg, head: BlockId, id: BlockId) -> Option<BlockId> {
    let block = function.block(id);
    let [next] = block.successors[..] else { return None };
    if cfg.predecessors(id) != [head] || next == id || !block.phis.is_empty() {
        return None;
    }
    let code = &block.instructions[..edges::end_of_code(block)];
    (code.len() <= LIMIT && code.iter().all(fits)).then_some(next)
}

/// Encodings of a value that merges two paths.
static MERGE: Contest = Contest {
    name: "a value that a condition chooses",
    alternatives: &[
        Alternative { name: "predicated: the guarded definition keeps the other value", cost: Cost::NONE },
        Alternative { name: "selected", cost: Cost::instruction(1) },
    ],
};

/// The code of both sides, guarded where it has to be.
struct Guarded {
    code: Vec<Instruction>,
    /// The guarded instruction that defines a value, to set its old value.
    definitions: Vec<(Value, usize)>,
}

fn convert(
    function: &mut Function,
    hammock: &Hammock,
    uses: &mut TiVec<Value, u32>,
    decisions: Option<&Decisions>,
) {
    let Hammock { head, branch, join, .. } = *hammock;
    let origin = function.block(head).instructions[branch].origin;
    function.block_mut(head).instructions.truncate(branch);
    let mut guarded = guard_sides(function, hammock);
    let selections = merge_phis(function, hammock, &mut guarded, uses, decisions, origin);
    for instruction in &mut guarded.code {
        keep_undefined(function, head, instruction);
    }
    uses.resize(function.values.len(), 1);
    let block = function.block_mut(head);
    block.instructions.extend(guarded.code);
    block.instructions.extend(selections);
    block.successors = smallvec::smallvec![join];
}

/// Moves the code of both sides into the head, and guards instructions that must not execute on the other path.
fn guard_sides(function: &mut Function, hammock: &Hammock) -> Guarded {
    let Hammock { sides, guard, .. } = *hammock;
    let mut guarded = Guarded { code: Vec::new(), definitions: Vec::new() };
    for (side, negated) in [(sides[0], guard.negated), (sides[1], !guard.negated)] {
        let Some(side) = side else { continue };
        let block: Block = std::mem::take(function.block_mut(side));
        let end = edges::end_of_code(&block);
        for mut instruction in block.instructions.into_iter().take(end) {
            if !is_harmless(&instruction) {
                instruction.guard = Some(Guard { value: guard.value, negated });
                let index = guarded.code.len();
                instruction.for_each_definition(|value| guarded.definitions.push((value, index)));
            }
            guarded.code.push(instruction);
        }
    }
    guarded
}

/// Replaces phis of the join by selections and copies in the head; returns those.
fn merge_phis(
    function: &mut Function,
    hammock: &Hammock,
    guarded: &mut Guarded,
    uses: &TiSlice<Value, u32>,
    decisions: Option<&Decisions>,
    origin: Origin,
) -> Vec<Instruction> {
    let Hammock { head, sides, join, guard, .. } = *hammock;
    let [first, second] = sides.map(|side| side.unwrap_or(head));
    // With at most two incoming edges the head becomes the only predecessor; otherwise other blocks lead to the join
    // too.
    let whole = function.block(join).phis.first().map_or(0, |phi| phi.sources.len()) <= 2;
    let mut phis = std::mem::take(&mut function.block_mut(join).phis);
    let mut selections = Vec::new();
    let waits = Waits::of(function, head, guarded);
    for phi in &mut phis {
        let pick = |from| phi.source_from(from).expect("a phi has a source for each incoming edge");
        let (holds, fails) = (pick(first), pick(second));
        phi.sources.retain(|(p, _)| *p != first && *p != second);
        let predicated = if holds == fails {
            Some(holds)
        } else {
            let (holds, fails) = (holds.source(), fails.source());
            let merged = MERGE.decide(decisions, origin, |alternative| match alternative {
                0 => keep_old(guarded, [&holds, &fails], uses, &waits)
                    .map(|value| Some(value.into()))
                    .ok_or("neither value is the result of a guarded instruction that can keep the other"),
                _ => Ok(None),
            });
            merged.flatten()
        };
        let merged = if let Some(value) = predicated {
            value
        } else {
            let data = function.values[phi.destination];
            let destination =
                if whole { phi.destination } else { function.new_value(data.file, data.source) };
            let sources = [holds.source(), fails.source()];
            select(function, &mut selections, destination, sources, guard, origin);
            destination.into()
        };
        if !whole {
            phi.sources.push((head, merged));
        } else if merged.value() != Some(phi.destination) {
            let mut copy = Instruction::new(Pseudo::Copy, origin);
            copy.destinations.push(Destination::new(function.file(phi.destination), [phi.destination]));
            copy.sources.push(merged.source());
            selections.push(copy);
        }
    }
    if !whole {
        function.block_mut(join).phis = phis;
    }
    selections
}

/// A guarded definition without an old value keeps an undefined old value.
fn keep_undefined(function: &mut Function, head: BlockId, instruction: &mut Instruction) {
    if instruction.guard.is_none() || !instruction.tied.is_empty() {
        return;
    }
    let mut tied = oriole_ori::Values::new();
    instruction.for_each_definition(|value| {
        let file = function.values[value].file;
        tied.push(function.new_value(file, None));
    });
    for &old in &tied {
        let mut undefined = Instruction::new(Pseudo::Undefined, instruction.origin);
        undefined.destinations.push(Destination::new(function.file(old), [old]));
        function.block_mut(head).instructions.push(undefined);
    }
    instruction.tied = tied;
}

/// How many loads of the head and the sides come one after the other before a value is known; those without any are
/// left out.
struct Waits(FxHashMap<Value, u32>);

impl Waits {
    /// Nothing is asked unless a guarded instruction loads.
    fn of(function: &Function, head: BlockId, guarded: &Guarded) -> Waits {
        let mut waits = Waits(FxHashMap::default());
        if !guarded.definitions.iter().any(|&(_, at)| is_load(&guarded.code[at])) {
            return waits;
        }
        for instruction in function.block(head).instructions.iter().chain(&guarded.code) {
            let loads = waits.before(instruction) + u32::from(is_load(instruction));
            if loads > 0 {
                instruction.for_each_definition(|value| {
                    waits.0.insert(value, loads);
                });
            }
        }
        waits
    }

    /// How many come before an instruction.
    fn before(&self, instruction: &Instruction) -> u32 {
        let mut most = 0;
        instruction.for_each_use(|value| most = most.max(self.0.get(&value).copied().unwrap_or(0)));
        most
    }

    /// Whether a load would come after one more of them if it kept this value.
    fn grow(&self, load: &Instruction, kept: Value) -> bool {
        is_load(load) && self.0.get(&kept).is_some_and(|&loads| loads > self.before(load))
    }
}

fn is_load(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Sass(op) if op.info().effect == Effect::Load)
}

/// If one path's value is the result of a guarded instruction without other readers, the value of the other path
/// becomes the old value that it keeps.
fn keep_old(
    guarded: &mut Guarded,
    [holds, fails]: [&Source; 2],
    uses: &TiSlice<Value, u32>,
    waits: &Waits,
) -> Option<Value> {
    let Guarded { code, definitions } = guarded;
    for (new, old) in [(holds, fails), (fails, holds)] {
        let (Some(new), Some(old)) = (new.as_plain_value(), old.as_plain_value()) else { continue };
        let Some(place) = definitions.iter().position(|(value, _)| *value == new) else { continue };
        let at = definitions[place].1;
        let mut defined = Vec::new();
        code[at].for_each_definition(|value| defined.push(value));
        // The other value must be available before this instruction, which must have no other reader.
        let known_later = code[at..].iter().any(|i| {
            let mut defines = false;
            i.for_each_definition(|value| defines |= value == old);
            defines
        });
        if defined.len() != 1 || uses[new] != 1 || known_later || waits.grow(&code[at], old) {
            continue;
        }
        code[at].tied.push(old);
        definitions.remove(place);
        return Some(new);
    }
    None
}

/// `destination <- guard ? holds : fails`.
fn select(
    function: &mut Function,
    code: &mut Vec<Instruction>,
    destination: Value,
    [holds, fails]: [Source; 2],
    guard: Guard,
    origin: oriole_ori::Origin,
) {
    let condition = Source::from(guard);
    if function.file(destination) == File::P {
        let mut instruction = Instruction::new(Op::PLOP3, origin);
        instruction.mods.insert(Mod::LUT);
        instruction.destinations.push(Destination::new(File::P, [destination]));
        instruction.destinations.push(Destination::dropped(File::P, 1));
        // Table of `c ? a : b` with the condition first.
        instruction.sources.extend([condition, holds, fails, Source::literal(0xca), Source::literal(0)]);
        return code.push(instruction);
    }
    // Only the second place takes an immediate.
    let is_register = |s: &Source| matches!(s.kind, SourceKind::Values(_) | SourceKind::Zero(_));
    let (first, second, condition) = if is_register(&holds) {
        (holds, fails, condition)
    } else if is_register(&fails) {
        (fails, holds, condition.inverted())
    } else {
        let value = function.new_value(File::R, None);
        let mut load = Instruction::new(Op::MOV, origin);
        load.destinations.push(Destination::new(File::R, [value]));
        load.sources.push(holds);
        code.push(load);
        (Source::value(value), fails, condition)
    };
    let mut instruction = Instruction::new(Op::SEL, origin);
    instruction.destinations.push(Destination::new(File::R, [destination]));
    instruction.sources.extend([first, second, condition]);
    code.push(instruction);
}
