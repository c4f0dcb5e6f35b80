//! Two phis of 16-bit halves that are read only to be packed become one phi of packed words: `PRMT(phi(a, b), phi(c,
//! d))` is `phi(PRMT(a, c), PRMT(b, d))`. An MMA fragment that a loop carries as halves would take two registers for
//! each word.
//!
//! Part of phase 50, OriReassociateAndCommon. SSA in, SSA out. Later passes simplify the permutations on the edges.

use crate::analyses::slots::is_plain_permutation;
use oriole_ori::{
    BlockId, Destination, File, Function, Instruction, Phi, PhiSource, Source, SourceKind, Value, edges,
};
use typed_index_collections::{TiVec, ti_vec};

/// Lower half of the first operand, lower half of the last above it.
const LOWER_HALVES: u32 = 0x5410;

/// Phis of phis take as many rounds as they are deep.
const ROUNDS: usize = 4;

/// Joins phis; true if there were some.
pub fn run(function: &mut Function) -> bool {
    let joins = |i: &Instruction| halves(i).is_some();
    if !function.blocks.iter().flat_map(|block| &block.instructions).any(joins) {
        return false;
    }
    let mut changed = false;
    for _ in 0..ROUNDS {
        if !round(function) {
            break;
        }
        changed = true;
    }
    changed
}

fn round(function: &mut Function) -> bool {
    let mut uses: TiVec<Value, u32> = ti_vec![0; function.values.len()];
    let mut phi_of: TiVec<Value, Option<(BlockId, usize)>> = ti_vec![None; function.values.len()];
    for (id, block) in function.blocks.iter_enumerated() {
        for (index, phi) in block.phis.iter().enumerate() {
            phi_of[phi.destination] = Some((id, index));
            phi.values().filter(|&value| value != phi.destination).for_each(|value| uses[value] += 1);
        }
        let instructions = block.instructions.iter();
        instructions.for_each(|i| i.for_each_use(|value| uses[value] += 1));
    }
    let mut joined = Vec::new();
    for (id, block) in function.blocks.iter_enumerated() {
        for (index, instruction) in block.instructions.iter().enumerate() {
            let Some([low, high]) = halves(instruction) else { continue };
            if low == high || uses[low] != 1 || uses[high] != 1 {
                continue;
            }
            if let (Some((block, first)), Some((same, second))) = (phi_of[low], phi_of[high])
                && block == same
            {
                joined.push((id, index, block, [first, second]));
            }
        }
    }
    for &(id, index, block, halves) in &joined {
        let result = join(function, block, halves, &function.block(id).instructions[index].clone());
        let instruction = &mut function.block_mut(id).instructions[index];
        instruction.opcode = oriole_ori::Pseudo::Copy.into();
        instruction.sources = std::iter::once(Source::value(result)).collect();
    }
    !joined.is_empty()
}

/// The two registers whose lower halves an instruction packs.
fn halves(instruction: &Instruction) -> Option<[Value; 2]> {
    let [low, selector, high] = instruction.sources.as_slice() else { return None };
    let joins = is_plain_permutation(instruction)
        && instruction.guard.is_none()
        && matches!(selector.kind, SourceKind::Imm(LOWER_HALVES));
    joins.then(|| Some([low.as_plain_value()?, high.as_plain_value()?])).flatten()
}

/// Makes the phi of the packed halves of two phis of a block; returns its value.
fn join(function: &mut Function, block: BlockId, [low, high]: [usize; 2], joining: &Instruction) -> Value {
    let phis = &function.block(block).phis;
    let mut above = phis[high].sources.clone();
    above.sort_unstable_by_key(|&(from, _)| from);
    let pairs: Vec<(BlockId, PhiSource, PhiSource)> = phis[low]
        .sources
        .iter()
        .filter_map(|&(from, below)| {
            let at = above.binary_search_by_key(&from, |&(other, _)| other).ok()?;
            Some((from, below, above[at].1))
        })
        .collect();
    let data = function.values[joining.destinations[0].values[0]];
    let destination = function.new_value(data.file, data.source);
    let mut phi = Phi { destination, sources: Default::default() };
    for (from, below, above) in pairs {
        let zero = |source: PhiSource| matches!(source, PhiSource::Zero(_) | PhiSource::Imm(0));
        if zero(below) && zero(above) {
            phi.sources.push((from, PhiSource::Zero(File::R)));
            continue;
        }
        let value = function.new_value(File::R, None);
        let mut instruction = joining.clone();
        instruction.destinations = std::iter::once(Destination::new(File::R, [value])).collect();
        let [below, above] = [below, above].map(|half| load(function, from, half, joining));
        instruction.sources[0] = below;
        instruction.sources[2] = above;
        append(function, from, instruction);
        phi.sources.push((from, PhiSource::Value(value)));
    }
    function.block_mut(block).phis.push(phi);
    destination
}

/// A source of a phi as an instruction source at the end of the predecessor; a constant is moved to a register.
fn load(function: &mut Function, block: BlockId, half: PhiSource, joining: &Instruction) -> Source {
    if !matches!(half, PhiSource::Imm(_)) {
        return half.source();
    }
    let value = function.new_value(File::R, None);
    let mut load = Instruction::new(oriole_sass::Op::MOV, joining.origin);
    load.destinations.push(Destination::new(File::R, [value]));
    load.sources.push(half.source());
    append(function, block, load);
    Source::value(value)
}

fn append(function: &mut Function, block: BlockId, instruction: Instruction) {
    let block = function.block_mut(block);
    let end = edges::end_of_code(block);
    block.instructions.insert(end, instruction);
}
