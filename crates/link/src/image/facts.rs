//! Facts about an image as a whole that the container records, from all of its members.
//!
//! It is apart from `place`, which sees one member at a time. Only sums and orders may enter.

use oriole_cubin::{KernelImage, Mbarrier};
use oriole_ori::ObjectOperation;

use super::members::Member;
use super::place::mbarrier_kind;

/// Fewest registers of a thread whose code calls by the convention, or is called so.
pub const LEAST_FOR_CALLS: u32 = 24;

/// Registers, stack, and the sorting of facts that were collected over all members.
pub fn finish(members: &[Member], image: &mut KernelImage) {
    if members.iter().skip(1).any(|member| !member.is_routine) || !image.externs.is_empty() {
        image.registers = image.registers.max(LEAST_FOR_CALLS);
    }
    image.has_call |= members.len() > 1 || !image.externs.is_empty();
    image.exits.sort_unstable();
    image.coop_groups.sort_unstable();
    image.mbarriers.sort_unstable_by_key(|record| record.offset);
    let initializes = |record: &&Mbarrier| record.kind == mbarrier_kind(ObjectOperation::Initialize);
    image.mbarrier_count = image.mbarriers.iter().filter(initializes).count() as u16;
    image.stack_size = Some(deepest_stack(members));
}

/// Bytes of the deepest call chain without repetition. Recursion and indirect calls may need more: for those the
/// driver's own stack limit counts, as with ptxas.
fn deepest_stack(members: &[Member]) -> u32 {
    // 0 = not seen, 1 = on the path, 2 = done; an explicit stack keeps deep chains harmless.
    let mut state = vec![0u8; members.len()];
    let mut depth = vec![0u32; members.len()];
    let mut path = vec![(0usize, 0usize)];
    state[0] = 1;
    while let Some((member, child)) = path.pop() {
        if let Some(&callee) = members[member].callees.get(child) {
            path.push((member, child + 1));
            // Otherwise it is a call back into the path, or of a function already measured.
            if state[callee] == 0 {
                state[callee] = 1;
                path.push((callee, 0));
            }
        } else {
            let below = members[member].callees.iter().map(|&callee| depth[callee]).max().unwrap_or(0);
            depth[member] = members[member].function.frame_bytes + below;
            state[member] = 2;
        }
    }
    depth[0]
}
