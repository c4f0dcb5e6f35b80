//! The check for reads of bytes that nothing has written: bytes of shared and local memory and of memory from
//! `malloc`, and registers.
//!
//! Buffers and variables of the module have contents before a launch, so that all their bytes count as written.

use crate::collector::{ALONE, Collector, Part, place, region};
use oriole_diagnostics::Code;
use oriole_interp::{MemorySpace, MemoryUse, ThreadNumber, Use};
use std::collections::HashMap;
use std::ops::Range;

/// Bytes of a page, and words of 64 bits for them.
const PAGE: u64 = 512;
const WORDS: usize = 8;

/// A set of bytes.
#[derive(Default)]
struct Bits(HashMap<u64, [u64; WORDS]>);

impl Bits {
    fn set(&mut self, start: u64, bytes: u64, written: bool) {
        for (page, range) in pages(start, bytes) {
            let page = self.0.entry(page).or_default();
            for byte in range {
                let (word, bit) = place_of(byte);
                page[word] = if written { page[word] | bit } else { page[word] & !bit };
            }
        }
    }

    /// The first byte that is not in it.
    fn missing(&self, start: u64, bytes: u64) -> Option<u64> {
        pages(start, bytes).find_map(|(page, mut range)| match self.0.get(&page) {
            None => Some(range.start),
            Some(page) => range.find(|byte| {
                let (word, bit) = place_of(*byte);
                page[word] & bit == 0
            }),
        })
    }
}

/// The pages of bytes, and the bytes in each.
fn pages(start: u64, bytes: u64) -> impl Iterator<Item = (u64, Range<u64>)> {
    let end = start + bytes;
    (start / PAGE..end.div_ceil(PAGE))
        .map(move |page| (page, (page * PAGE).max(start)..((page + 1) * PAGE).min(end)))
}

/// The word of a byte in its page, and its bit.
fn place_of(byte: u64) -> (usize, u64) {
    ((byte % PAGE) as usize / 64, 1 << (byte % 64))
}

/// The check.
#[derive(Default)]
pub struct Unwritten {
    global: Bits,
    shared: HashMap<u32, Bits>,
    local: HashMap<ThreadNumber, Bits>,
}

impl Unwritten {
    /// A thread accesses memory.
    pub fn access(&mut self, used: &MemoryUse, collector: &mut Collector) {
        // An mbarrier without `init` ends the run by itself.
        if used.of_object && used.kind != Use::Write {
            return;
        }
        let on_parameters = || {
            let facts = collector.setting.steps.get(used.pc as usize);
            facts.is_some_and(|facts| facts.semantics.on_parameters)
        };
        let bits = match used.space {
            MemorySpace::Global if region(&collector.setting, used.space, used.address).is_some() => return,
            MemorySpace::Global => &mut self.global,
            MemorySpace::Shared => self.shared.entry(used.owner).or_default(),
            MemorySpace::Local if used.kind == Use::Read && on_parameters() => return,
            MemorySpace::Local => self.local.entry(used.thread).or_default(),
        };
        let bytes = u64::from(used.bytes);
        if used.kind != Use::Write
            && let Some(byte) = bits.missing(used.address, bytes)
        {
            let key = (Code::UnwrittenMemory, used.pc, ALONE, used.space as u8);
            let part = Part { pc: used.pc, thread: Some(used.thread), does: "reads" };
            collector.add(key, &[part], Some(byte), |setting| {
                format!("a read of {}, which nothing has written", place(setting, used.space, byte))
            });
        }
        if used.kind != Use::Read {
            bits.set(used.address, bytes, true);
        }
    }

    /// A call gives a thread new local memory.
    pub fn new_frame(&mut self, thread: ThreadNumber, start: u64, bytes: u32) {
        if let Some(bits) = self.local.get_mut(&thread) {
            bits.set(start, u64::from(bytes), false);
        }
    }

    /// A thread uses a register that nothing has written.
    pub fn register(thread: ThreadNumber, (pc, slot): (u32, u32), collector: &mut Collector) {
        let key = (Code::UnwrittenRegister, pc, slot, 0);
        let part = Part { pc, thread: Some(thread), does: "uses it" };
        collector.add(key, &[part], None, |_| {
            "a register is used that nothing has written on the way here".to_owned()
        });
    }

    /// A block has ended.
    pub fn ends(&mut self, block: u32, threads: u32) {
        self.shared.remove(&block);
        for thread in 0..threads {
            self.local.remove(&ThreadNumber { block, thread });
        }
    }
}
