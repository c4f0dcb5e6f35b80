//! Peephole algebra on one instruction at a time: neutral operands, chains of constants, LUTs of fewer inputs,
//! permutations of permutations, extensions of extended values, comparisons of selections, operand modifiers, 64-bit
//! operations on extended 32-bit values. Here is the choice by opcode; the folder has the rewrites.
//!
//! Every rewrite replaces one instruction by one that defines the same values, and is exact for all inputs: wrapping
//! integers, bits, and floating-point identities that hold for zeros, infinities and NaN as well.

mod bitwise;
mod choices;
mod float_signs;
mod narrow;
mod sums;

use crate::rewriting::replacement::become_copy;
use crate::rewriting::view::View;
use crate::rewriting::{float_bounds, halves};
use oriole_ori::{File, Instruction, Opcode, Pseudo, SourceKind};
use oriole_sass::Op;

/// Simplifies an instruction; true if it changed.
pub fn run(view: &View<'_>, i: &mut Instruction) -> bool {
    let mut changed = view.float_signs(i) | halves::run(view, i);
    changed |= match i.opcode {
        Opcode::Sass(op) => match op {
            Op::MOV => canonical_copy(i),
            Op::IADD3 => view.settled_carries(i) | view.add(i),
            Op::IMAD => view.multiply_add(i),
            Op::LOP3 => view.logic(i) || view.mask_half(i),
            Op::SHF => view.shift(i),
            Op::PRMT => view.permute(i),
            Op::SEL => view.select(i),
            Op::SGXT => view.extend(i),
            Op::ISETP => view.compare(i),
            Op::PLOP3 => view.join_comparison(i),
            Op::FSETP | Op::FMUL => float_bounds::run(view, i),
            _ => false,
        },
        Opcode::Pseudo(pseudo) => match pseudo {
            Pseudo::Mul64 => view.narrow_multiply(i),
            Pseudo::Shl64 => view.narrow_shift(i),
            Pseudo::SetPredicate64 => view.narrow_compare(i),
            Pseudo::Add64 => view.add_64(i),
            _ => false,
        },
    };
    changed
}

/// A move between general registers is a copy.
fn canonical_copy(i: &mut Instruction) -> bool {
    match i.sources.as_slice() {
        [only] if matches!(only.kind, SourceKind::Values(_) | SourceKind::Zero(File::R)) => {
            let only = only.clone();
            become_copy(i, only)
        }
        _ => false,
    }
}
