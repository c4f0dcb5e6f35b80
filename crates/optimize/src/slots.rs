//! How instructions read their sources: as an integer, a float, a pair. It says what a sign on an operand means, and in
//! which order operands may be exchanged.
//!
//! It is here because putting a known value in the place of a register needs it. Whether the machine has the form is
//! asked elsewhere.

use oriole_ori::{Instruction, Opcode, Pseudo, Source, SourceKind};
use oriole_sass::{Mod, Op};

/// What a source slot holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// A 32-bit integer or bits.
    Word,
    /// A single-precision number.
    Single,
    /// A double-precision number in a pair.
    Double,
    /// Two halves.
    Halves,
    /// A predicate.
    Predicate,
    /// Something else: nothing may be put there but another register.
    Other,
}

/// What the source with this index holds.
pub fn slot(instruction: &Instruction, index: usize) -> Slot {
    use Op::*;
    let has = |name: Mod| instruction.mods.has(name);
    let wide = has(Mod::WIDE) || has(Mod::HI);
    let words = |count: usize| if index < count { Slot::Word } else { Slot::Other };
    let singles = |count: usize| if index < count { Slot::Single } else { Slot::Other };
    if let Some(source) = instruction.sources.get(index)
        && matches!(source.kind, SourceKind::True(_))
    {
        return Slot::Predicate;
    }
    match instruction.opcode {
        Opcode::Sass(op) => match op {
            IADD3 if has(Mod::_64) => Slot::Other,
            IADD3 => predicate_from(index, 3, words(3)),
            IMAD if wide => words(2),
            IMAD => predicate_from(index, 3, words(3)),
            LEA if has(Mod::X) => Slot::Other,
            LEA => words(2),
            LOP3 => predicate_from(index, 4, words(3)),
            SHF | PRMT => words(3),
            SEL => predicate_from(index, 2, words(2)),
            ISETP => predicate_from(index, 2, words(2)),
            VIMNMX | IMNMX => predicate_from(index, 2, words(2)),
            VIADD | SGXT | BMSK => words(2),
            IABS | POPC | FLO | BREV | MOV => words(1),
            I2FP if !has(Mod::U64) && !has(Mod::S64) => words(1),
            VABSDIFF | IDP => words(3),
            FADD | FMUL => singles(2),
            FFMA => singles(3),
            FMNMX | FSETP | FSEL => predicate_from(index, 2, singles(2)),
            MUFU if !has(Mod::F16) && !has(Mod::BF16) && !has(Mod::RCP64H) && !has(Mod::RSQ64H) => singles(1),
            DADD | DMUL => double(index, 2),
            DFMA => double(index, 3),
            DSETP => predicate_from(index, 2, double(index, 2)),
            HADD2 | HMUL2 | HSETP2 | HSET2 | HMNMX2 => {
                predicate_from(index, 2, if index < 2 { Slot::Halves } else { Slot::Other })
            }
            HFMA2 if index < 3 => Slot::Halves,
            PLOP3 if index < 3 => Slot::Predicate,
            _ => Slot::Other,
        },
        Opcode::Pseudo(Pseudo::Copy) => words(1),
        Opcode::Pseudo(_) => Slot::Other,
    }
}

fn predicate_from(index: usize, first: usize, otherwise: Slot) -> Slot {
    if index >= first { Slot::Predicate } else { otherwise }
}

fn double(index: usize, count: usize) -> Slot {
    if index < count { Slot::Double } else { Slot::Other }
}

/// A known word as the slot reads it, the signs of the operand applied.
pub fn signed_word(slot: Slot, source: &Source, bits: u32) -> u32 {
    match slot {
        Slot::Word => {
            let bits = if source.absolute { (bits as i32).unsigned_abs() } else { bits };
            let bits = if source.invert { !bits } else { bits };
            if source.negate { bits.wrapping_neg() } else { bits }
        }
        Slot::Single | Slot::Double => {
            let bits = if source.absolute { bits & 0x7fff_ffff } else { bits };
            if source.negate { bits ^ 0x8000_0000 } else { bits }
        }
        Slot::Halves => {
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
        Slot::Predicate | Slot::Other => bits,
    }
}

/// The instruction with two of its operands exchanged so that it computes the same, or `None` if that is not possible.
pub fn exchanged(instruction: &Instruction, first: usize, second: usize) -> Option<Instruction> {
    let Opcode::Sass(op) = instruction.opcode else { return None };
    let (first, second) = (first.min(second), first.max(second));
    let mut other = instruction.clone();
    if second >= other.sources.len() {
        return None;
    }
    other.sources.swap(first, second);
    let has = |name: Mod| instruction.mods.has(name);
    match op {
        Op::IADD3 if second < 3 && !has(Mod::_64) => {}
        Op::IMAD | Op::FFMA | Op::DFMA if (first, second) == (0, 1) => {}
        Op::FADD | Op::FMUL | Op::DADD | Op::DMUL | Op::VIMNMX | Op::IMNMX | Op::FMNMX
            if (first, second) == (0, 1) => {}
        Op::VIADD if (first, second) == (0, 1) => {}
        Op::LOP3 if second < 3 => {
            let SourceKind::Literal(table) = other.sources.get(3)?.kind else { return None };
            let table = exchange_inputs(table as u8, first as u32, second as u32);
            other.sources[3].kind = SourceKind::Literal(table.into());
        }
        Op::SEL | Op::FSEL if second == 1 => other.sources[2].invert = !other.sources[2].invert,
        Op::ISETP | Op::FSETP | Op::DSETP if second == 1 && !has(Mod::EX) => {
            let (from, to) = REVERSED.iter().copied().find(|row| has(row.0))?;
            other.mods.remove(from);
            other.mods.insert(to);
        }
        Op::PRMT if (first, second) == (0, 2) && is_plain_permutation(instruction) => {
            let SourceKind::Imm(selector) = other.sources[1].kind else { return None };
            other.sources[1].kind = SourceKind::Imm(selector ^ 0x4444);
        }
        _ => return None,
    }
    Some(other)
}

/// Comparisons, and what they become when the operands are exchanged.
const REVERSED: [(Mod, Mod); 14] = [
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

/// A truth table with two of its inputs exchanged; input 0 is the most significant.
pub fn exchange_inputs(table: u8, first: u32, second: u32) -> u8 {
    let (first, second) = (2 - first, 2 - second);
    (0..8u8).fold(0, |result, row| {
        let (x, y) = (row >> first & 1, row >> second & 1);
        let other = row & !(1 << first | 1 << second) | y << first | x << second;
        result | (table >> other & 1) << row
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_follow_their_inputs() {
        // `a & !b` becomes `b & !a`; the table of `a` becomes that of `c`.
        assert_eq!(exchange_inputs(0x30, 0, 1), 0x0c);
        assert_eq!(exchange_inputs(0xf0, 0, 2), 0xaa);
    }

    #[test]
    fn opposites_and_reverses_undo_themselves() {
        for (from, to) in REVERSED {
            assert!(REVERSED.contains(&(to, from)));
            let twice = opposite(from, true).and_then(|other| opposite(other, true));
            assert_eq!(twice, Some(from));
        }
    }
}
