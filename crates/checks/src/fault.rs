//! The faults with which the interpreter ends a run, as findings: accesses outside of every object, with the object that
//! is nearest, misaligned accesses, broken rules of collective instructions. And atomics on local memory.

use crate::collector::{ALONE, Collector, Part, name};
use crate::finding::{Finding, Spot};
use crate::kind::{Check, Checks};
use oriole_diagnostics::Code;
use oriole_interp::{Fault, FaultKind, MemorySpace, MemoryUse, Region, Setting, Use};

/// The check that a fault belongs to, and its code.
const KINDS: &[(FaultKind, Check, Code)] = &[
    (FaultKind::OutOfBounds, Check::Bounds, Code::OutOfBounds),
    (FaultKind::Misaligned, Check::Aligned, Code::Misaligned),
    (FaultKind::Illegal, Check::Divergence, Code::BrokenRule),
];

/// The bits of an address within the window of its space.
const WINDOW: u64 = 0xffff_ffff;

/// The finding of a fault that ended a run, if one of the checks looks for it.
pub fn finding(fault: &Fault, checks: Checks, setting: &Setting) -> Option<Finding> {
    let (_, check, code) = KINDS.iter().find(|(kind, ..)| *kind == fault.kind)?;
    if !checks.has(*check) {
        return None;
    }
    let mut message = fault.message.clone();
    if let (FaultKind::OutOfBounds, Some(address)) = (fault.kind, fault.address)
        && let Some(near) = nearest(setting, &message, address)
    {
        message.push_str(&near);
    }
    let spot = fault.place.as_ref().map(|(function, ordinal)| Spot {
        function: function.clone(),
        ordinal: *ordinal,
        thread: fault.thread,
        part: "executes it".to_owned(),
    });
    Some(Finding {
        code: *code,
        message,
        spots: spot.into_iter().collect(),
        address: fault.address,
        count: 1,
        same_value: false,
    })
}

/// The nearest object, and how far it is.
fn nearest(setting: &Setting, message: &str, address: u64) -> Option<String> {
    let space = [MemorySpace::Shared, MemorySpace::Local]
        .into_iter()
        .find(|space| message.contains(&format!(" {} ", name(*space))))
        .unwrap_or(MemorySpace::Global);
    let address = if space == MemorySpace::Global { address } else { address & WINDOW };
    let far = |region: &Region| match address.checked_sub(region.start) {
        None => region.start - address,
        Some(offset) => offset.saturating_sub(region.bytes),
    };
    let near =
        setting.regions.iter().filter(|region| region.space == space).min_by_key(|region| far(region))?;
    let distance = far(near);
    // The addresses of objects have other high bits than a number that was never a pointer.
    if distance > WINDOW {
        return Some(": the address is that of no object".to_owned());
    }
    let side = if address < near.start { "before the start" } else { "after the end" };
    let (name, bytes) = (&near.name, near.bytes);
    Some(format!(": {distance} bytes {side} of {name}, which has {bytes} bytes"))
}

/// A thread accesses memory: atomics on local memory have no meaning.
pub fn access(used: &MemoryUse, collector: &mut Collector) {
    if used.kind == Use::Atomic && used.space == MemorySpace::Local {
        let part = Part { pc: used.pc, thread: Some(used.thread), does: "executes it" };
        collector.add((Code::LocalAtomic, used.pc, ALONE, 0), &[part], Some(used.address), |_| {
            format!("an atomic on local memory, at address {:#x}", used.address)
        });
    }
}
