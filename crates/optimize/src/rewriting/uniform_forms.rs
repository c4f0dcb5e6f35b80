//! Part of phase 74: the form of an instruction in which results or operands are in uniform registers.
//!
//! Both the choice of values with all their readers, and that of words that are copied there anyway, ask for it. It says
//! whether there is a form and which; what is worth it is not decided here.

use crate::analyses::slots::exchanged;
use oriole_chip::Chip;
use oriole_ori::divergence::BLOCK_REGISTERS;
use oriole_ori::{File, Function, Instruction, Opcode, Pseudo, Source, SourceKind, Value, is_legal};
use oriole_sass::{Mod, Op, has, on_chip};
use typed_index_collections::TiVec;

/// For each value the UR value that would take its place.
pub(crate) type Candidates = TiVec<Value, Option<Value>>;

/// Sizes of loads from constant banks, besides a word.
const LOADED: [Mod; 5] = [Mod::U8, Mod::S8, Mod::U16, Mod::S16, Mod::_64];

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
            let plain = instruction.mods.iter().all(|m| LOADED.contains(&m));
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
        | Op::PRMT
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

/// The uniform datapath has wide multiplies only: the lower half is named like the upper one until the caller gives
/// it a value.
fn widen(product: &mut Instruction) {
    product.mods.remove(Mod::HI);
    product.mods.insert(Mod::WIDE);
    let result = &mut product.destinations[0];
    result.width = 2;
    result.values = [result.values[0]; 2].into();
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
