//! Memory of a launch: the generic address space, the buffers of global memory, the constant segment, parameters.
//!
//! Each buffer and each variable of the module has a window of its own in the address space. An access past its end is
//! a fault and does not hit a neighbour. Shared and local memory belong to blocks and lanes; only their windows are
//! known here.

use crate::fault::{Fault, FaultKind};

/// log2 of the bytes of a window.
const WINDOW_BITS: u32 = 32;
/// Generic window of shared memory.
const SHARED: u64 = 0x7e00;
/// Generic window of local memory.
const LOCAL: u64 = 0x7e01;
/// Generic window of constant memory.
const CONSTANT: u64 = 0x7e02;
/// Generic window of kernel parameters.
const PARAMETER: u64 = 0x7e03;
/// Window of the first function address.
const CODE: u64 = 0x7e04;
/// Window of the first region of global memory.
const GLOBAL: u64 = 0x7b00;
/// Start of a region in its window; not zero, so that the low word of a pointer is nonzero.
const REGION_START: u64 = 0x0100_0000;
/// Bytes between two function addresses.
const FUNCTION_STRIDE: u64 = 0x100;

/// Offset of the first shared variable: the space below is reserved, and so no shared variable has address zero.
pub const SHARED_START: u32 = 1024;

/// A state space that an access names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Generic,
    Global,
    Shared,
    Local,
    Constant,
    Parameter,
}

impl Place {
    /// Generic address of offset 0 of the space.
    pub fn window(self) -> u64 {
        match self {
            Place::Generic | Place::Global => 0,
            Place::Shared => SHARED << WINDOW_BITS,
            Place::Local => LOCAL << WINDOW_BITS,
            Place::Constant => CONSTANT << WINDOW_BITS,
            Place::Parameter => PARAMETER << WINDOW_BITS,
        }
    }

    /// The space of a generic address, and the address in it.
    #[inline]
    pub fn of_generic(address: u64) -> (Place, u64) {
        let offset = address & ((1 << WINDOW_BITS) - 1);
        match address >> WINDOW_BITS {
            SHARED => (Place::Shared, offset),
            LOCAL => (Place::Local, offset),
            CONSTANT => (Place::Constant, offset),
            PARAMETER => (Place::Parameter, offset),
            _ => (Place::Global, address),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Place::Generic => "generic",
            Place::Global => "global",
            Place::Shared => "shared",
            Place::Local => "local",
            Place::Constant => "constant",
            Place::Parameter => "parameter",
        }
    }
}

/// Bits of an address in the shared memory of a block; above them is the block.
const SHARED_BITS: u32 = 24;

/// The rank of the block of an address of shared memory, and the offset there. Addresses of variables name no block:
/// they mean the block `own` of the current thread.
pub fn shared_address(address: u64, own: u32) -> (u32, u64) {
    let block = (address >> SHARED_BITS) as u32;
    (block.checked_sub(1).unwrap_or(own), address & ((1 << SHARED_BITS) - 1))
}

/// The address of the same offset in the block of a rank; of a generic address the upper half stays.
pub fn in_block(address: u64, rank: u32) -> u64 {
    let part = ((1u64 << WINDOW_BITS) - 1) & !((1 << SHARED_BITS) - 1);
    (address & !part) | (u64::from(rank + 1) << SHARED_BITS & part)
}

/// The address of the region of global memory at `index`.
pub fn region_address(index: usize) -> u64 {
    ((GLOBAL + index as u64) << WINDOW_BITS) + REGION_START
}

/// The address of the function at `index`.
pub fn function_address(index: usize) -> u64 {
    (CODE << WINDOW_BITS) + (index as u64 + 1) * FUNCTION_STRIDE
}

/// The function at an address.
pub fn function_at(address: u64) -> Option<usize> {
    let offset = address.checked_sub((CODE << WINDOW_BITS) + FUNCTION_STRIDE)?;
    offset.is_multiple_of(FUNCTION_STRIDE).then_some((offset / FUNCTION_STRIDE) as usize)
}

