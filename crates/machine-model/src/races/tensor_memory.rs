//! The rules of tensor memory: MMAs, copies and shifts are asynchronous until an mbarrier signals their
//! completion; loads and stores are until their warp has waited for them.
//!
//! * Data that such an operation writes may be touched by a warp that has found the phase of its mbarrier complete,
//!   or that acquired that from such a warp. Likewise data that it reads may be overwritten then, in shared memory
//!   too.
//! * Cells that a load reads or a store writes may be used by an operation once the warp has waited for it and
//!   released.
//!
//! Operations on tensor memory are assumed to run in issue order. Fences in addition to synchronization add nothing
//! here: without them a program is correct on all hardware that was tested.

use super::clocks::Who;
use super::in_flight::{Access, Cells, CopyNumber, GOING_ON, Phase, TensorCell, TensorState, Transfers};
use super::race::Race;

impl Transfers {
    /// A warp starts an operation that reads and writes cells.
    pub fn start_operation(
        &mut self,
        pc: u32,
        who: Who,
        read: impl IntoIterator<Item = TensorCell>,
        written: impl IntoIterator<Item = TensorCell>,
    ) -> CopyNumber {
        let operation = self.begin_copy(pc, who);
        if !self.is_watched() {
            return operation;
        }
        self.tensor.open.push(operation);
        for cell in read {
            self.note_accesses(cell, who, true);
            self.tensor.cells.entry(cell).or_default().readers.push(operation);
        }
        for cell in written {
            self.note_accesses(cell, who, false);
            let cell = self.tensor.cells.entry(cell).or_default();
            *cell = Cells { writer: Some(operation), ..Cells::default() };
        }
        operation
    }

    /// Checks the accesses in flight that conflict with an operation of this warp; with `reads` stores only.
    fn note_accesses(&mut self, cell: TensorCell, who: Who, reads: bool) {
        let warp = self.clocks.number(who);
        let accesses = self.tensor.cells.get(&cell).map_or(&[][..], |cell| &cell.accesses);
        let in_use = accesses.iter().filter(|one| one.stores || !reads).find(|one| {
            let own = one.warp == warp && one.then != GOING_ON;
            !own && !self.clocks.knows(warp, one.warp, one.then)
        });
        self.found.extend(in_use.map(|one| (Race::AccessGoingOn, one.pc)));
    }

    /// A warp loads cells, or stores to them.
    pub fn access_tensor(
        &mut self,
        cells: impl IntoIterator<Item = TensorCell>,
        stores: bool,
        pc: u32,
        who: Who,
    ) {
        if !self.is_watched() {
            return;
        }
        let warp = self.clocks.number(who);
        for cell in cells {
            let state = self.tensor.cells.entry(cell).or_default();
            let going_on =
                state.accesses.iter().find(|one| one.warp == warp && one.then == GOING_ON && one.stores);
            self.found.extend(going_on.filter(|_| !stores).map(|one| (Race::AccessGoingOn, one.pc)));
            state.accesses.retain(|one| one.warp != warp || one.stores != stores);
            state.accesses.push(Access { warp, then: GOING_ON, pc, stores });
            let writer = state.writer;
            let readers = if stores { state.readers.clone() } else { Vec::new() };
            let early = writer.filter(|&writer| !self.has_come(writer, warp));
            self.found.extend(early.map(|writer| (Race::ResultNotThere, self.copies[writer].pc)));
            let reader = readers.into_iter().find(|&reader| !self.has_come(reader, warp));
            self.found.extend(reader.map(|reader| (Race::OperandOverwritten, self.copies[reader].pc)));
            self.tensor.accessed.push((warp, cell));
        }
    }

    /// A warp has waited for its loads, or for its stores.
    pub fn wait_for_tensor(&mut self, stores: bool, who: Who) {
        if !self.is_watched() {
            return;
        }
        let warp = self.clocks.number(who);
        let now = self.clocks.now(warp);
        let TensorState { cells, accessed, .. } = &mut self.tensor;
        accessed.retain(|(other, cell)| {
            let Some(state) = cells.get_mut(cell).filter(|_| *other == warp) else { return true };
            let own = |one: &&mut Access| one.warp == warp && one.then == GOING_ON;
            state
                .accesses
                .iter_mut()
                .filter(own)
                .filter(|one| one.stores == stores)
                .for_each(|one| one.then = now);
            state.accesses.iter().any(|one| one.warp == warp && one.then == GOING_ON)
        });
    }

    /// A phase will signal completion of the operations that a warp has started.
    pub fn commit_operations(&mut self, phase: Phase, who: Who) {
        let copies = &self.copies;
        self.tensor.open.retain(|&operation| copies[operation].known.is_empty());
        let open: Vec<CopyNumber> = self.tensor.open.clone();
        for operation in open {
            if self.copies[operation].who == who {
                self.tell_once(phase, operation);
            }
        }
    }
}
