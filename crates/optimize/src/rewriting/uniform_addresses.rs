//! Part of phase 74: an add of a general and a uniform register that only addresses read becomes the base and the
//! uniform part of these addresses: `[R+UR+imm]`. The add is removed.
//!
//! A uniform register is written only where the whole warp executes, so it still holds its value wherever the result
//! of the add did.

use oriole_chip::Chip;
use oriole_ori::pattern::{Alternative, Contest, Cost, Decisions};
use oriole_ori::{File, Function, Instruction, Opcode, Source, SourceKind, Value, Values, is_legal};
use oriole_sass::Op;
use typed_index_collections::{TiVec, ti_vec};

/// Encodings of an address with a uniform part.
static UNIFORM_PART: Contest = Contest {
    name: "an address with a uniform part",
    alternatives: &[
        Alternative { name: "[R+UR+imm]", cost: Cost::NONE },
        Alternative { name: "[R+imm] of the sum", cost: Cost::instruction(1) },
    ],
};

/// An add of a general and a uniform register, or why its readers cannot take the two.
#[derive(Clone, Copy)]
struct Sum {
    general: Value,
    uniform: Value,
    refused: Option<&'static str>,
}

/// Adds by the value that they define.
type Sums = TiVec<Value, Option<Sum>>;

/// Moves uniform addends into addresses. Outside SSA.
pub fn run(function: &mut Function, chip: Chip, decisions: Option<&Decisions>) {
    let mut sums = find(function);
    if sums.iter().all(Option::is_none) {
        return;
    }
    for block in &function.blocks {
        for phi in &block.phis {
            phi.values().for_each(|value| refuse(&mut sums, value, OTHER_READER));
        }
        for instruction in &block.instructions {
            check_reader(function, chip, instruction, &mut sums);
        }
    }
    for block in &mut function.blocks {
        block.instructions.retain_mut(|instruction| {
            if let Some(sum) = sum_defined(instruction, &sums) {
                let taken = UNIFORM_PART.decide(decisions, instruction.origin, |alternative| {
                    match (alternative, sum.refused) {
                        (0, None) => Ok(true),
                        (0, Some(reason)) => Err(reason),
                        _ => Ok(false),
                    }
                });
                return taken != Some(true);
            }
            if let Some(parted) = parted(instruction, &sums) {
                *instruction = parted;
            }
            true
        });
    }
}

const OTHER_READER: &str = "something else than an address reads the sum";

fn refuse(sums: &mut Sums, value: Value, reason: &'static str) {
    if let Some(sum) = &mut sums[value] {
        sum.refused.get_or_insert(reason);
    }
}

/// The adds of a general and a uniform register, with a single definition of each of the three.
fn find(function: &Function) -> Sums {
    let mut definitions: TiVec<Value, u32> = ti_vec![0; function.values.len()];
    for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
        instruction.for_each_definition(|value| definitions[value] += 1);
    }
    let mut sums: Sums = ti_vec![None; function.values.len()];
    for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
        let Some((value, sum)) = sum_of(function, instruction) else { continue };
        if [value, sum.general, sum.uniform].iter().all(|&value| definitions[value] == 1) {
            sums[value] = Some(sum);
        }
    }
    sums
}

/// `value = IADD3 general, uniform, RZ`.
fn sum_of(function: &Function, i: &Instruction) -> Option<(Value, Sum)> {
    let plain = i.opcode == Opcode::Sass(Op::IADD3) && i.mods.is_empty() && i.guard.is_none();
    let ([destination], [a, b, zero]) = (i.destinations.as_slice(), i.sources.as_slice()) else {
        return None;
    };
    let signs = |source: &Source| source.negate || source.invert || source.fixed.is_some();
    let [value] = destination.values.as_slice() else { return None };
    let zero = matches!(zero.kind, SourceKind::Zero(_));
    if !plain || !zero || destination.fixed.is_some() || i.sources.iter().any(signs) {
        return None;
    }
    let [SourceKind::Values(a), SourceKind::Values(b)] = [&a.kind, &b.kind] else { return None };
    let ([a], [b]) = (a.as_slice(), b.as_slice()) else { return None };
    let (general, uniform) = match (function.file(*a), function.file(*b)) {
        (File::R, File::UR) => (*a, *b),
        (File::UR, File::R) => (*b, *a),
        _ => return None,
    };
    Some((*value, Sum { general, uniform, refused: None }))
}

fn sum_defined(i: &Instruction, sums: &Sums) -> Option<Sum> {
    let [destination] = i.destinations.as_slice() else { return None };
    sums[*destination.values.first()?]
}

/// Refuses the adds whose result an instruction reads other than as an address base with an optional uniform part.
fn check_reader(function: &Function, chip: Chip, i: &Instruction, sums: &mut Sums) {
    let (mut read, mut bases) = (Values::new(), Values::new());
    i.for_each_use(|value| read.extend(sums[value].map(|_| value)));
    if read.is_empty() {
        return;
    }
    for source in &i.sources {
        if let SourceKind::Address(address) = &source.kind
            && let [base] = address.base.as_slice()
            && address.uniform.is_empty()
        {
            bases.push(*base);
        }
    }
    for &value in &read {
        let times = |list: &Values| list.iter().filter(|&&other| other == value).count();
        if times(&read) != times(&bases) {
            refuse(sums, value, OTHER_READER);
        }
    }
    let legal = i.opcode != Opcode::Sass(Op::QSPC)
        && parted(i, sums).is_none_or(|parted| is_legal(chip, function, &parted));
    if !legal {
        read.iter().for_each(|&value| refuse(sums, value, "no form of a reader has a uniform part"));
    }
}

/// The instruction with adds folded into its addresses; `None` if there are none to fold.
fn parted(i: &Instruction, sums: &Sums) -> Option<Instruction> {
    let mut made: Option<Instruction> = None;
    for (at, source) in i.sources.iter().enumerate() {
        let SourceKind::Address(address) = &source.kind else { continue };
        let [base] = address.base.as_slice() else { continue };
        let Some(Sum { general, uniform, refused: None }) = sums[*base] else { continue };
        let made = made.get_or_insert_with(|| i.clone());
        if let SourceKind::Address(address) = &mut made.sources[at].kind {
            address.base = Values::from_slice(&[general]);
            address.uniform = Values::from_slice(&[uniform]);
        }
    }
    made
}
