//! Tensor memory, and which of its cells the instructions on it read and write: allocation, loads and stores, copies from
//! shared memory, products.
//!
//! It is here because both machines need the same layouts, which are long and which no byte of a result explains when they are
//! wrong. No sum is computed: each machine adds up rows and columns in its own way.
//!
//! Sources: the PTX ISA, "TensorCore 5th Generation Family Instructions", and for what it shows in figures only, the layouts of
//! CUTLASS (`copy_traits_sm100.hpp`, `mma_traits_sm100_frag.hpp`). What neither says is marked "not confirmed".

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

/// Sixteen bytes of shared memory: nothing smaller is moved by swizzling.
pub const PIECE: usize = 16;

/// A piece of the shared memory of a block: its rank, and the address.
pub type Piece = (u32, u64);

/// Cells of a block that an operation touches, for whoever follows its rules: half of the lanes that a warp has, and a column.
pub type Touched = std::collections::BTreeSet<(u32, u32)>;

/// Lanes that share what is noted of the operations on them.
pub const HALF: u32 = 16;
