//! The latency tables, one file a chip: what a table holds, and which chip has which. Each number carries its origin.

mod sm_80;
mod sm_89;
mod sm_90;

use crate::Class;
use crate::distance::{Cell, Row};
use crate::group::{Consumer, Producer};
use oriole_sass::{Mod, Op};

/// The latency table of one chip.
pub struct Tables {
    /// The numbers of the chips that the table speaks for.
    pub chips: &'static [u8],
    /// Read after write.
    pub raw: &'static [Row<Producer, Consumer>],
    /// Write after write, both of fixed latency.
    pub waw: &'static [Row<Producer, Producer>],
    /// A write by scoreboard after a write of fixed latency, where that one takes no longer than usual.
    pub waw_variable: u8,
    /// The same where it is another number.
    pub waw_variable_of: &'static [(Producer, Cell)],
    /// Write after read, both of fixed latency.
    pub war: &'static [(Consumer, Producer, Cell)],
    /// What an unlisted pair of those takes.
    pub war_default: u8,
    /// Write by scoreboard after a read of fixed latency, where that is another number.
    pub war_variable: &'static [(Consumer, Cell)],
    /// What is not a distance.
    pub timing: &'static Timing,
}

/// Facts of classes and opcodes on a chip. Where a list is silent, the table of opcodes holds.
pub struct Timing {
    /// Classes whose results arrive, or whose sources are read, at a time that only a scoreboard tells.
    pub variable: &'static [Class],
    /// Opcodes that are of another class here if they have these modifiers.
    pub classes: &'static [(Op, &'static [Mod], Class)],
    /// Opcodes with another least stall.
    pub stalls: &'static [(Op, u8)],
    /// Issue cycles for which an instruction of a class keeps its units busy.
    pub intervals: &'static [(Class, u8)],
    /// The same for opcodes that are not like their class.
    pub intervals_of: &'static [(Op, Class, u8)],
    /// Opcodes with another estimate of the time until a variable result arrives.
    pub estimates: &'static [(Op, u16)],
}

/// Every table.
pub const ALL: &[&Tables] = &[&sm_80::TABLES, &sm_89::TABLES, &sm_90::TABLES];
