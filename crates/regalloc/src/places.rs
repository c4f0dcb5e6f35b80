//! Places of values, and moves between them that happen at once.
//!
//! It is here because the scan and the repair of edges say which moves they need, and the emitter puts them in order.
//! Instructions of moves are not made here.

use oriole_ori::{Instruction, Value};

/// Location of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Place {
    /// A register of the current file.
    Register(u8),
    /// The spill slot of this value.
    Slot(Value),
}

/// Sources of moves.
#[derive(Clone, PartialEq, Debug)]
pub enum From {
    /// The content of another place.
    Place(Place),
    /// The result of an instruction without register operands (its destination is replaced).
    Made(Box<Instruction>),
}

/// One of several parallel moves. `value` is the content of the source.
#[derive(Clone, PartialEq, Debug)]
pub struct Move {
    /// Receives it.
    pub to: Place,
    /// The value that the destination holds afterwards.
    pub into: Value,
    /// Gives it.
    pub from: From,
    /// The value in the source.
    pub value: Value,
}
