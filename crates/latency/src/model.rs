//! The latencies of a chip: built from its table at compile time, looked up by producer and consumer, and listed with
//! the unobserved ones.

use crate::group::{ALL_CONSUMERS, ALL_PRODUCERS, CONSUMERS, Consumer, PRODUCERS, Producer};
use crate::table::{Cell, Distance, Origin, Row, Tables, Timing};
use crate::{Class, ResultPart, Slot, tables};
use oriole_chip::Chip;
use oriole_sass::Op;
use std::fmt;
use std::sync::OnceLock;

/// One pair of a table, for reports.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Listed {
    /// `RAW`, `WAW` or `WAR`; the first access is a write, a write, a read.
    pub hazard: &'static str,
    /// The group of the first instruction.
    pub first: String,
    /// The group of the second one.
    pub second: String,
    /// Issue cycles between the two, with origin.
    pub distance: Distance,
}

/// The group of all results that a scoreboard reports.
const BY_SCOREBOARD: &str = "by scoreboard";

impl std::fmt::Display for Listed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Listed { hazard, first, second, distance } = self;
        let origin = format!("{:?}", distance.origin).to_lowercase();
        write!(f, "{hazard} {first} -> {second}: {} cycles, {origin}", distance.cycles)
    }
}

impl Listed {
    /// Whether the distance is a guess.
    pub fn is_guess(&self) -> bool {
        self.distance.origin == Origin::Guessed
    }

    fn new(hazard: &'static str, first: &dyn fmt::Debug, second: String, cell: Cell) -> Listed {
        Listed { hazard, first: format!("{first:?}"), second, distance: cell.distance() }
    }
}

/// The latencies of one chip: distances between instructions, and facts about its classes and opcodes.
pub struct Model {
    chips: &'static [u8],
    raw: [[Cell; CONSUMERS]; PRODUCERS],
    /// The longest distance of each row of `raw`.
    longest: [u8; PRODUCERS],
    waw: [[Cell; PRODUCERS]; PRODUCERS],
    waw_variable: [Cell; PRODUCERS],
    war: [[Cell; PRODUCERS]; CONSUMERS],
    war_variable: [Cell; CONSUMERS],
    variable: [bool; CLASSES],
    /// For each opcode, true if it has a class of its own on this chip, with some modifiers at least.
    pub(crate) has_own_class: [bool; Op::COUNT],
    /// The least stall of each opcode.
    pub(crate) stalls: [u8; Op::COUNT],
    /// The least stall of each class of the chip.
    pub(crate) class_stalls: [u8; CLASSES],
    /// True if some class has one.
    pub(crate) has_class_stalls: bool,
    /// The estimate of each opcode.
    pub(crate) estimates: [u16; Op::COUNT],
    /// Issue cycles that an instruction of each class keeps its units busy.
    pub(crate) intervals: [u8; CLASSES],
    pub(crate) timing: &'static Timing,
}

/// Count of scheduling classes.
const CLASSES: usize = Class::Other as usize + 1;

static MODELS: [Model; tables::ALL.len()] = {
    let mut models = [const { Model::build(tables::ALL[0]) }; tables::ALL.len()];
    let mut at = 1;
    while at < models.len() {
        models[at] = Model::build(tables::ALL[at]);
        at += 1;
    }
    models
};

/// Models of chips without a table, built on first use: the distances of the stand-in chip, each with origin
/// `guessed`.
static FALLBACKS: [OnceLock<Model>; tables::ALL.len()] = [const { OnceLock::new() }; tables::ALL.len()];

/// The latency that most fixed-latency results do not exceed; a later scoreboard write is ordered after those.
const USUAL: u8 = 7;

/// Gives the pairs of a row that were not seen its longest latency.
const fn guess(cells: &mut [Cell], longest: u8) {
    let mut at = 0;
    while at < cells.len() {
        if cells[at].is_guess() {
            cells[at] = Cell::guessed(longest);
        }
        at += 1;
    }
}

