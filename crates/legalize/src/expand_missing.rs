//! Part of phase 45: 32-bit operations that some chips lack, after all passes that make them. The upper word of a
//! product comes from a wide multiply; min and max become a comparison and a select.

use crate::expand_wide::{expand, rewrite};
use oriole_chip::Chip;
use oriole_ori::{Builder, Destination, Function, Instruction, Opcode, Source, SourceKind};
use oriole_sass::{Mod, Mods, Op, Operand, OperandKind, form, has, legal, on_chip};

/// Operations that some chip lacks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    UpperWord,
    Extreme,
}

impl Operation {
    fn of(instruction: &Instruction) -> Option<Operation> {
        match instruction.opcode {
            Opcode::Sass(Op::IMAD) if instruction.mods.has(Mod::HI) => Some(Operation::UpperWord),
            Opcode::Sass(Op::VIMNMX) => Some(Operation::Extreme),
            _ => None,
        }
    }

    fn is_missing_on(self, chip: Chip) -> bool {
        match self {
            Operation::UpperWord => {
                let registers = vec![Operand::plain(OperandKind::Reg(0)); 4];
                let mods = Mods::of(&[Mod::HI]);
                form::table(chip).is_some_and(|forms| legal(forms, Op::IMAD, &mods, &registers).is_none())
            }
            Operation::Extreme => !has(chip, on_chip(chip, Op::VIMNMX)),
        }
    }
}

/// Expands operations that the chip lacks. True if there were some.
pub fn run(function: &mut Function, chip: Chip) -> bool {
    let instructions = || function.blocks.iter().flat_map(|block| &block.instructions);
    let missing = |operation: Operation| {
        instructions().any(|i| Operation::of(i) == Some(operation)) && operation.is_missing_on(chip)
    };
    let missing: Vec<Operation> =
        [Operation::UpperWord, Operation::Extreme].into_iter().filter(|&it| missing(it)).collect();
    if missing.is_empty() {
        return false;
    }
    let wanted = |i: &Instruction| Operation::of(i).filter(|operation| missing.contains(operation));
    rewrite(function, wanted, |builder, instruction, operation| match operation {
        Operation::UpperWord => upper_word(builder, instruction),
        Operation::Extreme => extreme(builder, &instruction),
    })
}

/// A wide multiply, of which the lower word is dead.
fn upper_word(builder: &mut Builder<'_>, instruction: Instruction) {
    expand(builder, &instruction, |emit, out| {
        let low = emit.b.r();
        let mut whole = instruction.clone();
        whole.guard = None;
        whole.tied.clear();
        whole.mods = Mods::of(if whole.mods.has(Mod::U32) { &[Mod::WIDE, Mod::U32] } else { &[Mod::WIDE] });
        whole.destinations[0] = Destination::new(oriole_ori::File::R, [low, out[0]]);
        emit.b.push(whole);
    });
}

/// Min or max by comparison and select.
fn extreme(builder: &mut Builder<'_>, instruction: &Instruction) {
    let [a, b, least] = instruction.sources.as_slice() else { return };
    let unsigned = instruction.mods.has(Mod::U32);
    expand(builder, instruction, |emit, out| {
        let chosen = emit.b.p();
        match is_truth(least) {
            Some(least) => {
                let compare = if least { Mod::LT } else { Mod::GT };
                emit.b.isetp(chosen, compare, unsigned, a.clone(), b.clone());
            }
            None => {
                let less = emit.b.p();
                emit.b.isetp(less, Mod::LT, unsigned, a.clone(), b.clone());
                // Both or neither.
                emit.b.plop3(chosen, less, least.clone(), Source::pt(), 0xc3);
            }
        }
        emit.b.sel(out[0], a.clone(), b.clone(), chosen);
    });
}

/// The constant that a predicate is, if known.
fn is_truth(source: &Source) -> Option<bool> {
    matches!(source.kind, SourceKind::True(_)).then_some(!source.invert)
}
