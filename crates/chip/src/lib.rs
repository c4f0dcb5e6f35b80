//! The chips: every known SM, its family and variant, its register files and limits, the layout of its constant bank,
//! and its occupancy.
//!
//! It is here because the front end (features of a `.target`), the back end (register counts) and the cubin writer
//! (start of the parameters) must agree on it. It knows no opcode, no latency and no PTX beyond the names of targets.

mod chips;
mod choice;
mod facts;
mod layout;
mod limits;
mod matrix;
mod name;
mod occupancy;
mod registers;
pub mod texture;
mod words;

pub use chips::MOST_UNIFORM;
pub use choice::ChipError;
pub use layout::{ConstantBank, HEADER_SLOT_BYTES, ParameterWindow, SLOT_BYTES, SMALL_PARAMETER_BYTES};
pub use limits::Limits;
pub use matrix::MatrixUnit;
pub use name::{Chip, NameError, PtxTarget, Variant};
pub use occupancy::{Limiter, Occupancy, Usage, occupancy};
pub use registers::{RegisterFile, RegisterFiles, allocated, nameable};
pub use words::WordShape;
