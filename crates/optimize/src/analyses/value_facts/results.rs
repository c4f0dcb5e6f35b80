//! The leading and trailing bits of the result of an instruction, from those of its operands.

use super::bits::Bits;
use super::{ValueFacts, uses_input};
use crate::analyses::slots::is_plain_permutation;
use oriole_ori::{Instruction, Opcode, Source, SourceKind};
use oriole_sass::{Mod, Op, Symbol};

impl ValueFacts {
    /// Leading bits of the (lowest word of the) result.
    pub(super) fn result_bits(&self, instruction: &Instruction) -> Bits {
        let sources = &instruction.sources;
        let Opcode::Sass(op) = instruction.opcode else { return Bits::UNKNOWN };
        let has = |name: Mod| instruction.mods.has(name);
        let known = |index: usize| self.known_word(instruction, index);
        let bits = |index: usize| sources.get(index).map_or(Bits::UNKNOWN, |s| self.source_bits(s));
        match op {
            Op::LDG | Op::LD | Op::LDS | Op::LDL | Op::LDC if instruction.destinations[0].width == 1 => {
                loaded_bits(instruction)
            }
            Op::S2R => special_register_bits(instruction),
            Op::POPC => Bits::zeros(26),
            Op::SEL => bits(0).either(bits(1)),
            Op::SGXT => match known(1) {
                Some(width @ 1..=32) if has(Mod::U32) => Bits::zeros(32 - width),
                Some(width @ 1..=32) => Bits::signs(33 - width),
                _ => Bits::UNKNOWN,
            },
            Op::LOP3 => {
                let Some(table) = known(3) else { return Bits::UNKNOWN };
                let zeros = logic_zeros(table as u8, [0, 1, 2].map(|input| bits(input).zeros));
                let trailing = logic_zeros(table as u8, [0, 1, 2].map(|input| bits(input).trailing));
                Bits::zeros(zeros.into()).with_trailing(trailing)
            }
            Op::IADD3 if !has(Mod::X) => {
                let trailing = (0..3).map(|index| self.trailing_zeros(instruction, index)).min();
                Bits::UNKNOWN.with_trailing(trailing.unwrap_or(0))
            }
            Op::IMAD if !(has(Mod::X) || has(Mod::HI) || has(Mod::WIDE)) => {
                let [a, b, c] = [0, 1, 2].map(|index| self.trailing_zeros(instruction, index));
                Bits::UNKNOWN.with_trailing(c.min((a + b).min(32)))
            }
            Op::LEA if instruction.mods.is_empty() => match known(2) {
                Some(amount @ 0..32) => {
                    let shifted = (self.trailing_zeros(instruction, 0) + amount as u8).min(32);
                    Bits::UNKNOWN.with_trailing(shifted.min(self.trailing_zeros(instruction, 1)))
                }
                _ => Bits::UNKNOWN,
            },
            Op::SHF if has(Mod::L) && !has(Mod::HI) && known(2) == Some(0) => match known(1) {
                Some(amount @ 0..32) => {
                    Bits::UNKNOWN.with_trailing((bits(0).trailing + amount as u8).min(32))
                }
                _ => Bits::UNKNOWN,
            },
            Op::SHF if has(Mod::R) && has(Mod::HI) && known(0) == Some(0) => match known(1) {
                Some(amount) => shifted_bits(instruction, bits(2), amount.min(32)),
                None => Bits::UNKNOWN,
            },
            Op::PRMT if is_plain_permutation(instruction) => {
                let Some(selector) = known(1) else { return Bits::UNKNOWN };
                self.permuted_bits(instruction, selector)
            }
            Op::VIMNMX if has(Mod::U32) && !has(Mod::RELU) => {
                let (a, b) = (bits(0), bits(1));
                match sources.get(2) {
                    Some(Source { kind: SourceKind::True(_), invert: false, .. }) => {
                        Bits::zeros(a.zeros.max(b.zeros).into())
                    }
                    _ => Bits::zeros(a.zeros.min(b.zeros).into()),
                }
            }
            _ => Bits::UNKNOWN,
        }
    }

