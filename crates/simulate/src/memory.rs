//! Memories and the addresses by which threads reach them. Each buffer and each group of global variables is a range of
//! its own with gaps around it, so that an access outside is detected.

use crate::launch::Fault;
use oriole_machine_model::texture::Opaque;
use std::collections::BTreeMap;

/// Upper half of the generic address of shared memory.
pub(crate) const SHARED_WINDOW: u64 = 0x7f10 << 32;
/// Generic address of the thread's local memory.
pub(crate) const LOCAL_WINDOW: u64 = 0x7f20 << 32;
/// Generic address of the parameters.
pub(crate) const PARAMETER_WINDOW: u64 = 0x7f30 << 32;
/// Generic address of the user's constants.
pub(crate) const CONSTANT_WINDOW: u64 = 0x7f40 << 32;
/// Address of the first global range.
const GLOBAL_BASE: u64 = 0x7a00 << 32;
/// Least distance between the end of one global range and the start of the next.
const GAP: u64 = 0x10_0000;

/// A contiguous piece of global memory.
pub(crate) struct Range {
    pub base: u64,
    pub bytes: Vec<u8>,
}

/// The allocations of the device heap, which are ranges as well.
#[derive(Default)]
pub(crate) struct Heap {
    /// The ranges of global memory by their addresses.
    pub given: BTreeMap<u64, usize>,
    /// Their total size in bytes.
    pub bytes: u64,
}

/// Global memory.
#[derive(Default)]
pub(crate) struct Global {
    pub ranges: Vec<Range>,
    /// The objects that handles name.
    pub objects: Vec<Opaque>,
    pub heap: Heap,
}

impl Global {
    /// Adds a range and returns its address.
    pub(crate) fn add(&mut self, bytes: Vec<u8>) -> u64 {
        self.add_at(None, bytes)
    }

    /// Adds a range at an address beyond all others, or, without one, where it is next.
    pub(crate) fn add_at(&mut self, place: Option<u64>, bytes: Vec<u8>) -> u64 {
        let next = self
            .ranges
            .last()
            .map_or(GLOBAL_BASE, |last| (last.base + last.bytes.len() as u64 + GAP).next_multiple_of(GAP));
        let base = place.map_or(next, |place| place.max(next));
        self.ranges.push(Range { base, bytes });
        base
    }

    /// Adds a texture, sampler or surface and returns its handle.
    pub(crate) fn add_object(&mut self, object: Opaque) -> u64 {
        let handle = Opaque::handle(self.objects.len());
        self.objects.push(object);
        handle
    }

    /// The bytes of an access.
    pub(crate) fn slice(&mut self, address: u64, size: u32) -> Result<&mut [u8], Fault> {
        let out = Fault::OutOfBounds { space: "global", address, size };
        let after = self.ranges.partition_point(|range| range.base <= address);
        let range = after.checked_sub(1).and_then(|at| self.ranges.get_mut(at)).ok_or(out.clone())?;
        let offset = (address - range.base) as usize;
        range.bytes.get_mut(offset..offset.saturating_add(size as usize)).ok_or(out)
    }
}

/// The bytes of an access in a memory that starts at address zero.
pub(crate) fn slice<'a>(
    bytes: &'a mut [u8],
    space: &'static str,
    address: u64,
    size: u32,
) -> Result<&'a mut [u8], Fault> {
    let offset = address as usize;
    bytes.get_mut(offset..offset.saturating_add(size as usize)).ok_or(Fault::OutOfBounds {
        space,
        address,
        size,
    })
}

/// Little-endian words of up to 16 bytes; a short access fills the low bytes of the first word.
pub(crate) fn load_words(bytes: &[u8]) -> [u32; 4] {
    let mut words = [0; 4];
    for (index, byte) in bytes.iter().enumerate().take(16) {
        words[index / 4] |= u32::from(*byte) << (index % 4 * 8);
    }
    words
}

/// Stores the low bytes of little-endian words.
pub(crate) fn store_words(bytes: &mut [u8], words: &[u32; 4]) {
    for (index, byte) in bytes.iter_mut().enumerate().take(16) {
        *byte = (words[index / 4] >> (index % 4 * 8)) as u8;
    }
}
