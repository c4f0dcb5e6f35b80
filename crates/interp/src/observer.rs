//! The view of an observer of a run: each store to memory, with the instruction and the thread.
//!
//! It is here so that a difference between two ways to run a kernel is found in the program. A run without an observer
//! collects nothing of this.

/// A watcher of a run.
pub trait Observer {
    /// A thread is about to write memory, or to change it by an atomic.
    fn stored(&mut self, store: &Store);
}

/// A write of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Store<'a> {
    /// Function of the instruction.
    pub function: &'a str,
    /// Ordinal of the instruction in it.
    pub ordinal: u32,
    /// Block.
    pub block: [u32; 3],
    /// Thread in the block.
    pub thread: [u32; 3],
    /// The address is one of global memory; otherwise one in the space of a block or thread.
    pub global: bool,
    /// Address.
    pub address: u64,
    /// Bytes.
    pub bytes: usize,
}
