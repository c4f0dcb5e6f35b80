//! Memory accesses of a lane: loads, stores, atomics and copies.

use smallvec::SmallVec;

use crate::context::LaneContext;
use crate::fault::Fault;
use crate::memory::{Place, misaligned, word};
use crate::observer::Event;
use crate::step::{AtomicOperation, Destination, Location, Source};
use crate::value::Operation;
use crate::value::float::Mode;
use crate::value::integer::{self, IntegerOperation, Kind};

/// Loads elements of this kind, one into each destination.
pub fn load(
    at: &mut LaneContext,
    location: &Location,
    kind: Kind,
    destinations: &[Destination],
) -> Result<(), Fault> {
    let address = at.address(location);
    let bytes = kind.bits as usize / 8;
    let values: SmallVec<[u64; 4]> = at
        .used(location.place, address, bytes * destinations.len(), false)?
        .chunks_exact(bytes)
        .map(|chunk| kind.widen(word(chunk)))
        .collect();
    for (destination, value) in destinations.iter().zip(values) {
        at.write(*destination, value);
    }
    Ok(())
}

/// Stores elements of `bytes` bytes.
pub fn store(
    at: &mut LaneContext,
    location: &Location,
    bytes: usize,
    sources: &[Source],
) -> Result<(), Fault> {
    let address = at.address(location);
    let values: SmallVec<[u64; 4]> = sources.iter().map(|source| at.read(*source)).collect();
    let target = at.used(location.place, address, bytes * values.len(), true)?;
    let mut changed = false;
    for (chunk, value) in target.chunks_exact_mut(bytes).zip(values) {
        let new = &value.to_le_bytes()[..bytes];
        changed |= chunk != new;
        chunk.copy_from_slice(new);
    }
    if at.machine.followed && !changed {
        at.machine.tell(&Event::Unchanged);
    }
    Ok(())
}

/// The operands of an atomic.
pub struct Atomic<'a> {
    /// The operation on each element.
    pub operation: AtomicOperation,
    /// Bytes of an element.
    pub bytes: usize,
    /// Old values; empty for `red`.
    pub destinations: &'a [Destination],
    /// Operands, one for each element; for `cas` the comparands.
    pub sources: &'a [Source],
    /// New values of `cas`.
    pub replacements: &'a [Source],
}

impl Atomic<'_> {
    /// Executes it on the elements at a location.
    pub fn execute(&self, at: &mut LaneContext, location: &Location) -> Result<(), Fault> {
        let address = at.address(location);
        let keeps = location.place == Place::Generic && Place::of_generic(address).0 != Place::Global;
        let values: SmallVec<[u64; 4]> = self.sources.iter().map(|source| at.read(*source)).collect();
        let replacements: SmallVec<[u64; 4]> =
            self.replacements.iter().map(|source| at.read(*source)).collect();
        let target = at.used(location.place, address, self.bytes * values.len(), true)?;
        let old: SmallVec<[u64; 4]> = target.chunks_exact(self.bytes).map(word).collect();
        let new = self.new_values(&old, &values, replacements, keeps);
        for (chunk, value) in target.chunks_exact_mut(self.bytes).zip(new) {
            chunk.copy_from_slice(&value.to_le_bytes()[..self.bytes]);
        }
        for (destination, value) in self.destinations.iter().zip(old) {
            at.write(*destination, value);
        }
        Ok(())
    }

    /// The new values in memory; `keeps`: subnormal values are not flushed.
    fn new_values(
        &self,
        old: &[u64],
        values: &[u64],
        replacements: SmallVec<[u64; 4]>,
        keeps: bool,
    ) -> SmallVec<[u64; 4]> {
        let mask = u64::MAX >> (64 - 8 * self.bytes);
        let mut pairs = old.iter().zip(values);
        if self.operation == AtomicOperation::CompareAndSwap {
            // All parts are compared before any is written.
            let equal = pairs.all(|(old, value)| *old == value & mask);
            return if equal { replacements } else { SmallVec::from_slice(old) };
        }
        let operation = match self.operation {
            AtomicOperation::Float(operation, format, mode, packed) if keeps => {
                AtomicOperation::Float(operation, format, Mode { flush: false, ..mode }, packed)
            }
            operation => operation,
        };
        pairs.map(|(old, value)| updated(operation, *old, value & mask)).collect()
    }
}

/// Copies `count` of `bytes` bytes from memory to memory, and zeros after them.
pub fn copy(
    at: &mut LaneContext,
    to: &Location,
    from: &Location,
    bytes: usize,
    count: u64,
) -> Result<(), Fault> {
    let (target, origin) = (at.address(to), at.address(from));
    let count = (count as usize).min(bytes);
    let mut data = vec![0; bytes];
    if count > 0 {
        if !origin.is_multiple_of(bytes as u64) {
            return Err(misaligned(from.place, origin, bytes));
        }
        data[..count].copy_from_slice(at.unaligned(from.place, origin, count, false)?);
    }
    at.aligned(to.place, target, bytes, true)?.copy_from_slice(&data);
    Ok(())
}

/// The new value of an element after an atomic other than `cas`.
pub fn updated(operation: AtomicOperation, old: u64, value: u64) -> u64 {
    use AtomicOperation::*;
    match operation {
        Add(kind) => old.wrapping_add(value) & kind.mask(),
        Minimum(kind) => integer::evaluate(IntegerOperation::Minimum, kind, [old, value, 0, 0]),
        Maximum(kind) => integer::evaluate(IntegerOperation::Maximum, kind, [old, value, 0, 0]),
        And => old & value,
        Or => old | value,
        Xor => old ^ value,
        Exchange => value,
        Increment => {
            if old >= value {
                0
            } else {
                old + 1
            }
        }
        Decrement => {
            if old == 0 || old > value {
                value
            } else {
                old - 1
            }
        }
        Float(operation, format, mode, packed) => {
            Operation::Float(operation, format, mode, packed).evaluate([old, value, 0, 0])
        }
        CompareAndSwap => unreachable!("compares all parts before it writes one"),
    }
}
