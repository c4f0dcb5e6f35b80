//! The findings of a run: cases of the same instructions are one finding, with a count.
//!
//! Checks report cases here by numbers of instructions. Names of regions, functions and threads are made here, for the
//! first case only.

use crate::finding::{Finding, Spot};
use oriole_diagnostics::Code;
use oriole_interp::{MemorySpace, Region, Setting, ThreadNumber};
use std::collections::BTreeMap;

/// The instructions of a finding: code, first and second instruction, and a number for the kind.
pub type Key = (Code, u32, u32, u8);

/// No second instruction.
pub const ALONE: u32 = u32::MAX;

/// An instruction that takes part in a case.
pub struct Part<'a> {
    /// The instruction.
    pub pc: u32,
    /// The thread.
    pub thread: Option<ThreadNumber>,
    /// How it takes part.
    pub does: &'a str,
}

/// The findings so far.
pub struct Collector {
    /// The setting of the run.
    pub setting: Setting,
    found: BTreeMap<Key, Case>,
}

struct Case {
    finding: Finding,
    unchanged: u64,
}

impl Collector {
    /// No findings.
    pub fn new(setting: Setting) -> Collector {
        Collector { setting, found: BTreeMap::new() }
    }

    /// Adds a case. The message is made if it is the first one.
    pub fn add(
        &mut self,
        key: Key,
        parts: &[Part],
        address: Option<u64>,
        message: impl FnOnce(&Setting) -> String,
    ) {
        if let Some(case) = self.found.get_mut(&key) {
            case.finding.count += 1;
            return;
        }
        let spots = parts.iter().map(|part| self.spot(part)).collect();
        let message = message(&self.setting);
        let finding = Finding { code: key.0, message, spots, address, count: 1, same_value: false };
        self.found.insert(key, Case { finding, unchanged: 0 });
    }

    /// The last case of a finding changed nothing.
    pub fn unchanged(&mut self, key: &Key) {
        if let Some(case) = self.found.get_mut(key) {
            case.unchanged += 1;
        }
    }

    fn spot(&self, part: &Part) -> Spot {
        let facts = self.setting.steps.get(part.pc as usize);
        let function = facts.and_then(|facts| self.setting.functions.get(facts.function as usize));
        Spot {
            function: function.cloned().unwrap_or_default(),
            ordinal: facts.map_or(0, |facts| facts.ordinal),
            thread: part.thread.map(|thread| coordinates(&self.setting, thread)),
            part: part.does.to_owned(),
        }
    }

    /// The findings, the gravest first.
    pub fn finish(self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self
            .found
            .into_values()
            .map(|Case { mut finding, unchanged }| {
                finding.same_value = unchanged == finding.count;
                finding
            })
            .collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity()));
        findings
    }
}

/// Block and thread of a thread's numbers.
pub fn coordinates(setting: &Setting, thread: ThreadNumber) -> ([u32; 3], [u32; 3]) {
    let place = |number: u32, shape: [u32; 3]| {
        let (x, y) = (shape[0].max(1), shape[1].max(1));
        [number % x, number / x % y, number / x / y]
    };
    (place(thread.block, setting.grid), place(thread.thread, setting.block))
}

/// A place in memory in words: the object and the offset in it.
pub fn place(setting: &Setting, space: MemorySpace, address: u64) -> String {
    let name = name(space);
    match region(setting, space, address) {
        Some(region) if region.start == address => format!("{name} {}", region.name),
        Some(region) => format!("{name} {}+{}", region.name, address - region.start),
        None => format!("{name} address {address:#x}"),
    }
}

/// The name of a space.
pub fn name(space: MemorySpace) -> &'static str {
    match space {
        MemorySpace::Global => "global",
        MemorySpace::Shared => "shared",
        MemorySpace::Local => "local",
    }
}

/// The region that holds an address.
pub fn region(setting: &Setting, space: MemorySpace, address: u64) -> Option<&Region> {
    let holds = |region: &&Region| {
        region.space == space && address >= region.start && address - region.start < region.bytes
    };
    setting.regions.iter().find(holds)
}
