//! Tensor memory, and the cells that the instructions on it read and write: allocation, loads and stores, copies from
//! shared memory, MMAs.
//!
//! The interpreter and the simulator share these layouts, which are long and hard to find wrong from the bytes of a
//! result. No sum is computed here: each of the two accumulates rows and columns in its own way.
//!
//! Sources: the PTX ISA, "TensorCore 5th Generation Family Instructions", and for what it shows in figures only, the
//! layouts of CUTLASS (`copy_traits_sm100.hpp`, `mma_traits_sm100_frag.hpp`). Facts that neither states are marked "not
//! confirmed".

mod copy;
mod descriptor;
mod memory;
mod movement;
mod product;
mod sparse;

pub use copy::{Copy, CopyShape, Spread};
pub use descriptor::{InstructionDescriptor, SharedMatrix};
pub use memory::{Address, COLUMNS, Fault, LANES, TensorMemory, shift};
pub use movement::{Movement, Shape};
pub use product::{Element, Form, Kind, Left, Operands, Outcome, Product, Row, Sum};

/// Sixteen bytes of shared memory: swizzling moves no smaller unit.
pub const PIECE: usize = 16;

/// A piece of the shared memory of a block: its rank, and the address.
pub type Piece = (u32, u64);

/// Cells of a block that an operation touches, for the checks of its rules: half of the lanes of a warp, and a column.
pub type Touched = std::collections::BTreeSet<(u32, u32)>;

/// Lanes that share a record of the operations on them.
pub const HALF: u32 = 16;
