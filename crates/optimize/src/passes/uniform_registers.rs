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

use crate::rewriting::uniform_forms::{Candidates, fitting, moved, uniform_form};
use crate::rewriting::{uniform_addresses, uniform_chains, uniform_numbers, uniform_variables};
use oriole_chip::Chip;
use oriole_options::Optimization;
use oriole_ori::pattern::{Alternative, Contest, Cost, Decisions};
use oriole_ori::{
    Divergence, File, FormChange, Function, Instruction, Opcode, Outcome, Pass, Pseudo, Value, is_legal,
};
use oriole_sass::{Op, on_chip};
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
