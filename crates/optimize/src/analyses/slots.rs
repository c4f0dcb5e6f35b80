//! Type of each source of an instruction: integer, float, pair. It defines the meaning of a sign on an operand and
//! which operands may be swapped.
//!
//! It is here because operand folding needs it. Whether the hardware has the form is decided elsewhere.

use oriole_ori::{File, Instruction, Opcode, Pseudo, Source, SourceKind};
use oriole_sass::info::SourceType;
use oriole_sass::{Mod, Op};

/// The type of the source with this index: a column of the opcode table.
pub fn source_type(instruction: &Instruction, index: usize) -> SourceType {
    if let Some(source) = instruction.sources.get(index)
        && matches!(source.kind, SourceKind::True(_))
    {
        return SourceType::Predicate;
    }
    match instruction.opcode {
        Opcode::Sass(op) => op.info().source(&instruction.mods, index),
        Opcode::Pseudo(Pseudo::Copy) => match instruction.destinations.first().map(|d| d.file) {
            Some(File::R | File::UR) if index == 0 => SourceType::Word,
            Some(File::P | File::UP) => SourceType::Predicate,
            _ => SourceType::Other,
        },
        Opcode::Pseudo(_) => SourceType::Other,
    }
}

/// A known word as the slot reads it, with the modifiers of the operand applied.
pub fn signed_word(slot: SourceType, source: &Source, bits: u32) -> u32 {
    match slot {
        SourceType::Word => {
            let bits = if source.absolute { (bits as i32).unsigned_abs() } else { bits };
            let bits = if source.invert { !bits } else { bits };
            if source.negate { bits.wrapping_neg() } else { bits }
        }
        SourceType::Single | SourceType::Double => {
            let bits = if source.absolute { bits & 0x7fff_ffff } else { bits };
            if source.negate { bits ^ 0x8000_0000 } else { bits }
        }
        SourceType::Halves => {
            let bits = if source.suffixes.has(Mod::H0_H0) {
                bits & 0xffff | bits << 16
            } else if source.suffixes.has(Mod::H1_H1) {
                bits >> 16 | bits & 0xffff_0000
            } else {
                bits
            };
            let bits = if source.absolute { bits & 0x7fff_7fff } else { bits };
            if source.negate { bits ^ 0x8000_8000 } else { bits }
        }
        SourceType::Predicate | SourceType::Other => bits,
    }
}

/// The equivalent instruction with two operands swapped, or `None` if that is not possible.
pub fn exchanged(instruction: &Instruction, first: usize, second: usize) -> Option<Instruction> {
    let Opcode::Sass(op) = instruction.opcode else { return None };
    let (first, second) = (first.min(second), first.max(second));
    let has = |name: Mod| instruction.mods.has(name);
    let commutes = second < op.info().commutes(&instruction.mods);
    let may = commutes
        || match op {
            Op::LOP3 => second < 3,
            Op::SEL | Op::FSEL => second == 1,
            Op::ISETP | Op::FSETP | Op::DSETP => second == 1 && !has(Mod::EX),
            Op::PRMT => (first, second) == (0, 2) && is_plain_permutation(instruction),
            _ => false,
        };
    if !may || second >= instruction.sources.len() {
        return None;
    }
    let mut other = instruction.clone();
    other.sources.swap(first, second);
    match op {
        _ if commutes => {}
        Op::LOP3 => {
            let SourceKind::Literal(table) = other.sources.get(3)?.kind else { return None };
            let table = exchange_inputs(table as u8, first as u32, second as u32);
            other.sources[3].kind = SourceKind::Literal(table.into());
        }
        Op::SEL | Op::FSEL => other.sources[2].invert = !other.sources[2].invert,
        Op::ISETP | Op::FSETP | Op::DSETP => {
            let (from, to) = REVERSED.iter().copied().find(|row| has(row.0))?;
            other.mods.remove(from);
            other.mods.insert(to);
        }
        Op::PRMT => {
            let SourceKind::Imm(selector) = other.sources[1].kind else { return None };
            other.sources[1].kind = SourceKind::Imm(selector ^ 0x4444);
        }
        _ => return None,
    }
    Some(other)
}

/// Comparisons, and their counterparts with swapped operands.
pub const REVERSED: [(Mod, Mod); 14] = [
    (Mod::LT, Mod::GT),
    (Mod::GT, Mod::LT),
    (Mod::LE, Mod::GE),
    (Mod::GE, Mod::LE),
    (Mod::EQ, Mod::EQ),
    (Mod::NE, Mod::NE),
    (Mod::LTU, Mod::GTU),
    (Mod::GTU, Mod::LTU),
    (Mod::LEU, Mod::GEU),
    (Mod::GEU, Mod::LEU),
    (Mod::EQU, Mod::EQU),
    (Mod::NEU, Mod::NEU),
    (Mod::NUM, Mod::NUM),
    (Mod::NAN, Mod::NAN),
];

/// The comparison that holds where this one does not. Floating ones take their unordered opposites.
pub fn opposite(compare: Mod, floating: bool) -> Option<Mod> {
    const INTEGER: [(Mod, Mod); 6] = [
        (Mod::LT, Mod::GE),
        (Mod::GE, Mod::LT),
        (Mod::LE, Mod::GT),
        (Mod::GT, Mod::LE),
        (Mod::EQ, Mod::NE),
        (Mod::NE, Mod::EQ),
    ];
    const FLOATING: [(Mod, Mod); 14] = [
        (Mod::LT, Mod::GEU),
        (Mod::GEU, Mod::LT),
        (Mod::LE, Mod::GTU),
        (Mod::GTU, Mod::LE),
        (Mod::GT, Mod::LEU),
        (Mod::LEU, Mod::GT),
        (Mod::GE, Mod::LTU),
        (Mod::LTU, Mod::GE),
        (Mod::EQ, Mod::NEU),
        (Mod::NEU, Mod::EQ),
        (Mod::NE, Mod::EQU),
        (Mod::EQU, Mod::NE),
        (Mod::NUM, Mod::NAN),
        (Mod::NAN, Mod::NUM),
    ];
    let rows: &[(Mod, Mod)] = if floating { &FLOATING } else { &INTEGER };
    rows.iter().find(|row| row.0 == compare).map(|row| row.1)
}

/// The comparison of a compare instruction.
pub fn comparison(instruction: &Instruction) -> Option<Mod> {
    REVERSED.iter().map(|row| row.0).find(|&name| instruction.mods.has(name))
}

/// True for a permutation of bytes without a mode.
pub fn is_plain_permutation(instruction: &Instruction) -> bool {
    instruction.opcode == Opcode::Sass(Op::PRMT) && instruction.mods.is_empty()
}

/// A truth table with two of its inputs swapped; input 0 is the most significant.
pub fn exchange_inputs(table: u8, first: u32, second: u32) -> u8 {
    let (first, second) = (2 - first, 2 - second);
    (0..8u8).fold(0, |result, row| {
        let (x, y) = (row >> first & 1, row >> second & 1);
        let other = row & !(1 << first | 1 << second) | y << first | x << second;
        result | (table >> other & 1) << row
    })
}
