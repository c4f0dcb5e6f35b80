//! A lane that executes an instruction, with the state that the instruction reads and writes.
//!
//! Every action accesses its operands and the bytes of its addresses by the same rules.

use crate::fault::Fault;
use crate::lane::{LOCAL_START, Lane, SpecialValues};
use crate::machine::{BlockState, Machine};
use crate::memory::{Place, SHARED_START, misaligned, out_of_bounds, shared_address, span, word};
use crate::step::{Destination, Location, Source};
use oriole_machine_model::races::Bytes;

/// Longest string that is read.
const STRING_LIMIT: u64 = 1 << 16;

/// A lane and the state that it shares with others.
pub struct LaneContext<'r, 'm> {
    /// The lane.
    pub lane: &'r mut Lane,
    /// Its index in the warp.
    pub number: u32,
    /// State shared by all blocks.
    pub machine: &'r mut Machine<'m>,
    /// State shared by the warps of its block.
    pub block: &'r mut BlockState,
    /// The special registers of its warp.
    pub specials: &'r SpecialValues,
}

impl LaneContext<'_, '_> {
    /// The value of an operand.
    #[inline]
    pub fn read(&self, source: Source) -> u64 {
        self.lane.read(source, self.number, self.specials)
    }

    /// Writes a result.
    #[inline]
    pub fn write(&mut self, destination: Destination, value: u64) {
        self.lane.write(destination, value);
    }

    /// The address of a memory operand.
    pub fn address(&self, location: &Location) -> u64 {
        self.read(location.base).wrapping_add(location.offset as u64)
    }

    /// The bytes at an address if they are in shared memory and copies are being tracked.
    pub fn shared_bytes(&self, place: Place, address: u64, length: usize) -> Option<Bytes> {
        if !self.machine.watch.is_on() {
            return None;
        }
        let (place, address) = match place {
            Place::Generic => Place::of_generic(address),
            place => (place, address),
        };
        let (rank, start) = shared_address(address, self.block.rank);
        let memory = self.machine.shared.get(rank as usize).filter(|_| place == Place::Shared)?;
        let size = length as u64;
        (start + size <= memory.len() as u64).then_some(Bytes { rank, start, size })
    }

    /// The bytes that a thread reads or writes, as by [`LaneContext::aligned`]; checks that the thread has waited for
    /// copies of them.
    #[inline]
    pub fn used(
        &mut self,
        place: Place,
        address: u64,
        length: usize,
        write: bool,
    ) -> Result<&mut [u8], Fault> {
        if let Some(bytes) = self.shared_bytes(place, address, length) {
            self.machine.watch.touch(bytes, write);
        }
        self.aligned(place, address, length, write)
    }

    /// The bytes that an access touches; its address is a multiple of its size.
    #[inline]
    pub fn aligned(
        &mut self,
        place: Place,
        address: u64,
        length: usize,
        write: bool,
    ) -> Result<&mut [u8], Fault> {
        if address & (length as u64 - 1) != 0 {
            return Err(misaligned(place, address, length));
        }
        self.unaligned(place, address, length, write)
    }

    /// The bytes at an address whatever its alignment.
    #[inline]
    pub fn unaligned(
        &mut self,
        place: Place,
        address: u64,
        length: usize,
        write: bool,
    ) -> Result<&mut [u8], Fault> {
        let (found, offset) = match place {
            Place::Generic => Place::of_generic(address),
            place => (place, address),
        };
        if self.machine.observer.is_some() && write {
            self.machine.show(self.block, self.lane, (found, offset), length);
        }
        // An access outside of memory is a fault and no use.
        if self.machine.followed && self.bytes_at((found, offset), length, write).is_some() {
            self.machine.show_use(self.block, self.lane, (found, offset), length, write);
        }
        let bytes = self.bytes_at((found, offset), length, write);
        bytes.ok_or_else(|| out_of_bounds(found, address, length, write))
    }

    /// The bytes at an address of a space; `None` outside of memory.
    #[inline]
    fn bytes_at(&mut self, (found, offset): (Place, u64), length: usize, write: bool) -> Option<&mut [u8]> {
        match found {
            Place::Shared => {
                let (rank, offset) = shared_address(offset, self.block.rank);
                let end = offset.saturating_add(length as u64).min(u64::from(u32::MAX)) as u32;
                self.machine.shared_touched = self.machine.shared_touched.max(end);
                let memory = self.machine.shared.get_mut(rank as usize);
                memory
                    .filter(|_| offset >= u64::from(SHARED_START))
                    .and_then(|memory| span(memory, offset, length))
            }
            Place::Local if offset >= u64::from(LOCAL_START) => span(&mut self.lane.local, offset, length),
            Place::Constant | Place::Parameter if write => None,
            _ => {
                if found == Place::Global {
                    self.machine.memory.touch(offset, length);
                }
                let segment = self.machine.memory.segment(found, offset);
                segment.and_then(|(segment, offset)| span(segment, offset, length))
            }
        }
    }

    /// The value of `length` bytes at a generic address.
    pub fn word_at(&mut self, address: u64, length: usize) -> Result<u64, Fault> {
        self.unaligned(Place::Generic, address, length, false).map(|bytes| word(bytes))
    }

    /// The string at a generic address, up to its zero byte.
    pub fn string_at(&mut self, address: u64) -> Result<String, Fault> {
        let mut bytes = Vec::new();
        for offset in 0..STRING_LIMIT {
            match self.word_at(address.wrapping_add(offset), 1)? {
                0 => break,
                byte => bytes.push(byte as u8),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
