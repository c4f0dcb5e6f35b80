//! Handles of textures and surfaces on chips that read them from uniform registers.
//!
//! Lowering leaves a handle in a general register. Here it moves to a uniform one where the whole warp computes it.
//! Where lanes may have different handles, a waterfall loop handles one of them at a time. A handle that is uniform
//! among the lanes that execute the instruction but not computed by the whole warp stays: allocation moves it right
//! before its use.

use oriole_chip::Chip;
use oriole_ori::handle::{definition, handle, is_loaded_by_all, make_uniform, replace_handle};
use oriole_ori::{
    BlockId, Builder, Destination, Divergence, File, Function, Guard, Instruction, Opcode, Pseudo, Source,
    SourceKind, Value,
};
use oriole_sass::{Mod, Op};
use std::collections::BTreeMap;

/// Moves all handles. `uniform` says that uniform registers may be live across blocks.
pub(crate) fn settle_handles(function: &mut Function, chip: Chip, uniform: bool) {
    if !chip.uniform_handles() {
        return;
    }
    let mut places: Vec<(BlockId, usize, Value)> = Vec::new();
    for block in function.block_ids() {
        for (index, instruction) in function.block(block).instructions.iter().enumerate() {
            places.extend(handle(function, instruction).map(|value| (block, index, value)));
        }
    }
    if places.is_empty() {
        return;
    }
    let graph = function.graph();
    let divergence = Divergence::new(function, &graph);
    let may_stay = uniform && function.is_entry && !has_calls(function);
    let mut made: BTreeMap<Value, Option<Value>> = BTreeMap::new();
    let mut divergent = Vec::new();
    for (block, index, value) in places {
        if divergence.is_divergent(value) && !is_loaded_by_all(function, &divergence, value) {
            divergent.push((block, index, value));
            continue;
        }
        let register = *made.entry(value).or_insert_with(|| {
            let definition = definition(function, value).filter(|_| may_stay)?;
            let by_all = divergence.is_uniform_block(definition.block);
            by_all.then(|| function.new_value(File::UR, None))
        });
        if let Some(register) = register {
            make_uniform(chip, &mut function.block_mut(block).instructions[index], register);
        }
    }
    // From the last one on, so that the indices of the others stay valid.
    for (block, index, value) in divergent.into_iter().rev() {
        one_at_a_time(function, block, index, value);
    }
    for (value, register) in made {
        if let Some(register) = register {
            make(function, chip, value, register);
        }
    }
    oriole_ori::canonical::canonicalize(function);
}

fn has_calls(function: &Function) -> bool {
    function.blocks.iter().flat_map(|block| &block.instructions).any(|instruction| instruction.call.is_some())
}

/// Makes the uniform copy of a handle where the handle is made.
fn make(function: &mut Function, chip: Chip, value: Value, register: Value) {
    let Some(at) = definition(function, value) else { return };
    let source = &function.block(at.block).instructions[at.index];
    let mut copy = Instruction::new(Pseudo::Copy, source.origin);
    let mut from = Source::value(value);
    // A constant-bank word is loaded directly.
    if let (Opcode::Sass(Op::LDC), [only]) = (source.opcode, source.sources.as_slice())
        && let &SourceKind::Const { bank, base, offset } = &only.kind
    {
        copy = Instruction::new(oriole_sass::on_chip(chip, Op::ULDC), source.origin);
        let offset = offset + 4 * at.component as i32;
        from = Source::plain(SourceKind::Const { bank, base, offset });
    }
    copy.destinations.push(Destination::new(File::UR, [register]));
    copy.sources.push(from);
    function.block_mut(at.block).instructions.insert(at.index + 1, copy);
}

/// Puts an instruction into a waterfall loop: in each iteration the lanes with the handle of one of them execute it
/// and leave.
fn one_at_a_time(function: &mut Function, block: BlockId, index: usize, value: Value) {
    let mut rest = function.block_mut(block).instructions.split_off(index);
    let mut instruction = rest.remove(0);
    let origin = instruction.origin;
    let mut b = Builder::new(function, block, origin);
    let (again, behind) = (b.new_block(), b.new_block());
    let successors = std::mem::take(&mut b.function_mut().block_mut(block).successors);
    b.function_mut().block_mut(behind).successors = successors;
    b.function_mut().block_mut(behind).instructions = rest;
    match instruction.guard.take() {
        Some(guard) => b.branch(Guard { negated: !guard.negated, ..guard }, behind, again),
        None => b.fall_through(again),
    }
    b.set_block(again);
    let [lanes, first, shared] = [b.r(), b.r(), b.r()];
    let same = b.p();
    b.op(Op::VOTE).m(Mod::ANY).to(lanes).drop_result(File::P).from(Source::pt()).emit();
    b.op(Op::FLO).m(Mod::U32).to(first).from(lanes).emit();
    b.op(Op::SHFL)
        .m(Mod::IDX)
        .drop_result(File::P)
        .to(shared)
        .from(value)
        .from(first)
        .from(Source::literal(0x1f))
        .emit();
    b.isetp(same, Mod::EQ, true, value, shared);
    replace_handle(&mut instruction, shared);
    instruction.guard = Some(Guard { value: same, negated: false });
    b.push(instruction);
    b.branch(Guard { value: same, negated: true }, again, behind);
}
