//! The mbarrier in shared memory: the eight bytes on which `SYNCS` and `ARRIVES` work, and the older format, in which
//! `ATOMS.ARRIVE` counts.
//!
//! `SYNCS` stores both counts of arrivals negated: the expected count in bits 1 to 20 of the low word, the pending
//! count in bits 11 to 30 of the high one, whose top bit is the parity of the phase. Compilers write mbarriers and read
//! states in this format. The place of the transaction count is not observable by a program; here it is between the
//! two.

use crate::launch::Fault;
use crate::memory::slice;

/// Bytes of an mbarrier.
pub(crate) const OBJECT_BYTES: u32 = 8;

/// Bits of a count of arrivals.
const COUNT_BITS: u32 = 20;
const EXPECTED: u32 = 1;
const TRANSACTIONS: u32 = EXPECTED + COUNT_BITS;
const TRANSACTION_BITS: u32 = 22;
const PENDING: u32 = TRANSACTIONS + TRANSACTION_BITS;
const PHASE: u32 = 63;

const COUNTS: u32 = 1 << COUNT_BITS;

/// Arrivals at an mbarrier, and transaction bytes: positive if expected, negative if complete.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    pub arrivals: u32,
    pub transactions: i64,
    /// The expected count drops by the arrivals in all later phases.
    pub leaves: bool,
}

impl Change {
    /// Completed transaction bytes.
    pub(crate) fn complete(bytes: u32) -> Change {
        Change { arrivals: 0, transactions: -i64::from(bytes), leaves: false }
    }
}

/// The unpacked fields of an mbarrier.
struct Fields {
    expected: u32,
    pending: u32,
    transactions: i64,
    phase: u64,
    /// Bit 0, which marks the second layout and counts nothing.
    layout: u64,
}

impl Fields {
    fn of(object: u64) -> Fields {
        let count = |at: u32| (COUNTS - (object >> at) as u32 % COUNTS) % COUNTS;
        let transactions = (object << (64 - PENDING)) as i64 >> (64 - TRANSACTION_BITS);
        Fields {
            expected: count(EXPECTED),
            pending: count(PENDING),
            transactions,
            phase: object >> PHASE,
            layout: object & 1,
        }
    }

    fn join(&self) -> u64 {
        let count = |count: u32, at: u32| u64::from((COUNTS - count) % COUNTS) << at;
        let transactions = self.transactions as u64 & ((1 << TRANSACTION_BITS) - 1);
        self.layout
            | count(self.expected, EXPECTED)
            | transactions << TRANSACTIONS
            | count(self.pending, PENDING)
            | self.phase << PHASE
    }
}

/// An mbarrier that waits for `count` arrivals.
pub(crate) fn fresh(count: u32) -> u64 {
    Fields { expected: count, pending: count, transactions: 0, phase: 0, layout: 0 }.join()
}

/// The mbarrier after a change.
fn changed(object: u64, change: Change, address: u64) -> Result<u64, Fault> {
    let wrong = |text: String| Err(Fault::BarrierObject(format!("{text} at shared address {address:#x}")));
    if object == 0 {
        return wrong("there is no mbarrier".into());
    }
    let mut fields = Fields::of(object);
    if change.arrivals > fields.pending {
        let (count, pending) = (change.arrivals, fields.pending);
        return wrong(format!("{count} arrivals at an mbarrier that waits for {pending}"));
    }
    fields.transactions += change.transactions;
    if fields.transactions.unsigned_abs() >= u64::from(COUNTS) {
        return wrong(format!("{} outstanding bytes of an mbarrier", fields.transactions));
    }
    if change.leaves {
        fields.expected = fields.expected.saturating_sub(change.arrivals);
    }
    fields.pending -= change.arrivals;
    if fields.pending == 0 && fields.transactions == 0 {
        fields.pending = fields.expected;
        fields.phase ^= 1;
    }
    Ok(fields.join())
}