    /// Trailing zero bits of a source, whatever its sign.
    pub(super) fn trailing_zeros(&self, instruction: &Instruction, index: usize) -> u8 {
        match instruction.sources.get(index) {
            Some(source) if !source.invert && !source.absolute && source.suffixes.is_empty() => {
                self.kind_bits(&source.kind).trailing
            }
            _ => 0,
        }
    }

    /// The low 32 bits of a source, if they are known.
    fn known_word(&self, instruction: &Instruction, index: usize) -> Option<u32> {
        instruction.sources.get(index).and_then(|source| self.source_word(source)).map(|bits| bits as u32)
    }

    fn permuted_bits(&self, instruction: &Instruction, selector: u32) -> Bits {
        let zero = |byte: u32| {
            let source = &instruction.sources[if byte < 4 { 0 } else { 2 }];
            let bits = self.source_bits(source);
            u32::from(bits.zeros) >= 32 - 8 * (byte & 3)
        };
        let mut zeros = 0;
        for place in (0..4).rev() {
            if !zero(selector >> (4 * place) & 7) {
                break;
            }
            zeros += 8;
        }
        if zeros > 0 {
            return Bits::zeros(zeros);
        }
        // Sign bytes of the byte below them.
        match selector {
            0x9910 | 0xbb32 => Bits::signs(17),
            0x8880 => Bits::signs(25),
            _ => Bits::UNKNOWN,
        }
    }
}

/// The bits that a load of less than a word leaves in the upper part of the register.
fn loaded_bits(load: &Instruction) -> Bits {
    let has = |name: Mod| load.mods.has(name);
    if has(Mod::U8) {
        Bits::zeros(24)
    } else if has(Mod::U16) {
        Bits::zeros(16)
    } else if has(Mod::S8) {
        Bits::signs(25)
    } else if has(Mod::S16) {
        Bits::signs(17)
    } else {
        Bits::UNKNOWN
    }
}

/// Bounds of thread and block ids.
fn special_register_bits(read: &Instruction) -> Bits {
    match read.sources.first().map(|source| &source.kind) {
        Some(SourceKind::Symbol(Symbol::SR_LANEID)) => Bits::zeros(27),
        Some(SourceKind::Symbol(Symbol::SR_TID_X | Symbol::SR_TID_Y | Symbol::SR_TID_Z)) => Bits::zeros(22),
        Some(SourceKind::Symbol(Symbol::SR_CTAID_Y | Symbol::SR_CTAID_Z)) => Bits::zeros(16),
        Some(SourceKind::Symbol(Symbol::SR_CTAID_X)) => Bits::zeros(1),
        _ => Bits::UNKNOWN,
    }
}

/// The leading zeros that a bitwise table leaves of those of its inputs.
fn logic_zeros(table: u8, zeros: [u8; 3]) -> u8 {
    // Where an input is known to be zero, half of the table does not count.
    let mut best = 0;
    for (rows, zeros) in [0x0f, 0x33, 0x55].into_iter().zip(zeros) {
        if table & rows == 0 {
            best = best.max(zeros);
        }
    }
    // If all inputs are zero, so is the result, unless the table says otherwise.
    if table & 1 == 0 {
        let used = (0..3).filter(|&input| uses_input(table, input));
        best = best.max(used.map(|input| zeros[input]).min().unwrap_or(32));
    }
    best
}

/// A shift to the right by a known amount.
fn shifted_bits(shift: &Instruction, from: Bits, amount: u32) -> Bits {
    if shift.mods.has(Mod::U32) || (shift.mods.has(Mod::S32) && from.zeros > 0) {
        Bits::zeros((u32::from(from.zeros) + amount).min(32))
    } else if shift.mods.has(Mod::S32) {
        Bits::signs((u32::from(from.signs) + amount).min(32))
    } else {
        Bits::UNKNOWN
    }
}
