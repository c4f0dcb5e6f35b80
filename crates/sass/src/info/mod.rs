//! Facts of an opcode: class, units, effect, scoreboards, operand types. One stanza of `tables/ops.table` holds all
//! that is known of one opcode, whatever the chip; here are the types, the rows are generated.
//!
//! No algorithm may enter, and no list over opcodes: a new question is a new column.

mod columns;
mod table;

pub use columns::{
    Choice, Class, Effect, OpInfo, Queue, Scoreboard, SourceType, SourceTypes, Space, TextQuirks, Unit, When,
};

use crate::Op;

/// Opcodes with a source row that has [`SourceType::Halves`].
static READS_HALVES: [bool; Op::COUNT] = {
    let mut found = [false; Op::COUNT];
    let mut op = 0;
    while op < Op::COUNT {
        let mut row = 0;
        while row < table::INFO[op].sources.len() {
            let types = table::INFO[op].sources[row].1;
            found[op] |= matches!(types.rest, SourceType::Halves);
            let mut index = 0;
            while index < types.first.len() {
                found[op] |= matches!(types.first[index], SourceType::Halves);
                index += 1;
            }
            row += 1;
        }
        op += 1;
    }
    found
};

impl Op {
    /// Count of opcodes.
    pub const COUNT: usize = table::INFO.len();

    /// The facts of the opcode.
    #[inline]
    pub const fn info(self) -> &'static OpInfo {
        &table::INFO[self as usize]
    }

    /// True if it reads a source as f16x2, with some modifiers at least.
    #[inline]
    pub const fn reads_halves(self) -> bool {
        READS_HALVES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mod, Mods};

    #[test]
    fn every_opcode_has_a_complete_stanza() {
        for &op in Op::all() {
            let info = op.info();
            let name = op.name();
            assert!(info.class.last().is_some_and(|(when, _)| when.holds(&Mods::none())), "{name}: class");
            assert!(!info.units.is_empty(), "{name}: unit");
            let memory = matches!(info.effect, Effect::Load | Effect::Store | Effect::Atomic);
            assert_eq!(memory, info.space.is_some(), "{name}: memory space");
            // The active lanes affect what other lanes see.
            let collective = info.effect == Effect::Collective && op != Op::B2R;
            assert!(!collective || info.convergent, "{name}: convergent");
            if let Some(uniform) = info.uniform {
                let source =
                    if info.effect == Effect::Register { Effect::Register } else { Effect::PureUniform };
                assert_eq!(uniform.info().effect, source, "{name}: uniform");
            }
            for index in 0..info.commutes(&Mods::none()) {
                let first = info.source(&Mods::none(), 0);
                assert_eq!(info.source(&Mods::none(), index), first, "{name}: exchanged sources");
            }
        }
    }

    #[test]
    fn the_first_row_that_holds_counts() {
        let class = |op: Op, mods: &[Mod]| op.info().class(&Mods::of(mods));
        assert_eq!(class(Op::IMAD, &[]), Class::Fma);
        assert_eq!(class(Op::IMAD, &[Mod::HI]), Class::Wide);
        assert_eq!(class(Op::HMMA, &[Mod::_1688]), Class::MatrixOne);
        assert_eq!(class(Op::HMMA, &[Mod::_1688, Mod::TF32]), Class::MatrixTwo);
        assert_eq!(class(Op::HMMA, &[Mod::_1684, Mod::TF32]), Class::MatrixOne);
        let iadd = Op::IADD3.info();
        assert_eq!(iadd.source(&Mods::none(), 2), SourceType::Word);
        assert_eq!(iadd.source(&Mods::none(), 9), SourceType::Predicate);
        assert_eq!(Op::IMAD.info().source(&Mods::of(&[Mod::WIDE]), 2), SourceType::Other);
    }
}
