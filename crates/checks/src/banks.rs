//! The check for conflicts of banks: accesses of a warp to shared memory that need more passes than their words would.
//!
//! The passes of an access are those of the model of time. It is a remark about speed and no fault.

use crate::collector::{ALONE, Collector, Part};
use oriole_diagnostics::Code;
use oriole_interp::{MemorySpace, MemoryUse, ThreadNumber, Use};
use oriole_simulate::{Access, AccessKind, Memory};
use std::collections::BTreeMap;

/// Lanes of a warp.
const WARP: u32 = 32;

/// Passes of an instruction.
#[derive(Clone, Copy)]
struct Passes {
    accesses: u64,
    took: u64,
    least: u64,
    thread: ThreadNumber,
}

/// The check.
#[derive(Default)]
pub struct Banks {
    current: Option<(u32, ThreadNumber, Access)>,
    passes: BTreeMap<u32, Passes>,
}

impl Banks {
    /// A thread accesses memory.
    pub fn access(&mut self, used: &MemoryUse) {
        if used.space != MemorySpace::Shared || used.of_object || used.thread.block != used.owner {
            return;
        }
        let (lane, first) = (used.thread.thread % WARP, used.thread.thread / WARP * WARP);
        let thread = ThreadNumber { thread: first, ..used.thread };
        let goes_on = self.current.as_ref().is_some_and(|(pc, warp, access)| {
            (*pc, *warp, access.bytes) == (used.pc, thread, used.bytes) && access.lanes >> lane & 1 == 0
        });
        if !goes_on {
            self.step();
            let kind = if used.kind == Use::Read { AccessKind::Load } else { AccessKind::Store };
            let (memory, bytes) = (Memory::Shared, used.bytes);
            let access = Access { memory, kind, bytes, lanes: 0, addresses: [0; WARP as usize] };
            self.current = Some((used.pc, thread, access));
        }
        if let Some((_, _, access)) = &mut self.current {
            access.lanes |= 1 << lane;
            access.addresses[lane as usize] = used.address;
        }
    }

    /// Another instruction begins.
    pub fn step(&mut self) {
        let Some((pc, thread, access)) = self.current.take() else { return };
        let of = self.passes.entry(pc).or_insert(Passes { accesses: 0, took: 0, least: 0, thread });
        let took = u64::from(oriole_timing::wavefronts(&access));
        of.accesses += 1;
        of.took += took;
        of.least += took.min(u64::from(oriole_timing::least_wavefronts(&access)));
    }

    /// Reports the instructions with conflicts.
    pub fn finish(mut self, collector: &mut Collector) {
        self.step();
        for (pc, passes) in self.passes {
            if passes.took > passes.least {
                let part = Part { pc, thread: Some(passes.thread), does: "accesses shared memory" };
                collector.add((Code::BankConflict, pc, ALONE, 0), &[part], None, |_| {
                    let Passes { accesses, took, least, .. } = passes;
                    format!("bank conflicts: {accesses} accesses of warps take {took} passes where {least} would do")
                });
            }
        }
    }
}
