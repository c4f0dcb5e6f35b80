//! Phase 87, FixupGmmaSequence: the left factor of a `wgmma` stays in its registers until its group is waited for.
//!
//! The MMA keeps reading its registers after it is issued, although their last use is past. After the wait a
//! [`Pseudo::Keep`] reads them once more, so that they are not reallocated meanwhile. Where no wait is certain to
//! follow the definition, none is added: the next writer of the registers waits then.

use crate::analyses::definitions::Definitions;
use crate::analyses::warp_group::is_product;
use oriole_ori::{
    BlockId, Cfg, File, FormChange, Function, Instruction, Opcode, Outcome, Pass, Pseudo, SourceKind, Value,
};
use oriole_sass::{Mod, Op, Symbol};
use std::collections::BTreeMap;
use typed_index_collections::{TiVec, ti_vec};

/// More groups than a wait can name.
const MANY: i64 = 8;

/// The pass.
pub static PASS: Pass =
    Pass { form: FormChange::OutsideSsa, ..Pass::new(|function, _| Outcome::changed_if(run(function))) };

/// Factors in flight, each with the count of groups closed since, its own included.
type UnderWay = BTreeMap<Value, i64>;

/// Keeps all factors. True if there was one.
pub fn run(function: &mut Function) -> bool {
    if !function.blocks.iter().flat_map(|block| &block.instructions).any(is_product) {
        return false;
    }
    let definitions = Definitions::new(function);
    let graph = function.graph();
    let (cfg, dominators) = (graph.cfg(), graph.dominators());
    let before = under_way_at_entries(function, cfg, &definitions);
    let mut changed = false;
    for &id in cfg.order() {
        let mut state = before[id].clone();
        let instructions = std::mem::take(&mut function.block_mut(id).instructions);
        let mut out = Vec::with_capacity(instructions.len());
        for instruction in instructions {
            let done = step(function, &definitions, &mut state, &instruction);
            let origin = instruction.origin;
            out.push(instruction);
            let here = |value: &Value| {
                definitions.block(*value).is_some_and(|block| dominators.dominates(block, id))
            };
            let kept: Vec<Value> = done.into_iter().filter(here).collect();
            if !kept.is_empty() {
                let mut keep = Instruction::new(Pseudo::Keep, origin);
                keep.sources.extend(kept.into_iter().map(oriole_ori::Source::value));
                out.push(keep);
                changed = true;
            }
        }
        function.block_mut(id).instructions = out;
    }
    changed
}

fn under_way_at_entries(
    function: &Function,
    cfg: &Cfg,
    definitions: &Definitions,
) -> TiVec<BlockId, UnderWay> {
    let mut before: TiVec<BlockId, UnderWay> = ti_vec![UnderWay::new(); function.blocks.len()];
    let mut work: Vec<BlockId> = cfg.order().iter().rev().copied().collect();
    while let Some(id) = work.pop() {
        let mut state = before[id].clone();
        for instruction in &function.block(id).instructions {
            step(function, definitions, &mut state, instruction);
        }
        for &successor in &function.block(id).successors {
            let mut more = false;
            for (&value, &closed) in &state {
                let known = before[successor].entry(value).or_insert(i64::MAX);
                more |= closed < *known;
                *known = closed.min(*known);
            }
            if more && !work.contains(&successor) {
                work.push(successor);
            }
        }
    }
    before
}

/// Updates the state in flight across an instruction; returns the factors that are complete.
fn step(function: &Function, definitions: &Definitions, state: &mut UnderWay, i: &Instruction) -> Vec<Value> {
    if is_product(i) {
        // The accumulators are the result registers; the MMA keeps reading every other general register.
        let sums = i.destinations.first().map_or(0, |destination| destination.values.len());
        let last =
            i.sources.iter().rposition(|s| matches!(&s.kind, SourceKind::Values(v) if v.len() == sums));
        for (at, source) in i.sources.iter().enumerate() {
            if let SourceKind::Values(values) = &source.kind
                && Some(at) != last
                && values.iter().all(|&v| function.file(v) == File::R && definitions.is_stable(v))
            {
                state.extend(values.iter().map(|&value| (value, 0)));
            }
        }
        if i.sources.last().is_some_and(|source| source.kind == SourceKind::Symbol(Symbol::gsb0)) {
            state.values_mut().for_each(|closed| *closed = (*closed + 1).min(MANY));
        }
    } else if i.opcode == Opcode::Sass(Op::WARPGROUP) && i.mods.has(Mod::DEPBAR) {
        let left = i.sources.iter().find_map(|source| match source.kind {
            SourceKind::Literal(left) => Some(left),
            _ => None,
        });
        let left = left.unwrap_or(0);
        let done = state.iter().filter(|&(_, &closed)| closed > left).map(|(&value, _)| value).collect();
        state.retain(|_, closed| *closed <= left);
        return done;
    }
    Vec::new()
}
