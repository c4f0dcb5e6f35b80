//! The reason for an early stop of a launch. Plain data, below memory and all that may fail; what a launch is given or
//! returns otherwise does not belong here.

use std::fmt;

/// The class of an early stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// The launch does not fit the kernel: unknown name, wrong arguments, impossible shape.
    BadLaunch,
    /// The instruction is not supported yet.
    NotSupported,
    /// An access outside everything that exists.
    OutOfBounds,
    /// An access whose address is not a multiple of its size.
    Misaligned,
    /// Every lane left waits for another.
    Deadlock,
    /// The budget is used up.
    Budget,
    /// The observer wanted no more.
    Stopped,
    /// `trap`, or a failed assertion of the program.
    Trap,
    /// Calls nest too deep, or local memory is used up.
    StackOverflow,
    /// The program breaks a rule of PTX, such as a lane outside its own member mask.
    Illegal,
}

/// The reason and the place of an early stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Class of the fault.
    pub kind: FaultKind,
    /// The message.
    pub message: String,
    /// Function, and ordinal of the instruction in it; `None` before the first instruction.
    pub place: Option<(String, u32)>,
    /// Block and thread; `None` if no single thread is at fault.
    pub thread: Option<([u32; 3], [u32; 3])>,
    /// Address of the access at fault, if it is one.
    pub address: Option<u64>,
}

impl Fault {
    /// A fault without a place.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Fault {
        Fault { kind, message: message.into(), place: None, thread: None, address: None }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        if let Some((function, ordinal)) = &self.place {
            write!(f, " at instruction {ordinal} of `{function}`")?;
        }
        if let Some((block, thread)) = &self.thread {
            write!(f, ", block {block:?}, thread {thread:?}")?;
        }
        Ok(())
    }
}
