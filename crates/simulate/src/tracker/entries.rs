//! Entries of the tracker: results in flight, operands that are not read yet, operands that were just read.

use crate::conflict::Register;
use crate::program::{Completion, ReadQueue};
use oriole_latency::{Class, ResultPart, Slot};

/// A result of fixed latency.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Fixed<C> {
    pub(super) register: Register,
    pub(super) pc: u32,
    /// Issue, in cycles of the tracker.
    pub(super) time: i64,
    pub(super) class: Class,
    pub(super) part: ResultPart,
    pub(super) condition: C,
}

/// A register that a scoreboard protects: a result in flight, or an operand that is not read yet.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Pending<C> {
    pub(super) register: Register,
    pub(super) pc: u32,
    /// Scoreboards, any of which signals that it is done, bit n for SBn.
    pub(super) scoreboards: u8,
    pub(super) queue: Completion,
    pub(super) read_queue: ReadQueue,
    pub(super) condition: C,
}

/// An operand read by a fixed-latency instruction just before.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Recent<C> {
    pub(super) register: Register,
    pub(super) pc: u32,
    pub(super) time: i64,
    pub(super) class: Class,
    pub(super) slot: Slot,
    pub(super) condition: C,
}
