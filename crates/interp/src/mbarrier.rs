//! The format of an mbarrier: its eight bytes in shared memory, and the end of a phase.
//!
//! The format is the interpreter's own: programs may not look into an mbarrier, and a state that `arrive` returns is
//! only used by instructions of this family. Zeros are not an mbarrier, so that a use before initialization is
//! detected.

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

/// The parity of the phase of a state.
pub fn parity_of_state(state: u64) -> bool {
    state >> PHASE != 0
}
