//! Phase 55, LateExpansion: operands that the hardware takes from uniform registers only.
//!
//! Where all lanes have the same operands, they are copied to uniform registers and the instruction is executed once
//! for all of them. Where they may differ, a waterfall loop executes it for the lanes that agree with the first
//! remaining lane. It runs after value numbering: where only a subset of the warp executes, a uniform register may
//! hold a value within one block only.

use oriole_ori::effects::wants_uniform_operands;
use oriole_ori::{
    BlockId, Builder, Divergence, File, FormChange, Function, Guard, Instruction, MemoryInfo, Opcode, Origin,
    Outcome, Pass, Pseudo, Source, SourceKind, Value, edges,
};
use oriole_sass::{Mod, Op};
use std::collections::BTreeMap;

/// The pass.
pub static PASS: Pass =
    Pass { form: FormChange::InSsa, ..Pass::new(|function, _| Outcome::changed_if(run(function))) };

/// Brings the operands to uniform registers. SSA in, SSA out. True if there were any.
pub fn run(function: &mut Function) -> bool {
    let wanted: Vec<BlockId> = function
        .block_ids()
        .filter(|&id| function.block(id).instructions.iter().any(wants_uniform_operands))
        .collect();
    if wanted.is_empty() {
        return false;
    }
    let graph = function.graph();
    let divergence = Divergence::new(function, &graph);
    let facts = Facts { divergence, constants: constants(function) };
    for id in wanted {
        block(function, &facts, id);
    }
    true
}

/// Analyses of the function.
struct Facts {
    divergence: Divergence,
    constants: BTreeMap<Value, u32>,
}

/// The values that hold a constant.
fn constants(function: &Function) -> BTreeMap<Value, u32> {
    let mut constants = BTreeMap::new();
    for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
        let moves = matches!(instruction.opcode, Opcode::Sass(Op::MOV) | Opcode::Pseudo(Pseudo::Copy));
        if let [Source { kind: SourceKind::Imm(bits), .. }] = instruction.sources.as_slice()
            && moves
            && instruction.guard.is_none()
        {
            instruction.for_each_definition(|value| {
                constants.insert(value, *bits);
            });
        }
    }
    constants
}

fn block(function: &mut Function, facts: &Facts, id: BlockId) {
    let instructions = std::mem::take(&mut function.block_mut(id).instructions);
    let successors = std::mem::take(&mut function.block_mut(id).successors);
    let whole = facts.divergence.is_uniform_block(id);
    let mut b = Builder::new(function, id, Origin(0));
    for instruction in instructions {
        if !wants_uniform_operands(&instruction) {
            b.push(instruction);
            continue;
        }
        b.set_origin(instruction.origin);
        let mut differ: Vec<Value> = Vec::new();
        instruction.for_each_use(|value| {
            if facts.divergence.is_divergent(value) && !differ.contains(&value) {
                differ.push(value);
            }
        });
        if !whole && instruction.mods.has(Mod::EXCH) {
            // A subset of the warp may have used the location otherwise before.
            let fence = b.op(Op::FENCE).mods(&[Mod::VIEW, Mod::ASYNC, Mod::S]);
            fence.memory(MemoryInfo::EVERYTHING).emit();
        }
        if differ.is_empty() {
            with_uniform_operands(&mut b, facts, instruction);
        } else {
            like_lanes_together(&mut b, facts, &differ, instruction);
        }
    }
    let last = b.block();
    function.block_mut(last).successors = successors.clone();
    if last != id {
        for successor in successors {
            edges::rename_predecessor(function, successor, id, last);
        }
    }
}

/// Emits a waterfall loop over the divergent values: the instruction is executed once for each distinct combination
/// of them.
fn like_lanes_together(b: &mut Builder<'_>, facts: &Facts, differ: &[Value], instruction: Instruction) {
    let [again, alike, next, behind] = [b.new_block(), b.new_block(), b.new_block(), b.new_block()];
    b.fall_through(again);
    b.set_block(again);
    let mut others: Option<Value> = None;
    for &value in differ {
        let differs = b.p();
        b.op(Op::R2UR).to(differs).drop_result(File::UR).from(value).emit();
        others = Some(match others {
            None => differs,
            Some(before) => {
                let either = b.p();
                b.plop3(either, before, differs, Source::pt(), 0xa8);
                either
            }
        });
    }
    let Some(others) = others else { return };
    let others = Guard { value: others, negated: false };
    b.branch(others, next, alike);
    b.set_block(alike);
    with_uniform_operands(b, facts, instruction);
    b.fall_through(next);
    b.set_block(next);
    b.branch(others, again, behind);
    b.set_block(behind);
}

fn with_uniform_operands(b: &mut Builder<'_>, facts: &Facts, mut instruction: Instruction) {
    let mut to_uniform = |value: Value| to_uniform(b, facts, value);
    for source in &mut instruction.sources {
        match &mut source.kind {
            SourceKind::Values(values) => values.iter_mut().for_each(|value| *value = to_uniform(*value)),
            SourceKind::Zero(file) => *file = File::UR,
            SourceKind::Address(address) if !address.base.is_empty() => {
                let base = std::mem::take(&mut address.base);
                address.uniform = base.into_iter().map(&mut to_uniform).collect();
            }
            _ => {}
        }
    }
    b.push(instruction);
}

fn to_uniform(b: &mut Builder<'_>, facts: &Facts, value: Value) -> Value {
    if b.function().file(value) == File::UR {
        return value;
    }
    let uniform = b.temporary(File::UR);
    match facts.constants.get(&value) {
        Some(&bits) => b.op(Op::UMOV).to(uniform).from(bits).emit(),
        None => b.op(Pseudo::Copy).to(uniform).from(value).emit(),
    }
    uniform
}
