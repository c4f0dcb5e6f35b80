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
mod elements;
mod instruction_descriptor;
mod memory;
mod movement;
mod product;
mod shared_matrix;
mod sparse;
mod zero_columns;

pub use copy::{Copy, CopyShape, Spread};
pub use elements::{Element, Kind, Sum};
pub use instruction_descriptor::InstructionDescriptor;
pub use memory::{Address, COLUMNS, Fault, HALF, LANES, TensorMemory, Touched, shift};
pub use movement::{Movement, Shape};
pub use product::{Form, Left, Operands, Outcome, Product, Row};
pub use shared_matrix::{PIECE, Piece, SharedMatrix};
