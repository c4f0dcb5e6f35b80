//! The device heap: each allocation is a range of global memory of its own, so that an access outside of it, or after
//! it is freed, is detected. No address is reused.

use crate::launch::Fault;
use crate::memory::Global;

/// Size of the heap in bytes.
const LIMIT: u64 = 1 << 28;

impl Global {
    /// The address of `bytes` bytes, all zero; 0 if the heap is exhausted.
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

    /// Frees the allocation at an address; address 0 is ignored.
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
