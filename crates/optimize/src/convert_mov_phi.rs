//! Phase 73, ConvertAllMovPhiToMov: leaves SSA.
//!
//! The phis of a block become one [`Pseudo::ParallelCopy`] on each edge into it. Critical edges are split first, so
//! each edge has a place of its own: the end of the predecessor, or the top of the block if that has only one.
//! Because all copies of an edge happen at once, exchanged values and values needed after the loop come out right. A
//! guarded definition loses its list of old values: old and new are made one register, by a copy before it if
//! they are not the same value yet.

use oriole_ori::{
    Cfg, Destination, FormChange, Function, Instruction, Opcode, Origin, Outcome, Pass, Pseudo, Source,
    SourceKind, Value, canonical,
};
use oriole_ori::{branches, edges};
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::LeavesSsa,
    ..Pass::new(|function, _| {
        run(function);
        Outcome::Changed
    })
};

/// Leaves SSA.
pub fn run(function: &mut Function) {
    if function.blocks.is_empty() {
        return;
    }
    edges::split_critical_if(function, |block| !block.phis.is_empty());
    let undefined = undefined_values(function);
    let cfg = Cfg::new(function);
    for &id in cfg.order() {
        let mut phis = std::mem::take(&mut function.block_mut(id).phis);
        if phis.is_empty() {
            continue;
        }
        // There may be as many sources as blocks: they are sorted to be searched.
        phis.iter_mut().for_each(|phi| phi.sources.sort_unstable_by_key(|(from, _)| *from));
        for &predecessor in cfg.predecessors(id) {
            let origin =
                function.block(predecessor).instructions.last().map_or(Origin(0), |last| last.origin);
            let mut code = Vec::new();
            let mut copy = Instruction::new(Pseudo::ParallelCopy, origin);
            copy.destinations.reserve(phis.len());
            copy.sources.reserve(phis.len());
            for phi in &phis {
                let Ok(at) = phi.sources.binary_search_by_key(&predecessor, |(from, _)| *from) else {
                    continue;
                };
                let (_, source) = phi.sources[at];
                if source.value() == Some(phi.destination) {
                    continue;
                }
                let destination = Destination::new(function.file(phi.destination), [phi.destination]);
                if is_undefined(&undefined, &source.source()) {
                    let mut nothing = Instruction::new(Pseudo::Undefined, origin);
                    nothing.destinations.push(destination);
                    code.push(nothing);
                } else {
                    copy.destinations.push(destination);
                    copy.sources.push(source.source());
                }
            }
            if !copy.destinations.is_empty() {
                code.push(copy);
            }
            if function.block(predecessor).successors.iter().all(|&s| s == id) {
                let block = function.block_mut(predecessor);
                let end = edges::end_of_code(block);
                block.instructions.splice(end..end, code);
            } else {
                // The only predecessor, which has other successors too.
                function.block_mut(id).instructions.splice(0..0, code);
            }
        }
    }
    untie(function, &undefined);
    // Edges that were split for nothing are whole again.
    branches::skip_empty_blocks(function);
    branches::fold_equal_targets(function);
    canonical::order_blocks(function);
}

/// Which values hold nothing that anybody may rely on.
fn undefined_values(function: &Function) -> TiVec<Value, bool> {
    let mut undefined: TiVec<Value, bool> = ti_vec![false; function.values.len()];
    for id in function.block_ids() {
        for instruction in &function.block(id).instructions {
            if instruction.opcode == Opcode::Pseudo(Pseudo::Undefined) {
                instruction.for_each_definition(|value| undefined[value] = true);
            }
        }
    }
    undefined
}

/// A source of which nothing is known needs no copy: the result is written by nothing, which ends its live range.
fn is_undefined(undefined: &TiSlice<Value, bool>, source: &Source) -> bool {
    source.as_plain_value().is_some_and(|value| undefined[value])
}

/// Writes old values into the registers of guarded definitions.
fn untie(function: &mut Function, undefined: &TiSlice<Value, bool>) {
    for id in function.block_ids() {
        if function.block(id).instructions.iter().all(|instruction| instruction.tied.is_empty()) {
            continue;
        }
        let old = std::mem::take(&mut function.block_mut(id).instructions);
        let mut new = Vec::with_capacity(old.len() + 4);
        for mut instruction in old {
            let tied = std::mem::take(&mut instruction.tied);
            if !tied.is_empty() {
                let mut results = Vec::new();
                instruction.for_each_definition(|value| results.push(value));
                let mut copy = Instruction::new(Pseudo::ParallelCopy, instruction.origin);
                for (&to, &from) in results.iter().zip(&tied) {
                    let source = Source::value(from);
                    let destination = Destination::new(function.file(to), [to]);
                    if to == from {
                        continue;
                    }
                    if is_undefined(undefined, &source) {
                        let mut nothing = Instruction::new(Pseudo::Undefined, instruction.origin);
                        nothing.destinations.push(destination);
                        new.push(nothing);
                    } else {
                        copy.destinations.push(destination);
                        copy.sources.push(source);
                    }
                }
                if !copy.destinations.is_empty() {
                    new.push(copy);
                }
                read_in_place(&mut instruction, &results, &tied);
            }
            new.push(instruction);
        }
        function.block_mut(id).instructions = new;
    }
}

/// What a guarded instruction reads of the old values it reads from the registers of its results, so that no old value has to
/// outlive its copy.
fn read_in_place(instruction: &mut Instruction, results: &[Value], tied: &[Value]) {
    for source in &mut instruction.sources {
        let SourceKind::Values(values) = &mut source.kind else { continue };
        let [value] = values.as_mut_slice() else { continue };
        if let Some(at) = tied.iter().position(|old| old == value) {
            *value = results[at];
        }
    }
}