// Timing facts as columns: those of the base tables, overridden by the chip's own; the first entry for an opcode
// counts.

const fn own_classes(timing: &Timing) -> [bool; Op::COUNT] {
    let mut own = match timing.like {
        Some(base) => own_classes(base),
        None => [false; Op::COUNT],
    };
    let mut row = 0;
    while row < timing.classes.len() {
        let (op, _, _) = timing.classes[row];
        own[op as usize] = true;
        row += 1;
    }
    own
}

const fn stalls(timing: &Timing) -> [u8; Op::COUNT] {
    let mut stalls = [0; Op::COUNT];
    let mut at = 0;
    match timing.like {
        Some(base) => stalls = self::stalls(base),
        None => {
            while at < Op::COUNT {
                stalls[at] = Op::all()[at].info().least_stall;
                at += 1;
            }
        }
    }
    at = timing.stalls.len();
    while at > 0 {
        at -= 1;
        let (op, stall) = timing.stalls[at];
        stalls[op as usize] = stall;
    }
    stalls
}

const fn has_class_stalls(timing: &Timing) -> bool {
    match timing.like {
        Some(base) if timing.class_stalls.is_empty() => has_class_stalls(base),
        _ => !timing.class_stalls.is_empty(),
    }
}

const fn class_stalls(timing: &Timing) -> [u8; CLASSES] {
    let mut stalls = match timing.like {
        Some(base) => class_stalls(base),
        None => [1; CLASSES],
    };
    let mut at = timing.class_stalls.len();
    while at > 0 {
        at -= 1;
        let (class, stall) = timing.class_stalls[at];
        stalls[class as usize] = stall;
    }
    stalls
}

const fn estimates(timing: &Timing) -> [u16; Op::COUNT] {
    let mut estimates = [0; Op::COUNT];
    let mut at = 0;
    match timing.like {
        Some(base) => estimates = self::estimates(base),
        None => {
            while at < Op::COUNT {
                estimates[at] = Op::all()[at].info().estimate;
                at += 1;
            }
        }
    }
    at = timing.estimates.len();
    while at > 0 {
        at -= 1;
        let (op, estimate) = timing.estimates[at];
        estimates[op as usize] = estimate;
    }
    estimates
}

const fn intervals(timing: &Timing) -> [u8; CLASSES] {
    let mut intervals = match timing.like {
        Some(base) => intervals(base),
        None => [1; CLASSES],
    };
    let mut at = timing.intervals.len();
    while at > 0 {
        at -= 1;
        let (class, cycles) = timing.intervals[at];
        intervals[class as usize] = cycles;
    }
    intervals
}

/// Variable-latency classes: those given, and those of a timing table and its bases.
const fn variable(timing: &Timing, known: [bool; CLASSES]) -> [bool; CLASSES] {
    let mut classes = match timing.like {
        Some(base) => variable(base, known),
        None => known,
    };
    let mut row = 0;
    while row < timing.variable.len() {
        classes[timing.variable[row] as usize] = true;
        row += 1;
    }
    classes
}

/// For each result the longest distance to a reader of its register file.
const fn longest(raw: &[[Cell; CONSUMERS]; PRODUCERS]) -> [u8; PRODUCERS] {
    let mut longest = [0; PRODUCERS];
    let mut row = 0;
    while row < PRODUCERS {
        let mut column = 0;
        while column < CONSUMERS {
            let same_file = ALL_PRODUCERS[row].kind() as u8 == ALL_CONSUMERS[column].kind() as u8;
            let cycles = raw[row][column].cycles();
            if same_file && cycles > longest[row] {
                longest[row] = cycles;
            }
            column += 1;
        }
        row += 1;
    }
    longest
}

