//! Mbarriers in shared memory (`mbarrier`): the format of their eight bytes, and the end of a phase.
//!
//! The format is the interpreter's own: programs may not look into an mbarrier, and a state that `arrive` returns is
//! only used by instructions of this family. Zeros are not an mbarrier, so that a use before initialization is
//! detected.

use crate::context::LaneContext;
use crate::launch::{Fault, FaultKind};
use crate::memory::{Place, shared_address, word};
use crate::step::{Location, ObjectOperation};
use oriole_machine_model::races::Bytes;

/// Bytes of an mbarrier.
pub const OBJECT_BYTES: usize = 8;

/// Bits of a count of arrivals.
const COUNT_BITS: u32 = 20;
/// Most arrivals that a phase may wait for, and most bytes that may be outstanding.
const MOST: u32 = (1 << COUNT_BITS) - 1;
/// Positions of the fields. Bit 0 distinguishes an mbarrier from zeros.
const PENDING: u32 = 1;
const EXPECTED: u32 = PENDING + COUNT_BITS;
const OUTSTANDING: u32 = EXPECTED + COUNT_BITS;
const LAYOUT: u32 = 62;
const PHASE: u32 = 63;
/// The field of outstanding bytes: the count with a sign.
const OUTSTANDING_BITS: u32 = COUNT_BITS + 1;

/// Why a program may not do this to an mbarrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ObjectError {
    /// More bytes than the field holds.
    #[error("{0} outstanding bytes are more than an mbarrier can count")]
    Outstanding(i64),
    /// Not as many arrivals as the phase may still have.
    #[error("{count} arrivals at an mbarrier that waits for {pending}")]
    Arrivals {
        /// Arrivals.
        count: u32,
        /// Arrivals that the phase waits for.
        pending: u32,
    },
    /// The arrivals must not complete the phase.
    #[error("{0} arrivals with .noComplete would complete the phase")]
    Completes(u32),
}

/// An mbarrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    /// Parity of the current phase.
    pub phase: bool,
    /// Arrivals pending in this phase.
    pub pending: u32,
    /// Arrivals that each of the following phases waits for.
    pub expected: u32,
    /// Transaction bytes pending in this phase; negative where they completed before they were expected.
    pub outstanding: i32,
    /// The program asked for the second layout.
    pub second_layout: bool,
}

impl Object {
    /// An mbarrier that waits for `count` arrivals; `None` if it cannot count them.
    pub fn new(count: u32) -> Option<Object> {
        (1..=MOST).contains(&count).then_some(Object {
            phase: false,
            pending: count,
            expected: count,
            outstanding: 0,
            second_layout: false,
        })
    }

    /// The mbarrier in a word of memory.
    pub fn decode(bits: u64) -> Option<Object> {
        let field = |at: u32, width: u32| (bits >> at & ((1 << width) - 1)) as u32;
        let outstanding = field(OUTSTANDING, OUTSTANDING_BITS);
        (bits & 1 != 0).then_some(Object {
            phase: bits >> PHASE != 0,
            pending: field(PENDING, COUNT_BITS),
            expected: field(EXPECTED, COUNT_BITS),
            outstanding: (outstanding << (32 - OUTSTANDING_BITS)) as i32 >> (32 - OUTSTANDING_BITS),
            second_layout: bits >> LAYOUT & 1 != 0,
        })
    }

    /// The word of memory.
    pub fn encode(self) -> u64 {
        let outstanding = u64::from(self.outstanding as u32) & ((1 << OUTSTANDING_BITS) - 1);
        1 | u64::from(self.pending) << PENDING
            | u64::from(self.expected) << EXPECTED
            | outstanding << OUTSTANDING
            | u64::from(self.second_layout) << LAYOUT
            | u64::from(self.phase) << PHASE
    }

    /// Expected transaction bytes, or, negative, completed ones.
    pub fn transfer(&mut self, bytes: i64) -> Result<(), ObjectError> {
        let outstanding = i64::from(self.outstanding) + bytes;
        if outstanding.unsigned_abs() > u64::from(MOST) {
            return Err(ObjectError::Outstanding(outstanding));
        }
        self.outstanding = outstanding as i32;
        self.end_phase();
        Ok(())
    }

    /// `count` threads arrive; with `drop` the expected count of later phases drops, too.
    pub fn arrive(&mut self, count: u32, drop: bool) -> Result<(), ObjectError> {
        if count == 0 || count > self.pending {
            return Err(ObjectError::Arrivals { count, pending: self.pending });
        }
        if drop {
            self.expected = self.expected.saturating_sub(count);
        }
        self.pending -= count;
        self.end_phase();
        Ok(())
    }

    /// Begins the next phase if nothing is pending.
    fn end_phase(&mut self) {
        if self.pending == 0 && self.outstanding == 0 {
            self.phase = !self.phase;
            self.pending = self.expected;
        }
    }
}

/// The result of `mbarrier.pending_count` for a state.
pub fn pending_count(state: u64) -> u64 {
    Object::decode(state).map_or(0, |object| u64::from(object.pending))
}

impl LaneContext<'_, '_> {
    /// The address of an mbarrier, which is in shared memory.
    pub fn object_address(&self, location: &Location) -> Result<u64, Fault> {
        let address = self.address(location);
        match location.place {
            Place::Generic => match Place::of_generic(address) {
                (Place::Shared, address) => Ok(address),
                _ => {
                    let message = format!("{address:#x} is no address of shared memory");
                    Err(Fault::new(FaultKind::Illegal, message))
                }
            },
            _ => Ok(address),
        }
    }

