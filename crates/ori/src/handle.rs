//! Handles of textures and surfaces: the operand that holds one, and the variant of the instruction with the handle
//! in uniform registers.
//!
//! It is here because lowering and allocation must agree on it: a handle stays in a general register until it is
//! known to be warp-uniform.

use crate::{
    BlockId, Divergence, File, FlowGraph, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Value,
    Values,
};
use oriole_chip::Chip;
use oriole_sass::form::{self, SlotKind};
use oriole_sass::{Mod, Op};

/// The source that a handle in a general register is part of.
fn place(instruction: &Instruction) -> Option<usize> {
    let Opcode::Sass(op) = instruction.opcode else { return None };
    match op {
        Op::TEX | Op::TLD => instruction.mods.has(Mod::B).then_some(1),
        Op::TLD4 => instruction.mods.has(Mod::B_2).then_some(1),
        Op::TXD | Op::TXQ => instruction.mods.has(Mod::B).then_some(0),
        Op::SULD => Some(1),
        Op::SUST | Op::SURED => Some(2),
        _ => None,
    }
}

/// True for surfaces. Other instructions read two uniform registers: the second one holds a separate sampler, or
/// zero.
fn is_surface(instruction: &Instruction) -> bool {
    matches!(instruction.opcode, Opcode::Sass(Op::SULD | Op::SUST | Op::SURED))
}

/// True for instructions on textures and surfaces: all others have no handle.
pub fn takes_handle(instruction: &Instruction) -> bool {
    let Opcode::Sass(op) = instruction.opcode else { return false };
    matches!(op, Op::TEX | Op::TLD | Op::TLD4 | Op::TXD | Op::TXQ | Op::SULD | Op::SUST | Op::SURED)
}

/// The handle that the instruction reads from a general register.
pub fn handle(function: &Function, instruction: &Instruction) -> Option<Value> {
    let source = instruction.sources.get(place(instruction)?)?;
    let SourceKind::Values(values) = &source.kind else { return None };
    values.first().copied().filter(|&first| function.file(first) == File::R)
}

/// The uniform register of a texture that lacks the one of its sampler: until allocation it is alone, so that passes
/// which look for equal values do not tie one zero to several textures.
pub fn lone_handle<'a>(function: &Function, instruction: &'a mut Instruction) -> Option<&'a mut Values> {
    let fetches = [Op::TEX, Op::TLD, Op::TLD4, Op::TXD, Op::TXQ].map(Opcode::Sass);
    if !fetches.contains(&instruction.opcode) {
        return None;
    }
    instruction.sources.iter_mut().find_map(|source| match &mut source.kind {
        SourceKind::Values(values) => {
            let alone = values.len() == 1 && function.file(values[0]) == File::UR;
            alone.then_some(values)
        }
        _ => None,
    })
}

/// The blocks with instructions whose textures or samplers are in uniform registers that copy what lanes may differ in: all
/// lanes would use the handle of one. As lowering leaves them, where each is copied for the instruction that reads it.
pub fn handles_of_one_lane(function: &Function, graph: &FlowGraph) -> Vec<BlockId> {
    let uniform = |value: &Value| function.file(*value) == File::UR;
    let reads = |instruction: &Instruction, read: &mut dyn FnMut(Value)| {
        if takes_handle(instruction) {
            instruction.for_each_use(read);
        }
    };
    let mut any = false;
    for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
        reads(instruction, &mut |value| any |= uniform(&value));
    }
    if !any {
        return Vec::new();
    }
    let divergence = Divergence::new(function, graph);
    let takes = |block: &BlockId| {
        let mut copies: Vec<Value> = Vec::new();
        let mut found = false;
        for instruction in &function.block(*block).instructions {
            reads(instruction, &mut |value| found |= copies.contains(&value));
            let mut written = None;
            instruction.for_each_definition(|value| written = Some(value).filter(uniform));
            let Some(written) = written else { continue };
            copies.retain(|known| *known != written);
            let copied = Some(instruction).filter(|it| it.opcode == Opcode::Pseudo(Pseudo::Copy));
            let source = copied.and_then(|copy| copy.sources.first()?.as_plain_value());
            let apart = |&value: &Value| {
                divergence.is_divergent(value) && !is_loaded_by_all(function, &divergence, value)
            };
            copies.extend(source.filter(apart).map(|_| written));
        }
        found
    };
    function.block_ids().filter(takes).collect()
}

/// The definition of a value.
pub struct Definition {
    /// In which block.
    pub block: BlockId,
    /// At which instruction of the block.
    pub index: usize,
    /// The component of the first destination.
    pub component: usize,
}

/// The only place where a value is written, if there is just one and no guard.
pub fn definition(function: &Function, value: Value) -> Option<Definition> {
    let mut found = None;
    for block in function.block_ids() {
        for (index, instruction) in function.block(block).instructions.iter().enumerate() {
            let mut written = false;
            instruction.for_each_definition(|defined| written |= defined == value);
            if !written {
                continue;
            }
            let component = instruction.destinations.first()?.values.iter().position(|&v| v == value)?;
            if found.is_some() || instruction.guard.is_some() {
                return None;
            }
            found = Some(Definition { block, index, component });
        }
    }
    found
}

/// True for a value that the whole warp loads from one location at once.
pub fn is_loaded_by_all(function: &Function, divergence: &Divergence, value: Value) -> bool {
    let Some(at) = definition(function, value) else { return false };
    let load = &function.block(at.block).instructions[at.index];
    let loads = matches!(load.opcode, Opcode::Sass(Op::LDG | Op::LD | Op::LDS));
    let mut uniform = true;
    load.for_each_use(|used| uniform &= divergence.is_uniform(used));
    loads && uniform && divergence.is_uniform_block(at.block)
}

/// Puts another general register in place of the handle.
pub fn replace_handle(instruction: &mut Instruction, by: Value) {
    let source = place(instruction).and_then(|at| instruction.sources.get_mut(at));
    if let Some(Source { kind: SourceKind::Values(values), .. }) = source
        && let Some(first) = values.first_mut()
    {
        *first = by;
    }
}

/// Puts a uniform register in place of the handle.
pub fn make_uniform(chip: Chip, instruction: &mut Instruction, register: Value) {
    let Some(at) = place(instruction) else { return };
    let behind = if is_surface(instruction) {
        instruction.sources.remove(at);
        at
    } else {
        let bindless = if instruction.opcode == Opcode::Sass(Op::TLD4) { Mod::B_2 } else { Mod::B };
        instruction.mods.remove(bindless);
        let rest: Values = match &instruction.sources[at].kind {
            SourceKind::Values(values) => values[1..].iter().copied().collect(),
            _ => Values::new(),
        };
        instruction.sources[at] = if rest.is_empty() { Source::rz() } else { Source::values(rest) };
        2
    };
    instruction.sources.insert(behind, Source::value(register));
    if matches!(instruction.opcode, Opcode::Sass(op) if names_header(chip, op)) {
        instruction.sources.insert(behind + 1, Source::literal(0));
    }
}

/// True if the opcode takes an immediate after a handle in a uniform register.
pub fn names_header(chip: Chip, op: Op) -> bool {
    let numbered = |form: &form::Form| {
        let mut pairs = form.slots.windows(2).map(|pair| (pair[0].kind, pair[1].kind));
        pairs.any(|pair| pair == (SlotKind::UReg, SlotKind::Imm))
    };
    form::table(chip).is_some_and(|table| table.forms_of(op).iter().any(numbered))
}