impl Model {
    /// An empty model.
    const fn empty(tables: &'static Tables) -> Model {
        Model {
            chips: tables.chips,
            raw: [[Cell::guessed(0); CONSUMERS]; PRODUCERS],
            longest: [0; PRODUCERS],
            waw: [[Cell::guessed(0); PRODUCERS]; PRODUCERS],
            waw_variable: [Cell::guessed(0); PRODUCERS],
            war: [[Cell::guessed(tables.war_default); PRODUCERS]; CONSUMERS],
            war_variable: [Cell::guessed(tables.war_default); CONSUMERS],
            variable: [false; CLASSES],
            has_own_class: [false; Op::COUNT],
            stalls: stalls(tables.timing),
            class_stalls: [0; CLASSES],
            has_class_stalls: false,
            estimates: estimates(tables.timing),
            intervals: intervals(tables.timing),
            timing: tables.timing,
        }
    }

    /// The model of a table: that of its base table with its own entries.
    const fn build(tables: &'static Tables) -> Model {
        let mut model = match tables.like {
            Some(base) => Model::build(base),
            None => Model::empty(tables),
        };
        (model.chips, model.timing) = (tables.chips, tables.timing);
        model.has_own_class = own_classes(tables.timing);
        model.stalls = stalls(tables.timing);
        model.class_stalls = class_stalls(tables.timing);
        model.has_class_stalls = has_class_stalls(tables.timing);
        model.estimates = estimates(tables.timing);
        model.intervals = intervals(tables.timing);
        let mut row = 0;
        while row < tables.raw.len() {
            let Row { from, longest, to } = tables.raw[row];
            let cells = &mut model.raw[from as usize];
            guess(cells, longest);
            if tables.like.is_none() {
                // A late scoreboard write must not be overtaken by a fixed-latency one that started before it.
                model.waw_variable[from as usize] =
                    Cell::inferred(if longest > USUAL { longest } else { tables.waw_variable });
            }
            let mut column = 0;
            while column < to.len() {
                let (other, cell) = to[column];
                cells[other as usize] = cell.or(longest);
                column += 1;
            }
            row += 1;
        }
        row = 0;
        while row < tables.waw.len() {
            let Row { from, longest, to } = tables.waw[row];
            let cells = &mut model.waw[from as usize];
            guess(cells, longest);
            let mut column = 0;
            while column < to.len() {
                let (other, cell) = to[column];
                cells[other as usize] = cell.or(longest);
                column += 1;
            }
            row += 1;
        }
        row = 0;
        while row < tables.war.len() {
            let (reader, writer, cell) = tables.war[row];
            model.war[reader as usize][writer as usize] = cell.or(tables.war_default);
            row += 1;
        }
        row = 0;
        while row < tables.waw_variable_of.len() {
            let (first, cell) = tables.waw_variable_of[row];
            model.waw_variable[first as usize] = cell;
            row += 1;
        }
        row = 0;
        while row < tables.war_variable.len() {
            let (reader, cell) = tables.war_variable[row];
            model.war_variable[reader as usize] = cell.or(tables.war_default);
            row += 1;
        }
        model.variable = variable(tables.timing, model.variable);
        model.longest = longest(&model.raw);
        model
    }

