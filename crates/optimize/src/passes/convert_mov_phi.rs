//! Phase 73, ConvertAllMovPhiToMov: leaves SSA.
//!
//! The phis of a block become one [`Pseudo::ParallelCopy`] on each edge into it. Critical edges are split first, so
//! each edge has a place of its own: the end of the predecessor, or the top of the block if that has only one.
//! Because all copies of an edge are parallel, the swap and lost-copy problems do not arise. A guarded definition
//! loses its list of old values: old and new are made one register, by a copy before it if they are not the same
//! value yet. An old value that is a constant is copied as such, so that no register holds it.

use oriole_ori::{
    Destination, File, FormChange, Function, Instruction, Opcode, Outcome, Pass, Pseudo, Source, SourceKind,
    Value, canonical,
};
use oriole_ori::{branches, edges};
use oriole_sass::Op;
use rustc_hash::FxHashMap;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::LeavesSsa,
    ..Pass::new(|function, context| {
        let left = leave(function, context.options.level == 0);
        // Outside SSA hardly ever more is known of a value than in SSA.
        if left { Outcome::Changed } else { Outcome::Kept }
    })
};

/// Leaves SSA.
pub fn run(function: &mut Function) {
    let _ = leave(function, false);
}

/// Leaves SSA; with `keeps_jumps`, jumps that are alone in their blocks stay. True if dead definitions may remain:
/// those of undefined values and of constants, which no copy reads, and of conditions of removed branches.
fn leave(function: &mut Function, keeps_jumps: bool) -> bool {
    if function.blocks.is_empty() {
        return false;
    }
    edges::split_critical_if(function, |block| !block.phis.is_empty());
    let old_values = OldValues::new(function);
    let undefined = &old_values.undefined;
    let graph = function.graph();
    let cfg = graph.cfg();
    let ends = edges::end_origins(function, cfg);
    for &id in cfg.order() {
        let mut phis = std::mem::take(&mut function.block_mut(id).phis);
        if phis.is_empty() {
            continue;
        }
        // There may be as many sources as blocks: they are sorted to be searched.
        phis.iter_mut().for_each(|phi| phi.sources.sort_unstable_by_key(|(from, _)| *from));
        for &predecessor in cfg.predecessors(id) {
            let origin = ends[predecessor];
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
                if is_undefined(undefined, &source.source()) {
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
    let keeps_constants = untie(function, &old_values);
    // Edges that were split needlessly are merged again.
    if keeps_jumps {
        branches::skip_blocks_without_code(function);
    } else {
        branches::skip_empty_blocks(function);
    }
    let folded = branches::fold_equal_targets(function);
    canonical::order_blocks(function);
    folded || keeps_constants || old_values.undefined.contains(&true)
}

/// Facts about values that copies read.
struct OldValues {
    /// Values without defined content.
    undefined: TiVec<Value, bool>,
    /// The constants that guarded definitions keep.
    constants: FxHashMap<Value, Source>,
}

impl OldValues {
    /// Looks at all definitions of a function in SSA form.
    fn new(function: &Function) -> OldValues {
        let mut known =
            OldValues { undefined: ti_vec![false; function.values.len()], constants: FxHashMap::default() };
        for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
            if instruction.opcode == Opcode::Pseudo(Pseudo::Undefined) {
                instruction.for_each_definition(|value| known.undefined[value] = true);
            } else if let Some((value, constant)) = constant(instruction) {
                known.constants.insert(value, constant);
            }
        }
        known
    }
}

/// The immediate or zero that an instruction moves into a general register.
fn constant(instruction: &Instruction) -> Option<(Value, Source)> {
    let ([destination], [source]) = (instruction.destinations.as_slice(), instruction.sources.as_slice())
    else {
        return None;
    };
    let moves = matches!(instruction.opcode, Opcode::Sass(Op::MOV) | Opcode::Pseudo(Pseudo::Copy));
    let constant = matches!(source.kind, SourceKind::Imm(_) | SourceKind::Zero(File::R));
    let &[value] = destination.values.as_slice() else { return None };
    let plain = instruction.guard.is_none() && destination.file == File::R && destination.fixed.is_none();
    (moves && constant && plain).then(|| (value, source.clone()))
}

/// An undefined source needs no copy: the result is left without a definition, which ends its live range.
fn is_undefined(undefined: &TiSlice<Value, bool>, source: &Source) -> bool {
    source.as_plain_value().is_some_and(|value| undefined[value])
}

/// Writes old values into the registers of guarded definitions. True if one was a constant.
fn untie(function: &mut Function, old_values: &OldValues) -> bool {
    let mut keeps_constants = false;
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
                    let constant = old_values.constants.get(&from);
                    keeps_constants |= constant.is_some();
                    let source = constant.cloned().unwrap_or_else(|| Source::value(from));
                    let destination = Destination::new(function.file(to), [to]);
                    if to == from {
                        continue;
                    }
                    if is_undefined(&old_values.undefined, &source) {
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
    keeps_constants
}

/// Lets a guarded instruction read old values from its result registers, so that no old value has to outlive its
/// copy.
fn read_in_place(instruction: &mut Instruction, results: &[Value], tied: &[Value]) {
    for source in &mut instruction.sources {
        let SourceKind::Values(values) = &mut source.kind else { continue };
        let [value] = values.as_mut_slice() else { continue };
        if let Some(at) = tied.iter().position(|old| old == value) {
            *value = results[at];
        }
    }
}
