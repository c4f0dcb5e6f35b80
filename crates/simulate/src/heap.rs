//! The heap that kernels take memory from while they run: each piece is a range of global memory of its own, so that an
//! access beside it, or to it once it is given back, is seen. No address is given out twice.

use crate::launch::Fault;
use crate::memory::Global;
use std::collections::BTreeMap;

/// Bytes that the heap can give out.
const LIMIT: u64 = 1 << 28;

/// What the heap has given out.
#[derive(Default)]
pub(crate) struct Heap {
    /// The ranges of global memory by their addresses.
    given: BTreeMap<u64, usize>,
    /// Their bytes, all together.
    bytes: u64,
}

impl Global {
    /// The address of so many bytes, all zero; 0 if there are not as many left.
    pub(crate) fn allocate(&mut self, bytes: u64) -> u64 {
        match self.heap.bytes.checked_add(bytes) {
            Some(all) if all <= LIMIT => self.heap.bytes = all,
            _ => return 0,
        }
        let range = self.ranges.len();
        let address = self.add(vec![0; bytes as usize]);
        self.heap.given.insert(address, range);
        address
    }

    /// Takes back what was given out at an address; nothing is at 0.
    pub(crate) fn release(&mut self, address: u64) -> Result<(), Fault> {
        if address == 0 {
            return Ok(());
        }
        let range = self.heap.given.remove(&address).ok_or(Fault::NotAllocated(address))?;
        let bytes = std::mem::take(&mut self.ranges[range].bytes);
        self.heap.bytes -= bytes.len() as u64;
        Ok(())
    }
}
