//! Phase 74, ConvertToUniformReg: moves warp-uniform values from R to UR.
//!
//! Candidates are unguarded single definitions in blocks that the whole warp executes: loads from constant banks,
//! block ids, the rank in the cluster, and operations on candidates and immediates only; floating-point ones where
//! the chip has a uniform datapath for them. A candidate is taken if every reader has a form that takes it from UR in
//! its slot (or with operands swapped). A reader that could take one of two keeps the first that fits. A value that
//! some reader needs in R stays in R, so no copies are made. A constant-bank word that is copied is needed in R where
//! only a load gets it there: that load is the copy.
//!
//! Values with several definitions are candidates as well, see `uniform_variables`.
//!
//! Moved values are written only where the whole warp executes, so no reader in a divergent block can see a later
//! value. Only kernels are considered: a subset of the warp may enter a function.

use crate::analyses::slots::exchanged;
use crate::rewriting::{uniform_addresses, uniform_chains, uniform_numbers, uniform_variables};
use oriole_chip::Chip;
use oriole_options::Optimization;
use oriole_ori::divergence::BLOCK_REGISTERS;
use oriole_ori::pattern::{Alternative, Contest, Cost, Decisions};
use oriole_ori::{
    Divergence, File, FormChange, Function, Instruction, Opcode, Outcome, Pass, Pseudo, Source, SourceKind,
    Value, is_legal,
};
use oriole_sass::{Mod, Op, has, on_chip};
use rustc_hash::FxHashSet;
use typed_index_collections::{TiVec, ti_vec};

/// Most values that are moved: UR has 63 registers, and descriptors and loop bounds need some.
const LIMIT: usize = 32;

/// The pass.
pub static PASS: Pass = Pass {
    form: FormChange::OutsideSsa,
    optimization: Some(Optimization::UniformRegisters),
    ..Pass::new(|function, context| Outcome::changed_if(run(function, context.chip, context.decisions)))
};

/// Moves values to uniform registers. True if there may have been some. Outside SSA.
pub fn run(function: &mut Function, chip: Chip, decisions: Option<&Decisions>) -> bool {
    if !function.is_entry || function.blocks.is_empty() || !chip.has_uniform_datapath() {
        return false;
    }
    let found = find(function, chip);
    let mut candidates = found.clone();
    drop_copied(function, chip, &mut candidates);
    drop_unfit(function, chip, &mut candidates);
    for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
        if definition_candidate(instruction, &found) {
            let stays = !definition_candidate(instruction, &candidates);
            UNIFORM.decide(decisions, instruction.origin, |alternative| match alternative {
                0 if stays => Err("a reader takes it from a general register only"),
                _ => Ok(()),
            });
        }
    }
    rewrite(function, chip, &candidates);
    uniform_chains::run(function, chip);
    uniform_addresses::run(function, chip, decisions);
    uniform_numbers::run(function, chip);
    true
}

/// Register file of a warp-uniform value.
static UNIFORM: Contest = Contest {
    name: "a uniform value",
    alternatives: &[
        Alternative { name: "in a uniform register", cost: Cost::NONE },
        Alternative { name: "in a general register", cost: Cost { registers: 1, ..Cost::NONE } },
    ],
};

/// For each value the UR value that would take its place.
pub(crate) type Candidates = TiVec<Value, Option<Value>>;

fn find(function: &mut Function, chip: Chip) -> Candidates {
    let graph = function.graph();
    let cfg = graph.cfg();
    let divergence = Divergence::new(function, &graph);
    let count = function.values.len();
    let mut definitions: TiVec<Value, u32> = ti_vec![0u32; count];
    for block in &function.blocks {
        for instruction in &block.instructions {
            instruction.for_each_definition(|v| definitions[v] += 1);
        }
    }
    let mut candidates: Candidates = ti_vec![None; count];
    let variables = uniform_variables::find(function, cfg, &divergence, &definitions);
    // Most of them are dropped again, so they take no slots from the others.
    let mut found = 0;
    for value in variables {
        let source = function.values[value].source;
        candidates[value] = Some(function.new_value(File::UR, source));
    }
    for &id in cfg.order() {
        if !divergence.is_uniform_block(id) {
            continue;
        }
        for index in 0..function.block(id).instructions.len() {
            let instruction = &function.block(id).instructions[index];
            let [destination] = instruction.destinations.as_slice() else { continue };
            let results = destination.values.clone();
            let single = results
                .iter()
                .all(|v| definitions[*v] == 1 && function.file(*v) == File::R && divergence.is_uniform(*v));
            if results.is_empty() || !single || instruction.guard.is_some() || found >= LIMIT {
                continue;
            }
            if uniform_form(chip, instruction, &candidates).is_some() {
                found += results.len();
                for value in results {
                    let source = function.values[value].source;
                    let uniform = function.new_value(File::UR, source);
                    candidates[value] = Some(uniform);
                }
            }
        }
    }
    candidates.resize(function.values.len(), None);
    candidates
}

