//! The storage: lanes and columns of 32 bits, and the allocation of columns.

use std::collections::BTreeSet;
use std::fmt;

/// Lanes of the tensor memory of a block.
pub const LANES: u32 = 128;
/// Its columns.
pub const COLUMNS: u32 = 512;
/// Allocation unit of columns.
const UNIT: u32 = 32;
/// Lanes that a warp reaches by loads and stores.
const LANES_OF_WARP: u32 = 32;
/// Columns that move in a shift: 32 bytes.
const SHIFTED_COLUMNS: u32 = 8;

/// Lanes that share a record of the operations on them.
pub const HALF: u32 = 16;

/// Cells of a block that an operation touches, for the checks of its rules: half of the lanes of a warp, and a column.
pub type Touched = BTreeSet<(u32, u32)>;

/// A place in tensor memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// The lane.
    pub lane: u32,
    /// The column.
    pub column: u32,
}

impl Address {
    /// From the bits of a register.
    pub fn new(bits: u32) -> Address {
        Address { lane: bits >> 16, column: bits & 0xffff }
    }

    /// The bits of a register.
    pub fn bits(self) -> u32 {
        self.lane << 16 | self.column
    }
}

/// A broken rule of tensor memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A lane or a column beyond the last one.
    OutOfBounds(Address),
    /// A column that is not allocated.
    NotAllocated(Address),
    /// A lane that another warp of the group reaches.
    OtherWarp(Address),
    /// A piece of shared memory that does not exist.
    Shared(u64),
    /// The operands are invalid.
    Operands(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut told = |what: &str, Address { lane, column }: &Address| {
            write!(f, "lane {lane}, column {column} of tensor memory {what}")
        };
        match self {
            Fault::OutOfBounds(address) => told("does not exist", address),
            Fault::NotAllocated(address) => told("is not allocated", address),
            Fault::OtherWarp(address) => told("is not for this warp", address),
            Fault::Shared(address) => write!(f, "shared memory has no 16 bytes at {address:#x}"),
            Fault::Operands(text) => write!(f, "{text}"),
        }
    }
}

/// A run of columns that were allocated together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    first: u32,
    columns: u32,
}

impl Run {
    fn holds(&self, column: u32) -> bool {
        (self.first..self.first + self.columns).contains(&column)
    }
}

/// The tensor memory of a block.
#[derive(Clone, Default)]
pub struct TensorMemory {
    /// Lane by lane; empty until a column is allocated.
    cells: Vec<u32>,
    runs: Vec<Run>,
    /// The permit to allocate is relinquished.
    given_up: bool,
}

impl TensorMemory {
    /// Allocates columns. `None` if there will be as many only later.
    ///
    /// # Errors
    /// An invalid number of columns, or a block that has relinquished its permit.
    pub fn allocate(&mut self, columns: u32) -> Result<Option<Address>, Fault> {
        check_columns(columns)?;
        if self.given_up {
            let text = "columns of tensor memory are taken after the permit was given up";
            return Err(Fault::Operands(text.into()));
        }
        let free = |first: u32| {
            let run = Run { first, columns };
            !self.runs.iter().any(|other| other.holds(first) || run.holds(other.first))
        };
        let Some(first) = (0..COLUMNS).step_by(columns as usize).find(|first| free(*first)) else {
            return Ok(None);
        };
        self.cells.resize((LANES * COLUMNS) as usize, 0);
        self.runs.push(Run { first, columns });
        Ok(Some(Address { lane: 0, column: first }))
    }

    /// Frees columns.
    ///
    /// # Errors
    /// They were not allocated, or not as one run.
    pub fn release(&mut self, address: Address, columns: u32) -> Result<(), Fault> {
        check_columns(columns)?;
        let run = Run { first: address.column, columns };
        match self.runs.iter().position(|known| *known == run && address.lane == 0) {
            Some(place) => {
                self.runs.swap_remove(place);
                Ok(())
            }
            None => Err(Fault::Operands(format!(
                "{columns} columns of tensor memory are given back at column {}, lane {}, where no such run \
                 is allocated",
                address.column, address.lane
            ))),
        }
    }

    /// Frees every run of columns except the given ones.
    ///
    /// # Errors
    /// Only a part of a run is given.
    pub fn keep(&mut self, kept: impl Fn(u32) -> bool) -> Result<(), Fault> {
        let all = |run: &Run| {
            (run.first..run.first + run.columns).step_by(UNIT as usize).filter(|at| kept(*at)).count()
        };
        if let Some(run) = self.runs.iter().find(|run| ![0, run.columns / UNIT].contains(&(all(run) as u32)))
        {
            return Err(Fault::Operands(format!(
                "a part of the {} columns of tensor memory from column {} on is given back",
                run.columns, run.first
            )));
        }
        self.runs.retain(|run| all(run) != 0);
        Ok(())
    }

