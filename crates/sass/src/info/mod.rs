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