/// The instruction on the uniform datapath, if all its sources are uniform there; results still named as in R.
pub(crate) fn uniform_form(
    chip: Chip,
    instruction: &Instruction,
    candidates: &Candidates,
) -> Option<Instruction> {
    let Opcode::Sass(op) = instruction.opcode else { return None };
    let fixed =
        instruction.destinations[0].fixed.is_some() || instruction.sources.iter().any(|s| s.fixed.is_some());
    if fixed {
        return None;
    }
    let twin = on_chip(chip, op.info().uniform?);
    if !has(chip, twin) {
        return None;
    }
    let computes = match op {
        Op::LDC => {
            let plain = instruction.mods.iter().all(|m| m == Mod::_64);
            if !plain
                || !matches!(instruction.sources.as_slice(), [Source { kind: SourceKind::Const { .. }, .. }])
            {
                return None;
            }
            false
        }
        Op::S2R => {
            let [Source { kind: SourceKind::Symbol(register), .. }] = instruction.sources.as_slice() else {
                return None;
            };
            if !BLOCK_REGISTERS.contains(register) {
                return None;
            }
            false
        }
        Op::IADD3
        | Op::IMAD
        | Op::LEA
        | Op::LOP3
        | Op::SHF
        | Op::FADD
        | Op::FMUL
        | Op::FFMA
        | Op::FMNMX
        | Op::I2F
        | Op::I2FP
        | Op::F2I => {
            // Immediates alone are folded elsewhere: there must be a uniform value to work on.
            let reads = |s: &Source| match &s.kind {
                SourceKind::Values(values) => values.len() == 1 && candidates[values[0]].is_some(),
                _ => false,
            };
            let neutral = |s: &Source| {
                matches!(
                    s.kind,
                    SourceKind::Imm(_)
                        | SourceKind::Literal(_)
                        | SourceKind::Address32 { .. }
                        | SourceKind::Zero(_)
                        | SourceKind::True(_)
                )
            };
            let plain = instruction.destinations[0].width == 1 && !instruction.mods.has(Mod::X);
            let simple = !instruction.mods.has(Mod::WIDE) && !instruction.mods.has(Mod::HI) || op == Op::SHF;
            if !(plain && (simple || is_product(instruction, Mod::HI)) || is_product(instruction, Mod::WIDE))
                || !instruction.sources.iter().any(reads)
                || !instruction.sources.iter().all(|s| reads(s) || neutral(s))
            {
                return None;
            }
            true
        }
        _ => return None,
    };
    let mut uniform = instruction.clone();
    uniform.opcode = twin.into();
    if computes {
        for source in &mut uniform.sources {
            match &mut source.kind {
                SourceKind::Zero(file) => *file = File::UR,
                SourceKind::True(file) => *file = File::UP,
                _ => {}
            }
        }
        if is_product(instruction, Mod::HI) {
            widen(&mut uniform);
        }
    }
    Some(uniform)
}

/// The upper half of a multiply (`HI`) or all of it (`WIDE`), without an addend.
fn is_product(instruction: &Instruction, part: Mod) -> bool {
    instruction.opcode == Opcode::Sass(Op::IMAD)
        && instruction.mods.has(part)
        && !instruction.mods.has(Mod::X)
        && instruction.destinations.len() == 1
        && instruction.sources.get(2).is_some_and(|addend| matches!(addend.kind, SourceKind::Zero(_)))
}

/// The uniform datapath has wide multiplies only: the lower half is named like the upper one until [`rewrite`] gives
/// it a value.
fn widen(product: &mut Instruction) {
    product.mods.remove(Mod::HI);
    product.mods.insert(Mod::WIDE);
    let result = &mut product.destinations[0];
    result.width = 2;
    result.values = [result.values[0]; 2].into();
}