    /// The distances of a chip, `None` for one without code generation. A chip without a table has those of its
    /// stand-in chip, as guesses.
    pub fn of(chip: Chip) -> Option<&'static Model> {
        let at = MODELS.iter().position(|model| model.chips.contains(&chip.number()))?;
        Some(match chip.stand_in() {
            None => &MODELS[at],
            Some(_) => FALLBACKS[at].get_or_init(|| Model::build(tables::ALL[at]).guessed()),
        })
    }

    /// The distances with origin `guessed`.
    fn guessed(mut self) -> Model {
        let pairs = self.raw.as_flattened_mut().iter_mut();
        let pairs = pairs.chain(self.waw.as_flattened_mut()).chain(self.war.as_flattened_mut());
        for cell in pairs.chain(&mut self.waw_variable).chain(&mut self.war_variable) {
            *cell = Cell::guessed(cell.cycles());
        }
        self
    }

    /// True if a scoreboard reports the results or source reads of the class.
    pub(crate) fn is_variable_class(&self, class: Class) -> bool {
        self.variable[class as usize]
    }

    /// The row of a result, `None` for one that a scoreboard reports (or a convergence barrier).
    fn producer(&self, class: Class, part: ResultPart) -> Option<Producer> {
        if self.is_variable_class(class) { None } else { Producer::of(class, part) }
    }

    /// Read after write: cycles after which a reader in `slot` sees a result. `None` if a scoreboard reports it.
    pub fn raw(&self, producer: Class, part: ResultPart, consumer: Class, slot: Slot) -> Option<Distance> {
        let row = self.producer(producer, part)?;
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
        let row = self.producer(first, first_part)?;
        Some(match self.producer(second, second_part) {
            Some(column) => self.waw[row as usize][column as usize].distance(),
            None => self.waw_variable[row as usize].distance(),
        })
    }

    /// Write after read, the reader of fixed latency (a scoreboard guards the other readers).
    pub fn war(&self, reader: Class, slot: Slot, writer: Class, part: ResultPart) -> u8 {
        match self.producer(writer, part) {
            Some(column) => self.war[Consumer::of(reader, slot) as usize][column as usize].cycles(),
            None => self.war_variable[Consumer::of(reader, slot) as usize].cycles(),
        }
    }

    /// The longest latency of a fixed-latency result: no reader needs more. `None` if a scoreboard reports it.
    pub fn longest(&self, producer: Class, part: ResultPart) -> Option<u8> {
        self.producer(producer, part).map(|row| self.longest[row as usize])
    }

    /// The table entry for the distance of a reader from the writer. `None` if a scoreboard reports the result.
    pub fn pair_of_read(
        &self,
        producer: Class,
        part: ResultPart,
        consumer: Class,
        slot: Slot,
    ) -> Option<Listed> {
        let (row, column) = (self.producer(producer, part)?, Consumer::of(consumer, slot));
        Some(Listed::new("RAW", &row, format!("{column:?}"), self.raw[row as usize][column as usize]))
    }

    /// The table entry for two writers.
    pub fn pair_of_writes(
        &self,
        first: Class,
        first_part: ResultPart,
        second: Class,
        second_part: ResultPart,
    ) -> Option<Listed> {
        let row = self.producer(first, first_part)?;
        Some(match self.producer(second, second_part) {
            Some(column) => {
                Listed::new("WAW", &row, format!("{column:?}"), self.waw[row as usize][column as usize])
            }
            None => Listed::new("WAW", &row, BY_SCOREBOARD.to_owned(), self.waw_variable[row as usize]),
        })
    }

    /// Every pair of groups that can meet, in table order. A write that a scoreboard reports is listed as `by
    /// scoreboard`.
    pub fn listed(&self) -> Vec<Listed> {
        let mut list = Vec::new();
        let mut add = |hazard: &'static str, first: &dyn fmt::Debug, second: String, cell: Cell| {
            list.push(Listed::new(hazard, first, second, cell));
        };
        // A row without a longest latency applies to no instruction of the chip.
        let rows =
            || ALL_PRODUCERS.into_iter().filter(|&row| self.raw[row as usize].iter().any(|c| c.cycles() > 0));
        for row in rows() {
            for column in ALL_CONSUMERS.into_iter().filter(|column| column.kind() == row.kind()) {
                add("RAW", &row, format!("{column:?}"), self.raw[row as usize][column as usize]);
            }
            for column in rows().filter(|column| column.kind() == row.kind()) {
                add("WAW", &row, format!("{column:?}"), self.waw[row as usize][column as usize]);
            }
            add("WAW", &row, BY_SCOREBOARD.to_owned(), self.waw_variable[row as usize]);
        }
        for row in ALL_CONSUMERS {
            for column in rows().filter(|column| column.kind() == row.kind()) {
                add("WAR", &row, format!("{column:?}"), self.war[row as usize][column as usize]);
            }
            add("WAR", &row, BY_SCOREBOARD.to_owned(), self.war_variable[row as usize]);
        }
        list
    }
}
