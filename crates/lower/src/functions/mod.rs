//! The boundary of a function: its convention, its parameters and results, its frame, and calls of other functions.
//!
//! The registers of the convention are the only physical ones in this crate. Branches and the end of a function are in
//! `control`, accesses to `.param` variables in `memory`.

mod accesses;
mod boundary;
mod calls;
mod convention;
mod frame;
mod places;
mod registers;
mod state;

pub(crate) use boundary::{receive_parameters, return_words};
pub(crate) use calls::call;
pub(crate) use frame::{frame_address, frame_symbol, has_frame_slot};
pub(crate) use places::{in_registers, parameter_base, parameter_memory, parameter_words};
pub(crate) use state::Places;
