//! Part of phase 74: values with several definitions, such as a loop counter, that can be in uniform registers.
//!
//! The whole warp must execute each definition, so that no lane keeps an older value. Each is a copy, or an operation
//! that the uniform datapath may have. Whether it has it, and whether every reader takes the value, is decided with
//! the other candidates (`uniform_registers`); until then the values found here are assumed uniform.

use oriole_ori::{Cfg, Divergence, File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Value};
use typed_index_collections::{TiSlice, TiVec, ti_vec};

/// Most values of this kind: they are live through loops, where descriptors and bounds need registers, too.
const MOST: usize = 12;

/// The values, in order of first definition.
pub fn find(
    function: &Function,
    cfg: &Cfg,
    divergence: &Divergence,
    definitions: &TiSlice<Value, u32>,
) -> Vec<Value> {
    let several = |value: Value| {
        definitions[value] > 1 && function.file(value) == File::R && divergence.is_uniform(value)
    };
    let mut found: Vec<Value> = Vec::new();
    let mut refused: TiVec<Value, bool> = ti_vec![false; definitions.len()];
    let mut known: TiVec<Value, bool> = ti_vec![false; definitions.len()];
    for &id in cfg.order() {
        let whole = divergence.is_uniform_block(id);
        for instruction in &function.block(id).instructions {
            let may = whole && instruction.guard.is_none() && may_be_uniform(instruction);
            instruction.for_each_definition(|value| {
                if several(value) {
                    refused[value] |= !may;
                    if !std::mem::replace(&mut known[value], true) {
                        found.push(value);
                    }
                }
            });
        }
    }
    found.retain(|&value| !refused[value]);
    found.truncate(MOST);
    found
}

fn may_be_uniform(instruction: &Instruction) -> bool {
    let single = |width: u8| instruction.destinations.iter().all(|d| d.width == width && d.fixed.is_none());
    match instruction.opcode {
        Opcode::Pseudo(Pseudo::Copy | Pseudo::ParallelCopy) => single(1),
        Opcode::Pseudo(_) => false,
        Opcode::Sass(op) => op.info().uniform.is_some() && instruction.destinations.len() == 1 && single(1),
    }
}

/// True if a copy can bring the source into a uniform register: it is a constant or in one.
pub fn fits_copy(function: &Function, source: &Source, candidates: &TiSlice<Value, Option<Value>>) -> bool {
    let plain = !source.negate && !source.absolute && !source.invert && source.fixed.is_none();
    plain
        && match &source.kind {
            SourceKind::Imm(_) | SourceKind::Zero(_) => true,
            SourceKind::Values(values) => values.iter().all(|&value| {
                function.file(value) == File::UR || candidates.get(value).is_some_and(Option::is_some)
            }),
            _ => false,
        }
}

/// Splits a mixed copy into one to general and one to uniform registers, in this order: no uniform destination has a
/// general source, so each reads what it read before.
pub fn parted(copy: &Instruction, candidates: &TiSlice<Value, Option<Value>>) -> [Option<Instruction>; 2] {
    let mut parts = [false, true].map(|_| {
        let mut part = copy.clone();
        part.destinations.clear();
        part.sources.clear();
        part
    });
    for (destination, source) in copy.destinations.iter().zip(&copy.sources) {
        let (mut destination, mut source) = (destination.clone(), source.clone());
        let uniform = destination.values.first().and_then(|&value| candidates[value]);
        if let SourceKind::Values(values) = &mut source.kind {
            values.iter_mut().for_each(|value| *value = candidates[*value].unwrap_or(*value));
        }
        if let Some(uniform) = uniform {
            destination.file = File::UR;
            destination.values[0] = uniform;
            if let SourceKind::Zero(file) = &mut source.kind {
                *file = File::UR;
            }
        }
        let part = &mut parts[usize::from(uniform.is_some())];
        part.destinations.push(destination);
        part.sources.push(source);
    }
    parts.map(|part| Some(part).filter(|part| !part.destinations.is_empty()))
}
