//! The stores of the PTX, as the interpreter shows them.

use crate::report::Site;
use oriole_interp::{Observer, Store};

/// Stores to global memory, in order.
#[derive(Default)]
pub struct PtxWatch {
    /// Instruction and thread, address, bytes.
    pub stores: Vec<(Site, u64, usize)>,
}

impl Observer for PtxWatch {
    fn stored(&mut self, store: &Store) {
        if store.global {
            let site = Site {
                function: store.function.to_owned(),
                ordinal: store.ordinal,
                block: store.block,
                thread: store.thread,
            };
            self.stores.push((site, store.address, store.bytes));
        }
    }
}
