//! A server as the store sees it: values by their names, with a deadline for each request.
//!
//! Protocols are of two kinds: those of this crate need nothing but a TCP connection; others bring libraries and have crates of
//! their own. Neither a budget nor a retry is here: the threads that ask have them.

use std::time::Instant;

/// A server that values are looked up on and sent to.
pub trait Server: Send + Sync {
    /// A connection for one thread. Nothing is sent before the first request.
    fn connect(&self) -> Box<dyn Connection>;
}

/// A server as one thread sees it.
pub trait Connection: Send {
    /// The value of a name, if the server has it.
    ///
    /// # Errors
    /// There is no answer by the deadline, or none of the protocol.
    fn get(&mut self, name: &str, deadline: Instant) -> Result<Option<Vec<u8>>, Failure>;

    /// Stores a value under a name.
    ///
    /// # Errors
    /// There is no answer by the deadline, or the server refuses the value.
    fn put(&mut self, name: &str, value: &[u8], deadline: Instant) -> Result<(), Failure>;
}

/// Why there is no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Nothing can be sent or received in time.
    Io,
    /// An answer that is none of the protocol, or that refuses.
    Answer,
}

/// Most bytes of an answer.
pub const LARGEST: usize = 256 << 20;
