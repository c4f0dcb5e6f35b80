//! The shape of a latency table: numbers with their origin, rows of producers, and what a chip says of classes and
//! opcodes. A table may be a delta of another one, as the form tables may.

use crate::Class;
use crate::group::{Consumer, Producer};
use oriole_sass::{Mod, Op};

/// Where a number comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Origin {
    /// The least distance seen in the output of ptxas: an upper bound of what the chip needs.
    Observed,
    /// Stated by a published table.
    Published,
    /// Follows from a measured neighbour.
    Inferred,
    /// Nobody knows; chosen so that it cannot be too small as far as anything is known.
    Guessed,
}

/// A number of issue cycles with its origin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Distance {
    /// Issue cycles from the first instruction to the second.
    pub cycles: u8,
    /// Where the number comes from.
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
    /// The numbers of the chips that the table speaks for.
    pub chips: &'static [u8],
    /// The table that this one is a delta of: what it does not say is as it is there.
    pub like: Option<&'static Tables>,
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
    /// The facts that these are a delta of.
    pub like: Option<&'static Timing>,
    /// Classes whose results arrive, or whose sources are read, at a time that only a scoreboard tells.
    pub variable: &'static [Class],
    /// Opcodes that are of another class here if they have these modifiers.
    pub classes: &'static [(Op, &'static [Mod], Class)],
    /// Opcodes with another least stall.
    pub stalls: &'static [(Op, u8)],
    /// Classes whose instructions all stall at least so long.
    pub class_stalls: &'static [(Class, u8)],
    /// The same for a guarded instruction, where code of others may stall less than code of our own does.
    pub guarded_stalls: &'static [(Op, u8)],
    /// Cycles that code of others takes a jump for where a product behind it adds to one before it; 0 where it counts the
    /// stall of the branch and no more.
    pub jump_to_product: u8,
    /// Whether a barrier of the block waits until the memory instructions before it have read their registers.
    pub barrier_reads_memory: bool,
    /// Issue cycles for which an instruction of a class keeps its units busy.
    pub intervals: &'static [(Class, u8)],
    /// The same for opcodes that are not like their class.
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