/// Gives up words of constant banks that are copied to R, where only loads read constant banks.
fn drop_copied(function: &Function, chip: Chip, candidates: &mut Candidates) {
    if on_chip(chip, Op::ULDC) == Op::ULDC {
        return;
    }
    let instructions = || function.blocks.iter().flat_map(|block| &block.instructions);
    let copies = instructions().filter(|i| i.opcode == Opcode::Pseudo(Pseudo::Copy));
    let copied: FxHashSet<Value> = copies
        .filter(|copy| copy.destinations[0].file == File::R)
        .filter_map(|copy| copy.sources[0].as_plain_value())
        .collect();
    for load in instructions().filter(|i| i.opcode == Opcode::Sass(Op::LDC)) {
        let mut wanted = false;
        load.for_each_definition(|value| wanted |= copied.contains(&value));
        if wanted {
            load.for_each_definition(|value| candidates[value] = None);
        }
    }
}

/// Gives up candidates until every reader of the rest can take them.
fn drop_unfit(function: &Function, chip: Chip, candidates: &mut Candidates) {
    loop {
        let before = candidates.iter().flatten().count();
        for block in &function.blocks {
            for instruction in &block.instructions {
                if instruction.is_copy() {
                    drop_unfit_copies(function, instruction, candidates);
                    continue;
                }
                let defines = definition_candidate(instruction, candidates);
                if defines {
                    // A definition that moves must still have its form: its operands may have been dropped.
                    let form = uniform_form(chip, instruction, candidates)
                        .map(|form| moved(&form, candidates, true));
                    let whole = instruction.destinations[0].values.iter().all(|v| candidates[*v].is_some());
                    if form.is_some_and(|form| whole && is_legal(chip, function, &form)) {
                        continue;
                    }
                    instruction.for_each_definition(|v| candidates[v] = None);
                }
                drop_unfit_operands(function, chip, instruction, candidates);
            }
            for phi in &block.phis {
                phi.values().for_each(|v| candidates[v] = None);
            }
        }
        if candidates.iter().flatten().count() == before {
            return;
        }
    }
}

/// Drops values that a copy cannot bring into a uniform register, and sources of parallel copies to general
/// registers: those would take an additional move.
fn drop_unfit_copies(function: &Function, copy: &Instruction, candidates: &mut Candidates) {
    for (destination, source) in copy.destinations.iter().zip(&copy.sources) {
        let mut uniform = destination.file == File::UR;
        for &value in &destination.values {
            if !uniform_variables::fits_copy(function, source, candidates) {
                candidates[value] = None;
            }
            uniform |= candidates[value].is_some();
        }
        let moves = copy.opcode == Opcode::Pseudo(Pseudo::Copy) && destination.file == File::R;
        if !uniform && !moves {
            source.for_each_value(|value| candidates[value] = None);
        }
    }
}

fn definition_candidate(instruction: &Instruction, candidates: &Candidates) -> bool {
    let mut any = false;
    instruction.for_each_definition(|v| any |= candidates[v].is_some());
    any
}

fn drop_unfit_operands(
    function: &Function,
    chip: Chip,
    instruction: &Instruction,
    candidates: &mut Candidates,
) {
    let mut read: Vec<Value> = Vec::new();
    instruction.for_each_use(|v| {
        if candidates[v].is_some() {
            read.push(v);
        }
    });
    read.sort_unstable();
    read.dedup();
    if read.is_empty() || fitting(function, chip, instruction, candidates).is_some() {
        return;
    }
    // Keep one operand if it fits alone.
    for source in &instruction.sources {
        let mut kept: Vec<Value> = Vec::new();
        source.for_each_value(|v| kept.push(v));
        if kept.is_empty() || !kept.iter().all(|v| candidates[*v].is_some()) {
            continue;
        }
        let mut alone = candidates.clone();
        read.iter().filter(|v| !kept.contains(v)).for_each(|v| alone[*v] = None);
        if fitting(function, chip, instruction, &alone).is_some() {
            *candidates = alone;
            return;
        }
    }
    read.iter().for_each(|v| candidates[*v] = None);
}