    /// The mbarrier at an address of shared memory.
    pub fn object(&mut self, address: u64) -> Result<Object, Fault> {
        let bits = word(self.aligned(Place::Shared, address, OBJECT_BYTES, false)?);
        Object::decode(bits).ok_or_else(|| {
            Fault::new(FaultKind::Illegal, format!("there is no mbarrier at shared address {address:#x}"))
        })
    }

    fn put_object(&mut self, address: u64, bits: u64) -> Result<(), Fault> {
        self.machine.events += 1;
        let place = self.aligned(Place::Shared, address, OBJECT_BYTES, true)?;
        place.copy_from_slice(&bits.to_le_bytes());
        Ok(())
    }

    /// Completes transaction bytes of the mbarrier at this shared address.
    pub fn complete_transfer(&mut self, address: u64, bytes: u64) -> Result<(), Fault> {
        self.change_object(address, false, |object| object.transfer(-(bytes as i64)))?;
        Ok(())
    }

    /// The canonical address of an mbarrier, whatever block names it.
    pub fn object_name(&self, address: u64) -> u64 {
        let (rank, start) = shared_address(address, self.block.rank);
        Bytes { rank, start, size: OBJECT_BYTES as u64 }.address()
    }

    /// Changes the mbarrier at a shared address, by an arrival or otherwise; returns its old value.
    fn change_object(
        &mut self,
        address: u64,
        arrives: bool,
        change: impl FnOnce(&mut Object) -> Result<(), ObjectError>,
    ) -> Result<Object, Fault> {
        let before = self.object(address)?;
        let mut after = before;
        change(&mut after).map_err(|error| Fault::new(FaultKind::Illegal, error.to_string()))?;
        self.put_object(address, after.encode())?;
        let name = self.object_name(address);
        self.machine.watch.change_object(name, arrives, after.phase != before.phase);
        Ok(before)
    }

    /// Executes an operation; returns the state before it.
    pub fn work_on_object(
        &mut self,
        operation: ObjectOperation,
        location: &Location,
        amount: u64,
    ) -> Result<u64, Fault> {
        let address = self.object_address(location)?;
        // The operands have 32 bits.
        let amount = amount as u32;
        let bytes = i64::from(amount);
        let before = match operation {
            ObjectOperation::Initialize { second } => {
                let object = Object::new(amount).ok_or_else(|| {
                    Fault::new(FaultKind::Illegal, format!("an mbarrier cannot wait for {amount} arrivals"))
                })?;
                self.put_object(address, Object { second_layout: second, ..object }.encode())?;
                return Ok(0);
            }
            ObjectOperation::Invalidate => {
                self.object(address)?;
                self.put_object(address, 0)?;
                return Ok(0);
            }
            ObjectOperation::Expect => self.change_object(address, false, |object| object.transfer(bytes))?,
            ObjectOperation::Complete => {
                self.change_object(address, false, |object| object.transfer(-bytes))?
            }
            ObjectOperation::Arrive { drop } => {
                self.change_object(address, true, |object| object.arrive(amount, drop))?
            }
            ObjectOperation::ExpectAndArrive { drop } => self.change_object(address, true, |object| {
                object.transfer(bytes)?;
                object.arrive(1, drop)
            })?,
            ObjectOperation::ArriveWithin { drop } => self.change_object(address, true, |object| {
                if amount >= object.pending {
                    return Err(ObjectError::Completes(amount));
                }
                object.arrive(amount, drop)
            })?,
            // The copies are done at once, and so this is an arrival. Unless it was counted, it is one more to wait
            // for.
            ObjectOperation::Copied { counted } => {
                let (name, object) = (self.object_name(address), self.object(address)?);
                self.machine.watch.copies_arrive(name, object);
                self.change_object(address, true, |object| {
                    object.pending += u32::from(!counted);
                    object.arrive(1, false)
                })?
            }
        };
        Ok(before.encode())
    }

    /// The thread's operations in tensor memory complete, and an mbarrier is signalled. The operations are done at
    /// once, and so this is an arrival.
    pub fn commit_operations(&mut self, location: &Location) -> Result<(), Fault> {
        let address = match self.address(location) {
            // Operations in tensor memory name their mbarrier by 32 bits. Compilers give the address in shared memory,
            // zero-extended, where the language asks for a generic one, and the hardware does not see the difference.
            address if location.place == Place::Generic && address >> 32 == 0 => address,
            _ => self.object_address(location)?,
        };
        let (name, object) = (self.object_name(address), self.object(address)?);
        self.machine.watch.commit_operations(name, object);
        self.change_object(address, true, |object| object.arrive(1, false))?;
        Ok(())
    }

    /// Whether the phase of this parity is complete.
    pub fn phase_is_over(&mut self, location: &Location, parity: bool) -> Result<bool, Fault> {
        let address = self.object_address(location)?;
        let over = self.object(address)?.phase != parity;
        if over {
            let name = self.object_name(address);
            self.machine.watch.phase_over(name, parity);
        }
        Ok(over)
    }
}

/// The parity of the phase of a state.
pub fn parity_of_state(state: u64) -> bool {
    state >> PHASE != 0
}
