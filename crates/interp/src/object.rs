//! Operations on mbarriers in shared memory (`mbarrier`).

use crate::context::LaneContext;
use crate::fault::{Fault, FaultKind};
use crate::mbarrier::{OBJECT_BYTES, Object, ObjectError};
use crate::memory::{Place, shared_address, word};
use crate::observer::Event;
use crate::step::{Action, Location, ObjectOperation};
use oriole_machine_model::races::Bytes;

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
        self.machine.on_object = true;
        let bits = self.aligned(Place::Shared, address, OBJECT_BYTES, false).map(|bytes| word(bytes));
        self.machine.on_object = false;
        Object::decode(bits?).ok_or_else(|| {
            Fault::new(FaultKind::Illegal, format!("there is no mbarrier at shared address {address:#x}"))
        })
    }

    fn put_object(&mut self, address: u64, bits: u64) -> Result<(), Fault> {
        self.machine.events += 1;
        self.machine.on_object = true;
        let place = self.aligned(Place::Shared, address, OBJECT_BYTES, true);
        let done = place.map(|place| place.copy_from_slice(&bits.to_le_bytes()));
        self.machine.on_object = false;
        done
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
        let over = after.phase != before.phase;
        self.machine.watch.change_object(name, arrives, over);
        if self.machine.followed {
            let (thread, object) = (self.thread_number(), self.followed_object(address));
            let pc = self.machine.pc;
            let copies = !matches!(self.machine.code.steps[pc as usize].action, Action::Object { .. });
            self.machine.tell(&Event::Signals { thread, object, over, pc, copies });
        }
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
            if self.machine.followed {
                let (thread, object) = (self.thread_number(), self.followed_object(address));
                let pc = self.lane.pc;
                self.machine.tell(&Event::Passes { thread, object, pc });
            }
        }
        Ok(over)
    }
}
