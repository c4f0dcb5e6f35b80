//! The structure of a latency table: values with their origin, rows of producers, and facts about classes and opcodes
//! of a chip. A table may be a delta of another one, as the form tables may.

use crate::Class;
use crate::group::{Consumer, Producer};
use oriole_sass::{Mod, Op};

/// Origin of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Origin {
    /// The minimum distance seen in ptxas output: an upper bound of the cycles that the chip needs.
    Observed,
    /// Stated by a published table.
    Published,
    /// Follows from a measured neighbour.
    Inferred,
    /// Unknown; chosen conservatively as far as anything is known.
    Guessed,
}

/// A distance in issue cycles with its origin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Distance {
    /// Issue cycles from the first instruction to the second.
    pub cycles: u8,
    /// Its origin.
    pub origin: Origin,
}

/// A cell of a table; zero cycles for "no fact".
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    cycles: u8,
    origin: Origin,
}

impl Cell {
    pub const fn observed(cycles: u8) -> Cell {
        Cell { cycles, origin: Origin::Observed }
    }

    pub const fn published(cycles: u8) -> Cell {
        Cell { cycles, origin: Origin::Published }
    }

    pub const fn inferred(cycles: u8) -> Cell {
        Cell { cycles, origin: Origin::Inferred }
    }

    /// In a delta: the pair was not seen on this chip, and takes the longest latency of its producer as a guess.
    pub const fn unseen() -> Cell {
        Cell::guessed(0)
    }

    pub const fn guessed(cycles: u8) -> Cell {
        Cell { cycles, origin: Origin::Guessed }
    }

    /// The cell, or a guess for a pair that was not seen.
    pub const fn or(self, longest: u8) -> Cell {
        match (self.cycles, self.origin) {
            (0, Origin::Guessed) => Cell::guessed(longest),
            _ => self,
        }
    }

    pub const fn is_guess(self) -> bool {
        matches!(self.origin, Origin::Guessed)
    }

    pub const fn cycles(self) -> u8 {
        self.cycles
    }

    pub const fn distance(self) -> Distance {
        Distance { cycles: self.cycles, origin: self.origin }
    }
}

/// One producer of a table: its longest latency and its known pairs.
pub struct Row<A: 'static, B: 'static> {
    /// The producer.
    pub from: A,
    /// Its longest latency.
    pub longest: u8,
    /// Its consumers.
    pub to: &'static [(B, Cell)],
}

impl<A, B> Row<A, B> {
    pub const fn new(from: A, longest: u8, to: &'static [(B, Cell)]) -> Row<A, B> {
        Row { from, longest, to }
    }
}

/// The latency table of one chip.
pub struct Tables {
    /// SM numbers of the chips that the table covers.
    pub chips: &'static [u8],
    /// The base table of this one: unlisted entries are as there.
    pub like: Option<&'static Tables>,
    /// Read after write.
    pub raw: &'static [Row<Producer, Consumer>],
    /// Write after write, both of fixed latency.
    pub waw: &'static [Row<Producer, Producer>],
    /// Distance of a scoreboard write after a fixed-latency write of usual latency.
    pub waw_variable: u8,
    /// Exceptions to `waw_variable`.
    pub waw_variable_of: &'static [(Producer, Cell)],
    /// Write after read, both of fixed latency.
    pub war: &'static [(Consumer, Producer, Cell)],
    /// The distance of an unlisted pair of `war`.
    pub war_default: u8,
    /// Write by scoreboard after a read of fixed latency, where it differs.
    pub war_variable: &'static [(Consumer, Cell)],
    /// Facts other than distances.
    pub timing: &'static Timing,
}

/// Facts of classes and opcodes on a chip. Where a list is silent, the table of opcodes holds.
pub struct Timing {
    /// The facts that these are a delta of.
    pub like: Option<&'static Timing>,
    /// Classes whose results or source reads complete at a variable time, which only a scoreboard reports.
    pub variable: &'static [Class],
    /// Opcodes that are of another class here if they have these modifiers.
    pub classes: &'static [(Op, &'static [Mod], Class)],
    /// Opcodes with another least stall.
    pub stalls: &'static [(Op, u8)],
    /// Minimum stalls of all instructions of a class.
    pub class_stalls: &'static [(Class, u8)],
    /// Minimum stalls of guarded instructions in ptxas code, where it stalls less than Oriole.
    pub guarded_stalls: &'static [(Op, u8)],
    /// Cycles that ptxas counts for a jump between two MMAs on one accumulator; 0 where it counts only the stall of
    /// the branch.
    pub jump_to_product: u8,
    /// True if a barrier of the block waits until the memory instructions before it have read their registers.
    pub barrier_reads_memory: bool,
    /// Issue cycles that an instruction of a class keeps its units busy.
    pub intervals: &'static [(Class, u8)],
    /// Intervals of opcodes that differ from their class.
    pub intervals_of: &'static [(Op, Class, u8)],
    /// Opcodes with another estimate of the time until a variable result arrives.
    pub estimates: &'static [(Op, u16)],
}

impl Timing {
    /// No fact beyond the table of opcodes.
    pub const NONE: Timing = Timing {
        like: None,
        variable: &[],
        classes: &[],
        stalls: &[],
        class_stalls: &[],
        guarded_stalls: &[],
        jump_to_product: 0,
        barrier_reads_memory: false,
        intervals: &[],
        intervals_of: &[],
        estimates: &[],
    };

    /// These facts, then those that they are a delta of.
    pub fn chain(&'static self) -> impl Iterator<Item = &'static Timing> {
        std::iter::successors(Some(self), |timing| timing.like)
    }
}