/// The instruction with its candidates in UR, with the first operand order that has a form.
pub(crate) fn fitting(
    function: &Function,
    chip: Chip,
    instruction: &Instruction,
    candidates: &Candidates,
) -> Option<Instruction> {
    let new = moved(instruction, candidates, false);
    // Guards and tuples of which only a part would move need R.
    let mut left = false;
    new.for_each_use(|v| left |= candidates.get(v).is_some_and(|c| c.is_some()));
    if left {
        return None;
    }
    if let Opcode::Pseudo(pseudo) = new.opcode {
        // A copy is a move; a 64-bit add is split into adds that take one uniform operand second.
        let uniform = |s: &Source| is_uniform(function, candidates, s);
        return match pseudo {
            Pseudo::Copy if matches!(new.destinations[0].file, File::R | File::UR) => Some(new),
            Pseudo::Add64 if uniform(&new.sources[0]) != uniform(&new.sources[1]) => {
                let mut new = new;
                if uniform(&new.sources[0]) {
                    new.sources.swap(0, 1);
                }
                let [first, second] = [&new.sources[0], &new.sources[1]];
                let in_registers = matches!(first.kind, SourceKind::Values(_));
                (in_registers && !first.negate && matches!(second.kind, SourceKind::Values(_))).then_some(new)
            }
            _ => None,
        };
    }
    let legal = |ordered: &Instruction| is_legal(chip, function, ordered);
    let others = [(0, 1), (1, 2), (0, 2)].into_iter().filter_map(|(a, b)| exchanged(&new, a, b));
    std::iter::once(new.clone()).chain(others).find(legal)
}

fn is_uniform(function: &Function, candidates: &Candidates, source: &Source) -> bool {
    let mut uniform = false;
    source.for_each_value(|v| {
        uniform |= function.file(v) == File::UR || candidates.get(v).is_some_and(|c| c.is_some());
    });
    uniform
}

/// The instruction with candidates renamed; a tuple is renamed whole or not at all.
pub(crate) fn moved(instruction: &Instruction, candidates: &Candidates, results: bool) -> Instruction {
    let mut new = instruction.clone();
    for source in &mut new.sources {
        if let SourceKind::Values(values) = &mut source.kind {
            let renamed: Option<Vec<Value>> = values.iter().map(|v| candidates[*v]).collect();
            if let Some(renamed) = renamed {
                values.iter_mut().zip(renamed).for_each(|(v, new)| *v = new);
            }
        } else if let SourceKind::Address(address) = &mut source.kind
            && let [base] = address.base.as_slice()
            && let Some(uniform) = candidates[*base]
            && address.uniform.is_empty()
        {
            address.base.clear();
            address.uniform.push(uniform);
        }
    }
    if results {
        for destination in &mut new.destinations {
            destination.file = File::UR;
            for value in &mut destination.values {
                if let Some(uniform) = candidates[*value] {
                    *value = uniform;
                }
            }
        }
    }
    new
}

fn rewrite(function: &mut Function, chip: Chip, candidates: &Candidates) {
    if candidates.iter().all(Option::is_none) {
        return;
    }
    for id in function.block_ids() {
        let mut instructions = std::mem::take(&mut function.block_mut(id).instructions);
        part_copies(&mut instructions, candidates);
        for instruction in &mut instructions {
            if definition_candidate(instruction, candidates) {
                if let Some(form) = uniform_form(chip, instruction, candidates) {
                    *instruction = moved(&form, candidates, true);
                    if let [lower, upper] = instruction.destinations[0].values[..]
                        && lower == upper
                    {
                        instruction.destinations[0].values[0] =
                            function.new_value(File::UR, function.values[upper].source);
                    }
                }
                continue;
            }
            let mut reads = false;
            instruction.for_each_use(|v| reads |= candidates[v].is_some());
            if reads && let Some(new) = fitting(function, chip, instruction, candidates) {
                *instruction = new;
            }
        }
        function.block_mut(id).instructions = instructions;
    }
}

/// Lets copies of both kinds be two instructions, with candidates renamed.
fn part_copies(instructions: &mut Vec<Instruction>, candidates: &Candidates) {
    let is_parted = |copy: &Instruction| copy.is_copy() && definition_candidate(copy, candidates);
    if !instructions.iter().any(is_parted) {
        return;
    }
    let mut parted = Vec::with_capacity(instructions.len() + 1);
    for instruction in instructions.drain(..) {
        if is_parted(&instruction) {
            parted.extend(uniform_variables::parted(&instruction, candidates).into_iter().flatten());
        } else {
            parted.push(instruction);
        }
    }
    *instructions = parted;
}
