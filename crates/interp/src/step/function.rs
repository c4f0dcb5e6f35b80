//! Functions and calls: the places of arguments, parameters and results.

use super::operand::{Destination, Source};

/// The callee of a call.
#[derive(Clone, Copy, Debug)]
pub enum CallTarget {
    /// Function with this index.
    Function(u32),
    /// The function at an address.
    Address(Source),
}

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// Bytes in the caller's frame: offset and size.
    Frame(u32, u32),
    /// Bytes of the kernel's parameters: offset and size.
    Parameter(u32, u32),
    /// A value.
    Value(Source),
}

/// The destination of a call's result.
#[derive(Clone, Copy, Debug)]
pub enum CallResult {
    /// Bytes in the caller's frame: offset and size.
    Frame(u32, u32),
    /// A register.
    Register(Destination),
}

/// The place of a parameter or return parameter of a function.
#[derive(Clone, Copy, Debug)]
pub enum Formal {
    /// Bytes in its frame: offset and size.
    Frame(u32, u32),
    /// An array without a size at the end of the frame: its offset. The frame grows by the size of the argument.
    Open(u32),
    /// A register, and its bytes.
    Register(Destination, u32),
}

/// A decoded function.
#[derive(Clone, Debug)]
pub struct FunctionCode {
    /// Its name.
    pub name: String,
    /// First step; `None` for a declaration.
    pub start: Option<u32>,
    /// Register slots of a frame.
    pub registers: u32,
    /// Bytes of local memory of a frame.
    pub frame_bytes: u32,
    /// Parameters.
    pub parameters: Vec<Formal>,
    /// Return parameters.
    pub results: Vec<Formal>,
}
