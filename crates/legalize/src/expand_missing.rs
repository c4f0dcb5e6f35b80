//! Part of phase 45: operations of 32 bits that some chips lack, where all that makes them has run. The upper word of a
//! product is that of a whole product; the lesser or greater of two words is chosen by a comparison.

use crate::expand_wide::expand;
use oriole_chip::Chip;
use oriole_ori::{Builder, Destination, Function, Instruction, Opcode, Origin, Source, SourceKind};
use oriole_sass::{Mod, Mods, Op, Operand, OperandKind, form, has, legal, on_chip};

/// What the chip lacks.
#[derive(Clone, Copy)]
struct Missing {
    upper_words: bool,
    extremes: bool,
}

impl Missing {
    fn on(chip: Chip) -> Missing {
        let registers = vec![Operand::plain(OperandKind::Reg(0)); 4];
        let mods = Mods::of(&[Mod::HI]);
        let table = form::table(chip);
        let upper_words = table.is_some_and(|forms| legal(forms, Op::IMAD, &mods, &registers).is_none());
        Missing { upper_words, extremes: !has(chip, on_chip(chip, Op::VIMNMX)) }
    }

    fn has(self, instruction: &Instruction) -> bool {
        match instruction.opcode {
            Opcode::Sass(Op::IMAD) => self.upper_words && instruction.mods.has(Mod::HI),
            Opcode::Sass(Op::VIMNMX) => self.extremes,
            _ => false,
        }
    }
}

/// Expands what the chip lacks. True if there was something.
pub fn run(function: &mut Function, chip: Chip) -> bool {
    let missing = Missing::on(chip);
    if !missing.upper_words && !missing.extremes {
        return false;
    }
    let mut changed = false;
    for id in function.block_ids() {
        if !function.block(id).instructions.iter().any(|instruction| missing.has(instruction)) {
            continue;
        }
        changed = true;
        let instructions = std::mem::take(&mut function.block_mut(id).instructions);
        let mut builder = Builder::new(function, id, Origin(0));
        for instruction in instructions {
            match instruction.opcode {
                _ if !missing.has(&instruction) => builder.push(instruction),
                Opcode::Sass(Op::IMAD) => upper_word(&mut builder, instruction),
                _ => extreme(&mut builder, &instruction),
            }
        }
    }
    changed
}

/// The whole product, of which the lower word is dead.
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

/// `a` if it is the one that is wanted, else `b`.
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

/// What a predicate is that is known.
fn is_truth(source: &Source) -> Option<bool> {
    matches!(source.kind, SourceKind::True(_)).then_some(!source.invert)
}
