//! Checks of the rules for asynchronous copies and MMAs.
//!
//! Copies are done at once here, so that a program that does not wait for them gets the right bytes; on a GPU it may
//! not.

use crate::fault::{Fault, FaultKind};
use crate::matrix::{Piece, ROW_BYTES};
use crate::mbarrier::Object;
use crate::step::{Code, Order};
use oriole_machine_model::races::{Bytes, CopyNumber, Race, TensorCell, Transfers, Who};
use oriole_machine_model::tensor_memory::Touched;

/// Operations in flight in a cluster, and the current step.
#[derive(Default)]
pub struct Watch {
    transfers: Transfers,
    who: Who,
    pc: u32,
    /// The copy that the lanes of this step make together.
    copy: Option<CopyNumber>,
    /// Whether the step's ordering has been applied: its lanes do it together.
    ordered: bool,
}

impl Watch {
    /// Nothing is in flight.
    pub fn new(watched: bool, blocks: usize, warps_of_block: usize) -> Watch {
        Watch { transfers: Transfers::new(watched, blocks, warps_of_block), ..Watch::default() }
    }

    /// Whether operations are tracked.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.transfers.is_watched()
    }

    /// A warp begins to execute a step; with `tells` it may synchronize with other threads through memory.
    pub fn begin(&mut self, who: Who, pc: u32, tells: bool) {
        (self.who, self.pc, self.copy, self.ordered) = (who, pc, None, false);
        self.transfers.go_on(who);
        if tells {
            self.transfers.through_memory(who);
        }
    }

    /// The next broken rule since the last query, and the other instruction.
    pub fn broken(&mut self) -> Option<(Race, u32)> {
        self.transfers.found.drain(..).next()
    }

    /// The first broken rule since the last query.
    pub fn fault(&mut self, code: &Code) -> Option<Fault> {
        let (race, other) = self.broken()?;
        let step = &code.steps[other as usize];
        let other =
            format!("instruction {} of `{}`", step.ordinal, code.functions[step.function as usize].name);
        let message = match race {
            Race::ProxyFenceMissing => {
                format!("reads past the threads what {other} wrote, without a fence for that,")
            }
            Race::SourceOverwritten => {
                format!("overwrites shared memory that the copy of {other} may not have read")
            }
            Race::CopyNotArrived => {
                format!("uses shared memory that the copy of {other} may not have written")
            }
            Race::TargetInUse => format!("copies over shared memory that {other} may still use"),
            Race::ResultNotThere => format!("uses tensor memory that {other} may not have written"),
            Race::OperandOverwritten => format!("overwrites tensor memory that {other} may still read"),
            Race::AccessGoingOn => format!("uses tensor memory whose access by {other} may be in flight"),
        };
        Some(Fault::new(FaultKind::Illegal, message))
    }

    /// A thread reads or writes shared memory.
    pub fn touch(&mut self, bytes: Bytes, writes: bool) {
        self.transfers.touch(bytes, writes, self.pc, self.who);
    }

    /// A thread starts a copy of its own to shared memory.
    pub fn thread_copies(&mut self, bytes: Bytes) {
        let copy = match self.copy {
            Some(copy) => copy,
            None => self.transfers.start(self.pc, self.who, None),
        };
        self.copy = Some(copy);
        self.transfers.write(bytes, copy, self.who);
    }

    /// A bulk copy reads shared memory; `grouped` says that a group signals its completion.
    pub fn bulk_reads(&mut self, bytes: Bytes, grouped: bool) {
        self.transfers.read(bytes, self.pc, self.who, grouped);
    }

    /// A bulk copy writes shared memory and signals an mbarrier.
    pub fn bulk_writes(&mut self, bytes: Bytes, address: u64, object: Object) {
        let copy = self.transfers.start(self.pc, self.who, Some((address, object.phase)));
        self.transfers.write(bytes, copy, self.who);
    }

    /// The current phase of an mbarrier covers the copies of this thread.
    pub fn copies_arrive(&mut self, address: u64, object: Object) {
        if self.is_on() {
            self.transfers.tell_copies_by((address, object.phase), self.who);
        }
    }

    /// An mbarrier changes, by an arrival or otherwise.
    pub fn change_object(&mut self, address: u64, arrives: bool, over: bool) {
        self.transfers.change_object(address, arrives.then_some(self.who), over);
    }

    /// The phase of this parity was found complete.
    pub fn phase_over(&mut self, address: u64, parity: bool) {
        self.transfers.phase_over((address, parity), self.who);
    }

    /// An MMA begins to read pieces of the shared memory of its block, or ends.
    pub fn product(&mut self, pieces: &[Piece], ends: bool) {
        let (rank, _) = self.who;
        let mut pieces: Vec<u64> = if self.is_on() {
            pieces.iter().map(|(address, _)| u64::from(*address)).collect()
        } else {
            return;
        };
        // Neighbouring elements are in one piece.
        pieces.sort_unstable();
        pieces.dedup();
        for start in pieces {
            let bytes = Bytes { rank, start, size: ROW_BYTES as u64 };
            if ends {
                self.transfers.product_ends(bytes, self.who)
            } else {
                self.transfers.product_reads(bytes, self.pc, self.who)
            }
        }
    }

    /// An operation on tensor memory begins.
    pub fn start_operation(&mut self, outcome: &oriole_machine_model::tensor_memory::Outcome) {
        if !self.is_on() {
            return;
        }
        let cells = |sets: &[(u32, Touched)]| -> Vec<TensorCell> {
            let named = |(rank, set): &(u32, Touched)| {
                let rank = *rank;
                set.iter().map(move |(half, column)| (rank, *half, *column)).collect::<Vec<_>>()
            };
            sets.iter().flat_map(named).collect()
        };
        let (pc, who) = (self.pc, self.who);
        let operation =
            self.transfers.start_operation(pc, who, cells(&outcome.read), cells(&outcome.written));
        let mut pieces = outcome.pieces.clone();
        pieces.sort_unstable();
        pieces.dedup();
        for (rank, start) in pieces {
            let bytes = Bytes { rank, start, size: ROW_BYTES as u64 };
            self.transfers.operation_reads(bytes, operation, who);
        }
    }

    /// The current phase of an mbarrier covers the operations that this thread has started.
    pub fn commit_operations(&mut self, address: u64, object: Object) {
        self.transfers.commit_operations((address, object.phase), self.who);
    }

    /// A warp loads from tensor memory, or stores to it.
    pub fn access_tensor(&mut self, touched: Touched, stores: bool) {
        let (rank, _) = self.who;
        let cells = touched.into_iter().map(|(half, column)| (rank, half, column));
        self.transfers.access_tensor(cells, stores, self.pc, self.who);
    }

    /// A warp has waited for its loads, or for its stores.
    pub fn wait_for_tensor(&mut self, stores: bool) {
        self.transfers.wait_for_tensor(stores, self.who);
    }

    /// A thread arrives at a barrier of its block.
    pub fn arrive(&mut self, barrier: u64, waits: bool) {
        self.transfers.arrive(self.who, barrier as usize, waits);
    }

    /// All threads have arrived at a barrier of a block.
    pub fn met(&mut self, rank: u32, barrier: usize) {
        self.transfers.met(rank, barrier);
    }

    /// A thread arrives at the barrier of its cluster.
    pub fn arrive_at_cluster(&mut self) {
        self.transfers.arrive_at_cluster(self.who);
    }

    /// A warp waits for the barrier of its cluster.
    pub fn wait_for_cluster(&mut self) {
        self.transfers.wait_for_cluster(self.who);
    }

    /// An ordering of copies and accesses.
    pub fn order(&mut self, order: Order) {
        if !self.is_on() || std::mem::replace(&mut self.ordered, true) {
            return;
        }
        match order {
            Order::ThroughMemory => self.transfers.through_memory(self.who),
            Order::BetweenProxies => self.transfers.fence(),
            Order::CloseGroup => self.transfers.close_group(self.who),
            Order::WaitForGroups(left) => self.transfers.wait_for_groups(self.who, left),
            Order::WaitForAll => {
                self.transfers.close_group(self.who);
                self.transfers.wait_for_groups(self.who, 0);
            }
        }
    }
}