    /// Relinquishes the permit to allocate.
    pub fn give_up(&mut self) {
        self.given_up = true;
    }

    /// A run of columns that was not freed: its first column and its length.
    pub fn kept(&self) -> Option<(u32, u32)> {
        self.runs.first().map(|run| (run.first, run.columns))
    }

    fn index(&self, lane: u32, column: u32) -> Result<usize, Fault> {
        let address = Address { lane, column };
        if lane >= LANES || column >= COLUMNS {
            return Err(Fault::OutOfBounds(address));
        }
        if self.runs.iter().any(|run| run.holds(column)) {
            Ok((lane * COLUMNS + column) as usize)
        } else {
            Err(Fault::NotAllocated(address))
        }
    }

    /// The word in a cell.
    pub fn read(&self, lane: u32, column: u32) -> Result<u32, Fault> {
        self.index(lane, column).map(|index| self.cells[index])
    }

    /// Writes a cell.
    pub fn write(&mut self, lane: u32, column: u32, word: u32) -> Result<(), Fault> {
        let index = self.index(lane, column)?;
        self.cells[index] = word;
        Ok(())
    }
}

fn check_columns(columns: u32) -> Result<(), Fault> {
    if columns.is_power_of_two() && (UNIT..=COLUMNS).contains(&columns) {
        Ok(())
    } else {
        Err(Fault::Operands(format!(
            "{columns} columns of tensor memory cannot be allocated: a power of two from {UNIT} to {COLUMNS}"
        )))
    }
}

/// Moves 32 bytes of each lane of one warp to the lane before; the last one keeps its own. Returns the cells.
///
/// Not confirmed: that the data move to lower lanes follows from `tcgen05.cp.4x256b`, which fills the last lane anew.
///
/// # Errors
/// The address is not the first lane of a warp, or columns do not exist.
pub fn shift(memory: &mut TensorMemory, address: Address) -> Result<Touched, Fault> {
    let Address { lane, column } = address;
    if !lane.is_multiple_of(LANES_OF_WARP) {
        return Err(Fault::Operands(format!("lane {lane} does not begin the lanes of a warp")));
    }
    let mut touched = Touched::new();
    for column in column..column + SHIFTED_COLUMNS {
        for lane in lane..lane + LANES_OF_WARP - 1 {
            let word = memory.read(lane + 1, column)?;
            memory.write(lane, column, word)?;
            touched.extend([lane, lane + 1].map(|lane| (lane / HALF, column)));
        }
    }
    Ok(touched)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_taken_and_given_back() {
        let mut memory = TensorMemory::default();
        let [first, second] = [256, 128].map(|columns| memory.allocate(columns).unwrap().unwrap().column);
        assert_eq!([first, second], [0, 256]);
        assert_eq!(memory.allocate(256), Ok(None));
        assert_eq!(memory.allocate(128).unwrap(), Some(Address { lane: 0, column: 384 }));
        assert!(memory.release(Address { lane: 0, column: 256 }, 64).is_err());
        memory.release(Address { lane: 0, column: 0 }, 256).unwrap();
        assert!(memory.release(Address { lane: 0, column: 0 }, 256).is_err());
        assert_eq!(memory.read(5, 3), Err(Fault::NotAllocated(Address { lane: 5, column: 3 })));
        memory.write(127, 511, 7).unwrap();
        assert_eq!(memory.read(127, 511), Ok(7));
        assert_eq!(memory.read(LANES, 256), Err(Fault::OutOfBounds(Address { lane: LANES, column: 256 })));
        assert!([16, 48, 1024].into_iter().all(|columns| memory.allocate(columns).is_err()));
        assert!(memory.keep(|column| column < 320).is_err());
        memory.keep(|column| column >= 384).unwrap();
        assert_eq!(memory.kept(), Some((384, 128)));
        memory.give_up();
        assert!(memory.allocate(32).is_err());
    }

    #[test]
    fn a_shift_leaves_the_last_lane() {
        let mut memory = TensorMemory::default();
        memory.allocate(32).unwrap();
        (0..LANES).for_each(|lane| memory.write(lane, 8, lane + 1).unwrap());
        shift(&mut memory, Address { lane: 32, column: 8 }).unwrap();
        let found = [31, 32, 62, 63, 64].map(|lane| memory.read(lane, 8).unwrap());
        assert_eq!(found, [32, 34, 64, 64, 65]);
        assert!(shift(&mut memory, Address { lane: 16, column: 8 }).is_err());
    }
}
