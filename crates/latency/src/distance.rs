//! Looking up distances between a producer and a consumer, and listing what nobody measured.

use crate::group::{ALL_CONSUMERS, ALL_PRODUCERS, CONSUMERS, Consumer, PRODUCERS, Producer};
use crate::tables::sm_90;
use crate::{Class, ResultPart, Slot};
use oriole_chip::Chip;

/// Where a number comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// The least distance seen in code of a mature compiler.
    Measured,
    /// Stated by a published table.
    Published,
    /// Follows from a measured neighbour.
    Inferred,
    /// Nobody knows; chosen so that it cannot be too small as far as anything is known.
    Guessed,
}

/// A number of issue cycles with its origin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
    pub const fn measured(cycles: u8) -> Cell {
        Cell { cycles, origin: Origin::Measured }
    }

    pub const fn published(cycles: u8) -> Cell {
        Cell { cycles, origin: Origin::Published }
    }

    pub const fn inferred(cycles: u8) -> Cell {
        Cell { cycles, origin: Origin::Inferred }
    }

    const fn guessed(cycles: u8) -> Cell {
        Cell { cycles, origin: Origin::Guessed }
    }

    const fn distance(self) -> Distance {
        Distance { cycles: self.cycles, origin: self.origin }
    }
}

/// One producer of a table: its longest latency and its known pairs.
pub struct Row<A: 'static, B: 'static> {
    from: A,
    longest: u8,
    to: &'static [(B, Cell)],
}

impl<A, B> Row<A, B> {
    pub const fn new(from: A, longest: u8, to: &'static [(B, Cell)]) -> Row<A, B> {
        Row { from, longest, to }
    }
}

/// A pair without a fact, and what is used for it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Guess {
    /// `RAW` or `WAW`.
    pub hazard: &'static str,
    /// The producer's group.
    pub producer: String,
    /// The consumer's group.
    pub consumer: String,
    /// Cycles used.
    pub cycles: u8,
}

/// The distances of one chip.
pub struct Model {
    raw: [[Cell; CONSUMERS]; PRODUCERS],
    waw: [[Cell; PRODUCERS]; PRODUCERS],
    waw_variable: [u8; PRODUCERS],
    war: [[u8; PRODUCERS]; CONSUMERS],
    war_variable: [u8; CONSUMERS],
}

static SM_90: Model = Model::build();

impl Model {
    const fn build() -> Model {
        let mut model = Model {
            raw: [[Cell::guessed(0); CONSUMERS]; PRODUCERS],
            waw: [[Cell::guessed(0); PRODUCERS]; PRODUCERS],
            waw_variable: [0; PRODUCERS],
            war: [[sm_90::WAR_DEFAULT; PRODUCERS]; CONSUMERS],
            war_variable: [sm_90::WAR_DEFAULT; CONSUMERS],
        };
        let mut row = 0;
        while row < sm_90::RAW.len() {
            let from = sm_90::RAW[row].from as usize;
            let longest = sm_90::RAW[row].longest;
            model.raw[from] = [Cell::guessed(longest); CONSUMERS];
            // A late write by scoreboard must not be overtaken by a fixed one that started before it.
            model.waw_variable[from] = if longest > 7 { longest } else { sm_90::WAW_VARIABLE };
            let mut column = 0;
            while column < sm_90::RAW[row].to.len() {
                let (to, cell) = sm_90::RAW[row].to[column];
                model.raw[from][to as usize] = cell;
                column += 1;
            }
            row += 1;
        }
        row = 0;
        while row < sm_90::WAW.len() {
            let from = sm_90::WAW[row].from as usize;
            model.waw[from] = [Cell::guessed(sm_90::WAW[row].longest); PRODUCERS];
            let mut column = 0;
            while column < sm_90::WAW[row].to.len() {
                let (to, cell) = sm_90::WAW[row].to[column];
                model.waw[from][to as usize] = cell;
                column += 1;
            }
            row += 1;
        }
        row = 0;
        while row < sm_90::WAR.len() {
            let (reader, writer, cell) = sm_90::WAR[row];
            model.war[reader as usize][writer as usize] = cell.cycles;
            row += 1;
        }
        row = 0;
        while row < sm_90::WAW_VARIABLE_OF.len() {
            let (first, cell) = sm_90::WAW_VARIABLE_OF[row];
            model.waw_variable[first as usize] = cell.cycles;
            row += 1;
        }
        row = 0;
        while row < sm_90::WAR_VARIABLE.len() {
            let (reader, cell) = sm_90::WAR_VARIABLE[row];
            model.war_variable[reader as usize] = cell.cycles;
            row += 1;
        }
        model
    }

    /// The distances of a chip, `None` for one that the back end does not make code for.
    pub fn of(chip: Chip) -> Option<&'static Model> {
        match chip.number() {
            90 => Some(&SM_90),
            _ => None,
        }
    }

    /// Read after write: cycles after which a reader in `slot` sees a result. `None` if a scoreboard reports it.
    pub fn raw(&self, producer: Class, part: ResultPart, consumer: Class, slot: Slot) -> Option<Distance> {
        let row = Producer::of(producer, part)?;
        let column = Consumer::of(consumer, slot);
        Some(self.raw[row as usize][column as usize].distance())
    }

    /// Write after write, the first of fixed latency. `None` if a scoreboard reports the first.
    pub fn waw(
        &self,
        first: Class,
        first_part: ResultPart,
        second: Class,
        second_part: ResultPart,
    ) -> Option<Distance> {
        let row = Producer::of(first, first_part)?;
        Some(match Producer::of(second, second_part) {
            Some(column) => self.waw[row as usize][column as usize].distance(),
            None => Distance { cycles: self.waw_variable[row as usize], origin: Origin::Measured },
        })
    }

    /// Write after read, the reader of fixed latency (a scoreboard guards the other readers).
    pub fn war(&self, reader: Class, slot: Slot, writer: Class, part: ResultPart) -> u8 {
        match Producer::of(writer, part) {
            Some(column) => self.war[Consumer::of(reader, slot) as usize][column as usize],
            None => self.war_variable[Consumer::of(reader, slot) as usize],
        }
    }

    /// The longest latency of a fixed result: no reader needs more. `None` if a scoreboard reports it.
    pub fn longest(&self, producer: Class, part: ResultPart) -> Option<u8> {
        let row = Producer::of(producer, part)?;
        let raw = ALL_CONSUMERS
            .iter()
            .filter(|c| c.kind() == row.kind())
            .map(|&c| self.raw[row as usize][c as usize].cycles);
        raw.max()
    }

    /// Every pair that nobody measured, in the order of the tables.
    pub fn guesses(&self) -> Vec<Guess> {
        let mut list = Vec::new();
        for row in ALL_PRODUCERS {
            for column in ALL_CONSUMERS {
                let cell = self.raw[row as usize][column as usize];
                if cell.origin == Origin::Guessed && row.kind() == column.kind() {
                    list.push(Guess {
                        hazard: "RAW",
                        producer: format!("{row:?}"),
                        consumer: format!("{column:?}"),
                        cycles: cell.cycles,
                    });
                }
            }
            for column in ALL_PRODUCERS {
                let cell = self.waw[row as usize][column as usize];
                if cell.origin == Origin::Guessed && row.kind() == column.kind() {
                    list.push(Guess {
                        hazard: "WAW",
                        producer: format!("{row:?}"),
                        consumer: format!("{column:?}"),
                        cycles: cell.cycles,
                    });
                }
            }
        }
        list
    }
}