fn bytes(memory: &mut [u8], address: u64) -> Result<&mut [u8], Fault> {
    if !address.is_multiple_of(u64::from(OBJECT_BYTES)) {
        return Err(Fault::Misaligned { space: "shared", address, size: OBJECT_BYTES });
    }
    slice(memory, "shared", address, OBJECT_BYTES)
}

/// The mbarrier at an offset of shared memory.
pub(crate) fn read(memory: &mut [u8], address: u64) -> Result<u64, Fault> {
    Ok(bytes(memory, address)?.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// Stores the mbarrier there.
pub(crate) fn write(memory: &mut [u8], address: u64, object: u64) -> Result<(), Fault> {
    bytes(memory, address)?.copy_from_slice(&object.to_le_bytes());
    Ok(())
}

/// Changes the mbarrier at an offset of shared memory; returns its old value.
pub(crate) fn change(memory: &mut [u8], address: u64, change: Change) -> Result<u64, Fault> {
    let object = read(memory, address)?;
    write(memory, address, changed(object, change, address)?)?;
    Ok(object)
}

/// The parity of the current phase.
pub(crate) fn parity(object: u64) -> bool {
    object >> PHASE != 0
}

/// True if the phase with the parity in the top bit of the word is complete.
pub(crate) fn is_over(memory: &mut [u8], address: u64, state: u32) -> Result<bool, Fault> {
    let object = read(memory, address)?;
    if object == 0 {
        return Err(Fault::BarrierObject(format!("there is no mbarrier at shared address {address:#x}")));
    }
    Ok((object >> 32) as u32 >> 31 != state >> 31)
}

/// An arrival in the older format: the high word counts up to its top bit, and restarts with the value from the low
/// one.
pub(crate) fn counted_arrival(object: u64) -> u64 {
    /// The bit that the low word omits.
    const HALF: u32 = 1 << 30;
    let (low, high) = (object as u32, ((object >> 32) as u32).wrapping_add(1));
    let high = if high << 1 == 0 { high.wrapping_add(low).wrapping_add(HALF) } else { high };
    u64::from(low) | u64::from(high) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(count: u32) -> u64 {
        u64::from((COUNTS - count) << EXPECTED) | u64::from((COUNTS - count) << (PENDING - 32)) << 32
    }

    fn arrivals(arrivals: u32) -> Change {
        Change { arrivals, transactions: 0, leaves: false }
    }

    #[test]
    fn a_phase_ends_with_its_last_arrival_and_its_last_byte() {
        let steps = [(arrivals(1), 0), (Change::complete(16), 0), (arrivals(1), 0)];
        let mut now = object(2);
        for (step, phase) in steps {
            now = changed(now, step, 0).expect("allowed");
            assert_eq!(now >> PHASE, phase);
        }
        // The bytes came before they were expected.
        now = changed(now, Change { arrivals: 0, transactions: 16, leaves: false }, 0).expect("allowed");
        assert_eq!(now >> PHASE, 1);
        assert_eq!(Fields::of(now).pending, 2);
        assert!(changed(now, arrivals(3), 0).is_err() && changed(0, arrivals(1), 0).is_err());
    }

    #[test]
    fn who_leaves_is_not_waited_for_again() {
        let left = changed(object(2), Change { leaves: true, ..arrivals(1) }, 0).expect("allowed");
        let next = changed(left, arrivals(1), 0).expect("allowed");
        assert_eq!((next >> PHASE, Fields::of(next).pending), (1, 1));
    }

    #[test]
    fn the_older_format_turns_its_top_bit() {
        let start = u64::from(0x4000_0000u32 - 2) | u64::from(0x8000_0000u32 - 2) << 32;
        let once = counted_arrival(start);
        assert_eq!(once >> 63, 0);
        let twice = counted_arrival(once);
        assert_eq!(twice >> 32, u64::from(0x8000_0000u32 | (0x8000_0000u32 - 2) & 0x7fff_ffff));
        let again = counted_arrival(counted_arrival(twice));
        assert_eq!(again, start);
    }
}