/// The memory that all blocks see.
#[derive(Default)]
pub struct Memory {
    regions: Vec<Option<Vec<u8>>>,
    /// End of the last access to each region.
    touched: Vec<u64>,
    /// The constant segment.
    pub constant: Vec<u8>,
    /// The parameter block of the kernel.
    pub parameters: Vec<u8>,
}

impl Memory {
    /// Adds a region of global memory and returns its address.
    pub fn add_region(&mut self, bytes: Vec<u8>) -> u64 {
        self.regions.push(Some(bytes));
        self.touched.push(0);
        region_address(self.regions.len() - 1)
    }

    /// Removes a region; `None` if no region starts there.
    pub fn take_region(&mut self, address: u64) -> Option<Vec<u8>> {
        if address & ((1 << WINDOW_BITS) - 1) != REGION_START {
            return None;
        }
        let index = (address >> WINDOW_BITS).checked_sub(GLOBAL)?;
        self.regions.get_mut(usize::try_from(index).ok()?)?.take()
    }

    /// The end of the last access to the region at an address.
    pub fn touched(&self, address: u64) -> u64 {
        let index =
            (address >> WINDOW_BITS).checked_sub(GLOBAL).and_then(|index| usize::try_from(index).ok());
        index.and_then(|index| self.touched.get(index)).copied().unwrap_or(0)
    }

    /// Notes an access in global memory.
    #[inline]
    pub fn touch(&mut self, address: u64, length: usize) {
        let index = (address >> WINDOW_BITS).wrapping_sub(GLOBAL) as usize;
        // An address before the region is outside of it.
        let offset = (address & ((1 << WINDOW_BITS) - 1)).checked_sub(REGION_START);
        if let (Some(end), Some(offset)) = (self.touched.get_mut(index), offset) {
            *end = (*end).max(offset + length as u64);
        }
    }

    /// The bytes of a space that is not a block's or lane's own, and the offset of an address in them.
    #[inline]
    pub fn segment(&mut self, place: Place, address: u64) -> Option<(&mut Vec<u8>, u64)> {
        match place {
            Place::Global => {
                let index = (address >> WINDOW_BITS).checked_sub(GLOBAL)?;
                let region = self.regions.get_mut(usize::try_from(index).ok()?)?.as_mut()?;
                let offset = (address & ((1 << WINDOW_BITS) - 1)).checked_sub(REGION_START)?;
                Some((region, offset))
            }
            Place::Constant => Some((&mut self.constant, address)),
            Place::Parameter => Some((&mut self.parameters, address)),
            Place::Generic | Place::Shared | Place::Local => None,
        }
    }
}

/// The part of a segment that an access of `length` bytes at `offset` touches.
#[inline]
pub fn span(segment: &mut [u8], offset: u64, length: usize) -> Option<&mut [u8]> {
    let start = usize::try_from(offset).ok()?;
    segment.get_mut(start..start.checked_add(length)?)
}

/// The fault of an access outside of all memory.
pub fn out_of_bounds(place: Place, address: u64, length: usize, write: bool) -> Fault {
    let verb = if write { "write" } else { "read" };
    let name = place.name();
    let fault = Fault::new(
        FaultKind::OutOfBounds,
        format!("{verb} of {length} bytes at {name} address {address:#x} is outside every object there"),
    );
    Fault { address: Some(address), ..fault }
}

/// The fault of a misaligned address.
pub fn misaligned(place: Place, address: u64, length: usize) -> Fault {
    let name = place.name();
    let fault = Fault::new(
        FaultKind::Misaligned,
        format!("{name} address {address:#x} is not a multiple of the access size of {length} bytes"),
    );
    Fault { address: Some(address), ..fault }
}

/// A little-endian value of up to eight bytes.
#[inline]
pub fn word(bytes: &[u8]) -> u64 {
    match bytes.len() {
        4 => u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
        _ => bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)),
    }
}
